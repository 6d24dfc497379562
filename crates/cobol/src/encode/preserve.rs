//! The bytes that a canonical encoding would lose, as text in the document.
//!
//! `LENGTH;OFFSET:HEX;OFFSET:HEX…`: the record's length in bytes if it differs from the canonical one (otherwise empty), then
//! stretches of bytes to write over the canonical encoding, offsets from 0 in ascending order.

use core::fmt::Write;

use super::RecordEncoder;

impl RecordEncoder {
    /// Returns the patch that turns the encoding of the document left last into `original`; `None` if they are equal or the
    /// document does not encode.
    pub(crate) fn patch_for(&mut self, original: &[u8]) -> Option<String> {
        let canonical = self.take().ok()?;
        if canonical == original {
            return None;
        }
        let mut patch = String::new();
        if canonical.len() != original.len() {
            let _ = write!(patch, "{}", original.len());
        }
        let mut at = 0;
        while at < original.len() {
            if canonical.get(at) == Some(&original[at]) {
                at += 1;
                continue;
            }
            let _ = write!(patch, ";{at}:");
            while at < original.len() && canonical.get(at) != Some(&original[at]) {
                let _ = write!(patch, "{:02x}", original[at]);
                at += 1;
            }
        }
        Some(patch)
    }
}

/// Applies a patch; `None` if it is not one or does not fit.
pub(super) fn apply(patch: &str, record: &mut Vec<u8>) -> Option<()> {
    let mut parts = patch.split(';');
    let length = parts.next()?;
    if !length.is_empty() {
        let length: usize = length.parse().ok()?;
        if length > record.len() + patch.len() {
            return None;
        }
        record.resize(length, 0);
    }
    for part in parts {
        let (offset, hex) = part.split_once(':')?;
        let offset: usize = offset.parse().ok()?;
        let to = record.get_mut(offset..offset.checked_add(hex.len() / 2)?)?;
        crate::item::hex_into(hex.as_bytes(), to)?;
    }
    Some(())
}
