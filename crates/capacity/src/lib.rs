//! Capacity models as pure functions: no I/O, no clock, no state.
//!
//! * **Networks** ([`Network`]): stations and classes; exact mean value analysis, convolution for several servers, the Linearizer, open and
//!   mixed classes, bounds, blocking. [`Network::solve`] chooses and says which it took.
//! * **Stations** ([`ManyServers`], [`limited_queue`], [`single_server_general`], [`allen_cunneen`]) with percentiles and headroom.
//! * **Laws** ([`laws`]): the operational laws, and [`check`], which applies them to figures that others print.
//! * **Fits** ([`fit`]): cost by size, demands from utilization, scalability, checkpoints, powers of size, growth.
//! * **Simulation** ([`simulation`]): single customers, as the check of the solvers and where none of them has an answer.
//! * **Calibration** ([`calibration`]): profiles of machines, their comparison, and costs on another machine.
//! * **Graphs** ([`WorkGraph`]): steps one after another and at once, such as those of a batch job.
//! * **Audit** ([`audit`]): predictions scored by what came.
//! * **Plans** ([`plan`]): rules and worked examples of the documents that the product answers.
//!
//! Every result is an [`Estimate`]: it names its method with source and assumptions, how far it can be trusted and where its inputs came
//! from. Times are seconds, rates a second, shares from 0 to 1.

pub mod advice;
pub mod audit;
pub mod calibration;
pub mod check;
mod coordinated_omission;
mod error;
mod estimate;
pub mod fit;
mod graph;
pub mod laws;
mod method;
mod network;
mod percentile;
pub mod plan;
mod prediction;
mod quantity;
pub mod selftest;
pub mod simulation;
mod sizing;
mod station;

pub use coordinated_omission::Recording;
pub use error::ModelError;
pub use estimate::{Estimate, Origin, Validity};
pub use graph::{GraphPhase, GraphPrediction, GraphStep, StepOrder, WorkGraph};
pub use method::{Assumption, Method};
pub use network::{
    BlockingNetwork, BlockingSolution, Bounds, CONVOLUTION_TERMS_MAX, Class, EXACT_CELLS_MAX, EXACT_STATES_MAX,
    Network, Passes, Servers, Solution, Station, asymptotic_bounds, balanced_bounds, proportional_bounds,
};
pub use percentile::response_percentile;
pub use prediction::{Objective, Prediction, USERS_MAX, Workload};
pub use quantity::{Bytes, CapacityUnits, PerMonth, PerSecond, Seconds, Share};
pub use sizing::{Lack, Machine, SizedWorkload, SizingAnswer, SizingQuestion, size};
pub use station::{
    Headroom, Interruption, LimitedQueue, ManyServers, PriorityClass, Variability, allen_cunneen, erlang_b, erlang_c,
    headroom, limited_queue, priority_responses, single_server_general,
};
