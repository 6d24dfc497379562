//! `quayline file`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use quayline_cobol::layout::Layout;
use quayline_convert::{Advance, Progress as _, write_complete};
use quayline_core::{Fault, Finding, Findings, Limits, Place, RecordNumber, Severity};
use quayline_frame::{EndOfInput, Framer, FramerOptions, FramingSpec, Splitter, Step};
use quayline_gateway::FileKey;
use quayline_pipeline::StrayLineEnds;
use quayline_store::record_file::{
    AlternateIndex, Duplicates, FileChange, FileDefinition, KeyPlace, LoadOutcome, Organisation, RecordFile, Relation,
};
use quayline_store::{Direction, Store, StoreError, Unit, Value};

use super::ends::{Reader, print_json};
use super::records::{self, Browsing, NotDeleted, One, Put, Records, Sought, longest};
use super::{Missing, Opened, is_standard, not_there, read_whole, stop, unreadable};
use crate::args::{
    AlterArgs, BrowseArgs, CopyArgs, DefineFileArgs, DeleteArgs, FactsArgs, FileArgs, FileCommand, FolderArg, GetArgs,
    LoadArgs, OrganisationArg, ScriptArgs, UnloadArgs, VerifyArgs,
};
use crate::console::{Console, shown, write_stdout};
use crate::copybook;
use crate::exit::{CLI_INPUT, CLI_PADDED, CLI_PARTIAL, Exit, Stop, argument};
use crate::named::framing_named;
use crate::progress::Bar;
use crate::quantity::counted;

/// Bytes that are read or written at once.
const CHUNK: usize = 1 << 20;
/// Differences that `verify` prints.
const TEXTS_MAX: usize = 20;

/// Runs `quayline file`.
pub(crate) fn run(args: &FileArgs, console: &Console) -> Result<Exit, Stop> {
    if let FileCommand::Define(args) = &args.command {
        // Before the folder is made.
        let definition = definition(args)?;
        if let Some(server) = args.store.admin {
            return super::remote::define_file(server, &definition);
        }
    }
    let (place, missing) = match &args.command {
        FileCommand::Define(args) => (&args.store, Missing::Create),
        FileCommand::Unload(args) => (&args.store, Missing::RefuseToRead),
        FileCommand::Get(args) => (&args.store, Missing::RefuseToRead),
        FileCommand::Put(args) => (&args.store, Missing::Refuse),
        FileCommand::Browse(args) => (&args.store, Missing::RefuseToRead),
        FileCommand::Delete(args) => (&args.store, Missing::Refuse),
        FileCommand::Facts(args) => (&args.store, Missing::RefuseToRead),
        FileCommand::Verify(VerifyArgs { store, .. }) | FileCommand::Preload(VerifyArgs { store, .. }) => {
            return run_here(&args.command, store, Missing::RefuseToRead, console);
        }
        FileCommand::Load(LoadArgs { store, .. })
        | FileCommand::Reorganise(VerifyArgs { store, .. })
        | FileCommand::Alter(AlterArgs { store, .. })
        | FileCommand::Run(ScriptArgs { store, .. })
        | FileCommand::Copy(CopyArgs { store, .. }) => {
            return run_here(&args.command, store, Missing::Refuse, console);
        }
    };
    match place.admin {
        Some(server) => super::file_remote::perform(&args.command, server, console),
        None => run_here(&args.command, &place.store, missing, console),
    }
}

/// Runs a command on a store that this process opens.
fn run_here(command: &FileCommand, folder: &FolderArg, missing: Missing, console: &Console) -> Result<Exit, Stop> {
    let opened = Opened::open(folder, missing)?;
    let done = perform(command, &opened.store, console);
    let closed = opened.close(Exit::Done);
    done.and_then(|exit| closed.map(|_| exit))
}

fn perform(command: &FileCommand, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let exit = match command {
        FileCommand::Define(args) => define(args, store)?,
        FileCommand::Load(args) => load(args, store, console)?,
        FileCommand::Unload(args) => unload(args, store, console)?,
        FileCommand::Get(args) => get(args, store, console)?,
        FileCommand::Put(args) => {
            let what = if args.replace { Put::Replace } else { Put::Insert };
            records::put(store, &args.name, &read_whole(&args.record)?, what).map_err(stop)?;
            Exit::Done
        }
        FileCommand::Browse(args) => browse(args, store, console)?,
        FileCommand::Delete(args) => delete(args, store, console)?,
        FileCommand::Facts(args) => facts(args, store)?,
        FileCommand::Verify(args) => verify(&args.name, store, console)?,
        FileCommand::Alter(args) => alter(args, store, console)?,
        FileCommand::Run(args) => super::script::run(args, store)?,
        FileCommand::Copy(args) => {
            let (unit, file) = open(store, &args.from)?;
            drop(unit);
            let definition = FileDefinition { name: args.to.clone(), ..file.definition().clone() };
            let count = store.copy_file(&args.from, definition).map_err(stop)?;
            console.line(&format!("{} copied", counted(count, "record")));
            Exit::Done
        }
        FileCommand::Reorganise(args) => {
            let count = store.alter_file(&args.name, FileChange::default()).map_err(stop)?;
            console.line(&format!("{} reorganised", counted(count, "record")));
            Exit::Done
        }
        FileCommand::Preload(args) => {
            let (unit, file) = open(store, &args.name)?;
            let count = file.scan(&unit, &mut |_, _| Ok(())).map_err(stop)?;
            console.line(&format!("{} read", counted(count, "record")));
            Exit::Done
        }
    };
    Ok(exit)
}

fn open(store: &Store, name: &str) -> Result<(Unit, RecordFile), Stop> {
    let unit = store.begin().map_err(stop)?;
    let file = store.file(&unit, name).map_err(stop)?;
    Ok((unit, file))
}

fn definition(args: &DefineFileArgs) -> Result<FileDefinition, Stop> {
    let layout = match &args.copybook {
        Some(path) => Some(copybook::read(path, &args.source)?.named(args.record_name.as_deref())?),
        None => None,
    };
    let layout = layout.as_ref();
    let organisation = match (args.organisation, &args.key) {
        (OrganisationArg::Ksds, Some(key)) => Organisation::KeySequenced(place("--key", key, layout)?),
        (OrganisationArg::Ksds, None) => {
            return Err(argument("a ksds needs a key")
                .hint("add --key OFFSET:LENGTH, or --copybook and --key FIELD")
                .into());
        }
        (_, Some(_)) => return Err(argument("only a ksds has a key").hint("leave --key out").into()),
        (OrganisationArg::Esds, None) => Organisation::EntrySequenced,
        (OrganisationArg::Rrds, None) => Organisation::Relative,
    };
    let of_layout = layout.map(|layout| (number_of(layout.length_min), number_of(layout.length_max)));
    let (record_bytes_min, record_bytes_max) = match (&args.record, of_layout) {
        (Some(text), _) => lengths(text)?,
        (None, found) => found.unwrap_or_default(),
    };
    Ok(FileDefinition {
        name: args.name.clone(),
        organisation,
        record_bytes_min,
        record_bytes_max,
        alternates: args.indexes.iter().map(|text| index("--index", text, layout)).collect::<Result<_, _>>()?,
    })
}

fn number_of(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Lengths of the shortest and the longest record.
fn lengths(text: &str) -> Result<(u32, u32), Stop> {
    let (min, max) = text.split_once('-').unwrap_or((text, text));
    let bytes = |text: &str| {
        let wrong = || argument("--record is not a length").hint("write N or MIN-MAX, in bytes");
        text.parse::<u32>().map_err(|_| Stop::from(wrong()))
    };
    Ok((bytes(min)?, bytes(max)?))
}

fn alter(args: &AlterArgs, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let change = FileChange {
        name: args.rename.clone(),
        record_bytes: args.record.as_deref().map(lengths).transpose()?,
        add: args.add_index.iter().map(|text| index("--add-index", text, None)).collect::<Result<_, _>>()?,
        remove: args.drop_index.clone(),
    };
    if change == FileChange::default() {
        let finding = argument("nothing is to be changed");
        return Err(finding.hint("add --rename, --record, --add-index or --drop-index").into());
    }
    let count = store.alter_file(&args.name, change).map_err(|error| match error {
        StoreError::DuplicateKey { index: Some(_), .. } => {
            let hint = "several records have the same key: add the index as NAME=OFFSET:LENGTH:duplicates, or change these records first";
            error.finding().hint(hint).into()
        }
        _ => stop(error),
    })?;
    if count > 0 {
        console.line(&format!("{} copied", counted(count, "record")));
    }
    Ok(Exit::Done)
}

fn place(option: &str, text: &str, layout: Option<&Layout>) -> Result<KeyPlace, Stop> {
    if let Some(layout) = layout.filter(|_| !text.contains(':')) {
        let key = FileKey::of(layout, text).map_err(|finding| Stop::from(*finding))?;
        return Ok(KeyPlace { offset: number_of(key.offset), length: number_of(key.length) });
    }
    let parsed = text.split_once(':').and_then(|(offset, length)| Some((offset.parse().ok()?, length.parse().ok()?)));
    let wrong = || argument(format!("{option} is not a place")).hint("write OFFSET:LENGTH in bytes, such as 0:8");
    let (offset, length) = parsed.ok_or_else(|| Stop::from(wrong()))?;
    Ok(KeyPlace { offset, length })
}

fn index(option: &str, text: &str, layout: Option<&Layout>) -> Result<AlternateIndex, Stop> {
    let wrong =
        || argument(format!("{option} has no name")).hint("write NAME=OFFSET:LENGTH or NAME=OFFSET:LENGTH:duplicates");
    let (name, rest) = text.split_once('=').ok_or_else(|| Stop::from(wrong()))?;
    let (rest, duplicates) = match rest.strip_suffix(":duplicates") {
        Some(rest) => (rest, Duplicates::Allowed),
        None => (rest, Duplicates::Unique),
    };
    Ok(AlternateIndex { name: name.to_owned(), place: place(option, rest, layout)?, duplicates })
}

fn define(args: &DefineFileArgs, store: &Store) -> Result<Exit, Stop> {
    let mut unit = store.begin().map_err(stop)?;
    store.define_file(&mut unit, definition(args)?).map_err(stop)?;
    unit.commit().map_err(stop)?;
    Ok(Exit::Done)
}

/// Limits of readers and writers of records of a length.
pub(super) fn limits_of(longest: usize) -> Limits {
    let limits = Limits::default();
    Limits {
        record_bytes_max: limits.record_bytes_max.max(longest),
        line_bytes_max: limits.line_bytes_max.max(longest),
        ..limits
    }
}

/// Reason why a load stopped.
enum Stopped {
    /// The input.
    Input(Stop),
    /// The store refused a record, or failed.
    Store(StoreError),
}

/// Length of an input file; `None` for standard input, pipes and devices.
fn source_bytes(input: &Path) -> Option<u64> {
    let metadata = input.metadata().ok().filter(|_| !is_standard(input))?;
    Some(metadata.len()).filter(|length| *length > 0)
}

fn load(args: &LoadArgs, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let (unit, file) = open(store, &args.name)?;
    drop(unit);
    let mut input: Box<dyn Read> = if is_standard(&args.input) {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(&args.input).map_err(|error| unreadable(&args.input, &error))?)
    };
    let bar = Bar::on_terminal().filter(|_| !console.json());
    let mut advance = Advance { source_bytes_total: source_bytes(&args.input), ..Advance::default() };
    let longest = longest(file.definition());
    let spec = framing_named(&args.framing, Some(longest))?;
    let mut splitter =
        Splitter::new(&spec, &limits_of(longest)).map_err(|error| Stop::from(argument(error.to_string())))?;
    let mut stray = StrayLineEnds::of(&spec);
    let (mut bytes, mut at, mut end) = (Vec::new(), 0, EndOfInput::No);
    let mut skip = args.skip;
    // Error of the input, which errors of the store cannot express.
    let mut stopped: Option<Stop> = None;
    let mut next = |record: &mut Vec<u8>| -> Result<bool, StoreError> {
        loop {
            let outcome = match splitter.split(&bytes[at..], end) {
                Ok(Step::Record { consumed, .. }) if skip > 0 => {
                    at += consumed;
                    advance.source_bytes += consumed as u64;
                    skip -= 1;
                    Ok(())
                }
                Ok(Step::Record { body, consumed, .. }) => {
                    stray.add(body, || Place {
                        file: Some(shown(&args.input).into()),
                        record: Some(RecordNumber(args.skip + advance.records + 1)),
                        ..Place::default()
                    });
                    record.clear();
                    record.extend_from_slice(body);
                    at += consumed;
                    advance.source_bytes += consumed as u64;
                    advance.records += 1;
                    return Ok(true);
                }
                Ok(Step::Done { .. }) => return Ok(false),
                Ok(Step::NeedMore { at_least }) => {
                    if let Some(bar) = &bar {
                        bar.advance(advance);
                    }
                    read_more(&mut *input, &mut bytes, &mut at, at_least, &mut end)
                        .map_err(|error| unreadable(&args.input, &error))
                }
                Err(fault) => Err(fault.finding().into()),
            };
            if let Err(stop) = outcome {
                stopped = Some(stop);
                return Ok(false);
            }
        }
    };
    let loaded = if args.sorted { file.load_sorted(store, &mut next) } else { file.load(store, &mut next) };
    drop(bar);
    console.findings(&stray.take());
    if skip > 0 && stopped.is_none() && loaded.is_ok() {
        let found = args.skip - skip;
        let what =
            format!("{} has {}, and --skip leaves out {}", shown(&args.input), counted(found, "record"), args.skip);
        return Err(argument(what).hint("leave out fewer; nothing was loaded").into());
    }
    let (outcome, read, failed) = match loaded {
        Ok(outcome) => (outcome, Some(outcome.loaded + outcome.duplicates), stopped.map(Stopped::Input)),
        Err(failed) => (failed.outcome, failed.read, Some(Stopped::Store(failed.error))),
    };
    // If a load did nothing, only the reason is printed.
    if failed.is_none() || outcome != LoadOutcome::default() {
        console.line(&format!("{} loaded", counted(outcome.loaded, "record")));
    }
    if let Some(first) = outcome.first_duplicate {
        let finding = StoreError::DuplicateKey { file: args.name.clone(), index: None }.finding();
        console.findings(&[finding]);
        let (duplicates, first) = (outcome.duplicates, args.skip + first);
        console
            .line(&match duplicates {
                1 => format!("record {first} of the input was not loaded, because the file has its key already"),
                _ => format!("{duplicates} records were not loaded, because the file has their keys already; the first is record {first} of the input"),
            });
    }
    match failed {
        Some(failed) => Err(stopped_load(args, failed, read)),
        None if outcome.duplicates > 0 => Ok(Exit::Rejected),
        None => Ok(Exit::Done),
    }
}

/// Creates the findings for a stopped load: the reason, the record, and how to continue.
fn stopped_load(args: &LoadArgs, failed: Stopped, read: Option<u64>) -> Stop {
    let input = shown(&args.input);
    let mut findings = match failed {
        Stopped::Input(Stop::Findings(findings)) => findings.0,
        Stopped::Input(other) => return other,
        Stopped::Store(error) => {
            let finding = error.finding();
            vec![match read {
                // The first record is refused because of the kind of the file, not because of its content.
                Some(read) if !matches!(error, StoreError::Unsupported { .. }) => finding.at(Place {
                    file: Some(input.as_str().into()),
                    record: Some(RecordNumber(args.skip + read + 1)),
                    ..Place::default()
                }),
                _ => finding,
            }]
        }
    };
    let note = |message: String, hint: String| {
        let note = Finding { severity: Severity::Note, ..Finding::error(CLI_PARTIAL, Fault::Environment, message) };
        note.hint(hint)
    };
    match read.map(|read| args.skip + read) {
        Some(done) if done > args.skip => {
            let message =
                format!("the load stopped at record {} of {input}; the records before it are in the file", done + 1);
            let sorted = if args.sorted { " and without --sorted" } else { "" };
            let again = format!("after the fix, continue with --skip {done}{sorted}");
            let without = format!("to leave that record out, continue with --skip {}{sorted}", done + 1);
            findings.push(note(message, format!("{again}; {without}")));
        }
        Some(_) => {}
        None => {
            let message = format!("a part of the records of {input} may be in {}", args.name);
            let hint = format!(
                "see them with `quayline file facts {}`; delete the file with `quayline file delete {} --all`, define it again and load it again",
                args.name, args.name
            );
            findings.push(note(message, hint));
        }
    }
    Findings(findings).into()
}

fn read_more(
    input: &mut dyn Read,
    bytes: &mut Vec<u8>,
    at: &mut usize,
    at_least: usize,
    end: &mut EndOfInput,
) -> std::io::Result<()> {
    bytes.drain(..std::mem::take(at));
    while bytes.len() < at_least.max(CHUNK) && *end == EndOfInput::No {
        let before = bytes.len();
        bytes.resize(before + CHUNK, 0);
        let count = input.read(&mut bytes[before..])?;
        bytes.truncate(before + count);
        if count == 0 {
            *end = EndOfInput::Yes;
        }
    }
    Ok(())
}

/// Frames records and writes them in large pieces.
struct Output<'a> {
    framer: Framer,
    bytes: Vec<u8>,
    to: &'a mut dyn std::io::Write,
    /// The one length of all records of the output, if the framing has one.
    fixed: Option<usize>,
    /// Records that were shorter, and are padded in the output.
    padded: u64,
}

impl<'a> Output<'a> {
    fn new(text: &str, file: &FileDefinition, to: &'a mut dyn std::io::Write) -> Result<Self, Stop> {
        let longest = longest(file);
        let options = FramerOptions { record_bytes_max: Some(longest), ..FramerOptions::default() };
        let spec = framing_named(text, Some(longest))?;
        let fixed = if let FramingSpec::Fixed { length } = spec { Some(length) } else { None };
        let framer = Framer::new(&spec, options, &limits_of(longest))
            .map_err(|error| Stop::from(argument(error.to_string())))?;
        Ok(Output { framer, bytes: Vec::new(), to, fixed, padded: 0 })
    }

    fn record(&mut self, record: &[u8]) -> Result<(), Stop> {
        self.framer.frame(record, &mut self.bytes).map_err(|fault| Stop::from(fault.finding()))?;
        self.padded += u64::from(self.fixed.is_some_and(|length| record.len() < length));
        if self.bytes.len() >= CHUNK {
            self.to.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Writes the rest, and returns a finding if records lost their lengths.
    fn finish(mut self) -> Result<Option<Finding>, Stop> {
        self.framer.finish(&mut self.bytes);
        self.to.write_all(&self.bytes)?;
        self.to.flush()?;
        let (Some(length), 1..) = (self.fixed, self.padded) else { return Ok(None) };
        let records = if self.padded == 1 { "1 record is".to_owned() } else { format!("{} records are", self.padded) };
        let message = format!(
            "{records} shorter than {length} bytes and padded with bytes 40 (EBCDIC spaces): their lengths are lost"
        );
        let finding = Finding::warning(CLI_PADDED, Fault::Caller, message);
        Ok(Some(
            finding
                .hint("`--framing rdw` writes the length of each record; `file load` reads it with the same framing"),
        ))
    }
}

fn unload(args: &UnloadArgs, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let (unit, file) = open(store, &args.name)?;
    if args.salvage {
        drop(unit);
        return to_output(args, |to| {
            salvage(&file, Output::new(&args.framing, file.definition(), to)?, store, console)
        });
    }
    file.check_structure(store).map_err(stop)?;
    let mut records = Browsing { unit, browse: file.browse(), direction: Direction::Forward, left: u64::MAX };
    unload_all(args, file.definition(), &mut records, console)
}

/// Runs `write` with the output that the arguments name.
fn to_output(
    args: &UnloadArgs,
    write: impl FnOnce(&mut dyn std::io::Write) -> Result<Exit, Stop>,
) -> Result<Exit, Stop> {
    let Some(path) = args.output.as_ref().filter(|path| !is_standard(path)) else {
        return write(&mut std::io::stdout());
    };
    if path.is_file() {
        let finding = Finding::error(CLI_INPUT, Fault::Caller, format!("{} exists", shown(path)));
        return Err(finding.hint("name another file, or remove this one").into());
    }
    // The file takes its name when it is complete.
    write_complete(path, write)
}

/// Writes all records of a file.
pub(super) fn unload_all(
    args: &UnloadArgs,
    file: &FileDefinition,
    records: &mut dyn Records,
    console: &Console,
) -> Result<Exit, Stop> {
    to_output(args, |to| {
        let mut output = Output::new(&args.framing, file, to)?;
        let mut count = 0u64;
        while let Some(record) = records.next()? {
            output.record(&record)?;
            count += 1;
        }
        let padded = output.finish()?;
        console.findings(padded.as_slice());
        if args.output.as_ref().is_some_and(|path| !is_standard(path)) {
            console.line(&format!("{} unloaded", counted(count, "record")));
        }
        Ok(Exit::Done)
    })
}

/// Writes all readable records, and reports unreadable parts.
fn salvage(file: &RecordFile, mut output: Output<'_>, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let (mut damage, mut stopped, mut places) = (Vec::new(), None, 0u64);
    let salvaged = file.salvage(store, &mut |record| {
        match record {
            Ok(record) => {
                if let Err(stop) = output.record(record) {
                    stopped = Some(stop);
                    // This error ends the salvage; the actual reason is in `stopped`.
                    return Err(StoreError::ReadOnly);
                }
            }
            Err(error) => {
                places += 1;
                if damage.len() < TEXTS_MAX {
                    damage.push(error.finding());
                }
            }
        }
        Ok(())
    });
    if let Some(stopped) = stopped {
        return Err(stopped);
    }
    let count = salvaged.map_err(stop)?;
    let padded = output.finish()?;
    console.findings(padded.as_slice());
    console.findings(&damage);
    console.line(&format!("{} unloaded, {} left out", counted(count, "record"), counted(places, "damaged place")));
    Ok(Exit::of_findings(&damage))
}

pub(super) fn no_key() -> Stop {
    argument("no key is given").hint("add --key, --key-hex, --address or --number").into()
}

/// Remedy if the next greater key was also searched.
const NO_GREATER: &str =
    "no greater key exists either; see the last records with `--reverse` of `quayline file browse`";

/// Reports that no record has the key, or a greater one if the search included those.
pub(super) fn no_record(mut finding: Finding, relation: Relation, console: &Console) -> Exit {
    if relation == Relation::AtLeast {
        // The general remedy names the search that has just failed.
        finding = finding.hint(NO_GREATER);
    }
    not_there(&finding, console)
}

fn get(args: &GetArgs, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let (unit, file) = open(store, &args.name)?;
    let sought = Sought::of_args(&args.key, args.described.encoding.as_deref())?;
    let relation = if args.at_least { Relation::AtLeast } else { Relation::Equal };
    match file.read(&unit, sought.by().ok_or_else(no_key)?, relation) {
        Ok(record) => print_one(args, record.bytes, console),
        Err(error @ StoreError::NotFound { .. }) => Ok(no_record(error.finding(), relation, console)),
        Err(error) => Err(stop(error)),
    }
}

/// Prints a record.
pub(super) fn print_one(args: &GetArgs, record: Value, console: &Console) -> Result<Exit, Stop> {
    if args.described.copybook.is_empty() {
        write_stdout(&record)?;
        return Ok(Exit::Done);
    }
    let length = record.len();
    let reader = Reader::new(Box::new(One(Some(record))), length)?;
    print_json(reader, &args.name, &args.described, console)
}

fn browse(args: &BrowseArgs, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let (unit, file) = open(store, &args.name)?;
    let sought = Sought::of_args(&args.key, args.described.encoding.as_deref())?;
    let direction = if args.reverse { Direction::Backward } else { Direction::Forward };
    let browse = match sought.browse(&unit, &file, direction) {
        Ok(browse) => browse,
        Err(error @ StoreError::NotFound { .. }) => {
            return Ok(no_record(error.finding(), Relation::AtLeast, console));
        }
        Err(error) => return Err(stop(error)),
    };
    let records = Browsing { unit, browse, direction, left: args.count };
    print_all(args, file.definition(), Box::new(records), console)
}

/// Prints records.
pub(super) fn print_all(
    args: &BrowseArgs,
    file: &FileDefinition,
    mut records: Box<dyn Records>,
    console: &Console,
) -> Result<Exit, Stop> {
    if !args.described.copybook.is_empty() {
        return print_json(Reader::new(records, longest(file))?, &args.name, &args.described, console);
    }
    let mut to = std::io::stdout();
    let mut output = Output::new(&args.framing, file, &mut to)?;
    while let Some(record) = records.next()? {
        output.record(&record)?;
    }
    let padded = output.finish()?;
    console.findings(padded.as_slice());
    Ok(Exit::Done)
}

/// Refuses a key with `--all`, and a delete with neither.
pub(super) fn check_delete(args: &DeleteArgs, sought: &Sought) -> Result<(), Stop> {
    match (sought.by(), args.all) {
        (Some(_), true) => Err(argument("--all and a key exclude each other").hint("leave one of them out").into()),
        (None, false) => Err(no_key()),
        _ => Ok(()),
    }
}

fn delete(args: &DeleteArgs, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let sought = Sought::of_args(&args.key, args.encoding.as_deref())?;
    check_delete(args, &sought)?;
    let Some(by) = sought.by() else {
        return store.delete_file(&args.name).map_err(stop).map(|()| Exit::Done);
    };
    match records::delete(store, &args.name, by) {
        Ok(()) => Ok(Exit::Done),
        Err(NotDeleted::Several) => Err(records::several(&args.name).into()),
        Err(NotDeleted::Store(error @ StoreError::NotFound { .. })) => Ok(not_there(&error.finding(), console)),
        Err(NotDeleted::Store(error)) => Err(stop(error)),
    }
}

fn facts(args: &FactsArgs, store: &Store) -> Result<Exit, Stop> {
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => store.files(&store.begin().map_err(stop)?).map_err(stop)?,
    };
    let texts: Result<String, StoreError> = names.iter().map(|name| records::facts(store, name)).collect();
    write_stdout(texts.map_err(stop)?.as_bytes())?;
    Ok(Exit::Done)
}

fn verify(name: &str, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let (unit, file) = open(store, name)?;
    let (texts, count) = file.verify(&unit, TEXTS_MAX).map_err(stop)?;
    if count == 0 {
        console.line("records, keys and indexes agree");
        return Ok(Exit::Done);
    }
    let damaged = |what| StoreError::Damaged { file: name.to_owned(), byte: 0, what }.finding();
    let findings: Vec<_> = texts.into_iter().map(damaged).collect();
    console.findings(&findings);
    console.line(&format!("{count} differences"));
    Ok(Exit::of_findings(&findings))
}
