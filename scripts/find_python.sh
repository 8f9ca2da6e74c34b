#!/usr/bin/env bash
# Print the newest Python between 3.11 and 3.13 that runs and can make a virtual environment,
# else python3 when that is 3.11 or newer. $PYTHON, where set, is taken instead.
set -u
probe='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
for python in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
  if command -v "$python" >/dev/null 2>&1 && "$python" -c "$probe" >/dev/null 2>&1; then
    command -v "$python"
    exit 0
  fi
done
found=$(python3 --version 2>&1 || echo "no python3")
{
  echo "gradserve needs Python 3.11 or newer that can make virtual environments; found: $found."
  echo "On Debian or Ubuntu: apt-get install python3 python3-venv."
  echo "Or name one: make run PYTHON=/path/to/python3.12"
} >&2
exit 1
