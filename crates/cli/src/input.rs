//! Inputs of commands: their first bytes, decompressed if necessary.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use quayline_convert::{Compression, Input, to_temporary_file};

use crate::args::DecompressArg;
use crate::copybook::unreadable;
use crate::exit::Stop;

/// Number of bytes of a file that are examined to detect its format.
pub(crate) const HEAD_BYTES: usize = 4096;

/// An input that was opened.
pub(crate) struct Opened {
    /// First bytes, decompressed.
    pub(crate) head: Vec<u8>,
    /// Compression of the input.
    pub(crate) compression: Option<Compression>,
    /// Path of the input, if it is a regular file that is read unchanged.
    pub(crate) file: Option<PathBuf>,
    stream: Option<Box<dyn Read + Send>>,
}

/// Opens a file, or standard input for `-`, and reads its first bytes.
pub(crate) fn open(input: &Path, decompress: DecompressArg) -> Result<Opened, Stop> {
    let refuse = |error: std::io::Error| Stop::from(unreadable(input, &error));
    let (mut reader, regular): (Box<dyn Read + Send>, bool) = if input == Path::new("-") {
        (Box::new(crate::interrupt::Stdin::new()), false)
    } else {
        let file = File::open(input).map_err(refuse)?;
        let regular = file.metadata().map_err(refuse)?.is_file();
        (Box::new(file), regular)
    };
    let mut head = Vec::new();
    reader.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(refuse)?;
    let whole = |head: &[u8], reader| -> Box<dyn Read + Send> { Box::new(Cursor::new(head.to_vec()).chain(reader)) };
    let compression = Compression::of_head(&head).filter(|_| decompress == DecompressArg::Auto);
    if let Some(compression) = compression {
        let mut reader = compression.reader(whole(&head, reader)).map_err(refuse)?;
        head.clear();
        reader.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(refuse)?;
        let stream = Some(whole(&head, reader));
        return Ok(Opened { head, compression: Some(compression), file: None, stream });
    }
    if regular {
        return Ok(Opened { head, compression: None, file: Some(input.to_owned()), stream: None });
    }
    let stream = Some(whole(&head, reader));
    Ok(Opened { head, compression: None, file: None, stream })
}

impl Opened {
    /// Wraps a stream whose format is known, such as a record file.
    pub(crate) fn of_stream(stream: Box<dyn Read + Send>) -> Opened {
        Opened { head: Vec::new(), compression: None, file: None, stream: Some(stream) }
    }

    /// Converts to the input of a run.
    pub(crate) fn into_input(self, path: &Path) -> Input {
        match self.stream {
            Some(stream) => Input::Stream(stream),
            None => Input::File(path.to_owned()),
        }
    }

    /// Returns a reader of all bytes.
    pub(crate) fn into_reader(self, path: &Path) -> Result<Box<dyn Read + Send>, Stop> {
        match self.stream {
            Some(stream) => Ok(stream),
            None => Ok(Box::new(File::open(path).map_err(|error| unreadable(path, &error))?)),
        }
    }

    /// Returns a file that supports random access; a stream is copied to a temporary file.
    pub(crate) fn into_file(self, path: &Path) -> Result<File, Stop> {
        let refuse = |error: std::io::Error| Stop::from(unreadable(path, &error));
        match self.stream {
            Some(mut stream) => to_temporary_file(&mut stream).map_err(refuse),
            None => {
                let mut file = File::open(path).map_err(refuse)?;
                file.seek(SeekFrom::Start(0)).map_err(refuse)?;
                Ok(file)
            }
        }
    }
}

/// Removes the extension of the compression from the name of an input.
pub(crate) fn uncompressed_name(input: &Path, compression: Option<Compression>) -> PathBuf {
    match compression {
        Some(compression) if Compression::of_name(input) == Some(compression) => input.with_extension(""),
        _ => input.to_owned(),
    }
}

/// Appends a suffix to the path.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
