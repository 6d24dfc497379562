//! Reports as lines of text and as members of JSON.

use core::time::Duration;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::{CpuMethod, Report, Waits};

/// Division of the lanes' time by activity, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WaitsWire {
    cpu_s: f64,
    run_queue_s: Option<f64>,
    device_s: f64,
    commit_s: f64,
    provider_s: f64,
    lock_s: f64,
    backpressure_s: f64,
    other_threads_s: f64,
    rest_s: f64,
}

/// Source of the CPU times, and the CPU time of each phase in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuWire {
    method: &'static str,
    segments: u64,
    interrupted: u64,
    phases_s: BTreeMap<&'static str, f64>,
    estimated_s: f64,
}

impl Report {
    /// Returns the activities of [`Report::waits`] in seconds.
    #[must_use]
    pub fn waits_wire(&self) -> WaitsWire {
        let Waits { cpu, run_queue, device, commit, provider, lock, backpressure, others, rest } = self.waits();
        WaitsWire {
            cpu_s: cpu.as_secs_f64(),
            run_queue_s: self.run_queue.map(|_| run_queue.as_secs_f64()),
            device_s: device.as_secs_f64(),
            commit_s: commit.as_secs_f64(),
            provider_s: provider.as_secs_f64(),
            lock_s: lock.as_secs_f64(),
            backpressure_s: backpressure.as_secs_f64(),
            other_threads_s: others.as_secs_f64(),
            rest_s: rest.as_secs_f64(),
        }
    }

    /// Returns the CPU time of each phase.
    #[must_use]
    pub fn cpu_wire(&self) -> CpuWire {
        CpuWire {
            method: self.method.name(),
            segments: self.segments,
            interrupted: self.interrupted,
            phases_s: self.phases.iter().map(|line| (line.phase.name(), line.times.cpu.as_secs_f64())).collect(),
            estimated_s: self.phases.iter().map(|line| line.estimated.cpu.as_secs_f64()).sum(),
        }
    }

    /// Formats the activities of [`Report::waits`] as a sum.
    #[must_use]
    pub fn waits_text(&self) -> String {
        let waits = self.waits();
        let run_queue = match self.run_queue {
            Some(_) => format!("{} for a processor", seconds(waits.run_queue)),
            None => "waits for a processor are not counted here".to_owned(),
        };
        let parts = [
            (waits.device, "for devices"),
            (waits.commit, "for commits"),
            (waits.provider, "for providers"),
            (waits.lock, "for locks and turns"),
            (waits.backpressure, "for room, by backpressure"),
            (waits.others, "for other threads"),
            (waits.rest, "for memory and locks of the allocator"),
        ];
        let parts = parts.into_iter().filter(|(time, _)| time.as_micros() > 500);
        let parts = parts.map(|(time, name)| format!("{} {name}", seconds(time)));
        let all = [format!("{} on a processor", seconds(waits.cpu)), run_queue].into_iter().chain(parts);
        all.collect::<Vec<_>>().join(" + ")
    }

    /// Formats the CPU time of each phase as a sum, with its source.
    #[must_use]
    pub fn cpu_text(&self) -> String {
        let phases = self.phases.iter().map(|line| format!("{} {}", seconds(line.times.cpu), line.phase.name()));
        let sum = phases.collect::<Vec<_>>().join(" + ");
        let method = self.method.name();
        match self.method {
            CpuMethod::ThreadClock => format!("{sum}, by {method}"),
            CpuMethod::Interruptions => {
                format!("{sum}, by {method}, {} of {} segments interrupted", self.interrupted, self.segments)
            }
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}
