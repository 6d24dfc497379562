//! `file:NAME`: a record file as input or output of `quayline convert` and `quayline translate`.
//!
//! Between the record file and the conversion, each record has its length in front, four bytes; so records of any length pass exactly.

use std::cell::OnceCell;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use quayline_cobol::Policies;
use quayline_convert::{Conversion, ConvertError, Input, Output, Source, Target};
use quayline_core::{Fault, Finding, Severity};
use quayline_frame::{EndOfInput, Framer, FramerOptions, FramingSpec, RdwSpec, Splitter, Step};
use quayline_project::{InterfaceFile, JsonWrite, Schema, SourceFormat, TargetFormat};
use quayline_store::record_file::{Inserter, Organisation, RecordFile};
use quayline_store::{Direction, Store, StoreError, Unit};

use super::file::limits_of;
use super::records::{Browsing, Records, longest};
use super::{Missing, Opened, stop};
use crate::args::{DescribedArgs, FolderArg};
use crate::console::Console;
use crate::copybook;
use crate::exit::{CLI_PARTIAL, Exit, Stop, argument};
use crate::named::charset_named;

/// Bytes that an input gives at once.
const CHUNK: usize = 256 << 10;

/// Returns the name after `file:`.
pub(crate) fn record_file(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix("file:")
}

/// Returns the framing between a record file and a conversion.
pub(crate) fn framing() -> FramingSpec {
    FramingSpec::Rdw(RdwSpec::gnucobol(1).expect("GnuCOBOL has a format 1"))
}

/// Refuses a framing option for a record file, which has no framing.
pub(crate) fn refuse_framing(option: &str, given: bool) -> Result<(), Stop> {
    if given {
        let finding = argument(format!("{option} does not apply to a record file"));
        return Err(finding.hint(format!("leave {option} out")).into());
    }
    Ok(())
}

/// The record files of one run. The store is opened when the first is named.
pub(crate) struct Ends<'a> {
    folder: &'a FolderArg,
    opened: OnceCell<Opened>,
    state: Arc<Mutex<Written>>,
}

/// Results of outputs.
#[derive(Debug, Default)]
struct Written {
    /// Records of committed units of work, and the file.
    committed: u64,
    name: String,
    /// True if a record has a key, by which a record that is there already is found.
    is_keyed: bool,
    /// Records of the output so far, the one that failed included.
    records: u64,
    failed: Option<StoreError>,
}

impl<'a> Ends<'a> {
    /// Runs `work` and closes the store that it opened. The store keeps the counts of its files, also if the work fails.
    pub(crate) fn during(
        folder: &'a FolderArg,
        work: impl FnOnce(&Ends<'a>) -> Result<Exit, Stop>,
    ) -> Result<Exit, Stop> {
        let ends = Ends { folder, opened: OnceCell::new(), state: Arc::default() };
        let ended = work(&ends);
        match ends.opened.into_inner() {
            Some(opened) => {
                let closed = opened.close(Exit::Done);
                ended.and_then(|exit| closed.map(|_| exit))
            }
            None => ended,
        }
    }

    fn store(&self) -> Result<&Store, Stop> {
        if self.opened.get().is_none() {
            let opened = Opened::open(self.folder, Missing::Refuse)?;
            // The cell is empty: one thread opens the files of a run.
            let _ = self.opened.set(opened);
        }
        Ok(&self.opened.get().expect("set above").store)
    }

    fn open(&self, name: &str) -> Result<(Store, Unit, RecordFile), Stop> {
        let store = self.store()?.clone();
        let unit = store.begin().map_err(stop)?;
        let file = store.file(&unit, name).map_err(stop)?;
        Ok((store, unit, file))
    }

    /// Returns a reader of the records of a file, in the order of its key, address or number.
    pub(crate) fn reader(&self, name: &str) -> Result<Box<dyn Read + Send>, Stop> {
        let (_, unit, file) = self.open(name)?;
        let browse = file.browse();
        let records = Browsing { unit, browse, direction: Direction::Forward, left: u64::MAX };
        Ok(Box::new(Reader::new(Box::new(records), longest(file.definition()))?))
    }

    /// Returns a writer that adds records to a file. An identical existing record stays.
    pub(crate) fn writer(&self, name: &str) -> Result<Box<dyn Write + Send>, Stop> {
        let (store, _, file) = self.open(name)?;
        let splitter = Splitter::new(&framing(), &limits_of(longest(file.definition())));
        let splitter = splitter.map_err(|error| Stop::from(argument(error.to_string())))?;
        let state = Arc::clone(&self.state);
        {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            name.clone_into(&mut state.name);
            state.is_keyed = matches!(file.definition().organisation, Organisation::KeySequenced(_));
        }
        Ok(Box::new(Writer { inserter: Inserter::new(store, file), splitter, pending: Vec::new(), state }))
    }

    /// Returns the findings if the store stopped an output.
    pub(crate) fn failed(&self) -> Option<Vec<Finding>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = state.failed.as_ref()?;
        let written = match state.committed {
            1 => "1 record was".to_owned(),
            count => format!("{count} records were"),
        };
        let message = format!(
            "{written} written to {} before; the failure is at record {} of the output",
            state.name, state.records
        );
        let note = Finding { severity: Severity::Note, ..Finding::error(CLI_PARTIAL, Fault::Environment, message) };
        let hint = if state.is_keyed {
            "after the fix, run the command again: records that are there already, byte for byte, stay as they are"
        } else if state.committed == 0 {
            "after the fix, run the command again"
        } else {
            "a run adds to the file: before you run the command again, delete and define the file, or leave the records that were written out of the input"
        };
        let finding = match failed {
            StoreError::DuplicateKey { .. } => failed.finding().hint(
                "leave the record out of the input or give it another key; to replace records, delete those of the file first",
            ),
            _ => failed.finding(),
        };
        Some(vec![finding, note.hint(hint)])
    }
}

/// Records as the input of a conversion.
pub(super) struct Reader {
    records: Box<dyn Records>,
    framer: Framer,
    bytes: Vec<u8>,
    at: usize,
    is_over: bool,
    /// Findings that ended the input.
    failed: Arc<Mutex<Option<Stop>>>,
}

impl Reader {
    /// Reads records of at most `longest` bytes.
    pub(super) fn new(records: Box<dyn Records>, longest: usize) -> Result<Self, Stop> {
        let framer = Framer::new(&framing(), FramerOptions::default(), &limits_of(longest));
        let framer = framer.map_err(|error| Stop::from(argument(error.to_string())))?;
        Ok(Reader { records, framer, bytes: Vec::new(), at: 0, is_over: false, failed: Arc::default() })
    }
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.bytes.len() && !self.is_over {
            self.bytes.clear();
            self.at = 0;
            while self.bytes.len() < CHUNK && !self.is_over {
                match self.records.next() {
                    Ok(Some(record)) => self.framer.frame(&record, &mut self.bytes).map_err(other)?,
                    Ok(None) => {
                        self.framer.finish(&mut self.bytes);
                        self.is_over = true;
                    }
                    Err(stop) => {
                        let text = match &stop {
                            Stop::Findings(findings) => findings.0.first().map(|finding| finding.message.clone()),
                            Stop::ClosedPipe => None,
                        };
                        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
                        return Err(other(text.unwrap_or_default()));
                    }
                }
            }
        }
        let count = into.len().min(self.bytes.len() - self.at);
        into[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Prints records as lines of JSON, as `quayline convert` does.
pub(super) fn print_json(from: Reader, name: &str, args: &DescribedArgs, console: &Console) -> Result<Exit, Stop> {
    let Some(encoding) = &args.encoding else {
        let finding = argument("the code page of the records is not named, and it is never guessed");
        return Err(finding.hint("add, say, --encoding cp037").into());
    };
    let charset = charset_named(encoding)?;
    let (layout, warnings) =
        copybook::read_all(&args.copybook, &args.reading.source)?.one(args.reading.record.as_deref())?;
    console.findings(&warnings);
    let schema = Schema::compile(&[layout], &InterfaceFile::default(), &Policies::default(), charset)?;
    let failed = Arc::clone(&from.failed);
    let (name, input) = (format!("file:{name}").into(), Input::Stream(Box::new(from)));
    let source = Source { name, input, format: SourceFormat::Records(framing()) };
    let format = TargetFormat::JsonLines(JsonWrite::default());
    let target = Target { output: Output::Stream(Box::new(io::stdout())), format };
    match Conversion::new(source, target, Arc::new(schema)).run() {
        Ok(_) => Ok(Exit::Done),
        Err(ConvertError::ClosedPipe) => Err(Stop::ClosedPipe),
        Err(error) => {
            let failed = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
            Err(failed.unwrap_or_else(|| error.findings().into()))
        }
    }
}

fn other(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

struct Writer {
    inserter: Inserter,
    splitter: Splitter,
    /// Bytes that are not yet a whole record.
    pending: Vec<u8>,
    state: Arc<Mutex<Written>>,
}

impl Writer {
    fn done(&self, outcome: Result<u64, StoreError>) -> io::Result<()> {
        let committed = outcome.map_err(|error| self.fail(error))?;
        self.state.lock().unwrap_or_else(PoisonError::into_inner).committed += committed;
        Ok(())
    }

    fn fail(&self, error: StoreError) -> io::Error {
        let text = error.to_string();
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failed.get_or_insert(error);
        io::Error::other(text)
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(bytes);
        let mut at = 0;
        let mut record = Vec::new();
        let unframed = |fault: quayline_frame::FrameFault| other(fault.finding().message);
        while let Step::Record { body, consumed, .. } =
            self.splitter.split(&pending[at..], EndOfInput::No).map_err(unframed)?
        {
            record.clear();
            record.extend_from_slice(body);
            at += consumed;
            self.state.lock().unwrap_or_else(PoisonError::into_inner).records += 1;
            let outcome = self.inserter.insert(&record);
            self.done(outcome)?;
        }
        pending.drain(..at);
        self.pending = pending;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.inserter.commit();
        self.done(outcome)
    }
}
