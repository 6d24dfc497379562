//! One file a document.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::engine::destination::partial_path;
use crate::engine::lot::Payload;
use crate::engine::partial::{PartialFile, sync_folder_of};
use crate::error::ConvertError;

/// A folder that gets a file for each document: its number, what is known of it, and the extension, such as `000001-837-0001.json`. Each is
/// complete and durable before it has its name.
#[derive(Debug)]
pub(crate) struct SplitFolder {
    pub(crate) folder: PathBuf,
    extension: String,
    /// What stands before and behind the document in each file.
    pub(crate) prologue: Vec<u8>,
    pub(crate) epilogue: Vec<u8>,
    documents: u64,
    pub(crate) bytes: u64,
}

impl SplitFolder {
    pub(crate) fn new(folder: &Path, extension: &str) -> Self {
        SplitFolder {
            folder: folder.to_owned(),
            extension: extension.to_owned(),
            prologue: Vec::new(),
            epilogue: Vec::new(),
            documents: 0,
            bytes: 0,
        }
    }

    /// Writes the documents of a payload, which end where its cuts are.
    pub(crate) fn write(&mut self, payload: &Payload) -> Result<(), ConvertError> {
        let mut from = 0;
        for (i, to) in payload.cuts.iter().enumerate() {
            self.documents += 1;
            let about = payload.names.get(i).map_or("", String::as_str);
            let name = format!("{:06}{about}.{}", self.documents, self.extension);
            let path = self.folder.join(name);
            let mut file = PartialFile::create(&path)?;
            self.one(&mut file, &payload.bytes[from..*to]).map_err(ConvertError::io("write", partial_path(&path)))?;
            from = *to;
        }
        Ok(())
    }

    fn one(&mut self, file: &mut PartialFile, document: &[u8]) -> io::Result<()> {
        for part in [&self.prologue[..], document, &self.epilogue] {
            file.write_all(part)?;
        }
        self.bytes += file.len();
        file.sync()?;
        file.rename()
    }

    /// Makes the names durable.
    pub(crate) fn finish(&self) -> io::Result<()> {
        sync_folder_of(&self.folder.join("."))
    }
}

/// What a file's name says of a transaction: type and control number, of which only letters, digits and points in the middle are taken.
pub(crate) fn name_of(parts: &[&[u8]]) -> String {
    const PART_MAX: usize = 35;
    let mut name = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        name.push('-');
        for byte in part.iter().take(PART_MAX) {
            name.push(if byte.is_ascii_alphanumeric() { char::from(*byte) } else { '_' });
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_number_leads_out_of_the_folder() {
        assert_eq!(name_of(&[b"837", b"0001"]), "-837-0001");
        assert_eq!(name_of(&[b"OR/..", b"../../etc\0\n"]), "-OR___-______etc__");
        assert_eq!(name_of(&[b"", b""]), "");
    }
}
