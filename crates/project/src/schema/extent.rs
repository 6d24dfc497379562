//! End of a record of a schema, computed from its counters.

use std::sync::Arc;

use quayline_cobol::{Extent, RecordPlan};
use quayline_frame::{EndOfInput, ExtentFault, RecordExtent, RecordExtentFound};

use super::{Found, Records, Schema};

/// The ends of a schema's records, for the framing [`quayline_frame::FramingSpec::Layout`].
#[derive(Clone, Debug)]
pub struct SchemaExtent(Arc<Schema>);

impl SchemaExtent {
    /// Creates the extent of the records of `schema`.
    #[must_use]
    pub fn new(schema: &Arc<Schema>) -> Self {
        SchemaExtent(Arc::clone(schema))
    }
}

impl RecordExtent for SchemaExtent {
    fn extent(&self, bytes: &[u8], end: EndOfInput) -> RecordExtentFound {
        match self.0.records() {
            Records::None => RecordExtentFound::Bad(ExtentFault::NoLayout),
            Records::One(plan) => of_plan(plan, bytes),
            Records::Types(types) => {
                let front = types.front();
                if bytes.len() < front && end == EndOfInput::No {
                    return RecordExtentFound::NeedMore { at_least: front };
                }
                match types.find(bytes) {
                    Found::Type(index) => {
                        types.plan(index).map_or(RecordExtentFound::Bad(ExtentFault::Type), |plan| of_plan(plan, bytes))
                    }
                    Found::Skip | Found::SkipUnknown | Found::Unknown => RecordExtentFound::Bad(ExtentFault::Type),
                }
            }
        }
    }
}

fn of_plan(plan: &RecordPlan, bytes: &[u8]) -> RecordExtentFound {
    match plan.extent(bytes) {
        Extent::Bytes(length) => RecordExtentFound::Bytes(length),
        Extent::NeedMore { at_least } => RecordExtentFound::NeedMore { at_least },
        Extent::Bad(fault) => RecordExtentFound::Bad(ExtentFault::Counter { at: fault.offset }),
    }
}
