//! Watching a map run: which statements ran, what they wrote and from what. Costs nothing where nobody watches.

use quayline_core::NodeId;

use crate::plan::{MapPlan, StatementId};

/// Is told what a map does.
pub trait Observer {
    /// Whether it wants to know; a constant, so that a run without observer has no trace of it.
    const WATCHES: bool;

    /// Where the source is now, in terms of whoever drives it (a byte offset); asked at each value that is kept.
    fn source_position(&mut self) -> u64 {
        0
    }
    /// A source node sent a value.
    fn value(&mut self, node: NodeId) {
        let _ = node;
    }
    /// A statement ran.
    fn ran(&mut self, statement: StatementId) {
        let _ = statement;
    }
    /// A statement wrote a value to a target node, made of the values of these source nodes, with the positions at which they were read.
    fn wrote(&mut self, statement: StatementId, output: usize, target: NodeId, sources: &[(NodeId, u64)]) {
        let _ = (statement, output, target, sources);
    }
}

/// Nobody.
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

/// Counts how often each statement ran, and each source node sent a value.
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
    /// Statements with how often each ran.
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

    /// Adds what another counted.
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
