//! Arguments of `quayline selftest`, `check-report`, `predict`, `size` and `advise`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::capacity::{Duration, Percent};

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
#[command(after_long_help = PREDICT_EXAMPLES)]
pub(crate) struct PredictArgs {
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
    /// Objective: largest mean response time
    #[arg(long, value_name = "TIME")]
    pub(crate) response_max: Option<Duration>,
    /// Objective: largest 95th percentile of the response time
    #[arg(long, value_name = "TIME")]
    pub(crate) p95_max: Option<Duration>,
    /// Objective: largest utilization of a station [default: 70%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) utilization_max: Option<Percent>,
    /// Growth of the users in a month, for the date of exhaustion
    #[arg(long, value_name = "PERCENT")]
    pub(crate) growth: Option<Percent>,
    /// Date from which growth counts, YYYY-MM-DD
    #[arg(long, value_name = "DATE", requires = "growth")]
    pub(crate) from: Option<String>,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const PREDICT_EXAMPLES: &str = "\
Quayline solves the closed queueing network of the model exactly (multi-server stations included) and
prints throughput, response time with percentiles, utilization, the bottleneck and the largest number
of users that keeps the objectives. Demands that were measured on a busy machine contain its
neighbours; measure with one user. docs/reference/capacity.md lists the keys of a model.

Examples:
  quayline predict --users 100,500,1000 --think 500ms --cpu 2ms --cores 4 --p95-max 50ms
  quayline predict gateway.toml --users 500 --growth 3% --from 2026-01-01";

/// Arguments of `quayline size`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SIZE_EXAMPLES)]
pub(crate) struct SizeArgs {
    /// Workloads, machines and target, as TOML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
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
    #[arg(value_name = "FILE", required_unless_present = "list")]
    pub(crate) file: Option<PathBuf>,
    /// Print every rule with its metrics and their units
    #[arg(long, conflicts_with = "file")]
    pub(crate) list: bool,
    /// Answer and findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const ADVISE_EXAMPLES: &str = "\
The file has a table [measured] with a number, true or false for each metric. A rule whose metrics
were not measured says nothing.

  [measured]
  journal-writes = 4000
  commit-interval = 25

Examples:
  quayline advise --list
  quayline advise measured.toml";
