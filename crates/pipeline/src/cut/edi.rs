//! Parts of a stream of interchanges: whole documents, or pages of one that is large.

use std::sync::Arc;

use quayline_core::{ByteOffset, RecordNumber};
use quayline_edi::{DocumentReader, DocumentStep, EndOfInput, GenericOptions};

use crate::block::{Block, EdiPart, Position, Units};
use crate::block_reader::{Cut, CutEnd, Cutter, SourceEnd};

/// Scans the segments for the positions at which a block may end. The lane that converts the block finds the same faults again, because it
/// continues from the same state over the same bytes.
pub(crate) struct EdiCutter {
    reader: DocumentReader,
    /// Reader at the beginning of the block.
    before: Arc<DocumentReader>,
    from: ByteOffset,
    next: RecordNumber,
    /// Bytes of the block that the reader has passed, and documents that ended in them: a block that is not yet large enough comes again.
    passed: usize,
    documents: u64,
    /// Byte of the block up to which the reader was let look for the end of a page, if it comes again.
    page_end: Option<usize>,
    /// True if the page end is more than one page after the beginning of the open document.
    is_stretched: bool,
    /// Size in bytes from which a block ends after the next document.
    enough: usize,
    page_bytes: usize,
    /// Documents are not divided into pages; a document that exceeds a block continues in the next one.
    whole: bool,
}

/// Returns options for a cutter without paging. Documents begin and end at the same positions without guides, which take most of the time.
pub(crate) fn without_guides(options: GenericOptions) -> GenericOptions {
    GenericOptions { guides: None, validation: None, page_bytes: None, ..options }
}

/// Returns the size of a transaction in bytes after which a page ends at any segment. With guides, pages end where loops begin, which the reader
/// detects; this larger limit applies only if no loop begins for long.
pub(crate) fn page_bytes(options: &GenericOptions) -> u64 {
    let pages = if options.guides.is_some() { GUIDE_PAGES } else { 1 };
    options.page_bytes.map_or(u64::MAX, |bytes| bytes.saturating_mul(pages)).max(1)
}

/// Returns the position to examine next if no page could end at `until`: `next`, the end of a page that began in the meantime. If one segment (or a
/// gap) fills the whole page, it is twice as far from the beginning of the page. Each byte of such a segment is read a constant number of times, and
/// the ends of pages depend only on their beginnings.
pub(crate) fn next_page_end(next: u64, until: u64, page_bytes: u64) -> u64 {
    if next > until {
        return next;
    }
    let begin = next.saturating_sub(page_bytes);
    until.saturating_add((until - begin).max(1))
}

/// Factor for the page size, after which a page of a transaction with guides ends at any segment.
const GUIDE_PAGES: u64 = 16;

impl EdiCutter {
    /// Creates a cutter that detects the same documents as readers with these options.
    pub(crate) fn new(options: &GenericOptions, block_bytes: usize, from: &Position) -> Self {
        let page_bytes = usize::try_from(page_bytes(options)).unwrap_or(usize::MAX);
        let mut reader = DocumentReader::new(options);
        if let Some(from) = &from.reader {
            reader.go_to(from);
        }
        EdiCutter {
            before: Arc::new(reader.snapshot()),
            reader,
            from: from.offset,
            next: from.next,
            passed: 0,
            documents: 0,
            page_end: None,
            is_stretched: false,
            enough: block_bytes / 4 * 3,
            page_bytes,
            whole: options.page_bytes.is_none(),
        }
    }

    /// Advances to the end of the block; `None` if it needs more bytes.
    fn go(&mut self, input: &[u8], end: SourceEnd) -> Option<EdiPart> {
        let offset =
            |at: ByteOffset, from: ByteOffset| usize::try_from(at.0.saturating_sub(from.0)).unwrap_or(usize::MAX);
        let mut page_end = self.page_end.take().unwrap_or_else(|| self.page_end(self.passed));
        loop {
            // Limit of an open document before it ends as a page, so the ends of pages do not depend on blocks.
            let until = page_end.min(input.len());
            let is_last = until == input.len() && end == SourceEnd::Yes;
            let end_of_input = if is_last { EndOfInput::Yes } else { EndOfInput::No };
            let from = self.passed;
            let mut pass = self.reader.over(&input[from..until], end_of_input);
            loop {
                let step = pass.skip();
                pass.take_faults().for_each(drop);
                self.passed = from + pass.consumed();
                match step {
                    DocumentStep::Document { page, more, .. } => {
                        self.documents += 1;
                        // A page ends its block, so that the part of a transaction that waits for its end is separate from the rest of the block.
                        // The page after a segment that filled a whole page has the normal size.
                        let enough = self.passed >= self.enough || more || page > 1 || self.is_stretched;
                        if enough && pass.is_between() {
                            // What ends a page by guide is the segment behind it, which the lane does not see.
                            return Some(EdiPart { len: self.passed, ends_page: more, ..EdiPart::default() });
                        }
                        if enough && let Some(behind) = pass.put_header_back() {
                            self.passed = from + pass.consumed();
                            return Some(EdiPart {
                                len: self.passed,
                                look: from + behind - self.passed,
                                ..EdiPart::default()
                            });
                        }
                        if enough {
                            pass.pause();
                        }
                    }
                    DocumentStep::Done => {
                        return Some(EdiPart { len: input.len(), is_last: true, ..EdiPart::default() });
                    }
                    DocumentStep::NeedMore if pass.is_paused() => {
                        return Some(EdiPart { len: self.passed, ..EdiPart::default() });
                    }
                    DocumentStep::NeedMore => break,
                }
            }
            let open = pass.open_since().map(|since| offset(since, self.from));
            let ends = open.is_some_and(|since| until >= since.saturating_add(self.page_bytes) && self.passed > since);
            if ends && until == page_end {
                pass.skip_page();
                self.documents += 1;
                return Some(EdiPart { len: self.passed, ends_page: true, ..EdiPart::default() });
            }
            if open.is_some() && self.whole && self.passed >= self.enough {
                return Some(EdiPart { len: self.passed, goes_on: true, ..EdiPart::default() });
            }
            if open.is_none() && self.passed >= self.enough && pass.is_between() {
                return Some(EdiPart { len: self.passed, ..EdiPart::default() });
            }
            drop(pass);
            if until == page_end {
                let wide = |bytes: usize| bytes as u64;
                let next = next_page_end(wide(self.page_end(self.passed)), wide(until), wide(self.page_bytes));
                self.is_stretched = next > wide(self.page_end(self.passed));
                page_end = usize::try_from(next).unwrap_or(usize::MAX);
            }
            if until == input.len() {
                self.page_end = Some(page_end);
                return None;
            }
        }
    }

    /// Returns the end of the open page, or of a page that begins at `at`.
    fn page_end(&self, at: usize) -> usize {
        let since = self
            .reader
            .open_since()
            .map_or(at, |since| usize::try_from(since.0.saturating_sub(self.from.0)).unwrap_or(usize::MAX));
        since.saturating_add(self.page_bytes)
    }
}

impl Cutter for EdiCutter {
    fn cut(&mut self, block: &mut Block, end: SourceEnd) -> Cut {
        let Some(part) = self.go(&block.bytes[..block.filled], end) else {
            return Cut { consumed: 0, end: CutEnd::NeedMore { at_least: block.filled + 1 } };
        };
        block.units = Units::Interchanges(EdiPart { documents: self.documents, ..part });
        self.before = Arc::new(self.reader.snapshot());
        self.from.0 += part.len as u64;
        self.next.0 += self.documents;
        (self.passed, self.documents, self.is_stretched) = (0, 0, false);
        let end = if part.is_last { CutEnd::Done } else { CutEnd::NeedMore { at_least: block.filled + 1 } };
        Cut { consumed: part.len, end }
    }

    fn position(&self) -> Position {
        Position { reader: Some(Arc::clone(&self.before)), ..Position::at(self.from, self.next, 0) }
    }
}
