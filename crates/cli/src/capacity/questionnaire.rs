//! The ways to state the rate and the cost of a workload, as people know them.

use quayline_capacity::Seconds;

use crate::quantity::time_text;

/// A number and how it follows from the answers; none if it is an answer itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Derived {
    pub(super) value: f64,
    pub(super) from: Option<String>,
}

/// Answers that give a rate.
#[derive(Debug)]
pub(super) struct RateAnswers {
    /// Transactions a second at the peak hour.
    pub(super) rate: Option<f64>,
    /// Transactions at the peak hour.
    pub(super) per_hour: Option<f64>,
    /// Registered users.
    pub(super) users: Option<f64>,
    /// Percentage of them that work at the peak hour.
    pub(super) active_percent: Option<f64>,
    /// Transactions of an active user in a minute. Without it, an active user is the unit of the rate.
    pub(super) per_user_minute: Option<f64>,
    /// Records of a batch window.
    pub(super) records: Option<f64>,
    /// The window.
    pub(super) window: Option<Seconds>,
}

/// Answers that give a cost.
#[derive(Debug)]
pub(super) struct CostAnswers<'a> {
    /// Rating that one transaction a second needs.
    pub(super) cost: Option<f64>,
    /// Transactions a second of one unit of the rating.
    pub(super) metric: Option<f64>,
    /// CPU time of a transaction; ratings are processors.
    pub(super) cpu: Option<Seconds>,
    /// Cost of features in percent of the cost without them: audit, recovery, TLS.
    pub(super) adds_percent: &'a [f64],
}

/// Returns the name of the given answer; exactly one of several must be given.
fn one<'a>(answers: &[(&'a str, bool)]) -> Result<&'a str, String> {
    let given: Vec<&str> = answers.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    let all = || answers.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match given.as_slice() {
        [name] => Ok(name),
        [] => Err(format!("one of {} is missing", all())),
        several => {
            let several: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            Err(format!("{} exclude each other", several.join(" and ")))
        }
    }
}

impl RateAnswers {
    /// Returns the rate at the peak hour.
    pub(super) fn rate(&self) -> Result<Derived, String> {
        let name = one(&[
            ("rate", self.rate.is_some()),
            ("per-hour", self.per_hour.is_some()),
            ("users", self.users.is_some()),
            ("records", self.records.is_some()),
        ])?;
        for (key, of, given) in [
            ("active-percent", "users", self.active_percent.is_some()),
            ("per-user-minute", "users", self.per_user_minute.is_some()),
            ("window", "records", self.window.is_some()),
        ] {
            if given && name != of {
                return Err(format!("`{key}` belongs to `{of}`"));
            }
        }
        let value = |answer: Option<f64>| answer.unwrap_or(0.0);
        Ok(match name {
            "rate" => Derived { value: value(self.rate), from: None },
            "per-hour" => {
                let hour = value(self.per_hour);
                Derived { value: hour / 3600.0, from: Some(format!("{hour} at the peak hour / 3600 s")) }
            }
            "users" => {
                let (users, percent) = (value(self.users), self.active_percent.unwrap_or(100.0));
                if !(0.0..=100.0).contains(&percent) {
                    return Err(format!("`active-percent` is {percent}, expected 0 to 100"));
                }
                let active = users * percent / 100.0;
                match self.per_user_minute {
                    Some(each) => Derived {
                        value: active * each / 60.0,
                        from: Some(format!("{users} users x {percent} % active x {each} a minute / 60 s")),
                    },
                    None => Derived { value: active, from: Some(format!("{users} users x {percent} % active")) },
                }
            }
            _ => {
                let window = self.window.ok_or("`records` needs `window`, such as window = \"4h\"")?;
                let (records, seconds) = (value(self.records), window.0);
                if seconds <= 0.0 {
                    return Err("`window` is 0 s, expected more".to_owned());
                }
                Derived { value: records / seconds, from: Some(format!("{records} records / {seconds} s")) }
            }
        })
    }
}

impl CostAnswers<'_> {
    /// Returns the rating that one transaction per second needs.
    pub(super) fn cost(&self) -> Result<Derived, String> {
        let name =
            one(&[("cost", self.cost.is_some()), ("metric", self.metric.is_some()), ("cpu", self.cpu.is_some())])?;
        let (base, from) = match name {
            "cost" => (self.cost.unwrap_or(0.0), None),
            "metric" => {
                let metric = self.metric.unwrap_or(0.0);
                if !(metric.is_finite() && metric > 0.0) {
                    return Err(format!("`metric` is {metric}, expected more than 0"));
                }
                (1.0 / metric, Some(format!("1 / {metric} a second of one unit")))
            }
            _ => {
                let cpu = self.cpu.map_or(0.0, |cpu| cpu.0);
                let time = time_text(Seconds(cpu));
                (cpu, Some(format!("{time} of CPU time; ratings are processors")))
            }
        };
        if self.adds_percent.is_empty() {
            return Ok(Derived { value: base, from });
        }
        let mut value = base;
        let mut text = from.unwrap_or_else(|| format!("{base}"));
        for adds in self.adds_percent {
            if !(adds.is_finite() && *adds > -100.0) {
                return Err(format!("`adds-percent` has {adds}, expected more than -100"));
            }
            value *= 1.0 + adds / 100.0;
            text.push_str(&format!(", {adds:+} %"));
        }
        Ok(Derived { value, from: Some(text) })
    }
}
