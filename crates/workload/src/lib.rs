//! Classes of work in one process: the threads of each class, its use by interval, alerts, and shares.
//!
//! ```text
//!  threads ──join──▶ Workload: CPU and run-queue wait by thread, from the kernel
//!  chunks  ──turn──▶     │ shares: a class above its share waits for its turn while others work
//!  Source: counts ──────▶│
//!                        ▼
//!                    Collector ── each second: use, time above the threshold, regulator
//!                        └────── each interval: Interval ─▶ retention, component report, alerts, metrics
//! ```
//!
//! - **Threads pay nothing.** The collector reads the kernel's own account of each thread (`schedstat`) once a second.
//! - **Shared use is divided.** Server threads serve all operations, so their CPU time is divided in proportion to the computing time of each
//!   operation. Batch threads work for one job, whose CPU time is exact.
//! - **Helpers are charged back.** Threads of the store work on behalf of committing classes. An interval has both figures: the use of the class' own
//!   threads, and the use of helpers on its behalf.
//! - **Every wait for a turn is bounded** ([`TURN_WAIT_MAX`]), so a share can slow work down and never stop it.

mod accounting;
mod alert;
mod api_graph;
mod audit_report;
mod class;
mod collector;
mod component;
mod config;
mod figure;
mod hold;
mod interval;
mod kind;
mod machine;
mod model;
mod pressure;
mod readings;
mod regulator;
mod system;
mod waits;
mod work;

pub use accounting::{Account, Accounting};
pub use alert::{Alert, Message};
pub use api_graph::{Answers, ApiGraph, ApiOperation, ApiPrediction, measured_operations};
pub use audit_report::audit_report;
pub use class::{Class, Classes};
pub use collector::{Collector, Tick};
pub use component::component_report;
pub use config::{Action, AlertConfig, ClassConfig, Measure, WorkloadConfig, WrongSetting};
pub use figure::{Figure, FigureValue, Seen, names};
pub use hold::TURN_WAIT_MAX;
pub use interval::{
    ClassInterval, INTERVALS_SCHEMA, Interval, Intervals, MemberInterval, PartInterval, TimesInterval, WaitsInterval,
    component_json,
};
pub use kind::Kind;
pub use model::{
    Demands, Headroom, advice_of_load, elapsed_s, job_graph, measured_loads, prediction_report, prediction_text,
    verdict_on_load,
};
pub use readings::readings;
pub use regulator::{Regulator, nice_of};
pub use system::{Probe, Process, System, ThreadUse};
pub use waits::Waits;
pub use work::{MemberTotals, Source, Turn, Working, Workload};
