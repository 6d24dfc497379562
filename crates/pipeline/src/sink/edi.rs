//! Interchanges: lanes pass documents to the writer, which tracks the open envelopes and writes them in order.

use quayline_core::Finding;
use quayline_edi::{EdiDraft, EdiDrafter, EdiWriterOptions};

use crate::payload::Payload;
use crate::target::Target;

pub(crate) struct EdiTarget {
    drafter: EdiDrafter,
    drafts: Vec<EdiDraft>,
    /// Drafts that were written, whose memory is used again.
    used: Vec<EdiDraft>,
}

/// Bytes of drafts that a lane keeps to use them again: those of a block.
const USED_BYTES_MAX: usize = 1 << 20;

impl EdiTarget {
    pub(crate) fn new(options: &EdiWriterOptions) -> Self {
        let drafter = options.guides.as_ref().map_or_else(EdiDrafter::new, EdiDrafter::by_guide);
        EdiTarget { drafter, drafts: Vec::new(), used: Vec::new() }
    }
}

impl Target for EdiTarget {
    type Sink = EdiDrafter;

    fn defers(&self) -> bool {
        true
    }

    fn sink(&mut self) -> &mut EdiDrafter {
        &mut self.drafter
    }

    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        self.drafts.extend(self.drafter.take(self.used.pop()));
        Ok(())
    }

    /// Returns the number of drafts. The writer knows the position of the output.
    fn mark(&mut self) -> Result<usize, Vec<Finding>> {
        Ok(self.drafts.len())
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        core::mem::swap(&mut payload.drafts, &mut self.drafts);
        self.drafts.clear();
        let mut bytes = self.used.iter().map(EdiDraft::memory).sum::<usize>();
        self.used.extend(payload.used.drain(..).take_while(|draft| {
            let before = bytes;
            bytes += draft.memory();
            before < USED_BYTES_MAX
        }));
        Ok(())
    }
}
