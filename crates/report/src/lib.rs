//! Reports: what a run found, as one page, as CSV and as JSON, and compared with an earlier run.
//!
//! ```text
//!  a command ─▶ Report: verdict, facts, sections (table, picture, notes)
//!                 ├─▶ html: one file, pictures drawn here, no network, works without scripts
//!                 ├─▶ csv:  a line for each cell
//!                 └─▶ json: `quayline.report/1` ─▶ a later run: compare ─▶ a section and a verdict
//! ```
//!
//! * **Every picture has its table.** The table is below the picture, on screen and on paper. So nobody needs a script, colours or a pointer.
//! * **One struct, three forms.** A number that is in one of them is in all.
//! * **A page is at most [`HTML_BYTES_MAX`]**. Tables that would exceed it are cut, and the page says where the rest is.
//! * **A page needs nothing but itself.** Its content security policy allows its own style and script by their digests, and nothing else.
//!
//! Pure: no I/O and no clock.

mod compare;
mod csv;
mod html;
mod json;
mod model;
mod picture;
mod text;

pub use compare::{Comparison, Incomparable, compare};
pub use json::{ReadError, SCHEMA};
pub use model::{Better, Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};

/// Most bytes of a page.
pub const HTML_BYTES_MAX: usize = 300_000;

impl Report {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// The tables for a terminal, without columns in which nothing was measured.
    #[must_use]
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// The cells of all tables: section, row, column, unit, value.
    #[must_use]
    pub fn csv(&self) -> String {
        csv::lines(self)
    }

    /// The report as `quayline.report/1`.
    #[must_use]
    pub fn json(&self) -> String {
        json::write(self)
    }

    /// Reads what [`Report::json`] wrote.
    ///
    /// # Errors
    /// [`ReadError`] for text that is not a report of a version that this program knows.
    pub fn from_json(text: &str) -> Result<Report, ReadError> {
        json::read(text)
    }
}
