//! The page: one file, readable without scripts, without colours and on paper.

use std::fmt::Write as _;

use crate::HTML_BYTES_MAX;
use crate::model::{Cell, Report, Section, Verdict};
use crate::picture::{drawn, escaped};

/// Rows of each table and points of each series; the first that makes the page small enough is taken. Without points, pictures are left out.
const STEPS: [(usize, usize); 10] =
    [(100_000, 300), (1_000, 300), (300, 300), (100, 300), (30, 300), (100, 100), (30, 100), (30, 30), (0, 30), (0, 0)];

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Digests of both for the content security policy; a test keeps them right.
const STYLE_DIGEST: &str = "sha256-6f/he1CrAgKq8qDTa8fb/mSJZMD+RpiW8DgmgpuNbtE=";
const SCRIPT_DIGEST: &str = "sha256-9zWa0DLh8No2CycPF+Ou4nXDsSqGzHXhnSxZDM9LeAY=";

pub(crate) fn page(report: &Report) -> String {
    let mut page = String::new();
    for (rows, points) in STEPS {
        page = written(report, rows, points);
        if page.len() <= HTML_BYTES_MAX {
            break;
        }
    }
    page
}

fn written(report: &Report, rows_max: usize, points_max: usize) -> String {
    let title = escaped(&report.title);
    let mut out = String::with_capacity(32 << 10);
    let _ = writeln!(
        out,
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n\
         <meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src '{STYLE_DIGEST}'; script-src '{SCRIPT_DIGEST}'\">\n\
         <meta name='viewport' content='width=device-width, initial-scale=1'>\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class='skip' href='#sections'>Skip to the sections</a>\n<header>\n<h1>{title}</h1>"
    );
    let class = if report.verdict == Verdict::Good { "good" } else { "bad" };
    let _ = write!(
        out,
        "<p class='verdict {class}'><strong>{}.</strong> {}</p>\n</header>\n<nav aria-label='Sections'><ul>",
        report.verdict.words(),
        escaped(&report.summary)
    );
    for section in &report.sections {
        let _ = write!(out, "<li><a href='#{}'>{}</a></li>", anchor(&section.id), escaped(&section.title));
    }
    out.push_str("</ul></nav>\n<main id='sections'>\n");
    for section in &report.sections {
        write_section(&mut out, section, rows_max, points_max);
    }
    out.push_str(
        "<section id='conditions' aria-labelledby='h-conditions'>\n<h2 id='h-conditions'>Conditions</h2>\n<dl>",
    );
    for (name, value) in &report.conditions {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
    }
    let _ = writeln!(out, "</dl>\n</section>\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>");
    out
}

/// Converts an id for use in a link: letters, digits and hyphens.
fn anchor(id: &str) -> String {
    let part: String = id.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
    format!("s-{part}")
}

fn write_section(out: &mut String, section: &Section, rows_max: usize, points_max: usize) {
    let (id, title) = (anchor(&section.id), escaped(&section.title));
    let _ = writeln!(out, "<section id='{id}' aria-labelledby='h-{id}'>\n<h2 id='h-{id}'>{title}</h2>");
    for note in &section.notes {
        let _ = writeln!(out, "<p>{}</p>", escaped(note));
    }
    if let Some(picture) = section.picture.as_ref().filter(|_| points_max > 0) {
        out.push_str(&drawn(&section.title, picture, points_max));
        out.push('\n');
    }
    let table = &section.table;
    if !table.columns.is_empty() {
        let _ = write!(
            out,
            "<div class='table' tabindex='0' role='region' aria-label=\"{title}: table\"><table>\n<caption>{title}</caption>\n<thead><tr>"
        );
        for (at, column) in table.columns.iter().enumerate() {
            let numbers = at > 0 && table.rows.iter().any(|row| matches!(row.get(at), Some(Cell::Number(_))));
            let class = if numbers { " class='n'" } else { "" };
            let _ = write!(out, "<th scope='col'{class}>{}", escaped(&column.name));
            if !column.unit.is_empty() {
                let _ = write!(out, " <span class='unit'>{}</span>", escaped(&column.unit));
            }
            out.push_str("</th>");
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in table.rows.iter().take(rows_max) {
            out.push_str("<tr>");
            for (at, cell) in row.iter().enumerate() {
                let text = escaped(&cell.to_string());
                let _ = match (at, cell) {
                    (0, _) => write!(out, "<th scope='row'>{text}</th>"),
                    (_, Cell::Number(_)) => write!(out, "<td class='n'>{text}</td>"),
                    _ => write!(out, "<td>{text}</td>"),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table></div>\n");
        if table.rows.len() > rows_max {
            let _ = writeln!(
                out,
                "<p>{rows_max} of {} rows are shown; the CSV and JSON files of this report have all.</p>",
                table.rows.len()
            );
        }
    }
    out.push_str("</section>\n");
}
