//! `quayline partner receive` compared with `quayline translate` of the same documents, and many envelopes that wait at once.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::median;
use crate::process::{self, Usage};
use quayline_measure::partner_study::world::{self, Project};

/// The programs to measure, and a folder for projects.
#[derive(Clone, Copy, Debug)]
pub struct Programs<'p> {
    /// The `quayline` command.
    pub quayline: &'p Path,
    /// Path of this program.
    pub this: &'p Path,
    /// A folder whose content may be replaced.
    pub folder: &'p Path,
}

/// Received format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Received {
    /// 10,000 orders of about 2 KB in interchanges of 100.
    Orders,
    /// 10,000 claims in two transactions of one interchange.
    Claims,
}

/// Settings that disable all optional features of a partner.
pub const OFF: &str =
    "validate = \"envelope\"\nacknowledge = []\nduplicates = \"accept\"\ngaps = \"ignore\"\nkeep = \"rejected\"";
/// Settings of a typical business, except the check by guide, which `translate` does not do either.
pub const ON: &str =
    "validate = \"envelope\"\nacknowledge = [\"997\"]\nduplicates = \"reject\"\ngaps = \"warn\"\nkeep = \"all\"";
/// Settings of a typical business, including the check by guide.
pub const CHECKED: &str = "acknowledge = [\"997\"]\nduplicates = \"reject\"\ngaps = \"warn\"\nkeep = \"all\"";

/// CPU seconds of receiving, with given settings and number of transactions in a unit of work, and of translating.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// `quayline partner receive`.
    pub receive: f64,
    /// `quayline translate`.
    pub translate: f64,
    /// Elapsed seconds of both.
    pub elapsed: (f64, f64),
    /// Largest resident memory of receiving.
    pub peak_bytes: u64,
}

/// Repetitions; the median counts.
const TIMES: usize = 5;

/// Measures receiving and translating in turns.
///
/// # Errors
/// A command does not end with 0.
pub fn cost(programs: Programs<'_>, what: Received, settings: &str, unit: u32) -> Result<Cost, String> {
    let project = Project::new(&programs.folder.join("partner-cost"))?;
    project.sender(&format!("{settings}\nguides = [\"{}\"]", guide(what)))?;
    let input = project.path("in.x12");
    let bytes = match what {
        Received::Orders => world::orders(100, 100).into_bytes(),
        Received::Claims => world::claims(10_000),
    };
    std::fs::write(&input, bytes).map_err(|error| error.to_string())?;
    let map = project.path(if what == Received::Orders { "maps/in.qmap" } else { "maps/claims.qmap" });
    let translate: Vec<OsString> = vec![
        programs.quayline.into(),
        "translate".into(),
        "--quiet".into(),
        "--jobs=1".into(),
        "--map".into(),
        map.into(),
        input.clone().into(),
        "-o".into(),
        project.path("out.jsonl").into(),
    ];
    let receive: Vec<OsString> = vec![
        programs.quayline.into(),
        "partner".into(),
        "receive".into(),
        "--project".into(),
        project.folder().into(),
        format!("--commit-interval={unit}").into(),
        input.into(),
    ];
    let mut runs: Vec<(Usage, Usage)> = Vec::new();
    for _ in 0..TIMES {
        let translated = process::run(programs.this, &translate, None)?;
        fresh_store(programs.quayline, &project)?;
        runs.push((process::run(programs.this, &receive, None)?, translated));
    }
    Ok(Cost {
        receive: median(runs.iter().map(|(receive, _)| receive.cpu.as_secs_f64())),
        translate: median(runs.iter().map(|(_, translate)| translate.cpu.as_secs_f64())),
        elapsed: (
            median(runs.iter().map(|(receive, _)| receive.wall.as_secs_f64())),
            median(runs.iter().map(|(_, translate)| translate.wall.as_secs_f64())),
        ),
        peak_bytes: runs.iter().map(|(receive, _)| receive.peak_bytes).max().unwrap_or_default(),
    })
}

fn guide(what: Received) -> &'static str {
    match what {
        Received::Orders => "850.guide",
        Received::Claims => "837p.guide",
    }
}

/// Creates a new store with the queues of the projects.
fn fresh_store(quayline: &Path, project: &Project) -> Result<(), String> {
    let data = project.path("data");
    // Remove the data of the previous run.
    let _ = std::fs::remove_dir_all(&data);
    for queue in ["IN", "OUT"] {
        let status = Command::new(quayline)
            .args(["queue", "define", queue, "--depth-max=10000000", "--message-max=100000000", "--store"])
            .arg(&data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !status.map_err(|error| error.to_string())?.success() {
            return Err(format!("queue {queue} cannot be defined in {}", data.display()));
        }
    }
    Ok(())
}

/// Queues one document for each of this many partners, and then closes all envelopes. Returns the cost of both commands.
///
/// # Errors
/// A command does not exit with 0.
pub fn envelopes(programs: Programs<'_>, partners: usize) -> Result<(Usage, Usage), String> {
    let project = Project::new(&programs.folder.join("partner-envelopes"))?;
    project.receivers(partners)?;
    project.write("many.jsonl", &world::short_orders(partners))?;
    fresh_store(programs.quayline, &project)?;
    let run = |arguments: &[&str]| {
        let mut command: Vec<OsString> = vec![programs.quayline.into()];
        command.extend(arguments.iter().map(OsString::from));
        command.extend([OsString::from("--project"), project.folder().into()]);
        process::run(programs.this, &command, None)
    };
    let file = project.path("many.jsonl");
    let sent = run(&["partner", "send", "--document", "many", &file.display().to_string()])?;
    let released = run(&["envelope", "release", "--all"])?;
    Ok((sent, released))
}
