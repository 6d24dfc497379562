//! The codec of elementary items, for both directions: a decoder reads items, an encoder writes them, and each reads what the other means to write.

mod dated;
mod edited;
mod initial;
mod read;
mod write;

pub(crate) use dated::{fault_of_date, plain_date};
pub(crate) use initial::{initial, initialise, literal};
pub(crate) use read::{as_text, integer, read};
pub(crate) use write::{char_byte, encode_item, hex_into, is_nearest_float, is_raw_text, keeps_raw};

use crate::plan::Plan;

/// A record and its translation, padded.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) raw: Vec<u8>,
    pub(crate) text: Vec<u8>,
    pub(crate) len: usize,
}

/// Room for a number's digits and a text that needed more than a table.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) digits: [u8; 64],
    pub(crate) text: Vec<u8>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch { digits: [b'0'; 64], text: Vec::new() }
    }
}

/// Loads a range of bytes as a separate record.
pub(crate) fn loaded(plan: &Plan, bytes: &[u8]) -> Loaded {
    let mut loaded = Loaded::default();
    reload(plan, bytes, &mut loaded);
    loaded
}

/// Loads a range of bytes as a separate record, in place of an earlier one.
pub(crate) fn reload(plan: &Plan, bytes: &[u8], loaded: &mut Loaded) {
    loaded.raw.clear();
    loaded.raw.extend_from_slice(bytes);
    loaded.text.clear();
    loaded.text.extend(bytes.iter().map(|b| plan.text.to_ascii[usize::from(*b)]));
    loaded.len = bytes.len();
}
