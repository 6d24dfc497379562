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

/// How to talk to whoever runs the command.
#[derive(Debug)]
pub(crate) struct Console {
    /// Colours on standard error.
    color_stderr: bool,
    /// Colours on standard output.
    color_stdout: bool,
    /// Findings as JSON, one a line.
    json: bool,
    /// Whether something was said already, so that a blank line stands between it and what follows.
    said: Cell<bool>,
    /// Findings are kept instead of printed, for a command that runs another.
    kept: Option<RefCell<Vec<Finding>>>,
}

impl Console {
    /// Decides on colours: `always`, `never`, or (`auto`) where the stream is a terminal that has them and `NO_COLOR` is not set.
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

    /// The findings that were kept.
    pub(crate) fn collected(self) -> Vec<Finding> {
        self.kept.map(RefCell::into_inner).unwrap_or_default()
    }

    /// No colours, findings as text.
    pub(crate) fn plain() -> Self {
        Console { color_stderr: false, color_stdout: false, json: false, said: Cell::new(false), kept: None }
    }

    /// Whether standard output takes colours.
    pub(crate) fn color_stdout(&self) -> bool {
        self.color_stdout
    }

    /// Whether standard error takes colours.
    pub(crate) fn color_stderr(&self) -> bool {
        self.color_stderr
    }

    /// Whether programs read the answer.
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

    /// Says something to people, with a blank line before it where something was said already. Programs are not told.
    pub(crate) fn paragraph(&self, text: &str) {
        if !self.json {
            let blank = if self.said.get() { "\n" } else { "" };
            self.line(&format!("{blank}{}", text.trim_end()));
        }
    }

    /// Somebody else wrote to standard error.
    pub(crate) fn something_was_said(&self) {
        self.said.set(true);
    }

    /// Writes a line to standard error. Where even that is closed, nothing can be said, and the exit code still tells.
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

/// Whether `TERM` says that the terminal can do nothing but print.
pub(crate) fn dumb_terminal() -> bool {
    env_vars::TERM.value().is_some_and(|term| term == "dumb")
}

/// A file's name as it may stand in a message: control characters escaped, so that no name can move a cursor or break a line.
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
