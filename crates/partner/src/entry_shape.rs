//! Entries as documents: the shape of an entry, for sinks such as columns of a Parquet file.

use quayline_core::{NodeId, Occurs, Run, Scalar, Shape, Sink, Value};

use crate::entry::{Entry, State};
use crate::time::time_text;

/// Texts of an entry, in the order of a file.
const TEXTS: [&str; 17] = [
    "kind",
    "way",
    "state",
    "partner",
    "own",
    "standard",
    "document",
    "version",
    "number",
    "group",
    "interchange",
    "sender",
    "receiver",
    "rule",
    "map",
    "guide",
    "source",
];
/// Numbers of an entry; an entry without a value has none.
const NUMBERS: [&str; 7] =
    ["bytes", "transactions", "transactions_bad", "parent", "about", "replaced_by", "answered_by"];

/// The nodes of one entry. Business fields, outputs and findings are lists.
#[derive(Clone, Debug)]
pub struct EntryShape {
    shape: Shape,
    entry: NodeId,
    time: NodeId,
    due: NodeId,
    test: NodeId,
    texts: Vec<NodeId>,
    numbers: Vec<NodeId>,
    outputs: NodeId,
    /// The list, then its leaves.
    fields: [NodeId; 3],
    findings: [NodeId; 5],
}

impl Default for EntryShape {
    fn default() -> EntryShape {
        const LIST: Occurs = Occurs::Many { min: 0, max: None };
        let text = || Scalar::Text { chars_max: None };
        let number = || Scalar::Decimal { digits: 18, scale: 0, signed: false };
        let mut shape = Shape::builder("entry");
        let entry = shape.scalar("entry", number(), Occurs::Once);
        let time = shape.scalar("time", text(), Occurs::Once);
        let due = shape.scalar("due", text(), Occurs::Optional);
        let test = shape.scalar("test", Scalar::Bool, Occurs::Once);
        let texts = TEXTS.iter().map(|name| shape.scalar(*name, text(), Occurs::Once)).collect();
        let numbers = NUMBERS.iter().map(|name| shape.scalar(*name, number(), Occurs::Optional)).collect();
        let outputs = shape.scalar("outputs", text(), LIST);
        let list = shape.open("fields", LIST);
        let fields = [list, shape.scalar("name", text(), Occurs::Once), shape.scalar("value", text(), Occurs::Once)];
        shape.close();
        let list = shape.open("findings", LIST);
        let mut leaf = |name: &str| shape.scalar(name, text(), Occurs::Once);
        let findings = [list, leaf("code"), leaf("severity"), leaf("message"), leaf("place")];
        shape.close();
        let shape = shape.finish();
        EntryShape { shape, entry, time, due, test, texts, numbers, outputs, fields, findings }
    }
}

impl EntryShape {
    /// The shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the leaves that are times: `YYYY-MM-DDThh:mm:ss.fff` in UTC, without a zone.
    #[must_use]
    pub fn times(&self) -> [NodeId; 2] {
        [self.time, self.due]
    }

    /// Sends one entry as a document.
    pub fn send(&self, entry: &Entry, sink: &mut impl Sink) {
        fn text(text: &str) -> Value<'_> {
            Value::Text(Run::from(text.as_bytes()))
        }
        let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX), 0);
        let details = &entry.details;
        // Types of time in files have no zone.
        let moment = |at_ms: u64| time_text(at_ms).trim_end_matches('Z').to_owned();
        sink.enter(NodeId::ROOT);
        sink.value(self.entry, number(entry.id.0));
        sink.value(self.time, text(&moment(entry.time_ms)));
        if entry.state == State::Expecting {
            sink.value(self.due, text(&moment(entry.due_ms)));
        }
        sink.value(self.test, Value::Bool(details.test));
        let values: [&str; TEXTS.len()] = [
            entry.kind.name(),
            entry.way.name(),
            entry.state.name(),
            &entry.partner,
            &details.own,
            &details.standard,
            &details.document,
            &details.version,
            &entry.number,
            &details.group,
            &details.interchange,
            &details.sender,
            &details.receiver,
            &details.rule,
            &details.map,
            &details.guide,
            &details.source,
        ];
        self.texts.iter().zip(values).for_each(|(node, value)| sink.value(*node, text(value)));
        let other = |id: u64| (id != 0).then_some(id);
        let values: [Option<u64>; NUMBERS.len()] = [
            Some(details.bytes),
            Some(details.transactions),
            Some(details.transactions_bad),
            other(details.parent),
            other(details.about),
            other(details.replaced_by),
            other(details.answered_by),
        ];
        for (node, value) in self.numbers.iter().zip(values) {
            if let Some(value) = value {
                sink.value(*node, number(value));
            }
        }
        sink.open_list(self.outputs);
        details.outputs.iter().for_each(|output| sink.value(self.outputs, text(output)));
        sink.close_list(self.outputs);
        let [list, name, value] = self.fields;
        sink.open_list(list);
        for (field, content) in &details.fields {
            sink.enter(list);
            sink.value(name, text(field));
            sink.value(value, text(content));
            sink.leave(list);
        }
        sink.close_list(list);
        let [list, leaves @ ..] = self.findings;
        sink.open_list(list);
        for one in &details.findings {
            sink.enter(list);
            let values = [&one.code, &one.severity, &one.message, &one.place];
            leaves.iter().zip(values).for_each(|(leaf, value)| sink.value(*leaf, text(value)));
            sink.leave(list);
        }
        sink.close_list(list);
        sink.leave(NodeId::ROOT);
    }
}
