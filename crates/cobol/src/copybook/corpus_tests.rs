//! The shared corpus: every copybook in it parses, with the record lengths its owners state.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ParseOptions, SourceText};
use crate::layout::{Dialect, Layout};
use crate::parse;

fn corpus() -> Option<PathBuf> {
    let root = std::env::var_os("QUAYLINE_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    if root.is_dir() {
        return Some(root);
    }
    eprintln!(
        "skipped: {}: no corpus at {}; set QUAYLINE_CORPUS",
        std::thread::current().name().unwrap_or("a test"),
        root.display()
    );
    None
}

fn layout_of(path: &Path) -> Layout {
    let text = fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let copybook = parse(&SourceText::new(name, text), &ParseOptions::default()).unwrap_or_else(|f| panic!("{f}"));
    Layout::build(&copybook.records[0], &Dialect::IBM).unwrap_or_else(|f| panic!("{f}"))
}

#[test]
fn corpus_copybooks_have_the_lengths_their_owners_state() {
    let Some(root) = corpus() else { return };
    for (file, min, max) in [
        ("data/carddemo/CVACT01Y.cpy", 300, 300),
        ("data/carddemo/CVACT02Y.cpy", 150, 150),
        ("data/carddemo/CVCUS01Y.cpy", 500, 500),
        ("data/carddemo/CVTRA03Y.cpy", 60, 60),
        ("reference/harness/copybook/cpy/CAR100CP.cpy", 128 + 240 + 124 + 2900, 30_128),
        ("reference/harness/copybook/cpy/DISPHVY.cpy", 200, 200),
        ("reference/harness/copybook/cpy/COMP3HVY.cpy", 152, 152),
    ] {
        let layout = layout_of(&root.join(file));
        assert_eq!((layout.length_min, layout.length_max), (min, max), "{file}");
    }
}

#[test]
fn every_corpus_copybook_has_a_layout() {
    let Some(root) = corpus() else { return };
    let mut seen = 0;
    for folder in ["data/carddemo", "reference/harness/copybook/cpy"] {
        let Ok(files) = fs::read_dir(root.join(folder)) else { continue };
        for path in files.map(|f| f.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "cpy")) {
            assert!(layout_of(&path).length_max > 0, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0, "the corpus at {} holds no copybook", root.display());
}

#[test]
fn every_probe_has_the_length_of_its_record() {
    let Some(root) = corpus() else { return };
    let Ok(text) = fs::read_to_string(root.join("reference/probes/probes.json")) else {
        eprintln!("skipped: {}: no probes in {}", std::thread::current().name().unwrap_or("a test"), root.display());
        return;
    };
    let probes: serde_json::Value = serde_json::from_str(&text).unwrap();
    for probe in probes.as_array().unwrap() {
        let lines: Vec<String> =
            probe["copybook"].as_array().unwrap().iter().map(|l| format!("       {}", l.as_str().unwrap())).collect();
        let name = probe["name"].as_str().unwrap();
        let copybook =
            parse(&SourceText::new(name, lines.join("\n")), &ParseOptions::default()).unwrap_or_else(|f| panic!("{f}"));
        let layout = Layout::build(&copybook.records[0], &Dialect::IBM).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(layout.length_max, probe["record_hex"].as_str().unwrap().len() / 2, "{name}");
    }
}
