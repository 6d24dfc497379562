//! Origins of the items of a chunk, so that a skipped item can be found in the input.

use std::fmt;

use crate::artifact::ItemPlace;

/// Origin of an item.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Origin {
    /// Number in the step execution, from 1, in reading order.
    pub(super) number: u64,
    /// Position in the input.
    pub(super) place: ItemPlace,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {}", self.number)?;
        match (self.place.record, self.place.byte) {
            (Some(record), Some(byte)) => write!(f, " (record {record}, byte {byte})"),
            (Some(record), None) => write!(f, " (record {record})"),
            (None, Some(byte)) => write!(f, " (byte {byte})"),
            (None, None) => Ok(()),
        }
    }
}

/// Returns the subject of a sentence about items, with its verb. Names the items if their origins are known, otherwise counts them.
pub(super) fn shown(origins: &[Origin], count: usize) -> String {
    match origins {
        [] if count == 1 => "1 item is".to_owned(),
        [] => format!("{count} items are"),
        [one] => format!("{one} is"),
        [first, .., last] => format!("{count} items, {first} to {last}, are"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_named_as_far_as_they_are_known() {
        let at = |number, record, byte| Origin { number, place: ItemPlace { record, byte } };
        assert_eq!(shown(&[], 3), "3 items are");
        assert_eq!(shown(&[], 1), "1 item is");
        assert_eq!(shown(&[at(7, Some(9), Some(120))], 1), "item 7 (record 9, byte 120) is");
        assert_eq!(shown(&[at(7, None, None)], 1), "item 7 is");
        assert_eq!(
            shown(&[at(1, Some(1), None), at(2, None, Some(5))], 2),
            "2 items, item 1 (record 1) to item 2 (byte 5), are"
        );
    }
}
