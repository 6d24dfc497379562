//! Documents as records.

use quayline_core::{Finding, NodeId, Place, Sink, Value};

use super::part::{Part, spool_error};
use super::waiting::Waiting;
use crate::payload::Payload;
use crate::repeats::Repeats;
use crate::revocable::Revocable as _;
use crate::sink::record::{DocumentEncoder, Framed, FramedMark};
use crate::spool::SpoolFolder;
use crate::target::OutputExtent;

/// Records of the documents of a lane.
pub(crate) struct RecordPart<E> {
    encoder: E,
    framed: Framed,
    waiting: Waiting,
    /// State of the framing before the first output of the source document.
    mark: Option<FramedMark>,
    pending: bool,
    documents: u64,
    refused: Vec<Finding>,
    /// Notes on the records of the source document.
    notes: Repeats,
}

impl<E: DocumentEncoder> RecordPart<E> {
    pub(crate) fn new(encoder: E, framed: Framed, folder: SpoolFolder) -> Self {
        let waiting = Waiting::new(folder);
        RecordPart {
            encoder,
            framed,
            waiting,
            mark: None,
            pending: false,
            documents: 0,
            refused: Vec::new(),
            notes: Repeats::default(),
        }
    }

    fn end_pending(&mut self) {
        if !core::mem::take(&mut self.pending) {
            return;
        }
        if self.mark.is_none() {
            let Ok(mark) = self.framed.mark();
            self.mark = Some(mark);
        }
        match self.encoder.frame(&mut self.framed) {
            Ok(()) => {
                self.documents += 1;
                self.encoder.add_repeats(&mut self.notes, Place::default);
            }
            Err(found) => self.refused.extend(found),
        }
    }
}

impl<E: DocumentEncoder> Sink for RecordPart<E> {
    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.end_pending();
        }
        self.encoder.enter(node);
    }
    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
        self.encoder.leave(node);
        if node == NodeId::ROOT {
            self.pending = true;
        }
    }
    #[inline(always)]
    fn open_list(&mut self, node: NodeId) {
        self.encoder.open_list(node);
    }
    #[inline(always)]
    fn close_list(&mut self, node: NodeId) {
        self.encoder.close_list(node);
    }
    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.encoder.value(node, value);
    }
    fn discard(&mut self) {
        self.encoder.discard();
        self.pending = false;
    }
}

impl<E: DocumentEncoder> Part for RecordPart<E> {
    fn settle(&mut self) -> Result<(), Vec<Finding>> {
        self.end_pending();
        if self.refused.is_empty() { Ok(()) } else { Err(core::mem::take(&mut self.refused)) }
    }

    fn keep(&mut self) -> OutputExtent {
        self.mark = None;
        self.waiting.mark = self.waiting.at(self.framed.written());
        let documents = core::mem::take(&mut self.documents);
        OutputExtent { documents, drafts: 0, end: self.waiting.mark, has_notes: !self.notes.is_empty() }
    }

    fn take_notes(&mut self) -> Repeats {
        core::mem::take(&mut self.notes)
    }

    fn back(&mut self) {
        self.pending = false;
        self.documents = 0;
        self.refused.clear();
        self.notes.clear();
        let Some(mark) = self.mark.take() else { return };
        match self.waiting.cut(self.waiting.mark) {
            Ok(len) => self.framed.back_to_len(mark, len),
            Err(error) => self.refused.extend(spool_error(self.waiting.folder())(error)),
        }
    }

    fn drain(&mut self, payload: &mut Payload, goes_on: bool) -> Result<(), Vec<Finding>> {
        if goes_on {
            payload.len = 0;
            self.waiting.push(self.framed.bytes()).map_err(spool_error(self.waiting.folder()))?;
            self.framed.forget();
            return Ok(());
        }
        self.waiting.leave(payload);
        self.framed.drain(payload);
        Ok(())
    }
}
