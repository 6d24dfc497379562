//! Gain from each additional worker, partition or device.

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

/// Computes the share of efficiency that a split of one object keeps: its throughput over that of separate objects with the same number of
/// workers, each relative to its own first worker.
///
/// # Errors
/// [`ModelError`] as for [`analyse_scaling`], or if a series lacks that number of workers.
pub fn split_penalty(split: &[LoadPoint], separate: &[LoadPoint], workers: f64) -> Result<Estimate<f64>, ModelError> {
    let efficiency = |series: &[LoadPoint]| -> Result<f64, ModelError> {
        let points = analyse_scaling(series)?.value.points;
        let point = points.iter().find(|point| (point.workers - workers).abs() < 1e-9);
        point
            .map(|point| point.efficiency * workers)
            .ok_or(ModelError::NotIdentifiable { what: "workers of both series" })
    };
    let (split_speed, separate_speed) = (efficiency(split)?, efficiency(separate)?);
    Ok(Estimate::new(Method::ScalingAnalysis, Validity::WithinData, split_speed / separate_speed))
}

/// The part of a series that is a line through zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearRange {
    /// Throughput of one worker.
    pub slope: f64,
    /// Largest number of workers up to which every point is on the line.
    pub most: f64,
}

/// Returns the largest number of workers up to which throughput is proportional, within a relative tolerance of the first point's slope.
///
/// # Errors
/// [`ModelError`] as for [`analyse_scaling`].
pub fn linear_range(series: &[LoadPoint], tolerance: f64) -> Result<Estimate<LinearRange>, ModelError> {
    let points = analyse_scaling(series)?.value.points;
    let slope = series[0].throughput / series[0].load;
    let most = points.iter().take_while(|point| (point.efficiency - 1.0).abs() <= tolerance).last();
    let range = LinearRange { slope, most: most.map_or(0.0, |point| point.workers) };
    Ok(Estimate::new(Method::ScalingAnalysis, Validity::WithinData, range))
}

/// A measured load: drivers, their throughput, and the response time that they saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrivenPoint {
    /// Drivers or users.
    pub drivers: f64,
    /// Transactions a second.
    pub throughput: f64,
    /// Mean or percentile of the response time, in seconds.
    pub response: f64,
}

/// Two capacities of one series of measurements. They answer different questions: a release that raises the peak by 5 % may raise the
/// number of drivers within the objective by half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectiveCapacity {
    /// Largest number of drivers whose response time keeps the objective; 0 if none does.
    pub drivers: f64,
    /// Their throughput.
    pub throughput: f64,
    /// Largest throughput at any response time.
    pub peak: f64,
}

/// Returns the largest measured capacity that meets an objective, and the peak. The objective must also hold at every smaller measured load.
///
/// # Errors
/// [`ModelError::TooFewPoints`] without measurements, [`ModelError`] for numbers that are not positive.
pub fn capacity_at_objective(
    series: &[DrivenPoint],
    response_most: f64,
) -> Result<Estimate<ObjectiveCapacity>, ModelError> {
    if series.is_empty() {
        return Err(ModelError::TooFewPoints { needed: 1, found: 0 });
    }
    positive("objective", response_most)?;
    let mut sorted = series.to_vec();
    sorted.sort_by(|a, b| a.drivers.total_cmp(&b.drivers));
    for point in &sorted {
        positive("drivers", point.drivers)?;
        positive("throughput", point.throughput)?;
        positive("response time", point.response)?;
    }
    let within = sorted.iter().take_while(|point| point.response <= response_most).last();
    let capacity = ObjectiveCapacity {
        drivers: within.map_or(0.0, |point| point.drivers),
        throughput: within.map_or(0.0, |point| point.throughput),
        peak: sorted.iter().map(|point| point.throughput).fold(0.0, f64::max),
    };
    Ok(Estimate::new(Method::ScalingAnalysis, Validity::WithinData, capacity))
}
