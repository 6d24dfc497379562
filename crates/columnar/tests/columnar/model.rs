//! Documents as data, the events that they send, and the values expected from reading them back.

use quayline_columnar::{
    ArrowIpcWriter, BATCH_ROWS_MAX, Codec, ColumnInput, ColumnOptions, ColumnReader, ColumnSink, Framing,
    ParquetOptions, ParquetWriter, RowSource, TextStore, UnknownColumn,
};
use quayline_core::{Digits, NodeId, NodeKind, Occurs, Place, Run, Scalar, Shape, Sink, Value};

use crate::dump;

/// Value of a node.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// No event.
    Absent,
    Null,
    /// Digits, minus sign, scale.
    Number(String, bool, i16),
    Int(i64, i16),
    Text(String),
    Float(f64),
    Bool(bool),
    Bytes(Vec<u8>),
    /// One for each child of the group.
    Group(Vec<Data>),
    List(Vec<Data>),
}

pub(crate) fn text(text: &str) -> Data {
    Data::Text(text.to_owned())
}

pub(crate) fn group<const N: usize>(members: [Data; N]) -> Data {
    Data::Group(members.to_vec())
}

pub(crate) fn list<const N: usize>(elements: [Data; N]) -> Data {
    Data::List(elements.to_vec())
}

/// Sends a document without voiding it.
pub(crate) fn send(shape: &Shape, document: &Data, sink: &mut impl Sink) {
    send_one(shape, NodeId::ROOT, document, sink);
}

/// Sends the first `events` events of a document.
pub(crate) fn send_part(shape: &Shape, document: &Data, events: usize, sink: &mut impl Sink) {
    send(shape, document, &mut Part { sink, left: events });
}

fn send_node(shape: &Shape, node: NodeId, data: &Data, sink: &mut impl Sink) {
    match data {
        Data::Absent => {}
        Data::List(elements) => {
            sink.open_list(node);
            for element in elements {
                send_one(shape, node, element, sink);
            }
            sink.close_list(node);
        }
        one => send_one(shape, node, one, sink),
    }
}

fn send_one(shape: &Shape, node: NodeId, data: &Data, sink: &mut impl Sink) {
    match data {
        Data::Group(members) => {
            sink.enter(node);
            for (child, member) in shape.children(node).zip(members) {
                send_node(shape, child, member, sink);
            }
            sink.leave(node);
        }
        Data::Absent | Data::List(_) => unreachable!("handled by the caller"),
        Data::Null => sink.value(node, Value::Null),
        Data::Number(digits, negative, scale) => {
            // Other bytes lie behind the run, as in a decoder's buffer.
            let buffer = format!("{digits}75");
            let digits = Run::new(buffer.as_bytes(), digits.len());
            sink.value(node, Value::Digits(Digits { digits, negative: *negative, scale: *scale }));
        }
        Data::Int(n, scale) => sink.value(node, Value::Int(*n, *scale)),
        Data::Text(text) => {
            let buffer = format!("{text}, and what lies behind it");
            let run = Run::new(buffer.as_bytes(), text.len());
            sink.value(node, if text.is_ascii() { Value::Ascii(run) } else { Value::Text(run) });
        }
        Data::Float(x) => sink.value(node, Value::Float64(*x)),
        Data::Bool(truth) => sink.value(node, Value::Bool(*truth)),
        Data::Bytes(bytes) => sink.value(node, Value::Bytes(bytes)),
    }
}

struct Part<'a, S> {
    sink: &'a mut S,
    left: usize,
}

impl<S: Sink> Part<'_, S> {
    fn pass(&mut self) -> Option<&mut S> {
        self.left = self.left.checked_sub(1)?;
        Some(&mut *self.sink)
    }
}

impl<S: Sink> Sink for Part<'_, S> {
    fn enter(&mut self, node: NodeId) {
        if let Some(sink) = self.pass() {
            sink.enter(node);
        }
    }
    fn leave(&mut self, node: NodeId) {
        if let Some(sink) = self.pass() {
            sink.leave(node);
        }
    }
    fn open_list(&mut self, node: NodeId) {
        if let Some(sink) = self.pass() {
            sink.open_list(node);
        }
    }
    fn close_list(&mut self, node: NodeId) {
        if let Some(sink) = self.pass() {
            sink.close_list(node);
        }
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if let Some(sink) = self.pass() {
            sink.value(node, value);
        }
    }
    fn discard(&mut self) {
        unreachable!("documents do not void themselves");
    }
}

/// Returns the document as it must be read back: `{A:1,B:[{C:x}]}`.
pub(crate) fn expected(shape: &Shape, document: &Data) -> String {
    expected_one(shape, NodeId::ROOT, document)
}

fn expected_node(shape: &Shape, node: NodeId, data: &Data) -> String {
    match data {
        Data::List(elements) => {
            let elements: Vec<String> = elements.iter().map(|element| expected_one(shape, node, element)).collect();
            format!("[{}]", elements.join(","))
        }
        Data::Absent if shape.node(node).is_list() => "null".to_owned(),
        one => expected_one(shape, node, one),
    }
}

fn expected_one(shape: &Shape, node: NodeId, data: &Data) -> String {
    let at = shape.node(node);
    if at.kind == NodeKind::Group {
        let count = shape.children(node).count();
        let absent = vec![Data::Absent; count];
        let members = match data {
            Data::Group(members) => members,
            // A group that stands once has no null of its own.
            _ if at.occurs == Occurs::Once => &absent,
            _ => return "null".to_owned(),
        };
        let members = shape.children(node).zip(members).filter(|(child, _)| has_leaf(shape, *child));
        let members: Vec<String> = members
            .map(|(child, member)| format!("{}:{}", shape.node(child).name, expected_node(shape, child, member)))
            .collect();
        return format!("{{{}}}", members.join(","));
    }
    match (data, at.scalar()) {
        (Data::Number(digits, negative, scale), Some(Scalar::Decimal { scale: column, .. })) => {
            number(digits, *negative, *scale, *column)
        }
        (Data::Int(n, scale), Some(Scalar::Decimal { scale: column, .. })) => {
            number(&n.unsigned_abs().to_string(), *n < 0, *scale, *column)
        }
        (Data::Text(text), _) => text.clone(),
        (Data::Float(x), _) => x.to_string(),
        (Data::Bool(truth), _) => truth.to_string(),
        (Data::Bytes(bytes), _) => format!("{bytes:02x?}"),
        _ => "null".to_owned(),
    }
}

fn has_leaf(shape: &Shape, node: NodeId) -> bool {
    shape.node(node).scalar().is_some() || shape.children(node).any(|child| has_leaf(shape, child))
}

/// `-12.50` with the decimals of the column, by moving characters.
fn number(digits: &str, negative: bool, scale: i16, column: i16) -> String {
    let column = usize::try_from(column.max(0)).unwrap();
    let mut digits = digits.to_owned();
    let mut decimals = i32::from(scale);
    while decimals < i32::try_from(column).unwrap() {
        digits.push('0');
        decimals += 1;
    }
    while decimals > i32::try_from(column).unwrap() {
        assert_eq!(digits.pop().unwrap_or('0'), '0', "the model only holds numbers that fit");
        decimals -= 1;
    }
    let mut digits = digits.trim_start_matches('0').to_owned();
    while digits.len() <= column {
        digits.insert(0, '0');
    }
    let negative = negative && digits.bytes().any(|digit| digit != b'0');
    if column > 0 {
        digits.insert(digits.len() - column, '.');
    }
    if negative { format!("-{digits}") } else { digits }
}

/// Treatment of a document.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Keep(Data),
    /// Discarded after it was complete.
    Void(Data),
    /// Discarded after this number of its events.
    Break(Data, usize),
    /// Refused by a column.
    Refuse(Data),
}

/// Sends the documents through every way out, reads every output back and requires the rows that the model expects.
pub(crate) fn check(shape: &Shape, options: &ColumnOptions, actions: &[Action]) -> Vec<String> {
    let wanted: Vec<String> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Keep(document) => Some(expected(shape, document)),
            _ => None,
        })
        .collect();
    for text in [TextStore::Interned, TextStore::Plain] {
        let options = ColumnOptions { text, ..options.clone() };
        let new = || ColumnSink::new(shape, &options).unwrap();
        for framing in [Framing::File, Framing::Stream] {
            let mut sink = new();
            let mut writer = ArrowIpcWriter::new(Vec::new(), &sink, framing).unwrap();
            run(shape, actions, &mut sink, |sink| writer.write(&sink.take_batch().unwrap()).unwrap());
            let (bytes, len) = writer.finish().unwrap();
            assert_eq!(bytes.len() as u64, len);
            assert_eq!(dump::ipc(&bytes, framing, &sink.schema()), wanted, "{text:?} {framing:?}");
            assert_eq!(read_back(shape, &options, bytes), wanted, "read back: {text:?} {framing:?}");
        }
        for (codec, dictionary_bytes_max) in [(Codec::Snappy, 1 << 20), (Codec::Uncompressed, 40)] {
            let mut sink = new();
            let parquet = ParquetOptions {
                codec,
                dictionary_bytes_max,
                row_group_rows_max: options.batch_rows_max * 3,
                ..ParquetOptions::default()
            };
            let mut writer = ParquetWriter::new(Vec::new(), &sink, &parquet).unwrap();
            let mut encoder = writer.encoder();
            run(shape, actions, &mut sink, |sink| writer.write(encoder.take_pages(sink).unwrap()).unwrap());
            let (bytes, len) = writer.finish().unwrap();
            assert_eq!(bytes.len() as u64, len);
            assert_eq!(dump::parquet(bytes.clone(), &sink.schema()), wanted, "{text:?} {codec:?}");
            assert_eq!(read_back(shape, &options, bytes), wanted, "read back: {text:?} {codec:?}");
        }
    }
    wanted
}

/// The rows of a file as the source sends them into columns of the same shape.
fn read_back(shape: &Shape, options: &ColumnOptions, bytes: Vec<u8>) -> Vec<String> {
    let mut reader = ColumnReader::open(ColumnInput::Memory(bytes.into())).unwrap();
    let source = RowSource::new(reader.schema(), shape, UnknownColumn::Error).unwrap();
    assert!(source.warnings().is_empty(), "{:?}", source.warnings());
    let mut sink = ColumnSink::new(shape, options).unwrap();
    let mut found = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        assert!((1..=BATCH_ROWS_MAX).contains(&batch.num_rows()));
        let mut rows = source.rows(&batch);
        for row in 0..batch.num_rows() {
            rows.send(row, &mut sink).unwrap();
            assert!(sink.take_refusal().is_none());
        }
        found.extend(dump::rows(sink.take_batch().unwrap()));
    }
    found
}

/// Sends the documents and hands full batches out.
pub(crate) fn run(shape: &Shape, actions: &[Action], sink: &mut ColumnSink, mut full: impl FnMut(&mut ColumnSink)) {
    for action in actions {
        match action {
            Action::Keep(document) => {
                send(shape, document, sink);
                if let Some(refusal) = sink.take_refusal() {
                    panic!("{}", refusal.findings(&Place::default()));
                }
            }
            Action::Void(document) => {
                send(shape, document, sink);
                sink.discard();
            }
            Action::Break(document, events) => {
                send_part(shape, document, *events, sink);
                sink.discard();
            }
            Action::Refuse(document) => {
                send(shape, document, sink);
                assert!(sink.take_refusal().is_some(), "{document:?} is refused");
            }
        }
        if sink.is_full() {
            full(sink);
        }
    }
    full(sink);
}
