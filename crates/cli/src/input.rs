//! Inputs as commands open them: their first bytes, decompressed where they are compressed.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use quayline_convert::{Compression, Input, to_temporary_file};

use crate::args::DecompressArg;
use crate::copybook::unreadable;
use crate::exit::Stop;

/// Bytes of a file that are looked at to tell its format.
pub(crate) const HEAD_BYTES: usize = 4096;

/// An input that was opened.
pub(crate) struct Opened {
    /// Its first bytes, decompressed.
    pub(crate) head: Vec<u8>,
    /// How it is compressed.
    pub(crate) compression: Option<Compression>,
    /// Its path, where it is a regular file that is read as it is.
    pub(crate) file: Option<PathBuf>,
    stream: Option<Box<dyn Read + Send>>,
}

/// Opens a file, or standard input for `-`, and looks at its first bytes.
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
    /// A stream whose format is known without its first bytes, such as a record file.
    pub(crate) fn of_stream(stream: Box<dyn Read + Send>) -> Opened {
        Opened { head: Vec::new(), compression: None, file: None, stream: Some(stream) }
    }

    /// What a run reads.
    pub(crate) fn into_input(self, path: &Path) -> Input {
        match self.stream {
            Some(stream) => Input::Stream(stream),
            None => Input::File(path.to_owned()),
        }
    }

    /// The bytes from the first to the last.
    pub(crate) fn into_reader(self, path: &Path) -> Result<Box<dyn Read + Send>, Stop> {
        match self.stream {
            Some(stream) => Ok(stream),
            None => Ok(Box::new(File::open(path).map_err(|error| unreadable(path, &error))?)),
        }
    }

    /// A file whose bytes can be read in places, and another handle to it: what is read once only is copied.
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

/// The name of an input without the extension of its compression.
pub(crate) fn uncompressed_name(input: &Path, compression: Option<Compression>) -> PathBuf {
    match compression {
        Some(compression) if Compression::of_name(input) == Some(compression) => input.with_extension(""),
        _ => input.to_owned(),
    }
}

/// The path with more at its end.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
