#!/usr/bin/env bash
# Try the image's steps where no container engine is at hand: read the Dockerfile and compose file,
# then carry out the cpu target's build in a scratch directory with the Python here, start its CMD
# under its environment and run its HEALTHCHECK. Steps that need the base image's root (apt-get,
# useradd) are named and left out; pip may use its cache. With --quick nothing is installed or started.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=$(realpath -s "$(command -v "${PYTHON:-python3}")")

"$python" docker/dockerfile.py check
"$python" docker/compose_check.py
[ "${1:-}" != --quick ] || exit 0

scratch=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" || true; }
  rm -rf "$scratch"
}
trap cleanup EXIT
image=$scratch/opt/gradserve
mkdir -p "$image/requirements" "$scratch/data" "$scratch/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" > "$scratch/bin/python"
chmod +x "$scratch/bin/python"

# COPY, with what .dockerignore leaves out left out.
cp requirements/run.txt "$image/requirements/"
cp pyproject.toml README.md LICENSE NOTICE "$image/"
tar -C "$root" --exclude=__pycache__ -cf - app | tar -C "$image" -xf -

# RUN, as written, in the scratch directory.
while IFS= read -r step; do
  case "$step" in
    apt-get*) echo "left out: $step" ;;
    *) echo "RUN $step"; step=${step//--no-cache-dir /}; (cd "$image" && PATH="$scratch/bin:$PATH" bash -euc "$step") ;;
  esac
done < <("$python" docker/dockerfile.py runs build)

# CMD and HEALTHCHECK, on a free loopback port in place of 0.0.0.0:8000.
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mapfile -t cmd < <("$python" docker/dockerfile.py words cpu CMD)
mapfile -t health < <("$python" docker/dockerfile.py words cpu HEALTHCHECK)
export PATH="$image/.venv/bin:$PATH" GRADSERVE_HOST=127.0.0.1 GRADSERVE_PORT=$port \
  GRADSERVE_DATA_DIR="$scratch/data" GRADSERVE_PLATFORM=cpu
cd "$image"
"${cmd[@]}" >"$scratch/log" 2>&1 &
server=$!
for _ in $(seq 120); do
  if "${health[@]//:8000/:$port}" 2>/dev/null; then
    echo "the image's command is healthy"
    exit 0
  fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.5
done
tail -n 40 "$scratch/log"
echo "the image's command did not become healthy"
exit 1
