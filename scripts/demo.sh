#!/usr/bin/env bash
# The main jobs on files of this repository: an EBCDIC file with its copybook to JSON and Parquet and back byte for byte; EDI checked,
# answered, and to JSON and back.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh demo
# shellcheck disable=SC2086 # the flags are words
cargo build ${CARGO_FLAGS:-} --quiet -p quayline-cli
PATH=$PWD/target/debug:$PATH
out=target/demo
rm -rf "$out"
mkdir -p "$out"

# say COMMENT, show COMMAND...: the command as one would type it, then what it prints.
say() { printf '\n# %s\n' "$1"; }
show() { printf '$ %s\n' "$*"; "$@"; }

accounts="--copybook examples/accounts/accounts.cpy --encoding cp037 --framing fixed"

say "What is in the copybook?"
show quayline inspect examples/accounts/accounts.cpy

say "Twelve accounts from EBCDIC, zoned, packed and binary numbers to JSON lines; the first two:"
# shellcheck disable=SC2086
show quayline convert examples/accounts/accounts.ebcdic $accounts --output "$out/accounts.jsonl"
head -n 2 "$out/accounts.jsonl"

say "And back: the same bytes."
# shellcheck disable=SC2086
show quayline convert "$out/accounts.jsonl" $accounts --to record --output "$out/accounts.ebcdic"
show cmp examples/accounts/accounts.ebcdic "$out/accounts.ebcdic"

say "A COMMAREA of 30,128 bytes with two arrays of varying length, by its interface file:"
show quayline convert examples/dealership/car100.ebcdic --copybook examples/dealership/car100.cpy --encoding cp037 --framing fixed \
  --interface examples/dealership/rename.toml --output "$out/car100.jsonl"
printf '%s bytes of JSON: %s...\n' "$(wc -c <"$out/car100.jsonl")" "$(head -c 300 "$out/car100.jsonl")"

say "The same file as Parquet, lists and decimals kept:"
show quayline convert examples/dealership/car100.ebcdic --copybook examples/dealership/car100.cpy --encoding cp037 --framing fixed \
  --output "$out/car100.parquet"
say "What is in a file of health care claims (X12)?"
show quayline inspect examples/edi/claims.x12

say "Claims with two faults, checked by a guide and answered with a 999 in the same pass:"
show quayline validate examples/edi/claims-with-faults.x12 --guide examples/edi/837p.guide --ack 999 --ack-time 202604011300 \
  --ack-output "$out/answer.x12" || true
cat "$out/answer.x12"
printf '\n'

say "The good file as JSON by the same guide, and back: the same bytes."
show quayline convert examples/edi/claims.x12 --guide examples/edi/837p.guide --output "$out/claims.jsonl"
head -c 600 "$out/claims.jsonl"
printf '...\n'
show quayline convert "$out/claims.jsonl" --guide examples/edi/837p.guide --output "$out/claims.x12"
show cmp examples/edi/claims.x12 "$out/claims.x12"

say "Orders (EDIFACT) without a guide, as rows of a table:"
show quayline convert examples/edi/orders.edi --to csv --output "$out/orders.csv"
cut -d, -f1-12 "$out/orders.csv" | head -n 5

ls -l "$out" | awk 'NR > 1 { printf "%10d  %s\n", $5, $9 }'

say "The car inquiry as a REST API: a COBOL program answers, in a process of its own."
cp -r examples/dealership "$out/dealership"
rm -rf "$out/dealership/modules"
if ! command -v cobc >/dev/null 2>&1; then
  echo "GnuCOBOL (cobc) is not installed: records of a file stand in for the program, whatever is asked for."
  for service in "$out"/dealership/services/*.toml; do
    sed -i -e 's/^encoding = .*/encoding = "cp037"/' -e 's/^kind = "program"/kind = "canned"\nfile = "car100.ebcdic"/' \
      -e '/^program = /d' -e '/^modules = /d' -e '/^source = /d' -e '/^compiler-options = /d' -e '/^time-limit-ms = /d' "$service"
  done
fi
# The log is there before somebody looks into it.
: >"$out/serve.log"
quayline serve "$out/dealership" --listen 127.0.0.1:0 2>>"$out/serve.log" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 300); do
  address=$(sed -n 's/^listening on //p' "$out/serve.log")
  [ -n "$address" ] && break
  sleep 0.1
done
fetch() { # fetch TARGET: what a client gets, without a tool that a machine may not have.
  exec 3<>"/dev/tcp/${address%:*}/${address##*:}"
  printf 'GET %s HTTP/1.1\r\nhost: demo\r\nconnection: close\r\n\r\n' "$1" >&3
  sed '1,/^\r$/d' <&3
  exec 3>&-
}
sed -n 's/^.*\(program.CARINQ.cbl is compiled\).*/\1 (cobc)/p' "$out/serve.log"
show fetch '/car100rename/models?maxCars=2&maxDealers=1' | cut -c 1-600
printf '\n'
show fetch '/car100/models?maxCars=101'
printf '\n'
kill $server
wait $server 2>/dev/null || true
trap - EXIT
