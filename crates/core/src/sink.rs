//! The seam between formats: the events that a source sends to a sink.

use crate::{NodeId, Run, Value};

/// Place of a leaf's text, for [`Sink::texts`] and [`Sink::text_rows`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TextPlace {
    /// The leaf.
    pub node: NodeId,
    /// First byte, relative to the same place for all texts of one call.
    pub offset: u32,
    /// Bytes, at least 1; for [`Sink::texts`] at most [`TextPlace::SIZE_MAX`].
    pub size: u32,
}

impl TextPlace {
    /// Longest text in bytes that can be passed by place.
    pub const SIZE_MAX: u32 = 16;
}

/// Occurrences of a list whose groups hold only texts, for [`Sink::text_rows`].
#[derive(Clone, Copy, Debug)]
pub struct TextRows<'a> {
    /// The group.
    pub group: NodeId,
    /// Leaves, ordered by their positions, which do not overlap.
    pub places: &'a [TextPlace],
    /// The occurrences, beginning with the first text of the first, and at least [`TextRows::SLACK`] bytes after the last text of
    /// the last. Printable ASCII, with any other byte in place of any other character.
    pub text: &'a [u8],
    /// Distance in bytes from one occurrence to the next.
    pub stride: usize,
    /// Number of occurrences.
    pub count: usize,
}

impl TextRows<'_> {
    /// Bytes required after the texts.
    pub const SLACK: usize = 64;
}

/// Receives one document after another as a stream of events over the nodes of one [`crate::Shape`].
///
/// # Contract of the source
/// * A document is `enter(ROOT) … leave(ROOT)`. Groups nest: `enter(g)`, the group's children in any order, `leave(g)`.
/// * A node whose occurrence is a list is sent between `open_list(n)` and `close_list(n)`: each occurrence is `enter(n) … leave(n)`
///   for a group, `value(n, …)` for a leaf. An empty list is `open_list(n)`, `close_list(n)`; an absent one sends nothing.
/// * A leaf that occurs at most once is `value(n, …)`, at most once in its parent.
/// * A value is borrowed only for the call.
/// * `discard` voids the document that began last, whether or not it was left, because its record turned out to be bad. The events
///   before it were well formed, and a sink may rely on that.
///
/// A sink prepares what it needs per node (key bytes, builders, offsets) once, when it is created for a shape. The calls return
/// nothing: a sink that can refuse (an encoder) collects its findings and returns them when the document is complete.
///
/// Sources take sinks by type parameter, so a composition is compiled as one loop.
pub trait Sink {
    /// Begins an occurrence of a group; that of the root begins a document.
    fn enter(&mut self, node: NodeId);
    /// Ends the innermost open group occurrence; that of the root ends the document.
    fn leave(&mut self, node: NodeId);
    /// Begins a list; its occurrences follow.
    fn open_list(&mut self, node: NodeId);
    /// Ends the list.
    fn close_list(&mut self, node: NodeId);
    /// Sends the value of a leaf.
    fn value(&mut self, node: NodeId, value: Value<'_>);
    /// Voids the document that began last.
    fn discard(&mut self);

    /// Reports that a list, or a group that occurs once, is null in the source; no other event of the node follows. By default the node
    /// counts as absent. Override this in a sink for which null is a value or an error.
    #[inline]
    fn null_branch(&mut self, node: NodeId) {
        let _ = node;
    }

    /// Sends an occurrence of `group` that holds only the text of `leaf`, or nothing if the text is empty.
    ///
    /// Equal to `enter`, `value` of [`Value::Ascii`] and `leave`, for sinks that have a shorter way.
    #[inline(always)]
    fn text_alone(&mut self, group: NodeId, leaf: NodeId, text: Run<'_>) {
        self.enter(group);
        if text.len() > 0 {
            self.value(leaf, Value::Ascii(text));
        }
        self.leave(group);
    }

    /// Calls [`Sink::text_alone`] for each text.
    #[inline(always)]
    fn each_text_alone<'v>(&mut self, group: NodeId, leaf: NodeId, texts: impl ExactSizeIterator<Item = Run<'v>>)
    where
        Self: Sized,
    {
        texts.for_each(|text| self.text_alone(group, leaf, text));
    }

    /// Sends an occurrence of `group` that holds only `list`, whose values are texts as in [`Value::Ascii`].
    ///
    /// Equal to `enter`, `open_list`, a `value` for each, `close_list` and `leave`, for sinks that have a shorter way.
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

    /// Sends the texts that a document begins with, directly after `enter(ROOT)`. Documents with the same `key` have the same texts in the same
    /// leaves, and a sink may repeat what it wrote for the last of them.
    ///
    /// Equal to `value` of [`Value::Ascii`] for each.
    #[inline(always)]
    fn first_texts<'v>(&mut self, key: &[u8], texts: impl Iterator<Item = (NodeId, Run<'v>)>)
    where
        Self: Sized,
    {
        let _ = key;
        texts.for_each(|(leaf, text)| self.value(leaf, Value::Ascii(text)));
    }

    /// True if [`Sink::texts`] or [`Sink::text_rows`] can take values. A source checks it before it prepares texts.
    const TAKES_TEXTS: bool = false;

    /// True if the sink accepts infinities and NaN. Text formats cannot represent them, so a source rejects the document.
    const TAKES_NOT_FINITE: bool = false;

    /// True if the sink keeps the sign of a zero. Text has `-0`, integer columns do not. A source whose format has both zeros
    /// reports the signs that are lost.
    const KEEPS_SIGNED_ZERO: bool = true;

    /// True if the sink takes a number sooner as [`Value::Int`] than as digits. Digits have leading zeros, which such a sink must not need.
    const PREFERS_INTEGERS: bool = false;

    /// Sends leaves whose nodes follow each other and are all text in one call; records of short texts consist mostly of these.
    /// Equal to `value(node, Value::Ascii(…))` for each place with trailing blanks cut. Returns the number of leading places that
    /// it took; it takes none with a byte above 0x7f.
    ///
    /// `text` begins at offset `shift`, holds printable ASCII (a byte above 0x7f for any other character), and has at least 16
    /// bytes from each place on.
    #[inline(always)]
    fn texts(&mut self, places: &[TextPlace], text: &[u8], shift: u32) -> usize {
        let _ = (places, text, shift);
        0
    }

    /// Sends occurrences of a list that hold only texts in one call; big tables consist mostly of these. Equal to `enter`,
    /// `value(node, Value::Ascii(…))` for each place with trailing blanks cut, and `leave`, for each occurrence. Returns the number
    /// of leading occurrences that it took; it takes none with a byte in its texts that is not printable ASCII.
    #[inline]
    fn text_rows(&mut self, rows: TextRows<'_>) -> usize {
        let _ = rows;
        0
    }
}

/// Sends the same events to two sinks.
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
    fn null_branch(&mut self, node: NodeId) {
        self.0.null_branch(node);
        self.1.null_branch(node);
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
    fn null_branch(&mut self, node: NodeId) {
        (**self).null_branch(node);
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
    #[inline(always)]
    fn first_texts<'v>(&mut self, key: &[u8], texts: impl Iterator<Item = (NodeId, Run<'v>)>) {
        (**self).first_texts(key, texts);
    }

    const TAKES_TEXTS: bool = S::TAKES_TEXTS;
    const TAKES_NOT_FINITE: bool = S::TAKES_NOT_FINITE;
    const KEEPS_SIGNED_ZERO: bool = S::KEEPS_SIGNED_ZERO;
    const PREFERS_INTEGERS: bool = S::PREFERS_INTEGERS;

    #[inline(always)]
    fn texts(&mut self, places: &[TextPlace], text: &[u8], shift: u32) -> usize {
        (**self).texts(places, text, shift)
    }
    #[inline]
    fn text_rows(&mut self, rows: TextRows<'_>) -> usize {
        (**self).text_rows(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Nulls(Vec<NodeId>);

    impl Sink for Nulls {
        fn enter(&mut self, _: NodeId) {}
        fn leave(&mut self, _: NodeId) {}
        fn open_list(&mut self, _: NodeId) {}
        fn close_list(&mut self, _: NodeId) {}
        fn value(&mut self, _: NodeId, _: Value<'_>) {}
        fn discard(&mut self) {}
        fn null_branch(&mut self, node: NodeId) {
            self.0.push(node);
        }
    }

    fn send<S: Sink>(mut sink: S) {
        sink.null_branch(NodeId::ROOT);
    }

    #[test]
    fn null_passes_through_a_reference_and_to_both_sinks() {
        let (mut one, mut two) = (Nulls::default(), Nulls::default());
        send(Tee(&mut one, &mut two));
        assert_eq!((one.0.len(), two.0.len()), (1, 1));
    }
}
