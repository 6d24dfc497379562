//! Opening and closing of levels by control segments, and the checks at these points.

use super::header::{Check, Header, header_fields};
use super::seen::Seen;
use super::{Closed, Envelope, EnvelopePass, Event, Held};
use crate::delimiters::Standard;
use crate::fault::EdiError;
use crate::level::{Level, Side};
use crate::position::Position;
use crate::start::CharacterSet;
use crate::state::{StateReader, StateWriter};

/// One level of the envelope.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) is_open: bool,
    pub(super) header: Header,
    /// Number of the level within the enclosing one, from 1.
    pub(super) number: u64,
    /// Number of its header among the segments of the interchange.
    pub(super) first: u64,
    /// Number of units that its trailer counts.
    counted: u64,
    /// True after a fault inside, so that the count may refer to something else.
    uncertain: bool,
    /// Control numbers inside the level; for the interchange, those of the file.
    seen: Seen,
    /// Number of levels to which a trailer without a header may belong.
    forgiven: u64,
}

impl Open {
    pub(super) fn new(level: Level) -> Self {
        Open {
            is_open: false,
            header: Header::new(level),
            number: 0,
            first: 0,
            counted: 0,
            uncertain: false,
            seen: Seen::default(),
            forgiven: 0,
        }
    }

    pub(super) fn put_state(&self, out: &mut StateWriter) {
        out.flag(self.is_open);
        self.header.put_state(out);
        out.number(self.number);
        out.number(self.first);
        out.number(self.counted);
        out.flag(self.uncertain);
        self.seen.put_state(out);
        out.number(self.forgiven);
    }

    pub(super) fn from_state(level: Level, from: &mut StateReader<'_>) -> Option<Self> {
        Some(Open {
            is_open: from.flag()?,
            header: Header::from_state(level, from)?,
            number: from.number()?,
            first: from.number()?,
            counted: from.number()?,
            uncertain: from.flag()?,
            seen: Seen::from_state(from)?,
            forgiven: from.number()?,
        })
    }

    fn open(&mut self, number: u64, first: u64) {
        self.is_open = true;
        self.number = number;
        self.first = first;
        self.counted = 0;
        self.uncertain = false;
        self.forgiven = 0;
    }
}

impl Envelope {
    fn level(&mut self, level: Level) -> &mut Open {
        match level {
            Level::Interchange => &mut self.interchange,
            Level::Group => &mut self.group,
            Level::Transaction => &mut self.transaction,
        }
    }

    /// Returns the enclosing level of a level.
    fn around(&mut self, level: Level) -> &mut Open {
        if level == Level::Transaction && self.group.is_open { &mut self.group } else { &mut self.interchange }
    }

    /// Counts a package. UNZ and UNE count packages like messages (ISO 9735-8).
    pub(super) fn count_package(&mut self) {
        if self.group.is_open {
            self.group.counted += 1;
        } else {
            self.loose += 1;
        }
    }

    /// Adds the numbers of group and transaction to a position.
    pub(super) fn number(&self, mut at: Position) -> Position {
        if at.interchange != self.interchange.header.position().interchange {
            return at;
        }
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        if self.group.is_open {
            at.group = small(self.group.number);
        }
        if self.transaction.is_open {
            at.transaction = small(self.transaction.number);
            at.segment = (at.segment + 1).saturating_sub(self.transaction.first);
        }
        at
    }
}

/// Length in bytes of the version, release and subrelease at the beginning of GS08; the rest names an implementation guide.
const STANDARD_VERSION_BYTES: usize = 6;

impl EnvelopePass<'_> {
    #[cold]
    pub(super) fn fault(&mut self, error: EdiError, at: Position) {
        let splitter = self.pass.splitter();
        splitter.fault(error, at);
        splitter.number_faults(|at| at);
    }

    /// Returns the next event of the current step: the levels that it closes, then the step itself; `None` when it is complete.
    #[inline(never)]
    pub(super) fn held(&mut self) -> Option<Event> {
        let event = match self.envelope.held {
            Held::No => None,
            Held::Control(level, Side::Header) => self.header(level),
            Held::Control(level, Side::Trailer) => return self.trailer(level),
            Held::Interchange | Held::Done => {
                // A level that is not closed here was cut off: only the first missing part is reported.
                self.envelope.cut |= self.pass.splitter().cut;
                let closed = self.close_down_to(Level::Interchange);
                self.envelope.cut |= closed.is_some();
                closed
            }
        };
        if event.is_none() {
            if self.envelope.held == Held::Done {
                self.envelope.held = Held::No;
                return Some(Event::Done);
            }
            self.envelope.held = Held::No;
        }
        event
    }

    /// Closes the innermost level that is open, down to `level`, without its trailer.
    fn close_down_to(&mut self, level: Level) -> Option<Event> {
        for inner in [Level::Transaction, Level::Group, Level::Interchange] {
            if inner < level || !self.envelope.level(inner).is_open {
                continue;
            }
            if !self.envelope.cut {
                let standard = self.envelope.interchange.header.delimiters().standard;
                let header = self.envelope.level(inner).header.position();
                let at = Position { byte: self.pass.end_byte(), segment: 0, ..header };
                self.fault(EdiError::TrailerMissing { standard, level: inner }, at);
            }
            self.envelope.level(inner).is_open = false;
            self.envelope.level(inner).forgiven += 1;
            return Some(end_event(inner, Closed::Unclosed));
        }
        None
    }

    /// Handles a header: closes levels first, then opens its own.
    fn header(&mut self, level: Level) -> Option<Event> {
        let standard = self.pass.delimiters().standard;
        let nested = level == Level::Group && self.envelope.group.is_open && !self.envelope.transaction.is_open;
        if nested {
            let at = self.envelope.number(self.pass.position());
            self.fault(EdiError::Nested { standard, level }, at);
            self.envelope.interchange.uncertain = true;
            self.envelope.group.is_open = false;
            self.envelope.group.forgiven += 1;
            return Some(Event::GroupEnd(Closed::Unclosed));
        }
        if let Some(event) = self.close_down_to(level) {
            return Some(event);
        }
        self.envelope.held = Held::No;
        self.open(level, standard);
        Some(match level {
            Level::Interchange => Event::InterchangeStart,
            Level::Group => Event::GroupStart,
            Level::Transaction => Event::TransactionStart,
        })
    }

    fn open(&mut self, level: Level, standard: Standard) {
        let envelope = &mut *self.envelope;
        envelope.outside = false;
        let first = self.pass.segment_number();
        let in_group = level == Level::Transaction && envelope.group.is_open;
        let number = match level {
            Level::Interchange => {
                envelope.cut = false;
                envelope.mixed = false;
                envelope.loose = 0;
                envelope.group.seen.clear();
                envelope.transaction.seen.clear();
                envelope.interchange.number + 1
            }
            Level::Group => {
                envelope.interchange.counted += 1;
                envelope.transaction.seen.clear();
                envelope.interchange.counted
            }
            Level::Transaction if in_group => {
                envelope.group.counted += 1;
                envelope.group.counted
            }
            Level::Transaction => {
                envelope.loose += 1;
                envelope.loose
            }
        };
        let at = self.pass.position();
        let forgiven = envelope.level(level).forgiven;
        envelope.level(level).open(number, first);
        envelope.level(level).forgiven = if level == Level::Interchange { 0 } else { forgiven };
        let at = envelope.number(at);
        envelope.level(level).header.set(&self.pass.segment(), self.pass.source(), at);
        if self.pass.is_cut_off() {
            return;
        }
        self.check_fields(level, standard, at);
        self.check_place(level, standard, at);
    }

    fn check_fields(&mut self, level: Level, standard: Standard, at: Position) {
        // Values that all fields share are computed once, because an interchange of small messages has a header for every ten segments.
        let interchange = &self.envelope.interchange.header;
        let is_edifact = standard == Standard::Edifact;
        let is_syntax_4 = is_edifact && &interchange.component(1, 2)[..] == b"4";
        // Lengths count characters.
        let has_byte_characters =
            is_edifact && matches!(CharacterSet::of(&interchange.component(1, 1)), Some(CharacterSet::Iso8859(_)));
        let header = &self.envelope.level(level).header;
        // A separator may be a control character, as the other three delimiters may. A line end would also end segments.
        let separates = header.delimiters().repetition.is_some_and(|byte| !matches!(byte, b'\r' | b'\n'));
        let segment = header.segment();
        let (elements, has_controls) = (segment.len(), header.has_controls());
        let (mut faults, mut scratch) = (Vec::new(), Vec::new());
        // The fields are in the order of their elements and components, so one pass over the segment finds them all.
        let mut rest = segment.elements();
        let (mut components, mut element, mut component) = (None, 0, 0);
        for field in header_fields(standard, level) {
            let is_absent = field.element > elements && !field.check.is_mandatory();
            let is_any = matches!(field.check, Check::Any) && !has_controls;
            if is_absent || is_any || separates && field.reference == "ISA11" {
                continue;
            }
            while element < field.element {
                components = rest.next().map(|element| element.components());
                (element, component) = (element + 1, 0);
            }
            let mut part = None;
            while component < field.component {
                part = components.as_mut().and_then(Iterator::next);
                component += 1;
            }
            let value = part.map_or(&b""[..], |part| header.value(&part, &mut scratch));
            let controls =
                (has_controls && value.iter().any(u8::is_ascii_control)).then_some("text without control characters");
            let check = if is_edifact { field.check.in_syntax(is_syntax_4) } else { field.check };
            let text: Option<String> = (has_byte_characters && !value.is_ascii())
                .then(|| value.iter().map(|byte| char::from(*byte)).collect());
            let measured = text.as_ref().map_or(value, |text| text.as_bytes());
            let Some(expected) = check.expected(measured).or(controls) else { continue };
            let name = field.reference;
            let error = if value.is_empty() {
                EdiError::FieldMissing { standard, level, name }
            } else {
                EdiError::FieldFormat { standard, level, name, expected }
            };
            let place = |number: usize| u32::try_from(number).unwrap_or(0);
            let component = if standard == Standard::X12 { 0 } else { place(field.component) };
            faults.push((error, at.element(place(field.element)).component(component)));
        }
        for (error, at) in faults {
            self.fault(error, at);
        }
        self.check_widths(level, standard, at);
        if level == Level::Transaction && self.envelope.group.is_open {
            match standard {
                Standard::X12 => self.check_implementation(at),
                Standard::Edifact => self.check_message_group(at),
            }
        }
        let control = {
            let header = &self.envelope.level(level).header;
            let number = header.control_number();
            match level {
                Level::Interchange => [&header.sender()[..], &header.receiver(), &number].join(&0),
                _ => number.into_owned(),
            }
        };
        // GS06 is a number; ST02 and the references of EDIFACT are texts.
        let seen = &mut self.envelope.level(level).seen;
        let is_new = control.is_empty()
            || match (level, standard) {
                (Level::Group, Standard::X12) => seen.add(&control),
                _ => seen.add_text(&control),
            };
        if !is_new {
            let element = level.control_element(standard);
            self.fault(EdiError::ControlTwice { standard, level }, at.element(element));
        }
    }

    /// Checks ST03, which names the implementation guide of one transaction set and overrides GS08, while all transaction sets of a group have the
    /// same guide. A group that names only the standard (`005010`) allows any guide of that standard.
    fn check_implementation(&mut self, at: Position) {
        let transaction = self.envelope.transaction.header.field("implementation");
        let group = self.envelope.group.header.field("version");
        let (transaction, group) = (transaction.trim_ascii_end(), group.trim_ascii_end());
        let (short, long) = if transaction.len() < group.len() { (transaction, group) } else { (group, transaction) };
        let names_standard = short.len() <= STANDARD_VERSION_BYTES && long.starts_with(short);
        if transaction != group && !transaction.is_empty() && !group.is_empty() && !names_standard {
            self.fault(EdiError::ImplementationDiffers, at.element(3));
        }
    }

    /// Groups and messages side by side, transaction sets without a group.
    fn check_place(&mut self, level: Level, standard: Standard, at: Position) {
        let envelope = &mut *self.envelope;
        let mixed = match (standard, level) {
            (Standard::X12, Level::Transaction) => !envelope.group.is_open,
            (Standard::Edifact, Level::Transaction) => !envelope.group.is_open && envelope.interchange.counted > 0,
            (Standard::Edifact, Level::Group) => envelope.loose > 0,
            _ => false,
        };
        if mixed {
            envelope.interchange.uncertain = true;
            // The trailer of the group that has no header.
            envelope.group.forgiven += u64::from(standard == Standard::X12 && !envelope.mixed);
            if !core::mem::replace(&mut envelope.mixed, true) {
                self.fault(EdiError::GroupsMixed { standard }, at);
            }
        }
    }

    /// Handles a trailer: closes the levels inside first, then its own.
    fn trailer(&mut self, level: Level) -> Option<Event> {
        let standard = self.pass.delimiters().standard;
        if !self.envelope.level(level).is_open {
            self.envelope.held = Held::No;
            self.trailer_alone(level, standard);
            return None;
        }
        let inner = match level {
            Level::Interchange => Level::Group,
            Level::Group | Level::Transaction => Level::Transaction,
        };
        if level != Level::Transaction
            && let Some(event) = self.close_down_to(inner)
        {
            return Some(event);
        }
        self.envelope.held = Held::No;
        let end = self.split_trailer();
        self.check_trailer(level, standard, end);
        self.envelope.level(level).is_open = false;
        self.envelope.outside = false;
        if level == Level::Group {
            // The control numbers of the group do not affect messages after it.
            self.envelope.transaction.seen.clear();
        }
        Some(end_event(level, Closed::ByTrailer))
    }

    #[cold]
    fn trailer_alone(&mut self, level: Level, standard: Standard) {
        // The trailer of segments that were reported as outside, or of a level that was already closed.
        let outside = level == Level::Transaction && core::mem::take(&mut self.envelope.outside);
        self.envelope.around(level).uncertain = true;
        let open = self.envelope.level(level);
        if open.forgiven > 0 {
            open.forgiven -= 1;
        } else if !outside {
            let at = self.position();
            self.fault(EdiError::TrailerAlone { standard, level }, at);
        }
    }

    /// Ends a trailer before the header of another one, if the terminator between them is missing: without this, a whole interchange
    /// would be part of a control number. Returns the length of the trailer if so.
    fn split_trailer(&mut self) -> Option<usize> {
        let raw = self.pass.segment().raw();
        let (end, header) = merged_header(raw)?;
        let tag: String = raw[header..header + 3].iter().map(|byte| char::from(*byte)).collect();
        let at = self.envelope.number(self.pass.position());
        // In text with code extension, other bytes can mean the same letters; no interchange begins with those.
        let start = self.pass.source_of(header)?;
        if !self.pass.input_from(start).starts_with(&raw[header..header + 3]) {
            return None;
        }
        self.pass.take_break_back(start);
        self.pass.end_interchange_at(start);
        self.fault(EdiError::TrailerMerged { tag: tag.into() }, at);
        Some(end)
    }

    /// Checks the count and the control number of a trailer. `end` is its length if it is shorter than the segment that was found.
    fn check_trailer(&mut self, level: Level, standard: Standard, end: Option<usize>) {
        let at = self.envelope.number(self.pass.position());
        let counted = match level {
            Level::Transaction => self.pass.segment_number() + 1 - self.envelope.transaction.first,
            Level::Interchange if standard == Standard::Edifact && self.envelope.interchange.counted == 0 => {
                self.envelope.loose
            }
            _ => self.envelope.level(level).counted,
        };
        let mut scratch = Vec::new();
        let segment = self.pass.segment();
        let own: Vec<&[u8]> = end.map_or_else(Vec::new, |end| {
            let separator = segment.delimiters().element;
            segment.raw()[..end].split(move |byte| *byte == separator).collect()
        });
        let declared = match own.get(1) {
            Some(element) => element,
            None => segment.element(1).map_or(&b""[..], |element| element.data(&mut scratch).bytes()),
        };
        let mut wrong = None;
        if declared.is_empty() || declared.len() > 18 || !declared.iter().all(u8::is_ascii_digit) {
            wrong = Some(EdiError::CountFormat { standard, level, counted });
        } else {
            let declared = declared.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0'));
            if declared != counted {
                wrong = Some(EdiError::CountDiffers { standard, level, declared, counted });
            }
        }
        let control = match own.get(2) {
            Some(element) => element,
            None => segment.element(2).map_or(&b""[..], |element| element.data(&mut scratch).bytes()),
        };
        let open = match level {
            Level::Interchange => &self.envelope.interchange,
            Level::Group => &self.envelope.group,
            Level::Transaction => &self.envelope.transaction,
        };
        let number = open.header.control_number();
        let same = same_control(standard, level, &number, control);
        let zeros = standard == Standard::X12 && same && number.len() != control.trim_ascii_end().len();
        // If the source ends inside the trailer, its last element may be incomplete.
        let (is_open, counts_last) = (self.pass.is_open_end(), segment.element(2).is_none());
        let control_goes_on = is_open && number.starts_with(control);
        let cut = (wrong.is_some() && is_open && counts_last) || (!same && control_goes_on);
        let wrong = wrong.filter(|_| !(open.uncertain || is_open && counts_last));
        if let Some(error) = wrong {
            self.fault(error, at.element(1));
        }
        if !same && !control_goes_on {
            self.fault(EdiError::ControlDiffers { standard, level }, at.element(2));
        } else if zeros {
            self.fault(EdiError::ControlZeros { standard, level }, at.element(2));
        }
        if cut && !self.pass.is_cut_off() {
            self.fault(EdiError::Unterminated, at);
        }
    }
}

/// Finds the header of an interchange on a new line of a segment: the length of the lines before it, and its place.
fn merged_header(raw: &[u8]) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\r', b'\n', &raw[from..]) {
        let end = from + at;
        let blanks = raw[end..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let header = end + blanks;
        if [&b"ISA"[..], b"UNA", b"UNB"].iter().any(|tag| raw[header..].starts_with(tag)) {
            return Some((raw[..end].trim_ascii_end().len(), header));
        }
        from = header;
    }
    None
}

/// Compares control numbers: numeric ones (ISA13, GS06) as numbers, others as text.
fn same_control(standard: Standard, level: Level, header: &[u8], trailer: &[u8]) -> bool {
    let trailer = if standard == Standard::X12 { trailer.trim_ascii_end() } else { trailer };
    if header == trailer {
        return true;
    }
    let numeric = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let significant = |text: &[u8]| text.iter().position(|digit| *digit != b'0').unwrap_or(text.len());
    standard == Standard::X12
        && level != Level::Transaction
        && numeric(header)
        && numeric(trailer)
        && header[significant(header)..] == trailer[significant(trailer)..]
}

fn end_event(level: Level, closed: Closed) -> Event {
    match level {
        Level::Interchange => Event::InterchangeEnd(closed),
        Level::Group => Event::GroupEnd(closed),
        Level::Transaction => Event::TransactionEnd(closed),
    }
}
