//! Documents as columns. Rows cannot be taken out of columns again, so they are recorded until their source document is kept.

use quayline_columnar::{ColumnSink, ParquetEncoder};
use quayline_core::{Document, Finding, NodeId, Place, Sink, Value};

use super::part::Part;
use crate::payload::{Columns, Payload};
use crate::target::OutputExtent;

/// Rows of the documents of a lane.
pub(crate) struct ColumnsPart {
    sink: ColumnSink,
    /// Encoder for Parquet; `None` for Arrow.
    encoder: Option<ParquetEncoder>,
    /// Documents of the source document, of which `..used` are in use.
    documents: Vec<Document>,
    used: usize,
    /// Rows of the source document in the sink, which are kept next.
    rows: usize,
    /// If a source document continues: kept columns and those made from it in earlier blocks, with the number of its rows.
    encoded: Vec<Columns>,
    waiting: Vec<Columns>,
    waiting_rows: u64,
    /// Leaves of the source document whose zeros lost a minus sign, with the number of these zeros.
    zero_signs: Vec<(NodeId, u64)>,
    /// Findings of a row of the source document that the columns refused while the document continued.
    refusal: Option<Vec<Finding>>,
}

impl ColumnsPart {
    pub(crate) fn new(sink: ColumnSink, encoder: Option<ParquetEncoder>) -> Self {
        let (encoded, waiting) = (Vec::new(), Vec::new());
        ColumnsPart {
            sink,
            encoder,
            documents: Vec::new(),
            used: 0,
            rows: 0,
            encoded,
            waiting,
            waiting_rows: 0,
            zero_signs: Vec::new(),
            refusal: None,
        }
    }

    fn encode(&mut self) -> Result<Option<Columns>, Vec<Finding>> {
        if self.sink.rows() == 0 {
            return Ok(None);
        }
        Ok(Some(match &mut self.encoder {
            Some(encoder) => Columns::Pages(encoder.take_pages(&mut self.sink).map_err(|error| vec![error.finding()])?),
            None => Columns::Batch(self.sink.take_batch().map_err(|error| vec![error.finding()])?),
        }))
    }

    /// Sends the first `count` documents to the columns: all or none.
    fn send(&mut self, count: usize) -> Result<(), Vec<Finding>> {
        for number in 0..count {
            let mut sink = Counted { sink: &mut self.sink, zero_signs: &mut self.zero_signs };
            self.documents[number].replay(&mut sink);
            if let Some(refusal) = self.sink.take_refusal() {
                self.sink.take_back(number);
                return Err(refusal.findings(&Place::default()).0);
            }
        }
        Ok(())
    }
}

/// Columns, with a count of the zeros whose minus sign they do not have.
struct Counted<'s> {
    sink: &'s mut ColumnSink,
    zero_signs: &'s mut Vec<(NodeId, u64)>,
}

impl Sink for Counted<'_> {
    fn enter(&mut self, node: NodeId) {
        self.sink.enter(node);
    }
    fn leave(&mut self, node: NodeId) {
        self.sink.leave(node);
    }
    fn open_list(&mut self, node: NodeId) {
        self.sink.open_list(node);
    }
    fn close_list(&mut self, node: NodeId) {
        self.sink.close_list(node);
    }
    #[inline]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if let Value::Digits(digits) = value
            && digits.negative
            && digits.is_zero()
        {
            match self.zero_signs.iter_mut().find(|(leaf, _)| *leaf == node) {
                Some((_, count)) => *count += 1,
                None => self.zero_signs.push((node, 1)),
            }
        }
        self.sink.value(node, value);
    }
    fn discard(&mut self) {
        self.sink.discard();
    }
}

impl Sink for ColumnsPart {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            if self.used == self.documents.len() {
                self.documents.push(Document::new());
            }
            self.documents[self.used].clear();
            self.used += 1;
        }
        if let Some(document) = self.documents.get_mut(self.used.wrapping_sub(1)) {
            document.enter(node);
        }
    }
    fn leave(&mut self, node: NodeId) {
        if let Some(document) = self.documents.get_mut(self.used.wrapping_sub(1)) {
            document.leave(node);
        }
    }
    fn open_list(&mut self, node: NodeId) {
        if let Some(document) = self.documents.get_mut(self.used.wrapping_sub(1)) {
            document.open_list(node);
        }
    }
    fn close_list(&mut self, node: NodeId) {
        if let Some(document) = self.documents.get_mut(self.used.wrapping_sub(1)) {
            document.close_list(node);
        }
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if let Some(document) = self.documents.get_mut(self.used.wrapping_sub(1)) {
            document.value(node, value);
        }
    }
    fn discard(&mut self) {
        self.used = self.used.saturating_sub(1);
    }
}

impl Part for ColumnsPart {
    fn settle(&mut self) -> Result<(), Vec<Finding>> {
        if let Some(findings) = self.refusal.take() {
            return Err(findings);
        }
        self.send(self.used)?;
        self.rows = core::mem::take(&mut self.used);
        Ok(())
    }

    fn keep(&mut self) -> OutputExtent {
        self.encoded.append(&mut self.waiting);
        let documents = core::mem::take(&mut self.waiting_rows) + core::mem::take(&mut self.rows) as u64;
        OutputExtent { documents, drafts: 0, end: 0, has_notes: !self.zero_signs.is_empty() }
    }

    fn take_zero_signs(&mut self) -> Vec<(NodeId, u64)> {
        core::mem::take(&mut self.zero_signs)
    }

    fn back(&mut self) {
        self.sink.take_back(core::mem::take(&mut self.rows));
        self.used = 0;
        self.zero_signs.clear();
        self.refusal = None;
        self.waiting.clear();
        self.waiting_rows = 0;
    }

    fn drain(&mut self, payload: &mut Payload, goes_on: bool) -> Result<(), Vec<Finding>> {
        payload.len = 0;
        if !goes_on {
            let last = self.encode()?;
            payload.columns.append(&mut self.encoded);
            payload.columns.extend(last);
            return Ok(());
        }
        let kept = self.encode()?;
        self.encoded.extend(kept);
        // The document that was left last may still be discarded, and one may be open.
        let done = self.used.saturating_sub(1);
        if done > 0 {
            // A refused row rejects its source document when that ends; no more of its rows are sent.
            if self.refusal.is_none() {
                self.refusal = self.send(done).err();
            }
            if self.refusal.is_none() {
                let rows = self.encode()?;
                self.waiting.extend(rows);
                self.waiting_rows += done as u64;
            }
            self.documents.rotate_left(done);
            self.used -= done;
        }
        Ok(())
    }
}
