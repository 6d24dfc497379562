//! The codes of findings: one place in the sources, one explanation in `docs/reference/errors/`.

use std::collections::{BTreeMap, BTreeSet};

use quayline_tidy::{TrackedFile, anchors, root, tracked_files};

/// One meaning, one place: what shares a code shares a file; elsewhere a constant of that file is used.
#[test]
fn every_code_is_at_home_in_one_file() {
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &sources() {
        for code in codes_in_source(&file.text) {
            homes.entry(code).or_default().insert(file.path.clone());
        }
    }
    assert!(!homes.is_empty(), "no code found: this test has lost its way of recognising them");
    let wrong: Vec<String> = homes
        .iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|(code, files)| format!("{code} stands in {files:?}: two meanings, or a constant is missing"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_is_explained_and_every_explained_code_exists() {
    let files = tracked_files();
    let documents: Vec<&TrackedFile> = files
        .iter()
        .filter(|file| file.path.starts_with("docs/reference/errors/") && file.path.ends_with(".md"))
        .filter(|file| !file.path.ends_with(INDEX))
        .collect();
    let explained: Vec<&str> = documents.iter().flat_map(|file| file.text.lines()).filter_map(explained_code).collect();
    let sources = sources();
    let used: Vec<String> = sources.iter().flat_map(|file| codes_in_source(&file.text)).collect();
    let missing: Vec<&String> = used.iter().filter(|code| !explained.contains(&code.as_str())).collect();
    assert!(missing.is_empty(), "not explained in docs/reference/errors/: {missing:?}");
    let stale: Vec<&&str> = explained.iter().filter(|code| !used.iter().any(|used| used == *code)).collect();
    assert!(stale.is_empty(), "explained in docs/reference/errors/ and used nowhere: {stale:?}");
    for (i, code) in explained.iter().enumerate() {
        assert!(!explained[..i].contains(code), "{code} is explained twice in docs/reference/errors/");
    }
}

/// The page that lists every code.
const INDEX: &str = "errors/README.md";

const BEGIN: &str = "<!-- made by the tests: codes -->\n";
const END: &str = "<!-- end -->\n";

/// A finding leads to its page. `UPDATE_EXPECT=1` writes the list.
#[test]
fn the_index_lists_every_code() {
    let mut pages: BTreeMap<String, (BTreeSet<String>, BTreeMap<String, String>)> = BTreeMap::new();
    let files = tracked_files();
    let explaining = |file: &&TrackedFile| {
        file.path.starts_with("docs/reference/errors/") && file.path.ends_with(".md") && !file.path.ends_with(INDEX)
    };
    for file in files.iter().filter(explaining) {
        let page = file.path.rsplit('/').next().unwrap_or_default();
        let title = file.text.lines().next().unwrap_or_default().trim_start_matches("# ");
        for line in file.text.lines() {
            let Some(code) = explained_code(line) else { continue };
            let (meaning, link) = if line.starts_with('#') {
                let heading = line.trim_start_matches('#').trim();
                let anchor = anchors(line).pop().unwrap_or_default();
                (heading.replace('`', "").replacen(code, "", 1).trim().to_owned(), format!("{page}#{anchor}"))
            } else {
                // Entries of gateway codes have the HTTP status before the meaning.
                let mut cells = line.split('|').skip(2).map(str::trim);
                let meaning = cells.find(|cell| cell.parse::<u16>().is_err()).unwrap_or_default();
                (meaning.to_owned(), page.to_owned())
            };
            let area = code.split('-').next().unwrap_or_default().to_owned();
            let (titles, list) = pages.entry(area).or_default();
            titles.insert(format!("[{title}]({page})"));
            list.insert(code.to_owned(), format!("- [{code}]({link}) {}\n", meaning.trim_end_matches('.')));
        }
    }
    let mut made = String::from("| code | page |\n|---|---|\n");
    for (area, (titles, _)) in &pages {
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        made.push_str(&format!("| {area} | {} |\n", titles.join(", ")));
    }
    for (area, (_, list)) in &pages {
        let list: String = list.values().map(String::as_str).collect();
        made.push_str(&format!("\n## {area}\n\n{list}"));
    }
    let path = root().join("docs/reference").join(INDEX);
    let text = std::fs::read_to_string(&path).expect("the index");
    let (head, rest) = text.split_once(BEGIN).expect("the index has a place for the list");
    let (list, tail) = rest.split_once(END).expect("the list has an end");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}{made}{END}{tail}")).expect("the index can be written");
    } else {
        assert!(list == made, "{INDEX} is not what the pages have: UPDATE_EXPECT=1 cargo test --workspace --test tidy");
    }
}

/// A reader looks for a code by its number: the entries of a section are in order.
#[test]
fn codes_of_a_section_are_in_order() {
    let mut wrong = Vec::new();
    for file in tracked_files().iter().filter(|file| file.path.starts_with("docs/reference/errors/")) {
        let mut last = String::new();
        for line in file.text.lines() {
            if line.starts_with("## ") || line.is_empty() && !last.is_empty() && !file.text.contains("\n### ") {
                last.clear();
            }
            let Some(code) = explained_code(line) else { continue };
            if last.split('-').next() == code.split('-').next() && last.as_str() > code {
                wrong.push(format!("{}: {code} comes after {last}", file.path));
            }
            last = code.to_owned();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rust sources without their tests.
fn sources() -> Vec<TrackedFile> {
    tracked_files()
        .into_iter()
        .filter(|file| {
            let inside = file.path.starts_with("crates/") && file.path.contains("/src/") && file.path.ends_with(".rs");
            inside && !file.path.ends_with("/tests.rs") && !file.path.contains("/tests/")
        })
        .map(|mut file| {
            // A file's own tests come last.
            if let Some(at) = file.text.find("#[cfg(test)]\nmod tests {") {
                file.text.truncate(at);
            }
            file
        })
        .collect()
}

/// Each string literal that is a code, comments apart.
fn codes_in_source(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.flat_map(|line| line.split('"')).filter(|literal| is_code(literal)).map(str::to_owned).collect()
}

/// `COB-021` of a heading `### COB-021 …` or a table row `| COB-021 | …`.
fn explained_code(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#').trim_start_matches('|').trim_start().trim_start_matches('`');
    let heads = line.starts_with('#') || line.starts_with('|');
    let code = rest.split([' ', '`', '|', ':']).next()?;
    (heads && is_code(code)).then_some(code)
}

/// Three or four capitals, a dash, three digits.
fn is_code(text: &str) -> bool {
    let Some((area, number)) = text.split_once('-') else { return false };
    let area = (3..=4).contains(&area.len()) && area.bytes().all(|b| b.is_ascii_uppercase());
    area && number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit())
}

/// Limits have one name in messages, that of `--limit`, which `quayline_core::Limits::NAMES` defines. With `depth_max` in a message, the reader
/// would have to guess the option.
#[test]
fn findings_name_limits_as_the_command_line_does() {
    let core = sources().into_iter().find(|file| file.path == "crates/core/src/limits.rs").expect("limits have a home");
    let list = core.text.split("NAMES").nth(1).and_then(|rest| rest.split(';').nth(1)).expect("a list of names");
    let names: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert!(names.contains(&"depth") && names.contains(&"segment-bytes"), "{names:?}");
    let mut wrong = Vec::new();
    for file in sources().iter().filter(|file| file.path != core.path) {
        for (line, number) in file.text.lines().zip(1..) {
            let code = line.trim_start();
            if code.starts_with("//") {
                continue;
            }
            for name in &names {
                let field = format!("{}_max", name.replace('-', "_"));
                // A word of a sentence, not a place holder or a field of code.
                let told = code
                    .split('"')
                    .skip(1)
                    .step_by(2)
                    .any(|text| text.match_indices(&field).any(|(at, _)| !text[..at].ends_with(['{', '.', '_'])));
                // Neither which bound it is nor a proof is told.
                if told && !code.contains("bound: \"") && !code.contains("expect(") {
                    wrong.push(format!("{}:{number} says {field}: say `--limit {name}=N` in the hint", file.path));
                }
            }
            for option in code.split("--limit ").skip(1) {
                let name = option.split(['=', '`', ' ', '"']).next().unwrap_or_default();
                if option[name.len()..].starts_with('=') && !names.contains(&name) && name != "NAME" {
                    wrong.push(format!("{}:{number} names the limit {name}, which is none", file.path));
                }
            }
        }
    }
    for file in tracked_files().iter().filter(|file| file.path.starts_with("docs/reference/errors/")) {
        for name in &names {
            let field = format!("`{}_max`", name.replace('-', "_"));
            if file.text.contains(&field) {
                wrong.push(format!("{} says {field}: say `--limit {name}`", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
