//! `quayline.accountReader`: lines of a file, which is opened again at its end until `NumRecords` are read.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;

use quayline_batch::artifact::{Answer, Injected, Item, Lent, Reader};
use quayline_batch::{Thrown, Work};
use quayline_core::system_error_text;

use super::{numbers, padded, size_of};

pub(super) struct AccountReader {
    path: PathBuf,
    records: u64,
    size: usize,
    file: Option<BufReader<File>>,
    read: u64,
    offset: u64,
}

impl AccountReader {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(AccountReader {
            path: with.path("FileName")?,
            records: with.number("NumRecords", 10_000_000)?,
            size: size_of(with, "ReaderCheckpointDataSize")?,
            file: None,
            read: 0,
            offset: 0,
        })
    }

    fn io(&self, error: &std::io::Error) -> Thrown {
        let message = format!("{} cannot be read: {}", self.path.display(), system_error_text(error));
        Thrown::of(&["java.io.IOException", "quayline.Environment"], message).hint("check the property FileName")
    }

    fn file_at(&self, offset: u64) -> Answer<BufReader<File>> {
        let mut file = File::open(&self.path).map_err(|error| self.io(&error))?;
        file.seek(SeekFrom::Start(offset)).map_err(|error| self.io(&error))?;
        Ok(BufReader::with_capacity(64 << 10, file))
    }
}

impl Reader for AccountReader {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        [self.read, self.offset] = numbers(checkpoint)?;
        self.file = Some(self.file_at(self.offset)?);
        Ok(())
    }

    fn read(&mut self, _work: &mut dyn Work) -> Answer<Option<Item>> {
        if self.read == self.records {
            return Ok(None);
        }
        let mut line = Vec::new();
        for _ in 0..2 {
            let file = self.file.as_mut().expect("the reader is open");
            let length = file.read_until(b'\n', &mut line);
            let length = length.map_err(|error| self.io(&error))?;
            if length > 0 {
                self.offset += length as u64;
                self.read += 1;
                if line.last() == Some(&b'\n') {
                    line.pop();
                }
                return Ok(Some(line));
            }
            self.offset = 0;
            self.file = Some(self.file_at(0)?);
        }
        let message = format!("{} is empty", self.path.display());
        Err(Thrown::of(&["quayline.Configuration"], message).hint("name a file with lines in the property FileName"))
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(Some(padded(&[self.read, self.offset], self.size).into()))
    }

    fn left(&self) -> Option<u64> {
        Some(self.records.saturating_sub(self.read))
    }

    fn close(&mut self) -> Answer<()> {
        self.file = None;
        Ok(())
    }
}
