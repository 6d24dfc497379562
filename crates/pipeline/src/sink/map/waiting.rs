//! Output that waits for the end of its source document, and positions in it.

use std::io;

use crate::payload::Payload;
use crate::spool::{Spool, SpoolFiles, SpoolFolder};

/// Output before the writer's buffer, since the last drain. Positions are relative to that drain.
pub(crate) struct Waiting {
    spool: Option<Spool>,
    folder: SpoolFolder,
    spooled: u64,
    /// End of the kept output.
    pub(crate) mark: u64,
}

impl Waiting {
    pub(crate) fn new(folder: SpoolFolder) -> Self {
        Waiting { spool: None, folder, spooled: 0, mark: 0 }
    }

    /// Returns the position after `written` bytes of the writer's buffer.
    #[inline(always)]
    pub(crate) fn at(&self, written: usize) -> u64 {
        self.spooled + written as u64
    }

    /// Returns the number of bytes of the writer's buffer before a position. If the position is before the buffer, truncates the spool and returns 0.
    pub(crate) fn cut(&mut self, at: u64) -> io::Result<usize> {
        if let Some(rest) = at.checked_sub(self.spooled) {
            return Ok(usize::try_from(rest).unwrap_or(usize::MAX));
        }
        self.spooled = at;
        self.spool.as_mut().map_or(Ok(()), |spool| spool.truncate(at)).map(|()| 0)
    }

    /// Appends bytes of the buffer to the spool.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() {
            self.spool.get_or_insert_default().push(bytes, &*self.folder)?;
            self.spooled += bytes.len() as u64;
        }
        Ok(())
    }

    /// Moves the spooled output to the payload, where it precedes the payload's bytes.
    pub(crate) fn leave(&mut self, payload: &mut Payload) {
        payload.front = self.spool.take();
        (self.spooled, self.mark) = (0, 0);
    }

    pub(crate) fn folder(&self) -> &dyn SpoolFiles {
        &*self.folder
    }
}
