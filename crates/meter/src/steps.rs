//! Division of a lane's phase among other phases, by document.
//!
//! A phase such as [`Phase::Decode`] covers a batch, and code in it knows where a document passes from decoding to its map and to the output. Such a
//! change is too frequent for a clock of the system, so it costs a time stamp of the processor and one look at the thread's
//! [interruptions](crate::interruptions()):
//!
//! ```text
//!  Lane::enter(Decode) ─ document() ─ step(Map) ─ step(Encode) ─ step(Decode) ─ document() … ─ Lane::enter(Write)
//!                            └─ marked: one in n documents                                └─ the batch's CPU time, divided
//! ```
//!
//! - **Segments without an interruption** are CPU time as they are. Their time stamps become seconds by the batch's own length, so no clock needs
//!   calibration.
//! - **Interrupted segments** have the mean of the others of their phase; if most of a phase is interrupted, they have the CPU share of the whole batch.
//! - **The cost is limited.** After each batch, the line chooses how many documents to mark, so that the marks take about 0.5 % of the CPU time.
//!   A batch in which not every document was marked gives estimates.
//!
//! The line belongs to the thread, because the code between the lane and the marks is compiled for each pair of formats and does not know
//! lanes. Where the system does not report interruptions, no document is marked, and the batch remains in one phase.

use core::cell::Cell;
use core::time::Duration;

use crate::interruptions::{interruptions, ticks};
use crate::{Phase, PhaseTable, Times};

/// Part of a batch's CPU time that marks may take.
const COST_MAX: f64 = 0.005;
/// Assumed cost of a mark; [`step_cost`] measures it for reports.
const MARK: Duration = Duration::from_nanos(12);
/// Documents of which one is marked, before the first batch shows what they take.
const EVERY_AT_FIRST: u32 = 16;
/// The most documents of which one is marked.
const EVERY_MAX: u32 = 1_024;

/// Segments of a phase.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    clean_ticks: u64,
    clean: u64,
    broken_ticks: u64,
    broken: u64,
}

struct Line {
    is_open: Cell<bool>,
    /// True between the begin of a marked document and the begin of the next one.
    marks: Cell<bool>,
    /// Documents that pass without a look at the rest of the line. The usual document only counts it down.
    pass: Cell<u32>,
    /// Value from which `pass` counts down.
    given: Cell<u32>,
    every: Cell<u32>,
    /// Phase of the batch.
    base: Cell<Phase>,
    phase: Cell<Phase>,
    /// Time stamp and interruptions at the begin of the segment.
    mark: Cell<(u64, u64)>,
    /// Time stamp at the begin of the batch.
    began: Cell<u64>,
    documents: Cell<u64>,
    marked: Cell<u64>,
    /// True if the last batch ended inside its only document, whose rest is in the next batch.
    goes_on: Cell<bool>,
    tallies: [Cell<Tally>; Phase::ALL.len()],
}

thread_local! {
    static LINE: Line = const {
        Line {
            is_open: Cell::new(false),
            marks: Cell::new(false),
            pass: Cell::new(0),
            given: Cell::new(0),
            every: Cell::new(EVERY_AT_FIRST),
            base: Cell::new(Phase::Other),
            phase: Cell::new(Phase::Other),
            mark: Cell::new((0, 0)),
            began: Cell::new(0),
            documents: Cell::new(0),
            marked: Cell::new(0),
            goes_on: Cell::new(false),
            tallies: [const { Cell::new(Tally { clean_ticks: 0, clean: 0, broken_ticks: 0, broken: 0 }) }; Phase::ALL.len()],
        }
    };
}

/// Announces the next document of the phase that the thread's lane is in. Returns true if its steps are measured; otherwise [`step`] need not be
/// called.
#[inline]
pub fn document() -> bool {
    LINE.with(|line| match line.pass.get() {
        0 => line.document(),
        left => {
            line.pass.set(left - 1);
            false
        }
    })
}

/// Charges the time since the last step to the phase that ends, begins another, and returns the phase that ended. It has an effect only in a
/// document that is measured.
#[inline]
pub fn step(phase: Phase) -> Phase {
    LINE.with(|line| if line.marks.get() { line.step(phase) } else { phase })
}

impl Line {
    /// Begins a document that is marked, or the first one after it.
    #[cold]
    fn document(&self) -> bool {
        if !self.is_open.get() {
            self.let_pass(u32::MAX);
            return false;
        }
        self.documents.set(self.documents.get() + u64::from(self.given.get()) + 1);
        if self.marks.get() && self.every.get() > 1 {
            self.end_document();
            self.let_pass(self.every.get() - 2);
            return false;
        }
        self.begin_document();
        true
    }

    fn let_pass(&self, documents: u32) {
        self.given.set(documents);
        self.pass.set(documents);
    }

    fn begin_document(&self) {
        self.end_document();
        self.let_pass(0);
        self.marked.set(self.marked.get() + 1);
        self.marks.set(true);
        self.phase.set(self.base.get());
        self.restart();
    }

    fn end_document(&self) {
        if self.marks.replace(false) {
            self.step(self.base.get());
        }
    }

    /// Begins a segment. The look comes first: an interruption after it is in the next one.
    fn restart(&self) {
        let seen = interruptions().unwrap_or_default();
        self.mark.set((ticks(), seen));
    }

    // Apart from the loops of the formats, which it would make larger.
    #[inline(never)]
    fn step(&self, next: Phase) -> Phase {
        let (now, (from, seen)) = (ticks(), self.mark.get());
        let is_clean = interruptions() == Some(seen);
        let phase = self.phase.replace(next);
        let took = now.saturating_sub(from);
        let cell = &self.tallies[phase as usize];
        let mut tally = cell.get();
        if is_clean {
            tally.clean_ticks += took;
            tally.clean += 1;
            self.mark.set((now, seen));
        } else {
            tally.broken_ticks += took;
            tally.broken += 1;
            self.restart();
        }
        cell.set(tally);
        phase
    }
}

/// Opens the line of the calling thread for a batch in a phase. Returns false if it is open already, for another lane.
pub(crate) fn open(phase: Phase) -> bool {
    LINE.with(|line| {
        if line.is_open.replace(true) {
            return false;
        }
        line.base.set(phase);
        line.began.set(ticks());
        // The first document of each batch is marked.
        line.let_pass(0);
        if line.goes_on.take() {
            line.documents.set(1);
            line.begin_document();
        }
        true
    })
}

/// How a batch is divided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Division {
    /// Time to move from the batch's phase to each of the others.
    pub(crate) moved: PhaseTable<Times>,
    /// True if not every document was marked.
    pub(crate) is_estimate: bool,
    /// Segments, and those of them that were interrupted.
    pub(crate) segments: u64,
    pub(crate) interrupted: u64,
}

/// Closes the line and divides the times of its batch; `None` if no document was marked.
pub(crate) fn close(base: Phase, times: Times) -> Option<Division> {
    LINE.with(|line| {
        line.is_open.set(false);
        let passed = u64::from(line.given.get() - line.pass.get());
        let (documents, marked) = (line.documents.take() + passed, line.marked.take());
        line.let_pass(u32::MAX);
        line.goes_on.set(line.marks.get() && documents == 1);
        line.end_document();
        if marked == 0 {
            return None;
        }
        let whole = ticks().saturating_sub(line.began.get());
        let mut tallies = PhaseTable::default();
        Phase::ALL.into_iter().for_each(|phase| tallies[phase] = line.tallies[phase as usize].take());
        let division = divide(base, times, whole, &tallies, documents as f64 / marked as f64);
        line.every.set(every(division.segments as f64 / marked as f64 * documents as f64, times.cpu));
        Some(division)
    })
}

/// Divides a batch of `times` and `whole` ticks. Each marked document represents `scale` documents.
fn divide(base: Phase, times: Times, whole: u64, tallies: &PhaseTable<Tally>, scale: f64) -> Division {
    let mut division = Division { is_estimate: scale > 1.0, ..Division::default() };
    let second = times.wall.as_secs_f64() / (whole.max(1)) as f64;
    let busy = if times.wall.is_zero() { 1.0 } else { times.cpu.as_secs_f64() / times.wall.as_secs_f64() };
    let mut shares = PhaseTable::<f64>::default();
    let mut sum = 0.0;
    for (phase, tally) in tallies.iter() {
        division.segments += tally.clean + tally.broken;
        division.interrupted += tally.broken;
        let broken = if tally.clean >= tally.broken {
            tally.broken as f64 * tally.clean_ticks as f64 / tally.clean.max(1) as f64
        } else {
            tally.broken_ticks as f64 * busy.min(1.0)
        };
        if phase != base {
            shares[phase] = (tally.clean_ticks as f64 + broken) * scale * second;
            sum += shares[phase];
        }
    }
    // An estimate may exceed the batch, which is known.
    let cpu = times.cpu.as_secs_f64();
    let keeps = if sum > cpu { cpu / sum } else { 1.0 };
    for (phase, share) in shares.iter() {
        let part = if cpu > 0.0 { (share * keeps / cpu).min(1.0) } else { 0.0 };
        division.moved[phase] = Times { cpu: times.cpu.mul_f64(part), wall: times.wall.mul_f64(part) };
    }
    division
}

/// Returns the number of documents of which one is to be marked, for a batch of `marks` marks if all documents had them.
fn every(marks: f64, cpu: Duration) -> u32 {
    let least = (marks * MARK.as_secs_f64() / (COST_MAX * cpu.as_secs_f64()).max(1e-12)).ceil();
    (1..=EVERY_MAX).find(|every| f64::from(*every) >= least).unwrap_or(EVERY_MAX)
}

/// Measures the current cost of one mark on the calling thread: the shortest of several batches. 0 if the line is in use or marks do nothing.
pub(crate) fn step_cost(wall: impl Fn() -> Duration) -> Duration {
    const MARKS: u32 = 256;
    if interruptions().is_none() || !open(Phase::Other) {
        return Duration::ZERO;
    }
    let batch = || {
        let first = wall();
        (0..MARKS).for_each(|_| {
            step(Phase::Other);
        });
        wall().saturating_sub(first) / MARKS
    };
    LINE.with(|line| {
        let every = line.every.get();
        line.begin_document();
        let found = (0..4).map(|_| batch()).min().unwrap_or_default();
        let _ = close(Phase::Other, Times::default());
        line.every.set(every);
        found
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(times: (u64, u64), whole: u64, tallies: &[(Phase, Tally)], scale: f64, expected: Expect) {
        let ms = Duration::from_millis;
        let mut table = PhaseTable::default();
        tallies.iter().for_each(|(phase, tally)| table[*phase] = *tally);
        let division = divide(Phase::Decode, Times { wall: ms(times.0), cpu: ms(times.1) }, whole, &table, scale);
        let mut text = format!(
            "{} segments, {} interrupted, {}\n",
            division.segments,
            division.interrupted,
            if division.is_estimate { "estimate" } else { "all documents" }
        );
        for (phase, moved) in division.moved.iter().filter(|(_, moved)| **moved != Times::default()) {
            text.push_str(&format!("{} {:?} cpu {:?}\n", phase.name(), moved.wall, moved.cpu));
        }
        expected.assert_eq(&text);
    }

    const fn tally(clean_ticks: u64, clean: u64, broken_ticks: u64, broken: u64) -> Tally {
        Tally { clean_ticks, clean, broken_ticks, broken }
    }

    #[test]
    fn segments_without_an_interruption_are_cpu_time() {
        // 100 ms are 1,000 ticks. Nothing was interrupted.
        let tallies = [
            (Phase::Decode, tally(600, 10, 0, 0)),
            (Phase::Map, tally(300, 10, 0, 0)),
            (Phase::Encode, tally(100, 10, 0, 0)),
        ];
        check(
            (100, 100),
            1_000,
            &tallies,
            1.0,
            expect![[r#"
                30 segments, 0 interrupted, all documents
                map 30ms cpu 30ms
                encode 10ms cpu 10ms
            "#]],
        );
    }

    #[test]
    fn interrupted_segments_have_the_mean_of_the_others() {
        // Half of the wall time went to another thread, in one segment of the map.
        let tallies = [(Phase::Decode, tally(300, 10, 0, 0)), (Phase::Map, tally(180, 9, 520, 1))];
        check(
            (100, 50),
            1_000,
            &tallies,
            1.0,
            expect![[r#"
                20 segments, 1 interrupted, all documents
                map 40ms cpu 20ms
            "#]],
        );
    }

    #[test]
    fn a_phase_that_is_mostly_interrupted_has_the_share_of_the_batch() {
        let tallies = [(Phase::Map, tally(0, 0, 800, 2))];
        check(
            (100, 50),
            1_000,
            &tallies,
            1.0,
            expect![[r#"
                2 segments, 2 interrupted, all documents
                map 80ms cpu 40ms
            "#]],
        );
    }

    #[test]
    fn marked_documents_stand_for_the_others_and_never_exceed_the_batch() {
        let tallies = [(Phase::Map, tally(30, 10, 0, 0)), (Phase::Encode, tally(10, 10, 0, 0))];
        check(
            (100, 100),
            1_000,
            &tallies,
            10.0,
            expect![[r#"
                20 segments, 0 interrupted, estimate
                map 30ms cpu 30ms
                encode 10ms cpu 10ms
            "#]],
        );
        check(
            (100, 100),
            1_000,
            &tallies,
            50.0,
            expect![[r#"
                20 segments, 0 interrupted, estimate
                map 75ms cpu 75ms
                encode 25ms cpu 25ms
            "#]],
        );
    }

    #[test]
    fn marks_take_half_a_percent_of_a_batch() {
        // 2,600 documents of 376 ns with four marks each: 12.8 % of the time, of which 0.5 % may remain.
        assert_eq!(every(2_600.0 * 4.0, Duration::from_nanos(2_600 * 376)), 26);
        // Documents of 50 µs may all be marked.
        assert_eq!(every(5.0 * 4.0, Duration::from_micros(250)), 1);
        assert_eq!(every(1.0, Duration::ZERO), EVERY_MAX);
        assert_eq!(every(0.0, Duration::ZERO), 1);
    }

    /// Runs a test on a thread whose line no other test has used.
    fn on_a_new_thread(test: fn()) {
        std::thread::spawn(test).join().expect("the test passes");
    }

    #[test]
    fn only_documents_of_an_open_line_are_marked() {
        on_a_new_thread(marked_documents);
    }

    fn marked_documents() {
        assert!(!document(), "no lane has opened the line of this thread");
        if interruptions().is_none() {
            return;
        }
        assert!(open(Phase::Decode) && !open(Phase::Decode));
        assert_eq!((0..40).filter(|_| document()).count(), 3, "documents 1, 17 and 33");
        let times = Times { wall: Duration::from_millis(1), cpu: Duration::from_millis(1) };
        let division = close(Phase::Decode, times).expect("documents were marked");
        assert!(division.is_estimate && division.segments == 3, "{division:?}");
        assert!(!document() && close(Phase::Decode, times).is_none());
    }

    #[test]
    fn a_document_continues_in_the_next_batch() {
        on_a_new_thread(continued_document);
    }

    fn continued_document() {
        if interruptions().is_none() {
            return;
        }
        let times = Times { wall: Duration::from_millis(1), cpu: Duration::from_millis(1) };
        assert!(open(Phase::Decode) && document());
        assert!(close(Phase::Decode, times).is_some_and(|division| !division.is_estimate));
        assert!(open(Phase::Decode));
        assert_eq!(step(Phase::Map), Phase::Decode);
        assert_eq!(step(Phase::Decode), Phase::Map);
        let division = close(Phase::Decode, times).expect("the document continues");
        assert_eq!(division.segments, 3);
    }
}
