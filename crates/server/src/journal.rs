//! Audit and access log: lines that a separate thread appends, so that a slow disk delays no answer.
//!
//! Treatment of lines and requests in case of trouble (`docs/reference/gateway.md`, "Audit and access log"):
//!
//! * **Slow disk**: requests wait for room in the audit's queue; lines of an access log are dropped and counted.
//! * **Write errors** (disk full, read-only, missing): a required audit keeps its lines, reports the failure, and retries every
//!   second; the server refuses requests until then. Other journals drop the lines and count them.
//! * **Renamed or removed file**: the path is checked before each batch, and a new file is started if it names another file.
//! * **Incomplete write**: the rest of the line follows; in a new file, the whole line is repeated. A file that ends inside a line,
//!   because a process ended, gets a line feed first.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::operator_log::LAST_LINES_WAIT;

/// A file that grows by lines.
pub(crate) struct Journal {
    inner: Arc<Inner>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

struct Inner {
    queue: Mutex<Queue>,
    filled: Condvar,
    emptied: Condvar,
    keeping: Keeping,
    failing: AtomicBool,
    /// Lines that were dropped.
    lost: Arc<AtomicU64>,
    /// Lines that came.
    came: AtomicU64,
}

#[derive(Default)]
struct Queue {
    text: String,
    lines: usize,
    closed: bool,
}

/// Treatment of lines that cannot be written yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Keeping {
    /// Requests wait for a slow disk. If the disk fails, requests are refused (R48: the queue covers the time that the disk usually takes).
    Required,
    /// Requests wait for a slow disk; lines that cannot be written are dropped.
    Wanted,
    /// Lines are dropped in both cases.
    BestEffort,
}

/// Takes a line for the operator.
pub(crate) type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Lines that wait for the disk.
const LINES_MAX: usize = 8192;

/// Lines that wait while a required journal fails: those of requests that were in progress when it began to.
const LINES_MAX_FAILING: usize = 1 << 17;

/// Time between attempts to write after an error.
const AGAIN: Duration = Duration::from_secs(1);

impl Journal {
    /// Appends to a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn to_file(path: &Path, keeping: Keeping, lost: Arc<AtomicU64>, log: Log) -> io::Result<Journal> {
        let target = Target::File { path: path.to_owned(), file: open(path)?, written: 0 };
        Ok(Journal::start(target, keeping, lost, log))
    }

    /// Writes to standard error.
    pub(crate) fn to_stderr(lost: Arc<AtomicU64>, log: Log) -> Journal {
        Journal::start(Target::Stderr, Keeping::BestEffort, lost, log)
    }

    fn start(target: Target, keeping: Keeping, lost: Arc<AtomicU64>, log: Log) -> Journal {
        let inner = Arc::new(Inner {
            queue: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            keeping,
            failing: AtomicBool::new(false),
            lost,
            came: AtomicU64::new(0),
        });
        let of_writer = Arc::clone(&inner);
        let writer = std::thread::Builder::new().name("journal".to_owned());
        let writer = writer.spawn(move || {
            let (mut target, mut batch) = (target, String::new());
            // A writer that ended would leave requests waiting for room for ever.
            while catch_unwind(AssertUnwindSafe(|| write(&mut target, &mut batch, &of_writer, &log))).is_err() {
                of_writer.lost.fetch_add(batch.lines().count() as u64, Ordering::Relaxed);
                target.begin();
            }
        });
        let writer = writer.ok();
        Journal { inner, writer: Mutex::new(writer) }
    }

    /// Returns true if required lines cannot be written.
    pub(crate) fn is_failing(&self) -> bool {
        self.inner.failing.load(Ordering::Relaxed)
    }

    /// Lines that came since the start, and those that wait for the disk now.
    pub(crate) fn lines(&self) -> (u64, usize) {
        (self.inner.came.load(Ordering::Relaxed), self.inner.queue().lines)
    }

    /// Appends a line, without its line feed.
    pub(crate) fn line(&self, line: &str) {
        let inner = &self.inner;
        inner.came.fetch_add(1, Ordering::Relaxed);
        let mut queue = inner.queue();
        let room = loop {
            let failing = inner.failing.load(Ordering::Relaxed);
            let most = if failing { LINES_MAX_FAILING } else { LINES_MAX };
            if queue.lines < most || queue.closed {
                break !queue.closed;
            }
            if failing || inner.keeping == Keeping::BestEffort {
                break false;
            }
            queue = inner.emptied.wait(queue).unwrap_or_else(PoisonError::into_inner);
        };
        if !room {
            inner.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        queue.text.push_str(line);
        queue.text.push('\n');
        queue.lines += 1;
        inner.filled.notify_one();
    }

    /// Writes the queued lines and ends. Later lines are lost. If lines may be dropped, a stalled reader of standard error or a stalled disk delays
    /// the end by [`LAST_LINES_WAIT`] at most.
    pub(crate) fn close(&self) {
        self.inner.queue().closed = true;
        self.inner.filled.notify_all();
        self.inner.emptied.notify_all();
        let Some(writer) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let began = Instant::now();
        while self.inner.keeping == Keeping::BestEffort && !writer.is_finished() {
            if began.elapsed() > LAST_LINES_WAIT {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = writer.join();
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.close();
    }
}

impl Inner {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all waiting lines; `None` when no more lines will come.
    fn take(&self, batch: &mut String) -> Option<usize> {
        let mut queue = self.queue();
        while queue.text.is_empty() {
            if queue.closed {
                return None;
            }
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        batch.clear();
        core::mem::swap(batch, &mut queue.text);
        let lines = core::mem::take(&mut queue.lines);
        self.emptied.notify_all();
        Some(lines)
    }

    /// Waits before the next attempt; whether the journal is being closed.
    fn pause(&self) -> bool {
        let queue = self.queue();
        let waited = self.filled.wait_timeout_while(queue, AGAIN, |queue| !queue.closed);
        waited.unwrap_or_else(PoisonError::into_inner).0.closed
    }
}

enum Target {
    File {
        path: PathBuf,
        file: File,
        /// Bytes of the current batch that are in the file.
        written: usize,
    },
    Stderr,
}

/// Collects the waiting lines, writes them in one call, and repeats.
fn write(target: &mut Target, batch: &mut String, inner: &Inner, log: &Log) {
    while let Some(lines) = inner.take(batch) {
        while let Err(error) = target.append(batch.as_bytes()) {
            let new = !inner.failing.swap(inner.keeping == Keeping::Required, Ordering::Relaxed);
            if inner.keeping == Keeping::Required {
                // Requests that wait for room are refused from now on.
                inner.emptied.notify_all();
                if new {
                    log(&format!("{target} cannot be written: {}; requests are refused until it can", error.kind()));
                }
                // One last attempt has been made when it is closed.
                if !inner.pause() {
                    continue;
                }
            }
            inner.lost.fetch_add(lines as u64, Ordering::Relaxed);
            log(&format!("{target} cannot be written: {}; {lines} lines are lost", error.kind()));
            break;
        }
        target.begin();
        if inner.failing.swap(false, Ordering::Relaxed) {
            log(&format!("{target} can be written again"));
            inner.emptied.notify_all();
        }
    }
}

impl Target {
    /// Starts the next batch.
    fn begin(&mut self) {
        if let Target::File { written, .. } = self {
            *written = 0;
        }
    }

    fn append(&mut self, batch: &[u8]) -> io::Result<()> {
        let (path, file, written) = match self {
            Target::Stderr => return io::stderr().write_all(batch),
            Target::File { path, file, written } => (path, file, written),
        };
        if !is_same(path, file) {
            *file = open(path)?;
            *written = batch[..*written].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        }
        while *written < batch.len() {
            match file.write(&batch[*written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => *written += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // After a failed sync nobody knows what is on the disk, so all of it is written again.
        file.sync_data().inspect_err(|_| *written = 0)
    }
}

impl core::fmt::Display for Target {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Target::File { path, .. } => write!(f, "{}", path.display()),
            Target::Stderr => f.write_str("standard error"),
        }
    }
}

/// Returns true if the path still names the open file.
fn is_same(path: &Path, file: &File) -> bool {
    match (std::fs::metadata(path), file.metadata()) {
        (Ok(named), Ok(open)) => (named.dev(), named.ino()) == (open.dev(), open.ino()),
        _ => false,
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    if file.metadata()?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(path: &Path, keeping: Keeping) -> (Journal, Arc<AtomicU64>) {
        let lost = Arc::new(AtomicU64::new(0));
        (Journal::to_file(path, keeping, Arc::clone(&lost), Arc::new(|_| {})).unwrap(), lost)
    }

    fn wait_for(mut is: impl FnMut() -> bool) {
        let began = std::time::Instant::now();
        while !is() {
            assert!(began.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn lines(path: &Path) -> Vec<String> {
        std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    #[test]
    fn every_line_is_in_the_file_when_the_journal_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/audit.jsonl");
        let (journal, lost) = journal(&path, Keeping::Required);
        (0..20_000).for_each(|i| journal.line(&format!("line {i}")));
        drop(journal);
        let text = lines(&path);
        assert_eq!((text.len(), lost.load(Ordering::Relaxed)), (20_000, 0));
        assert_eq!(text.last().map(String::as_str), Some("line 19999"));
    }

    #[test]
    fn a_renamed_or_removed_file_is_begun_anew_and_no_line_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let (journal, _) = journal(&path, Keeping::Required);
        let mut expected = Vec::new();
        for round in 0..5 {
            for i in 0..500 {
                expected.push(format!("{round} {i}"));
                journal.line(expected.last().unwrap());
                if i == 250 {
                    let _ = std::fs::rename(&path, folder.path().join(format!("audit.{round}")));
                }
            }
            wait_for(|| lines(&path).last() == expected.last());
        }
        drop(journal);
        let mut found: Vec<String> = Vec::new();
        (0..5).for_each(|round| found.extend(lines(&folder.path().join(format!("audit.{round}")))));
        found.extend(lines(&path));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_required_journal_that_cannot_be_written_says_so_and_keeps_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("logs");
        let path = logs.join("audit.jsonl");
        let (journal, lost) = journal(&path, Keeping::Required);
        journal.line("one");
        wait_for(|| lines(&path) == ["one"]);
        // A file where the folder was: nothing can be opened there, whoever asks.
        std::fs::rename(&logs, folder.path().join("old")).unwrap();
        std::fs::write(&logs, "").unwrap();
        journal.line("two");
        wait_for(|| journal.is_failing());
        (0..LINES_MAX).for_each(|_| journal.line("more"));
        std::fs::remove_file(&logs).unwrap();
        wait_for(|| !journal.is_failing());
        drop(journal);
        let text = lines(&path);
        assert_eq!((text.len(), text[0].as_str(), lost.load(Ordering::Relaxed)), (1 + LINES_MAX, "two", 0));
    }

    #[test]
    fn other_journals_drop_what_cannot_be_written_and_count_it() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("logs");
        for keeping in [Keeping::Wanted, Keeping::BestEffort] {
            let path = logs.join("access.log");
            let (journal, lost) = journal(&path, keeping);
            std::fs::remove_dir_all(&logs).unwrap();
            std::fs::write(&logs, "").unwrap();
            journal.line("gone");
            wait_for(|| lost.load(Ordering::Relaxed) == 1);
            assert!(!journal.is_failing());
            std::fs::remove_file(&logs).unwrap();
            journal.line("there");
            wait_for(|| lines(&path) == ["there"]);
        }
    }

    #[test]
    fn a_file_that_ends_inside_of_a_line_gets_a_line_feed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        std::fs::write(&path, "whole\nhal").unwrap();
        let (journal, _) = journal(&path, Keeping::Required);
        journal.line("next");
        drop(journal);
        assert_eq!(lines(&path), ["whole", "hal", "next"]);
    }
}
