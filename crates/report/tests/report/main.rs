//! Reports in their three forms, and comparisons of two reports.

use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;
use quayline_report::{
    Better, Cell, Column, HTML_BYTES_MAX, Incomparable, Picture, ReadError, Report, Section, Series, SeriesStyle,
    Table, Verdict, compare,
};

fn sample(rows: usize) -> Report {
    let row = |at: usize| vec![Cell::text(format!("{at} users")), Cell::Number(at as f64 * 1.5), Cell::Number(0.01)];
    let points: Vec<(f64, f64)> = (0..rows).map(|at| (at as f64, at as f64 * 1.5)).collect();
    Report {
        kind: "prediction".to_owned(),
        title: "Prediction for <gateway> & \"store\"".to_owned(),
        verdict: Verdict::Good,
        summary: "All objectives are kept.".to_owned(),
        conditions: vec![("machine".to_owned(), "2 threads".to_owned())],
        sections: vec![
            Section {
                id: "load".to_owned(),
                title: "Throughput by users".to_owned(),
                notes: vec!["A closed network.".to_owned()],
                table: Table {
                    columns: vec![
                        Column::new("users", ""),
                        Column::higher("throughput", "tx/s"),
                        Column::lower("response", "s"),
                    ],
                    rows: (0..rows).map(row).collect(),
                },
                picture: Some(Picture::Lines {
                    across: "users".to_owned(),
                    up: "transactions a second".to_owned(),
                    series: vec![
                        Series { name: "model".to_owned(), style: SeriesStyle::Line, points: points.clone() },
                        Series { name: "bound".to_owned(), style: SeriesStyle::Dashes, points: points.clone() },
                        Series { name: "measured".to_owned(), style: SeriesStyle::Points, points },
                    ],
                }),
            },
            Section {
                id: "stations".to_owned(),
                title: "Stations".to_owned(),
                notes: Vec::new(),
                table: Table {
                    columns: vec![Column::new("station", ""), Column::new("utilization", "%")],
                    rows: vec![vec![Cell::text("cpu"), Cell::Number(40.0)], vec![Cell::text("=2+2"), Cell::Empty]],
                },
                picture: Some(Picture::Bars {
                    across: "utilization %".to_owned(),
                    rows: vec!["cpu".to_owned(), "disk".to_owned()],
                    series: vec![("now".to_owned(), vec![40.0, f64::NAN])],
                }),
            },
        ],
    }
}

/// The text between two marks.
fn between<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
    let start = text.find(open).expect("the mark opens") + open.len();
    &text[start..start + text[start..].find(close).expect("the mark closes")]
}

/// SHA-256 in base 64, as a content security policy writes it.
fn digest(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let mut out = String::from("sha256-");
    for chunk in digest.as_ref().chunks(3) {
        let bytes = [chunk[0], chunk.get(1).copied().unwrap_or(0), chunk.get(2).copied().unwrap_or(0)];
        let word = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        for at in 0..4 {
            let digit = ALPHABET[(word >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// Every element that is opened is closed, in order.
fn assert_nested(page: &str) {
    let script = between(page, "<script>", "</script>");
    let style = between(page, "<style>", "</style>");
    let page = page.replace(script, "").replace(style, "");
    let mut open: Vec<&str> = Vec::new();
    for part in page.split('<').skip(1) {
        let tag = part.split('>').next().expect("a tag ends");
        assert!(part.contains('>'), "a tag does not end: {part}");
        if tag.starts_with('!') || tag.ends_with('/') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else {
            let name = tag.split([' ', '\n']).next().expect("a name");
            if !matches!(name, "meta" | "link" | "br") {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_page_needs_nothing_but_itself() {
    let page = sample(20).html();
    assert_nested(&page);
    for outside in ["http:", "https:", "src=", "@import", "url(", "<link", "onload", "style="] {
        assert!(!page.contains(outside), "{outside}");
    }
    // The policy allows exactly the style and the script that are there.
    assert!(
        page.contains(&digest(between(&page, "<style>", "</style>"))),
        "style: {}",
        digest(between(&page, "<style>", "</style>"))
    );
    assert!(
        page.contains(&digest(between(&page, "<script>", "</script>"))),
        "script: {}",
        digest(between(&page, "<script>", "</script>"))
    );
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("@media print"));
    // Names of the user's are text, not marks.
    assert!(page.contains("Prediction for &lt;gateway&gt; &amp; &quot;store&quot;"));
}

#[test]
fn every_picture_has_its_table_and_its_name() {
    let page = sample(20).html();
    assert_eq!(page.matches("<figure>").count(), 2);
    assert_eq!(page.matches("<table>").count(), 2);
    assert_eq!(page.matches("role='img'").count(), 2);
    assert_eq!(page.matches("<caption>").count(), 2);
    assert_eq!(page.matches("tabindex='0'").count(), 4);
    assert!(page.contains("<html lang='en'>") && page.contains("scope='col'") && page.contains("scope='row'"));
    // A value that is not a number is not drawn.
    assert_eq!(page.matches("<rect").count(), 1);
    assert!(page.contains("data-v=\"now") || page.contains("data-v=\"cpu, now: 40\""));
}

#[test]
fn a_large_report_is_cut_to_its_limit_and_says_so() {
    let report = sample(20_000);
    let page = report.html();
    assert!(page.len() <= HTML_BYTES_MAX, "{}", page.len());
    assert!(page.contains("of 20000 rows are shown; the CSV and JSON files of this report have all."));
    assert_nested(&page);
    assert_eq!(report.csv().lines().count(), 1 + 2 * 20_000 + 1);
}

#[test]
fn pictures_keep_to_the_limit_as_well() {
    let mut report = sample(20);
    let series = |at: usize| Series {
        name: format!("class of work number {at}"),
        style: SeriesStyle::Line,
        points: (0..300).map(|x| (f64::from(x), f64::from(x) * 1.23)).collect(),
    };
    report.sections[0].picture =
        Some(Picture::Lines { across: "x".to_owned(), up: "y".to_owned(), series: (0..20).map(series).collect() });
    let page = report.html();
    assert!(page.len() <= HTML_BYTES_MAX, "{}", page.len());
    assert!(page.contains("<svg") && page.contains("<tbody>\n<tr>"));
}

/// The distance between marks of an axis is never 0, so drawing ends.
#[test]
fn tiny_numbers_are_drawn() {
    let mut report = sample(2);
    report.sections[0].picture = Some(Picture::Bars {
        across: "x".to_owned(),
        rows: vec!["one".to_owned()],
        series: vec![("tiny".to_owned(), vec![1e-323])],
    });
    assert!(report.html().contains("<rect"));
}

/// Text of many rows takes time in proportion to them.
#[test]
fn a_long_table_is_written_in_one_pass() {
    let report = sample(40_000);
    let began = std::time::Instant::now();
    assert!(report.text().lines().count() > 40_000);
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

#[test]
fn csv_has_a_line_for_each_cell() {
    let csv = sample(2).csv();
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines[0], "section,row,column,unit,value");
    assert_eq!(lines[3], "load,1 users,throughput,tx/s,1.5");
    let mut report = sample(1);
    report.sections[0].table.rows[0][0] = Cell::text("=cmd(), \"quoted\"");
    assert!(report.csv().contains("load,\"'=cmd(), \"\"quoted\"\"\",throughput,tx/s,0\r\n"), "{}", report.csv());
}

#[test]
fn numbers_are_shown_with_four_digits() {
    let shown = [
        (0.0, "0"),
        (1234.5678, "1\u{2009}235"),
        (-1_234_567.0, "-1\u{2009}234\u{2009}567"),
        (12.3456, "12.35"),
        (0.012_345, "0.01235"),
        (5e-7, "5.000e-7"),
        (f64::NAN, "none"),
    ];
    for (number, text) in shown {
        assert_eq!(Cell::Number(number).to_string(), text);
    }
}

#[test]
fn a_comparison_knows_which_direction_is_worse() {
    let (baseline, mut now) = (sample(3), sample(3));
    let same = compare(&baseline, &now, 0.05).expect("comparable");
    assert_eq!((same.worse, same.better, same.missing), (0, 0, 0));
    // Throughput falls by a tenth, response time by half.
    now.sections[0].table.rows[2][1] = Cell::Number(2.7);
    now.sections[0].table.rows[2][2] = Cell::Number(0.005);
    let changed = compare(&baseline, &now, 0.05).expect("comparable");
    assert_eq!((changed.worse, changed.better), (1, 1));
    assert_eq!(compare(&baseline, &now, 0.2).expect("comparable").worse, 0);
    now.sections[0].table.rows.truncate(2);
    assert_eq!(compare(&baseline, &now, 0.05).expect("comparable").missing, 2);
    // A figure in another unit is another figure.
    let mut other = sample(3);
    other.sections[0].table.columns[1].unit = "per h".to_owned();
    let rows = other.sections[0].table.rows.len();
    assert_eq!(compare(&baseline, &other, 0.05).expect("comparable").missing, rows);
    // Facts are not compared.
    assert_eq!(baseline.sections[1].table.columns[1].better, Better::Neither);
}

/// Regression: a figure that a run could not measure was the same as in the baseline.
#[test]
fn a_figure_that_a_run_does_not_have_is_missing() {
    let (baseline, mut now) = (sample(3), sample(3));
    now.sections[0].table.rows[1][1] = Cell::Number(f64::NAN);
    now.sections[0].table.rows[2][2] = Cell::Number(f64::INFINITY);
    let found = compare(&baseline, &now, 0.05).expect("comparable");
    // An infinite response time is a number.
    assert_eq!((found.worse, found.better, found.missing), (1, 0, 1));
}

/// Regression: rows with the same name replaced each other, so only the last of them was compared.
#[test]
fn rows_with_one_name_are_compared_in_their_order() {
    let (mut baseline, mut now) = (sample(2), sample(2));
    for report in [&mut baseline, &mut now] {
        let row = report.sections[0].table.rows[0][0].clone();
        report.sections[0].table.rows[1][0] = row;
    }
    for report in [&mut baseline, &mut now] {
        report.sections[0].table.rows[0][1] = Cell::Number(10.0);
    }
    now.sections[0].table.rows[0][1] = Cell::Number(5.0);
    let changed = compare(&baseline, &now, 0.05).expect("comparable");
    assert_eq!((changed.worse, changed.better, changed.section.table.rows.len()), (1, 0, 4));
    let figures: Vec<&Cell> = changed.section.table.rows.iter().map(|row| &row[0]).collect();
    assert!(figures.contains(&&Cell::text("load, 0 users (2), throughput")), "{figures:?}");
}

#[test]
fn unlike_runs_are_not_compared() {
    let baseline = sample(3);
    let mut now = sample(3);
    now.conditions[0].1 = "64 threads".to_owned();
    let refused = compare(&baseline, &now, 0.05).expect_err("unlike");
    assert_eq!(refused.to_string(), "machine: `2 threads` in the baseline, `64 threads` now");
    now.kind = "sizing".to_owned();
    assert!(matches!(compare(&baseline, &now, 0.05), Err(Incomparable::Kinds(..))));
    let mut empty = sample(3);
    empty.sections.clear();
    assert_eq!(compare(&empty, &baseline, 0.05), Err(Incomparable::NothingInCommon));
}

#[test]
fn json_of_other_versions_is_refused() {
    let text = sample(2).json();
    let mut expected = sample(2);
    if let Some(Picture::Bars { series, .. }) = &mut expected.sections[1].picture {
        series[0].1[1] = 7.0;
    }
    // A length that is not a number has no JSON.
    assert_eq!(Report::from_json(&expected.json()), Ok(expected));
    let other = text.replace("quayline.report/1", "quayline.report/9");
    assert_eq!(Report::from_json(&other), Err(ReadError::Schema("quayline.report/9".to_owned())));
    assert!(matches!(Report::from_json("{}"), Err(ReadError::Form(_))));
    assert!(matches!(Report::from_json("[1"), Err(ReadError::Form(_))));
    let ragged = text.replacen("\"higher\"", "\"sideways\"", 1);
    assert!(matches!(Report::from_json(&ragged), Err(ReadError::Form(_))));
}

const HEADLESS: [&str; 4] = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];

/// Returns the program of a browser that can run without a display.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "headless_shell"];
    let paths = std::env::var_os("PATH").unwrap_or_default();
    names
        .iter()
        .flat_map(|name| std::env::split_paths(&paths).map(move |path| path.join(name)))
        .find(|path| path.is_file())
}

/// axe-core finds no serious fault of accessibility in the page, light and dark. The same check of a page with a fault finds it.
#[test]
fn axe_finds_nothing_serious() {
    let script =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/page-tools/node_modules/axe-core/axe.min.js");
    let (Some(browser), Ok(axe)) = (browser(), std::fs::read_to_string(script)) else {
        eprintln!("skipped: axe_finds_nothing_serious: Chromium or axe-core is missing, see scripts/page-tools.sh");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let violations = |page: &str, options: &[&str]| -> Vec<(String, String)> {
        // The page's policy forbids other scripts, so the copy for the checker has no policy.
        let policy = between(page, "<meta http-equiv='Content-Security-Policy'", ">");
        let page = page.replace(&format!("<meta http-equiv='Content-Security-Policy'{policy}>"), "");
        assert!(!page.contains("Content-Security-Policy"), "{page}");
        let axe = axe.replace("</script", "<\\/script");
        let run = "axe.run(document).then(found => {\n\
            const out = document.createElement('pre');\n\
            out.id = 'found';\n\
            out.textContent = found.violations.map(rule => rule.id + ' ' + rule.impact).concat('passed ' + found.passes.length).join('\\n');\n\
            document.body.append(out);\n\
            })";
        let checked = page.replace("</body>", "") + &format!("<script>{axe}</script><script>{run}</script>");
        std::fs::write(folder.path().join("checked.html"), checked).expect("written");
        let done = Command::new(&browser)
            .args(HEADLESS)
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .args(["--virtual-time-budget=20000", "--dump-dom"])
            .args(options)
            .arg(format!("file://{}", folder.path().join("checked.html").display()))
            .output()
            .expect("the browser runs");
        let dom = String::from_utf8(done.stdout).expect("UTF-8");
        let found = between(&dom, "<pre id=\"found\">", "</pre>");
        let words = |line: &str| line.split_once(' ').map(|(rule, impact)| (rule.to_owned(), impact.to_owned()));
        let mut lines: Vec<(String, String)> = found.lines().filter_map(words).collect();
        let passed = lines.pop().expect("the last line counts what passed");
        assert!(passed.0 == "passed" && passed.1.parse::<u32>().is_ok_and(|rules| rules >= 20), "{passed:?} in {dom}");
        lines
    };
    let serious =
        |lines: &[(String, String)]| lines.iter().any(|(_, impact)| impact == "serious" || impact == "critical");
    let page = sample(20).html();
    for options in [&[][..], &["--blink-settings=preferredColorScheme=0"]] {
        let found = violations(&page, options);
        assert!(!serious(&found), "{options:?}: {found:?}");
    }
    let faulty = page.replacen("<table>", "<img src='data:,'><table>", 1);
    let found = violations(&faulty, &[]);
    assert!(serious(&found) && found.iter().any(|(rule, _)| rule == "image-alt"), "{found:?}");
}

/// A browser shows the tables and charts of the page without errors.
#[test]
fn a_browser_opens_the_page() {
    let Some(browser) = browser() else {
        eprintln!("skipped: a_browser_opens_the_page: no Chromium is installed");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.html");
    std::fs::write(&path, sample(20).html()).expect("written");
    let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
    let run = |options: &[&str], name: &str| {
        let mut command = Command::new(&browser);
        command.args(HEADLESS).arg("--enable-logging=stderr");
        command.arg(&profile).args(options).arg(format!("file://{}", folder.path().join(name).display()));
        command.output().expect("the browser runs")
    };
    let done = run(&["--dump-dom"], "report.html");
    let dom = String::from_utf8(done.stdout).expect("UTF-8");
    assert_eq!(dom.matches("<table>").count(), 2, "{dom}");
    assert_eq!(dom.matches("<circle").count(), 60, "{dom}");
    // Faults of the script, and what the page's own policy refuses, are lines of the console.
    let said = done.stderr.escape_ascii().to_string();
    assert!(!said.contains("CONSOLE"), "{said}");
    // The browser's own tools need scripts, so a frame that forbids them shows the page without.
    let frame = "<!doctype html><style>html,body{margin:0}iframe{border:0;width:1000px;height:1400px}</style>\
                 <iframe sandbox src='report.html'></iframe>";
    std::fs::write(folder.path().join("frame.html"), frame).expect("written");
    let picture = folder.path().join("report.png");
    let screenshot = format!("--screenshot={}", picture.display());
    let drawn = |options: &[&str], name: &str| {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let done = run(&[&[screenshot.as_str(), "--window-size=1000,1400"], options].concat(), name);
            let bytes =
                std::fs::read(&picture).unwrap_or_else(|error| panic!("{error}: {}", done.stderr.escape_ascii()));
            std::fs::remove_file(&picture).expect("removed");
            // A page of one colour is a picture of some hundred bytes. The browser may take the picture before a frame is painted whole.
            if bytes.len() > 10_000 {
                return bytes;
            }
            assert!(attempts < 10, "{name} {options:?}: {} bytes", bytes.len());
        }
    };
    let (light, without) = (drawn(&[], "report.html"), drawn(&[], "frame.html"));
    let dark = drawn(&["--blink-settings=preferredColorScheme=0"], "report.html");
    println!("pictures: light {} bytes, without scripts {}, dark {}", light.len(), without.len(), dark.len());
    assert!(light != dark);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// For any names of users, JSON restores the report, the page remains valid, and no name becomes markup.
    #[test]
    fn names_are_only_names(title in any::<String>(), id in any::<String>(), cell in any::<String>(), eighths in any::<i32>()) {
        let number = f64::from(eighths) / 8.0;
        let mut report = sample(2);
        report.title = title;
        report.sections[0].id = id;
        report.sections[0].table.rows[0] = vec![Cell::Text(cell.clone()), Cell::Number(number), Cell::Empty];
        report.sections[1].picture = Some(Picture::Bars {
            across: cell.clone(),
            rows: vec![cell],
            series: vec![("now".to_owned(), vec![number.abs()])],
        });
        let back = Report::from_json(&report.json()).expect("a report");
        prop_assert_eq!(&back.title, &report.title);
        prop_assert_eq!(&back.sections[0], &report.sections[0]);
        let page = report.html();
        assert_nested(&page);
        prop_assert!(page.len() < HTML_BYTES_MAX);
    }
}
