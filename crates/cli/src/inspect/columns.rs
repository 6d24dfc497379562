//! Content of a Parquet or Arrow IPC file.

use std::path::Path;

use quayline_convert::{ColumnsSurvey, to_temporary_file};
use quayline_core::Findings;
use serde::Serialize;

use super::print_json;
use super::sample::Sample;
use crate::args::{InspectArgs, LimitArg};
use crate::console::{Console, shown, write_stdout};
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop, argument};
use crate::render::{FindingWire, Paint, Style, count_of};

/// Columns that are shown to people.
const SHOWN_MAX: usize = 100;

/// Shows form, rows and columns, and a command that reads them.
pub(super) fn show(sample: Sample, args: &InspectArgs, console: &Console) -> Result<Exit, Stop> {
    let given = [(args.encoding.is_some(), "--encoding"), (args.framing.is_some(), "--framing")];
    if let Some((_, name)) = given.iter().find(|(given, _)| *given) {
        let finding = argument(format!("{name} is for files of records, and this file has columns"));
        return Err(finding.hint("leave it out, or add `--as data` if the file holds records").into());
    }
    let is_stdin = args.file == Path::new("-");
    let name = if is_stdin { "<stdin>".to_owned() } else { shown(&args.file) };
    let refuse = |error: std::io::Error| Stop::from(unreadable(&args.file, &error));
    let in_file = |Findings(mut findings): Findings| {
        findings.iter_mut().for_each(|finding| finding.place.file = Some(name.as_str().into()));
        Findings(findings)
    };
    let file = if is_stdin || sample.compression.is_some() {
        to_temporary_file(&mut sample.into_reader()).map_err(refuse)?
    } else {
        std::fs::File::open(&args.file).map_err(refuse)?
    };
    let survey = ColumnsSurvey::of(file, &LimitArg::limits(&args.reading.source.limit)).map_err(in_file)?;
    let findings = match &survey.shape {
        Ok(_) => Vec::new(),
        Err(findings) => in_file(findings.clone()).0,
    };
    if console.json() {
        let columns = survey.columns.iter().map(|(name, of_type)| ColumnWire { name, of_type }).collect();
        let findings_wire = findings.iter().map(FindingWire::of).collect();
        let wire = ColumnsWire {
            schema: "quayline.columns/1",
            file: &name,
            form: survey.form,
            rows: survey.rows,
            columns,
            findings: findings_wire,
        };
        print_json(&wire)?;
    } else {
        write_stdout(text(&name, &survey, console.color_stdout()).as_bytes())?;
        console.findings(&findings);
    }
    Ok(Exit::of_findings(&findings))
}

fn text(name: &str, survey: &ColumnsSurvey, color: bool) -> String {
    let paint = Paint::new(color);
    let rows = survey.rows.map_or_else(|| "rows not counted".to_owned(), |rows| count_of(rows, "row"));
    let columns = count_of(survey.columns.len() as u64, "column");
    let mut text = format!("{}  {}, {rows}, {columns}\n\n", paint.text(Style::Strong, name), survey.form);
    let shown = &survey.columns[..survey.columns.len().min(SHOWN_MAX)];
    let width = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, of_type) in shown {
        text.push_str(&format!("  {name:width$}  {of_type}\n"));
    }
    if shown.len() < survey.columns.len() {
        let more = (survey.columns.len() - shown.len()) as u64;
        text.push_str(&format!("  and {more} more\n"));
    }
    if survey.shape.is_ok() {
        text.push_str(&format!("\nnext: quayline convert {name} --to jsonl\n"));
    }
    text
}

/// The columns of a file, `quayline.columns/1` in docs/reference/json.md.
#[derive(Serialize)]
struct ColumnsWire<'a> {
    schema: &'static str,
    file: &'a str,
    form: &'static str,
    rows: Option<u64>,
    columns: Vec<ColumnWire<'a>>,
    findings: Vec<FindingWire<'a>>,
}

#[derive(Serialize)]
struct ColumnWire<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    of_type: &'a str,
}
