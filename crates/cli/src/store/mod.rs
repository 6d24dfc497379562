//! `quayline file`, `quayline queue` and `quayline store`.

mod api;
mod ends;
mod file;
mod file_remote;
mod files_api;
mod queue;
mod records;
mod records_api;
mod remote;
mod save;
mod script;
mod serve;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum as _;

use quayline_core::{Fault, Finding, Severity, system_error_text};
use quayline_store::{Access, Clock, Store, StoreError, StoreLimits, SystemClock};
use quayline_store_embedded::{
    Durability, EmbeddedEngine, Folder, Overlay, Recovered, Settings, Work, recover_exchange,
};
use quayline_store_postgres::{Endpoint, PostgresEngine};

use crate::args::{DurabilityArg, FolderArg, StoreArgs, StoreCommand};
use crate::console::{Console, shown, write_stdout};
use crate::env_vars::QUAYLINE_DURABILITY;
use crate::exit::{CLI_INPUT, Exit, Stop, argument};

pub(crate) use api::QueuesPart;
pub(crate) use ends::{Ends, framing as record_file_framing, record_file, refuse_framing};
pub(crate) use file::run as run_file;
pub(crate) use files_api::FilesPart;
pub(crate) use queue::run as run_queue;
pub(crate) use remote::define_missing;
pub(crate) use save::saver;

/// A store that is closed when the command ends, so that the next one opens quickly.
pub(crate) struct Opened {
    pub(crate) store: Store,
    /// The engine of a data folder. The engine of a database ends when its last user drops it.
    engine: Option<Arc<EmbeddedEngine>>,
}

/// Handling of a missing data folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Missing {
    Create,
    Refuse,
    /// The same as `Refuse`, for a command that only reads, so that a read-only folder suffices.
    RefuseToRead,
}

/// Settings for a command that works alone: it needs less memory than a server.
pub(crate) fn alone() -> Settings {
    Settings { apply_bytes: 4 << 20, delta_bytes_max: 12 << 20, record_cache_bytes: 1 << 20, ..Settings::default() }
}

impl Opened {
    pub(crate) fn open(folder: &FolderArg, missing: Missing) -> Result<Self, Stop> {
        Opened::open_with(folder, missing, Settings::default())
    }

    /// Opens a store with other memory limits.
    pub(crate) fn open_with(folder: &FolderArg, missing: Missing, settings: Settings) -> Result<Self, Stop> {
        let durability = durability(folder)?;
        let settings = Settings { durability, ..settings };
        if let Some(address) = folder.address() {
            return Opened::open_database(address);
        }
        refuse_unknown_address(folder)?;
        let path = folder.folder.as_path();
        recover(path)?;
        let is_there = path.join("store.redb").try_exists().map_err(|error| unreadable(path, &error))?;
        if missing != Missing::Create && !is_there {
            let finding = Finding::error(CLI_INPUT, Fault::Caller, format!("{} holds no store", shown(path)));
            return Err(finding.hint("name its folder with --store, or define a file or queue first").into());
        }
        let medium = Folder::create(path).map_err(|error| unreadable(path, &error))?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (engine, access) = match EmbeddedEngine::open(Arc::new(medium), &clock, settings) {
            Err(StoreError::Io { kind: ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem, .. })
                if missing == Missing::RefuseToRead =>
            {
                // Writes of the recovery stay in memory.
                let overlay = Overlay::new(Arc::new(Folder::new(path)));
                let settings = Settings { work: Work::Inline, ..settings };
                (EmbeddedEngine::open(Arc::new(overlay), &clock, settings), Access::Read)
            }
            opened => (opened, Access::Write),
        };
        let engine = Arc::new(engine.map_err(stop)?);
        let shared: Arc<EmbeddedEngine> = Arc::clone(&engine);
        let store = Store::open(shared, clock, StoreLimits::default(), access).map_err(stop)?;
        Ok(Opened { store, engine: Some(engine) })
    }

    fn open_database(address: &str) -> Result<Self, Stop> {
        let endpoint = database(address)?;
        let engine = PostgresEngine::open(endpoint).map_err(stop)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = Store::open(Arc::new(engine), clock, StoreLimits::default(), Access::Write).map_err(stop)?;
        Ok(Opened { store, engine: None })
    }

    /// Closes the store. Acknowledged work is already durable.
    pub(crate) fn close(self, exit: Exit) -> Result<Exit, Stop> {
        // A failed store keeps its acknowledged work; its statistics are those of the last successful save.
        let _ = self.store.keep_use();
        if let Some(engine) = self.engine {
            engine.close().map_err(stop)?;
        }
        Ok(exit)
    }
}

/// Refuses an address of an unknown kind or with a typing error. It would name a folder, and become one. The finding does not show the rest of the text,
/// which may contain a password.
fn refuse_unknown_address(folder: &FolderArg) -> Result<(), Stop> {
    let text = folder.folder.to_string_lossy();
    let Some((scheme, _)) = text.split_once(':') else { return Ok(()) };
    let is_scheme =
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    if !is_scheme || !text.contains("://") && !scheme.starts_with("postgres") {
        return Ok(());
    }
    let finding = argument(format!("the store has an address of an unknown kind, `{scheme}:`"));
    let hint =
        "write postgresql://USER@HOST:PORT/DATABASE for a database; for a folder of this name write ./ before it";
    Err(finding.hint(hint).into())
}

/// Returns the durability from the option or the environment.
fn durability(folder: &FolderArg) -> Result<Durability, Stop> {
    let (when, named) = match (folder.durability.when, QUAYLINE_DURABILITY.value()) {
        (Some(when), _) => (when, "--durability"),
        (None, Some(value)) => {
            let known = value.to_str().and_then(|value| DurabilityArg::from_str(value, false).ok());
            let wrong = || argument("QUAYLINE_DURABILITY is not a durability").hint("set it to sync or buffered");
            (known.ok_or_else(|| Stop::from(wrong()))?, "QUAYLINE_DURABILITY")
        }
        (None, None) => return Ok(Durability::Sync),
    };
    match when {
        DurabilityArg::Sync => Ok(Durability::Sync),
        DurabilityArg::Buffered if folder.address().is_some() => {
            let what = format!("{named} does not apply to a store in PostgreSQL");
            let hint = "leave it out, and set `synchronous_commit` of the database to off if you accept to lose its last commits";
            Err(argument(what).hint(hint).into())
        }
        DurabilityArg::Buffered => Ok(Durability::Buffered),
    }
}

/// Completes a restore that a crash interrupted, before the folder is used.
pub(crate) fn recover(folder: &Path) -> Result<(), Stop> {
    let name = shown(folder);
    let what = match recover_exchange(folder) {
        Ok(Recovered::Nothing) => return Ok(()),
        Ok(Recovered::TakenBack) => {
            format!("a restore to {name} did not end; {name} holds the store from before the restore")
        }
        Ok(Recovered::Finished) => format!("a restore to {name} did not end; Quayline finished it"),
        Err(error) => {
            let why = format!("a restore to {name} did not end: {error}");
            let hint = "wait for the restore if it is still running; otherwise see which folder holds the store that you need, and give it this name";
            return Err(Finding::error(CLI_INPUT, Fault::Environment, why).hint(hint).into());
        }
    };
    let note = Finding { severity: Severity::Note, ..Finding::error(CLI_INPUT, Fault::Environment, what) };
    Console::plain().findings(&[note.hint("run the restore again if its store is the one that you need")]);
    Ok(())
}

/// Parses the address of a database in `--store`.
pub(crate) fn database(address: &str) -> Result<Endpoint, Stop> {
    Endpoint::parse(address).map_err(|error| argument(format!("--store: {}", error.what)).hint(error.remedy).into())
}

/// Returns the name of a store for messages: an address without its password.
pub(crate) fn named(folder: &FolderArg) -> String {
    match folder.address() {
        Some(address) => Endpoint::parse(address).map_or_else(|_| "the database".to_owned(), |found| found.to_string()),
        None => shown(&folder.folder),
    }
}

/// Runs `quayline store`.
pub(crate) fn run(args: &StoreArgs, console: &Console) -> Result<Exit, Stop> {
    let folder = match &args.command {
        StoreCommand::Check(folder) | StoreCommand::Facts(folder) | StoreCommand::Compact(folder) => folder,
        StoreCommand::Save(args) => return save::save(args, console),
        StoreCommand::Restore(args) => return save::restore(args, console),
    };
    let missing = match &args.command {
        StoreCommand::Check(_) | StoreCommand::Facts(_) => Missing::RefuseToRead,
        _ => Missing::Refuse,
    };
    let opened = Opened::open(&folder.store, missing)?;
    let engine = opened.store.engine();
    let exit = match &args.command {
        StoreCommand::Check(_) => {
            let mut findings: Vec<Finding> = engine.check().map_err(stop)?.iter().map(StoreError::finding).collect();
            // Records of damaged pages would all differ from their indexes. In a database, other processes change both meanwhile.
            if findings.is_empty() && folder.store.address().is_none() {
                findings = differences(&opened.store)?;
            }
            if findings.is_empty() {
                console.line("everything that is stored is intact");
                Exit::Done
            } else {
                // Their general remedy names this command.
                let hint = "restore the latest save; without one, `quayline file verify NAME` names the records, and `quayline file unload NAME --salvage` \
                            writes those that can be read";
                let findings: Vec<Finding> = findings.into_iter().map(|finding| finding.hint(hint)).collect();
                console.findings(&findings);
                Exit::of_findings(&findings)
            }
        }
        StoreCommand::Facts(_) => {
            let facts = engine.facts();
            if folder.store.address().is_some() {
                let rows = [("position of the log", facts.position.0), ("bytes of the database", facts.store_bytes)];
                write_stdout(table(&rows).as_bytes())?;
                return opened.close(Exit::Done);
            }
            let rows = [
                ("position of the log", facts.position.0),
                ("position in store.redb", facts.applied.0),
                ("bytes of log not yet in store.redb", facts.log_bytes),
                ("bytes of store.redb", facts.store_bytes),
                ("bytes of changes in memory", facts.delta_bytes),
            ];
            write_stdout(table(&rows).as_bytes())?;
            Exit::Done
        }
        StoreCommand::Compact(_) => {
            // Remove the unnamed remains of a crash first, without a time limit.
            opened.store.sweep(None).map_err(stop)?;
            let (before, after) = engine.compact().map_err(stop)?;
            console.line(&format!("{before} bytes before, {after} bytes now"));
            Exit::Done
        }
        // Answered above: they do not work on an opened store alone.
        StoreCommand::Save(_) | StoreCommand::Restore(_) => Exit::Done,
    };
    opened.close(exit)
}

/// Returns a finding for each record file whose records, keys and indexes do not agree.
fn differences(store: &Store) -> Result<Vec<Finding>, Stop> {
    let unit = store.begin().map_err(stop)?;
    let mut findings = Vec::new();
    for name in store.files(&unit).map_err(stop)? {
        let (texts, count) = store.file(&unit, &name).and_then(|file| file.verify(&unit, 1)).map_err(stop)?;
        if let Some(first) = texts.first() {
            let what = format!("{count} differences between records, keys and indexes, the first: {first}");
            findings.push(StoreError::Damaged { file: name, byte: 0, what }.finding());
        }
    }
    Ok(findings)
}

/// Reports that the requested item does not exist. The exit code lets scripts distinguish this from an error in the command.
fn not_there(finding: &Finding, console: &Console) -> Exit {
    console.findings(std::slice::from_ref(finding));
    Exit::NotThere
}

/// Names and numbers, a row each.
fn table(rows: &[(&str, u64)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

/// Converts an error of the store.
pub(crate) fn stop(error: StoreError) -> Stop {
    error.finding().into()
}

pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Stop {
    let why = system_error_text(error);
    Finding::error(CLI_INPUT, Fault::Environment, format!("{} cannot be used: {why}", shown(path)))
        .hint("check the path and its permissions")
        .into()
}

/// Returns true for `-`, which is standard input or output.
fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

fn read_whole(path: &Path) -> Result<Vec<u8>, Stop> {
    if is_standard(path) {
        let mut bytes = Vec::new();
        let read = std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes);
        return read.map(|_| bytes).map_err(|error| unreadable(Path::new("standard input"), &error));
    }
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

/// Bytes of hexadecimal digits.
pub(crate) fn from_hex(option: &str, digits: &str) -> Result<Vec<u8>, Stop> {
    quayline_core::from_hex(digits).ok_or_else(|| {
        let finding = argument(format!("{option} is not an even number of hexadecimal digits"));
        Stop::from(finding.hint("write two digits for each byte, such as C1F2"))
    })
}
