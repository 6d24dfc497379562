//! Output of the writer.

use expect_test::{Expect, expect};
use quayline_core::{Decimal, NodeId, Occurs, Scalar, Shape, Sink, Value};
use quayline_json::{JsonStyle, JsonWriter, Numbers, Spacing, Stream};

use crate::shapes::{ascii, digits, digits_with_tail, sample, utf8};

fn write(style: JsonStyle, documents: impl FnOnce(&mut JsonWriter)) -> String {
    let mut writer = JsonWriter::new(&sample(), style);
    writer.begin();
    documents(&mut writer);
    writer.end();
    String::from_utf8(writer.bytes().to_vec()).expect("the writer writes UTF-8")
}

fn full(sink: &mut impl Sink) {
    let shape = sample();
    let node = |path: &str| {
        path.split('.').fold(NodeId::ROOT, |at, name| shape.child(at, name).expect("a name of the sample shape"))
    };
    sink.enter(NodeId::ROOT);
    sink.value(node("text"), utf8("Grüße \"an\"\u{1}\t\\ alle, die dies hier lesen\n"));
    sink.value(node("num"), digits("0001250", true, 2));
    sink.value(node("big"), digits("123456789012345678", false, 0));
    sink.value(node("f"), Value::Float64(1e300));
    sink.value(node("b"), Value::Bytes(&[0x00, 0xff, 0x1a]));
    sink.value(node("flag"), Value::Bool(true));
    sink.enter(node("group"));
    sink.value(node("group.a"), ascii(""));
    sink.enter(node("group.deep"));
    sink.leave(node("group.deep"));
    sink.leave(node("group"));
    sink.open_list(node("tags"));
    sink.value(node("tags"), ascii("x"));
    sink.value(node("tags"), Value::Null);
    sink.close_list(node("tags"));
    sink.open_list(node("rows"));
    sink.enter(node("rows"));
    sink.value(node("rows.k"), Value::Int(7, 0));
    sink.open_list(node("rows.v"));
    sink.close_list(node("rows.v"));
    sink.leave(node("rows"));
    sink.enter(node("rows"));
    sink.value(node("rows.k"), Value::Raw(&[0x40, 0x40]));
    sink.open_list(node("rows.v"));
    sink.value(node("rows.v"), Value::Int(-1, 0));
    sink.value(node("rows.v"), Value::Int(0, 0));
    sink.close_list(node("rows.v"));
    sink.leave(node("rows"));
    sink.close_list(node("rows"));
    sink.leave(NodeId::ROOT);
}

fn small(sink: &mut impl Sink, text: &str) {
    sink.enter(NodeId::ROOT);
    sink.value(NodeId(1), ascii(text));
    sink.leave(NodeId::ROOT);
}

#[test]
fn compact_lines() {
    expect![[r#"
        {"text":"Grüße \"an\"\u0001\t\\ alle, die dies hier lesen\n","num":-12.50,"big":123456789012345678,"f":1e300,"b":"00ff1a","flag":true,"group":{"a":"","deep":{}},"tags":["x",null],"rows":[{"k":7,"v":[]},{"k":"0x4040","v":[-1,0]}]}
        {"text":"next"}
    "#]]
    .assert_eq(&write(JsonStyle::default(), |writer| {
        full(writer);
        small(writer, "next");
    }));
}

#[test]
fn pretty_array() {
    let style = JsonStyle { stream: Stream::Array, spacing: Spacing::Pretty, numbers: Numbers::StringsWhenUnsafe };
    expect![[r#"
        [
        {
          "text": "Grüße \"an\"\u0001\t\\ alle, die dies hier lesen\n",
          "num": -12.50,
          "big": "123456789012345678",
          "f": 1e300,
          "b": "00ff1a",
          "flag": true,
          "group": {
            "a": "",
            "deep": {}
          },
          "tags": [
            "x",
            null
          ],
          "rows": [
            {
              "k": 7,
              "v": []
            },
            {
              "k": "0x4040",
              "v": [
                -1,
                0
              ]
            }
          ]
        },
        {
          "text": "next"
        }
        ]
    "#]]
    .assert_eq(&write(style, |writer| {
        full(writer);
        small(writer, "next");
    }));
}

#[test]
fn empty_streams_and_documents() {
    let array = JsonStyle { stream: Stream::Array, ..JsonStyle::default() };
    let empty = |writer: &mut JsonWriter| {
        writer.enter(NodeId::ROOT);
        writer.leave(NodeId::ROOT);
    };
    assert_eq!(write(JsonStyle::default(), |_| ()), "");
    assert_eq!(write(array, |_| ()), "[\n]\n");
    assert_eq!(write(JsonStyle::default(), empty), "{}\n");
    assert_eq!(write(array, empty), "[\n{}\n]\n");
}

#[test]
fn a_discarded_document_leaves_no_trace() {
    for stream in [Stream::Lines, Stream::Array] {
        let style = JsonStyle { stream, ..JsonStyle::default() };
        let want = write(style, |writer| {
            small(writer, "a");
            small(writer, "b");
        });
        let got = write(style, |writer| {
            small(writer, "bad");
            writer.discard();
            small(writer, "a");
            writer.enter(NodeId::ROOT);
            writer.value(NodeId(1), ascii("half"));
            writer.discard();
            small(writer, "b");
            full(writer);
            writer.discard();
        });
        assert_eq!(got, want);
    }
}

#[test]
fn a_document_drained_after_every_event_is_the_same() {
    struct Draining(JsonWriter, Vec<u8>);
    impl Draining {
        fn drain(&mut self) {
            self.1.extend_from_slice(self.0.bytes());
            self.0.clear();
        }
    }
    impl Sink for Draining {
        fn enter(&mut self, node: NodeId) {
            self.0.enter(node);
            self.drain();
        }
        fn leave(&mut self, node: NodeId) {
            self.0.leave(node);
            self.drain();
        }
        fn open_list(&mut self, node: NodeId) {
            self.0.open_list(node);
            self.drain();
        }
        fn close_list(&mut self, node: NodeId) {
            self.0.close_list(node);
            self.drain();
        }
        fn value(&mut self, node: NodeId, value: Value<'_>) {
            self.0.value(node, value);
            self.drain();
        }
        fn discard(&mut self) {
            self.0.discard();
        }
    }
    for spacing in [Spacing::Compact, Spacing::Pretty] {
        for stream in [Stream::Lines, Stream::Array] {
            let style = JsonStyle { stream, spacing, ..JsonStyle::default() };
            let want = write(style, full);
            let mut draining = Draining(JsonWriter::new(&sample(), style), Vec::new());
            draining.0.begin();
            draining.drain();
            full(&mut draining);
            assert_eq!(draining.0.taken(), 0);
            draining.0.end();
            draining.drain();
            assert_eq!(String::from_utf8(draining.1).unwrap(), want);
        }
    }
}

#[test]
fn what_was_taken_of_an_open_document_is_counted() {
    let mut writer = JsonWriter::new(&sample(), JsonStyle::default());
    small(&mut writer, "a");
    let before = writer.bytes().len();
    writer.enter(NodeId::ROOT);
    writer.value(NodeId(1), ascii("abc"));
    let taken = writer.bytes().len() - before;
    writer.clear();
    assert_eq!(writer.taken(), taken as u64);
    writer.discard();
    assert_eq!(writer.taken(), 0);
    small(&mut writer, "b");
    assert_eq!(writer.bytes(), b"{\"text\":\"b\"}\n");
}

#[test]
fn an_exchanged_buffer_holds_the_text() {
    let mut writer = JsonWriter::new(&sample(), JsonStyle::default());
    small(&mut writer, "a");
    for buffer in [Vec::new(), vec![b'x'; 10], vec![b'x'; 1 << 20]] {
        let (text, len) = writer.exchange(buffer);
        assert_eq!(&text[..len], b"{\"text\":\"a\"}\n");
        assert_eq!(writer.bytes(), b"");
        small(&mut writer, "discarded");
        writer.discard();
        small(&mut writer, "a");
    }
}

/// One number in a shape whose only member is a decimal of `max` digits.
#[track_caller]
fn number(numbers: Numbers, max: u16, value: Value<'_>, expect: Expect) {
    let mut shape = Shape::builder("R");
    let node = shape.scalar("n", Scalar::Decimal { digits: max, scale: 0, signed: true }, Occurs::Once);
    let mut writer = JsonWriter::new(&shape.finish(), JsonStyle { numbers, ..JsonStyle::default() });
    writer.enter(NodeId::ROOT);
    writer.value(node, value);
    writer.leave(NodeId::ROOT);
    let text = std::str::from_utf8(writer.bytes()).expect("the writer writes UTF-8");
    let text = text.strip_prefix("{\"n\":").and_then(|text| text.strip_suffix("}\n")).expect("one member");
    expect.assert_eq(text);
}

#[test]
fn numbers_keep_their_scale() {
    let exact = |value, expect| number(Numbers::Exact, 38, value, expect);
    exact(digits("0", false, 0), expect!["0"]);
    exact(digits("000", true, 0), expect!["-0"]);
    exact(digits("000", true, 2), expect!["-0.00"]);
    exact(digits("100", false, 2), expect!["1.00"]);
    exact(digits("5", false, 2), expect!["0.05"]);
    exact(digits("5", false, 1), expect!["0.5"]);
    exact(digits("007", false, -3), expect!["7000"]);
    exact(digits("000", false, -3), expect!["0"]);
    exact(
        digits("12345678901234567890123456789012345678", true, 20),
        expect!["-123456789012345678.90123456789012345678"],
    );
    exact(digits_with_tail("0001250999999999xxxx", 7, true, 2), expect!["-12.50"]);
    exact(digits_with_tail("0000000000000000xxxx", 16, false, 15), expect!["0.000000000000000"]);
    exact(digits_with_tail("1234567890123456xxxx", 16, false, 0), expect!["1234567890123456"]);
    exact(digits_with_tail("0000000000000000", 3, false, 0), expect!["0"]);
    exact(Value::Int(0, 0), expect!["0"]);
    exact(Value::Int(-7, 3), expect!["-0.007"]);
    exact(Value::Int(9_999_999_999_999_999, 0), expect!["9999999999999999"]);
    exact(Value::Int(10_000_000_000_000_000, 4), expect!["1000000000000.0000"]);
    exact(Value::Int(12, 20), expect!["0.00000000000000000012"]);
    exact(Value::Int(12, -2), expect!["1200"]);
    exact(Value::Int(i64::MIN, 0), expect!["-9223372036854775808"]);
    exact(
        Value::Decimal(Decimal { unscaled: i128::MIN, scale: 38 }),
        expect!["-1.70141183460469231731687303715884105728"],
    );
    exact(Value::Decimal(Decimal { unscaled: 0, scale: 1 }), expect!["0.0"]);
    exact(Value::Float32(0.1), expect!["0.10000000149011612"]);
    exact(Value::Float64(-0.0), expect!["-0.0"]);
    exact(Value::Float64(5e-324), expect!["5e-324"]);
    exact(Value::Float64(f64::NAN), expect!["null"]);
    exact(Value::Float32(f32::INFINITY), expect!["null"]);
}

#[test]
fn unsafe_numbers_become_strings() {
    let unsafe_ones = Numbers::StringsWhenUnsafe;
    number(unsafe_ones, 15, digits_with_tail("123456789012345xxxx", 15, false, 2), expect!["1234567890123.45"]);
    number(unsafe_ones, 15, digits_with_tail("0000012345xxxxxxxxxxx", 10, true, 2), expect!["-123.45"]);
    number(unsafe_ones, 15, digits("1234567890123456", false, 2), expect![[r#""12345678901234.56""#]]);
    number(unsafe_ones, 15, digits_with_tail("1234567890123456x", 16, false, 2), expect![[r#""12345678901234.56""#]]);
    number(unsafe_ones, 15, digits("0123456789012345", false, 2), expect!["1234567890123.45"]);
    number(unsafe_ones, 15, Value::Int(999_999_999_999_999, 0), expect!["999999999999999"]);
    number(unsafe_ones, 15, Value::Int(1_000_000_000_000_000, 0), expect![[r#""1000000000000000""#]]);
    number(unsafe_ones, 16, Value::Int(-5, 1), expect![[r#""-0.5""#]]);
    number(unsafe_ones, 16, digits_with_tail("0000005xxxxxxxxxxx", 7, true, 1), expect![[r#""-0.5""#]]);
    number(unsafe_ones, 16, Value::Null, expect!["null"]);
    number(unsafe_ones, 16, Value::Float64(0.1), expect!["0.1"]);
    number(Numbers::Strings, 3, Value::Int(5, 0), expect![[r#""5""#]]);
    number(Numbers::Strings, 3, Value::Float64(0.5), expect![[r#""0.5""#]]);
    number(Numbers::Strings, 3, Value::Null, expect!["null"]);
}

#[test]
fn every_small_integer_is_written_as_rust_writes_it() {
    let mut shape = Shape::builder("R");
    let list = shape.scalar("n", Scalar::Float64, Occurs::Many { min: 0, max: None });
    let mut writer = JsonWriter::new(&shape.finish(), JsonStyle::default());
    let mut want = String::from("{\"n\":[");
    writer.enter(NodeId::ROOT);
    writer.open_list(list);
    let mut n: i64 = 1;
    while n < i64::MAX / 13 {
        for n in [n, n + 1, -n, n * 10 - 1] {
            writer.value(list, Value::Int(n, 0));
            want.push_str(&format!("{n},"));
        }
        n = n * 13 / 8 + 1;
    }
    writer.close_list(list);
    writer.leave(NodeId::ROOT);
    want.pop();
    want.push_str("]}\n");
    assert_eq!(std::str::from_utf8(writer.bytes()).unwrap(), want);
}

#[test]
fn text_of_every_length_and_escape_at_every_place() {
    let mut shape = Shape::builder("R");
    let long = "K".repeat(200);
    let node = shape.scalar(&long, Scalar::Text { chars_max: None }, Occurs::Once);
    let mut writer = JsonWriter::new(&shape.finish(), JsonStyle::default());
    for len in 0..70 {
        for at in 0..=len {
            for special in ["\"", "\\", "\u{0}", "\u{1f}", "é", "\u{7f}", "x"] {
                let text = format!("{}{special}{}", "a".repeat(at), "b".repeat(len - at));
                writer.enter(NodeId::ROOT);
                writer.value(node, utf8(&text));
                writer.leave(NodeId::ROOT);
                let got: serde_json::Value = serde_json::from_slice(writer.bytes()).unwrap();
                assert_eq!(got[&long], text);
                writer.clear();
            }
        }
    }
}

#[test]
fn names_are_escaped() {
    let mut shape = Shape::builder("R");
    shape.scalar("a\"\\\u{1}ü", Scalar::Bool, Occurs::Once);
    let mut writer = JsonWriter::new(&shape.finish(), JsonStyle::default());
    writer.enter(NodeId::ROOT);
    writer.value(NodeId(1), Value::Bool(false));
    writer.leave(NodeId::ROOT);
    assert_eq!(writer.bytes(), "{\"a\\\"\\\\\\u0001ü\":false}\n".as_bytes());
}
