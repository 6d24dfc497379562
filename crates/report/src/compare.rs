//! Two reports of one kind, number by number.

use std::collections::BTreeMap;

use crate::csv::plain;
use crate::model::{Better, Cell, Column, Report, Section, Table};

/// Reason why two reports cannot be compared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Incomparable {
    /// The reports are of different kinds.
    Kinds(String, String),
    /// A condition differs: its name, then its value in the baseline and now.
    Conditions(Vec<(String, String, String)>),
    /// The reports have no number in common.
    NothingInCommon,
}

impl std::fmt::Display for Incomparable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Incomparable::Kinds(baseline, now) => {
                write!(f, "the baseline is a {baseline} and this report is a {now}")
            }
            Incomparable::Conditions(differences) => {
                for (at, (name, baseline, now)) in differences.iter().enumerate() {
                    let comma = if at > 0 { "; " } else { "" };
                    write!(f, "{comma}{name}: `{baseline}` in the baseline, `{now}` now")?;
                }
                Ok(())
            }
            Incomparable::NothingInCommon => f.write_str("the baseline has no number of this report"),
        }
    }
}

impl std::error::Error for Incomparable {}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// A section for the report: every number that both have and whose direction is known.
    pub section: Section,
    /// Numbers that are worse by more than the tolerance.
    pub worse: usize,
    /// Numbers that are better by more than the tolerance.
    pub better: usize,
    /// Numbers of the baseline that this report does not have.
    pub missing: usize,
}

/// A number by section, row and column. Rows of a section with one name have a number after it.
type Numbers = BTreeMap<(String, String, String), (f64, Better, String)>;

fn numbers(report: &Report) -> Numbers {
    let mut numbers = Numbers::new();
    for section in &report.sections {
        let mut occurrences: BTreeMap<String, usize> = BTreeMap::new();
        for row in &section.table.rows {
            let first = row.first().map(plain).unwrap_or_default();
            let occurrence = occurrences.entry(first.clone()).or_default();
            *occurrence += 1;
            let name = if *occurrence == 1 { first } else { format!("{first} ({occurrence})") };
            for (column, cell) in section.table.columns.iter().zip(row).skip(1) {
                // NaN is neither worse nor better. A report that was read has an empty cell in its place.
                let number = cell.number().filter(|number| !number.is_nan());
                if let (Some(number), true) = (number, column.better != Better::Neither) {
                    let key = (section.id.clone(), name.clone(), column.name.clone());
                    numbers.insert(key, (number, column.better, column.unit.clone()));
                }
            }
        }
    }
    numbers
}

/// Compares a report with a baseline. A number is worse if it differs by more than `tolerance` (0.05 is 5 %) of the baseline's, in the
/// direction that its column calls worse.
///
/// # Errors
/// [`Incomparable`] for reports of different kinds or conditions, whose differences have no single cause.
pub fn compare(baseline: &Report, now: &Report, tolerance: f64) -> Result<Comparison, Incomparable> {
    if baseline.kind != now.kind {
        return Err(Incomparable::Kinds(baseline.kind.clone(), now.kind.clone()));
    }
    let value = |report: &Report, name: &str| {
        report.conditions.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone())
    };
    let names = baseline.conditions.iter().chain(&now.conditions).map(|(name, _)| name);
    let mut differences: Vec<(String, String, String)> = Vec::new();
    for name in names {
        let none = || "none".to_owned();
        let (before, after) = (value(baseline, name).unwrap_or_else(none), value(now, name).unwrap_or_else(none));
        if before != after && !differences.iter().any(|(of, ..)| of == name) {
            differences.push((name.clone(), before, after));
        }
    }
    if !differences.is_empty() {
        return Err(Incomparable::Conditions(differences));
    }
    let (before, after) = (numbers(baseline), numbers(now));
    let columns = vec![
        Column::new("figure", ""),
        Column::new("unit", ""),
        Column::new("baseline", ""),
        Column::new("now", ""),
        Column::new("change", "%"),
        Column::new("verdict", ""),
    ];
    let (mut worse, mut better, mut missing) = (0, 0, 0);
    let mut rows = Vec::new();
    for (key, (old, direction, unit)) in &before {
        let Some((new, ..)) = after.get(key).filter(|(.., now)| now == unit) else {
            missing += 1;
            continue;
        };
        let change = if (new - old).abs() <= f64::MIN_POSITIVE { 0.0 } else { (new - old) / old.abs() };
        let gain = if *direction == Better::Higher { change } else { -change };
        let verdict = if gain < -tolerance {
            worse += 1;
            "worse"
        } else if gain > tolerance {
            better += 1;
            "better"
        } else {
            "same"
        };
        let (section, row, column) = key;
        rows.push(vec![
            Cell::Text(format!("{section}, {row}, {column}")),
            Cell::text(unit),
            Cell::Number(*old),
            Cell::Number(*new),
            Cell::Number(change * 100.0),
            Cell::text(verdict),
        ]);
    }
    if rows.is_empty() {
        return Err(Incomparable::NothingInCommon);
    }
    let mut notes = vec![format!(
        "{worse} worse, {better} better, {} the same, by more than {} %.",
        rows.len() - worse - better,
        tolerance * 100.0
    )];
    if missing > 0 {
        notes.push(format!("{missing} numbers of the baseline are not in this report."));
    }
    let section = Section {
        id: "comparison".to_owned(),
        title: "Comparison with the baseline".to_owned(),
        notes,
        table: Table { columns, rows },
        picture: None,
    };
    Ok(Comparison { section, worse, better, missing })
}
