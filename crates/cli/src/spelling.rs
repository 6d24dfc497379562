//! Suggestions for names that are nearly right.

pub(crate) use quayline_core::nearest;
