//! The `[workload]` part of `quayline.toml`.

use std::path::PathBuf;

use serde::Deserialize;

use crate::kind::{kind_of_class, member_of};

/// Settings for collecting the work of a process and for sharing processors among its classes.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct WorkloadConfig {
    /// True to collect intervals. Default: true.
    pub collect: bool,
    /// Seconds of an interval, 5 to 3,600. Default 60.
    pub interval_seconds: u64,
    /// Intervals that are kept, 1 to 100,000. Default 10,080, a week of minutes.
    pub keep_intervals: u64,
    /// File for intervals of a process without a store; without it, they are kept in memory.
    pub keep_file: Option<PathBuf>,
    /// True to enforce the shares and priorities of classes. Default: true.
    pub govern: bool,
    /// Classes.
    pub class: Vec<ClassConfig>,
    /// Alerts.
    pub alert: Vec<AlertConfig>,
}

impl Default for WorkloadConfig {
    fn default() -> Self {
        WorkloadConfig {
            collect: true,
            interval_seconds: 60,
            keep_intervals: 10_080,
            keep_file: None,
            govern: true,
            class: Vec::new(),
            alert: Vec::new(),
        }
    }
}

/// A class: one of the user's, or `api`, `flow`, `batch` or `translation` with other settings than the default.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClassConfig {
    /// Name of the class.
    pub name: String,
    /// Members, as `api:OPERATION`, `flow:FLOW`, `job:JOB` or `translation:ACTION`. A final `*` matches any end of a name.
    #[serde(default)]
    pub members: Vec<String>,
    /// Percent of all processors that the class may use while others work.
    pub entitlement_percent: Option<f64>,
    /// Percent above which time and amount are counted. Default: the entitlement.
    pub threshold_percent: Option<f64>,
    /// Priority number, 10 (highest) to 89.
    pub priority: Option<u8>,
}

/// A figure of an interval that an alert watches.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// CPU time of the class, percent of all processors.
    CpuPercent,
    /// Mean response time in milliseconds.
    ResponseMs,
    /// 95th percentile of the response time in milliseconds, of kinds with single times.
    P95Ms,
    /// Transactions that failed, percent.
    FailedPercent,
    /// Transactions a second.
    Rate,
    /// Time for which threads of the class waited for a processor, percent of the CPU time and this wait.
    RunQueuePercent,
    /// Time above the threshold of the class, percent of the interval.
    AbovePercent,
}

impl Measure {
    /// Returns the name in the settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Measure::CpuPercent => "cpu-percent",
            Measure::ResponseMs => "response-ms",
            Measure::P95Ms => "p95-ms",
            Measure::FailedPercent => "failed-percent",
            Measure::Rate => "rate",
            Measure::RunQueuePercent => "run-queue-percent",
            Measure::AbovePercent => "above-percent",
        }
    }
}

/// An alert.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AlertConfig {
    /// Name of the alert.
    pub name: String,
    /// The class; all classes together if absent.
    pub class: Option<String>,
    /// The figure.
    pub measure: Measure,
    /// The alert begins above this value.
    pub above: f64,
    /// The alert ends at this value or below. Default: `above`.
    pub reset: Option<f64>,
    /// Consecutive intervals above the value before the alert begins. Default 1.
    pub intervals: Option<u32>,
    /// Actions at the beginning, and at most once an hour while the alert lasts. Default: a line in the log.
    #[serde(default)]
    pub actions: Vec<String>,
}

/// Action of an alert.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Action {
    /// A line for the operator.
    Log,
    /// Starts a program, with the message as JSON on its standard input.
    Command(PathBuf),
    /// Posts the message as JSON.
    Webhook(String),
}

impl Action {
    /// Reads `log`, `command:PATH` or `webhook:URL`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Action> {
        match text.split_once(':') {
            None if text == "log" => Some(Action::Log),
            Some(("command", path)) if !path.is_empty() => Some(Action::Command(PathBuf::from(path))),
            Some(("webhook", url)) if url.starts_with("http://") || url.starts_with("https://") => {
                Some(Action::Webhook(url.to_owned()))
            }
            _ => None,
        }
    }
}

impl AlertConfig {
    /// Parses the actions. Without any, the action is a line in the log.
    #[must_use]
    pub fn actions(&self) -> Vec<Action> {
        if self.actions.is_empty() {
            return vec![Action::Log];
        }
        self.actions.iter().filter_map(|action| Action::parse(action)).collect()
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WrongSetting {
    /// The key below `[workload]`.
    pub key: &'static str,
    /// Description of the error.
    pub message: String,
    /// Correct form to write instead.
    pub hint: &'static str,
}

impl WorkloadConfig {
    /// Settings that cannot be used.
    #[must_use]
    pub fn wrong(&self) -> Vec<WrongSetting> {
        let mut wrong = Vec::new();
        let mut add = |key, message: String, hint| wrong.push(WrongSetting { key, message, hint });
        let by_default = "leave the key out for its default, which docs/reference/workload.md gives";
        if !(5..=3_600).contains(&self.interval_seconds) {
            let message = format!("expected 5 to 3600 seconds, found {}", self.interval_seconds);
            add("interval-seconds", message, by_default);
        }
        if !(1..=100_000).contains(&self.keep_intervals) {
            let message = format!("expected 1 to 100000 intervals, found {}", self.keep_intervals);
            add("keep-intervals", message, by_default);
        }
        let percent = |value: Option<f64>| value.is_none_or(|value| value > 0.0 && value <= 100.0);
        for (at, class) in self.class.iter().enumerate() {
            let name = &class.name;
            if name.is_empty() || name.chars().any(|c| c.is_control() || c == '"') {
                add("class", format!("`{name}` is not a name of a class"), "write letters, digits and `-`");
            }
            if self.class[..at].iter().any(|other| other.name == *name) {
                add("class", format!("the class `{name}` is defined twice"), "keep one of them");
            }
            match (kind_of_class(name), class.members.is_empty()) {
                (Some(_), false) => add(
                    "class",
                    format!("`{name}` has every member that no other class names, so it has no `members`"),
                    "remove `members`, or give the class another name",
                ),
                (None, true) => add(
                    "class",
                    format!("the class `{name}` has no members"),
                    "add `members`, such as `[\"job:settle*\", \"api:getOrder\"]`",
                ),
                _ => {}
            }
            for member in class.members.iter().filter(|member| member_of(member).is_none()) {
                let message = format!("`{member}` is not a member: expected a kind, a colon and a name");
                add(
                    "class",
                    message,
                    "write `api:OPERATION`, `flow:FLOW`, `job:JOB` or `translation:ACTION`; `*` may be at the end only",
                );
            }
            if !percent(class.entitlement_percent) || !percent(class.threshold_percent) {
                let message = format!("a share of the class `{name}` is not above 0 and at most 100 percent");
                add("class", message, "write a percentage of all processors");
            }
            if class.priority.is_some_and(|priority| !(10..=89).contains(&priority)) {
                let message = format!("the priority of the class `{name}` is not from 10 to 89");
                add("class", message, "write 10 for the highest priority and 89 for the lowest");
            }
        }
        let sum: f64 = self.class.iter().filter_map(|class| class.entitlement_percent).sum();
        if sum > 100.0 {
            let message = format!("the entitlements add up to {sum} percent of the processors");
            add("class", message, "lower entitlements until their sum is at most 100");
        }
        for alert in &self.alert {
            let name = &alert.name;
            if let Some(class) = &alert.class
                && kind_of_class(class).is_none()
                && !self.class.iter().any(|known| known.name == *class)
            {
                let message = format!("the alert `{name}` is about the class `{class}`, which is not defined");
                add("alert", message, "name a class of this file, or `api`, `flow`, `batch` or `translation`");
            }
            if !alert.above.is_finite() || alert.reset.is_some_and(|reset| reset.is_nan() || reset > alert.above) {
                let message = format!("the alert `{name}` would never end: `reset` is above `above`");
                add("alert", message, "write a `reset` that is at most `above`");
            }
            if alert.intervals == Some(0) {
                add("alert", format!("the alert `{name}` waits for 0 intervals"), "write 1 or more");
            }
            for action in alert.actions.iter().filter(|action| Action::parse(action).is_none()) {
                let message = format!("`{action}` of the alert `{name}` is not an action");
                add("alert", message, "write `log`, `command:PATH` or `webhook:URL` with http:// or https://");
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_setting_is_named() {
        let text = "interval-seconds = 1\nkeep-intervals = 0\n\
            [[class]]\nname = \"api\"\nmembers = [\"job:x\"]\n\
            [[class]]\nname = \"a\"\n\
            [[class]]\nname = \"a\"\nmembers = [\"x\"]\nentitlement-percent = 120\npriority = 9\n\
            [[alert]]\nname = \"n\"\nclass = \"none\"\nmeasure = \"rate\"\nabove = 5\nreset = 6\nintervals = 0\nactions = [\"mail\"]\n";
        let config: WorkloadConfig = toml::from_str(text).unwrap();
        let messages: Vec<String> = config.wrong().into_iter().map(|wrong| wrong.message).collect();
        for part in [
            "5 to 3600",
            "1 to 100000",
            "has no `members`",
            "no members",
            "defined twice",
            "`x` is not a member",
            "above 0 and at most 100",
            "10 to 89",
            "add up to 120",
            "`none`",
            "never end",
            "waits for 0",
            "`mail`",
        ] {
            assert_eq!(messages.iter().filter(|message| message.contains(part)).count(), 1, "{part}: {messages:#?}");
        }
        assert_eq!(messages.len(), 13);
        assert_eq!(WorkloadConfig::default().wrong(), []);
    }
}
