//! Any JSON as a document of a record: a record or faults; a record decodes.

use std::cell::RefCell;
use std::collections::HashMap;

use quayline_cobol::{Preserve, RecordDecoder, RecordEncoder, RecordPlan};
use quayline_core::{Document, Sink as _};
use quayline_json::{JsonReader, ReaderOptions, Unknown};

thread_local! {
    static PLANS: RefCell<HashMap<u8, RecordPlan>> = RefCell::default();
}

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, json @ ..] = data else { return };
    let preserve = if choice & 0x80 == 0 { Preserve::No } else { Preserve::Yes };
    let plan = PLANS.with(|plans| {
        plans.borrow_mut().entry(*choice).or_insert_with(|| crate::plans::plan(*choice, preserve)).clone()
    });
    let mut encoder = RecordEncoder::new(&plan);
    let mut reader =
        JsonReader::new(plan.shape(), ReaderOptions { unknown: Unknown::Ignore, ..ReaderOptions::default() });
    if reader.read(json, &mut encoder).is_err() {
        encoder.discard();
        return;
    }
    let Ok(record) = encoder.take().map(<[u8]>::to_vec) else { return };
    assert!(record.len() <= plan.length_max());
    // Raw bytes from the document may be no value of their field; that is a fault of the document's writer.
    let raw = json.windows(2).any(|word| word == b"0x") || json.windows(9).any(|word| word == b"_preserve");
    let decoded = RecordDecoder::new(&plan).decode(&record, &mut Document::new());
    assert!(raw || decoded.is_ok(), "what was encoded does not decode");
}
