//! Bytes that wait for the end of a document that extends over several blocks: in memory up to a limit, beyond it in a temporary file that
//! the caller provides.

use core::fmt::Debug;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of bytes kept in memory. 1 MiB: a page of a transaction and its output rarely exceed it.
const MEMORY_BYTES: usize = 1 << 20;

/// A temporary file.
pub trait SpoolFile: Read + Write + Seek + Send + Debug {
    /// Cuts the file to `len` bytes.
    ///
    /// # Errors
    /// The system's.
    fn set_len(&mut self, len: u64) -> io::Result<()>;
}

/// Source of temporary files.
pub trait SpoolFiles: Send + Sync + Debug {
    /// Creates an empty file that is deleted when it is dropped.
    ///
    /// # Errors
    /// Errors of the system.
    fn create(&self) -> io::Result<Box<dyn SpoolFile>>;

    /// Returns the name of the folder for messages.
    fn place(&self) -> &Path;
}

/// The place for temporary files of a run.
pub type SpoolFolder = Arc<dyn SpoolFiles>;

/// Temporary "files" in memory: for units, which are in memory as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpoolMemory;

impl SpoolFiles for SpoolMemory {
    fn create(&self) -> io::Result<Box<dyn SpoolFile>> {
        Ok(Box::new(Cursor::new(Vec::new())))
    }

    fn place(&self) -> &Path {
        Path::new("<memory>")
    }
}

impl SpoolFile for Cursor<Vec<u8>> {
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.get_mut().truncate(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }
}

/// Waiting bytes, in order.
#[derive(Debug, Default)]
pub struct Spool {
    /// Bytes before `memory`.
    file: Option<Box<dyn SpoolFile>>,
    in_file: u64,
    memory: Vec<u8>,
}

impl Spool {
    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.in_file + self.memory.len() as u64
    }

    /// Returns true if the spool is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends bytes. `files` provides the file if the memory limit is reached.
    pub fn push(&mut self, bytes: &[u8], files: &dyn SpoolFiles) -> io::Result<()> {
        if self.memory.len() + bytes.len() > MEMORY_BYTES {
            let file = match &mut self.file {
                Some(file) => file,
                None => self.file.insert(files.create()?),
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

    /// Truncates the spool to its first `len` bytes.
    pub fn truncate(&mut self, len: u64) -> io::Result<()> {
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
    pub fn read(&mut self, from: u64, put: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let to = self.len();
        self.read_range(from, to, put)
    }

    /// Hands its bytes out, from `from` to before `to`.
    pub fn read_range(
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
pub struct SpoolReader {
    spool: Spool,
    at: u64,
}

impl SpoolReader {
    /// Reads a spool from its start.
    #[must_use]
    pub fn new(spool: Spool) -> Self {
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
pub struct SpoolWriter {
    /// The bytes so far.
    pub spool: Spool,
    /// Provides the file if the memory limit is reached.
    pub folder: SpoolFolder,
}

impl Write for SpoolWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.spool.push(bytes, &*self.folder)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_wherever_they_are_cut() {
        let mut spool = Spool::default();
        let mut twin = Vec::new();
        for round in 0..60u32 {
            let bytes: Vec<u8> = (0..50_000u32).map(|n| u8::try_from((n ^ round) % 251).unwrap()).collect();
            spool.push(&bytes, &SpoolMemory).unwrap();
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
        spool.truncate(0).unwrap();
        assert_eq!(spool.len(), 0);
    }
}
