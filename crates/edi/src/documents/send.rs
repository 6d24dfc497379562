//! The elements of one segment, sent.

use quayline_core::{NodeId, Run, Sink, Value};

use super::number::{self, Marks};
use super::{ElementPlan, Kind, Plan};
use crate::characters::{Characters, Fit};
use crate::segment::{Element, Segment};

/// Sends the elements of one segment.
pub(super) struct Sender<'a, S> {
    pub(super) sink: &'a mut S,
    pub(super) plan: &'a Plan,
    /// True if the complete segment is printable ASCII.
    pub(super) ascii: bool,
    pub(super) characters: Characters,
    pub(super) marks: Marks,
    pub(super) binary: bool,
    pub(super) fit: Fit,
    /// The last element that documents have no place for.
    pub(super) out: u16,
    /// The last number with implied decimals that also has a decimal mark.
    pub(super) marked: u16,
    pub(super) scratch: &'a mut Vec<u8>,
    pub(super) decoded: &'a mut Vec<u8>,
}

impl<S: Sink> Sender<'_, S> {
    /// Sends all elements of a segment according to `known`.
    #[inline(always)]
    pub(super) fn elements(&mut self, known: &[ElementPlan], segment: &Segment<'_>) {
        let [tag_end, ends @ ..] = segment.ends.positions() else { return };
        let in_tag = segment.parts.first().is_some_and(|part| part < tag_end);
        if self.ascii && !segment.is_marked() && !in_tag {
            self.as_it_stands(known, segment, *tag_end, ends);
        } else {
            self.any(known, segment);
        }
    }

    /// Sends a segment in printable ASCII whose text equals the input, so that texts are spans of it.
    #[inline(always)]
    fn as_it_stands(&mut self, known: &[ElementPlan], segment: &Segment<'_>, tag_end: u32, ends: &[u32]) {
        let text = segment.text;
        let mut parts = segment.parts;
        let mut next = tag_end + 1;
        for (number, end) in ends.iter().enumerate() {
            let (start, end) = (next, *end);
            next = end + 1;
            if start == end {
                continue;
            }
            let mut own: &[u32] = &[];
            if parts.first().is_some_and(|part| *part < end) {
                let count = parts.iter().take_while(|part| **part < end).count();
                (own, parts) = parts.split_at(count);
            }
            let Some(known) = known.get(number) else {
                self.out = number_of(number);
                continue;
            };
            if known.list {
                self.element(known, &segment.span(start, end, own), number_of(number));
                continue;
            }
            let run = Run::new(&text[start as usize..], (end - start) as usize);
            match known.kind {
                Kind::Text => self.sink.value(known.node, Value::Ascii(run)),
                Kind::Bytes => self.sink.value(known.node, Value::Bytes(run.bytes())),
                Kind::Composite => self.parts(known, segment, (start, end), own, number_of(number)),
                Kind::Decimal => self.digits(known.node, None, run, number_of(number)),
                Kind::Implied(places) => self.digits(known.node, Some(places), run, number_of(number)),
                Kind::Out => self.out = number_of(number),
            }
        }
    }

    /// Sends a composite without repetitions whose text equals the input.
    #[inline]
    fn parts(
        &mut self,
        known: &ElementPlan,
        segment: &Segment<'_>,
        (start, end): (u32, u32),
        parts: &[u32],
        number: u16,
    ) {
        let (text, delimiters) = (segment.text, segment.delimiters);
        let mut components = self.plan.components(known).iter();
        self.sink.enter(known.node);
        let mut from = start;
        let mut parts = parts.iter();
        loop {
            // A separator of repetitions is data here.
            let to = loop {
                match parts.next() {
                    Some(part) if text[*part as usize] != delimiters.component => {}
                    Some(part) => break *part,
                    None => break end,
                }
            };
            let component = components.next();
            if from < to {
                let run = Run::new(&text[from as usize..], (to - from) as usize);
                match component.map(|component| (component.kind, component.node)) {
                    Some((Kind::Text, node)) => self.sink.value(node, Value::Ascii(run)),
                    Some((Kind::Bytes, node)) => self.sink.value(node, Value::Bytes(run.bytes())),
                    Some((Kind::Decimal, node)) => self.digits(node, None, run, number),
                    Some((Kind::Implied(places), node)) => self.digits(node, Some(places), run, number),
                    Some((Kind::Composite | Kind::Out, _)) | None => self.out = number,
                }
            }
            if to == end {
                break;
            }
            from = to + 1;
        }
        self.sink.leave(known.node);
    }

    /// Sends a number in printable ASCII.
    #[inline(always)]
    fn digits(&mut self, node: NodeId, implied: Option<u8>, run: Run<'_>, number: u16) {
        let mut scratch = [0; 64];
        match number::number(run, implied, self.marks, &mut scratch) {
            Some(value) => self.sink.value(node, value),
            None => {
                self.note_mark(implied, run, number);
                self.sink.value(node, Value::Ascii(run));
            }
        }
    }

    /// Notes a text that writers of documents take for a number, although its element has implied decimals.
    #[cold]
    fn note_mark(&mut self, implied: Option<u8>, run: Run<'_>, number: u16) {
        if implied.is_some() && number::number(run, None, Marks::Point, &mut [0; 64]).is_some() {
            self.marked = number;
        }
    }

    /// Sends any segment.
    #[inline(never)]
    fn any(&mut self, known: &[ElementPlan], segment: &Segment<'_>) {
        for (number, element) in segment.elements().enumerate() {
            if element.is_empty() {
                continue;
            }
            match known.get(number) {
                Some(known) => self.element(known, &element, number_of(number)),
                None => self.out = number_of(number),
            }
        }
    }

    #[inline(never)]
    fn element(&mut self, known: &ElementPlan, element: &Element<'_>, number: u16) {
        match known.kind {
            Kind::Out => self.out = number,
            Kind::Composite => self.composite(known, element, number),
            _ if !known.list => self.leaf(known, element, number),
            _ => {
                self.sink.open_list(known.node);
                for repetition in element.repetitions() {
                    if repetition.is_empty() {
                        self.sink.value(known.node, Value::Null);
                    } else {
                        self.leaf(known, &repetition, number);
                    }
                }
                self.sink.close_list(known.node);
            }
        }
    }

    fn composite(&mut self, known: &ElementPlan, element: &Element<'_>, number: u16) {
        if !known.list {
            self.components(known, element, number);
            return;
        }
        self.sink.open_list(known.node);
        for repetition in element.repetitions() {
            self.components(known, &repetition, number);
        }
        self.sink.close_list(known.node);
    }

    fn components(&mut self, known: &ElementPlan, element: &Element<'_>, number: u16) {
        self.sink.enter(known.node);
        let mut components = self.plan.components(known).iter();
        for component in element.components() {
            let known = components.next();
            if component.is_empty() {
                continue;
            }
            match known {
                Some(known) if known.kind != Kind::Out => self.leaf(known, &component, number),
                _ => self.out = number,
            }
        }
        self.sink.leave(known.node);
    }

    fn leaf(&mut self, known: &ElementPlan, element: &Element<'_>, number: u16) {
        let node = known.node;
        match known.kind {
            Kind::Decimal => self.number(node, None, element, number),
            Kind::Implied(places) => self.number(node, Some(places), element, number),
            Kind::Bytes if self.binary => self.sink.value(node, Value::Bytes(element.raw())),
            // Outside of binary segments bytes are released as text is; readers of documents expect bytes all the same.
            Kind::Bytes => self.sink.value(node, Value::Bytes(element.data(self.scratch).bytes())),
            _ => self.text(node, element),
        }
    }

    fn number(&mut self, node: NodeId, implied: Option<u8>, element: &Element<'_>, number: u16) {
        let mut digits = [0; 64];
        if let Some(value) = number::number(element.data(self.scratch), implied, self.marks, &mut digits) {
            self.sink.value(node, value);
        } else {
            let mut scratch = Vec::new();
            self.note_mark(implied, element.data(&mut scratch), number);
            self.text(node, element);
        }
    }

    fn text(&mut self, node: NodeId, element: &Element<'_>) {
        if self.ascii {
            self.sink.value(node, Value::Ascii(element.data(self.scratch)));
            return;
        }
        let (value, fit) = self.characters.value(element.data(self.scratch), self.decoded);
        if fit == Fit::Foreign {
            self.fit = fit;
        }
        self.sink.value(node, value);
    }
}

/// Returns the number of an element by its index.
#[inline(always)]
fn number_of(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX).saturating_add(1)
}
