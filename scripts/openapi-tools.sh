#!/usr/bin/env bash
# Fetches published tools that read OpenAPI documents into target/openapi-tools, at the versions of the lock files in bench/openapi-tools:
#   node    Redocly, Spectral, ajv, Hey API's generator of TypeScript clients, the TypeScript compiler    (npm)
#   go      oapi-codegen, a generator of Go clients                                                      (go)
#
# `scripts/openapi-tools.sh [node|go]...`; without names, both. The script does not fetch a tool again. It reports a missing client or an unreachable
# registry on standard error, and the tests that need the tool are skipped. Exit code 0 if all requested tools are present, otherwise 1.
set -euo pipefail
cd "$(dirname "$0")/.."

source=$PWD/bench/openapi-tools
root=$PWD/target/openapi-tools
log=$root/fetch.log
mkdir -p "$root"
have() { command -v "$1" >/dev/null 2>&1; }
# limited SECONDS COMMAND...: runs COMMAND with a time limit, because a registry that does not answer must not stop a test run.
limited() { timeout "$@" >>"$log" 2>&1; }

missing=()
# fetch NAME FUNCTION FILE...: runs FUNCTION, unless these files are those of the last fetch.
fetch() {
  local name=$1 function=$2 digest
  shift 2
  digest=$(cd "$source" && cat "$@" | sha256sum)
  [ "$(cat "$root/$name.fetched" 2>/dev/null)" != "$digest" ] || return 0
  rm -f "$root/$name.fetched"
  if "$function"; then
    echo "$digest" >"$root/$name.fetched"
    echo "openapi-tools: fetched those of $name" >&2
  else
    missing+=("$name")
  fi
}

fetch_node() {
  have node && have npm || return 1
  cp "$source/package.json" "$source/package-lock.json" "$root/"
  (cd "$root" && limited 240 npm ci --ignore-scripts --no-audit --no-fund)
}

fetch_go() {
  have go || return 1
  (cd "$source" && GOTOOLCHAIN=local limited 120 go mod download && GOTOOLCHAIN=local limited 400 \
    go build -o "$root/bin/oapi-codegen" github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen)
}

[ $# -gt 0 ] || set -- node go
: >"$log"
for name; do
  case $name in
    node) fetch node fetch_node package.json package-lock.json ;;
    go) fetch go fetch_go go.mod go.sum ;;
    *) echo "usage: scripts/openapi-tools.sh [node|go]..." >&2; exit 2 ;;
  esac
done

if [ ${#missing[@]} -gt 0 ]; then
  echo "openapi-tools: NOT fetched: ${missing[*]} (log in target/openapi-tools/fetch.log); tests that need them are skipped" >&2
  exit 1
fi
