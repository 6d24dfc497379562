//! Groups with one text or one list of texts: the fast path writes the same as the general one.

use proptest::prelude::*;
use quayline_core::{NodeId, Occurs, Run, Scalar, Shape, Sink, Value};
use quayline_json::{JsonStyle, JsonWriter, Spacing};

/// Has the long way only.
struct Long(JsonWriter);

impl Sink for Long {
    fn enter(&mut self, node: NodeId) {
        self.0.enter(node);
    }
    fn leave(&mut self, node: NodeId) {
        self.0.leave(node);
    }
    fn open_list(&mut self, node: NodeId) {
        self.0.open_list(node);
    }
    fn close_list(&mut self, node: NodeId) {
        self.0.close_list(node);
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.0.value(node, value);
    }
    fn discard(&mut self) {
        self.0.discard();
    }
}

const ROWS: NodeId = NodeId(1);
const TEXT: NodeId = NodeId(2);
const TEXTS: NodeId = NodeId(3);
const ONE: NodeId = NodeId(4);
const ONE_TEXT: NodeId = NodeId(5);

fn shape(name: &str) -> Shape {
    let many = Occurs::Many { min: 0, max: None };
    let text = || Scalar::Text { chars_max: None };
    let mut shape = Shape::builder("d");
    assert_eq!(shape.open("rows", many), ROWS);
    assert_eq!(shape.scalar(name, text(), Occurs::Optional), TEXT);
    assert_eq!(shape.scalar("texts", text(), many), TEXTS);
    shape.close();
    assert_eq!(shape.open("one", Occurs::Optional), ONE);
    assert_eq!(shape.scalar(name, text(), Occurs::Optional), ONE_TEXT);
    shape.close();
    shape.finish()
}

/// Sends the texts of a document, either consecutive in one buffer, as in that of a source, or each in its own.
fn send(sink: &mut impl Sink, rows: &[Vec<String>], together: bool) {
    let buffer = rows.concat().concat();
    let mut at = 0;
    let mut run = |text: &str| {
        let start = at;
        at += text.len();
        if together {
            Run::new(&buffer.as_bytes()[start..], text.len())
        } else {
            Run::from(&buffer.as_bytes()[start..at])
        }
    };
    sink.enter(NodeId::ROOT);
    sink.open_list(ROWS);
    let mut last = Run::from(&b""[..]);
    for row in rows {
        match row.as_slice() {
            [text] => {
                last = run(text);
                sink.text_alone(ROWS, TEXT, last);
            }
            texts if texts.len() % 2 == 1 => sink.each_text_alone(ROWS, TEXT, texts.iter().map(|text| run(text))),
            texts => sink.texts_alone(ROWS, TEXTS, texts.iter().map(|text| run(text))),
        }
    }
    sink.close_list(ROWS);
    sink.text_alone(ONE, ONE_TEXT, last);
    sink.leave(NodeId::ROOT);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_short_way_writes_the_same(
        rows in proptest::collection::vec(proptest::collection::vec(r#"[ -~]{0,40}|[a-z]{0,18}|["\\]{0,3}"#, 0..6), 0..30),
        name in "[a-z]{1,8}|[a-z]{20,60}|[a-z]\"é",
        together: bool,
        pretty: bool,
    ) {
        let spacing = if pretty { Spacing::Pretty } else { Spacing::Compact };
        let style = JsonStyle { spacing, ..JsonStyle::default() };
        let mut short = JsonWriter::new(&shape(&name), style);
        let mut long = Long(short.clone());
        for _ in 0..2 {
            send(&mut &mut short, &rows, together);
            send(&mut long, &rows, together);
        }
        prop_assert_eq!(core::str::from_utf8(short.bytes()), core::str::from_utf8(long.0.bytes()));
    }
}
