#!/usr/bin/env bash
# Outside proofs of the running gateway, over the dealership, on the loopback only: docs/studies/gateway.md ("Tests with other programs") has the figures of a run.
#
#   scripts/gateway-proofs.sh [schemathesis|tls|idle|slow|soak|page]...      without names: all of them
#
# No part of CI: takes about ten minutes and tools of others. Python packages are fetched by pip into target/proofs, Chromium from Debian's
# packages where this is root; a part whose tool cannot be had says so and is skipped. SOAK_MINUTES (4). Exits 1 if something does not hold.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$PWD/target/proofs
venv=$out/venv
mkdir -p "$out"
command -v python3 >/dev/null || { echo "gateway-proofs: all skipped, python3 is not installed" >&2; exit 0; }
cargo build --release --quiet -p quayline-cli -p quayline-measure
ulimit -n 20000 2>/dev/null || ulimit -n "$(ulimit -Hn)"

skip() { echo "## $1: SKIPPED: $2"; }

# package NAME VERSION: fetched into the environment of the proofs.
package() {
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv" || return 1
  "$venv/bin/python" -c "import importlib.metadata as m, sys; sys.exit(m.version('$1') != '$2')" 2>/dev/null ||
    "$venv/bin/pip" install --quiet "$1==$2" >&2
}

# browser: sets chromium and chromedriver.
browser() {
  chromium=$(command -v chromium || true) chromedriver=$(command -v chromedriver || true)
  [ -z "$chromium" ] || [ -z "$chromedriver" ] || return 0
  [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 1
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >&2 || return 1
  chromium=$(command -v chromium) chromedriver=$(command -v chromedriver)
}

run() {
  case $1 in
    schemathesis)
      package schemathesis 4.32.5 || { skip schemathesis "pip cannot fetch it"; return 0; }
      "$venv/bin/python" bench/gateway-proofs/schemas.py ;;
    tls)
      command -v openssl >/dev/null || { skip tls "openssl is not installed"; return 0; }
      python3 bench/gateway-proofs/tls.py ;;
    idle | slow) python3 "bench/gateway-proofs/$1.py" ;;
    soak) python3 bench/gateway-proofs/soak.py "${SOAK_MINUTES:-4}" ;;
    page)
      package selenium 4.51.0 || { skip page "pip cannot fetch selenium"; return 0; }
      browser || { skip page "chromium and chromium-driver are not installed"; return 0; }
      # A network of its own that has nothing but the loopback, where the kernel allows one.
      if unshare -n true 2>/dev/null; then
        unshare -n bash -c 'ip link set lo up 2>/dev/null || ifconfig lo up; exec "$@"' - "$venv/bin/python" bench/gateway-proofs/page.py "$chromium" "$chromedriver"
      else
        echo "no network namespace is allowed here: that no other host is asked is read from the browser's log alone"
        "$venv/bin/python" bench/gateway-proofs/page.py "$chromium" "$chromedriver"
      fi ;;
    *) echo "usage: scripts/gateway-proofs.sh [schemathesis|tls|idle|slow|soak|page]..." >&2; exit 2 ;;
  esac
}

[ $# -gt 0 ] || set -- schemathesis tls idle slow soak page
failed=()
for part in "$@"; do
  run "$part" || failed+=("$part")
done
[ ${#failed[@]} -eq 0 ] || { echo "does not hold: ${failed[*]}"; exit 1; }
