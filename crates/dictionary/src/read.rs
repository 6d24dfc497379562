//! Files and folders of known forms that a user names on the command line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use quayline_core::{Fault, Finding, Findings, Place};
use quayline_edi::guide::Guide;

use crate::codes;
use crate::imported::Imported;
use crate::json;
use crate::php_edifact::CodeLists;
use crate::pyx12::Pyx12;
use crate::smooks;
use crate::source_text::SourceText;
use crate::x12_types::{self, X12Types};
use crate::xsd;

/// Forms of dictionaries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Form {
    /// pyx12's maps: a folder with `dataele.xml`, or one map in it.
    Pyx12,
    /// The sources of x12-types: the package, or its folder of one version.
    X12Types,
    /// Smooks' DFDL schemas of a directory: the folder that has them.
    Smooks,
    /// php-edifact's `codes.xml`: code lists alone.
    PhpEdifact,
    /// A user's own XML schema.
    Xsd,
    /// Our own description in JSON.
    Json,
}

/// Imports several files and folders together. Code lists are merged into the EDIFACT messages of the other sources. Implementation guides of
/// the same version supply the properties that x12-types lacks.
///
/// # Errors
/// Every error of [`import`], for all paths.
pub fn import_all(paths: &[PathBuf]) -> Result<Imported, Findings> {
    let mut all = Imported::default();
    let mut standard: Vec<Guide> = Vec::new();
    let mut lists: Vec<CodeLists> = Vec::new();
    let mut faults = Vec::new();
    for path in paths {
        let imported = form(path).and_then(|form| {
            if form != Form::PhpEdifact {
                return Ok((form, import(path)?));
            }
            let text = read_text(path)?;
            lists.push(CodeLists::read(SourceText::new(&path.display().to_string(), &text))?);
            Ok((form, Imported::default()))
        });
        match imported {
            Ok((Form::X12Types, imported)) => {
                standard.extend(imported.guides);
                all.findings.extend(imported.findings);
            }
            Ok((_, imported)) => all.extend(imported),
            Err(Findings(found)) => faults.extend(found),
        }
    }
    if faults.is_empty() && standard.is_empty() && all.guides.is_empty() && !lists.is_empty() {
        faults.extend(paths.first().map(|path| without_messages(path)));
    }
    if !faults.is_empty() {
        return Err(Findings(faults));
    }
    x12_types::complete(&mut standard, &all.guides);
    // For a version of the standard itself, such as 004010, the standard's set has more detail than a guide to it.
    standard.append(&mut all.guides);
    all.guides = standard;
    one_guide_each(&mut all);
    refuse_names(&all.guides)?;
    for guide in &mut all.guides {
        for list in &lists {
            list.merge_into(guide);
        }
    }
    Ok(all)
}

/// Refuses names of guides that cannot be names of files, because an untrusted source must not choose another folder, and equal names, because the file
/// of one guide would replace that of another.
fn refuse_names(guides: &[Guide]) -> Result<(), Findings> {
    let is_good = |name: &str| {
        let allowed = |c: char| !c.is_control() && !matches!(c, '/' | '\\' | ':');
        !name.starts_with('.') && (1..=200).contains(&name.len()) && name.chars().all(allowed)
    };
    let mut known: BTreeMap<&str, &Guide> = BTreeMap::new();
    let mut findings = Vec::new();
    for guide in guides {
        let (message, hint) = if !is_good(&guide.name) {
            let message = format!("{:?} cannot be the name of a guide, which is the name of its file", guide.name);
            (message, "write letters, digits, `-`, `_` and points, such as 850-004010, in `name`")
        } else if let Some(first) = known.insert(&guide.name, guide) {
            let of = |guide: &Guide| format!("{} of {}", guide.transaction, guide.version);
            let message = format!("two guides have the name {}: {} and {}", guide.name, of(first), of(guide));
            (message, "give each guide its own `name`, or import the sources into different folders")
        } else {
            continue;
        };
        let place = Place { file: guide.source.as_deref().map(Into::into), ..Place::default() };
        findings.push(Finding::error(codes::NOT_OF_THE_FORM, Fault::Config, message).at(place).hint(hint));
    }
    if findings.is_empty() { Ok(()) } else { Err(Findings(findings)) }
}

/// Keeps the first of several guides for one transaction set of one version.
fn one_guide_each(imported: &mut Imported) {
    let mut known: BTreeMap<(&'static str, String, String), String> = BTreeMap::new();
    let mut findings = Vec::new();
    imported.guides.retain(|guide| {
        let key = (guide.standard.name(), guide.transaction.clone(), guide.version.clone());
        let Some(first) = known.get(&key) else {
            known.insert(key, guide.source.clone().unwrap_or_else(|| format!("the guide {}", guide.name)));
            return true;
        };
        let of = guide.source.as_deref().map(|source| format!(" of {source}")).unwrap_or_default();
        let message = format!("{}{of} is left out: {first} has it too", guide.name);
        findings.push(Finding::warning(codes::LEFT_OUT, Fault::Config, message));
        false
    });
    imported.findings.extend(findings);
}

/// Imports a file or a folder and detects its form from its content.
///
/// # Errors
/// It cannot be read, has no known form, or violates its form.
pub fn import(path: &Path) -> Result<Imported, Findings> {
    match form(path)? {
        Form::Pyx12 if path.is_dir() => import_pyx12_folder(path),
        Form::Pyx12 => import_pyx12_map(path),
        Form::X12Types => import_x12_types(path),
        Form::Smooks => import_smooks(path),
        Form::PhpEdifact => Err(Findings(vec![without_messages(path)])),
        Form::Xsd => {
            let text = read_text(path)?;
            xsd::import(SourceText::new(&path.display().to_string(), &text))
        }
        Form::Json => {
            let text = read_text(path)?;
            json::read_guides(SourceText::new(&path.display().to_string(), &text))
        }
    }
}

fn without_messages(path: &Path) -> Finding {
    let finding = at(path, codes::NOT_OF_THE_FORM, "the file has code lists, but no messages");
    finding.hint("name it together with a source of messages, which take its codes")
}

/// Detects the format of a file or folder.
///
/// # Errors
/// The path cannot be read, or its format is unknown.
pub fn form(path: &Path) -> Result<Form, Findings> {
    if path.is_dir() {
        if path.join("dataele.xml").is_file() {
            return Ok(Form::Pyx12);
        }
        if !versions(path)?.is_empty() {
            return Ok(Form::X12Types);
        }
        if !directories(path)?.is_empty() {
            return Ok(Form::Smooks);
        }
    } else {
        let text = read_text(path)?;
        let head = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
        if head.starts_with('{') || head.starts_with('[') {
            return Ok(Form::Json);
        }
        if text.contains("<data_elements>") && text.contains("<code id=") {
            return Ok(Form::PhpEdifact);
        }
        if xsd::is_schema(&text) {
            return Ok(Form::Xsd);
        }
        if text.contains("<transaction") && path.with_file_name("dataele.xml").is_file() {
            return Ok(Form::Pyx12);
        }
    }
    let finding = at(path, codes::UNKNOWN_FORM, "none of the forms of dictionaries that can be imported");
    Err(Findings(vec![finding.hint("`docs/guides/import-guides.md` lists them, and how to fetch the open ones")]))
}

fn import_pyx12_map(path: &Path) -> Result<Imported, Findings> {
    let shared = pyx12(path.parent().unwrap_or(Path::new(".")))?;
    let text = read_text(path)?;
    shared.import(SourceText::new(&path.display().to_string(), &text))
}

/// Imports all maps that the index lists; of several for one version the first by name. The others are reported: pyx12 does not use
/// them either.
fn import_pyx12_folder(folder: &Path) -> Result<Imported, Findings> {
    let shared = pyx12(folder)?;
    let is_map = |name: &str| name.ends_with(".xml") && name.starts_with(|c: char| c.is_ascii_digit());
    let mut all = Imported::default();
    for path in files(folder)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !is_map(name) {
            continue;
        }
        if !shared.is_listed(name) {
            let finding = warning(&path, codes::LEFT_OUT, "maps.xml does not list the map");
            all.findings.push(finding.hint("name this file alone to import it"));
            continue;
        }
        let text = read_text(&path)?;
        let name = path.display().to_string();
        let mut imported = shared.import(SourceText::new(&name, &text))?;
        imported.guides.retain(|guide| {
            let key = |guide: &Guide| (guide.transaction.clone(), guide.version.clone());
            let first = all.guides.iter().find(|known| key(known) == key(guide));
            if let Some(first) = first {
                let message = format!("{} of the same version was imported instead", first.name);
                let hint = "name this file alone to import it instead";
                all.findings.push(warning(&path, codes::LEFT_OUT, message).hint(hint));
            }
            first.is_none()
        });
        if !imported.guides.is_empty() {
            all.extend(imported);
        }
    }
    Ok(all)
}

fn pyx12(folder: &Path) -> Result<Pyx12, Findings> {
    let names = ["dataele.xml", "codes.xml", "maps.xml"].map(|name| folder.join(name));
    let mut texts = Vec::new();
    for path in &names {
        texts.push((path.display().to_string(), read_text(path)?));
    }
    let [elements, external, maps] = [0, 1, 2].map(|at: usize| SourceText::new(&texts[at].0, &texts[at].1));
    Pyx12::new(elements, external, maps, Some(pyx12_version(folder)))
}

/// Reads name, version and licence from the metadata beside a Python package.
fn pyx12_version(folder: &Path) -> String {
    let beside = folder.parent().and_then(Path::parent).and_then(|site| fs::read_dir(site).ok());
    let names = beside.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let version =
        names.filter_map(|name| Some(name.strip_prefix("pyx12-")?.strip_suffix(".dist-info")?.to_owned())).min();
    format!("pyx12 {}, BSD-3-Clause", version.as_deref().unwrap_or("of unknown version"))
}

/// Imports all versions of the package, or the version of one folder.
fn import_x12_types(folder: &Path) -> Result<Imported, Findings> {
    let mut all = Imported::default();
    for (version, folder) in versions(folder)? {
        let mut texts: Vec<(String, String)> = Vec::new();
        for path in [folder.clone(), folder.join("element"), folder.join("segment")].iter().filter(|path| path.is_dir())
        {
            for path in files(path)? {
                let name = path.display().to_string();
                if name.ends_with(".rs") && !name.ends_with("test.rs") && !name.ends_with("mod.rs") {
                    texts.push((name, read_text(&path)?));
                }
            }
        }
        let texts: Vec<SourceText<'_>> = texts.iter().map(|(name, text)| SourceText::new(name, text)).collect();
        all.extend(X12Types::new(&version, &texts, Some(x12_types_version(&folder)))?.import()?);
    }
    Ok(all)
}

/// Imports the directory in a folder, or the directories in its subfolders.
fn import_smooks(folder: &Path) -> Result<Imported, Findings> {
    let mut all = Imported::default();
    for folder in directories(folder)? {
        let [messages, segments] = SMOOKS.map(|name| folder.join(name));
        let (message_text, segment_text) = (read_text(&messages)?, read_text(&segments)?);
        let (messages, segments) = (messages.display().to_string(), segments.display().to_string());
        all.extend(smooks::import(
            SourceText::new(&messages, &message_text),
            SourceText::new(&segments, &segment_text),
            Some(smooks_version(&folder)),
        )?);
    }
    Ok(all)
}

const SMOOKS: [&str; 2] = ["EDIFACT-Messages.dfdl.xsd", "EDIFACT-Segments.dfdl.xsd"];

/// Folders with both schemas, up to two levels deep.
fn directories(path: &Path) -> Result<Vec<PathBuf>, Findings> {
    let has_both = |path: &Path| SMOOKS.iter().all(|name| path.join(name).is_file());
    if has_both(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for folder in entries(path)?.into_iter().filter(|path| path.is_dir()) {
        if has_both(&folder) {
            found.push(folder);
        } else {
            found.extend(entries(&folder)?.into_iter().filter(|path| path.is_dir() && has_both(path)));
        }
    }
    Ok(found)
}

/// Reads name, version and licence from the properties beside a Java archive.
fn smooks_version(folder: &Path) -> String {
    let properties = folder
        .ancestors()
        .take(3)
        .map(|path| path.join("META-INF/maven/org.smooks.cartridges.edi/edifact-schemas/pom.properties"))
        .find_map(|path| fs::read_to_string(path).ok());
    let version =
        properties.and_then(|text| text.lines().find_map(|line| Some(line.strip_prefix("version=")?.to_owned())));
    let version = version.as_deref().unwrap_or("of unknown version");
    format!("Smooks edifact-schemas {version}, Apache-2.0 OR LGPL-3.0-or-later")
}

/// Folders of versions (`v005010`) with an `element` folder, in a package or its `src`, or the folder itself.
fn versions(path: &Path) -> Result<Vec<(String, PathBuf)>, Findings> {
    let version = |path: &Path| -> Option<String> {
        let version = path.file_name()?.to_str()?.strip_prefix('v')?;
        (version.len() == 6 && path.join("element").is_dir()).then(|| version.to_owned())
    };
    if let Some(version) = version(path) {
        return Ok(vec![(version, path.to_owned())]);
    }
    let source = path.join("src");
    let folders = entries(if source.is_dir() { &source } else { path })?;
    Ok(folders.into_iter().filter_map(|folder| Some((version(&folder)?, folder))).collect())
}

/// Derives name, version and licence; the folder of the package is named after the first two.
fn x12_types_version(folder: &Path) -> String {
    let version = folder.ancestors().filter_map(|path| path.file_name()?.to_str()?.strip_prefix("x12-types-")).next();
    format!("x12-types {}, MIT OR Apache-2.0", version.unwrap_or("of unknown version"))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Findings> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_file()).collect())
}

/// Returns the sorted entries of a folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Findings> {
    let unreadable = |e: std::io::Error| Findings(vec![at(folder, codes::UNREADABLE, reason(&e))]);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn read_text(path: &Path) -> Result<String, Findings> {
    fs::read_to_string(path).map_err(|e| Findings(vec![at(path, codes::UNREADABLE, reason(&e))]))
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::InvalidData => "the file is not UTF-8".into(),
        std::io::ErrorKind::NotFound => "no such file or folder".into(),
        std::io::ErrorKind::PermissionDenied => "it may not be read".into(),
        kind => format!("it cannot be read: {kind}"),
    }
}

fn at(path: &Path, code: quayline_core::Code, message: impl Into<String>) -> Finding {
    Finding::error(code, Fault::Config, message).at(place(path))
}

fn warning(path: &Path, code: quayline_core::Code, message: impl Into<String>) -> Finding {
    Finding::warning(code, Fault::Config, message).at(place(path))
}

fn place(path: &Path) -> Place {
    Place { file: Some(path.display().to_string().into()), ..Place::default() }
}
