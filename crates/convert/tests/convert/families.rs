//! CSV whose documents have several rows: head and line records, and rows with equal keys.

use std::sync::Arc;

use proptest::prelude::*;
use quayline_convert::Start;
use quayline_core::Limits;
use quayline_project::{Schema, ShapeFile, ShapeOptions, SourceFormat, TargetFormat};

use crate::kit::*;

fn load(layout: &str) -> ShapeFile {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("orders.toml"), layout).expect("written");
    let loaded = ShapeFile::load(folder.path(), "orders.toml", &ShapeOptions::default());
    loaded.unwrap_or_else(|findings| panic!("{findings}"))
}

fn ends(layout: &str) -> (Arc<Schema>, SourceFormat, TargetFormat) {
    let file = load(layout);
    let (from, to) = (file.source().expect("a source"), file.target().expect("a target"));
    (Arc::clone(file.schema()), from, to)
}

fn to_json(layout: &str, rows: &str) -> Kit {
    let (schema, from, _) = ends(layout);
    Kit::new(schema, rows.as_bytes(), from, jsonl())
}

fn to_rows(layout: &str, json: &str) -> Kit {
    let (schema, _, to) = ends(layout);
    Kit::new(schema, json.as_bytes(), JSON, to)
}

const KEYED: &str = r#"
layout = "csv"
group-by = ["order"]
[[field]]
name = "sku"
list = "lines"
[[field]]
name = "order"
required = true
[[field]]
name = "customer"
[[field]]
name = "quantity"
type = "integer"
list = "lines"
"#;

const KINDS: &str = r#"
layout = "csv"
delimiter = ";"
[[record]]
name = "head"
value = "H"
[[record.field]]
name = "kind"
[[record.field]]
name = "order"
[[record]]
name = "lines"
values = ["L", "M"]
parent = "head"
[[record.field]]
name = "kind"
[[record.field]]
name = "sku"
[[record.field]]
name = "quantity"
type = "decimal"
digits = 9
decimals = 2
[[record]]
name = "texts"
value = "T"
parent = "lines"
[[record.field]]
name = "kind"
[[record.field]]
name = "text"
[[record]]
name = "total"
value = "Z"
[[record.field]]
name = "kind"
[[record.field]]
name = "count"
type = "integer"
"#;

/// An invoice of three rows became three invoices: nothing grouped rows.
#[test]
fn neighbouring_rows_with_equal_keys_are_one_document() {
    let rows = "customer,order,sku,quantity\nACME,1,a,2\nACME,1,b,3\n\nBEAN,2,a,1\n,3,\"x\ny\",\n";
    let kit = to_json(KEYED, rows);
    let report = kit.ok();
    assert_eq!((report.tally.records_out, report.findings.len()), (3, 0), "{:?}", report.findings);
    assert_eq!(
        kit.text("out"),
        "{\"order\":\"1\",\"customer\":\"ACME\",\"lines\":[{\"sku\":\"a\",\"quantity\":2},{\"sku\":\"b\",\"quantity\":3}]}\n\
         {\"order\":\"2\",\"customer\":\"BEAN\",\"lines\":[{\"sku\":\"a\",\"quantity\":1}]}\n\
         {\"order\":\"3\",\"lines\":[{\"sku\":\"x\\ny\"}]}\n"
    );
    let back = to_rows(KEYED, &kit.text("out"));
    back.ok();
    assert_eq!(back.text("out"), "sku,order,customer,quantity\na,1,ACME,2\nb,1,ACME,3\na,2,BEAN,1\n\"x\ny\",3,,\n");
}

/// Rows of one order that are apart became two orders in silence in other tools.
#[test]
fn a_key_that_comes_back_ends_the_run_with_its_line() {
    let rows = "sku,order,customer,quantity\na,2,A,1\na,1,A,1\nb,2,A,1\n";
    let said = to_json(KEYED, rows).run().expect_err("not sorted").to_string();
    assert!(said.contains("FLAT-017") && said.contains("in.dat:4,") && said.contains("group-by"), "{said}");
    let ascending = KEYED.replace("[[field]]\nname = \"sku\"", "key-order = \"ascending\"\n[[field]]\nname = \"sku\"");
    let said = to_json(&ascending, rows).run().expect_err("descends").to_string();
    assert!(said.contains("FLAT-017") && said.contains("in.dat:3,") && said.contains("ascending"), "{said}");
    let sorted = "sku,order,customer,quantity\na,1,A,1\na,2,A,1\nb,2,A,1\n";
    for layout in [KEYED, &ascending] {
        assert_eq!(to_json(layout, sorted).ok().tally.records_out, 2);
    }
}

/// A blank line was a document with an empty key where the key is in the first column, so the order after it "came back".
#[test]
fn a_blank_line_is_no_row() {
    let layout = "layout = \"csv\"\ngroup-by = [\"order\"]\n[[field]]\nname = \"order\"\n[[field]]\nname = \"sku\"\nlist = \"lines\"\n";
    let kit = to_json(layout, "order,sku\n\n1,a\n\n1,b\n\n\n2,c\n\n");
    let report = kit.ok();
    assert_eq!((report.tally.records_out, report.findings.len()), (2, 0), "{:?}", report.findings);
    assert_eq!(
        kit.text("out"),
        "{\"order\":\"1\",\"lines\":[{\"sku\":\"a\"},{\"sku\":\"b\"}]}\n{\"order\":\"2\",\"lines\":[{\"sku\":\"c\"}]}\n"
    );
}

/// Two documents with one key were written as rows that read as one document.
#[test]
fn neighbouring_documents_with_equal_keys_are_not_written() {
    let order = |key: &str, sku: &str| format!("{{\"order\":{key},\"lines\":[{{\"sku\":\"{sku}\"}}]}}\n");
    let json = order("\"1\"", "a") + &order("\"1\"", "b") + &order("\"2\"", "c") + &order("\"1\"", "d");
    let kit = to_rows(KEYED, &json);
    let report = kit.ok();
    assert_eq!((report.findings[0].code.0, report.findings.len(), report.tally.records_out), ("FLAT-028", 1, 3));
    assert_eq!(kit.text("out"), "sku,order,customer,quantity\na,1,,\nc,2,,\nd,1,,\n");
    // Null and empty text are two keys for a reader; text in other quotes is one.
    let quoted = order("\"a\\\"b\"", "c");
    let empty = order("\"\"", "a") + "{\"order\":null,\"lines\":[{\"sku\":\"b\"}]}\n";
    let kit = to_rows(KEYED, &(empty + &quoted + &quoted));
    let report = kit.ok();
    assert_eq!((report.findings[0].code.0, report.findings.len(), report.tally.records_out), ("FLAT-028", 1, 3));
    let ascending = KEYED.replace("[[field]]\nname = \"sku\"", "key-order = \"ascending\"\n[[field]]\nname = \"sku\"");
    let kit = to_rows(&ascending, &json);
    assert_eq!(kit.ok().findings.len(), 2);
    // Across blocks, where nothing can be rejected any more, the run ends.
    let json: String = (0..40_000).map(|n| order(&format!("\"{}\"", n / 2), &"x".repeat(n % 50))).collect();
    let kit = to_rows(KEYED, &json);
    let found = kit.run();
    match found {
        Ok(report) => assert_eq!(report.tally.records_out, 20_000),
        Err(error) => assert!(error.to_string().contains("FLAT-028"), "{error}"),
    }
    let unique: String = (0..40_000).map(|n| order(&format!("\"{n}\""), &"x".repeat(n % 50))).collect();
    assert_eq!(to_rows(KEYED, &unique).ok().tally.records_out, 40_000);
}

/// Regression: a resumed run did not know the key of the last document before its checkpoint, and wrote rows that read as one document.
#[test]
fn keys_are_compared_across_a_checkpoint() {
    // 4,096 documents of 64 bytes are one block.
    let order = |n: usize| {
        let key = if n == 8_192 { 8_191 } else { n };
        format!("{{\"order\":\"{key:05}\",\"lines\":[{{\"sku\":\"{}\"}}]}}\n", "x".repeat(25))
    };
    assert_eq!(order(0).len(), 64);
    let mut kit = to_rows(KEYED, &(0..20_000).map(order).collect::<String>());
    for rejects in [true, false] {
        kit.rejects = rejects;
        for start in [Start::Anew, Start::Resume, Start::Resume] {
            let mut conversion = kit.conversion();
            conversion.checkpoints = Some(kit.checkpoints(start));
            let said = checked(conversion.run()).expect_err("two neighbours have one key").to_string();
            assert!(said.starts_with("error[FLAT-028]"), "{start:?}: {said}");
            assert_eq!(kit.text("out.partial").lines().count(), 1 + 8_192, "{start:?}");
        }
    }
}

/// Memory has a bound for keys that are remembered and for rows of one document.
#[test]
fn keys_and_rows_of_a_document_are_bounded() {
    let rows = "sku,order,customer,quantity\na,1,A,1\na,2,A,1\nb,3,A,1\n";
    let kit = to_json(KEYED, rows);
    let mut conversion = kit.conversion();
    conversion.limits = Limits { groups_max: 2, ..Limits::default() };
    let said = checked(conversion.run()).expect_err("too many").to_string();
    assert!(said.contains("FLAT-018") && said.contains("--limit groups=N"), "{said}");
    let mut conversion = kit.conversion();
    conversion.limits = Limits { record_bytes_max: 20, ..Limits::default() };
    let long = to_json(KEYED, "sku,order,customer,quantity\naaaaaaaaaa,1,A,1\nbbbbbbbbbb,1,A,1\n");
    let mut conversion_of_long = long.conversion();
    conversion_of_long.limits = conversion.limits.clone();
    let said = checked(conversion_of_long.run()).expect_err("too long").to_string();
    assert!(said.contains("FLAT-019") && said.contains("--limit record-bytes=N"), "{said}");
}

/// A document is rejected whole, with every finding at its line.
#[test]
fn rows_that_contradict_each_other_are_rejected_together() {
    let rows = "sku,order,customer,quantity\na,1,A,1\nb,1,B,1\nc,1,C\na,2,A,1\n";
    let kit = to_json(KEYED, rows);
    let report = kit.ok();
    let said: Vec<String> =
        report.findings.iter().map(|f| format!("{} {:?} {:?}", f.code, f.place.line, f.place.path)).collect();
    assert_eq!(said, ["FLAT-020 Some(3) Some(\"customer\")", "FLAT-011 Some(4) None"]);
    assert_eq!(kit.text("out"), "{\"order\":\"2\",\"customer\":\"A\",\"lines\":[{\"sku\":\"a\",\"quantity\":1}]}\n");
    assert_eq!(kit.text("rejects"), "sku,order,customer,quantity\na,1,A,1\nb,1,B,1\nc,1,C\n");
    // A document without rows of its own has no row, so it is a finding.
    let kit = to_rows(KEYED, "{\"order\":\"1\",\"lines\":[]}\n{\"order\":\"2\",\"lines\":[{}]}\n");
    let report = kit.ok();
    assert_eq!((report.findings[0].code.0, report.tally.records_out), ("FLAT-025", 1));
    assert_eq!(kit.text("out"), "sku,order,customer,quantity\n,2,,\n");
}

/// An absent key and an empty text were one document, and in another field they passed as equal.
#[test]
fn an_absent_cell_differs_from_an_empty_text() {
    let layout = KEYED.replace("[\"order\"]", "[\"order\", \"customer\"]").replace("required = true\n", "");
    let rows = "sku,order,customer,quantity\na,1,,1\nb,1,\"\",1\nc,1,\"\",2\n";
    let documents = "{\"order\":\"1\",\"lines\":[{\"sku\":\"a\",\"quantity\":1}]}\n\
                     {\"order\":\"1\",\"customer\":\"\",\"lines\":[{\"sku\":\"b\",\"quantity\":1},{\"sku\":\"c\",\"quantity\":2}]}\n";
    for (layout, is_ascending) in [(layout.clone(), false), (format!("key-order = \"ascending\"\n{layout}"), true)] {
        let kit = to_json(&layout, rows);
        assert_eq!(kit.ok().findings.len(), 0, "{is_ascending}");
        assert_eq!(kit.text("out"), documents);
        let back = to_rows(&layout, documents);
        assert_eq!(back.ok().findings.len(), 0, "{is_ascending}");
        assert_eq!(back.text("out"), rows);
    }
    let kit = to_json(KEYED, "sku,order,customer,quantity\na,1,,1\nb,1,\"\",1\na,2,\"\",1\nb,2,,1\n");
    let said: Vec<String> = kit.ok().findings.iter().map(|f| format!("{} {:?}", f.code, f.place.line)).collect();
    assert_eq!(said, ["FLAT-020 Some(3)", "FLAT-020 Some(5)"]);
    // In a field of another type, both are absent.
    for field in ["type = \"integer\"", "type = \"date\"", "type = \"timestamp\""] {
        let layout = layout.replace("name = \"customer\"", &format!("name = \"customer\"\n{field}"));
        let kit = to_json(&layout, rows);
        assert_eq!(kit.ok().tally.records_out, 1, "{field}");
        let layout = KEYED.replace("name = \"customer\"", &format!("name = \"customer\"\n{field}"));
        let kit = to_json(&layout, rows);
        assert_eq!((kit.ok().tally.records_out, kit.ok().findings.len()), (1, 0), "{field}");
    }
}

#[test]
fn rows_of_several_kinds_nest_below_their_parents() {
    let rows = "H;1\r\nL;a;2.50\r\nT;one\r\nT;two\r\nM;b;1\r\nH;2\r\nZ;2\r\n";
    let kit = to_json(KINDS, rows);
    let report = kit.ok();
    assert_eq!((report.tally.records_out, report.findings.len()), (3, 0), "{:?}", report.findings);
    assert_eq!(
        kit.text("out"),
        "{\"head\":{\"kind\":\"H\",\"order\":\"1\",\"lines\":[{\"kind\":\"L\",\"sku\":\"a\",\"quantity\":2.50,\"texts\":[{\"kind\":\"T\",\"text\":\"one\"},\
         {\"kind\":\"T\",\"text\":\"two\"}]},{\"kind\":\"M\",\"sku\":\"b\",\"quantity\":1}]}}\n\
         {\"head\":{\"kind\":\"H\",\"order\":\"2\"}}\n{\"total\":{\"kind\":\"Z\",\"count\":2}}\n"
    );
    let back = to_rows(KINDS, &kit.text("out"));
    back.ok();
    assert_eq!(back.text("out"), rows.replace('\r', ""));
    // The kind cell need not be in the document; another kind's value there is a finding.
    let json =
        "{\"head\":{\"order\":\"1\",\"lines\":[{\"sku\":\"a\"}]}}\n{\"head\":{\"kind\":\"L\",\"order\":\"2\"}}\n";
    let kit = to_rows(KINDS, json);
    let report = kit.ok();
    assert_eq!((kit.text("out"), report.findings[0].code.0), ("H;1\nL;a;\n".to_owned(), "FLAT-024"));
}

#[test]
fn rows_without_a_known_kind_or_parent_are_rejected_with_what_they_are_in() {
    let rows = "L;a;1\nH;1\nT;x\nH;2\nQ;1\nH;3\nL;a\nH;4\n";
    let kit = to_json(KINDS, rows);
    let report = kit.ok();
    let said: Vec<String> = report.findings.iter().map(|f| format!("{} {:?}", f.code, f.place.line)).collect();
    assert_eq!(said, ["FLAT-022 Some(1)", "FLAT-022 Some(3)", "FLAT-021 Some(5)", "FLAT-023 Some(7)"]);
    assert_eq!(kit.text("rejects"), "L;a;1\nH;1\nT;x\nH;2\nQ;1\nH;3\nL;a\n");
    assert_eq!(kit.text("out"), "{\"head\":{\"kind\":\"H\",\"order\":\"4\"}}\n");
    assert!(!report.findings[2].to_string().contains('Q'), "no payload");
}

/// A document may lie across any number of blocks, and any number of lanes gives the same.
#[test]
fn documents_across_blocks_stay_whole() {
    let mut rows = String::from("sku,order,customer,quantity\n");
    let mut documents = 0u64;
    for order in 0..900 {
        let lines = if order == 300 { 40_000 } else { order % 90 + 1 };
        documents += 1;
        for line in 0..lines {
            rows.push_str(&format!("sku-{line},{order},\"customer, {order}\",{line}\n"));
        }
    }
    let mut one = Vec::new();
    for lanes in [1, 3] {
        let kit = Kit { lanes, ..to_json(KEYED, &rows) };
        assert_eq!(kit.ok().tally.records_out, documents);
        if lanes == 1 {
            one = kit.bytes("out");
        }
        assert_eq!(kit.bytes("out"), one);
        let back = Kit { lanes, ..to_rows(KEYED, &kit.text("out")) };
        back.ok();
        assert_eq!(back.text("out"), rows);
    }
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![Just("a"), Just("b,c"), Just("\"q\""), Just("line\nbreak"), Just(" "), Just("ü;")]
        .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]
    /// Documents written as rows are read back as the same documents.
    #[test]
    fn documents_come_back_from_rows(
        heads in prop::collection::vec((cell(), prop::collection::vec((cell(), prop::collection::vec(cell(), 0..3)), 0..4)), 0..6),
    ) {
        let text = |text: &str| text.replace('"', "\\\"").replace('\n', "\\n");
        let mut kinds = String::new();
        let mut keyed = String::new();
        for (number, (order, lines)) in heads.iter().enumerate() {
            let line = |(sku, texts): &(String, Vec<String>)| {
                let texts: Vec<String> =
                    texts.iter().map(|t| format!("{{\"kind\":\"T\",\"text\":\"{}\"}}", text(t))).collect();
                let texts =
                    if texts.is_empty() { String::new() } else { format!(",\"texts\":[{}]", texts.join(",")) };
                format!("{{\"kind\":\"L\",\"sku\":\"{}\"{texts}}}", text(sku))
            };
            let nested: Vec<String> = lines.iter().map(line).collect();
            let nested = if nested.is_empty() { String::new() } else { format!(",\"lines\":[{}]", nested.join(",")) };
            kinds.push_str(&format!("{{\"head\":{{\"kind\":\"H\",\"order\":\"{}\"{nested}}}}}\n", text(order)));
            let flat: Vec<String> = lines.iter().map(|(sku, _)| format!("{{\"sku\":\"{}\"}}", text(sku))).collect();
            if !flat.is_empty() {
                keyed.push_str(&format!(
                    "{{\"order\":\"{number}\",\"customer\":\"{}\",\"lines\":[{}]}}\n", text(order), flat.join(",")
                ));
            }
        }
        for (layout, documents) in [(KINDS, kinds), (KEYED, keyed)] {
            let rows = to_rows(layout, &documents);
            prop_assert_eq!(rows.ok().tally.records_rejected, 0);
            let back = to_json(layout, &rows.text("out"));
            let report = back.ok();
            // An empty file has a warning.
            let expected = usize::from(rows.text("out").is_empty());
            prop_assert_eq!(report.findings.len(), expected, "{:?}\n{}", report.findings, rows.text("out"));
            prop_assert_eq!(back.text("out"), documents);
        }
    }
}
