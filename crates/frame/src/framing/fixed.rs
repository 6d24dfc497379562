//! Records of one length.

use super::{Framing, Measure, Wrong, short};
use crate::EndOfInput;
use crate::fault::Part;

/// Fixed-length records.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    pub(crate) length: usize,
}

impl Framing for Fixed {
    #[inline]
    fn measure(
        &self,
        input: &[u8],
        end: EndOfInput,
        _state: &mut u64,
        _scanned: usize,
        _joined: &mut Vec<u8>,
    ) -> Result<Measure, Wrong> {
        if input.len() >= self.length {
            return Ok(Measure::Record { consumed: self.length, body: 0..self.length });
        }
        if input.is_empty() && end == EndOfInput::Yes {
            return Ok(Measure::Done { consumed: 0 });
        }
        short(input, end, 0, self.length, Part::Record)
    }
}
