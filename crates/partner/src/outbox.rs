//! The outbox: files that are committed and not yet written, and their list for people.
//!
//! ```text
//!  0   8  number of the entry
//!  8   2  number of the output
//! 10      length (4) and text of the folder, relative to the project; no text for standard output
//!         length (4) and text of the name
//!         content as the ledger packs it
//! ```

use std::borrow::Cow;
use std::path::PathBuf;

use quayline_core::{Fault, Finding, Findings};
use quayline_store::StoreError;
use quayline_store::record_file::{By, Relation};

use crate::codes;
use crate::entry::EntryId;
use crate::ledger::{Ledger, damaged, of_store};

/// Key of a file in the outbox.
pub(crate) type OutboxKey = [u8; 10];

/// A file that is committed and not yet written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OutboxFile {
    /// Entry whose output it is.
    pub entry: EntryId,
    /// Folder and name, relative to the project; `None` for output that goes to standard output.
    pub path: Option<PathBuf>,
    /// Bytes of its content.
    pub bytes: u64,
}

/// A page of the outbox.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct OutboxPage {
    /// The files, those of the oldest entries first.
    pub files: Vec<OutboxFile>,
    /// Place where the next page begins; `None` at the end.
    pub next: Option<Vec<u8>>,
}

impl Ledger {
    /// Lists at most `limit` files of the outbox, after the place where the page before ended. It neither writes nor locks the files, and has the content
    /// of one file in memory at a time.
    ///
    /// # Errors
    /// Errors of the store, files that cannot be read, a missing key, and a place where no page ends.
    pub fn outbox_page(&self, after: Option<&[u8]>, limit: usize) -> Result<OutboxPage, Findings> {
        self.check_key()?;
        let after = after.map(|after| OutboxKey::try_from(after).map_err(|_| no_place())).transpose()?;
        let unit = self.begin().map_err(of_store)?;
        let mut browse = self.outbox.browse();
        let mut page = OutboxPage::default();
        if let Some(after) = &after {
            match browse.start(&unit, By::Key(after), Relation::AtLeast) {
                Ok(()) => {}
                Err(StoreError::NotFound { .. }) => return Ok(page),
                Err(error) => return Err(of_store(error)),
            }
        }
        let mut last = None;
        loop {
            let record = match browse.next(&unit) {
                Ok(record) => record.bytes,
                Err(StoreError::EndOfFile { .. }) => return Ok(page),
                Err(error) => return Err(of_store(error)),
            };
            let file = stored(&record)?;
            if after == Some(file.key) {
                continue;
            }
            if page.files.len() >= limit {
                page.next = last.map(|key: OutboxKey| key.to_vec());
                return Ok(page);
            }
            page.files.push(OutboxFile {
                entry: file.entry(),
                path: (!file.folder.is_empty()).then(|| PathBuf::from(file.folder).join(&*file_name(file.name))),
                bytes: self.unpacked_length(&file.key, file.packed)?,
            });
            last = Some(file.key);
        }
    }
}

/// A file as the store has it.
pub(crate) struct StoredFile<'r> {
    pub(crate) key: OutboxKey,
    /// Empty for standard output.
    pub(crate) folder: &'r str,
    pub(crate) name: &'r str,
    pub(crate) packed: &'r [u8],
}

impl StoredFile<'_> {
    fn entry(&self) -> EntryId {
        EntryId(self.key.first_chunk().map_or(0, |id| u64::from_be_bytes(*id)))
    }
}

/// Returns the stored form of a file.
pub(crate) fn record_of(key: &OutboxKey, folder: &str, name: &str, packed: &[u8]) -> Vec<u8> {
    let mut record = key.to_vec();
    for text in [folder, name] {
        record.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        record.extend_from_slice(text.as_bytes());
    }
    record.extend_from_slice(packed);
    record
}

/// Reads the stored form of a file.
pub(crate) fn stored(record: &[u8]) -> Result<StoredFile<'_>, Findings> {
    let read = || {
        let (key, rest) = record.split_first_chunk::<10>()?;
        let (folder, rest) = text_of(rest)?;
        let (name, packed) = text_of(rest)?;
        Some(StoredFile { key: *key, folder, name, packed })
    };
    read().ok_or_else(|| damaged("a file in the outbox is not readable"))
}

/// Bytes of the name of a written file. File systems allow 255, and the temporary name has some more.
const NAME_BYTES_MAX: usize = 200;

/// Characters of a part of a name, such as the type of a document.
const NAME_PART_MAX: usize = 40;

/// Returns a text of a document as a part of a file name. The partner chooses the type of a document, so it can have any characters.
pub(crate) fn name_part(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    text.chars().take(NAME_PART_MAX).map(allowed).collect()
}

/// Returns the name of a file in its folder. Earlier versions stored names that no file can have.
pub(crate) fn file_name(stored: &str) -> Cow<'_, str> {
    // The number of the entry is at the end of a name.
    let name = &stored[stored.ceil_char_boundary(stored.len().saturating_sub(NAME_BYTES_MAX))..];
    if name.contains(['/', '\0']) { Cow::Owned(name.replace(['/', '\0'], "_")) } else { Cow::Borrowed(name) }
}

/// Returns the text at the beginning, and the bytes after it.
fn text_of(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, after) = bytes.split_first_chunk::<4>()?;
    let (text, after) = after.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    Some((std::str::from_utf8(text).ok()?, after))
}

fn no_place() -> Findings {
    let finding =
        Finding::error(codes::PLACE, Fault::Caller, "`after` is not the place where a page of the outbox ends");
    finding.hint("use `next` of the page before").into()
}
