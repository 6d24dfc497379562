#!/usr/bin/env bash
# Throughput of the gateway against a minimal Java service over the Java copybook library that Maven has, same request, same answer:
# docs/studies/benchmarks.md has a table of a run. Exits 1 where ours is less than 8 times theirs.
#
# No part of CI: needs a JDK 17, Maven and the registry it asks. Both answer from a stored record of 30,128 bytes, so neither calls a program;
# ours is also measured calling the COBOL program where cobc is there. Servers have the first core to themselves, the driver the last.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-3}
seconds=${SECONDS_EACH:-8}
bar=8
out=$PWD/target/java-gateway
last=$(($(nproc) - 1))
target='/car100/models?maxCars=100&maxDealers=25'
for program in java javac mvn taskset curl; do
  command -v "$program" >/dev/null || { echo "java-gateway: skipped, $program is not installed" >&2; exit 0; }
done
[ "$last" -gt 0 ] || { echo "java-gateway: skipped, server and driver need a core each" >&2; exit 0; }

mkdir -p "$out/classes" "$out/jars"
cargo build --release --quiet -p quayline-cli -p quayline-measure
(cd bench/java-gateway && mvn -q -B dependency:copy-dependencies -DoutputDirectory="$out/jars") >&2
javac --release 17 -cp "$out/jars/*" -d "$out/classes" bench/java-gateway/src/main/java/*.java
rm -rf "$out/records" "$out/program"
cp -r bench/java-gateway/quayline "$out/records"
cp examples/dealership/car100.cpy examples/dealership/car100.ebcdic "$out/records/"
if command -v cobc >/dev/null; then
  cp -r examples/dealership "$out/program"
  mkdir -p "$out/program/modules"
  (cd "$out/program" && cobc -m -O2 -std=ibm -fodoslide -I . -o modules/CARINQ.so program/CARINQ.cbl)
  printf 'threads = 1\n' >>"$out/program/quayline.toml"
fi

server=
stop() { [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; server=; } || true; }
trap stop EXIT

# start NAME: sets server (a process id) and address.
start() {
  local log="$out/$1.log"
  local java=(java -Xms1g -Xmx1g -cp "$out/classes:$out/jars/*" JavaGateway)
  : >"$log"
  case $1 in
    jdk-* | netty-*)
      taskset -c 0 "${java[@]}" "${1%-*}" "${1#*-}" examples/dealership/car100.cpy examples/dealership/car100.ebcdic >"$log" 2>"$log.err" & ;;
    *) taskset -c 0 target/release/quayline serve "$out/$1" --listen 127.0.0.1:0 >"$log.out" 2>"$log" & ;;
  esac
  server=$!
  address=
  for _ in $(seq 100); do
    address=$(sed -n -e 's/^listening on //p' -e '/^127\.0\.0\.1:[0-9]*$/p' "$log" | head -n 1)
    [ -z "$address" ] || return 0
    sleep 0.1
  done
  echo "java-gateway: $1 does not start" >&2
  cat "$log" >&2
  return 1
}

services=(jdk-jackson netty-jackson jdk-tuned netty-tuned records)
[ ! -d "$out/program" ] || services+=(program)
: >"$out/rows.tsv"
for _ in $(seq "$rounds"); do
  for name in "${services[@]}"; do
    start "$name"
    curl -sS "http://$address$target" >"$out/$name.json"
    # The JIT has compiled everything well before ten seconds of full load are over; the same for ours, though it needs none.
    row=$(target/release/quayline-measure load "$address" "$target" "$server" --clients 100 --warm-up "${WARM_UP:-15}" --seconds "$seconds" --core "$last")
    printf '%s\t%s\n' "$name" "$row" >>"$out/rows.tsv"
    printf '%s\t%s\n' "$name" "$row" >&2
    stop
  done
done
for name in "${services[@]:0:4}"; do
  cmp "$out/records.json" "$out/$name.json" || { echo "java-gateway: $name answers something else" >&2; exit 1; }
done

# Medians. Where the machine has other work, answers a second of wall time say little, so the ratio is of answers by CPU second: what a core
# of one's own gives.
python3 - "$out/rows.tsv" "$bar" <<'PYTHON'
import collections, json, statistics, sys
runs = collections.defaultdict(list)
for line in open(sys.argv[1]):
    name, row = line.split("\t")
    runs[name].append(json.loads(row))
titles = {"jdk-jackson": "Java, JDK's HTTP server, Cobrix, Jackson", "netty-jackson": "Java, Netty (epoll), Cobrix, Jackson",
          "jdk-tuned": "Java, JDK's HTTP server, Cobrix, JSON by hand", "netty-tuned": "Java, Netty (epoll), Cobrix, JSON by hand",
          "records": "quayline serve, stored record", "program": "quayline serve, COBOL program called"}
def median(name, member):
    return statistics.median(run[member] for run in runs[name])
def per_cpu_second(name):
    return 1e6 / median(name, "cpu_us")
print("| service | CPU us | answers a CPU second | answers a second | core in use | p50 ms | p99 ms | resident MB | failures |")
print("|---|---|---|---|---|---|---|---|---|")
for name, title in titles.items():
    if name in runs:
        failures = sum(run["failures"] for run in runs[name])
        print(f"| {title} | {median(name, 'cpu_us'):.1f} | {per_cpu_second(name):,.0f} | {median(name, 'tps'):,.0f} | "
              f"{median(name, 'cpu_percent'):.0f} % | {median(name, 'p50_ms'):.2f} | {median(name, 'p99_ms'):.2f} | "
              f"{median(name, 'resident_bytes') / 1e6:.0f} | {failures} |")
bar = float(sys.argv[2])
short = False
for kind, what in (("jackson", "Jackson"), ("tuned", "JSON by hand")):
    best = max(per_cpu_second(f"jdk-{kind}"), per_cpu_second(f"netty-{kind}"))
    ratio = per_cpu_second("records") / best
    short |= kind == "jackson" and ratio < bar
    print(f"\nStored record on both sides, against the faster Java service with {what}: {ratio:.1f} times", end="")
    if "program" in runs:
        print(f"; ours calling its COBOL program: {per_cpu_second('program') / best:.1f} times", end="")
    print(f". Bar {bar:g}." if kind == "jackson" else ".")
sys.exit(short)
PYTHON
