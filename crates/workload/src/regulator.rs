//! The regulator of priorities: a class above its share drops one band of priorities every 15 seconds.

use quayline_capacity::plan::{Band, BandRegulator};

/// Milliseconds between two steps.
const STEP_MS: u64 = 15_000;

/// A regulator of one class over time. The caller gives the time, so that it can be tested to the millisecond.
#[derive(Clone, Copy, Debug)]
pub struct Regulator {
    original: Band,
    band: Band,
    /// The regulator of this overload, and when it decides next.
    running: Option<(BandRegulator, u64)>,
}

impl Regulator {
    /// Creates a regulator for a class with a priority number, 10 (highest) to 89. Other numbers are clamped.
    #[must_use]
    pub fn new(priority: u8) -> Regulator {
        let original = Band::of(priority.clamp(10, 89)).unwrap_or(Band(6));
        Regulator { original, band: original, running: None }
    }

    /// Returns the band now. `above` is true if the class exceeds its share; `active` is its number of threads.
    pub fn at(&mut self, now_ms: u64, above: bool, active: u32) -> Band {
        if !above {
            self.running = None;
            self.band = self.original;
            return self.band;
        }
        let original = self.original;
        let (regulator, next_ms) =
            self.running.get_or_insert_with(|| (BandRegulator::new(original, active), now_ms + STEP_MS));
        if now_ms >= *next_ms {
            let steps = (now_ms - *next_ms) / STEP_MS + 1;
            // After as many steps as there are bands nothing changes any more, however long nobody looked.
            (0..steps.min(6)).for_each(|_| self.band = regulator.step(true));
            *next_ms += steps * STEP_MS;
        }
        self.band
    }

    /// The band.
    #[must_use]
    pub fn band(&self) -> Band {
        self.band
    }
}

/// Returns the nice value of a band's threads. The two highest bands have that of other processes; the lowest gets only unused processor time.
#[must_use]
pub fn nice_of(band: Band) -> i32 {
    match band.0 {
        0..=2 => 0,
        3 => 5,
        4 => 10,
        5 => 15,
        _ => 19,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quayline_capacity::Seconds;
    use quayline_capacity::plan::{Job, regulate};

    /// Returns the bands of a class that exceeds its share from 0 to `overload_ms`, sampled every `look_ms`.
    fn bands(priority: u8, active: u32, overload_ms: u64, look_ms: u64) -> Vec<(u64, u8)> {
        let mut regulator = Regulator::new(priority);
        let mut all: Vec<(u64, u8)> = Vec::new();
        for now in (0..=overload_ms).step_by(usize::try_from(look_ms).unwrap()) {
            let band = regulator.at(now, true, active).0;
            if all.last().is_none_or(|(_, last)| *last != band) {
                all.push((now, band));
            }
        }
        all
    }

    #[test]
    fn the_time_line_is_that_of_the_model() {
        let expected = [(0, 2), (15_000, 3), (30_000, 4), (45_000, 5), (60_000, 6)];
        for look_ms in [1, 100, 1_000, 5_000, 15_000] {
            assert_eq!(bands(20, 8, 200_000, look_ms), expected, "a look every {look_ms} ms");
        }
        for (priority, active) in [(20, 8), (12, 8), (20, 1), (25, 2), (50, 4), (60, 4)] {
            let model = regulate(Job { priority, active }, Seconds(200.0)).unwrap().value;
            let model: Vec<(u64, u8)> = model
                .steps
                .iter()
                .map(|(time, band)| {
                    (u64::try_from(core::time::Duration::from_secs_f64(time.0).as_millis()).unwrap(), band.0)
                })
                .collect();
            assert_eq!(bands(priority, active, 200_000, 1_000), model, "priority {priority}, {active} threads");
        }
    }

    #[test]
    fn the_own_band_returns_when_the_load_falls_and_the_steps_begin_again() {
        let mut regulator = Regulator::new(20);
        for (now, above, band) in [
            (0, true, 2),
            (15_000, true, 3),
            (29_999, true, 3),
            (30_000, true, 4),
            (31_000, false, 2),
            (40_000, true, 2),
            (54_999, true, 2),
            (55_000, true, 3),
            (200_000, true, 6),
            (200_001, false, 2),
        ] {
            assert_eq!(regulator.at(now, above, 4).0, band, "at {now} ms");
        }
    }
}
