//! Interchanges: lanes hand documents over, and the writer, which knows what is open, writes them in order.

use quayline_core::Finding;
use quayline_edi::{EdiDraft, EdiDrafter, EdiWriterOptions};

use crate::engine::lane::Target;
use crate::engine::lot::Payload;

pub(crate) struct EdiTarget {
    drafter: EdiDrafter,
    drafts: Vec<EdiDraft>,
}

impl EdiTarget {
    pub(crate) fn new(options: &EdiWriterOptions) -> Self {
        let drafter = options.guides.as_ref().map_or_else(EdiDrafter::new, EdiDrafter::by_guide);
        EdiTarget { drafter, drafts: Vec::new() }
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
        self.drafts.extend(self.drafter.take(None));
        Ok(())
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        core::mem::swap(&mut payload.drafts, &mut self.drafts);
        self.drafts.clear();
        Ok(())
    }
}
