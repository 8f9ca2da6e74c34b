#!/usr/bin/env bash
# Install the programs that tests drive (redis-server, Chromium) where that is possible: as root
# on a Debian-like system. Elsewhere say which tests will skip and why. Never fails.
set -u
missing=()
command -v redis-server >/dev/null 2>&1 || missing+=(redis-server)
command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 \
  || command -v google-chrome >/dev/null 2>&1 || missing+=(chromium)
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing ${missing[*]} with apt-get for the tests"
  export DEBIAN_FRONTEND=noninteractive
  if apt-get update -qq >/dev/null && apt-get install -y -qq "${missing[@]}" >/dev/null; then
    exit 0
  fi
fi
for program in "${missing[@]}"; do
  echo "$program is not installed: the tests that drive it will skip (apt-get install $program)"
done
exit 0
