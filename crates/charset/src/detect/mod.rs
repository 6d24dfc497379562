//! Detection of the character set of a sample, with evidence: proposals for a person, never a decision.
//!
//! Record files mix text with packed and binary numbers, so shares of single bytes mislead: packed digits look like ASCII letters,
//! and 0x40 is `@`. Text comes in runs, numbers do not. The measure of a code is therefore the share of the sample in runs of at
//! least [`RUN_MIN`] of the code's common characters (letters, digits, blanks, `. , - / ' ( )`), compared with the share of the
//! rival codes. In random bytes such runs are about 1 in 100. Pages of other scripts have many more letters, so their runs must be
//! longer and may not mix scripts within a word.
//!
//! EBCDIC pages share letters, digits and blanks and differ in other characters; `ebcdic` weighs those in the sample. If no byte of
//! the sample differs between two pages, they cannot be distinguished, and [`Candidate::alike`] lists them.

use crate::{Charset, CodePage, Utf16Order, scan};

mod ascii;
mod ebcdic;
mod plausible;

/// One proposal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Candidate {
    /// The character set; `None` if the sample is hardly text in any: binary or compressed data.
    pub charset: Option<Charset>,
    /// Score from 0 to 100: a rank among the candidates, not a probability.
    pub score: u8,
    /// Other sets in which every text byte of the sample means the same.
    pub alike: Vec<Charset>,
    /// Evidence for and against it, as sentences without a final period. It names byte values and shares, no content.
    pub evidence: Vec<String>,
}

/// Controls, of a thousand bytes, up to which a sample is text as a whole.
const CONTROLS_OF_THOUSAND: usize = 1;

/// Weight of all places of a sample together, from which more of them make no page more certain.
const WEIGHT_MAX: f64 = 40.0;

/// Shortest run of common characters that counts as text.
const RUN_MIN: usize = 5;

/// Weighs all character sets against a sample, best first; nothing for an empty sample.
///
/// A sample of 64 KiB from the beginning of a file is plenty; a whole file only takes longer. The first bytes should be the file's, since
/// a byte order mark counts.
#[must_use]
pub fn detect(sample: &[u8]) -> Vec<Candidate> {
    if sample.is_empty() {
        return Vec::new();
    }
    let shares = Shares::of(sample);
    let mut candidates = ebcdic::candidates(sample, &shares);
    candidates.extend(ascii_candidates(sample, &shares));
    candidates.extend(utf16_candidate(sample, &shares, Utf16Order::BigEndian));
    candidates.extend(utf16_candidate(sample, &shares, Utf16Order::LittleEndian));
    if candidates.iter().all(|candidate| candidate.score < 95) {
        candidates.extend(binary_candidate(&shares));
    }
    candidates.sort_by_key(|candidate| core::cmp::Reverse(candidate.score));
    candidates
}

/// Shares of the sample, 0 to 1.
struct Shares {
    /// Bytes in runs of common EBCDIC characters, for the page with the longest runs in total.
    ebcdic: f64,
    /// Bytes in runs of common ASCII characters.
    ascii: f64,
    /// Bytes in runs of UTF-16 units of common ASCII characters, high byte first and low byte first.
    utf16: [f64; 2],
}

impl Shares {
    fn of(sample: &[u8]) -> Self {
        let ebcdic = ebcdic::proposed().map(|page| share(ebcdic::run_bytes(sample, page), sample)).fold(0.0, f64::max);
        let common = common_ascii();
        let utf16 = [0, 1].map(|at| share(utf16_run_bytes(sample, &common, at), sample));
        Shares { ebcdic, ascii: share(run_bytes(sample, &common), sample), utf16 }
    }

    /// Returns 0 to 1: the share of all apparent text that looks like this.
    fn fit(&self, own: f64) -> f64 {
        // A hundredth of the sample is noise; a code must exceed it.
        own / (self.ebcdic + self.ascii + self.utf16[0] + self.utf16[1] + 0.01)
    }
}

/// Bytes in runs of at least [`RUN_MIN`] of the marked bytes.
fn run_bytes(sample: &[u8], common: &[bool; 256]) -> usize {
    sample.split(|byte| !common[usize::from(*byte)]).map(<[u8]>::len).filter(|len| *len >= RUN_MIN).sum()
}

/// Counts like [`run_bytes`], for units whose zero byte is at `zero` (0 or 1). Units begin at even offsets.
fn utf16_run_bytes(sample: &[u8], common: &[bool; 256], zero: usize) -> usize {
    let (units, _) = sample.as_chunks::<2>();
    let text = |unit: &[u8; 2]| unit[zero] == 0 && common[usize::from(unit[1 - zero])];
    units.split(|unit| !text(unit)).map(<[[u8; 2]]>::len).filter(|len| *len >= RUN_MIN).sum::<usize>() * 2
}

fn common_ascii() -> [bool; 256] {
    let mut common = [false; 256];
    let chars = (b'0'..=b'9').chain(b'A'..=b'Z').chain(b'a'..=b'z').chain(*b" .,-/'()\":;\r\n\t");
    for byte in chars {
        common[usize::from(byte)] = true;
    }
    common
}

fn ascii_candidates(sample: &[u8], shares: &Shares) -> Vec<Candidate> {
    let fit = shares.fit(shares.ascii);
    let mut evidence = vec![format!(
        "{} of the bytes are in runs of ASCII letters, digits and blanks, {} in such runs of EBCDIC",
        percent(shares.ascii),
        percent(shares.ebcdic)
    )];
    let bom = sample.starts_with(b"\xef\xbb\xbf");
    if bom {
        evidence.push("it begins with the byte order mark of UTF-8".to_owned());
    }
    let controls = sample.iter().filter(|byte| **byte < 0x20 && !b"\t\n\x0c\r\x1a".contains(byte)).count();
    if controls > 0 {
        evidence.push(format!(
            "{} of the bytes are control characters, which text has not; numeric fields may",
            percent(share(controls, sample))
        ));
    }
    let single = |page| Charset::SingleByte(page);
    let (ascii, latin1, windows) = (single(CodePage::ASCII), single(CodePage::LATIN1), single(CodePage::WINDOWS_1252));
    let with = |charset, alike: &[Charset], part: f64, note: String| {
        let mut evidence = evidence.clone();
        evidence.push(note);
        Candidate { charset: Some(charset), score: score(fit * part), alike: alike.to_vec(), evidence }
    };
    if scan::find_high(sample).is_none() {
        let note = "no byte is above 0x7F, so the sample cannot distinguish these sets".to_owned();
        return at_least_one(vec![with(ascii, &[Charset::Utf8, latin1, windows], 1.0, note)]);
    }
    let high = HighBytes::of(sample);
    let sequences = high.sequences as f64 / (high.sequences + high.stray) as f64;
    let utf8 = if high.sequences == 0 {
        format!("none of the {} bytes above 0x7F belongs to a UTF-8 sequence", high.stray)
    } else {
        format!("bytes above 0x7F form {} UTF-8 sequences; {} are outside any", high.sequences, high.stray)
    };
    // A UTF-8 sequence is hardly ever chance, so it is evidence against the single-byte pages as much as for UTF-8.
    let other = 0.9 * (1.0 - sequences * sequences);
    let (c1, unassigned) = (high.c1, high.unassigned_1252);
    let (page, alike, note) = if unassigned > 0 {
        (
            latin1,
            vec![],
            format!(
                "{unassigned} bytes are not assigned in windows-1252, so numeric fields hold binary or it is another page"
            ),
        )
    } else if c1 > 0 {
        (
            windows,
            vec![],
            format!("{c1} bytes from 0x80 to 0x9F are letters and signs in windows-1252, controls in ISO-8859-1"),
        )
    } else {
        (windows, vec![latin1], "no byte from 0x80 to 0x9F, so the sample cannot distinguish these sets".to_owned())
    };
    let mut candidates = vec![with(Charset::Utf8, &[], if bom { 1.0 } else { sequences }, utf8)];
    let rivals = ascii::rivals(sample).filter(|_| !bom);
    let windows_part = rivals.as_ref().map_or(1.0, |rivals| 0.5 + 0.5 * rivals.of_windows);
    for rival in rivals.unwrap_or_default().pages {
        let alike: Vec<Charset> = rival.alike.iter().copied().map(Charset::SingleByte).collect();
        let mut candidate = with(single(rival.page), &alike, 0.0, rival.evidence);
        // Letters of other scripts look like those of EBCDIC, so a byte counts as text of one of them only.
        let own = rival.share.max(shares.ascii);
        candidate.score = score(own / (own + shares.ebcdic.min(1.0 - own) + 0.01) * other * (0.5 + 0.5 * rival.part));
        candidates.push(candidate);
    }
    candidates.push(with(page, &alike, other * windows_part, note));
    // Text bytes in ASCII, and numbers in binary.
    let note = format!("{} bytes above 0x7F are not ASCII; in binary or packed fields they may be right", high.bytes);
    candidates.push(with(ascii, &[], 0.6 * (1.0 - sequences), note));
    at_least_one(candidates)
}

/// Removes candidates that do not fit at all.
fn at_least_one(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.retain(|candidate| candidate.score > 0);
    candidates
}

/// Bytes from 0x80.
struct HighBytes {
    bytes: usize,
    /// Well-formed UTF-8 sequences of two bytes or more.
    sequences: usize,
    /// Bytes outside of such sequences, one cut by the sample's end excepted.
    stray: usize,
    c1: usize,
    unassigned_1252: usize,
}

impl HighBytes {
    fn of(sample: &[u8]) -> Self {
        let bytes = sample.iter().filter(|byte| **byte >= 0x80);
        let c1 = bytes.clone().filter(|byte| **byte < 0xa0);
        let unassigned = c1.clone().filter(|byte| CodePage::WINDOWS_1252.to_char(**byte).is_none());
        let (mut sequences, mut stray) = (0, 0);
        for chunk in sample.utf8_chunks() {
            sequences += chunk.valid().chars().filter(|char| !char.is_ascii()).count();
            stray += chunk.invalid().iter().filter(|byte| **byte >= 0x80).count();
        }
        if let Err(error) = core::str::from_utf8(sample)
            && error.error_len().is_none()
        {
            // The only fault is a sequence that continues after the sample.
            stray = 0;
            sequences += 1;
        }
        HighBytes { bytes: bytes.count(), sequences, stray, c1: c1.count(), unassigned_1252: unassigned.count() }
    }
}

fn utf16_candidate(sample: &[u8], shares: &Shares, order: Utf16Order) -> Option<Candidate> {
    let (at, mark, words) = match order {
        Utf16Order::BigEndian => (0, b"\xfe\xff", "first"),
        Utf16Order::LittleEndian => (1, b"\xff\xfe", "second"),
    };
    let mut score = score(shares.fit(shares.utf16[at]));
    let mut evidence = vec![format!(
        "{} of the bytes are in runs of ASCII letters, digits and blanks with a zero as the {words} byte of each pair",
        percent(shares.utf16[at])
    )];
    if sample.starts_with(mark) {
        let units = &sample[..sample.len() / 2 * 2];
        let whole = Charset::Utf16(order).decode_into(units, &mut Vec::new()).is_ok();
        score = score.max(if whole { 95 } else { 60 });
        evidence.push("it begins with the byte order mark of UTF-16".to_owned());
    }
    (score > 0).then(|| Candidate { charset: Some(Charset::Utf16(order)), score, alike: Vec::new(), evidence })
}

fn binary_candidate(shares: &Shares) -> Option<Candidate> {
    let text = shares.ebcdic.max(shares.ascii).max(shares.utf16[0]).max(shares.utf16[1]);
    // Less than a tenth of text may well be chance; a record of numbers only is such a file.
    let score = score(1.0 - (text / 0.1).min(1.0));
    let evidence = vec![format!("only {} of the bytes are in runs of text in any code", percent(text))];
    (score > 0).then(|| Candidate { charset: None, score, alike: Vec::new(), evidence })
}

fn share(part: usize, sample: &[u8]) -> f64 {
    part as f64 / sample.len() as f64
}

fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.01 { "under 1 %".to_owned() } else { format!("{:.0} %", share * 100.0) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0 to 100")]
fn score(fit: f64) -> u8 {
    (fit * 100.0).round().clamp(0.0, 100.0) as u8
}

#[cfg(test)]
mod tests;
