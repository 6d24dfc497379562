//! Recorded events: interchanges are read in one place and acknowledged in another.

use super::step::{Content, EnvelopeStep};
use super::unit::BusinessUnit;
use crate::delimiters::Delimiters;
use crate::envelope::{EnvelopePass, Event, Header};
use crate::fault::EdiFault;
use crate::level::Level;
use crate::position::Position;
use crate::segment::SegmentBuffer;
use crate::splitter::LineBreak;

/// The events of a part of a file, as far as acknowledgments depend on them.
///
/// A thread that reads records the events of its part; the thread that acknowledges takes the parts in the order of the file
/// ([`ReplayedHeaders::replay`]). The memory of a recording depends on the number of transactions and faults, not on the length of transactions.
///
/// ```
/// use quayline_core::Limits;
/// use quayline_edi::acknowledge::{AcknowledgmentOptions, Acknowledger, MemoryOutput, RecordedEvents, ReplayedHeaders, Stamp};
/// use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules};
///
/// let input = b"UNB+UNOA:3+A+B+990802:1557+1'UNH+1+ORDERS:D:96A:UN'UNT+3+1'UNZ+1+1'";
/// let mut reader = EnvelopeReader::new(&Limits { findings_max: usize::MAX, ..Limits::default() }, Rules::Lenient);
/// let mut pass = reader.over(input, EndOfInput::Yes);
/// let mut recorded = RecordedEvents::new(&pass);
/// let mut faults = Vec::new();
/// loop {
///     let event = pass.advance();
///     let from = faults.len();
///     faults.extend(pass.take_faults());
///     recorded.event(event, &pass, faults.len() - from);
///     if event == Event::Done {
///         break;
///     }
/// }
///
/// let stamp = Stamp::new("20260401", "1200").expect("a date and a time");
/// let mut acknowledger = Acknowledger::new(AcknowledgmentOptions::new(stamp));
/// let mut output = MemoryOutput::default();
/// ReplayedHeaders::default().replay(&recorded, &faults, &mut |step, faults| acknowledger.step(step, faults, &mut output));
/// assert!(output.written().starts_with(b"UNB+UNOA:3+B+A+260401:1200+1'UNH+1+CONTRL:D:3:UN'UCI+1+A+B+7'UCM+1"));
/// ```
#[derive(Debug, Default)]
pub struct RecordedEvents {
    events: Vec<Recorded>,
    /// Headers of the levels that begin, and the values of business units one after the other.
    headers: SegmentBuffer,
    places: Vec<(Position, Delimiters)>,
    values: Vec<u8>,
    faults: usize,
    /// Style of the event that was recorded last. An interchange without a trailer is answered in the style of its last segment.
    style: Option<(LineBreak, bool)>,
    /// Names the business units of the open transaction.
    unit: Option<&'static BusinessUnit>,
}

#[derive(Debug)]
struct Recorded {
    event: Event,
    style: (LineBreak, bool),
    /// Number of faults up to this event.
    faults: usize,
    content: Kept,
}

/// [`Content`] without its value.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Nothing,
    Declared(u64),
    InterchangeAcknowledgment,
    /// The value ends here, and begins where the one before it ends.
    Unit {
        segment: u64,
        end: usize,
    },
}

impl RecordedEvents {
    /// Begins where `pass` is, perhaps inside a transaction.
    #[must_use]
    pub fn new(pass: &EnvelopePass<'_>) -> Self {
        let unit = if pass.in_transaction() { BusinessUnit::of(pass.transaction()) } else { None };
        RecordedEvents { unit, ..RecordedEvents::default() }
    }

    /// Records an event and the number of faults that were found since the event before.
    #[inline(always)]
    pub fn event(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: usize) {
        if event == Event::Segment && faults == 0 && pass.in_transaction() && self.style == Some(pass.style()) {
            match self.unit {
                Some(unit) if unit.is_of(pass.segment().tag()) => {}
                _ => return,
            }
        }
        self.record(event, pass, faults);
    }

    /// Returns the approximate memory in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of_val(&self.events[..]) + size_of_val(&self.places[..]) + self.values.len() + self.headers.memory()
    }

    #[inline(never)]
    fn record(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: usize) {
        self.faults += faults;
        let header = match event {
            Event::InterchangeStart => Some(pass.interchange()),
            Event::GroupStart => Some(pass.last_group()),
            Event::TransactionStart => Some(pass.transaction()),
            _ => None,
        };
        if let Some(header) = header {
            self.headers.push(&header.segment());
            self.places.push((header.position(), *header.delimiters()));
        }
        if event == Event::TransactionStart {
            self.unit = BusinessUnit::of(pass.transaction());
        }
        let content = match EnvelopeStep::of(event, pass, self.unit).content {
            Content::Nothing => Kept::Nothing,
            Content::Declared(count) => Kept::Declared(count),
            Content::InterchangeAcknowledgment => Kept::InterchangeAcknowledgment,
            Content::Unit { segment, value } => {
                self.values.extend_from_slice(value);
                Kept::Unit { segment, end: self.values.len() }
            }
        };
        let style = pass.style();
        let is_needless = faults == 0
            && matches!(content, Kept::Nothing)
            && (event == Event::NeedMore || event == Event::Segment && self.style == Some(style));
        if !is_needless {
            self.style = Some(style);
            self.events.push(Recorded { event, style, faults: self.faults, content });
        }
    }
}

/// The headers that began last, while recordings of one file are replayed in order.
#[derive(Debug)]
pub struct ReplayedHeaders {
    interchange: Header,
    group: Header,
    transaction: Header,
}

impl Default for ReplayedHeaders {
    fn default() -> Self {
        ReplayedHeaders {
            interchange: Header::new(Level::Interchange),
            group: Header::new(Level::Group),
            transaction: Header::new(Level::Transaction),
        }
    }
}

impl ReplayedHeaders {
    /// Passes each event of a recording to `take`, with its part of `faults`, which are those of the whole recording in order.
    pub fn replay(
        &mut self,
        recorded: &RecordedEvents,
        faults: &[EdiFault],
        take: &mut impl FnMut(&EnvelopeStep<'_>, &[EdiFault]),
    ) {
        let (mut headers, mut faults_from, mut value_from) = (0, 0, 0);
        for Recorded { event, style, faults: faults_end, content } in &recorded.events {
            let header = match event {
                Event::InterchangeStart => Some(&mut self.interchange),
                Event::GroupStart => Some(&mut self.group),
                Event::TransactionStart => Some(&mut self.transaction),
                _ => None,
            };
            if let Some(header) = header {
                let (at, delimiters) = &recorded.places[headers];
                header.set(&recorded.headers.get(headers, delimiters), None, *at);
                headers += 1;
            }
            let content = match *content {
                Kept::Nothing => Content::Nothing,
                Kept::Declared(count) => Content::Declared(count),
                Kept::InterchangeAcknowledgment => Content::InterchangeAcknowledgment,
                Kept::Unit { segment, end } => {
                    let value = &recorded.values[value_from..end];
                    value_from = end;
                    Content::Unit { segment, value }
                }
            };
            let headers = [&self.interchange, &self.group, &self.transaction];
            take(&EnvelopeStep::again(*event, headers, *style, content), &faults[faults_from..*faults_end]);
            faults_from = *faults_end;
        }
    }
}
