//! The English of the documents.

use quayline_tidy::{refused_in_message, refused_words, string_literals, tracked_files};

/// Folders that are not checked, each with its reason.
const EXEMPT: &[(&str, &str)] = &[("crates/", "notes beside test data, for programmers")];

#[test]
fn documents_use_plain_words() {
    let mut wrong = Vec::new();
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".md")) {
        if EXEMPT.iter().any(|(folder, _)| file.path.starts_with(folder)) {
            continue;
        }
        // The help texts are prose in fences: without them, all of it is checked. A fence leaves an empty line, so that numbers stay.
        let is_help = file.path.ends_with("reference/cli.md");
        let text = if is_help { file.text.replace("```text", "").replace("```", "") } else { file.text.clone() };
        for found in refused_words(&text) {
            let refused = found.refused;
            wrong.push(format!("{}:{}: `{}`: write {}", file.path, found.line, refused.phrase, refused.instead));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Crates whose texts only programmers read, and files with code of another language in literals.
const NOT_MESSAGES: &[(&str, &str)] = &[
    ("crates/bench/", "figures for programmers"),
    ("crates/tidy/", "the words themselves"),
    ("crates/store/src/conformance/", "tests of engines"),
    ("crates/store-postgres/src/sql.rs", "SQL"),
];

/// Text before a literal that users do not read: proofs, reasons and other texts for programmers.
const FOR_PROGRAMMERS: &[&str] = &["expect(", "unreachable!(", "assert!(", "debug_assert!(", "reason =", "panic!("];

/// Findings, hints, help and answers are prose as documents are.
#[test]
fn messages_use_plain_words() {
    let mut wrong = Vec::new();
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".rs") && file.path.contains("/src/")) {
        let is_test = file.path.contains("tests") || NOT_MESSAGES.iter().any(|(path, _)| file.path.starts_with(path));
        if is_test || !file.path.starts_with("crates/") {
            continue;
        }
        let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for literal in string_literals(code) {
            if FOR_PROGRAMMERS.iter().any(|call| literal.before.ends_with(call)) {
                continue;
            }
            for found in refused_in_message(&literal.text) {
                let refused = found.refused;
                wrong.push(format!("{}:{}: `{}`: write {}", file.path, literal.line, refused.phrase, refused.instead));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Without `expecting`, the message for a wrong value contains the name of a Rust type.
#[test]
fn alternatives_of_a_file_say_what_they_expect() {
    let rust =
        tracked_files().into_iter().filter(|file| file.path.ends_with(".rs") && !file.path.starts_with("crates/tidy/"));
    let bare: Vec<String> =
        rust.filter(|file| file.text.contains("#[serde(untagged)]")).map(|file| file.path.clone()).collect();
    assert!(bare.is_empty(), "write #[serde(untagged, expecting = \"expected …\")] in {}", bare.join(", "));
}
