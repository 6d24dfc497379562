//! Lines that are written behind the requests: audit and access log. A thread of its own appends them, so a slow disk delays no answer.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::JoinHandle;

/// A file that grows by lines.
#[derive(Debug)]
pub(crate) struct Journal {
    sender: Mutex<Option<SyncSender<String>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// What becomes of a line that the disk is too slow for.
    full: Full,
    /// Lines that were dropped.
    pub(crate) dropped: AtomicU64,
}

/// What becomes of a line when the queue is full.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Full {
    /// The request waits: an audit loses nothing (R48: the queue covers what the disk takes in a short while).
    Wait,
    /// It is dropped and counted.
    Drop,
}

/// Lines that wait for the disk.
const LINES_MAX: usize = 8192;

impl Journal {
    /// Appends to a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn to_file(path: &Path, full: Full) -> io::Result<Journal> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Journal::start(Target::File(file), full))
    }

    /// Writes to standard error.
    pub(crate) fn to_stderr() -> Journal {
        Journal::start(Target::Stderr, Full::Drop)
    }

    fn start(target: Target, full: Full) -> Journal {
        let (sender, lines) = mpsc::sync_channel(LINES_MAX);
        let writer = std::thread::Builder::new().name("journal".to_owned()).spawn(move || write(target, &lines)).ok();
        Journal { sender: Mutex::new(Some(sender)), writer: Mutex::new(writer), full, dropped: AtomicU64::new(0) }
    }

    /// Appends a line, without its line feed.
    pub(crate) fn line(&self, line: String) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = sender.as_ref() else { return };
        let lost = match self.full {
            Full::Wait => sender.send(line).is_err(),
            Full::Drop => matches!(sender.try_send(line), Err(TrySendError::Full(_) | TrySendError::Disconnected(_))),
        };
        if lost {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Journal {
    /// What is queued is still written.
    fn drop(&mut self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = writer.join();
        }
    }
}

enum Target {
    File(File),
    Stderr,
}

/// Gathers what is there, writes it with one call, and begins again.
fn write(mut target: Target, lines: &Receiver<String>) {
    const BATCH_BYTES: usize = 64 << 10;
    let mut batch = String::new();
    while let Ok(line) = lines.recv() {
        batch.clear();
        batch.push_str(&line);
        batch.push('\n');
        while batch.len() < BATCH_BYTES
            && let Ok(line) = lines.try_recv()
        {
            batch.push_str(&line);
            batch.push('\n');
        }
        let done = match &mut target {
            Target::File(file) => file.write_all(batch.as_bytes()).and_then(|()| file.sync_data()),
            Target::Stderr => io::stderr().write_all(batch.as_bytes()),
        };
        if let Err(error) = done {
            let _ = writeln!(io::stderr(), "a journal cannot be written: {}", error.kind());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_in_the_file_when_the_journal_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/audit.jsonl");
        let journal = Journal::to_file(&path, Full::Wait).unwrap();
        (0..20_000).for_each(|i| journal.line(format!("line {i}")));
        drop(journal);
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().count(), 20_000);
        assert_eq!(text.lines().last(), Some("line 19999"));
    }
}
