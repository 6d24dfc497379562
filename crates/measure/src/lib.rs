//! Workload drivers and their results.
//!
//! * [`Load`] is a number of keep-alive clients with think time, open arrivals, or clients without a pause; [`Load::run`] drives a server
//!   with it and returns a [`Run`]: throughput, response times, CPU time per transaction by the operating system's accounting.
//! * [`OutsideLoad`] is one load on a running server.
//! * [`Mix`] is several classes of concurrent virtual users, each with weighted steps, on a running server.
//! * [`FlowBed`] is a store with one running flow and the applications that drive it, in process or over AMQP ([`AmqpApplications`]).
//!   [`FlowStudy`] runs the samples of IBM's report on VSAM nodes and prints its tables.
//! * [`translator_study`] measures the rows of a translator's study of 2005 over [`Claims`], by [`process`]. [`partner_study`] runs the case study of
//!   that study over trading partners.
//! * [`batch`] runs the job of IBM's paper on Liberty Batch and prints its experiments.
//! * [`StoreStudy`] repeats messages and records by number of drivers, and kills a process with open units of work.
//! * [`MemoryStudy`] repeats one load on a store whose caches become smaller in steps.
//! * [`SizingStudy`] sizes a gateway, a mix of flows and a night of batch from light loads, and then measures them.
//! * [`ConvertStudy`] converts record files to other formats and back, by size.
//! * [`SweepStudy`] runs one map over several kinds of data and numbers of workers.
//! * [`profile_report()`] is the report of a profile of costs.
//! * [`GatewayStudy`] runs the scenarios of IBM's report over the dealership and writes its tables as Markdown and a report.
//!
//! Response times account for coordinated omission. With open arrivals, they begin when a request was due, whether or not a connection was
//! free, and requests due within the measured time count even if their answers come later. With think time, a client that waits for its answer
//! sends no further request, as the workload defines. The report shows by how much throughput was below the requested rate.

pub mod batch;
mod client;
mod convert_study;
mod cpu;
mod edi_data;
mod error_text;
mod flow_amqp;
mod flow_bed;
mod flow_report;
mod flow_study;
mod instructions;
mod load;
mod memory_study;
mod mix;
mod outside;
pub mod partner_study;
mod pressure;
pub mod process;
mod profile_report;
mod python_random;
mod report;
mod scratch;
mod server;
mod sizing_study;
mod store_study;
mod study;
mod sweep_study;
mod tables;
pub mod translator_study;

pub use convert_study::{ConvertStudy, ConvertStudyOptions};
pub use cpu::CpuClock;
pub use edi_data::{Claims, Orders};
pub use flow_amqp::{AmqpApplications, amqp_listener};
pub use flow_bed::{Applications, Drive, FLOW_RECORDS, FlowBed, Holds, bare_syncs, sample_file, sample_request};
pub use flow_study::{FlowRun, FlowStudy, FlowStudyOptions};
pub use instructions::Instructions;
pub use load::{Load, Pace, Run};
pub use memory_study::{MemoryRow, MemoryStudy, MemoryStudyOptions};
pub use mix::{MIX_USERS_MAX, Mix, MixClass, MixPace, MixRun, MixStep, MixTally};
pub use outside::OutsideLoad;
pub use profile_report::profile_report;
pub use python_random::PythonRandom;
pub use scratch::Scratch;
pub use server::{CHILD_ARGUMENT, ServerProcess, run_child};
pub use sizing_study::{Beside, SizingStudy, SizingStudyOptions};
pub use store_study::{
    RecoveryRow, STORE_CHILD, SaveRow, StoreRow, StoreStudy, StoreStudyOptions, StoreWork, run_store_child,
};
pub use study::{GatewayStudy, StudyOptions};
pub use sweep_study::{SweepStudy, SweepStudyOptions};
