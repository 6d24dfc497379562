//! Shapes as outlines, documents as JSON: small readers and writers of the tests' own, so that the crate is tested with nothing but core.

use std::fmt::Write as _;
use std::sync::Arc;

use quayline_core::{NodeId, NodeKind, NumberScratch, Occurs, Scalar, Shape, Sink, Value, read_number, write_number};
use quayline_map::{
    Absent, Compiled, Host, MapSpec, Mapper, Options, Output, Outputs, OwnFunction, Resolver, SourceOrder, compile,
};

/// Parses a shape written as an outline: two spaces for each level, `name`, `name?`, `name*`, `name*1..5`, and a type for leaves. `~name` may come
/// before the preceding sibling.
pub(crate) fn shape(outline: &str) -> Shape {
    let mut lines = outline.lines().filter(|line| !line.trim().is_empty());
    let root = lines.next().expect("a root").trim();
    let mut builder = Shape::builder(root);
    let mut open = 0;
    for line in lines {
        let depth = (line.len() - line.trim_start().len()) / 2;
        while open + 1 > depth {
            builder.close();
            open -= 1;
        }
        let (name, kind) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let (name, occurs) = occurs(name);
        let (name, mixed) = name.strip_prefix('~').map_or((name, false), |name| (name, true));
        let node = if kind.is_empty() {
            open += 1;
            builder.open(name, occurs)
        } else {
            builder.scalar(name, scalar(kind.trim()), occurs)
        };
        if mixed {
            builder.mix(node);
        }
    }
    builder.finish()
}

fn occurs(name: &str) -> (&str, Occurs) {
    if let Some(name) = name.strip_suffix('?') {
        return (name, Occurs::Optional);
    }
    let Some((name, bounds)) = name.split_once('*') else { return (name, Occurs::Once) };
    let (min, max) = bounds.split_once("..").unwrap_or(("0", ""));
    (name, Occurs::Many { min: min.parse().unwrap_or(0), max: max.parse().ok() })
}

fn scalar(kind: &str) -> Scalar {
    let (name, rest) = kind.split_once('(').unwrap_or((kind, ""));
    let numbers: Vec<u16> = rest.trim_end_matches(')').split(',').filter_map(|n| n.trim().parse().ok()).collect();
    match name {
        "text" => Scalar::Text { chars_max: numbers.first().map(|n| u32::from(*n)) },
        "decimal" | "unsigned" => Scalar::Decimal {
            digits: numbers.first().copied().unwrap_or(18),
            scale: i16::try_from(numbers.get(1).copied().unwrap_or(0)).expect("a small number"),
            signed: name == "decimal",
        },
        "float" => Scalar::Float64,
        "float32" => Scalar::Float32,
        "bool" => Scalar::Bool,
        "bytes" => Scalar::Bytes { len_max: numbers.first().map(|n| u32::from(*n)) },
        other => panic!("no type {other}"),
    }
}

/// A JSON value, members in order.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
    Text(String),
    Number(String),
    Bool(bool),
    Null,
}

impl Json {
    pub(crate) fn parse(text: &str) -> Json {
        let mut rest = text;
        let value = Json::value(&mut rest);
        assert!(rest.trim().is_empty(), "behind the document: {rest}");
        value
    }

    fn value(rest: &mut &str) -> Json {
        *rest = rest.trim_start();
        let first = rest.chars().next().expect("a value");
        match first {
            '{' => {
                let mut members = Vec::new();
                *rest = rest[1..].trim_start();
                while !rest.starts_with('}') {
                    let Json::Text(name) = Json::value(rest) else { panic!("a name: {rest}") };
                    *rest = rest.trim_start().strip_prefix(':').expect("a colon");
                    members.push((name, Json::value(rest)));
                    *rest = rest.trim_start();
                    *rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
                }
                *rest = &rest[1..];
                Json::Object(members)
            }
            '[' => {
                let mut all = Vec::new();
                *rest = rest[1..].trim_start();
                while !rest.starts_with(']') {
                    all.push(Json::value(rest));
                    *rest = rest.trim_start();
                    *rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
                }
                *rest = &rest[1..];
                Json::Array(all)
            }
            '"' => {
                let end = rest[1..].find('"').expect("a closing quote") + 1;
                let text = rest[1..end].to_owned();
                *rest = &rest[end + 1..];
                Json::Text(text)
            }
            _ => {
                let end = rest.find([',', '}', ']', ' ', '\n']).unwrap_or(rest.len());
                let word = rest[..end].to_owned();
                *rest = &rest[end..];
                match word.as_str() {
                    "true" => Json::Bool(true),
                    "false" => Json::Bool(false),
                    "null" => Json::Null,
                    _ => Json::Number(word),
                }
            }
        }
    }

    /// Drives a sink with this as one document of a shape, with members in their stored order.
    pub(crate) fn drive(&self, shape: &Shape, sink: &mut impl Sink) {
        sink.enter(NodeId::ROOT);
        self.members(shape, NodeId::ROOT, sink);
        sink.leave(NodeId::ROOT);
    }

    fn members(&self, shape: &Shape, group: NodeId, sink: &mut impl Sink) {
        let Json::Object(members) = self else { panic!("an object for {}", shape.path(group)) };
        for (name, value) in members {
            let node = shape.child(group, name).unwrap_or_else(|| panic!("no {name} in {}", shape.path(group)));
            match (shape.node(node).is_list(), value) {
                (true, Json::Array(all)) => {
                    sink.open_list(node);
                    for one in all {
                        one.one(shape, node, sink);
                    }
                    sink.close_list(node);
                }
                (true, _) => panic!("{name} is a list"),
                (false, one) => one.one(shape, node, sink),
            }
        }
    }

    fn one(&self, shape: &Shape, node: NodeId, sink: &mut impl Sink) {
        match &shape.node(node).kind {
            NodeKind::Group => {
                sink.enter(node);
                self.members(shape, node, sink);
                sink.leave(node);
            }
            NodeKind::Scalar(scalar) => match self {
                Json::Text(text) if text.is_ascii() => sink.value(node, Value::Ascii(text.as_bytes().into())),
                Json::Text(text) => sink.value(node, Value::Text(text.as_bytes().into())),
                Json::Number(text) => {
                    let mut scratch: NumberScratch = [0; 80];
                    let value = read_number(scalar, text.as_bytes(), &mut scratch);
                    sink.value(node, value.unwrap_or(Value::Text(text.as_bytes().into())));
                }
                Json::Bool(x) => sink.value(node, Value::Bool(*x)),
                Json::Null => sink.value(node, Value::Null),
                _ => panic!("a value for {}", shape.path(node)),
            },
        }
    }
}

/// Writes documents as JSON, one a line, and checks that the events are well formed and in the order of the shape.
#[derive(Debug)]
pub(crate) struct Writer {
    shape: Shape,
    text: String,
    begun: usize,
    /// Open groups and lists with the last child seen.
    open: Vec<(NodeId, bool, Option<NodeId>)>,
    pub(crate) events: usize,
}

impl Writer {
    pub(crate) fn new(shape: &Shape) -> Self {
        Writer { shape: shape.clone(), text: String::new(), begun: 0, open: Vec::new(), events: 0 }
    }

    pub(crate) fn text(&self) -> String {
        assert!(self.open.is_empty(), "left open: {:?}", self.open);
        self.text.clone()
    }

    fn child(&mut self, node: NodeId) {
        self.events += 1;
        let parent = self.shape.node(node).parent;
        let (group, list, last) = self.open.last_mut().expect("inside a document");
        if *list {
            assert_eq!(*group, node, "another node inside a list");
            if last.is_some() {
                self.text.push(',');
            }
        } else {
            assert_eq!(Some(*group), parent, "{} outside of its parent", self.shape.path(node));
            if let Some(last) = last {
                assert!(*last < node, "{} behind {}", self.shape.path(node), self.shape.path(*last));
                self.text.push(',');
            }
            write!(self.text, "{:?}:", self.shape.node(node).name).expect("writes");
        }
        *last = Some(node);
    }
}

impl Sink for Writer {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            assert!(self.open.is_empty(), "a document inside a document");
            self.begun = self.text.len();
        } else {
            assert_eq!(self.shape.node(node).kind, NodeKind::Group);
            assert_eq!(
                self.shape.node(node).is_list(),
                self.open.last().is_some_and(|(_, list, _)| *list),
                "{}",
                self.shape.path(node)
            );
            self.child(node);
        }
        self.text.push('{');
        self.open.push((node, false, None));
    }
    fn leave(&mut self, node: NodeId) {
        let (open, list, _) = self.open.pop().expect("something open");
        assert_eq!((open, list), (node, false));
        self.text.push('}');
        if node == NodeId::ROOT {
            assert!(self.open.is_empty());
            self.text.push('\n');
        }
    }
    fn open_list(&mut self, node: NodeId) {
        assert!(self.shape.node(node).is_list());
        self.child(node);
        self.text.push('[');
        self.open.push((node, true, None));
    }
    fn close_list(&mut self, node: NodeId) {
        let (open, list, _) = self.open.pop().expect("something open");
        assert_eq!((open, list), (node, true));
        self.text.push(']');
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.child(node);
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Text(run) | Value::Ascii(run) => {
                let text = std::str::from_utf8(run.bytes()).expect("UTF-8");
                write!(self.text, "{text:?}").expect("writes");
            }
            Value::Bool(x) => write!(self.text, "{x}").expect("a small number"),
            Value::Bytes(bytes) | Value::Raw(bytes) => write!(self.text, "{bytes:?}").expect("a small number"),
            number => {
                let mut out = Vec::new();
                write_number(&mut out, number).expect("a number");
                self.text.push_str(std::str::from_utf8(&out).expect("ASCII"));
            }
        }
    }
    fn discard(&mut self) {
        self.open.clear();
        self.text.truncate(self.begun);
    }
}

/// Texts by name.
pub(crate) struct Files(pub(crate) Vec<(&'static str, &'static str)>);

impl Resolver for Files {
    fn text(&self, name: &str) -> Result<Arc<str>, String> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| Arc::from(*text))
            .ok_or_else(|| "there is no such file".to_owned())
    }
}

pub(crate) fn files() -> Files {
    Files(vec![
        ("units.csv", "EA,PCE\nCA,CT\n\"a,b\",X\n"),
        ("torn.csv", "EA,PCE\nCA\n"),
        ("blank.csv", ",NONE\nEA,PCE\n"),
        ("common.qmap", "fn money(x) = round(x, 2)\npart address {\n  street = N301\n}\ncodes yes { \"Y\", \"J\" }\n"),
        ("body.qmap", "a = b\n"),
        ("broken.qmap", "fn x(a) = \n"),
    ])
}

/// A world with a clock, an envelope and one lookup.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) set: Vec<String>,
    id: u8,
}

impl World {
    /// Returns the row of a number with all fields as text, as in a CSV table; the row of 2 is malformed.
    fn typed(keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> bool {
        let mut key = Vec::new();
        write_number(&mut key, keys[0]).expect("a number");
        let cells = match key.as_slice() {
            b"1.5" => ["2026-01-31", "12:30:45.5", "2026-01-31T12:30:45", "true", "1.50", "00fF"],
            b"2" => ["20260131", "12", "2026-01-31", "yes", "1,50", "0x1"],
            _ => return false,
        };
        cells.iter().for_each(|cell| row(Value::Text(cell.as_bytes().into())));
        true
    }
}

impl Host for World {
    fn now(&mut self) -> i64 {
        1_767_326_706_000_000
    }
    fn id(&mut self) -> [u8; 16] {
        self.id += 1;
        [self.id; 16]
    }
    fn envelope(&mut self, name: &str) -> Option<String> {
        (name == "sender").then(|| "ACME".to_owned())
    }
    fn set_envelope(&mut self, name: &str, value: &str) {
        self.set.push(format!("{name}={value}"));
    }
    fn lookup(&mut self, name: &str, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String> {
        if name == "typed" {
            return Ok(World::typed(keys, row));
        }
        if name != "customers" {
            return Err("it is not connected".to_owned());
        }
        let key = match keys.first() {
            Some(Value::Ascii(run) | Value::Text(run)) => run.bytes(),
            _ => b"",
        };
        let customer = match key {
            b"C1" => &b"Miller"[..],
            b"" => b"nobody",
            _ => return Ok(false),
        };
        row(Value::Ascii(customer.into()));
        row(Value::Int(30, 0));
        Ok(true)
    }
    /// Calls `check-digit` (GS1), `again`, which returns its argument, or `nothing`, which has no result.
    fn call(&mut self, function: &OwnFunction, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, String> {
        match function.name.as_str() {
            "check-digit" => {
                let weighed = arguments[0].iter().rev().zip([3, 1].into_iter().cycle());
                let sum: u32 = weighed.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
                Ok(Some(vec![b'0' + u8::try_from((10 - sum % 10) % 10).expect("a digit")]))
            }
            "again" => Ok(Some(arguments.join(&b'/'))),
            "nothing" => Ok(None),
            _ => Err("no program is connected".to_owned()),
        }
    }
}

/// A test case: shapes, outputs and source order.
pub(crate) struct Case<'a> {
    pub(crate) source: &'a str,
    pub(crate) targets: Vec<(&'a str, &'a str, Absent)>,
    pub(crate) order: SourceOrder,
}

impl<'a> Case<'a> {
    pub(crate) fn new(source: &'a str, target: &'a str) -> Self {
        Case { source, targets: vec![("out", target, Absent::Refused)], order: SourceOrder::AsShape }
    }

    /// Compiles a map. Returns the findings as text on error.
    pub(crate) fn compile(&self, map: &str) -> Result<Compiled, String> {
        let source = shape(self.source);
        let shapes: Vec<Shape> = self.targets.iter().map(|(_, outline, _)| shape(outline)).collect();
        let outputs: Vec<Output<'_>> = self
            .targets
            .iter()
            .zip(&shapes)
            .map(|((name, _, absent), shape)| Output { name, shape, absent: *absent })
            .collect();
        let spec = MapSpec::parse("t.qmap", map);
        compile(&spec, &source, &outputs, Options { order: self.order }, &files())
            .map_err(|findings| findings.to_string())
    }

    /// Returns the findings of the checker.
    pub(crate) fn findings(&self, map: &str) -> String {
        match self.compile(map) {
            Ok(compiled) => compiled.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n"),
            Err(findings) => findings,
        }
    }

    /// Runs documents through the map: the outputs' lines, findings, envelope values.
    pub(crate) fn run(&self, map: &str, documents: &[&str]) -> String {
        let compiled = match self.compile(map) {
            Ok(compiled) => compiled,
            Err(findings) => return findings,
        };
        let plan = &compiled.plan;
        let mut result = String::new();
        for finding in &compiled.findings {
            writeln!(result, "{}", finding.to_string().lines().next().unwrap_or_default()).expect("writes");
        }
        let writers: Vec<Writer> = self.targets.iter().map(|(_, outline, _)| Writer::new(&shape(outline))).collect();
        let mut mapper = Mapper::new(plan, writers, World::default());
        for document in documents {
            Json::parse(document).drive(plan.source(), &mut mapper);
            let outcome = mapper.outcome();
            for finding in outcome.findings {
                writeln!(result, "{finding}").expect("writes");
            }
            if outcome.refused > 0 {
                writeln!(result, "refused {}", outcome.refused).expect("writes");
            }
            if outcome.dropped > 0 {
                writeln!(result, "dropped {}", outcome.dropped).expect("writes");
            }
        }
        for set in &mapper.host().set {
            writeln!(result, "{set}").expect("writes");
        }
        let mut writers = mapper.into_parts().0;
        for (at, (name, ..)) in self.targets.iter().enumerate() {
            let text = writers.sink(at).text();
            for line in text.lines() {
                let prefix = if self.targets.len() > 1 { format!("{name} ") } else { String::new() };
                writeln!(result, "{prefix}{line}").expect("writes");
            }
        }
        result
    }
}
