//! Alerts: a figure of an interval above a value, until it is at a lower one; at most one message an hour.

use std::time::Duration;

use serde::Serialize;

use crate::config::{Action, AlertConfig, Measure};
use crate::interval::{ClassInterval, Interval};

/// Milliseconds between two messages of an alert.
const MESSAGE_MS: u64 = 3_600_000;

/// Message of an alert.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Name of the alert.
    pub alert: String,
    /// The class, or `all`.
    pub class: String,
    /// Name of the figure.
    pub measure: &'static str,
    /// Value of the measure.
    pub value: f64,
    /// The value above which the alert lasts.
    pub above: f64,
    /// Begin of the interval, in milliseconds since 1970.
    pub at_ms: u64,
    /// State of the alert: begins, lasts or has ended.
    pub state: &'static str,
    /// Intervals for which it has lasted.
    pub intervals: u64,
    /// Actions to take.
    #[serde(skip)]
    pub actions: Vec<Action>,
}

impl Message {
    /// Formats the message as a sentence.
    #[must_use]
    pub fn text(&self) -> String {
        let Message { alert, class, measure, value, above, state, intervals, .. } = self;
        format!(
            "alert {alert} {state}: {measure} of class {class} is {value:.3}, the limit is {above} (intervals: {intervals})"
        )
    }
}

/// An alert over time.
#[derive(Clone, Debug)]
pub struct Alert {
    config: AlertConfig,
    /// Consecutive intervals above the value.
    above: u64,
    lasts: bool,
    /// Time of the last message.
    told_ms: Option<u64>,
    /// True if the beginning of the present alert was reported.
    was_told: bool,
}

impl Alert {
    /// Creates an inactive alert.
    #[must_use]
    pub fn new(config: AlertConfig) -> Alert {
        Alert { config, above: 0, lasts: false, told_ms: None, was_told: false }
    }

    /// Looks at an interval. An interval in which the figure is not measured changes nothing.
    pub fn look(&mut self, interval: &Interval) -> Option<Message> {
        let value = value_of(&self.config, interval)?;
        let length = Duration::try_from_secs_f64(interval.seconds).unwrap_or_default().as_millis();
        let end_ms = interval.begin_ms.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        let reset = self.config.reset.unwrap_or(self.config.above);
        let lasted = self.above;
        if value > self.config.above {
            self.above += 1;
        } else if !self.lasts {
            self.above = 0;
        } else if value > reset {
            // Between the two values an alert that lasts goes on.
            self.above += 1;
        } else {
            self.lasts = false;
            self.above = 0;
            return core::mem::take(&mut self.was_told).then(|| self.message("has ended", value, interval, lasted));
        }
        self.lasts |= self.above >= u64::from(self.config.intervals.unwrap_or(1));
        let is_due = self.told_ms.is_none_or(|told| end_ms.saturating_sub(told) >= MESSAGE_MS);
        if !self.lasts || !is_due {
            return None;
        }
        self.told_ms = Some(end_ms);
        let state = if self.was_told { "lasts" } else { "begins" };
        self.was_told = true;
        Some(self.message(state, value, interval, self.above))
    }

    /// Returns true while the alert lasts.
    #[must_use]
    pub fn lasts(&self) -> bool {
        self.lasts
    }

    /// Its settings.
    #[must_use]
    pub fn config(&self) -> &AlertConfig {
        &self.config
    }

    fn message(&self, state: &'static str, value: f64, interval: &Interval, intervals: u64) -> Message {
        Message {
            alert: self.config.name.clone(),
            class: self.config.class.clone().unwrap_or_else(|| "all".to_owned()),
            measure: self.config.measure.name(),
            value,
            above: self.config.above,
            at_ms: interval.begin_ms,
            state,
            intervals,
            actions: self.config.actions(),
        }
    }
}

/// Returns the value of an alert's measure; `None` if the interval does not have it.
fn value_of(config: &AlertConfig, interval: &Interval) -> Option<f64> {
    let classes: Vec<&ClassInterval> = match &config.class {
        Some(name) => vec![interval.class(name)?],
        None => interval.classes.iter().collect(),
    };
    let sum = |of: &dyn Fn(&ClassInterval) -> f64| classes.iter().map(|class| of(class)).sum::<f64>();
    let count = sum(&|class| class.count as f64);
    match config.measure {
        Measure::CpuPercent => {
            let own = if config.class.is_none() { interval.cpu_s } else { sum(&|class| class.cpu_s) };
            Some(100.0 * interval.share(own))
        }
        Measure::Rate => (interval.seconds > 0.0).then(|| count / interval.seconds),
        Measure::ResponseMs => {
            let timed = classes.iter().filter(|class| class.wall_s > 0.0).map(|class| class.count).sum::<u64>();
            (timed > 0).then(|| 1000.0 * sum(&|class| class.wall_s) / timed as f64)
        }
        Measure::P95Ms => {
            let worst = classes.iter().filter_map(|class| class.times).map(|times| times.p95_s).reduce(f64::max)?;
            Some(1000.0 * worst)
        }
        Measure::FailedPercent => (count > 0.0).then(|| 100.0 * sum(&|class| class.failed as f64) / count),
        Measure::RunQueuePercent => {
            let (cpu, wait) = (sum(&|class| class.cpu_s), sum(&|class| class.run_queue_s));
            (cpu + wait > 0.0).then(|| 100.0 * wait / (cpu + wait))
        }
        Measure::AbovePercent => {
            let above = classes.iter().map(|class| class.above_s).fold(0.0, f64::max);
            (interval.seconds > 0.0).then(|| 100.0 * above / interval.seconds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> AlertConfig {
        toml::from_str(text).unwrap()
    }

    /// The interval of a minute in which class `api` used a part of one processor.
    fn minute(number: u64, percent: f64) -> Interval {
        let class = ClassInterval { name: "api".to_owned(), cpu_s: 0.6 * percent, ..ClassInterval::default() };
        Interval {
            begin_ms: number * 60_000,
            seconds: 60.0,
            processors: 1,
            classes: vec![class],
            ..Interval::default()
        }
    }

    fn states(alert: &mut Alert, percents: impl IntoIterator<Item = f64>) -> Vec<(u64, &'static str, u64)> {
        let look = |(number, percent): (usize, f64)| {
            let message = alert.look(&minute(number as u64, percent))?;
            Some((number as u64, message.state, message.intervals))
        };
        percents.into_iter().enumerate().filter_map(look).collect()
    }

    #[test]
    fn an_alert_lasts_until_the_lower_value() {
        let mut alert = Alert::new(config(
            "name = \"a\"\nclass = \"api\"\nmeasure = \"cpu-percent\"\nabove = 70\nreset = 50\nintervals = 2\n",
        ));
        // A single peak is nothing; between 50 and 70 it goes on.
        let percents = [80.0, 60.0, 80.0, 80.0, 60.0, 60.0, 50.0, 60.0];
        assert_eq!(states(&mut alert, percents), [(3, "begins", 2), (6, "has ended", 4)]);
        assert!(!alert.lasts());
    }

    #[test]
    fn there_is_at_most_one_message_an_hour_however_often_it_begins() {
        let mut alert = Alert::new(config("name = \"a\"\nclass = \"api\"\nmeasure = \"cpu-percent\"\nabove = 70\n"));
        // Above for five hours without a break.
        let lasting = states(&mut alert, core::iter::repeat_n(90.0, 300));
        assert_eq!(lasting.iter().map(|(at, ..)| *at).collect::<Vec<_>>(), [0, 60, 120, 180, 240]);
        assert_eq!((lasting[0].1, lasting[1].1), ("begins", "lasts"));
        // Above and below in turn: what was never told to begin is not told to end.
        let mut alert = Alert::new(config("name = \"a\"\nclass = \"api\"\nmeasure = \"cpu-percent\"\nabove = 70\n"));
        let turns = states(&mut alert, (0..120).map(|at| if at % 2 == 0 { 90.0 } else { 10.0 }));
        assert_eq!(turns, [(0, "begins", 1), (1, "has ended", 1), (60, "begins", 1), (61, "has ended", 1)]);
    }

    #[test]
    fn every_figure_is_that_of_its_class() {
        let api = ClassInterval {
            name: "api".to_owned(),
            count: 100,
            failed: 5,
            wall_s: 2.0,
            cpu_s: 3.0,
            run_queue_s: 1.0,
            above_s: 15.0,
            times: Some(crate::TimesInterval { p95_s: 0.3, ..crate::TimesInterval::default() }),
            ..ClassInterval::default()
        };
        let batch = ClassInterval { name: "batch".to_owned(), count: 100, cpu_s: 9.0, ..ClassInterval::default() };
        let interval =
            Interval { seconds: 60.0, processors: 2, cpu_s: 24.0, classes: vec![api, batch], ..Interval::default() };
        let value = |measure: &str, class: &str| {
            let class = if class.is_empty() { String::new() } else { format!("class = \"{class}\"\n") };
            value_of(&config(&format!("name = \"a\"\nmeasure = \"{measure}\"\nabove = 1\n{class}")), &interval)
        };
        assert_eq!((value("cpu-percent", "api"), value("cpu-percent", "")), (Some(2.5), Some(20.0)));
        assert_eq!(
            (value("response-ms", "api"), value("response-ms", "batch"), value("response-ms", "")),
            (Some(20.0), None, Some(20.0))
        );
        assert_eq!((value("p95-ms", "api"), value("p95-ms", "batch")), (Some(300.0), None));
        assert_eq!((value("failed-percent", "api"), value("failed-percent", "")), (Some(5.0), Some(2.5)));
        assert_eq!((value("run-queue-percent", "api"), value("above-percent", "api")), (Some(25.0), Some(25.0)));
        assert_eq!((value("rate", "").map(|rate| (rate * 60.0).round()), value("rate", "flow")), (Some(200.0), None));
    }
}
