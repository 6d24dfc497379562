#!/usr/bin/env bash
# Fetches the open EDI dictionaries that guides can be imported from into target/dictionaries, each under its own licence:
#   pyx12      HIPAA implementation guides, BSD-3-Clause          (pip)
#   x12-types  X12 standard sets, MIT OR Apache-2.0               (cargo)
#   smooks     UN/EDIFACT directories, Apache-2.0 OR LGPL-3.0+    (mvn)
#
# `scripts/dictionaries.sh [pyx12|x12-types|smooks]...`; without names all of them. What is there is not fetched again. Nothing of it is ever
# committed or shipped. A client that is missing, or a registry that cannot be reached, is told loudly; what can be fetched is. Exit code
# 0 if everything asked for is there, else 1.
set -euo pipefail
cd "$(dirname "$0")/.."

pyx12_version=4.0.0
x12_types_version=0.12.0
smooks_version=2.0.0
smooks_directories="d93a d96a d96b d97b d01b"
copy_plugin=org.apache.maven.plugins:maven-dependency-plugin:3.6.1
seconds=120 # for one client; a registry that does not answer must not stop a test run

root=$PWD/target/dictionaries
log=$root/fetch.log
mkdir -p "$root"

have() { command -v "$1" >/dev/null 2>&1; }
limited() { timeout "$seconds" "$@" >>"$log" 2>&1; }
# unpack ARCHIVE FOLDER: wheels and jars are zip files.
unpack() {
  if have unzip; then unzip -qo "$1" -d "$2"; elif have python3; then python3 -m zipfile -e "$1" "$2"; else (cd "$2" && jar xf "$1"); fi
}

missing=()
# fetch NAME FOLDER FUNCTION: fills a folder beside, and moves it into place when whole.
fetch() {
  [ ! -d "$root/$2" ] || return 0
  local new=$root/$2.new
  rm -rf "$new"
  mkdir -p "$new"
  if "$3" "$new" && rm -rf "${root:?}/$2" && mv "$new" "$root/$2"; then
    echo "dictionaries: fetched $2" >&2
  else
    rm -rf "$new"
    missing+=("$1")
  fi
}

fetch_pyx12() {
  local pip
  for pip in pip3 pip "python3 -m pip"; do
    # shellcheck disable=SC2086 # words
    have ${pip%% *} && limited $pip download --quiet --no-deps --only-binary :all: "pyx12==$pyx12_version" --dest "$1" && break
  done
  local wheel=("$1"/*.whl)
  [ -f "${wheel[0]}" ] && unpack "${wheel[0]}" "$1" && rm -f "${wheel[0]}" && [ -f "$1/pyx12/map/dataele.xml" ]
}

fetch_x12_types() {
  have cargo || return 1
  mkdir -p "$1/fetch/src"
  touch "$1/fetch/src/lib.rs"
  printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\nx12-types = { version = "=%s", default-features = false }\n' \
    "$x12_types_version" >"$1/fetch/Cargo.toml"
  limited cargo fetch --manifest-path "$1/fetch/Cargo.toml" || return 1
  local manifest
  manifest=$(cargo metadata --offline --format-version 1 --manifest-path "$1/fetch/Cargo.toml" 2>>"$log" |
    tr ',' '\n' | sed -n 's|^"manifest_path":"\(.*/x12-types-[0-9.]*\)/Cargo.toml".*|\1|p' | head -n 1)
  [ -d "$manifest/src" ] && cp -R "$manifest/src" "$manifest"/LICENSE* "$1/" && rm -rf "$1/fetch"
}

fetch_smooks() {
  have mvn || return 1
  local directory
  for directory in $smooks_directories; do
    limited mvn --quiet --batch-mode "$copy_plugin:copy" \
      "-Dartifact=org.smooks.cartridges.edi:edifact-schemas:$smooks_version:jar:$directory" "-DoutputDirectory=$1/jars" || return 1
    unpack "$1/jars/edifact-schemas-$smooks_version-$directory.jar" "$1" || return 1
    [ -f "$1/$directory/EDIFACT-Messages.dfdl.xsd" ] || return 1
  done
  rm -rf "$1/jars"
}

[ $# -gt 0 ] || set -- pyx12 x12-types smooks
: >"$log"
for name; do
  case $name in
    pyx12) fetch pyx12 "pyx12-$pyx12_version" fetch_pyx12 ;;
    x12-types) fetch x12-types "x12-types-$x12_types_version" fetch_x12_types ;;
    smooks) fetch smooks "smooks-$smooks_version" fetch_smooks ;;
    *) echo "usage: scripts/dictionaries.sh [pyx12|x12-types|smooks]..." >&2; exit 2 ;;
  esac
done

if [ ${#missing[@]} -gt 0 ]; then
  echo "dictionaries: NOT fetched: ${missing[*]} (log in target/dictionaries/fetch.log); tests that need them are skipped" >&2
  exit 1
fi
