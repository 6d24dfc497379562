//! Drawings for a page: bars and lines as inline SVG.

use std::fmt::Write as _;

/// Colours of series, apart for those who see few.
pub(crate) const COLOURS: [&str; 7] = ["#2463a4", "#c2571a", "#3a8a4d", "#8250a8", "#9a7b13", "#b3365b", "#5b6b7a"];

/// One line of a drawing.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// Points without a line between them.
    pub(crate) loose: bool,
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// A number as short as it is told apart.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        x if x >= 100.0 => format!("{value:.0}"),
        x if x >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The step between marks of an axis: 1, 2 or 5 times a power of ten, at most six marks.
fn step(top: f64) -> f64 {
    let rough = top / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|step| *step >= rough).unwrap_or(rough)
}

fn figure(title: &str, note: &str, height: usize, inner: &str) -> String {
    format!(
        "<figure><figcaption><b>{}</b> {}</figcaption><svg viewBox='0 0 900 {height}' role='img' aria-label=\"{}\">{inner}</svg></figure>",
        escaped(title),
        escaped(note),
        escaped(title)
    )
}

/// Bars with their values; parts of one bar stand behind each other.
pub(crate) fn bars(title: &str, note: &str, unit: &str, parts: &[&str], values: &[(String, Vec<f64>)]) -> String {
    let total = |all: &[f64]| all.iter().sum::<f64>();
    let top = values.iter().map(|(_, all)| total(all)).fold(0.0, f64::max).max(1e-9);
    let legend = if parts.len() > 1 { 26 } else { 0 };
    let mut svg = String::new();
    if parts.len() > 1 {
        for (i, name) in parts.iter().enumerate() {
            let x = 300 + 170 * i;
            let colour = COLOURS[i % COLOURS.len()];
            let _ = write!(
                svg,
                "<rect x='{x}' y='6' width='12' height='12' fill='{colour}'/><text x='{}' y='16'>{}</text>",
                x + 18,
                escaped(name)
            );
        }
    }
    for (i, (name, all)) in values.iter().enumerate() {
        let y = 8 + legend + 30 * i;
        let _ = write!(svg, "<text x='288' y='{}' text-anchor='end'>{}</text>", y + 15, escaped(name));
        let mut x = 300.0;
        for (part, value) in all.iter().enumerate() {
            let width = value / top * 480.0;
            let colour = COLOURS[part % COLOURS.len()];
            let _ = write!(svg, "<rect x='{x:.1}' y='{y}' width='{width:.1}' height='21' fill='{colour}'/>");
            x += width;
        }
        let _ = write!(svg, "<text x='{:.1}' y='{}'>{} {unit}</text>", x + 7.0, y + 15, number(total(all)));
    }
    figure(title, note, 8 + legend + 30 * values.len() + 8, &svg)
}

/// Lines over a common axis, from nought.
pub(crate) fn lines(title: &str, note: &str, (x_unit, y_unit): (&str, &str), all: &[Series]) -> String {
    let most =
        |of: fn(&(f64, f64)) -> f64| all.iter().flat_map(|series| &series.points).map(of).fold(0.0, f64::max).max(1e-9);
    let (right, top) = (most(|p| p.0) * 1.04, most(|p| p.1) * 1.12);
    let place = |(x, y): (f64, f64)| (70.0 + x / right * 780.0, 250.0 - y / top * 220.0);
    let mut svg = String::new();
    let (mut y, every) = (0.0, step(top));
    while y <= top {
        let at = place((0.0, y)).1;
        let _ = write!(
            svg,
            "<path class='grid' d='M70 {at:.1}H850'/><text x='62' y='{:.1}' text-anchor='end'>{}</text>",
            at + 4.0,
            number(y)
        );
        y += every;
    }
    let (mut x, every) = (0.0, step(right));
    while x <= right {
        let at = place((x, 0.0)).0;
        let _ = write!(
            svg,
            "<path class='grid' d='M{at:.1} 30V250'/><text x='{at:.1}' y='268' text-anchor='middle'>{}</text>",
            number(x).trim_end_matches(".0").trim_end_matches(".00")
        );
        x += every;
    }
    let _ = write!(
        svg,
        "<path class='axis' d='M70 30V250H850'/><text x='70' y='20'>{}</text><text x='850' y='286' text-anchor='end'>{}</text>",
        escaped(y_unit),
        escaped(x_unit)
    );
    for (i, series) in all.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let path: Vec<String> =
            series.points.iter().map(|p| place(*p)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        if !series.loose {
            let _ =
                write!(svg, "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2'/>", path.join(" "));
        }
        let is_line_only = series.points.len() == 2 && !series.loose;
        for point in series.points.iter().filter(|_| !is_line_only) {
            let (x, y) = place(*point);
            let _ = write!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='4' fill='{colour}'/>");
            if all.len() <= 2 {
                let _ =
                    write!(svg, "<text x='{x:.1}' y='{:.1}' text-anchor='middle'>{}</text>", y - 9.0, number(point.1));
            }
        }
    }
    let mut height = 296;
    if all.len() > 1 {
        for (i, series) in all.iter().enumerate() {
            let (x, y) = (70 + 260 * (i % 3), 300 + 20 * (i / 3));
            let colour = COLOURS[i % COLOURS.len()];
            let _ = write!(
                svg,
                "<rect x='{x}' y='{y}' width='12' height='12' fill='{colour}'/><text x='{}' y='{}'>{}</text>",
                x + 18,
                y + 10,
                escaped(&series.name)
            );
        }
        height = 304 + 20 * all.len().div_ceil(3);
    }
    figure(title, note, height, &svg)
}

/// A table of a page.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |all: &mut dyn Iterator<Item = &str>, tag: &str| -> String {
        all.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect()
    };
    let mut html =
        format!("<div class=wide><table><thead><tr>{}</tr></thead><tbody>", cells(&mut head.iter().copied(), "th"));
    for row in rows {
        let row = cells(&mut row.iter().map(String::as_str), "td");
        let _ = write!(html, "<tr>{row}</tr>");
    }
    html + "</tbody></table></div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_few_round_marks() {
        for (top, expected) in [(1.0, 0.2), (6.0, 1.0), (65.0, 20.0), (1040.0, 200.0), (0.013, 0.005)] {
            assert!((step(top) - expected).abs() < 1e-9, "{top}: {}", step(top));
        }
    }
}
