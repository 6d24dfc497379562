//! The wire form `quayline.report/1`. Its types are separate, so that renaming an internal field breaks no reader.

use serde::{Deserialize, Serialize};

use crate::model::{Better, Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};

/// Name and version of the form.
pub const SCHEMA: &str = "quayline.report/1";

/// Error of reading a report.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReadError {
    /// The text is not JSON of this form; the string has the position.
    Form(String),
    /// The text has another schema name or version.
    Schema(String),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::Form(text) => write!(f, "the file is not a report: {text}"),
            ReadError::Schema(found) => write!(f, "the schema is `{found}`, expected `{SCHEMA}`"),
        }
    }
}

impl std::error::Error for ReadError {}

pub(crate) fn write(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(&ReportWire::of(report)).unwrap_or_default();
    text.push('\n');
    text
}

pub(crate) fn read(text: &str) -> Result<Report, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let form = |error: serde_json::Error| ReadError::Form(error.to_string());
    let head: Head = serde_json::from_str(text).map_err(form)?;
    if head.schema != SCHEMA {
        return Err(ReadError::Schema(head.schema));
    }
    let wire: ReportWire = serde_json::from_str(text).map_err(form)?;
    wire.report()
}

#[derive(Deserialize, Serialize)]
struct ReportWire {
    schema: String,
    kind: String,
    title: String,
    verdict: String,
    summary: String,
    conditions: Vec<ConditionWire>,
    sections: Vec<SectionWire>,
}

#[derive(Deserialize, Serialize)]
struct ConditionWire {
    name: String,
    value: String,
}

#[derive(Deserialize, Serialize)]
struct SectionWire {
    id: String,
    title: String,
    notes: Vec<String>,
    columns: Vec<ColumnWire>,
    rows: Vec<Vec<CellWire>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<PictureWire>,
}

#[derive(Deserialize, Serialize)]
struct ColumnWire {
    name: String,
    unit: String,
    better: BetterWire,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum BetterWire {
    Higher,
    Lower,
    Neither,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged, expecting = "expected a text, a number or null")]
enum CellWire {
    Number(f64),
    Text(String),
    Empty(()),
}

#[derive(Deserialize, Serialize)]
#[serde(tag = "form", rename_all = "kebab-case")]
enum PictureWire {
    Lines { across: String, up: String, series: Vec<SeriesWire> },
    Bars { across: String, rows: Vec<String>, series: Vec<(String, Vec<Option<f64>>)> },
}

#[derive(Deserialize, Serialize)]
struct SeriesWire {
    name: String,
    style: StyleWire,
    points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum StyleWire {
    Line,
    Dashes,
    Points,
}

impl ReportWire {
    fn of(report: &Report) -> ReportWire {
        let condition = |(name, value): &(String, String)| ConditionWire { name: name.clone(), value: value.clone() };
        ReportWire {
            schema: SCHEMA.to_owned(),
            kind: report.kind.clone(),
            title: report.title.clone(),
            verdict: report.verdict.name().to_owned(),
            summary: report.summary.clone(),
            conditions: report.conditions.iter().map(condition).collect(),
            sections: report.sections.iter().map(SectionWire::of).collect(),
        }
    }

    fn report(self) -> Result<Report, ReadError> {
        let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.name() == self.verdict);
        let verdict = verdict.ok_or_else(|| ReadError::Form(format!("unknown verdict `{}`", self.verdict)))?;
        let sections: Result<Vec<Section>, ReadError> = self.sections.into_iter().map(SectionWire::section).collect();
        Ok(Report {
            kind: self.kind,
            title: self.title,
            verdict,
            summary: self.summary,
            conditions: self.conditions.into_iter().map(|condition| (condition.name, condition.value)).collect(),
            sections: sections?,
        })
    }
}

impl SectionWire {
    fn of(section: &Section) -> SectionWire {
        let column = |column: &Column| ColumnWire {
            name: column.name.clone(),
            unit: column.unit.clone(),
            better: match column.better {
                Better::Higher => BetterWire::Higher,
                Better::Lower => BetterWire::Lower,
                Better::Neither => BetterWire::Neither,
            },
        };
        let cell = |cell: &Cell| match cell {
            // JSON has no number for these.
            Cell::Number(number) if !number.is_finite() => CellWire::Empty(()),
            Cell::Number(number) => CellWire::Number(*number),
            Cell::Text(text) => CellWire::Text(text.clone()),
            Cell::Empty => CellWire::Empty(()),
        };
        SectionWire {
            id: section.id.clone(),
            title: section.title.clone(),
            notes: section.notes.clone(),
            columns: section.table.columns.iter().map(column).collect(),
            rows: section.table.rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
            picture: section.picture.as_ref().map(PictureWire::of),
        }
    }

    fn section(self) -> Result<Section, ReadError> {
        let column = |column: ColumnWire| Column {
            name: column.name,
            unit: column.unit,
            better: match column.better {
                BetterWire::Higher => Better::Higher,
                BetterWire::Lower => Better::Lower,
                BetterWire::Neither => Better::Neither,
            },
        };
        let cell = |cell: CellWire| match cell {
            CellWire::Number(number) => Cell::Number(number),
            CellWire::Text(text) => Cell::Text(text),
            CellWire::Empty(()) => Cell::Empty,
        };
        if let Some(row) = self.rows.iter().find(|row| row.len() != self.columns.len()) {
            let (id, found, expected) = (&self.id, row.len(), self.columns.len());
            return Err(ReadError::Form(format!("a row of `{id}` has {found} cells, expected {expected}")));
        }
        Ok(Section {
            id: self.id,
            title: self.title,
            notes: self.notes,
            table: Table {
                columns: self.columns.into_iter().map(column).collect(),
                rows: self.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
            },
            picture: self.picture.map(PictureWire::picture),
        })
    }
}

impl PictureWire {
    fn of(picture: &Picture) -> PictureWire {
        match picture {
            Picture::Lines { across, up, series } => PictureWire::Lines {
                across: across.clone(),
                up: up.clone(),
                series: series
                    .iter()
                    .map(|series| SeriesWire {
                        name: series.name.clone(),
                        style: match series.style {
                            SeriesStyle::Line => StyleWire::Line,
                            SeriesStyle::Dashes => StyleWire::Dashes,
                            SeriesStyle::Points => StyleWire::Points,
                        },
                        points: series.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect(),
                    })
                    .collect(),
            },
            Picture::Bars { across, rows, series } => PictureWire::Bars {
                across: across.clone(),
                rows: rows.clone(),
                series: series
                    .iter()
                    .map(|(name, lengths)| {
                        let lengths = lengths.iter().map(|length| Some(*length).filter(|length| length.is_finite()));
                        (name.clone(), lengths.collect())
                    })
                    .collect(),
            },
        }
    }

    fn picture(self) -> Picture {
        match self {
            PictureWire::Lines { across, up, series } => Picture::Lines {
                across,
                up,
                series: series
                    .into_iter()
                    .map(|series| Series {
                        name: series.name,
                        style: match series.style {
                            StyleWire::Line => SeriesStyle::Line,
                            StyleWire::Dashes => SeriesStyle::Dashes,
                            StyleWire::Points => SeriesStyle::Points,
                        },
                        points: series.points,
                    })
                    .collect(),
            },
            PictureWire::Bars { across, rows, series } => Picture::Bars {
                across,
                rows,
                series: series
                    .into_iter()
                    .map(|(name, lengths)| {
                        (name, lengths.into_iter().map(|length| length.unwrap_or(f64::NAN)).collect())
                    })
                    .collect(),
            },
        }
    }
}
