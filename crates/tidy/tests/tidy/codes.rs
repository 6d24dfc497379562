//! The codes of findings: one place in the sources, one explanation in `docs/errors/`.

use std::collections::BTreeMap;

use quayline_tidy::{TrackedFile, tracked_files};

#[test]
fn every_code_is_declared_once() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in &sources() {
        for (number, code) in codes_in_source(&file.text) {
            places.entry(code).or_default().push(format!("{}:{number}", file.path));
        }
    }
    let twice: Vec<String> = places
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(code, places)| format!("{code} stands at {}: name it once, as a constant", places.join(", ")))
        .collect();
    assert!(twice.is_empty(), "{}", twice.join("\n"));
}

#[test]
fn every_code_is_explained_and_every_explained_code_exists() {
    let files = tracked_files();
    let documents: Vec<&TrackedFile> =
        files.iter().filter(|file| file.path.starts_with("docs/errors/") && file.path.ends_with(".md")).collect();
    let explained: Vec<&str> = documents.iter().flat_map(|file| file.text.lines()).filter_map(explained_code).collect();
    let sources = sources();
    let used: Vec<String> = sources.iter().flat_map(|file| codes_in_source(&file.text)).map(|(_, code)| code).collect();
    let missing: Vec<&String> = used.iter().filter(|code| !explained.contains(&code.as_str())).collect();
    assert!(missing.is_empty(), "not explained in docs/errors/: {missing:?}");
    let stale: Vec<&&str> = explained.iter().filter(|code| !used.iter().any(|used| used == *code)).collect();
    assert!(stale.is_empty(), "explained in docs/errors/ and used nowhere: {stale:?}");
    for (i, code) in explained.iter().enumerate() {
        assert!(!explained[..i].contains(code), "{code} is explained twice in docs/errors/");
    }
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

/// Line and code of each code literal, doc comments apart.
fn codes_in_source(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("//").next().unwrap_or_default();
        for (at, _) in code.match_indices("Code(\"") {
            let rest = &code[at + "Code(\"".len()..];
            found.extend(rest.split('"').next().map(|literal| (number, literal.to_owned())));
        }
    }
    found
}

/// `COB-021` of a heading `### COB-021 …` or a table row `| COB-021 | …`.
fn explained_code(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#').trim_start_matches('|').trim_start().trim_start_matches('`');
    let heads = line.starts_with('#') || line.starts_with('|');
    let code = rest.split([' ', '`', '|', ':']).next()?;
    let (area, number) = code.split_once('-')?;
    let fits = area.len() == 3
        && area.bytes().all(|b| b.is_ascii_uppercase())
        && number.len() == 3
        && number.bytes().all(|b| b.is_ascii_digit());
    (heads && fits).then_some(code)
}
