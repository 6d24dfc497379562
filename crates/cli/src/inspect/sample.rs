//! First bytes of a file, and its length.

use std::io::{Cursor, Read};
use std::path::Path;

use quayline_convert::Compression;

use crate::args::DecompressArg;
use crate::copybook::unreadable;
use crate::exit::Stop;
use crate::input;

/// Number of examined bytes: dozens of the longest records that z/OS writes, read within a moment.
const SAMPLE_BYTES: u64 = 4 << 20;

/// The first bytes of a file.
pub(crate) struct Sample {
    /// The bytes, at most [`SAMPLE_BYTES`].
    pub(crate) bytes: Vec<u8>,
    /// Length of the file, if known.
    pub(crate) file_len: Option<u64>,
    /// Compression of the file; the bytes are decompressed.
    pub(crate) compression: Option<Compression>,
    /// Next byte of a stream, read to detect whether there are more.
    more: Option<u8>,
    /// Rest of the input.
    rest: Box<dyn Read + Send>,
}

impl Sample {
    /// Reads the start of a file; `-` is standard input.
    pub(crate) fn read(path: &Path) -> Result<Self, Stop> {
        let refuse = |error: std::io::Error| Stop::from(unreadable(path, &error));
        let mut bytes = Vec::new();
        // One more byte shows whether the file is longer.
        let most = SAMPLE_BYTES + 1;
        let mut file_len = None;
        let opened = input::open(path, DecompressArg::Auto)?;
        if let Some(file) = &opened.file {
            file_len = Some(file.metadata().map_err(refuse)?.len());
        }
        let compression = opened.compression;
        let mut rest = opened.into_reader(path)?;
        rest.by_ref().take(most).read_to_end(&mut bytes).map_err(refuse)?;
        let mut more = None;
        if bytes.len() as u64 == most {
            more = bytes.pop();
        } else {
            file_len = Some(bytes.len() as u64);
        }
        Ok(Sample { bytes, file_len, compression, more, rest })
    }

    /// Returns a reader of the whole file.
    pub(crate) fn into_reader(mut self) -> Box<dyn Read + Send> {
        self.bytes.extend(self.more);
        Box::new(Cursor::new(self.bytes).chain(self.rest))
    }

    /// Returns true if the sample is the whole file.
    pub(crate) fn is_whole(&self) -> bool {
        self.file_len == Some(self.bytes.len() as u64)
    }

    /// Returns the sample as text, if it is UTF-8 without control characters except white space and Ctrl-Z.
    pub(crate) fn text(&self) -> Option<&str> {
        let text = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&self.bytes[..error.valid_up_to()]).ok()?
            }
            Err(_) => return None,
        };
        (!text.chars().any(|c| c.is_control() && !c.is_whitespace() && c != '\u{1a}')).then_some(text)
    }

    /// Returns the whole file as COBOL source: Latin-1 if it is not UTF-8. A file larger than the sample is read again.
    pub(crate) fn into_text(self, path: &Path) -> Result<String, Stop> {
        if !self.is_whole() && path != Path::new("-") && self.compression.is_none() {
            return quayline_project::read_source(path).map_err(|error| unreadable(path, &error).into());
        }
        let latin1 = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect();
        Ok(String::from_utf8(self.bytes).unwrap_or_else(|error| latin1(error.as_bytes())))
    }
}
