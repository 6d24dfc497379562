#!/usr/bin/env bash
# Builds and runs libFuzzer targets with stable Rust: `scripts/fuzz.sh TARGET|all SECONDS`, `scripts/fuzz.sh list`.
#
# The coverage flags are what `cargo fuzz --sanitizer none` passes; they are stable flags of the compiler and its LLVM, so neither a
# nightly compiler nor another tool is needed. `--target` keeps them away from build scripts. Corpora lie in target/fuzz-corpus, seeds
# in fuzz/seeds/TARGET; a failing input is kept in target/fuzz-failures and printed.
#
# FUZZ_SEED: the seed of the inputs, and no corpus of earlier runs; without it each run tries other inputs and adds to the corpus.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t targets < <(sed -n 's|^    ("\(.*\)", .*::fuzz),$|\1|p' fuzz/lib.rs)
wanted=${1:-all}
seconds=${2:-60}
case $wanted in
  list) printf '%s\n' "${targets[@]}"; exit 0 ;;
  all) ;;
  *)
    printf '%s\n' "${targets[@]}" | grep -qx -- "$wanted" || { echo "fuzz: no target $wanted; \`scripts/fuzz.sh list\` shows them" >&2; exit 2; }
    targets=("$wanted")
    ;;
esac

host=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR=target/fuzz
# Coverage counters at every edge, compared operands, and the table that names the edges.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 -Clink-dead-code
 -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
 -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
RUSTFLAGS=$(echo $RUSTFLAGS)
export RUSTFLAGS
# shellcheck disable=SC2086 # the flags are words
cargo build ${CARGO_FLAGS:-} --locked --profile fuzz -p quayline-fuzz --features libfuzzer --target "$host"

mkdir -p target/fuzz-failures

# fuzz TARGET: runs one target and prints its result.
fuzz() {
  local target=$1 corpus=target/fuzz-corpus/$1 seeds=() log runs cover
  if [ -n "${FUZZ_SEED:-}" ]; then
    corpus=target/fuzz-corpus/seed-$FUZZ_SEED/$target
    rm -rf "$corpus"
  fi
  mkdir -p "$corpus"
  [ -d "fuzz/seeds/$target" ] && seeds=("fuzz/seeds/$target")
  log=$(mktemp)
  if ! QUAYLINE_FUZZ_TARGET=$target "target/fuzz/$host/fuzz/quayline-fuzz" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 -seed="${FUZZ_SEED:-0}" \
    -artifact_prefix="target/fuzz-failures/$target-" "$corpus" "${seeds[@]}" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "fuzz $target: FAILED; the input is kept in target/fuzz-failures/" >&2
    rm -f "$log"
    return 1
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  cover=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1)
  echo "fuzz $target: passed, ${runs:-no} runs in $seconds s, ${cover:-no coverage seen}"
  # Counters that stay at zero would mean that the flags no longer do anything.
  if [ -z "$cover" ] || [ "$cover" = "cov: 0" ]; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# One target for each core. A failure ends the run after those that are running.
failed=0 running=0
for target in "${targets[@]}"; do
  if [ "$running" -ge "$(nproc)" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  [ "$failed" -eq 0 ] || break
  fuzz "$target" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit "$failed"
