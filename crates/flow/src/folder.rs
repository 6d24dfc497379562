//! Files of a folder as messages, each once.
//!
//! ```text
//! checkpoint "flow-folder/FLOW/NODE/NAME" ─▶ length and time of the file (16 bytes)
//! ```
//!
//! The checkpoint commits with what the flow makes of the file. Then the file moves to the folder of processed files, and the checkpoint is removed. A file
//! whose checkpoint is there when a look finds it was processed before, and is only moved.
//!
//! A file is taken once it has been unchanged for a time. Its length and time are compared again after it was read, before the commit, before it moves, and
//! after it moved. The number of its inode would identify it better, but some network file systems change that number, and then no file could move.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use quayline_store::queue::MessageId;
use quayline_store::{Space, Store};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Folder in the folder of the input, for files that failed too often.
const FAILED: &str = "failed";
/// Failures after which a file moves there.
const ATTEMPTS_MAX: u32 = 3;
/// Time that a file must be unchanged before it is read. Default 5 s, as for the folders of partners.
pub(crate) const SETTLE_MS: u64 = 5_000;
/// Longest file that becomes one message: the longest message of a queue.
const FILE_BYTES_MAX: u64 = 100 << 20;

/// The folder of an input.
pub(crate) struct Folder {
    folder: PathBuf,
    done: PathBuf,
    pattern: String,
    prefix: String,
    settle: Duration,
    /// Length and time at the last look, and since when they are so: a file that still grows is left for a later one. The clock is this machine's, as
    /// that of a file server may differ.
    seen: HashMap<PathBuf, ([u8; 16], Instant)>,
    found: VecDeque<PathBuf>,
    attempts: HashMap<PathBuf, u32>,
    taken: std::collections::HashSet<PathBuf>,
}

/// A file that is a message now.
pub(crate) struct Taken {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
    pub(crate) checkpoint: String,
    pub(crate) fingerprint: [u8; 16],
    /// Id of its message: the same after a restart, and no other file has it.
    pub(crate) id: MessageId,
    pub(crate) processed: Processed,
}

/// A file that is to be moved to the folder of processed files.
#[derive(Clone, Debug)]
pub(crate) struct Processed {
    from: PathBuf,
    to: PathBuf,
    checkpoint: String,
    fingerprint: [u8; 16],
}

impl Processed {
    /// Returns true if the file has changed since it was read.
    pub(crate) fn is_changed(&self) -> bool {
        fs::metadata(&self.from).map_or(true, |meta| fingerprint(&meta) != self.fingerprint)
    }

    /// Moves the file, then removes its checkpoint. A file that changed since it was read is not moved: it becomes another message.
    pub(crate) fn finish(&self, store: &Store) -> Result<(), String> {
        if self.is_changed() {
            let from = self.from.display();
            return Err(format!("{from} changed after it was processed, so it stays and becomes another message"));
        }
        self.finish_unchanged(store)
    }

    /// Moves the file, and moves it back if another one has taken its place since it was compared.
    fn finish_unchanged(&self, store: &Store) -> Result<(), String> {
        let moved = move_file(&self.from, &self.to)?;
        if fs::metadata(&moved).is_ok_and(|meta| fingerprint(&meta) != self.fingerprint) {
            let back = move_file(&moved, &self.from)?;
            let (from, back) = (self.from.display(), back.display());
            return Err(format!("{from} was replaced while it moved: {back} stays and becomes another message"));
        }
        let mut unit = store.begin().map_err(|error| error.to_string())?;
        unit.delete(Space::CHECKPOINTS, self.checkpoint.as_bytes()).map_err(|error| error.to_string())?;
        unit.submit_with(Box::new(|_| ()));
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.from
    }
}

/// Moves a file and returns its path, which has a time at its end if there is a file of the name.
fn move_file(from: &Path, to: &Path) -> Result<PathBuf, String> {
    let shown = |error: std::io::Error| {
        format!("{} cannot be moved: {}", from.display(), quayline_core::system_error_text(&error))
    };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(shown)?;
    }
    let to = unused(to);
    fs::rename(from, &to).map_err(shown)?;
    Ok(to)
}

/// Returns the path, or a path with the time added to its name if the file exists.
fn unused(path: &Path) -> PathBuf {
    if path.symlink_metadata().is_err() {
        return path.to_owned();
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let mut ms = now.as_millis();
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{ms}"));
        let other = path.with_file_name(name);
        if other.symlink_metadata().is_err() {
            return other;
        }
        ms += 1;
    }
}

fn fingerprint(meta: &fs::Metadata) -> [u8; 16] {
    let time = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or(Duration::ZERO);
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let mut print = [0; 16];
    print[..8].copy_from_slice(&meta.len().to_le_bytes());
    print[8..].copy_from_slice(&ns.to_le_bytes());
    print
}

/// Computes the id of a file's message from the input, the name, the length and the time.
fn message_id(checkpoint: &str, print: &[u8; 16]) -> MessageId {
    let whole = [checkpoint.as_bytes(), &[0], print].concat();
    let mut id = [0; 24];
    id[..16].copy_from_slice(&xxh3_128(&whole).to_be_bytes());
    id[16..].copy_from_slice(&xxh3_64(&whole).to_be_bytes());
    id
}

impl Folder {
    pub(crate) fn new(root: &Path, flow: &str, node: &str, folder: &str, pattern: &str, done: Option<&str>) -> Self {
        let folder = root.join(folder);
        Folder {
            done: done.map_or_else(|| folder.join("done"), |done| root.join(done)),
            folder,
            pattern: pattern.to_owned(),
            prefix: format!("flow-folder/{flow}/{node}/"),
            settle: Duration::from_millis(SETTLE_MS),
            seen: HashMap::new(),
            found: VecDeque::new(),
            attempts: HashMap::new(),
            taken: std::collections::HashSet::new(),
        }
    }

    /// Takes files that have been unchanged for this time.
    pub(crate) fn settled_after(mut self, settle: Duration) -> Self {
        self.settle = settle;
        self
    }

    /// Looks into the folder.
    pub(crate) fn look(&mut self) -> Result<(), String> {
        let shown = |error: std::io::Error| {
            format!("folder {} cannot be read: {}", self.folder.display(), quayline_core::system_error_text(&error))
        };
        let mut now = HashMap::new();
        let mut ready = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(shown)? {
            let entry = entry.map_err(shown)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let Ok(meta) = entry.metadata() else { continue };
            if !meta.is_file() || name.starts_with('.') || !fits(&self.pattern, name) {
                continue;
            }
            let (path, print) = (entry.path(), fingerprint(&meta));
            let since = self.seen.get(&path).filter(|(known, _)| *known == print).map(|(_, since)| *since);
            if since.is_some_and(|since| since.elapsed() >= self.settle) && !self.taken.contains(&path) {
                ready.push(path.clone());
            }
            now.insert(path, (print, since.unwrap_or_else(Instant::now)));
        }
        // What an earlier look found is among them, unless it changed since.
        ready.sort();
        self.seen = now;
        self.attempts.retain(|path, _| self.seen.contains_key(path));
        self.found = ready.into();
        Ok(())
    }

    /// Returns the next file; `Ok(None)` if no file is left. An error is about one file, which is not moved.
    pub(crate) fn next(&mut self, store: &Store) -> Result<Option<Taken>, String> {
        while let Some(path) = self.found.pop_front() {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("file").to_owned();
            let checkpoint = format!("{}{name}", self.prefix);
            let shown = |error: std::io::Error| {
                format!("{} cannot be read: {}", path.display(), quayline_core::system_error_text(&error))
            };
            let meta = fs::metadata(&path).map_err(shown)?;
            let print = fingerprint(&meta);
            let processed = Processed {
                to: self.done.join(&name),
                from: path.clone(),
                checkpoint: checkpoint.clone(),
                fingerprint: print,
            };
            let unit = store.begin().map_err(|error| error.to_string())?;
            let known = unit.checkpoint(&checkpoint).map_err(|error| error.to_string())?;
            if known.as_deref() == Some(&print[..]) {
                processed.finish(store)?;
                continue;
            }
            if meta.len() > FILE_BYTES_MAX {
                self.give_up(&path)?;
                return Err(format!(
                    "{} has {} bytes, at most {FILE_BYTES_MAX} become a message; it is moved to `failed`",
                    path.display(),
                    meta.len()
                ));
            }
            let content = fs::read(&path).map_err(shown)?;
            if processed.is_changed() {
                // Somebody writes it now: a later look finds it complete.
                continue;
            }
            self.taken.insert(path);
            let id = message_id(&checkpoint, &print);
            return Ok(Some(Taken { name, content, checkpoint, fingerprint: print, id, processed }));
        }
        Ok(None)
    }

    /// Releases a file that was taken without a unit of work.
    pub(crate) fn give_back(&mut self, path: &Path) {
        self.taken.remove(path);
    }

    /// Records the outcome of a file's unit of work. A file that failed too often moves to `failed`; the result says so.
    pub(crate) fn ended(&mut self, path: &Path, is_good: bool, is_early: bool) -> Result<Option<String>, String> {
        self.taken.remove(path);
        // Since when it is unchanged is found anew.
        self.seen.remove(path);
        if is_good || is_early {
            self.attempts.remove(path);
            return Ok(None);
        }
        let attempts = self.attempts.entry(path.to_owned()).or_insert(0);
        *attempts += 1;
        if *attempts < ATTEMPTS_MAX {
            return Ok(None);
        }
        self.give_up(path)?;
        let (file, failed) = (path.display(), self.folder.join(FAILED));
        Ok(Some(format!("{file} failed {ATTEMPTS_MAX} times and is now in {}", failed.display())))
    }

    fn give_up(&mut self, path: &Path) -> Result<(), String> {
        self.attempts.remove(path);
        let name = path.file_name().unwrap_or_default();
        move_file(path, &self.folder.join(FAILED).join(name)).map(drop)
    }
}

/// Returns true if a name matches a pattern with `*` and `?`.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    p = at + 1;
                    n = from + 1;
                    star = Some((at, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

    use std::sync::Arc;

    use quayline_store::{Access, MemoryEngine, StoreLimits, SystemClock};

    use super::*;

    /// A file that took the place of a processed one between the last comparison and the move went to the processed files unread.
    #[test]
    fn a_file_that_replaces_a_processed_one_while_it_moves_is_read() {
        let store =
            Store::open(Arc::new(MemoryEngine::new()), Arc::new(SystemClock), StoreLimits::default(), Access::Write)
                .unwrap();
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("in");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("a"), "first").unwrap();
        let mut folder = Folder::new(root.path(), "f", "n", "in", "*", None).settled_after(Duration::ZERO);
        let mut next = || {
            // The first look finds it, and the second finds it unchanged.
            folder.look().unwrap();
            folder.look().unwrap();
            let taken = folder.next(&store).unwrap().unwrap();
            folder.ended(taken.processed.path(), true, false).unwrap();
            taken
        };
        let taken = next();
        assert_eq!(taken.content, b"first");
        let mut unit = store.begin().unwrap();
        unit.put_checkpoint(&taken.checkpoint, &taken.fingerprint).unwrap();
        unit.commit().unwrap();
        assert!(!taken.processed.is_changed());
        fs::write(place.join("new"), "another").unwrap();
        fs::rename(place.join("new"), place.join("a")).unwrap();
        let why = taken.processed.finish_unchanged(&store).unwrap_err();
        assert!(why.contains("was replaced while it moved"), "{why}");
        assert_eq!(fs::read_dir(place.join("done")).unwrap().count(), 0);
        let taken = next();
        assert_eq!(taken.content, b"another");
        taken.processed.finish(&store).unwrap();
        assert_eq!(fs::read(place.join("done/a")).unwrap(), b"another");
    }

    #[test]
    fn patterns_have_stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("*", "a.b", true),
            ("*.edi", "x.edi", true),
            ("*.edi", "x.ed", false),
            ("a?c*", "abcd", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b", "ac", false),
            ("", "", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
