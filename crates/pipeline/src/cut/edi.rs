//! Parts of a stream of interchanges: whole documents, or pages of one that is large.

use std::sync::Arc;

use quayline_core::{ByteOffset, RecordNumber};
use quayline_edi::{DocumentReader, DocumentStep, EndOfInput, GenericOptions};

use crate::block::{Block, EdiPart, Position, Units};
use crate::intake::{Cut, CutEnd, Cutter, SourceEnd};

/// Runs ahead over the segments to find where a block may end; what it finds wrong, the lane that converts the block finds again, since it
/// goes on from the same state over the same bytes.
pub(crate) struct EdiCutter {
    reader: DocumentReader,
    /// The reader where the block begins.
    before: Arc<DocumentReader>,
    from: ByteOffset,
    next: RecordNumber,
    /// Bytes of the block that the reader has passed, and documents that ended in them: a block that is not yet large enough comes again.
    passed: usize,
    documents: u64,
    /// Byte of the block up to which the reader was let look for the end of a page, if it comes again.
    page_end: Option<usize>,
    /// Whether it lies further than a page from the beginning of the document that is open.
    is_stretched: bool,
    /// Bytes from which on a block ends behind the next document.
    enough: usize,
    page_bytes: usize,
    /// Documents stay whole: one that reaches over blocks goes on in the next.
    whole: bool,
}

/// What a cutter reads by where nobody asks for pages: documents begin and end where they do without guides, which take most of the time.
pub(crate) fn without_guides(options: GenericOptions) -> GenericOptions {
    GenericOptions { guides: None, validation: None, page_bytes: None, ..options }
}

/// Bytes of a transaction behind which a page ends anywhere. By guide, pages end where loops begin, which the reader sees; only where none
/// begins for long do they end so.
pub(crate) fn page_bytes(options: &GenericOptions) -> u64 {
    let pages = if options.guides.is_some() { GUIDE_PAGES } else { 1 };
    options.page_bytes.map_or(u64::MAX, |bytes| bytes.saturating_mul(pages)).max(1)
}

/// Where to look after `until`, where no page could end: at `next`, the end of a page that began in the meantime, or, where one segment (or
/// a gap) takes the whole page, twice as far from the page's beginning. Each byte of such a segment is read a constant number of times, and
/// where pages end depends on where they begin only.
pub(crate) fn next_page_end(next: u64, until: u64, page_bytes: u64) -> u64 {
    if next > until {
        return next;
    }
    let begin = next.saturating_sub(page_bytes);
    until.saturating_add((until - begin).max(1))
}

/// So many times the bytes of a page, a transaction ends as a page anywhere.
const GUIDE_PAGES: u64 = 16;

impl EdiCutter {
    /// A cutter that finds what readers with these options do.
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

    /// Goes to the end of the block; `None` where it needs more bytes.
    fn go(&mut self, input: &[u8], end: SourceEnd) -> Option<EdiPart> {
        let offset =
            |at: ByteOffset, from: ByteOffset| usize::try_from(at.0.saturating_sub(from.0)).unwrap_or(usize::MAX);
        let mut page_end = self.page_end.take().unwrap_or_else(|| self.page_end(self.passed));
        loop {
            // So far a document that is open may reach before it ends as a page; so where pages end does not depend on blocks.
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
                        // Pages end blocks, so that what waits for a transaction to end can be told from the rest of a block.
                        // The page of what follows is not as long as that of a segment that took a whole one.
                        let enough = self.passed >= self.enough || more || page > 1 || self.is_stretched;
                        if enough && pass.is_between() {
                            // What ends a page by guide is the segment behind it, which the lane does not see.
                            return Some(EdiPart { len: self.passed, ends_page: more, ..EdiPart::default() });
                        }
                    }
                    DocumentStep::Done => {
                        return Some(EdiPart { len: input.len(), is_last: true, ..EdiPart::default() });
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

    /// Where the page that is open, or one that begins at `at`, ends.
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
