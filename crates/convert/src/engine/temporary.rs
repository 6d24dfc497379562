//! Temporary files without a name.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use quayline_pipeline::{SpoolFile, SpoolFiles};

/// A folder in which temporary files are created.
#[derive(Clone, Debug)]
pub(crate) struct TemporaryFolder(pub(crate) PathBuf);

impl SpoolFiles for TemporaryFolder {
    fn create(&self) -> io::Result<Box<dyn SpoolFile>> {
        Ok(Box::new(TemporaryFile(nameless(&self.0)?)))
    }

    fn place(&self) -> &Path {
        &self.0
    }
}

/// A file that has no name, so that it vanishes when it is dropped.
#[derive(Debug)]
struct TemporaryFile(File);

impl SpoolFile for TemporaryFile {
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

impl Read for TemporaryFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for TemporaryFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// Copies a stream to a temporary file without a name, for input that is not read sequentially.
///
/// # Errors
/// Errors of the stream and of the file.
pub fn to_temporary_file(stream: &mut dyn Read) -> io::Result<File> {
    let mut file = nameless(&std::env::temp_dir())?;
    io::copy(stream, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Creates a file without a name, which disappears when it is closed or the process ends.
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
    use quayline_pipeline::Spool;

    use super::*;

    #[test]
    fn a_temporary_file_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let files = TemporaryFolder(folder.path().to_owned());
        let mut spool = Spool::default();
        let bytes: Vec<u8> = (0..3 << 20).map(|n: u32| u8::try_from(n % 251).unwrap()).collect();
        bytes.chunks(50_000).for_each(|chunk| spool.push(chunk, &files).unwrap());
        spool.truncate(2 << 20).unwrap();
        let mut read = Vec::new();
        let done = spool.read(100, |part| {
            read.extend_from_slice(part);
            Ok(())
        });
        done.unwrap();
        assert!(read == bytes[100..2 << 20]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
