//! Figures of work that the listener for operators has at hand.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use quayline_workload::{Interval, WaitsInterval, component_json};

/// Intervals that the listener for operators has at hand: a day of minutes.
pub(crate) const AT_HAND_MAX: usize = 1_440;

/// Figures for the listener for operators.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    intervals: VecDeque<Interval>,
    /// Sums since the start by class: for counters of Prometheus.
    sums: Vec<Sums>,
    alerts: Vec<(String, bool)>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    class: String,
    count: u64,
    failed: u64,
    cpu_s: f64,
    helper_cpu_s: f64,
    run_queue_s: f64,
    held_s: f64,
    above_s: f64,
    waits: WaitsInterval,
    band: u8,
}

impl Collected {
    /// Adds intervals of earlier processes.
    pub(crate) fn extend(&self, known: Vec<Interval>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).intervals.extend(known);
    }

    /// Writes the last intervals as `quayline.intervals/1`.
    pub(crate) fn json(&self, last: usize) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let skip = state.intervals.len().saturating_sub(last);
        let intervals: Vec<Interval> = state.intervals.iter().skip(skip).cloned().collect();
        format!("{}\n", component_json(&intervals))
    }

    /// Metrics in the text form of Prometheus.
    pub(crate) fn metrics(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, value: &dyn Fn(&Sums) -> f64| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for sums in &state.sums {
                let _ = writeln!(text, "{name}{{class=\"{}\"}} {}", escaped(&sums.class), value(sums));
            }
        };
        let counter = "counter";
        family("quayline_class_transactions_total", counter, "Transactions that ended, good or failed.", &|s| {
            s.count as f64
        });
        family("quayline_class_failed_total", counter, "Transactions that failed.", &|s| s.failed as f64);
        family("quayline_class_cpu_seconds_total", counter, "CPU time of the threads of a class.", &|s| s.cpu_s);
        family("quayline_class_helper_cpu_seconds_total", counter, "CPU time of helpers for a class.", &|s| {
            s.helper_cpu_s
        });
        family(
            "quayline_class_run_queue_seconds_total",
            counter,
            "Time for which threads of a class waited for a processor.",
            &|s| s.run_queue_s,
        );
        family("quayline_class_held_seconds_total", counter, "Time for which work waited for its turn.", &|s| s.held_s);
        family("quayline_class_above_seconds_total", counter, "Time above the threshold of a class.", &|s| s.above_s);
        family("quayline_class_band", "gauge", "Band of priorities of a class, 1 (highest) to 6.", &|s| {
            f64::from(s.band)
        });
        let name = "quayline_class_wait_seconds_total";
        let _ = writeln!(text, "# HELP {name} Waits of a class, by reason.");
        let _ = writeln!(text, "# TYPE {name} counter");
        for sums in &state.sums {
            for (reason, seconds) in sums.waits.by_reason() {
                let class = escaped(&sums.class);
                let _ = writeln!(text, "{name}{{class=\"{class}\",reason=\"{reason}\"}} {seconds}");
            }
        }
        let _ = writeln!(text, "# HELP quayline_alert 1 while an alert lasts.\n# TYPE quayline_alert gauge");
        for (name, lasts) in &state.alerts {
            let _ = writeln!(text, "quayline_alert{{alert=\"{}\"}} {}", escaped(name), u8::from(*lasts));
        }
        text
    }

    /// Adds an interval, and replaces the alerts.
    pub(crate) fn take(&self, interval: &Interval, alerts: Vec<(String, bool)>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for class in &interval.classes {
            if !state.sums.iter().any(|sums| sums.class == class.name) {
                state.sums.push(Sums { class: class.name.clone(), ..Sums::default() });
            }
            let Some(sums) = state.sums.iter_mut().find(|sums| sums.class == class.name) else { continue };
            sums.count += class.count;
            sums.failed += class.failed;
            sums.cpu_s += class.cpu_s;
            sums.helper_cpu_s += class.helper_cpu_s;
            sums.run_queue_s += class.run_queue_s;
            sums.held_s += class.held_s;
            sums.above_s += class.above_s;
            sums.waits.add(class.waits);
            sums.band = class.band;
        }
        state.alerts = alerts;
        state.intervals.push_back(interval.clone());
        while state.intervals.len() > AT_HAND_MAX {
            state.intervals.pop_front();
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
