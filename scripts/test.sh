#!/usr/bin/env bash
# Every check, in the order in which a person wants to hear of trouble. Prints each step with its elapsed time and what was skipped.
# CARGO_FLAGS: added to every cargo call.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test

flags=${CARGO_FLAGS:-}
# Incremental compilation makes a first build slower. If earlier builds in this clone were incremental, this one is too.
[ -d target/debug/incremental ] || export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
log=target/test-logs
mkdir -p "$log"
began=$SECONDS

# failures LOG: what failed, once more at the end, because thousands of lines may follow it. Of each test 60 lines at most.
failures() {
  printf '\n=== what failed\n'
  grep -E '^(error|warning: unused)|^test .* FAILED$|^Diff in ' "$1" | head -n 50 || true
  awk '/^failures:$/ { inside = 1; next }
       /^test result:/ { inside = 0 }
       inside && /^---- / { shown = 0 }
       inside && ++shown <= 60' "$1"
}

# step NAME COMMAND...: runs it, shows its output, stops the run if it fails.
step() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  if ! "$@" 2>&1 | tee "$log/${name// /-}.log"; then
    failures "$log/${name// /-}.log"
    printf '=== %s: FAILED after %d s\n' "$name" $((SECONDS - start))
    exit 1
  fi
  printf '=== %s: passed in %d s\n' "$name" $((SECONDS - start))
}

printf 'rustc   %s\ncargo   %s\ncobc    %s\nmachine %s, %s cores\ncommit  %s\n' \
  "$(rustc --version)" "$(cargo --version)" "$(cobc --version | head -n 1)" "$(uname -sm)" "$(nproc)" \
  "$(git rev-parse --short HEAD 2>/dev/null || echo none)"

# shellcheck disable=SC2086 # the flags are words
{
  step "format" cargo fmt --all --check
  step "lints" cargo clippy $flags --workspace --all-targets -- -D warnings
  # Many tests wait for a process, a lease or a lock, so more of them run at once than there are cores.
  step "tests" cargo test $flags --workspace --no-fail-fast -- --show-output --test-threads $((2 * $(nproc)))
  RUSTDOCFLAGS="-D warnings" step "documents" cargo doc $flags --workspace --no-deps --document-private-items
  step "demo" scripts/demo.sh
}

# A test that cannot run prints `skipped: NAME: REASON`. Its runner counts it as passed, because a runner has only two results. This script counts it as
# skipped and prints a line for it. A test that omits a part prints `skipped in part: NAME: REASON`, and counts as passed.
scripts/skipped.sh "$log/tests.log" >"$log/skipped"
grep -rhoE '^skipped( in part)?: .*' "$log" --include='*.log' --exclude=tests.log | sort -u >>"$log/skipped" || true
missed=$(grep -c '^skipped: ' "$log/skipped" || true)
in_part=$(grep -c '^skipped in part: ' "$log/skipped" || true)
printf '\nall checks passed in %d s\n' $((SECONDS - began))
if [ -s "$log/skipped" ]; then
  printf '!!! on this machine:\n'
  cat "$log/skipped"
fi
if [ "$in_part" -gt 0 ]; then
  printf '%d of the passed tests omitted a part\n' "$in_part"
fi
awk -v missed="$missed" '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
     END { printf "%d passed, %d failed, %d skipped\n", passed - missed, failed, ignored + missed }' "$log/tests.log"
