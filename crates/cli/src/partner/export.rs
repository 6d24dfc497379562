//! Entries of the transaction store as JSON lines, CSV or Parquet, for `quayline transaction export` and over HTTP.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use quayline_columnar::{ColumnError, ColumnOptions, ColumnSink, ParquetEncoder, ParquetOptions, ParquetWriter};
use quayline_core::{Fault, Finding, Findings, Moment, Place, system_error_text};
use quayline_partner::{Entry, EntryShape, Filter, Ledger};
use serde_json::Value;

use super::entries::entry_json;
use crate::args::ExportArgs;
use crate::console::{shown, write_stdout};
use crate::exit::{CLI_OUTPUT, Stop};

/// Entries of one page of the search.
const PAGE: usize = 256;

/// Format of exported entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Format {
    Lines,
    Csv,
    Parquet,
}

impl Format {
    /// Every word.
    pub(super) const WORDS: [&str; 3] = ["jsonl", "csv", "parquet"];

    pub(super) fn named(word: &str) -> Option<Format> {
        let at = Format::WORDS.iter().position(|known| *known == word)?;
        Some([Format::Lines, Format::Csv, Format::Parquet][at])
    }

    pub(super) fn media(self) -> &'static str {
        match self {
            Format::Lines => "application/x-ndjson",
            Format::Csv => "text/csv",
            Format::Parquet => "application/vnd.apache.parquet",
        }
    }
}

/// An export in progress: a page of entries at a time, so memory does not depend on their number.
pub(super) struct Export {
    ledger: Ledger,
    /// The next page; `None` after the last one.
    filter: Option<Filter>,
    form: Form,
}

enum Form {
    Lines,
    Csv { has_head: bool },
    Parquet(Box<Columns>),
}

/// A Parquet file in progress.
struct Columns {
    shape: EntryShape,
    sink: ColumnSink,
    encoder: ParquetEncoder,
    writer: ParquetWriter<Vec<u8>>,
}

impl Export {
    pub(super) fn new(ledger: &Ledger, filter: Filter, format: Format) -> Result<Export, Findings> {
        let form = match format {
            Format::Lines => Form::Lines,
            Format::Csv => Form::Csv { has_head: false },
            Format::Parquet => Form::Parquet(Box::new(Columns::new()?)),
        };
        let filter = Some(Filter { limit: PAGE, ..filter });
        Ok(Export { ledger: ledger.clone(), filter, form })
    }

    /// Returns the bytes of the next page, which may be empty; `None` after the last page.
    pub(super) fn part(&mut self) -> Result<Option<Vec<u8>>, Findings> {
        let Some(mut filter) = self.filter.take() else { return Ok(None) };
        let found = self.ledger.search(&filter)?;
        let is_last = found.next.is_none();
        let bytes = match &mut self.form {
            Form::Lines => {
                let lines = found.entries.iter().map(|entry| format!("{}\n", entry_json(entry)));
                lines.collect::<String>().into_bytes()
            }
            Form::Csv { has_head } => csv(&found.entries, std::mem::replace(has_head, true)),
            Form::Parquet(columns) => columns.write(&found.entries)?,
        };
        if !is_last {
            filter.after = found.next;
            self.filter = Some(filter);
            return Ok(Some(bytes));
        }
        match std::mem::replace(&mut self.form, Form::Lines) {
            Form::Parquet(columns) => columns.end(bytes).map(Some),
            Form::Lines | Form::Csv { .. } => Ok(Some(bytes)),
        }
    }
}

impl Iterator for Export {
    type Item = Result<Vec<u8>, Findings>;

    fn next(&mut self) -> Option<Result<Vec<u8>, Findings>> {
        self.part().transpose()
    }
}

fn csv(entries: &[Entry], has_head: bool) -> Vec<u8> {
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
    let mut out = if has_head { String::new() } else { format!("{}\n", COLUMNS.join(",")) };
    for entry in entries {
        let value = entry_json(entry);
        let cells = COLUMNS.map(|column| cell(&value[column]));
        let _ = writeln!(out, "{}", cells.join(","));
    }
    out.into_bytes()
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

fn failed(error: ColumnError) -> Findings {
    error.finding().into()
}

impl Columns {
    fn new() -> Result<Columns, Findings> {
        let shape = EntryShape::default();
        let moments = shape.times().map(|node| (node, Moment::Timestamp)).to_vec();
        let sink = ColumnSink::new(shape.shape(), &ColumnOptions { moments, ..ColumnOptions::default() })?;
        let writer = ParquetWriter::new(Vec::new(), &sink, &ParquetOptions::default()).map_err(failed)?;
        Ok(Columns { shape, sink, encoder: writer.encoder(), writer })
    }

    /// Adds entries. Returns the bytes that the file has grown by: row groups that are full.
    fn write(&mut self, entries: &[Entry]) -> Result<Vec<u8>, Findings> {
        for entry in entries {
            self.shape.send(entry, &mut self.sink);
            if let Some(refusal) = self.sink.take_refusal() {
                return Err(refusal.findings(&Place::default()));
            }
            if self.sink.is_full() {
                self.writer.write(self.encoder.take_pages(&mut self.sink).map_err(failed)?).map_err(failed)?;
            }
        }
        Ok(std::mem::take(self.writer.output()))
    }

    /// Ends the file. Returns `bytes` with its last bytes.
    fn end(mut self, mut bytes: Vec<u8>) -> Result<Vec<u8>, Findings> {
        self.writer.write(self.encoder.take_pages(&mut self.sink).map_err(failed)?).map_err(failed)?;
        let (rest, _) = self.writer.finish().map_err(failed)?;
        bytes.extend_from_slice(&rest);
        Ok(bytes)
    }
}

/// Writes every entry that the filter finds, for the command.
pub(super) fn export(store: &Ledger, filter: Filter, args: &ExportArgs) -> Result<(), Stop> {
    let Some(path) = &args.parquet else {
        let format = if args.csv { Format::Csv } else { Format::Lines };
        for part in Export::new(store, filter, format)? {
            write_stdout(&part?)?;
        }
        return Ok(());
    };
    // Under another name first, so that a file with this name is always whole.
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let write = || -> Result<(), Stop> {
        let mut file = File::create(partial).map_err(|error| unwritable(partial, &error))?;
        for part in Export::new(store, filter, Format::Parquet)? {
            file.write_all(&part?).map_err(|error| unwritable(partial, &error))?;
        }
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
