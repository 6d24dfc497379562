//! The reader's tables for each node: its kind, its member's text, and its members by name.

use quayline_core::{Node, NodeId, NodeKind, Scalar, Shape};

use crate::text::escape_into;

/// Kind of value that a node accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Group,
    Text,
    Decimal,
    Float32,
    Float64,
    Bool,
    Bytes,
}

/// One node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) kind: Kind,
    pub(crate) list: bool,
    /// `"NAME":` in the arena.
    key: Span,
    /// First 16 bytes of the name, and a mask of the bytes in use.
    head: u128,
    mask: u128,
    /// The children, in `by_name`.
    children: Span,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    len: u32,
}

impl Span {
    fn of<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        &all[self.start as usize..][..self.len as usize]
    }
}

/// Tables of one shape.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    nodes: Vec<Member>,
    names: Vec<Box<str>>,
    arena: Vec<u8>,
    /// The children of each group, sorted by name.
    by_name: Vec<NodeId>,
}

impl Members {
    pub(crate) fn new(shape: &Shape) -> Self {
        let mut members = Members { nodes: Vec::new(), names: Vec::new(), arena: Vec::new(), by_name: Vec::new() };
        for (id, node) in shape.iter() {
            let start = members.arena.len();
            members.arena.push(b'"');
            escape_into(node.name.as_bytes(), &mut members.arena);
            members.arena.extend_from_slice(b"\":");
            let key = span(start, members.arena.len());
            let start = members.by_name.len();
            members.by_name.extend(shape.children(id));
            members.by_name[start..].sort_by_key(|child| &shape.node(*child).name);
            let children = span(start, members.by_name.len());
            members.names.push(node.name.as_str().into());
            let text = key.of(&members.arena);
            let mut head = [0u8; 16];
            let mut mask = [0u8; 16];
            for ((to, mask), from) in head.iter_mut().zip(&mut mask).zip(text) {
                (*to, *mask) = (*from, 0xff);
            }
            let (head, mask) = (u128::from_le_bytes(head), u128::from_le_bytes(mask));
            members.nodes.push(Member { kind: kind(node), list: node.is_list(), key, head, mask, children });
        }
        members
    }

    #[inline(always)]
    pub(crate) fn node(&self, node: NodeId) -> Member {
        self.nodes[node.index()]
    }

    pub(crate) fn name(&self, node: NodeId) -> &str {
        &self.names[node.index()]
    }

    /// Returns the length of `"NAME":` of `node` if `text` begins with it.
    #[inline(always)]
    pub(crate) fn matches(&self, node: NodeId, text: &[u8]) -> Option<usize> {
        let member = self.nodes.get(node.index())?;
        let len = member.key.len as usize;
        if let Some(block) = text.first_chunk::<16>() {
            if u128::from_le_bytes(*block) & member.mask != member.head {
                return None;
            }
            if len <= 16 {
                return Some(len);
            }
        }
        let key = &self.arena[member.key.start as usize..][..len];
        same(key, text.get(..len)?).then_some(len)
    }

    /// Returns the child of `group` with this name.
    pub(crate) fn child(&self, group: NodeId, name: &[u8]) -> Option<NodeId> {
        let children = self.nodes[group.index()].children.of(&self.by_name);
        let found = children.binary_search_by(|child| self.name(*child).as_bytes().cmp(name)).ok()?;
        Some(children[found])
    }

    /// Returns the name of the child of `group` that is most similar to `name`, if one is similar.
    pub(crate) fn nearest(&self, group: NodeId, name: &[u8]) -> Option<String> {
        /// Bounds the work for one finding; names of COBOL have at most 30 characters.
        const NAME_MAX: usize = 64;
        const CHILDREN_MAX: usize = 2_000;
        let name = fold(core::str::from_utf8(name).ok().filter(|name| name.len() <= NAME_MAX)?);
        let children = self.nodes[group.index()].children.of(&self.by_name);
        let alike =
            children.iter().take(CHILDREN_MAX).map(|child| self.name(*child)).filter(|name| name.len() <= NAME_MAX);
        let (distance, nearest) = alike.map(|child| (distance(&name, &fold(child)), child)).min()?;
        (distance <= name.len() / 3).then(|| nearest.to_owned())
    }
}

/// Returns whether key and text, of the same length, are equal; compares by blocks.
#[inline(always)]
fn same(key: &[u8], text: &[u8]) -> bool {
    let word = |bytes: &[u8; 16]| u128::from_le_bytes(*bytes);
    match (key.first_chunk::<16>(), text.first_chunk::<16>(), key.last_chunk::<16>(), text.last_chunk::<16>()) {
        (Some(key_head), Some(head), Some(key_tail), Some(tail)) => {
            word(key_head) == word(head)
                && word(key_tail) == word(tail)
                && (key.len() <= 32 || key[16..key.len() - 16] == text[16..text.len() - 16])
        }
        _ => key == text,
    }
}

fn kind(node: &Node) -> Kind {
    match &node.kind {
        NodeKind::Group => Kind::Group,
        NodeKind::Scalar(Scalar::Text { .. }) => Kind::Text,
        NodeKind::Scalar(Scalar::Decimal { .. }) => Kind::Decimal,
        NodeKind::Scalar(Scalar::Float32) => Kind::Float32,
        NodeKind::Scalar(Scalar::Float64) => Kind::Float64,
        NodeKind::Scalar(Scalar::Bool) => Kind::Bool,
        NodeKind::Scalar(Scalar::Bytes { .. }) => Kind::Bytes,
    }
}

fn span(start: usize, end: usize) -> Span {
    let narrow = |n: usize| u32::try_from(n).expect("the member names of a shape take less than 4 GiB");
    Span { start: narrow(start), len: narrow(end - start) }
}

/// Folds a name for comparison: case and the choice of separator are ignored.
fn fold(name: &str) -> Vec<char> {
    name.chars().map(|char| if char == '_' { '-' } else { char.to_ascii_lowercase() }).collect()
}

/// Computes the Levenshtein distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
