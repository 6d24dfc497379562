//! Text before each value, built once per shape.

use quayline_core::{NodeId, NodeKind, Scalar, Shape};

use crate::style::{JsonStyle, Numbers, SAFE_DIGITS, Spacing};
use crate::text::escape_into;

/// Bytes of the blocks in which prefixes are kept and copied.
const BLOCK: usize = 32;

/// Bytes beyond a prefix that [`Keys::copy`] may write.
pub(crate) const SLACK: usize = BLOCK;

/// Prefixes of all nodes in one arena, each at the start of a block.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    arena: Vec<[u8; BLOCK]>,
    nodes: Vec<NodeKeys>,
    /// Data of the fast ways of writing a value, together for each node.
    prefixes: Vec<Prefix>,
    /// Data of the fast ways for leaves that are alone in their group, by leaf.
    alone: Vec<Alone>,
}

/// Bytes of the longest way into a group that has a short way.
pub(crate) const ALONE_MAX: usize = 32;

/// Text that precedes a leaf's value or its list, and that also opens the group if the leaf is the group's only member.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alone {
    pub(crate) bytes: [u8; ALONE_MAX],
    /// Length including the leaf's own text; 0 if only the general way can write it.
    pub(crate) all: u8,
    /// Length of the group's text.
    pub(crate) group: u8,
}

/// Bytes of the longest prefix that has a short way.
pub(crate) const PREFIX_MAX: usize = 64;

/// A node's `one` prefix as a block of its own, aligned to half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Prefix {
    pub(crate) bytes: [u8; PREFIX_MAX],
    /// Length before a string, at most [`PREFIX_MAX`]; 0 if the prefix is longer and only the general way can write it.
    pub(crate) string: u8,
    /// Length before a number: without the quotation mark, unless numbers of this node are quoted.
    pub(crate) number: u8,
    /// 1 if numbers of this node are quoted.
    pub(crate) quotes: u8,
    /// Most digits of a decimal with a short way; 0 as for `string`.
    pub(crate) plain_digits: u8,
    /// `plain_digits`, at most a block's sixteen.
    pub(crate) block_digits: u8,
}

/// The prefixes of one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeKeys {
    /// Text before a value: `"KEY":"`, or `"` in a list; before a group: `"KEY":{`, or `{` in a list.
    pub(crate) one: Span,
    /// Whether a decimal of this node is always a string.
    pub(crate) quoted: bool,
    /// Levels above the node's members, for pretty output.
    pub(crate) level: u16,
    /// Text before a list: `"KEY":[`.
    pub(crate) list: Span,
}

/// A part of the arena: first block, and length in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.len as usize
    }
}

impl Keys {
    pub(crate) fn new(shape: &Shape, style: JsonStyle) -> Self {
        let mut keys = Keys {
            arena: Vec::new(),
            nodes: Vec::with_capacity(shape.len()),
            prefixes: Vec::with_capacity(shape.len()),
            alone: Vec::with_capacity(shape.len()),
        };
        // Levels of indentation before a node's own line.
        let mut levels: Vec<u16> = Vec::with_capacity(shape.len());
        for (id, node) in shape.iter() {
            let level =
                node.parent.map_or(0, |parent| levels[parent.index()] + 1 + u16::from(shape.node(parent).is_list()));
            levels.push(level);
            let open: &[u8] = match node.kind {
                NodeKind::Group => b"{",
                NodeKind::Scalar(_) => b"\"",
            };
            let key = if id == NodeId::ROOT { Vec::new() } else { key_text(&node.name, level, style.spacing) };
            let (list, one) = if node.is_list() {
                (keys.push(&[&key, b"["]), keys.push(&[&line_start(level + 1, style.spacing), open]))
            } else {
                (Span::default(), keys.push(&[&key, open]))
            };
            let quoted = match style.numbers {
                Numbers::Exact => false,
                Numbers::StringsWhenUnsafe => {
                    matches!(node.scalar(), Some(Scalar::Decimal { digits, .. }) if usize::from(*digits) > SAFE_DIGITS)
                }
                Numbers::Strings => true,
            };
            let plain_digits = if style.numbers == Numbers::Exact || quoted { 32 } else { 15 };
            keys.prefixes.push(keys.prefix(one, quoted, plain_digits));
            let own = if node.is_list() { list } else { one };
            let group = node.parent.map(|parent| keys.nodes[parent.index()].one);
            keys.alone.push(match group {
                Some(group) if style.spacing == Spacing::Compact => keys.alone_of(group, own),
                _ => Alone::default(),
            });
            keys.nodes.push(NodeKeys { one, quoted, level: level + u16::from(node.is_list()), list });
        }
        keys
    }

    #[inline(always)]
    pub(crate) fn node(&self, node: NodeId) -> NodeKeys {
        self.nodes[node.index()]
    }

    #[inline(always)]
    pub(crate) fn short(&self, node: NodeId) -> &Prefix {
        &self.prefixes[node.index()]
    }

    #[inline(always)]
    pub(crate) fn alone(&self, leaf: NodeId) -> &Alone {
        &self.alone[leaf.index()]
    }

    fn alone_of(&self, group: Span, own: Span) -> Alone {
        let mut alone = Alone::default();
        let len = group.len() + own.len();
        if let (true, Ok(all), Ok(group_len)) = (len <= ALONE_MAX, u8::try_from(len), u8::try_from(group.len())) {
            let mut out = [0; ALONE_MAX + 2 * SLACK];
            self.copy(group, &mut out);
            self.copy(own, &mut out[group.len()..]);
            alone.bytes.copy_from_slice(&out[..ALONE_MAX]);
            (alone.all, alone.group) = (all, group_len);
        }
        alone
    }

    /// Prefixes of nodes that follow each other.
    #[inline(always)]
    pub(crate) fn run(&self, first: NodeId, count: usize) -> Option<&[Prefix]> {
        self.prefixes.get(first.index()..first.index() + count)
    }

    fn prefix(&self, span: Span, quoted: bool, plain_digits: u8) -> Prefix {
        let mut prefix = Prefix {
            bytes: [0; PREFIX_MAX],
            string: 0,
            number: 0,
            quotes: u8::from(quoted),
            plain_digits: 0,
            block_digits: 0,
        };
        let len = span.len();
        if let Ok(short) = u8::try_from(len)
            && (1..=PREFIX_MAX).contains(&len)
        {
            let start = span.start as usize;
            let blocks = &self.arena[start..start + len.div_ceil(BLOCK)];
            prefix.bytes[..blocks.len() * BLOCK].copy_from_slice(blocks.as_flattened());
            prefix.string = short;
            prefix.number = short - 1 + prefix.quotes;
            prefix.plain_digits = plain_digits;
            prefix.block_digits = plain_digits.min(16);
        }
        prefix
    }

    /// The bytes of `span`.
    pub(crate) fn bytes(&self, span: Span) -> Vec<u8> {
        let (start, len) = (span.start as usize, span.len());
        self.arena[start..start + len.div_ceil(BLOCK)].as_flattened()[..len].to_vec()
    }

    /// Copies `span` to the start of `out`, which is longer by [`SLACK`] at least.
    #[inline(always)]
    pub(crate) fn copy(&self, span: Span, out: &mut [u8]) {
        let (start, len) = (span.start as usize, span.len());
        out[..BLOCK].copy_from_slice(&self.arena[start]);
        if len > BLOCK {
            out[BLOCK..2 * BLOCK].copy_from_slice(&self.arena[start + 1]);
            if len > 2 * BLOCK {
                self.copy_long(span, out);
            }
        }
    }

    #[inline(never)]
    fn copy_long(&self, span: Span, out: &mut [u8]) {
        let start = span.start as usize;
        let blocks = span.len().div_ceil(BLOCK);
        for (to, from) in out.chunks_exact_mut(BLOCK).zip(&self.arena[start..start + blocks]) {
            to.copy_from_slice(from);
        }
    }

    fn push(&mut self, parts: &[&[u8]]) -> Span {
        let bytes = parts.concat();
        let narrow = |n: usize| u32::try_from(n).expect("the member names of a shape take less than 4 GiB");
        let span = Span { start: narrow(self.arena.len()), len: narrow(bytes.len()) };
        for chunk in bytes.chunks(BLOCK) {
            let mut block = [0; BLOCK];
            block[..chunk.len()].copy_from_slice(chunk);
            self.arena.push(block);
        }
        span
    }
}

/// The line feed and indentation before a member at `level`; nothing in compact output.
pub(crate) fn line_start(level: u16, spacing: Spacing) -> Vec<u8> {
    match spacing {
        Spacing::Compact => Vec::new(),
        Spacing::Pretty => {
            let mut line = vec![b' '; 1 + 2 * usize::from(level)];
            line[0] = b'\n';
            line
        }
    }
}

fn key_text(name: &str, level: u16, spacing: Spacing) -> Vec<u8> {
    let mut key = line_start(level, spacing);
    key.push(b'"');
    escape_into(name.as_bytes(), &mut key);
    key.extend_from_slice(match spacing {
        Spacing::Compact => b"\":",
        Spacing::Pretty => b"\": ",
    });
    key
}
