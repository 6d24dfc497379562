//! Outputs of any kinds.

use quayline_core::{Finding, NodeId, Sink, Value};
use quayline_flat::{CsvWriter, FamilyWriter};
use quayline_json::JsonWriter;
use quayline_map::Outputs;
use quayline_xml::XmlWriter;

use super::Parts;
use super::columns::ColumnsPart;
use super::edi::EdiPart;
use super::part::Part;
use super::records::RecordPart;
use super::text::TextPart;
use super::world::EnvelopeSet;
use crate::payload::Payload;
use crate::repeats::Repeats;
use crate::sink::{OneRecord, TypedEncoder, WithNulls};
use crate::target::OutputExtent;

/// An output of some kind.
pub(crate) enum AnyPart<'s> {
    Json(TextPart<JsonWriter>),
    Xml(TextPart<XmlWriter>),
    JsonNulls(Box<TextPart<WithNulls<JsonWriter>>>),
    XmlNulls(Box<TextPart<WithNulls<XmlWriter>>>),
    Csv(TextPart<CsvWriter>),
    Families(Box<TextPart<FamilyWriter>>),
    Record(Box<RecordPart<OneRecord>>),
    Typed(Box<RecordPart<TypedEncoder<'s>>>),
    Edi(Box<EdiPart>),
    Columns(Box<ColumnsPart>),
}

/// Applies an expression to the contained variant.
macro_rules! each {
    ($self:expr, $part:ident => $work:expr) => {
        match $self {
            AnyPart::Json($part) => $work,
            AnyPart::Xml($part) => $work,
            AnyPart::JsonNulls($part) => $work,
            AnyPart::XmlNulls($part) => $work,
            AnyPart::Csv($part) => $work,
            AnyPart::Families($part) => $work,
            AnyPart::Record($part) => $work,
            AnyPart::Typed($part) => $work,
            AnyPart::Edi($part) => $work,
            AnyPart::Columns($part) => $work,
        }
    };
}

impl Sink for AnyPart<'_> {
    #[inline]
    fn enter(&mut self, node: NodeId) {
        each!(self, part => part.enter(node));
    }
    #[inline]
    fn leave(&mut self, node: NodeId) {
        each!(self, part => part.leave(node));
    }
    #[inline]
    fn open_list(&mut self, node: NodeId) {
        each!(self, part => part.open_list(node));
    }
    #[inline]
    fn close_list(&mut self, node: NodeId) {
        each!(self, part => part.close_list(node));
    }
    #[inline]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        each!(self, part => part.value(node, value));
    }
    fn discard(&mut self) {
        each!(self, part => part.discard());
    }
}

impl Part for AnyPart<'_> {
    fn defers(&self) -> bool {
        each!(self, part => part.defers())
    }
    fn look_at(&mut self, set: &EnvelopeSet) {
        each!(self, part => part.look_at(set));
    }
    fn envelope(&mut self, values: &[(String, String)], now: Option<i64>) {
        each!(self, part => part.envelope(values, now));
    }
    fn at(&self) -> Option<u64> {
        match self {
            AnyPart::Json(part) => Part::at(part),
            AnyPart::Xml(part) => Part::at(part),
            AnyPart::JsonNulls(part) => Part::at(&**part),
            AnyPart::XmlNulls(part) => Part::at(&**part),
            _ => None,
        }
    }
    fn settle(&mut self) -> Result<(), Vec<Finding>> {
        each!(self, part => part.settle())
    }
    fn keep(&mut self) -> OutputExtent {
        each!(self, part => part.keep())
    }
    fn take_zero_signs(&mut self) -> Vec<(NodeId, u64)> {
        each!(self, part => part.take_zero_signs())
    }
    fn take_notes(&mut self) -> Repeats {
        each!(self, part => part.take_notes())
    }
    fn back(&mut self) {
        each!(self, part => part.back());
    }
    fn drain(&mut self, payload: &mut Payload, goes_on: bool) -> Result<(), Vec<Finding>> {
        each!(self, part => part.drain(payload, goes_on))
    }
}

/// All outputs of a map.
pub(crate) struct Several<'s>(pub(crate) Vec<AnyPart<'s>>);

impl<'s> Outputs for Several<'s> {
    type Sink = AnyPart<'s>;

    #[inline(always)]
    fn sink(&mut self, output: usize) -> &mut AnyPart<'s> {
        &mut self.0[output]
    }
}

impl Parts for Several<'_> {
    fn each(&mut self, mut work: impl FnMut(usize, &mut dyn Part)) {
        self.0.iter_mut().enumerate().for_each(|(number, part)| work(number, part));
    }

    fn defers(&self) -> bool {
        self.0.iter().any(Part::defers)
    }
}
