//! Transactions as documents without a guide, and back. The form is described in `docs/reference/edi.md`.

mod coding;
mod draft;
mod pause;
mod reader;
mod rows;
mod shape;
mod surplus;
mod write_error;
mod writer;

pub use coding::{CharacterMissing, in_character_set};
pub(crate) use draft::{Content, Draft, DraftSegment, Form, Slot, Span, number};
pub use draft::{EdiDraft, EdiDrafter};
pub use reader::{DocumentPass, DocumentReader, DocumentStep, GenericOptions};
pub use rows::{ROW_ELEMENTS, RowPass, RowReader, RowStep, row_shape};
pub use shape::generic_shape;
pub(crate) use shape::{Nodes, Paged};
pub use write_error::EdiWriteError;
pub use writer::{EdiMark, EdiWriter, EdiWriterOptions};
