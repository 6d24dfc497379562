//! "Junk after record 4": a framing that does not fit, recognised and said so.

use quayline_core::{Code, Fault, Finding, Place, RecordNumber};

use crate::detect::Sample;
use crate::{FramingCandidate, FramingSpec, detect};

/// What a framing must score to be named in place of the one in use.
const CONVINCING: f64 = 0.7;

/// Says whether a file that gives junk has another framing than the one in use: `FRM-040`.
///
/// `sample`, `file_len` and `record_length` are as in [`detect`]. `junk` is the first record that made no sense to whoever decoded it, where
/// one did; a record at which `used` itself breaks is found here. `None`: the framing in use is as good as any, so look elsewhere (code page,
/// copybook).
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
    let breaks = walked.and_then(|walked| walked.junk);
    let best = candidates.iter().find(|c| c.first_junk_record.is_none() && c.score >= CONVINCING);
    let own = candidates.iter().find(|c| c.spec == *used);
    if best.is_some_and(|best| own.is_some_and(|own| own.score >= best.score)) {
        return None;
    }
    let junk = match (junk, breaks) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    if best.is_none() && breaks.is_none() {
        return None;
    }
    let after = match junk {
        Some(RecordNumber(1)) => "junk from the first record on: ".to_owned(),
        Some(RecordNumber(n)) => format!("junk after record {}: ", n - 1),
        None => String::new(),
    };
    let message = format!("{after}the framing `{used}` does not fit this file");
    let place = Place { record: junk, ..Place::default() };
    Some(Finding::error(Code("FRM-040"), Fault::Config, message).at(place).hint(remedy(best, sample.len())))
}

fn remedy(best: Option<&FramingCandidate>, looked_at: usize) -> String {
    match best {
        Some(best) => format!(
            "`{}` fits all {} records in the first {looked_at} bytes ({}): use it instead",
            best.spec,
            best.records_checked,
            best.evidence.join("; ")
        ),
        None => format!(
            "no known framing fits the first {looked_at} bytes: ask the sender for RECFM and LRECL, and whether the transfer was binary"
        ),
    }
}
