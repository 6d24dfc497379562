//! `quayline store save` and `quayline store restore`.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{Fault, Finding};
use quayline_store::save::{Packing, SaveFacts, check, restore as store_anew, save as write_all};
use quayline_store::{Clock, Engine as _, StoreError, SystemClock};
use quayline_store_embedded::{EmbeddedEngine, Folder, Medium as _, Settings};
use quayline_store_postgres::PostgresEngine;

use super::exchange::{exchange, foreign, remove};
use super::{Missing, Opened, database, named, stop, unreadable};
use crate::args::{RestoreArgs, SaveArgs};
use crate::console::{Console, shown};
use crate::convert::with_suffix;
use crate::exit::{CLI_INPUT, Exit, Stop};

/// Saves the store: under a `.partial` name first, so that a file with the final name is always complete.
pub(super) fn save(args: &SaveArgs, console: &Console) -> Result<Exit, Stop> {
    let opened = Opened::open(&args.store, Missing::Refuse)?;
    let partial = with_suffix(&args.output, ".partial");
    let file = File::create(&partial).map_err(|error| unreadable(&partial, &error))?;
    let packing = if args.compress { Packing::Deflate } else { Packing::None };
    let mut output = BufWriter::with_capacity(1 << 20, file);
    let saved = write_all(opened.store.engine().as_ref(), &mut output, packing, &shown(&partial)).map_err(stop)?;
    let durable = output.flush().and_then(|()| output.get_ref().sync_all());
    durable.and_then(|()| fs::rename(&partial, &args.output)).map_err(|error| unreadable(&args.output, &error))?;
    console.line(&said("saved", &saved));
    opened.close(Exit::Done)
}

fn said(done: &str, facts: &SaveFacts) -> String {
    let SaveFacts { position, entries, bytes } = facts;
    format!("{entries} entries {done}, {bytes} bytes, position {position}")
}

fn read(path: &Path) -> Result<BufReader<File>, Stop> {
    Ok(BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| unreadable(path, &error))?))
}

/// Makes a store from a save. Everything is checked before anything is made, and made beside the folder before it takes its name.
pub(super) fn restore(args: &RestoreArgs, console: &Console) -> Result<Exit, Stop> {
    let name = shown(&args.input);
    let checked = check(&mut read(&args.input)?, &name).map_err(stop)?;
    if args.check {
        console.line(&said("intact", &checked));
        return Ok(Exit::Done);
    }
    if let Some(address) = args.store.address() {
        return restore_database(args, address, &name, console);
    }
    let folder = args.store.folder.as_path();
    let holds_store = folder.join("store.redb").exists();
    if holds_store && !args.replace {
        let finding = Finding::error(CLI_INPUT, Fault::Caller, format!("{} holds a store", shown(folder)));
        return Err(finding.hint("name another folder with --store, or add --replace").into());
    }
    // Of the folder of a store, such files stay. Another folder was named by mistake, more likely.
    let foreign = foreign(folder).map_err(|error| unreadable(folder, &error))?;
    if let (false, false, Some(name)) = (holds_store, args.replace, foreign.first()) {
        let message = format!("{} holds no store but other files, such as {}", shown(folder), name.display());
        let hint = "name an empty or new folder with --store, or add --replace to have a store beside these files";
        return Err(Finding::error(CLI_INPUT, Fault::Caller, message).hint(hint).into());
    }
    // Held until the folder has its new content: nobody may work in the old one meanwhile.
    let _lock = if folder.exists() {
        let lock = Folder::new(folder).lock().map_err(|error| unreadable(folder, &error))?;
        Some(lock.ok_or_else(|| stop(StoreError::InUse { folder: shown(folder) }))?)
    } else {
        None
    };
    let new = beside(folder, ".restoring");
    let made = make(&new, &args.input, &name);
    if made.is_err() {
        // What was made of it is of no use.
        let _ = fs::remove_dir_all(&new);
    }
    let restored = made?;
    exchange(folder, &new, &beside(folder, ".replaced")).map_err(|error| unreadable(folder, &error))?;
    console.line(&said("restored", &restored));
    Ok(Exit::Done)
}

/// Restores into a database that holds nothing. A restore that is cut short is repeated, so the database is emptied by hand and not here.
fn restore_database(args: &RestoreArgs, address: &str, name: &str, console: &Console) -> Result<Exit, Stop> {
    let engine = PostgresEngine::open(database(address)?).map_err(stop)?;
    let mut is_empty = true;
    let found = engine.snapshot().and_then(|snapshot| {
        snapshot.visit(&mut |_, _| {
            is_empty = false;
            // One entry is enough to know.
            Err(StoreError::ReadOnly)
        })
    });
    if is_empty {
        found.map_err(stop)?;
    } else {
        let finding = Finding::error(CLI_INPUT, Fault::Caller, format!("{} holds a store", named(&args.store)));
        let hint = "name an empty database; to empty this one, end all processes that use it and run `DROP SCHEMA quayline CASCADE`";
        return Err(finding.hint(hint).into());
    }
    let restored = store_anew(&engine, &mut read(&args.input)?, name).map_err(stop)?;
    console.line(&said("restored", &restored));
    Ok(Exit::Done)
}

/// The folder's path with more at its end, whatever slashes it ends with.
fn beside(folder: &Path, suffix: &str) -> PathBuf {
    with_suffix(&folder.components().collect::<PathBuf>(), suffix)
}

fn make(new: &Path, input: &Path, name: &str) -> Result<SaveFacts, Stop> {
    let failed = |error: std::io::Error| unreadable(new, &error);
    remove(new).map_err(failed)?;
    let medium = Folder::create(new).map_err(failed)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let engine = EmbeddedEngine::open(Arc::new(medium), &clock, Settings::default()).map_err(stop)?;
    let restored = store_anew(&engine, &mut read(input)?, name).map_err(stop)?;
    let damage = engine.check().map_err(stop)?;
    if let Some(what) = damage.into_iter().next() {
        return Err(stop(StoreError::Damaged { file: shown(new), byte: 0, what }));
    }
    engine.close().map_err(stop)?;
    Ok(restored)
}
