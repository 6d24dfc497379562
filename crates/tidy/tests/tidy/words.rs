//! The English of the documents.

use quayline_tidy::{refused_words, tracked_files};

/// Folders that are not checked, each with its reason.
const EXEMPT: &[(&str, &str)] = &[("crates/", "notes beside test data, for programmers")];

#[test]
fn documents_use_plain_words() {
    let mut wrong = Vec::new();
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".md")) {
        if EXEMPT.iter().any(|(folder, _)| file.path.starts_with(folder)) {
            continue;
        }
        for found in refused_words(&file.text) {
            let refused = found.refused;
            wrong.push(format!("{}:{}: `{}`: write {}", file.path, found.line, refused.phrase, refused.instead));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
