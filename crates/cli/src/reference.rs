//! `docs/reference/cli.md`, generated from the arguments: the test fails if the file differs from the program.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};
use expect_test::expect_file;

use crate::args::Cli;

/// Generates the complete reference.
fn reference() -> String {
    let mut text = String::from(
        "# The command line\n\nMade from the program (`UPDATE_EXPECT=1 cargo test -p quayline-cli reference`); do not edit.\nWhat `--json` prints is described in [json.md](json.md), every code of a finding in [errors](errors/README.md).\n",
    );
    let mut command = Cli::described().term_width(100);
    command.build();
    section(&mut text, &command, 2);
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
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

/// The list of commands in `quayline --help` is written by group, so a new command must be put into one.
#[test]
fn every_command_is_in_one_group_of_the_help() {
    let help = Cli::described().render_long_help().to_string();
    let listed: Vec<&str> = help
        .lines()
        .filter(|line| line.starts_with("  ") && line.as_bytes().get(2).is_some_and(u8::is_ascii_lowercase))
        .filter_map(|line| line.split_whitespace().next())
        .take_while(|word| *word != "quayline")
        .collect();
    for command in Cli::command().get_subcommands() {
        let times = listed.iter().filter(|name| **name == command.get_name()).count();
        assert_eq!(times, 1, "{} is in {times} groups of args/help.rs", command.get_name());
    }
    assert!(listed.contains(&"help"));
}

/// People start from an example, so each command has one: in its own text, or in `args/examples.txt`.
#[test]
fn every_command_has_examples() {
    let all = Cli::described();
    let mut left: Vec<(String, &Command)> = all.get_subcommands().map(|one| (one.get_name().to_owned(), one)).collect();
    let mut without = Vec::new();
    while let Some((path, command)) = left.pop() {
        left.extend(command.get_subcommands().map(|one| (format!("{path} {}", one.get_name()), one)));
        let text = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        if !command.has_subcommands() && !text.contains("Example") {
            without.push(path);
        }
    }
    without.sort();
    assert!(without.is_empty(), "without examples: {without:?}");
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
