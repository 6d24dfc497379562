//! The limits of a source's schema: mandatory members, values, occurrences of lists.
//!
//! Most readers have no limits. Their only cost is the test whether there are any, so the checks are never inlined.

use std::sync::Arc;

use quayline_core::{Breach, NodeId, Shape, Sink, SourceLimits, Value};

use super::Pass;
use crate::fault::JsonError;

/// Limits of a reader.
#[derive(Debug)]
pub(super) struct Checks {
    limits: Arc<SourceLimits>,
    /// Mandatory members of each group.
    mandatory: Vec<Box<[NodeId]>>,
}

impl Checks {
    pub(super) fn new(shape: &Shape, limits: &Arc<SourceLimits>) -> Self {
        Checks { limits: Arc::clone(limits), mandatory: limits.mandatory(shape) }
    }

    /// Returns the error of a value that exceeds a limit.
    pub(super) fn value(&self, node: NodeId, value: Value<'_>) -> Option<JsonError> {
        self.limits.of_value(node, value).map(|breach| self.error(breach))
    }

    #[cold]
    fn error(&self, breach: Breach) -> JsonError {
        JsonError::Limit { breach, definition: self.limits.definition() }
    }
}

impl<S: Sink> Pass<'_, S> {
    /// Reports the mandatory members that an object does not have. `start` is the place of its brace.
    #[inline(never)]
    pub(super) fn check_members(&mut self, group: NodeId, occurrence: u64, start: usize) {
        let Some(checks) = self.reader.checks.clone() else { return };
        for child in &checks.mandatory[group.index()] {
            if self.reader.visits[child.index()].seen != occurrence {
                self.problem(checks.error(Breach::Missing), start, Some(*child));
            }
        }
    }

    /// Reports a value that exceeds a limit.
    #[inline(never)]
    pub(super) fn check_value(&mut self, node: NodeId, value: Value<'_>, start: usize) {
        if let Some(error) = self.reader.checks.as_ref().and_then(|checks| checks.value(node, value)) {
            self.problem(error, start, Some(node));
        }
    }

    /// Reports a member or an item of a list that is null and must not be.
    #[inline(never)]
    pub(super) fn check_null(&mut self, node: NodeId, is_item: bool, start: usize) {
        let Some(checks) = &self.reader.checks else { return };
        let breach = if is_item { checks.limits.of_null_item(node) } else { checks.limits.of_null(node) };
        if let Some(breach) = breach {
            let error = checks.error(breach);
            self.problem(error, start, Some(node));
        }
    }

    /// Reports a list with too few or too many occurrences.
    #[inline(never)]
    pub(super) fn check_count(&mut self, node: NodeId, count: u32, start: usize) {
        let Some(checks) = &self.reader.checks else { return };
        if let Some(breach) = checks.limits.of_count(node, count) {
            let error = checks.error(breach);
            self.problem(error, start, Some(node));
        }
    }
}
