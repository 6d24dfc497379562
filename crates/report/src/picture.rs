//! Pictures as SVG. Points carry their values as attributes, which the page's script reads; without it they are titles.

use std::fmt::Write as _;

use crate::model::{Picture, Series, SeriesStyle, shown};

/// Size of a picture in its own units.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 320.0;
/// Space for the marks of the axes.
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 16.0;
/// Height of a bar, and space for the names of rows.
const BAR: f64 = 14.0;
const NAMES: f64 = 150.0;
/// End of an axis below which its picture shows everything as 0.
const LEAST: f64 = 1e-290;
/// Most rows of bars.
const BARS_MAX: usize = 60;
/// Colours of the page's style.
pub(crate) const COLOURS: usize = 6;

/// Escapes text for use as content or in a quoted attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters that HTML does not allow.
            '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// Draws the picture of a section, with its legend. Series with more than `points_max` points are thinned evenly, the last one kept.
pub(crate) fn drawn(title: &str, picture: &Picture, points_max: usize) -> String {
    match picture {
        Picture::Lines { across, up, series } => lines(title, across, up, series, points_max),
        Picture::Bars { across, rows, series } => bars(title, across, rows, series),
    }
}

/// Returns the distance between marks: 1, 2 or 5 times a power of ten, chosen to give at most the allowed number of marks.
fn step(range: f64, marks: f64) -> f64 {
    let rough = range / marks;
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough).unwrap_or(rough)
}

/// Marks of an axis from 0 to `most`, and its end.
fn marks(most: f64, count: f64) -> (Vec<f64>, f64) {
    // Below the smallest normal numbers, the distance between marks would round to 0.
    let most = if most.is_finite() && most >= LEAST { most } else { 1.0 };
    let step = step(most, count);
    let mut marks = Vec::new();
    let mut mark = 0.0;
    while mark < most * (1.0 + 1e-9) {
        marks.push(mark);
        mark += step;
    }
    // The axis ends with a mark.
    let end = if marks.last().is_some_and(|last| *last >= most * (1.0 - 1e-9)) { most } else { mark };
    if end > most {
        marks.push(end);
    }
    (marks, end)
}

fn finite(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite() && *x >= 0.0 && *y >= 0.0)
}

fn thinned(points: &[(f64, f64)], points_max: usize) -> Vec<(f64, f64)> {
    let all: Vec<(f64, f64)> = finite(points).collect();
    let every = all.len().div_ceil(points_max.max(1)).max(1);
    let last = all.len().saturating_sub(1);
    all.iter().enumerate().filter(|(at, _)| at.is_multiple_of(every) || *at == last).map(|(_, point)| *point).collect()
}

fn lines(title: &str, across: &str, up: &str, series: &[Series], points_max: usize) -> String {
    let all = || series.iter().flat_map(|series| finite(&series.points));
    let (x_marks, x_end) = marks(all().map(|(x, _)| x).fold(0.0, f64::max), 8.0);
    let (y_marks, y_end) = marks(all().map(|(_, y)| y).fold(0.0, f64::max), 6.0);
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * value / x_end;
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / y_end;
    let mut svg = String::new();
    for mark in &y_marks {
        let at = y(*mark);
        let _ = write!(svg, "<path class='grid' d='M{LEFT} {at:.1}H{:.1}'/>", WIDTH - RIGHT);
        let _ = write!(svg, "<text class='mark end' x='{:.1}' y='{:.1}'>{}</text>", LEFT - 6.0, at + 4.0, shown(*mark));
    }
    for mark in &x_marks {
        let (at, base) = (x(*mark), HEIGHT - BOTTOM);
        let _ = write!(svg, "<path class='grid' d='M{at:.1} {base}v4'/>");
        let _ = write!(svg, "<text class='mark mid' x='{at:.1}' y='{:.1}'>{}</text>", base + 18.0, shown(*mark));
    }
    let _ = write!(
        svg,
        "<text class='mark mid' x='{:.1}' y='{:.1}'>{}</text><text class='mark mid' transform='translate(14 {:.1}) rotate(-90)'>{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0,
        escaped(across),
        (HEIGHT - BOTTOM + TOP) / 2.0,
        escaped(up)
    );
    for (at, series) in series.iter().enumerate() {
        let colour = at % COLOURS;
        let points = thinned(&series.points, points_max);
        if series.style != SeriesStyle::Points {
            let path: Vec<String> = points.iter().map(|(px, py)| format!("{:.1} {:.1}", x(*px), y(*py))).collect();
            let dashes = if series.style == SeriesStyle::Dashes { " dash" } else { "" };
            if !path.is_empty() {
                let _ = write!(svg, "<path class='line c{colour}{dashes}' d='M{}'/>", path.join("L"));
            }
        }
        for (px, py) in &points {
            let radius = if series.style == SeriesStyle::Points { 4.0 } else { 2.0 };
            let text = format!("{}: {} at {}", series.name, shown(*py), shown(*px));
            let _ = write!(
                svg,
                "<circle class='dot c{colour}' cx='{:.1}' cy='{:.1}' r='{radius}' data-v=\"{}\"/>",
                x(*px),
                y(*py),
                escaped(&text)
            );
        }
    }
    let styles: Vec<(String, &str)> = series
        .iter()
        .map(|series| {
            let style = match series.style {
                SeriesStyle::Line => "line",
                SeriesStyle::Dashes => "dashed line",
                SeriesStyle::Points => "points",
            };
            (series.name.clone(), style)
        })
        .collect();
    framed(title, HEIGHT, &svg, &styles)
}

fn bars(title: &str, across: &str, rows: &[String], series: &[(String, Vec<f64>)]) -> String {
    let rows = &rows[..rows.len().min(BARS_MAX)];
    let length = |of: &[f64], row: usize| of.get(row).copied().filter(|length| length.is_finite() && *length >= 0.0);
    let most = series.iter().flat_map(|(_, lengths)| (0..rows.len()).filter_map(|row| length(lengths, row)));
    let (x_marks, end) = marks(most.fold(0.0, f64::max), 6.0);
    let band = BAR * series.len() as f64 + 8.0;
    let height = TOP + band * rows.len() as f64 + BOTTOM;
    let x = |value: f64| NAMES + (WIDTH - NAMES - RIGHT) * value / end;
    let mut svg = String::new();
    for mark in &x_marks {
        let (at, base) = (x(*mark), height - BOTTOM);
        let _ = write!(svg, "<path class='grid' d='M{at:.1} {TOP}V{base:.1}'/>");
        let _ = write!(svg, "<text class='mark mid' x='{at:.1}' y='{:.1}'>{}</text>", base + 16.0, shown(*mark));
    }
    let middle = (NAMES + WIDTH - RIGHT) / 2.0;
    let _ = write!(svg, "<text class='mark mid' x='{middle:.1}' y='{:.1}'>{}</text>", height - 6.0, escaped(across));
    for (row, name) in rows.iter().enumerate() {
        let top = TOP + band * row as f64 + 4.0;
        let base = top + (band - 8.0) / 2.0 + 4.0;
        let _ = write!(svg, "<text class='mark end' x='{:.1}' y='{base:.1}'>{}</text>", NAMES - 6.0, escaped(name));
        for (at, (series, lengths)) in series.iter().enumerate() {
            let Some(value) = length(lengths, row) else { continue };
            let text = format!("{name}, {series}: {}", shown(value));
            let _ = write!(
                svg,
                "<rect class='bar c{}' x='{NAMES}' y='{:.1}' width='{:.1}' height='{:.1}' data-v=\"{}\"/>",
                at % COLOURS,
                top + BAR * at as f64,
                (x(value) - NAMES).max(0.5),
                BAR - 2.0,
                escaped(&text)
            );
        }
    }
    let names: Vec<(String, &str)> = series.iter().map(|(name, _)| (name.clone(), "bars")).collect();
    framed(title, height, &svg, &names)
}

/// Wraps the picture with its name, its legend and the place for values.
fn framed(title: &str, height: f64, svg: &str, legend: &[(String, &str)]) -> String {
    let title = escaped(title);
    let mut out = format!(
        "<figure><div class='plot' tabindex='0' role='group' aria-label=\"{title}: picture. With the arrow keys you move through its values.\">\
         <svg viewBox='0 0 {WIDTH} {height:.0}' role='img' aria-label=\"{title}\">{svg}</svg></div>"
    );
    out.push_str("<figcaption><ul class='legend'>");
    for (at, (name, style)) in legend.iter().enumerate() {
        let _ = write!(out, "<li><span class='key c{}'></span>{} ({style})</li>", at % COLOURS, escaped(name));
    }
    out.push_str("</ul><output class='value' aria-live='polite'></output></figcaption></figure>");
    out
}
