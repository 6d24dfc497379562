//! Report of the cases of maps.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use quayline_map::{Coverage, MapPlan};
use serde::Serialize;

use crate::args::TestArgs;
use crate::console::shown;
use crate::render::{Paint, Style, count_of};

/// One case.
pub(super) struct CaseReport {
    pub(super) name: String,
    /// Differences of outputs and findings.
    pub(super) failures: Vec<String>,
}

/// A map with its cases.
pub(super) struct MapReport {
    pub(super) map: PathBuf,
    /// The folder of its cases.
    pub(super) tests: PathBuf,
    pub(super) cases: Vec<CaseReport>,
    statements: usize,
    never_ran: Vec<Statement>,
    never_mapped: Vec<(String, u64)>,
}

/// A statement that never ran.
struct Statement {
    file: String,
    line: u32,
    words: String,
}

impl MapReport {
    pub(super) fn new(
        map: &Path,
        tests: PathBuf,
        cases: Vec<CaseReport>,
        plan: &MapPlan,
        coverage: &Coverage,
        aside: &[&str],
    ) -> MapReport {
        let all: Vec<_> = coverage.statements(plan).filter_map(|(id, ran)| Some((plan.statement(id)?, ran))).collect();
        // A part that is used in several places is one statement to people.
        let mut lines: Vec<(Statement, bool)> = Vec::new();
        for (view, ran) in all {
            // Statements that only set the context of others are not executed.
            let first = view.words.split_whitespace().next().unwrap_or_default();
            if matches!(first, "omit" | "use" | "make") {
                continue;
            }
            let words = view.words.lines().next().unwrap_or_default().trim_end().to_owned();
            match lines
                .iter_mut()
                .find(|(known, _)| known.file == view.file && known.line == view.line && known.words == words)
            {
                Some((_, known)) => *known |= ran > 0,
                None => lines.push((Statement { file: view.file.to_owned(), line: view.line, words }, ran > 0)),
            }
        }
        let statements = lines.len();
        let never_ran = lines.into_iter().filter(|(_, ran)| !ran).map(|(statement, _)| statement).collect();
        let mut never_mapped = coverage.never_mapped(plan);
        never_mapped.retain(|(path, _)| !aside.contains(&path.split('.').next().unwrap_or_default()));
        MapReport { map: map.to_owned(), tests, cases, statements, never_ran, never_mapped }
    }

    fn failed(&self) -> usize {
        self.cases.iter().filter(|case| !case.failures.is_empty()).count()
    }

    pub(super) fn text(&self, args: &TestArgs, paint: Paint) -> String {
        let mut text = String::new();
        for case in self.cases.iter().filter(|case| !case.failures.is_empty()) {
            let head = paint.text(Style::Error, "FAILED");
            let _ = writeln!(text, "{head} {} {}", shown(&self.map), case.name);
            case.failures.iter().for_each(|failure| text.push_str(failure));
            text.push('\n');
        }
        let cases = count_of(self.cases.len() as u64, "case");
        let came = match (self.cases.len(), self.failed()) {
            (0, _) => "no cases".to_owned(),
            (_, 0) if args.update => format!("{cases} up to date"),
            (_, 0) => format!("{cases} passed"),
            (_, failed) => format!("{failed} of {cases} failed"),
        };
        let _ = write!(text, "{}: {came}", shown(&self.map));
        if !self.cases.is_empty() {
            let ran = self.statements - self.never_ran.len();
            let _ = write!(text, "; {ran} of {} ran", count_of(self.statements as u64, "statement"));
            let unmapped = self.never_mapped.len() as u64;
            if unmapped > 0 {
                let (verb, elements) = (if unmapped == 1 { "is" } else { "are" }, count_of(unmapped, "element"));
                let _ = write!(text, ", {elements} of the input {verb} not mapped");
            }
        }
        text.push('\n');
        if args.coverage && !self.cases.is_empty() {
            text.push_str(&self.coverage());
        }
        text
    }

    fn coverage(&self) -> String {
        let mut text = String::new();
        if !self.never_ran.is_empty() {
            text.push_str("  never ran\n");
        }
        for Statement { file, line, words } in &self.never_ran {
            let _ = writeln!(text, "    {file}:{line}  {words}");
        }
        if !self.never_mapped.is_empty() {
            text.push_str("  came, and was never mapped\n");
        }
        let width = self.never_mapped.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
        for (path, count) in &self.never_mapped {
            let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
            let _ = writeln!(text, "    {path:width$}  {times}");
        }
        text
    }
}

/// Formats the last line, if there are several maps.
pub(super) fn total(reports: &[MapReport]) -> String {
    let cases: usize = reports.iter().map(|report| report.cases.len()).sum();
    let failed: usize = reports.iter().map(MapReport::failed).sum();
    let (maps, cases_text) = (count_of(reports.len() as u64, "map"), count_of(cases as u64, "case"));
    match failed {
        0 => format!("{maps}, {cases_text}: all passed\n"),
        failed => format!("{maps}, {cases_text}: {failed} failed\n"),
    }
}

/// Formats `quayline.test/1` in docs/reference/json.md.
pub(super) fn json(reports: &[MapReport]) -> String {
    let answer = Answer { schema: "quayline.test/1", maps: reports.iter().map(MapWire::of).collect() };
    let mut text = serde_json::to_string_pretty(&answer).expect("an answer has string keys and plain values");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Answer {
    schema: &'static str,
    maps: Vec<MapWire>,
}

#[derive(Serialize)]
struct MapWire {
    map: String,
    cases: Vec<CaseWire>,
    statements: usize,
    never_ran: Vec<StatementWire>,
    never_mapped: Vec<ElementWire>,
}

#[derive(Serialize)]
struct CaseWire {
    name: String,
    passed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<String>,
}

#[derive(Serialize)]
struct StatementWire {
    file: String,
    line: u32,
    statement: String,
}

#[derive(Serialize)]
struct ElementWire {
    path: String,
    values: u64,
}

impl MapWire {
    fn of(report: &MapReport) -> MapWire {
        let case = |case: &CaseReport| CaseWire {
            name: case.name.clone(),
            passed: case.failures.is_empty(),
            differences: case.failures.clone(),
        };
        let statement =
            |of: &Statement| StatementWire { file: of.file.clone(), line: of.line, statement: of.words.clone() };
        MapWire {
            map: shown(&report.map),
            cases: report.cases.iter().map(case).collect(),
            statements: report.statements,
            never_ran: report.never_ran.iter().map(statement).collect(),
            never_mapped: report
                .never_mapped
                .iter()
                .map(|(path, values)| ElementWire { path: path.clone(), values: *values })
                .collect(),
        }
    }
}
