//! Recognition of a framing that does not fit: "junk after record 4".

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

/// Reports as `FRM-040` that a file with junk has another framing than the one in use.
///
/// `sample`, `file_len` and `record_length` are as in [`detect()`]. `junk` is the first record that the decoder could not make
/// sense of, if there is one; a record at which `used` itself breaks is found here. Returns `None` if the framing in use fits as
/// well as any, so the cause is elsewhere (code page, copybook).
#[must_use]
pub fn explain_misfit(
    sample: &[u8],
    file_len: Option<u64>,
    record_length: Option<usize>,
    used: &FramingSpec,
    junk: Option<RecordNumber>,
) -> Option<Finding> {
    let candidates = detect(sample, file_len, record_length);
    let walked = Sample { bytes: sample, file_len, record_length }.walk(used);
    let breaks = walked.as_ref().and_then(|walked| walked.junk);
    // Records of one length after length headers repeat at that distance, so the file also looks like a fixed one.
    let held = has_lengths(used) && walked.is_some_and(|walked| walked.records >= HELD_MIN);
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
    let convinces = |c: &&FramingCandidate| {
        c.first_junk_record.is_none()
            && c.score >= CONVINCING
            && (c.records_checked >= RECORDS_MIN || other_line_end(used, &c.spec))
            && !(held && matches!(c.spec, FramingSpec::Fixed { .. }))
    };
    let best = candidates.iter().find(convinces);
    let own = candidates.iter().find(|c| c.spec == *used);
    if best.is_some_and(|best| own.is_some_and(|own| own.score >= best.score)) {
        return None;
    }
    let junk = match (junk, breaks) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let after = match junk {
        Some(RecordNumber(1)) => "junk from the first record on: ".to_owned(),
        Some(RecordNumber(n)) => format!("junk after record {}: ", n - 1),
        None => String::new(),
    };
    let looked_at = sample.len();
    let (fault, message, hint) = match best {
        Some(best) => (
            Fault::Config,
            format!("{after}the framing `{used}` does not fit this file"),
            format!(
                "`{}` fits all {} records in the first {looked_at} bytes ({}): use it instead",
                best.spec,
                best.records_checked,
                best.evidence.join("; ")
            ),
        ),
        None if breaks.is_none() => return None,
        // Either the settings or the file may be wrong; only the sender knows.
        None => (
            Fault::Sender,
            format!("{after}`{used}` does not hold there, and no other framing is evident in the first {looked_at} bytes"),
            "the file may be damaged or cut, or have an unknown framing: compare its size with the sender's, and ask the sender about RECFM, LRECL and a binary transfer".to_owned(),
        ),
    };
    let place = Place { record: junk, ..Place::default() };
    Some(Finding::error(Code("FRM-040"), fault, message).at(place).hint(hint))
}

/// Returns whether both are lines of CR LF, LF or either. Such a line end shows in a single line: no chance is involved.
fn other_line_end(used: &FramingSpec, other: &FramingSpec) -> bool {
    let ascii = |spec: &FramingSpec| match spec {
        FramingSpec::Lines(line) => matches!(line.end, LineEnd::Lf | LineEnd::CrLf),
        _ => false,
    };
    ascii(used) && ascii(other)
}

/// Returns whether a length precedes every record.
fn has_lengths(spec: &FramingSpec) -> bool {
    match spec {
        FramingSpec::Fixed { .. } | FramingSpec::Lines(_) | FramingSpec::Layout => false,
        FramingSpec::Rdw(_)
        | FramingSpec::Blocked(_)
        | FramingSpec::Spanned(_)
        | FramingSpec::LengthField(_)
        | FramingSpec::MicroFocus => true,
    }
}
