//! `quayline guide`: guide files made, checked and shown.

mod files;
mod tree;

use std::fs;
use std::path::Path;

use quayline_convert::write_whole;
use quayline_core::{Fault, Finding, Limits, Severity};
use quayline_dictionary::{import_all, json};
use quayline_edi::acknowledge::acknowledgment_guides;
use quayline_edi::guide::{BuiltInGuide, CompiledGuide, Guide, ItemKind, built_in_guides, write_guide};
use quayline_project::read_guides;
use serde::Serialize;

use crate::args::{CheckArgs, GuideArgs, GuideCommand, GuideListArgs, ImportArgs, LimitArg, ShowArgs};
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_OUTPUT, Exit, Stop, argument};
use crate::render::{Paint, count_of};

/// Runs the subcommand.
pub(crate) fn run(args: &GuideArgs, console: &Console) -> Result<Exit, Stop> {
    match &args.command {
        GuideCommand::List(args) => list(args, console),
        GuideCommand::Import(args) => import(args, console),
        GuideCommand::Check(args) => check(args, console),
        GuideCommand::Show(args) => show(args, console),
    }
}

/// Lists the guides in columns, one on each line.
fn list(args: &GuideListArgs, console: &Console) -> Result<Exit, Stop> {
    let guides = if args.paths.is_empty() {
        let mut guides = acknowledgment_guides();
        guides.extend(built_in_guides().iter().map(BuiltInGuide::read));
        guides
    } else {
        let set = read_guides(&args.paths, &Limits::default(), None)?;
        (0..set.len()).map(|number| set.guide(number).clone()).collect()
    };
    let wires: Vec<ListedWire<'_>> = guides.iter().map(ListedWire::of).collect();
    if console.json() {
        print_json(&ListWire { schema: "quayline.guide-list/1", guides: wires })?;
        return Ok(Exit::Done);
    }
    let width = |of: fn(&ListedWire<'_>) -> usize| wires.iter().map(of).max().unwrap_or(0);
    let (names, versions) = (width(|wire| wire.guide.len()), width(|wire| wire.version.len()));
    let mut text = String::new();
    for wire in &wires {
        let (name, version, title) = (wire.guide, wire.version, wire.title.unwrap_or(""));
        let line = format!("{name:names$}  {:7}  {:6}  {version:versions$}  {title}", wire.standard, wire.transaction);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    write_stdout(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Imports guides. All sources are read before anything is written, so that a fault leaves no partial folder. Each written guide is then
/// checked: JSON can hold a guide that contradicts itself, and its errors have lines in the written file.
fn import(args: &ImportArgs, console: &Console) -> Result<Exit, Stop> {
    let mut imported = import_all(&args.sources)?;
    console.findings(&imported.findings);
    if !args.only.is_empty() {
        let wanted = |guide: &Guide| args.only.iter().any(|only| *only == guide.name || *only == guide.transaction);
        for only in &args.only {
            if !imported.guides.iter().any(|guide| *only == guide.name || *only == guide.transaction) {
                let finding = argument(format!("--only {only}: none of the sources has such a guide"));
                return Err(finding.hint("name a guide (837-005010X222A1) or a transaction (837)").into());
            }
        }
        imported.guides.retain(wanted);
    }
    fs::create_dir_all(&args.output).map_err(|error| unwritable(&args.output, &error))?;
    let (mut written, mut errors) = (Vec::with_capacity(imported.guides.len()), Vec::new());
    for guide in &imported.guides {
        let path = args.output.join(format!("{}.guide", guide.name));
        write_whole(&path, write_guide(guide).as_bytes()).map_err(|error| error.findings())?;
        let (findings, _) = check_one(&path, &Limits::default());
        errors.extend(findings.into_iter().filter(|finding| finding.severity == Severity::Error));
        written.push(WrittenWire { file: shown(&path), guide: &guide.name, title: guide.title.as_deref() });
    }
    console.findings(&errors);
    if console.json() {
        print_json(&ImportWire { schema: "quayline.guide-import/1", guides: written })?;
    } else {
        let count = count_of(written.len() as u64, "guide");
        write_stdout(format!("{count} written to {}\n", shown(&args.output)).as_bytes())?;
    }
    Ok(Exit::of_findings(&errors))
}

fn check(args: &CheckArgs, console: &Console) -> Result<Exit, Stop> {
    let mut all: Vec<Finding> = Vec::new();
    let mut checked = Vec::with_capacity(args.files.len());
    for file in &args.files {
        let (findings, answer) = check_one(file, &LimitArg::limits(&args.limit));
        console.findings(&findings);
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        checked.push(CheckedWire { file: shown(file), errors, warnings: findings.len() - errors, ..answer });
        all.extend(findings);
    }
    if console.json() {
        print_json(&CheckWire { schema: "quayline.guide-check/1", files: checked })?;
    } else {
        let lines: String = checked.iter().map(|checked| checked.line() + "\n").collect();
        write_stdout(lines.as_bytes())?;
    }
    Ok(Exit::of_findings(&all))
}

/// Checks one file. Warnings and ambiguities are findings that refuse nothing.
fn check_one(file: &Path, limits: &Limits) -> (Vec<Finding>, CheckedWire) {
    let guide = match files::read(file, limits) {
        Ok(guide) => guide,
        Err(findings) => return (findings.0, CheckedWire::default()),
    };
    let named = |mut finding: Finding| {
        finding.place.file.get_or_insert_with(|| shown(file).into());
        finding
    };
    let compiled = match CompiledGuide::new(&guide) {
        Ok(compiled) => compiled,
        Err(findings) => return (findings.0.into_iter().map(named).collect(), CheckedWire::default()),
    };
    let ambiguities = compiled.ambiguities().len();
    let segments = compiled.items().iter().filter(|item| item.kind == ItemKind::Segment).count();
    let loops = compiled.items().len() - 1 - segments;
    // Ambiguities are among them.
    let findings = compiled.warnings().iter().cloned().map(named).collect();
    (findings, CheckedWire { segments, loops, ambiguities, ..CheckedWire::default() })
}

fn show(args: &ShowArgs, console: &Console) -> Result<Exit, Stop> {
    let guide = files::read(&args.file, &LimitArg::limits(&args.limit))?;
    if console.json() {
        write_stdout(json::write_guide(&guide).as_bytes())?;
    } else {
        let detail = if args.elements { tree::Detail::Elements } else { tree::Detail::Segments };
        write_stdout(tree::tree(&guide, detail, Paint::new(console.color_stdout())).as_bytes())?;
    }
    Ok(Exit::Done)
}

/// List of guides, `quayline.guide-list/1` in docs/reference/json.md.
#[derive(Serialize)]
struct ListWire<'a> {
    schema: &'static str,
    guides: Vec<ListedWire<'a>>,
}

#[derive(Serialize)]
struct ListedWire<'a> {
    guide: &'a str,
    standard: &'static str,
    transaction: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
}

impl<'a> ListedWire<'a> {
    fn of(guide: &'a Guide) -> Self {
        ListedWire {
            guide: &guide.name,
            standard: guide.standard.name(),
            transaction: &guide.transaction,
            version: &guide.version,
            group: guide.functional_group.as_deref(),
            title: guide.title.as_deref(),
            source: guide.source.as_deref(),
        }
    }
}

/// Imported guides, `quayline.guide-import/1` in docs/reference/json.md.
#[derive(Serialize)]
struct ImportWire<'a> {
    schema: &'static str,
    guides: Vec<WrittenWire<'a>>,
}

#[derive(Serialize)]
struct WrittenWire<'a> {
    file: String,
    guide: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
}

/// Checked guides, `quayline.guide-check/1` in docs/reference/json.md.
#[derive(Serialize)]
struct CheckWire {
    schema: &'static str,
    files: Vec<CheckedWire>,
}

#[derive(Default, Serialize)]
struct CheckedWire {
    file: String,
    segments: usize,
    loops: usize,
    errors: usize,
    warnings: usize,
    ambiguities: usize,
}

impl CheckedWire {
    fn line(&self) -> String {
        let count = |number: usize, what: &str| count_of(number as u64, what);
        if self.errors > 0 {
            return format!("{}: {}", self.file, count(self.errors, "error"));
        }
        let places = match self.ambiguities {
            0 => "every place can be distinguished from the others".to_owned(),
            number => format!("{} cannot be distinguished from another", count(number, "place")),
        };
        let (segments, loops) = (count(self.segments, "segment"), count(self.loops, "loop"));
        format!("{}: {segments} in {loops}, {places}", self.file)
    }
}

fn print_json(answer: &impl Serialize) -> Result<(), Stop> {
    let mut text = serde_json::to_string_pretty(answer).expect("an answer has string keys and plain values");
    text.push('\n');
    write_stdout(text.as_bytes())?;
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> Stop {
    let message = format!("{} cannot be written: {}", shown(path), quayline_core::system_error_text(error));
    Finding::error(CLI_OUTPUT, Fault::Environment, message).hint("name another folder with `-o`").into()
}
