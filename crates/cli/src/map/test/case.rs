//! Test cases of maps: each is a folder with an input and the expected output.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use quayline_project::MapFile;
use serde::Deserialize;

use crate::console::shown;
use crate::exit::{CLI_INPUT, CLI_TEST};

/// Content of one folder.
pub(super) struct Case {
    /// Name of its folder.
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) input: PathBuf,
    /// Expected file of each target; `None` if it does not exist yet.
    pub(super) expected: Vec<Option<PathBuf>>,
    pub(super) acknowledgment: Option<PathBuf>,
    pub(super) settings: Settings,
}

/// `case.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Settings {
    pub(super) now: Option<String>,
    pub(super) sender: Option<String>,
    pub(super) receiver: Option<String>,
    pub(super) control_number: Option<String>,
    #[serde(default)]
    pub(super) envelope: BTreeMap<String, String>,
    /// Lookup files, relative to the case.
    #[serde(default)]
    pub(super) lookup: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) function: BTreeMap<String, String>,
    /// Format by target; the only target may be called `to` alone.
    pub(super) to: Option<To>,
    pub(super) from: Option<String>,
    pub(super) numbers: Option<String>,
    pub(super) level: Option<String>,
    pub(super) output_level: Option<String>,
    pub(super) unknown: Option<String>,
    #[serde(default)]
    pub(super) strict: bool,
    pub(super) from_encoding: Option<String>,
    pub(super) to_encoding: Option<String>,
    pub(super) from_framing: Option<String>,
    pub(super) to_framing: Option<String>,
}

/// One format, or one for each target.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a format, or a format for each target")]
pub(super) enum To {
    One(String),
    Each(BTreeMap<String, String>),
}

/// Default clock of a case.
const NOW: &str = "2026-01-01T12:00:00";

/// Returns the folder of a map's cases.
pub(super) fn folder_of(map: &Path) -> PathBuf {
    map.with_file_name("tests").join(map.file_stem().unwrap_or_default())
}

/// Finds folders of cases in `tests` beside these maps that belong to no map: that of a map with another name, for instance.
pub(super) fn without_map(maps: &[PathBuf]) -> Vec<Finding> {
    let folders: BTreeSet<PathBuf> = maps.iter().map(|map| map.with_file_name("tests")).collect();
    let mut findings = Vec::new();
    for folder in folders {
        let entries = match fs::read_dir(&folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                findings.push(unreadable(&folder, &error));
                continue;
            }
        };
        let mut cases: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()).collect();
        cases.sort();
        for cases in cases {
            let name = cases.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let map = folder.with_file_name(format!("{name}.qmap"));
            if !name.starts_with('.') && !map.is_file() {
                let message = format!("its cases do not run, because {} does not exist", shown(&map));
                findings.push(*wrong(&cases, message, "give the folder the name of its map, or remove it"));
            }
        }
    }
    findings
}

/// Reads all cases of a map, by name.
///
/// # Errors
/// Unreadable files, and folders that are not cases.
pub(super) fn cases_of(map: &MapFile) -> Result<Vec<Case>, Findings> {
    let folder = folder_of(&map.path);
    let mut cases = Vec::new();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>().map_err(|error| unreadable(&folder, &error))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(cases),
        Err(error) => return Err(unreadable(&folder, &error).into()),
    };
    let mut folders: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    folders.sort();
    let mut findings = Vec::new();
    folders.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !path.is_dir() && !name.starts_with('.') && !name.to_ascii_uppercase().starts_with("README") {
            let message = format!("{name} is not in a case");
            findings.push(*wrong(&folder, message, "each folder here is a case; move the file into one"));
        }
        path.is_dir()
    });
    for folder in folders {
        match Case::read(&folder, map) {
            Ok(case) => cases.push(case),
            Err(finding) => findings.push(*finding),
        }
    }
    if findings.is_empty() { Ok(cases) } else { Err(Findings(findings)) }
}

impl Case {
    fn read(folder: &Path, map: &MapFile) -> Result<Case, Box<Finding>> {
        let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
        let entries = entries.map_err(|error| unreadable(folder, &error))?;
        let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()).collect();
        files.sort();
        let name_of =
            |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let called = |start: &str| -> Result<Option<PathBuf>, Box<Finding>> {
            let found: Vec<&PathBuf> = files.iter().filter(|path| begins(&name_of(path), start)).collect();
            if let [_, second, ..] = found.as_slice() {
                let message = format!("a case has one file {start}.*, and this is a second one: {}", name_of(second));
                return Err(wrong(folder, message, "remove one of them, or make a case of each"));
            }
            Ok(found.first().map(|path| (*path).clone()))
        };
        let input = called("input")?.ok_or_else(|| {
            wrong(folder, "the case has no input".to_owned(), "a file input.* holds the documents to translate")
        })?;
        let expected = match map.targets.as_slice() {
            [_] => vec![called("expected")?],
            targets => targets
                .iter()
                .map(|target| called(&format!("expected.{}", target.name)))
                .collect::<Result<Vec<_>, _>>()?,
        };
        let acknowledgment = called("acknowledgment")?;
        let settings = settings(&folder.join("case.toml"))?;
        for file in &files {
            let name = name_of(file);
            let known = ["input", "expected", "acknowledgment"].iter().any(|start| begins(&name, start))
                || name == "case.toml"
                || name == "findings.txt"
                || settings.lookup.values().any(|lookup| *lookup == name)
                || name.to_ascii_uppercase().starts_with("README")
                || name.starts_with('.');
            if !known {
                let message = format!("{name} is not part of a case");
                let hint = "a case has input.*, expected.*, acknowledgment.*, findings.txt, case.toml and the tables that it names";
                return Err(wrong(folder, message, hint));
            }
        }
        Ok(Case { name: name_of(folder), folder: folder.to_owned(), input, expected, acknowledgment, settings })
    }

    /// Returns the path of the case's findings.
    pub(super) fn findings_file(&self) -> PathBuf {
        self.folder.join("findings.txt")
    }

    /// Returns the arguments of the translation without its outputs.
    pub(super) fn arguments(&self, map: &MapFile) -> Vec<String> {
        let mut arguments = vec!["quayline".to_owned(), "translate".to_owned()];
        let mut add = |name: &str, value: &str| arguments.extend([format!("--{name}"), value.to_owned()]);
        let of = &self.settings;
        add("map", &map.path.display().to_string());
        add("now", of.now.as_deref().unwrap_or(NOW));
        let plain: [(&str, &Option<String>); 12] = [
            ("sender", &of.sender),
            ("receiver", &of.receiver),
            ("control-number", &of.control_number),
            ("from", &of.from),
            ("numbers", &of.numbers),
            ("level", &of.level),
            ("output-level", &of.output_level),
            ("unknown", &of.unknown),
            ("from-encoding", &of.from_encoding),
            ("to-encoding", &of.to_encoding),
            ("from-framing", &of.from_framing),
            ("to-framing", &of.to_framing),
        ];
        for (name, value) in plain {
            if let Some(value) = value {
                add(name, value);
            }
        }
        match &of.to {
            None => {}
            Some(To::One(format)) => add("to", format),
            Some(To::Each(formats)) => {
                formats.iter().for_each(|(target, format)| add("to", &format!("{target}={format}")))
            }
        }
        of.envelope.iter().for_each(|(name, value)| add("envelope", &format!("{name}={value}")));
        for (name, file) in &of.lookup {
            add("lookup", &format!("{name}={}", self.folder.join(file).display()));
        }
        if !of.function.is_empty() {
            add("function-folder", &self.folder.display().to_string());
        }
        of.function.iter().for_each(|(name, program)| add("function", &format!("{name}={program}")));
        if of.strict {
            arguments.push("--strict".to_owned());
        }
        arguments.push("--no-progress".to_owned());
        arguments.push(self.input.display().to_string());
        arguments
    }
}

fn begins(name: &str, start: &str) -> bool {
    name.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn settings(path: &Path) -> Result<Settings, Box<Finding>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Settings::default()),
        Err(error) => return Err(Box::new(unreadable(path, &error))),
    };
    toml::from_str(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text[..at.min(text.len())].matches('\n').count() + 1;
        let message = quayline_core::plain_expectation(&error.message().trim().replace('\n', ", "));
        let place = Place { file: Some(shown(path).into()), line: u32::try_from(line).ok(), ..Place::default() };
        let finding = Finding::error(CLI_TEST, Fault::Config, message).at(place);
        Box::new(finding.hint("docs/reference/map-tests.md has every key of case.toml"))
    })
}

fn wrong(folder: &Path, message: String, hint: &str) -> Box<Finding> {
    let place = Place { file: Some(shown(folder).into()), ..Place::default() };
    Box::new(Finding::error(CLI_TEST, Fault::Config, message).at(place).hint(hint))
}

fn unreadable(path: &Path, error: &io::Error) -> Finding {
    let message = format!("{} cannot be read: {}", shown(path), system_error_text(error));
    Finding::error(CLI_INPUT, Fault::Environment, message)
}
