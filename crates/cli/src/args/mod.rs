//! The arguments of every command, with the text of `-h`, `--help` and `docs/reference/cli.md`.

mod capacity;
mod choices;
mod convert;
mod flow;
mod fmt;
mod guide;
mod help;
mod infer;
mod inspect;
mod job;
mod map;
mod partner;
mod project;
mod records;
mod serve;
mod store;
mod test;
mod translate;
mod validate;

pub(crate) use capacity::{
    AdviseArgs, CalibrateArgs, CalibrateCommand, CheckReportArgs, CompareProfilesArgs, ComponentArgs, IntervalArgs,
    KeepArgs, ObjectiveArgs, PredictArgs, PredictAuditArgs, PredictCommand, PredictCostArgs, PredictItemCountArgs,
    PredictScalingArgs, PredictWorkArgs, ProfileArgs, ProfileCommand, ProfileModelArgs, ProfileShowArgs,
    ProjectCostArgs, ReportArgs, SelftestArea, SelftestArgs, SizeArgs, WorkReportArgs, WorkReportCommand,
};
pub(crate) use choices::OutputLevel;
pub(crate) use convert::{
    CompressArg, ConvertArgs, DecompressArg, FRAMING_LONG_HELP, FromFormat, NamesArg, NumbersArg, ToFormat, UnknownArg,
};
pub(crate) use flow::{
    FlowAdminArgs, FlowArgs, FlowCommand, FlowDefineArgs, FlowListArgs, FlowNamesArgs, FlowPagesArgs, FlowRunArgs,
    FlowShowArgs, FlowTraceArgs,
};
pub(crate) use fmt::FmtArgs;
pub(crate) use guide::{CheckArgs, GuideArgs, GuideCommand, GuideListArgs, ImportArgs, ShowArgs};
pub(crate) use infer::{InferArgs, InferForm};
pub(crate) use inspect::{As, InspectArgs};
pub(crate) use job::{
    IdArgs, JobArgs, JobCheckArgs, JobCommand, JobEventsArgs, PurgeJobsArgs, RejectsArgs, RepositoryArg, RestartArgs,
    SplitArgs, StartArgs, WorkArgs,
};
pub(crate) use map::{MapArgs, MapCheckArgs, MapCommand, MapNewArgs};
pub(crate) use partner::{
    EntryArgs, EnvelopeArgs, EnvelopeCommand, ExplainArgs, ExportArgs, FilterArgs, InterchangeArgs, InterchangeCommand,
    ListArgs, PartnerAddArgs, PartnerArgs, PartnerChangesArgs, PartnerCommand, PartnerExportArgs, PartnerListArgs,
    PartnerOutboxArgs, PartnerRemoveArgs, PartnerShowArgs, ProjectArgs, ReceiveArgs, RunArgs, SendArgs,
    TransactionArgs, TransactionCommand,
};
pub(crate) use project::{CheckProjectArgs, NewArgs};
pub(crate) use records::{CopybookArgs, DialectName, SourceArgs, SourceFormatArg};
pub(crate) use serve::{
    ApiArgs, ApiCommand, ApiNewArgs, MeasureArgs, MeasureBatchArgs, MeasureCommand, MeasureConvertArgs,
    MeasureCryptoArgs, MeasureFlowArgs, MeasureMemoryArgs, MeasureMixArgs, MeasureNetArgs, MeasureSizingArgs,
    MeasureStoreArgs, MeasureSweepArgs, MeasureTranslateArgs, MeasuredArgs, ServeArgs, ServiceArgs, ServiceCommand,
};
pub(crate) use store::{
    AlterArgs, AlterQueueArgs, BrowseArgs, BrowseQueueArgs, CopyArgs, DefineFileArgs, DefineQueueArgs, DeleteArgs,
    DepthMarks, DescribedArgs, DurabilityArg, DurabilityOption, FactsArgs, FileArgs, FileCommand, FolderArg, GetArgs,
    GetMessageArgs, KeyArgs, LoadArgs, OrganisationArg, PutArgs, PutMessageArgs, QueueArgs, QueueCommand, RestoreArgs,
    SaveArgs, ScriptArgs, ServeQueuesArgs, StoreArgs, StoreCommand, StoreKind, UnloadArgs, VerifyArgs,
};
pub(crate) use test::TestArgs;
pub(crate) use translate::{TranslateArgs, format_named};
pub(crate) use validate::{AckArg, ValidateArgs};

use std::ffi::OsString;
use std::sync::LazyLock;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use quayline_core::Limits;

use crate::console::ColorWhen;
use crate::env_vars;
use crate::exit::Exit;

/// The text of `--version` after the name: version, commit, platform and features.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let stores: Vec<&str> = StoreKind::ALL.iter().map(|kind| kind.name()).collect();
    format!(
        "{}\ncommit    {}\nplatform  {}\nfeatures  records, edi, maps, gateway, flows, batch, partners, amqp; stores: {}",
        env!("CARGO_PKG_VERSION"),
        env!("QUAYLINE_COMMIT"),
        env!("QUAYLINE_TARGET"),
        stores.join(", ")
    )
});

/// Convert, check and translate COBOL record files and EDI, and serve COBOL programs as REST APIs
///
/// Data goes to standard output, everything else to standard error. Quayline never guesses a code page and never loses a record silently.
#[derive(Debug, Parser)]
#[command(
    name = "quayline",
    version,
    long_version = LONG_VERSION.as_str(),
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Run a command with --help for every detail and examples.",
    after_long_help = after_long_help()
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to colour: auto, always or never
    #[arg(long, global = true, value_enum, default_value_t = ColorWhen::Auto, value_name = "WHEN")]
    pub(crate) color: ColorWhen,
    /// Compile guides and maps without the cache
    #[arg(long, global = true)]
    pub(crate) no_cache: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a copybook, an EDI file or a data file contains
    Inspect(Box<InspectArgs>),
    /// Convert record files and EDI to JSON, CSV, XML, Parquet or Arrow, and back
    Convert(Box<ConvertArgs>),
    /// Translate documents with a map
    Translate(Box<TranslateArgs>),
    /// Write a small, complete project to start from
    New(NewArgs),
    /// Compile everything in a project and report all faults at once
    Check(CheckProjectArgs),
    /// Receive from and send to trading partners
    Partner(PartnerArgs),
    /// Find, show and reprocess documents of trading partners
    Transaction(TransactionArgs),
    /// Find and show interchanges of trading partners, and send them again
    Interchange(InterchangeArgs),
    /// List and release delayed envelopes
    Envelope(EnvelopeArgs),
    /// Serve a project: APIs, message flows, jobs, queues and trading partners
    ///
    /// Serves until SIGTERM or Ctrl-C, and finishes work in progress first. Unless `quayline.toml` says otherwise, only this machine can connect, and
    /// clients must authenticate. SIGHUP or a change of their files reloads the services and APIs, and a change of its files a flow.
    Serve(ServeArgs),
    /// Propose a service for a copybook
    Service(ServiceArgs),
    /// Make a REST API of a record file
    Api(ApiArgs),
    /// Measure the cost of transactions on this machine
    Measure(MeasureArgs),
    /// Check X12 and EDIFACT interchanges, and acknowledge them
    Validate(Box<ValidateArgs>),
    /// Import, check and show guides, which describe EDI transaction sets and messages
    Guide(GuideArgs),
    /// Guess a shape from samples of JSON, XML, CSV or EDI
    Infer(InferArgs),
    /// Propose, check, test and format maps
    Map(MapArgs),
    /// Predict throughput and response times for a number of users
    Predict(Box<PredictArgs>),
    /// Show what transactions cost, and make a model of them for `predict`
    Profile(ProfileArgs),
    /// Find the smallest machine for a mix of workloads
    Size(SizeArgs),
    /// Rate this machine, compare profiles, and project costs to another machine
    Calibrate(Box<CalibrateArgs>),
    /// Print the rules of advice that apply to a server, a class of work, or measured values
    Advise(AdviseArgs),
    /// Report what the classes of work of a server did, interval by interval
    Report(WorkReportArgs),
    /// Check figures of a performance report against the laws that they must obey
    CheckReport(CheckReportArgs),
    /// Check the capacity models against published results
    Selftest(SelftestArgs),
    /// Define, load, read and change keyed, entry-sequenced and relative record files
    File(FileArgs),
    /// Define queues, and put, get and list messages
    Queue(QueueArgs),
    /// Run Jakarta Batch jobs: check, start, restart, stop and list them
    Job(JobArgs),
    /// Check, compact, save and restore the store
    Store(StoreArgs),
    /// Check, show and run message flows
    Flow(FlowArgs),
    /// Print the completion script for a shell
    #[command(
        after_long_help = "Examples:\n  quayline completions bash > ~/.local/share/bash-completion/completions/quayline\n  quayline completions zsh > \"${fpath[1]}/_quayline\""
    )]
    Completions(CompletionsArgs),
}

impl Command {
    /// Whether programs read the answer.
    pub(crate) fn json(&self) -> bool {
        match self {
            Command::Inspect(args) => args.json,
            Command::Convert(args) => args.json,
            Command::Translate(args) => args.json,
            Command::Validate(args) => args.json,
            Command::Check(args) => args.json,
            Command::New(_) | Command::Serve(_) | Command::Service(_) | Command::Api(_) | Command::Measure(_) => false,
            Command::Infer(_) | Command::Completions(_) => false,
            Command::File(args) => matches!(&args.command, FileCommand::Run(args) if args.json),
            Command::Queue(_) | Command::Store(_) | Command::Flow(_) => false,
            Command::Partner(args) => args.command.json(),
            Command::Transaction(args) => args.command.json(),
            Command::Interchange(args) => args.command.json(),
            Command::Envelope(args) => match &args.command {
                EnvelopeCommand::List(args) => args.json,
                EnvelopeCommand::Release(_) => false,
            },
            Command::Guide(args) => args.command.json(),
            Command::Map(args) => args.command.json(),
            Command::Job(args) => args.command.json(),
            Command::Predict(args) => match &args.command {
                None => args.answer.json,
                Some(PredictCommand::Audit(args)) => args.json,
                Some(PredictCommand::ItemCount(args)) => args.json,
                Some(PredictCommand::Scaling(args)) => args.answer.json,
                Some(PredictCommand::Cost(args)) => args.json,
                Some(PredictCommand::Work(args)) => args.answer.json,
            },
            Command::Profile(args) => match &args.command {
                ProfileCommand::Show(args) => args.json,
                ProfileCommand::Model(_) => false,
            },
            Command::Size(args) => args.json,
            Command::Calibrate(args) => match &args.command {
                None => args.json,
                Some(CalibrateCommand::Compare(args)) => args.json,
                Some(CalibrateCommand::Project(args)) => args.json,
            },
            Command::Advise(args) => args.json,
            Command::Report(args) => match &args.command {
                WorkReportCommand::Component(args) => args.json,
            },
            Command::CheckReport(args) => args.json,
            Command::Selftest(args) => args.json,
        }
    }
}

impl Cli {
    /// Parses the arguments of a process, its name first.
    ///
    /// # Errors
    /// What the parser answers instead: a mistake, help or version.
    pub(crate) fn of(arguments: &[OsString]) -> Result<Cli, clap::Error> {
        // `-h` is one line an option, so it leaves the lists of values to `--help`. An argument that only looks like `-h` changes nothing but
        // a help text that is not asked for.
        let has = |wanted: &[&str]| arguments.iter().any(|argument| wanted.iter().any(|word| argument == word));
        let mut command = if arguments.len() < 2 || has(&["-h"]) {
            Cli::brief()
        } else if has(&["--help", "help"]) {
            help::described(Cli::command())
        } else {
            Cli::whole()
        };
        let matches = command.try_get_matches_from_mut(arguments)?;
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// The command without the texts that only help shows.
    pub(crate) fn whole() -> clap::Command {
        help::only_at_top(Cli::command())
    }

    /// The command as `--help` shows it.
    #[cfg(test)]
    pub(crate) fn described() -> clap::Command {
        help::described(Cli::command())
    }

    /// The command as `-h` shows it.
    pub(crate) fn brief() -> clap::Command {
        let mut command = help::grouped(Cli::command()).mut_args(without_values);
        for sub in command.get_subcommands_mut() {
            *sub = sub.clone().mut_args(without_values);
        }
        command
    }
}

/// The argument without its list of values.
fn without_values(argument: clap::Arg) -> clap::Arg {
    let takes_values = argument.get_action().takes_values();
    if takes_values { argument.hide_possible_values(true) } else { argument }
}

/// A bound that is set: `segment-bytes=4M`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LimitArg {
    name: &'static str,
    value: usize,
}

impl LimitArg {
    /// The bounds with these changes.
    pub(crate) fn limits(changes: &[LimitArg]) -> Limits {
        let mut limits = Limits::default();
        for LimitArg { name, value } in changes {
            *limits.by_name(name).expect("a name that was looked up") = *value;
        }
        limits
    }
}

impl std::str::FromStr for LimitArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| "expected NAME=N, such as segment-bytes=4M".to_owned())?;
        let known = Limits::NAMES.iter().find(|known| **known == name);
        let name = known.ok_or_else(|| format!("the limits are {}", Limits::NAMES.join(", ")))?;
        let value = Limits::number_of(value).filter(|number| *number <= LIMIT_MOST);
        let value = value.ok_or_else(|| "expected N from 1 to 2G, which may end in K, M or G".to_owned())?;
        Ok(LimitArg { name, value })
    }
}

/// Blocks are below 4 GiB.
const LIMIT_MOST: usize = 2 << 30;

/// What `--limit` says of itself.
pub(crate) const LIMIT_LONG_HELP: &str = "Change a limit: NAME=N, such as segment-bytes=4M

A finding about a limit names it. N may end in K, M or G. May be given several times.

record-bytes      one record, document or binary EDI segment [16M]
line-bytes        one line [16M]
segment-bytes     one EDI segment without binary data [1M]
segment-elements  elements of one segment [10000]
depth             nested objects, elements of XML or loops of a guide [128]
fields            fields of a copybook [100000]
columns           columns of a table [20000]
findings          findings kept in a run; for validate, --max-findings [1000]
copy-depth        COPY in COPY, include in include [64]
copybook-bytes    a copybook with its COPY members [16M]
guide-bytes       a guide with its includes [64M]
groups            keys of CSV documents of several rows [1M]
map-text-bytes    one text that a map makes [16M]";

/// Arguments of `quayline completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[allow(missing_docs, reason = "the names say it")]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

/// Exit codes and environment variables, printed behind the options of `quayline --help`.
fn after_long_help() -> String {
    let mut text = String::from("Exit codes:\n");
    for (exit, meaning) in Exit::ALL {
        text.push_str(&format!("  {:>3}  {meaning}\n", exit.code()));
    }
    text.push_str("\nEnvironment:\n");
    for variable in env_vars::ALL {
        text.push_str(&format!("  {:14} {}\n", variable.name, variable.meaning));
    }
    text.push_str("\nExamples:\n");
    text.push_str("  quayline inspect orders.cpy\n");
    text.push_str("  quayline inspect orders.dat --copybook orders.cpy\n");
    text.push_str("  quayline validate orders.x12 --ack 997 --ack-output answer.x12\n");
    text.push_str("  quayline convert orders.x12 -o orders.jsonl\n");
    text.push_str("  quayline convert orders.dat --copybook orders.cpy --encoding cp037 -o orders.jsonl\n");
    text.push_str("  quayline convert orders.jsonl --copybook orders.cpy --encoding cp037 -o orders.dat");
    text
}
