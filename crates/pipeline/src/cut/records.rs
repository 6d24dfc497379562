//! Records by framing; with nested types, whole families of records.

use std::sync::Arc;

use quayline_core::{ByteOffset, Fault, Finding, Limits, Place, RecordNumber};
use quayline_frame::{
    BlockEnd, BlockSplitter, Edges, EndOfInput, FrameFault, FrameFaultKind, FramingSpec, LineEnd, LineSpec,
    RecordExtent, SpecError, Splitter,
};
use quayline_project::{RecordTypes, Schema};

use crate::block::{Block, Position, Units};
use crate::block_reader::{Cut, CutEnd, Cutter, SourceEnd};
use crate::codes;
use crate::record_extent::extent;

/// Cuts a source of framed records. Blocks end where a document begins, so a record and its children are always in one block.
pub(crate) struct RecordCutter {
    spec: FramingSpec,
    limits: Limits,
    edges: Edges,
    splitter: BlockSplitter,
    /// Set for nested types.
    families: Option<Arc<Schema>>,
    /// Set for records that end by their own counters.
    extent: Option<Arc<dyn RecordExtent>>,
    /// Bytes in front of the first record that are still to come.
    lead: u64,
    /// Bytes after the last record. They stay in the buffer until the source ends.
    tail: usize,
    file: Arc<str>,
}

impl RecordCutter {
    pub(crate) fn new(
        spec: &FramingSpec,
        limits: &Limits,
        schema: &Arc<Schema>,
        from: &Position,
        file: &Arc<str>,
    ) -> Result<Self, SpecError> {
        let types = schema.types();
        let edges = types.map(RecordTypes::edges).unwrap_or_default();
        let families = types.is_some_and(RecordTypes::is_nested).then(|| Arc::clone(schema));
        let extent = extent(spec, schema);
        let skip = schema.skip_bytes();
        let lead = skip.first.saturating_sub(from.offset.0);
        let first = Position::at(ByteOffset(from.offset.0 + lead), from.next, from.state);
        let splitter = splitter(spec, limits, &first, edges, extent.as_ref())?;
        let (file, tail) = (Arc::clone(file), skip.last);
        Ok(RecordCutter { spec: *spec, limits: limits.clone(), edges, splitter, families, extent, lead, tail, file })
    }

    fn fault(&self, fault: &FrameFault) -> Finding {
        let mut finding = fault.finding();
        finding.place.file = Some(Arc::clone(&self.file));
        finding
    }

    /// Passes over bytes in front of the first record. The block has no records.
    fn pass_over(&mut self, block: &mut Block, end: SourceEnd) -> Cut {
        self.no_records(block);
        let passed = usize::try_from(self.lead).map_or(block.filled, |lead| lead.min(block.filled));
        self.lead -= passed as u64;
        if self.lead > 0 && end == SourceEnd::Yes {
            return Cut { consumed: passed, end: CutEnd::Lost(self.short_of_skipped()) };
        }
        Cut { consumed: passed, end: CutEnd::NeedMore { at_least: 1 } }
    }

    fn no_records(&mut self, block: &mut Block) {
        if let Units::Records(batch) = &mut block.units {
            self.splitter.block(&[], EndOfInput::No, batch);
        }
    }

    #[cold]
    fn short_of_skipped(&self) -> Finding {
        let message = "the file ends within the bytes to skip, before any record".to_owned();
        let place = Place { file: Some(Arc::clone(&self.file)), ..Place::default() };
        let hint = "correct `skip-bytes-first` and `skip-bytes-last`";
        Finding::error(codes::SHORT_OF_SKIPPED, Fault::Config, message).at(place).hint(hint)
    }

    /// Returns a warning at the end of a file that has fewer records than the settings skip: a header or trailer is missing, or they are swapped.
    fn fewer_than_skipped(&self) -> Option<Finding> {
        let Edges { skip_first, skip_last } = self.edges;
        let records = self.splitter.next_record().0 - 1;
        // An empty file has a warning of its own.
        if records == 0 || records >= skip_first.saturating_add(skip_last as u64) {
            return None;
        }
        let number = |count: u64| if count == 1 { "1 record".to_owned() } else { format!("{count} records") };
        let message = format!(
            "the file has {}, fewer than the settings skip: {skip_first} at its beginning and {skip_last} at its end",
            number(records)
        );
        let place = Place { file: Some(Arc::clone(&self.file)), ..Place::default() };
        let hint = "check that the file is complete, or correct `skip-first` and `skip-last` of the interface file";
        Some(Finding::warning(codes::FEWER_THAN_SKIPPED, Fault::Sender, message).at(place).hint(hint))
    }

    /// Returns a warning if a record that the settings skip contains an LF in `lines:crlf`: it may be several lines, so the header may have
    /// taken records with it.
    fn joined_when_skipped(&self, block: &Block, consumed: usize) -> Option<Finding> {
        let FramingSpec::Lines(LineSpec { end: LineEnd::CrLf, .. }) = self.spec else { return None };
        let Units::Records(batch) = &block.units else { return None };
        let (start, end) = match batch.len().checked_sub(1) {
            Some(last) => {
                let last = batch.span(last);
                (batch.span(0).frame as usize, (last.body + last.len) as usize + 2)
            }
            None => (consumed, consumed),
        };
        let regions = [0..start, end.min(consumed)..consumed];
        let lone = |at: &usize| block.bytes[*at] == b'\n' && (*at == 0 || block.bytes[*at - 1] != b'\r');
        let at = regions.into_iter().flatten().find(lone)?;
        let message = "a record that the settings skip contains an LF without a CR: it may be several lines".to_owned();
        let place = Place {
            file: Some(Arc::clone(&self.file)),
            byte: Some(ByteOffset(block.before.offset.0 + at as u64)),
            ..Place::default()
        };
        Some(Finding::warning(codes::LINE_FEED, Fault::Sender, message).at(place).hint(codes::LINE_FEED_HINT))
    }

    /// Returns the records of the last family to the input, since more of its records may follow. `None` if the block contains only that family.
    fn keep_last_family(&mut self, block: &mut Block, types: &RecordTypes) -> Option<usize> {
        let Units::Records(batch) = &mut block.units else { return None };
        let begins = |i: &usize| types.begins_document(batch.body(&block.bytes, *i));
        let last = (1..batch.len()).rev().find(begins)?;
        let end = batch.span(last).frame as usize;
        // Cut again up to that record, without reserving trailers, which come later.
        let edges = Edges { skip_last: 0, ..self.edges };
        let mut again = splitter(&self.spec, &self.limits, &block.before, edges, self.extent.as_ref()).ok()?;
        let cut = again.block(&block.bytes[..end], EndOfInput::No, batch);
        block.skipped = cut.skipped;
        let at = Position::at(again.offset(), again.next_record(), again.state());
        self.splitter = splitter(&self.spec, &self.limits, &at, self.edges, self.extent.as_ref()).ok()?;
        Some(cut.consumed)
    }
}

impl Cutter for RecordCutter {
    fn cut(&mut self, block: &mut Block, end: SourceEnd) -> Cut {
        if self.lead > 0 {
            return self.pass_over(block, end);
        }
        let tail = self.tail;
        match (end, block.filled.checked_sub(tail)) {
            (_, Some(rest)) => block.filled = rest,
            (SourceEnd::No, None) => return Cut { consumed: 0, end: CutEnd::NeedMore { at_least: tail + 1 } },
            (SourceEnd::Yes, None) => {
                self.no_records(block);
                return Cut { consumed: block.filled, end: CutEnd::Lost(self.short_of_skipped()) };
            }
        }
        let mut cut = self.cut_records(block, end);
        if end == SourceEnd::No {
            block.filled += tail;
            if let CutEnd::NeedMore { at_least } = &mut cut.end {
                *at_least += tail;
            }
        }
        cut
    }

    fn position(&self) -> Position {
        let offset = ByteOffset(self.splitter.offset().0 - self.lead);
        Position::at(offset, self.splitter.next_record(), self.splitter.state())
    }
}

impl RecordCutter {
    fn cut_records(&mut self, block: &mut Block, end: SourceEnd) -> Cut {
        let end_of_input = match end {
            SourceEnd::No => EndOfInput::No,
            SourceEnd::Yes => EndOfInput::Yes,
        };
        let started = self.position();
        let Units::Records(batch) = &mut block.units else { unreachable!("records are cut into a block of records") };
        let cut = self.splitter.block(&block.bytes[..block.filled], end_of_input, batch);
        block.skipped = cut.skipped;
        let records = batch.len();
        if cut.skipped > 0 {
            block.warning = self.joined_when_skipped(block, cut.consumed);
        }
        let (consumed, end) = match cut.end {
            BlockEnd::NeedMore { at_least } => (cut.consumed, CutEnd::NeedMore { at_least: cut.consumed + at_least }),
            BlockEnd::Done => {
                block.warning = block.warning.take().or_else(|| self.fewer_than_skipped());
                (cut.consumed, CutEnd::Done)
            }
            BlockEnd::Fault(fault) => {
                let finding = self.fault(&fault);
                let is_tail = matches!(fault.kind, FrameFaultKind::Truncated { .. }) && end == SourceEnd::Yes;
                // A first record that never ends is not cut off: the framing is another one.
                let torn = is_tail && fault.record > RecordNumber(1 + self.edges.skip_first);
                (cut.consumed, if torn { CutEnd::Torn(finding) } else { CutEnd::Lost(finding) })
            }
        };
        let Some(schema) = self.families.clone() else { return Cut { consumed, end } };
        let (CutEnd::NeedMore { .. }, Some(types)) = (&end, schema.types()) else { return Cut { consumed, end } };
        match self.keep_last_family(block, types) {
            Some(consumed) => Cut { consumed, end },
            None if records == 0 && consumed > 0 => Cut { consumed, end },
            None => {
                // One family fills the buffer: try again with more input.
                if block.filled > self.limits.record_bytes_max {
                    let place =
                        Place { file: Some(Arc::clone(&self.file)), record: Some(started.next), ..Place::default() };
                    let limit = self.limits.record_bytes_max;
                    let message = format!("this record and those nested in it take more than {limit} bytes");
                    let finding = Finding::error(codes::LARGE_FAMILY, Fault::Config, message).at(place);
                    let hint = "convert the record types without `parent`, or allow more with `--limit record-bytes=N`";
                    return Cut { consumed: 0, end: CutEnd::Lost(finding.hint(hint)) };
                }
                if let Ok(splitter) = splitter(&self.spec, &self.limits, &started, self.edges, self.extent.as_ref()) {
                    self.splitter = splitter;
                }
                Cut { consumed: 0, end: CutEnd::NeedMore { at_least: block.filled + 1 } }
            }
        }
    }
}

fn splitter(
    spec: &FramingSpec,
    limits: &Limits,
    from: &Position,
    edges: Edges,
    extent: Option<&Arc<dyn RecordExtent>>,
) -> Result<BlockSplitter, SpecError> {
    let splitter = Splitter::resume(spec, limits, from.offset, from.next, from.state)?;
    BlockSplitter::over(splitter.with_extent(extent.cloned()), edges)
}
