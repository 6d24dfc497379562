//! Documents as text: JSON, XML, CSV.

use quayline_core::{Finding, NodeId, Sink, Value};
use quayline_flat::KeySpan;

use super::part::{Part, spool_error};
use super::waiting::Waiting;
use crate::apart::Apart;
use crate::payload::Payload;
use crate::sink::text::TextWriter;
use crate::spool::SpoolFolder;
use crate::target::OutputExtent;

/// Text of the documents of a lane.
pub(crate) struct TextPart<W> {
    writer: W,
    waiting: Waiting,
    /// Beginning of the last document, and whether it is complete and can still be discarded.
    document: u64,
    pending: bool,
    /// Documents of the source document.
    documents: u64,
    /// Ends of documents, if each goes to a separate file.
    cuts: Option<Vec<u64>>,
    refused: Vec<Finding>,
    /// The keys of documents that were taken and whose source document is not complete.
    keys: Option<KeySpan>,
    scratch: Vec<u8>,
}

impl<W: TextWriter> TextPart<W> {
    pub(crate) fn new(writer: W, apart: Apart, folder: SpoolFolder) -> Self {
        TextPart {
            writer,
            waiting: Waiting::new(folder),
            document: 0,
            pending: false,
            documents: 0,
            cuts: (apart == Apart::FileEach).then(Vec::new),
            refused: Vec::new(),
            keys: None,
            scratch: Vec::new(),
        }
    }

    #[inline(always)]
    fn at(&self) -> u64 {
        self.waiting.at(self.writer.written())
    }

    fn cut_to(&mut self, at: u64) {
        match self.waiting.cut(at) {
            Ok(len) => {
                let Ok(()) = self.writer.back_to(len);
            }
            Err(error) => {
                let Ok(()) = self.writer.back_to(0);
                self.refused.extend(spool_error(self.waiting.folder())(error));
            }
        }
        self.pending = false;
        if let Some(cuts) = &mut self.cuts {
            cuts.retain(|cut| *cut <= at);
        }
    }

    #[inline(always)]
    fn end_pending(&mut self) {
        if !core::mem::take(&mut self.pending) {
            return;
        }
        match self.writer.refusal() {
            None => {
                self.documents += 1;
                let at = self.at();
                if let Some(cuts) = &mut self.cuts {
                    cuts.push(at);
                }
            }
            Some(finding) => self.refused.push(finding),
        }
    }
}

impl<W: TextWriter> Sink for TextPart<W> {
    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.end_pending();
            self.document = self.at();
        }
        self.writer.enter(node);
    }
    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
        self.writer.leave(node);
        if node == NodeId::ROOT {
            self.pending = true;
        }
    }
    #[inline(always)]
    fn open_list(&mut self, node: NodeId) {
        self.writer.open_list(node);
    }
    #[inline(always)]
    fn close_list(&mut self, node: NodeId) {
        self.writer.close_list(node);
    }
    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.writer.value(node, value);
    }
    fn discard(&mut self) {
        let _ = self.writer.refusal();
        self.cut_to(self.document);
    }
}

impl<W: TextWriter> Part for TextPart<W> {
    fn at(&self) -> Option<u64> {
        self.writer.is_in_order().then(|| TextPart::at(self))
    }

    fn settle(&mut self) -> Result<(), Vec<Finding>> {
        self.end_pending();
        if self.refused.is_empty() { Ok(()) } else { Err(core::mem::take(&mut self.refused)) }
    }

    fn keep(&mut self) -> OutputExtent {
        self.waiting.mark = self.at();
        OutputExtent {
            documents: core::mem::take(&mut self.documents),
            drafts: 0,
            end: self.waiting.mark,
            has_notes: false,
        }
    }

    fn back(&mut self) {
        self.cut_to(self.waiting.mark);
        self.documents = 0;
        self.refused.clear();
        self.keys = None;
    }

    fn drain(&mut self, payload: &mut Payload, goes_on: bool) -> Result<(), Vec<Finding>> {
        self.scratch.clear();
        self.keys = match (self.keys.take(), self.writer.keys()) {
            (Some(before), Some(next)) => Some(before.join(next).map_err(|fault| vec![fault.finding()])?),
            (before, next) => next.or(before),
        };
        self.writer.take(&mut self.scratch);
        if goes_on {
            self.waiting.push(&self.scratch).map_err(spool_error(self.waiting.folder()))?;
            payload.len = 0;
            return Ok(());
        }
        self.waiting.leave(payload);
        payload.keys = self.keys.take();
        if let Some(cuts) = &mut self.cuts {
            payload.cuts.clear();
            payload.cuts.extend(cuts.drain(..).map(|cut| usize::try_from(cut).unwrap_or(usize::MAX)));
        }
        core::mem::swap(&mut payload.bytes, &mut self.scratch);
        payload.len = payload.bytes.len();
        Ok(())
    }
}
