//! Reading rows, and rows that are refused.

use expect_test::{Expect, expect};
use quayline_core::{Limits, Moment, Occurs, Scalar, Shape};
use quayline_flat::{CsvReader, CsvStyle, EmptyCell, RowRead};

use crate::documents::{Events, shape};
use crate::laws::rows;

fn check(style: CsvStyle, data: &str, expect: Expect) {
    let mut text = String::new();
    let mut reader = CsvReader::new(&shape(), style, &Limits::default()).unwrap();
    let (rows, end) = rows(style, &Limits::default(), data.as_bytes(), &[data.len()]);
    for (i, (raw, line)) in rows.iter().enumerate() {
        let row = quayline_flat::Row { raw, line: *line };
        if i == 0 {
            match reader.header(row) {
                Err(findings) => {
                    expect.assert_eq(&format!("{findings}\n"));
                    return;
                }
                Ok(()) => reader.warnings().iter().for_each(|warning| text.push_str(&format!("{warning}\n"))),
            }
            continue;
        }
        let mut events = Events::default();
        match reader.row(row, &mut events) {
            Ok(RowRead::Document) => text.push_str(&events.text),
            Ok(RowRead::Blank) => text.push_str("blank\n"),
            Err(fault) => {
                assert_eq!(events.text, "", "a faulty row sends nothing");
                text.push_str(&format!("{}\n", fault.finding()));
            }
        }
    }
    if end != "done" {
        text.push_str(&format!("{end}\n"));
    }
    expect.assert_eq(&text);
}

#[test]
fn columns_come_in_any_order_and_events_in_the_shape_s() {
    check(
        CsvStyle::default(),
        "\u{feff}LAST,CAR[1].DEALER[0].PRICE[1],ID,ADDR.CITY,TAG[1],\"NOTE, LONG\"\r\n1,2,3,,\"\",x\r\n\r\n,,4,,,",
        expect![[r#"
            warning[FLAT-007]: the header does not have column ADDR.ZIP and 5 more: their values are absent

            hint: add the columns, or give defaults in the interface
            0 {
             1 "3"
             2 "x"
             6 [
              6 null
              6 ""
             ]
             7 [
              7 {
              }
              7 {
               9 [
                9 {
                 11 [
                  11 null
                  11 "2"
                 ]
                }
                9 {
                }
               ]
              }
             ]
             12 "1"
            }
            blank
            0 {
             1 "4"
             6 [
             ]
             7 [
             ]
            }
        "#]],
    );
}

/// A missing column of a list was silent, although the file has a later occurrence.
#[test]
fn missing_columns_of_lists_are_named_up_to_the_last_occurrence() {
    let warnings = |lists: &str| {
        let mut reader = CsvReader::new(&shape(), CsvStyle::default(), &Limits::default()).unwrap();
        let raw = format!("ID,\"NOTE, LONG\",ADDR.CITY,ADDR.ZIP,LAST{lists}");
        reader.header(quayline_flat::Row { raw: raw.as_bytes(), line: 1 }).unwrap();
        reader.warnings().iter().map(|warning| warning.message.clone()).collect::<String>()
    };
    assert_eq!(warnings(""), "");
    assert_eq!(warnings(",TAG[0],TAG[1]"), "");
    assert_eq!(warnings(",TAG[1]"), "the header does not have column TAG[0]: their values are absent");
    let nested = ",CAR[0].MAKE,CAR[0].DEALER[0].NAME,CAR[0].DEALER[1].NAME,CAR[0].DEALER[1].PRICE[1]";
    let message = "the header does not have column CAR[0].DEALER[1].PRICE[0]: their values are absent";
    assert_eq!(warnings(nested), message);
}

#[test]
fn an_empty_cell_may_be_null() {
    let style = CsvStyle { empty: EmptyCell::Null, ..CsvStyle::default() };
    check(
        style,
        "ID,\"NOTE, LONG\",LAST\n,,\"\"\n",
        expect![[r#"
            warning[FLAT-007]: the header does not have column ADDR.CITY and 1 more: their values are absent

            hint: add the columns, or give defaults in the interface
            0 {
             1 null
             2 null
             12 null
            }
        "#]],
    );
}

#[test]
fn a_header_tells_all_its_faults_at_once() {
    check(
        CsvStyle::default(),
        "ID,id,TAG[7],ID,COLOUR,NOTE\n",
        expect![[r#"
        error[FLAT-005]: the record has no field for column `id`
          at line 1 (column 2 of the header)

        hint: write it `ID`

        error[FLAT-005]: the record has no field for column `TAG[7]`
          at line 1 (column 3 of the header)

        hint: the last column of that list is `TAG[2]`

        error[FLAT-006]: column ID occurs twice in the header
          at line 1 (column 4 of the header)

        hint: keep one of them

        error[FLAT-005]: the record has no field for column `COLOUR`
          at line 1 (column 5 of the header)

        hint: remove the column or correct its name; is the first row the header?

        error[FLAT-005]: the record has no field for column `NOTE`
          at line 1 (column 6 of the header)

        hint: remove the column or correct its name; is the first row the header?
    "#]],
    );
}

#[test]
fn a_ragged_row_is_refused_and_the_next_is_read() {
    check(
        CsvStyle::default(),
        "ID,LAST\n1\n1,2,3\n1,2\n",
        expect![[r#"
        warning[FLAT-007]: the header does not have column NOTE, LONG and 2 more: their values are absent

        hint: add the columns, or give defaults in the interface
        error[FLAT-011]: the row has 1 cells, the header has 2 columns
          at line 2

        hint: write every cell of the row, empty ones too, or name the delimiter that the file uses
        error[FLAT-011]: the row has 3 cells, the header has 2 columns
          at line 3

        hint: quote cells that hold the delimiter, or name the delimiter that the file uses
        0 {
         1 "1"
         12 "2"
        }
    "#]],
    );
}

#[test]
fn text_behind_a_quote_is_refused_by_line_and_column() {
    check(
        CsvStyle::default(),
        "ID,LAST\n\"a\nb\",1\n2,\"c\"d\n",
        expect![[r#"
        warning[FLAT-007]: the header does not have column NOTE, LONG and 2 more: their values are absent

        hint: add the columns, or give defaults in the interface
        0 {
         1 "a\nb"
         12 "1"
        }
        error[FLAT-012]: text follows the closing quote of a cell
          at line 4, LAST

        hint: double each quote inside a quoted cell, and quote the whole cell
    "#]],
    );
}

#[test]
fn an_open_quote_is_refused() {
    check(
        CsvStyle::default(),
        "ID,LAST\n1,\"2\n3,4\n",
        expect![[r#"
        warning[FLAT-007]: the header does not have column NOTE, LONG and 2 more: their values are absent

        hint: add the columns, or give defaults in the interface
        error[FLAT-014]: the file ends inside quotes
          at line 2

        hint: a quote that opens in this row is never closed: double each quote inside a quoted cell
    "#]],
    );
}

#[test]
fn bytes_that_are_not_utf_8_are_refused() {
    let shape = shape();
    let mut reader = CsvReader::new(&shape, CsvStyle::default(), &Limits::default()).unwrap();
    reader.header(quayline_flat::Row { raw: b"ID,LAST", line: 1 }).unwrap();
    let mut events = Events::default();
    let fault = reader.row(quayline_flat::Row { raw: b"1,\xe4", line: 2 }, &mut events).unwrap_err();
    expect![[r#"
        error[FLAT-015]: the cell is not UTF-8
          at line 2, LAST

        hint: save the file as UTF-8"#]]
    .assert_eq(&fault.finding().to_string());
    assert_eq!(events.text, "");
}

/// Bytes were written as hexadecimal digits, and the digits were read as the bytes.
#[test]
fn bytes_come_back_and_other_text_is_refused() {
    let mut b = Shape::builder("R");
    b.scalar("ID", Scalar::Text { chars_max: None }, Occurs::Once);
    b.open("PART", Occurs::Many { min: 0, max: Some(2) });
    b.scalar("DATA", Scalar::Bytes { len_max: None }, Occurs::Once);
    b.close();
    let shape = b.finish();
    let row = |raw: &[u8]| {
        let mut reader = CsvReader::new(&shape, CsvStyle::default(), &Limits::default()).unwrap();
        let mut events = Events::default();
        let read = reader.row(quayline_flat::Row { raw, line: 2 }, &mut events);
        read.map(|_| events.text).map_err(|fault| fault.finding().to_string())
    };
    expect![[r#"
        0 {
         1 "6162"
         2 [
          2 {
           3 bytes [61, 62]
          }
          2 {
           3 raw [0]
          }
         ]
        }
    "#]]
    .assert_eq(&row(b"6162,6162,0x00").unwrap());
    expect![[r#"
        error[FLAT-016]: the cell is not pairs of hexadecimal digits
          at line 2, PART[1].DATA

        hint: write each byte as two hexadecimal digits, as Quayline writes bytes to CSV"#]]
    .assert_eq(&row(b"1,6162,abc").unwrap_err());
}

/// A truth value came as text, so conditions of maps on it were always false.
#[test]
fn truth_values_have_words_and_others_are_refused() {
    let mut shape = Shape::builder("r");
    shape.scalar("b", Scalar::Bool, Occurs::Optional);
    let mut reader = CsvReader::new(&shape.finish(), CsvStyle::default(), &Limits::default()).unwrap();
    reader.header(quayline_flat::Row { raw: b"b", line: 1 }).unwrap();
    for (word, expected) in [
        ("true", "Bool(true)"),
        ("1", "Bool(true)"),
        ("TRUE", "Bool(true)"),
        ("False", "Bool(false)"),
        ("0", "Bool(false)"),
        ("yes", "FLAT-027"),
        ("xyz", "FLAT-027"),
        (" true", "FLAT-027"),
        ("01", "FLAT-027"),
    ] {
        let mut sent = Sent(String::new());
        let said = match reader.row(quayline_flat::Row { raw: word.as_bytes(), line: 2 }, &mut sent) {
            Ok(_) => sent.0,
            Err(fault) => fault.code().0.to_owned(),
        };
        assert_eq!(said, expected, "{word:?}");
    }
}

struct Sent(String);

impl quayline_core::Sink for Sent {
    fn enter(&mut self, _: quayline_core::NodeId) {}
    fn leave(&mut self, _: quayline_core::NodeId) {}
    fn open_list(&mut self, _: quayline_core::NodeId) {}
    fn close_list(&mut self, _: quayline_core::NodeId) {}
    fn value(&mut self, _: quayline_core::NodeId, value: quayline_core::Value<'_>) {
        self.0 = match value {
            quayline_core::Value::Ascii(run) => format!("Ascii {}", run.bytes().escape_ascii()),
            value => format!("{value:?}"),
        };
    }
    fn discard(&mut self) {}
}

/// `--unknown ignore` had no effect on the columns of CSV.
#[test]
fn columns_that_nobody_knows_are_passed_over_on_request() {
    let mut shape = Shape::builder("r");
    shape.scalar("A", Scalar::Text { chars_max: None }, Occurs::Optional);
    let shape = shape.finish();
    let read = |header| {
        let style = CsvStyle { header, ..CsvStyle::default() };
        let mut reader = CsvReader::new(&shape, style, &Limits::default()).unwrap();
        reader.header(quayline_flat::Row { raw: b"X,A,Y", line: 1 }).map_err(|findings| findings.0[0].code.0)?;
        let mut sent = Sent(String::new());
        reader.row(quayline_flat::Row { raw: b"1,2,3", line: 2 }, &mut sent).unwrap();
        Ok(sent.0)
    };
    assert_eq!(read(quayline_flat::Header::Present), Err("FLAT-005"));
    assert_eq!(read(quayline_flat::Header::Open).as_deref(), Ok("Ascii 2"));
}

/// The reader returned `""` in a field of numbers as an empty text. Records refused it, and JSON received `"N":""`. Programs that quote every cell
/// write absent numbers this way.
#[test]
fn an_empty_cell_in_quotes_is_text_only_where_a_text_may_be_empty() {
    let mut b = Shape::builder("R");
    b.scalar("N", Scalar::Decimal { digits: 9, scale: 2, signed: true }, Occurs::Once);
    b.scalar("T", Scalar::Text { chars_max: None }, Occurs::Once);
    b.scalar("D", Scalar::Text { chars_max: Some(10) }, Occurs::Once);
    b.scalar("F", Scalar::Float64, Occurs::Once);
    b.scalar("Q", Scalar::Bool, Occurs::Once);
    b.scalar("L", Scalar::Decimal { digits: 9, scale: 0, signed: true }, Occurs::Many { min: 0, max: Some(2) });
    b.scalar("B", Scalar::Bytes { len_max: Some(9) }, Occurs::Once);
    let shape = b.finish();
    let date = shape.iter().find(|(_, node)| node.name == "D").map(|(id, _)| (id, Moment::Date)).unwrap();
    let read = |empty: EmptyCell, header: &str, data: &str| {
        let style = CsvStyle { empty, ..CsvStyle::default() };
        let mut reader = CsvReader::new(&shape, style, &Limits::default()).unwrap().with_moments(&[date]);
        reader.header(quayline_flat::Row { raw: header.as_bytes(), line: 1 }).unwrap();
        let mut events = Events::default();
        reader.row(quayline_flat::Row { raw: data.as_bytes(), line: 2 }, &mut events).unwrap();
        events.text
    };
    let header = "N,T,D,F,Q,L[0],L[1],B";
    let quoted = r#""","","","","","","","""#;
    assert_eq!(read(EmptyCell::Absent, header, quoted), "0 {\n 2 \"\"\n 6 [\n ]\n 7 bytes []\n}\n");
    assert_eq!(
        read(EmptyCell::Absent, header, r#",""," ",,,,,"""#.replace(" ", "2026-01-31").as_str()).lines().count(),
        7
    );
    // The order of the columns in the file decides, not their order in the shape.
    assert_eq!(
        read(EmptyCell::Null, "B,L[1],L[0],Q,F,D,N,T", quoted),
        "0 {\n 1 null\n 2 \"\"\n 3 null\n 4 null\n 5 null\n 6 [\n ]\n 7 bytes []\n}\n"
    );
}

/// Regression: each unknown column of a header cost a search in all columns.
#[test]
fn a_header_of_another_file_takes_linear_time() {
    let cost = |count: u32| {
        let mut builder = Shape::builder("r");
        for number in 0..count {
            builder.scalar(format!("FIELD-{number}"), Scalar::Text { chars_max: Some(1) }, Occurs::Once);
        }
        let shape = builder.finish();
        let header: Vec<String> = (0..count).map(|number| format!("other_{number}")).collect();
        let mut reader = CsvReader::new(&shape, CsvStyle::default(), &Limits::default()).unwrap();
        let begun = std::time::Instant::now();
        let found = reader.header(quayline_flat::Row { raw: header.join(",").as_bytes(), line: 1 }).unwrap_err();
        let time = begun.elapsed();
        assert_eq!(found.0.len(), 21, "20 findings, and the number of the others");
        let more = format!("{} more", count - 20);
        assert!(found.0[20].message.contains(&more), "{}", found.0[20].message);
        time
    };
    let (few, many) = (cost(1_000), cost(20_000));
    assert!(many < few * 80 + std::time::Duration::from_millis(200), "1,000: {few:?}, 20,000: {many:?}");
}
