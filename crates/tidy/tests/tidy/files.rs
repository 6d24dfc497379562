//! Size and content of the tracked files.

use std::collections::BTreeMap;

use quayline_tidy::{root, tables, tracked_files};

const RUST_LINES_MAX: usize = 900;
const CRATE_LINES_MAX: usize = 13_000;
const FILE_BYTES_MAX: u64 = 1 << 20;

#[test]
fn no_rust_file_is_too_long() {
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".rs")) {
        let lines = file.text.lines().count();
        assert!(lines <= RUST_LINES_MAX, "{}: {lines} lines, at most {RUST_LINES_MAX}: split it by concept", file.path);
    }
}

/// Lines of code: without blank lines, comments, and unit tests at the end of a file.
#[test]
fn no_crate_is_too_large_without_an_argument() {
    let files = tracked_files();
    let architecture = files.iter().find(|file| file.path == "ARCHITECTURE.md").expect("ARCHITECTURE.md");
    let all = tables(&architecture.text);
    let argued = all.iter().find(|table| table.header.get(1).is_some_and(|name| name == "lines of code at most"));
    let argued: BTreeMap<&str, usize> = argued
        .expect("a table of large crates")
        .rows
        .iter()
        .map(|row| (row[0].as_str(), row[1].replace(',', "").parse().expect("a number of lines")))
        .collect();
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        let Some((name, rest)) = file.path.strip_prefix("crates/").and_then(|path| path.split_once('/')) else {
            continue;
        };
        if !rest.starts_with("src/") {
            continue;
        }
        let code = file.text.lines().map(str::trim).take_while(|line| *line != "#[cfg(test)]");
        *lines.entry(name).or_default() += code.filter(|line| !line.is_empty() && !line.starts_with("//")).count();
    }
    let most = |name: &str| argued.get(name).copied().unwrap_or(CRATE_LINES_MAX);
    let large = lines.iter().filter(|(name, count)| **count > most(name));
    let large: Vec<String> =
        large.map(|(name, count)| format!("{name}: {count} lines of code, at most {}", most(name))).collect();
    assert!(large.is_empty(), "{}: move a concept out, or argue in ARCHITECTURE.md", large.join("\n"));
    for (name, most) in argued {
        let count = lines.get(name).copied().unwrap_or(0);
        assert!(
            count > CRATE_LINES_MAX,
            "{name} has {count} lines of code and needs no {most} in ARCHITECTURE.md any more"
        );
    }
}

#[test]
fn no_tracked_file_is_large() {
    for file in tracked_files() {
        let bytes = std::fs::metadata(root().join(&file.path)).map_or(0, |data| data.len());
        assert!(bytes <= FILE_BYTES_MAX, "{}: {bytes} bytes: generate it instead", file.path);
    }
}

/// A merge that was not finished leaves marks in pages that no compiler reads.
#[test]
fn no_merge_is_half_done() {
    for file in tracked_files() {
        // Joined here, so that this file does not hold what it looks for. The middle mark alone also underlines titles.
        for mark in ["<<<<<<", ">>>>>>", "||||||"].map(|mark| format!("{mark}{} ", &mark[..1])) {
            let place = file.text.lines().position(|line| line.starts_with(&mark));
            assert!(place.is_none(), "{}:{}: a mark of a merge", file.path, place.map_or(0, |line| line + 1));
        }
    }
}

/// Hosts of package registries and paths of one machine do not belong into sources: another machine has others.
#[test]
fn no_registry_host_and_no_machine_path() {
    // Joined here, so that this file does not hold what it looks for.
    let forbidden: Vec<String> = [
        ["/wo", "rk/"],
        ["/ro", "ot/"],
        ["/ho", "me/"],
        ["crates", ".io"],
        ["pypi", ".org"],
        ["pythonhosted", ".org"],
        ["npmjs", ".org"],
        ["npmjs", ".com"],
        ["deb.debian", ".org"],
        ["proxy.golang", ".org"],
        ["maven", ".org"],
    ]
    .iter()
    .map(|parts| parts.concat())
    .collect();
    for file in tracked_files() {
        // Cargo writes where a version came from into its lock files; that line names the index, not a place on a machine.
        if file.path.ends_with("Cargo.lock") {
            continue;
        }
        for (number, line) in (1..).zip(file.text.lines()) {
            for word in &forbidden {
                assert!(!line.contains(word), "{}:{number}: names `{word}`", file.path);
            }
        }
    }
}

/// JSON is written from types, or by the writer of `json`: a text that is put into a format string may hold a quote. The schema that `infer` lays out for
/// people quotes each text.
#[test]
fn no_json_by_format() {
    let own = |path: &str| path.starts_with("crates/bench/") || path.starts_with("crates/tidy/");
    let files = tracked_files();
    let sources = files.iter().filter(|file| file.path.ends_with(".rs") && file.path.contains("/src/"));
    for file in sources.filter(|file| file.path.starts_with("crates/") && !own(&file.path)) {
        let code = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        for (number, line) in (1..).zip(code) {
            let is_code = !line.trim_start().starts_with("//");
            let object = line.contains("{{\\\"") || line.contains("r#\"") && line.contains("{{\"");
            assert!(!(is_code && object), "{}:{number}: JSON by a format string: write a type", file.path);
        }
    }
}

/// The types of everything that clients and operators of the server read are in one place.
#[test]
fn wire_types_of_the_server_are_in_its_api() {
    let files = tracked_files();
    let inner = files
        .iter()
        .filter(|file| file.path.starts_with("crates/server/src/") && !file.path.starts_with("crates/server/src/api/"));
    for file in inner {
        let derives = file.text.lines().any(|line| line.starts_with("#[derive(") && line.contains("Serialize"));
        assert!(!derives, "{}: a type of the wire: move it to crates/server/src/api", file.path);
    }
}

#[test]
fn scripts_stop_at_the_first_error() {
    let files = tracked_files();
    let scripts = files.iter().filter(|file| file.path.starts_with("scripts/") || file.path.starts_with(".ci/"));
    for file in scripts {
        assert!(file.text.starts_with("#!/usr/bin/env bash\n"), "{}: starts with #!/usr/bin/env bash", file.path);
        assert!(file.text.contains("\nset -euo pipefail\n"), "{}: has `set -euo pipefail`", file.path);
    }
}
