//! `quayline.recordFileReader` and `quayline.recordFileWriter`: records of a record file, in the chunk's unit of work.

use quayline_store::record_file::{Browse, By, Organisation, RecordFile, Relation};
use quayline_store::{LockWait, Store, StoreError};

use super::file_reader::damaged;
use super::queue::unit_of;
use crate::artifact::{Answer, Injected, Item, Lent, Reader, Writer};
use crate::error::Thrown;
use crate::work::Work;

pub(super) struct RecordFileReader {
    file: String,
    browse: Option<Browse>,
    /// Key of the record that was read last.
    last: Option<Vec<u8>>,
    /// A record with this key was read before the checkpoint.
    passed: Option<Vec<u8>>,
}

impl RecordFileReader {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(RecordFileReader { file: with.required("file")?.to_owned(), browse: None, last: None, passed: None })
    }
}

fn by<'k>(file: &RecordFile, key: &'k [u8]) -> Answer<By<'k>> {
    let number = || key.try_into().map(u64::from_be_bytes).map_err(|_| damaged());
    Ok(match file.definition().organisation {
        Organisation::KeySequenced(_) => By::Key(key),
        Organisation::EntrySequenced => By::Address(number()?),
        Organisation::Relative => By::Number(number()?),
    })
}

impl Reader for RecordFileReader {
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()> {
        let unit = unit_of(work, "quayline.recordFileReader")?;
        let file = Store::of(unit).file(unit, &self.file)?;
        let mut browse = file.browse();
        self.last = checkpoint.map(<[u8]>::to_vec);
        self.passed = self.last.clone();
        if let Some(key) = checkpoint.filter(|key| !key.is_empty()) {
            match browse.start(unit, by(&file, key)?, Relation::AtLeast) {
                // The records after the checkpoint were deleted, so the browse is at the end.
                Ok(()) => {}
                Err(StoreError::NotFound { .. }) => browse.to_end(),
                Err(error) => return Err(error.into()),
            }
        }
        self.browse = Some(browse);
        Ok(())
    }

    fn read(&mut self, work: &mut dyn Work) -> Answer<Option<Item>> {
        let unit = unit_of(work, "quayline.recordFileReader")?;
        let browse = self.browse.as_mut().expect("the reader is open");
        loop {
            match browse.next(unit) {
                Ok(record) if self.passed.as_ref() == Some(&record.key) => self.passed = None,
                Ok(record) => {
                    self.last = Some(record.key);
                    return Ok(Some(record.bytes.to_vec()));
                }
                Err(StoreError::EndOfFile { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(self.last.as_deref().map(Lent::from))
    }
}

/// Operation for each item.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    Insert,
    Replace,
    Upsert,
    Delete,
}

pub(super) struct RecordFileWriter {
    file: String,
    mode: Mode,
    open: Option<RecordFile>,
}

impl RecordFileWriter {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let mode = match with.property("mode").unwrap_or("insert") {
            "insert" => Mode::Insert,
            "replace" => Mode::Replace,
            "upsert" => Mode::Upsert,
            "delete" => Mode::Delete,
            _ => {
                let remedy = "write insert, replace, upsert or delete";
                return Err(Thrown::property(&with.name, "mode", "is not known", remedy));
            }
        };
        Ok(RecordFileWriter { file: with.required("file")?.to_owned(), mode, open: None })
    }
}

impl Writer for RecordFileWriter {
    fn open(&mut self, _checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()> {
        let unit = unit_of(work, "quayline.recordFileWriter")?;
        self.open = Some(Store::of(unit).file(unit, &self.file)?);
        Ok(())
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn write(&mut self, items: &[Item], work: &mut dyn Work) -> Answer<()> {
        let unit = unit_of(work, "quayline.recordFileWriter")?;
        let file = self.open.as_ref().expect("the writer is open");
        for item in items {
            match self.mode {
                Mode::Insert => {
                    file.insert(unit, item)?;
                }
                Mode::Replace => {
                    file.rewrite_by_key(unit, item)?;
                }
                Mode::Upsert => match file.rewrite_by_key(unit, item) {
                    Ok(_) => {}
                    Err(StoreError::NotFound { .. }) => {
                        file.insert(unit, item)?;
                    }
                    Err(error) => return Err(error.into()),
                },
                Mode::Delete => {
                    let key = match file.definition().organisation {
                        Organisation::KeySequenced(place) => {
                            let (offset, length) = (place.offset as usize, place.length as usize);
                            if item.len() < length {
                                return Err(too_short(item.len(), length));
                            }
                            // An item is a whole record, or its key alone.
                            item.get(offset..offset + length).unwrap_or(item)
                        }
                        _ => item,
                    };
                    let record = file.read_for_update(unit, by(file, key)?, Relation::Equal, LockWait::Default)?;
                    file.delete(unit, &record)?;
                }
            }
        }
        Ok(())
    }

    fn isolates(&self) -> bool {
        true
    }
}

/// Refuses a record to delete: the beginning of a key would select the first record that begins with it.
fn too_short(bytes: usize, length: usize) -> Thrown {
    let message = format!("the item has {bytes} bytes, expected a record or its key of {length} bytes");
    Thrown::of(&["quayline.Rejected"], message).hint("write the whole key, padded as in the record")
}
