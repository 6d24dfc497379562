//! Targets: documents of a block as output.

mod columns;
mod json;
mod record;
mod typed;

pub(crate) use columns::{BatchTarget, PagesTarget};
pub(crate) use json::JsonTarget;
pub(crate) use record::{Framed, RecordTarget};
pub(crate) use typed::TypedTarget;
