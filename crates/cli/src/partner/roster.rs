//! `quayline partner add`, `import`, `export`, `remove` and `changes`, and the same over HTTP.

use std::io;
use std::path::{Path, PathBuf};

use quayline_core::Findings;
use quayline_partner::{Existing, Expected, Kept, Roster, RosterChange, RosterLine};
use quayline_project::ShapeOptions;
use quayline_project::partner::is_stored;
use quayline_store::Store;
use serde_json::{Value, json};

use super::{now_ms, open_store, to_read};
use crate::args::{PartnerAddArgs, PartnerChangesArgs, PartnerExportArgs, PartnerRemoveArgs, ProjectArgs};
use crate::cache::cache;
use crate::console::{Console, write_stdout};
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop, argument};
use crate::store::Missing;

/// Returns the partners of a project, to change and to export.
pub(super) fn roster<'r>(project: &'r Path, store: Option<&'r Store>) -> Roster<'r> {
    Roster { project, store, options: ShapeOptions { cache: cache(), ..ShapeOptions::default() } }
}

/// Runs work with the partners of a project. `missing` says what happens without a store if the work needs one.
fn with_roster<T>(
    project: &ProjectArgs,
    missing: Option<Missing>,
    console: &Console,
    work: impl FnOnce(&Roster<'_>) -> Result<T, Findings>,
) -> Result<T, Stop> {
    let opened = match missing {
        Some(missing) => Some(open_store(project, missing)?),
        None => to_read(&super::folder(project), console)?,
    };
    let done = work(&roster(&project.project, opened.as_ref().map(|opened| &opened.store)));
    opened.map_or(Ok(Exit::Done), |opened| opened.close(Exit::Done))?;
    Ok(done?)
}

/// Formats the effects of a change as JSON.
pub(super) fn lines_json(lines: &[RosterLine]) -> Value {
    let one = |line: &RosterLine| json!({ "partner": line.name, "change": line.what, "version": line.version });
    json!({ "changes": lines.iter().map(one).collect::<Vec<_>>() })
}

pub(super) fn add(
    args: &PartnerAddArgs,
    existing: Existing,
    if_version: Option<&str>,
    console: &Console,
) -> Result<Exit, Stop> {
    let mut put: Vec<(PathBuf, String)> = Vec::new();
    for path in &args.files {
        let is_stdin = path == Path::new("-");
        let text = if is_stdin { io::read_to_string(io::stdin()) } else { std::fs::read_to_string(path) };
        put.push((path.clone(), text.map_err(|error| unreadable(path, &error))?));
    }
    let (kept, expected) = (kept(args.in_store), expected(if_version));
    let change = RosterChange { put, remove: Vec::new(), existing, kept, expected, by: BY };
    let missing = args.in_store.then_some(Missing::Create);
    report(&with_roster(&args.project, missing, console, |roster| roster.change(&change, now_ms()))?, console);
    Ok(Exit::Done)
}

pub(super) fn remove(args: &PartnerRemoveArgs, console: &Console) -> Result<Exit, Stop> {
    let (kept, expected) = (kept(args.in_store), expected(args.if_version.as_deref()));
    let (put, remove, existing) = (Vec::new(), args.names.clone(), Existing::Refused);
    let change = RosterChange { put, remove, existing, kept, expected, by: BY };
    let missing = args.in_store.then_some(Missing::Refuse);
    report(&with_roster(&args.project, missing, console, |roster| roster.change(&change, now_ms()))?, console);
    Ok(Exit::Done)
}

pub(super) fn export(args: &PartnerExportArgs, console: &Console) -> Result<Exit, Stop> {
    let missing = args.in_store.then_some(Missing::RefuseToRead);
    if args.toml {
        let [name] = args.names.as_slice() else {
            return Err(argument("--toml prints the file of one partner")
                .hint("name one partner, or leave --toml out")
                .into());
        };
        let one = with_roster(&args.project, missing, console, |roster| roster.text(name, kept(args.in_store)))?;
        write_stdout(one.text.as_bytes())?;
        return Ok(Exit::Done);
    }
    let all = with_roster(&args.project, missing, console, |roster| roster.export(&args.names, kept(args.in_store)))?;
    write_stdout(format!("{all:#}\n").as_bytes())?;
    Ok(Exit::Done)
}

pub(super) fn changes(args: &PartnerChangesArgs, console: &Console) -> Result<Exit, Stop> {
    for line in with_roster(&args.project, None, console, |roster| roster.changes(args.count))? {
        write_stdout(format!("{line}\n").as_bytes())?;
    }
    Ok(Exit::Done)
}

fn kept(in_store: bool) -> Option<Kept> {
    in_store.then_some(Kept::Store)
}

fn expected(version: Option<&str>) -> Expected {
    version.map_or(Expected::Anything, |version| Expected::OneOf(vec![version.to_owned()]))
}

fn report(lines: &[RosterLine], console: &Console) {
    for line in lines {
        let place = if is_stored(&line.path) { " in the store" } else { "" };
        console.line(&format!("{} {}{place}", line.name, line.what));
    }
}

/// Author of changes by command, in the record of changes.
const BY: &str = "command";
