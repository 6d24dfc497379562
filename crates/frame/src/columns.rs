//! The columns of fixed records: places at which, in nearly every record, blanks change to digits, letters to blanks, and so on.
//!
//! Bytes that repeat at a distance show short records with many equal bytes. They do not show records with a long text, of which a
//! few columns are equal and the rest is words and blanks. Such a record still begins with its key, and text does not have the same
//! change of class at one place of every record by chance.

use std::collections::BTreeMap;

/// A record length that columns show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Columns {
    pub(crate) length: usize,
    /// Whole records of the sample.
    pub(crate) records: usize,
    /// Records that have the change at the best column.
    pub(crate) agreeing: usize,
    /// The best column: the offset in the record at which the class of the byte changes.
    pub(crate) offset: usize,
    /// What changes there.
    pub(crate) change: Change,
    /// The logarithm of how unlikely all the columns are by chance.
    pub(crate) evidence: f64,
}

/// A change of class from one byte to the next.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Change {
    pub(crate) from: Class,
    pub(crate) to: Class,
}

/// Class of a byte, in the code that the sample seems to have.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Class {
    Blank,
    Digit,
    Letter,
    Zero,
    Control,
    Other,
}

/// Bytes examined.
const EXAMINED: usize = 256 << 10;
/// Least number of records for columns to be evidence.
const RECORDS_MIN: usize = 5;
/// Least share of the records that have the change at the same offset.
const AGREEING_MIN: f64 = 0.9;
/// Evidence below this is chance.
const EVIDENCE_MIN: f64 = 25.0;
/// Changes of a kind that are more frequent than one in this many bytes show words, not records.
const BYTES_PER_CHANGE_MIN: usize = 6;
/// Shortest length that columns show.
const LENGTH_MIN: usize = 4;
/// Share of the best evidence from which a divisor of the best length is the length.
const DIVISOR_MIN: f64 = 0.3;
/// Lengths tried for each kind of change, if the length of the file does not give them.
const DISTANCES_MAX: usize = 4;

/// Returns the record length that the columns show best, if there is one. With `file_len`, only its divisors are tried.
pub(crate) fn find_columns(sample: &[u8], file_len: Option<u64>) -> Option<Columns> {
    let sample = &sample[..sample.len().min(EXAMINED)];
    let changes = changes(sample);
    let most = sample.len() / RECORDS_MIN;
    let lengths: Vec<usize> = match file_len {
        Some(len) => (LENGTH_MIN..=most).filter(|length| len.is_multiple_of(*length as u64)).collect(),
        None => distances(&changes).into_iter().filter(|length| (LENGTH_MIN..=most).contains(length)).collect(),
    };
    let found: Vec<Columns> = lengths.iter().filter_map(|length| columns(sample, *length, &changes)).collect();
    let best = *found.iter().max_by(|a, b| a.evidence.total_cmp(&b.evidence))?;
    // Every multiple of the length has the same columns, and some that only few records have by chance.
    let divides = |columns: &Columns| best.length.is_multiple_of(columns.length);
    found.into_iter().find(|columns| divides(columns) && columns.evidence > DIVISOR_MIN * best.evidence)
}

fn changes(sample: &[u8]) -> BTreeMap<Change, Vec<usize>> {
    let ebcdic = is_ebcdic(sample);
    let mut changes: BTreeMap<Change, Vec<usize>> = BTreeMap::new();
    let mut from = Class::Blank;
    for (at, byte) in sample.iter().enumerate() {
        let to = Class::of(*byte, ebcdic);
        if from != to {
            changes.entry(Change { from, to }).or_default().push(at);
        }
        from = to;
    }
    changes
}

fn is_ebcdic(sample: &[u8]) -> bool {
    let count = |test: fn(&u8) -> bool| sample.iter().filter(|byte| test(byte)).count();
    count(|byte| matches!(byte, 0x40 | 0xf0..=0xf9)) > count(|byte| matches!(byte, 0x20 | 0x30..=0x39))
}

/// The most frequent distances between changes of a kind.
fn distances(changes: &BTreeMap<Change, Vec<usize>>) -> Vec<usize> {
    let mut found = Vec::new();
    for at in changes.values() {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        at.windows(2).for_each(|pair| *counts.entry(pair[1] - pair[0]).or_default() += 1);
        let mut counts: Vec<(usize, usize)> =
            counts.into_iter().filter(|(_, count)| *count >= RECORDS_MIN - 1).collect();
        counts.sort_by_key(|(length, count)| (core::cmp::Reverse(*count), *length));
        found.extend(counts.into_iter().take(DISTANCES_MAX).map(|(length, _)| length));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn columns(sample: &[u8], length: usize, changes: &BTreeMap<Change, Vec<usize>>) -> Option<Columns> {
    let records = sample.len() / length;
    let mut best: Option<Columns> = None;
    let mut evidence = 0.0;
    for (change, at) in changes {
        if at.len() * BYTES_PER_CHANGE_MIN > sample.len() {
            continue;
        }
        let mut counts = vec![0usize; length];
        at.iter().filter(|at| **at < records * length).for_each(|at| counts[at % length] += 1);
        let usual = at.len() as f64 / sample.len() as f64;
        for (offset, agreeing) in counts.into_iter().enumerate() {
            let share = agreeing as f64 / records as f64;
            if share < AGREEING_MIN {
                continue;
            }
            let against = if agreeing < records {
                (records - agreeing) as f64 * ((1.0 - share) / (1.0 - usual)).ln()
            } else {
                0.0
            };
            // Every offset and kind of change is a trial.
            let of_column =
                agreeing as f64 * (share / usual).ln() + against - (length as f64 * changes.len() as f64).ln();
            evidence += of_column.max(0.0);
            if best.is_none_or(|best| agreeing > best.agreeing) {
                best = Some(Columns { length, records, agreeing, offset, change: *change, evidence: 0.0 });
            }
        }
    }
    let best = Columns { evidence, ..best? };
    (best.evidence > EVIDENCE_MIN).then_some(best)
}

impl Class {
    fn of(byte: u8, ebcdic: bool) -> Self {
        match (ebcdic, byte) {
            (true, 0x40) | (false, 0x20) => Class::Blank,
            (true, 0xf0..=0xf9) | (false, 0x30..=0x39) => Class::Digit,
            (true, 0x81..=0x89 | 0x91..=0x99 | 0xa2..=0xa9 | 0xc1..=0xc9 | 0xd1..=0xd9 | 0xe2..=0xe9)
            | (false, 0x41..=0x5a | 0x61..=0x7a) => Class::Letter,
            (_, 0) => Class::Zero,
            (true, ..0x40) | (false, ..0x20) => Class::Control,
            _ => Class::Other,
        }
    }

    /// The class in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Class::Blank => "blanks",
            Class::Digit => "digits",
            Class::Letter => "letters",
            Class::Zero => "zeros",
            Class::Control => "controls",
            Class::Other => "other bytes",
        }
    }
}
