//! A sink that checks a source against the contract of `quayline_core::Sink`.

use std::collections::HashSet;

use quayline_core::{NodeId, NodeKind, Shape, Sink, Value};

/// Panics on a violation of the contract.
pub(crate) struct Contract<'a> {
    shape: &'a Shape,
    /// Open groups with the nodes sent in each, and the open list.
    open: Vec<(NodeId, HashSet<NodeId>, Option<NodeId>)>,
    pub(crate) documents: u64,
    pub(crate) values: u64,
}

impl<'a> Contract<'a> {
    pub(crate) fn new(shape: &'a Shape) -> Self {
        Contract { shape, open: Vec::new(), documents: 0, values: 0 }
    }

    /// Checks that a node is allowed at this point.
    fn stands(&mut self, node: NodeId) {
        let known = self.shape.node(node);
        let (group, sent, list) = self.open.last_mut().expect("a group is open");
        assert_eq!(known.parent, Some(*group), "{} in {}", self.shape.path(node), self.shape.path(*group));
        if known.is_list() {
            assert_eq!(*list, Some(node), "{} outside of its list", self.shape.path(node));
        } else {
            assert_eq!(*list, None, "{} while a list is open", self.shape.path(node));
            assert!(sent.insert(node), "{} occurs twice", self.shape.path(node));
        }
    }
}

impl Sink for Contract<'_> {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            assert!(self.open.is_empty(), "a document in a document");
        } else {
            self.stands(node);
        }
        assert_eq!(self.shape.node(node).kind, NodeKind::Group);
        self.open.push((node, HashSet::new(), None));
    }

    fn leave(&mut self, node: NodeId) {
        let (group, _, list) = self.open.pop().expect("a group is open");
        assert_eq!((group, list), (node, None), "{}", self.shape.path(node));
        self.documents += u64::from(node == NodeId::ROOT);
    }

    fn open_list(&mut self, node: NodeId) {
        assert!(self.shape.node(node).is_list(), "{} is no list", self.shape.path(node));
        let (group, sent, list) = self.open.last_mut().expect("a group is open");
        assert_eq!(self.shape.node(node).parent, Some(*group));
        assert_eq!(*list, None, "a list in a list");
        assert!(sent.insert(node), "list {} occurs twice", self.shape.path(node));
        *list = Some(node);
    }

    fn close_list(&mut self, node: NodeId) {
        let (_, _, list) = self.open.last_mut().expect("a group is open");
        assert_eq!(list.take(), Some(node));
    }

    fn value(&mut self, node: NodeId, _value: Value<'_>) {
        assert_ne!(self.shape.node(node).kind, NodeKind::Group, "{} has no value", self.shape.path(node));
        self.stands(node);
        self.values += 1;
    }

    fn discard(&mut self) {}
}
