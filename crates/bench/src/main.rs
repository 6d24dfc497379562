//! Measures every bar, prints its value and target, writes `target/bench/bars.json` and exits with 1 if one falls short.
//!
//! `quayline-bench [--list | --area NAME | --dealership | --study [MEGABYTES] | NAME-PART]`: `--area` measures the bars of one area,
//! a part of a name those whose names contain it.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use quayline_bench::bars::{self, Area, Bar, Bench, Outcome};
use quayline_bench::{Scratch, process, store_growth};
use serde_json::Value;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == process::MEASURE => process::measure_here(rest).map(|line| {
            say(&line);
            true
        }),
        Some((first, rest)) if first == process::MEASURE_ANY => process::measure_any(rest).map(|line| {
            say(&line);
            true
        }),
        Some((first, rest)) if first == quayline_measure::partner_study::CHILD => {
            quayline_measure::partner_study::child(rest).map(|line| {
                say(&line);
                true
            })
        }
        Some((first, rest)) if first == store_growth::SIZE_CHILD => store_growth::size_child(rest).map(|line| {
            say(&line);
            true
        }),
        Some((first, rest)) if first == store_growth::CHILD => store_growth::child(rest).map(|()| true),
        _ => measure_bars(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// Measures bars. Returns true if all are reached.
fn measure_bars(arguments: &[OsString]) -> Result<bool, String> {
    let texts: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    if texts.contains(&"--list") {
        bars::all().iter().for_each(|bar| say(&format!("{:<9} {}", bar.area.name(), bar.name)));
        return Ok(true);
    }
    if texts.contains(&"--dealership") {
        say(quayline_bench::dealership::table()?.trim_end());
        return Ok(true);
    }
    if texts.first() == Some(&"--study") {
        let megabytes = texts.get(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(u64::MAX >> 20);
        return study(megabytes << 20);
    }
    let wanted = Wanted::parse(&texts)?;
    let target = target_folder()?;
    let folder = target.join("bench");
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let scratch = Scratch::new(&folder.join("files")).map_err(|error| format!("{}: {error}", folder.display()))?;
    let quayline = this.with_file_name("quayline");
    if !quayline.exists() {
        return Err(format!("{} is not there; `make bench` builds it", quayline.display()));
    }
    let bench = Bench { scratch, quayline, this };

    say(&machine());
    let began = Instant::now();
    let file = folder.join("bars.json");
    let mut outcomes = Vec::new();
    for bar in bars::all().into_iter().filter(|bar| wanted.has(bar)) {
        let row_began = Instant::now();
        let outcome = Outcome { bar, measured: (bar.measure)(&bench) };
        // What takes long shows where the time of the whole run goes.
        let took = match row_began.elapsed().as_secs() {
            0..5 => String::new(),
            seconds => format!("; {seconds} s"),
        };
        say(&format!("{}{took}", outcome.to_line()));
        outcomes.push(outcome);
        // After each row: a run that is ended early leaves what it measured.
        write_rows(&file, &outcomes).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let mut shown = 0;
    for bar in bars::also().into_iter().filter(|bar| wanted.has(bar)) {
        let outcome = Outcome { bar, measured: (bar.measure)(&bench) };
        say(&outcome.to_line_as("also"));
        shown += 1;
    }
    if outcomes.is_empty() && shown == 0 {
        say(&wanted.nothing()?);
    }
    let short = outcomes.iter().filter(|outcome| !outcome.ok() && !outcome.is_skipped()).count();
    let skipped = outcomes.iter().filter(|outcome| outcome.is_skipped()).count();
    let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    say(&format!("{} bars, {short} short{skipped}, {} s", outcomes.len(), began.elapsed().as_secs()));
    say(&format!("written to {}", file.display()));
    Ok(short == 0)
}

/// Measures the rows of the study, with inputs up to this size in bytes.
fn study(max_bytes: u64) -> Result<bool, String> {
    let folder = target_folder()?.join("bench/study");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let quayline = this.with_file_name("quayline");
    if !quayline.exists() {
        return Err(format!("{} is not there; `make report` builds it", quayline.display()));
    }
    say(&machine());
    let report = quayline_bench::translator_study::report(&quayline, &this, &folder, max_bytes, &mut |line| say(line))?;
    Ok(report.verdict == quayline_report::Verdict::Good)
}

/// Replaces the measured rows of `bars.json` and keeps the others: a part of the bars does not replace the results of the rest.
fn write_rows(file: &Path, outcomes: &[Outcome]) -> std::io::Result<()> {
    let before: Vec<Value> =
        std::fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let rows: Vec<String> = bars::all()
        .iter()
        .filter_map(|bar| {
            let measured = outcomes.iter().find(|outcome| outcome.bar.name == bar.name);
            if measured.is_some_and(Outcome::is_skipped) {
                return None;
            }
            measured.map(Outcome::to_json).or_else(|| before.iter().find(|row| row["name"] == bar.name).cloned())
        })
        .map(|row| format!("  {row}"))
        .collect();
    std::fs::write(file, format!("[\n{}\n]\n", rows.join(",\n")))
}

/// Selection of bars.
enum Wanted<'a> {
    Area(Area),
    Part(&'a str),
}

impl<'a> Wanted<'a> {
    fn parse(texts: &[&'a str]) -> Result<Self, String> {
        match texts {
            ["--area", name] => {
                let names = Area::ALL.map(Area::name).join(", ");
                let area = Area::ALL.into_iter().find(|area| area.name() == *name);
                area.map(Wanted::Area).ok_or_else(|| format!("no area is named `{name}`; the areas are {names}"))
            }
            _ => Ok(Wanted::Part(texts.first().copied().unwrap_or_default())),
        }
    }

    fn has(&self, bar: &Bar) -> bool {
        match self {
            Wanted::Area(area) => bar.area == *area,
            Wanted::Part(part) => bar.name.contains(part),
        }
    }

    /// Returns the message of a run without bars: an area without bars is not an error, an unknown name is.
    fn nothing(&self) -> Result<String, String> {
        match self {
            Wanted::Area(area) => Ok(format!("the area {} has no bars", area.name())),
            Wanted::Part(part) => Err(format!("no bar has `{part}` in its name; --list shows them")),
        }
    }
}

/// Returns the target folder: this program is in `target/PROFILE`.
fn target_folder() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    this.ancestors().nth(2).map(Path::to_path_buf).ok_or_else(|| format!("{}: not in a target folder", this.display()))
}

fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("machine: {}, {cores} cores", model.trim_start_matches(['\t', ' ', ':']))
}

fn say(line: &str) {
    // A closed pipe is not an error.
    let _ = writeln!(std::io::stdout(), "{line}");
}
