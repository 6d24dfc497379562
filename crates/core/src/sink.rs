//! The seam: what a source drives.

use crate::{NodeId, Run, Value};

/// Where the text of a leaf stands, for [`Sink::texts`] and [`Sink::text_rows`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TextPlace {
    /// The leaf.
    pub node: NodeId,
    /// First byte, from the same place for all of one call.
    pub offset: u32,
    /// Bytes, at least 1; for [`Sink::texts`] at most [`TextPlace::SIZE_MAX`].
    pub size: u32,
}

impl TextPlace {
    /// Bytes of the longest text that can be given by place.
    pub const SIZE_MAX: u32 = 16;
}

/// Occurrences of a list whose groups have nothing in them but texts, for [`Sink::text_rows`].
#[derive(Clone, Copy, Debug)]
pub struct TextRows<'a> {
    /// The group.
    pub group: NodeId,
    /// Its leaves, in the order of their places, which do not overlap.
    pub places: &'a [TextPlace],
    /// The first occurrence from its first text on, and all others; and at least [`TextRows::SLACK`] bytes behind the last text of the last.
    /// Printable ASCII; any other byte for any other character.
    pub text: &'a [u8],
    /// From one occurrence to the next in bytes.
    pub stride: usize,
    /// Occurrences.
    pub count: usize,
}

impl TextRows<'_> {
    /// Bytes behind the texts.
    pub const SLACK: usize = 64;
}

/// Receives one document after another as a stream of events over the nodes of one [`crate::Shape`].
///
/// # Contract of the source
/// * A document is `enter(ROOT) … leave(ROOT)`. Groups nest: `enter(g)`, the group's children in any order, `leave(g)`.
/// * A node whose occurrence is a list stands between `open_list(n)` and `close_list(n)`: inside, each occurrence is `enter(n) … leave(n)`
///   for a group, `value(n, …)` for a leaf. An empty list is `open_list(n)`, `close_list(n)`; an absent one sends nothing.
/// * A leaf that stands once or not at all is `value(n, …)`, at most once in its parent.
/// * Values are borrowed for the call only.
/// * `discard` voids the document that was begun last, whether or not it was left: its record turned out to be bad. The stream before it
///   was well formed, so a sink may have counted on that.
///
/// A sink prepares what it needs per node (key bytes, builders, offsets) once, when it is made for a shape. The calls return nothing:
/// a sink that can refuse (an encoder) collects its findings and hands them out when the document is complete.
///
/// Sources take sinks by type parameter, so a composition is compiled as one loop.
pub trait Sink {
    /// A group occurrence begins; the root's begins a document.
    fn enter(&mut self, node: NodeId);
    /// The innermost open group occurrence ends; the root's ends the document.
    fn leave(&mut self, node: NodeId);
    /// The occurrences of a list follow.
    fn open_list(&mut self, node: NodeId);
    /// The list is complete.
    fn close_list(&mut self, node: NodeId);
    /// A leaf's value.
    fn value(&mut self, node: NodeId, value: Value<'_>);
    /// The document begun last is void.
    fn discard(&mut self);

    /// A group that stands once, or a list, is null in the source, and no event of its own follows. By default that is nothing, as if it were
    /// absent; a sink to which null is a value of its own, or no value, says so here.
    #[inline]
    fn null_branch(&mut self, node: NodeId) {
        let _ = node;
    }

    /// An occurrence of `group` with nothing in it but the text of `leaf`, or nothing at all where the text is empty.
    ///
    /// The same as `enter`, `value` of [`Value::Ascii`] and `leave`, for sinks that have a shorter way.
    #[inline(always)]
    fn text_alone(&mut self, group: NodeId, leaf: NodeId, text: Run<'_>) {
        self.enter(group);
        if text.len() > 0 {
            self.value(leaf, Value::Ascii(text));
        }
        self.leave(group);
    }

    /// As [`Sink::text_alone`] for each of some texts.
    #[inline(always)]
    fn each_text_alone<'v>(&mut self, group: NodeId, leaf: NodeId, texts: impl ExactSizeIterator<Item = Run<'v>>)
    where
        Self: Sized,
    {
        texts.for_each(|text| self.text_alone(group, leaf, text));
    }

    /// An occurrence of `group` with nothing in it but `list`, whose values are texts as those of [`Value::Ascii`].
    ///
    /// The same as `enter`, `open_list`, `value` for each, `close_list` and `leave`, for sinks that have a shorter way.
    #[inline(always)]
    fn texts_alone<'v>(&mut self, group: NodeId, list: NodeId, texts: impl Iterator<Item = Run<'v>>)
    where
        Self: Sized,
    {
        self.enter(group);
        self.open_list(list);
        texts.for_each(|text| self.value(list, Value::Ascii(text)));
        self.close_list(list);
        self.leave(group);
    }

    /// Whether [`Sink::texts`] or [`Sink::text_rows`] takes anything: a source that could use it asks first.
    const TAKES_TEXTS: bool = false;

    /// Whether a float may be an infinity or no number. Text formats have no such value, so a source rejects the document.
    const TAKES_NOT_FINITE: bool = false;

    /// Leaves whose nodes follow each other, all text, all at once: what records of short texts mostly are. As if `value(node, Value::Ascii(…))`
    /// were called for each place, trailing blanks cut. Returns how many of the first it took; it takes none that has a byte above 0x7f.
    ///
    /// `text` begins `shift` bytes into what offsets count, holds printable ASCII (a byte above 0x7f for any other character), and has 16
    /// bytes at least from each place on.
    #[inline(always)]
    fn texts(&mut self, places: &[TextPlace], text: &[u8], shift: u32) -> usize {
        let _ = (places, text, shift);
        0
    }

    /// Occurrences of a list that are nothing but texts, all at once: what big tables mostly are. As if each were `enter`, `value(node,
    /// Value::Ascii(…))` for each place, trailing blanks cut, and `leave`. Returns how many of the first it took; it takes none that
    /// has a byte in its texts that is not printable ASCII.
    #[inline]
    fn text_rows(&mut self, rows: TextRows<'_>) -> usize {
        let _ = rows;
        0
    }
}

/// Drives two sinks with the same events.
#[derive(Debug)]
pub struct Tee<A, B>(pub A, pub B);

impl<A: Sink, B: Sink> Sink for Tee<A, B> {
    fn enter(&mut self, node: NodeId) {
        self.0.enter(node);
        self.1.enter(node);
    }
    fn leave(&mut self, node: NodeId) {
        self.0.leave(node);
        self.1.leave(node);
    }
    fn open_list(&mut self, node: NodeId) {
        self.0.open_list(node);
        self.1.open_list(node);
    }
    fn close_list(&mut self, node: NodeId) {
        self.0.close_list(node);
        self.1.close_list(node);
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.0.value(node, value);
        self.1.value(node, value);
    }
    fn discard(&mut self) {
        self.0.discard();
        self.1.discard();
    }
}

impl<S: Sink> Sink for &mut S {
    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        (**self).enter(node);
    }
    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
        (**self).leave(node);
    }
    #[inline(always)]
    fn open_list(&mut self, node: NodeId) {
        (**self).open_list(node);
    }
    #[inline(always)]
    fn close_list(&mut self, node: NodeId) {
        (**self).close_list(node);
    }
    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        (**self).value(node, value);
    }
    #[inline(always)]
    fn discard(&mut self) {
        (**self).discard();
    }
    #[inline(always)]
    fn text_alone(&mut self, group: NodeId, leaf: NodeId, text: Run<'_>) {
        (**self).text_alone(group, leaf, text);
    }
    #[inline(always)]
    fn each_text_alone<'v>(&mut self, group: NodeId, leaf: NodeId, texts: impl ExactSizeIterator<Item = Run<'v>>) {
        (**self).each_text_alone(group, leaf, texts);
    }
    #[inline(always)]
    fn texts_alone<'v>(&mut self, group: NodeId, list: NodeId, texts: impl Iterator<Item = Run<'v>>) {
        (**self).texts_alone(group, list, texts);
    }

    const TAKES_TEXTS: bool = S::TAKES_TEXTS;
    const TAKES_NOT_FINITE: bool = S::TAKES_NOT_FINITE;

    #[inline(always)]
    fn texts(&mut self, places: &[TextPlace], text: &[u8], shift: u32) -> usize {
        (**self).texts(places, text, shift)
    }
    #[inline]
    fn text_rows(&mut self, rows: TextRows<'_>) -> usize {
        (**self).text_rows(rows)
    }
}
