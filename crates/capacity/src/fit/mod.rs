//! Fits of measured series.

mod chunk;
mod cost;
mod demand;
mod growth;
mod least_squares;
mod power;
mod scaling;
mod student;
mod usl;

/// Factor of the largest measured value up to which a linear cost is extrapolated. Costs are physical sums, so they reach further than a law
/// of scalability; beyond this factor, caches and memory are of another size.
pub const LINEAR_EXTRAPOLATION_MAX: f64 = 10.0;

pub use chunk::{ChunkModel, checkpoint_interval_daly, checkpoint_interval_young};
pub use cost::{CostModel, CostSample, Work};
pub use demand::{DemandFit, LoadSample, regress_demands};
pub use growth::{CalendarDate, Exhaustion, exhaustion};
pub use least_squares::{Coefficient, LinearFit, Sign, least_squares};
pub use power::{PowerFit, Streaming, fit_power};
pub use scaling::{
    DrivenPoint, LinearRange, ObjectiveCapacity, ScalingPoint, ScalingStudy, analyse_scaling, capacity_at_objective,
    linear_range, split_penalty,
};
pub(crate) use student::t95;
pub use usl::{Interval, LoadPoint, UslFit, UslPeak, UslPrediction, fit_usl, fit_usl_quadratic};
