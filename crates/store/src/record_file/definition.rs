//! Definition of a record file: organization, key, lengths, alternate indexes.

use crate::codec::{Decoder, Encoder};
use crate::{Space, StoreError};

/// Version of the stored form.
const VERSION: u8 = 1;
/// Longest key: that of VSAM.
const KEY_BYTES_MAX: u32 = 255;
/// Longest record that a file may allow: as long as a message. A longer one would exceed the limit of the store at its first insert, far from the
/// definition, and readers of fixed records would make room for it.
const RECORD_BYTES_MAX: u32 = 100 << 20;
/// Maximum number of alternate indexes of a file. Each is written with each record; VSAM files have far fewer.
const ALTERNATES_MAX: usize = 255;

/// Access method of a file's records.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Organisation {
    /// Key-sequenced (KSDS): by a key inside the record.
    KeySequenced(KeyPlace),
    /// Entry-sequenced (ESDS): by relative byte address, in the order of arrival. Records are never deleted.
    EntrySequenced,
    /// Relative (RRDS): by relative record number, from 1.
    Relative,
}

impl Organisation {
    /// Returns the name used in findings.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Organisation::KeySequenced(_) => "key-sequenced",
            Organisation::EntrySequenced => "entry-sequenced",
            Organisation::Relative => "relative",
        }
    }
}

/// Position of a key in the record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KeyPlace {
    /// Bytes before the key.
    pub offset: u32,
    /// Bytes of the key, 1 to 255.
    pub length: u32,
}

impl KeyPlace {
    /// Returns the key of a record; `None` if the record is too short.
    #[must_use]
    pub fn of<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        let begin = usize::try_from(self.offset).ok()?;
        record.get(begin..begin.checked_add(usize::try_from(self.length).ok()?)?)
    }

    fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.length)
    }
}

/// Handling of alternate keys that repeat.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Duplicates {
    /// At most one record has each key.
    Unique,
    /// Records of one key are read in the order in which they got it.
    Allowed,
}

/// An alternate index. A record that is too short for the key is not in the index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AlternateIndex {
    /// Name, unique in the file.
    pub name: String,
    /// Position of the alternate key.
    pub place: KeyPlace,
    /// Handling of alternate keys that repeat.
    pub duplicates: Duplicates,
}

/// User-defined attributes of a new file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileDefinition {
    /// Name.
    pub name: String,
    /// Organisation.
    pub organisation: Organisation,
    /// Shortest record in bytes.
    pub record_bytes_min: u32,
    /// Longest record in bytes, at most 100 MiB.
    pub record_bytes_max: u32,
    /// Alternate indexes, at most 255.
    pub alternates: Vec<AlternateIndex>,
}

impl FileDefinition {
    /// Checks that the parts fit together.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let wrong = |what: String| Err(StoreError::BadDefinition { name: self.name.clone(), what });
        if self.record_bytes_min > self.record_bytes_max || self.record_bytes_max == 0 {
            let (min, max) = (self.record_bytes_min, self.record_bytes_max);
            return wrong(format!("records of {min} to {max} bytes cannot exist"));
        }
        if self.record_bytes_max > RECORD_BYTES_MAX {
            let found = self.record_bytes_max;
            return wrong(format!("records of up to {found} bytes, expected at most {RECORD_BYTES_MAX} (100 MiB)"));
        }
        if self.alternates.len() > ALTERNATES_MAX {
            let found = self.alternates.len();
            return wrong(format!("{found} alternate indexes, expected at most {ALTERNATES_MAX}"));
        }
        let place = |what: &str, key: &KeyPlace, within: u32| {
            if key.length == 0 || key.length > KEY_BYTES_MAX {
                return wrong(format!("{what} has {} bytes, expected 1 to {KEY_BYTES_MAX}", key.length));
            }
            if key.end() > u64::from(within) {
                return wrong(format!("{what} ends at byte {}, beyond a record of {within} bytes", key.end()));
            }
            Ok(())
        };
        if let Organisation::KeySequenced(key) = &self.organisation {
            place("the key", key, self.record_bytes_min)?;
        }
        if self.organisation == Organisation::Relative && !self.alternates.is_empty() {
            return wrong("a relative file has no alternate index".to_owned());
        }
        for (number, index) in self.alternates.iter().enumerate() {
            place(&format!("the key of index {}", index.name), &index.place, self.record_bytes_max)?;
            if index.name.is_empty() || self.alternates[..number].iter().any(|other| other.name == index.name) {
                return wrong(format!("the index name `{}` is empty or repeats", index.name));
            }
        }
        Ok(())
    }
}

/// A file as the catalog has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct StoredFile {
    pub(crate) definition: FileDefinition,
    /// Space of the records.
    pub(crate) records: Space,
    /// Spaces of the alternate indexes, in their order.
    pub(crate) indexes: Vec<Space>,
}

impl StoredFile {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let FileDefinition { name: _, organisation, record_bytes_min, record_bytes_max, alternates } = &self.definition;
        let mut out = Encoder::default();
        out.u8(VERSION);
        match organisation {
            Organisation::KeySequenced(key) => {
                out.u8(0);
                out.u32(key.offset);
                out.u32(key.length);
            }
            Organisation::EntrySequenced => out.u8(1),
            Organisation::Relative => out.u8(2),
        }
        out.u32(*record_bytes_min);
        out.u32(*record_bytes_max);
        out.u32(self.records.0);
        out.u16(u16::try_from(alternates.len()).unwrap_or(u16::MAX));
        for (index, space) in alternates.iter().zip(&self.indexes) {
            out.text(&index.name);
            out.u32(index.place.offset);
            out.u32(index.place.length);
            out.u8(u8::from(index.duplicates == Duplicates::Allowed));
            out.u32(space.0);
        }
        out.0
    }

    pub(crate) fn decode(name: &str, bytes: &[u8]) -> Result<Self, StoreError> {
        StoredFile::read(name, bytes).ok_or_else(|| StoreError::BadDefinition {
            name: name.to_owned(),
            what: "the stored definition is of no known form".to_owned(),
        })
    }

    fn read(name: &str, bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder(bytes);
        if from.u8()? != VERSION {
            return None;
        }
        let organisation = match from.u8()? {
            0 => Organisation::KeySequenced(KeyPlace { offset: from.u32()?, length: from.u32()? }),
            1 => Organisation::EntrySequenced,
            2 => Organisation::Relative,
            _ => return None,
        };
        let (record_bytes_min, record_bytes_max) = (from.u32()?, from.u32()?);
        let records = Space(from.u32()?);
        let (mut alternates, mut indexes) = (Vec::new(), Vec::new());
        for _ in 0..from.u16()? {
            let name = from.text()?;
            let place = KeyPlace { offset: from.u32()?, length: from.u32()? };
            let duplicates = if from.u8()? == 0 { Duplicates::Unique } else { Duplicates::Allowed };
            alternates.push(AlternateIndex { name, place, duplicates });
            indexes.push(Space(from.u32()?));
        }
        from.end()?;
        let definition =
            FileDefinition { name: name.to_owned(), organisation, record_bytes_min, record_bytes_max, alternates };
        Some(StoredFile { definition, records, indexes })
    }

    /// Returns the number of alternate indexes whose keys may repeat. Each record has an 8-byte stamp for each of them.
    pub(crate) fn stamped(&self) -> usize {
        self.definition.alternates.iter().filter(|index| index.duplicates == Duplicates::Allowed).count()
    }
}
