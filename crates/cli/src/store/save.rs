//! `quayline store save` and `quayline store restore`.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use quayline_convert::{partial_path, write_complete};
use quayline_core::{Fault, Finding, Severity};
use quayline_server::StoreSaver;
use quayline_store::save::{Packing, PartsSaved, SaveFacts, SaveOptions, save as write_all};
use quayline_store::{EVERY_ENTRY, Engine, FullKey, Space, Store, StoreError};
use quayline_store_embedded::{
    Folder, Medium as _, SaveSource, exchange_stores, foreign_files, restoring_folder, save_to_folder,
};
use quayline_store_postgres::PostgresEngine;

use super::{Missing, Opened, database, named, stop, unreadable};
use crate::args::{FolderArg, RestoreArgs, SaveArgs};
use crate::console::{Console, shown};
use crate::exit::{CLI_INPUT, Exit, Stop};
use crate::input::with_suffix;

/// Saves the store: under a `.partial` name first, which is locked, so that a file with the final name is always complete and from one process.
pub(super) fn save(args: &SaveArgs, console: &Console) -> Result<Exit, Stop> {
    let opened = Opened::open(&args.store, Missing::RefuseToRead)?;
    let packing = if args.compress { Packing::Deflate } else { Packing::None };
    let threads = args.jobs.map_or_else(processors, usize::from);
    let part_bytes = u64::from(args.part_size) << 20;
    let options = SaveOptions { packing, threads, part_bytes, ..SaveOptions::default() };
    let exit = if args.parts {
        save_folder(args, opened.store.engine().as_ref(), options, console)?
    } else {
        save_file(args, opened.store.engine().as_ref(), options, console)?
    };
    opened.close(exit)
}

/// Refuses `-`, which other commands take for standard input and output. A save is synced under its name, and a restore reads its input twice.
fn refuse_dash(path: &Path, command: &str) -> Result<(), Stop> {
    if path != Path::new("-") {
        return Ok(());
    }
    let message = format!("{command} needs a file, and `-` is standard input and output in other commands");
    let finding = Finding::error(CLI_INPUT, Fault::Caller, message);
    Err(finding.hint("name a file; for a file of this name write ./-").into())
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn save_file(args: &SaveArgs, engine: &dyn Engine, options: SaveOptions, console: &Console) -> Result<Exit, Stop> {
    if args.output.is_dir() {
        let finding = Finding::error(CLI_INPUT, Fault::Caller, format!("{} is a folder", shown(&args.output)));
        return Err(finding.hint("name a file, or add --parts to save to a folder").into());
    }
    refuse_dash(&args.output, "store save")?;
    let partial = shown(&partial_path(&args.output));
    // A save has everything that the data folder has, which only its owner may read.
    rustix::process::umask(rustix::fs::Mode::from_bits_truncate(0o077));
    let saved = write_complete(&args.output, |to| {
        let mut to = BufWriter::with_capacity(1 << 20, to);
        let saved = write_all(engine, &mut to, options, &partial).map_err(stop)?;
        to.flush().map_err(|error| unreadable(&args.output, &error))?;
        Ok::<_, Stop>(saved)
    })?;
    console.line(&said("saved", &saved));
    Ok(Exit::Done)
}

/// Saves to a folder of parts, or continues there.
fn save_folder(args: &SaveArgs, engine: &dyn Engine, options: SaveOptions, console: &Console) -> Result<Exit, Stop> {
    let failed = |error: std::io::Error| unreadable(&args.output, &error);
    let stopped = crate::interrupt::stop_flag().map_err(failed)?;
    Folder::create(&args.output).map_err(failed)?;
    let saved = save_to_folder(&args.output, engine, options, &|| stopped.load(Ordering::Relaxed)).map_err(stop)?;
    let warning = |error: &StoreError| {
        let finding = error.finding();
        Finding { severity: Severity::Warning, ..finding }
            .hint("the command wrote the damaged part again: nothing is lost")
    };
    console.findings(&saved.damaged.iter().map(warning).collect::<Vec<_>>());
    let before = saved.kept + saved.changed + saved.damaged.len();
    if before > 0 {
        let PartsSaved { kept, changed, damaged, .. } = &saved;
        let text = format!("{kept} parts of the earlier run kept, {changed} changed, {} damaged", damaged.len());
        console.line(&text);
    }
    if !saved.is_complete {
        console.line("the save is not complete; run the same command again to continue it");
        return Ok(Exit::Resumable);
    }
    console.line(&said("saved", &saved.facts));
    Ok(Exit::Done)
}

/// Returns a function that saves an open store for operators: to parts in a folder beside the store.
pub(crate) fn saver(folder: &FolderArg, store: &Store) -> StoreSaver {
    let (to, store) = (beside(folder.local(), ".saves"), store.clone());
    Arc::new(move |name, packing| {
        // One thread, to limit the effect on the server.
        let options = SaveOptions { packing, ..SaveOptions::default() };
        save_to_folder(&to.join(name), store.engine().as_ref(), options, &|| false)
    })
}

fn said(done: &str, facts: &SaveFacts) -> String {
    let SaveFacts { position, entries, bytes } = facts;
    let entries = if *entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
    format!("{entries} {done}, {bytes} bytes, position {position}")
}

/// Creates a store from a save. Everything is checked first, and created under a temporary name that is then renamed to the folder.
pub(super) fn restore(args: &RestoreArgs, console: &Console) -> Result<Exit, Stop> {
    refuse_dash(&args.input, "store restore")?;
    fs::metadata(&args.input).map_err(|error| unreadable(&args.input, &error))?;
    let input = SaveSource::new(&args.input);
    let checked = match input.check(processors()) {
        Ok(checked) => checked,
        Err(damaged) => {
            let findings: Vec<Finding> = damaged.iter().map(StoreError::finding).collect();
            console.findings(&findings);
            return Ok(Exit::of_findings(&findings));
        }
    };
    if args.check {
        console.line(&said("intact", &checked));
        return Ok(Exit::Done);
    }
    if let Some(address) = args.store.address() {
        return restore_database(args, &input, address, console);
    }
    super::refuse_unknown_address(&args.store)?;
    let folder = args.store.folder.as_path();
    super::recover(folder)?;
    check_destination(args)?;
    // The lock is held until the folder has its new content. A folder that is missing is created for it: otherwise a process that starts during the
    // restore would create a store there, and the restore would remove it.
    let locked = |folder: &Path| {
        let lock =
            Folder::create(folder).and_then(|opened| opened.lock()).map_err(|error| unreadable(folder, &error))?;
        lock.ok_or_else(|| stop(StoreError::InUse { folder: shown(folder) }))
    };
    let _lock = locked(folder)?;
    // Another process may have created a store before it released the lock.
    check_destination(args)?;
    let restoring = restoring_folder(folder);
    let restored = input.make_store(&restoring).map_err(stop)?;
    // The new store has its name before the exchange ends.
    let _new_lock = locked(&restoring)?;
    exchange_stores(folder).map_err(|error| unreadable(folder, &error))?;
    console.line(&said("restored", &restored));
    Ok(Exit::Done)
}

/// Refuses a folder with a store or with other files, except with `--replace`.
fn check_destination(args: &RestoreArgs) -> Result<(), Stop> {
    let folder = args.store.folder.as_path();
    if args.replace {
        return Ok(());
    }
    if folder.join("store.redb").exists() {
        let finding = Finding::error(CLI_INPUT, Fault::Caller, format!("{} holds a store", shown(folder)));
        return Err(finding.hint("name another folder with --store, or add --replace").into());
    }
    // In the folder of a store, other files are kept. A folder with other files and without a store was probably named by mistake.
    let foreign = foreign_files(folder).map_err(|error| unreadable(folder, &error))?;
    if let Some(name) = foreign.first() {
        let message = format!("{} holds no store but other files, such as {}", shown(folder), name.display());
        let hint = "name an empty or new folder with --store, or add --replace to have a store beside these files";
        return Err(Finding::error(CLI_INPUT, Fault::Caller, message).hint(hint).into());
    }
    Ok(())
}

/// Restores into an empty database, or repeats a restore that did not end. Other processes cannot open the database meanwhile, nor after a restore that
/// did not end.
fn restore_database(args: &RestoreArgs, input: &SaveSource, address: &str, console: &Console) -> Result<Exit, Stop> {
    let engine = PostgresEngine::open_to_restore(database(address)?).map_err(stop)?;
    let mut is_empty = true;
    // Opening a store writes its identity and its stamps. A database that was only read has nothing else.
    let of_opening = FullKey::new(Space::CATALOG, b"store/");
    let found = engine.snapshot().and_then(|snapshot| {
        snapshot.visit(EVERY_ENTRY, &mut |key, _| {
            if key.starts_with(of_opening.bytes()) {
                return Ok(());
            }
            is_empty = false;
            // One entry is enough to know.
            Err(StoreError::ReadOnly)
        })
    });
    if is_empty {
        found.map_err(stop)?;
    } else if !engine.is_restoring().map_err(stop)? {
        let finding = Finding::error(CLI_INPUT, Fault::Caller, format!("{} holds a store", named(&args.store)));
        let hint = "name an empty database; to empty this one, end all processes that use it and run `DROP SCHEMA quayline CASCADE`";
        return Err(finding.hint(hint).into());
    }
    engine.begin_restore().map_err(stop)?;
    let restored = input.store(&engine).map_err(stop)?;
    engine.end_restore().map_err(stop)?;
    console.line(&said("restored", &restored));
    Ok(Exit::Done)
}

/// Appends a suffix to the folder's path without trailing slashes.
fn beside(folder: &Path, suffix: &str) -> PathBuf {
    with_suffix(&folder.components().collect::<PathBuf>(), suffix)
}
