//! Exit codes of a worker that could not begin; above those that COBOL programs use.

/// libcob is not installed.
pub const NO_RUNTIME: i32 = 121;
/// The program is not found or does not load.
pub const NO_PROGRAM: i32 = 122;
/// Started by hand, or by another version.
pub const NO_CALLER: i32 = 123;
