//! Arguments of `quayline selftest`, `check-report`, `predict`, `size`, `advise` and `calibrate`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use crate::quantity::{Duration, KernelPart, Percent};

/// Arguments of `quayline selftest`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SELFTEST_EXAMPLES)]
pub(crate) struct SelftestArgs {
    /// Area to test
    #[arg(value_enum)]
    pub(crate) area: SelftestArea,
    /// Print every figure, not only each group
    #[arg(long)]
    pub(crate) all: bool,
    /// Answer as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Areas with a self-test.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum SelftestArea {
    /// Queueing and planning models
    Capacity,
}

const SELFTEST_EXAMPLES: &str = "\
Quayline computes published answers again: queueing networks, single stations, blocking, scalability
fits and the worked examples of the documents that its planning models answer. The exit code is 0 if
every figure is within its tolerance, 70 otherwise.

Examples:
  quayline selftest capacity
  quayline selftest capacity --all --json";

/// Arguments of `quayline check-report`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = CHECK_REPORT_EXAMPLES)]
pub(crate) struct CheckReportArgs {
    /// Figures of a report, as TOML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const CHECK_REPORT_EXAMPLES: &str = "\
The file has one [[figure]] for each statement of the report, with `place`, `law` and the numbers as
they are printed. A number means every value that rounds to it, so rounding alone is never
reported. docs/reference/capacity.md lists the laws and their keys.

  [[figure]]
  place = \"section 10.1\"
  law = \"response\"
  users = 100
  think = 0.5
  throughput = 200

Examples:
  quayline check-report figures.toml
  quayline check-report figures.toml --json";

/// Arguments of `quayline predict`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_long_help = PREDICT_EXAMPLES)]
pub(crate) struct PredictArgs {
    /// What to do instead of predicting.
    #[command(subcommand)]
    pub(crate) command: Option<PredictCommand>,
    /// Stations and demands, as TOML [default: --cpu and --cores]
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Users; several are separated by commas
    #[arg(long, required = true, value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) users: Vec<u32>,
    /// Think time, such as 500ms [default: the model's, or 0s]
    #[arg(long, value_name = "TIME")]
    pub(crate) think: Option<Duration>,
    /// CPU time of a transaction, such as 15us
    #[arg(long, value_name = "TIME", conflicts_with = "model", required_unless_present = "model")]
    pub(crate) cpu: Option<Duration>,
    /// Processors that share the CPU time
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "model", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) cores: u32,
    /// Time of a transaction in which it uses and waits for nothing here
    #[arg(long, value_name = "TIME", conflicts_with = "model")]
    pub(crate) delay: Option<Duration>,
    #[command(flatten)]
    pub(crate) objective: ObjectiveArgs,
    /// Simulate N transactions too, for each load
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1_000..=2_000_000))]
    pub(crate) simulate: Option<u64>,
    /// Seed of the simulation
    #[arg(long, default_value_t = 1, value_name = "N", requires = "simulate")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) answer: KeepArgs,
}

/// Where a prediction is kept.
#[derive(Debug, clap::Args)]
pub(crate) struct KeepArgs {
    /// Keep the prediction for `quayline predict audit`
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Objectives of a prediction, and the growth toward them.
#[derive(Debug, clap::Args)]
pub(crate) struct ObjectiveArgs {
    /// Objective: largest mean response time
    #[arg(long, value_name = "TIME")]
    pub(crate) response_max: Option<Duration>,
    /// Objective: largest 95th percentile of the response time
    #[arg(long, value_name = "TIME")]
    pub(crate) p95_max: Option<Duration>,
    /// Objective: largest utilization [default: 70%, as advice]
    #[arg(long, value_name = "PERCENT", value_parser = utilization)]
    pub(crate) utilization_max: Option<Percent>,
    /// Growth of users or workers in a month, for the date of exhaustion
    #[arg(long, value_name = "PERCENT")]
    pub(crate) growth: Option<Percent>,
    /// Date from which growth counts, YYYY-MM-DD
    #[arg(id = "growth-from", long = "from", value_name = "DATE", requires = "growth")]
    pub(crate) growth_from: Option<String>,
}

/// A utilization above 0 and up to 100 %.
fn utilization(text: &str) -> Result<Percent, String> {
    let percent: Percent = text.parse()?;
    if percent.0.0 > 0.0 && percent.0.0 <= 1.0 {
        return Ok(percent);
    }
    Err("expected a percentage above 0 % and at most 100 %, because no station is busier".to_owned())
}

/// A difference of 0 % or more.
fn tolerance(text: &str) -> Result<Percent, String> {
    let percent: Percent = text.parse()?;
    if percent.0.0 >= 0.0 {
        return Ok(percent);
    }
    Err("expected a percentage of 0 % or more".to_owned())
}

/// What `quayline predict` does with saved predictions.
#[derive(Debug, Subcommand)]
pub(crate) enum PredictCommand {
    /// Compare a saved prediction with measurements
    Audit(PredictAuditArgs),
    /// Predict the elapsed time of a batch step by its item count
    ItemCount(PredictItemCountArgs),
    /// Predict throughput by the number of workers, partitions or instances
    Scaling(PredictScalingArgs),
    /// Predict CPU time by bytes, fields and connections
    Cost(PredictCostArgs),
    /// Predict the throughput of a flow, job or operation from its measured demands
    Work(PredictWorkArgs),
}

/// Arguments of `quayline predict work`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = PREDICT_WORK_EXAMPLES)]
pub(crate) struct PredictWorkArgs {
    /// Flow (TOML) or job (XML), whose instances or partitions are the workers; or an API in `apis/`, whose users are
    #[arg(value_name = "DEFINITION", required_unless_present_any = ["member", "profile"])]
    pub(crate) definition: Option<PathBuf>,
    /// Profile of `convert --profile` or `translate --profile`, whose threads are the workers
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["definition", "member", "project", "admin", "store", "intervals", "last", "think", "contended"]
    )]
    pub(crate) profile: Option<PathBuf>,
    /// Name in the intervals, such as flow:orders, job:settle or api:getOrder [default: that of the definition]
    #[arg(long, value_name = "NAME")]
    pub(crate) member: Option<String>,
    #[command(flatten)]
    pub(crate) from: IntervalArgs,
    /// Job parameter, if the job needs it for its partitions
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Workers at once; several are separated by commas [default: those of the definition]
    #[arg(long, visible_alias = "users", value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) workers: Vec<u32>,
    /// Items of a job, for the elapsed time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) items: Option<u64>,
    /// Think time between two transactions of a worker
    #[arg(long, value_name = "TIME")]
    pub(crate) think: Option<Duration>,
    /// What if: number of processors [default: that of the server]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) processors: Option<u32>,
    /// What if: factor by which each processor is faster
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    pub(crate) faster: f64,
    /// Assume that the other work of the machine continues: measured waits for a processor count as CPU time
    #[arg(long)]
    pub(crate) contended: bool,
    #[command(flatten)]
    pub(crate) objective: ObjectiveArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) answer: KeepArgs,
}

/// A number above 0.
fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("expected a number above 0".to_owned()),
    }
}

const PREDICT_WORK_EXAMPLES: &str = "\
Quayline takes the CPU time, the store's time and the rest of the response time of one transaction from
collected intervals (see `quayline report component`), and solves the network of processors, store and
delay for each number of workers. The steps of a job are predicted in their order, and those of a split
at once. The operations of an API share processors, workers of programs and connections of databases in
the measured mix. Measure with one worker on a quiet machine: demands that were measured
under load contain waits.

Examples:
  quayline predict work flows/orders.toml --admin 127.0.0.1:9090
  quayline predict work jobs/settle.xml --store data --workers 1,2,4,8 --items 1000000
  quayline job start jobs/settle.xml --intervals run.json
  quayline predict work jobs/settle.xml --intervals run.json --items 5000000
  quayline predict work apis/orders.toml --intervals intervals.json --users 100,500 --think 500ms
  quayline predict work --member api:getOrder --intervals intervals.json --workers 10,100 --think 500ms
  quayline predict work jobs/settle.xml --processors 8 --faster 1.5
  quayline predict work flows/orders.toml --store data --workers 4 --p95-max 50ms --growth 3% --from 2026-12-01
  quayline predict work --profile convert.json --workers 1,2,4,8 --items 10000000";

/// Arguments of `quayline predict item-count`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = PREDICT_ITEM_COUNT_EXAMPLES)]
pub(crate) struct PredictItemCountArgs {
    /// Measured runs, as TOML
    #[arg(value_name = "RUNS")]
    pub(crate) file: PathBuf,
    /// Item counts to predict; several are separated by commas
    #[arg(long, value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) item_count: Vec<u64>,
    /// Part of the time that checkpoints may take
    #[arg(long, default_value = "2%", value_name = "PERCENT")]
    pub(crate) overhead: Percent,
    /// Mean time between failures, such as 24h
    #[arg(long, value_name = "TIME")]
    pub(crate) between_failures: Option<Duration>,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const PREDICT_ITEM_COUNT_EXAMPLES: &str = "\
Runs of one step with different item counts give the time without checkpoints and the time of one. Two runs are
enough; a third shows the error.

  records = 10000000
  [[run]]
  item-count = 250
  elapsed = \"373s\"

Examples:
  quayline predict item-count runs.toml --item-count 100,1000,5000
  quayline predict item-count runs.toml --between-failures 24h";

/// Arguments of `quayline predict scaling`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = PREDICT_SCALING_EXAMPLES)]
pub(crate) struct PredictScalingArgs {
    /// Measured runs, as TOML
    #[arg(value_name = "RUNS")]
    pub(crate) file: PathBuf,
    /// Numbers of workers to predict; several are separated by commas
    #[arg(long, value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) workers: Vec<u32>,
    #[command(flatten)]
    pub(crate) answer: KeepArgs,
}

const PREDICT_SCALING_EXAMPLES: &str = "\
Quayline fits the Universal Scalability Law and names the peak. It refuses numbers of workers beyond twice the
largest measured one, unless the 95 % interval is narrower than 20 %.

  [[run]]
  workers = 4
  throughput = 41000

Examples:
  quayline predict scaling runs.toml
  quayline predict scaling runs.toml --workers 24,32 --keep prediction.json";

/// Arguments of `quayline predict cost`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = PREDICT_COST_EXAMPLES)]
pub(crate) struct PredictCostArgs {
    /// Measured runs and what-ifs, as TOML
    #[arg(value_name = "RUNS")]
    pub(crate) file: PathBuf,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const PREDICT_COST_EXAMPLES: &str = "\
Runs with different sizes give the CPU time of a transaction, a byte, a field and a connection. Each [[what-if]]
is predicted; its change is relative to the first one.

  [[run]]
  bytes = 64000
  fields = 2100
  cost = \"15us\"

  [[what-if]]
  name = \"all fields\"
  bytes = 64000
  fields = 2100

  [[what-if]]
  name = \"without the dealers\"
  bytes = 30000
  fields = 900

Examples:
  quayline predict cost runs.toml";

/// Arguments of `quayline predict audit`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = PREDICT_AUDIT_EXAMPLES)]
pub(crate) struct PredictAuditArgs {
    /// Prediction that was kept with --keep
    #[arg(value_name = "PREDICTION")]
    pub(crate) prediction: PathBuf,
    /// Measured loads, as TOML [default: collected intervals of what was predicted]
    #[arg(value_name = "MEASURED", conflicts_with_all = ["project", "admin", "store", "intervals", "last"])]
    pub(crate) measured: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) from: IntervalArgs,
    /// Largest error of the throughput
    #[arg(long, default_value = "5%", value_name = "PERCENT", value_parser = tolerance)]
    pub(crate) throughput_tolerance: Percent,
    /// Largest error of the mean response time
    #[arg(long, default_value = "15%", value_name = "PERCENT", value_parser = tolerance)]
    pub(crate) response_tolerance: Percent,
    /// Append the errors to a log, and look for drift in it
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const PREDICT_AUDIT_EXAMPLES: &str = "\
The file of measured loads has one [[measured]] for each number of users:

  [[measured]]
  users = 100
  throughput = 186.9
  response = \"34ms\"
  p95 = \"95ms\"

Quayline prints the error of each figure, and warns if measured numbers break Little's law. The exit code is 5
if an error exceeds its tolerance. Without the file, each collected interval of the predicted flow or API member is a load: keep a prediction of
`predict work` for several numbers of workers, which include those that come. With --log, an error of more than twice its median before is reported as drift.

Examples:
  quayline predict gateway.toml --users 100,200 --keep prediction.json
  quayline predict audit prediction.json measured.toml --log audits.jsonl
  quayline predict work flows/orders.toml --store data --workers 1,2,4,8 --keep prediction.json
  quayline predict audit prediction.json --admin 127.0.0.1:9090 --log audits.jsonl";

/// Arguments of every command that writes a report.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Write NAME.html, NAME.csv and NAME.json
    #[arg(long, value_name = "NAME")]
    pub(crate) report: Option<PathBuf>,
    /// Compare with the JSON of an earlier report
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Largest change that is not a regression
    #[arg(long, default_value = "5%", value_name = "PERCENT", value_parser = tolerance, requires = "baseline")]
    pub(crate) tolerance: Percent,
}

const PREDICT_EXAMPLES: &str = "\
Quayline solves the closed queueing network of the model exactly (multi-server stations included) and
prints throughput, response time with percentiles, utilization, the bottleneck and the largest number
of users that keeps the objectives. Demands that were measured on a busy machine contain its
neighbours; measure with one user. docs/reference/capacity.md lists the keys of a model.

With --simulate, Quayline moves single customers through the stations instead: bounded queues and times that
are not exponential count, and percentiles are those of the customers.

The exit code is 1 if the largest number of users misses an objective of the command line, and 4 if a figure is
worse than in the baseline.

Examples:
  quayline predict --users 100,500,1000 --think 500ms --cpu 2ms --cores 4 --p95-max 50ms
  quayline predict gateway.toml --users 500 --growth 3% --from 2026-01-01
  quayline predict gateway.toml --users 100,200 --simulate 100000
  quayline predict gateway.toml --users 100,200 --report today --baseline yesterday.json";

/// Arguments of `quayline size`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SIZE_EXAMPLES)]
pub(crate) struct SizeArgs {
    /// Workloads, machines and target, as TOML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const SIZE_EXAMPLES: &str = "\
The file has a [[workload]] for each kind of transaction at its peak hour, a [[machine]] for each
choice, and a target utilization. Quayline names the smallest machine that fits, with memory and
disk, after the growth of each workload. The exit code is 1 if no machine fits.
docs/reference/capacity.md lists all keys.

Examples:
  quayline size web.toml
  quayline size web.toml --json";

/// Arguments of `quayline advise`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_long_help = ADVISE_EXAMPLES)]
pub(crate) struct AdviseArgs {
    /// Measured values, as TOML
    #[arg(value_name = "FILE", conflicts_with_all = ["project", "admin", "intervals", "store", "last", "class"])]
    pub(crate) file: Option<PathBuf>,
    /// Print every rule with its metrics and their units
    #[arg(long, conflicts_with_all = ["file", "project", "admin", "intervals", "store", "last", "class", "json"])]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) from: IntervalArgs,
    /// Advise on one class, or on one member such as job:settle
    #[arg(long, value_name = "NAME")]
    pub(crate) class: Option<String>,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const ADVISE_EXAMPLES: &str = "\
Without a file, Quayline reads the intervals that a server has collected: of the server of the
project, of a listener for operators, of a store, or of a file. With --class, it advises on one class,
flow or job. A file has a table [measured] with a number, true or false for each metric. A rule whose
metrics were not measured says nothing.

  [measured]
  journal-writes = 4000
  commit-interval = 25

Examples:
  quayline advise --list
  quayline advise --admin 127.0.0.1:9090
  quayline advise --store data --class job:settle
  quayline advise measured.toml";

/// Where collected intervals come from.
#[derive(Debug, clap::Args)]
pub(crate) struct IntervalArgs {
    /// Folder of the project whose server is queried [default: .]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Address and port of a listener for operators
    #[arg(long, value_name = "ADDRESS", conflicts_with = "project")]
    pub(crate) admin: Option<std::net::SocketAddr>,
    /// Data folder of a server that does not run
    #[arg(long, value_name = "DIR", conflicts_with_all = ["project", "admin"])]
    pub(crate) store: Option<PathBuf>,
    /// File of intervals: the answer of --json, or lines of `keep-file`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["project", "admin", "store"])]
    pub(crate) intervals: Option<PathBuf>,
    /// Number of the last intervals to read
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) last: u32,
}

/// Report what the classes of work of a server did.
#[derive(Debug, clap::Args)]
#[command(after_long_help = WORK_REPORT_EXAMPLES)]
pub(crate) struct WorkReportArgs {
    /// What to report.
    #[command(subcommand)]
    pub(crate) command: WorkReportCommand,
}

/// What `quayline report` does.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkReportCommand {
    /// Report the system, each class, its members, and each interval
    Component(ComponentArgs),
}

/// Arguments of `quayline report component`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = WORK_REPORT_EXAMPLES)]
pub(crate) struct ComponentArgs {
    #[command(flatten)]
    pub(crate) from: IntervalArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Answer with the intervals as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const WORK_REPORT_EXAMPLES: &str = "\
`quayline serve` collects what each class of work does in an interval: API, flow, batch and
translation, or classes of [workload] in quayline.toml. docs/reference/workload.md explains each figure.

The exit code is 6 if more than 2 % of the CPU time is in no class.

Examples:
  quayline report component
  quayline report component --admin 127.0.0.1:9090 --last 15
  quayline report component --store data --last 1440 --report yesterday
  quayline report component --json > intervals.json
  quayline report component --intervals intervals.json";

/// Show what transactions cost, or predict more of them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = PROFILE_EXAMPLES)]
pub(crate) struct ProfileArgs {
    /// What to do with a profile.
    #[command(subcommand)]
    pub(crate) command: ProfileCommand,
}

/// What `quayline profile` does.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// Show the cost of a transaction by phase, and compare it with an earlier report
    Show(ProfileShowArgs),
    /// Print a class as a model for `quayline predict`
    Model(ProfileModelArgs),
}

/// Arguments of `quayline profile show`.
#[derive(Debug, clap::Args)]
pub(crate) struct ProfileShowArgs {
    /// Profile that `convert --profile` wrote or a server returned
    #[arg(value_name = "PROFILE")]
    pub(crate) profile: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline profile model`.
#[derive(Debug, clap::Args)]
pub(crate) struct ProfileModelArgs {
    /// Profile that `convert --profile` wrote or a server returned
    #[arg(value_name = "PROFILE")]
    pub(crate) profile: PathBuf,
    /// Class to model; needed if the profile has several
    #[arg(long, value_name = "NAME")]
    pub(crate) class: Option<String>,
}

const PROFILE_EXAMPLES: &str = "\
A profile has the time of each phase for each class of transactions: the operations of a server since its
start, or the records of one run.

Examples:
  quayline convert orders.dat -c orders.cpy -e cp037 -o orders.jsonl --profile orders.profile.json
  curl -s http://localhost:9090/profile > server.profile.json
  quayline profile show server.profile.json --report today
  quayline profile model server.profile.json --class getModels > getModels.toml
  quayline predict getModels.toml --users 100,500 --think 500ms";

/// Arguments of `quayline calibrate`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = CALIBRATE_EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// What to do instead of rating this machine.
    #[command(subcommand)]
    pub(crate) command: Option<CalibrateCommand>,
    /// Write the profile to FILE
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Folder on the disk to rate [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Time for each kernel on each number of threads
    #[arg(long, default_value = "600ms", value_name = "TIME")]
    pub(crate) time: Duration,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `quayline calibrate` does with profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum CalibrateCommand {
    /// Compare two profiles of one machine
    Compare(CompareProfilesArgs),
    /// Project the CPU time of a transaction to another machine
    Project(ProjectCostArgs),
}

/// Arguments of `quayline calibrate compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareProfilesArgs {
    /// Profile before
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// Profile after
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline calibrate project`.
#[derive(Debug, clap::Args)]
pub(crate) struct ProjectCostArgs {
    /// Profile of the machine where the cost was measured
    #[arg(value_name = "BASE")]
    pub(crate) base: PathBuf,
    /// Profile of the other machine
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// CPU time of a transaction on the first machine
    #[arg(long, value_name = "TIME")]
    pub(crate) cpu: Duration,
    /// Part of that time that resembles a kernel, such as json-write=40%
    #[arg(long, value_name = "KERNEL=PERCENT", value_delimiter = ',')]
    pub(crate) share: Vec<KernelPart>,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const CALIBRATE_EXAMPLES: &str = "\
Quayline rates this machine: it runs 13 kernels (EDI, packed and zoned decimals, code pages, JSON, XML, hash,
copy, keyed reads, sync, TLS handshakes, signatures) on one thread and on all, then a commercial mix of keyed
records, queues, journal and commit. 100 units of work of the mix a second are one capacity unit.

Rates are operations a CPU second, so that other programs disturb them little. The exit code is 6 if they took
more than half of the time. A profile of a debug build says nothing about a machine.

Examples:
  quayline calibrate -o here.json
  quayline calibrate --report here
  quayline calibrate compare here.json later.json
  quayline calibrate project here.json there.json --cpu 2ms --share edi-tokenise=60%,json-write=40%";
