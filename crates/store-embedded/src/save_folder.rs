//! A folder of a save in parts, on a medium.

use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;

use quayline_store::save::{PartFile, PartFolder};

use crate::medium::{Medium, MediumFile, OpenMode};

/// Bytes that are read or written at once.
const CHUNK: usize = 1 << 20;

/// A folder that gets or has the parts of a save.
#[derive(Debug)]
pub struct SaveFolder<'a>(pub &'a dyn Medium);

impl PartFolder for SaveFolder<'_> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn read(&self, file: &str) -> io::Result<Box<dyn Read + Send + '_>> {
        let file = self.0.open(file, OpenMode::Read)?;
        let length = file.len()?;
        Ok(Box::new(io::BufReader::with_capacity(CHUNK, Reading { file, at: 0, length })))
    }

    fn create(&self, file: &str) -> io::Result<Box<dyn PartFile + '_>> {
        let file = self.0.open(file, OpenMode::Create)?;
        file.set_len(0)?;
        Ok(Box::new(Writing(BufWriter::with_capacity(CHUNK, Appending { file, at: 0 }))))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, file: &str) -> io::Result<()> {
        self.0.remove(file)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_folder()
    }
}

struct Reading {
    file: Arc<dyn MediumFile>,
    at: u64,
    length: u64,
}

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let count = into.len().min(left);
        self.file.read(self.at, &mut into[..count])?;
        self.at += count as u64;
        Ok(count)
    }
}

struct Appending {
    file: Arc<dyn MediumFile>,
    at: u64,
}

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Writing(BufWriter<Appending>);

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl PartFile for Writing {
    fn sync(&mut self) -> io::Result<()> {
        self.0.flush()?;
        self.0.get_ref().file.sync()
    }
}
