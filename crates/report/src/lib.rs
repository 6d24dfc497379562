//! Reports: the results of a run as one page, as CSV and as JSON, and their comparison with an earlier run.
//!
//! ```text
//!  a command ─▶ Report: verdict, facts, sections (table, picture, notes)
//!                 ├─▶ html: one file, pictures drawn here, no network, works without scripts
//!                 ├─▶ csv:  a line for each cell
//!                 └─▶ json: `quayline.report/1` ─▶ a later run: compare ─▶ a section and a verdict
//! ```
//!
//! * **Every picture has its table** below it, on screen and on paper. No reader needs a script, colours or a pointer.
//! * **One struct, three forms.** A number in one form is in all three.
//! * **A page is at most [`HTML_BYTES_MAX`] long.** Larger tables are cut, and the page refers to the complete ones.
//! * **A page is self-contained.** Its content security policy allows its own style and script, by their digests, and nothing else.
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
    /// Writes the report as one page of HTML.
    #[must_use]
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// Writes the tables for a terminal, without columns that have no measurement.
    #[must_use]
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// Writes the cells of all tables as CSV: section, row, column, unit, value.
    #[must_use]
    pub fn csv(&self) -> String {
        csv::lines(self)
    }

    /// Writes the report as `quayline.report/1`.
    #[must_use]
    pub fn json(&self) -> String {
        json::write(self)
    }

    /// Reads a report in the form of [`Report::json`].
    ///
    /// # Errors
    /// [`ReadError`] for text that is not a report of a version that this program knows.
    pub fn from_json(text: &str) -> Result<Report, ReadError> {
        json::read(text)
    }
}
