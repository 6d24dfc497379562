//! Decoder that turns records into events.
//!
//! A record is copied once into a padded buffer and translated as a whole (a few nanoseconds a kilobyte with SIMD), so that every
//! field can be read in 16-byte blocks without checking for the end of the record. Bytes of binary fields are translated too and
//! never used.
//!
//! # Notes for the next editor
//!
//! **Fast and slow.** Each operation has a fast path for the most common good data (numbers: `fast.rs`). Otherwise it calls `slow`, which reads the item
//! with `read` and finds the exact reason. A fast path may refuse anything, but what it accepts must have the value that `read`
//! gives. `plan/compile.rs` guarantees the sizes that the bit masks rely on: zoned at most 16 bytes, packed at most 16, binary 2, 4
//! or 8.
//!
//! **Padding.** `raw` and `text` have `PAD` bytes after the record, so that 16-byte blocks can be loaded anywhere in it. These bytes,
//! and all after them, may hold what earlier records left. So a fast path compares `at + size` with `loaded.len` before it believes
//! what it loaded.
//!
//! **`base`** is added to the offset of a record whose tables are at their maximum. A short table that slides makes it negative, as a
//! wrapped `usize`: add with `wrapping_add` and index with `get`. `Table::behind` is the one place that knows where the next item
//! begins.
//!
//! **Not everything is translated.** For a sink that takes rows, `load` translates up to the first table of texts; `text_rows`
//! translates the rest, table by table, as operations reach it. An operation that reads `text` out of that order would see the record
//! before: for such plans `plan/rows.rs` has all of it translated at once (`end_if_in_order`), and debug builds fill `text` with `!`
//! so that it shows. `tables_of_texts_are_the_same_by_rows` compares rows with one value at a time, `texts_are_the_same_by_place`
//! texts by place.
//!
//! **Passes.** A view that no selector chooses runs first against `Validate`, and again for the sink if it made no fault. `preserve`
//! runs all operations again for an encoder. Both set `quiet`, or notes would be doubled. After a bad counter or a cut field, `lost`
//! hides every later fault of the record, since nobody knows where its fields are.
//!
//! Each view of a union without a selector is tried with `lost` as it was before the union. A dropped view leaves nothing: neither
//! its faults nor `lost`, since with `lost` set every other view would fit and nobody would check where the record ends.
//!
//! **Limits.** At most `RecordFaults::MAX` faults and `RecordDecoder::NOTES_MAX` notes are kept of a record.
//!
//! **Tests.** `tests/oracle` compares with programs that GnuCOBOL compiles, `tests/records/laws.rs` has the laws of round trips,
//! `no_byte_of_a_short_or_long_record_is_lost` the ends of records; the fuzz target is `record_decode`.
//!
//! **Tried.** Padding a short record as a whole in its buffer: blanks are a number in COMP and a character in PIC N, so each item is
//! padded alone (`short.rs`).

mod end;
mod fast;
mod named;
mod origin;
mod short;

use core::mem;

use quayline_charset::scan;
use quayline_core::{Decimal, Digits, NodeId, Run, Sink, TextPlace, TextRows, Value};

use self::fast::PACKED_INTEGER_BYTES;
use crate::item::{Loaded, Scratch, as_text, fault_of_date, integer, read};
use crate::layout::{ByteOrder, Encoding, FieldIndex, FloatFormat};
use crate::plan::{Choice, Item, ItemForm, Op, Plan, Table};
use crate::{
    BadValue, FaultKind, NoteKind, NullAs, Preserve, RecordEncoder, RecordFault, RecordFaults, RecordNote, RecordPlan,
    ShortRecord,
};

use origin::Origin;
pub(crate) use short::read_short;

/// Decodes records of one plan. Holds the buffers that it reuses from record to record; make one for each thread.
#[derive(Debug)]
pub struct RecordDecoder {
    plan: RecordPlan,
    state: State,
    /// Encoder of the canonical form, for `_preserve`.
    canonical: Option<Box<RecordEncoder>>,
    /// Set if documents have members that say where a record comes from.
    origin: Option<Origin>,
}

impl RecordDecoder {
    /// Creates a decoder for `plan`. A short record is an error unless the plan says otherwise.
    #[must_use]
    pub fn new(plan: &RecordPlan) -> Self {
        RecordDecoder::with_short(plan, ShortRecord::Error)
    }

    /// Creates a decoder for the lines of a LINE SEQUENTIAL file: a short record is padded with blanks unless the plan says
    /// otherwise.
    #[must_use]
    pub fn of_lines(plan: &RecordPlan) -> Self {
        RecordDecoder::with_short(plan, ShortRecord::Pad)
    }

    fn with_short(plan: &RecordPlan, default: ShortRecord) -> Self {
        let canonical = plan.0.preserve_node.map(|_| Box::new(RecordEncoder::lenient(plan)));
        let short = plan.0.policies.short.unwrap_or(default);
        let is_line = default == ShortRecord::Pad;
        let state = State { slots: vec![0; plan.0.captures.len()], short, is_line, ..State::default() };
        RecordDecoder { plan: plan.clone(), state, canonical, origin: None }
    }

    /// Returns the notes on the record that was decoded last, at most [`RecordDecoder::NOTES_MAX`]; empty if it was refused.
    #[must_use]
    pub fn notes(&self) -> &[RecordNote] {
        if self.state.notes.is_empty() { &[] } else { &self.state.notes }
    }

    /// Maximum number of notes kept of one record, enough for a table of some size, since every element is counted.
    pub const NOTES_MAX: usize = 1 << 20;

    /// Checks that a record decodes.
    ///
    /// # Errors
    /// All faults of the record.
    pub fn check(&mut self, record: &[u8]) -> Result<(), RecordFaults> {
        self.decode(record, &mut Validate)
    }

    /// Decodes one record into one document.
    ///
    /// # Errors
    /// All faults of the record. The sink has seen a well-formed document in which bad values are null; discard it.
    #[inline]
    pub fn decode<S: Sink>(&mut self, record: &[u8], sink: &mut S) -> Result<(), RecordFaults> {
        let raw = &mut self.state.loaded.raw;
        if raw.len() < record.len() + PAD {
            raw.resize(record.len() + PAD, 0);
        }
        raw[..record.len()].copy_from_slice(record);
        self.decode_loaded(record.len(), sink)
    }

    /// Decodes a record in its own buffer instead of copying it. The buffer is unchanged afterwards.
    ///
    /// # Errors
    /// See [`RecordDecoder::decode`].
    #[inline]
    pub fn decode_in_place<S: Sink>(&mut self, record: &mut Vec<u8>, sink: &mut S) -> Result<(), RecordFaults> {
        let len = record.len();
        record.resize(len + PAD, 0);
        mem::swap(&mut self.state.loaded.raw, record);
        let done = self.decode_loaded(len, sink);
        mem::swap(&mut self.state.loaded.raw, record);
        record.truncate(len);
        done
    }

    /// Returns the length of a record of varying length, from its first [`RecordPlan::length_front`] bytes. Returns `None` if these
    /// do not hold valid counts.
    pub fn length(&mut self, front: &[u8]) -> Option<usize> {
        let plan = &*self.plan.0;
        let State { loaded, scratch, .. } = &mut self.state;
        let Loaded { raw, text, len } = &mut *loaded;
        for buffer in [&mut *raw, &mut *text] {
            if buffer.len() < front.len() + PAD {
                buffer.resize(front.len() + PAD, 0);
            }
        }
        *len = front.len();
        raw[..front.len()].copy_from_slice(front);
        quayline_charset::translate(plan.text.to_ascii, front, &mut text[..front.len()]);
        let mut length = plan.layout.length_max;
        for table in &plan.slides {
            let item = &plan.items[table.counter? as usize];
            let count = counter_value(plan, item, loaded, item.offset, scratch).ok()?;
            let missing = table.max.checked_sub(u32::try_from(count).ok()?)?;
            length = length.checked_sub(missing as usize * table.stride)?;
        }
        Some(length)
    }

    /// Decodes the first `len` bytes of the raw buffer.
    #[inline]
    fn decode_loaded<S: Sink>(&mut self, len: usize, sink: &mut S) -> Result<(), RecordFaults> {
        let plan = &*self.plan.0;
        let state = &mut self.state;
        state.load(plan, len, if S::TAKES_TEXTS { plan.rows.eager } else { None });
        sink.enter(NodeId::ROOT);
        let base = quayline_charset::widest(Whole { state, plan, sink });
        state.check_length(plan, base);
        if let (Some(node), Some(encoder)) = (plan.preserve_node, &mut self.canonical)
            && state.faults.is_empty()
        {
            // The patch keeps the bytes that the notes are about, and a second pass would note them twice.
            state.quiet = true;
            encoder.keep_zero_signs(S::KEEPS_SIGNED_ZERO);
            encoder.enter(NodeId::ROOT);
            state.run(plan, 0, plan.ops.len(), 0, &mut **encoder);
            encoder.leave(NodeId::ROOT);
            if let Some(patch) = encoder.patch_for(&state.loaded.raw[..len]) {
                sink.value(node, Value::Ascii(Run::from(patch.as_bytes())));
            }
        }
        if let Some(origin) = &self.origin {
            origin.send(plan, sink);
        }
        sink.leave(NodeId::ROOT);
        if state.faults.is_empty() { Ok(()) } else { Err(RecordFaults(mem::take(&mut state.faults))) }
    }
}

/// Bytes after a record that block loads may read.
const PAD: usize = TextRows::SLACK;

#[derive(Debug, Default)]
struct State {
    loaded: Loaded,
    scratch: Scratch,
    slots: Vec<usize>,
    /// Occurrence of each table around the current operation, outermost first.
    indices: Vec<u32>,
    /// The tables themselves.
    loops: Vec<OpenLoop>,
    faults: Vec<RecordFault>,
    /// A counter was bad, so the places of later fields are unknown and their faults meaningless.
    lost: bool,
    short: ShortRecord,
    /// Records are lines, which are often short.
    is_line: bool,
    /// An item that the record's end cuts, padded.
    padded: Loaded,
    notes: Vec<RecordNote>,
    /// True if notes are suppressed, because the bytes are read once more or only tested.
    quiet: bool,
}

/// Runs all operations of a plan over one record.
struct Whole<'a, S> {
    state: &'a mut State,
    plan: &'a Plan,
    sink: &'a mut S,
}

impl<S: Sink> quayline_charset::Hot for Whole<'_, S> {
    /// Base after the last operation.
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        self.state.run_here(self.plan, 0, self.plan.ops.len(), 0, self.sink)
    }
}

/// A table whose occurrences are being read.
#[derive(Clone, Copy, Debug)]
struct OpenLoop {
    /// Index of the `Loop` operation.
    head: usize,
    count: u32,
    /// Base before its first occurrence.
    outer: usize,
    table: Table,
}

impl Table {
    /// Returns the base after the table, from the base after its last occurrence and the one before its first: the fields after it
    /// have the offsets of a table at its maximum.
    #[inline(always)]
    pub(crate) fn behind(self, last: usize, outer: usize) -> usize {
        if self.slides { last.wrapping_sub(self.max as usize * self.stride) } else { outer }
    }
}

impl State {
    #[inline]
    fn load(&mut self, plan: &Plan, record_len: usize, eager: Option<usize>) {
        let Loaded { raw, text, len } = &mut self.loaded;
        *len = record_len;
        if text.len() < record_len + PAD {
            text.resize(record_len + PAD, 0);
        }
        let eager = eager.map_or(record_len, |eager| eager.min(record_len));
        if cfg!(debug_assertions) {
            // Makes it visible in tests that untranslated bytes are read.
            text.fill(b'!');
        }
        quayline_charset::translate(plan.text.to_ascii, &raw[..eager], &mut text[..eager]);
        self.faults.clear();
        self.indices.clear();
        self.loops.clear();
        self.lost = false;
        self.notes.clear();
        self.quiet = false;
    }

    /// Runs the operations `start..end` from somewhere that is not hot.
    #[inline(never)]
    fn run<S: Sink>(&mut self, plan: &Plan, start: usize, end: usize, base: usize, sink: &mut S) -> usize {
        self.run_here(plan, start, end, base, sink)
    }

    /// Runs the operations `start..end` and returns the base after them.
    #[inline(always)]
    fn run_here<S: Sink>(&mut self, plan: &Plan, start: usize, end: usize, mut base: usize, sink: &mut S) -> usize {
        let ops = &plan.ops[..end];
        let mut pc = start;
        while let Some(op) = ops.get(pc) {
            match *op {
                Op::Text { offset, size, node } => {
                    if S::TAKES_TEXTS {
                        let taken = self.texts(plan, pc, end, base, sink);
                        if taken > 0 {
                            pc += taken;
                            continue;
                        }
                    }
                    let (at, size) = (base.wrapping_add(offset as usize), size as usize);
                    match self.loaded.text.get(at..) {
                        Some(tail) if at + size <= self.loaded.len => match plain_text(tail, size) {
                            Some(len) => sink.value(node, Value::Ascii(Run::new(tail, len))),
                            None => self.slow(plan, pc, at, sink),
                        },
                        _ => self.slow(plan, pc, at, sink),
                    }
                }
                Op::ZonedUnsigned { offset, size, scale, node } => {
                    let (at, size) = (base.wrapping_add(offset as usize), usize::from(size));
                    match self.loaded.text.get(at..) {
                        Some(tail) if at + size <= self.loaded.len && all_digits(tail, size) => {
                            let digits = Digits { digits: Run::new(tail, size), negative: false, scale };
                            sink.value(node, Value::Digits(digits));
                        }
                        _ => self.slow(plan, pc, at, sink),
                    }
                }
                Op::ZonedTrailing { offset, size, scale, node } => {
                    let (at, size) = (base.wrapping_add(offset as usize), usize::from(size));
                    let negative = self.zoned_trailing(plan, at, size);
                    let digits = Run::new(&self.scratch.digits, size);
                    match negative.map(|negative| Digits { digits, negative, scale }) {
                        Some(digits) if !loses_sign::<S>(digits) => sink.value(node, Value::Digits(digits)),
                        _ => self.slow(plan, pc, at, sink),
                    }
                }
                Op::Packed { offset, size, pad, signed, scale, node } => {
                    let at = base.wrapping_add(offset as usize);
                    if S::PREFERS_INTEGERS && usize::from(size) <= PACKED_INTEGER_BYTES {
                        match self.packed_integer(at, usize::from(size), usize::from(pad), signed) {
                            Some(n) => sink.value(node, Value::Int(n, scale)),
                            None => self.slow(plan, pc, at, sink),
                        }
                        pc += 1;
                        continue;
                    }
                    let negative = self.packed(at, usize::from(size), usize::from(pad), signed);
                    let pad = usize::from(pad);
                    let digits = Run::new(&self.scratch.digits[pad..], 2 * usize::from(size) - 1 - pad);
                    match negative.map(|negative| Digits { digits, negative, scale }) {
                        Some(digits) if !loses_sign::<S>(digits) => sink.value(node, Value::Digits(digits)),
                        _ => self.slow(plan, pc, at, sink),
                    }
                }
                Op::Binary { offset, size, signed, digits, scale, node } => {
                    let at = base.wrapping_add(offset as usize);
                    match self.binary(at, usize::from(size), signed) {
                        Some(Ok(n)) if n.unsigned_abs() < DIGITS_BOUND[usize::from(digits)] => {
                            sink.value(node, Value::Int(n, scale));
                        }
                        Some(_) if digits > 0 => self.slow(plan, pc, at, sink),
                        Some(Ok(n)) => sink.value(node, Value::Int(n, scale)),
                        Some(Err(n)) => sink.value(node, Value::Decimal(Decimal { unscaled: i128::from(n), scale })),
                        None => self.slow(plan, pc, at, sink),
                    }
                }
                Op::Item(item) => {
                    let at = base.wrapping_add(plan.items[item as usize].offset);
                    self.slow(plan, pc, at, sink);
                }
                Op::Enter(node) => sink.enter(node),
                Op::Leave(node) => sink.leave(node),
                Op::Loop { table: index, len } => {
                    let table = plan.tables[index as usize];
                    let count = self.count(plan, table);
                    if count < table.max && !table.slides {
                        self.note_stale(plan, table, base, count);
                    }
                    if let Some(node) = table.node {
                        sink.open_list(node);
                    }
                    let taken = if S::TAKES_TEXTS && plan.text_runs[pc] > 0 {
                        self.text_rows(plan, pc, base, count, table, sink)
                    } else {
                        0
                    };
                    if taken < count {
                        self.indices.push(taken);
                        self.loops.push(OpenLoop { head: pc, count, outer: base, table });
                        base = base.wrapping_add(taken as usize * table.stride);
                    } else {
                        base = table.behind(base.wrapping_add(taken as usize * table.stride), base);
                        if let Some(node) = table.node {
                            sink.close_list(node);
                        }
                        pc += len as usize;
                    }
                }
                Op::Next => {
                    let (Some(open), Some(index)) = (self.loops.last(), self.indices.last_mut()) else { break };
                    let table = open.table;
                    base = base.wrapping_add(table.stride);
                    *index += 1;
                    if *index < open.count {
                        pc = open.head;
                    } else {
                        base = table.behind(base, open.outer);
                        self.loops.pop();
                        self.indices.pop();
                        if let Some(node) = table.node {
                            sink.close_list(node);
                        }
                    }
                }
                Op::Skip { table } => {
                    let table = plan.tables[table as usize];
                    let count = self.count(plan, table);
                    base = base.wrapping_sub((table.max - count) as usize * table.stride);
                }
                Op::Capture { slot, offset } => self.slots[slot as usize] = base.wrapping_add(offset as usize),
                Op::Union { union, len } => {
                    base = self.union(plan, pc, union as usize, base, sink);
                    pc += len as usize;
                }
            }
            pc += 1;
        }
        base
    }

    /// Sends consecutive short texts at once, and returns the number of operations done.
    #[inline(always)]
    fn texts<S: Sink>(&mut self, plan: &Plan, pc: usize, end: usize, base: usize, sink: &mut S) -> usize {
        let run = (plan.text_runs[pc] as usize).min(end - pc);
        let Some(places) = plan.text_places.get(pc..pc + run) else { return 0 };
        let [first, .., last] = places else { return 0 };
        let from = base.wrapping_add(first.offset as usize);
        let to = base.wrapping_add(last.offset as usize + last.size as usize);
        if to > self.loaded.len {
            return 0;
        }
        match self.loaded.text.get(from..to + TextPlace::SIZE_MAX as usize) {
            Some(text) => sink.texts(places, text, first.offset),
            None => 0,
        }
    }

    /// Sends the first occurrences of a table of texts and returns how many of them the sink took. Unless the whole record was
    /// translated, it also translates the bytes that the following operations read, up to the next such table.
    #[inline(never)]
    fn text_rows<S: Sink>(
        &mut self,
        plan: &Plan,
        pc: usize,
        base: usize,
        count: u32,
        table: Table,
        sink: &mut S,
    ) -> u32 {
        let rows = &plan.rows.tables[plan.text_runs[pc] as usize - 1];
        let places = &plan.text_places[pc + 2..][..rows.texts];
        let ([first, ..], [.., last]) = (places, places) else { return 0 };
        let Loaded { raw, text, len } = &mut self.loaded;
        let stride = table.stride;
        let from = base.wrapping_add(first.offset as usize);
        let width = (last.offset + last.size - first.offset) as usize;
        // A record that is too short contributes only the occurrences that it has.
        let there = len.checked_sub(width).and_then(|last| last.checked_sub(from));
        let there = there.map_or(0, |beyond| beyond.checked_div(stride).map_or(0, |rows| rows + 1));
        let there = there.min(count as usize);
        let end = |rows: usize| if rows == 0 { from } else { from + (rows - 1) * stride + width };
        let mut send = |bytes: &[u8]| {
            let text = bytes.get(from..end(there) + PAD).filter(|_| there > 0);
            text.map_or(0, |text| sink.text_rows(TextRows { group: rows.group, places, text, stride, count: there }))
        };
        let Some(until) = rows.until else { return narrow(send(text)) };
        let taken = if plan.rows.as_is { send(raw) } else { 0 };
        let all = if table.slides { count } else { table.max } as usize;
        let start = match (taken < count as usize, all) {
            (true, _) => from + taken * stride,
            // The following fields may have moved to the start of the table, which is less than an occurrence before its first
            // text.
            (_, 0) => from.saturating_sub(stride),
            (_, all) => end(all),
        };
        let behind = table.behind(base.wrapping_add(count as usize * stride), base);
        let until = behind.wrapping_add(until).min(*len);
        if start < until {
            quayline_charset::translate(plan.text.to_ascii, &raw[start..until], &mut text[start..until]);
        }
        narrow(if plan.rows.as_is { taken } else { send(text) })
    }

    /// Occurrences of a table in this record.
    fn count(&mut self, plan: &Plan, table: Table) -> u32 {
        let Some(slot) = table.counter else { return table.max };
        if self.lost {
            return 0;
        }
        let item = &plan.items[plan.captures[slot as usize] as usize];
        let at = self.slots[slot as usize];
        let kind = match counter_value(plan, item, &self.loaded, at, &mut self.scratch) {
            Ok(n) => match u32::try_from(n) {
                Ok(n) if n <= table.max => return n,
                _ => FaultKind::CountOutOfRange { found: n, max: table.max },
            },
            Err(FaultKind::ShortRecord { .. }) => {
                let State { loaded, padded, scratch, .. } = self;
                match read_short(plan, item, loaded, at, self.short, padded, scratch).map(integer) {
                    // The record has neither the counter nor the table.
                    Ok(None) => return 0,
                    Ok(Some(0)) => return 0,
                    Ok(Some(_)) => FaultKind::BadCounter(Box::new(FaultKind::NotANumber)),
                    Err(FaultKind::Blank) if plan.policies.blank == BadValue::Null => return 0,
                    Err(kind @ (FaultKind::ShortRecord { .. } | FaultKind::CutField { .. })) => kind,
                    Err(kind) => FaultKind::BadCounter(Box::new(kind)),
                }
            }
            Err(kind) => FaultKind::BadCounter(Box::new(kind)),
        };
        self.fault(plan, kind, item.field, at);
        self.lost = true;
        0
    }

    #[cold]
    #[inline(never)]
    fn union<S: Sink>(&mut self, plan: &Plan, pc: usize, union: usize, base: usize, sink: &mut S) -> usize {
        let union = &plan.unions[union];
        let mut next = pc + 1;
        let mut starts = Vec::with_capacity(union.views.len());
        for view in &union.views {
            starts.push(next);
            next += view.len as usize;
        }
        let end = |i: usize| starts[i] + union.views[i].len as usize;
        if let Some(choice) = &union.choice {
            return match self.chosen(plan, choice) {
                Some(view) => self.run(plan, starts[view], end(view), base, sink),
                None => {
                    let first = &union.views[0];
                    let at = base.wrapping_add(plan.layout.field(first.field).offset);
                    self.fault(plan, FaultKind::NoView, first.field, at);
                    base
                }
            };
        }
        // A second name for bytes in front of any sliding table has its offset as written.
        let rename = union.views.len() == 1;
        let from = if rename { 0 } else { base };
        let known = self.faults.len();
        let lost = self.lost;
        let mut first_faults = Vec::new();
        let mut first_lost = false;
        let mut fitting = 0;
        let mut behind = base;
        for (i, view) in union.views.iter().enumerate() {
            if view.len == 0 {
                continue;
            }
            let quiet = mem::replace(&mut self.quiet, true);
            self.run(plan, starts[i], end(i), from, &mut Validate);
            self.quiet = quiet;
            if self.faults.len() == known {
                fitting += 1;
                let after = self.run(plan, starts[i], end(i), from, sink);
                if i == 0 && !rename {
                    behind = after;
                }
            } else {
                let faults = self.faults.split_off(known);
                if first_faults.is_empty() {
                    first_faults = faults;
                    first_lost = self.lost;
                }
                self.lost = lost;
                if let Some(node) = view.scalar {
                    sink.value(node, Value::Null);
                }
            }
        }
        if fitting == 0 && !rename {
            self.faults.extend(first_faults);
            self.lost |= first_lost;
        }
        behind
    }

    /// Returns the view that a choice selects for this record.
    fn chosen(&mut self, plan: &Plan, choice: &Choice) -> Option<usize> {
        let item = &plan.items[plan.captures[choice.slot as usize] as usize];
        let at = self.slots[choice.slot as usize];
        let State { loaded, padded, scratch, .. } = self;
        let value = match read(plan, item, loaded, at, scratch) {
            Err(FaultKind::ShortRecord { .. }) => {
                read_short(plan, item, loaded, at, self.short, padded, scratch).ok().and_then(as_text)
            }
            value => value.ok().and_then(as_text),
        };
        choice.view(value.as_deref())
    }

    /// Reads an item the general way, if there is no fast path or it refused the bytes.
    #[inline(never)]
    fn slow<S: Sink>(&mut self, plan: &Plan, pc: usize, at: usize, sink: &mut S) {
        let item = &plan.items[plan.op_items[pc] as usize];
        let node = item.node;
        let State { loaded, padded, scratch, .. } = self;
        let index = plan.op_items[pc];
        if item.form == ItemForm::Named
            && let Some(name) = named::name(plan, index, item, loaded, at)
        {
            return sink.value(node, name);
        }
        let (read, is_short) = match read(plan, item, loaded, at, scratch) {
            Err(FaultKind::ShortRecord { .. }) => {
                (read_short(plan, item, loaded, at, self.short, padded, scratch), true)
            }
            read => (read, false),
        };
        let mut text = Vec::new();
        let read = read.and_then(|value| match item.form {
            ItemForm::Plain => Ok(value),
            ItemForm::Named => named::plain(plan, index, item, value, &mut text),
            ItemForm::Date => plan.dates[&index].show(item, value, &mut text),
        });
        let kind = match read {
            Ok(value) => {
                let beyond = is_beyond_picture(plan, item, value);
                let unsigned = matches!(value, Value::Digits(digits) if loses_sign::<S>(digits));
                sink.value(node, value);
                if !is_short && is_rounded(item, &self.loaded.raw[at..at + item.size]) {
                    self.note(plan, NoteKind::Rounded, Some(item.field), at);
                }
                if beyond {
                    self.note(plan, NoteKind::BeyondPicture, Some(item.field), at);
                }
                if unsigned {
                    self.note(plan, NoteKind::ZeroSign, Some(item.field), at);
                }
                return;
            }
            Err(kind) => kind,
        };
        let bytes = if is_short { &self.padded.raw[..] } else { &self.loaded.raw[at..] };
        let Some(kind) = fault_of_date(plan, index, item, kind, bytes) else { return sink.value(node, Value::Null) };
        let policy = match kind {
            FaultKind::ShortRecord { .. } | FaultKind::CutField { .. } | FaultKind::LooksLikeName => BadValue::Error,
            FaultKind::Blank => plan.policies.blank,
            FaultKind::LowValues => plan.policies.low_values,
            _ => plan.policies.invalid,
        };
        match policy {
            BadValue::Null => {
                sink.value(node, Value::Null);
                let kind = match (kind, item.null) {
                    (FaultKind::LowValues, NullAs::Spaces) | (FaultKind::Blank, NullAs::LowValues) => {
                        NoteKind::OtherNull
                    }
                    (FaultKind::Blank | FaultKind::LowValues, _) => return,
                    _ => NoteKind::Nulled,
                };
                self.note(plan, kind, Some(item.field), at);
            }
            BadValue::Raw if is_short => sink.value(node, Value::Raw(&self.padded.raw[..item.size])),
            BadValue::Raw => sink.value(node, Value::Raw(&self.loaded.raw[at..at + item.size])),
            BadValue::Error => {
                sink.value(node, Value::Null);
                // One truncated record is one fault, not one a field.
                let cut = matches!(kind, FaultKind::ShortRecord { .. } | FaultKind::CutField { .. });
                self.fault(plan, kind, item.field, at);
                self.lost |= cut;
            }
        }
    }

    #[cold]
    fn note(&mut self, plan: &Plan, kind: NoteKind, field: Option<FieldIndex>, offset: usize) {
        // Bytes in a patch are in the document.
        let kept = plan.policies.preserve == Preserve::Yes && kind != NoteKind::BeyondPicture;
        if !kept && !self.quiet && self.notes.len() < RecordDecoder::NOTES_MAX {
            self.notes.push(RecordNote { kind, field, offset });
        }
    }

    #[cold]
    fn fault(&mut self, plan: &Plan, kind: FaultKind, field: FieldIndex, offset: usize) {
        if self.lost || self.faults.len() >= RecordFaults::MAX {
            return;
        }
        let path = path(plan, field, &self.indices);
        self.faults.push(RecordFault { kind, field: Some(field), offset, path });
    }
}

/// Returns true if a hexadecimal COMP-2 has a fraction that a double cannot represent.
fn is_rounded(item: &Item, raw: &[u8]) -> bool {
    let Encoding::Float64(FloatFormat::Hexadecimal) = item.encoding else { return false };
    let Ok(word) = raw.try_into().map(u64::from_be_bytes) else { return false };
    let fraction = word & 0x00ff_ffff_ffff_ffff;
    fraction >> fraction.trailing_zeros().min(63) >= 1 << 53
}

/// Smallest number with more than this many digits. For 0 digits, and for more than 64 bits have, it exceeds all numbers.
static DIGITS_BOUND: [u64; 21] = {
    let mut bounds = [u64::MAX; 21];
    let (mut digits, mut bound) = (1, 10);
    while digits < 20 {
        bounds[digits] = bound;
        bound = if digits < 19 { bound * 10 } else { u64::MAX };
        digits += 1;
    }
    bounds
};

/// Returns whether `S` loses the minus sign of this zero.
#[inline(always)]
fn loses_sign<S: Sink>(digits: Digits<'_>) -> bool {
    !S::KEEPS_SIGNED_ZERO && digits.negative && digits.is_zero()
}

/// Returns whether a binary number has more digits than its picture, if the picture limits it.
fn is_beyond_picture(plan: &Plan, item: &Item, value: Value<'_>) -> bool {
    let Some(digits) = plan.picture_digits(&item.encoding) else { return false };
    let magnitude = match value {
        Value::Int(n, _) => u128::from(n.unsigned_abs()),
        Value::Decimal(decimal) => decimal.unscaled.unsigned_abs(),
        _ => return false,
    };
    10u128.checked_pow(u32::from(digits)).is_some_and(|bound| magnitude >= bound)
}

fn narrow(rows: usize) -> u32 {
    u32::try_from(rows).expect("a table has at most u32::MAX occurrences")
}

fn counter_value(
    plan: &Plan,
    item: &Item,
    loaded: &Loaded,
    at: usize,
    scratch: &mut Scratch,
) -> Result<i128, FaultKind> {
    if let Encoding::Binary { scale: 0, signed: false, order: ByteOrder::Big, .. } = item.encoding
        && at.checked_add(item.size).is_some_and(|end| end <= loaded.len)
        && let 1..=7 = item.size
        && let Some(block) = loaded.raw.get(at..).and_then(|raw| raw.first_chunk::<8>())
    {
        return Ok(i128::from(u64::from_be_bytes(*block) >> (64 - 8 * item.size)));
    }
    read(plan, item, loaded, at, scratch).and_then(|value| integer(value).ok_or(FaultKind::NotANumber))
}

/// Returns the path with the indices of the tables around the field.
pub(crate) fn path(plan: &Plan, field: FieldIndex, indices: &[u32]) -> String {
    let mut parts = Vec::new();
    let mut at = Some(field);
    while let Some(index) = at {
        parts.push(index);
        at = plan.layout.field(index).parent;
    }
    parts.reverse();
    let mut indices = indices.iter();
    let mut path = String::new();
    for index in parts {
        let field = plan.layout.field(index);
        let at = field.occurs.and_then(|_| indices.next());
        if field.parent.is_none() {
            continue;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&field.name);
        if let Some(at) = at {
            path.push_str(&format!("[{at}]"));
        }
    }
    if path.is_empty() { plan.layout.field(field).name.clone() } else { path }
}

/// Returns the length without trailing spaces if the field is all printable ASCII.
#[inline(always)]
fn plain_text(tail: &[u8], size: usize) -> Option<usize> {
    if size > 16 {
        return plain_long_text(tail, size);
    }
    let block = tail.first_chunk::<16>()?;
    let keep = (1u32 << size) - 1;
    if u32::from(scan::mask_high(block)) & keep != 0 {
        return None;
    }
    let ink = !u32::from(scan::mask_eq(block, b' ')) & keep;
    Some((u32::BITS - ink.leading_zeros()) as usize)
}

#[inline]
fn plain_long_text(tail: &[u8], size: usize) -> Option<usize> {
    let mut end = size;
    // Backwards over whole blocks of spaces, then into the block that holds the last character.
    let len = loop {
        if end < 16 {
            let block = tail.first_chunk::<16>()?;
            let ink = !u32::from(scan::mask_eq(block, b' ')) & ((1u32 << end) - 1);
            break (u32::BITS - ink.leading_zeros()) as usize;
        }
        let block = tail[end - 16..].first_chunk::<16>()?;
        let ink = !scan::mask_eq(block, b' ');
        if ink != 0 {
            break end - ink.leading_zeros() as usize;
        }
        end -= 16;
    };
    let mut high = 0u16;
    let mut at = 0;
    while at + 16 <= len {
        high |= scan::mask_high(tail[at..].first_chunk::<16>()?);
        at += 16;
    }
    let rest = u32::from(scan::mask_high(tail[at..].first_chunk::<16>()?)) & ((1u32 << (len - at)) - 1);
    (u32::from(high) | rest == 0).then_some(len)
}

#[inline(always)]
fn all_digits(tail: &[u8], size: usize) -> bool {
    let keep = (1u32 << size) - 1;
    tail.first_chunk::<16>().is_some_and(|block| u32::from(scan::mask_digits(block)) & keep == keep)
}

/// Runs a view only to learn whether its bytes fit.
struct Validate;

impl Sink for Validate {
    fn enter(&mut self, _: NodeId) {}
    fn leave(&mut self, _: NodeId) {}
    fn open_list(&mut self, _: NodeId) {}
    fn close_list(&mut self, _: NodeId) {}
    fn value(&mut self, _: NodeId, _: Value<'_>) {}
    fn discard(&mut self) {}
}
