//! The format-neutral tree that copybooks, guides and schemas compile to.

use std::sync::Arc;

/// Index of a node in its [`Shape`], in document order; the root is 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The root of every shape.
    pub const ROOT: NodeId = NodeId(0);

    /// Returns the id as an index into a table with an entry for each node.
    #[inline(always)]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of occurrences of a node in one occurrence of its parent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Occurs {
    /// Exactly once.
    Once,
    /// Zero or one occurrence.
    Optional,
    /// A list, even if it holds one occurrence.
    Many {
        /// Fewest occurrences.
        min: u32,
        /// Most occurrences; `None` is unbounded.
        max: Option<u32>,
    },
}

/// Type of a leaf.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scalar {
    /// Characters.
    Text {
        /// Maximum number of characters, if the source bounds them.
        chars_max: Option<u32>,
    },
    /// Exact decimal `±d…d × 10^-scale`.
    Decimal {
        /// Most digits.
        digits: u16,
        /// Digits after the decimal point; may be negative.
        scale: i16,
        /// True if the number may be negative.
        signed: bool,
    },
    /// 32-bit float.
    Float32,
    /// 64-bit float.
    Float64,
    /// Truth value.
    Bool,
    /// Bytes.
    Bytes {
        /// Maximum number of bytes, if bounded.
        len_max: Option<u32>,
    },
}

/// Group or leaf.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NodeKind {
    /// A node with children and without a value.
    Group,
    /// Has a value, no children.
    Scalar(Scalar),
}

/// One node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Node {
    /// Name among its siblings, unique there.
    pub name: String,
    /// Parent; `None` for the root.
    pub parent: Option<NodeId>,
    /// First id after the node's subtree: the subtree is `id .. subtree_end`.
    pub subtree_end: NodeId,
    /// Group or leaf.
    pub kind: NodeKind,
    /// Number of occurrences in its parent.
    pub occurs: Occurs,
    /// True if a source may send the node before its previous sibling. Consecutive siblings with this flag, together with the sibling
    /// before the first of them, may arrive in any order.
    pub mixed: bool,
}

impl Node {
    /// Returns whether the node is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        matches!(self.occurs, Occurs::Many { .. })
    }

    /// Returns the type of a leaf.
    #[must_use]
    pub fn scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            NodeKind::Group => None,
            NodeKind::Scalar(scalar) => Some(scalar),
        }
    }
}

/// A tree of named nodes in document order. The root is a group that occurs once: one document. A clone shares the nodes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shape {
    nodes: Arc<[Node]>,
}

impl Shape {
    /// Starts a shape with a root of this name.
    #[must_use]
    pub fn builder(root: impl Into<String>) -> ShapeBuilder {
        let root = Node {
            name: root.into(),
            parent: None,
            subtree_end: NodeId(1),
            kind: NodeKind::Group,
            occurs: Occurs::Once,
            mixed: false,
        };
        ShapeBuilder { nodes: vec![root], open: vec![NodeId::ROOT] }
    }

    /// Returns the node with this id.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns false: a shape always has a root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns all nodes with their ids, in document order.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0u32..).map(NodeId).zip(self.nodes.iter())
    }

    /// Returns the children of a node, in document order.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let end = self.node(id).subtree_end;
        let mut next = NodeId(id.0 + 1);
        core::iter::from_fn(move || {
            (next < end).then(|| {
                let child = next;
                next = self.node(child).subtree_end;
                child
            })
        })
    }

    /// Returns the child with this name.
    #[must_use]
    pub fn child(&self, id: NodeId, name: &str) -> Option<NodeId> {
        self.children(id).find(|child| self.node(*child).name == name)
    }

    /// Returns the first id of the run of siblings that come in any order with a node, and the id after the run: the node's own
    /// subtree if it has no such siblings.
    #[must_use]
    pub fn run_of(&self, id: NodeId) -> (NodeId, NodeId) {
        let own = (id, self.node(id).subtree_end);
        let Some(parent) = self.node(id).parent else { return own };
        let mut run = (NodeId(parent.0 + 1), id);
        for child in self.children(parent) {
            let node = self.node(child);
            if !node.mixed {
                if child > id {
                    break;
                }
                run.0 = child;
            }
            run.1 = node.subtree_end;
        }
        run
    }

    /// Returns the names from below the root to the node, joined by `.`; empty for the root.
    #[must_use]
    pub fn path(&self, id: NodeId) -> String {
        let mut names = Vec::new();
        let mut at = Some(id);
        while let Some(id) = at {
            let node = self.node(id);
            if node.parent.is_some() {
                names.push(node.name.as_str());
            }
            at = node.parent;
        }
        names.reverse();
        names.join(".")
    }

    /// Returns the shape of these nodes, or `None` if their subtrees do not nest like those of a tree.
    pub(crate) fn of_nodes(nodes: Vec<Node>) -> Option<Shape> {
        let first = nodes.first()?;
        if first.parent.is_some() || first.subtree_end.index() != nodes.len() {
            return None;
        }
        let mut open = vec![NodeId::ROOT];
        for (id, node) in (1u32..).map(NodeId).zip(&nodes[1..]) {
            while nodes[open.last()?.index()].subtree_end <= id {
                open.pop();
            }
            let parent = *open.last()?;
            let fits = node.parent == Some(parent) && node.subtree_end > id;
            let leaf = node.scalar().is_none() || node.subtree_end.0 == id.0 + 1;
            if !fits || !leaf || node.subtree_end > nodes[parent.index()].subtree_end {
                return None;
            }
            open.push(id);
        }
        Some(Shape { nodes: nodes.into() })
    }

    /// Returns the number of groups around the deepest leaf.
    #[must_use]
    pub fn depth(&self) -> usize {
        let mut depths = vec![0usize; self.nodes.len()];
        for (id, node) in self.iter().skip(1) {
            depths[id.index()] = depths[node.parent.map_or(0, NodeId::index)] + 1;
        }
        depths.into_iter().max().unwrap_or(0)
    }
}

/// Builds a [`Shape`] top down.
#[derive(Debug)]
pub struct ShapeBuilder {
    nodes: Vec<Node>,
    open: Vec<NodeId>,
}

impl ShapeBuilder {
    /// Opens a group below the innermost open one.
    pub fn open(&mut self, name: impl Into<String>, occurs: Occurs) -> NodeId {
        let id = self.push(name.into(), NodeKind::Group, occurs);
        self.open.push(id);
        id
    }

    /// Closes the innermost open group; the root stays open until [`ShapeBuilder::finish`].
    pub fn close(&mut self) {
        if self.open.len() > 1
            && let Some(id) = self.open.pop()
        {
            self.nodes[id.index()].subtree_end = self.next_id();
        }
    }

    /// Marks an added node as one that may come before the previous sibling: see [`Node::mixed`].
    pub fn mix(&mut self, id: NodeId) {
        self.nodes[id.index()].mixed = true;
    }

    /// Gives an added node another name.
    pub fn rename(&mut self, id: NodeId, name: impl Into<String>) {
        self.nodes[id.index()].name = name.into();
    }

    /// Adds a leaf below the innermost open group.
    pub fn scalar(&mut self, name: impl Into<String>, scalar: Scalar, occurs: Occurs) -> NodeId {
        self.push(name.into(), NodeKind::Scalar(scalar), occurs)
    }

    /// Closes all open groups and returns the shape.
    #[must_use]
    pub fn finish(mut self) -> Shape {
        while self.open.len() > 1 {
            self.close();
        }
        self.nodes[0].subtree_end = self.next_id();
        Shape { nodes: self.nodes.into() }
    }

    fn next_id(&self) -> NodeId {
        NodeId(u32::try_from(self.nodes.len()).expect("a shape has fewer than 2^32 nodes"))
    }

    fn push(&mut self, name: String, kind: NodeKind, occurs: Occurs) -> NodeId {
        let id = self.next_id();
        let parent = self.open.last().copied();
        self.nodes.push(Node { name, parent, subtree_end: NodeId(id.0 + 1), kind, occurs, mixed: false });
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_siblings() {
        let mut shape = Shape::builder("r");
        let a = shape.open("a", Occurs::Once);
        let inner = shape.scalar("inner", Scalar::Bool, Occurs::Once);
        shape.close();
        let b = shape.scalar("b", Scalar::Bool, Occurs::Once);
        let c = shape.open("c", Occurs::Once);
        shape.close();
        let d = shape.scalar("d", Scalar::Bool, Occurs::Once);
        shape.mix(b);
        shape.mix(c);
        let shape = shape.finish();
        assert_eq!(shape.run_of(NodeId::ROOT), (NodeId::ROOT, NodeId(6)));
        assert_eq!(shape.run_of(inner), (inner, b));
        for node in [a, b, c] {
            assert_eq!(shape.run_of(node), (a, d));
        }
        assert_eq!(shape.run_of(d), (d, NodeId(6)));
    }
}
