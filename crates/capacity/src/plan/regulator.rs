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
    /// The band of a priority number; none outside 10 to 89.
    #[must_use]
    pub fn of(priority: u8) -> Option<Band> {
        let at = BAND_EDGES.iter().position(|(low, high)| (*low..=*high).contains(&priority))?;
        u8::try_from(at + 1).ok().map(Band)
    }
}

/// A job of the class.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Job {
    /// Its priority number, 10 (highest) to 89.
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

/// The bands of a job while its class exceeds its share for `overload`.
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
    // The highest band is the operator's, and one job alone disturbs nobody of its class.
    let exempt = start == Band(1) || job.active <= 1;
    let mut band = start;
    let mut time = STEP;
    while !exempt && band < Band(6) && time <= overload.0 {
        band = Band(band.0 + 1);
        steps.push((Seconds(time), band));
        time += STEP;
    }
    let text = "one band each 15 s; the original priority returns when the load falls below the share";
    let origin = Origin::Assumed;
    Ok(Estimate::new(Method::Regulator, Validity::RuleOfSource(text), Regulated { steps }).from_inputs(origin))
}
