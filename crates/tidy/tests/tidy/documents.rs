//! Runs the commands of the documents, and compares their output with the shown one.
//!
//! In a fenced block marked `console`, a line `$ command` is run and the lines below it, up to the next `$`, are what it prints on
//! stdout and stderr together; a line `…` stands for any lines. A command with `<<'EOF'` continues on the lines with `> ` up to `> EOF`. Commands run one after another in a copy of `examples/`, with the
//! freshly built `quayline` first in the path. `make …` is looked up in the Makefile instead: this test is part of `make test`.

use std::path::{Path, PathBuf};
use std::process::Command;

use quayline_tidy::{anchors, code_blocks, root, tracked_files};

#[test]
fn commands_in_documents_print_what_is_shown() {
    let place = tempfile::tempdir().expect("a temporary folder");
    copy_folder(&root().join("examples"), &place.path().join("examples"));
    let mut run = 0;
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".md")) {
        for block in code_blocks(&file.text).iter().filter(|block| block.language == "console") {
            for session in sessions(&block.text) {
                if session.command.starts_with("make") {
                    continue;
                }
                let printed = shell(&session.command, place.path());
                assert!(
                    matches(&session.shown, &printed),
                    "{}, block at line {}: `{}` prints\n{printed}\nbut the document shows\n{}",
                    file.path,
                    block.line,
                    session.command,
                    session.shown
                );
                run += 1;
            }
        }
    }
    assert!(run > 0, "README.md shows at least one quayline command in a block marked `console`");
}

#[test]
fn make_commands_in_documents_exist() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("a Makefile");
    let exists = |target: &str| makefile.lines().any(|line| line.starts_with(&format!("{target}:")));
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".md")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            for (at, _) in line.match_indices("`make ").chain(line.match_indices("$ make ")) {
                let target = line[at..].split([' ', '`']).filter(|word| !word.is_empty() && *word != "$").nth(1);
                let target = target.unwrap_or_default();
                assert!(exists(target), "{}:{number}: `make {target}` is not in the Makefile", file.path);
            }
        }
    }
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README.md");
    for command in ["make demo", "make test"] {
        assert!(readme.contains(command), "README.md names `{command}`");
    }
    let ci = std::fs::read_to_string(root().join(".ci/run")).expect(".ci/run");
    assert!(ci.contains("make test"), ".ci/run runs the README's test command");
}

#[test]
fn links_between_documents_lead_somewhere() {
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".md")) {
        let folder = root().join(&file.path).parent().map(Path::to_path_buf).unwrap_or_default();
        for (number, line) in (1..).zip(file.text.lines()) {
            for (at, _) in line.match_indices("](") {
                let target = line[at + 2..].split(')').next().unwrap_or_default();
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                if target.contains("://") {
                    continue;
                }
                let page = if path.is_empty() { root().join(&file.path) } else { folder.join(path) };
                assert!(page.exists(), "{}:{number}: link to {path} leads nowhere", file.path);
                if !anchor.is_empty() && page.extension().is_some_and(|extension| extension == "md") {
                    let text = std::fs::read_to_string(&page).expect("a page of the repository");
                    let known = anchors(&text).iter().any(|known| known == anchor);
                    assert!(known, "{}:{number}: {path} has no heading #{anchor}", file.path);
                }
            }
        }
    }
}

struct Session {
    command: String,
    shown: String,
}

fn sessions(block: &str) -> Vec<Session> {
    let mut found: Vec<Session> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            found.push(Session { command: command.to_owned(), shown: String::new() });
        } else if let Some(session) = found.last_mut() {
            if session.command.contains("<<'EOF'") && !session.command.ends_with("\nEOF") {
                let text = line.strip_prefix("> ").or_else(|| line.strip_prefix('>')).unwrap_or(line);
                session.command = format!("{}\n{text}", session.command);
            } else if session.command.ends_with('\\') {
                session.command.pop();
                session.command.push_str(line.trim_start());
            } else {
                session.shown.push_str(line);
                session.shown.push('\n');
            }
        }
    }
    found
}

fn shell(command: &str, folder: &Path) -> String {
    let binaries = binaries();
    assert!(
        binaries.join("quayline").exists(),
        "{} has no quayline: `cargo build -p quayline-cli` first, or test the whole workspace",
        binaries.display()
    );
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binaries).chain(std::env::split_paths(&path))).expect("a PATH");
    let answer = Command::new("bash")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .expect("bash starts");
    String::from_utf8(answer.stdout).expect("commands print UTF-8")
}

/// Returns the folder of cargo's binaries: the parent of the one that this test runs in.
fn binaries() -> PathBuf {
    let this = std::env::current_exe().expect("this test has a path");
    this.ancestors().nth(2).expect("a test runs in target/PROFILE/deps").to_path_buf()
}

/// Returns true if `printed` is `shown`, in which a line `…` stands for any lines.
fn matches(shown: &str, printed: &str) -> bool {
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    lines_match(&shown, &printed)
}

fn lines_match(shown: &[&str], printed: &[&str]) -> bool {
    match shown {
        [] => printed.is_empty(),
        ["…", rest @ ..] => (0..=printed.len()).any(|skip| lines_match(rest, &printed[skip..])),
        [line, rest @ ..] => printed.first() == Some(line) && lines_match(rest, &printed[1..]),
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a new folder");
    for entry in std::fs::read_dir(from).expect("a folder of the repository") {
        let entry = entry.expect("a readable folder");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a readable file");
        }
    }
}

#[test]
fn an_ellipsis_stands_for_any_lines() {
    assert!(matches("a\n…\nd\n", "a\nb\nc\nd\n"));
    assert!(matches("…\n", ""));
    assert!(!matches("a\n…\nd\n", "a\nb\n"));
    assert!(!matches("a\n", "a\nb\n"));
}
