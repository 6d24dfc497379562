#!/usr/bin/env bash
# Builds all tests and runs their programs, one for each core at a time, then the examples of the documentation. `cargo test` runs one program after the
# other, and most tests wait for a process, a lease or a lock. The output of each program is printed when it ends, in the form of `cargo test`.
#
# CARGO_FLAGS: added to every cargo call.
set -euo pipefail
cd "$(dirname "$0")/.."

flags=${CARGO_FLAGS:-}
# Programs that take long start first, so that none of them runs alone at the end.
first="cli flow postgres batch server convert"
# Tests of one program that run at once.
threads=3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each program with the folder of its package and its source.
# shellcheck disable=SC2086 # the flags are words
cargo test $flags --workspace --no-run --message-format=json-render-diagnostics >"$work/artifacts"
sed -n 's|.*"manifest_path":"\([^"]*\)/Cargo.toml".*"src_path":"\([^"]*\)".*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*|\1\t\2\t\3|p' "$work/artifacts" >"$work/programs"
[ -s "$work/programs" ] || { echo "tests: cargo names no test program" >&2; exit 1; }

# run FOLDER SOURCE PROGRAM: runs a program in the folder of its package, as cargo does, and prints what it said.
run() {
  local folder=$1 source=$2 program=$3 log status=0
  log=$(mktemp -p "$work")
  printf '     Running %s (%s)\n' "${source#"$folder"/}" "${program#"$PWD"/}" >"$log"
  (cd "$folder" && CARGO_MANIFEST_DIR=$folder "$program" --show-output --test-threads "$threads") >>"$log" 2>&1 || status=$?
  [ "$status" -eq 0 ] || printf 'error: %s ended with status %d\n' "$program" "$status" >>"$log"
  flock "$work/programs" cat "$log"
  return "$status"
}

# is_long LINE: true if the program of the line takes long.
is_long() {
  local name=${1##*/} one
  for one in $first; do [ "${name%-*}" = "$one" ] && return 0; done
  return 1
}

failed=0 running=0
while IFS=$'\t' read -r folder source program; do
  if [ "$running" -ge "$(nproc)" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  run "$folder" "$source" "$program" &
  running=$((running + 1))
done < <(
  while IFS= read -r line; do is_long "$line" && printf '%s\n' "$line"; done <"$work/programs" || true
  while IFS= read -r line; do is_long "$line" || printf '%s\n' "$line"; done <"$work/programs"
)
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
# shellcheck disable=SC2086 # the flags are words
cargo test $flags --workspace --no-fail-fast --doc -- --show-output || failed=1
exit "$failed"
