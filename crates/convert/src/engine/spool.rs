//! Bytes that wait until a document that reaches over several blocks has ended: in memory up to a bound, beyond it in a file without a name.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes kept in memory. 1 MiB: a page of a transaction and what it becomes seldom has more.
const MEMORY_BYTES: usize = 1 << 20;

/// Bytes one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    /// What came before `memory`.
    file: Option<File>,
    in_file: u64,
    memory: Vec<u8>,
}

impl Spool {
    /// How many bytes it holds.
    pub(crate) fn len(&self) -> u64 {
        self.in_file + self.memory.len() as u64
    }

    /// Appends bytes; a file that is needed stands in `folder`.
    pub(crate) fn push(&mut self, bytes: &[u8], folder: &Path) -> io::Result<()> {
        if self.memory.len() + bytes.len() > MEMORY_BYTES {
            let file = match &mut self.file {
                Some(file) => file,
                None => self.file.insert(nameless(folder)?),
            };
            file.seek(SeekFrom::Start(self.in_file))?;
            file.write_all(&self.memory)?;
            file.write_all(bytes)?;
            self.in_file += (self.memory.len() + bytes.len()) as u64;
            self.memory.clear();
        } else {
            self.memory.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Forgets all behind the first `len` bytes.
    pub(crate) fn truncate(&mut self, len: u64) -> io::Result<()> {
        if len >= self.in_file {
            let kept = usize::try_from(len - self.in_file).unwrap_or(usize::MAX);
            self.memory.truncate(kept);
            return Ok(());
        }
        self.memory.clear();
        self.in_file = len;
        if let Some(file) = &mut self.file {
            file.set_len(len)?;
        }
        Ok(())
    }

    /// Hands its bytes out, from `from` to the end.
    pub(crate) fn read(&mut self, from: u64, put: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let to = self.len();
        self.read_range(from, to, put)
    }

    /// Hands its bytes out, from `from` to before `to`.
    pub(crate) fn read_range(
        &mut self,
        mut from: u64,
        to: u64,
        mut put: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let in_file = self.in_file.min(to);
        if let (Some(file), true) = (&mut self.file, from < in_file) {
            file.seek(SeekFrom::Start(from))?;
            let mut buffer = vec![0; 64 << 10];
            while from < in_file {
                let want = usize::try_from(in_file - from).unwrap_or(usize::MAX).min(buffer.len());
                let n = file.read(&mut buffer[..want])?;
                if n == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                put(&buffer[..n])?;
                from += n as u64;
            }
        }
        let local = |place: u64| usize::try_from(place.saturating_sub(self.in_file)).unwrap_or(usize::MAX);
        put(self.memory.get(local(from)..local(to)).unwrap_or_default())
    }
}

/// Bytes that are read as from a file.
#[derive(Debug)]
pub(crate) struct SpoolReader {
    spool: Spool,
    at: u64,
}

impl SpoolReader {
    pub(crate) fn new(spool: Spool) -> Self {
        SpoolReader { spool, at: 0 }
    }
}

impl Read for SpoolReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let to = (self.at + buf.len() as u64).min(self.spool.len());
        let mut n = 0;
        self.spool.read_range(self.at, to, |part| {
            buf[n..n + part.len()].copy_from_slice(part);
            n += part.len();
            Ok(())
        })?;
        self.at = to;
        Ok(n)
    }
}

/// A spool that is written as a file.
#[derive(Debug)]
pub(crate) struct SpoolWriter {
    pub(crate) spool: Spool,
    pub(crate) folder: Arc<Path>,
}

impl Write for SpoolWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.spool.push(bytes, &self.folder)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is gone when it is closed, however the process ends.
fn nameless(folder: &Path) -> io::Result<File> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".quayline-{}-{number}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_wherever_they_are_cut() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::default();
        let mut twin = Vec::new();
        for round in 0..60u32 {
            let bytes: Vec<u8> = (0..50_000u32).map(|n| u8::try_from((n ^ round) % 251).unwrap()).collect();
            spool.push(&bytes, folder.path()).unwrap();
            twin.extend_from_slice(&bytes);
            if round % 7 == 6 {
                let len = twin.len() - 60_000;
                spool.truncate(len as u64).unwrap();
                twin.truncate(len);
            }
            if round % 10 == 0 {
                for from in [0, twin.len() / 2, twin.len() - 1] {
                    let mut read = Vec::new();
                    let done = spool.read(from as u64, |part| {
                        read.extend_from_slice(part);
                        Ok(())
                    });
                    done.unwrap();
                    assert!(read == twin[from..], "round {round}, from {from}");
                }
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
        spool.truncate(0).unwrap();
        assert_eq!(spool.len(), 0);
    }
}
