//! Code pages: EBCDIC, ASCII, Latin-1, Windows-1252, UTF-8, UTF-16; translation and scanning at memory speed.
//!
//! * [`CodePage`] is one single-byte page with its tables; [`Charset`] adds UTF-8 and UTF-16. Both are found by the names that people
//!   write. This crate never guesses a code page:
//!   [`detect()`] proposes some with evidence, and a person names one.
//! * [`CodeExtension`] reads text by ISO 2022 (EDIFACT's UNOX), [`ExtendedText`] writes it.
//! * [`translate()`] maps bytes through a table of 256 with the widest instructions that the machine has ([`Kernel`]).
//! * [`scan`] finds things in text: quotes, digits, trailing blanks.
//! * [`Weave`] writes rows of blank-padded text between words that are always the same.
//! * [`DelimiterIndex`] finds the delimiters of EDI text and writes their positions.
//!
//! Only `translate`, `scan`, `weave`, `delimiters` and `widest` contain `unsafe`: for instructions that not every machine has, and for
//! writing into a vector's spare room. Each module states what its blocks require. Tests compare each fast path with a slow twin.
//!
//! # Departures from the sources
//!
//! * `tables/DISAGREEMENTS.md` lists each byte on which Python, glibc, ICU and Java differ, with the choice and its reason.
//! * EBCDIC new line (0x15) is U+0085, line feed (0x25) is U+000A, on every page. z/OS UNIX ends lines with 0x15: line framing must look
//!   for that byte, before translation.
//! * Bytes that a page does not assign are errors, never replaced: 0x80 to 0xFF of ASCII, five of windows-1252, six of 875.
//!
//! # Room for mixed double-byte pages
//!
//! IBM's mixed pages (930, 939, 1399 for Japanese, 935 and 1388 for Chinese, 933 for Korean) are a single-byte page and a
//! double-byte page: shift-out 0x0E begins double-byte characters, shift-in 0x0F ends them, and a field starts in the single-byte
//! state. They are not supported yet. They will fit as follows:
//!
//! * `Charset::Mixed(&'static MixedPage)` with the [`CodePage`] of the single-byte state and a table of 190 × 190 characters; and
//!   `Charset::DoubleByte` for DISPLAY-1 (PIC G), which has no shifts.
//! * Decoding stays [`Charset::decode_into`]: text between shifts goes through the bulk path of [`CodePage::decode_into`], which stops at
//!   0x0E as at any byte beyond printable ASCII. So pages without shifts pay nothing.
//! * The shifts take room in the field and none in the text. Encoding therefore needs the field's length: an `encode_into` with a
//!   byte limit that never cuts a character or leaves a shift open, and pads with single-byte blanks after the last shift-in.
//! * [`Undecodable`] needs nothing new: half a character, an unknown pair or a missing shift-in is the offset where it begins.
//! * A round trip is exact for canonical data only (no empty shift pairs, no shifts between runs of one kind).

mod charset;
mod code_extension;
mod code_page;
#[allow(unsafe_code, reason = "vector instructions, chosen at run time")]
mod delimiters;
mod detect;
mod names;
pub mod scan;
mod tables;
mod text;
#[allow(unsafe_code, reason = "vector instructions, chosen at run time")]
mod translate;
mod utf16;
#[allow(unsafe_code, reason = "vector instructions, chosen at run time")]
mod weave;
#[allow(unsafe_code, reason = "calls code compiled for what the machine was found to have")]
mod widest;

pub use charset::{Charset, Undecodable, Unencodable, Utf16Order};
pub use code_extension::{CodeExtension, CodeProblem, EscapeSequence, ExtendedText, GraphicSet, Unit};
pub use code_page::{CodePage, Family, NOT_ASCII, UNASSIGNED};
pub use delimiters::{DelimiterIndex, DelimiterKernel, DelimiterSet, Ends, SegmentSpan};
pub use detect::{Candidate, detect};
pub use names::UnknownCharset;
pub use translate::{Kernel, translate, translate_append, translate_scalar};
pub use weave::{Hole, Piece, Weave, Woven};
pub use widest::{Hot, widest};
