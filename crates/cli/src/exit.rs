//! Exit codes of commands.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use quayline_convert::ConvertError;
use quayline_core::{Code, Fault, Finding, Findings, Severity, system_error_text};

use crate::closed_output;
use crate::console::Console;
use crate::env_vars;

/// Exit codes, the same for every command. Declared once; `--help` and `docs/reference/cli.md` print [`Exit::ALL`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    /// The request was completed.
    Done,
    /// Data was rejected.
    Rejected,
    /// The command line, a copybook, a settings file or the machine is not as needed.
    Usage,
    /// Stopped early; the same command with `--resume` continues.
    Resumable,
    /// A figure is worse than in the baseline.
    Regression,
    /// A prediction is further from the measurement than its tolerance.
    OutOfTolerance,
    /// A measurement cannot be trusted.
    Untrustworthy,
    /// The requested item does not exist.
    NotThere,
    /// An invariant of Quayline is broken.
    OurBug,
    /// Stopped by Ctrl-C with nothing to resume from.
    Interrupted,
}

impl Exit {
    /// Every exit with its meaning.
    pub(crate) const ALL: [(Exit, &'static str); 10] = [
        (Exit::Done, "done; also when the reader of standard output closed it early"),
        (Exit::Rejected, "data was rejected; the findings say which and why"),
        (Exit::Usage, "usage or configuration: arguments, copybook, settings, a missing file, a full disk"),
        (
            Exit::Resumable,
            "stopped but resumable; run the same command again, with --resume where it has that option, or restart the job",
        ),
        (Exit::Regression, "a figure of a report or a profile is worse than before"),
        (Exit::OutOfTolerance, "a prediction is further from the measurement than its tolerance"),
        (Exit::Untrustworthy, "a measurement cannot be trusted; the findings say why"),
        (Exit::NotThere, "there is nothing to get or delete: no message fits, or no record has the key"),
        (Exit::OurBug, "a bug in Quayline; please report it"),
        (Exit::Interrupted, "stopped by Ctrl-C with nothing to resume from; a message names the partial output"),
    ];

    /// Returns the number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Rejected => 1,
            Exit::Usage => 2,
            Exit::Resumable => 3,
            Exit::Regression => 4,
            Exit::OutOfTolerance => 5,
            Exit::Untrustworthy => 6,
            Exit::NotThere => 7,
            Exit::OurBug => 70,
            Exit::Interrupted => 130,
        }
    }

    /// Returns the exit code for findings: that of an internal error if there is one, otherwise that of the first error, which explains the following
    /// ones.
    pub(crate) fn of_findings<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Exit {
        let mut exit = Exit::Done;
        for finding in findings.into_iter().filter(|finding| finding.severity == Severity::Error) {
            match finding.fault {
                Fault::Ours => return Exit::OurBug,
                _ if exit != Exit::Done => {}
                Fault::Sender => exit = Exit::Rejected,
                Fault::Config | Fault::Caller | Fault::Environment => exit = Exit::Usage,
            }
        }
        exit
    }
}

/// Reason why a command stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Findings, at least one of which is an error.
    Findings(Findings),
    /// The reader of standard output closed it: this is not an error.
    ClosedPipe,
}

impl Stop {
    /// Standard output was closed. That is an error if other files should have been written, because they are incomplete.
    pub(crate) fn closed_pipe(others: impl IntoIterator<Item = impl AsRef<Path>>) -> Stop {
        let others: Vec<String> = others.into_iter().map(|path| format!("`{}`", path.as_ref().display())).collect();
        let are = match others.len() {
            0 => return Stop::ClosedPipe,
            1 => "is",
            _ => "are",
        };
        let message =
            format!("standard output was closed before the input ended, so {} {are} incomplete", others.join(" and "));
        Finding::error(CLI_OUTPUT, Fault::Environment, message).hint("name a file with `-o`").into()
    }

    /// Prints the findings and returns the exit code.
    pub(crate) fn report(self, console: &Console) -> Exit {
        match self {
            Stop::ClosedPipe => Exit::Done,
            Stop::Findings(findings) => {
                console.findings(&findings.0);
                Exit::of_findings(&findings.0)
            }
        }
    }
}

impl From<Findings> for Stop {
    fn from(findings: Findings) -> Self {
        Stop::Findings(findings)
    }
}

impl From<ConvertError> for Stop {
    fn from(error: ConvertError) -> Self {
        Stop::Findings(error.findings())
    }
}

impl From<Finding> for Stop {
    fn from(finding: Finding) -> Self {
        Stop::Findings(finding.into())
    }
}

/// A write to standard output that did not work.
impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Stop::ClosedPipe;
        }
        if closed_output::is_reason_of(&error) {
            let message = "standard output cannot be written: it was closed when the command started";
            let finding = Finding::error(CLI_OUTPUT, Fault::Environment, message);
            return Stop::Findings(
                finding.hint("redirect standard output to a file, or to /dev/null to discard it").into(),
            );
        }
        let finding = Finding::error(
            CLI_OUTPUT,
            Fault::Environment,
            format!("standard output cannot be written: {}", system_error_text(&error)),
        );
        Stop::Findings(finding.hint("make room, or redirect standard output elsewhere").into())
    }
}

/// Standard output cannot be written.
pub(crate) const CLI_OUTPUT: Code = Code("CLI-001");
/// A file that was named cannot be read.
pub(crate) const CLI_INPUT: Code = Code("CLI-002");
/// An argument has no such value, or two arguments do not go together.
pub(crate) const CLI_ARGUMENT: Code = Code("CLI-003");

/// An output is not complete.
pub(crate) const CLI_PARTIAL: Code = Code("CLI-004");
/// An address cannot be listened on.
pub(crate) const CLI_LISTEN: Code = Code("CLI-005");

/// A study cannot be made.
pub(crate) const CLI_MEASURE: Code = Code("CLI-006");

/// A file named as a copybook is not one.
pub(crate) const CLI_NO_COPYBOOK: Code = Code("CLI-007");

/// Records of a file are shorter than the length of the output's records.
pub(crate) const CLI_PADDED: Code = Code("CLI-008");

/// A case of a map's tests is not as it should be.
pub(crate) const CLI_TEST: Code = Code("CLI-010");

/// Creates a finding for an invalid argument.
pub(crate) fn argument(message: impl Into<String>) -> Finding {
    Finding::error(CLI_ARGUMENT, Fault::Caller, message)
}

/// Creates a finding if an option that gives a name a value has the name twice.
pub(crate) fn once_each<'a>(option: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Stop> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(argument(format!("{option} gives `{name}` two values")).hint("leave one of them out").into());
        }
    }
    Ok(())
}

/// Prints the output of the argument parser: help and version to standard output, errors to standard error.
///
/// `plain` is the reason of the parser for refusing a value, and what to say instead.
pub(crate) fn answer_of_arguments(answer: &clap::Error, words: &[OsString], plain: Option<(String, String)>) -> Exit {
    let mut text = without_controls(&answer.render().to_string());
    if answer.use_stderr() {
        if let Some((reason, expected)) = plain {
            text = text.replacen(&reason, &expected, 1);
        }
        if let Some(hint) = crate::renamed::hint(words) {
            text.push_str(&format!("\nhint: {hint}\n"));
        }
        // If even standard error is closed, the message is lost.
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Exit::Usage;
    }
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Exit::Done,
        Err(error) => Stop::from(error).report(&Console::plain()),
    }
}

/// Escapes control characters of the text, so that a quoted argument cannot control the terminal.
pub(crate) fn without_controls(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Installs a hook that prints a useful report for a panic; the process then ends with [`Exit::OurBug`].
///
/// A panic of the library that reads Parquet and Arrow prints nothing: it becomes a finding about the file.
///
/// A panic by a damaged file of the store prints nothing if it ends in an error. If it ends the process, the hook reports the damage.
///
/// The message of a panic comes from this program, so it contains no payload (STYLE 3.3); it names the broken invariant.
pub(crate) fn report_our_bugs() {
    std::panic::set_hook(Box::new(|panic| {
        if quayline_columnar::is_reading_guarded() {
            return;
        }
        if let Some(guarded) = quayline_store::count_guarded_panic(panic.location()) {
            let Some(error) = guarded.fatal() else { return };
            std::process::exit(Stop::from(error.finding()).report(&Console::plain()).code().into());
        }
        let what = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        let mut text = format!(
            "error[BUG]: {what}\n  at {place}, quayline {}\n\nhint: this is a bug of ours; please report it with this text and the command line\n",
            env!("CARGO_PKG_VERSION")
        );
        if env_vars::RUST_BACKTRACE.value().is_none_or(|value| value != "0") {
            text.push_str(&format!("\n{}\n", std::backtrace::Backtrace::force_capture()));
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
    }));
}

/// Runs a command. One that panics ends with [`Exit::OurBug`].
pub(crate) fn or_our_bug(run: fn() -> Exit) -> Exit {
    std::panic::catch_unwind(run).unwrap_or(Exit::OurBug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_with_the_exit_code_of_a_bug() {
        assert_eq!(or_our_bug(|| Exit::Resumable).code(), 3);
        assert_eq!(or_our_bug(|| panic!("an invariant is broken")).code(), 70);
    }

    #[test]
    fn the_first_fault_decides_unless_it_is_ours() {
        let finding = |fault| Finding::error(Code("X"), fault, "x");
        let warning = Finding::warning(Code("X"), Fault::Ours, "x");
        assert_eq!(Exit::of_findings(&[]), Exit::Done);
        assert_eq!(Exit::of_findings(&[warning]), Exit::Done);
        assert_eq!(Exit::of_findings(&[finding(Fault::Sender)]), Exit::Rejected);
        assert_eq!(Exit::of_findings(&[finding(Fault::Config), finding(Fault::Sender)]), Exit::Usage);
        assert_eq!(Exit::of_findings(&[finding(Fault::Sender), finding(Fault::Config)]), Exit::Rejected);
        assert_eq!(Exit::of_findings(&[finding(Fault::Sender), finding(Fault::Ours)]), Exit::OurBug);
    }

    /// Panics while it is dropped, as redb does on some damaged pages.
    struct Broken;

    impl Drop for Broken {
        fn drop(&mut self) {
            panic!("again")
        }
    }

    #[test]
    fn damage_that_ends_the_process_is_reported() {
        const CHILD: &str = "QUAYLINE_TEST_FATAL";
        const NAME: &str = "exit::tests::damage_that_ends_the_process_is_reported";
        if std::env::var_os(CHILD).is_some() {
            report_our_bugs();
            let ours: Result<(), _> = quayline_store::guarded(("store.redb", "/redb"), "malformed", || panic!("ours"));
            let of_library = ("store.redb", "exit.rs");
            let caught: Result<(), _> = quayline_store::guarded(of_library, "malformed", || panic!("once"));
            println!("caught: {}", ours.is_err() && caught.is_err());
            let _: Result<(), _> = quayline_store::guarded(of_library, "malformed", || {
                let _broken = Broken;
                panic!("once")
            });
            return;
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let done = child.args([NAME, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
        let (out, err) = (done.stdout.escape_ascii().to_string(), done.stderr.escape_ascii().to_string());
        assert!(out.contains("caught: true"), "{out}{err}");
        assert!(err.matches("error[BUG]").count() == 1 && err.contains("error[BUG]: ours"), "{err}");
        assert!(err.contains("error[STO-003]") && err.contains("store check"), "{err}");
        assert_eq!(done.status.code(), Some(i32::from(Exit::Usage.code())), "{err}");
    }
}
