//! The member of documents that holds bytes of a record.

/// Name of the member of a document that holds the bytes of its record which the other members do not.
pub const PRESERVE: &str = "_preserve";

/// Remedy if a document has this member and the shape does not.
pub const PRESERVE_REMEDY: &str = "add `--preserve` to this command, too: it restores the bytes that the member holds";
