//! Code pages: EBCDIC, ASCII, Latin-1, Windows-1252, UTF-8, UTF-16; translation and scanning at memory speed.
//!
//! * [`CodePage`] is one single-byte page with its tables; [`Charset`] adds UTF-8 and UTF-16. Both are found by the names that people
//!   write. This crate never guesses a code page.
//! * [`translate()`] maps bytes through a table of 256 with the widest instructions that the machine has ([`Kernel`]).
//! * [`scan`] finds things in text: quotes, digits, trailing blanks.
//!
//! `unsafe` stands in `translate` and `scan` only, for the instructions and for writing into a vector's spare room; each fast path has a
//! slow twin that tests hold equal.

mod charset;
mod code_page;
mod names;
pub mod scan;
mod tables;
mod text;
#[allow(unsafe_code, reason = "vector instructions, chosen at run time")]
mod translate;
mod utf16;

pub use charset::{Charset, Undecodable, Unencodable, Utf16Order};
pub use code_page::{CodePage, Family, NOT_ASCII, UNASSIGNED};
pub use names::UnknownCharset;
pub use translate::{Kernel, translate, translate_append, translate_scalar};
