//! Delimiters of delimited text (EDI): one pass over a text, 64 bytes a step, that writes their positions.
//!
//! | kernel | needs | how |
//! |---|---|---|
//! | [`DelimiterKernel::Scalar`] | nothing | a state machine, byte by byte: the reference for the other kernels |
//! | [`DelimiterKernel::Avx2`] | AVX2, BMI 1 and 2, POPCNT | compare, bit masks, positions by counting trailing zeros |
//! | [`DelimiterKernel::Avx512`] | also AVX-512 F, BW, VBMI 2 | compare to masks, positions by compressing a vector of indices |
//!
//! A delimiter after a release character is data, and so is a release character after another. That is bit arithmetic over the 64
//! bits of a block; line breaks inside released pairs, which only wrapped files have, take the byte-by-byte way.
//!
//! # Unsafe code
//!
//! * **Instructions.** A kernel may run only where its instructions are. `scan_for` is the only way to a kernel: it takes any up to
//!   the active one, and checks a higher one against [`DelimiterKernel::available`]. There, AVX-512 is listed only where AVX2 is, so
//!   a machine that has the active kernel has those below it.
//! * **Lists of an index.** `span` reads them without checks. It relies on these invariants, which `clear`, `set_segment` and the
//!   kernels uphold: `ends` and `stops` begin with an entry for the place before the text; the `end` of each stop is an index into
//!   `ends` and higher than that of the stop before; its `part` is at most the number of `parts` and no lower than that of the stop
//!   before; `limit` is at most the number of segments. Whoever appends a stop also appends the ends and parts that it counts.
//!   Entries are removed only all at once; `forget_first_parts` raises a `part` to that of the next stop.
//! * **Rising positions.** [`Ends::between`] slices without checks because [`Ends`] always rise strictly: `Ends::new` checks it, and
//!   `span` takes them from a list that does. It compares the last one with the length of the text.
//! * **Room.** The kernels write into the spare capacity of the lists: see `block.rs`.
//!
//! `tests.rs` compares all kernels of the machine with the scalar one, on random and on long texts.

use core::sync::atomic::{AtomicU8, Ordering};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod block;

/// The bytes to find.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DelimiterSet {
    /// Between elements.
    pub element: u8,
    /// Ends a segment.
    pub terminator: u8,
    /// Between the components of an element.
    pub component: Option<u8>,
    /// Between the repetitions of an element.
    pub repetition: Option<u8>,
    /// Makes the next byte data.
    pub release: Option<u8>,
}

/// Positions in a text, in order, and the range of them that each segment has. A segment begins after the previous terminator and
/// ends at its own; text after the last terminator belongs to no segment.
///
/// Memory: four bytes a position and eight a segment, kept from one scan to the next.
#[derive(Clone, Debug, Default)]
pub struct DelimiterIndex {
    /// Element separators and terminators. The first entry, which [`DelimiterIndex::clear`] adds, is the position before the text.
    ends: Vec<u32>,
    /// Component and repetition separators.
    parts: Vec<u32>,
    marks: Vec<u32>,
    /// For each terminator, its index in `ends` and the number of `parts` before it. The first entry is zeros, which fit the
    /// position before the text.
    stops: Vec<Stop>,
    /// Limit of [`DelimiterIndex::segment_below_limit`]; at most the number of segments.
    limit: u32,
}

/// Number of a terminator among the ends, and of the parts before it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Stop {
    end: u32,
    part: u32,
}

impl DelimiterIndex {
    /// Creates an empty index.
    #[must_use]
    pub const fn new() -> Self {
        DelimiterIndex { ends: Vec::new(), parts: Vec::new(), marks: Vec::new(), stops: Vec::new(), limit: 0 }
    }

    /// Returns the number of segments.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer segments than positions, which have 32 bits")]
    pub fn segments(&self) -> u32 {
        self.stops.len().saturating_sub(1) as u32
    }

    /// Returns a segment by its number, counted from 0.
    #[inline(always)]
    #[must_use]
    pub fn segment(&self, number: u32) -> Option<SegmentSpan<'_>> {
        // SAFETY: there are one more `stops` than segments.
        (number as usize + 1 < self.stops.len()).then(|| unsafe { self.span(number) })
    }

    /// Returns a segment by its number, counted from 0; `None` from the limit on.
    #[inline(always)]
    #[must_use]
    pub fn segment_below_limit(&self, number: u32) -> Option<SegmentSpan<'_>> {
        // SAFETY: the limit is no higher than the number of segments.
        (number < self.limit).then(|| unsafe { self.span(number) })
    }

    /// Sets the limit of [`DelimiterIndex::segment_below_limit`], which a scan resets to 0, to this number of segments or to all of
    /// them.
    pub fn set_limit(&mut self, segments: u32) {
        self.limit = segments.min(self.segments());
    }

    /// # Safety
    /// `stops` has an entry after this number.
    #[inline(always)]
    unsafe fn span(&self, number: u32) -> SegmentSpan<'_> {
        let number = number as usize;
        // SAFETY: the caller's promise. Numbers in `stops` rise, those of ends strictly, and refer to existing ends and parts: the
        // code that pushes a stop has pushed these before, and entries are only removed all at once.
        let (before_end, ends, parts) = unsafe {
            let (before, stop) = (*self.stops.get_unchecked(number), *self.stops.get_unchecked(number + 1));
            let (from, to) = (before.end as usize, stop.end as usize);
            debug_assert!(from < to && to < self.ends.len());
            debug_assert!(before.part <= stop.part && stop.part as usize <= self.parts.len());
            (
                *self.ends.get_unchecked(from),
                self.ends.get_unchecked(from + 1..to + 1),
                self.parts.get_unchecked(before.part as usize..stop.part as usize),
            )
        };
        SegmentSpan { start: before_end.wrapping_add(1), ends: Ends(ends), parts }
    }

    /// Returns the byte after the first `segments` segments.
    ///
    /// # Panics
    /// If there are fewer segments.
    #[inline(always)]
    #[must_use]
    pub fn behind(&self, segments: u32) -> u32 {
        self.ends[self.stops[segments as usize].end as usize].wrapping_add(1)
    }

    /// Returns the number of segments that end before a position.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer segments than positions, which have 32 bits")]
    pub fn segments_before(&self, position: u32) -> u32 {
        let stops = self.stops.get(1..).unwrap_or_default();
        stops.partition_point(|stop| self.ends[stop.end as usize] < position) as u32
    }

    /// Replaces the positions by those of one segment without parts, from a first byte to the last of `ends`.
    ///
    /// # Panics
    /// If `ends` is empty or does not rise, or begins before `start`.
    pub fn set_segment(&mut self, start: u32, ends: &[u32]) {
        assert!(Ends::new(ends).is_some_and(|ends| ends.first().is_some_and(|first| *first >= start)), "ends rise");
        self.clear();
        self.ends.clear();
        self.ends.push(start.wrapping_sub(1));
        self.ends.extend_from_slice(ends);
        self.stops.push(Stop { end: u32::try_from(ends.len()).expect("positions have 32 bits"), part: 0 });
    }

    /// Removes the parts of the first segment, in which these separators are data.
    pub fn forget_first_parts(&mut self) {
        if let [first, second, ..] = &mut self.stops[..] {
            first.part = second.part;
        }
    }

    /// Returns the element separators and terminators: the end of each tag and element.
    #[must_use]
    pub fn ends(&self) -> &[u32] {
        self.ends.get(1..).unwrap_or_default()
    }

    /// Returns the positions of component and repetition separators.
    #[must_use]
    pub fn parts(&self) -> &[u32] {
        &self.parts
    }

    /// Returns the bytes that are not data: release characters that release something, and line breaks (CR and LF, if neither is a
    /// delimiter) other than those directly after a terminator or at the start of the text.
    #[inline(always)]
    #[must_use]
    pub fn marks(&self) -> &[u32] {
        &self.marks
    }

    /// Forgets the positions and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.parts.clear();
        self.marks.clear();
        self.stops.clear();
        self.limit = 0;
        self.ends.push(u32::MAX);
        self.stops.push(Stop::default());
    }

    /// Replaces the positions by those of `text`, which starts at the beginning of a segment.
    ///
    /// # Panics
    /// If `text` has 2^32 - 64 bytes or more.
    #[inline]
    pub fn scan(&mut self, set: &DelimiterSet, text: &[u8]) {
        self.scan_with(DelimiterKernel::active(), set, text);
    }

    /// Scans like [`DelimiterIndex::scan`] with a given kernel, for tests and measurements.
    ///
    /// # Panics
    /// If `text` has 2^32 - 64 bytes or more, or the machine does not have the kernel's instructions.
    pub fn scan_with(&mut self, kernel: DelimiterKernel, set: &DelimiterSet, text: &[u8]) {
        self.scan_for::<true>(kernel, set, text);
    }

    /// Finds positions only: [`DelimiterIndex::segments`] stays 0. Every splitter that uses an index needs at least this, so it is
    /// a ceiling to measure against.
    ///
    /// # Panics
    /// If `text` has 2^32 - 64 bytes or more, or the machine does not have the kernel's instructions.
    pub fn scan_positions(&mut self, kernel: DelimiterKernel, set: &DelimiterSet, text: &[u8]) {
        self.scan_for::<false>(kernel, set, text);
    }

    fn scan_for<const SEGMENTS: bool>(&mut self, kernel: DelimiterKernel, set: &DelimiterSet, text: &[u8]) {
        assert!(text.len() < (u32::MAX - 64) as usize, "a text of {} bytes has positions beyond 32 bits", text.len());
        if kernel > DelimiterKernel::active() {
            assert!(DelimiterKernel::available().contains(&kernel), "{kernel:?} is not available on this machine");
        }
        self.clear();
        let set = Needles::new(set);
        match kernel {
            DelimiterKernel::Scalar => {
                let mut carry = Carry::START;
                scalar::<SEGMENTS>(&set, text, 0, &mut carry, self);
            }
            // SAFETY: the kernel is no higher than the active one, whose instructions include those of the lower ones, or was just
            // found to be available.
            #[cfg(target_arch = "x86_64")]
            DelimiterKernel::Avx2 => unsafe { avx2::scan::<SEGMENTS>(&set, text, self) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            DelimiterKernel::Avx512 => unsafe { avx512::scan::<SEGMENTS>(&set, text, self) },
        }
    }
}

/// One segment of an index.
#[derive(Clone, Copy, Debug)]
pub struct SegmentSpan<'a> {
    /// Offset of the segment's first byte.
    pub start: u32,
    /// Ends of its tag and elements: its element separators and, last, its terminator.
    pub ends: Ends<'a>,
    /// Positions of the component and repetition separators in the element.
    pub parts: &'a [u32],
}

/// Rising positions.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a>(&'a [u32]);

impl<'a> Ends<'a> {
    /// Returns `None` if a position is not higher than the one before.
    #[must_use]
    pub fn new(positions: &'a [u32]) -> Option<Self> {
        positions.is_sorted_by(|a, b| a < b).then_some(Ends(positions))
    }

    /// Returns the positions.
    #[inline(always)]
    #[must_use]
    pub fn positions(self) -> &'a [u32] {
        self.0
    }

    /// Returns the part of `text` between each position and the next.
    ///
    /// # Panics
    /// If a position is beyond the text.
    #[inline(always)]
    pub fn between<'t>(self, text: &'t [u8]) -> impl ExactSizeIterator<Item = &'t [u8]> + use<'a, 't> {
        let (first, rest) = self.0.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        assert!(rest.last().is_none_or(|last| *last as usize <= text.len()), "positions are of the text");
        let mut start = first as usize + 1;
        rest.iter().map(move |end| {
            let end = *end as usize;
            // SAFETY: positions rise, so `start` is no higher than `end`, nor `end` than the last, which is not beyond the text.
            let piece = unsafe { text.get_unchecked(start..end) };
            start = end + 1;
            piece
        })
    }
}

impl core::ops::Deref for Ends<'_> {
    type Target = [u32];

    #[inline(always)]
    fn deref(&self) -> &[u32] {
        self.0
    }
}

/// A way to find delimiters.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum DelimiterKernel {
    /// Byte by byte.
    Scalar = 1,
    /// 32-byte vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2 = 2,
    /// 64-byte vectors with byte compression.
    #[cfg(target_arch = "x86_64")]
    Avx512 = 3,
}

impl DelimiterKernel {
    /// Returns the fastest kernel of this machine.
    #[inline]
    #[must_use]
    pub fn active() -> DelimiterKernel {
        match ACTIVE.load(Ordering::Relaxed) {
            1 => DelimiterKernel::Scalar,
            #[cfg(target_arch = "x86_64")]
            2 => DelimiterKernel::Avx2,
            #[cfg(target_arch = "x86_64")]
            3 => DelimiterKernel::Avx512,
            _ => DelimiterKernel::choose(),
        }
    }

    /// Returns the kernels that this machine can run, slowest first.
    #[must_use]
    pub fn available() -> Vec<DelimiterKernel> {
        #[allow(unused_mut, reason = "one kernel only on other machines")]
        let mut kernels = vec![DelimiterKernel::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            let small = is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            if small && is_x86_feature_detected!("avx2") {
                kernels.push(DelimiterKernel::Avx2);
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi2")
                {
                    kernels.push(DelimiterKernel::Avx512);
                }
            }
        }
        kernels
    }

    #[cold]
    fn choose() -> DelimiterKernel {
        let best = DelimiterKernel::available().into_iter().max().unwrap_or(DelimiterKernel::Scalar);
        ACTIVE.store(best as u8, Ordering::Relaxed);
        best
    }
}

/// The chosen kernel's number; 0 before the first use.
static ACTIVE: AtomicU8 = AtomicU8::new(0);

/// The set without options: an absent byte equals the terminator, which takes precedence when bytes are classified.
#[derive(Clone, Copy, Debug)]
struct Needles {
    element: u8,
    terminator: u8,
    component: u8,
    repetition: u8,
    release: u8,
    cr: u8,
    lf: u8,
}

impl Needles {
    fn new(set: &DelimiterSet) -> Self {
        let none = set.terminator;
        let mut needles = Needles {
            element: set.element,
            terminator: set.terminator,
            component: set.component.unwrap_or(none),
            repetition: set.repetition.unwrap_or(none),
            release: set.release.unwrap_or(none),
            cr: none,
            lf: none,
        };
        needles.cr = if needles.class(b'\r') == Class::Data { b'\r' } else { none };
        needles.lf = if needles.class(b'\n') == Class::Data { b'\n' } else { none };
        needles
    }

    #[inline(always)]
    fn class(&self, byte: u8) -> Class {
        if byte == self.terminator {
            Class::Terminator
        } else if byte == self.element {
            Class::Element
        } else if byte == self.release {
            Class::Release
        } else if byte == self.component || byte == self.repetition {
            Class::Part
        } else if byte == self.cr || byte == self.lf {
            Class::Break
        } else {
            Class::Data
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Class {
    Data,
    Terminator,
    Element,
    Release,
    Part,
    Break,
}

/// State that one block passes on to the next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Carry {
    /// A release character waits for the byte that it makes data.
    released: bool,
    /// True if only line breaks separate this position from the last terminator.
    terminated: bool,
}

impl Carry {
    const START: Carry = Carry { released: false, terminated: true };
}

/// The reference implementation: classifies `text`, whose first byte has position `base`, and appends to `index`.
fn scalar<const SEGMENTS: bool>(set: &Needles, text: &[u8], base: u32, carry: &mut Carry, index: &mut DelimiterIndex) {
    let number = |list: &Vec<u32>| u32::try_from(list.len()).expect("fewer than the text has bytes");
    for (at, byte) in (base..).zip(text) {
        let class = set.class(*byte);
        if class == Class::Break {
            if !carry.terminated {
                index.marks.push(at);
            }
            continue;
        }
        carry.terminated = false;
        if carry.released {
            carry.released = false;
            continue;
        }
        match class {
            Class::Terminator => {
                index.ends.push(at);
                if SEGMENTS {
                    index.stops.push(Stop { end: number(&index.ends) - 1, part: number(&index.parts) });
                }
                carry.terminated = true;
            }
            Class::Element => index.ends.push(at),
            Class::Release => {
                index.marks.push(at);
                carry.released = true;
            }
            Class::Part => index.parts.push(at),
            Class::Break | Class::Data => {}
        }
    }
}

#[cfg(test)]
mod tests;
