//! Capacity models as pure functions: no I/O, no clock, no state.
//!
//! * **Networks** ([`Network`]): stations and classes; exact mean value analysis, convolution for several servers, the Linearizer, open and
//!   mixed classes, bounds, blocking. [`Network::solve`] chooses the method and names it in the result.
//! * **Stations** ([`ManyServers`], [`limited_queue`], [`single_server_general`], [`allen_cunneen`]) with percentiles and headroom.
//! * **Laws** ([`laws`]): the operational laws, and [`check`], which applies them to figures that others print.
//! * **Fits** ([`fit`]): cost by size, demands from utilization, scalability, checkpoints, powers of size, growth.
//! * **Simulation** ([`simulation`]): a discrete-event simulation that checks the solvers and covers cases that none of them solves.
//! * **Calibration** ([`calibration`]): profiles of machines, their comparison, and costs on another machine.
//! * **Graphs** ([`WorkGraph`]): consecutive and concurrent steps, such as those of a batch job.
//! * **Audit** ([`audit`]): predictions compared with later measurements.
//! * **Plans** ([`plan`]): planning rules and worked examples from published documents.
//!
//! Every result is an [`Estimate`]: it names its method with source and assumptions, its reliability and the origin of its inputs.
//! Times are in seconds, rates per second, shares from 0 to 1.

pub mod advice;
pub mod audit;
pub mod calibration;
pub mod check;
mod coordinated_omission;
mod curve;
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
pub use prediction::{Objective, Prediction, SharedServers, USERS_MAX, Workload};
pub use quantity::{Bytes, CapacityUnits, PerMonth, PerSecond, Seconds, Share, count_text, time_text};
pub use sizing::{Lack, Machine, SizedWorkload, SizingAnswer, SizingQuestion, size};
pub use station::{
    Headroom, Interruption, LimitedQueue, ManyServers, PriorityClass, Variability, allen_cunneen, erlang_b, erlang_c,
    headroom, limited_queue, priority_responses, single_server_general,
};
