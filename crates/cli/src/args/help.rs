//! What help shows beside the arguments: the groups of commands, and examples of commands that have no longer text of their own.

use std::fmt::Write as _;

use clap::Command;

/// Commands by group, in the order of `quayline --help`. A test finds a command that is in none.
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    ("Data", &["inspect", "convert", "translate", "validate"]),
    ("Descriptions of data", &["infer", "guide", "map"]),
    ("Projects and servers", &["new", "check", "service", "api", "serve", "flow", "job"]),
    ("Trading partners", &["partner", "transaction", "interchange", "envelope"]),
    ("Store", &["file", "queue", "store"]),
    (
        "Cost and capacity",
        &["measure", "profile", "predict", "size", "calibrate", "advise", "report", "check-report", "selftest"],
    ),
    ("Other", &["completions", "help"]),
];

/// Blocks of a command's words and of its examples, which are indented.
const EXAMPLES: &str = include_str!("examples.txt");

/// The command, with `help` as a subcommand of `quayline` alone.
pub(super) fn only_at_top(mut command: Command) -> Command {
    for subcommand in command.get_subcommands_mut() {
        *subcommand = std::mem::take(subcommand).disable_help_subcommand(true);
    }
    command
}

/// The command, which lists its subcommands by group.
pub(super) fn grouped(command: Command) -> Command {
    let command = only_at_top(command);
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut list = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(list, "{header}{group}:{header:#}");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about =
                about.unwrap_or_else(|| "Print the help of a command, as in `quayline help file put`".to_owned());
            let _ = writeln!(list, "  {literal}{name:12}{literal:#}  {about}");
        }
        list.push('\n');
    }
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// The command with everything that `--help` shows.
pub(super) fn described(command: Command) -> Command {
    let mut command = grouped(command);
    for block in EXAMPLES.trim_end().split("\n\n") {
        let (path, lines) = block.split_once('\n').unwrap_or((block, ""));
        let found = path.split(' ').try_fold(&mut command, |command, name| command.find_subcommand_mut(name));
        let found = found.expect("examples.txt names commands, as a test finds");
        *found = std::mem::take(found).after_long_help(format!("Examples:\n{lines}"));
    }
    command
}
