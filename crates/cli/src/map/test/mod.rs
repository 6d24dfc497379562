//! `quayline map test`: the golden cases of maps.

mod case;
mod compare;
mod flatten;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use quayline_convert::write_whole;
use quayline_core::{Fault, Finding, system_error_text};
use quayline_map::Coverage;
use quayline_project::{Form, MapFile, ShapeOptions};

use super::{ENVELOPE, has_source};
use crate::args::{Cli, Command, TestArgs};
use crate::cache::cache;
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_INPUT, CLI_TEST, Exit, Stop, argument};
use crate::fmt::maps_of;
use crate::render::{Paint, diff, finding_text};
use crate::translate;

use case::{Case, cases_of, folder_of, without_map};
use compare::{Reading, as_json, difference, reading};
use report::{CaseReport, MapReport};

/// Runs the cases of every map that is meant.
pub(crate) fn run(args: &TestArgs, console: &Console) -> Result<Exit, Stop> {
    let mut reports: Vec<MapReport> = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    let maps = wanted(args)?;
    if args.maps.iter().any(|named| named.is_dir()) {
        findings.extend(without_map(&maps));
        console.findings(&findings);
    }
    for path in maps {
        match test_map(&path, args, console) {
            Ok(report) => {
                if !console.json() {
                    write_stdout(report.text(args, Paint::new(console.color_stdout())).as_bytes())?;
                }
                reports.push(report);
            }
            Err(Stop::Findings(found)) => {
                console.findings(&found.0);
                findings.extend(found.0);
            }
            Err(closed) => return Err(closed),
        }
    }
    if !findings.is_empty() {
        return Ok(Exit::of_findings(&findings));
    }
    if reports.iter().all(|report| report.cases.is_empty()) {
        if let Some(text) = &args.case {
            let finding = argument(format!("no case has `{text}` in its name"));
            return Err(finding.hint("`quayline map test` without --case lists the cases").into());
        }
        let place = reports.first().map_or_else(|| "maps/tests/NAME".to_owned(), |report| shown(&report.tests));
        return Err(argument("there is no case to run")
            .hint(format!(
                "make one: a folder in {place} with the documents to translate as input.*, then run --update"
            ))
            .into());
    }
    if console.json() {
        write_stdout(report::json(&reports).as_bytes())?;
    } else if reports.len() > 1 {
        write_stdout(report::total(&reports).as_bytes())?;
    }
    let failed = reports.iter().flat_map(|report| &report.cases).any(|case| !case.failures.is_empty());
    Ok(if failed { Exit::Rejected } else { Exit::Done })
}

/// Returns the selected maps; those in folders, including tests, only if they name a source.
fn wanted(args: &TestArgs) -> Result<Vec<PathBuf>, Stop> {
    let mut maps = maps_of(&args.maps)?;
    maps.retain(|map| args.maps.contains(map) || has_source(map));
    Ok(maps)
}

fn test_map(path: &Path, args: &TestArgs, console: &Console) -> Result<MapReport, Stop> {
    let options = ShapeOptions { cache: cache(), ..ShapeOptions::default() };
    let map = MapFile::open(path, &options, &options)?;
    let mut cases = cases_of(&map)?;
    if let Some(wanted) = &args.case {
        cases.retain(|case| case.name.contains(wanted));
    }
    let coverage = Arc::new(Mutex::new(Coverage::default()));
    let scratch = Scratch::new()?;
    let mut reports = Vec::with_capacity(cases.len());
    for case in &cases {
        let run = Run { map: &map, case, args, scratch: &scratch.folder, coverage: &coverage, console };
        reports.push(run.report()?);
    }
    let coverage = coverage.lock().unwrap_or_else(PoisonError::into_inner);
    // Envelope values depend on the run.
    let aside = if matches!(map.source.form(), Form::Guide(_)) { ENVELOPE } else { &[] };
    Ok(MapReport::new(path, folder_of(path), reports, &map.plan, &coverage, aside))
}

/// A folder for output, which is removed when the map is done.
struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    fn new() -> Result<Scratch, Stop> {
        let base = std::env::temp_dir();
        for number in 0..1000 {
            let folder = base.join(format!("quayline-test-{}-{number}", std::process::id()));
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(Scratch { folder }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(unwritable(&folder, &error)),
            }
        }
        Err(argument(format!("{} is full of folders of other tests", shown(&base)))
            .hint("remove quayline-test-*")
            .into())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The current case.
struct Run<'r> {
    map: &'r MapFile,
    case: &'r Case,
    args: &'r TestArgs,
    scratch: &'r Path,
    coverage: &'r Arc<Mutex<Coverage>>,
    console: &'r Console,
}

impl Run<'_> {
    fn report(&self) -> Result<CaseReport, Stop> {
        let case = self.case;
        let folder = self.scratch.join(&case.name);
        fs::create_dir(&folder).map_err(|error| unwritable(&folder, &error))?;
        let outputs: Vec<PathBuf> =
            (0..self.map.targets.len()).map(|number| folder.join(self.output_name(number))).collect();
        let mut arguments = case.arguments(self.map);
        for (target, output) in self.map.targets.iter().zip(&outputs) {
            arguments.extend(["--output".to_owned(), format!("{}={}", target.name, output.display())]);
        }
        let rejects = folder.join("rejects");
        arguments.extend(["--rejects".to_owned(), rejects.display().to_string()]);
        let acknowledgment = matches!(self.map.source.form(), Form::Guide(_)).then(|| folder.join("acknowledgment"));
        if let Some(path) = acknowledgment.as_ref().filter(|_| case.acknowledgment.is_some()) {
            arguments.extend(["--ack", "auto", "--ack-output"].map(str::to_owned));
            arguments.push(path.display().to_string());
        }
        let findings = self.translate(arguments)?;
        let mut failures = Vec::new();
        for (number, output) in outputs.iter().enumerate() {
            failures.extend(self.output(number, output)?);
        }
        if let (Some(expected), Some(found)) = (&case.acknowledgment, &acknowledgment) {
            let found = read(found)?;
            let told = difference(&read(expected)?, &found, || None, self.paint());
            failures.extend(self.settle(expected, &found, told)?);
        }
        failures.extend(self.findings(&findings)?);
        Ok(CaseReport { name: case.name.clone(), failures })
    }

    /// Runs the translation; the findings as text, with the names of the case instead of paths.
    fn translate(&self, arguments: Vec<String>) -> Result<String, Stop> {
        let arguments: Vec<std::ffi::OsString> = arguments.into_iter().map(Into::into).collect();
        let cli = Cli::of(&arguments).map_err(|error| {
            let message = error.to_string();
            let message = message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Finding::error(CLI_TEST, Fault::Config, format!("{}/case.toml: {message}", shown(&self.case.folder)))
        })?;
        let Command::Translate(args) = cli.command else { return Ok(String::new()) };
        let listening = Console::collecting();
        match translate::run_covered(&args, &listening, self.coverage) {
            Ok(_) => {}
            Err(Stop::Findings(found)) => listening.findings(&found.0),
            Err(closed) => return Err(closed),
        }
        let mut findings = listening.collected();
        // `quayline map check` reports warnings about the map itself.
        findings.retain(|finding| !self.map.findings.contains(finding));
        let texts: Vec<String> =
            findings.iter().map(|finding| finding_text(finding, false).trim_end().to_owned()).collect();
        let mut text = texts.join("\n\n");
        for path in [&self.case.input, &self.map.path] {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            text = text.replace(&shown(path), &name);
        }
        text = text.replace(&format!("{}/", self.scratch.join(&self.case.name).display()), "");
        Ok(if text.is_empty() { text } else { text + "\n" })
    }

    /// Returns the output name of a target. Its extension determines the format, so it is that of the expected file if that has one.
    fn output_name(&self, number: usize) -> String {
        let form = self.map.targets[number].shape.form();
        let expected = self.case.expected.get(number).and_then(Option::as_deref);
        let given = expected
            .filter(|expected| reading(expected, form) == Reading::AsIs)
            .and_then(Path::extension)
            .map(|extension| extension.to_string_lossy().into_owned());
        let extension = given.unwrap_or_else(|| extension_of(form).to_owned());
        format!("output-{number}.{extension}")
    }

    fn output(&self, number: usize, output: &Path) -> Result<Option<String>, Stop> {
        let target = &self.map.targets[number];
        let shape = &target.shape;
        let scratch = |name: &str| self.scratch.join(&self.case.name).join(name);
        // A run that was stopped has no output.
        let found = if output.exists() { read(output)? } else { Vec::new() };
        let Some(expected) = self.case.expected.get(number).and_then(Option::as_deref) else {
            let name = match self.map.targets.len() {
                1 => format!("expected.{}", extension_of(shape.form())),
                _ => format!("expected.{}.{}", target.name, extension_of(shape.form())),
            };
            let path = self.case.folder.join(&name);
            return self.settle(&path, &found, format!("there is no file {name} yet\n"));
        };
        let wanted = read(expected)?;
        match reading(expected, shape.form()) {
            Reading::AsJson => {
                let found = as_json(output, shape, &scratch("found.jsonl")).unwrap_or_default();
                let told = difference(&wanted, found.as_bytes(), || None, self.paint());
                self.settle(expected, found.as_bytes(), told)
            }
            Reading::AsIs => {
                let both = || {
                    let one = as_json(expected, shape, &scratch("expected.jsonl"))?;
                    Some((one, as_json(output, shape, &scratch("found.jsonl"))?))
                };
                let told = difference(&wanted, &found, both, self.paint());
                self.settle(expected, &found, told)
            }
        }
    }

    fn findings(&self, findings: &str) -> Result<Option<String>, Stop> {
        let file = self.case.findings_file();
        let expected = if file.exists() { String::from_utf8(read(&file)?).unwrap_or_default() } else { String::new() };
        if expected == findings {
            return Ok(None);
        }
        if self.args.update && findings.is_empty() {
            fs::remove_file(&file).map_err(|error| unwritable(&file, &error))?;
            return Ok(None);
        }
        let told = if expected.is_empty() {
            format!("findings came, and none is expected\n\n{findings}")
        } else {
            diff(&expected, findings, self.paint())
        };
        self.settle(&file, findings.as_bytes(), told)
    }

    /// Returns a difference or, with `--update`, replaces the expected output.
    fn settle(&self, expected: &Path, found: &[u8], told: String) -> Result<Option<String>, Stop> {
        if told.is_empty() {
            return Ok(None);
        }
        if self.args.update {
            write_whole(expected, found).map_err(|error| error.findings())?;
            return Ok(None);
        }
        let name = expected.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let indented: String = told.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect();
        Ok(Some(format!("  {name}\n{indented}")))
    }

    fn paint(&self) -> Paint {
        Paint::new(self.console.color_stdout())
    }
}

/// Returns the extension for files of a form.
fn extension_of(form: &Form) -> &'static str {
    match form {
        Form::Guide(_) => "edi",
        Form::Records { .. } => "dat",
        Form::Json { array: true } => "json",
        Form::Xml(_) => "xml",
        Form::Csv(_) => "csv",
        Form::Parquet => "parquet",
        Form::Arrow => "arrow",
        _ => "jsonl",
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Stop> {
    fs::read(path).map_err(|error| {
        let message = format!("{} cannot be read: {}", shown(path), system_error_text(&error));
        Finding::error(CLI_INPUT, Fault::Environment, message).into()
    })
}

fn unwritable(path: &Path, error: &std::io::Error) -> Stop {
    let message = format!("{} cannot be written: {}", shown(path), system_error_text(error));
    Finding::error(CLI_INPUT, Fault::Environment, message).into()
}
