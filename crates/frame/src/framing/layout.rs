//! Records that end where their own counters say, with nothing between them.

use std::sync::Arc;

use super::{Framing, Measure, Wrong, short};
use crate::fault::Part;
use crate::{EndOfInput, ExtentFault, FrameFaultKind, RecordExtent, RecordExtentFound};

/// Self-describing records.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Finds the end of a record; without it no record has one.
    pub(crate) extent: Option<Arc<dyn RecordExtent>>,
    pub(crate) limit: usize,
}

impl Framing for Layout {
    fn measure(
        &self,
        input: &[u8],
        end: EndOfInput,
        _state: &mut u64,
        _scanned: usize,
        _joined: &mut Vec<u8>,
    ) -> Result<Measure, Wrong> {
        if input.is_empty() && end == EndOfInput::Yes {
            return Ok(Measure::Done { consumed: 0 });
        }
        let wrong = |fault: ExtentFault| Wrong {
            kind: FrameFaultKind::NoExtent { fault },
            at: if let ExtentFault::Counter { at } = fault { at } else { 0 },
            cause: None,
        };
        let Some(extent) = &self.extent else { return Err(wrong(ExtentFault::NoLayout)) };
        let need = match extent.extent(input, end) {
            RecordExtentFound::Bytes(0) => return Err(wrong(ExtentFault::Empty)),
            RecordExtentFound::Bytes(length) if length <= input.len() && length <= self.limit => {
                return Ok(Measure::Record { consumed: length, body: 0..length });
            }
            RecordExtentFound::Bytes(length) => length,
            RecordExtentFound::NeedMore { at_least } => at_least,
            RecordExtentFound::Bad(fault) => return Err(wrong(fault)),
        };
        if need > self.limit {
            let (found, most) = (need as u64, self.limit as u64);
            let kind = FrameFaultKind::TooLarge { part: Part::Record, found, most, bound: "record_bytes_max" };
            return Err(Wrong { kind, at: 0, cause: None });
        }
        short(input, end, 0, need, Part::Record)
    }
}
