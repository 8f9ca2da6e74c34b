#!/usr/bin/env bash
# Build the playground (web/) into app/web_dist when it is missing or older than its sources.
# Without npm this is skipped with one line: the API needs no page.
set -eu
cd "$(dirname "$0")/.."
built=app/web_dist/index.html
[ -f web/package.json ] || exit 0
if [ -f "$built" ]; then
  newer=$(find web -path web/node_modules -prune -o -type f -newer "$built" -print -quit)
  [ -n "$newer" ] || exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
  echo "npm is not installed: the playground page is left out, the API is complete without it."
  exit 0
fi
if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a * 100 + +b >= 2019 ? 0 : 1)'; then
  echo "node $(node --version) is older than 20.19: the playground is left out, the API is complete."
  exit 0
fi
echo "Building the playground"
cd web
npm ci --no-audit --no-fund --loglevel=error
npm run --silent build
touch "../$built"
