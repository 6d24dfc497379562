//! Documents made up from a seed, and a sink that shows events.

use std::fmt::Write as _;

use quayline_core::{Digits, NodeId, Occurs, Scalar, Shape, Sink, Value, write_number};

/// A record with all kinds of nodes: lists of leaves and of groups, nested ones, an optional group, a name that is invalid in XML, attributes
/// (those of the record after its elements), an element with an attribute and text.
pub(crate) fn shape() -> Shape {
    let mut b = Shape::builder("R");
    let text = || Scalar::Text { chars_max: Some(9) };
    let number = || Scalar::Decimal { digits: 9, scale: 2, signed: true };
    b.scalar("ID", number(), Occurs::Once);
    b.scalar("1ST NOTE", text(), Occurs::Once);
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
    b.open("WEIGHT", Occurs::Optional);
    b.scalar("@unit", text(), Occurs::Optional);
    b.scalar("$text", number(), Occurs::Once);
    b.close();
    b.scalar("@seq", text(), Occurs::Optional);
    // Names that mean something else elsewhere.
    b.open("MARKED", Occurs::Optional);
    b.scalar("@escaped", text(), Occurs::Optional);
    b.scalar("@nil", text(), Occurs::Optional);
    b.scalar("$text", text(), Occurs::Once);
    b.close();
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

/// A document that XML can say: a list is absent only where its minimum is above 0, and is not empty there.
pub(crate) fn document(shape: &Shape, seed: u64) -> Part {
    group(shape, NodeId::ROOT, &mut Dice(seed | 1))
}

fn group(shape: &Shape, id: NodeId, dice: &mut Dice) -> Part {
    let parts = shape.children(id).filter_map(|child| match shape.node(child).occurs {
        // An element always has text, be it empty.
        Occurs::Once | Occurs::Optional => {
            (shape.node(child).name == "$text" || dice.roll(4) > 0).then(|| one(shape, child, dice))
        }
        Occurs::Many { min: 0, max } => {
            let n = dice.roll(max.unwrap() as usize + 1);
            Some(Part::List(child, (0..n).map(|_| one(shape, child, dice)).collect()))
        }
        Occurs::Many { max, .. } => {
            let n = dice.roll(max.unwrap() as usize + 1);
            (n > 0).then(|| Part::List(child, (0..n).map(|_| one(shape, child, dice)).collect()))
        }
    });
    Part::Group(id, parts.collect())
}

fn one(shape: &Shape, id: NodeId, dice: &mut Dice) -> Part {
    let attribute = shape.node(id).name.starts_with('@');
    match shape.node(id).scalar() {
        None => group(shape, id, dice),
        // An attribute is no null.
        Some(_) if attribute => {
            let alphabet =
                ["a", "<", "&", ">", "\"", "'", "\n", "\r", "\t", "ü", "\\", "&amp;", "\0", "\u{ffff}", "\\u0041"];
            let text = (0..dice.roll(6)).map(|_| alphabet[dice.roll(alphabet.len())]).collect();
            Part::Leaf(id, Some(Cell::Text(text)))
        }
        Some(_) if dice.roll(4) == 0 => Part::Leaf(id, None),
        Some(Scalar::Text { .. }) => {
            let alphabet = [
                "a",
                "<",
                "&",
                ">",
                "]]>",
                "\"",
                "'",
                "\n",
                "\r",
                "\t",
                " ",
                "ü",
                "\0",
                "\u{1b}",
                "\u{ffff}",
                "\\",
                "\\u0041",
                "&amp;",
                "\u{1f600}",
            ];
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

pub(crate) fn send(part: &Part, sink: &mut impl Sink) {
    match part {
        Part::Leaf(id, None) => sink.value(*id, Value::Null),
        Part::Leaf(id, Some(Cell::Text(text))) => sink.value(*id, Value::Text(text.as_bytes().into())),
        Part::Leaf(id, Some(Cell::Number { digits, negative, scale })) => {
            let digits = digits.as_bytes().into();
            sink.value(*id, Value::Digits(Digits { digits, negative: *negative, scale: *scale }));
        }
        Part::Group(id, parts) => {
            sink.enter(*id);
            parts.iter().for_each(|part| send(part, sink));
            sink.leave(*id);
        }
        Part::List(id, parts) => {
            sink.open_list(*id);
            parts.iter().for_each(|part| send(part, sink));
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
    pub(crate) fn of(part: &Part) -> Self {
        let mut events = Events::default();
        send(part, &mut events);
        events
    }

    /// Groups that are open.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The events in an order that does not depend on that of a group's members.
    pub(crate) fn sorted(&self) -> String {
        fn block<'a>(lines: &mut std::iter::Peekable<std::str::Lines<'a>>, depth: usize) -> Vec<String> {
            let mut parts = Vec::new();
            while let Some(line) = lines.next_if(|line| line.len() - line.trim_start().len() >= depth) {
                let mut part = format!("{line}\n");
                let mut inner = block(lines, depth + 1);
                if line.ends_with('{') {
                    inner.sort();
                }
                part.push_str(&inner.concat());
                parts.push(part);
            }
            parts
        }
        block(&mut self.text.lines().peekable(), 0).concat()
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

/// Regression: `<` in a value of an attribute was read.
#[test]
fn markup_is_not_in_values_of_attributes_or_in_text() {
    let section = crate::reading::read("<records><record><ID>x[a]]>]]</ID></record></records>");
    let told = "error[XML-010]: `]]>` in text, which only ends a CDATA section\n  at line 1, column 25\n\nhint: the program that wrote the file must write it as `]]&gt;`";
    assert!(section.contains(told), "{section}");
    for record in ["<record WEIGHT='a<b'/>", "<record xml:lang='<'/>", "<record><other a='<'/></record>"] {
        let read = crate::reading::read(&format!("<records>{record}</records>"));
        assert!(read.contains("error[XML-010]: `<` begins no markup"), "{record}: {read}");
    }
}
