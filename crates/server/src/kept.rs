//! Intervals that outlive the process: in a record file of the store, or in a file of lines.
//!
//! | record file | key | record |
//! |---|---|---|
//! | `WORKLOAD.INTERVALS` | begin, milliseconds since 1970 (8) | the key, then the interval as JSON |

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use quayline_store::record_file::{By, FileDefinition, KeyPlace, Organisation, RecordFile, Relation};
use quayline_store::{Store, StoreError};
use quayline_workload::Interval;

/// Name of the record file.
pub(crate) const NAME: &str = "WORKLOAD.INTERVALS";
const KEY_BYTES: u32 = 8;
/// Most bytes of an interval: 100 members of each class.
const RECORD_BYTES_MAX: u32 = 1 << 20;

/// Storage of intervals beyond the life of the process.
pub(crate) trait Kept {
    /// Stores an interval and removes the oldest ones above the limit.
    fn keep(&mut self, interval: &Interval) -> Result<(), String>;
    /// Returns the last intervals, ascending.
    fn last(&self, count: usize) -> Result<Vec<Interval>, String>;
}

/// Intervals in a store.
pub(crate) struct KeptIntervals {
    store: Store,
    keep: u64,
    /// The record file and its number of records; `None` before the first interval.
    file: Option<(RecordFile, u64)>,
}

impl KeptIntervals {
    pub(crate) fn new(store: &Store, keep: u64) -> KeptIntervals {
        KeptIntervals { store: store.clone(), keep, file: None }
    }

    /// Opens the record file, and defines it if it is missing.
    fn open(&self) -> Result<(RecordFile, u64), StoreError> {
        let mut unit = self.store.begin()?;
        let file = match self.store.file(&unit, NAME) {
            Err(StoreError::FileMissing { .. }) => {
                let definition = FileDefinition {
                    name: NAME.to_owned(),
                    organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: KEY_BYTES }),
                    record_bytes_min: KEY_BYTES,
                    record_bytes_max: RECORD_BYTES_MAX,
                    alternates: Vec::new(),
                };
                let file = self.store.define_file(&mut unit, definition)?;
                unit.commit()?;
                file
            }
            found => found?,
        };
        let mut count = 0;
        file.scan(&self.store.begin()?, &mut |_, _| {
            count += 1;
            Ok(())
        })?;
        Ok((file, count))
    }

    fn keep_one(&mut self, interval: &Interval) -> Result<(), StoreError> {
        let (file, known) = match self.file.take() {
            Some(opened) => opened,
            None => self.open()?,
        };
        let mut record = interval.begin_ms.to_be_bytes().to_vec();
        record.extend_from_slice(interval.json().as_bytes());
        let mut unit = self.store.begin()?;
        let is_new = file.read(&unit, By::Key(&record[..8]), Relation::Equal).is_err();
        file.set(&mut unit, &record)?;
        let mut count = known + u64::from(is_new);
        let mut browse = file.browse();
        browse.to_begin();
        while count > self.keep {
            let oldest = browse.next(&unit)?;
            let key: Vec<u8> = oldest.bytes.iter().take(8).copied().collect();
            file.remove(&mut unit, &key)?;
            count -= 1;
        }
        unit.commit()?;
        self.file = Some((file, count));
        Ok(())
    }
}

impl Kept for KeptIntervals {
    fn keep(&mut self, interval: &Interval) -> Result<(), String> {
        self.keep_one(interval).map_err(|error| error.to_string())
    }

    fn last(&self, count: usize) -> Result<Vec<Interval>, String> {
        kept_intervals(&self.store, count).map_err(|error| error.to_string())
    }
}

/// Returns the last stored intervals, ascending; none without the record file.
///
/// # Errors
/// Those of the store.
pub fn kept_intervals(store: &Store, count: usize) -> Result<Vec<Interval>, StoreError> {
    let file = store.file(&store.begin()?, NAME);
    match file {
        Err(StoreError::FileMissing { .. }) => Ok(Vec::new()),
        file => last_of(store, &file?, count),
    }
}

fn last_of(store: &Store, file: &RecordFile, count: usize) -> Result<Vec<Interval>, StoreError> {
    let unit = store.begin()?;
    let mut browse = file.browse();
    browse.to_end();
    let mut found = Vec::new();
    while found.len() < count {
        let record = match browse.previous(&unit) {
            Ok(record) => record,
            Err(StoreError::EndOfFile { .. }) => break,
            Err(error) => return Err(error),
        };
        // A later version may have written what this one does not read.
        let text = core::str::from_utf8(record.bytes.get(8..).unwrap_or_default());
        found.extend(text.ok().and_then(|text| Interval::from_json(text).ok()));
    }
    found.reverse();
    Ok(found)
}

/// Intervals in a file, a line each.
pub(crate) struct KeptFile {
    path: PathBuf,
    keep: u64,
    /// Lines; `None` before the first look.
    lines: Option<u64>,
}

impl KeptFile {
    pub(crate) fn new(path: &Path, keep: u64) -> KeptFile {
        KeptFile { path: path.to_owned(), keep, lines: None }
    }

    fn why(&self, error: &std::io::Error) -> String {
        format!("{}: {}", self.path.display(), quayline_core::system_error_text(error))
    }

    fn lines(&self) -> std::io::Result<Vec<String>> {
        match fs::read(&self.path) {
            // A crash may have cut a line inside of a character.
            Ok(content) => {
                let lines = content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
                Ok(lines.map(|line| core::str::from_utf8(line).unwrap_or_default().to_owned()).collect())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Adds a line. When the file has twice the number of lines to keep, the older half is removed; the rest is written under another name first.
    fn add(&mut self, interval: &Interval) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        // After an error, a part of the line may be there.
        let known = match self.lines.take() {
            Some(known) => known,
            None => {
                end_line(&self.path, &mut file)?;
                self.lines()?.len() as u64
            }
        };
        writeln!(file, "{}", interval.json())?;
        self.lines = Some(known + 1);
        if known + 1 >= self.keep.saturating_mul(2) {
            let lines = self.lines()?;
            let skip = lines.len().saturating_sub(usize::try_from(self.keep).unwrap_or(usize::MAX));
            let mut text = lines[skip..].join("\n");
            text.push('\n');
            let new = self.path.with_extension("new");
            fs::write(&new, text)?;
            fs::rename(&new, &self.path)?;
            self.lines = Some((lines.len() - skip) as u64);
        }
        Ok(())
    }
}

/// Ends the last line of a file, or removes the part of a line that a crash left.
fn end_line(path: &Path, file: &mut fs::File) -> std::io::Result<()> {
    let content = fs::read(path)?;
    let begin = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last = &content[begin..];
    if last.is_empty() {
        return Ok(());
    }
    let is_whole = core::str::from_utf8(last).is_ok_and(|line| Interval::from_json(line).is_ok());
    if is_whole { file.write_all(b"\n") } else { file.set_len(begin as u64) }
}

impl Kept for KeptFile {
    fn keep(&mut self, interval: &Interval) -> Result<(), String> {
        self.add(interval).map_err(|error| self.why(&error))
    }

    fn last(&self, count: usize) -> Result<Vec<Interval>, String> {
        let lines = self.lines().map_err(|error| self.why(&error))?;
        let count = count.min(usize::try_from(self.keep).unwrap_or(usize::MAX));
        let skip = lines.len().saturating_sub(count);
        // A line that a crash cut is not an interval.
        Ok(lines[skip..].iter().filter_map(|line| Interval::from_json(line).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(begin_ms: u64) -> Interval {
        Interval { begin_ms, seconds: 60.0, ..Interval::default() }
    }

    fn begins(intervals: Result<Vec<Interval>, String>) -> Vec<u64> {
        intervals.expect("intervals").iter().map(|interval| interval.begin_ms).collect()
    }

    #[test]
    fn a_store_keeps_the_last_intervals_over_restarts() {
        let engine = std::sync::Arc::new(quayline_store::MemoryEngine::new());
        let clock = std::sync::Arc::new(quayline_store::ManualClock::new(1, 1));
        let limits = quayline_store::StoreLimits::default();
        let store = Store::open(engine, clock, limits, quayline_store::Access::Write).expect("a store");
        assert_eq!(kept_intervals(&store, 5).expect("no file"), []);
        let mut kept = KeptIntervals::new(&store, 3);
        for begin in 1..=5 {
            kept.keep(&interval(begin)).expect("kept");
        }
        // The same interval twice is one.
        kept.keep(&interval(5)).expect("kept");
        assert_eq!(begins(kept.last(10)), [3, 4, 5]);
        let mut kept = KeptIntervals::new(&store, 2);
        kept.keep(&interval(6)).expect("kept");
        assert_eq!(begins(kept.last(10)), [5, 6]);
        assert_eq!(kept_intervals(&store, 1).expect("read").len(), 1);
    }

    #[test]
    fn a_file_keeps_the_last_intervals_and_survives_a_cut_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("intervals.jsonl");
        let mut kept = KeptFile::new(&path, 3);
        assert_eq!(begins(kept.last(10)), [0u64; 0]);
        for begin in 1..=8 {
            kept.keep(&interval(begin)).expect("kept");
            assert!(fs::read_to_string(&path).expect("read").lines().count() < 6);
        }
        assert_eq!(begins(kept.last(10)), [6, 7, 8]);
        let text = fs::read_to_string(&path).expect("read");
        fs::write(&path, &text[..text.len() - 10]).expect("cut");
        assert_eq!(begins(KeptFile::new(&path, 3).last(10)), [6, 7]);
        // The interval after the crash was lost too: it continued the cut line.
        let mut kept = KeptFile::new(&path, 5);
        kept.keep(&interval(9)).expect("kept");
        kept.keep(&interval(10)).expect("kept");
        assert_eq!(begins(KeptFile::new(&path, 5).last(10)), [5, 6, 7, 9, 10]);
        // A whole line whose line feed is missing, and a line that ends inside of a character.
        for (end, expected) in [(&b""[..], &[6, 7, 9, 10, 11][..]), (b"\n{\"\xc3", &[7, 9, 10, 11, 11])] {
            let content = fs::read(&path).expect("read");
            fs::write(&path, [content.trim_ascii_end(), end].concat()).expect("cut");
            KeptFile::new(&path, 5).keep(&interval(11)).expect("kept");
            assert_eq!(begins(KeptFile::new(&path, 5).last(10)), expected);
        }
        let absent = KeptFile::new(&folder.path().join("none/x"), 3).keep(&interval(1)).expect_err("no folder");
        assert!(absent.contains("none/x"), "{absent}");
    }
}
