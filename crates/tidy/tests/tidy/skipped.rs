//! Tests that cannot run on a machine are counted and named.

use std::io::Write as _;
use std::process::{Command, Stdio};

use quayline_tidy::tracked_files;

/// A test that said only `skipped: GnuCOBOL is not installed` was not counted, and one name for two tests counted as one.
#[test]
fn each_skipped_test_is_counted_once_and_named() {
    let log = "\
     Running tests/cli/main.rs (target/debug/deps/cli-0123456789abcdef)\n\
running 3 tests\n\
test maps::a_program ... ok\n\
skipped: from_a_thread: no server\n\
test maps::another ... ok\n\
\n\
successes:\n\
\n\
---- maps::a_program stdout ----\n\
skipped: GnuCOBOL is not installed\n\
\n\
---- maps::another stdout ----\n\
some output\n\
skipped: shared: no corpus\n\
skipped: shared: no corpus at all\n\
\n\
---- maps::third stdout ----\n\
skipped: shared: no corpus\n\
skipped in part: third: ACCTDATA is missing\n\
skipped in part: third: CARDDATA is missing\n\
\n\
\n\
successes:\n\
    maps::a_program\n\
\n\
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
\n\
     Running tests/flow/main.rs (target/debug/deps/flow-0123456789abcdef)\n\
---- maps::third stdout ----\n\
skipped: third: no server\n";
    let mut script = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/skipped.sh"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    script.stdin.take().expect("a pipe").write_all(log.as_bytes()).expect("it reads");
    let told = String::from_utf8(script.wait_with_output().expect("it ends").stdout).expect("UTF-8");
    assert_eq!(
        told,
        "\
skipped: cli::from_a_thread: no server\n\
skipped: cli::maps::a_program: GnuCOBOL is not installed\n\
skipped: cli::maps::another: no corpus\n\
skipped: cli::maps::third: no corpus\n\
skipped: flow::maps::third: no server\n\
skipped in part: cli::maps::third: ACCTDATA is missing\n\
skipped in part: cli::maps::third: CARDDATA is missing\n"
    );
}

/// Runs of a single test show only this line.
#[test]
fn each_line_of_a_skipped_test_has_its_name() {
    let mut wrong = Vec::new();
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".rs") && !file.path.contains("/tidy/")) {
        for (number, line) in file.text.lines().enumerate() {
            for start in ["\"skipped: ", "\"skipped in part: "] {
                let Some((_, rest)) = line.split_once(start) else { continue };
                let name = rest.split_once(": ").map_or("", |(name, _)| name);
                if name.is_empty() || name.contains(' ') {
                    wrong.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "write `skipped: NAME: REASON`:\n{}", wrong.join("\n"));
}
