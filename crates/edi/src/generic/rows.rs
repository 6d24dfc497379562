//! Segments as rows of a table, for formats without lists.

use quayline_charset::scan;
use quayline_core::{Limits, NodeId, Occurs, Run, Scalar, Shape, Sink, Value};

use super::reader::{GenericOptions, envelope};
use crate::characters::{Characters, Fit};
use crate::delimiters::Standard;
use crate::envelope::{EnvelopePass, EnvelopeReader, Event, Header};
use crate::fault::{EdiError, EdiFault};
use crate::level::Level;
use crate::position::EndOfInput;
use crate::position::Position;

/// Element columns of a row.
pub const ROW_ELEMENTS: usize = 50;

const NAMES: [&str; 9] =
    ["standard", "sender", "receiver", "interchange", "group", "type", "transaction", "segment", "tag"];

/// Returns the shape of rows: one segment of a transaction with its sender and the control numbers of its envelope, and its elements `e01`, `e02`, …
/// as they are in the interchange, including component separators and release characters.
#[must_use]
pub fn row_shape() -> Shape {
    let mut shape = Shape::builder("segment");
    for name in NAMES {
        let number = Scalar::Decimal { digits: 18, scale: 0, signed: false };
        let scalar = if name == "segment" { number } else { Scalar::Text { chars_max: None } };
        shape.scalar(name, scalar, Occurs::Optional);
    }
    for number in 1..=ROW_ELEMENTS {
        shape.scalar(format!("e{number:02}"), Scalar::Text { chars_max: None }, Occurs::Optional);
    }
    shape.finish()
}

/// Drives a sink of [`row_shape`] with one document per segment, headers and trailers of transactions included. Segments outside transactions, such as
/// TA1, have no `type`, `transaction` and `segment`.
#[derive(Clone, Debug)]
pub struct RowReader {
    envelope: EnvelopeReader,
    options: GenericOptions,
    characters: Characters,
    told: bool,
    decoded: Vec<u8>,
    head: RowHead,
    /// The segment is outside any transaction.
    is_outside: bool,
}

/// Columns that all rows of a transaction share. Looking them up in the headers for each row took a third of the time of a CSV file.
#[derive(Clone, Debug, Default)]
struct RowHead {
    /// Position of the header that the columns end with.
    of: Option<Position>,
    /// The columns, room for reading beyond the last one, and the ends of all: together, they identify the columns.
    bytes: Vec<u8>,
    /// End of each column in `bytes`.
    ends: [usize; HEAD_COLUMNS],
    /// All columns are printable ASCII.
    is_plain: bool,
}

/// Bytes that a sink may read beyond a value at once.
const TAIL_BYTES: usize = 16;

/// Standard, sender, receiver, control numbers of interchange and group, type and control number of the transaction.
const HEAD_COLUMNS: usize = 7;

impl RowHead {
    /// Takes the columns of a transaction, unless it has them already. Returns true if they are new.
    fn take(
        &mut self,
        standard: Standard,
        interchange: &Header,
        group: Option<&Header>,
        transaction: Option<&Header>,
    ) -> bool {
        let of = transaction.or(group).unwrap_or(interchange).position();
        if self.of == Some(of) {
            return false;
        }
        let group = group.map(Header::control_number).unwrap_or_default();
        let columns = [
            standard.name().as_bytes().into(),
            interchange.sender(),
            interchange.receiver(),
            interchange.control_number(),
            group,
            transaction.map(Header::transaction_type).unwrap_or_default(),
            transaction.map(Header::control_number).unwrap_or_default(),
        ];
        self.bytes.clear();
        for (column, end) in columns.iter().zip(&mut self.ends) {
            self.bytes.extend_from_slice(column);
            *end = self.bytes.len();
        }
        self.is_plain = scan::is_ascii_printable(&self.bytes);
        self.bytes.resize(self.bytes.len() + TAIL_BYTES, 0);
        self.bytes.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
        self.of = Some(of);
        true
    }

    fn columns(&self) -> impl Iterator<Item = Run<'_>> {
        let starts = core::iter::once(0).chain(self.ends);
        starts.zip(self.ends).map(|(start, end)| Run::new(&self.bytes[start..], end - start))
    }
}

/// Result of [`RowPass::read`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RowStep {
    /// A row was sent.
    Row,
    /// The input ends before the next segment does.
    NeedMore,
    /// The source has ended.
    Done,
}

impl RowReader {
    /// Starts at the beginning of a stream.
    #[must_use]
    pub fn new(options: &GenericOptions) -> Self {
        RowReader {
            envelope: envelope(options),
            options: GenericOptions { limits: Limits::default(), ..options.clone() },
            characters: Characters::of(&Header::new(Level::Interchange), options.charset),
            told: false,
            decoded: Vec::new(),
            head: RowHead::default(),
            is_outside: false,
        }
    }

    /// Begins a pass over `input`, which must begin with the first byte that no pass has consumed.
    pub fn over<'s>(&'s mut self, input: &'s [u8], end: EndOfInput) -> RowPass<'s> {
        RowPass {
            pass: self.envelope.over(input, end),
            options: &self.options,
            characters: &mut self.characters,
            told: &mut self.told,
            decoded: &mut self.decoded,
            head: &mut self.head,
            is_outside: &mut self.is_outside,
        }
    }

    /// Returns the faults since the last call.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.envelope.take_faults()
    }

    /// Continues from the state of another reader.
    pub fn go_to(&mut self, envelope: &EnvelopeReader) {
        self.envelope.go_to(envelope);
        self.characters = Characters::of(self.envelope.interchange(), self.options.charset);
        self.told = false;
        self.head.of = None;
    }
}

/// One look at the bytes that the caller has.
#[derive(Debug)]
pub struct RowPass<'s> {
    pass: EnvelopePass<'s>,
    options: &'s GenericOptions,
    characters: &'s mut Characters,
    told: &'s mut bool,
    decoded: &'s mut Vec<u8>,
    head: &'s mut RowHead,
    is_outside: &'s mut bool,
}

impl RowPass<'_> {
    /// Sends the next segment.
    pub fn read<S: Sink>(&mut self, sink: &mut S) -> RowStep {
        self.read_to(usize::MAX, sink)
    }

    /// Sends the next segment that begins before a byte of the input; `NeedMore` if none does.
    pub fn read_to<S: Sink>(&mut self, until: usize, sink: &mut S) -> RowStep {
        let step = self.advance(until);
        if step == RowStep::Row {
            self.row(sink);
        }
        step
    }

    /// Finds the faults of the next segment, as [`RowPass::read_to`] does, and sends nothing.
    pub fn judge_to(&mut self, until: usize) -> RowStep {
        let step = self.advance(until);
        if step == RowStep::Row {
            let is_new = self.take_head() || !self.characters.gives_back();
            let segment = self.pass.segment();
            let mut is_foreign = is_new && self.head.columns().any(|column| self.is_foreign(column));
            // All of the segment at once: few segments have a character that is not ASCII.
            if !segment.raw().is_ascii() {
                is_foreign |= segment.raw_runs().take(ROW_ELEMENTS).any(|element| self.is_foreign(element));
            }
            let elements = segment.len();
            self.told_of(elements, is_foreign);
        }
        step
    }

    /// Returns true if the character set does not have all characters of a value.
    fn is_foreign(&self, run: Run<'_>) -> bool {
        !run.bytes().is_ascii() && self.characters.value(run, &mut Vec::new()).1 == Fit::Foreign
    }

    fn advance(&mut self, until: usize) -> RowStep {
        while self.pass.consumed() < until {
            match self.pass.advance() {
                Event::InterchangeStart => {
                    *self.characters = Characters::of(self.pass.interchange(), self.options.charset);
                    *self.told = false;
                }
                Event::TransactionStart | Event::TransactionEnd(crate::Closed::ByTrailer) => {
                    *self.is_outside = false;
                    return RowStep::Row;
                }
                Event::Segment => {
                    *self.is_outside = !self.pass.in_transaction();
                    return RowStep::Row;
                }
                Event::NeedMore => return RowStep::NeedMore,
                Event::Done => return RowStep::Done,
                _ => {}
            }
        }
        RowStep::NeedMore
    }

    /// Returns the faults since the last call.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.pass.take_faults()
    }

    /// Bytes of the input that are done with.
    #[must_use]
    pub fn consumed(&self) -> usize {
        self.pass.consumed()
    }

    /// Ends the pass. The caller drops the returned number of bytes from the start of its buffer.
    #[must_use]
    pub fn finish(self) -> usize {
        self.pass.finish()
    }

    fn take_head(&mut self) -> bool {
        let transaction = (!*self.is_outside).then(|| self.pass.transaction());
        let in_group = transaction.map_or(self.pass.group().is_some(), |header| header.position().group > 0);
        let group = in_group.then(|| self.pass.last_group());
        let standard = self.pass.segment().delimiters().standard;
        self.head.take(standard, self.pass.interchange(), group, transaction)
    }

    fn row<S: Sink>(&mut self, sink: &mut S) {
        self.take_head();
        let segment = self.pass.segment();
        let mut is_foreign = false;
        let characters = *self.characters;
        let decoded = &mut *self.decoded;
        let mut put = |sink: &mut S, column: usize, run: Run<'_>| {
            let node = NodeId(u32::try_from(column).unwrap_or(u32::MAX));
            if run.len() == 0 {
                return;
            }
            if scan::is_ascii_printable(run.bytes()) {
                sink.value(node, Value::Ascii(run));
            } else {
                is_foreign |= put_translated(sink, node, run, characters, decoded) == Fit::Foreign;
            }
        };
        sink.enter(NodeId::ROOT);
        if self.head.is_plain {
            let texts = (1..).map(NodeId).zip(self.head.columns()).filter(|(_, column)| column.len() > 0);
            sink.first_texts(&self.head.bytes, texts);
        } else {
            for (i, column) in self.head.columns().enumerate() {
                put(sink, 1 + i, column);
            }
        }
        if !*self.is_outside {
            let number = self.pass.segment_in_transaction();
            sink.value(NodeId(8), Value::Int(i64::try_from(number).unwrap_or(i64::MAX), 0));
        }
        put(sink, 9, segment.tag_run());
        for (i, element) in segment.raw_runs().take(ROW_ELEMENTS).enumerate() {
            put(sink, NAMES.len() + 1 + i, element);
        }
        sink.leave(NodeId::ROOT);
        let elements = segment.len();
        self.told_of(elements, is_foreign);
    }

    /// Notes the faults of a row with this many elements.
    fn told_of(&mut self, elements: usize, is_foreign: bool) {
        if elements > ROW_ELEMENTS {
            let at = self.pass.position();
            self.pass.put_fault(EdiError::Columns { limit: ROW_ELEMENTS }, at);
        }
        if is_foreign && (!core::mem::replace(self.told, true) || !self.characters.gives_back()) {
            let at = self.pass.position();
            self.pass.put_fault(self.characters.foreign(), at);
        }
    }
}

#[cold]
#[inline(never)]
fn put_translated<S: Sink>(
    sink: &mut S,
    node: NodeId,
    run: Run<'_>,
    characters: Characters,
    decoded: &mut Vec<u8>,
) -> Fit {
    let (value, fit) = characters.value(run, decoded);
    sink.value(node, value);
    fit
}
