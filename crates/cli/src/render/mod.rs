//! Rendering of findings and layouts, as text and as JSON.

mod diff;
mod finding;
mod layout_json;
mod numbers;
mod paint;
mod tree;

pub(crate) use diff::diff;
pub(crate) use finding::{FindingWire, finding_json, finding_text};
pub(crate) use layout_json::{LayoutWire, literal_text};
pub(crate) use numbers::{bytes_text, count_of, grouped};
pub(crate) use paint::{Paint, Style};
pub(crate) use tree::layout_tree;
