//! The rows of a translator's study of 2005 and our results: claims through a map, XML documents, the case study, memory, and the cost of each switch.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use quayline_report::{Cell, Column, Report, Section, Table, Verdict};

use crate::Claims;
use crate::process::{self, Usage};

/// The most memory that a row may take.
const PEAK_MAX: u64 = 64 << 20;
/// The most that the exponent of CPU over size may be.
const EXPONENT_MAX: f64 = 1.02;
/// Bytes of a claim of [`Claims`], about.
const CLAIM_BYTES: u64 = 947;

/// Interchanges of the rows with several: the study names the number for its smallest file, and ours have it in all.
const ENVELOPES: u64 = 25;

/// One row of a table.
struct Row {
    name: &'static str,
    claims: u64,
    /// Claims in a transaction.
    per_transaction: u64,
    /// Figures of the study of 2005.
    then: &'static str,
}

/// Rows that belong together: the exponent is theirs.
struct Part {
    id: &'static str,
    title: &'static str,
    /// Whether documents are XML.
    xml: bool,
    rows: &'static [Row],
}

const PARTS: [Part; 4] = [
    Part {
        id: "claims",
        title: "claims (837P), checked by guide, through a map to JSON claims",
        xml: false,
        rows: &[
            Row { name: "10K claims", claims: 10_000, per_transaction: 5_000, then: "258 s CPU, 354 MB, tuned 122 MB" },
            Row {
                name: "60K claims",
                claims: 60_000,
                per_transaction: 5_000,
                then: "out of storage, tuned 1,740 s CPU, 515 MB",
            },
        ],
    },
    Part {
        id: "xml",
        title: "through a map to XML documents",
        xml: true,
        rows: &[
            Row { name: "13 MB", claims: (13 << 20) / CLAIM_BYTES, per_transaction: 5_000, then: "60 s" },
            Row { name: "300 MB", claims: (300 << 20) / CLAIM_BYTES, per_transaction: 5_000, then: "1,320 s" },
            Row { name: "2 GB", claims: (2 << 30) / CLAIM_BYTES, per_transaction: 5_000, then: "7,200 s" },
        ],
    },
    Part {
        id: "interchanges",
        title: "25 interchanges in one file, through a map",
        xml: false,
        rows: &[
            Row { name: "25 envelopes, 33 KB", claims: 25, per_transaction: 1, then: "39 s CPU, tuned 14.4 s" },
            Row {
                name: "25 envelopes, 5 MB",
                claims: (5 << 20) / CLAIM_BYTES,
                per_transaction: (5 << 20) / CLAIM_BYTES / ENVELOPES,
                then: "618 s CPU, tuned 234 s",
            },
            Row {
                name: "25 envelopes, 28 MB",
                claims: (28 << 20) / CLAIM_BYTES,
                per_transaction: (28 << 20) / CLAIM_BYTES / ENVELOPES,
                then: "3,108 s CPU, tuned 978 s",
            },
        ],
    },
    Part {
        id: "single",
        title: "one single transaction through a map",
        xml: false,
        rows: &[
            Row { name: "25 MB", claims: (25 << 20) / CLAIM_BYTES, per_transaction: u64::MAX, then: "343 s" },
            Row { name: "75 MB", claims: (75 << 20) / CLAIM_BYTES, per_transaction: u64::MAX, then: "1,125 s" },
            Row { name: "100 MB", claims: (100 << 20) / CLAIM_BYTES, per_transaction: u64::MAX, then: "34,192 s" },
        ],
    },
];

/// The map of the report, beside the guide of the examples.
const MAP: &str = r#"map "claims of the report"
source "837p.guide"
target claim "claim.shape"

for 2000A.2000B.2300 make claim {
  number = left(CLM.CLM01, 38)
  amount = fit(round(CLM.CLM02, 2), 16, 2)
  batch = left(source.BHT.BHT03, 50)
  place = left(CLM.CLM05.'CLM05-1', 2)
  for 2400 make lines {
    number = position()
    code = left(SV1.SV101.'SV101-2', 48)
    charge = fit(round(SV1.SV102, 2), 16, 2)
    units = fit(round(SV1.SV104, 3), 12, 3)
  }
}
"#;

const SHAPE: &str = "claim\n  number text(38)\n  amount decimal(18,2)\n  batch? text(50)\n  place? text(2)\n  lines*\n    number decimal(9)\n    code? text(48)\n    charge? decimal(18,2)\n    units? decimal(15,3)\n";

/// Measures every row, or those of at most `max_bytes`, and passes a line for each to `say`. Returns the report of kind `translate`.
///
/// # Errors
/// A file cannot be written, or a command does not end with 0.
pub fn report(
    quayline: &Path,
    this: &Path,
    folder: &Path,
    max_bytes: u64,
    say: &mut dyn FnMut(&str),
) -> Result<Report, String> {
    let io = |path: &Path| {
        let name = path.display().to_string();
        move |error: io::Error| format!("{name}: {error}")
    };
    let map = write_map(folder).map_err(io(folder))?;
    let input = folder.join("seed.x12");
    let output = folder.join("seed.out");
    let mut missed = Vec::new();
    let mut sections = Vec::new();
    for part in &PARTS {
        say(&format!(
            "\n{}\n  {:<20}{:>9}{:>10}{:>10}{:>9}{:>10}   the study",
            part.title, "", "MB", "CPU s", "elapsed", "peak MB", "MB/CPU-s"
        ));
        let mut points = Vec::new();
        let mut section = section(part);
        for row in part.rows.iter().filter(|row| row.claims * CLAIM_BYTES <= max_bytes) {
            let bytes = write_claims(&input, part.id, row).map_err(io(&input))?;
            let usage = translate(quayline, this, &map, &input, &output, part.xml)?;
            points.push((to_f64(bytes), usage.cpu.as_secs_f64()));
            let within = usage.peak_bytes <= PEAK_MAX;
            if !within {
                missed.push(format!("{}, {}: more than 64 MB", part.title, row.name));
            }
            say(&line(row, bytes, &usage, within));
            section.table.rows.push(cells(row, bytes, &usage));
        }
        // Rows of some milliseconds measure the start of a process.
        points.retain(|(bytes, _)| *bytes > 1e6);
        if let (Some(first), Some(last)) = (points.first(), points.last().filter(|_| points.len() > 1)) {
            let exponent = (last.1 / first.1).ln() / (last.0 / first.0).ln();
            let within = exponent <= EXPONENT_MAX;
            if !within {
                missed.push(format!("{}: an exponent of {exponent:.3}", part.title));
            }
            let text =
                format!("exponent {exponent:.3}, at most {EXPONENT_MAX}{}", if within { "" } else { ": TOO HIGH" });
            say(&format!("  {text}"));
            section.notes.push(format!("CPU time grows with the size by the {text}."));
        }
        sections.extend((!section.table.rows.is_empty()).then_some(section));
    }
    for path in [&input, &output] {
        let _ = std::fs::remove_file(path);
    }
    let (case_study, is_within) = crate::partner_study::report(this, folder, (PEAK_MAX, max_bytes), say)?;
    sections.push(case_study);
    sections.push(crate::partner_study::switches::report(quayline, this, folder, max_bytes, say)?);
    if !is_within {
        missed.push("the case study: more than 64 MB".to_owned());
    }
    let (verdict, summary) = if missed.is_empty() {
        (Verdict::Good, "All rows stay below 64 MB, and CPU time grows with the size.".to_owned())
    } else {
        (Verdict::ObjectiveMissed, format!("Missed: {}.", missed.join("; ")))
    };
    Ok(Report {
        kind: "translate".to_owned(),
        title: "Translation: the tests of a translator's study of 2005".to_owned(),
        verdict,
        summary,
        conditions: vec![("largest input".to_owned(), format!("{max_bytes} bytes"))],
        sections,
    })
}

/// Returns the section of a part, still without rows.
fn section(part: &Part) -> Section {
    let columns = vec![
        Column::new("input", ""),
        Column::new("size", "MB"),
        Column::lower("CPU", "s"),
        Column::new("elapsed", "s"),
        Column::lower("peak memory", "MiB"),
        Column::new("rate", "MB/CPU-s"),
        Column::new("the study", ""),
    ];
    Section {
        id: part.id.to_owned(),
        title: part.title.to_owned(),
        notes: Vec::new(),
        table: Table { columns, rows: Vec::new() },
        picture: None,
    }
}

fn cells(row: &Row, bytes: u64, usage: &Usage) -> Vec<Cell> {
    let (megabytes, cpu) = (to_f64(bytes) / 1e6, usage.cpu.as_secs_f64());
    vec![
        Cell::text(row.name),
        Cell::Number(megabytes),
        Cell::Number(cpu),
        Cell::Number(usage.wall.as_secs_f64()),
        Cell::Number(to_f64(usage.peak_bytes) / f64::from(1 << 20)),
        Cell::Number(megabytes / cpu.max(1e-9)),
        Cell::text(row.then),
    ]
}

fn line(row: &Row, bytes: u64, usage: &Usage, within: bool) -> String {
    let (megabytes, cpu) = (to_f64(bytes) / 1e6, usage.cpu.as_secs_f64());
    format!(
        "  {:<20}{megabytes:>9.2}{cpu:>10.3}{:>10.3}{:>9.1}{:>10.0}   {}{}",
        row.name,
        usage.wall.as_secs_f64(),
        to_f64(usage.peak_bytes) / f64::from(1 << 20),
        megabytes / cpu.max(1e-9),
        row.then,
        if within { "" } else { "   MORE THAN 64 MB" }
    )
}

/// The guide of claims and the guide that it includes.
const GUIDES: [(&str, &str); 2] = [
    ("837p.guide", include_str!("../../../examples/edi/837p.guide")),
    ("x12-claims.guide", include_str!("../../../examples/edi/x12-claims.guide")),
];

/// Writes the map, its shape and its guides to a folder. Returns the path of the map.
fn write_map(folder: &Path) -> io::Result<PathBuf> {
    for (name, text) in GUIDES {
        std::fs::write(folder.join(name), text)?;
    }
    std::fs::write(folder.join("claim.shape"), SHAPE)?;
    let map = folder.join("seed.qmap");
    std::fs::write(&map, MAP)?;
    Ok(map)
}

fn write_claims(path: &Path, part: &str, row: &Row) -> io::Result<u64> {
    let mut out = BufWriter::new(File::create(path)?);
    if part == "interchanges" {
        let each = row.claims / ENVELOPES;
        let claims = Claims { claims: each, per_transaction: row.per_transaction.min(each) };
        claims.write_interchanges(u32::try_from(ENVELOPES).unwrap_or(u32::MAX), &mut out)?;
    } else {
        let claims = Claims { claims: row.claims, per_transaction: row.per_transaction.min(row.claims) };
        claims.write_to(&mut out)?;
    }
    out.flush()?;
    Ok(std::fs::metadata(path)?.len())
}

fn translate(
    quayline: &Path,
    this: &Path,
    map: &Path,
    input: &Path,
    output: &Path,
    xml: bool,
) -> Result<Usage, String> {
    let mut command: Vec<OsString> =
        vec![quayline.into(), "translate".into(), "--quiet".into(), "--map".into(), map.into()];
    command.extend([OsString::from("--to"), OsString::from(if xml { "xml" } else { "jsonl" })]);
    command.extend([input.into(), OsString::from("-o"), output.into()]);
    process::run(this, &command, None)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn to_f64(n: u64) -> f64 {
    n as f64
}
