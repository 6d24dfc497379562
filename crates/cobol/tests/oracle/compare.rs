//! Compares the results of GnuCOBOL with those of this crate.

use std::fmt::Write as _;

use quayline_charset::CodePage;
use quayline_cobol::Preserve;
use quayline_cobol::layout::{EditSymbol, Encoding, Field, FieldIndex, FieldKind, Layout, ZonedSign};

use crate::cobc::{self, Round, Said, hex};
use crate::copybook::{Case, Domain};
use crate::ours::{self, Codec};
use crate::random::Random;
use crate::values::{self, Content, Contents, Range, Visit};

/// Rounds in which the program stores values, and in which it reads records of ours.
const SET_ROUNDS: usize = 6;
const GET_ROUNDS: usize = 4;

/// Numbers of comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) layouts: usize,
    pub(crate) fields: usize,
    pub(crate) records: usize,
    /// Values that COBOL stored and we decoded, in ASCII and in EBCDIC.
    pub(crate) decoded: usize,
    /// Fields whose bytes we wrote as COBOL did, in ASCII and in EBCDIC.
    pub(crate) encoded: usize,
    /// Values that we encoded and COBOL read.
    pub(crate) read: usize,
    /// Fields whose initial bytes were compared.
    pub(crate) initial: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        self.layouts += other.layouts;
        self.fields += other.fields;
        self.records += other.records;
        self.decoded += other.decoded;
        self.encoded += other.encoded;
        self.read += other.read;
        self.initial += other.initial;
    }
}

/// A case made ready to be run.
pub(crate) struct Prepared {
    pub(crate) case: Case,
    layout: Layout,
    ascii: Codec,
    preserving: Codec,
    ebcdic: Codec,
    rounds: Vec<(Kind, Contents)>,
    /// The records of the `Get` rounds.
    made: Vec<Vec<u8>>,
    pub(crate) requests: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    New,
    Set,
    Get,
}

pub(crate) fn prepare(case: Case, seed: u64) -> Result<Prepared, String> {
    let layout = ours::layout(&case)?;
    let mut ascii = Codec::new(&layout, CodePage::ASCII, Preserve::No)?;
    let preserving = Codec::new(&layout, CodePage::ASCII, Preserve::Yes)?;
    let ebcdic = Codec::new(&layout, CodePage::IBM037, Preserve::No)?;
    let random = &mut Random::new(seed ^ 0x5eed);
    let mut rounds = Vec::new();
    let mut made = Vec::new();
    let mut requests = String::new();
    let sliding = case.record.all().iter().any(|e| e.occurs.as_ref().is_some_and(|o| o.counter.is_some()));
    if !sliding {
        rounds.push((Kind::New, values::contents(random, &case, Range::Picture)));
        requests.push_str("NEW\n");
    }
    for _ in 0..SET_ROUNDS {
        let contents = values::contents(random, &case, Range::Picture);
        writeln!(requests, "SET {}", layout.length_max).expect("a string takes every write");
        for visit in &contents.visits {
            requests.push_str(&request(visit));
            requests.push('\n');
        }
        requests.extend(case.renames.iter().map(|_| "-\n"));
        rounds.push((Kind::Set, contents));
    }
    for _ in 0..GET_ROUNDS {
        let contents = values::contents(random, &case, Range::Storage);
        let mut record =
            ascii.encode(contents.json.as_bytes()).map_err(|e| format!("encode of {}: {e}", contents.json))?;
        if !sliding {
            other_signs(random, &layout, &contents, &mut record);
        }
        made.push(record.clone());
        writeln!(requests, "GET {}", hex(&record)).expect("a string takes every write");
        rounds.push((Kind::Get, contents));
    }
    requests.push_str("END\n");
    Ok(Prepared { case, layout, ascii, preserving, ebcdic, rounds, made, requests })
}

fn is_edited(domain: &Domain) -> bool {
    matches!(domain, Domain::Number { edited: true, .. } | Domain::TextEdited { .. })
}

/// The line that makes the program store a value.
fn request(visit: &Visit) -> String {
    match (&visit.content, &visit.domain) {
        (Content::Text(text), Domain::TextEdited { mask }) => {
            // MOVE brings the characters, the picture inserts the others.
            let moved: String =
                text.chars().zip(mask).filter(|(_, inserted)| inserted.is_none()).map(|(c, _)| c).collect();
            format!("T {}", hex(moved.as_bytes()))
        }
        (Content::Text(text), _) => format!("T {}", hex(if text.is_empty() { b" " } else { text.as_bytes() })),
        (Content::Number(n), _) => format!("N {}{} {}", if n.negative { '-' } else { '+' }, n.digits, n.scale),
        (Content::Float(x), _) => format!("F {:016x}", x.to_bits()),
        (Content::Unset, _) => "-".to_owned(),
    }
}

/// Returns all disagreements of a case.
pub(crate) fn check(prepared: &mut Prepared, lines: &mut impl Iterator<Item = String>) -> (Tally, Vec<String>) {
    let mut tally = Tally { layouts: 1, ..Tally::default() };
    let mut wrong = Vec::new();
    let rounds = core::mem::take(&mut prepared.rounds);
    let mut made = core::mem::take(&mut prepared.made).into_iter();
    for (i, (kind, contents)) in rounds.iter().enumerate() {
        let Some(round) = cobc::round(lines) else {
            wrong.push("the program's answer is cut off".to_owned());
            break;
        };
        if round.fields.len() != contents.visits.len() + prepared.case.renames.len() {
            wrong.push(format!("{} fields came, {} were expected", round.fields.len(), contents.visits.len()));
            continue;
        }
        if i == 0 {
            tally.fields += prepared.case.record.all().len();
        }
        tally.records += 1;
        let before = wrong.len();
        prepared.places(&round, contents, &mut wrong);
        match kind {
            Kind::New => tally.initial += prepared.initial(&round, contents, &mut wrong),
            Kind::Set => prepared.stored(&round, contents, &mut tally, &mut wrong),
            Kind::Get => {
                tally.read += prepared.read_back(&round, contents, &mut wrong);
                let record = made.next().expect("a record was made for every such round");
                prepared.own(&record, contents, &mut tally, &mut wrong);
            }
        }
        for said in &mut wrong[before..] {
            // The field's picture says more than its name.
            let named =
                contents.visits.iter().find(|v| said.split(' ').any(|word| word.trim_end_matches(':') == v.path));
            let description = named.map(|v| prepared.field(&v.name).1.description.as_str());
            said.insert_str(0, &format!("{kind:?} round {i}: ({}) ", description.unwrap_or_default()));
        }
    }
    (tally, wrong)
}

impl Prepared {
    fn field(&self, name: &str) -> (FieldIndex, &Field) {
        self.layout.iter().find(|(_, f)| f.name == name).expect("the layout has every name of the copybook")
    }

    /// Sizes, types and, where no table slides, offsets.
    fn places(&self, round: &Round, contents: &Contents, wrong: &mut Vec<String>) {
        let sliding = self.layout.fields.iter().any(|f| f.occurs.is_some_and(|o| o.depending_on.is_some()));
        for (visit, said) in contents.visits.iter().zip(&round.fields) {
            let (index, field) = self.field(&visit.name);
            if field.size != said.size {
                wrong.push(format!("{}: size {}, GnuCOBOL {}", visit.path, field.size, said.size));
            }
            let offset = place(&self.layout, index, &visit.indices);
            if !sliding && offset != said.offset {
                wrong.push(format!("{}: offset {offset}, GnuCOBOL {}", visit.path, said.offset));
            }
            if let Some(difference) = kind_differs(field, said) {
                wrong.push(format!("{}: {difference}", visit.path));
            }
        }
        let renamed = &round.fields[contents.visits.len()..];
        for ((name, _, _), said) in self.case.renames.iter().zip(renamed) {
            let rename = self.layout.renames.iter().find(|r| r.name == *name);
            if rename.is_some_and(|r| self.layout.field(r.from).slack_before > 0) {
                // Slack in front of a group is part of it in GnuCOBOL.
                continue;
            }
            let ours = rename.map(|r| (r.offset, r.size));
            if ours != Some((said.offset, said.size)) {
                wrong.push(format!("{name}: offset and size {ours:?}, GnuCOBOL {:?}", (said.offset, said.size)));
            }
        }
        if !sliding && round.record.len() != self.layout.length_max {
            wrong.push(format!("record of {} bytes, GnuCOBOL {}", self.layout.length_max, round.record.len()));
        }
    }

    /// Compares the initial storage of a program with the encoding of an empty document. Values are compared, not bytes: GnuCOBOL gives some signed
    /// zeros of a table no sign, and z/OS leaves storage without VALUE undefined.
    fn initial(&mut self, round: &Round, contents: &Contents, wrong: &mut Vec<String>) -> usize {
        let ours = self.ascii.encode(b"{}").and_then(|record| self.ascii.decode(&record));
        let (ours, theirs) = match (ours, self.ascii.decode(&round.record)) {
            (Ok((ours, _)), Ok((theirs, _))) => (ours, theirs),
            // A redefinition of nothing but FILLER may not read, and an edited item without VALUE may begin as anything.
            _ => return 0,
        };
        let mut compared = 0;
        for visit in &contents.visits {
            // What the first view says, the others need not.
            if visit.domain == Domain::Opaque || is_edited(&visit.domain) || self.is_shared(&visit.name) {
                continue;
            }
            compared += 1;
            let (ours, theirs) = (ours.get(&visit.path), theirs.get(&visit.path));
            if ours != theirs {
                wrong.push(format!("{}: begins as {ours:?}, GnuCOBOL {theirs:?}", visit.path));
            }
        }
        compared
    }

    /// Returns true if a field is in storage with more than one view.
    fn is_shared(&self, name: &str) -> bool {
        let mut at = Some(self.field(name).0);
        while let Some(index) = at {
            let field = self.layout.field(index);
            if field.redefines.is_some() || self.layout.fields.iter().any(|f| f.redefines == Some(index)) {
                return true;
            }
            at = field.parent;
        }
        false
    }

    /// A record that COBOL wrote: its values, and the same bytes again.
    fn stored(&mut self, round: &Round, contents: &Contents, tally: &mut Tally, wrong: &mut Vec<String>) {
        let converted = to_ebcdic(round, contents);
        for (page, record) in [("ASCII", &round.record), ("EBCDIC", &converted)] {
            let codec = if page == "ASCII" { &mut self.ascii } else { &mut self.ebcdic };
            let (values, json) = match codec.decode(record) {
                Ok(decoded) => decoded,
                Err(e) => {
                    wrong.push(format!("{page}: decode: {e}"));
                    continue;
                }
            };
            for (visit, said) in contents.visits.iter().zip(&round.fields) {
                let Some(expected) = text(&visit.content, &visit.domain) else { continue };
                tally.decoded += 1;
                if values.get(&visit.path) != Some(&expected) {
                    let bytes = hex(&round.record[said.offset..said.offset + said.size]);
                    let found = values.get(&visit.path);
                    wrong.push(format!("{page}: {} {} holds {expected:?}, decoded {found:?}", visit.path, bytes));
                }
            }
            if contents.other_views {
                continue;
            }
            let encoded = match codec.encode(&json) {
                Ok(encoded) => encoded,
                // A view that nothing was stored by may show a number that its picture does not have.
                Err(_) if self.layout.fields.iter().any(|f| f.redefines.is_some()) => continue,
                Err(e) => {
                    wrong.push(format!("{page}: encode: {e}"));
                    continue;
                }
            };
            if encoded.len() != record.len() {
                wrong.push(format!("{page}: encoded {} bytes, GnuCOBOL {}", encoded.len(), record.len()));
                continue;
            }
            for (visit, said) in contents.visits.iter().zip(&round.fields) {
                if visit.content == Content::Unset || self.unblanked(visit, said) {
                    continue;
                }
                tally.encoded += 1;
                let range = said.offset..said.offset + said.size;
                if encoded[range.clone()] != record[range.clone()] {
                    let (ours, theirs) = (hex(&encoded[range.clone()]), hex(&record[range]));
                    wrong.push(format!("{page}: {} {:?} encoded {ours}, GnuCOBOL {theirs}", visit.path, visit.content));
                }
            }
        }
        self.preserved(&round.record, wrong);
    }

    /// A record of ours: its values again, and with `_preserve` its bytes.
    fn own(&mut self, record: &[u8], contents: &Contents, tally: &mut Tally, wrong: &mut Vec<String>) {
        match self.ascii.decode(record) {
            Ok((values, _)) => {
                for visit in &contents.visits {
                    let Some(expected) = text(&visit.content, &visit.domain) else { continue };
                    tally.decoded += 1;
                    if values.get(&visit.path) != Some(&expected) {
                        let found = values.get(&visit.path);
                        wrong.push(format!("{} holds {expected:?}, decoded {found:?}", visit.path));
                    }
                }
            }
            Err(e) => wrong.push(format!("decode of our own: {e}")),
        }
        self.preserved(record, wrong);
    }

    /// Returns true for an item with BLANK WHEN ZERO that GnuCOBOL keeps numeric, for which it stores zeros instead of blanks.
    fn unblanked(&self, visit: &Visit, said: &Said) -> bool {
        let FieldKind::Item(Encoding::Zoned { blank_when_zero, .. }) = self.field(&visit.name).1.kind else {
            return false;
        };
        blank_when_zero && said.kind == 0x10
    }

    /// Checks that every byte comes back with `_preserve`.
    fn preserved(&mut self, record: &[u8], wrong: &mut Vec<String>) {
        let back = self.preserving.decode(record).and_then(|(_, json)| self.preserving.encode(&json));
        match back {
            Ok(back) if back == record => {}
            Ok(back) => {
                let at = back.iter().zip(record).position(|(a, b)| a != b);
                wrong.push(format!(
                    "preserve: {} bytes came back as {}, first difference {at:?}",
                    record.len(),
                    back.len()
                ));
            }
            Err(e) => wrong.push(format!("preserve: {e}")),
        }
    }

    /// Values of our record as COBOL's MOVE reads them.
    fn read_back(&self, round: &Round, contents: &Contents, wrong: &mut Vec<String>) -> usize {
        let mut compared = 0;
        for (visit, said) in contents.visits.iter().zip(&round.fields) {
            let expected = match &visit.content {
                Content::Unset => continue,
                Content::Text(text) => {
                    let chars = said.size;
                    let padded = match &visit.domain {
                        Domain::Text { justified: true, .. } => format!("{text:>chars$}"),
                        _ => format!("{text:<chars$}"),
                    };
                    format!("T {}", hex(padded.as_bytes()))
                }
                Content::Number(n) => {
                    if self.misread(visit, n.negative) {
                        continue;
                    }
                    let digits = format!("{:0>38}", n.digits.trim_start_matches('0'));
                    format!("N {}{digits} {}", if n.negative { '-' } else { '+' }, n.scale)
                }
                Content::Float(x) => format!("F {:016x}", x.to_bits()),
            };
            compared += 1;
            if said.value != expected {
                let bytes = round.record.get(said.offset..said.offset + said.size).map(hex);
                wrong.push(format!("{} {bytes:?}: encoded from {expected}, GnuCOBOL reads {}", visit.path, said.value));
            }
        }
        compared
    }

    /// Returns true for an edited item that GnuCOBOL 3.1.2 reads back wrongly: it takes an inserted `0` for a digit and does not know DB or V.
    fn misread(&self, visit: &Visit, negative: bool) -> bool {
        let FieldKind::Item(Encoding::Edited(picture)) = &self.field(&visit.name).1.kind else { return false };
        [EditSymbol::InsertZero, EditSymbol::ImpliedPoint].iter().any(|s| picture.symbols.contains(s))
            || negative && picture.symbols.contains(&EditSymbol::Debit)
    }
}

/// Gives packed fields that are not negative any other sign nibble that means so.
fn other_signs(random: &mut Random, layout: &Layout, contents: &Contents, record: &mut [u8]) {
    for visit in &contents.visits {
        let (Content::Number(number), Some((index, field))) =
            (&visit.content, layout.iter().find(|(_, f)| f.name == visit.name))
        else {
            continue;
        };
        if number.negative || !matches!(field.kind, FieldKind::Item(Encoding::Packed { .. })) {
            continue;
        }
        let last = place(layout, index, &visit.indices) + field.size - 1;
        record[last] = record[last] & 0xf0 | [0x0a, 0x0c, 0x0e, 0x0f][random.below(4)];
    }
}

/// Offset of an occurrence, tables at their maximum.
fn place(layout: &Layout, index: FieldIndex, indices: &[usize]) -> usize {
    let mut strides = Vec::new();
    let mut at = Some(index);
    while let Some(i) = at {
        let field = layout.field(i);
        if field.occurs.is_some() {
            strides.push(field.stride);
        }
        at = field.parent;
    }
    let moved: usize = strides.iter().rev().zip(indices).map(|(stride, i)| stride * i).sum();
    layout.field(index).offset + moved
}

/// Digits, scale and sign as both compilers see them.
fn kind_differs(field: &Field, said: &Said) -> Option<String> {
    const SIGN: u32 = 1;
    const SEPARATE: u32 = 2;
    const LEADING: u32 = 4;
    let FieldKind::Item(encoding) = &field.kind else { return Some("a group".to_owned()) };
    let theirs = (said.kind, said.digits, said.scale, said.flags & SIGN != 0);
    let ours = match encoding {
        // BLANK WHEN ZERO makes it numeric-edited, but not in a redefinition.
        Encoding::Zoned { digits, scale, blank_when_zero: true, .. } => {
            (if said.kind == 0x10 { 0x10 } else { 0x24 }, usize::from(*digits), i32::from(*scale), false)
        }
        Encoding::Zoned { digits, scale, sign, .. } => {
            let said_sign = match (said.flags & SIGN, said.flags & SEPARATE, said.flags & LEADING) {
                (0, _, _) => ZonedSign::Unsigned,
                (_, 0, 0) => ZonedSign::TrailingOverpunch,
                (_, 0, _) => ZonedSign::LeadingOverpunch,
                (_, _, 0) => ZonedSign::TrailingSeparate,
                _ => ZonedSign::LeadingSeparate,
            };
            if said_sign != *sign {
                return Some(format!("{sign:?}, GnuCOBOL {said_sign:?}"));
            }
            (0x10, usize::from(*digits), i32::from(*scale), *sign != ZonedSign::Unsigned)
        }
        Encoding::Packed { digits, scale, signed } => (0x12, usize::from(*digits), i32::from(*scale), *signed),
        Encoding::PackedUnsigned { digits, scale } => (0x12, usize::from(*digits), i32::from(*scale), false),
        Encoding::Binary { digits, scale, signed, .. } if *digits > 0 => {
            (0x11, usize::from(*digits), i32::from(*scale), *signed)
        }
        Encoding::Edited(picture) => (0x24, said.digits, i32::from(picture.scale), theirs.3),
        _ => return None,
    };
    // Positions taken by P count as digits in GnuCOBOL's field, not in ours.
    let digits_differ = theirs.1 != ours.1 && ours.2 >= 0 && usize::try_from(ours.2).is_ok_and(|scale| scale <= ours.1);
    (theirs.0 != ours.0 || digits_differ || theirs.2 != ours.2 || theirs.3 != ours.3)
        .then(|| format!("type, digits, scale, sign {ours:?}, GnuCOBOL {theirs:?}"))
}

/// The text of a value as decoding gives it.
fn text(content: &Content, domain: &Domain) -> Option<String> {
    Some(match content {
        Content::Text(text) => match domain {
            Domain::Text { justified: true, .. } => text.trim_start_matches(' ').to_owned(),
            _ => text.trim_end_matches(' ').to_owned(),
        },
        Content::Number(number) => number.text(),
        Content::Float(x) if *domain == (Domain::Float { double: false }) => f64::from(values::single(*x)).to_string(),
        Content::Float(x) => x.to_string(),
        Content::Unset => return None,
    })
}

/// Returns the record as a z/OS program would write it: characters in code page 037, numbers unchanged.
fn to_ebcdic(round: &Round, contents: &Contents) -> Vec<u8> {
    let mut record = round.record.clone();
    // What no field covers is FILLER or slack.
    for (visit, said) in contents.visits.iter().zip(&round.fields) {
        let characters = matches!(said.kind, 0x10 | 0x21..=0x24);
        if characters && visit.content != Content::Unset {
            for byte in &mut record[said.offset..said.offset + said.size] {
                *byte = CodePage::IBM037.from_char(char::from(*byte)).expect("the program stores printable characters");
            }
        }
    }
    record
}
