//! Recording of problems.

use quayline_core::{NodeId, Sink};

use super::{Pass, Stop};
use crate::fault::{JsonError, describe};
use crate::token::Lexical;

/// One problem; line and column are found once the reading is over.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) error: JsonError,
    pub(super) at: usize,
    pub(super) path: String,
}

impl<S: Sink> Pass<'_, S> {
    #[cold]
    pub(super) fn unexpected<T>(&mut self, expected: &'static str, leaf: Option<NodeId>) -> Result<T, Stop> {
        let error = match self.peek() {
            None => JsonError::End { expected },
            Some(byte) => JsonError::Unexpected { expected, found: describe(byte) },
        };
        self.stop(error, self.at, leaf)
    }

    #[cold]
    pub(super) fn lexical<T>(&mut self, lexical: Lexical, leaf: Option<NodeId>) -> Result<T, Stop> {
        self.stop(lexical.error, lexical.at, leaf)
    }

    #[cold]
    pub(super) fn stop<T>(&mut self, error: JsonError, at: usize, leaf: Option<NodeId>) -> Result<T, Stop> {
        self.problem(error, at, leaf);
        Err(Stop)
    }

    #[cold]
    pub(super) fn problem(&mut self, error: JsonError, at: usize, leaf: Option<NodeId>) {
        if let Some(leaf) = leaf {
            let name = self.reader.members.name(leaf).to_owned();
            // In a list the leaf is the last step already.
            if self.reader.steps.last().is_none_or(|step| step.node != leaf) {
                return self.problem_named(error, at, &name);
            }
        }
        let path = self.path();
        self.push(Problem { error, at, path });
    }

    #[cold]
    pub(super) fn problem_named(&mut self, error: JsonError, at: usize, name: &str) {
        let path = format!("{}.{name}", self.path());
        self.push(Problem { error, at, path });
    }

    fn push(&mut self, problem: Problem) {
        if self.reader.problems.len() < self.reader.options.limits.findings_max.max(1) {
            self.reader.problems.push(problem);
        } else {
            self.reader.more += 1;
        }
    }

    fn path(&self) -> String {
        let mut path = String::from("$");
        for step in &self.reader.steps {
            path.push('.');
            path.push_str(self.reader.members.name(step.node));
            if let Some(index) = step.index {
                path.push_str(&format!("[{index}]"));
            }
        }
        path
    }
}

/// Returns a name from the document for a message: truncated, without control characters.
pub(super) fn shown(name: &[u8]) -> String {
    const CHARS_MAX: usize = 64;
    let name = core::str::from_utf8(name).unwrap_or_default();
    let mut shown: String = name.chars().take(CHARS_MAX).map(|c| if c.is_control() { '?' } else { c }).collect();
    if name.chars().nth(CHARS_MAX).is_some() {
        shown.push_str("...");
    }
    shown
}
