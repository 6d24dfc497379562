//! Arguments of `quayline job`.

use std::path::PathBuf;

use clap::Subcommand;

use super::FolderArg;

/// Arguments of `quayline job`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct JobArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: JobCommand,
}

/// What to do with jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Check job XML without starting the job
    Check(JobCheckArgs),
    /// Print the steps of a job and what a crash would repeat
    Plan(JobCheckArgs),
    /// Start a job and run it to its end
    #[command(after_long_help = START_EXAMPLES)]
    Start(StartArgs),
    /// Restart an execution that failed or was stopped
    Restart(RestartArgs),
    /// Request that a running execution stop at its next checkpoint
    Stop(IdArgs),
    /// Run partitions of jobs that other processes have started
    #[command(after_long_help = WORK_EXAMPLES)]
    Work(WorkArgs),
    /// Move half of the remaining input of a running partition to a new partition
    Split(SplitArgs),
    /// Mark an execution as abandoned, so that it cannot be restarted
    Abandon(IdArgs),
    /// List executions, the newest first
    List(ListJobsArgs),
    /// Print an execution with its steps
    Show(ShowJobArgs),
    /// Print the job log of an execution
    Log(IdArgs),
    /// Print the events of jobs that were kept, and with --follow those that happen
    #[command(after_long_help = EVENTS_EXAMPLES)]
    Events(JobEventsArgs),
    /// Print the items that an execution skipped and kept, with their causes
    #[command(after_long_help = REJECTS_EXAMPLES)]
    Rejects(RejectsArgs),
    /// Remove instances that ended, with their executions and logs
    Purge(PurgeJobsArgs),
}

impl JobCommand {
    /// Whether programs read the answer.
    pub(crate) fn json(&self) -> bool {
        match self {
            JobCommand::Check(args) => args.json,
            JobCommand::Start(args) => args.json,
            JobCommand::Restart(args) => args.json,
            JobCommand::List(args) => args.json,
            JobCommand::Show(args) => args.json,
            JobCommand::Events(args) => args.json,
            JobCommand::Rejects(args) => args.json,
            _ => false,
        }
    }
}

/// Where the job repository is.
#[derive(Debug, clap::Args)]
pub(crate) struct RepositoryArg {
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// PostgreSQL database of the job repository
    ///
    /// The form is postgresql://USER@HOST:PORT/DATABASE. Without this option, the repository is in the store. The data folder always holds the job
    /// logs.
    #[arg(long, value_name = "URL")]
    pub(crate) repository: Option<String>,
    /// How long a job waits for a database that does not answer
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) database_wait: u64,
}

/// Arguments of `quayline job check` and `plan`.
#[derive(Debug, clap::Args)]
pub(crate) struct JobCheckArgs {
    /// Job XML file
    pub(crate) file: PathBuf,
    /// Job parameter; with any, references to missing parameters are reported
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Folder at which relative paths of the job begin [default: the folder of the job XML, or the one above if that is called jobs]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Print findings as JSON, one on each line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline job start`.
#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// Job XML file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
    /// Job parameter
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Folder at which relative paths of the job begin [default: the folder of the job XML, or the one above if that is called jobs]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Add what each step cost to a file of intervals, for `quayline predict work` and `quayline report component`
    #[arg(long, value_name = "FILE")]
    pub(crate) intervals: Option<PathBuf>,
    /// Print the execution as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const WORK_EXAMPLES: &str = "\
Examples:
  quayline job work --repository postgresql://jobs@db.example.com/jobs
  quayline job work --repository postgresql://jobs@127.0.0.1/jobs --execution 12 --threads 4 --idle 60";

/// Arguments of `quayline job work`.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
    /// Run partitions of this execution only
    #[arg(long, value_name = "NUMBER")]
    pub(crate) execution: Option<u64>,
    /// Partitions at once [default: one for each core]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// End after this time without work [default: never]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle: Option<u64>,
    /// Folder at which relative paths of the jobs begin [default: the folder where each job was started]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

/// Arguments of `quayline job split`.
#[derive(Debug, clap::Args)]
pub(crate) struct SplitArgs {
    /// Number of the execution
    pub(crate) execution: u64,
    /// Number of the partition, from 0
    pub(crate) partition: u32,
    /// Step of the partition, if several partitioned steps run
    #[arg(long, value_name = "ID", default_value = "")]
    pub(crate) step: String,
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
}

/// Arguments of `quayline job restart`.
#[derive(Debug, clap::Args)]
pub(crate) struct RestartArgs {
    /// Number of the execution
    pub(crate) execution: u64,
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
    /// Job XML file [default: the job XML that the execution ran]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Job parameter; those of the execution before are not remembered
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Begin with the parameters of the execution before
    #[arg(long)]
    pub(crate) same_params: bool,
    /// Run the file although it differs from the job XML that the execution ran
    #[arg(long)]
    pub(crate) accept_drift: bool,
    /// Add what each step cost to a file of intervals, for `quayline predict work` and `quayline report component`
    #[arg(long, value_name = "FILE")]
    pub(crate) intervals: Option<PathBuf>,
    /// Print the execution as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline job stop`, `abandon` and `log`.
#[derive(Debug, clap::Args)]
pub(crate) struct IdArgs {
    /// Number of the execution
    pub(crate) execution: u64,
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
}

/// Arguments of `quayline job list`.
#[derive(Debug, clap::Args)]
pub(crate) struct ListJobsArgs {
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
    /// Only executions of this job
    #[arg(long, value_name = "ID")]
    pub(crate) job: Option<String>,
    /// Maximum number of executions
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) count: usize,
    /// Print each execution as JSON on a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline job show`.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowJobArgs {
    /// Number of the execution
    pub(crate) execution: u64,
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
    /// Also print where it ran and where the time of each step went
    #[arg(long, conflicts_with = "json")]
    pub(crate) times: bool,
    /// Print the execution as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline job events`.
#[derive(Debug, clap::Args)]
pub(crate) struct JobEventsArgs {
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
    /// Only these topics; may be repeated
    ///
    /// In a topic, `*` is one level, and `#` at the end is all levels that follow: jobs/execution/*, jobs/#.
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: Vec<String>,
    /// Only events of this job
    #[arg(long, value_name = "ID")]
    pub(crate) job: Option<String>,
    /// Only events of this execution
    #[arg(long, value_name = "NUMBER")]
    pub(crate) execution: Option<u64>,
    /// Only events after this position, which an earlier call printed
    #[arg(long, value_name = "POSITION")]
    pub(crate) after: Option<String>,
    /// Maximum number of events [default: all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) count: Option<usize>,
    /// Wait for further events until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print each event as JSON on a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline job rejects`.
#[derive(Debug, clap::Args)]
pub(crate) struct RejectsArgs {
    /// Number of the execution
    pub(crate) execution: u64,
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
    /// Print each item as JSON on a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the items too, not only where and why they were skipped
    #[arg(long)]
    pub(crate) show_data: bool,
}

/// Arguments of `quayline job purge`.
#[derive(Debug, clap::Args)]
pub(crate) struct PurgeJobsArgs {
    #[command(flatten)]
    pub(crate) place: RepositoryArg,
    /// Number of an instance
    #[arg(long, value_name = "NUMBER", required_unless_present = "older_than_days")]
    pub(crate) instance: Option<u64>,
    /// All instances of all jobs whose last execution ended more than this number of days ago
    #[arg(long, value_name = "DAYS", conflicts_with = "instance")]
    pub(crate) older_than_days: Option<u64>,
}

const START_EXAMPLES: &str = "\
The command ends when the job ends: with exit code 0 if it is COMPLETED, 1 if it FAILED, 3 if it was STOPPED. Ctrl-C or SIGTERM stops the job
at its next checkpoint. After a crash, restart continues at the last checkpoint.

Examples:
  quayline job start jobs/settle.xml --store data --param day=2026-11-22
  quayline job restart 1 --same-params";

const EVENTS_EXAMPLES: &str = "\
The file jobs/events.toml of a project says which events Quayline keeps. Quayline stores an event in the same unit of work as the change that
it reports, in the order of commits.

Examples:
  quayline job events --store data --topic 'jobs/execution/*'
  quayline job events --follow --json --after 0.118";

const REJECTS_EXAMPLES: &str = "\
A step keeps the items that it skips if it has the property quayline.rejects with the value keep. A job with the reader quayline.rejectReader
submits them again.

Examples:
  quayline job rejects 4 --store data
  quayline job rejects 4 --json --show-data";
