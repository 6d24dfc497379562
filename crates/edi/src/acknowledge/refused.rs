//! Interchanges with an unusable header: they get a reply as well if the header identifies sender and control number.

use super::collector::Acknowledger;
use super::contrl::partner as partner_parts;
use super::options::When;
use super::output::{AcknowledgmentOutput, Held};
use super::x12::IsaFields;
use crate::delimiters::{Delimiters, Standard};
use crate::fault::EdiFault;
use crate::splitter::LineBreak;
use crate::{EdiError, Level};

/// Maximum number of refused headers that wait for the end of the preceding interchange; further ones get no reply.
pub(super) const REFUSED_MAX: usize = 64;

/// Offsets of the element separators in an ISA of fixed widths.
const ISA_SEPARATORS: [usize; 16] = [3, 6, 17, 20, 31, 34, 50, 53, 69, 76, 81, 83, 89, 99, 101, 103];

/// What an unusable header names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RefusedHeader {
    /// Standard of the header.
    pub standard: Standard,
    /// Qualifier and identification of the sender.
    pub sender: [Vec<u8>; 2],
    /// Qualifier and identification of the receiver.
    pub receiver: [Vec<u8>; 2],
    /// Control number of the interchange.
    pub control_number: Vec<u8>,
}

impl RefusedHeader {
    /// Returns what the header with this fault names; `None` if the fault is not that of an unusable header, or if its text does not show these elements
    /// with certainty. For example, the control number may be that of the next interchange if the header is cut off. [`Acknowledger::refuse`] answers the
    /// header.
    #[must_use]
    pub fn of(fault: &EdiFault) -> Option<RefusedHeader> {
        let standard = standard_of(&fault.error)?;
        let copy = &fault.context.as_ref()?.copy;
        let (sender, receiver, control_number) = match standard {
            Standard::X12 => {
                let (IsaFields(mut fields), _) = isa_fields(copy)?;
                let [a, b, c, d, control] = [5, 6, 7, 8, 13].map(|number| core::mem::take(&mut fields[number]));
                if control.len() != 9 || !control.iter().all(u8::is_ascii_digit) {
                    return None;
                }
                ([a, b], [c, d], control)
            }
            Standard::Edifact => {
                let fields = UnbFields::of(copy)?;
                if fields.date.iter().any(u8::is_ascii_alphabetic) {
                    return None;
                }
                let party =
                    |parts: &[&[u8]]| [1, 0].map(|at| parts.get(at).map_or_else(Vec::new, |part| part.to_vec()));
                (party(&fields.sender), party(&fields.receiver), fields.control.to_vec())
            }
        };
        Some(RefusedHeader { standard, sender, receiver, control_number })
    }
}

impl Acknowledger {
    /// Answers one interchange with an unusable header, for a caller that reads the faults itself. Ignores other faults.
    pub fn refuse(&mut self, fault: &EdiFault, output: &mut impl AcknowledgmentOutput) {
        if is_refusal(fault) {
            self.refused.push(fault.clone());
            self.answer_refused(output);
        }
    }

    /// Answers the interchanges with refused headers that were found.
    #[cold]
    pub(super) fn answer_refused(&mut self, output: &mut impl AcknowledgmentOutput) {
        for fault in core::mem::take(&mut self.refused) {
            self.tally.interchanges += 1;
            self.tally.interchanges_rejected += 1;
            let copy = fault.context.as_ref().map_or(&b""[..], |context| &context.copy);
            let codes = fault.error.acknowledgment();
            match standard_of(&fault.error) {
                Some(Standard::X12) if self.options.interchange != When::Never => {
                    let note = codes.interchange_note.unwrap_or("022");
                    self.refuse_x12(copy, note, output);
                }
                Some(Standard::Edifact) if self.options.contrl != When::Never => {
                    let code = codes.contrl.unwrap_or("18");
                    self.refuse_edifact(copy, code, &fault.error, output);
                }
                _ => {}
            }
        }
    }

    /// Writes ISA, TA1, IEA.
    fn refuse_x12(&mut self, text: &[u8], note: &str, output: &mut impl AcknowledgmentOutput) {
        let Some((fields, delimiters)) = isa_fields(text) else { return };
        let control = self.next_number(Standard::X12, Level::Interchange, &fields.0[6], &fields.0[8]);
        self.head.restart(&delimiters, LineBreak::None);
        self.tail.restart(&delimiters, LineBreak::None);
        self.isa(&fields, &control);
        self.ta1(&fields, "R", note);
        self.tail.begin("IEA").number(0).element(format!("{control:0>9}").as_bytes()).end();
        output.release(Level::Interchange, &self.head.bytes, Held::Discard, &self.tail.bytes);
        self.tally.written += 1;
    }

    /// Writes UNB to UNZ around a CONTRL that rejects.
    fn refuse_edifact(&mut self, text: &[u8], code: &str, error: &EdiError, output: &mut impl AcknowledgmentOutput) {
        let Some(fields) = UnbFields::of(text) else { return };
        let first = |parts: &[&[u8]]| parts.first().map_or_else(Vec::new, |part| part.to_vec());
        let (from, to) = (first(&fields.sender), first(&fields.receiver));
        let control = self.next_number(Standard::Edifact, Level::Interchange, &from, &to);
        let is_4 = fields.syntax.last().is_some_and(|version| *version == b"4");
        let delimiters = if is_4 { Delimiters::EDIFACT_4 } else { Delimiters::EDIFACT };
        self.head.restart(&delimiters, LineBreak::None);
        self.tail.restart(&delimiters, LineBreak::None);
        let stamp = self.options.stamp;
        let head = &mut self.head;
        let [sender, receiver] = [&fields.sender, &fields.receiver].map(|party| {
            let parts = party.iter().zip(partner_parts(if is_4 { 4 } else { 3 }));
            let usable = parts.map(
                |(data, (most, otherwise))| {
                    if head.is_usable(data, *most) { *data } else { otherwise.as_bytes() }
                },
            );
            usable.collect::<Vec<&[u8]>>()
        });
        let control_of = if head.is_usable(fields.control, 14) { fields.control } else { b"0" };
        head.begin("UNB").composite(&fields.syntax).composite(&receiver).composite(&sender);
        head.composite(&[if is_4 { stamp.date() } else { stamp.short_date() }, stamp.time()]);
        head.element(control.as_bytes()).end();
        let kind: &[&[u8]] = if is_4 { &[b"CONTRL", b"4", b"1", b"UN"] } else { &[b"CONTRL", b"D", b"3", b"UN"] };
        head.begin("UNH").element(b"1").composite(kind).end();
        head.begin("UCI").element(control_of).composite(&sender).composite(&receiver);
        let tag = if matches!(error, EdiError::Header { .. }) || !text.starts_with(b"UNA") { "UNB" } else { "UNA" };
        head.element(b"4").element(code.as_bytes()).element(tag.as_bytes()).end();
        self.tail.begin("UNT").number(3).element(b"1").end();
        self.tail.begin("UNZ").element(b"1").element(control.as_bytes()).end();
        output.release(Level::Interchange, &self.head.bytes, Held::Discard, &self.tail.bytes);
        self.tally.written += 1;
    }
}

/// Returns true if the fault is that of an unusable header, so that no interchange begins.
pub(super) fn is_refusal(fault: &EdiFault) -> bool {
    standard_of(&fault.error).is_some()
}

fn standard_of(error: &EdiError) -> Option<Standard> {
    match error {
        EdiError::Header { standard, .. }
        | EdiError::DelimiterKind { standard, .. }
        | EdiError::DelimiterTwice { standard, .. } => Some(*standard),
        _ => None,
    }
}

/// Returns the elements of an ISA with fixed widths, or with enough separators to find the partners and the control number.
fn isa_fields(text: &[u8]) -> Option<(IsaFields, Delimiters)> {
    let separator = *text.get(3)?;
    let fixed = ISA_SEPARATORS.iter().all(|at| text.get(*at) == Some(&separator));
    let ends: Vec<usize> =
        if fixed { ISA_SEPARATORS.to_vec() } else { memchr::memchr_iter(separator, text).take(16).collect() };
    let mut fields: [Vec<u8>; 17] = Default::default();
    for (number, pair) in ends.windows(2).enumerate() {
        fields[number + 1] = text[pair[0] + 1..pair[1]].trim_ascii().to_vec();
    }
    // ISA11 may be the repetition separator.
    let repetition = fields[11].first().copied().filter(|_| fields[12] >= b"00402".to_vec());
    let last = ends.get(15).copied().filter(|_| ends.len() == 16);
    let at = |behind: usize| last.and_then(|last| text.get(last + behind).copied());
    let delimiters = Delimiters {
        element: separator,
        component: at(1).unwrap_or(b':'),
        terminator: at(2).unwrap_or(b'~'),
        repetition,
        ..Delimiters::X12
    };
    let usable = crate::start::check(&delimiters).is_none();
    let usual = Delimiters { repetition: repetition.and(Delimiters::X12.repetition), ..Delimiters::X12 };
    let delimiters = if usable { delimiters } else { usual };
    let named = [6, 8, 13].iter().all(|number| !fields[*number].is_empty());
    // If separators are missing, or a letter is one, an apparent element may have any content.
    let plain = |byte: &u8| (b' '..0x7f).contains(byte) && !delimiters.is_service(*byte);
    let trusted = (fixed || !separator.is_ascii_alphanumeric())
        && [5, 6, 7, 8, 13].iter().all(|number| fields[*number].iter().all(plain));
    (named && trusted).then_some((IsaFields(fields), delimiters))
}

/// Fields of a UNB.
struct UnbFields<'a> {
    syntax: Vec<&'a [u8]>,
    sender: Vec<&'a [u8]>,
    receiver: Vec<&'a [u8]>,
    date: &'a [u8],
    control: &'a [u8],
}

impl<'a> UnbFields<'a> {
    /// Parses UNB, or UNA and UNB, with guessed separators.
    fn of(text: &'a [u8]) -> Option<Self> {
        let unb = memchr::memmem::find(text, b"UNB")?;
        // UNA's component separator, if UNB uses it.
        let una = text.starts_with(b"UNA").then(|| text.get(3..9)).flatten();
        let text = &text[unb + 3..];
        let element = *text.first()?;
        if element.is_ascii_alphanumeric() {
            return None;
        }
        let component = una.map_or(b':', |una| una[0]);
        let component = if component == element || component.is_ascii_alphanumeric() { b':' } else { component };
        let terminator = una.map_or(b'\'', |una| una[5]);
        let ends = |byte: &u8| *byte == terminator || matches!(byte, b'\'' | b'\r' | b'\n' | 0x1c);
        let end = text.iter().position(ends).unwrap_or(text.len());
        // A terminator directly after the tag does not separate elements.
        let mut elements = text.get(1..end)?.split(|byte| *byte == element);
        let mut next = || elements.next();
        let components = |element: &'a [u8], most: usize| -> Vec<&'a [u8]> {
            element.split(|byte| *byte == component).take(most).collect()
        };
        let (syntax, sender, receiver, date, control) = (next()?, next()?, next()?, next()?, next()?);
        let control = control.split(|byte| *byte == component).next().unwrap_or(control);
        let good = !sender.is_empty() && !receiver.is_empty() && (1..=14).contains(&control.len());
        let mut syntax = components(syntax, 2);
        if syntax.len() < 2 || !matches!(syntax[1], b"1" | b"2" | b"3" | b"4") {
            syntax = vec![b"UNOA", b"3"];
        }
        good.then(|| UnbFields {
            syntax,
            sender: components(sender, 4),
            receiver: components(receiver, 4),
            date,
            control,
        })
    }
}
