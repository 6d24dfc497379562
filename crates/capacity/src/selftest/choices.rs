//! Figures of models that answer with a choice or a verdict: settings of a recovery objective, minimum machines, scans and probes, user limits.

use super::figure::Figure;
use super::figure::Kind::{Derived, Printed};
use super::planning::{Answer, CH2, CH3, CH4, CH6, CH13, exposure, figure, minimum, protection, yes};
use crate::plan::*;
use crate::{Bytes, ModelError, Seconds, Share};

/// Every figure, by group.
#[rustfmt::skip]
pub(super) const FIGURES: &[Figure] = &[
    figure("recovery", "all indexes, journalled", CH4, Printed, 5.0, 0.0, || journalled(RecoveryObjective::AllIndexes)),
    figure("recovery", "all indexes, exposure", CH4, Printed, 0.0, 0.0, || exposure(RecoveryObjective::AllIndexes)),
    figure("recovery", "statistics only, journalled", CH4, Printed, 0.0, 0.0, || journalled(RecoveryObjective::StatisticsOnly)),
    figure("recovery", "statistics only, exposure", CH4, Derived, 225.0, 1e-9, || exposure(RecoveryObjective::StatisticsOnly)),
    figure("recovery", "off, journalled", CH4, Printed, 0.0, 0.0, || journalled(RecoveryObjective::Off)),
    figure("recovery", "off, the exposure is unknown", CH4, Printed, 1.0, 0.0, || Ok(yes(exposure(RecoveryObjective::Off)?.is_nan()))),
    figure("minimum", "250 units run with a warning", CH6, Printed, 1.0, 0.0, || is(minimum(250.0, 512.0, &[Minimum::EXPRESS]), MinimumOutcome::RunsWithWarning)),
    figure("minimum", "150 units run with a warning", CH6, Printed, 1.0, 0.0, || is(minimum(150.0, 512.0, &[Minimum::EXPRESS]), MinimumOutcome::RunsWithWarning)),
    figure("minimum", "149 units are too small", CH6, Derived, 1.0, 0.0, || is(minimum(149.0, 512.0, &[Minimum::EXPRESS]), MinimumOutcome::TooSmall)),
    figure("minimum", "a console needs 256 MB more", CH6, Printed, 1.0, 0.0, || is(minimum(300.0, 768.0, &[Minimum::EXPRESS, Minimum::CONSOLE]), MinimumOutcome::Enough)),
    figure("minimum", "all functions need 1.25 GB", CH6, Printed, 1.0, 0.0, || is(minimum(450.0, 1280.0, &[Minimum::ADMINISTRATION]), MinimumOutcome::Enough)),
    figure("minimum", "1 GB is too small for all functions", CH6, Printed, 1.0, 0.0, || is(minimum(450.0, 1024.0, &[Minimum::ADMINISTRATION]), MinimumOutcome::TooSmall)),
    figure("minimum", "1 GB is enough for one function", CH6, Printed, 1.0, 0.0, || is(minimum(450.0, 1024.0, &[Minimum::ONE_FUNCTION]), MinimumOutcome::Enough)),
    figure("access", "10 GB, 20 % selected: it scans", CH4, Printed, 1.0, 0.0, || Ok(yes(access(9, 0.2)?.access == Access::Scan))),
    figure("access", "10 GB, 0.25 % selected: it probes", CH4, Printed, 1.0, 0.0, || Ok(yes(access(9, 0.0025)?.access == Access::Probe))),
    figure("access", "10 GB, seconds at 20 %", CH4, Printed, 164.2, 1e-9, || Ok(access(9, 0.2)?.time.0)),
    figure("access", "10 GB, seconds at 0.25 %", CH4, Printed, 51.6, 1e-9, || Ok(access(9, 0.0025)?.time.0)),
    figure("access", "10 GB, crossover %", CH4, Derived, 0.7955, 0.0005, || Ok(access(9, 0.2)?.crossover.percent())),
    figure("access", "1 GB, crossover %", CH4, Derived, 0.7857, 0.0005, || Ok(access(6, 0.2)?.crossover.percent())),
    figure("access", "2 MB, crossover %", CH4, Derived, 0.4167, 0.0005, || Ok(access(0, 0.2)?.crossover.percent())),
    figure("access", "sizes of ten at which it scans 20 % and probes 0.25 %", CH4, Printed, 10.0, 0.0, chosen),
    figure("access", "a selection within the check reads", CH4, Derived, 0.0, 0.0, || Ok(yes(pruned_by_check(CheckRange { least: 1.0, most: 100.0 }, 99.0).value))),
    figure("users", "of 0.1 s a screen on one processor", CH6, Derived, 140.0, 0.0, || users(0.1, 1, 37.0)),
    figure("users", "of 0.1 s a screen on two processors", CH6, Derived, 289.0, 0.0, || users(0.1, 2, 37.0)),
    figure("users", "of 99 fields a screen instead of 37", CH6, Derived, 113.0, 0.0, || users(0.1, 1, 99.0)),
    figure("users", "of 612 fields a screen instead of 37", CH6, Derived, 39.0, 0.0, || users(0.1, 1, 612.0)),
    figure("users", "of 2 s a screen, which is too slow", CH6, Derived, 0.0, 0.0, || users(2.0, 4, 37.0)),
    figure("batch", "a cache pays: disk limits, 50 % CPU", CH3, Printed, 1.0, 0.0, || cache(StepLimit::Disk, 0.5, 1e9)),
    figure("batch", "no cache at 60 % CPU", CH3, Printed, 0.0, 0.0, || cache(StepLimit::Disk, 0.6, 1e9)),
    figure("batch", "no cache where the processor limits", CH3, Printed, 0.0, 0.0, || cache(StepLimit::Other, 0.5, 1e9)),
    figure("batch", "no cache without memory", CH3, Printed, 0.0, 0.0, || cache(StepLimit::Disk, 0.5, 0.0)),
    figure("regulator", "other work at priority 35 is within reach", CH2, Printed, 1.0, 0.0, || Ok(yes(regulator_is_effective(35).value))),
    figure("target", "no overhead at both loads", CH2, Derived, 0.0, 0.0, || Ok(yes(trend_needs_upgrade(&[(Share(0.65), Share(0.0)), (Share(0.6), Share(0.0))])?.value))),
    figure("partition", "equal frames do not match", CH13, Derived, 0.0, 0.0, || Ok(yes(mtu_matches(1500, 1500).value))),
];

/// Seconds of a scan that selects 20 % of the records, and of probes that select 0.25 %, from 2 MB to 10 GB.
const ACCESS_TIMES: [(f64, f64); 10] = [
    (0.5, 0.3),
    (0.9, 0.6),
    (1.5, 1.1),
    (2.2, 1.7),
    (4.8, 1.9),
    (8.9, 3.0),
    (17.6, 5.6),
    (45.4, 10.3),
    (84.3, 25.1),
    (164.2, 51.6),
];

fn journalled(objective: RecoveryObjective) -> Answer {
    Ok(protection(objective)?.journalled.len() as f64)
}

fn is(found: Result<MinimumOutcome, ModelError>, expected: MinimumOutcome) -> Answer {
    Ok(yes(found? == expected))
}

fn access(row: usize, selected: f64) -> Result<AccessChoice, ModelError> {
    let (scan, probe) = ACCESS_TIMES[row];
    let times = AccessTimes { scan: Seconds(scan), probe: Seconds(probe), probed: Share(0.0025) };
    Ok(access_choice(&times, Share(selected))?.value)
}

/// Counts the sizes for which the model chooses as the source's optimizer did.
fn chosen() -> Answer {
    let mut right = 0.0;
    for row in 0..ACCESS_TIMES.len() {
        let scans = access(row, 0.2)?.access == Access::Scan;
        right += yes(scans && access(row, 0.0025)?.access == Access::Probe);
    }
    Ok(right)
}

/// Returns the users of a demand that was measured with 37 fields a screen.
fn users(demand: f64, servers: u32, fields: f64) -> Answer {
    let ratio = field_cost_ratio(fields, 37.0)?.value;
    Ok(user_limit(Seconds(demand * ratio), servers, UserPace::SCREENS)?.value.users as f64)
}

fn cache(limit: StepLimit, cpu: f64, memory: f64) -> Answer {
    Ok(yes(cache_pays(limit, Share(cpu), Bytes(memory))?.value))
}
