#!/usr/bin/env bash
# Prints the tests that were skipped, from the output of `cargo test -- --show-output`: one line for each, with the name of its binary.
#
#   scripts/skipped.sh LOG
#
# A test prints `skipped: NAME: REASON`, or `skipped in part: NAME: REASON`, on a stream that the runner captures. The script takes the test's name from
# the preceding headline of the runner. Runs of one test, and output of another thread, have no headline; for them, the script takes NAME.
set -euo pipefail

awk '/^ *Running / { binary = $NF; sub(/^.*\//, "", binary); sub(/-[0-9a-f]+\)$/, "", binary) }
/^ *Doc-tests / { binary = $NF }
/^---- .* stdout ----$/ { test = $0; sub(/^---- /, "", test); sub(/ stdout ----$/, "", test); next }
/^(successes|failures):$|^test result:|^test .* \.\.\. |^running [0-9]+ tests?$/ { test = "" }
/^skipped( in part)?: / {
  kind = /^skipped: / ? "skipped" : "skipped in part"
  rest = $0
  sub(/^skipped( in part)?: /, "", rest)
  split_at = index(rest, ": ")
  # A name has no blank.
  if (split_at && substr(rest, 1, split_at - 1) !~ / /) {
    name = substr(rest, 1, split_at - 1)
    rest = substr(rest, split_at + 2)
  } else {
    name = "a test"
  }
  if (test != "") name = test
  name = binary "::" name
  # A test counts once, with its first reason.
  if (kind == "skipped" && !(name in skipped)) { skipped[name] = rest; order[++count] = name }
  if (kind != "skipped" && !((name, rest) in parts)) { parts[name, rest] = 1; line[++lines] = kind ": " name ": " rest }
}
END {
  for (i = 1; i <= count; i++) print "skipped: " order[i] ": " skipped[order[i]]
  for (i = 1; i <= lines; i++) print line[i]
}
' "$@"
