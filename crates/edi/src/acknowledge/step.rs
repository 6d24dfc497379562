//! Events for acknowledgments.

use super::unit::BusinessUnit;
use crate::envelope::{Closed, EnvelopePass, Event, Header};
use crate::splitter::LineBreak;

/// An event, its headers and the facts that acknowledgments use. It comes from a live reader or a recording ([`super::RecordedEvents`]).
#[derive(Clone, Copy, Debug)]
pub struct EnvelopeStep<'a> {
    event: Event,
    interchange: &'a Header,
    /// The group that began last.
    pub(super) group: &'a Header,
    /// The transaction that began last.
    pub(super) transaction: &'a Header,
    /// Line breaks, and whether there is a UNA; `None` for an event outside of interchanges.
    pub(super) style: Option<(LineBreak, bool)>,
    pub(super) content: Content<'a>,
}

/// The fact that acknowledgments use from a segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Content<'a> {
    Nothing,
    /// The count in the trailer of a group: GE01, data element 0060.
    Declared(u64),
    /// TA1 or TA3.
    InterchangeAcknowledgment,
    /// The segment with this number in the transaction identifies a business unit; without a value, it ends one.
    Unit {
        segment: u64,
        value: &'a [u8],
    },
}

impl<'a> EnvelopeStep<'a> {
    /// Takes the event that `pass` is at. `unit` identifies the business units of the open transaction.
    pub(super) fn of(event: Event, pass: &'a EnvelopePass<'_>, unit: Option<&BusinessUnit>) -> Self {
        let content = match event {
            Event::Segment => Content::of_segment(pass, unit),
            Event::GroupEnd(Closed::ByTrailer) => declared(pass).map_or(Content::Nothing, Content::Declared),
            _ => Content::Nothing,
        };
        EnvelopeStep {
            event,
            interchange: pass.interchange(),
            group: pass.last_group(),
            transaction: pass.transaction(),
            style: has_style(event).then(|| pass.style()),
            content,
        }
    }

    /// Puts an event together again. The headers are those that began last.
    pub(super) fn again(
        event: Event,
        [interchange, group, transaction]: [&'a Header; 3],
        style: (LineBreak, bool),
        content: Content<'a>,
    ) -> Self {
        let style = has_style(event).then_some(style);
        EnvelopeStep { event, interchange, group, transaction, style, content }
    }

    /// Returns the event.
    #[must_use]
    pub fn event(&self) -> Event {
        self.event
    }

    /// Returns the header of the interchange that began last.
    #[must_use]
    pub fn interchange(&self) -> &'a Header {
        self.interchange
    }
}

impl<'a> Content<'a> {
    /// Returns the fact that acknowledgments use from a segment within or outside of a transaction.
    pub(super) fn of_segment(pass: &'a EnvelopePass<'_>, unit: Option<&BusinessUnit>) -> Self {
        let segment = pass.segment();
        if !pass.in_transaction() {
            let is_acknowledgment = matches!(segment.tag(), b"TA1" | b"TA3");
            return if is_acknowledgment { Content::InterchangeAcknowledgment } else { Content::Nothing };
        }
        match unit.and_then(|unit| unit.value(&segment)) {
            Some(value) => Content::Unit { segment: pass.segment_in_transaction(), value },
            None => Content::Nothing,
        }
    }
}

/// Returns true if the reader has the style of the last interchange that began: between two, it may have that of the next one.
fn has_style(event: Event) -> bool {
    !matches!(event, Event::NeedMore | Event::Done)
}

/// Returns the count in the last trailer.
fn declared(pass: &EnvelopePass<'_>) -> Option<u64> {
    let segment = pass.segment();
    let digits = segment.element(1)?.raw();
    let good = !digits.is_empty() && digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit);
    good.then(|| digits.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
}
