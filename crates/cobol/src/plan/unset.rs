//! Fields that a document need not set.

use core::iter::successors;
use std::collections::HashMap;

use quayline_core::NodeId;

use super::{ItemIndex, Plan, RecordPlan, TargetKind};
use crate::layout::FieldIndex;

/// What a plan knows about fields that get their values from elsewhere, for one look-up a field.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    /// The list that each counter counts.
    counted: HashMap<ItemIndex, NodeId>,
    /// The redefinitions of each field.
    views: HashMap<FieldIndex, Vec<FieldIndex>>,
    /// The nodes that show fields, in the order of the fields.
    nodes: Vec<(FieldIndex, NodeId)>,
}

impl Elsewhere {
    fn of(plan: &RecordPlan) -> Self {
        let Plan { layout, targets, shape, .. } = &*plan.0;
        let mut counted = HashMap::new();
        for (node, target) in (0..).map(NodeId).zip(targets) {
            if let Some(counter) = target.list.and_then(|list| list.counter) {
                counted.entry(counter).or_insert(node);
            }
        }
        let mut views: HashMap<FieldIndex, Vec<FieldIndex>> = HashMap::new();
        for (view, field) in layout.iter() {
            if let Some(of) = field.redefines {
                views.entry(of).or_default().push(view);
            }
        }
        let mut nodes: Vec<(FieldIndex, NodeId)> =
            shape.iter().filter_map(|(node, _)| Some((plan.field_of(node)?, node))).collect();
        nodes.sort_unstable();
        Elsewhere { counted, views, nodes }
    }
}

impl RecordPlan {
    fn elsewhere(&self) -> &Elsewhere {
        self.0.elsewhere.get_or_init(|| Elsewhere::of(self))
    }

    /// Returns the first leaf or list that shows a field.
    #[must_use]
    pub fn node_of(&self, field: FieldIndex) -> Option<NodeId> {
        let nodes = &self.elsewhere().nodes;
        let at = nodes.partition_point(|(known, _)| *known < field);
        nodes.get(at).filter(|(known, _)| *known == field).map(|(_, node)| *node)
    }

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
        let Elsewhere { views, nodes, .. } = self.elsewhere();
        let is_set = |view: &FieldIndex| {
            let from = nodes.partition_point(|(field, _)| field < view);
            let end = layout.field(*view).subtree_end;
            nodes[from..].iter().take_while(|(field, _)| *field < end).any(|(_, node)| is_written(*node))
        };
        !around().filter_map(|at| views.get(&at)).flatten().any(is_set)
    }

    /// Returns the list whose occurrences a leaf counts (OCCURS DEPENDING ON). Encoding sets such a leaf from the list if a document does not.
    #[must_use]
    pub fn counted_list(&self, leaf: NodeId) -> Option<NodeId> {
        let TargetKind::Item(item) = self.0.targets.get(leaf.index())?.kind else { return None };
        self.elsewhere().counted.get(&item).copied()
    }
}
