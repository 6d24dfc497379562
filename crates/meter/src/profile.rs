//! Costs as data that outlives the process: `quayline.profile/1`.

use serde::{Deserialize, Serialize};

use crate::histogram::rank;
use crate::{Phase, ProcessUse, Report};

/// Name and version of the form.
pub const PROFILE_SCHEMA: &str = "quayline.profile/1";

/// Part of a class' time that no phase needs to explain.
const UNACCOUNTED_MAX: f64 = 0.02;

/// Costs of the kinds of transactions of a process: a run over files, or a server since its start.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`PROFILE_SCHEMA`].
    pub schema: String,
    /// Kind of process, such as `convert` or `serve`.
    pub kind: String,
    /// The machine.
    pub host: ProfileHost,
    /// Seconds on the wall clock.
    pub wall_s: f64,
    /// CPU seconds of the process. Programs that it starts are not in it.
    pub cpu_s: f64,
    /// Costs by class.
    pub classes: Vec<ProfileClass>,
}

/// Facts without which costs cannot be compared.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileHost {
    /// Model of the processor; `unknown` if the system does not name it.
    pub processor: String,
    /// Hardware threads that the process may use.
    pub threads: u32,
    /// Name and release of the system.
    pub system: String,
    /// `release` or `debug`.
    pub build: String,
}

/// Total costs of the transactions of one class.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileClass {
    /// Name of the operation, flow or run.
    pub name: String,
    /// Counted unit in the singular: `request`, `record`.
    pub unit: String,
    /// Number of transactions.
    pub count: u64,
    /// Bytes of input; 0 if they are not counted.
    pub bytes_in: u64,
    /// Bytes of output.
    pub bytes_out: u64,
    /// Seconds on the wall clock, summed over transactions or threads.
    pub wall_s: f64,
    /// Time by phase, in the order of a record's way. The phases that took no time are left out.
    pub phases: Vec<ProfilePhase>,
    /// Source of the CPU times of phases; `None` if they have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_by: Option<ProfileCpu>,
    /// Times of single transactions: upper bounds in seconds, ascending, and counts. Empty if single times are not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<(f64, u64)>,
}

/// Source of the CPU times of phases.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileCpu {
    /// [`CpuMethod::name`](crate::CpuMethod::name).
    pub method: String,
    /// Segments of time that were measured; 0 if the method does not know them.
    pub segments: u64,
    /// Segments in which a thread lost its processor.
    pub interrupted: u64,
    /// CPU seconds that are estimates, because not every document was measured.
    pub estimated_s: f64,
}

impl core::fmt::Display for ProfileCpu {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "by {}", self.method)?;
        if self.segments > 0 {
            write!(f, ", {} of {} segments interrupted", self.interrupted, self.segments)?;
        }
        Ok(())
    }
}

/// Time of one phase.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProfilePhase {
    /// [`Phase::name`].
    pub phase: String,
    /// Seconds on the wall clock.
    pub wall_s: f64,
    /// CPU seconds of the thread; `None` if only wall time is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
}

/// Error of reading a profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The text is not JSON of this form.
    #[error("it is not a profile: {0}")]
    Form(#[from] serde_json::Error),
    /// The profile has another version.
    #[error("its schema is `{0}`, expected `{PROFILE_SCHEMA}`")]
    Schema(String),
    /// A number is negative, infinite or too large to be a time.
    #[error("`{0}` is not a time")]
    Number(String),
}

impl Profile {
    /// Returns the profile of a process on this machine, without classes.
    #[must_use]
    pub fn of_process(kind: &str, wall_s: f64, used: ProcessUse) -> Profile {
        Profile {
            schema: PROFILE_SCHEMA.to_owned(),
            kind: kind.to_owned(),
            host: ProfileHost::this(),
            wall_s,
            cpu_s: used.cpu.as_secs_f64(),
            classes: Vec::new(),
        }
    }

    /// Returns the profile of a finished run.
    #[must_use]
    pub fn of_run(kind: &str, unit: &str, report: &Report) -> Profile {
        let mut profile = Profile::of_process(kind, report.wall.as_secs_f64(), report.process);
        let phases = report.phases.iter().map(|line| ProfilePhase {
            phase: line.phase.name().to_owned(),
            wall_s: line.times.wall.as_secs_f64(),
            cpu_s: Some(line.times.cpu.as_secs_f64()),
        });
        profile.classes.push(ProfileClass {
            name: kind.to_owned(),
            unit: unit.to_owned(),
            count: report.counters.records + report.counters.rejected,
            bytes_in: report.counters.bytes_in,
            bytes_out: report.counters.bytes_out,
            wall_s: report.lane_time.wall.as_secs_f64(),
            phases: phases.collect(),
            cpu_by: Some(ProfileCpu {
                method: report.method.name().to_owned(),
                segments: report.segments,
                interrupted: report.interrupted,
                estimated_s: report.phases.iter().map(|line| line.estimated.cpu.as_secs_f64()).sum(),
            }),
            times: Vec::new(),
        });
        profile
    }

    /// Writes the profile as JSON.
    ///
    /// # Panics
    /// Never: the form has string keys and plain values.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a profile has string keys and plain values") + "\n"
    }

    /// Reads a profile in the form of [`Profile::json`].
    ///
    /// # Errors
    /// [`ProfileError`] for other text.
    pub fn from_json(text: &str) -> Result<Profile, ProfileError> {
        // The schema comes first: a later version may have other members.
        let any: serde_json::Value = serde_json::from_str(text)?;
        let schema = any["schema"].as_str().unwrap_or("none");
        if schema != PROFILE_SCHEMA {
            return Err(ProfileError::Schema(schema.to_owned()));
        }
        let profile: Profile = serde_json::from_value(any)?;
        let mut times = vec![("wall_s".to_owned(), profile.wall_s), ("cpu_s".to_owned(), profile.cpu_s)];
        for class in &profile.classes {
            times.push((format!("{}: wall_s", class.name), class.wall_s));
            for phase in &class.phases {
                times.push((format!("{}: {}", class.name, phase.phase), phase.wall_s));
                times.extend(phase.cpu_s.map(|cpu| (format!("{}: {}: cpu_s", class.name, phase.phase), cpu)));
            }
        }
        match times.into_iter().find(|(_, time)| !(time.is_finite() && (0.0..1e12).contains(time))) {
            Some((name, _)) => Err(ProfileError::Number(name)),
            None => Ok(profile),
        }
    }

    /// Returns the CPU seconds of a transaction for each class, in the order of the classes; `None` without transactions.
    ///
    /// The CPU time of the process is divided among the classes in proportion to the time of their computing phases
    /// ([`Phase::computes`]). Most phases of a server have wall time only, and their sum does not include the cost of connections.
    #[must_use]
    pub fn cpu_each(&self) -> Vec<Option<f64>> {
        let weight = |class: &ProfileClass| -> f64 {
            let computes = |phase: &&ProfilePhase| Phase::of_name(&phase.phase).is_some_and(Phase::computes);
            class.phases.iter().filter(computes).map(|phase| phase.cpu_s.unwrap_or(phase.wall_s)).sum()
        };
        let all: f64 = self.classes.iter().map(weight).sum();
        let only = self.classes.len() == 1;
        let each = self.classes.iter().map(|class| {
            let share = if only { Some(1.0) } else { (all > 0.0).then(|| weight(class) / all) };
            (class.count > 0).then_some(self.cpu_s * share? / class.count as f64)
        });
        each.collect()
    }
}

impl ProfileClass {
    /// Seconds of a phase for each transaction, on the wall clock; `None` without transactions.
    #[must_use]
    pub fn phase_each(&self, phase: Phase) -> Option<f64> {
        let found = self.phases.iter().find(|line| line.phase == phase.name()).map_or(0.0, |line| line.wall_s);
        (self.count > 0).then(|| found / self.count as f64)
    }

    /// CPU seconds of a phase for each transaction; `None` without transactions, or if the phase has wall time only.
    #[must_use]
    pub fn phase_cpu_each(&self, phase: Phase) -> Option<f64> {
        let found = self.phases.iter().find(|line| line.phase == phase.name())?.cpu_s?;
        (self.count > 0).then(|| found / self.count as f64)
    }

    /// Returns the share of the time outside of all phases; negative if the phases exceed the total.
    #[must_use]
    pub fn unaccounted_share(&self) -> f64 {
        let phases: f64 = self.phases.iter().map(|line| line.wall_s).sum();
        if self.wall_s > 0.0 { (self.wall_s - phases) / self.wall_s } else { 0.0 }
    }

    /// Returns true if the phases explain the time within 2 %, or within a millisecond in total. The rest passes between two clock readings.
    #[must_use]
    pub fn is_trustworthy(&self) -> bool {
        let share = self.unaccounted_share().abs();
        share <= UNACCOUNTED_MAX || share * self.wall_s <= 1e-3
    }

    /// Returns the time in seconds that `percent` (0 to 100) of the transactions do not exceed: the upper bound of a bucket. `None` if single
    /// times are not measured.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let all: u64 = self.times.iter().map(|(_, count)| count).sum();
        if all == 0 {
            return None;
        }
        let rank = rank(percent, all);
        let mut seen = 0;
        let found = self.times.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map(|(bound, _)| *bound)
    }
}

impl ProfileHost {
    /// Facts of this machine.
    #[must_use]
    pub fn this() -> ProfileHost {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo.lines().find(|line| line.starts_with("model name") || line.starts_with("CPU part"));
        let threads =
            std::thread::available_parallelism().map_or(1, |threads| u32::try_from(threads.get()).unwrap_or(1));
        ProfileHost {
            processor: model
                .and_then(|line| line.split_once(':'))
                .map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned()),
            threads,
            system: format!("{} {}", std::env::consts::OS, read("/proc/sys/kernel/osrelease").trim()).trim().to_owned(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let phase = |phase: Phase, wall_s| ProfilePhase { phase: phase.name().to_owned(), wall_s, cpu_s: None };
        let class = |name: &str, count, decode, call| ProfileClass {
            name: name.to_owned(),
            unit: "request".to_owned(),
            count,
            wall_s: decode + call,
            phases: vec![phase(Phase::Decode, decode), phase(Phase::Call, call)],
            times: vec![(0.001, count / 2), (0.004, count - count / 2)],
            ..ProfileClass::default()
        };
        let mut profile = Profile::of_process("serve", 10.0, ProcessUse::default());
        profile.cpu_s = 4.0;
        profile.classes = vec![class("get", 100, 1.0, 5.0), class("put", 50, 3.0, 0.0)];
        profile
    }

    #[test]
    fn json_is_read_back_and_other_versions_are_refused() {
        let profile = profile();
        let text = profile.json();
        assert_eq!(Profile::from_json(&text).unwrap(), profile);
        let later = text.replace("profile/1", "profile/2");
        assert!(
            matches!(Profile::from_json(&later), Err(ProfileError::Schema(found)) if found == "quayline.profile/2")
        );
        let odd = text.replace("\"wall_s\": 5.0", "\"wall_s\": -5.0");
        assert!(matches!(Profile::from_json(&odd), Err(ProfileError::Number(name)) if name == "get: call"));
        assert!(matches!(Profile::from_json("{"), Err(ProfileError::Form(_))));
    }

    #[test]
    fn cpu_time_is_divided_by_the_phases_that_compute() {
        let each = profile().cpu_each();
        // 4 s in proportion to 1 and 3, for 100 and 50 requests: what a provider takes elsewhere does not count.
        assert_eq!(each, [Some(0.01), Some(0.06)]);
        let mut none = profile();
        none.classes[0].count = 0;
        assert_eq!(none.cpu_each()[0], None);
    }

    #[test]
    fn percentiles_are_bounds_of_buckets() {
        let class = &profile().classes[0];
        assert_eq!([class.percentile(50.0), class.percentile(51.0)], [Some(0.001), Some(0.004)]);
        let slow = ProfileClass { times: vec![(0.001, 999), (5.0, 1)], ..ProfileClass::default() };
        assert_eq!([slow.percentile(99.9), slow.percentile(100.0)], [Some(0.001), Some(5.0)]);
        assert_eq!(ProfileClass::default().percentile(50.0), None);
        assert_eq!(class.phase_each(Phase::Call), Some(0.05));
    }
}
