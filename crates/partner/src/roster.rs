//! Changes of partners by command and over HTTP.
//!
//! A partner is a file in `partners/`, or the same text in the store ([`crate::stored`]), never both. Files suit an editor and version control, the
//! store suits servers without a writable project. A change is checked with all other partners, maps, guides and conditions before anything is
//! written. A lock on `partners/changes.jsonl` serializes changes of files, and a lock in the store those of all processes that use it.
//!
//! A change of partners in the store is one unit of work. For files, Quayline first writes all new files next to the old ones. It then appends a line
//! to `changes.jsonl` that records who changes what, commits the part in the store, and replaces each file atomically. A crash between two
//! replacements leaves some files old and some new: import the files again. A running server needs no restart, because it reads the partners for
//! each request and each round.

use std::fs::{self, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use quayline_project::ShapeOptions;
use quayline_project::partner::{PartnerFile, PartnerFolder, default_name, is_stored, json_of, stored_path, toml_of};
use quayline_store::Store;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::book::{Book, version_text};
use crate::codes;
use crate::stored::{self, StoredChange, StoredPartners};

/// The partners of a project, to change and to export.
pub struct Roster<'r> {
    /// Folder of the project.
    pub project: &'r Path,
    /// The store; without one, only files are seen.
    pub store: Option<&'r Store>,
    /// Limits and the cache for the check of a change.
    pub options: ShapeOptions,
}

/// Treatment of partners that exist already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Existing {
    /// The partner is replaced.
    Replaced,
    /// The change is refused.
    Refused,
}

/// Place of a partner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kept {
    /// A file in the folder `partners`.
    Files,
    /// A record in the store.
    Store,
}

impl Kept {
    /// Words for the places, in the order of the type.
    pub const WORDS: [&'static str; 2] = ["files", "store"];

    /// Reads one of [`Kept::WORDS`].
    #[must_use]
    pub fn named(word: &str) -> Option<Kept> {
        match word {
            "files" => Some(Kept::Files),
            "store" => Some(Kept::Store),
            _ => None,
        }
    }

    fn of(path: &Path) -> Kept {
        if is_stored(path) { Kept::Store } else { Kept::Files }
    }
}

/// What each partner of a change must be before the change. It detects changes of others.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Expected {
    /// Anything.
    #[default]
    Anything,
    /// There is no such partner.
    Nothing,
    /// There is such a partner, of any version.
    Something,
    /// The partner has one of these versions; see [`RosterText::version`].
    OneOf(Vec<String>),
}

impl Expected {
    /// Reads the conditions `If-Match` and `If-None-Match` of a request (RFC 9110, section 13.1). A weak tag keeps its prefix, so it matches no version.
    ///
    /// # Errors
    /// Both are given, or `If-None-Match` is not `*`: a change replaces at most the version that it names.
    pub fn of_conditions(if_match: Option<&str>, if_none_match: Option<&str>) -> Result<Expected, Findings> {
        match (if_match, if_none_match) {
            (None, None) => Ok(Expected::Anything),
            (None, Some("*")) => Ok(Expected::Nothing),
            (Some("*"), None) => Ok(Expected::Something),
            (Some(tags), None) => {
                Ok(Expected::OneOf(tags.split(',').map(|tag| tag.trim().trim_matches('"').to_owned()).collect()))
            }
            (_, Some(_)) => {
                let message = "`If-None-Match` of a change is not `*` alone";
                Err(wrong(message.to_owned(), "send If-Match with a version, or If-None-Match: *").into())
            }
        }
    }
}

/// A change of the partners of a project.
#[derive(Clone, Debug)]
pub struct RosterChange<'c> {
    /// Partners to write: the source of each text, which findings and the default name use, and the text in TOML or JSON.
    pub put: Vec<(PathBuf, String)>,
    /// Names of partners to remove.
    pub remove: Vec<String>,
    /// Treatment of partners that exist already.
    pub existing: Existing,
    /// Place of the partners. `None` is where each of them is, and the folder for new ones.
    pub kept: Option<Kept>,
    /// State before the change.
    pub expected: Expected,
    /// Name of the person who makes the change, for the record of changes.
    pub by: &'c str,
}

/// Effect of a change on one partner.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RosterLine {
    /// Name of the partner.
    pub name: String,
    /// `added`, `replaced`, `unchanged` or `removed`.
    pub what: &'static str,
    /// File of the partner, or its place in the store.
    pub path: PathBuf,
    /// Version of the partner after the change; empty if it is removed.
    pub version: String,
}

/// The text of a partner.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RosterText {
    /// Name of the partner.
    pub name: String,
    /// File of the partner, or its place in the store.
    pub path: PathBuf,
    /// The text in TOML, as it was written.
    pub text: String,
}

impl RosterText {
    /// Returns the version of the partner: a digest of its text, as the record of changes has it.
    #[must_use]
    pub fn version(&self) -> String {
        version_of(&self.text)
    }
}

/// The file that records changes, in the folder `partners`.
pub const CHANGES_FILE: &str = "changes.jsonl";

fn version_of(text: &str) -> String {
    version_text(xxh3_128(text.as_bytes()))
}

/// Lists the partner files of a project. A file that is not a valid partner has its file name as its name.
fn in_files(project: &Path) -> Result<Vec<RosterText>, Findings> {
    let folder = project.join("partners");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(|error| unwritable(&path, &error))?;
        Ok(RosterText { name: name_of(&path, &text), path, text })
    };
    PartnerFolder::files(&folder)?.into_iter().map(read).collect()
}

fn in_store(texts: Vec<(PathBuf, String)>) -> impl Iterator<Item = RosterText> {
    // The key of the record is the name.
    texts.into_iter().map(|(path, text)| RosterText { name: default_name(&path), path, text })
}

/// Returns the partner's name from the text of its file.
fn name_of(path: &Path, text: &str) -> String {
    let named = json_of(path, text).ok().and_then(|form| Some(form.get("name")?.as_str()?.to_owned()));
    named.unwrap_or_else(|| default_name(path))
}

/// Checks that a new text describes exactly one partner, with this name. Leaves unreadable text to [`Roster::change`].
///
/// # Errors
/// The text describes another partner, several partners or none.
pub fn is_partner(name: &str, source: &Path, text: &str) -> Result<(), Findings> {
    let Ok(texts) = texts_of(source, text) else { return Ok(()) };
    if texts.is_empty() {
        return Err(wrong("the body has no partner".to_owned(), "send one partner, in TOML or JSON").into());
    }
    let Some(other) = texts.iter().map(|text| name_of(source, text)).find(|one| one != name) else { return Ok(()) };
    let hint = "send the partner to the path with its name, or send several partners to /partner/import";
    Err(wrong(format!("the body is partner `{other}`, and the path names `{name}`"), hint).into())
}

fn wrong(message: String, hint: &str) -> Finding {
    Finding::error(codes::ROSTER, Fault::Caller, message).hint(hint)
}

/// The partners that result from a change, while it is made.
struct Changed<'c> {
    change: &'c RosterChange<'c>,
    folder: PathBuf,
    has_store: bool,
    before: Vec<RosterText>,
    after: Vec<(PathBuf, String)>,
    lines: Vec<RosterLine>,
    found: Vec<Finding>,
}

impl Changed<'_> {
    /// Returns the partner with a name as it is before the change, in the place of the change if it is in both.
    fn known(&self, name: &str) -> Option<&RosterText> {
        let in_place = |known: &&RosterText| self.change.kept.is_none_or(|kept| kept == Kept::of(&known.path));
        let mut named = self.before.iter().filter(|known| known.name == name);
        named.clone().find(in_place).or_else(|| named.next())
    }

    /// Checks that a partner is as the caller expects.
    fn check_version(&mut self, name: &str) {
        let known = self.known(name).map(|known| (known.version(), known.path.display().to_string()));
        let message = match (&self.change.expected, known) {
            (Expected::Anything, _) | (Expected::Nothing, None) | (Expected::Something, Some(_)) => return,
            (Expected::OneOf(versions), Some((version, _))) if versions.contains(&version) => return,
            (Expected::OneOf(_), Some((version, path))) => {
                format!("partner `{name}` in {path} was changed: its version is {version}")
            }
            (Expected::Nothing, Some((_, path))) => format!("there is a partner `{name}` already, in {path}"),
            (Expected::Something | Expected::OneOf(_), None) => format!("partner `{name}` does not exist any more"),
        };
        let finding = Finding::error(codes::VERSION, Fault::Caller, message);
        self.found
            .push(finding.hint("read the partner again, repeat the change in it, and send it with its new version"));
    }

    fn remove(&mut self, name: &str) {
        if self.lines.iter().any(|line| line.name == *name) {
            return;
        }
        self.check_version(name);
        let named = self.before.iter().filter(|known| known.name == name);
        let mut named = named.filter(|known| self.change.kept.is_none_or(|kept| kept == Kept::of(&known.path)));
        match (named.next(), named.next()) {
            (Some(known), None) => {
                let path = known.path.clone();
                self.after.retain(|(other, _)| *other != path);
                self.lines.push(RosterLine { name: name.to_owned(), what: "removed", path, version: String::new() });
            }
            (Some(known), Some(other)) => {
                let (one, other) = (known.path.display(), other.path.display());
                let message = format!("partner `{name}` is in {one} and in {other}");
                self.found.push(wrong(message, "name the place to remove it from: --in-store, or delete the file"));
            }
            (None, _) => {
                let names = self.before.iter().map(|known| known.name.as_str()).filter(|known| *known != name);
                let hint = quayline_core::nearest(name, names).map_or_else(
                    || "`quayline partner list` lists partners".to_owned(),
                    |meant| format!("did you mean `{meant}`?"),
                );
                let place = if self.change.kept == Some(Kept::Store) { " in the store" } else { "" };
                self.found.push(wrong(format!("partner `{name}` does not exist{place}"), &hint));
            }
        }
    }

    fn put(&mut self, source: &Path, given: &str) {
        let texts = match texts_of(source, given) {
            Ok(texts) => texts,
            Err(Findings(more)) => return self.found.extend(more),
        };
        for text in texts {
            // What is wrong with a file is reported at the place where the user has it.
            match PartnerFile::parse(source, &text) {
                // The name of the standard input is not a partner name.
                Ok((file, _)) if file.name == "-" => self.found.push(wrong(
                    "the partner has no `name`, and its source provides none".to_owned(),
                    "add name = \"NAME\"",
                )),
                Ok((file, _)) => self.put_one(file.name, text),
                Err(Findings(more)) => {
                    let is_converted = is_json(given);
                    let placed = |finding| if is_converted { of_json(finding, &text) } else { finding };
                    self.found.extend(more.into_iter().map(placed));
                }
            }
        }
    }

    fn put_one(&mut self, name: String, text: String) {
        if self.lines.iter().any(|line| line.name == name) {
            self.found.push(wrong(format!("partner `{name}` is in the change twice"), "leave one of them out"));
            return;
        }
        self.check_version(&name);
        let old = self.known(&name).map(|known| (known.path.clone(), known.text.clone()));
        if let (Some((path, _)), Existing::Refused) = (&old, self.change.existing) {
            let message = format!("there is a partner `{name}` already, in {}", path.display());
            self.found.push(wrong(message, "replace it with `quayline partner import`, or choose another name"));
            return;
        }
        let path = match (&old, self.change.kept) {
            (Some((path, _)), kept) if kept.is_none_or(|kept| kept == Kept::of(path)) => path.clone(),
            (Some((path, _)), _) => {
                let message = format!("there is a partner `{name}` already, in {}", path.display());
                let hint = match Kept::of(path) {
                    Kept::Store => "replace it there, or remove it from the store before you add the file",
                    Kept::Files => {
                        "replace it there, or move the file out of `partners` before you add it to the store"
                    }
                };
                self.found.push(wrong(message, hint));
                return;
            }
            (None, Some(Kept::Store)) => stored_path(&name),
            (None, _) => self.folder.join(format!("{name}.toml")),
        };
        if is_stored(&path) {
            if let Some(finding) = stored::check_size(&text) {
                self.found.push(finding);
                return;
            }
            if !self.has_store {
                self.found.push(wrong("there is no store for the partner".to_owned(), "name its folder with --store"));
                return;
            }
        }
        if old.is_none() && self.after.iter().any(|(other, _)| *other == path) {
            let message = format!("{} is the file of another partner", path.display());
            self.found.push(wrong(message, "rename that file, or choose another name for the partner"));
            return;
        }
        // The file's name is the partner's unless the text has one.
        let text =
            if name_of(&path, &text) == name { text } else { format!("name = {}\n{text}", Value::from(name.as_str())) };
        let what = match &old {
            None => "added",
            Some((_, known)) if *known == text => "unchanged",
            Some(_) => "replaced",
        };
        self.lines.push(RosterLine { name, what, path: path.clone(), version: version_of(&text) });
        self.after.retain(|(other, _)| *other != path);
        self.after.push((path, text));
    }

    /// Returns the lines of partners that change in a place.
    fn changing(&self, kept: Kept) -> impl Iterator<Item = &RosterLine> {
        self.lines.iter().filter(move |line| line.what != "unchanged" && Kept::of(&line.path) == kept)
    }

    fn text(&self, path: &Path) -> Option<&str> {
        self.after.iter().find(|(other, _)| other == path).map(|(_, text)| text.as_str())
    }

    /// Returns the line of JSON that records a change.
    fn line(&self, line: &RosterLine, now_ms: u64) -> String {
        let old = self.before.iter().find(|known| known.path == line.path).map(RosterText::version);
        let new = self.text(&line.path).map(version_of);
        let file = if is_stored(&line.path) {
            Some(line.path.display().to_string())
        } else {
            line.path.file_name().map(|name| name.to_string_lossy().into_owned())
        };
        json!({ "time": crate::time_text(now_ms), "by": self.change.by, "what": line.what, "partner": line.name,
            "file": file, "before": old, "after": new })
        .to_string()
    }

    /// Writes the part of the change that is in the store.
    fn store(&self, mut unit: StoredChange, now_ms: u64) -> Result<(), Findings> {
        for line in self.changing(Kept::Store) {
            match self.text(&line.path) {
                Some(text) => unit.put(&line.name, text)?,
                None => unit.remove(&line.name)?,
            }
            unit.record(&self.line(line, now_ms))?;
        }
        unit.commit()
    }
}

impl Roster<'_> {
    /// Changes partners. Checks all changes before it writes any. The part in the store is one unit of work; a crash or a full disk in the middle may
    /// leave some files old.
    ///
    /// # Errors
    /// Everything that would be wrong after the change; then nothing is changed. A file that cannot be written, and errors of the store.
    pub fn change(&self, change: &RosterChange<'_>, now_ms: u64) -> Result<Vec<RosterLine>, Findings> {
        let folder = self.project.join("partners");
        let makes_files = !change.put.is_empty() && change.kept != Some(Kept::Store);
        if makes_files {
            fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
        }
        let _alone = if folder.is_dir() { locked(&folder, makes_files)? } else { None };
        // Partners in the store are part of the check of every change, so they must not change either.
        let unit = self.store.map(StoredChange::begin).transpose()?;
        let mut before = in_files(self.project)?;
        before.extend(
            unit.iter().map(StoredChange::texts).collect::<Result<Vec<_>, _>>()?.into_iter().flat_map(in_store),
        );
        let after = before.iter().map(|known| (known.path.clone(), known.text.clone())).collect();
        let has_store = unit.is_some();
        let (lines, found) = (Vec::new(), Vec::new());
        let mut changed = Changed { change, folder, has_store, before, after, lines, found };
        change.remove.iter().for_each(|name| changed.remove(name));
        change.put.iter().for_each(|(source, given)| changed.put(source, given));
        if !changed.found.is_empty() {
            return Err(Findings(changed.found));
        }
        changed.after.sort();
        let now_us = i64::try_from(now_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let all = PartnerFolder::of_texts(&changed.after, &changed.folder, self.project, Vec::new())?;
        Book::of(all, self.project, self.options.clone(), (now_us, 0))?.check()?;
        let mut partials = Partials::default();
        for line in changed.changing(Kept::Files) {
            if let Some(text) = changed.text(&line.path) {
                partials.write(&line.path, text).map_err(|error| unwritable(&line.path, &error))?;
            }
        }
        let in_files: Vec<&RosterLine> = changed.changing(Kept::Files).collect();
        record(&changed, in_files.iter().copied(), now_ms)?;
        let stored = unit.map_or(Ok(()), |unit| changed.store(unit, now_ms));
        let removed = || in_files.iter().filter(|line| line.what == "removed");
        let applied = stored.and_then(|()| partials.rename_all()).and_then(|()| {
            removed().try_for_each(|line| fs::remove_file(&line.path).map_err(|error| unwritable(&line.path, &error)))
        });
        if let Err(findings) = applied {
            let is_left =
                |line: &&&RosterLine| partials.has(&line.path) || line.what == "removed" && line.path.exists();
            let left: Vec<RosterLine> =
                in_files.iter().filter(is_left).map(|line| RosterLine { what: "failed", ..(*line).clone() }).collect();
            // The reason why the change failed matters more than that this cannot be recorded.
            let _ = record(&changed, left.iter(), now_ms);
            return Err(findings);
        }
        if !in_files.is_empty() {
            let folder = &changed.folder;
            fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| unwritable(folder, &error))?;
        }
        Ok(changed.lines)
    }

    /// Returns partners with their texts: all, or those with these names, in a place or in both.
    ///
    /// # Errors
    /// A name without a partner, a file that cannot be read, and errors of the store.
    pub fn texts(&self, names: &[String], kept: Option<Kept>) -> Result<Vec<RosterText>, Findings> {
        let mut all = if kept == Some(Kept::Store) { Vec::new() } else { in_files(self.project)? };
        if let Some(store) = self.store.filter(|_| kept != Some(Kept::Files)) {
            all.extend(in_store(StoredPartners::read(store)?.texts));
        }
        // Files are sorted by their path, which may differ from the name.
        all.sort_by(|one, other| one.name.cmp(&other.name));
        let missing = names.iter().filter(|name| all.iter().all(|known| known.name != **name));
        let missing: Vec<Finding> = missing
            .map(|name| wrong(format!("partner `{name}` does not exist"), "`quayline partner list` lists partners"))
            .collect();
        if !missing.is_empty() {
            return Err(Findings(missing));
        }
        Ok(all.into_iter().filter(|known| names.is_empty() || names.contains(&known.name)).collect())
    }

    /// Returns partners in JSON, for programs: those of [`Roster::texts`].
    ///
    /// # Errors
    /// As [`Roster::texts`], and texts that are not TOML.
    pub fn export(&self, names: &[String], kept: Option<Kept>) -> Result<Value, Findings> {
        let all = self.texts(names, kept)?;
        let forms = all.iter().map(|known| json_of(&known.path, &known.text)).collect::<Result<Vec<_>, _>>()?;
        Ok(json!({ "partners": forms }))
    }

    /// Returns one partner with its text, in a place or in one of both.
    ///
    /// # Errors
    /// The partner does not exist, or is in a file and in the store; as [`Roster::texts`].
    pub fn text(&self, name: &str, kept: Option<Kept>) -> Result<RosterText, Findings> {
        let mut all = self.texts(&[name.to_owned()], kept)?.into_iter();
        match (all.next(), all.next()) {
            (Some(one), None) => Ok(one),
            (Some(one), Some(other)) => {
                let (one, other) = (one.path.display(), other.path.display());
                Err(wrong(format!("partner `{name}` is in {one} and in {other}"), "remove one of them").into())
            }
            (None, _) => Err(wrong(format!("partner `{name}` does not exist"), "").into()),
        }
    }

    /// Returns lines of both records of changes as JSON, the newest first, at most `count`.
    ///
    /// # Errors
    /// A file that cannot be read, and errors of the store.
    pub fn changes(&self, count: usize) -> Result<Vec<Value>, Findings> {
        let path = self.project.join("partners").join(CHANGES_FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| unwritable(&path, &error))?,
        };
        let stored = self.store.map(|store| stored::recorded(store, count)).transpose()?.unwrap_or_default();
        let mut all: Vec<Value> =
            text.lines().rev().take(count).filter_map(|line| serde_json::from_str(line).ok()).collect();
        all.extend(stored);
        // Times are texts in UTC of the same length. The sort is stable, so changes of one second keep their order.
        all.sort_by(|one, other| other["time"].as_str().cmp(&one["time"].as_str()));
        all.truncate(count);
        Ok(all)
    }
}

/// Returns the TOML of each partner in a text.
fn texts_of(source: &Path, text: &str) -> Result<Vec<String>, Findings> {
    if is_json(text) { toml_of(&source.display().to_string(), text) } else { Ok(vec![text.to_owned()]) }
}

/// Returns true if text that begins like JSON is JSON. A TOML file may begin with a table, which looks similar.
fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('{') || text.starts_with('[') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Appends changes of files to the record of changes before they happen. Therefore nothing changes without a line.
fn record<'l>(changed: &Changed<'_>, lines: impl Iterator<Item = &'l RosterLine>, now_ms: u64) -> Result<(), Findings> {
    let text: String = lines.map(|line| changed.line(line, now_ms) + "\n").collect();
    if text.is_empty() {
        return Ok(());
    }
    let path = changed.folder.join(CHANGES_FILE);
    let append = || -> io::Result<()> {
        let mut file = fs::File::options().create(true).append(true).open(&path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    append().map_err(|error| unwritable(&path, &error))
}

/// Locks the record of changes until the returned file is closed. Network file systems lock only files that are open for writing. Files that cannot
/// be written need no lock if the change makes none.
fn locked(folder: &Path, makes_files: bool) -> Result<Option<fs::File>, Findings> {
    const WAIT: Duration = Duration::from_secs(5);
    const PAUSE: Duration = Duration::from_millis(10);
    let path = folder.join(CHANGES_FILE);
    let failed = |error: &io::Error| unwritable(&path, error);
    let file = match fs::File::options().create(true).append(true).open(&path) {
        Err(error)
            if !makes_files
                && matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =>
        {
            return Ok(None);
        }
        opened => opened.map_err(|error| failed(&error))?,
    };
    let mut pauses = WAIT.as_millis() / PAUSE.as_millis();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if pauses > 0 => {
                pauses -= 1;
                std::thread::sleep(PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
                let message = format!("another process has changed partners for {} s", WAIT.as_secs());
                let finding = Finding::error(codes::ROSTER_FILE, Fault::Environment, message).at(place);
                return Err(finding.hint("wait until it ends, or end it; then run the command again").into());
            }
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
    }
}

/// New files next to the old ones. Drop removes those that were not renamed.
#[derive(Default)]
struct Partials(Vec<(PathBuf, PathBuf)>);

impl Partials {
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let partial = path.with_extension("toml.partial");
        self.0.push((partial.clone(), path.to_owned()));
        let mut file = fs::File::create(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// Returns true if a new file has not been renamed into place yet.
    fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|(_, of)| of == path)
    }

    fn rename_all(&mut self) -> Result<(), Findings> {
        while let Some((partial, path)) = self.0.last() {
            fs::rename(partial, path).map_err(|error| unwritable(path, &error))?;
            self.0.pop();
        }
        Ok(())
    }
}

impl Drop for Partials {
    fn drop(&mut self) {
        for (partial, _) in &self.0 {
            // The next change writes it anew; files of this name are not read.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Removes lines and columns from a finding of a partner that came as JSON. They refer to a converted text that the user does not have.
fn of_json(mut finding: Finding, text: &str) -> Finding {
    let name = name_of(Path::new(""), text);
    finding.place.line = None;
    finding.place.column = None;
    finding.place.line_text = None;
    if !name.is_empty() {
        finding.place.path = Some(format!("partner {name}"));
    }
    finding
}

fn unwritable(path: &Path, error: &io::Error) -> Findings {
    let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
    let message = format!("the partner file cannot be read or written: {}", system_error_text(error));
    let finding = Finding::error(codes::ROSTER_FILE, Fault::Environment, message).at(place);
    finding.hint("correct the folder `partners`, then import the files again, or remove the remaining partners; `changes.jsonl` lists the changes").into()
}
