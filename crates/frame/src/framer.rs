//! The writing side: record bodies into a framing.

use std::sync::Arc;

use memchr::{memchr, memmem};
use quayline_core::{ByteOffset, Limits, RecordNumber};

use crate::framing::{BDW, FILE_HEADER, LengthField, SDW, pad_to_4};
use crate::spec::*;
use crate::{EndOfInput, FrameFault, FrameFaultKind, RecordExtent, RecordExtentFound};

/// Wraps record bodies in a framing. [`crate::Splitter`] with the same [`FramingSpec`] returns the same bodies (fixed records
/// padded). Exception: it reports a last line of only 0x1a as a mark of the end of the file ([`FrameFaultKind::EndMark`]).
#[derive(Clone, Debug)]
pub struct Framer {
    spec: FramingSpec,
    options: FramerOptions,
    limits: Limits,
    next: RecordNumber,
    /// Bytes returned so far, without the open block.
    written: ByteOffset,
    /// The open block with room for its header; empty if no block is open.
    block: Vec<u8>,
    /// Finds the end of a record, for [`FramingSpec::Layout`].
    extent: Option<Arc<dyn RecordExtent>>,
}

/// Choices that a framing leaves to its writer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FramerOptions {
    /// Fills a fixed record that is too short: the blank of the record's code page. Default 0x40, EBCDIC.
    pub pad: u8,
    /// Bytes of a block with its header (BLKSIZE), for `vb` and `vbs`. Default 27,998, half a 3390 track. In `vb`, a longer record has a
    /// block of its own, up to 32,760 bytes, or more if [`RdwSpec::length_max`] is. Blocks above 32,760 bytes have an extended header,
    /// which z/OS reads on tape only.
    pub block_bytes: u32,
    /// Length of the longest record, if known; it determines the width of Micro Focus record headers.
    pub record_bytes_max: Option<usize>,
}

impl Default for FramerOptions {
    fn default() -> Self {
        FramerOptions { pad: 0x40, block_bytes: 27_998, record_bytes_max: None }
    }
}

/// A place in the output of a [`Framer`], between two records.
#[derive(Clone, Copy, Debug)]
pub struct FramerMark {
    written: ByteOffset,
    next: RecordNumber,
}

/// Longest block that the short form of a block header holds.
const SHORT_BLOCK_MAX: usize = 32_760;
/// Longest segment with its descriptor word.
const SEGMENT_MAX: usize = 32_756;

impl Framer {
    /// Starts an output.
    ///
    /// # Errors
    /// [`SpecError`] if the numbers in `spec` are impossible.
    pub fn new(spec: &FramingSpec, options: FramerOptions, limits: &Limits) -> Result<Self, SpecError> {
        Framer::resume(spec, options, limits, ByteOffset(0), RecordNumber::FIRST)
    }

    /// Continues an output that has `written` bytes and ends after [`Framer::flush`]; the next record is `next`.
    ///
    /// # Errors
    /// See [`Framer::new`].
    pub fn resume(
        spec: &FramingSpec,
        options: FramerOptions,
        limits: &Limits,
        written: ByteOffset,
        next: RecordNumber,
    ) -> Result<Self, SpecError> {
        spec.check(limits)?;
        Ok(Framer { spec: *spec, options, limits: limits.clone(), next, written, block: Vec::new(), extent: None })
    }

    /// Returns the framer with the means to find the end of a record. [`FramingSpec::Layout`] needs it to make sure that its output
    /// can be read.
    #[must_use]
    pub fn with_extent(mut self, extent: Option<Arc<dyn RecordExtent>>) -> Self {
        self.extent = extent;
        self
    }

    /// Appends one record to `out`, or to the open block, which is appended when it is full.
    ///
    /// # Errors
    /// [`FrameFault`] if the framing cannot hold the record. Nothing was written then, and the next record may follow.
    pub fn frame(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), FrameFault> {
        let before = out.len();
        let done = match self.spec {
            FramingSpec::Fixed { length } => self.fixed(length, body, out),
            FramingSpec::Rdw(spec) => self.rdw(&spec, body, out),
            FramingSpec::Blocked(spec) => self.blocked(&spec, body, out),
            FramingSpec::Spanned(spec) => self.spanned(spec.blocks, body, out),
            FramingSpec::Lines(spec) => self.line(&spec, body, out),
            FramingSpec::LengthField(spec) => self.length_field(&spec, body, out),
            FramingSpec::MicroFocus => self.micro_focus(body, out),
            FramingSpec::Layout => self.layout(body, out),
        };
        if let Err(kind) = done {
            out.truncate(before);
            return Err(self.fault(kind));
        }
        self.written.0 += (out.len() - before) as u64;
        self.next.0 += 1;
        Ok(())
    }

    /// Ends the open block, so that the output consists of whole records: before a checkpoint. A short block is valid.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        let before = out.len();
        self.end_block(out);
        self.written.0 += (out.len() - before) as u64;
    }

    /// Returns the position of the output between [`Framer::flush`] and the next record, to which [`Framer::back_to`] returns.
    #[must_use]
    pub fn mark(&self) -> FramerMark {
        debug_assert!(self.block.is_empty(), "a block is open");
        FramerMark { written: self.written, next: self.next }
    }

    /// Discards the records since a mark, including those of the open block. The caller truncates its own copy.
    pub fn back_to(&mut self, mark: FramerMark) {
        self.block.clear();
        (self.written, self.next) = (mark.written, mark.next);
    }

    /// Ends the output. A Micro Focus file without records gets its file header.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.flush(out);
        if self.spec == FramingSpec::MicroFocus && self.written.0 == 0 {
            self.file_header(out);
            self.written.0 += FILE_HEADER as u64;
        }
    }

    fn fault(&self, kind: FrameFaultKind) -> FrameFault {
        let offset = ByteOffset(self.written.0 + self.block.len() as u64);
        FrameFault { kind, record: self.next, record_offset: offset, offset, cause: None }
    }

    fn fixed(&self, length: usize, body: &[u8], out: &mut Vec<u8>) -> Result<(), FrameFaultKind> {
        if body.len() > length {
            return Err(too_long(body, length as u64));
        }
        out.extend_from_slice(body);
        out.resize(out.len() + length - body.len(), self.options.pad);
        Ok(())
    }

    fn within_limit(&self, body: &[u8]) -> Result<(), FrameFaultKind> {
        let most = self.limits.record_bytes_max;
        if body.len() > most { Err(too_long(body, most as u64)) } else { Ok(()) }
    }

    fn layout(&self, body: &[u8], out: &mut Vec<u8>) -> Result<(), FrameFaultKind> {
        self.within_limit(body)?;
        let says = match self.extent.as_ref().map(|extent| extent.extent(body, EndOfInput::Yes)) {
            Some(RecordExtentFound::Bytes(length)) => Some(length),
            _ => None,
        };
        if says != Some(body.len()) || body.is_empty() {
            return Err(FrameFaultKind::OtherExtent { length: body.len(), says });
        }
        out.extend_from_slice(body);
        Ok(())
    }

    fn rdw(&self, spec: &RdwSpec, body: &[u8], out: &mut Vec<u8>) -> Result<(), FrameFaultKind> {
        self.within_limit(body)?;
        let header = spec.header_of(body)?;
        out.extend_from_slice(&header[..spec.header.bytes()]);
        out.extend_from_slice(body);
        Ok(())
    }

    fn blocked(&mut self, spec: &BlockedSpec, body: &[u8], out: &mut Vec<u8>) -> Result<(), FrameFaultKind> {
        let header = spec.rdw.header.bytes();
        let longest = longest_block(&spec.rdw).max(self.options.block_bytes as usize);
        let room = longest.saturating_sub(BDW + header);
        if body.len() > room {
            return Err(too_long(body, room as u64));
        }
        self.within_limit(body)?;
        let rdw = spec.rdw.header_of(body)?;
        // A record that is longer than a block has one of its own.
        let is_next =
            !self.block.is_empty() && self.block.len() + header + body.len() > self.options.block_bytes as usize;
        let before = if is_next { 0 } else { self.block.len().saturating_sub(BDW) };
        if spec.bdw.header(before + header + body.len()).is_none() {
            return Err(too_long(body, 0));
        }
        if is_next {
            self.end_block(out);
        }
        self.begin_block();
        self.block.extend_from_slice(&rdw[..header]);
        self.block.extend_from_slice(body);
        Ok(())
    }

    fn spanned(&mut self, blocks: BlockHeaders, body: &[u8], out: &mut Vec<u8>) -> Result<(), FrameFaultKind> {
        self.within_limit(body)?;
        let block_bytes = (self.options.block_bytes as usize).max(BDW + SDW + 1);
        let mut rest = body;
        let mut first = true;
        loop {
            let room = if blocks == BlockHeaders::Present {
                // The smallest segment has a byte of data.
                if self.block.len() + SDW + rest.len().min(1) > block_bytes {
                    self.end_block(out);
                }
                self.begin_block();
                (block_bytes - self.block.len()).min(SEGMENT_MAX) - SDW
            } else {
                block_bytes.min(SEGMENT_MAX) - SDW
            };
            let (segment, tail) = rest.split_at(rest.len().min(room));
            let code = match (first, tail.is_empty()) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                (false, false) => 3,
            };
            let length = u16::try_from(SDW + segment.len()).expect("a segment has at most SEGMENT_MAX bytes");
            let to = if blocks == BlockHeaders::Present { &mut self.block } else { &mut *out };
            to.extend_from_slice(&length.to_be_bytes());
            to.extend_from_slice(&[code, 0]);
            to.extend_from_slice(segment);
            if tail.is_empty() {
                return Ok(());
            }
            (rest, first) = (tail, false);
        }
    }

    fn line(&self, spec: &LineSpec, body: &[u8], out: &mut Vec<u8>) -> Result<(), FrameFaultKind> {
        if body.len() > self.limits.line_bytes_max {
            return Err(too_long(body, self.limits.line_bytes_max as u64));
        }
        let terminator = spec.end.bytes();
        let inside = match terminator {
            [byte] => memchr(*byte, body),
            _ => memmem::find(body, terminator),
        };
        let stripped = spec.carriage_return == CarriageReturn::Strip && body.ends_with(b"\r");
        if let Some(at) = inside.or_else(|| stripped.then(|| body.len() - 1)) {
            return Err(FrameFaultKind::TerminatorInside { at });
        }
        out.extend_from_slice(body);
        out.extend_from_slice(terminator);
        Ok(())
    }

    fn length_field(&self, spec: &LengthFieldSpec, body: &[u8], out: &mut Vec<u8>) -> Result<(), FrameFaultKind> {
        let start = out.len();
        if spec.field == FieldBytes::Strip {
            out.resize(start + spec.size, 0);
        } else if body.len() < spec.offset + spec.size {
            return Err(FrameFaultKind::ShorterThanField { length: body.len(), need: spec.offset + spec.size });
        }
        out.extend_from_slice(body);
        let record = &mut out[start..];
        let most = self.limits.record_bytes_max;
        if record.len() > most {
            return Err(too_long(body, most.saturating_sub(record.len() - body.len()) as u64));
        }
        let field = spec.offset..spec.offset + spec.size;
        let before = record[field.clone()].to_vec();
        LengthField::write(spec, record)
            .map_err(|most| FrameFaultKind::RecordTooLong { length: record.len(), most })?;
        // Blank bytes are a field that nobody has set. Other bytes are data, or a length that contradicts the record.
        let blank = |byte: u8| before.iter().all(|other| *other == byte);
        if before == record[field] || [0x00, b' ', b'0', 0x40, 0xf0].into_iter().any(blank) {
            Ok(())
        } else {
            Err(FrameFaultKind::OtherLength { offset: spec.offset, size: spec.size, length: record.len() })
        }
    }

    fn micro_focus(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), FrameFaultKind> {
        self.within_limit(body)?;
        let start = out.len();
        let short = self.short_headers();
        let most = if short { 0x0fff } else { 0x0fff_ffff };
        let length = u32::try_from(body.len()).ok().filter(|n| *n <= most).ok_or(too_long(body, u64::from(most)))?;
        if self.written.0 == 0 {
            self.file_header(out);
        }
        let [a, b, c, d] = length.to_be_bytes();
        let header = out.len();
        if short {
            out.extend_from_slice(&[0x40 | c, d]);
        } else {
            out.extend_from_slice(&[0x40 | a, b, c, d]);
        }
        out.extend_from_slice(body);
        out.resize(header + pad_to_4(out.len() - header), 0);
        debug_assert!(out.len() > start);
        Ok(())
    }

    fn short_headers(&self) -> bool {
        self.options.record_bytes_max.is_some_and(|most| most < 4095)
    }

    fn file_header(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + FILE_HEADER, 0);
        let header = &mut out[start..];
        header[..4].copy_from_slice(if self.short_headers() { &[0x30, 0x7e, 0, 0] } else { &[0x30, 0, 0, 0x7c] });
        // Offsets 36 (always 62), 39 (sequential), 48 (variable), 54 (longest record).
        header[37] = 62;
        header[39] = 1;
        header[48] = 1;
        let most = self.options.record_bytes_max.unwrap_or(self.limits.record_bytes_max);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        header[54..58].copy_from_slice(&most.to_be_bytes());
    }

    fn begin_block(&mut self) {
        if self.block.is_empty() {
            self.block.resize(BDW, 0);
        }
    }

    fn end_block(&mut self, out: &mut Vec<u8>) {
        if self.block.is_empty() {
            return;
        }
        let bdw = match &self.spec {
            FramingSpec::Blocked(spec) => spec.bdw,
            _ => BdwSpec::default(),
        };
        let header = bdw.header(self.block.len() - BDW).expect("each record is checked before it comes into the block");
        self.block[..BDW].copy_from_slice(&header);
        out.append(&mut self.block);
    }
}

/// Bytes of the longest block that a record may have of its own: that of z/OS disks, unless longer records are named.
fn longest_block(rdw: &RdwSpec) -> usize {
    let named = usize::try_from(rdw.length_max).unwrap_or(usize::MAX);
    if named <= SHORT_BLOCK_MAX {
        return SHORT_BLOCK_MAX;
    }
    let header = if rdw.counts == Counts::Whole { 0 } else { rdw.header.bytes() };
    named.saturating_add(BDW + header)
}

fn too_long(body: &[u8], most: u64) -> FrameFaultKind {
    FrameFaultKind::RecordTooLong { length: body.len(), most }
}

impl RdwSpec {
    /// Builds the header of a record; the first [`RdwHeader::bytes`] of its four bytes are used.
    fn header_of(&self, body: &[u8]) -> Result<[u8; 4], FrameFaultKind> {
        let own = if self.counts == Counts::Whole { self.header.bytes() as i64 } else { 0 };
        let plus = own - i64::from(self.adjustment);
        let widest = if self.header == RdwHeader::Four { u32::MAX } else { u32::from(u16::MAX) };
        let most = self.length_max.min(widest);
        let value = i64::try_from(body.len()).unwrap_or(i64::MAX).saturating_add(plus);
        let Some(value) = u32::try_from(value).ok().filter(|value| *value <= most) else {
            return Err(too_long(body, u64::try_from(i64::from(most) - plus).unwrap_or(0)));
        };
        let [a, b, c, d] = value.to_be_bytes();
        let big = self.order == ByteOrder::Big;
        Ok(match self.header {
            RdwHeader::TwoReserved if big => [c, d, 0, 0],
            RdwHeader::TwoReserved => [d, c, 0, 0],
            RdwHeader::ReservedTwo if big => [0, 0, c, d],
            RdwHeader::ReservedTwo => [0, 0, d, c],
            RdwHeader::Two if big => [c, d, 0, 0],
            RdwHeader::Two => [d, c, 0, 0],
            RdwHeader::Four if big => [a, b, c, d],
            RdwHeader::Four => [d, c, b, a],
        })
    }
}

impl BdwSpec {
    /// Returns the header of a block with this many bytes after it, or `None` if it cannot express the adjusted length.
    fn header(&self, bytes: usize) -> Option<[u8; BDW]> {
        let own = if self.counts == Counts::Whole { BDW as i64 } else { 0 };
        let value = i64::try_from(bytes).ok()?.checked_add(own - i64::from(self.adjustment))?;
        let value = u32::try_from(value).ok().filter(|value| *value <= 0x7fff_ffff)?;
        let is_short = bytes + BDW <= SHORT_BLOCK_MAX && value <= 0x7fff;
        let word = if is_short { value << 16 } else { value | 0x8000_0000 };
        Some(match self.order {
            ByteOrder::Big => word.to_be_bytes(),
            ByteOrder::Little => word.to_le_bytes(),
        })
    }
}
