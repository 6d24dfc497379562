//! One decoded unit kept in memory.

use crate::{Decimal, Digits, NodeId, Run, Sink, Value};

/// The events of one document, kept in two arenas that are reused from one document to the next.
///
/// It is a [`Sink`] (recording) and, by [`Document::replay`], a source. Memory is 24 bytes an event and the bytes of its values.
#[derive(Clone, Debug, Default)]
pub struct Document {
    events: Vec<Event>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    node: NodeId,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Enter,
    Leave,
    OpenList,
    CloseList,
    Null,
    Text(Span),
    Ascii(Span),
    Digits(Span, bool, i16),
    Int(i64, i16),
    /// The integer is in the byte arena: 16 bytes, little-endian.
    Decimal(u32, i16),
    Float32(f32),
    Float64(f64),
    Bool(bool),
    Bytes(Span),
    Raw(Span),
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    len: u32,
}

impl Document {
    /// Creates an empty document.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes the content and keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.bytes.clear();
    }

    /// Returns whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the bytes of memory in use.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.events.len() * size_of::<Event>() + self.bytes.len()
    }

    /// Sends the recorded events to `sink`.
    pub fn replay<S: Sink>(&self, sink: &mut S) {
        for event in &self.events {
            let node = event.node;
            match event.what {
                What::Enter => sink.enter(node),
                What::Leave => sink.leave(node),
                What::OpenList => sink.open_list(node),
                What::CloseList => sink.close_list(node),
                What::Null => sink.value(node, Value::Null),
                What::Text(span) => sink.value(node, Value::Text(self.run(span))),
                What::Ascii(span) => sink.value(node, Value::Ascii(self.run(span))),
                What::Digits(span, negative, scale) => {
                    sink.value(node, Value::Digits(Digits { digits: self.run(span), negative, scale }));
                }
                What::Int(n, scale) => sink.value(node, Value::Int(n, scale)),
                What::Decimal(start, scale) => {
                    let bytes = self.run(Span { start, len: 16 }).bytes();
                    let unscaled = i128::from_le_bytes(bytes.try_into().expect("a run of 16 bytes was recorded"));
                    sink.value(node, Value::Decimal(Decimal { unscaled, scale }));
                }
                What::Float32(x) => sink.value(node, Value::Float32(x)),
                What::Float64(x) => sink.value(node, Value::Float64(x)),
                What::Bool(x) => sink.value(node, Value::Bool(x)),
                What::Bytes(span) => sink.value(node, Value::Bytes(self.run(span).bytes())),
                What::Raw(span) => sink.value(node, Value::Raw(self.run(span).bytes())),
            }
        }
    }

    fn run(&self, span: Span) -> Run<'_> {
        Run::new(&self.bytes[span.start as usize..], span.len as usize)
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        let start = u32::try_from(self.bytes.len()).expect("a document holds less than 4 GiB of values");
        let len = u32::try_from(bytes.len()).expect("a document holds less than 4 GiB of values");
        self.bytes.extend_from_slice(bytes);
        Span { start, len }
    }

    fn push(&mut self, node: NodeId, what: What) {
        self.events.push(Event { node, what });
    }
}

impl Sink for Document {
    fn enter(&mut self, node: NodeId) {
        self.push(node, What::Enter);
    }
    fn leave(&mut self, node: NodeId) {
        self.push(node, What::Leave);
    }
    fn open_list(&mut self, node: NodeId) {
        self.push(node, What::OpenList);
    }
    fn close_list(&mut self, node: NodeId) {
        self.push(node, What::CloseList);
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        let what = match value {
            Value::Null => What::Null,
            Value::Text(run) => What::Text(self.keep(run.bytes())),
            Value::Ascii(run) => What::Ascii(self.keep(run.bytes())),
            Value::Digits(d) => What::Digits(self.keep(d.digits.bytes()), d.negative, d.scale),
            Value::Int(n, scale) => What::Int(n, scale),
            Value::Decimal(d) => What::Decimal(self.keep(&d.unscaled.to_le_bytes()).start, d.scale),
            Value::Float32(x) => What::Float32(x),
            Value::Float64(x) => What::Float64(x),
            Value::Bool(x) => What::Bool(x),
            Value::Bytes(bytes) => What::Bytes(self.keep(bytes)),
            Value::Raw(bytes) => What::Raw(self.keep(bytes)),
        };
        self.push(node, what);
    }
    fn discard(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replay_gives_the_same_events() {
        let mut first = Document::new();
        first.enter(NodeId::ROOT);
        first.value(NodeId(1), Value::Ascii(b"AB"[..].into()));
        first.open_list(NodeId(2));
        first.value(NodeId(2), Value::Digits(Digits { digits: b"007"[..].into(), negative: true, scale: 2 }));
        first.value(NodeId(2), Value::Decimal(Decimal { unscaled: -5, scale: 1 }));
        first.close_list(NodeId(2));
        first.leave(NodeId::ROOT);
        let mut second = Document::new();
        first.replay(&mut second);
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }
}
