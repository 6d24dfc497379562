//! Sources: one record of a block as events.

mod json;
mod record;
mod typed;

pub(crate) use json::JsonSource;
pub(crate) use record::RecordSource;
pub(crate) use typed::TypedSource;
