//! Nulls for mandatory members that a map leaves without a value.

use core::convert::Infallible;
use std::sync::Arc;

use quayline_core::{Definition, Finding, NodeId, NodeKind, Shape, Sink, SourceLimits, Value};

use super::map::{AnyPart, TextPart};
use super::text::TextWriter;
use crate::revocable::Revocable;

/// Members that are null if a document has no value for them, because the schema requires them and allows null.
#[derive(Debug)]
pub(crate) struct NullMembers {
    /// By group, in the order of the shape: a member, and how often it is null.
    of_group: Vec<Box<[(NodeId, u32)]>>,
}

impl NullMembers {
    /// Finds the members that a schema requires and allows to be null; `None` if it has none.
    pub(crate) fn of(shape: &Shape, limits: Option<&Arc<SourceLimits>>) -> Option<Arc<NullMembers>> {
        let limits = limits.filter(|limits| limits.definition() != Definition::Outline)?;
        let of_group: Vec<Box<[_]>> = shape.iter().map(|(group, _)| Self::of_members(shape, limits, group)).collect();
        of_group.iter().any(|members| !members.is_empty()).then(|| Arc::new(NullMembers { of_group }))
    }

    fn of_members(shape: &Shape, limits: &SourceLimits, group: NodeId) -> Box<[(NodeId, u32)]> {
        let is_xml = limits.definition() == Definition::XmlSchema;
        let of = |node: NodeId| limits.node(node);
        let is_attribute = |node: NodeId| is_xml && shape.node(node).name.starts_with('@');
        let is_text = |node: NodeId| is_xml && shape.node(node).name == "$text";
        // The text of an element that may be null, and that has nothing else than attributes.
        let is_null_text = of(group).is_some_and(|limits| limits.nullable)
            && shape.children(group).all(|child| is_attribute(child) || is_text(child));
        let members = shape.children(group).filter_map(|child| {
            let limits = of(child)?;
            if is_text(child) {
                return is_null_text.then_some((child, 1));
            }
            // An element that is null needs its mandatory attributes all the same.
            let needs_more = matches!(shape.node(child).kind, NodeKind::Group)
                && shape
                    .children(child)
                    .any(|inner| is_attribute(inner) && of(inner).is_some_and(|inner| inner.required));
            let times = if is_xml { limits.min.max(1) } else { 1 };
            (limits.required && limits.nullable && !needs_more).then_some((child, times))
        });
        members.collect()
    }
}

/// Writer of a map's documents, which come in the order of the shape, that writes null for mandatory members without a value.
pub(crate) struct WithNulls<W> {
    writer: W,
    members: Arc<NullMembers>,
    /// The open groups, each with the number of its members in `members` that are written.
    open: Vec<(NodeId, usize)>,
}

impl<W: TextWriter> WithNulls<W> {
    pub(crate) fn new(writer: W, members: &Arc<NullMembers>) -> Self {
        WithNulls { writer, members: Arc::clone(members), open: Vec::new() }
    }

    /// Writes null for the members before a node of the innermost group. The node itself has a value.
    fn before(&mut self, node: NodeId) {
        let Some((group, written)) = self.open.last_mut() else { return };
        while let Some((member, times)) = self.members.of_group[group.index()].get(*written)
            && *member <= node
        {
            *written += 1;
            if *member < node {
                self.writer.null_members(*member, *times);
            }
        }
    }
}

impl<W: TextWriter> Sink for WithNulls<W> {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.open.clear();
        }
        self.before(node);
        self.open.push((node, 0));
        self.writer.enter(node);
    }

    fn leave(&mut self, node: NodeId) {
        if let Some((group, written)) = self.open.pop() {
            for (member, times) in &self.members.of_group[group.index()][written..] {
                self.writer.null_members(*member, *times);
            }
        }
        self.writer.leave(node);
    }

    fn open_list(&mut self, node: NodeId) {
        self.before(node);
        self.writer.open_list(node);
    }

    fn close_list(&mut self, node: NodeId) {
        self.writer.close_list(node);
    }

    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.before(node);
        self.writer.value(node, value);
    }

    fn discard(&mut self) {
        self.open.clear();
        self.writer.discard();
    }
}

impl<W: TextWriter> Revocable for WithNulls<W> {
    type Mark = usize;
    type Error = Infallible;

    fn mark(&mut self) -> Result<usize, Infallible> {
        self.writer.mark()
    }

    fn back_to(&mut self, mark: usize) -> Result<(), Infallible> {
        self.open.clear();
        self.writer.back_to(mark)
    }

    fn keep(&mut self, mark: usize) -> Result<(), Infallible> {
        self.writer.keep(mark)
    }
}

impl<W: TextWriter> TextWriter for WithNulls<W> {
    fn written(&self) -> usize {
        self.writer.written()
    }

    fn take(&mut self, into: &mut Vec<u8>) {
        self.writer.take(into);
    }

    fn exchange(&mut self, buffer: Vec<u8>) -> (Vec<u8>, usize) {
        self.writer.exchange(buffer)
    }

    fn refusal(&mut self) -> Option<Finding> {
        self.writer.refusal()
    }

    fn null_members(&mut self, node: NodeId, times: u32) {
        self.writer.null_members(node, times);
    }

    fn any<'s>(part: TextPart<Self>) -> AnyPart<'s> {
        W::any_with_nulls(part)
    }
}
