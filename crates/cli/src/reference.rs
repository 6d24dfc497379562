//! `docs/reference/cli.md`, made from the arguments themselves: the test fails where the file is not what the program says.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};
use expect_test::expect_file;

use crate::args::Cli;

/// The whole reference.
fn reference() -> String {
    let mut text = String::from(
        "# The command line\n\nMade from the program (`UPDATE_EXPECT=1 cargo test -p quayline-cli reference`); do not edit.\nWhat `--json` prints is described in [json.md](json.md), every code of a finding in [errors](errors/README.md).\n",
    );
    let mut command = Cli::command().term_width(100);
    command.build();
    section(&mut text, &command, 2);
    for command in command.get_subcommands() {
        section(&mut text, command, 2);
        for command in command.get_subcommands() {
            section(&mut text, command, 3);
        }
    }
    text
}

fn section(text: &mut String, command: &Command, depth: usize) {
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let _ = write!(text, "\n{} {name}\n\n```text\n{}\n```\n", "#".repeat(depth), help.join("\n"));
}

#[test]
fn the_reference_is_what_the_program_says() {
    expect_file!["../../../docs/reference/cli.md"].assert_eq(&reference());
}

#[test]
fn the_arguments_do_not_contradict_each_other() {
    Cli::command().debug_assert();
}

/// STYLE 4.1: `-h` is one line per option.
#[test]
fn short_help_has_one_line_an_option() {
    let mut command = Cli::brief().term_width(100);
    command.build();
    for command in command.get_subcommands() {
        let help = command.clone().term_width(100).render_help().to_string();
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let Some(long) = argument.get_long() else { continue };
            let line = help
                .lines()
                .position(|line| line.trim_start().starts_with('-') && line.contains(&format!("--{long}")))
                .expect("the option is listed");
            let next = help.lines().nth(line + 1).unwrap_or_default().trim_start();
            let alone =
                next.is_empty() || next.starts_with('-') || next.ends_with(':') || next.starts_with("Run a command");
            assert!(alone, "--{long} of {} takes two lines: {next}", command.get_name());
        }
    }
}
