//! The experiments of the paper on each repository, as one report.

use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};

use super::experiments::Experiments;
use super::{KeptEvents, Listens, Load, Rows, World};

/// Place of the job repository and the rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Repositories {
    /// A PostgreSQL server that the study starts, with the floor beside each experiment.
    Database,
    /// A store of Quayline.
    Store,
}

/// Settings of a study.
#[derive(Clone, Debug)]
pub struct BatchStudyOptions {
    /// Records of each run; the paper has 10 million.
    pub records: u64,
    /// Places to measure. If there are several, the report names the second and further ones.
    pub places: Vec<Repositories>,
    /// Way of deleting rows, except where an experiment compares all ways.
    pub rows: Rows,
}

/// Results of the study.
#[derive(Debug)]
pub struct BatchStudy {
    conditions: Vec<(String, String)>,
    sections: Vec<Section>,
    /// Whether the elapsed times that three runs predict were within their limit, by place; `None` without a verdict.
    elapsed: Vec<Option<bool>>,
}

impl BatchStudy {
    /// Runs the experiments. `say` receives the name of each.
    ///
    /// # Errors
    /// PostgreSQL is not installed, or a job failed.
    pub fn run(options: &BatchStudyOptions, say: &dyn Fn(&str)) -> Result<BatchStudy, String> {
        let base = Load {
            records: options.records,
            items: 1_000,
            partitions: 1,
            rows: options.rows,
            checkpoint_bytes: 1_024,
            listens: Listens::No,
            events: KeptEvents::Off,
            object_bytes: 0,
            measures: true,
        };
        let rows = if options.rows == Rows::Set { "set" } else { "rows" };
        let (mut sections, mut names, mut elapsed) = (Vec::new(), Vec::new(), Vec::new());
        for (number, place) in options.places.iter().enumerate() {
            let (world, name) = match place {
                Repositories::Store => (World::embedded()?, "store"),
                Repositories::Database => {
                    let world = World::database(false)?;
                    let missing = "PostgreSQL is not installed: install it, or measure the store with --in store";
                    (world.ok_or(missing)?, "PostgreSQL")
                }
            };
            let experiments = Experiments::new(&world, base);
            for mut section in experiments.all(&|what| say(&format!("{name}: {what}")))? {
                if options.places.len() > 1 {
                    section.title = format!("{} ({name})", section.title);
                }
                if number > 0 {
                    section.id = format!("{}-{}", name.to_lowercase(), section.id);
                }
                sections.push(section);
            }
            elapsed.push(experiments.elapsed_is_within());
            names.push(name);
        }
        let conditions = vec![
            ("records of a run".to_owned(), options.records.to_string()),
            ("repository and rows".to_owned(), names.join(", then ")),
            ("deletes".to_owned(), rows.to_owned()),
        ];
        Ok(BatchStudy { conditions, sections, elapsed })
    }

    /// Builds the report of kind `batch`.
    #[must_use]
    pub fn report(&self) -> Report {
        let of = |name: &str| self.conditions.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        Report {
            kind: "batch".to_owned(),
            title: "Batch: the experiments of IBM's paper on Liberty Batch".to_owned(),
            verdict: if self.elapsed.contains(&Some(false)) { Verdict::OutOfTolerance } else { Verdict::Good },
            summary: format!(
                "{} records in each run; the job repository and the rows are in: {}.{}",
                of("records of a run"),
                of("repository and rows"),
                if self.elapsed.contains(&Some(false)) {
                    " Elapsed times that three runs predict are off by more than 10 %."
                } else {
                    ""
                }
            ),
            conditions: self.conditions.clone(),
            sections: self.sections.clone(),
        }
    }
}

/// Builds a section from the rows of a table, with a bar chart whose series are the columns with the numbers `bars`.
pub(super) fn section(
    (id, title): (&str, &str),
    notes: &[&str],
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    (across, bars): (&str, &[usize]),
) -> Section {
    let length = |row: &Vec<Cell>, at: usize| match row.get(at) {
        Some(Cell::Number(number)) => *number,
        _ => 0.0,
    };
    let name = |row: &Vec<Cell>| match row.first() {
        Some(Cell::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let series: Vec<(String, Vec<f64>)> = bars
        .iter()
        .filter_map(|at| {
            let column = columns.get(*at)?;
            Some((column.name.clone(), rows.iter().map(|row| length(row, *at)).collect()))
        })
        .collect();
    let picture = (!series.is_empty()).then(|| Picture::Bars {
        across: across.to_owned(),
        rows: rows.iter().map(name).collect(),
        series,
    });
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        table: Table { columns, rows },
        picture,
    }
}
