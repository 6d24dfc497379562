//! Observation of a running map: executed statements, written values and their sources. Costs nothing without an observer.

use quayline_core::NodeId;

use crate::plan::{MapPlan, StatementId};

/// Receives the events of a running map.
pub trait Observer {
    /// True if the observer receives events. As a constant, it removes the calls at compile time for a run without an observer.
    const WATCHES: bool;

    /// Returns the current position in the source, in the caller's unit (a byte offset). Called for each kept value.
    fn source_position(&mut self) -> u64 {
        0
    }
    /// Called when a source node sent a value.
    fn value(&mut self, node: NodeId) {
        let _ = node;
    }
    /// Called when a statement ran.
    fn ran(&mut self, statement: StatementId) {
        let _ = statement;
    }
    /// Called when a statement wrote a value to a target node. `sources` are the source nodes of the value, with the positions at which they were
    /// read.
    fn wrote(&mut self, statement: StatementId, output: usize, target: NodeId, sources: &[(NodeId, u64)]) {
        let _ = (statement, output, target, sources);
    }
}

/// Observer that receives nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Observer for Unwatched {
    const WATCHES: bool = false;
}

impl<V: Observer> Observer for &mut V {
    const WATCHES: bool = V::WATCHES;

    fn source_position(&mut self) -> u64 {
        (**self).source_position()
    }
    fn value(&mut self, node: NodeId) {
        (**self).value(node);
    }
    fn ran(&mut self, statement: StatementId) {
        (**self).ran(statement);
    }
    fn wrote(&mut self, statement: StatementId, output: usize, target: NodeId, sources: &[(NodeId, u64)]) {
        (**self).wrote(statement, output, target, sources);
    }
}

/// Counts the executions of each statement and the values of each source node.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    statements: Vec<u64>,
    values: Vec<u64>,
}

impl Observer for Coverage {
    const WATCHES: bool = true;

    fn value(&mut self, node: NodeId) {
        count(&mut self.values, node.index());
    }
    fn ran(&mut self, statement: StatementId) {
        count(&mut self.statements, statement.0 as usize);
    }
}

fn count(all: &mut Vec<u64>, at: usize) {
    if all.len() <= at {
        all.resize(at + 1, 0);
    }
    all[at] += 1;
}

impl Coverage {
    /// Returns the statements with their number of executions.
    pub fn statements<'a>(&'a self, plan: &'a MapPlan) -> impl Iterator<Item = (StatementId, u64)> + 'a {
        (0u32..)
            .map(StatementId)
            .take(plan.statements.len())
            .map(|id| (id, self.statements.get(id.0 as usize).copied().unwrap_or(0)))
    }

    /// Leaves of the source that sent values and that no statement reads: path, values.
    #[must_use]
    pub fn never_mapped(&self, plan: &MapPlan) -> Vec<(String, u64)> {
        let read = plan.source_leaves_read();
        let seen = self
            .values
            .iter()
            .enumerate()
            .filter(|(at, count)| **count > 0 && !read.get(*at).copied().unwrap_or(false));
        seen.map(|(at, count)| (plan.source.path(NodeId(u32::try_from(at).unwrap_or(0))), *count)).collect()
    }

    /// Adds the counts of another instance.
    pub fn add(&mut self, other: &Coverage) {
        for (mine, theirs) in [(&mut self.statements, &other.statements), (&mut self.values, &other.values)] {
            if mine.len() < theirs.len() {
                mine.resize(theirs.len(), 0);
            }
            for (a, b) in mine.iter_mut().zip(theirs) {
                *a += b;
            }
        }
    }
}
