//! Sweeps over kinds of data and numbers of workers: the same map over one large file, many files and very many small ones, with one file split among
//! threads and with separate files at once. Each run is a process of its own.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quayline_capacity::fit::{LoadPoint, analyse_scaling, fit_usl, split_penalty};
use quayline_core::system_error_text;
use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};

use crate::process::{self, Usage};

/// Files of each kind of data: the sets of the iSeries save and restore tests, in smaller numbers.
const KINDS: [(&str, usize); 3] = [("one file", 1), ("96 files", 96), ("500 files", 500)];
/// The kind whose files are separate in the sweep over workers.
const SEPARATE: usize = 1;
/// Bytes of a row, about.
const ROW_BYTES: u64 = 64;
/// Runs of a row, of which the shortest counts.
const REPEATS: usize = 2;
/// Runs of a start.
const STARTS: usize = 5;

/// Settings of the study.
#[derive(Clone, Debug)]
pub struct SweepStudyOptions {
    /// Folder for the data of the runs.
    pub scratch: PathBuf,
    /// Bytes of input of each run.
    pub bytes: u64,
    /// Numbers of workers, ascending.
    pub workers: Vec<usize>,
}

/// A run over a kind of data.
#[derive(Clone, Debug)]
struct KindRow {
    name: &'static str,
    bytes: u64,
    used: Usage,
    /// Time of a copy of the same files.
    copy: Duration,
}

/// Results of the study.
#[derive(Clone, Debug, Default)]
pub struct SweepStudy {
    kinds: Vec<KindRow>,
    /// Bytes a second by workers: one file that is split, and separate files.
    split: Vec<LoadPoint>,
    separate: Vec<LoadPoint>,
    /// Times of a translation of one row: without a cache of maps, and with it.
    starts: [Duration; 2],
}

impl SweepStudy {
    /// Runs the study. `program` is the command line that translates, and measures other processes. `say` receives the name of each part.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn run(options: &SweepStudyOptions, program: &Path, say: &dyn Fn(&str)) -> Result<SweepStudy, String> {
        let bed = Bed { root: &options.scratch, program };
        bed.write(
            "rows.toml",
            "layout = \"csv\"\n[[field]]\nname = \"id\"\nlength = 12\n[[field]]\nname = \"text\"\nlength = 60\n",
        )?;
        bed.write("row.shape", "row\n  id text(12)\n  text text(60)\n")?;
        bed.write(
            "rows.qmap",
            "source \"rows.toml\"\ntarget row \"row.shape\"\n\nmake row {\n  id = id\n  text = upper(text)\n}\n",
        )?;
        let mut study = SweepStudy::default();
        for (name, files) in KINDS {
            say(name);
            let (folder, bytes) = bed.data(name, files, options.bytes)?;
            let used = least((0..REPEATS).map(|_| bed.translate(&folder, files, 1)))?;
            let copy = bed.copy(&folder)?;
            study.kinds.push(KindRow { name, bytes, used, copy });
        }
        let (one, many) = (bed.folder(KINDS[0].0), bed.folder(KINDS[SEPARATE].0));
        let point = |load: usize, bytes: u64, wall: Duration| LoadPoint {
            load: load as f64,
            throughput: bytes as f64 / wall.as_secs_f64().max(1e-9),
        };
        for workers in &options.workers {
            say(&format!("{workers} workers"));
            let used = least((0..REPEATS).map(|_| bed.translate(&one, 1, *workers)))?;
            study.split.push(point(*workers, study.kinds[0].bytes, used.wall));
            let walls: Result<Vec<Duration>, String> = (0..REPEATS).map(|_| bed.at_once(&many, *workers)).collect();
            let wall = walls?.into_iter().min().unwrap_or_default();
            study.separate.push(point(*workers, study.kinds[SEPARATE].bytes, wall));
        }
        say("starts");
        let (start, _) = bed.data("a row", 1, 1)?;
        for (time, words) in study.starts.iter_mut().zip([&["--no-cache"][..], &[]]) {
            // The first run with the cache fills it.
            let runs: Result<Vec<Usage>, String> =
                (0..STARTS).map(|_| bed.translate_with(&start, 1, 1, words)).collect();
            *time = runs?.iter().map(|used| used.wall).min().unwrap_or_default();
        }
        Ok(study)
    }

    /// Builds the report of kind `sweep`.
    ///
    /// # Errors
    /// The scaling models refuse the figures.
    pub fn report(&self, options: &SweepStudyOptions) -> Result<Report, String> {
        Ok(Report {
            kind: "sweep".to_owned(),
            title: "Translation by kind of data and number of workers".to_owned(),
            verdict: Verdict::Good,
            summary: format!("{:.1} MB of rows in each run, through one map to JSON.", options.bytes as f64 / 1e6),
            conditions: vec![
                ("bytes of a run".to_owned(), options.bytes.to_string()),
                ("workers".to_owned(), options.workers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
            ],
            sections: vec![self.kinds_section(), self.scaling_section()?, self.starts_section()],
        })
    }

    fn kinds_section(&self) -> Section {
        let per_hour = |row: &KindRow| row.bytes as f64 / 1e9 / row.used.wall.as_secs_f64().max(1e-9) * 3_600.0;
        let row = |row: &KindRow| {
            vec![
                Cell::text(row.name),
                Cell::Number(per_hour(row)),
                Cell::Number(100.0 * row.copy.as_secs_f64() / row.used.wall.as_secs_f64().max(1e-9)),
                Cell::Number(row.used.cpu.as_secs_f64() / (row.bytes as f64 / 1e9)),
                Cell::Number(row.used.peak_bytes as f64 / 1e6),
            ]
        };
        Section {
            id: "kinds".to_owned(),
            title: "By kind of data".to_owned(),
            notes: vec![
                "The same bytes with one worker. The rate of the device is that of a copy of the same files, synced at their end.".to_owned(),
            ],
            table: Table {
                columns: vec![
                    Column::new("data", ""),
                    Column::higher("rate", "GB/h"),
                    Column::new("of the device's rate", "%"),
                    Column::lower("CPU", "s/GB"),
                    Column::lower("peak memory", "MB"),
                ],
                rows: self.kinds.iter().map(row).collect(),
            },
            picture: Some(Picture::Bars {
                across: "GB an hour".to_owned(),
                rows: self.kinds.iter().map(|row| row.name.to_owned()).collect(),
                series: vec![("rate".to_owned(), self.kinds.iter().map(per_hour).collect())],
            }),
        }
    }

    fn scaling_section(&self) -> Result<Section, String> {
        let shown = |error: quayline_capacity::ModelError| error.to_string();
        let mut rows = Vec::new();
        let mut notes = vec![
            "Efficiency is the rate over that of as many single workers; the marginal rate is what each further worker adds.".to_owned(),
        ];
        for (name, series) in [("one file, split", &self.split), ("96 files at once", &self.separate)] {
            if let [only] = &series[..] {
                let rate = Cell::Number(only.throughput / 1e6);
                rows.push(vec![
                    Cell::text(format!("{name}, {:.0}", only.load)),
                    rate,
                    Cell::Number(100.0),
                    Cell::Empty,
                ]);
                continue;
            }
            let study = analyse_scaling(series).map_err(shown)?.value;
            for (point, load) in study.points.iter().zip(series) {
                rows.push(vec![
                    Cell::text(format!("{name}, {:.0}", point.workers)),
                    Cell::Number(load.throughput / 1e6),
                    Cell::Number(100.0 * point.efficiency),
                    Cell::Number(point.marginal / 1e6),
                ]);
            }
            let mut note = match study.saturation {
                Some(workers) => format!(
                    "{name}: from {workers:.0} workers on, a further one adds less than a quarter of the first."
                ),
                None => format!("{name}: each worker adds at least a quarter of the first."),
            };
            // The law needs one measurement more than it has parameters.
            if let Ok(fit) = fit_usl(series) {
                let fit = fit.value;
                let _ = write!(note, " Contention {:.3}, coherency {:.4}.", fit.alpha, fit.beta);
            }
            notes.push(note);
        }
        if let Some(most) = self.split.last().filter(|_| self.split.len() > 1) {
            let kept = split_penalty(&self.split, &self.separate, most.load).map_err(shown)?.value;
            notes.push(format!(
                "With {:.0} workers, a split file has {:.0} % of the speedup of separate files.",
                most.load,
                100.0 * kept
            ));
        }
        let line = |name: &str, series: &[LoadPoint], style| Series {
            name: name.to_owned(),
            style,
            points: series.iter().map(|point| (point.load, point.throughput / 1e6)).collect(),
        };
        Ok(Section {
            id: "scaling".to_owned(),
            title: "By number of workers".to_owned(),
            notes,
            table: Table {
                columns: vec![
                    Column::new("workers", ""),
                    Column::higher("rate", "MB/s"),
                    Column::new("efficiency", "%"),
                    Column::new("marginal rate", "MB/s"),
                ],
                rows,
            },
            picture: (self.split.len() > 1).then(|| Picture::Lines {
                across: "workers".to_owned(),
                up: "MB/s".to_owned(),
                series: vec![
                    line("one file, split", &self.split, SeriesStyle::Line),
                    line("96 files at once", &self.separate, SeriesStyle::Dashes),
                ],
            }),
        })
    }

    fn starts_section(&self) -> Section {
        let row = |name: &str, time: Duration| vec![Cell::text(name), Cell::Number(1e3 * time.as_secs_f64())];
        Section {
            id: "starts".to_owned(),
            title: "Cold and warm starts".to_owned(),
            notes: vec![format!("A process that translates one row; the shortest of {STARTS}.")],
            table: Table {
                columns: vec![Column::new("start", ""), Column::lower("time", "ms")],
                rows: vec![
                    row("cold: the map is compiled", self.starts[0]),
                    row("warm: the map is in the cache", self.starts[1]),
                ],
            },
            picture: None,
        }
    }
}

/// Folder of the data, and the program.
struct Bed<'b> {
    root: &'b Path,
    program: &'b Path,
}

impl Bed<'_> {
    fn folder(&self, name: &str) -> PathBuf {
        self.root.join("data").join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.root.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {}", path.display(), system_error_text(&error)))
    }

    /// Writes a number of files of about `bytes` in all. Returns their folder and their exact length.
    fn data(&self, name: &str, files: usize, bytes: u64) -> Result<(PathBuf, u64), String> {
        let folder = self.folder(name);
        let failed = |error: std::io::Error| format!("{}: {}", folder.display(), system_error_text(&error));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let rows = (bytes / ROW_BYTES).max(files as u64);
        let (mut written, mut number) = (0, 0u64);
        for file in 0..files as u64 {
            let end = rows * (file + 1) / files as u64;
            let mut text = String::from("id,text\n");
            while number < end {
                let _ = writeln!(text, "{number:012},{:<50}", format!("some text of the row {number}"));
                number += 1;
            }
            written += text.len() as u64;
            std::fs::write(folder.join(format!("{file:05}.csv")), text).map_err(failed)?;
        }
        Ok((folder, written))
    }

    fn translate(&self, folder: &Path, files: usize, workers: usize) -> Result<Usage, String> {
        self.translate_with(folder, files, workers, &[])
    }

    /// Translates a folder, or its only file.
    fn translate_with(&self, folder: &Path, files: usize, workers: usize, words: &[&str]) -> Result<Usage, String> {
        let input = if files == 1 { folder.join("00000.csv") } else { folder.to_owned() };
        let out = self.fresh("out")?;
        let output = if files == 1 { out.join("out.jsonl") } else { out };
        process::run(self.program, &self.command(&[input.into()], &output, workers, words), None)
    }

    fn command(&self, inputs: &[OsString], output: &Path, workers: usize, words: &[&str]) -> Vec<OsString> {
        let mut command: Vec<OsString> = vec![self.program.into(), "translate".into(), "--map".into()];
        command.extend([self.root.join("rows.qmap").into(), "-o".into(), output.into()]);
        command.extend(["-j".into(), workers.to_string().into()]);
        command.extend(words.iter().map(OsString::from));
        command.extend(inputs.iter().cloned());
        command
    }

    /// Translates the files of a folder by several processes at once, each with its part of them.
    fn at_once(&self, folder: &Path, workers: usize) -> Result<Duration, String> {
        let mut parts: Vec<Vec<OsString>> = vec![Vec::new(); workers];
        let entries = std::fs::read_dir(folder).map_err(|error| system_error_text(&error))?;
        for (number, entry) in entries.flatten().enumerate() {
            parts[number % workers].push(entry.path().into());
        }
        let out = self.fresh("out")?;
        let began = Instant::now();
        let done: Result<Vec<Usage>, String> = std::thread::scope(|scope| {
            let threads: Vec<_> = parts
                .iter()
                .filter(|part| !part.is_empty())
                .map(|part| scope.spawn(|| process::run(self.program, &self.command(part, &out, 1, &[]), None)))
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?);
            ended.collect()
        });
        done.map(|_| began.elapsed())
    }

    /// Copies the files of a folder and syncs the copies.
    fn copy(&self, folder: &Path) -> Result<Duration, String> {
        let to = self.fresh("copy")?;
        let began = Instant::now();
        let copy = || -> std::io::Result<()> {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                let path = to.join(entry.file_name());
                std::fs::copy(entry.path(), &path)?;
                std::fs::File::open(&path)?.sync_all()?;
            }
            Ok(())
        };
        copy().map_err(|error| format!("{}: {}", folder.display(), system_error_text(&error)))?;
        Ok(began.elapsed())
    }

    /// Returns an empty folder.
    fn fresh(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.root.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {}", folder.display(), system_error_text(&error)))?;
        Ok(folder)
    }
}

/// Returns the run with the shortest time.
fn least(runs: impl Iterator<Item = Result<Usage, String>>) -> Result<Usage, String> {
    let runs: Vec<Usage> = runs.collect::<Result<_, _>>()?;
    runs.into_iter().min_by_key(|used| used.wall).ok_or_else(|| "nothing ran".to_owned())
}
