//! COBOL file status.

use std::fmt;

/// File status of ISO/IEC 1989 and IBM Enterprise COBOL: two digits.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum FileStatus {
    /// 00: successful.
    Success,
    /// 02: successful; another record has the same alternate key.
    DuplicateAlternate,
    /// 10: no next or previous record.
    EndOfFile,
    /// 21: keys are not ascending, or a rewrite changes the primary key.
    Sequence,
    /// 22: a record with this unique key exists.
    DuplicateKey,
    /// 23: no such record.
    NotFound,
    /// 24: the relative record number or the file is beyond its bounds.
    Boundary,
    /// 30: the medium failed.
    Permanent,
    /// 34: no space is left.
    Full,
    /// 35: no such file.
    Missing,
    /// 37: the organisation does not support the operation.
    Unsupported,
    /// 39: the definition conflicts with the data.
    Attributes,
    /// 43: a rewrite or delete without a read for update before, or a delete by a key of several records.
    NotRead,
    /// 44: the record has a length that the file does not allow.
    Length,
    /// 46: no position to read from.
    NoPosition,
    /// 93: a resource is not available: a record lock, or a limit.
    Resource,
}

impl FileStatus {
    /// Returns the two digits of the status.
    #[must_use]
    pub fn digits(self) -> &'static str {
        match self {
            FileStatus::Success => "00",
            FileStatus::DuplicateAlternate => "02",
            FileStatus::EndOfFile => "10",
            FileStatus::Sequence => "21",
            FileStatus::DuplicateKey => "22",
            FileStatus::NotFound => "23",
            FileStatus::Boundary => "24",
            FileStatus::Permanent => "30",
            FileStatus::Full => "34",
            FileStatus::Missing => "35",
            FileStatus::Unsupported => "37",
            FileStatus::Attributes => "39",
            FileStatus::NotRead => "43",
            FileStatus::Length => "44",
            FileStatus::NoPosition => "46",
            FileStatus::Resource => "93",
        }
    }
}

impl fmt::Display for FileStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.digits())
    }
}
