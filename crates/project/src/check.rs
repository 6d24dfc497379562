//! Checks the files of a project that compile without the crates that run them.
//!
//! ```text
//! copybooks/**  guides/**  schemas/**  layouts/**  maps/**  ──compile──▶ CheckedFile { kind, findings }, sorted by path
//! ```
//!
//! Services, APIs, flows, jobs and partners are compiled by the crates that run them; `quayline check` combines all results.
//! A file that another one includes (a COPY member, a dictionary of a guide, a schema of definitions, an interface file of a layout, a map without
//! a source) is compiled with that file. Alone, it is
//! checked as far as its text allows.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use quayline_edi::guide::CompiledGuide;
use quayline_map::MapSpec;

use crate::guides::{is_guide, read_guide};
use crate::shape::json_schema::{self, beside};
use crate::shape::source_file::{SourceFile, real_path};
use crate::shape::xsd;
use crate::{CopyFolders, MapFile, ShapeFile, ShapeOptions, codes, read_source};

/// Kind of a project file.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum FileKind {
    /// `copybooks/*.cpy`
    Copybook,
    /// `guides/*.guide`
    Guide,
    /// `schemas/*.json` and `*.xsd`
    Schema,
    /// `layouts/*.toml`
    Layout,
    /// `maps/*.qmap`
    Map,
}

impl FileKind {
    /// All kinds, in order of dependency.
    pub const ALL: [FileKind; 5] =
        [FileKind::Copybook, FileKind::Guide, FileKind::Schema, FileKind::Layout, FileKind::Map];

    /// Returns the folder of a project for files of this kind, and their extensions.
    #[must_use]
    pub fn place(self) -> (&'static str, &'static [&'static str]) {
        match self {
            FileKind::Copybook => ("copybooks", &["cpy", "copy", "cob", "cbl"]),
            FileKind::Guide => ("guides", &["guide"]),
            FileKind::Schema => ("schemas", &["json", "xsd"]),
            FileKind::Layout => ("layouts", &["toml"]),
            FileKind::Map => ("maps", &["qmap"]),
        }
    }

    /// Returns the word for one file of this kind.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            FileKind::Copybook => "copybook",
            FileKind::Guide => "guide",
            FileKind::Schema => "schema",
            FileKind::Layout => "layout",
            FileKind::Map => "map",
        }
    }
}

/// One file of a project after it was compiled.
#[derive(Clone, Debug)]
pub struct CheckedFile {
    /// The file.
    pub path: PathBuf,
    /// Kind of the file.
    pub kind: FileKind,
    /// Errors, warnings and notes.
    pub findings: Vec<Finding>,
}

/// Refuses a folder that has nothing of a project.
///
/// # Errors
/// The folder has no `quayline.toml` and none of a project's folders.
pub fn expect_project(root: &Path) -> Result<(), Findings> {
    let folders = FileKind::ALL.map(|kind| kind.place().0);
    let others = ["services", "apis", "flows", "jobs", "partners"];
    let has_folder = folders.iter().chain(&others).any(|folder| root.join(folder).is_dir());
    if has_folder || root.join("quayline.toml").is_file() {
        return Ok(());
    }
    let message = "the folder is not a project: it has no quayline.toml and none of a project's folders";
    let hint = "name the project's folder, or write a first project with `quayline new FOLDER`";
    Err(Finding::error(codes::NO_PROJECT, Fault::Caller, message).at(in_file(root)).hint(hint).into())
}

/// Folders in folders are followed so deep. A project has a few; a loop of links has no end.
const DEPTH_MAX: usize = 16;

/// Compiles every copybook, guide, schema, layout and map in the folders of the project at `root`.
///
/// # Errors
/// A folder cannot be listed. Errors in a file are in its findings.
pub fn check_files(root: &Path, options: &ShapeOptions) -> Result<Vec<CheckedFile>, Findings> {
    let mut checked = Vec::new();
    for kind in FileKind::ALL {
        let (folder, extensions) = kind.place();
        let files = project_files(&root.join(folder), extensions)?;
        let interfaces = if kind == FileKind::Layout { interfaces(&files) } else { BTreeSet::new() };
        for path in files {
            let is_interface = !interfaces.is_empty() && interfaces.contains(&real_path(&path));
            let findings = if is_interface { Vec::new() } else { compile(&path, kind, options) };
            checked.push(CheckedFile { path, kind, findings });
        }
    }
    Ok(checked)
}

/// Lists the files below a folder of the project that have one of these extensions, sorted. The list is empty if the folder does not exist.
///
/// # Errors
/// The folder cannot be read.
pub fn project_files(folder: &Path, extensions: &[&str]) -> Result<BTreeSet<PathBuf>, Findings> {
    let (mut files, mut unreadable) = (BTreeSet::new(), Vec::new());
    if folder.is_dir() {
        list(folder, extensions, DEPTH_MAX, &mut files, &mut unreadable);
    }
    if unreadable.is_empty() { Ok(files) } else { Err(Findings(unreadable)) }
}

/// Lists the files below a folder. It skips test cases of maps, which are data and not definitions.
fn list(
    folder: &Path,
    extensions: &[&str],
    depth: usize,
    files: &mut BTreeSet<PathBuf>,
    unreadable: &mut Vec<Finding>,
) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return unreadable.push(unlisted(folder, &error)),
    };
    for entry in entries {
        let path = match entry {
            Ok(entry) => entry.path(),
            Err(error) => return unreadable.push(unlisted(folder, &error)),
        };
        let is_tests = path.file_name().is_some_and(|name| name == "tests");
        if path.is_dir() {
            if depth > 0 && !is_tests {
                list(&path, extensions, depth - 1, files, unreadable);
            }
        } else if path
            .extension()
            .is_some_and(|found| extensions.iter().any(|wanted| found.eq_ignore_ascii_case(wanted)))
        {
            files.insert(path);
        }
    }
}

fn unlisted(folder: &Path, error: &io::Error) -> Finding {
    let message = format!("the folder cannot be read: {}", system_error_text(error));
    Finding::error(codes::UNREADABLE, Fault::Environment, message).at(in_file(folder)).hint("check its permissions")
}

fn in_file(path: &Path) -> Place {
    Place { file: Some(path.display().to_string().into()), ..Place::default() }
}

fn compile(path: &Path, kind: FileKind, options: &ShapeOptions) -> Vec<Finding> {
    let found = match kind {
        FileKind::Copybook => compile_copybook(path, options),
        FileKind::Guide => compile_guide(path, options),
        FileKind::Schema => definitions(path).unwrap_or_else(|| compile_shape(path, options)),
        FileKind::Layout => compile_shape(path, options),
        FileKind::Map => compile_map(path, options),
    };
    let mut findings = found.unwrap_or_else(|Findings(findings)| findings);
    for finding in &mut findings {
        finding.place.file.get_or_insert_with(|| path.display().to_string().into());
    }
    findings
}

fn compile_shape(path: &Path, options: &ShapeOptions) -> Result<Vec<Finding>, Findings> {
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ShapeFile::load(folder, &name, options).map(|shape| shape.findings().to_vec())
}

/// Compiles each definition of a schema that describes no one document, such as a schema for use in others; `None` for other schemas.
fn definitions(path: &Path) -> Option<Result<Vec<Finding>, Findings>> {
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let found = if is_json { json_schema::definitions(path) } else { xsd::definitions(path) };
    found.transpose()
}

/// Returns the interface files that layouts of a folder name. They are compiled with the layouts.
fn interfaces(layouts: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    #[derive(serde::Deserialize)]
    struct Named {
        interface: Option<String>,
    }
    let of_layout = |layout: &PathBuf| {
        let text = SourceFile::read(layout).ok()?.text;
        let named: Named = toml::from_str(&text.text).ok()?;
        Some(real_path(&beside(layout, &named.interface?)))
    };
    layouts.iter().filter_map(of_layout).collect()
}

/// Compiles a copybook. A member for use in other copybooks may have no record of its own, and names that `COPY ... REPLACING` changes.
fn compile_copybook(path: &Path, options: &ShapeOptions) -> Result<Vec<Finding>, Findings> {
    let text = read_source(path).map_err(|error| {
        let message = format!("the copybook cannot be read: {}", system_error_text(&error));
        Finding::error(codes::UNREADABLE, Fault::Environment, message).at(in_file(path)).hint("check its permissions")
    })?;
    let folder = path.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let library = CopyFolders::new(vec![folder]);
    let parse = ParseOptions { library: &library, limits: &options.limits, ..ParseOptions::default() };
    let parsed = quayline_cobol::parse(&SourceText::new(path.display().to_string(), text.as_str()), &parse)?;
    let mut findings = parsed.warnings;
    for record in &parsed.records {
        match Layout::build(record, &Dialect::default()) {
            Ok(layout) => findings.extend(layout.warnings),
            Err(Findings(more)) => findings.extend(more),
        }
    }
    Ok(findings)
}

fn compile_guide(path: &Path, options: &ShapeOptions) -> Result<Vec<Finding>, Findings> {
    if !is_guide(path) {
        // A dictionary is read with the guides that include it.
        return Ok(Vec::new());
    }
    let guide = read_guide(path, &options.limits)?;
    let compiled = CompiledGuide::new(&guide)?;
    Ok(compiled.warnings().to_vec())
}

fn compile_map(path: &Path, options: &ShapeOptions) -> Result<Vec<Finding>, Findings> {
    let SourceFile { text } = SourceFile::read(path)?;
    let spec = MapSpec::parse(&text.name, &text.text);
    let is_included = spec.is_sound() && spec.source().is_none() && spec.targets().is_empty();
    if is_included {
        return Ok(spec.findings().to_vec());
    }
    MapFile::open(path, options, options).map(|map| map.findings)
}
