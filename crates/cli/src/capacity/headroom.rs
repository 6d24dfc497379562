//! Objectives of predictions, and the largest load within them.

use quayline_capacity::fit::CalendarDate;
use quayline_capacity::{Objective, PerMonth, Prediction, Share, Workload};
use quayline_report::Verdict;
use quayline_workload::{Headroom, advice_of_load as advice, verdict_on_load as verdict};

use super::refused;
use crate::args::ObjectiveArgs;
use crate::exit::{Stop, argument};

/// Default maximum utilization of a prediction. It limits the largest load that a prediction recommends, and fails no prediction.
const UTILIZATION_MAX: Share = Share(0.7);

impl ObjectiveArgs {
    /// Returns the limits of the command line and the default one.
    pub(super) fn objective(&self) -> Objective {
        let named = self.named();
        Objective { utilization_most: named.utilization_most.or(Some(UTILIZATION_MAX)), ..named }
    }

    /// Returns the limits of the command line.
    fn named(&self) -> Objective {
        Objective {
            response_most: self.response_max.map(|time| time.0),
            percentile_most: self.p95_max.map(|time| time.0),
            utilization_most: self.utilization_max.map(|percent| percent.0),
        }
    }

    /// Returns true if the command line has an objective.
    pub(super) fn is_given(&self) -> bool {
        self.response_max.is_some() || self.p95_max.is_some() || self.utilization_max.is_some()
    }

    /// `asked` is the largest number of users or workers that was predicted.
    pub(super) fn headroom(&self, workload: &Workload, asked: u32) -> Result<Headroom, Stop> {
        let from = self.growth_from.as_deref().map(|text| {
            CalendarDate::parse(text)
                .ok_or_else(|| Stop::from(argument(format!("--from {text} is not a date")).hint("write YYYY-MM-DD")))
        });
        let growth = self.growth.map(|growth| PerMonth(growth.0.0));
        let default = (self.is_given() && self.utilization_max.is_none()).then_some(UTILIZATION_MAX);
        let headroom = Headroom::of(workload, &self.objective(), asked, growth, from.transpose()?);
        Ok(headroom.map_err(|error| refused(&error))?.with_default(default))
    }

    /// Returns the verdict on the largest predicted load, with its reason. `noun` is what the load counts, such as `user`.
    pub(super) fn verdict(
        &self,
        workload: &Workload,
        load: &Prediction,
        noun: &str,
    ) -> Result<(Verdict, String), Stop> {
        let within = if self.is_given() { self.named() } else { self.objective() };
        verdict(workload, load, &self.named(), &within, noun).map_err(|error| refused(&error).into())
    }

    /// Returns a line of advice for each station that the largest predicted load fills beyond the default utilization. The text is empty if none is, or if
    /// the user named a limit.
    pub(super) fn advice(&self, workload: &Workload, load: &Prediction, noun: &str) -> String {
        if self.utilization_max.is_some() { String::new() } else { advice(workload, load, UTILIZATION_MAX, noun) }
    }
}
