//! Documents that a column refuses, and the findings about them.

use expect_test::expect;
use quayline_columnar::{ColumnError, ColumnOptions, ColumnSink};
use quayline_core::{NodeId, Occurs, Place, RecordNumber, Scalar, Shape, Sink, Value};

use crate::dump;

const MANY: Occurs = Occurs::Many { min: 0, max: None };

fn shape() -> Shape {
    let mut shape = Shape::builder("R");
    shape.open("LINE", MANY);
    shape.scalar("AMOUNT", Scalar::Decimal { digits: 5, scale: 2, signed: true }, Occurs::Once);
    shape.scalar("NOTE", Scalar::Text { chars_max: None }, MANY);
    shape.close();
    shape.scalar("DONE", Scalar::Bool, Occurs::Once);
    shape.finish()
}

const LINE: NodeId = NodeId(1);
const AMOUNT: NodeId = NodeId(2);
const NOTE: NodeId = NodeId(3);
const DONE: NodeId = NodeId(4);

fn good(sink: &mut ColumnSink, n: i64) {
    sink.enter(NodeId::ROOT);
    sink.open_list(LINE);
    sink.enter(LINE);
    sink.value(AMOUNT, Value::Int(n, 2));
    sink.leave(LINE);
    sink.close_list(LINE);
    sink.leave(NodeId::ROOT);
}

fn bad(sink: &mut ColumnSink) {
    sink.enter(NodeId::ROOT);
    sink.value(DONE, Value::Int(1, 0));
    sink.open_list(LINE);
    sink.enter(LINE);
    sink.value(AMOUNT, Value::Int(1, 2));
    sink.open_list(NOTE);
    sink.value(NOTE, Value::Text(b"a"[..].into()));
    sink.value(NOTE, Value::Text(b"\xff"[..].into()));
    sink.close_list(NOTE);
    sink.leave(LINE);
    sink.enter(LINE);
    sink.value(AMOUNT, Value::Int(100_000, 2));
    sink.leave(LINE);
    sink.enter(LINE);
    sink.value(AMOUNT, Value::Int(1, 3));
    sink.value(AMOUNT, Value::Raw(b"secret"));
    sink.leave(LINE);
    sink.close_list(LINE);
    sink.value(DONE, Value::Bool(true));
    sink.leave(NodeId::ROOT);
}

#[test]
fn every_cause_names_its_place_and_no_content() {
    let mut sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
    good(&mut sink, 1);
    bad(&mut sink);
    let refusal = sink.take_refusal().unwrap();
    good(&mut sink, 2);
    assert_eq!(
        dump::rows(sink.take_batch().unwrap()).join(" "),
        "{LINE:[{AMOUNT:0.01,NOTE:null}],DONE:null} {LINE:[{AMOUNT:0.02,NOTE:null}],DONE:null}"
    );
    let place = Place { file: Some("a.dat".into()), record: Some(RecordNumber(7)), ..Place::default() };
    expect![[r#"
        error[COL-012]: found a number or bytes, expected a truth value
          at a.dat, record 7, DONE

        hint: give the field the type of its values

        error[COL-014]: found text that is not UTF-8, expected text
          at a.dat, record 7, LINE[0].NOTE[1]

        hint: please report this: the reader of this format promises UTF-8

        error[COL-010]: the number has more digits than the column: expected a number of up to 5 digits, 2 of them decimals
          at a.dat, record 7, LINE[1].AMOUNT

        hint: declare the field with more digits, or let its binary usage take the full range

        error[COL-011]: the number has non-zero digits after the column's last: expected a number of up to 5 digits, 2 of them decimals
          at a.dat, record 7, LINE[2].AMOUNT

        hint: declare the field with more decimals; nothing is rounded silently

        error[COL-013]: found bytes that are not a value of the field, expected a number of up to 5 digits, 2 of them decimals
          at a.dat, record 7, LINE[2].AMOUNT

        hint: keep invalid values as null, or write a format with text values, where they stay as 0x..

        error[COL-015]: found a second value, expected at most one of a number of up to 5 digits, 2 of them decimals
          at a.dat, record 7, LINE[2].AMOUNT

        hint: make it a list, or remove the second value

        error[COL-015]: found a second value, expected at most one of a truth value
          at a.dat, record 7, DONE

        hint: make it a list, or remove the second value"#]]
    .assert_eq(&refusal.findings(&place).to_string());
}

#[test]
fn many_causes_are_counted() {
    let mut sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
    sink.enter(NodeId::ROOT);
    sink.open_list(LINE);
    for _ in 0..100 {
        sink.enter(LINE);
        sink.value(AMOUNT, Value::Bool(true));
        sink.leave(LINE);
    }
    sink.close_list(LINE);
    sink.leave(NodeId::ROOT);
    let findings = sink.take_refusal().unwrap().findings(&Place::default());
    assert_eq!(findings.0.len(), 16);
    assert!(findings.0[15].message.ends_with("; 84 more values of this document do not fit"));
}

#[test]
fn a_refusal_that_nobody_asks_for_stops_the_batch() {
    let mut sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
    bad(&mut sink);
    good(&mut sink, 1);
    assert!(matches!(sink.take_batch(), Err(ColumnError::RefusalsNotTaken { count: 1 })));

    // Voiding the document is an answer too.
    let mut sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
    bad(&mut sink);
    sink.discard();
    good(&mut sink, 1);
    assert_eq!(sink.take_batch().unwrap().num_rows(), 1);
}

#[test]
fn a_batch_within_a_document_is_an_error_and_a_second_start_voids_the_first() {
    let mut sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
    sink.enter(NodeId::ROOT);
    sink.value(DONE, Value::Bool(true));
    assert!(matches!(sink.take_batch(), Err(ColumnError::DocumentOpen)));
    good(&mut sink, 3);
    assert_eq!(dump::rows(sink.take_batch().unwrap()), ["{LINE:[{AMOUNT:0.03,NOTE:null}],DONE:null}"]);
}

/// `1e-400` became 0, `1e400` infinity, and the texts `inf` and `nan` became floats.
#[test]
fn a_text_that_no_float_keeps_is_refused() {
    for (scalar, texts) in [
        (Scalar::Float64, ["1e-400", "-1e400", "inf", "nan", "NaN", "infinity"]),
        (Scalar::Float32, ["1e-60", "1e39", "-inf", "nan", "NaN", "infinity"]),
    ] {
        let mut shape = Shape::builder("R");
        let leaf = shape.scalar("X", scalar, Occurs::Once);
        let shape = shape.finish();
        let mut sink = ColumnSink::new(&shape, &ColumnOptions::default()).unwrap();
        for text in texts {
            sink.enter(NodeId::ROOT);
            sink.value(leaf, Value::Text(text.as_bytes().into()));
            sink.leave(NodeId::ROOT);
            let refusal = sink.take_refusal().unwrap_or_else(|| panic!("{text} is kept"));
            assert!(refusal.findings(&Place::default()).to_string().contains("COL-012"), "{text}");
        }
        sink.enter(NodeId::ROOT);
        sink.value(leaf, Value::Text(b"0e-400"[..].into()));
        sink.leave(NodeId::ROOT);
        assert!(sink.take_refusal().is_none());
    }
}
