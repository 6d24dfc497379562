//! Output with a count.

use std::io::Write;

/// Counts the bytes that it passes on, and returns the output through a reference: the libraries' writers do not always part with
/// it.
pub(crate) struct Counted<W> {
    out: Option<W>,
    bytes: u64,
}

impl<W> Counted<W> {
    pub(crate) fn new(out: W) -> Self {
        Counted { out: Some(out), bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn get_mut(&mut self) -> &mut W {
        self.out.as_mut().expect("an output that was given back is not written to")
    }

    /// Sets the count to `bytes` and returns the output, which the caller truncates to that length.
    pub(crate) fn cut(&mut self, bytes: u64) -> &mut W {
        self.bytes = bytes;
        self.get_mut()
    }

    /// Takes the output and the number of bytes written to it. Nothing may be written afterwards.
    pub(crate) fn take(&mut self) -> (W, u64) {
        (self.out.take().expect("the output is taken once, by a writer that is consumed"), self.bytes)
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        let Some(out) = &mut self.out else { return Ok(0) };
        let n = out.write(buf)?;
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.as_mut().map_or(Ok(()), W::flush)
    }
}
