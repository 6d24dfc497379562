//! `quayline map`: proposes, checks, tests and formats maps.

mod propose;
mod test;

pub(crate) use propose::ENVELOPE;

use std::path::{Path, PathBuf};

use quayline_core::{Finding, Severity};
use quayline_project::{MapFile, ShapeOptions};

use crate::args::{MapArgs, MapCheckArgs, MapCommand};
use crate::cache::cache;
use crate::console::{Console, shown, write_stdout};
use crate::exit::{Exit, Stop};
use crate::fmt::{maps_of, read_map};
use crate::render::count_of;

/// Runs the subcommand.
pub(crate) fn run(args: &MapArgs, console: &Console) -> Result<Exit, Stop> {
    match &args.command {
        MapCommand::New(args) => propose::run(args, console),
        MapCommand::Check(args) => check(args, console),
        MapCommand::Test(args) => test::run(args, console),
        MapCommand::Fmt(args) => crate::fmt::run(args, console),
    }
}

/// Compiles each map and reports its findings.
fn check(args: &MapCheckArgs, console: &Console) -> Result<Exit, Stop> {
    let mut all: Vec<Finding> = Vec::new();
    let mut lines = String::new();
    for file in wanted(&args.files)? {
        let options = ShapeOptions { cache: cache(), ..ShapeOptions::default() };
        let (findings, line) = match MapFile::open(&file, &options, &options) {
            Ok(map) => (map.findings, None),
            Err(found) => (found.0, Some("it cannot run")),
        };
        console.findings(&findings);
        let count = |severity, what: &str| {
            let number = findings.iter().filter(|finding| finding.severity == severity).count();
            (number > 0).then(|| count_of(number as u64, what))
        };
        let counts =
            [count(Severity::Error, "error"), count(Severity::Warning, "warning"), count(Severity::Note, "note")];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let told = if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") };
        let end = line.map(|line| format!("; {line}")).unwrap_or_default();
        lines.push_str(&format!("{}: {told}{end}\n", shown(&file)));
        all.extend(findings);
    }
    if !console.json() {
        write_stdout(lines.as_bytes())?;
    }
    Ok(Exit::of_findings(&all))
}

/// Returns the selected maps; those in folders only if they name a source.
fn wanted(named: &[PathBuf]) -> Result<Vec<PathBuf>, Stop> {
    let mut files = maps_of(named)?;
    files.retain(|file| named.contains(file) || has_source(file));
    Ok(files)
}

/// Returns true if a map can run, as opposed to one that is only included.
pub(crate) fn has_source(file: &Path) -> bool {
    let text = read_map(file).unwrap_or_default();
    let spec = quayline_map::MapSpec::parse("", &text);
    !spec.is_sound() || spec.source().is_some() || !spec.targets().is_empty()
}
