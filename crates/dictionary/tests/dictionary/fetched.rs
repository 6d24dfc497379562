//! The dictionaries that `scripts/dictionaries.sh` fetches: every guide compiles, and its file is read as the same guide.

use std::path::PathBuf;

use expect_test::{Expect, expect};
use quayline_core::Limits;
use quayline_dictionary::{Imported, import_all, json};
use quayline_edi::guide::{CompiledGuide, NoGuides, parse_guide, write_guide};

/// Returns the folders of dictionaries whose names begin with `names`; `None`, with a message, if one is missing.
pub(crate) fn fetched(test: &str, names: &[&str]) -> Option<Vec<PathBuf>> {
    let root = std::env::var_os("QUAYLINE_DICTIONARIES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/dictionaries"), PathBuf::from);
    let folders: Vec<PathBuf> =
        std::fs::read_dir(&root).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let mut found = Vec::new();
    for name in names {
        let is = |path: &&PathBuf| {
            path.is_dir() && path.file_name().is_some_and(|of| of.to_string_lossy().starts_with(&format!("{name}-")))
        };
        let Some(folder) = folders.iter().find(is) else {
            eprintln!("skipped: {test}: {name} is not fetched, see scripts/dictionaries.sh");
            return None;
        };
        found.push(if *name == "pyx12" { folder.join("pyx12/map") } else { folder.clone() });
    }
    Some(found)
}

/// `expected` says how many places cannot be distinguished from another, as the sources have them.
fn all_compile(test: &str, names: &[&str], expected: &Expect) -> Option<Imported> {
    let imported = import_all(&fetched(test, names)?).unwrap_or_else(|findings| panic!("{findings}"));
    let mut ambiguous: Vec<(&str, usize)> = Vec::new();
    for (at, guide) in imported.guides.iter().enumerate() {
        let compiled = CompiledGuide::new(guide).unwrap_or_else(|findings| panic!("{}: {findings}", guide.name));
        let places = compiled.ambiguities().len();
        ambiguous.extend((places > 0).then_some((guide.name.as_str(), places)));
        let read = parse_guide(&guide.name, &write_guide(guide), &NoGuides, &Limits::default());
        assert!(read.as_ref() == Ok(guide), "{}: its file says something else", guide.name);
        // The slowest way and the same for all.
        if at % 9 != 0 {
            continue;
        }
        let text = json::write_guide(guide);
        let read = json::read_guides(quayline_dictionary::SourceText::new("", &text)).expect("what we write");
        assert!(read.guides == [guide.clone()], "{}: its JSON says something else", guide.name);
    }
    let places: usize = ambiguous.iter().map(|(_, places)| places).sum();
    let first: Vec<&str> = ambiguous.iter().map(|(name, _)| *name).take(12).collect();
    let summary = format!(
        "{places} places of {} among {} guides:\n{}\n",
        ambiguous.len(),
        imported.guides.len(),
        first.join(" ")
    );
    expected.assert_eq(&summary);
    Some(imported)
}

#[test]
fn implementation_guides_of_pyx12() {
    let expected = expect![[r#"
        4 places of 4 among 23 guides:
        271-004010X092A1 837-004010X096A1 837-004010X097A1 837-004010X098A1
    "#]];
    let Some(imported) = all_compile("implementation_guides_of_pyx12", &["pyx12"], &expected) else { return };
    let professional = imported.guides.iter().find(|guide| guide.name == "837-005010X222A1").expect("837P");
    assert_eq!(professional.functional_group.as_deref(), Some("HC"));
    assert_eq!(CompiledGuide::new(professional).expect("compiles").items().len(), 1 + 444);
}

#[test]
fn standard_sets_of_x12_types() {
    let expected = expect![[r#"
        63 places of 25 among 112 guides:
        301-004010 404-004010 940-004010 148-005010 217-005010 277-005010 300-005010 301-005010 404-005010 417-005010 820-005010 832-005010
    "#]];
    let Some(imported) = all_compile("standard_sets_of_x12_types", &["x12-types", "pyx12"], &expected) else { return };
    for name in ["850-005010", "810-005010", "856-005010", "855-005010", "997-005010", "810-004010"] {
        assert!(imported.guides.iter().any(|guide| guide.name == name), "{name}");
    }
}

#[test]
fn directories_of_smooks() {
    let expected = expect![[r#"
        14 places of 14 among 661 guides:
        CONTEN-D93A CONEST-D93A DELFOR-D93A CONITT-D93A PAYEXT-D93A CREADV-D93A DEBADV-D93A CREEXT-D93A PAYORD-D93A DELFOR-D96A INVRPT-D96A DELJIT-D96A
    "#]];
    let Some(imported) = all_compile("directories_of_smooks", &["smooks"], &expected) else { return };
    let codes = |name: &str| {
        let guide = imported.guides.iter().find(|guide| guide.name == name).expect("a message");
        guide.dictionary.codes.values().map(|list| list.codes.len()).sum::<usize>()
    };
    assert!(codes("ORDERS-D96A") > 1000 && codes("ORDERS-D93A") < 10);
}
