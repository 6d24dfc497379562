//! Objectives of predictions, and the largest load within them.

use quayline_capacity::fit::CalendarDate;
use quayline_capacity::{Objective, PerMonth, Share, Workload};
use quayline_workload::Headroom;

use super::refused;
use crate::args::ObjectiveArgs;
use crate::exit::{Stop, argument};

/// Default maximum utilization of a prediction.
const UTILIZATION_MAX: Share = Share(0.7);

impl ObjectiveArgs {
    pub(super) fn objective(&self) -> Objective {
        Objective {
            response_most: self.response_max.map(|time| time.0),
            percentile_most: self.p95_max.map(|time| time.0),
            utilization_most: Some(self.utilization_max.map_or(UTILIZATION_MAX, |percent| percent.0)),
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
        Headroom::of(workload, &self.objective(), asked, growth, from.transpose()?)
            .map_err(|error| refused(&error).into())
    }
}
