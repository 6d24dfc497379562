//! The first bytes of a file, and how long it is.

use std::io::{Cursor, Read};
use std::path::Path;

use quayline_convert::Compression;

use crate::args::DecompressArg;
use crate::copybook::unreadable;
use crate::exit::Stop;
use crate::input;

/// Bytes looked at: dozens of the longest records that z/OS writes, read in a moment.
const SAMPLE_BYTES: u64 = 4 << 20;

/// The first bytes of a file.
pub(crate) struct Sample {
    /// The bytes, at most [`SAMPLE_BYTES`].
    pub(crate) bytes: Vec<u8>,
    /// Length of the file, where it is known.
    pub(crate) file_len: Option<u64>,
    /// How the file is compressed; the bytes are those inside.
    pub(crate) compression: Option<Compression>,
    /// A byte behind them that was read of a stream to see that there is more.
    more: Option<u8>,
    /// What follows.
    rest: Box<dyn Read + Send>,
}

impl Sample {
    /// Reads the start of a file; `-` is standard input.
    pub(crate) fn read(path: &Path) -> Result<Self, Stop> {
        let refuse = |error: std::io::Error| Stop::from(unreadable(path, &error));
        let mut bytes = Vec::new();
        // One byte more than is looked at tells whether that was all.
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

    /// The whole file.
    pub(crate) fn into_reader(mut self) -> Box<dyn Read + Send> {
        self.bytes.extend(self.more);
        Box::new(Cursor::new(self.bytes).chain(self.rest))
    }

    /// Whether the sample is the whole file.
    pub(crate) fn is_whole(&self) -> bool {
        self.file_len == Some(self.bytes.len() as u64)
    }

    /// The sample as text, where it is some: UTF-8 without control characters but white space and Ctrl-Z.
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

    /// The whole file as COBOL source: what is not UTF-8 is Latin-1, and what does not fit the sample is read again.
    pub(crate) fn into_text(self, path: &Path) -> Result<String, Stop> {
        if !self.is_whole() && path != Path::new("-") && self.compression.is_none() {
            return quayline_project::read_source(path).map_err(|error| unreadable(path, &error).into());
        }
        let latin1 = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect();
        Ok(String::from_utf8(self.bytes).unwrap_or_else(|error| latin1(error.as_bytes())))
    }
}
