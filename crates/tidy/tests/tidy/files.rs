//! Size and content of the tracked files.

use quayline_tidy::{root, tracked_files};

const RUST_LINES_MAX: usize = 900;
const FILE_BYTES_MAX: u64 = 1 << 20;

#[test]
fn no_rust_file_is_too_long() {
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".rs")) {
        let lines = file.text.lines().count();
        assert!(lines <= RUST_LINES_MAX, "{}: {lines} lines, at most {RUST_LINES_MAX}: split it by concept", file.path);
    }
}

#[test]
fn no_tracked_file_is_large() {
    for file in tracked_files() {
        let bytes = std::fs::metadata(root().join(&file.path)).map_or(0, |data| data.len());
        assert!(bytes <= FILE_BYTES_MAX, "{}: {bytes} bytes: generate it instead", file.path);
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

#[test]
fn scripts_stop_at_the_first_error() {
    let files = tracked_files();
    let scripts = files.iter().filter(|file| file.path.starts_with("scripts/") || file.path.starts_with(".ci/"));
    for file in scripts {
        assert!(file.text.starts_with("#!/usr/bin/env bash\n"), "{}: starts with #!/usr/bin/env bash", file.path);
        assert!(file.text.contains("\nset -euo pipefail\n"), "{}: has `set -euo pipefail`", file.path);
    }
}
