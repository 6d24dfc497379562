//! Documents made up from a seed, and a sink that shows events.

use std::fmt::Write as _;

use quayline_core::{Digits, NodeId, NodeKind, Occurs, Scalar, Shape, Sink, Value, write_number};

/// A record with everything: lists of leaves and of groups, nested ones, an optional group, a name that needs quotes.
pub(crate) fn shape() -> Shape {
    let mut b = Shape::builder("R");
    let text = || Scalar::Text { chars_max: Some(9) };
    let number = || Scalar::Decimal { digits: 9, scale: 2, signed: true };
    b.scalar("ID", number(), Occurs::Once);
    b.scalar("NOTE, LONG", text(), Occurs::Once);
    b.open("ADDR", Occurs::Optional);
    b.scalar("CITY", text(), Occurs::Once);
    b.scalar("ZIP", text(), Occurs::Optional);
    b.close();
    b.scalar("TAG", text(), Occurs::Many { min: 0, max: Some(3) });
    b.open("CAR", Occurs::Many { min: 0, max: Some(3) });
    b.scalar("MAKE", text(), Occurs::Once);
    b.open("DEALER", Occurs::Many { min: 2, max: Some(2) });
    b.scalar("NAME", text(), Occurs::Once);
    b.scalar("PRICE", number(), Occurs::Many { min: 1, max: Some(2) });
    b.close();
    b.close();
    b.scalar("LAST", number(), Occurs::Once);
    b.finish()
}

/// A document as a tree.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Leaf(NodeId, Option<Cell>),
    Group(NodeId, Vec<Part>),
    List(NodeId, Vec<Part>),
}

#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Text(String),
    Number { digits: String, negative: bool, scale: i16 },
}

pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

/// A document that CSV can say: no null outside lists, the last occurrence of a list has a value, an optional group has one.
pub(crate) fn document(shape: &Shape, seed: u64) -> Part {
    group(shape, NodeId::ROOT, &mut Dice(seed | 1))
}

fn group(shape: &Shape, id: NodeId, dice: &mut Dice) -> Part {
    let parts = shape.children(id).filter_map(|child| {
        Some(match shape.node(child).occurs {
            Occurs::Once | Occurs::Optional => {
                let part = one(shape, child, dice);
                let group = shape.node(child).kind == NodeKind::Group;
                let optional = shape.node(child).occurs == Occurs::Optional;
                if filled(&part) || (group && !optional) { part } else { return None }
            }
            Occurs::Many { min, max } => {
                let (min, max) = (min as usize, max.unwrap() as usize);
                let n = min.max(1) + dice.roll(max + 1 - min.max(1));
                let mut all: Vec<Part> = (0..n).map(|_| one(shape, child, dice)).collect();
                while all.len() > min && !filled(all.last().unwrap_or(&Part::Leaf(child, None))) {
                    all.pop();
                }
                if min > 0 && !all.iter().any(filled) {
                    return None;
                }
                if all.is_empty() && min > 0 { return None } else { Part::List(child, all) }
            }
        })
    });
    Part::Group(id, parts.collect())
}

fn one(shape: &Shape, id: NodeId, dice: &mut Dice) -> Part {
    match shape.node(id).scalar() {
        None => group(shape, id, dice),
        Some(_) if dice.roll(3) == 0 => Part::Leaf(id, None),
        Some(Scalar::Text { .. }) => {
            let alphabet = ["a", "b", ",", "\"", "\n", "\r", " ", "ü", "\u{feff}", "1", "-", "\r\n", "\"\""];
            let text = (0..dice.roll(6)).map(|_| alphabet[dice.roll(alphabet.len())]).collect();
            Part::Leaf(id, Some(Cell::Text(text)))
        }
        Some(_) => {
            let digits = (0..=dice.roll(8)).map(|_| char::from(b'0' + u8::try_from(dice.roll(10)).unwrap())).collect();
            let scale = i16::try_from(dice.roll(5)).unwrap() - 1;
            Part::Leaf(id, Some(Cell::Number { digits, negative: dice.roll(2) == 0, scale }))
        }
    }
}

fn filled(part: &Part) -> bool {
    match part {
        Part::Leaf(_, cell) => cell.is_some(),
        Part::Group(_, parts) | Part::List(_, parts) => parts.iter().any(filled),
    }
}

/// Order of a group's members.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    Shape,
    Backward,
}

pub(crate) fn send(part: &Part, order: Order, sink: &mut impl Sink) {
    match part {
        Part::Leaf(id, None) => sink.value(*id, Value::Null),
        Part::Leaf(id, Some(Cell::Text(text))) => sink.value(*id, Value::Text(text.as_bytes().into())),
        Part::Leaf(id, Some(Cell::Number { digits, negative, scale })) => {
            let digits = digits.as_bytes().into();
            sink.value(*id, Value::Digits(Digits { digits, negative: *negative, scale: *scale }));
        }
        Part::Group(id, parts) => {
            sink.enter(*id);
            match order {
                Order::Shape => parts.iter().for_each(|part| send(part, order, sink)),
                Order::Backward => parts.iter().rev().for_each(|part| send(part, order, sink)),
            }
            sink.leave(*id);
        }
        Part::List(id, parts) => {
            sink.open_list(*id);
            parts.iter().for_each(|part| send(part, order, sink));
            sink.close_list(*id);
        }
    }
}

/// Events as text, values too.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) text: String,
    depth: usize,
}

impl Events {
    pub(crate) fn of(part: &Part) -> String {
        let mut events = Events::default();
        send(part, Order::Shape, &mut events);
        events.text
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{:1$}{text}", "", self.depth).unwrap();
    }
}

impl Sink for Events {
    fn enter(&mut self, node: NodeId) {
        self.line(format_args!("{} {{", node.0));
        self.depth += 1;
    }
    fn leave(&mut self, _: NodeId) {
        self.depth -= 1;
        self.line(format_args!("}}"));
    }
    fn open_list(&mut self, node: NodeId) {
        self.line(format_args!("{} [", node.0));
        self.depth += 1;
    }
    fn close_list(&mut self, _: NodeId) {
        self.depth -= 1;
        self.line(format_args!("]"));
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        let text = match value {
            Value::Null => "null".to_owned(),
            Value::Bytes(bytes) => format!("bytes {bytes:x?}"),
            Value::Raw(bytes) => format!("raw {bytes:x?}"),
            Value::Text(run) | Value::Ascii(run) => format!("{:?}", std::str::from_utf8(run.bytes()).unwrap()),
            number => {
                let mut out = Vec::new();
                write_number(&mut out, number).unwrap();
                format!("{:?}", String::from_utf8(out).unwrap())
            }
        };
        self.line(format_args!("{} {text}", node.0));
    }
    fn discard(&mut self) {
        self.text.push_str("discarded\n");
    }
}
