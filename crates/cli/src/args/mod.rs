//! The arguments of every command, with the text of `-h`, `--help` and `docs/cli.md`.

mod convert;
mod fmt;
mod guide;
mod inspect;
mod map;
mod records;
mod serve;
mod translate;
mod validate;

pub(crate) use convert::{
    AbsentArg, BadValueArg, ConvertArgs, FORMAT_LONG_HELP, FillersArg, FromFormat, KeyStyleArg, LengthArg, NamesArg,
    NumbersArg, RedefinesArg, ToFormat, TrimArg, UnknownArg,
};
pub(crate) use fmt::FmtArgs;
pub(crate) use guide::{CheckArgs, GuideArgs, GuideCommand, ImportArgs, ShowArgs};
pub(crate) use inspect::{As, InspectArgs};
pub(crate) use map::{MapArgs, MapCheckArgs, MapCommand, MapNewArgs};
pub(crate) use records::{CopybookArgs, SourceFormatArg};
pub(crate) use serve::{MeasureArgs, MeasureCommand, ServeArgs, ServiceArgs, ServiceCommand};
pub(crate) use translate::{TranslateArgs, format_named};
pub(crate) use validate::{AckArg, LevelArg, ValidateArgs};

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::env_vars;
use crate::exit::Exit;

/// Moves business records between COBOL files, EDI and JSON, CSV, XML, Parquet and Arrow
///
/// Data goes to standard output, everything else to standard error. A code page is never guessed, a record never lost silently.
#[derive(Debug, Parser)]
#[command(
    name = "quayline",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Run a command with --help for everything about it, with examples.",
    after_long_help = after_long_help()
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to colour: auto, always or never
    #[arg(long, global = true, value_enum, default_value_t = ColorWhen::Auto, value_name = "WHEN")]
    pub(crate) color: ColorWhen,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows what a copybook, an EDI file or a data file is
    Inspect(Box<InspectArgs>),
    /// Converts record files and EDI to JSON, CSV, XML, Parquet or Arrow, and back
    Convert(Box<ConvertArgs>),
    /// Translates documents by a map
    Translate(Box<TranslateArgs>),
    /// Serves a project's APIs over HTTP
    Serve(ServeArgs),
    /// Proposes the service of a copybook
    Service(ServiceArgs),
    /// Measures what transactions cost on this machine
    Measure(MeasureArgs),
    /// Checks X12 and EDIFACT interchanges, and acknowledges them
    Validate(Box<ValidateArgs>),
    /// Imports, checks and shows guides: what EDI transaction sets and messages may hold
    Guide(GuideArgs),
    /// Proposes and checks maps
    Map(MapArgs),
    /// Lays out maps
    Fmt(FmtArgs),
    /// Prints the completion script of a shell
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
            Command::Serve(_) | Command::Service(_) | Command::Measure(_) => false,
            Command::Fmt(_) | Command::Completions(_) => false,
            Command::Guide(args) => args.command.json(),
            Command::Map(args) => args.command.json(),
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
        let command = if arguments.len() < 2 || arguments.iter().any(|argument| argument == "-h") {
            Cli::brief()
        } else {
            Cli::command()
        };
        let mut command = command;
        let matches = command.try_get_matches_from_mut(arguments)?;
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// The command as `-h` shows it.
    pub(crate) fn brief() -> clap::Command {
        let mut command = Cli::command().mut_args(without_values);
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

/// When to colour.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
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
    text.push_str("  quayline validate orders.x12 --ack 997 -o answer.x12\n");
    text.push_str("  quayline convert orders.x12 -o orders.jsonl\n");
    text.push_str("  quayline convert orders.dat --copybook orders.cpy --encoding cp037 -o orders.jsonl\n");
    text.push_str("  quayline convert orders.jsonl --copybook orders.cpy --encoding cp037 -o orders.dat");
    text
}
