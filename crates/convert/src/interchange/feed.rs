//! Bytes of a source for passes over it.

use std::io::{self, Read};

use quayline_edi::EndOfInput;

/// Bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// The buffer grows by this part of its size at least.
const GROWTH: usize = 8;

/// Bytes that were read and are not processed yet. The buffer grows only while one segment is incomplete, and segments are limited.
pub(crate) struct Feed {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    filled: usize,
    is_drained: bool,
}

impl Feed {
    pub(crate) fn new(reader: Box<dyn Read + Send>) -> Self {
        Feed { reader, buffer: vec![0; READ_BYTES], filled: 0, is_drained: false }
    }

    /// Returns the bytes, with a flag for the end of the source.
    pub(crate) fn input(&self) -> (&[u8], EndOfInput) {
        (&self.buffer[..self.filled], if self.is_drained { EndOfInput::Yes } else { EndOfInput::No })
    }

    /// Drops `done` bytes and reads on until the buffer is full or the source ends, so that passes see the same however bytes arrive.
    pub(crate) fn advance(&mut self, done: usize) -> io::Result<()> {
        self.buffer.copy_within(done..self.filled, 0);
        self.filled -= done;
        if self.filled + READ_BYTES / 2 > self.buffer.len() {
            // What is not done with may be looked at again, so the buffer grows by a share of its size.
            self.buffer.resize(self.filled + READ_BYTES.max(self.filled / GROWTH), 0);
        } else if self.buffer.len() > 8 * READ_BYTES && self.filled < READ_BYTES {
            self.buffer.truncate(2 * READ_BYTES);
            self.buffer.shrink_to_fit();
        }
        while self.filled < self.buffer.len() && !self.is_drained {
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.is_drained = true,
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
