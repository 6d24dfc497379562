#!/bin/sh
# Compiles the peers into a folder: build.sh FOLDER. `FOLDER/classpath` then has the class path. Needs Maven and a JDK 17 or newer.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
for program in java javac mvn; do
  command -v "$program" >/dev/null || { echo "$program is not installed" >&2; exit 3; }
done
# Nothing to do if the sources are older than the last build.
if [ -s "$out/classpath" ] && [ -z "$(find "$here" -newer "$out/classpath" -type f)" ]; then exit 0; fi
rm -rf "$out/classes" "$out/classpath"
mkdir -p "$out/classes"
cp "$here/pom.xml" "$out/pom.xml"
(cd "$out" && mvn -q -B dependency:build-classpath -Dmdep.outputFile="$out/jars") >&2
javac -d "$out/classes" -cp "$(cat "$out/jars")" "$here"/src/main/java/*.java
cp -R "$here/src/main/resources/." "$out/classes"
printf '%s:%s' "$out/classes" "$(cat "$out/jars")" >"$out/classpath"
