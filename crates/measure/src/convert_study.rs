//! Conversions of record files: records to JSON, CSV and Parquet and back, over decades of size. Each run is a process of its own.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use quayline_core::system_error_text;
use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};

use crate::process::{self, Usage};

/// Formats that records become, by the extension of their files.
const FORMATS: [(&str, &str); 3] = [("JSON", "jsonl"), ("CSV", "csv"), ("Parquet", "parquet")];
/// Compressions of JSON.
const COMPRESSIONS: [&str; 3] = ["none", "gzip", "zstd"];
/// Bytes of the smallest file; the others have ten times the one before.
const BYTES_MIN: u64 = 1_000_000;
/// Bytes of a record of [`COPYBOOK`].
const RECORD_BYTES: u64 = 100;
/// Runs of a row, of which the one with the least CPU time counts.
const REPEATS: usize = 2;
/// Largest peak memory of a run.
const PEAK_MAX: u64 = 64 << 20;
/// Largest exponent of CPU time over size.
const EXPONENT_MAX: f64 = 1.02;
/// CPU seconds beyond the start of a process that the smaller of two runs needs, so that their exponent has a verdict.
const JUDGED_S: f64 = 0.05;

/// A record with text, zoned, packed and binary numbers, in an EBCDIC code page.
const COPYBOOK: &str = "       01 POLICY.
          05 POLICY-ID     PIC 9(10).
          05 HOLDER        PIC X(30).
          05 CITY          PIC X(20).
          05 OPENED-ON     PIC 9(8).
          05 PREMIUM       PIC S9(9)V99 COMP-3.
          05 PAID          PIC S9(7)V99.
          05 BRANCH        PIC S9(4) COMP.
          05 RATE          PIC SV9(5) COMP-3.
          05 NOTE          PIC X(12).
";

/// Settings of the study.
#[derive(Clone, Debug)]
pub struct ConvertStudyOptions {
    /// Folder for the data of the runs.
    pub scratch: PathBuf,
    /// Bytes of the largest record file; smaller ones have a tenth each, down to 1 MB.
    pub bytes_max: u64,
    /// Threads of each run.
    pub workers: usize,
}

/// Direction of a conversion.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    FromRecords,
    ToRecords,
}

/// A conversion of a file.
#[derive(Clone, Copy, Debug)]
struct Row {
    format: usize,
    way: Way,
    /// Bytes of the record file, whether it is input or output.
    bytes: u64,
    used: Usage,
    /// Bytes of the file in the other format.
    other_bytes: u64,
}

impl Row {
    fn conversion(&self) -> String {
        conversion(self.format, self.way)
    }

    fn records(&self) -> f64 {
        (self.bytes / RECORD_BYTES) as f64
    }
}

fn conversion(format: usize, way: Way) -> String {
    let format = FORMATS[format].0;
    match way {
        Way::FromRecords => format!("records to {format}"),
        Way::ToRecords => format!("{format} to records"),
    }
}

/// Results of the study.
#[derive(Clone, Debug, Default)]
pub struct ConvertStudy {
    rows: Vec<Row>,
    /// CPU seconds of a run with one record, by format and direction.
    starts: Vec<(usize, Way, f64)>,
    /// Conversions of the largest file to JSON in other ways: name, use of the run, bytes of the output.
    variants: Vec<(String, Usage, u64)>,
    /// Conversions whose way back did not return the same bytes.
    different: Vec<String>,
}

impl ConvertStudy {
    /// Runs the study. `program` is the command line that converts, and measures other processes. `say` receives the name of each part.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn run(options: &ConvertStudyOptions, program: &Path, say: &dyn Fn(&str)) -> Result<ConvertStudy, String> {
        let bed = Bed { root: &options.scratch, program, workers: options.workers };
        std::fs::write(bed.path("policy.cpy"), COPYBOOK).map_err(|error| at(&bed.path("policy.cpy"), &error))?;
        let mut study = ConvertStudy::default();
        say("start of a process");
        bed.records(1)?;
        for format in 0..FORMATS.len() {
            for way in [Way::FromRecords, Way::ToRecords] {
                let used = bed.convert(format, way)?;
                study.starts.push((format, way, used.cpu.as_secs_f64()));
            }
        }
        for bytes in sizes(options.bytes_max) {
            say(&format!("{:.0} MB", bytes as f64 / 1e6));
            bed.records(bytes / RECORD_BYTES)?;
            for (format, (name, _)) in FORMATS.iter().enumerate() {
                for way in [Way::FromRecords, Way::ToRecords] {
                    let used = bed.convert(format, way)?;
                    let other_bytes = length(&bed.other(format))?;
                    study.rows.push(Row { format, way, bytes, used, other_bytes });
                }
                if !bed.same()? {
                    study.different.push(format!("{name}, {bytes} bytes"));
                }
                // The largest files would otherwise need room for all formats at once.
                let _ = std::fs::remove_file(bed.other(format));
            }
        }
        for how in COMPRESSIONS {
            say(&format!("compression: {how}"));
            let to = bed.path("compressed.jsonl");
            let used = bed.converted(&bed.path("policies.dat"), &to, "cp037", &["--compress", how])?;
            study.variants.push((format!("compression: {how}"), used, length(&to)?));
            let _ = std::fs::remove_file(to);
        }
        say("without a code page");
        bed.write_records(options.bytes_max / RECORD_BYTES, Page::Ascii)?;
        let to = bed.path("policies.jsonl");
        let used = bed.converted(&bed.path("policies.dat"), &to, "ascii", &["--dialect", "gnucobol"])?;
        study.variants.push(("code page: ASCII".to_owned(), used, length(&to)?));
        Ok(study)
    }

    /// Returns the exponent of CPU time over size, without the start of a process, and whether the runs are long enough for a verdict.
    fn exponent(&self, format: usize, way: Way) -> Option<(f64, bool)> {
        let start = self.starts.iter().find(|(of, to, _)| (*of, *to) == (format, way)).map_or(0.0, |(_, _, cpu)| *cpu);
        let points: Vec<(f64, f64)> = self
            .rows
            .iter()
            .filter(|row| (row.format, row.way) == (format, way))
            .map(|row| (row.bytes as f64, row.used.cpu.as_secs_f64() - start))
            .filter(|(_, cpu)| *cpu > 0.0)
            .collect();
        let last = points.last()?;
        // The smallest run that is long enough, or the smallest one.
        let rest = &points[..points.len() - 1];
        let first = rest.iter().find(|(_, cpu)| *cpu >= JUDGED_S).or(rest.first())?;
        Some(((last.1 / first.1).ln() / (last.0 / first.0).ln(), first.1 >= JUDGED_S))
    }

    /// Builds the report of kind `convert`.
    #[must_use]
    pub fn report(&self, options: &ConvertStudyOptions) -> Report {
        let mut missed: Vec<String> = self.different.iter().map(|what| format!("other bytes after {what}")).collect();
        for row in self.rows.iter().filter(|row| row.used.peak_bytes > PEAK_MAX) {
            missed.push(format!("{}, {:.0} MB: more than 64 MiB", row.conversion(), row.bytes as f64 / 1e6));
        }
        let growth = self.growth_section(&mut missed);
        let (verdict, summary) = if missed.is_empty() {
            (Verdict::Good, "Every way back returned the same bytes, and all runs stay below 64 MiB.".to_owned())
        } else {
            (Verdict::ObjectiveMissed, format!("Missed: {}.", missed.join("; ")))
        };
        Report {
            kind: "convert".to_owned(),
            title: "Conversion of record files by format and size".to_owned(),
            verdict,
            summary,
            conditions: vec![
                ("largest file".to_owned(), format!("{} bytes", options.bytes_max)),
                ("workers".to_owned(), options.workers.to_string()),
            ],
            sections: vec![self.runs_section(), growth, self.variants_section(options)],
        }
    }

    fn runs_section(&self) -> Section {
        let name = |row: &Row| format!("{}, {:.0} MB", row.conversion(), row.bytes as f64 / 1e6);
        let cells = |row: &Row| {
            let (megabytes, cpu) = (row.bytes as f64 / 1e6, row.used.cpu.as_secs_f64());
            vec![
                Cell::Text(name(row)),
                Cell::Number(row.records()),
                Cell::Number(1e6 * cpu / row.records()),
                Cell::Number(cpu),
                Cell::Number(row.used.wall.as_secs_f64()),
                Cell::Number(megabytes / cpu.max(1e-9)),
                Cell::Number(row.used.peak_bytes as f64 / f64::from(1 << 20)),
                Cell::Number(row.other_bytes as f64 / row.bytes as f64),
            ]
        };
        let line = |format: usize, way: Way| Series {
            name: conversion(format, way),
            style: if way == Way::FromRecords { SeriesStyle::Line } else { SeriesStyle::Dashes },
            points: self
                .rows
                .iter()
                .filter(|row| (row.format, row.way) == (format, way))
                .map(|row| ((row.bytes as f64 / 1e6).log10(), 1e6 * row.used.cpu.as_secs_f64() / row.records()))
                .collect(),
        };
        let ways = [Way::FromRecords, Way::ToRecords];
        let has_sizes = self.rows.len() > 2 * FORMATS.len();
        Section {
            id: "runs".to_owned(),
            title: "By format and size".to_owned(),
            notes: vec![format!(
                "Records of {RECORD_BYTES} bytes with nine fields in the code page cp037. Each row is a process; of {REPEATS} runs, the one with \
                 less CPU time counts. Sizes and rates are those of the record file in both directions."
            )],
            table: Table {
                columns: vec![
                    Column::new("conversion", ""),
                    Column::new("records", ""),
                    Column::lower("CPU each", "µs"),
                    Column::lower("CPU", "s"),
                    Column::new("elapsed", "s"),
                    Column::new("rate", "MB/CPU-s"),
                    Column::lower("peak memory", "MiB"),
                    Column::new("size of the other format", "times"),
                ],
                rows: self.rows.iter().map(cells).collect(),
            },
            picture: has_sizes.then(|| Picture::Lines {
                across: "power of ten of the megabytes".to_owned(),
                up: "CPU time of a record, µs".to_owned(),
                series: (0..FORMATS.len()).flat_map(|format| ways.map(|way| line(format, way))).collect(),
            }),
        }
    }

    fn variants_section(&self, options: &ConvertStudyOptions) -> Section {
        let bytes = options.bytes_max as f64;
        // Without compression and from cp037: the first variant.
        let plain = self.variants.first().map_or((1.0, 1), |(_, used, bytes)| (used.cpu.as_secs_f64(), *bytes));
        let row = |(name, used, out): &(String, Usage, u64)| {
            let cpu = used.cpu.as_secs_f64();
            vec![
                Cell::text(name.clone()),
                Cell::Number(bytes / 1e9 / used.wall.as_secs_f64().max(1e-9) * 3_600.0),
                Cell::Number(cpu),
                Cell::Number(100.0 * (cpu / plain.0.max(1e-9) - 1.0)),
                Cell::Number(*out as f64 / plain.1.max(1) as f64),
            ]
        };
        Section {
            id: "variants".to_owned(),
            title: "Compression and code page".to_owned(),
            notes: vec![
                "The largest record file to JSON. Rates are bytes of records. The row with ASCII has the same records without an EBCDIC code page, so \
                 its CPU time is lower by the translation."
                    .to_owned(),
            ],
            table: Table {
                columns: vec![
                    Column::new("conversion", ""),
                    Column::higher("rate", "GB/h"),
                    Column::lower("CPU", "s"),
                    Column::new("CPU relative to the first row", "%"),
                    Column::new("size relative to the first row", "times"),
                ],
                rows: self.variants.iter().map(row).collect(),
            },
            picture: None,
        }
    }

    /// Builds the section of exponents, and adds those that are too high to `missed`.
    fn growth_section(&self, missed: &mut Vec<String>) -> Section {
        let mut rows = Vec::new();
        for (format, way, start) in &self.starts {
            let exponent = self.exponent(*format, *way);
            let judged = match exponent {
                Some((value, true)) if value > EXPONENT_MAX => {
                    missed.push(format!("{}: an exponent of {value:.3}", conversion(*format, *way)));
                    "too high"
                }
                Some((_, true)) => "within the limit",
                _ => "too short for a verdict",
            };
            rows.push(vec![
                Cell::Text(conversion(*format, *way)),
                Cell::Number(1e3 * start),
                exponent.map_or(Cell::Empty, |(value, _)| Cell::Number(value)),
                Cell::text(judged),
            ]);
        }
        Section {
            id: "growth".to_owned(),
            title: "Growth with the size".to_owned(),
            notes: vec![format!(
                "CPU time grows with the size to the power of the exponent, at most {EXPONENT_MAX}. The start of a process, which is a run with \
                 one record, does not count. An exponent has a verdict if the smaller of its two runs takes at least {JUDGED_S} s beyond the start."
            )],
            table: Table {
                columns: vec![
                    Column::new("conversion", ""),
                    Column::lower("start", "ms"),
                    Column::new("exponent", ""),
                    Column::new("verdict", ""),
                ],
                rows,
            },
            picture: None,
        }
    }
}

/// Returns the sizes of the record files, ascending: each is a tenth of the next, down to 1 MB.
fn sizes(bytes_max: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> = std::iter::successors(Some(bytes_max.max(RECORD_BYTES)), |bytes| Some(bytes / 10))
        .take_while(|bytes| *bytes >= BYTES_MIN.min(bytes_max))
        .map(|bytes| bytes / RECORD_BYTES * RECORD_BYTES)
        .collect();
    sizes.reverse();
    sizes
}

/// Folder of the data, and the program.
struct Bed<'b> {
    root: &'b Path,
    program: &'b Path,
    workers: usize,
}

impl Bed<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// File in another format.
    fn other(&self, format: usize) -> PathBuf {
        self.path(&format!("policies.{}", FORMATS[format].1))
    }

    /// Writes the file of records in EBCDIC.
    fn records(&self, count: u64) -> Result<(), String> {
        self.write_records(count, Page::Ebcdic)
    }

    fn write_records(&self, count: u64, page: Page) -> Result<(), String> {
        let path = self.path("policies.dat");
        let write = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(&path)?);
            let mut record = Vec::new();
            for number in 0..count {
                fill(&mut record, number, page);
                out.write_all(&record)?;
            }
            out.flush()
        };
        write().map_err(|error| at(&path, &error))
    }

    /// Converts the file of records to a format, or back to another file of records.
    fn convert(&self, format: usize, way: Way) -> Result<Usage, String> {
        let (from, to) = match way {
            Way::FromRecords => (self.path("policies.dat"), self.other(format)),
            Way::ToRecords => (self.other(format), self.path("back.dat")),
        };
        self.converted(&from, &to, "cp037", &[])
    }

    /// Converts a file with records of a code page on one side.
    fn converted(&self, from: &Path, to: &Path, page: &str, words: &[&str]) -> Result<Usage, String> {
        let mut command: Vec<OsString> = vec![self.program.into(), "convert".into(), from.into()];
        command.extend(["--copybook".into(), self.path("policy.cpy").into(), "--encoding".into(), page.into()]);
        command.extend(["-j".into(), self.workers.to_string().into(), "-o".into(), to.into()]);
        command.extend(words.iter().map(OsString::from));
        let mut least: Option<Usage> = None;
        for _ in 0..REPEATS {
            // An existing output is an error.
            let _ = std::fs::remove_file(to);
            let used = process::run(self.program, &command, None)?;
            if least.is_none_or(|least| used.cpu < least.cpu) {
                least = Some(used);
            }
        }
        least.ok_or_else(|| "nothing ran".to_owned())
    }

    /// Compares the records that came back with those of the start.
    fn same(&self) -> Result<bool, String> {
        let (first, second) = (self.path("policies.dat"), self.path("back.dat"));
        if length(&first)? != length(&second)? {
            return Ok(false);
        }
        let compare = || -> io::Result<bool> {
            let (mut first, mut second) = (BufReader::new(File::open(&first)?), BufReader::new(File::open(&second)?));
            let (mut ours, mut theirs) = (vec![0; 1 << 16], vec![0; 1 << 16]);
            loop {
                let read = first.read(&mut ours)?;
                second.read_exact(&mut theirs[..read])?;
                if read == 0 || ours[..read] != theirs[..read] {
                    return Ok(read == 0);
                }
            }
        };
        compare().map_err(|error| at(self.root, &error))
    }
}

fn length(path: &Path) -> Result<u64, String> {
    std::fs::metadata(path).map(|data| data.len()).map_err(|error| at(path, &error))
}

fn at(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), system_error_text(error))
}

/// Code page of records.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Page {
    Ebcdic,
    Ascii,
}

/// Fills a record of [`COPYBOOK`].
fn fill(record: &mut Vec<u8>, number: u64, page: Page) {
    const CITIES: [&str; 5] = ["LISBON", "TURIN", "PORTO ALEGRE", "NEW ORLEANS", "KYOTO"];
    // Values without a pattern that compresses, the same in each run.
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let city = CITIES[usize::try_from(mixed % 5).unwrap_or(0)];
    record.clear();
    digits(record, number, 10, page, Sign::No);
    text(record, &format!("HOLDER {mixed}"), 30, page);
    text(record, city, 20, page);
    digits(record, 19_500_101 + 10_000 * (mixed % 70), 8, page, Sign::No);
    packed(record, mixed % 100_000_000_000, 11);
    digits(record, mixed % 1_000_000_000, 9, page, Sign::Plus);
    record.extend_from_slice(&u16::try_from(mixed % 10_000).unwrap_or(0).to_be_bytes());
    packed(record, mixed % 100_000, 5);
    text(record, if mixed.is_multiple_of(3) { "" } else { "RENEWED" }, 12, page);
}

/// Sign of a zoned number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sign {
    No,
    Plus,
}

/// Adds a zoned number of `width` digits. A plus is a zone in EBCDIC, and nothing in ASCII.
fn digits(record: &mut Vec<u8>, number: u64, width: usize, page: Page, sign: Sign) {
    text(record, &format!("{number:0width$}"), width, page);
    if let Some(end) = record.last_mut().filter(|_| page == Page::Ebcdic && sign == Sign::Plus) {
        *end = 0xc0 | (*end & 0x0f);
    }
}

/// Adds a packed number of an odd count of digits, with the sign of plus.
fn packed(record: &mut Vec<u8>, number: u64, width: usize) {
    let text = format!("{number:0width$}");
    let nibbles: Vec<u8> = text.bytes().map(|digit| digit & 0x0f).chain([0x0c]).collect();
    record.extend(nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
}

/// Adds letters, digits and spaces, filled with spaces.
fn text(record: &mut Vec<u8>, text: &str, width: usize, page: Page) {
    let ebcdic = |byte: u8| match byte {
        b'0'..=b'9' => 0xf0 + (byte - b'0'),
        b'A'..=b'I' => 0xc1 + (byte - b'A'),
        b'J'..=b'R' => 0xd1 + (byte - b'J'),
        b'S'..=b'Z' => 0xe2 + (byte - b'S'),
        _ => 0x40,
    };
    let (end, space) = (record.len() + width, if page == Page::Ascii { b' ' } else { 0x40 });
    record.extend(text.bytes().take(width).map(|byte| if page == Page::Ascii { byte } else { ebcdic(byte) }));
    record.resize(end, space);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decades_up_to_the_largest() {
        assert_eq!(sizes(100_000_000), [1_000_000, 10_000_000, 100_000_000]);
        assert_eq!(sizes(25_000_000), [2_500_000, 25_000_000]);
        assert_eq!(sizes(200_000), [200_000]);
    }

    #[test]
    fn a_record_has_the_length_of_the_copybook() {
        let mut record = Vec::new();
        for number in [0, 1, 4_711, 9_999_999_999] {
            for page in [Page::Ebcdic, Page::Ascii] {
                fill(&mut record, number, page);
                assert_eq!(record.len() as u64, RECORD_BYTES);
            }
        }
    }

    fn study(cpu_ms: [u64; 2]) -> ConvertStudy {
        let row = |bytes, cpu_ms| Row {
            format: 0,
            way: Way::FromRecords,
            bytes,
            used: Usage {
                wall: std::time::Duration::from_millis(cpu_ms),
                cpu: std::time::Duration::from_millis(cpu_ms),
                peak_bytes: 1 << 20,
            },
            other_bytes: bytes,
        };
        ConvertStudy {
            rows: vec![row(1_000_000, cpu_ms[0]), row(10_000_000, cpu_ms[1])],
            starts: vec![(0, Way::FromRecords, 0.010)],
            variants: Vec::new(),
            different: Vec::new(),
        }
    }

    fn judged(cpu_ms: [u64; 2]) -> (Verdict, String) {
        let options = ConvertStudyOptions { scratch: PathBuf::new(), bytes_max: 10_000_000, workers: 1 };
        let report = study(cpu_ms).report(&options);
        let Cell::Text(judged) = report.sections[1].table.rows[0][3].clone() else { panic!("a text") };
        (report.verdict, judged)
    }

    /// The start of a process is 10 ms here, so 110 ms and 1,010 ms are proportional to the size.
    #[test]
    fn growth_is_judged_without_the_start_of_a_process() {
        assert_eq!(judged([110, 1_010]), (Verdict::Good, "within the limit".to_owned()));
        assert_eq!(judged([110, 1_410]), (Verdict::ObjectiveMissed, "too high".to_owned()));
        assert_eq!(judged([20, 1_010]), (Verdict::Good, "too short for a verdict".to_owned()));
    }
}
