//! The limits of a source's schema: mandatory elements and attributes, values, occurrences of lists.
//!
//! Most readers have no limits. Their only cost is the test whether there are any, so the checks are never inlined.

use std::sync::Arc;

use quayline_core::{Breach, NodeId, Shape, Sink, SourceLimits, Value};

use super::{OpenList, Running};
use crate::fault::XmlFaultKind;
use crate::names::{Part, parts};

/// Limits of a reader.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    limits: Arc<SourceLimits>,
    /// Mandatory elements and attributes of each group.
    elements: Vec<Box<[NodeId]>>,
    attributes: Vec<Box<[NodeId]>>,
}

impl Checks {
    pub(super) fn new(shape: &Shape, limits: &Arc<SourceLimits>) -> Self {
        let parts = parts(shape);
        let mandatory = limits.mandatory(shape);
        // XML does not tell an empty list from an absent one.
        let is_empty_list =
            |node: NodeId| shape.node(node).is_list() && limits.node(node).is_some_and(|limits| limits.min == 0);
        let of = |part: Part| {
            let keep = |node: &NodeId| parts[node.index()] == part && !is_empty_list(*node);
            mandatory.iter().map(|nodes| nodes.iter().copied().filter(keep).collect()).collect()
        };
        Checks { limits: Arc::clone(limits), elements: of(Part::Element), attributes: of(Part::Attribute) }
    }

    /// Returns whether an element has mandatory attributes.
    pub(super) fn has_attributes(&self, node: NodeId) -> bool {
        !self.attributes[node.index()].is_empty()
    }

    #[cold]
    fn kind(&self, breach: Breach) -> XmlFaultKind {
        XmlFaultKind::Limit { breach, definition: self.limits.definition() }
    }
}

impl<S: Sink> Running<'_, '_, S> {
    /// Reports the mandatory elements that the innermost group does not have, and its open list if it has too few or too many occurrences.
    /// A null group has no elements.
    #[inline(never)]
    pub(super) fn check_elements(&mut self) {
        let plan = self.plan;
        let (Some(checks), Some(open)) = (&plan.checks, self.open.last()) else { return };
        let (node, stamp, at, nil, list) = (open.node, open.stamp, open.at, open.nil, open.list);
        if nil {
            return;
        }
        self.check_count(list);
        for child in &checks.elements[node.index()] {
            if self.seen[child.index()] != stamp {
                self.fault(checks.kind(Breach::Missing), at, Some((*child, None)));
            }
        }
    }

    /// Reports the mandatory attributes that an element of the innermost group does not have.
    pub(super) fn check_attributes(&mut self, node: NodeId, sent: &[NodeId], at: usize) {
        let plan = self.plan;
        let Some(checks) = &plan.checks else { return };
        for child in checks.attributes[node.index()].iter().filter(|child| !sent.contains(child)) {
            self.fault(checks.kind(Breach::Missing), at, Some((*child, None)));
        }
    }

    /// Checks the open list of the innermost group before an element of another node ends it.
    #[inline(never)]
    pub(super) fn check_list_before(&mut self, node: NodeId) {
        let list = self.open.last().and_then(|open| open.list);
        self.check_count(list.filter(|list| list.node != node));
    }

    fn check_count(&mut self, list: Option<OpenList>) {
        let plan = self.plan;
        let (Some(checks), Some(list)) = (&plan.checks, list) else { return };
        let count = u32::try_from(list.next).unwrap_or(u32::MAX);
        if let Some(breach) = checks.limits.of_count(list.node, count) {
            self.fault(checks.kind(breach), list.at, Some((list.node, None)));
        }
    }

    /// Reports a value that exceeds a limit.
    #[inline(never)]
    pub(super) fn check_value(&mut self, node: NodeId, occurrence: Option<usize>, value: Value<'_>, at: usize) {
        let plan = self.plan;
        let Some(checks) = &plan.checks else { return };
        if let Some(breach) = checks.limits.of_value(node, value) {
            self.fault(checks.kind(breach), at, Some((node, occurrence)));
        }
    }

    /// Reports an element that is null and must not be. Occurrences of lists may be null.
    pub(super) fn check_null(&mut self, node: NodeId, occurrence: Option<usize>, at: usize) {
        let plan = self.plan;
        let Some(checks) = plan.checks.as_ref().filter(|_| occurrence.is_none()) else { return };
        if let Some(breach) = checks.limits.of_null(node) {
            self.fault(checks.kind(breach), at, Some((node, occurrence)));
        }
    }
}

impl super::XmlReader {
    /// Returns whether the records since the last call had elements or attributes that [`crate::XmlStyle::ignore_unknown`] left out.
    pub fn take_ignored(&mut self) -> bool {
        core::mem::take(&mut self.ignored)
    }

    /// Returns the floats of the records since the last call whose numbers have more digits than the floats keep.
    pub fn take_rounded(&mut self) -> Vec<NodeId> {
        self.rounded.take()
    }
}
