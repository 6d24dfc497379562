//! Recognition of a framing that does not fit: "junk after record 4".

use core::ops::RangeInclusive;

use quayline_core::{Code, Fault, Finding, Place, RecordNumber};

use crate::detect::Sample;
use crate::spec::{BlockHeaders, LineEnd, SpannedSpec};
use crate::{FramingCandidate, FramingSpec, detect};

/// Least score of a framing that is proposed in place of the one in use.
const CONVINCING: f64 = 0.7;
/// Records that it must explain: two of anything are alike by chance.
const RECORDS_MIN: u64 = 4;
/// Records that a framing with lengths must have found before it broke to be the right one for a damaged file: lengths that lead to
/// lengths are not chance.
const HELD_MIN: u64 = 2;

/// Records from which a repetition at a distance that no record of the description has says something about the description.
const DIFFERS_MIN: u64 = 100;

/// The framing in which a file was read, and what is known of the file's records.
#[derive(Clone, Debug)]
pub struct FramingInUse {
    /// The framing.
    pub spec: FramingSpec,
    /// The first record that the decoder could not make sense of, if there is one.
    pub junk: Option<RecordNumber>,
    /// The record at which the framing broke, if it did. [`explain_misfit`] finds it in the sample, except for [`FramingSpec::Layout`].
    pub breaks: Option<RecordNumber>,
    /// Bytes of the shortest and of the longest record that the description allows, if there is one.
    pub lengths: Option<RangeInclusive<usize>>,
}

/// Reports as `FRM-040` that a file with junk has another framing than the one in use.
///
/// `sample`, `file_len` and `record_length` are as in [`detect()`]. The finding proposes only a framing whose records the description
/// can have. Returns `None` if the framing in use fits as well as any, so the cause is elsewhere (code page, copybook).
#[must_use]
pub fn explain_misfit(
    sample: &[u8],
    file_len: Option<u64>,
    record_length: Option<usize>,
    used: &FramingInUse,
) -> Option<Finding> {
    let FramingInUse { spec, junk, breaks, lengths } = used;
    let candidates = detect(sample, file_len, record_length);
    let sample_of = || Sample { bytes: sample, file_len, record_length };
    let (held, breaks) = match spec {
        // Only the description says where such a record ends.
        FramingSpec::Layout => (breaks.is_some_and(|RecordNumber(n)| n > HELD_MIN), *breaks),
        _ => {
            let walked = sample_of().walk(spec);
            let breaks = walked.as_ref().and_then(|walked| walked.junk);
            (spec.has_lengths() && walked.is_some_and(|walked| walked.records >= HELD_MIN), breaks)
        }
    };
    // Blocks chain as records do, one a block: there the finer explanation is the right one.
    let in_blocks = candidates.iter().any(|c| {
        let blocks = matches!(
            c.spec,
            FramingSpec::Blocked(_) | FramingSpec::Spanned(SpannedSpec { blocks: BlockHeaders::Present })
        );
        blocks && c.first_junk_record.is_none() && c.score >= CONVINCING
    });
    // A chain of lengths is not chance: the framing of the records is right, and something else is wrong with them.
    if held && breaks.is_none() && !in_blocks {
        return None;
    }
    // Records of one length after length headers repeat at that distance, so the file also looks like a fixed one.
    let convinces = |c: &&FramingCandidate| {
        c.first_junk_record.is_none()
            && c.score >= CONVINCING
            && (c.records_checked >= RECORDS_MIN || other_line_end(spec, &c.spec))
            && !(held && matches!(c.spec, FramingSpec::Fixed { .. }))
    };
    let allowed = |c: &&FramingCandidate| lengths.as_ref().is_none_or(|lengths| may_have(lengths, c));
    let best = candidates.iter().filter(convinces).find(allowed);
    let own = candidates.iter().find(|c| c.spec == *spec);
    // Lines are the same with and without `strip-cr` unless a CR ends one.
    let is_alike =
        |c: &FramingCandidate| of_lines(spec) && of_lines(&c.spec) && sample_of().splits_alike(spec, &c.spec);
    if best.is_some_and(|best| own.is_some_and(|own| own.score >= best.score) || is_alike(best)) {
        return None;
    }
    let other_records = lengths.as_ref().and_then(|lengths| {
        let differs = |c: &&FramingCandidate| match c.spec {
            // Parts of a record may repeat as well.
            FramingSpec::Fixed { length } => c.records_checked >= DIFFERS_MIN && !lengths.end().is_multiple_of(length),
            _ => true,
        };
        let other = candidates.iter().filter(convinces).find(differs)?;
        (!is_alike(other)).then_some((other, lengths))
    });
    let junk = match (*junk, breaks) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let after = match junk {
        Some(RecordNumber(1)) => "junk from the first record on: ".to_owned(),
        Some(RecordNumber(n)) => format!("junk after record {}: ", n - 1),
        None => String::new(),
    };
    let looked_at = sample.len();
    let fits = |c: &FramingCandidate| {
        let (framing, records, evidence) = (c.spec, c.records_checked, c.evidence.join("; "));
        format!("`{framing}` fits all {records} records in the first {looked_at} bytes ({evidence})")
    };
    let misfit = || format!("{after}the framing `{spec}` does not fit this file");
    let (fault, message, hint) = match (best, other_records) {
        (Some(best), _) => (Fault::Config, misfit(), format!("{}: use it instead", fits(best))),
        (None, Some((other, lengths))) => {
            let described = match (lengths.start(), lengths.end()) {
                (least, &usize::MAX) => format!("at least {least} bytes"),
                (least, most) if least == most => format!("{most} bytes"),
                (least, most) => format!("{least} to {most} bytes"),
            };
            let hint = format!(
                "{}, but the description has records of {described}: check that it belongs to this file",
                fits(other)
            );
            (Fault::Config, misfit(), hint)
        }
        (None, None) if breaks.is_none() => return None,
        // Either the settings or the file may be wrong; only the sender knows.
        (None, None) => (
            Fault::Sender,
            format!("{after}`{spec}` does not hold there, and no other framing is evident in the first {looked_at} bytes"),
            "the file may be damaged or cut, or have an unknown framing: compare its size with the sender's, and ask the sender about RECFM, LRECL and a binary transfer".to_owned(),
        ),
    };
    let place = Place { record: junk, ..Place::default() };
    Some(Finding::error(Code("FRM-040"), fault, message).at(place).hint(hint))
}

/// Returns whether records of these lengths may be those that the candidate finds. The end of a line pads short records.
fn may_have(lengths: &RangeInclusive<usize>, candidate: &FramingCandidate) -> bool {
    let FramingCandidate { spec, lengths: found, .. } = candidate;
    let is_long_enough = found.end() >= lengths.start() || matches!(spec, FramingSpec::Lines(_));
    is_long_enough && found.start() <= lengths.end()
}

fn of_lines(spec: &FramingSpec) -> bool {
    matches!(spec, FramingSpec::Lines(_))
}

/// Returns whether both are lines of CR LF, LF or either. Such a line end shows in a single line: no chance is involved.
fn other_line_end(used: &FramingSpec, other: &FramingSpec) -> bool {
    let ascii = |spec: &FramingSpec| match spec {
        FramingSpec::Lines(line) => matches!(line.end, LineEnd::Lf | LineEnd::CrLf),
        _ => false,
    };
    ascii(used) && ascii(other)
}
