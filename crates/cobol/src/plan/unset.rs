//! Fields that a document need not set.

use core::iter::successors;

use quayline_core::NodeId;

use super::{RecordPlan, Target, TargetKind};
use crate::layout::{Field, FieldIndex};

impl RecordPlan {
    /// Returns true if a leaf is written as spaces or zeros unless a document sets it: it has a name, no VALUE clause and no default of the interface, it
    /// counts no list of the shape and redefines nothing. `is_written` returns whether a document may set a leaf: a field whose redefinition is set has a
    /// value.
    #[must_use]
    pub fn needs_value(&self, leaf: NodeId, is_written: impl Fn(NodeId) -> bool) -> bool {
        let Some(field) = self.field_of(leaf) else { return false };
        let layout = &self.0.layout;
        let around = || successors(Some(field), |at| layout.field(*at).parent);
        let is_settled = |at: FieldIndex| layout.field(at).value.is_some() || layout.field(at).redefines.is_some();
        let is_given = self.0.defaults.contains(&field) || around().any(is_settled);
        if layout.field(field).filler || is_given || self.counted_list(leaf).is_some() {
            return false;
        }
        let is_set = |view: FieldIndex| {
            let shows =
                |node: NodeId| self.field_of(node).is_some_and(|of| of >= view && of < layout.field(view).subtree_end);
            self.0.shape.iter().any(|(node, _)| shows(node) && is_written(node))
        };
        let shares = |view: &Field| view.redefines.is_some_and(|of| around().any(|at| at == of));
        !layout.iter().any(|(index, view)| shares(view) && is_set(index))
    }

    /// Returns the list whose occurrences a leaf counts (OCCURS DEPENDING ON). Encoding sets such a leaf from the list if a document does not.
    #[must_use]
    pub fn counted_list(&self, leaf: NodeId) -> Option<NodeId> {
        let TargetKind::Item(item) = self.0.targets.get(leaf.index())?.kind else { return None };
        let counts = |target: &Target| target.list.is_some_and(|list| list.counter == Some(item));
        (0..).map(NodeId).zip(&self.0.targets).find(|(_, target)| counts(target)).map(|(node, _)| node)
    }
}
