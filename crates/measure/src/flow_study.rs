//! The samples of IBM's report on VSAM nodes, in process and over AMQP. Applications put a request, get the first reply and commit each. Flows have
//! three additional instances, and messages are persistent or not.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use quayline_flow::{CpuPart, EngineOptions};
use quayline_store::queue::Persistence;

use crate::flow_bed::{Applications, Drive, FLOW_RECORDS, FlowBed, Holds, bare_syncs};

/// CPU µs of the report for a flow that opens the file and reads one record, on a 2084-304.
const OPEN_AND_READ_US: f64 = 7_750.0;
/// Capacity of a 2064-1C5 by that of a 2084-304 per processor, from the report's ITR of 2.35.
const CAPACITY: f64 = 0.52;
/// The same ratio from the ITR of 1.47 that the report's text states.
const CAPACITY_OF_TEXT: f64 = 0.33;
/// Bytes of buffers in the report: the default, sizes around it, and 1 MiB. The last size is ours.
const BUFFERS: [usize; 6] = [37_376, 38_400, 39_424, 76_288, 1 << 20, 32 << 20];

/// Returns the report's conversion of CPU time between machines.
pub(crate) fn converted() -> String {
    let (right, wrong) = (OPEN_AND_READ_US / CAPACITY, OPEN_AND_READ_US / CAPACITY_OF_TEXT);
    format!(
        "The report gives one absolute figure: {OPEN_AND_READ_US:.0} µs of CPU time on a 2084-304 for a flow that opens a file and reads one record. Its section \
         1.3 converts this to {right:.0} µs on a 2064-1C5, by a ratio of {CAPACITY} from an ITR of 2.35. The text before states an ITR of 1.47, which would \
         give {wrong:.0} µs."
    )
}

/// Time until changes in memory are applied: the interval of the engine and the duration of the work.
const APPLIED: Duration = Duration::from_millis(2_500);

/// Sample 3 in another way.
struct Read {
    title: String,
    files: u32,
    keep_open: &'static str,
    cache_bytes: Option<usize>,
    applications: usize,
    /// Requests at most.
    limit: u64,
}

/// Returns the variants of sample 3 for a name, such as `files`; `None` for an unknown name.
fn variants(name: &str) -> Option<Vec<Read>> {
    let read = |title: &str| Read {
        title: title.to_owned(),
        files: 1,
        keep_open: "until_idle",
        cache_bytes: None,
        applications: 5,
        limit: u64::MAX,
    };
    Some(match name {
        "files" => vec![read("one file"), Read { files: 5, ..read("5 files") }],
        "open" => vec![
            Read { applications: 1, limit: 1, ..read("first message, which opens the file") },
            Read { applications: 1, keep_open: "always", ..read("kept open") },
            Read { applications: 1, keep_open: "per_message", ..read("opened for each message") },
        ],
        "buffers" => {
            let with = |bytes: usize| Read { cache_bytes: Some(bytes), ..read(&format!("{bytes} bytes of buffers")) };
            BUFFERS.into_iter().map(with).collect()
        }
        _ => return None,
    })
}

/// Settings of the study.
#[derive(Clone, Debug)]
pub struct FlowStudyOptions {
    /// Folder of the sample flows.
    pub project: PathBuf,
    /// Folder for the data of each run; it is emptied.
    pub scratch: PathBuf,
    /// Seconds of each run.
    pub seconds: f64,
    /// Numbers of applications.
    pub applications: Vec<usize>,
    /// Samples: `1`, `2b`, `3`, `4`, `5`; `files`, `open` and `buffers` are sample 3 with several files, opened in several ways, with less memory.
    pub samples: Vec<String>,
    /// Additional instances of the flows.
    pub instances: u32,
    /// Whether the samples with applications also run over AMQP.
    pub over_amqp: bool,
}

/// One run of a sample.
#[derive(Clone, Debug)]
pub struct FlowRun {
    /// Name of the sample and of its variant.
    pub title: String,
    /// Whether messages are persistent.
    pub persistence: Persistence,
    /// Applications.
    pub applications: usize,
    /// Messages (records, for sample 1).
    pub messages: u64,
    /// Time of the run.
    pub elapsed: Duration,
    /// CPU µs of each message: of the applications, of the threads of flows, of the store's own threads.
    pub driver_us: f64,
    /// See [`Self::driver_us`].
    pub flow_us: f64,
    /// See [`Self::driver_us`].
    pub store_us: f64,
    /// CPU time of the AMQP listener's threads for each message, in µs.
    pub listener_us: f64,
    /// CPU µs of each message on the threads of flows: queues, files, flow, commit; from samples.
    pub parts: [f64; 4],
    /// Waits for commits for each message, in µs ([`Drive::commit_wait_us`]).
    pub commit_wait_us: f64,
    /// Bare appends with sync a second, just before the run.
    pub syncs: f64,
}

impl FlowRun {
    fn of(title: &str, persistence: Persistence, applications: usize, drive: &Drive, syncs: f64) -> FlowRun {
        let each = |ns: f64| ns / 1_000.0 / drive.messages.max(1) as f64;
        let all_ns = drive.cpu.as_nanos() as f64;
        FlowRun {
            title: title.to_owned(),
            persistence,
            applications,
            messages: drive.messages,
            elapsed: drive.elapsed,
            driver_us: each(drive.driver_ns),
            flow_us: each(drive.flow_ns),
            store_us: each((all_ns - drive.flow_ns - drive.listener_ns - drive.driver_ns).max(0.0)),
            listener_us: each(drive.listener_ns),
            parts: drive.parts,
            commit_wait_us: drive.commit_wait_us,
            syncs,
        }
    }

    /// Messages a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.messages as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// The runs of all samples.
#[derive(Clone, Debug, Default)]
pub struct FlowStudy {
    /// Runs in the order of the report.
    pub runs: Vec<FlowRun>,
    /// Failed runs, with the reasons.
    pub failures: Vec<String>,
}

impl FlowStudy {
    /// Runs the samples.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn run(options: &FlowStudyOptions, progress: &dyn Fn(&str)) -> Result<FlowStudy, String> {
        let mut study = FlowStudy::default();
        for sample in &options.samples {
            for persistence in [Persistence::NotPersistent, Persistence::Persistent] {
                if sample == "1" {
                    for records in [FLOW_RECORDS, 1] {
                        progress(&format!("sample 1, {records} records"));
                        study.pass(options, records, persistence)?;
                    }
                    continue;
                }
                if let Some(reads) = variants(sample) {
                    for read in reads {
                        progress(&format!("sample 3, {}", read.title));
                        study.read(options, &read, persistence)?;
                    }
                    continue;
                }
                for applications in &options.applications {
                    progress(&format!("sample {sample}, {applications} applications"));
                    study.requests(options, sample, Applications::Threads(*applications), persistence)?;
                    if options.over_amqp {
                        progress(&format!("sample {sample}, {applications} applications, over AMQP"));
                        study.requests(options, sample, Applications::Amqp(*applications), persistence)?;
                    }
                }
            }
        }
        Ok(study)
    }

    /// Measures a variant of sample 3.
    fn read(&mut self, options: &FlowStudyOptions, read: &Read, persistence: Persistence) -> Result<(), String> {
        let was = "keep_open = \"until_idle\"";
        let now = format!("keep_open = \"{}\"", read.keep_open);
        let folder = options.scratch.join("flow");
        let flow = FlowBed::changed(&options.project, "3", options.instances, (was, &now), &folder)?;
        let holds = Holds { files: read.files, cache_bytes: read.cache_bytes, ..Holds::records(FLOW_RECORDS) };
        let bed = FlowBed::with(&options.scratch.join("data"), flow, holds, EngineOptions::default())?;
        if read.cache_bytes.is_some() {
            // Until they are applied, changes are read from memory, whatever the cache.
            std::thread::sleep(APPLIED);
        }
        let syncs = bare_syncs(&options.scratch)?;
        let time = Duration::from_secs_f64(options.seconds);
        let drive = bed.requests("3", Applications::Threads(read.applications), persistence, time, read.limit)?;
        let title = format!("3 Read, {}", read.title);
        self.runs.push(FlowRun::of(&title, persistence, read.applications, &drive, syncs));
        self.failures.extend(bed.end());
        Ok(())
    }

    fn bed(options: &FlowStudyOptions, sample: &str, records: u32) -> Result<FlowBed, String> {
        let flow = FlowBed::sample(&options.project, sample, options.instances)?;
        FlowBed::new(&options.scratch.join("data"), flow, records, EngineOptions::default())
    }

    /// Measures sample 1: one request produces one message for each record.
    fn pass(&mut self, options: &FlowStudyOptions, records: u32, persistence: Persistence) -> Result<(), String> {
        let bed = Self::bed(options, "1", records)?;
        let syncs = bare_syncs(&options.scratch)?;
        let drive = bed.pass(records, persistence)?;
        let title = if records == 1 { "1 Input, a file of one record" } else { "1 Input" };
        self.runs.push(FlowRun::of(title, persistence, 1, &drive, syncs));
        self.failures.extend(bed.end());
        Ok(())
    }

    /// Measures one of the other samples, in which each request gets a reply.
    fn requests(
        &mut self,
        options: &FlowStudyOptions,
        sample: &str,
        applications: Applications,
        persistence: Persistence,
    ) -> Result<(), String> {
        let bed = Self::bed(options, sample, FLOW_RECORDS)?;
        let mut limit = u64::MAX;
        if sample == "5" {
            // The records that sample 2B adds; here they are added before the clock starts.
            let wanted = (options.seconds * 20_000.0).max(100.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of records, far below the bound"
            )]
            let wanted = wanted as u64;
            bed.add_records(wanted)?;
            limit = wanted;
        }
        let syncs = bare_syncs(&options.scratch)?;
        let time = Duration::from_secs_f64(options.seconds);
        let drive = bed.requests(sample, applications, persistence, time, limit)?;
        let title = match sample {
            "2b" => "2B Write",
            "3" => "3 Read",
            "4" => "4 Update",
            _ => "5 Delete",
        };
        let way = if matches!(applications, Applications::Amqp(_)) { ", over AMQP" } else { "" };
        let title = format!("{title}{way}");
        self.runs.push(FlowRun::of(&title, persistence, applications.count(), &drive, syncs));
        self.failures.extend(bed.end());
        Ok(())
    }

    /// Returns the tables as Markdown.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut text = String::from(
            "| sample | messages | applications | msg/s | CPU µs: driver | listener | flow threads | store threads | of the flow threads: queues | files | flow | commit | commit wait, µs | syncs/s | commits in syncs |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for run in &self.runs {
            let is_persistent = run.persistence == Persistence::Persistent;
            let commits = if is_persistent { format!("{:.2}", run.syncs / run.rate()) } else { "-".to_owned() };
            let part = |part: CpuPart| format!("{:.1}", run.parts[part as usize]);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {} | {} | {} | {} | {:.0} | {:.0} | {commits} |",
                run.title,
                if is_persistent { "persistent" } else { "not persistent" },
                run.applications,
                run.rate(),
                run.driver_us,
                run.listener_us,
                run.flow_us,
                run.store_us,
                part(CpuPart::Queues),
                part(CpuPart::Files),
                part(CpuPart::Flow),
                part(CpuPart::Commit),
                run.commit_wait_us,
                run.syncs,
            );
        }
        text.push_str(
            "\nA message is a request with its reply; in sample 1 it is a record. CPU is per message. `syncs/s` is one thread that appends and syncs, measured\n\
             just before the run; `commits in syncs` is the time of a message in such syncs. The split of the flow threads is measured in one unit of work of 32.\n\
             `commit wait` is the time for which the units of work of a message, three for a request, waited for their commits. Units wait at the same time.\n",
        );
        let _ = writeln!(text, "\n{}", converted());
        for failure in &self.failures {
            let _ = writeln!(text, "\nfailed: {failure}");
        }
        text
    }
}
