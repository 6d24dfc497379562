//! Errors of reading columns.

use quayline_core::{Code, Fault, Finding};

/// A file that cannot be read as columns.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnReadError {
    /// The file could not be read.
    #[error("cannot read the input: {0}")]
    Input(#[source] std::io::Error),
    /// The first bytes are not those of a known form.
    #[error("found neither Parquet nor Arrow IPC")]
    UnknownForm,
    /// The file is encrypted.
    #[error("the Parquet file is encrypted")]
    Encrypted,
    /// The library cannot decode the bytes.
    #[error("the {form} cannot be decoded: {message}")]
    Damaged {
        /// `Parquet file`, `Arrow IPC file` or `Arrow IPC stream`.
        form: &'static str,
        /// The library's message; it names structure, no values.
        message: String,
    },
}

impl ColumnReadError {
    /// Returns the finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let (code, fault, hint) = match self {
            ColumnReadError::Input(_) => {
                (Code("COL-030"), Fault::Environment, "check that the input is a file that can be read to its end")
            }
            ColumnReadError::UnknownForm => (
                Code("COL-031"),
                Fault::Sender,
                "a Parquet file begins with PAR1 and an Arrow IPC file with ARROW1; leave --from out to let Quayline recognize the format",
            ),
            ColumnReadError::Encrypted => {
                (Code("COL-032"), Fault::Sender, "decrypt it with the program that wrote it, and convert the result")
            }
            ColumnReadError::Damaged { message, .. } if is_unsupported(message) => (
                Code("COL-033"),
                Fault::Sender,
                "write the file with Snappy, gzip, Zstandard, LZ4 or no compression, and with the usual encodings",
            ),
            ColumnReadError::Damaged { .. } => (
                Code("COL-033"),
                Fault::Sender,
                "compare the size with the sender's: a file that was cut has no footer. Rows before the damage were converted",
            ),
        };
        Finding::error(code, fault, self.to_string()).hint(hint)
    }
}

/// Returns whether the library reports an unsupported feature. The file itself may then be complete.
fn is_unsupported(message: &str) -> bool {
    ["Disabled feature", "NYI", "not supported", "not yet implemented"].iter().any(|words| message.contains(words))
}
