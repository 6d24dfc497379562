#!/usr/bin/env bash
# Fetches axe-core, a published checker of the accessibility of pages, into target/page-tools, at the version of the lock file in bench/page-tools.
#
# The script does not fetch it again. It reports a missing npm or an unreachable registry on standard error, and the tests that need the checker
# are skipped. Exit code 0 if it is present, otherwise 1.
set -euo pipefail
cd "$(dirname "$0")/.."

source=$PWD/bench/page-tools
root=$PWD/target/page-tools
mkdir -p "$root"
digest=$(cd "$source" && cat package.json package-lock.json | sha256sum)
[ "$(cat "$root/fetched" 2>/dev/null)" != "$digest" ] || exit 0
rm -f "$root/fetched"
cp "$source/package.json" "$source/package-lock.json" "$root/"
if command -v npm >/dev/null 2>&1 &&
  (cd "$root" && timeout 120 npm ci --ignore-scripts --no-audit --no-fund) >"$root/fetch.log" 2>&1; then
  echo "$digest" >"$root/fetched"
  echo "page-tools: fetched" >&2
else
  echo "page-tools: NOT fetched (log in target/page-tools/fetch.log); tests that need them are skipped" >&2
  exit 1
fi
