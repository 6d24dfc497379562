#!/usr/bin/env bash
# Measures other programs' EDI parsers beside ours, in turns, by CPU time of the process: docs/studies/benchmarks.md has a table of a run.
#
# No part of CI. The Rust parsers are fetched by cargo, omniparser by go, StAEDI by Maven, each where that program is there.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-3}
out=$PWD/target/peers
mkdir -p "$out/java"
cargo build --release --quiet -p quayline-cli -p quayline-bench
CARGO_TARGET_DIR=$out cargo build --release --quiet --manifest-path bench/peers/rust/Cargo.toml
[ -f "$out/claims.x12" ] || target/release/edi_data claims 100000 "$out/claims.x12"
[ -f "$out/few.x12" ] || target/release/edi_data claims 10000 "$out/few.x12"
[ -f "$out/orders.edi" ] || target/release/edi_data orders 80000 "$out/orders.edi"

# row NAME FILE COMMAND...: appends the megabytes per CPU second of a run.
row() {
  local name=$1 file=$2 cpu
  shift 2
  cpu=$(target/release/quayline-bench --measure-process /dev/null "$@" 2>/dev/null | cut -d ' ' -f 2) || { echo "peers: $name failed" >&2; return 0; }
  printf '%s\t%s\t%s\n' "$name" "$(basename "$file")" "$(awk -v b="$(wc -c <"$file")" -v c="$cpu" 'BEGIN { printf "%.1f", b / c * 1e3 }')" >>"$out/rows.tsv"
}

: >"$out/rows.tsv"
go_there=no java_there=no
if command -v go >/dev/null; then
  (cd bench/peers/go && go build -o "$out/omniparser" .) && go_there=yes
fi
if command -v mvn >/dev/null && command -v javac >/dev/null; then
  (cd bench/peers/java && mvn -q dependency:copy-dependencies -DoutputDirectory="$out/java") &&
    javac -cp "$out/java/staedi-1.26.0.jar" -d "$out/java" bench/peers/java/src/main/java/Peers.java && java_there=yes
fi
for _ in $(seq "$rounds"); do
  row "x12-stream-parser 0.1.0, elements" "$out/claims.x12" "$out/release/peers" x12-elements "$out/claims.x12"
  row "edifact-rs 0.18.0, segments" "$out/orders.edi" "$out/release/peers" edifact "$out/orders.edi"
  row "edifact-rs 0.18.0, segments of a reader" "$out/orders.edi" "$out/release/peers" edifact-reader "$out/orders.edi"
  row "edifact-rs 0.18.0, CONTRL" "$out/orders.edi" "$out/release/peers" edifact-contrl "$out/orders.edi"
  [ $go_there = no ] || row "omniparser 1.0.5, JSON by map" "$out/few.x12" "$out/omniparser" "$out/few.x12" bench/peers/go/claims.json
  if [ $java_there = yes ]; then
    for what in text xml; do
      row "StAEDI 1.26.0, $what" "$out/few.x12" java -cp "$out/java:$out/java/staedi-1.26.0.jar" Peers $what "$out/few.x12"
    done
    row "StAEDI 1.26.0, validation by schema" "$out/claims.x12" java -cp "$out/java:$out/java/staedi-1.26.0.jar" \
      Peers validate "$out/claims.x12" bench/peers/java/837.xml
  fi
  row "quayline, validate by guide" "$out/claims.x12" target/release/quayline validate "$out/claims.x12" --guide examples/edi/837p.guide
  row "quayline, JSON by guide, checked" "$out/claims.x12" \
    target/release/quayline convert "$out/claims.x12" --guide examples/edi/837p.guide --to jsonl --jobs 1
  row "quayline, generic JSON" "$out/claims.x12" target/release/quayline convert "$out/claims.x12" --to jsonl --jobs 1
  row "quayline, generic XML" "$out/claims.x12" target/release/quayline convert "$out/claims.x12" --to xml --jobs 1
  row "quayline, generic JSON" "$out/orders.edi" target/release/quayline convert "$out/orders.edi" --to jsonl --jobs 1
done
echo "megabytes per CPU second, medians of $rounds:"
sort "$out/rows.tsv" | awk -F '\t' '
  { key = $1 " (" $2 ")"; value[key, ++count[key]] = $3 }
  END { for (key in count) { n = count[key]; for (i = 2; i <= n; i++) for (j = i; j > 1 && value[key, j] < value[key, j - 1]; j--) {
          t = value[key, j]; value[key, j] = value[key, j - 1]; value[key, j - 1] = t }
        printf "%-55s %9.1f\n", key, value[key, int((n + 1) / 2)] } }' | sort
# What has no command of its own is measured in memory.
target/release/quayline-bench 837P
target/release/quayline-bench ORDERS
