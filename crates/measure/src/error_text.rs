//! Errors of a study as text.

/// Returns an error as text.
pub(crate) fn shown(error: impl std::fmt::Display) -> String {
    error.to_string()
}
