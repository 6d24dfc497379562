//! Documents as drafts of interchanges: the writer, which knows what is open, writes them.

use std::sync::Arc;

use quayline_core::{Finding, NodeId, Sink, Value};
use quayline_edi::{EdiDraft, EdiDrafter, EdiWriterOptions, Level};

use super::part::Part;
use crate::engine::lane::Taken;
use crate::engine::lot::Payload;

/// Drafts of the documents of a lane.
pub(crate) struct EdiPart {
    drafter: EdiDrafter,
    drafts: Vec<EdiDraft>,
    kept: usize,
    pending: bool,
    /// What the run says of envelopes, where neither map nor document does.
    defaults: Arc<[(String, String)]>,
    envelope: Vec<(String, String)>,
}

impl EdiPart {
    pub(crate) fn new(options: &EdiWriterOptions, defaults: Arc<[(String, String)]>) -> Self {
        let drafter = options.guides.as_ref().map_or_else(EdiDrafter::new, EdiDrafter::by_guide);
        EdiPart { drafter, drafts: Vec::new(), kept: 0, pending: false, defaults, envelope: Vec::new() }
    }

    fn end_pending(&mut self) {
        if !core::mem::take(&mut self.pending) {
            return;
        }
        for (name, value) in self.envelope.iter().chain(self.defaults.iter()) {
            fill(&mut self.drafter, name, value);
        }
        self.drafts.extend(self.drafter.take(None));
    }
}

/// Sets a header field: `sender`, or with its level in front, `group.sender`, where the document has none.
fn fill(drafter: &mut EdiDrafter, name: &str, value: &str) {
    let levels =
        [("interchange", Level::Interchange), ("group", Level::Group), ("transaction", Level::Transaction)];
    for (word, level) in levels {
        let field = name.strip_prefix(word).and_then(|rest| rest.strip_prefix(['.', '-', '_']));
        if let Some(field) = field {
            drafter.fill(level, &field.replace('-', "_"), value.as_bytes());
            return;
        }
    }
    let name = name.replace('-', "_");
    let _ = drafter.fill(Level::Interchange, &name, value.as_bytes());
}

impl Sink for EdiPart {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.end_pending();
        }
        self.drafter.enter(node);
    }
    fn leave(&mut self, node: NodeId) {
        self.drafter.leave(node);
        if node == NodeId::ROOT {
            self.pending = true;
        }
    }
    fn open_list(&mut self, node: NodeId) {
        self.drafter.open_list(node);
    }
    fn close_list(&mut self, node: NodeId) {
        self.drafter.close_list(node);
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.drafter.value(node, value);
    }
    fn discard(&mut self) {
        self.drafter.discard();
        self.pending = false;
    }
}

impl Part for EdiPart {
    fn defers(&self) -> bool {
        true
    }

    fn envelope(&mut self, values: &[(String, String)]) {
        self.envelope.clear();
        self.envelope.extend_from_slice(values);
    }

    fn settle(&mut self) -> Result<(), Vec<Finding>> {
        self.end_pending();
        Ok(())
    }

    fn keep(&mut self) -> Taken {
        let drafts = self.drafts.len() - self.kept;
        self.kept = self.drafts.len();
        Taken { documents: drafts as u64, drafts, end: 0 }
    }

    fn back(&mut self) {
        self.drafts.truncate(self.kept);
        self.pending = false;
    }

    fn drain(&mut self, payload: &mut Payload, goes_on: bool) -> Result<(), Vec<Finding>> {
        payload.len = 0;
        if !goes_on {
            core::mem::swap(&mut payload.drafts, &mut self.drafts);
            self.drafts.clear();
            self.kept = 0;
        }
        Ok(())
    }
}
