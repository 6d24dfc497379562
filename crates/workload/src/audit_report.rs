//! Report of an audit of a prediction.

use quayline_capacity::audit::{Audit, Score};
use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};

/// Builds the report of an audit. `is_out` is true if an error exceeds its tolerance; `think` is the think time as text.
#[must_use]
pub fn audit_report(found: &Audit, is_out: bool, think: String) -> Report {
    let percent = |error: f64| Cell::Number(error * 100.0);
    let row = |score: &Score| {
        vec![
            Cell::text(format!("{}", score.users)),
            percent(score.throughput),
            percent(score.response),
            score.percentile.map_or(Cell::Empty, percent),
            percent(score.law),
        ]
    };
    let points =
        |of: fn(&Score) -> f64| found.scores.iter().map(|score| (score.users, of(score).abs() * 100.0)).collect();
    let columns = ["users", "throughput", "response", "p95", "off Little's law"];
    let section = Section {
        id: "errors".to_owned(),
        title: "Errors of the prediction".to_owned(),
        notes: vec!["Predicted over measured, minus one. The picture has absolute errors.".to_owned()],
        table: Table {
            columns: columns
                .iter()
                .enumerate()
                .map(|(at, name)| Column::new(name, if at > 0 { "%" } else { "" }))
                .collect(),
            rows: found.scores.iter().map(row).collect(),
        },
        picture: Some(Picture::Lines {
            across: "users".to_owned(),
            up: "absolute error, %".to_owned(),
            series: vec![
                Series {
                    name: "throughput".to_owned(),
                    style: SeriesStyle::Points,
                    points: points(|score| score.throughput),
                },
                Series {
                    name: "response".to_owned(),
                    style: SeriesStyle::Points,
                    points: points(|score| score.response),
                },
            ],
        }),
    };
    let mean = Section {
        id: "mean".to_owned(),
        title: "Mean absolute errors".to_owned(),
        notes: Vec::new(),
        table: Table {
            columns: vec![Column::new("figure", ""), Column::lower("error", "%")],
            rows: vec![
                vec![Cell::text("throughput"), Cell::Number(found.throughput.percent())],
                vec![Cell::text("response"), Cell::Number(found.response.percent())],
            ],
        },
        picture: None,
    };
    Report {
        kind: "audit".to_owned(),
        title: "Audit of a prediction".to_owned(),
        verdict: if is_out { Verdict::OutOfTolerance } else { Verdict::Good },
        summary: format!(
            "Mean absolute errors are {:.1} % in throughput and {:.1} % in response time.",
            found.throughput.percent(),
            found.response.percent()
        ),
        conditions: vec![("think time".to_owned(), think)],
        sections: vec![mean, section],
    }
}
