//! Guide files as users name them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quayline_cache::Cache;
use quayline_core::{Fault, Finding, Findings, Limits, Place, Severity, Stored, StoredReader, system_error_text};
use quayline_edi::guide::{
    BUILT_IN, BuiltInFiles, Guide, GuideResolver, GuideSet, GuideText, ResolveError, built_in_guides, parse_guide,
    with_balances,
};
use quayline_edi::{GuideDocuments, NodeNames};

use crate::codes;

/// Extension of guide files.
const EXTENSION: &str = "guide";

/// Name that adds balancing rules to the guides for which Quayline has some.
const BALANCES: &str = "builtin:balances";

/// Reads guide files, built-in guides (`builtin:NAME`, or `builtin:` for all) and all guides of a folder. `builtin:balances` adds balancing
/// rules. The guides of a folder are the files that end in `.guide` and begin with the word `guide`; other files there are dictionaries that
/// guides include. With a cache, guides that were compiled from the same texts before are loaded from it.
///
/// # Errors
/// Every error in any of the guides, or that no guide was found.
pub fn read_guides(paths: &[PathBuf], limits: &Limits, cache: Option<&Cache>) -> Result<GuideSet, Findings> {
    read_guides_and_files(paths, limits, cache).map(|(set, _)| set)
}

/// Reads guide files like [`read_guides`], and returns all files that the guides are made of, to detect changes: the paths, the files of folders, and
/// included files.
///
/// # Errors
/// Those of [`read_guides`].
pub fn read_guides_and_files(
    paths: &[PathBuf],
    limits: &Limits,
    cache: Option<&Cache>,
) -> Result<(GuideSet, Vec<PathBuf>), Findings> {
    let (set, files) = Texts::read(paths)?.through(cache, "guides", limits, |set| set)?;
    Ok((set, files.into_iter().chain(paths.iter().cloned()).filter(|path| is_on_disk(path)).collect()))
}

/// Returns false for the names of guides that come with Quayline.
fn is_on_disk(path: &Path) -> bool {
    let name = path.to_str().unwrap_or_default();
    name != BALANCES && !name.starts_with(BUILT_IN)
}

/// Reads guide files like [`read_guides`]. Returns their documents, and all files that they are made of.
///
/// # Errors
/// Those of [`read_guides`].
pub fn read_guide_documents_and_files(
    paths: &[PathBuf],
    limits: &Limits,
    names: NodeNames,
    cache: Option<&Cache>,
) -> Result<(GuideDocuments, Vec<PathBuf>), Findings> {
    let kind = match names {
        NodeNames::References => "documents by reference",
        NodeNames::Words => "documents by name",
    };
    Texts::read(paths)?.through(cache, kind, limits, |set| GuideDocuments::new(set, names))
}

/// Reads a guide file and the files that it includes.
///
/// # Errors
/// The file cannot be read, or all errors in it.
pub fn read_guide(path: &Path, limits: &Limits) -> Result<Guide, Findings> {
    let text = read_text(path).map_err(|error| unreadable(path, &error))?;
    parse_guide(&path.display().to_string(), &text, &Files, limits)
}

/// Returns true if a file is a guide and not a dictionary that guides include. A file that is unreadable, or that says neither, counts as a guide, so
/// that its errors are found.
#[must_use]
pub fn is_guide(path: &Path) -> bool {
    read_text(path).map_or(true, |text| !begins_with_dictionary(&text))
}

/// Texts of guide files, and findings about unreadable files.
struct Texts {
    /// Each under the name that findings show.
    files: Vec<(String, String)>,
    balances: Balances,
    findings: Vec<Finding>,
}

/// Use of the balancing rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Balances {
    Added,
    Absent,
}

impl Texts {
    fn read(paths: &[PathBuf]) -> Result<Texts, Findings> {
        let mut texts = Texts { files: Vec::new(), balances: Balances::Absent, findings: Vec::new() };
        for path in paths {
            if path.to_str() == Some(BALANCES) {
                texts.balances = Balances::Added;
            } else if path.to_str() == Some(BUILT_IN) {
                let all = built_in_guides().iter();
                texts.files.extend(all.map(|guide| (format!("{BUILT_IN}{}", guide.name), guide.text().to_owned())));
            } else if path.is_dir() {
                let found = texts.files.len();
                match folder(path) {
                    Ok(files) => files.iter().for_each(|file| texts.add(file, true)),
                    Err(error) => texts.findings.push(unreadable(path, &error)),
                }
                if texts.files.len() == found && texts.findings.is_empty() {
                    let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
                    let finding = Finding::error(codes::NO_GUIDE, Fault::Caller, "the folder has no guide");
                    texts.findings.push(finding.at(place).hint("guides are files whose name ends in .guide"));
                }
            } else {
                texts.add(path, false);
            }
        }
        let nothing = texts.files.is_empty() && !texts.findings.is_empty();
        if nothing { Err(Findings(texts.findings)) } else { Ok(texts) }
    }

    fn add(&mut self, path: &Path, in_folder: bool) {
        match read_text(path) {
            Ok(text) if in_folder && begins_with_dictionary(&text) => {}
            Ok(text) => self.files.push((path.display().to_string(), text)),
            Err(error) => self.findings.push(unreadable(path, &error)),
        }
    }

    /// Compiles the guides and applies `make`, or loads the result for the same texts from the cache. Also returns the files that were read, with those
    /// that guides include.
    fn through<T: Stored>(
        self,
        cache: Option<&Cache>,
        kind: &str,
        limits: &Limits,
        make: impl FnOnce(GuideSet) -> T,
    ) -> Result<(T, Vec<PathBuf>), Findings> {
        let mut files: Vec<PathBuf> = self.files.iter().map(|(name, _)| PathBuf::from(name)).collect();
        let noting = Noting { included: RefCell::default() };
        let Some(cache) = cache.filter(|_| self.findings.is_empty()) else {
            let made = self.compile(limits, &noting).map(make)?;
            files.extend(noting.included.into_inner().into_keys().map(PathBuf::from));
            return Ok((made, files));
        };
        let limits_text = format!("{limits:?}, balances: {:?}", self.balances);
        let texts = self.files.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
        let key = cache.key(kind, [limits_text.as_bytes()].into_iter().chain(texts));
        let digest = |text: &str| cache.key("guide text", [text.as_bytes()]).digits();
        if let Some(kept) = cache.get(key) {
            let mut from = StoredReader::new(&kept);
            let included: Option<Vec<(String, String)>> = Stored::load(&mut from);
            let same =
                |(name, of): &(String, String)| read_text(Path::new(name)).is_ok_and(|text| digest(&text) == *of);
            if let Some(included) = included.filter(|included| included.iter().all(same))
                && let Some(made) = T::load(&mut from)
                && from.is_empty()
            {
                files.extend(included.into_iter().map(|(name, _)| PathBuf::from(name)));
                return Ok((made, files));
            }
        }
        let made = make(self.compile(limits, &noting)?);
        let mut bytes = Vec::new();
        let included = noting.included.into_inner();
        included.iter().map(|(name, text)| (name.clone(), digest(text))).collect::<Vec<_>>().store(&mut bytes);
        made.store(&mut bytes);
        cache.put(key, &bytes);
        files.extend(included.into_keys().map(PathBuf::from));
        Ok((made, files))
    }

    fn compile(self, limits: &Limits, resolver: &dyn GuideResolver) -> Result<GuideSet, Findings> {
        let mut findings = self.findings;
        let mut guides = Vec::new();
        for (name, text) in &self.files {
            match parse_guide(name, text, resolver, limits) {
                Ok(guide) => guides.push(guide),
                Err(found) => findings.extend(found.0),
            }
        }
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(findings));
        }
        if self.balances == Balances::Added {
            add_balances(&mut guides)?;
        }
        GuideSet::new(guides)
    }
}

/// Adds balancing rules to the guides for which Quayline has some.
fn add_balances(guides: &mut [Guide]) -> Result<(), Findings> {
    let mut found = false;
    for guide in guides {
        if let Some(balanced) = with_balances(guide) {
            *guide = balanced?;
            found = true;
        }
    }
    if found {
        return Ok(());
    }
    let message = "none of the guides is for a transaction that has balances";
    let place = Place { file: Some(BALANCES.into()), ..Place::default() };
    let hint = "also name a guide for 835 or 837 (professional, institutional or dental claims)";
    Err(Findings(vec![Finding::error(codes::NO_GUIDE, Fault::Caller, message).at(place).hint(hint)]))
}

/// Resolves includes and records their texts.
struct Noting {
    /// Included texts by name.
    included: RefCell<BTreeMap<String, String>>,
}

impl GuideResolver for Noting {
    fn read(&self, name: &str, from: &str) -> Result<GuideText, ResolveError> {
        let found = Files.read(name, from)?;
        self.included.borrow_mut().insert(found.name.clone(), found.text.clone());
        Ok(found)
    }
}

/// Lists the guide files of a folder, sorted by name.
fn folder(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == EXTENSION) && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns true if the first word outside comments is `dictionary`.
fn begins_with_dictionary(text: &str) -> bool {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    line.is_some_and(|line| line.split_whitespace().next() == Some("dictionary"))
}

/// Reads a file or a built-in guide.
fn read_text(path: &Path) -> io::Result<String> {
    if let Some(name) = path.to_str().filter(|name| name.starts_with(BUILT_IN)) {
        let text = BuiltInFiles.read(name, "").map(|found| found.text);
        return text.map_err(|_| io::Error::new(io::ErrorKind::NotFound, "no guide of this name comes with Quayline"));
    }
    let bytes = fs::read(path)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

fn unreadable(path: &Path, error: &io::Error) -> Finding {
    let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
    let message = format!("the guide cannot be read: {}", system_error_text(error));
    let built_in = path.to_str().is_some_and(|name| name.starts_with(BUILT_IN));
    let hint =
        if built_in { "`quayline guide list` shows the guides that come with Quayline" } else { "check the path" };
    Finding::error(codes::NO_GUIDE, Fault::Caller, message).at(place).hint(hint)
}

/// Resolver of included names: files relative to the including file, and built-in guides.
struct Files;

impl GuideResolver for Files {
    fn read(&self, name: &str, from: &str) -> Result<GuideText, ResolveError> {
        if name.starts_with(BUILT_IN) || from.starts_with(BUILT_IN) {
            return BuiltInFiles.read(name, from);
        }
        let path = Path::new(from).parent().unwrap_or_else(|| Path::new("")).join(name);
        let shown = path.display().to_string();
        match read_text(&path) {
            Ok(text) => Ok(GuideText { name: shown, text }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ResolveError::NotFound { tried: vec![shown] }),
            Err(error) => Err(ResolveError::Unreadable { name: shown, reason: system_error_text(&error) }),
        }
    }
}
