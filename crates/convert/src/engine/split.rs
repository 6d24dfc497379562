//! One file a document.

use quayline_core::{Fault, Finding};
use quayline_pipeline::{Payload, Spool};

use core::ops::Range;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::codes;
use crate::destination::partial_path;
use crate::engine::partial::{PartialFile, sync_folder_of};
use crate::error::ConvertError;

/// Digits of a document's number in the name of its file, at least.
const DIGITS: usize = 6;

/// Returns true if a file of a folder has the name of a document with this extension, or that of one while it is written.
fn is_document_name(name: &str, extension: &str) -> bool {
    let name = name.strip_suffix(".partial").unwrap_or(name);
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    digits >= DIGITS && name.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.'))
}

/// Digits of the largest number of a document in a folder that a run is expected to reach.
const DIGITS_EXPECTED: usize = 7;

/// Returns true if a run may write a document with this name: a number, which has zeros in front only if it is short, and the rest of the name. Names
/// that begin with a date have more digits.
fn may_be_written(name: &str, extension: &str) -> bool {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    is_document_name(name, extension)
        && (digits == DIGITS || digits <= DIGITS_EXPECTED && !name.starts_with('0'))
        && name[digits..].starts_with(['-', '.'])
}

/// Returns the first of some files that a document in `folder` could replace: it is in the folder and has the name of a document with this extension,
/// or a link with such a name leads to it.
#[must_use]
pub fn replaced_by_documents<'f>(
    folder: &Path,
    extension: &str,
    mut files: impl Iterator<Item = &'f Path>,
) -> Option<&'f Path> {
    let folder = folder.canonicalize().ok()?;
    let is_document = |name: &OsStr| name.to_str().is_some_and(|name| may_be_written(name, extension));
    let entries = std::fs::read_dir(&folder).ok()?.flatten();
    let links = entries.filter(|entry| {
        is_document(&entry.file_name()) && entry.file_type().is_ok_and(|file_type| file_type.is_symlink())
    });
    let links: Vec<PathBuf> = links.filter_map(|entry| entry.path().canonicalize().ok()).collect();
    files.find(|file| {
        let real = real_name(file);
        links.contains(&real) || real.parent() == Some(&*folder) && real.file_name().is_some_and(is_document)
    })
}

/// Returns the absolute path of a file without links; the file can be missing.
fn real_name(file: &Path) -> PathBuf {
    let absolute = || {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(file.file_name()?))
    };
    file.canonicalize().ok().or_else(absolute).unwrap_or_else(|| file.to_owned())
}

/// Returns a warning if a folder holds files whose names are those of documents: their readers cannot tell them from the documents of this run.
pub(crate) fn earlier_files(folder: &Path, extension: &str) -> Option<Finding> {
    // A folder that cannot be read is the error of the first document.
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let is_document = |name: &str| !name.ends_with(".partial") && is_document_name(name, extension);
    let (mut count, mut first) = (0u64, None);
    for name in entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_document(name)) {
        count += 1;
        first = Some(first.map_or(name.clone(), |first: String| first.min(name)));
    }
    let (first, folder) = (first?, folder.display());
    let files = if count == 1 { format!("the file {first}") } else { format!("{count} files, such as {first}") };
    let message = format!(
        "{folder} has {files}, of an earlier run; this run replaces files of the same name and leaves the others"
    );
    Some(Finding::warning(codes::EARLIER_FILES, Fault::Caller, message).hint("use an empty folder"))
}

/// A folder with one file for each document. The name has the document's number, its known properties and the extension, such as
/// `000001-837-0001.json`. Each file is complete and durable before it gets its name.
#[derive(Debug)]
pub(crate) struct SplitFolder {
    pub(crate) folder: PathBuf,
    extension: String,
    /// Bytes before and after the document in each file.
    pub(crate) prologue: Vec<u8>,
    pub(crate) epilogue: Vec<u8>,
    documents: u64,
    pub(crate) bytes: u64,
    /// Files of a transaction in pages that has not ended yet: they have no name until it has.
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    files: Vec<PathBuf>,
    documents: u64,
    bytes: u64,
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
            held: None,
        }
    }

    /// Writes some of the documents of a payload, which end where its cuts are.
    pub(crate) fn write(&mut self, payload: &mut Payload, documents: Range<usize>) -> Result<(), ConvertError> {
        let mut front = payload.front.take().unwrap_or_default();
        let mut from = documents.start.checked_sub(1).map_or(0, |before| payload.cuts[before]);
        for (i, to) in payload.cuts.iter().enumerate().take(documents.end).skip(documents.start) {
            self.documents += 1;
            let about = payload.names.get(i).map_or("", String::as_str);
            let name = format!("{:0DIGITS$}{about}.{}", self.documents, self.extension);
            let path = self.folder.join(name);
            let mut file = PartialFile::create(&path)?;
            let io = ConvertError::io("write", partial_path(&path));
            self.one(&mut file, &mut front, &payload.bytes, from..*to).map_err(io)?;
            from = *to;
        }
        Ok(())
    }

    /// Writes a document, which is in `range` of the waiting bytes followed by `bytes`.
    fn one(&mut self, file: &mut PartialFile, front: &mut Spool, bytes: &[u8], range: Range<usize>) -> io::Result<()> {
        file.write_all(&self.prologue)?;
        let waited = usize::try_from(front.len()).unwrap_or(usize::MAX);
        if range.start < waited {
            front.read_range(range.start as u64, range.end.min(waited) as u64, |part| file.write_all(part))?;
        }
        file.write_all(&bytes[range.start.max(waited) - waited..range.end.max(waited) - waited])?;
        file.write_all(&self.epilogue)?;
        self.bytes += file.len();
        file.sync()?;
        match &mut self.held {
            Some(held) => {
                held.files.push(file.path().to_owned());
                Ok(())
            }
            None => file.rename(),
        }
    }

    /// Leaves files without names until they are released.
    pub(crate) fn hold(&mut self) {
        self.held = Some(Held { files: Vec::new(), documents: self.documents, bytes: self.bytes });
    }

    /// Renames the held files to their final names.
    pub(crate) fn release(&mut self) -> io::Result<()> {
        let held = self.held.take();
        held.into_iter().flat_map(|held| held.files).try_for_each(|path| std::fs::rename(partial_path(&path), path))
    }

    /// Undoes the files that wait.
    pub(crate) fn back(&mut self) -> io::Result<()> {
        let Some(held) = self.held.take() else { return Ok(()) };
        (self.documents, self.bytes) = (held.documents, held.bytes);
        held.files.iter().try_for_each(|path| std::fs::remove_file(partial_path(path)))
    }

    /// Makes the names durable.
    pub(crate) fn finish(&self) -> io::Result<()> {
        sync_folder_of(&self.folder.join("."))
    }
}
