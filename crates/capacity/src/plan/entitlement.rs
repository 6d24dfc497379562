//! Entitlement of a class of work, the knee above which a machine takes it back, and sizing by both.

use crate::error::{not_negative, positive, within};
use crate::{CapacityUnits, Estimate, Method, ModelError, Origin, Share, Validity};

/// Rule that places the knee of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KneeRule {
    /// The knee is published; the maximum is 7/6 of it.
    PublishedKnee(CapacityUnits),
    /// The maximum is published; the knee is 6/7 of it.
    SixSevenths(CapacityUnits),
    /// The maximum is published; the knee is a third of it.
    OneThird(CapacityUnits),
    /// Both knee and maximum are given.
    Both {
        /// The knee.
        knee: CapacityUnits,
        /// The maximum.
        most: CapacityUnits,
    },
}

/// A machine and the entitlement of its protected class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entitlement {
    /// Rating of the whole machine.
    pub capacity: CapacityUnits,
    /// Knee and maximum of the class.
    pub rule: KneeRule,
}

/// Effect of a class' load on the capacity for other work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeState {
    /// Load from which overhead begins.
    pub knee: CapacityUnits,
    /// Load at which no capacity is left.
    pub most: CapacityUnits,
    /// Position of the load between both: 0 up to the knee, 1 at the maximum.
    pub position: f64,
    /// Capacity that the class uses, including overhead.
    pub used: CapacityUnits,
    /// Overhead alone.
    pub overhead: CapacityUnits,
    /// Capacity left for other work.
    pub left: CapacityUnits,
    /// Capacity left if the class' load is one point of the machine less, and one point more. Near the knee, one point has a large effect.
    pub swing: (CapacityUnits, CapacityUnits),
}

impl Entitlement {
    fn edges(&self) -> (f64, f64) {
        match self.rule {
            KneeRule::PublishedKnee(knee) => (knee.0, knee.0 * 7.0 / 6.0),
            KneeRule::SixSevenths(most) => (most.0 * 6.0 / 7.0, most.0),
            KneeRule::OneThird(most) => (most.0 / 3.0, most.0),
            KneeRule::Both { knee, most } => (knee.0, most.0),
        }
    }

    fn used(&self, load: f64) -> (f64, f64) {
        let (knee, most) = self.edges();
        if load <= knee {
            return (0.0, load);
        }
        let position = if most > knee { ((load - knee) / (most - knee)).min(1.0) } else { 1.0 };
        (position, (knee + position * (self.capacity.0 - knee)).max(load.min(self.capacity.0)))
    }
}

/// Computes the capacity that a class' load leaves on a machine with a knee. Below the knee the class uses its load; above it, overhead
/// grows until no capacity is left.
///
/// # Errors
/// [`ModelError`] for negative numbers or a knee above the machine.
pub fn knee(machine: &Entitlement, load: CapacityUnits) -> Result<Estimate<KneeState>, ModelError> {
    positive("capacity", machine.capacity.0)?;
    not_negative("load", load.0)?;
    let (edge, most) = machine.edges();
    within("knee", edge, 0.0, machine.capacity.0)?;
    within("maximum", most, edge, f64::MAX)?;
    let left = |load: f64| CapacityUnits((machine.capacity.0 - machine.used(load.max(0.0)).1).max(0.0));
    let (position, used) = machine.used(load.0);
    let point = machine.capacity.0 / 100.0;
    let state = KneeState {
        knee: CapacityUnits(edge),
        most: CapacityUnits(most),
        position,
        used: CapacityUnits(used),
        overhead: CapacityUnits((used - load.0).max(0.0)),
        left: left(load.0),
        swing: (left(load.0 - point), left(load.0 + point)),
    };
    let text = "planning curve of the source's machines; this product regulates a class instead of penalising it";
    Ok(Estimate::new(Method::Knee, Validity::RuleOfSource(text), state).from_inputs(Origin::Assumed))
}

/// Returns the average load that leaves room for peaks: 70 % of the threshold, or of twice the threshold if the knee is a third of the maximum.
///
/// # Errors
/// [`ModelError`] for a negative threshold.
pub fn operating_target(rule: KneeRule) -> Result<Estimate<CapacityUnits>, ModelError> {
    let threshold = match rule {
        KneeRule::PublishedKnee(knee) | KneeRule::Both { knee, .. } => knee.0,
        KneeRule::SixSevenths(most) => most.0 * 6.0 / 7.0,
        KneeRule::OneThird(most) => 2.0 * most.0 / 3.0,
    };
    let target = 0.7 * not_negative("threshold", threshold)?;
    let text = "70 % of the threshold, averaged over less than 15 minutes";
    Ok(Estimate::new(Method::OperatingTarget, Validity::RuleOfSource(text), CapacityUnits(target)))
}

/// Checks whether a trend of load and overhead requires an upgrade: no overhead at the lower load, some overhead at the higher.
///
/// # Errors
/// [`ModelError`] for shares outside 0 to 1.
pub fn trend_needs_upgrade(samples: &[(Share, Share)]) -> Result<Estimate<bool>, ModelError> {
    let mut sorted = Vec::with_capacity(samples.len());
    for (load, overhead) in samples {
        sorted.push((within("load", load.0, 0.0, 1.0)?, within("overhead", overhead.0, 0.0, 1.0)?));
    }
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let needed = sorted.windows(2).any(|pair| pair[0].1 <= 0.0 && pair[1].1 > 0.0);
    let text = "the source has two loads, 60 % and 65 % of the feature; two samples are the least";
    Ok(Estimate::new(Method::Trend, Validity::RuleOfSource(text), needed))
}

/// The rule by which a migration is sized.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MigrationRule {
    /// Target whose knee is a third of its maximum: three times the need.
    OneThird,
    /// Target with a knee of 6/7: the need itself below 85 % of the class' share, 1.5 times from there on.
    Custom,
}

/// Computes the capacity that a migrated class needs: its share of the old machine's time, times that machine's rating, times a factor.
///
/// # Errors
/// [`ModelError`] for a share outside 0 to 1 or a rating that is not positive.
pub fn migrate(share: Share, old: CapacityUnits, rule: MigrationRule) -> Result<Estimate<CapacityUnits>, ModelError> {
    within("share of the class", share.0, 0.0, 1.0)?;
    positive("rating", old.0)?;
    let factor = match rule {
        MigrationRule::OneThird => 3.0,
        MigrationRule::Custom if share.0 < 0.85 => 1.0,
        MigrationRule::Custom => 1.5,
    };
    let text = "share at the peak interval, all jobs of the class";
    let need = CapacityUnits(factor * share.0 * old.0);
    Ok(Estimate::new(Method::Migration, Validity::RuleOfSource(text), need))
}

/// Change of a class' entitled share after an upgrade.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareCheck {
    /// Share before the upgrade.
    pub before: Share,
    /// Share after the upgrade.
    pub after: Share,
    /// True if the share shrank. Peaks of the class then become sharper although its capacity is the same.
    pub shrank: bool,
}

/// Compares the share of an entitlement before and after an upgrade; each pair is entitlement and capacity.
///
/// # Errors
/// [`ModelError`] for capacities that are not positive.
pub fn share_check(
    before: (CapacityUnits, CapacityUnits),
    after: (CapacityUnits, CapacityUnits),
) -> Result<Estimate<ShareCheck>, ModelError> {
    let share = |(part, whole): (CapacityUnits, CapacityUnits)| -> Result<f64, ModelError> {
        Ok(not_negative("entitlement", part.0)? / positive("capacity", whole.0)?)
    };
    let (before, after) = (share(before)?, share(after)?);
    let check = ShareCheck { before: Share(before), after: Share(after), shrank: after < before };
    Ok(Estimate::exact(Method::UpgradeRatio, check))
}

/// Computes the largest share of a machine that one job can use: one processor of all.
///
/// # Errors
/// [`ModelError`] for no processors.
pub fn one_job_share(processors: u32) -> Result<Estimate<Share>, ModelError> {
    let share = 1.0 / positive("processors", f64::from(processors))?;
    Ok(Estimate::exact(Method::Quota, Share(share)))
}

/// Converts a quota of the whole machine to a part of it: `(share of the machine, share within the part)`.
///
/// # Errors
/// [`ModelError`] for shares outside 0 to 1.
pub fn pro_rata(quota: Share, part: Share) -> Result<Estimate<(Share, Share)>, ModelError> {
    within("quota", quota.0, 0.0, 1.0)?;
    within("part of the machine", part.0, f64::MIN_POSITIVE, 1.0)?;
    let whole = quota.0 * part.0;
    Ok(Estimate::exact(Method::Quota, (Share(whole), Share(whole / part.0))))
}
