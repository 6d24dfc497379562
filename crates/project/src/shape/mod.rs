//! Reads the shapes that maps name, and opens maps with them.
//!
//! ```text
//! maps/a.qmap ── source "x", target y "z" ──▶ ShapeFile: Shape + source and target formats of such documents
//!       └───────────────── compile ─────────▶ MapFile: the plan, its shapes, the files it depends on
//! ```
//!
//! | reference | what it is | documents |
//! |---|---|---|
//! | `x.guide`, a folder of guides | EDI guide | transactions by guide |
//! | `x.cpy`, `.cbl`, `.cob` | copybook; `x.cpy#RECORD` chooses a record | records |
//! | `x.toml` | layout: CSV, fixed fields, or a copybook with its interface, code page and framing | rows, records |
//! | `x.json` | JSON Schema; `x.json#Name` chooses a definition | JSON |
//! | `x.xsd` | XML schema; `x.xsd#name` chooses the root element | XML |
//! | `x.shape` | outline, in the notation of `docs/reference/maps.md` | JSON, unless the run selects another format |
//!
//! A property of a description that a shape cannot represent is a finding: an error if documents could not be read or written in full, a note
//! if only a check is omitted.

pub(crate) mod codes;
mod guide;
pub(crate) mod json_schema;
mod layout;
mod notes;
mod outline;
mod records;
mod reference;
mod shape_file;
pub(crate) mod source_file;
pub(crate) mod xsd;

pub use layout::LAYOUT_KEYS;
pub use outline::{outline_of, parse_outline};
pub use shape_file::{Form, ShapeFile, ShapeOptions};
