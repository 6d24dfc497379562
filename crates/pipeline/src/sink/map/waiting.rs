//! Output that waits for the end of its source document, and places in it.

use std::io;

use crate::lot::Payload;
use crate::spool::{Spool, SpoolFiles, SpoolFolder};

/// What was written before the writer's own buffer, since output left the last time. Places count from there.
pub(crate) struct Waiting {
    spool: Option<Spool>,
    folder: SpoolFolder,
    spooled: u64,
    /// Where what was kept ends.
    pub(crate) mark: u64,
}

impl Waiting {
    pub(crate) fn new(folder: SpoolFolder) -> Self {
        Waiting { spool: None, folder, spooled: 0, mark: 0 }
    }

    /// The place behind `written` bytes of the writer's buffer.
    #[inline(always)]
    pub(crate) fn at(&self, written: usize) -> u64 {
        self.spooled + written as u64
    }

    /// How many bytes of the writer's buffer stand before a place; where it lies before the buffer, the spool is cut and it is 0.
    pub(crate) fn cut(&mut self, at: u64) -> io::Result<usize> {
        if let Some(rest) = at.checked_sub(self.spooled) {
            return Ok(usize::try_from(rest).unwrap_or(usize::MAX));
        }
        self.spooled = at;
        self.spool.as_mut().map_or(Ok(()), |spool| spool.truncate(at)).map(|()| 0)
    }

    /// Bytes of the buffer wait.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() {
            self.spool.get_or_insert_default().push(bytes, &*self.folder)?;
            self.spooled += bytes.len() as u64;
        }
        Ok(())
    }

    /// What has waited leaves in front of the payload's bytes.
    pub(crate) fn leave(&mut self, payload: &mut Payload) {
        payload.front = self.spool.take();
        (self.spooled, self.mark) = (0, 0);
    }

    pub(crate) fn folder(&self) -> &dyn SpoolFiles {
        &*self.folder
    }
}
