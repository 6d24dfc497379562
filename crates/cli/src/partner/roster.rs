//! `quayline partner add`, `import`, `export` and `remove`, and the same over HTTP.

use std::io;
use std::path::{Path, PathBuf};

use quayline_core::Findings;
use quayline_partner::{Existing, RosterChange, RosterLine, change_partners, export_partners, partner_text};
use quayline_project::ShapeOptions;
use serde_json::{Value, json};

use super::now_ms;
use crate::args::{PartnerAddArgs, PartnerExportArgs, PartnerRemoveArgs};
use crate::cache::cache;
use crate::console::{Console, write_stdout};
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop, argument};

/// Changes the partners of a project.
pub(super) fn change(project: &Path, change: &RosterChange<'_>) -> Result<Vec<RosterLine>, Findings> {
    let options = ShapeOptions { cache: cache(), ..ShapeOptions::default() };
    change_partners(project, options, change, now_ms())
}

/// Formats the effects of a change as JSON.
pub(super) fn lines_json(lines: &[RosterLine]) -> Value {
    let one = |line: &RosterLine| json!({ "partner": line.name, "change": line.what });
    json!({ "changes": lines.iter().map(one).collect::<Vec<_>>() })
}

pub(super) fn add(args: &PartnerAddArgs, existing: Existing, console: &Console) -> Result<Exit, Stop> {
    let mut put: Vec<(PathBuf, String)> = Vec::new();
    for path in &args.files {
        let is_stdin = path == Path::new("-");
        let text = if is_stdin { io::read_to_string(io::stdin()) } else { std::fs::read_to_string(path) };
        put.push((path.clone(), text.map_err(|error| unreadable(path, &error))?));
    }
    let lines = change(&args.project.project, &RosterChange { put, remove: Vec::new(), existing, by: BY })?;
    report(&lines, console);
    Ok(Exit::Done)
}

pub(super) fn remove(args: &PartnerRemoveArgs, console: &Console) -> Result<Exit, Stop> {
    let remove = args.names.clone();
    let request = RosterChange { put: Vec::new(), remove, existing: Existing::Refused, by: BY };
    let lines = change(&args.project.project, &request)?;
    report(&lines, console);
    Ok(Exit::Done)
}

pub(super) fn export(args: &PartnerExportArgs) -> Result<Exit, Stop> {
    let project = &args.project.project;
    if args.toml {
        let [name] = args.names.as_slice() else {
            return Err(argument("--toml prints the file of one partner")
                .hint("name one partner, or leave --toml out")
                .into());
        };
        write_stdout(partner_text(project, name)?.as_bytes())?;
        return Ok(Exit::Done);
    }
    let all = export_partners(project, &args.names)?;
    write_stdout(format!("{all:#}\n").as_bytes())?;
    Ok(Exit::Done)
}

fn report(lines: &[RosterLine], console: &Console) {
    for line in lines {
        console.line(&format!("{} {}", line.name, line.what));
    }
}

/// Author of changes by command, in the record of changes.
const BY: &str = "command";
