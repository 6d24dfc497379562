//! What each further worker, partition or device adds.

use super::usl::LoadPoint;
use crate::error::positive;
use crate::{Estimate, Method, ModelError, Validity};

/// Share of the first worker's throughput below which a further one no longer pays.
const LEAST_GAIN: f64 = 0.25;

/// One point of a scaling series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalingPoint {
    /// Workers.
    pub workers: f64,
    /// Throughput over workers times the throughput of one.
    pub efficiency: f64,
    /// Throughput that each worker since the last point added; the throughput itself at the first point.
    pub marginal: f64,
}

/// A scaling series, analysed.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingStudy {
    /// The points.
    pub points: Vec<ScalingPoint>,
    /// First number of workers whose marginal gain is below a quarter of the first worker's throughput.
    pub saturation: Option<f64>,
}

/// Analyses a series in ascending order of workers. Throughput of one worker is the first point's over its workers.
///
/// # Errors
/// [`ModelError::TooFewPoints`] below two points, [`ModelError`] for numbers that are not positive or do not ascend.
pub fn analyse_scaling(series: &[LoadPoint]) -> Result<Estimate<ScalingStudy>, ModelError> {
    if series.len() < 2 {
        return Err(ModelError::TooFewPoints { needed: 2, found: series.len() });
    }
    let mut before = LoadPoint { load: 0.0, throughput: 0.0 };
    let one = series[0].throughput / series[0].load;
    let mut points = Vec::new();
    for point in series {
        positive("throughput", point.throughput)?;
        if point.load <= before.load {
            let what = "number of workers";
            return Err(ModelError::OutOfRange { what, found: point.load, least: before.load, most: f64::MAX });
        }
        points.push(ScalingPoint {
            workers: point.load,
            efficiency: point.throughput / (point.load * one),
            marginal: (point.throughput - before.throughput) / (point.load - before.load),
        });
        before = *point;
    }
    let saturation = points.iter().find(|point| point.marginal < LEAST_GAIN * one).map(|point| point.workers);
    let text = "a further worker that adds less than a quarter of the first does not pay";
    Ok(Estimate::new(Method::ScalingAnalysis, Validity::OurRule(text), ScalingStudy { points, saturation }))
}
