//! Dates and timestamps of layouts: typed columns, and cells that are checked.

use std::sync::Arc;

use proptest::prelude::*;
use quayline_columnar::{ColumnInput, ColumnReader};
use quayline_project::xml::XmlStyle;
use quayline_project::{ColumnsRead, ParquetWrite, ShapeFile, ShapeOptions, SourceFormat, TargetFormat};

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

/// A timestamp with a blank in the place of `T` passed on unchanged, in a form that no field has.
#[test]
fn timestamps_of_csv_have_one_form() {
    let file = load("csv");
    let (from, to) = (file.source().expect("a source"), file.target().expect("a target"));
    let with_t = "id,day,at\na,,2026-01-31T10:00:00\nb,,2026-01-31T10:00:00.5\n\u{e4},,2026-01-31T10:00:00\n";
    let with_blank = with_t.replace("1T1", "1 1").replacen("2026-01-31 10:00:00.5", "\"2026-01-31 10:00:00.5\"", 1);
    let json = |rows: &str| {
        let kit = Kit::new(Arc::clone(file.schema()), rows.as_bytes(), from.clone(), jsonl());
        assert_eq!(kit.ok().findings.len(), 0);
        kit.text("out")
    };
    assert_eq!(json(&with_blank), json(with_t));
    let kit = Kit::new(Arc::clone(file.schema()), json(with_t).replace("1T1", "1 1").as_bytes(), JSON, to);
    assert_eq!(kit.ok().findings.len(), 0);
    assert_eq!(kit.text("out"), with_t);
    // In rows of keys too.
    let keyed = format!("layout = \"csv\"\ngroup-by = [\"id\"]\n{FIELDS}list = \"lines\"\n");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rows.toml"), keyed).expect("written");
    let file = ShapeFile::load(folder.path(), "rows.toml", &ShapeOptions::default()).expect("a layout");
    let kit = Kit::new(Arc::clone(file.schema()), with_blank.as_bytes(), file.source().expect("a source"), jsonl());
    assert_eq!(kit.ok().findings.len(), 0);
    let read = kit.text("out");
    assert!(read.contains("\"at\":\"2026-01-31T10:00:00.5\"") && !read.contains("31 10"), "{read}");
    let blank = read.replace("1T1", "1 1");
    let kit = Kit::new(Arc::clone(file.schema()), blank.as_bytes(), JSON, file.target().expect("a target"));
    assert_eq!(kit.ok().findings.len(), 0);
    assert_eq!(kit.text("out"), with_t);
}

/// The hint for a timestamp proposed the format of a date, which is refused again.
#[test]
fn the_hint_has_the_format_of_the_type() {
    let file = load("csv");
    let (from, to) = (file.source().expect("a source"), file.target().expect("a target"));
    let rows = b"id,day,at\na,x,\nb,,x\n";
    let json = b"{\"id\":\"a\",\"day\":\"x\"}\n{\"id\":\"b\",\"at\":\"x\"}\n";
    for (data, format, target, hints) in [
        (&rows[..], from, jsonl(), ["date(…, \"DD.MM.YYYY\")", "datetime(…, \"DD.MM.YYYY HH:MM:SS\")"]),
        (&json[..], JSON, to, ["format(…, \"YYYY-MM-DD\")", "format(…, \"YYYY-MM-DDTHH:MM:SS\")"]),
    ] {
        let report = Kit::new(Arc::clone(file.schema()), data, format, target).ok();
        for (finding, hint) in report.findings.iter().zip(hints) {
            assert!(finding.hint.as_deref().is_some_and(|said| said.contains(hint)), "{finding}");
        }
        assert_eq!(report.findings.len(), 2);
    }
}

const DATED: &str = "
       01 HEAD.
          05 KIND PIC X.
          05 MADE PIC 9(8).
       01 ITEM.
          05 KIND PIC X.
          05 A PIC X(10).
          05 B PIC S9(7) COMP-3.
          05 C PIC 9(6) OCCURS 2.
          05 D PIC 9(8) COMP.
";

const DATED_TYPES: &str = r#"
[[field]]
name = "MADE"
date = "yyyyMMdd"
null = "zeros"
[[field]]
name = "A"
date = "dd.MM.yyyy"
null = "spaces"
[[field]]
name = "B"
date = "yyyyDDD"
[[field]]
name = "C"
date = "yyMMdd"
null = "zeros"
[[field]]
name = "D"
date = "yyyyMMdd"
null = "low-values"
[records]
by = "KIND"
[[records.type]]
record = "HEAD"
value = "H"
[[records.type]]
record = "ITEM"
value = "I"
parent = "HEAD"
"#;

/// A line with a date that exists, or with the bytes of null.
fn dated(null: bool, (year, month, day): (u32, u32, u32), head: bool) -> Vec<u8> {
    let number = if null { 0 } else { year * 10_000 + month * 100 + day };
    if head {
        return ebcdic(&format!("H{number:08}"));
    }
    let julian = format!("{year:04}{:03}C", 31 * (month - 1) + day);
    let nibble = |at: usize| u8::from_str_radix(&julian[at..=at], 16).expect("a digit");
    let packed: Vec<u8> = (0..4).map(|at| nibble(2 * at) << 4 | nibble(2 * at + 1)).collect();
    let text = if null { " ".repeat(10) } else { format!("{day:02}.{month:02}.{year:04}") };
    let short = if null { 0 } else { 200_000 + month * 100 + day };
    let zeros = "000000";
    [ebcdic(&format!("I{text}")), packed, ebcdic(&format!("{short:06}{zeros}")), number.to_be_bytes().to_vec()].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]
    /// Dates of records, also in lists and nested types, come back from every format byte for byte; in columns they are dates.
    #[test]
    fn dates_of_records_come_back_from_every_format(
        lines in prop::collection::vec((any::<bool>(), (0u32..=9999, 1u32..=2, 1u32..=28), any::<bool>()), 1..12),
    ) {
        let schema = schema(DATED, DATED_TYPES);
        let mut data = Vec::new();
        for (at, (null, day, head)) in lines.iter().enumerate() {
            let record = dated(*null, *day, *head || at == 0);
            data.extend(u16::try_from(record.len() + 4).expect("short").to_be_bytes());
            data.extend([0, 0]);
            data.extend(record);
        }
        let columns = SourceFormat::Columns(ColumnsRead::default());
        let formats = [
            (jsonl(), JSON),
            (TargetFormat::Xml(XmlStyle::default()), SourceFormat::Xml(XmlStyle::default())),
            (TargetFormat::Parquet(ParquetWrite::default()), columns.clone()),
            (TargetFormat::ArrowFile, columns),
        ];
        for (to, from) in formats {
            let kit = Kit::new(Arc::clone(&schema), &data, records("rdw"), to.clone());
            kit.ok();
            if matches!(from, SourceFormat::Columns(_)) {
                let reader = ColumnReader::open(ColumnInput::Memory(kit.bytes("out").into())).expect("columns");
                let types = format!("{:?}", reader.schema());
                prop_assert_eq!(types.matches("Date32").count(), 5, "{}", types);
            }
            let back = Kit::new(Arc::clone(&schema), &kit.bytes("out"), from, TargetFormat::Records(framing("rdw")));
            back.ok();
            prop_assert_eq!(back.bytes("out"), &data[..], "{:?}", to);
        }
    }
}
