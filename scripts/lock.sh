#!/usr/bin/env bash
# Write requirements/run.txt and requirements/dev.txt anew from pyproject.toml: exact pins of all
# that a clean environment of the oldest supported Python (3.11) gets, without hosts or hashes.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3.11}

wanted() {
  "$python" - "$@" <<'PY'
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    document = tomllib.load(file)
project = document["project"]
groups = {"run": project["dependencies"] + document["build-system"]["requires"] + ["editables"]}
groups |= project["optional-dependencies"]
print("\n".join(line for group in sys.argv[1:] for line in groups[group]))
PY
}

"$python" -m venv "$work/venv"
pip=("$work/venv/bin/python" -m pip --disable-pip-version-check --quiet)
wanted run > "$work/run.in"
"${pip[@]}" install --upgrade pip
"${pip[@]}" install --requirement "$work/run.in"
"${pip[@]}" freeze > "$work/run.txt"
wanted test dev > "$work/dev.in"
"${pip[@]}" install --requirement "$work/run.txt" --requirement "$work/dev.in"
"${pip[@]}" freeze > "$work/all.txt"

{
  echo "# Everything the server needs, exactly. Made by scripts/lock.sh."
  cat "$work/run.txt"
} > requirements/run.txt
{
  echo "# What tests, checks and benchmarks need on top of run.txt, exactly. Made by scripts/lock.sh."
  grep -vxFf "$work/run.txt" "$work/all.txt"
} > requirements/dev.txt
