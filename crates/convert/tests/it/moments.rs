//! Dates and timestamps of layouts: typed columns, and cells that are checked.

use std::sync::Arc;

use quayline_columnar::{ColumnInput, ColumnReader};
use quayline_project::{ShapeFile, ShapeOptions};

use crate::kit::*;

const FIELDS: &str = r#"
[[field]]
name = "id"
[[field]]
name = "day"
type = "date"
[[field]]
name = "at"
type = "timestamp"
"#;

fn load(kind: &str) -> ShapeFile {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rows.toml"), format!("layout = \"{kind}\"\n{FIELDS}")).expect("written");
    let loaded = ShapeFile::load(folder.path(), "rows.toml", &ShapeOptions::default());
    loaded.unwrap_or_else(|findings| panic!("{findings}"))
}

const DOCUMENTS: &str = "{\"id\":\"a\",\"day\":\"2026-02-28\",\"at\":\"2026-02-28T23:59:59.000001\"}\n\
                         {\"id\":\"b\"}\n{\"id\":\"c\",\"day\":\"0001-01-01\",\"at\":\"1969-12-31T23:59:59.500000\"}\n";

const WRONG: &str = "{\"id\":\"a\",\"day\":\"2026-02-29\"}\n{\"id\":\"b\",\"at\":\"28.02.2026\"}\n{\"id\":\"c\",\"day\":\"2026-02-28\"}\n";

/// A date was a column of text: layouts had no type for it.
#[test]
fn dates_are_typed_columns_and_come_back() {
    for kind in ["parquet", "arrow"] {
        let file = load(kind);
        let (from, to) = (file.source().expect("a source"), file.target().expect("a target"));
        let kit = Kit::new(Arc::clone(file.schema()), DOCUMENTS.as_bytes(), JSON, to.clone());
        assert_eq!(kit.ok().tally.records_out, 3, "{kind}");
        let reader = ColumnReader::open(ColumnInput::Memory(kit.bytes("out").into())).expect("columns");
        let types: Vec<String> = reader
            .schema()
            .fields()
            .iter()
            .map(|field| field.data_type().to_string().replace("\u{b5}s", "us"))
            .collect();
        assert_eq!(types[..2], ["Utf8", "Date32"], "{kind}");
        assert!(types[2].starts_with("Timestamp("), "{kind}: {}", types[2]);
        let back = Kit::new(Arc::clone(file.schema()), &kit.bytes("out"), from, jsonl());
        back.ok();
        assert_eq!(back.text("out"), DOCUMENTS, "{kind}");
        let wrong = Kit::new(Arc::clone(file.schema()), WRONG.as_bytes(), JSON, to);
        let report = wrong.ok();
        assert_eq!((report.tally.records_out, report.tally.records_rejected), (1, 2), "{kind}: {:?}", report.findings);
        let said: Vec<_> = report.findings.iter().map(|finding| finding.place.path.as_deref()).collect();
        assert_eq!(said, [Some("day"), Some("at")], "{:?}", report.findings);
    }
}

/// A date in CSV is text of one form, which is checked in both directions.
#[test]
fn dates_of_csv_are_checked_both_ways() {
    let file = load("csv");
    let (from, to) = (file.source().expect("a source"), file.target().expect("a target"));
    let kit = Kit::new(Arc::clone(file.schema()), DOCUMENTS.as_bytes(), JSON, to.clone());
    assert_eq!(kit.ok().tally.records_out, 3);
    let back = Kit::new(Arc::clone(file.schema()), &kit.bytes("out"), from.clone(), jsonl());
    back.ok();
    assert_eq!(back.text("out"), DOCUMENTS);
    let rows = b"id,day,at\na,2026-02-29,\nb,,28.02.2026\nc,2026-02-28,\n";
    for (data, format) in [(WRONG.as_bytes(), JSON), (&rows[..], from)] {
        let target = if data == rows { jsonl() } else { to.clone() };
        let report = Kit::new(Arc::clone(file.schema()), data, format, target).ok();
        let said: Vec<_> = report.findings.iter().map(|f| (f.code.0, f.place.path.as_deref())).collect();
        assert_eq!(said, [("FLAT-026", Some("day")), ("FLAT-026", Some("at"))]);
        assert_eq!(report.tally.records_out, 1);
    }
}
