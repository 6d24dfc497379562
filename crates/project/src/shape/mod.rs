//! The shapes that maps name, from files; and maps opened with them.
//!
//! ```text
//! maps/a.qmap ── source "x", target y "z" ──▶ ShapeFile: Shape + how such documents are read and written
//!       └───────────────── compile ─────────▶ MapFile: the plan, its shapes, what it was made of
//! ```
//!
//! | reference | what it is | documents |
//! |---|---|---|
//! | `x.guide`, a folder of guides | EDI guide | transactions by guide |
//! | `x.cpy`, `.cbl`, `.cob` | copybook; `x.cpy#RECORD` chooses a record | records |
//! | `x.toml` | layout: CSV, fixed fields, or a copybook with its interface, code page and framing | rows, records |
//! | `x.json` | JSON Schema; `x.json#Name` chooses a definition | JSON |
//! | `x.xsd` | XML schema; `x.xsd#name` chooses the root element | XML |
//! | `x.shape` | outline, as `docs/reference/maps.md` writes shapes | JSON, unless the run says otherwise |
//!
//! What a description says and a shape cannot hold is a finding: an error where documents could not be read or written whole, a note where
//! only a check is left out.

pub(crate) mod codes;
mod guide;
mod json_schema;
mod layout;
mod notes;
mod outline;
mod records;
mod reference;
mod shape_file;
pub(crate) mod source_file;
mod xsd;

pub use layout::LAYOUT_KEYS;
pub use outline::{outline_of, parse_outline};
pub use shape_file::{Form, ShapeFile, ShapeOptions};
