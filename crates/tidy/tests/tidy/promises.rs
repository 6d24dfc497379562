//! Promises of the README and the help texts, and the tests of each: `promises.txt` beside this file.

use quayline_tidy::{TrackedFile, tracked_files};

const TABLE: &str = include_str!("promises.txt");

/// Words of help texts that promise something. Every sentence of the README is looked at.
const WORDS: [&str; 10] =
    ["never", "nothing", "replaces", "overwrite", "exit code", "leaves", "undoes", "refuses", "always", "whatever"];

/// Beginnings of texts that only describe a value.
const VALUES: [&str; 9] = [
    "EDI always",
    "File or folder to write;",
    "File to write;",
    "File that holds the record",
    "Folder for files that hold nothing",
    "List statements that never ran",
    "Print the bytes that are kept",
    "Remove entries that are older",
    "Rollbacks after which a message",
];

/// One sentence of the table.
struct Promise {
    beginning: String,
    tests: Vec<(String, String)>,
    reasons: usize,
}

fn promises(page: &str) -> Vec<Promise> {
    let mut found: Vec<Promise> = Vec::new();
    let mut inside = false;
    for line in TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if let Some(name) = line.strip_prefix("== ") {
            inside = name == page;
        } else if inside && !line.starts_with(' ') {
            found.push(Promise { beginning: line.to_owned(), tests: Vec::new(), reasons: 0 });
        } else if let (true, Some(last)) = (inside, found.last_mut()) {
            match line.trim().split_once(' ') {
                Some(("test", rest)) => {
                    let (file, name) = rest.split_once(' ').unwrap_or((rest, ""));
                    last.tests.push((file.to_owned(), name.to_owned()));
                }
                Some(("why", _)) => last.reasons += 1,
                _ => panic!("neither `test FILE NAME` nor `why REASON`: {line}"),
            }
        }
    }
    found
}

fn sentences(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text;
    // A word in bold letters with a colon begins a definition.
    let ends = |text: &str| text.ends_with(['.', ':']) && !text.ends_with("**:");
    while let Some(at) = rest.match_indices(' ').map(|(at, _)| at).find(|at| ends(&rest[..*at])) {
        all.push(rest[..at].to_owned());
        rest = &rest[at + 1..];
    }
    all.push(rest.to_owned());
    all
}

/// Paragraphs and items of lists, each on one line; without tables, headings and code.
fn prose(markdown: &str) -> Vec<String> {
    let (mut all, mut open, mut is_code) = (Vec::new(), String::new(), false);
    for line in markdown.lines() {
        is_code ^= line.starts_with("```");
        let ends = is_code || line.is_empty() || line.starts_with(['|', '#', '`']) && line.starts_with("```");
        let is_item = line.starts_with("- ");
        if ends || is_item || line.starts_with(['|', '#']) {
            all.push(std::mem::take(&mut open));
        }
        if !ends && !line.starts_with(['|', '#']) {
            let text = line.strip_prefix("- ").unwrap_or(line).trim();
            open = if open.is_empty() { text.to_owned() } else { format!("{open} {text}") };
        }
    }
    all.push(open);
    all.retain(|text| !text.is_empty());
    all
}

fn file<'a>(files: &'a [TrackedFile], path: &str) -> &'a str {
    files.iter().find(|file| file.path == path).map_or_else(|| panic!("no file {path}"), |file| &file.text)
}

fn held(page: &str, sentences: &[String], files: &[TrackedFile]) -> Vec<String> {
    let promises = promises(page);
    let mut wrong = Vec::new();
    for sentence in sentences {
        if !promises.iter().any(|promise| sentence.starts_with(&promise.beginning)) {
            wrong.push(format!("{page}: no test is named for: {sentence}"));
        }
    }
    for promise in &promises {
        if !sentences.iter().any(|sentence| sentence.starts_with(&promise.beginning)) {
            wrong.push(format!("{page}: the page does not say any more: {}", promise.beginning));
        }
        if promise.tests.is_empty() && promise.reasons == 0 {
            wrong.push(format!("{page}: neither a test nor a reason for: {}", promise.beginning));
        }
        for (path, name) in &promise.tests {
            let text = files.iter().find(|file| file.path == *path).map_or("", |file| &file.text);
            let at = text.find(&format!("fn {name}("));
            let is_test =
                at.is_some_and(|at| text[..at].trim_end().lines().rev().take(4).any(|line| line.contains("#[test]")));
            if !is_test {
                wrong.push(format!("{page}: {path} has no test {name}, which holds: {}", promise.beginning));
            }
        }
    }
    wrong
}

#[test]
fn each_promise_of_the_readme_and_the_help_has_a_test() {
    let files = tracked_files();
    let readme = prose(file(&files, "README.md"));
    let readme: Vec<String> = readme.iter().flat_map(|text| sentences(text)).collect();
    let mut wrong = held("README.md", &readme, &files);

    let help = file(&files, "docs/reference/cli.md");
    let mut told: Vec<String> = Vec::new();
    for piece in help.split("\n\n").flat_map(|paragraph| paragraph.split("\n  ")) {
        let piece = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        for sentence in sentences(&piece) {
            let is_word = |word: &str| {
                let apart = |at: Option<char>| at.is_none_or(|c| !c.is_alphanumeric());
                sentence.match_indices(word).any(|(at, _)| {
                    apart(sentence[..at].chars().next_back()) && apart(sentence[at + word.len()..].chars().next())
                })
            };
            // Whole sentences; descriptions of values end without a period.
            let is_sentence = sentence.ends_with(['.', ':']) && sentence.starts_with(char::is_uppercase);
            if is_sentence && WORDS.iter().any(|word| is_word(word)) && !told.contains(&sentence) {
                told.push(sentence);
            }
        }
    }
    told.retain(|sentence| !VALUES.iter().any(|value| sentence.starts_with(value)));
    wrong.extend(held("docs/reference/cli.md", &told, &files));
    assert!(wrong.is_empty(), "write each into crates/tidy/tests/tidy/promises.txt:\n{}", wrong.join("\n"));
}

#[test]
fn the_table_of_contents_lists_every_page() {
    let files = tracked_files();
    let contents = file(&files, "docs/README.md");
    let pages = files.iter().filter_map(|file| file.path.strip_prefix("docs/")).filter(|path| path.ends_with(".md"));
    // Pages of codes have a list of their own, and those of flows are drawings of examples.
    let own =
        |path: &&str| !path.starts_with("reference/errors/") && !path.starts_with("flows/") && *path != "README.md";
    let missing: Vec<&str> = pages.filter(own).filter(|path| !contents.contains(&format!("({path}"))).collect();
    assert!(missing.is_empty(), "docs/README.md does not list {missing:?}");
}

/// The image and the unit start commands that exist, with files that are there.
#[test]
fn what_is_packaged_exists() {
    let files = tracked_files();
    let (image, unit) = (file(&files, "packaging/Containerfile"), file(&files, "packaging/quayline.service"));
    let (makefile, help) = (file(&files, "Makefile"), file(&files, "docs/reference/cli.md"));
    assert!(makefile.contains("$(DESTDIR)$(PREFIX)/bin/quayline"), "where `make install` copies the command");
    assert!(image.contains("make install PREFIX=target/image") && image.contains("COPY target/image/bin/quayline "));
    let after = |start: &str| unit.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default();
    let checked = after("ExecStartPre=/usr/bin/quayline serve --check ");
    assert!(checked.contains(" --store "), "{unit}");
    assert_eq!(after("ExecStart=/usr/bin/quayline serve "), checked, "what is checked is what starts");
    let serve =
        help.split("\n## quayline serve\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
    for text in [image, unit] {
        let commands = text.lines().filter(|line| !line.starts_with('#') && line.contains("serve"));
        for option in commands.flat_map(|line| line.split([' ', '"', ','])).filter(|word| word.starts_with("--")) {
            assert!(serve.contains(&format!("{option} ")) || serve.contains(&format!("{option}\n")), "{option}");
        }
    }
    let manifest = file(&files, "crates/cli/Cargo.toml");
    let paths = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix("[\"../../")?.split_once('"'))
        .map(|(path, _)| path);
    let mut count = 0;
    for path in paths {
        let start = path.split('*').next().unwrap_or(path);
        assert!(files.iter().any(|file| file.path.starts_with(start)), "the package has {path}, which does not exist");
        count += 1;
    }
    assert!(count >= 3, "{count}");
}

/// systemd reads the unit without a complaint.
#[test]
fn the_unit_is_one_that_systemd_takes() {
    let files = tracked_files();
    let folder = tempfile::tempdir().expect("a folder");
    let unit = folder.path().join("quayline.service");
    // The command is not installed where this test runs.
    std::fs::write(&unit, file(&files, "packaging/quayline.service").replace("/usr/bin/quayline", "/bin/true"))
        .expect("a file");
    let Ok(ran) = std::process::Command::new("systemd-analyze").arg("verify").arg(&unit).output() else {
        eprintln!("skipped: the_unit_is_one_that_systemd_takes: systemd-analyze is not installed");
        return;
    };
    let told = String::from_utf8(ran.stderr).expect("text");
    assert!(ran.status.success() && !told.contains("quayline"), "{told}");
}
