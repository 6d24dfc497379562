//! Time measurement of reading and processing in a chunk.
//!
//! A clock reading takes about 25 ns, and an item needs two: one between its reader and its processor, one after it. For items that cost
//! less than [`CHEAP_NS`] this would be more than 1 %. Therefore only one of [`SAMPLE`] such items is timed, and the time of the whole chunk, which
//! is always exact, is divided in the proportion of the timed items.

use std::time::Instant;

use super::step::ns;
use crate::record::Times;

/// Duration of an item in nanoseconds of which two clock readings are 1 %.
const CHEAP_NS: u64 = 5_000;
/// Sampling interval of cheap items. A prime, so that it does not interfere with periodic data.
const SAMPLE: u32 = 31;

/// Reason for timing single items, which determines the number of clock readings.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Looks {
    /// No observer of single items: all reads of a chunk share one reading. A processor that takes whole chunks is timed separately.
    #[default]
    Once,
    /// The step measures nothing.
    Never,
    /// Only reader and processor take time: the end of one is the beginning of the other.
    Shared,
    /// Listeners take time between them.
    Apart,
}

#[derive(Debug, Default)]
pub(super) struct ItemClock {
    looks: Looks,
    began: Option<Instant>,
    /// End of the preceding part, if the item is timed and nothing takes time between parts.
    boundary: Option<Instant>,
    is_timed: bool,
    /// True if items were cheap in the preceding chunk.
    is_sampling: bool,
    /// Cheap items until the next one that is timed.
    untimed: u32,
    items: u64,
    read_ns: u64,
    process_ns: u64,
    /// Total of all chunks so far, for a chunk without a timed item.
    all_read_ns: u64,
    all_process_ns: u64,
}

impl ItemClock {
    pub(super) fn begin_chunk(&mut self, looks: Looks) {
        self.looks = looks;
        self.began = (looks != Looks::Never).then(Instant::now);
        self.boundary = None;
        (self.items, self.read_ns, self.process_ns) = (0, 0, 0);
    }

    pub(super) fn looks(&self) -> Looks {
        self.looks
    }

    pub(super) fn begin_item(&mut self) {
        self.items += 1;
        self.is_timed = match self.looks {
            Looks::Once | Looks::Never => false,
            Looks::Apart => true,
            Looks::Shared if !self.is_sampling => true,
            Looks::Shared => {
                let is_turn = self.untimed == 0;
                self.untimed = if is_turn { SAMPLE - 1 } else { self.untimed - 1 };
                is_turn
            }
        };
        if !self.is_timed || self.is_sampling {
            self.boundary = None;
        }
    }

    /// Returns the beginning of a part of the item; `None` if the item is not timed.
    pub(super) fn begin_part(&self) -> Option<Instant> {
        self.is_timed.then(|| self.boundary.unwrap_or_else(Instant::now))
    }

    pub(super) fn read(&mut self, begin: Option<Instant>) {
        self.read_ns += self.took(begin);
    }

    pub(super) fn processed(&mut self, begin: Option<Instant>) {
        self.process_ns += self.took(begin);
    }

    /// Returns the nanoseconds since `begin`. The next part begins now.
    fn took(&mut self, begin: Option<Instant>) -> u64 {
        let Some(begin) = begin else { return 0 };
        let now = Instant::now();
        self.boundary = (self.looks == Looks::Shared).then_some(now);
        u64::try_from(now.duration_since(begin).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Adds the times of the chunk.
    pub(super) fn end_chunk(&mut self, times: &mut Times) {
        let Some(began) = self.began.take() else { return };
        match self.looks {
            Looks::Once => times.read_ns += ns(began),
            Looks::Never => {}
            Looks::Apart => {
                times.read_ns += self.read_ns;
                times.process_ns += self.process_ns;
            }
            Looks::Shared => {
                let whole = ns(began);
                self.all_read_ns += self.read_ns;
                self.all_process_ns += self.process_ns;
                let (read, process) = match self.read_ns + self.process_ns {
                    0 => (self.all_read_ns, self.all_process_ns),
                    _ => (self.read_ns, self.process_ns),
                };
                let read = share(whole, read, read.saturating_add(process));
                times.read_ns += read;
                times.process_ns += whole - read;
                self.is_sampling = whole < self.items.saturating_mul(CHEAP_NS);
            }
        }
    }
}

/// Returns the share `part / parts` of `whole`; `whole` if `parts` is 0.
fn share(whole: u64, part: u64, parts: u64) -> u64 {
    if parts == 0 {
        return whole;
    }
    let share = u128::from(whole) * u128::from(part) / u128::from(parts);
    u64::try_from(share).unwrap_or(whole).min(whole)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn spin(nanos: u64) {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_nanos(nanos) {}
    }

    fn chunk(clock: &mut ItemClock, items: u64, read_ns: u64, process_ns: u64) -> (Times, u64) {
        let begin = Instant::now();
        let mut times = Times::default();
        let mut timed = 0;
        clock.begin_chunk(Looks::Shared);
        for _ in 0..items {
            clock.begin_item();
            let begin = clock.begin_part();
            timed += u64::from(begin.is_some());
            spin(read_ns);
            clock.read(begin);
            let begin = clock.begin_part();
            spin(process_ns);
            clock.processed(begin);
        }
        clock.end_chunk(&mut times);
        let whole = u64::try_from(begin.elapsed().as_nanos()).unwrap();
        assert!(times.read_ns + times.process_ns <= whole);
        (times, timed)
    }

    #[test]
    fn cheap_items_are_sampled_and_all_of_their_time_is_told() {
        let mut clock = ItemClock::default();
        let (_, timed) = chunk(&mut clock, 1_000, 300, 900);
        assert_eq!(timed, 1_000, "nothing is known of the first chunk");
        let begin = Instant::now();
        let (times, timed) = chunk(&mut clock, 31_000, 300, 900);
        let whole = begin.elapsed().as_nanos() as f64;
        assert_eq!(timed, 1_000);
        let told = (times.read_ns + times.process_ns) as f64;
        assert!(told > 0.9 * whole, "{told} of {whole} ns");
        // A pause of this thread may fall into one of the two, so the bounds are wide.
        let share = times.read_ns as f64 / told;
        assert!((0.05..0.60).contains(&share), "reading has {share} of the time instead of a quarter");
    }

    #[test]
    fn dear_items_are_timed_one_by_one() {
        let mut clock = ItemClock::default();
        for _ in 0..3 {
            let (times, timed) = chunk(&mut clock, 20, 4_000, 8_000);
            assert_eq!(timed, 20);
            assert!(times.read_ns >= 20 * 4_000 - 1_000 && times.process_ns >= 20 * 8_000 - 1_000);
        }
    }

    #[test]
    fn a_chunk_without_a_timed_item_has_the_proportion_of_those_before() {
        let mut clock = ItemClock::default();
        chunk(&mut clock, 100, 200, 200);
        let mut untimed = 0;
        for _ in 0..62 {
            let (times, timed) = chunk(&mut clock, 1, 200, 200);
            untimed += u64::from(timed == 0);
            assert!(timed > 0 || times.read_ns > 0 && times.process_ns > 0);
        }
        assert!(untimed >= 31, "{untimed} of 62 chunks were not timed");
    }
}
