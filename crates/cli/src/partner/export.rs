//! `quayline transaction export`: entries as JSON lines, CSV or Parquet.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use quayline_columnar::{ColumnOptions, ColumnSink, ParquetOptions, ParquetWriter};
use quayline_core::{
    Fault, Finding, Moment, NodeId, Occurs, Run, Scalar, Shape, Sink as _, Value as Cell, system_error_text,
};
use quayline_partner::{Entry, Filter, Ledger, time_text};
use serde_json::Value;

use super::entries::entry_json;
use crate::args::ExportArgs;
use crate::console::{shown, write_stdout};
use crate::exit::{CLI_OUTPUT, Stop};

/// Entries of one page of the search.
const PAGE: usize = 1_000;

/// Writes every entry that the filter finds.
pub(super) fn export(store: &Ledger, mut filter: Filter, args: &ExportArgs) -> Result<(), Stop> {
    filter.limit = PAGE;
    match &args.parquet {
        Some(path) => parquet(store, filter, path),
        None => lines(store, filter, args.csv),
    }
}

/// Hands every entry to `visit`, a page at a time.
fn each_page(
    store: &Ledger,
    mut filter: Filter,
    visit: &mut dyn FnMut(&[Entry]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    loop {
        let found = store.search(&filter)?;
        visit(&found.entries)?;
        match found.next {
            Some(next) => filter.after = Some(next),
            None => return Ok(()),
        }
    }
}

fn lines(store: &Ledger, filter: Filter, csv: bool) -> Result<(), Stop> {
    const COLUMNS: [&str; 17] = [
        "entry",
        "kind",
        "way",
        "state",
        "time",
        "partner",
        "own",
        "standard",
        "document",
        "version",
        "number",
        "group",
        "interchange",
        "test",
        "rule",
        "bytes",
        "source",
    ];
    if csv {
        write_stdout(format!("{}\n", COLUMNS.join(",")).as_bytes())?;
    }
    each_page(store, filter, &mut |entries| {
        let mut out = String::new();
        for entry in entries {
            let value = entry_json(entry);
            if csv {
                let cells = COLUMNS.map(|column| cell(&value[column]));
                let _ = writeln!(out, "{}", cells.join(","));
            } else {
                let _ = writeln!(out, "{value}");
            }
        }
        write_stdout(out.as_bytes())?;
        Ok(())
    })
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Columns of text, in the order of the file.
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
/// Numeric columns; null for entries without a value.
const NUMBERS: [&str; 7] =
    ["bytes", "transactions", "transactions_bad", "parent", "about", "replaced_by", "answered_by"];

/// The nodes of one entry.
struct Columns {
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

impl Columns {
    fn new() -> Columns {
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
        Columns { shape, entry, time, due, test, texts, numbers, outputs, fields, findings }
    }

    /// Sends one entry as a document.
    fn send(&self, entry: &Entry, sink: &mut ColumnSink) {
        fn text(text: &str) -> Cell<'_> {
            Cell::Text(Run::from(text.as_bytes()))
        }
        let number = |number: u64| Cell::Int(i64::try_from(number).unwrap_or(i64::MAX), 0);
        let details = &entry.details;
        // The type has no time zone: times are UTC, as in the other formats.
        let moment = |at_ms: u64| time_text(at_ms).trim_end_matches('Z').to_owned();
        sink.enter(NodeId::ROOT);
        sink.value(self.entry, number(entry.id.0));
        sink.value(self.time, text(&moment(entry.time_ms)));
        if entry.state == quayline_partner::State::Expecting {
            sink.value(self.due, text(&moment(entry.due_ms)));
        }
        sink.value(self.test, Cell::Bool(details.test));
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

/// Writes a Parquet file under another name first, so that a file with this name is always whole.
fn parquet(store: &Ledger, filter: Filter, path: &Path) -> Result<(), Stop> {
    let columns = Columns::new();
    let moments = vec![(columns.time, Moment::Timestamp), (columns.due, Moment::Timestamp)];
    let mut sink = ColumnSink::new(&columns.shape, &ColumnOptions { moments, ..ColumnOptions::default() })?;
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let file = File::create(partial).map_err(|error| unwritable(partial, &error))?;
    let write = || -> Result<(), Stop> {
        let failed = |error: quayline_columnar::ColumnError| Stop::from(error.finding());
        let mut writer = ParquetWriter::new(file, &sink, &ParquetOptions::default()).map_err(failed)?;
        let mut encoder = writer.encoder();
        each_page(store, filter, &mut |entries| {
            for entry in entries {
                columns.send(entry, &mut sink);
                if let Some(refusal) = sink.take_refusal() {
                    return Err(refusal.findings(&quayline_core::Place::default()).into());
                }
                if sink.is_full() {
                    writer.write(encoder.take_pages(&mut sink).map_err(failed)?).map_err(failed)?;
                }
            }
            Ok(())
        })?;
        writer.write(encoder.take_pages(&mut sink).map_err(failed)?).map_err(failed)?;
        let (file, _) = writer.finish().map_err(failed)?;
        file.sync_all().map_err(|error| unwritable(partial, &error))?;
        std::fs::rename(partial, path).map_err(|error| unwritable(path, &error).into())
    };
    let written = write();
    if written.is_err() {
        // The error above is reported instead.
        let _ = std::fs::remove_file(partial);
    }
    written
}

fn unwritable(path: &Path, error: &std::io::Error) -> Finding {
    let message = format!("{} cannot be written: {}", shown(path), system_error_text(error));
    Finding::error(CLI_OUTPUT, Fault::Environment, message).hint("name another file, or free space")
}
