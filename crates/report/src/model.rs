//! Parts of a report.

use std::fmt;

/// A report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Kind of run, such as `prediction`: only reports of one kind are compared.
    pub kind: String,
    /// Title.
    pub title: String,
    /// The outcome.
    pub verdict: Verdict,
    /// One sentence on the verdict.
    pub summary: String,
    /// Facts that decide whether two runs can be compared: machine, build, input. Names and values.
    pub conditions: Vec<(String, String)>,
    /// Sections, in the order of the page.
    pub sections: Vec<Section>,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Objectives are kept, or none was set.
    Good,
    /// An objective is missed.
    ObjectiveMissed,
    /// A figure is worse than in the baseline.
    Regression,
    /// A prediction is further from the measurement than its tolerance.
    OutOfTolerance,
    /// The measurement cannot be trusted.
    Untrustworthy,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 5] =
        [Verdict::Good, Verdict::ObjectiveMissed, Verdict::Regression, Verdict::OutOfTolerance, Verdict::Untrustworthy];

    /// Name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::ObjectiveMissed => "objective-missed",
            Verdict::Regression => "regression",
            Verdict::OutOfTolerance => "out-of-tolerance",
            Verdict::Untrustworthy => "untrustworthy",
        }
    }

    /// Describes the verdict in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Good => "Good",
            Verdict::ObjectiveMissed => "Objective missed",
            Verdict::Regression => "Regression",
            Verdict::OutOfTolerance => "Prediction out of tolerance",
            Verdict::Untrustworthy => "Untrustworthy",
        }
    }
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Stable name, for CSV, JSON and links.
    pub id: String,
    /// Title.
    pub title: String,
    /// Sentences above the table.
    pub notes: Vec<String>,
    /// The table. The first column names its rows.
    pub table: Table,
    /// Picture of the table.
    pub picture: Option<Picture>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Unit of its numbers.
    pub unit: String,
    /// Direction in which the number is better. Only columns with a direction are compared.
    pub better: Better,
}

impl Column {
    /// Creates a column that is not compared.
    #[must_use]
    pub fn new(name: &str, unit: &str) -> Column {
        Column { name: name.to_owned(), unit: unit.to_owned(), better: Better::Neither }
    }

    /// Creates a column whose larger numbers are better.
    #[must_use]
    pub fn higher(name: &str, unit: &str) -> Column {
        Column { better: Better::Higher, ..Column::new(name, unit) }
    }

    /// Creates a column whose smaller numbers are better.
    #[must_use]
    pub fn lower(name: &str, unit: &str) -> Column {
        Column { better: Better::Lower, ..Column::new(name, unit) }
    }
}

/// Direction in which a number is better.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Better {
    /// Larger numbers.
    Higher,
    /// Smaller numbers.
    Lower,
    /// Neither: the column is an input or a fact.
    Neither,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A number in the unit of the column.
    Number(f64),
    /// An empty cell.
    Empty,
}

impl Cell {
    /// Creates a text cell.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// Returns the number, if the cell is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(number) => Some(*number),
            Cell::Text(_) | Cell::Empty => None,
        }
    }
}

/// Shows four significant digits with separated thousands, for readers. CSV and JSON have all digits.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Text(text) => f.write_str(text),
            Cell::Number(number) => f.write_str(&shown(*number)),
            Cell::Empty => Ok(()),
        }
    }
}

/// Formats a number with four significant digits.
pub(crate) fn shown(number: f64) -> String {
    if !number.is_finite() {
        return "none".to_owned();
    }
    let size = number.abs();
    if size > 0.0 && !(1e-4..1e15).contains(&size) {
        return format!("{number:.3e}");
    }
    let digits = match size {
        size if size >= 1000.0 || size == 0.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        size if size >= 0.1 => 4,
        size if size >= 0.01 => 5,
        _ => 6,
    };
    let text = format!("{number:.digits$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let rest = rest.trim_end_matches('0');
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{rest}")
}

/// A picture of columns of the table beside it.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// Lines and points over a number.
    Lines {
        /// Name and unit of the horizontal axis.
        across: String,
        /// Name and unit of the vertical axis.
        up: String,
        /// The series.
        series: Vec<Series>,
    },
    /// A bar for each row and series.
    Bars {
        /// Name and unit of the lengths.
        across: String,
        /// Names of the rows.
        rows: Vec<String>,
        /// Names of the series, each with a length for each row.
        series: Vec<(String, Vec<f64>)>,
    },
}

/// A series of a picture of lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name.
    pub name: String,
    /// Style of the line or bars.
    pub style: SeriesStyle,
    /// Points, ascending.
    pub points: Vec<(f64, f64)>,
}

/// Style of a series.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SeriesStyle {
    /// A line: a model.
    Line,
    /// A dashed line: a bound or a limit.
    Dashes,
    /// Points: measurements.
    Points,
}
