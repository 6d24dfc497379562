//! Any bytes as a record: a document or faults; what was decoded encodes, decodes to the same again, and with `preserve` gives the bytes.

use std::cell::RefCell;
use std::collections::HashMap;

use quayline_cobol::{Preserve, RecordDecoder, RecordEncoder, RecordPlan};
use quayline_core::{Document, Sink};
use quayline_json::{JsonReader, JsonStyle, JsonWriter, ReaderOptions};

thread_local! {
    static PLANS: RefCell<HashMap<(u8, bool), RecordPlan>> = RefCell::default();
}

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, record @ ..] = data else { return };
    // Null loses the bytes by its meaning, so only the other policies can give them back.
    let lossy = (choice >> 4) % 3 == 1;
    round_trip(&plan(*choice, false), record, false);
    round_trip(&plan(*choice, true), record, !lossy);
}

fn plan(choice: u8, preserve: bool) -> RecordPlan {
    let make = || crate::plans::plan(choice, if preserve { Preserve::Yes } else { Preserve::No });
    PLANS.with(|plans| plans.borrow_mut().entry((choice, preserve)).or_insert_with(make).clone())
}

fn round_trip(plan: &RecordPlan, record: &[u8], identical: bool) {
    let Some(json) = decode(plan, record) else { return };
    let mut encoder = RecordEncoder::new(plan);
    let mut reader = JsonReader::new(plan.shape(), ReaderOptions::default());
    reader.read(json.trim_ascii_end(), &mut encoder).expect("we read what we write");
    let encoded = match encoder.take() {
        Ok(record) => record.to_vec(),
        Err(faults) => {
            // A null of a bad value has no bytes in some fields; nothing else may be refused.
            assert!(json.windows(4).any(|word| word == b"null"), "what was decoded does not encode: {faults:?}");
            return;
        }
    };
    if identical {
        assert_eq!(encoded, record, "preserve gives the bytes back");
    }
    let again = decode(plan, &encoded).expect("what was encoded decodes");
    if !json.windows(4).any(|word| word == b"null") {
        assert_eq!(json.escape_ascii().to_string(), again.escape_ascii().to_string(), "a second round changes nothing");
    }
}

fn decode(plan: &RecordPlan, record: &[u8]) -> Option<Vec<u8>> {
    let mut decoder = RecordDecoder::new(plan);
    let mut document = Document::new();
    if decoder.decode(record, &mut document).is_err() {
        document.discard();
        return None;
    }
    let mut writer = JsonWriter::new(plan.shape(), JsonStyle::default());
    document.replay(&mut writer);
    Some(writer.bytes().to_vec())
}
