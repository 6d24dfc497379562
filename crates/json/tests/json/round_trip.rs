//! Laws: a written document is read back unchanged, for any shape, document, style and chunking.

use proptest::prelude::*;
use quayline_core::{
    Decimal, Digits, Document, Limits, NodeId, NodeKind, Occurs, Run, Scalar, Shape, ShapeBuilder, Sink, Value,
};
use quayline_json::{
    EndOfInput, JsonReader, JsonSplitter, JsonStyle, JsonWriter, Numbers, ReaderOptions, Spacing, Split, Stream,
};

use crate::trace::Trace;

/// Choices made from a list of numbers, so that a failing case shrinks with the list.
struct Dice<'a>(core::slice::Iter<'a, u32>);

impl Dice<'_> {
    fn below(&mut self, n: u32) -> u32 {
        self.0.next().map_or(0, |roll| roll % n)
    }

    fn small(&mut self, n: u8) -> u8 {
        u8::try_from(self.below(n.into())).expect("below a byte is a byte")
    }

    fn text(&mut self, most: u32) -> String {
        const CHARS: [char; 16] =
            ['a', 'Z', '0', ' ', '"', '\\', '/', '\n', '\0', '\u{1f}', '\u{7f}', 'é', '€', '😀', '\u{feff}', '-'];
        let printable = self.below(3) > 0;
        let len = self.below(most);
        (0..len)
            .map(|_| if printable { CHARS[self.below(7) as usize] } else { CHARS[self.below(16) as usize] })
            .collect()
    }

    fn digits(&mut self, most: u32) -> String {
        let len = 1 + self.below(most);
        (0..len).map(|_| char::from(b'0' + self.small(10))).collect()
    }
}

fn shape(dice: &mut Dice<'_>) -> Shape {
    let mut builder = Shape::builder("ROOT");
    members(dice, &mut builder, 0);
    builder.finish()
}

fn members(dice: &mut Dice<'_>, builder: &mut ShapeBuilder, depth: u32) {
    for i in 0..dice.below(6) {
        // The number makes the name unique among its siblings.
        let name = format!("{}{i}", dice.text(40));
        let occurs = match dice.below(3) {
            0 => Occurs::Many { min: 0, max: None },
            1 => Occurs::Optional,
            _ => Occurs::Once,
        };
        if depth < 4 && dice.below(3) == 0 {
            builder.open(name, occurs);
            members(dice, builder, depth + 1);
            builder.close();
            continue;
        }
        let scalar = match dice.below(6) {
            0 => Scalar::Decimal { digits: 1 + u16::from(dice.small(38)), scale: 0, signed: true },
            1 => Scalar::Float32,
            2 => Scalar::Float64,
            3 => Scalar::Bool,
            4 => Scalar::Bytes { len_max: None },
            _ => Scalar::Text { chars_max: None },
        };
        builder.scalar(name, scalar, occurs);
    }
}

fn document(dice: &mut Dice<'_>, shape: &Shape, group: NodeId, sink: &mut impl Sink) {
    sink.enter(group);
    let mut children: Vec<NodeId> = shape.children(group).collect();
    if dice.below(3) == 0 {
        children.reverse();
    }
    for child in children {
        match shape.node(child).occurs {
            Occurs::Many { .. } => {
                sink.open_list(child);
                (0..dice.below(4)).for_each(|_| occurrence(dice, shape, child, sink));
                sink.close_list(child);
            }
            _ if dice.below(5) == 0 => {}
            _ => occurrence(dice, shape, child, sink),
        }
    }
    sink.leave(group);
}

fn occurrence(dice: &mut Dice<'_>, shape: &Shape, node: NodeId, sink: &mut impl Sink) {
    match &shape.node(node).kind {
        NodeKind::Group => document(dice, shape, node, sink),
        NodeKind::Scalar(_) if dice.below(8) == 0 => sink.value(node, Value::Null),
        NodeKind::Scalar(Scalar::Text { .. }) => {
            let text = dice.text(40);
            let run = Run::from(text.as_bytes());
            let printable = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
            sink.value(node, if printable { Value::Ascii(run) } else { Value::Text(run) });
        }
        NodeKind::Scalar(Scalar::Bool) => sink.value(node, Value::Bool(dice.below(2) == 0)),
        NodeKind::Scalar(_) if dice.below(8) == 0 => sink.value(node, Value::Raw(dice.text(9).as_bytes())),
        NodeKind::Scalar(Scalar::Decimal { .. }) => {
            let digits = dice.digits(38);
            let scale = i16::from(dice.small(50)) - 5;
            let negative = dice.below(2) == 0;
            match dice.below(3) {
                0 => {
                    let long = digits.clone() + "0123456789abcdef";
                    let digits = Run::new(long.as_bytes(), digits.len());
                    sink.value(node, Value::Digits(Digits { digits, negative, scale }));
                }
                1 => {
                    let n: i64 = digits[..digits.len().min(18)].parse().expect("at most 18 digits");
                    sink.value(node, Value::Int(if negative { -n } else { n }, scale));
                }
                _ => {
                    let n: i128 = digits.parse().expect("at most 38 digits");
                    sink.value(node, Value::Decimal(Decimal { unscaled: if negative { -n } else { n }, scale }));
                }
            }
        }
        NodeKind::Scalar(Scalar::Float32) => {
            let float = f32::from_bits(dice.below(u32::MAX));
            sink.value(node, Value::Float32(if float.is_finite() { float } else { 0.1 }));
        }
        NodeKind::Scalar(Scalar::Float64) => {
            let float = f64::from_bits(u64::from(dice.below(u32::MAX)) << 32 | u64::from(dice.below(u32::MAX)));
            sink.value(node, Value::Float64(if float.is_finite() { float } else { -0.1 }));
        }
        NodeKind::Scalar(Scalar::Bytes { .. }) => sink.value(node, Value::Bytes(dice.text(9).as_bytes())),
    }
}

fn style(dice: &mut Dice<'_>) -> JsonStyle {
    JsonStyle {
        stream: [Stream::Lines, Stream::Array][dice.below(2) as usize],
        numbers: [Numbers::Exact, Numbers::StringsWhenUnsafe, Numbers::Strings][dice.below(3) as usize],
        spacing: [Spacing::Compact, Spacing::Pretty][dice.below(2) as usize],
    }
}

/// Splits `stream` in chunks of `chunk` bytes and reads each document into a trace.
fn read_back(shape: &Shape, stream: &[u8], chunk: usize) -> Vec<String> {
    let mut splitter = JsonSplitter::new(&Limits::default());
    let mut reader = JsonReader::new(shape, ReaderOptions::default());
    let (mut traces, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        let last = if end == stream.len() { EndOfInput::Yes } else { EndOfInput::No };
        match splitter.split(&stream[start..end], last).expect("the writer's stream is whole") {
            Split::Document { at, consumed } => {
                let text = &stream[start..end][at];
                serde_json::from_slice::<serde_json::Value>(text).expect("any reader reads the document");
                let mut trace = Trace::new(shape);
                reader.read(text, &mut trace).expect("what was written is read");
                assert!(trace.is_whole());
                traces.push(trace.text);
                start += consumed;
            }
            Split::NeedMore { consumed } => {
                start += consumed;
                end = (end + chunk).min(stream.len());
            }
            Split::Done { .. } => return traces,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_is_written_is_read_back(rolls in proptest::collection::vec(any::<u32>(), 0..600), chunk in 1usize..200) {
        let mut dice = Dice(rolls.iter());
        let style = style(&mut dice);
        let shape = shape(&mut dice);
        let documents: Vec<Document> = (0..1 + dice.below(3))
            .map(|_| {
                let mut events = Document::new();
                document(&mut dice, &shape, NodeId::ROOT, &mut events);
                events
            })
            .collect();
        let mut writer = JsonWriter::new(&shape, style);
        writer.begin();
        documents.iter().for_each(|document| document.replay(&mut writer));
        writer.end();
        let want: Vec<String> = documents
            .iter()
            .map(|document| {
                let mut trace = Trace::new(&shape);
                document.replay(&mut trace);
                trace.text
            })
            .collect();
        prop_assert_eq!(read_back(&shape, writer.bytes(), chunk), want);
    }
}
