//! The sink: events in, columns out.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use quayline_core::{Findings, NodeId, Shape, Sink, Value};

use crate::error::{Cause, ColumnError, Reason, Refusal};
use crate::leaf::Leaf;
use crate::plan::{ColumnOptions, Plan};
use crate::validity::Validity;

/// Builds one batch of columns after another from the documents of a shape.
///
/// Documents are rows. A sink owns its memory and may be sent to another thread; [`ColumnSink::is_full`] returns whether a batch
/// should leave through [`ColumnSink::take_batch`] or [`ParquetEncoder::take_pages`](crate::ParquetEncoder::take_pages). A document
/// that a column refuses is removed when it ends. Call [`ColumnSink::take_refusal`] after each document: no batch is returned after
/// a refusal that was not taken.
///
/// # Removal of rows
/// The columns are plain buffers, so a document is undone by truncating every buffer to its length at the start of the document.
/// For columns outside lists that length is the number of rows; for the elements of a list it is in the list's offsets.
#[derive(Debug)]
pub struct ColumnSink {
    pub(crate) plan: Arc<Plan>,
    /// For each node, the number of entries of its column (for a list, of its elements). For each list node, followed by the number of its lists.
    pub(crate) counts: Vec<u32>,
    pub(crate) leaves: Vec<Leaf>,
    /// For each list node, its offsets and its null lists; for each optional group, its null occurrences.
    pub(crate) lists: Vec<ListColumn>,
    /// For each node, the lengths that must agree when an occurrence of the group ends.
    checks: Vec<Checks>,
    document: DocumentState,
    refusal: Option<Refusal>,
    /// The refusal of the document being built.
    building: Option<Refusal>,
    refusals_dropped: u64,
    /// Rows at which [`ColumnSink::is_full`] measures the buffers again.
    measure_at: usize,
}

/// Offsets of a list column, or just the nulls of an optional group.
#[derive(Debug, Default)]
pub(crate) struct ListColumn {
    /// End of each list in its elements.
    pub(crate) ends: Vec<u32>,
    pub(crate) validity: Validity,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum DocumentState {
    /// No document can be undone.
    None,
    /// Between enter and leave of the root.
    Open,
    /// Left and kept.
    Kept,
}

/// Place of the counts of a group's members.
#[derive(Debug)]
enum Checks {
    /// Side by side, from here up to there, and all of them leaves without lists.
    Leaves(usize, usize),
    /// Side by side, from here up to there.
    Run(usize, usize),
    /// Anywhere.
    Each(Vec<usize>),
}

/// Most entries of one column in a batch.
const ENTRIES_MAX: u32 = 1 << 30;

impl ColumnSink {
    /// Creates a sink for documents of `shape`.
    ///
    /// # Errors
    /// `COL-001` a decimal of more than 76 digits, `COL-002` two columns of one name, `COL-003` no column at all, `COL-004` too
    /// many columns.
    pub fn new(shape: &Shape, options: &ColumnOptions) -> Result<Self, Findings> {
        Ok(Self::with_plan(Arc::new(Plan::new(shape, options)?)))
    }

    /// Removes the last `count` rows, or all if there are fewer.
    pub fn take_back(&mut self, count: usize) {
        self.undo(self.rows() - count.min(self.rows()));
        self.document = DocumentState::None;
        self.refusal = None;
    }

    /// Creates another empty sink for the same shape and options, for use in another thread.
    #[must_use]
    pub fn sibling(&self) -> Self {
        Self::with_plan(Arc::clone(&self.plan))
    }

    pub(crate) fn with_plan(plan: Arc<Plan>) -> Self {
        let nodes = plan.nodes.len();
        let checks = plan.nodes.iter().map(|node| {
            let each: Vec<usize> = node
                .children
                .iter()
                .map(|child| child.index() + if plan.nodes[child.index()].list { nodes } else { 0 })
                .collect();
            let are_leaves = node.children.iter().all(|child| {
                let child = &plan.nodes[child.index()];
                child.leaf.is_some() && !child.list
            });
            match each.as_slice() {
                [first, .., last] if are_leaves && each.is_sorted_by(|a, b| a + 1 == *b) => {
                    Checks::Leaves(*first, last + 1)
                }
                [first, .., last] if each.is_sorted_by(|a, b| a + 1 == *b) => Checks::Run(*first, last + 1),
                _ => Checks::Each(each),
            }
        });
        ColumnSink {
            counts: vec![0; nodes * 2],
            leaves: plan.nodes.iter().map(|node| Leaf::new(node.leaf, plan.options.text)).collect(),
            lists: plan.nodes.iter().map(|_| ListColumn::default()).collect(),
            checks: checks.collect(),
            document: DocumentState::None,
            refusal: None,
            building: None,
            refusals_dropped: 0,
            measure_at: 16,
            plan,
        }
    }

    /// Returns the Arrow schema of the batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.schema)
    }

    /// Documents in the batch so far.
    #[inline]
    #[must_use]
    pub fn rows(&self) -> usize {
        self.counts[0] as usize
    }

    /// Bytes of the batch so far.
    #[must_use]
    pub fn memory(&self) -> usize {
        let leaves = self.leaves.iter().zip(&self.counts).map(|(leaf, count)| leaf.memory(*count as usize));
        let lists = &self.counts[self.leaves.len()..];
        leaves.sum::<usize>() + lists.iter().map(|count| *count as usize * 4).sum::<usize>()
    }

    /// Returns whether the batch has the rows or bytes that the options allow and should leave. Call it between documents.
    #[inline]
    pub fn is_full(&mut self) -> bool {
        let rows = self.rows();
        rows >= self.plan.options.batch_rows_max || (rows >= self.measure_at && self.measure(rows))
    }

    /// Measures, and puts the next time off to half of the rows that should still fit.
    #[cold]
    fn measure(&mut self, rows: usize) -> bool {
        let memory = self.memory();
        let left = self.plan.options.batch_bytes_max.saturating_sub(memory);
        let step = left / 2 / (memory / rows).max(1);
        self.measure_at = rows + step.max(1);
        left == 0
    }

    /// Returns the reason why the document that was left last is not in the batch; `None` if it is.
    #[inline]
    pub fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    /// Checks that a batch can be taken now.
    pub(crate) fn check_complete(&mut self) -> Result<(), ColumnError> {
        if self.document == DocumentState::Open {
            return Err(ColumnError::DocumentOpen);
        }
        self.document = DocumentState::None;
        let count = self.refusals_dropped + u64::from(self.refusal.is_some());
        if count > 0 {
            return Err(ColumnError::RefusalsNotTaken { count });
        }
        Ok(())
    }

    /// Forgets all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        for leaf in &mut self.leaves {
            leaf.clear();
        }
        for list in &mut self.lists {
            list.validity.clear();
        }
        self.measure_at = 16;
    }

    /// Returns the number of lists of a list node.
    pub(crate) fn list_count(&self, node: NodeId) -> usize {
        self.counts[self.leaves.len() + node.index()] as usize
    }

    /// Returns the number of entries of a node's column.
    pub(crate) fn count(&self, node: NodeId) -> usize {
        self.counts[node.index()] as usize
    }

    /// Ends of the lists of a list node.
    pub(crate) fn ends(&self, node: NodeId) -> &[u32] {
        &self.lists[node.index()].ends[..self.list_count(node)]
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, node: NodeId, reason: Reason) {
        let plan = &self.plan.nodes[node.index()];
        let expected = plan.leaf.map_or_else(|| "a group".to_owned(), |leaf| leaf.words());
        let cause = Cause { path: self.path(node), expected, reason };
        self.building.get_or_insert_with(Refusal::new).add(cause);
    }

    /// Returns the path (`A.B[2].C`) of the most recent value.
    fn path(&self, node: NodeId) -> String {
        let mut parts = Vec::new();
        let mut at = Some((node, true));
        while let Some((id, last)) = at {
            let plan = &self.plan.nodes[id.index()];
            let Some(parent) = plan.parent else { break };
            let mut part = plan.name.clone();
            if plan.list {
                // A leaf was counted when it was put; a group is counted when it is left.
                let begun = self.ends(id).last().map_or(0, |end| *end as usize);
                let index = (self.count(id) - begun.min(self.count(id)))
                    .saturating_sub(usize::from(last && plan.leaf.is_some()));
                part.push_str(&format!("[{index}]"));
            }
            parts.push(part);
            at = Some((parent, false));
        }
        parts.reverse();
        parts.join(".")
    }

    /// Adds nulls for the members that the group occurrence being left, number `wanted` of its column, does not have.
    #[inline(never)]
    fn pad(&mut self, group: NodeId, wanted: u32) {
        if let Checks::Leaves(first, end) = self.checks[group.index()] {
            // Most members of some groups are absent, such as the elements of a row of EDI.
            let mut is_twice = false;
            for (has, leaf) in self.counts[first..end].iter_mut().zip(&mut self.leaves[first..end]) {
                if *has < wanted {
                    leaf.put_null(*has as usize);
                    *has += 1;
                }
                is_twice |= *has > wanted;
            }
            if !is_twice {
                return;
            }
        }
        self.pad_each(group, wanted);
    }

    #[cold]
    #[inline(never)]
    fn pad_each(&mut self, group: NodeId, wanted: u32) {
        let plan = Arc::clone(&self.plan);
        for &child in &plan.nodes[group.index()].children {
            let list = plan.nodes[child.index()].list;
            let has = if list { self.counts[self.leaves.len() + child.index()] } else { self.counts[child.index()] };
            if has > wanted {
                self.refuse(child, Reason::Twice);
            } else if has < wanted {
                self.put_null(&plan, child);
            }
        }
    }

    /// Adds one absent member, and the entries that represent it in its own members.
    fn put_null(&mut self, plan: &Plan, node: NodeId) {
        let at = self.count(node);
        if plan.nodes[node.index()].list {
            let lists = self.list_count(node);
            self.lists[node.index()].validity.set_null(lists);
            self.end_list(node);
            return;
        }
        if plan.nodes[node.index()].leaf.is_some() {
            self.leaves[node.index()].put_null(at);
        } else {
            if plan.nodes[node.index()].optional {
                self.lists[node.index()].validity.set_null(at);
            }
            for &child in &plan.nodes[node.index()].children {
                self.put_null(plan, child);
            }
        }
        self.counts[node.index()] += 1;
    }

    fn end_list(&mut self, node: NodeId) {
        let end = self.counts[node.index()];
        let lists = self.list_count(node);
        crate::bytes_column::set(&mut self.lists[node.index()].ends, lists, end);
        self.counts[self.leaves.len() + node.index()] += 1;
        if end > ENTRIES_MAX {
            self.refuse(node, Reason::TooMuch);
        }
    }

    /// Cuts the columns of `node` to `len` entries, with everything below.
    fn cut(&mut self, plan: &Plan, node: NodeId, len: usize) {
        let count = u32::try_from(len).expect("lengths only shrink");
        self.counts[node.index()] = count;
        let at = &plan.nodes[node.index()];
        if at.leaf.is_some() {
            self.leaves[node.index()].truncate(len);
            return;
        }
        if at.optional {
            self.lists[node.index()].validity.truncate(len);
        }
        for &child in &at.children {
            if plan.nodes[child.index()].list {
                let list = &mut self.lists[child.index()];
                list.validity.truncate(len);
                let elements = len.checked_sub(1).map_or(0, |last| list.ends[last] as usize);
                self.counts[self.leaves.len() + child.index()] = count;
                self.cut(plan, child, elements);
            } else {
                self.cut(plan, child, len);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn undo(&mut self, rows: usize) {
        let plan = Arc::clone(&self.plan);
        self.cut(&plan, NodeId::ROOT, rows);
        self.document = DocumentState::None;
        self.building = None;
    }

    #[cold]
    #[inline(never)]
    fn leave_refused(&mut self) {
        let refusal = self.building.take();
        self.undo(self.rows() - 1);
        self.refusal = refusal;
    }
}

impl Sink for ColumnSink {
    const TAKES_NOT_FINITE: bool = true;
    const KEEPS_SIGNED_ZERO: bool = false;
    const PREFERS_INTEGERS: bool = true;

    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            if self.document == DocumentState::Open {
                self.discard();
            }
            if self.refusal.take().is_some() {
                self.refusals_dropped += 1;
            }
            self.document = DocumentState::Open;
        }
    }

    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
        let count = self.counts[node.index()] + 1;
        let complete = match &self.checks[node.index()] {
            Checks::Leaves(first, end) | Checks::Run(first, end) => {
                self.counts[*first..*end].iter().all(|has| *has == count)
            }
            Checks::Each(each) => each.iter().all(|at| self.counts[*at] == count),
        };
        if !complete {
            self.pad(node, count);
        }
        self.counts[node.index()] = count;
        if node == NodeId::ROOT {
            self.document = DocumentState::Kept;
            if self.building.is_some() {
                self.leave_refused();
            }
        }
    }

    #[inline(always)]
    fn open_list(&mut self, _: NodeId) {}

    #[inline(always)]
    fn close_list(&mut self, node: NodeId) {
        self.end_list(node);
    }

    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        let at = self.counts[node.index()];
        self.counts[node.index()] = at + 1;
        if let Err(reason) = self.leaves[node.index()].put(at as usize, value) {
            self.refuse(node, reason);
        }
    }

    fn discard(&mut self) {
        match self.document {
            DocumentState::None => {
                // The last document was refused already; its causes no longer matter.
                self.refusal = None;
            }
            DocumentState::Open => self.undo(self.rows()),
            DocumentState::Kept => self.undo(self.rows() - 1),
        }
    }
}
