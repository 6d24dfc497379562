//! Form of written rows.

use expect_test::{Expect, expect};
use quayline_core::{Limits, NodeId, Occurs, Run, Scalar, Shape, Sink, Value};
use quayline_flat::{Columns, CsvStyle, CsvWriter, Header};

use crate::documents::shape;

#[test]
fn columns_are_leaf_paths_with_lists_spread() {
    let columns = Columns::new(&shape(), &Limits::default()).unwrap();
    let names: Vec<&str> = columns.names().collect();
    expect![[r#"
        ID
        NOTE, LONG
        ADDR.CITY
        ADDR.ZIP
        TAG[0]
        TAG[1]
        TAG[2]
        CAR[0].MAKE
        CAR[0].DEALER[0].NAME
        CAR[0].DEALER[0].PRICE[0]
        CAR[0].DEALER[0].PRICE[1]
        CAR[0].DEALER[1].NAME
        CAR[0].DEALER[1].PRICE[0]
        CAR[0].DEALER[1].PRICE[1]
        CAR[1].MAKE
        CAR[1].DEALER[0].NAME
        CAR[1].DEALER[0].PRICE[0]
        CAR[1].DEALER[0].PRICE[1]
        CAR[1].DEALER[1].NAME
        CAR[1].DEALER[1].PRICE[0]
        CAR[1].DEALER[1].PRICE[1]
        CAR[2].MAKE
        CAR[2].DEALER[0].NAME
        CAR[2].DEALER[0].PRICE[0]
        CAR[2].DEALER[0].PRICE[1]
        CAR[2].DEALER[1].NAME
        CAR[2].DEALER[1].PRICE[0]
        CAR[2].DEALER[1].PRICE[1]
        LAST"#]]
    .assert_eq(&names.join("\n"));
}

fn refused(build: impl FnOnce(&mut quayline_core::ShapeBuilder), expect: Expect) {
    let mut b = Shape::builder("R");
    build(&mut b);
    let error = Columns::new(&b.finish(), &Limits::default()).map(|_| ()).unwrap_err();
    expect.assert_eq(&error.to_string());
}

const TEXT: Scalar = Scalar::Text { chars_max: None };

#[test]
fn a_list_that_explodes_is_named() {
    refused(
        |b| {
            b.open("A", Occurs::Many { min: 0, max: Some(5) });
            b.scalar("X", TEXT, Occurs::Once);
            b.open("B", Occurs::Many { min: 0, max: Some(9_999) });
            b.scalar("Y", TEXT, Occurs::Once);
        },
        expect![[r#"
            error[FLAT-001]: 50000 columns are more than the limit of 20000; most come from the list A.B: 9999 times 1

            hint: exclude the list in the interface, convert to JSON, XML or Parquet, or allow more with `--limit columns=N`"#]],
    );
}

#[test]
fn a_list_without_maximum_and_a_record_without_fields_are_refused() {
    refused(
        |b| {
            b.scalar("A", TEXT, Occurs::Many { min: 0, max: None });
        },
        expect![[r#"
            error[FLAT-002]: the list A has no maximum, so it has no fixed number of columns

            hint: convert to JSON, XML or Parquet, which hold lists; exclude the list in the interface of a record; if it is a record type, leave `parent` out and add `--by-type`; or write EDI with `--rows`"#]],
    );
    refused(
        |b| {
            b.open("A", Occurs::Once);
        },
        expect![[r#"
            error[FLAT-004]: the record has no field to make a column of

            hint: include at least one field in the interface"#]],
    );
}

#[test]
fn a_delimiter_that_looks_like_data_is_refused() {
    let style = CsvStyle { delimiter: b'"', ..CsvStyle::default() };
    let error = CsvWriter::new(&shape(), style, &Limits::default()).map(|_| ()).unwrap_err();
    expect![[r#"
        error[FLAT-003]: the delimiter '"' cannot be distinguished from data

        hint: use one of , ; | or a tab"#]]
    .assert_eq(&error.to_string());
}

#[test]
fn every_kind_of_value_has_a_form() {
    let mut b = Shape::builder("R");
    let ids: Vec<NodeId> = (0..11).map(|i| b.scalar(format!("C{i}"), TEXT, Occurs::Once)).collect();
    let mut writer = CsvWriter::new(&b.finish(), CsvStyle::default(), &Limits::default()).unwrap();
    writer.enter(NodeId::ROOT);
    let values = [
        Value::Null,
        Value::Ascii(b"a b"[..].into()),
        Value::Ascii(b""[..].into()),
        Value::Int(-5, 2),
        Value::Bool(true),
        Value::Bytes(b"\x00\xff"),
        Value::Raw(b"\x40"),
        Value::Float64(0.1),
        Value::Bytes(b""),
        Value::Text("\u{feff}ü"[..].as_bytes().into()),
        Value::Null,
    ];
    ids.iter().zip(values).for_each(|(id, value)| writer.value(*id, value));
    writer.leave(NodeId::ROOT);
    assert_eq!(
        std::str::from_utf8(writer.bytes()).unwrap(),
        ",a b,\"\",-0.05,true,00ff,0x40,0.1,\"\",\"\u{feff}ü\",\n"
    );
}

#[test]
fn a_discarded_document_leaves_no_row_before_and_after_its_end() {
    let mut b = Shape::builder("R");
    let id = b.scalar("A", TEXT, Occurs::Once);
    let mut writer = CsvWriter::new(&b.finish(), CsvStyle::default(), &Limits::default()).unwrap();
    writer.begin();
    let begin = |writer: &mut CsvWriter, text: &str| {
        writer.enter(NodeId::ROOT);
        writer.value(id, Value::Ascii(text.as_bytes().into()));
    };
    begin(&mut writer, "1");
    writer.leave(NodeId::ROOT);
    begin(&mut writer, "2");
    assert_eq!(writer.bytes(), b"A\n1\n");
    writer.discard();
    begin(&mut writer, "3");
    writer.leave(NodeId::ROOT);
    writer.discard();
    begin(&mut writer, "4");
    writer.clear();
    writer.leave(NodeId::ROOT);
    assert_eq!(writer.bytes(), b"4\n");
}

#[test]
fn more_occurrences_than_columns_are_a_fault_and_no_row() {
    let shape = shape();
    let find = |path: &str| shape.iter().map(|(id, _)| id).find(|id| shape.path(*id) == path).unwrap();
    let (car, make, dealer) = (find("CAR"), find("CAR.MAKE"), find("CAR.DEALER"));
    let mut writer = CsvWriter::new(&shape, CsvStyle::default(), &Limits::default()).unwrap();
    writer.enter(NodeId::ROOT);
    writer.open_list(car);
    writer.enter(car);
    writer.open_list(dealer);
    for _ in 0..3 {
        writer.enter(dealer);
        writer.leave(dealer);
    }
    writer.close_list(dealer);
    writer.value(make, Value::Ascii(b"x"[..].into()));
    writer.leave(car);
    writer.close_list(car);
    writer.leave(NodeId::ROOT);
    assert_eq!(writer.bytes(), b"");
    expect![[r#"
        error[FLAT-010]: the document has more occurrences than the 2 that have columns
          at CAR[0].DEALER

        hint: raise the list's maximum in the copybook or write JSON, which holds any number"#]]
    .assert_eq(&writer.take_fault().unwrap().finding().to_string());
}

/// Two columns of one name were written, which no reader accepts.
#[test]
fn two_columns_of_one_name_are_refused() {
    use quayline_core::{Occurs, Scalar, Shape};
    let text = || Scalar::Text { chars_max: None };
    let mut shape = Shape::builder("row");
    shape.scalar("a.b", text(), Occurs::Once);
    shape.open("a", Occurs::Once);
    shape.scalar("b", text(), Occurs::Once);
    shape.close();
    let found = quayline_flat::Columns::new(&shape.finish(), &quayline_core::Limits::default()).expect_err("twice");
    assert_eq!(found.0[0].code.0, "FLAT-006", "{found}");
    assert!(found.to_string().contains("two fields have the column name a.b"), "{found}");
}

/// A row that repeats the first texts of another has the bytes that it would have with each of its values, in any order and in any buffer.
#[test]
fn first_texts_are_written_again_as_they_were() {
    let mut shape = Shape::builder("row");
    for name in ["a", "b", "c", "d", "e"] {
        shape.scalar(name, Scalar::Text { chars_max: None }, Occurs::Optional);
    }
    let shape = shape.finish();
    let style = CsvStyle { header: Header::Absent, ..CsvStyle::default() };
    let run = |text: &'static str| Run::from(text.as_bytes());
    // Key, first texts, other values.
    type Document = (&'static str, &'static [(u32, &'static str)], &'static [(u32, &'static str)]);
    let documents: [Document; 8] = [
        ("one", &[(1, "x"), (3, "a, b")], &[(4, "1"), (5, "2")]),
        ("one", &[(1, "x"), (3, "a, b")], &[(5, "3")]),
        ("one", &[(1, "x"), (3, "a, b")], &[(4, "out"), (2, "of order")]),
        ("two", &[(2, "\"quoted\"")], &[]),
        ("two", &[(2, "\"quoted\"")], &[(1, "before"), (5, "after")]),
        ("one", &[(1, "x"), (3, "a, b")], &[(4, "1")]),
        ("", &[], &[(1, "no first texts")]),
        ("one", &[(1, "x"), (3, "a, b")], &[]),
    ];
    for clears in [false, true] {
        let mut plain = CsvWriter::new(&shape, style, &Limits::default()).unwrap();
        let mut short = plain.clone();
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for (key, first, rest) in documents {
            plain.enter(NodeId::ROOT);
            first.iter().for_each(|(node, text)| plain.value(NodeId(*node), Value::Ascii(run(text))));
            short.enter(NodeId::ROOT);
            short.first_texts(key.as_bytes(), first.iter().map(|(node, text)| (NodeId(*node), run(text))));
            for writer in [&mut plain, &mut short] {
                rest.iter().for_each(|(node, text)| writer.value(NodeId(*node), Value::Ascii(run(text))));
                writer.leave(NodeId::ROOT);
            }
            if clears {
                one.extend_from_slice(plain.bytes());
                two.extend_from_slice(short.bytes());
                plain.clear();
                short.clear();
            }
        }
        one.extend_from_slice(plain.bytes());
        two.extend_from_slice(short.bytes());
        assert_eq!(String::from_utf8(two).unwrap(), String::from_utf8(one).unwrap());
        // A discarded row is not repeated, and what it began with may be.
        short.clear();
        short.enter(NodeId::ROOT);
        short.first_texts(b"one", [(NodeId(1), run("x")), (NodeId(3), run("a, b"))].into_iter());
        short.discard();
        short.enter(NodeId::ROOT);
        short.first_texts(b"one", [(NodeId(1), run("x")), (NodeId(3), run("a, b"))].into_iter());
        short.leave(NodeId::ROOT);
        assert_eq!(short.bytes(), b"x,,\"a, b\",,\n");
    }
}
