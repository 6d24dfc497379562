//! Records of the job repository as bytes: a version, then the fields.

use quayline_core::Stored;

use crate::error::BatchError;

/// Version of the records' form, their first byte.
pub(crate) const VERSION: u8 = 1;

/// Encodes a record.
pub(crate) fn bytes<T: Stored>(record: &T) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    record.store(&mut bytes);
    bytes
}

/// Decodes a record; `what` names it in the error.
pub(crate) fn read<T: Stored>(what: &'static str, bytes: &[u8]) -> Result<T, BatchError> {
    let rest = bytes.strip_prefix(&[VERSION]).ok_or(BatchError::Damaged { what })?;
    T::load_all(rest).ok_or(BatchError::Damaged { what })
}
