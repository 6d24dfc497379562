//! An interval as data: `quayline.intervals/1`, and the component report that follows from intervals.

use std::collections::BTreeMap;

use quayline_meter::{WaitFor, Waited};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::figure::Seen;

/// Name and version of the form.
pub const INTERVALS_SCHEMA: &str = "quayline.intervals/1";

/// Intervals of one process.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Intervals {
    /// [`INTERVALS_SCHEMA`].
    pub schema: String,
    /// Intervals, ascending.
    pub intervals: Vec<Interval>,
}

/// Activity of a process in an interval. Times are in seconds.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Interval {
    /// Begin, in milliseconds since 1970.
    pub begin_ms: u64,
    /// Length.
    pub seconds: f64,
    /// Processors that the process may use.
    pub processors: u32,
    /// CPU time of the process, by the clock of the process.
    pub cpu_s: f64,
    /// CPU time of helpers that no class was charged for.
    pub helper_cpu_s: f64,
    /// CPU time of other threads: listeners, watchers, the collector.
    pub other_cpu_s: f64,
    /// CPU time of the collector, which is a part of `other_cpu_s`.
    pub collector_cpu_s: f64,
    /// CPU time of the process less that of classes, helpers and other threads. It shows how far the rest can be trusted.
    pub unaccounted_cpu_s: f64,
    /// Share of time for which some process of the machine waited for a processor; `None` if the system does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<f64>,
    /// TLS handshakes that were full.
    pub handshakes_full: u64,
    /// TLS handshakes that resumed a session.
    pub handshakes_resumed: u64,
    /// Look-ups of compiled definitions that found one.
    pub definitions_found: u64,
    /// Look-ups of compiled definitions that did not.
    pub definitions_missed: u64,
    /// CPU time of programs in other processes that no member was charged for.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub programs_cpu_s: f64,
    /// Counts beside those of members, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<String, f64>,
    /// States, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, Seen>,
    /// Classes, in the order of the settings.
    pub classes: Vec<ClassInterval>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_nothing(value: &f64) -> bool {
    *value == 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_none(value: &u64) -> bool {
    *value == 0
}

/// Activity of a class in an interval.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ClassInterval {
    /// Name of the class.
    pub name: String,
    /// Transactions that ended, good or failed.
    pub count: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Units of work committed.
    pub commits: u64,
    /// Response times, added up; 0 if they are not measured.
    pub wall_s: f64,
    /// CPU time of the class' own threads.
    pub cpu_s: f64,
    /// CPU time of helpers on its behalf.
    pub helper_cpu_s: f64,
    /// Time for which its threads could have run and had no processor.
    pub run_queue_s: f64,
    /// Time for which its work waited for its turn.
    pub held_s: f64,
    /// Waits of its threads for other threads, by reason.
    #[serde(default, skip_serializing_if = "WaitsInterval::is_nothing")]
    pub waits: WaitsInterval,
    /// Share that it may use while others work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entitlement: Option<f64>,
    /// Time for which it used more than its threshold.
    pub above_s: f64,
    /// CPU time that it used above its threshold.
    pub above_cpu_s: f64,
    /// CPU time of programs in other processes for this class or member. `cpu_s` does not contain it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub programs_cpu_s: f64,
    /// TLS handshakes of its clients that were full.
    #[serde(default, skip_serializing_if = "is_none")]
    pub handshakes_full: u64,
    /// TLS handshakes of its clients that resumed a session.
    #[serde(default, skip_serializing_if = "is_none")]
    pub handshakes_resumed: u64,
    /// Band of priorities at the end, 1 (highest) to 6.
    pub band: u8,
    /// Time by phase, if its members measure it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<(String, f64)>,
    /// Distribution of response times, if single times are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<TimesInterval>,
    /// Members with activity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberInterval>,
}

/// Waits for other threads, in seconds, where the code names the reason. They are a part of the response time and not of CPU time.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct WaitsInterval {
    /// Locks of records and units of work.
    pub lock_s: f64,
    /// Empty queues, and work of other threads.
    pub queue_s: f64,
    /// Full queues, and limits of memory that others must free: backpressure.
    pub room_s: f64,
    /// Commits that the store makes durable.
    pub commit_s: f64,
    /// Files and devices: reading, writing, and making durable. Intervals of an earlier version have none.
    #[serde(default)]
    pub device_s: f64,
    /// Other systems: programs in other processes, databases, services. Intervals of an earlier version have none.
    #[serde(default)]
    pub external_s: f64,
}

impl WaitsInterval {
    /// Converts the counts of a thread.
    pub(crate) fn of(waited: Waited) -> WaitsInterval {
        let seconds = |reason: WaitFor| waited[reason as usize] as f64 / 1e9;
        WaitsInterval {
            lock_s: seconds(WaitFor::Lock),
            queue_s: seconds(WaitFor::Work),
            room_s: seconds(WaitFor::Room),
            commit_s: seconds(WaitFor::Commit),
            device_s: seconds(WaitFor::Device),
            external_s: seconds(WaitFor::External),
        }
    }

    /// Adds other waits.
    pub fn add(&mut self, other: WaitsInterval) {
        self.lock_s += other.lock_s;
        self.queue_s += other.queue_s;
        self.room_s += other.room_s;
        self.commit_s += other.commit_s;
        self.device_s += other.device_s;
        self.external_s += other.external_s;
    }

    /// Returns a share of these waits.
    pub(crate) fn share(self, share: f64) -> WaitsInterval {
        WaitsInterval {
            lock_s: self.lock_s * share,
            queue_s: self.queue_s * share,
            room_s: self.room_s * share,
            commit_s: self.commit_s * share,
            device_s: self.device_s * share,
            external_s: self.external_s * share,
        }
    }

    /// Returns the seconds of each reason, with its name in metrics.
    #[must_use]
    pub fn by_reason(&self) -> [(&'static str, f64); 6] {
        [
            ("lock", self.lock_s),
            ("queue", self.queue_s),
            ("room", self.room_s),
            ("commit", self.commit_s),
            ("device", self.device_s),
            ("external", self.external_s),
        ]
    }

    fn is_nothing(&self) -> bool {
        *self == WaitsInterval::default()
    }
}

/// Percentiles of response times in seconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TimesInterval {
    /// Median.
    pub p50_s: f64,
    /// 95th percentile.
    pub p95_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// Upper bound of the longest.
    pub max_s: f64,
}

/// Activity of a member: an operation, a flow, a job, or an action of partners.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct MemberInterval {
    /// Kind and name, as in the settings: `job:settle`.
    pub name: String,
    /// Transactions that ended.
    pub count: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Units of work committed.
    #[serde(default)]
    pub commits: u64,
    /// Response times, added up.
    pub wall_s: f64,
    /// CPU time.
    pub cpu_s: f64,
    /// CPU time of helpers on its behalf.
    #[serde(default)]
    pub helper_cpu_s: f64,
    /// Time for which its threads could have run and had no processor.
    #[serde(default)]
    pub run_queue_s: f64,
    /// CPU time of programs in other processes on its behalf.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub programs_cpu_s: f64,
    /// Time of checkpoints and commits, which is a part of `wall_s`; of jobs only.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub checkpoint_s: f64,
    /// TLS handshakes of its clients that were full.
    #[serde(default, skip_serializing_if = "is_none")]
    pub handshakes_full: u64,
    /// TLS handshakes of its clients that resumed a session.
    #[serde(default, skip_serializing_if = "is_none")]
    pub handshakes_resumed: u64,
    /// Parts of the member if they are counted: the steps of a job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartInterval>,
}

/// Activity of a part of a member, such as a step of a job.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PartInterval {
    /// Name of the part.
    pub name: String,
    /// Transactions that ended.
    pub count: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Units of work committed.
    pub commits: u64,
    /// Response times, added up.
    pub wall_s: f64,
    /// CPU time of its pieces of work. CPU time between two pieces is counted for the member only.
    pub cpu_s: f64,
}

impl MemberInterval {
    /// Adds another interval of the member.
    pub fn add(&mut self, other: &MemberInterval) {
        self.count += other.count;
        self.failed += other.failed;
        self.commits += other.commits;
        self.wall_s += other.wall_s;
        self.cpu_s += other.cpu_s;
        self.helper_cpu_s += other.helper_cpu_s;
        self.run_queue_s += other.run_queue_s;
        self.programs_cpu_s += other.programs_cpu_s;
        self.checkpoint_s += other.checkpoint_s;
        self.handshakes_full += other.handshakes_full;
        self.handshakes_resumed += other.handshakes_resumed;
        for part in &other.parts {
            self.add_part(part);
        }
    }

    /// Adds the figures of a part.
    pub(crate) fn add_part(&mut self, part: &PartInterval) {
        let Some(known) = self.parts.iter_mut().find(|known| known.name == part.name) else {
            self.parts.push(part.clone());
            return;
        };
        known.count += part.count;
        known.failed += part.failed;
        known.commits += part.commits;
        known.wall_s += part.wall_s;
        known.cpu_s += part.cpu_s;
    }
}

impl TimesInterval {
    /// Percentiles of counts by upper bound, ascending; `None` without a count.
    #[must_use]
    pub fn of(buckets: &[(f64, u64)]) -> Option<TimesInterval> {
        let all: u64 = buckets.iter().map(|(_, count)| count).sum();
        let at = |share: f64| {
            let rank = (share * all as f64).ceil().max(1.0);
            let mut seen = 0;
            let found = buckets.iter().find(|(_, count)| {
                seen += count;
                seen as f64 >= rank
            });
            found.map_or(0.0, |(bound, _)| *bound)
        };
        (all > 0).then(|| TimesInterval { p50_s: at(0.5), p95_s: at(0.95), p99_s: at(0.99), max_s: at(1.0) })
    }
}

impl ClassInterval {
    /// Returns the mean response time in seconds; `None` without transactions or if it is not measured.
    #[must_use]
    pub fn response_s(&self) -> Option<f64> {
        (self.count > 0 && self.wall_s > 0.0).then(|| self.wall_s / self.count as f64)
    }

    /// Returns the CPU time of a transaction in seconds, including helpers and programs.
    #[must_use]
    pub fn cpu_each_s(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.cpu_s + self.helper_cpu_s + self.programs_cpu_s) / self.count as f64)
    }
}

impl Interval {
    /// Converts CPU time to a share of the time of all processors, from 0 to 1.
    #[must_use]
    pub fn share(&self, cpu_s: f64) -> f64 {
        let all = self.seconds * f64::from(self.processors);
        if all > 0.0 { cpu_s / all } else { 0.0 }
    }

    /// Returns the class with this name.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&ClassInterval> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// Writes the interval as one line of JSON.
    ///
    /// # Panics
    /// Never: the form has string keys and plain values.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("an interval has string keys and plain values")
    }

    /// Reads an interval in the form of [`Interval::json`].
    ///
    /// # Errors
    /// Those of the reader of JSON.
    pub fn from_json(text: &str) -> Result<Interval, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl Intervals {
    /// Intervals with the name of the form.
    #[must_use]
    pub fn new(intervals: Vec<Interval>) -> Intervals {
        Intervals { schema: INTERVALS_SCHEMA.to_owned(), intervals }
    }
}

/// Intervals as `quayline.intervals/1`.
#[must_use]
pub fn component_json(intervals: &[Interval]) -> Value {
    json!({ "schema": INTERVALS_SCHEMA, "intervals": intervals })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_bounds_of_buckets() {
        let times = TimesInterval::of(&[(0.001, 94), (0.002, 4), (0.5, 2)]).unwrap();
        assert_eq!(times, TimesInterval { p50_s: 0.001, p95_s: 0.002, p99_s: 0.5, max_s: 0.5 });
        assert_eq!(TimesInterval::of(&[(0.001, 0)]), None);
    }

    #[test]
    fn json_is_read_back() {
        let class = ClassInterval {
            name: "api".to_owned(),
            count: 4,
            wall_s: 0.5,
            cpu_s: 0.2,
            helper_cpu_s: 0.2,
            ..ClassInterval::default()
        };
        let interval = Interval {
            begin_ms: 5,
            seconds: 2.0,
            processors: 2,
            pressure: Some(0.25),
            classes: vec![class],
            ..Interval::default()
        };
        assert_eq!(Interval::from_json(&interval.json()).unwrap(), interval);
        assert_eq!((interval.share(1.0), interval.classes[0].response_s()), (0.25, Some(0.125)));
        assert_eq!(interval.classes[0].cpu_each_s(), Some(0.1));
        let whole: Intervals = serde_json::from_value(component_json(std::slice::from_ref(&interval))).unwrap();
        assert_eq!(whole, Intervals::new(vec![interval]));
    }
}
