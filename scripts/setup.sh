#!/usr/bin/env bash
# Checks that this machine can build (`setup.sh demo`), build and test (`setup.sh test`) or measure (`setup.sh bench`) Quayline, and mends what it can.
#
# Silent and quick when everything is there. As root on a machine with apt-get it installs what is missing; elsewhere it prints
# exactly what to install and stops. Rust itself is never installed here: how a machine gets its compilers is its owner's choice.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-demo}
case $purpose in
  demo | test | bench) ;;
  *) echo "usage: scripts/setup.sh [demo|test|bench]" >&2; exit 2 ;;
esac

rust_min=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
missing_packages=()
problems=()

have() { command -v "$1" >/dev/null 2>&1; }
can_install() { [ "$(id -u)" -eq 0 ] && have apt-get; }

# need COMMAND DEBIAN-PACKAGE WHY
need() { have "$1" || missing_packages+=("$2"); }

check_rust() {
  local found
  if ! have cargo || ! have rustc; then
    problems+=("Rust $rust_min or newer (cargo and rustc): install it with rustup")
    return
  fi
  found=$(rustc --version | sed -n 's/^rustc \([0-9.]*\).*/\1/p')
  if [ "$(printf '%s\n%s\n' "$rust_min" "$found" | sort -V | head -n 1)" != "$rust_min" ]; then
    problems+=("Rust $rust_min or newer, found ${found:-none}: run \`rustup update stable\`")
  fi
  if [ "$purpose" = test ]; then
    # One call each is slower than a look at the path; the components are separate programs.
    have cargo-fmt || problems+=("rustfmt: run \`rustup component add rustfmt\`")
    have cargo-clippy || problems+=("clippy: run \`rustup component add clippy\`")
  fi
}

check_programs() {
  have cc || have gcc || have clang || missing_packages+=(gcc libc6-dev)
  need make make
  if [ "$purpose" = test ]; then
    # libFuzzer is C++; the differential tests compile COBOL.
    have c++ || have g++ || missing_packages+=(g++)
    need cobc gnucobol3
  fi
}

apt_install() {
  echo "setup: installing $*" >&2
  apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# The demo calls a COBOL program. Where no compiler can be had, records of a file stand in for it, and the demo says so.
install_cobol_for_demo() {
  if [ "$purpose" != test ] && ! have cobc && can_install; then
    apt_install gnucobol3 || echo "setup: gnucobol3 could not be installed" >&2
  fi
}

install_packages() {
  [ ${#missing_packages[@]} -gt 0 ] || return 0
  if can_install; then
    apt_install "${missing_packages[@]}"
  else
    problems+=("${missing_packages[*]} (Debian names): run \`sudo apt-get update && sudo apt-get install ${missing_packages[*]}\`")
  fi
}

# Tests of bridges and rows of the benchmark run a NATS server; without one they say that they are skipped. Debian's package is too old for `sync_interval: always`.
install_nats() {
  if [ "$purpose" != demo ] && ! have nats-server && have go && [ -w /usr/local/bin ]; then
    echo "setup: building nats-server" >&2
    GOBIN=/usr/local/bin go install github.com/nats-io/nats-server/v2@v2.15.2 >&2 || echo "setup: nats-server could not be built" >&2
  fi
}

# Tests of bridges and rows of the benchmark run brokers that Maven fetches; without Java and Maven they say that they are skipped.
install_java() {
  if [ "$purpose" != demo ] && ! { have mvn && have javac; } && can_install; then
    apt_install default-jdk-headless maven || echo "setup: Java and Maven could not be installed" >&2
  fi
}

# A test opens a report in a browser; without one it says that it is skipped.
install_browser() {
  if [ "$purpose" = test ] && ! have chromium && can_install; then
    apt_install chromium || echo "setup: chromium could not be installed" >&2
  fi
}

check_rust
check_programs
install_packages
install_cobol_for_demo
install_nats
install_java
install_browser

if [ ${#problems[@]} -gt 0 ]; then
  echo "setup: this machine lacks what \`make $purpose\` needs:" >&2
  printf '  - %s\n' "${problems[@]}" >&2
  exit 1
fi

# Tests of guides use dictionaries that are not ours to ship; what cannot be fetched is said there, and its tests are skipped.
if [ "$purpose" = test ]; then
  scripts/dictionaries.sh || true
  # Linters of OpenAPI documents and generators of clients; without them, their tests are skipped too.
  scripts/openapi-tools.sh || true
  # A checker of the accessibility of pages.
  scripts/page-tools.sh || true
fi
