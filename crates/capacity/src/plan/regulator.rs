//! The priority regulator: while a class exceeds its share, its jobs drop one band of priorities at each interval.

use crate::{Estimate, Method, ModelError, Origin, Seconds, Validity};

/// A band of priorities, 1 (highest) to 6.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Band(pub u8);

/// Lowest and highest priority number of each band. 36 to 46 is between two printed bands.
pub const BAND_EDGES: [(u8, u8); 6] = [(10, 16), (17, 22), (23, 35), (36, 46), (47, 51), (52, 89)];

/// Seconds between two steps.
const STEP: f64 = 15.0;

impl Band {
    /// Returns the band of a priority number; `None` outside 10 to 89.
    #[must_use]
    pub fn of(priority: u8) -> Option<Band> {
        let at = BAND_EDGES.iter().position(|(low, high)| (*low..=*high).contains(&priority))?;
        u8::try_from(at + 1).ok().map(Band)
    }
}

/// A job of the class.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Job {
    /// Priority number of the job, 10 (highest) to 89.
    pub priority: u8,
    /// Jobs of the class that are active, this one included. A single one is left alone.
    pub active: u32,
}

/// The band of a job over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Regulated {
    /// Seconds since the overload began, and the band from then on.
    pub steps: Vec<(Seconds, Band)>,
}

/// The decisions of a regulator, one at each interval: a class above its share drops one band, a class below it returns to its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BandRegulator {
    original: Band,
    band: Band,
    exempt: bool,
}

impl BandRegulator {
    /// Creates a regulator of a class in its own band. It has no effect in the highest band, which belongs to the operator, and with a single
    /// job, which disturbs no other job of its class.
    #[must_use]
    pub fn new(original: Band, active: u32) -> BandRegulator {
        BandRegulator { original, band: original, exempt: original == Band(1) || active <= 1 }
    }

    /// Decides at the end of an interval in which the class was above its share or not.
    pub fn step(&mut self, above: bool) -> Band {
        if !self.exempt {
            self.band = if above { Band((self.band.0 + 1).min(6)) } else { self.original };
        }
        self.band
    }
}

/// Checks whether the regulator can keep a class to its share: only if other work has a priority number of at most 35, best 20 to 35.
#[must_use]
pub fn regulator_is_effective(other_priority: u8) -> Estimate<bool> {
    let text = "above 35 the source calls the effect greatly reduced, not absent";
    Estimate::new(Method::Regulator, Validity::RuleOfSource(text), other_priority <= 35)
}

/// Returns the bands of a job while its class exceeds its share for `overload`.
///
/// # Errors
/// [`ModelError::OutOfRange`] for a priority outside 10 to 89.
pub fn regulate(job: Job, overload: Seconds) -> Result<Estimate<Regulated>, ModelError> {
    let start = Band::of(job.priority).ok_or(ModelError::OutOfRange {
        what: "priority",
        found: f64::from(job.priority),
        least: 10.0,
        most: 89.0,
    })?;
    let mut steps = vec![(Seconds(0.0), start)];
    let mut regulator = BandRegulator::new(start, job.active);
    let mut band = start;
    let mut time = STEP;
    while time <= overload.0 && steps.len() < BAND_EDGES.len() {
        let next = regulator.step(true);
        if next == band {
            break;
        }
        band = next;
        steps.push((Seconds(time), band));
        time += STEP;
    }
    let text = "one band each 15 s; the original priority returns when the load falls below the share";
    let origin = Origin::Assumed;
    Ok(Estimate::new(Method::Regulator, Validity::RuleOfSource(text), Regulated { steps }).from_inputs(origin))
}
