//! The examples of `docs/reference/guides.md` are right.

use std::sync::Arc;

use quayline_core::Limits;
use quayline_edi::NodeNames;
use quayline_edi::guide::{MemoryGuides, parse_dictionary, parse_guide};
use quayline_edi::{GenericOptions, ValidatorOptions};

use crate::contract::Contract;
use crate::guide_documents::{documents_of, json, read_with};

/// Returns the code blocks of the page with their labels.
fn blocks() -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/guides.md");
    let page = std::fs::read_to_string(path).expect("docs/reference/guides.md is there");
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (inside, line.strip_prefix("```")) {
            (false, Some(kind)) => {
                blocks.push((kind.to_owned(), String::new()));
                inside = true;
            }
            (true, Some(_)) => inside = false,
            (true, None) => {
                let (_, text) = blocks.last_mut().expect("a block is open");
                text.push_str(line);
                text.push('\n');
            }
            (false, None) => {}
        }
    }
    blocks
}

#[test]
fn examples_of_the_page_are_right() {
    let blocks = blocks();
    let of =
        |kind: &str| blocks.iter().filter(|(found, _)| found == kind).map(|(_, text)| text.clone()).collect::<Vec<_>>();
    let mut files = MemoryGuides::default();
    for text in of("guide") {
        let name = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("the first line names the file");
        files.0.insert(name.to_owned(), text.clone());
    }
    assert_eq!(files.0.len(), 3);
    let limits = Limits::default();
    let mut guides = Vec::new();
    for (name, text) in &files.0 {
        let done = if text.contains("\ndictionary ") {
            parse_dictionary(name, text, &files, &limits).map(drop)
        } else {
            parse_guide(name, text, &files, &limits).map(|guide| guides.push(guide))
        };
        done.unwrap_or_else(|findings| panic!("{findings}"));
    }
    // The overlay and its base are for different versions.
    let acme = guides[0].clone();
    assert_eq!((guides.len(), &*acme.version), (2, "005010ACME"));
    let documents = documents_of(vec![guides[1].clone()], NodeNames::References);
    documents_of(guides, NodeNames::Words);
    let (edi, expected) = (of("edi").concat().replace('\n', ""), of("json").concat().replace(['\n', ' '], ""));
    let options = GenericOptions {
        guides: Some(Arc::clone(&documents)),
        validation: Some(ValidatorOptions::default()),
        ..GenericOptions::default()
    };
    let mut contract = Contract::new(documents.shape());
    assert_eq!(read_with(&options, edi.as_bytes(), [], &mut contract), [""; 0]);
    let line = json(&documents, None, edi.as_bytes());
    let body = &line[line.find("\"BIG\"").expect("there")..];
    assert_eq!(format!("{{{body}").trim_end(), expected);
}
