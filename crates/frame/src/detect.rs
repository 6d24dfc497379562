//! Detection of a file's framing, with the evidence. It proposes; users decide.

use core::ops::RangeInclusive;

use quayline_core::{Limits, RecordNumber};

use crate::columns::{Columns, find_columns};
use crate::period::{Period, find_periods, period_at};
use crate::spec::*;
use crate::{EndOfInput, FrameFault, FrameFaultKind, Splitter, Step};

/// A framing that the sample may have.
#[derive(Clone, Debug, PartialEq)]
pub struct FramingCandidate {
    /// The framing.
    pub spec: FramingSpec,
    /// Plausibility from 0 to 1. Above 0.9, no other framing explains the bytes; below 0.5, the framing breaks or has little evidence.
    pub score: f64,
    /// Evidence in sentences, without content of the file.
    pub evidence: Vec<String>,
    /// Whole records that it finds in the sample.
    pub records_checked: u64,
    /// Bytes of the shortest and of the longest of these records.
    pub lengths: RangeInclusive<usize>,
    /// The first record that it cannot be right about: the framing breaks there.
    pub first_junk_record: Option<RecordNumber>,
}

/// Proposes framings for the start of a file, best first. The result is empty if there is no evidence for any.
///
/// `sample` is the file's first bytes, a few hundred KiB (at least three records, if records are long); `file_len` is its whole
/// length, if known; `record_length` is the length that the copybook gives, if there is one.
#[must_use]
pub fn detect(sample: &[u8], file_len: Option<u64>, record_length: Option<usize>) -> Vec<FramingCandidate> {
    if sample.is_empty() {
        return Vec::new();
    }
    let sample = Sample { bytes: sample, file_len, record_length };
    let mut found = sample.chains();
    found.extend(sample.lines());
    found.extend(sample.fixed());
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}

/// Minimum number of records after which a cut record or zeros at the end of the file do not lower the score.
const CHAIN_BEFORE_CUT: u64 = 20;
/// A length below this needs columns or much repetition: text repeats at some of so short distances.
const TINY: usize = 16;
/// Contrast that is much repetition.
const TINY_CONTRAST_MIN: f64 = 0.3;
/// Score of lines of one length.
const EQUAL_LINES: f64 = 0.97;
/// Score of lines of text.
const TEXT_LINES: f64 = 0.94;

pub(crate) struct Sample<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) file_len: Option<u64>,
    pub(crate) record_length: Option<usize>,
}

/// Extent to which a framing is consistent with a sample.
pub(crate) struct Walked {
    pub(crate) records: u64,
    /// Bytes before the first junk.
    pub(crate) bytes: usize,
    pub(crate) empty: u64,
    pub(crate) shortest: usize,
    pub(crate) longest: usize,
    pub(crate) junk: Option<RecordNumber>,
    /// Why the framing is right all the same, if the junk is the end of a file that was cut or padded.
    end: Option<JunkEnd>,
    /// Whether the last record ends at the end of the file.
    pub(crate) ends_with_file: bool,
}

/// Junk at the end of a file that lengths lead to.
#[derive(Clone, Copy)]
enum JunkEnd {
    /// The file ends within the record.
    Cut,
    /// Bytes of the file after the last record, all zero.
    Zeros(usize),
}

impl Walked {
    fn lengths(&self) -> RangeInclusive<usize> {
        self.shortest..=self.longest
    }
}

impl Sample<'_> {
    fn whole_file(&self) -> bool {
        self.file_len == Some(self.bytes.len() as u64)
    }

    pub(crate) fn walk(&self, spec: &FramingSpec) -> Option<Walked> {
        let mut splitter = Splitter::new(spec, &Limits::default()).ok()?;
        let end = if self.whole_file() { EndOfInput::Yes } else { EndOfInput::No };
        let mut walked = Walked {
            records: 0,
            bytes: 0,
            empty: 0,
            shortest: usize::MAX,
            longest: 0,
            junk: None,
            end: None,
            ends_with_file: false,
        };
        loop {
            match splitter.split(&self.bytes[walked.bytes..], end) {
                Ok(Step::Record { body, consumed, .. }) => {
                    walked.records += 1;
                    walked.empty += u64::from(body.is_empty());
                    walked.shortest = walked.shortest.min(body.len());
                    walked.longest = walked.longest.max(body.len());
                    walked.bytes += consumed;
                }
                Ok(Step::NeedMore { at_least }) => {
                    // A record that would end after the file's end is junk too.
                    let file_ends = self.file_len.is_some_and(|len| (walked.bytes + at_least) as u64 > len);
                    walked.junk = file_ends.then_some(splitter.next_record());
                    break;
                }
                Ok(Step::Done { .. }) => {
                    walked.ends_with_file = true;
                    break;
                }
                Err(FrameFault { kind: FrameFaultKind::EndMark { .. }, .. }) => {
                    walked.ends_with_file = true;
                    break;
                }
                Err(fault) => {
                    walked.junk = Some(fault.record);
                    let rest = &self.bytes[walked.bytes..];
                    walked.end = match fault.kind {
                        _ if self.whole_file() && rest.iter().all(|byte| *byte == 0) => {
                            Some(JunkEnd::Zeros(rest.len()))
                        }
                        FrameFaultKind::Truncated { .. } => Some(JunkEnd::Cut),
                        _ => None,
                    };
                    break;
                }
            }
        }
        Some(walked)
    }

    /// Returns true if two framings find the same records.
    pub(crate) fn splits_alike(&self, one: &FramingSpec, other: &FramingSpec) -> bool {
        let end = if self.whole_file() { EndOfInput::Yes } else { EndOfInput::No };
        let mut sides = [(one, 0), (other, 0)].map(|(spec, at)| (Splitter::new(spec, &Limits::default()), at));
        loop {
            let [a, b] = sides.each_mut().map(|(splitter, at)| {
                let Ok(splitter) = splitter else { return None };
                let Ok(Step::Record { body, consumed, .. }) = splitter.split(&self.bytes[*at..], end) else {
                    return None;
                };
                *at += consumed;
                Some(body)
            });
            if a.is_none() || a != b {
                return a == b;
            }
        }
    }

    /// Framings with lengths in the data.
    fn chains(&self) -> Vec<FramingCandidate> {
        let mut found: Vec<FramingCandidate> =
            chain_specs().into_iter().filter_map(|(spec, strength)| self.chain(spec, strength)).collect();
        // A file in blocks is a chain of RDWs too, one a block; the finer explanation is the right one.
        let fits = |found: &[FramingCandidate], test: fn(&FramingSpec) -> bool| {
            // Junk leaves a lower score, unless it is the end of a file that was cut or padded.
            found.iter().any(|c| test(&c.spec) && c.score > 0.7)
        };
        if fits(&found, |spec| {
            matches!(
                spec,
                FramingSpec::Blocked(_) | FramingSpec::Spanned(SpannedSpec { blocks: BlockHeaders::Present })
            )
        }) {
            for candidate in found.iter_mut().filter(|c| matches!(c.spec, FramingSpec::Rdw(_))) {
                candidate.score = candidate.score.min(0.4);
                candidate
                    .evidence
                    .push("but inside each such record the same chain begins again: it is a block".into());
            }
        }
        // A length of two bytes that counts itself leads along a chain of four-byte words as well, two bytes of each taken for data.
        let words = fits(&found, |spec| match spec {
            FramingSpec::Rdw(rdw) => rdw.header == RdwHeader::TwoReserved && rdw.counts == Counts::Whole,
            spec => matches!(spec, FramingSpec::Blocked(_) | FramingSpec::Spanned(_)),
        });
        found.retain(|c| match c.spec {
            FramingSpec::Rdw(two) => !words || two.header != RdwHeader::Two || two.counts != Counts::Whole,
            _ => true,
        });
        // Spanned framing reads files without segments too.
        let plain_blocks = fits(&found, |spec| matches!(spec, FramingSpec::Blocked(_)));
        let plain = plain_blocks || fits(&found, |spec| matches!(spec, FramingSpec::Rdw(_)));
        found.retain(|c| match c.spec {
            FramingSpec::Spanned(SpannedSpec { blocks: BlockHeaders::Present }) => !plain_blocks,
            FramingSpec::Spanned(SpannedSpec { blocks: BlockHeaders::Removed }) => !plain,
            _ => true,
        });
        found
    }

    fn chain(&self, spec: FramingSpec, strength: Strength) -> Option<FramingCandidate> {
        let walked = self.walk(&spec)?;
        if walked.records == 0 || walked.empty * 2 > walked.records {
            return None;
        }
        let lengths = if walked.shortest == walked.longest {
            format!("each {} bytes long", walked.longest)
        } else {
            format!("{} to {} bytes long", walked.shortest, walked.longest)
        };
        let mut evidence =
            vec![format!("{} lengths in a row lead from one to the next, records are {lengths}", walked.records)];
        let n = walked.records.min(60);
        let (most, needed) = match strength {
            Strength::Strong => (0.99, 2),
            Strength::Weak => (0.93, 6),
        };
        let mut score = most * (1.0 - 0.5f64.powf(n as f64 * 2.0 / needed as f64));
        if walked.ends_with_file {
            evidence.push("the last record ends with the file".into());
            score = score.max(most - 0.2);
        }
        if self.record_length == Some(walked.longest) {
            evidence.push("the longest record is as long as the layout".into());
            score = score.max(most - 0.04);
        }
        if let FramingSpec::Blocked(_) = spec {
            score += 0.005;
        }
        if let Some(junk) = walked.junk {
            if walked.records < 2 {
                return None;
            }
            debug_assert_eq!(junk.0, walked.records + 1);
            let (at, len) = (walked.bytes, self.bytes.len());
            match walked.end {
                Some(JunkEnd::Cut) if walked.records >= CHAIN_BEFORE_CUT => {
                    let record = format!("record {}, which begins at byte {at}, is cut off", junk.0);
                    evidence.push(format!("{record}: the file ends at byte {len}"));
                    score *= 0.9;
                }
                Some(JunkEnd::Zeros(zeros)) if walked.records >= CHAIN_BEFORE_CUT => {
                    evidence.push(format!("the last {zeros} bytes, from byte {at} on, are zeros: remove this padding"));
                    score *= 0.9;
                }
                _ => {
                    evidence.push(format!("junk after record {}", walked.records));
                    score = 0.3 * at as f64 / len as f64;
                }
            }
        }
        let (records_checked, first_junk_record) = (walked.records, walked.junk);
        let lengths = walked.lengths();
        Some(FramingCandidate { spec, score, evidence, records_checked, lengths, first_junk_record })
    }

    fn lines(&self) -> Vec<FramingCandidate> {
        let ended = |end| self.line_candidate(LineSpec { end, ..LineSpec::default() });
        let feeds = self.bytes.iter().filter(|byte| **byte == b'\n').count();
        let pairs = self.bytes.windows(2).filter(|window| window == b"\r\n").count();
        let crlf = ended(LineEnd::CrLf);
        // If every LF has its CR, CR LF is more specific.
        let lf = ended(LineEnd::Lf).filter(|_| pairs < feeds);
        let either = (0 < pairs && pairs < feeds).then(|| self.either_line_end(pairs)).flatten();
        // Line ends of both kinds: `lines:crlf` joins lines, and `lines` keeps the CR of some. If one of them finds records of one length
        // only, the other bytes are data.
        let reads_all =
            |c: &FramingCandidate| either.as_ref().is_none_or(|either| c.score > either.score || c.score > TEXT_LINES);
        let one_kind = [crlf, lf].into_iter().flatten().filter(reads_all).collect::<Vec<_>>();
        let rest = [LineEnd::Nl, LineEnd::EbcdicLf].map(ended);
        either.into_iter().chain(one_kind).chain(rest.into_iter().flatten()).collect()
    }

    /// Lines of which `pairs` end in CR LF and the others in LF.
    fn either_line_end(&self, pairs: usize) -> Option<FramingCandidate> {
        let strip = LineSpec { end: LineEnd::Lf, carriage_return: CarriageReturn::Strip };
        let mut found = self.line_candidate(strip)?;
        found.evidence.push(format!("a CR precedes {pairs} of them"));
        Some(found)
    }

    fn line_candidate(&self, line: LineSpec) -> Option<FramingCandidate> {
        let end = line.end;
        let spec = FramingSpec::Lines(line);
        let walked = self.walk(&spec)?;
        let terminators = match end.bytes() {
            [byte] => self.bytes.iter().filter(|b| *b == byte).count(),
            pair => self.bytes.windows(2).filter(|window| window == &pair).count(),
        };
        if terminators == 0 {
            return None;
        }
        let text = match end {
            LineEnd::Lf | LineEnd::CrLf => ascii_text_share(self.bytes),
            LineEnd::Nl | LineEnd::EbcdicLf => ebcdic_text_share(self.bytes, end),
        };
        let mut evidence = vec![format!("{terminators} line ends, {:.0} % of the bytes are text", text * 100.0)];
        let equal = terminators >= 3 && walked.shortest == walked.longest;
        let score = if equal {
            evidence.push(format!("every line has {} bytes", walked.longest));
            EQUAL_LINES
        } else if text > 0.995 {
            TEXT_LINES
        } else {
            0.3 * text
        };
        let score = if text < 0.5 && !equal { return None } else { score };
        Some(FramingCandidate {
            spec,
            score,
            evidence,
            records_checked: walked.records,
            lengths: walked.lengths(),
            first_junk_record: walked.junk,
        })
    }

    fn fixed(&self) -> Vec<FramingCandidate> {
        let mut found = Vec::new();
        let mut lengths: Vec<usize> = self.record_length.into_iter().collect();
        let columns = find_columns(self.bytes, self.file_len);
        let mut periods = find_periods(self.bytes, self.file_len);
        if let Some(columns) = columns {
            // Records that repeat after some others repeat at a multiple of their length.
            let is_multiple =
                |period: &Period| period.length > columns.length && period.length.is_multiple_of(columns.length);
            periods.retain(|period| !is_multiple(period) && (period.is_near() || period.length == columns.length));
            lengths.push(columns.length);
        } else {
            // Words and blanks repeat at many distances.
            periods.retain(Period::is_near);
        }
        lengths.extend(periods.iter().map(|period| period.length));
        let mut tried = Vec::new();
        for length in lengths.into_iter().filter(|length| *length > 0) {
            if tried.contains(&length) {
                continue;
            }
            tried.push(length);
            let period = periods.iter().copied().find(|p| p.length == length);
            let period = period.or_else(|| period_at(self.bytes, length));
            found.extend(self.fixed_candidate(length, period, columns.filter(|columns| columns.length == length)));
        }
        found
    }

    fn fixed_candidate(
        &self,
        length: usize,
        period: Option<Period>,
        columns: Option<Columns>,
    ) -> Option<FramingCandidate> {
        let spec = FramingSpec::Fixed { length };
        let walked = self.walk(&spec)?;
        let of_layout = self.record_length == Some(length);
        let mut evidence = Vec::new();
        let mut score: f64 = if of_layout { 0.3 } else { 0.0 };
        if of_layout {
            evidence.push(format!("the layout has {length} bytes"));
        }
        if let Some(Period { contrast, deviations, others, .. }) = period
            && deviations > 6.0
        {
            evidence
                .push(format!("bytes repeat at a distance of {length}: {:.0} % more than {others}", contrast * 100.0));
            score += 0.7 * (1.0 - (-deviations / 6.0).exp());
        }
        if let Some(Columns { records, agreeing, offset, change, evidence: strength, .. }) = columns {
            let change = format!("{} change to {} at offset {offset}", change.from.words(), change.to.words());
            evidence.push(format!("{change} in {agreeing} of {records} records"));
            let least = if of_layout { 0.3 } else { 0.0 } + 0.7 * (1.0 - (-strength / 50.0).exp());
            score = score.max(least);
        }
        let remainder = self.file_len.map(|len| len % length as u64);
        match (self.file_len, remainder) {
            (Some(len), Some(0)) => {
                evidence.push(format!("the file's {len} bytes are {} records exactly", len / length as u64));
                score += if of_layout { 0.4 } else { 0.2 };
            }
            (Some(len), Some(rest)) => {
                evidence
                    .push(format!("the file's {len} bytes are {} records and {rest} bytes more", len / length as u64));
                score *= 0.4;
            }
            _ => {}
        }
        let is_shown =
            of_layout || columns.is_some() || period.is_some_and(|period| period.contrast > TINY_CONTRAST_MIN);
        if length < TINY && !is_shown {
            score = score.min(0.45);
        }
        if score < 0.05 {
            return None;
        }
        let first_junk_record =
            remainder.filter(|rest| *rest > 0).zip(self.file_len).map(|(_, len)| RecordNumber(len / length as u64 + 1));
        Some(FramingCandidate {
            spec,
            score: score.min(0.9),
            evidence,
            records_checked: walked.records,
            lengths: walked.lengths(),
            first_junk_record,
        })
    }
}

/// Weight of one header that fits.
#[derive(Clone, Copy)]
enum Strength {
    /// It has bytes that must be zero.
    Strong,
    /// Any two bytes are a length.
    Weak,
}

fn chain_specs() -> Vec<(FramingSpec, Strength)> {
    let rdw = |header, order, counts| {
        let length_max = if counts == Counts::Whole { 32_760 } else { 65_535 };
        FramingSpec::Rdw(RdwSpec { header, order, counts, length_max, ..RdwSpec::default() })
    };
    let gnucobol = |format| RdwSpec::gnucobol(format).map(FramingSpec::Rdw);
    let mut specs = Vec::new();
    for counts in [Counts::Whole, Counts::Body] {
        specs.push((rdw(RdwHeader::TwoReserved, ByteOrder::Big, counts), Strength::Strong));
        specs.push((rdw(RdwHeader::TwoReserved, ByteOrder::Little, counts), Strength::Strong));
        specs.push((rdw(RdwHeader::ReservedTwo, ByteOrder::Little, counts), Strength::Strong));
        specs.push((rdw(RdwHeader::Two, ByteOrder::Big, counts), Strength::Weak));
        specs.push((rdw(RdwHeader::Two, ByteOrder::Little, counts), Strength::Weak));
    }
    // Four bytes, low first, read like two and two reserved ones up to 65,535; so only the high-first form is of its own.
    specs.extend(gnucobol(1).map(|spec| (spec, Strength::Strong)));
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let header = if order == ByteOrder::Big { RdwHeader::TwoReserved } else { RdwHeader::ReservedTwo };
        let rdw = RdwSpec { header, order, ..RdwSpec::default() };
        let bdw = BdwSpec { order, ..BdwSpec::default() };
        specs.push((FramingSpec::Blocked(BlockedSpec { bdw, rdw }), Strength::Strong));
    }
    specs.push((FramingSpec::Spanned(SpannedSpec { blocks: BlockHeaders::Present }), Strength::Strong));
    specs.push((FramingSpec::Spanned(SpannedSpec { blocks: BlockHeaders::Removed }), Strength::Strong));
    specs.push((FramingSpec::LengthField(LengthFieldSpec::ansi_d()), Strength::Strong));
    let ebcdic_d = LengthFieldSpec { encoding: LengthEncoding::EbcdicDigits, ..LengthFieldSpec::ansi_d() };
    specs.push((FramingSpec::LengthField(ebcdic_d), Strength::Strong));
    specs.push((FramingSpec::MicroFocus, Strength::Strong));
    specs
}

/// Bytes above 0x7f count if they are UTF-8, or few among ASCII letters, digits and blanks: such text is in another alphabet, not EBCDIC.
fn ascii_text_share(bytes: &[u8]) -> f64 {
    let ascii = share(bytes, |b| (0x20..0x7f).contains(&b) || matches!(b, b'\n' | b'\r' | b'\t'));
    let high = share(bytes, |b| b >= 0x80);
    let words = share(bytes, |b| b == b' ' || b.is_ascii_alphanumeric());
    let utf8 = || core::str::from_utf8(bytes).map_or_else(|e| e.error_len().is_none(), |_| true);
    if 2.0 * high < words || utf8() { ascii + high } else { ascii }
}

fn ebcdic_text_share(bytes: &[u8], end: LineEnd) -> f64 {
    share(bytes, |b| b >= 0x40 && b != 0xff || end.bytes().contains(&b) || matches!(b, 0x05 | 0x0d))
}

fn share(bytes: &[u8], test: impl Fn(u8) -> bool) -> f64 {
    bytes.iter().filter(|b| test(**b)).count() as f64 / bytes.len().max(1) as f64
}
