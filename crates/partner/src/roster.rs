//! Changes of partner files by command and over HTTP.
//!
//! Files in `partners/` are the only place where partners are, so an editor, version control, commands and HTTP see the same. A change is checked
//! with all other files, maps, guides and conditions before anything is written. A lock on `partners/changes.jsonl` serializes changes. Quayline first
//! writes all new files next to the old ones. It then appends a line to `changes.jsonl` that records who changes what, and replaces each file
//! atomically. A crash between two replacements leaves some files old and some new: import the files again. A running server needs no
//! restart, because it reads the files for each request and each round.

use std::fs::{self, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use quayline_project::ShapeOptions;
use quayline_project::partner::{PartnerFile, PartnerFolder, json_of, toml_of};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::book::Book;
use crate::codes;

/// Treatment of partners that exist already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Existing {
    /// The partner's file is replaced.
    Replaced,
    /// The change is refused.
    Refused,
}

/// A change of the partners of a project.
#[derive(Clone, Debug)]
pub struct RosterChange<'c> {
    /// Partner files to write: the source of each text, which findings and the default name use, and the text in TOML or JSON.
    pub put: Vec<(PathBuf, String)>,
    /// Names of partners to remove.
    pub remove: Vec<String>,
    /// Treatment of partners that exist already.
    pub existing: Existing,
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
    /// File of the partner.
    pub path: PathBuf,
}

/// The file that records changes, in the folder `partners`.
pub const CHANGES_FILE: &str = "changes.jsonl";

/// A partner file of the project.
struct Known {
    name: String,
    path: PathBuf,
    text: String,
}

/// Lists the partner files of a project. A file that is not a valid partner has its file name as its name.
fn known(project: &Path) -> Result<Vec<Known>, Findings> {
    let folder = project.join("partners");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(|error| unwritable(&path, &error))?;
        Ok(Known { name: name_of(&path, &text), path, text })
    };
    PartnerFolder::files(&folder)?.into_iter().map(read).collect()
}

/// Returns the partner's name from the text of its file.
fn name_of(path: &Path, text: &str) -> String {
    let named = json_of(path, text).ok().and_then(|form| Some(form.get("name")?.as_str()?.to_owned()));
    named.unwrap_or_else(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default())
}

/// Checks that a new text describes exactly one partner, with this name. Leaves unreadable text to [`change_partners`].
///
/// # Errors
/// The text describes another partner, several partners or none.
pub fn is_partner(name: &str, source: &Path, text: &str) -> Result<(), Findings> {
    let Ok(texts) = texts_of(source, text) else { return Ok(()) };
    let wrong = |message: String, hint: &str| Finding::error(codes::ROSTER, Fault::Caller, message).hint(hint);
    if texts.is_empty() {
        return Err(wrong("the body has no partner".to_owned(), "send one partner, in TOML or JSON").into());
    }
    let Some(other) = texts.iter().map(|text| name_of(source, text)).find(|one| one != name) else { return Ok(()) };
    let hint = "send the partner to the path with its name, or send several partners to /partner/import";
    Err(wrong(format!("the body is partner `{other}`, and the path names `{name}`"), hint).into())
}

/// Changes the partners of a project. Checks all changes before it writes any. A crash or a full disk in the middle may leave some files old.
///
/// # Errors
/// Everything that would be wrong after the change; then nothing is changed. A file that cannot be written.
pub fn change_partners(
    project: &Path,
    options: ShapeOptions,
    change: &RosterChange<'_>,
    now_ms: u64,
) -> Result<Vec<RosterLine>, Findings> {
    let folder = project.join("partners");
    if !change.put.is_empty() {
        fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    }
    let _alone = if folder.is_dir() { Some(locked(&folder)?) } else { None };
    let before = known(project)?;
    let mut after: Vec<(PathBuf, String)> =
        before.iter().map(|known| (known.path.clone(), known.text.clone())).collect();
    let mut lines: Vec<RosterLine> = Vec::new();
    let mut found: Vec<Finding> = Vec::new();
    let wrong = |message: String, hint: &str| Finding::error(codes::ROSTER, Fault::Caller, message).hint(hint);
    for name in &change.remove {
        if lines.iter().any(|line| line.name == *name) {
            continue;
        }
        match before.iter().find(|known| known.name == *name) {
            Some(known) => {
                after.retain(|(path, _)| *path != known.path);
                lines.push(RosterLine { name: name.clone(), what: "removed", path: known.path.clone() });
            }
            None => {
                let names = before.iter().map(|known| known.name.as_str());
                let hint = quayline_core::nearest(name, names).map_or_else(
                    || "`quayline partner list` lists partners".to_owned(),
                    |meant| format!("did you mean `{meant}`?"),
                );
                found.push(wrong(format!("partner `{name}` does not exist"), &hint));
            }
        }
    }
    for (source, given) in &change.put {
        let texts = match texts_of(source, given) {
            Ok(texts) => texts,
            Err(Findings(more)) => {
                found.extend(more);
                continue;
            }
        };
        for text in texts {
            // What is wrong with a file is reported at the place where the user has it.
            let name = match PartnerFile::parse(source, &text) {
                // The name of the standard input is not a partner name.
                Ok((file, _)) if file.name == "-" => {
                    found.push(wrong(
                        "the partner has no `name`, and its source provides none".to_owned(),
                        "add name = \"NAME\"",
                    ));
                    continue;
                }
                Ok((file, _)) => file.name,
                Err(Findings(more)) => {
                    let is_converted = is_json(given);
                    found.extend(
                        more.into_iter().map(|finding| if is_converted { of_json(finding, &text) } else { finding }),
                    );
                    continue;
                }
            };
            if lines.iter().any(|line| line.name == name) {
                found.push(wrong(format!("partner `{name}` is in the change twice"), "leave one of them out"));
                continue;
            }
            let old = before.iter().find(|known| known.name == name);
            if let (Some(known), Existing::Refused) = (old, change.existing) {
                let message = format!("there is a partner `{name}` already, in {}", known.path.display());
                found.push(wrong(message, "replace it with `quayline partner import`, or choose another name"));
                continue;
            }
            let path = old.map_or_else(|| folder.join(format!("{name}.toml")), |known| known.path.clone());
            if old.is_none() && after.iter().any(|(other, _)| *other == path) {
                let message = format!("{} is the file of another partner", path.display());
                found.push(wrong(message, "rename that file, or choose another name for the partner"));
                continue;
            }
            // The file's name is the partner's unless the text has one.
            let text = if name_of(&path, &text) == name {
                text
            } else {
                format!("name = {}\n{text}", Value::from(name.as_str()))
            };
            let what = match old {
                None => "added",
                Some(known) if known.text == text => "unchanged",
                Some(_) => "replaced",
            };
            after.retain(|(other, _)| *other != path);
            after.push((path.clone(), text));
            lines.push(RosterLine { name, what, path });
        }
    }
    if !found.is_empty() {
        return Err(Findings(found));
    }
    after.sort();
    let now_us = i64::try_from(now_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
    let all = PartnerFolder::of_texts(&after, &folder, project, Vec::new())?;
    Book::of(all, project, options, (now_us, 0))?.check()?;
    let mut partials = Partials::default();
    for (path, text) in &after {
        let is_new = |line: &RosterLine| line.path == *path && matches!(line.what, "added" | "replaced");
        if lines.iter().any(is_new) {
            partials.write(path, text).map_err(|error| unwritable(path, &error))?;
        }
    }
    record(&folder, change.by, &lines, (&before, &after), now_ms)?;
    let removed = || lines.iter().filter(|line| line.what == "removed");
    let applied = partials.rename_all().and_then(|()| {
        removed().try_for_each(|line| fs::remove_file(&line.path).map_err(|error| unwritable(&line.path, &error)))
    });
    if let Err(findings) = applied {
        let is_left = |line: &&RosterLine| partials.has(&line.path) || line.what == "removed" && line.path.exists();
        let left = lines.iter().filter(is_left).map(|line| RosterLine { what: "failed", ..line.clone() });
        // The reason why the change failed matters more than that this cannot be recorded.
        let _ = record(&folder, change.by, &left.collect::<Vec<_>>(), (&before, &after), now_ms);
        return Err(findings);
    }
    if lines.iter().any(|line| line.what != "unchanged") {
        fs::File::open(&folder).and_then(|folder| folder.sync_all()).map_err(|error| unwritable(&folder, &error))?;
    }
    Ok(lines)
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

/// Appends a change to the record of changes before the change happens. Therefore nothing changes without a line.
fn record(
    folder: &Path,
    by: &str,
    lines: &[RosterLine],
    (before, after): (&[Known], &[(PathBuf, String)]),
    now_ms: u64,
) -> Result<(), Findings> {
    let mut text = String::new();
    for line in lines.iter().filter(|line| line.what != "unchanged") {
        let digest = |text: &str| format!("{:032x}", xxh3_128(text.as_bytes()));
        let old = before.iter().find(|known| known.path == line.path).map(|known| digest(&known.text));
        let new = after.iter().find(|(path, _)| *path == line.path).map(|(_, text)| digest(text));
        let file = line.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let entry = json!({ "time": crate::time_text(now_ms), "by": by, "what": line.what, "partner": line.name,
            "file": file, "before": old, "after": new });
        text.push_str(&entry.to_string());
        text.push('\n');
    }
    if text.is_empty() {
        return Ok(());
    }
    let path = folder.join(CHANGES_FILE);
    let append = || -> io::Result<()> {
        let mut file = fs::File::options().create(true).append(true).open(&path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    append().map_err(|error| unwritable(&path, &error))
}

/// Locks the record of changes until the returned file is closed. Network file systems lock only files that are open for writing.
fn locked(folder: &Path) -> Result<fs::File, Findings> {
    const WAIT: Duration = Duration::from_secs(5);
    let path = folder.join(CHANGES_FILE);
    let failed = |error: &io::Error| unwritable(&path, error);
    let file = fs::File::options().create(true).append(true).open(&path).map_err(|error| failed(&error))?;
    let end = Instant::now() + WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
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

/// Returns partner files of a project in JSON, for programs: all, or those with these names.
///
/// # Errors
/// A name without a partner, or a file that cannot be read.
pub fn export_partners(project: &Path, names: &[String]) -> Result<Value, Findings> {
    let all = chosen(project, names)?;
    let forms = all.iter().map(|known| json_of(&known.path, &known.text)).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({ "partners": forms }))
}

/// Returns the text of a partner's file.
///
/// # Errors
/// The partner does not exist, or its file cannot be read.
pub fn partner_text(project: &Path, name: &str) -> Result<String, Findings> {
    let all = chosen(project, &[name.to_owned()])?;
    Ok(all.into_iter().next().map(|known| known.text).unwrap_or_default())
}

fn chosen(project: &Path, names: &[String]) -> Result<Vec<Known>, Findings> {
    let all = known(project)?;
    let missing = names.iter().filter(|name| all.iter().all(|known| known.name != **name));
    let missing: Vec<Finding> = missing
        .map(|name| {
            let finding = Finding::error(codes::ROSTER, Fault::Caller, format!("partner `{name}` does not exist"));
            finding.hint("`quayline partner list` lists partners")
        })
        .collect();
    if !missing.is_empty() {
        return Err(Findings(missing));
    }
    Ok(all.into_iter().filter(|known| names.is_empty() || names.contains(&known.name)).collect())
}

fn unwritable(path: &Path, error: &io::Error) -> Findings {
    let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
    let message = format!("the partner file cannot be read or written: {}", system_error_text(error));
    let finding = Finding::error(codes::ROSTER_FILE, Fault::Environment, message).at(place);
    finding.hint("correct the folder `partners`, then import the files again, or remove the remaining partners; `changes.jsonl` lists the changes").into()
}
