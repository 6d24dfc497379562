//! Standard error as people and programs read it: colours, findings, terminals.

use std::cell::{Cell, RefCell};
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use clap::ValueEnum;
use quayline_core::Finding;

use crate::env_vars;
use crate::render;

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

/// Output settings of a command.
#[derive(Debug)]
pub(crate) struct Console {
    /// Colours on standard error.
    color_stderr: bool,
    /// Colours on standard output.
    color_stdout: bool,
    /// Findings as JSON, one a line.
    json: bool,
    /// True if a message was printed, so that a blank line separates the next paragraph.
    said: Cell<bool>,
    /// Findings are kept instead of printed, for a command that runs another.
    kept: Option<RefCell<Vec<Finding>>>,
}

impl Console {
    /// Decides on colors: `always`, `never`, or (`auto`) if the stream is a terminal that supports them and `NO_COLOR` is not set.
    pub(crate) fn new(color: ColorWhen, json: bool) -> Self {
        let wanted = env_vars::NO_COLOR.value().is_none() && !dumb_terminal();
        let color = |terminal: bool| match color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => terminal && wanted,
        };
        Console {
            color_stderr: color(std::io::stderr().is_terminal()) && !json,
            color_stdout: color(std::io::stdout().is_terminal()) && !json,
            json,
            said: Cell::new(false),
            kept: None,
        }
    }

    /// Prints nothing and keeps findings, for a command that runs another.
    pub(crate) fn collecting() -> Self {
        Console { json: true, kept: Some(RefCell::default()), ..Console::plain() }
    }

    /// Returns the collected findings.
    pub(crate) fn collected(self) -> Vec<Finding> {
        self.kept.map(RefCell::into_inner).unwrap_or_default()
    }

    /// Creates a console without colors and with findings as text.
    pub(crate) fn plain() -> Self {
        Console { color_stderr: false, color_stdout: false, json: false, said: Cell::new(false), kept: None }
    }

    /// Returns true if standard output uses colors.
    pub(crate) fn color_stdout(&self) -> bool {
        self.color_stdout
    }

    /// Returns true if standard error uses colors.
    pub(crate) fn color_stderr(&self) -> bool {
        self.color_stderr
    }

    /// Returns true if the output is JSON.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Prints findings to standard error: text with a blank line between them, or one JSON object a line.
    pub(crate) fn findings(&self, findings: &[Finding]) {
        if let Some(kept) = &self.kept {
            kept.borrow_mut().extend(findings.iter().cloned());
            return;
        }
        for finding in findings {
            if self.json {
                self.line(&render::finding_json(finding));
            } else {
                self.paragraph(&render::finding_text(finding, self.color_stderr));
            }
        }
    }

    /// Prints a paragraph, preceded by a blank line after an earlier message. Prints nothing with JSON output.
    pub(crate) fn paragraph(&self, text: &str) {
        if !self.json {
            let blank = if self.said.get() { "\n" } else { "" };
            self.line(&format!("{blank}{}", text.trim_end()));
        }
    }

    /// Records that other code wrote to standard error.
    pub(crate) fn something_was_said(&self) {
        self.said.set(true);
    }

    /// Writes a line to standard error. If that is closed, the message is lost, and only the exit code reports the outcome.
    pub(crate) fn line(&self, text: &str) {
        if self.kept.is_some() {
            return;
        }
        self.said.set(true);
        let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
    }
}

/// Writes an answer to standard output.
pub(crate) fn write_stdout(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Returns true if `TERM` names a terminal without cursor control.
pub(crate) fn dumb_terminal() -> bool {
    env_vars::TERM.value().is_some_and(|term| term == "dumb")
}

/// Formats a file's name for messages: control characters are escaped, so that no name can move the cursor or break a line.
pub(crate) fn shown(path: &Path) -> String {
    let mut text = String::new();
    for c in path.display().to_string().chars() {
        if c.is_control() {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_cannot_speak_to_the_terminal() {
        assert_eq!(shown(Path::new("a b\u{1b}[31m\nü")), "a b\\u{1b}[31m\\nü");
    }
}
