//! The smallest machine of a catalogue that bears a mix of workloads at their peak hour, after growth.

use crate::error::{not_negative, positive, within};
use crate::fit::Exhaustion;
use crate::{Bytes, CapacityUnits, Estimate, Method, ModelError, Origin, PerMonth, PerSecond, Share, Validity};

/// One workload of the mix.
#[derive(Clone, Debug, PartialEq)]
pub struct SizedWorkload {
    /// Name of the load.
    pub name: String,
    /// Transactions a second at the peak hour.
    pub rate: PerSecond,
    /// Units that one transaction a second needs.
    pub cost: CapacityUnits,
    /// Growth of its rate.
    pub growth: PerMonth,
    /// Memory that it needs.
    pub memory: Bytes,
    /// Disk space that it needs.
    pub disk: Bytes,
    /// Origin of the load's cost.
    pub origin: Origin,
}

/// A machine of the catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Name of the machine.
    pub name: String,
    /// Rating of the machine.
    pub rating: CapacityUnits,
    /// Memory of the machine.
    pub memory: Bytes,
    /// Disk space of the machine.
    pub disk: Bytes,
}

/// The question.
#[derive(Clone, Debug, PartialEq)]
pub struct SizingQuestion {
    /// The mix, existing load included.
    pub workloads: Vec<SizedWorkload>,
    /// The machines to choose from.
    pub catalogue: Vec<Machine>,
    /// Utilization that the peak hour may reach.
    pub target: Share,
    /// Months of growth that the machine must bear.
    pub horizon_months: f64,
}

/// Resource that a machine lacks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lack {
    /// Rating: the machine's rating times the target utilization is below the need.
    Rating,
    /// Memory.
    Memory,
    /// Disk space.
    Disk,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct SizingAnswer {
    /// Units that the mix needs now, by workload.
    pub now: Vec<CapacityUnits>,
    /// Units that it needs at the horizon, by workload.
    pub then: Vec<CapacityUnits>,
    /// Rating that a machine must have: the need at the horizon over the target.
    pub rating: CapacityUnits,
    /// Memory of all workloads.
    pub memory: Bytes,
    /// Disk space of all workloads.
    pub disk: Bytes,
    /// Smallest machine that fits, by its index in the catalogue.
    pub machine: Option<usize>,
    /// Utilization of that machine now and at the horizon.
    pub utilization: Option<(Share, Share)>,
    /// Time at which the mix, growing at its present rate, reaches the target on that machine.
    pub exhausted: Option<Exhaustion>,
    /// Resources that each machine of the catalogue lacks.
    pub lacks: Vec<Vec<Lack>>,
}

/// Sizes a mix: the sum of rate × cost, grown to the horizon, against the smallest machine whose rating times the target is enough.
///
/// # Errors
/// [`ModelError`] for numbers without a meaning, or no workload.
pub fn size(question: &SizingQuestion) -> Result<Estimate<SizingAnswer>, ModelError> {
    within("target utilization", question.target.0, f64::MIN_POSITIVE, 1.0)?;
    not_negative("horizon", question.horizon_months)?;
    if question.workloads.is_empty() {
        return Err(ModelError::WrongLength { what: "workloads", expected: 1, found: 0 });
    }
    let (mut now, mut then) = (Vec::new(), Vec::new());
    let mut origin = Origin::Measured;
    for workload in &question.workloads {
        let need = not_negative("rate", workload.rate.0)? * not_negative("cost", workload.cost.0)?;
        within("growth a month", workload.growth.0, -1.0 + f64::EPSILON, 1e6)?;
        not_negative("memory", workload.memory.0)?;
        not_negative("disk space", workload.disk.0)?;
        now.push(CapacityUnits(need));
        then.push(CapacityUnits(need * (1.0 + workload.growth.0).powf(question.horizon_months)));
        origin = origin.weaker(workload.origin);
    }
    let need_now: CapacityUnits = now.iter().copied().sum();
    let need_then: CapacityUnits = then.iter().copied().sum();
    // The mix must fit now too: it may shrink.
    let need = need_now.0.max(need_then.0);
    let memory: Bytes = question.workloads.iter().map(|workload| workload.memory).sum();
    let disk: Bytes = question.workloads.iter().map(|workload| workload.disk).sum();
    let mut lacks = Vec::new();
    for machine in &question.catalogue {
        positive("rating", machine.rating.0)?;
        let all = [
            (Lack::Rating, machine.rating.0 * question.target.0 < need * (1.0 - 1e-12)),
            (Lack::Memory, machine.memory.0 < memory.0),
            (Lack::Disk, machine.disk.0 < disk.0),
        ];
        lacks.push(all.iter().filter(|(_, lacks)| *lacks).map(|(lack, _)| *lack).collect::<Vec<_>>());
    }
    let fitting = (0..question.catalogue.len()).filter(|at| lacks[*at].is_empty());
    let machine = fitting.min_by(|a, b| question.catalogue[*a].rating.0.total_cmp(&question.catalogue[*b].rating.0));
    let utilization = machine.map(|at| {
        let rating = question.catalogue[at].rating;
        (Share(need_now / rating), Share(need_then / rating))
    });
    let exhausted = match utilization {
        Some((today, _)) if today.0 > 0.0 => {
            machine.map(|at| exhaustion_of_mix(question, question.target.0 * question.catalogue[at].rating.0))
        }
        _ => None,
    };
    let rating = CapacityUnits(need / question.target.0);
    let answer = SizingAnswer { now, then, rating, memory, disk, machine, utilization, exhausted, lacks };
    let text = "ratings and costs are of one unit; a rating does not hold where disk or memory limit";
    Ok(Estimate::new(Method::Sizing, Validity::Approximate(text), answer).from_inputs(origin))
}

/// Computes when the workloads together need `most`, each with its own growth. Their sum is convex, so it crosses a value above today's need once.
fn exhaustion_of_mix(question: &SizingQuestion, most: f64) -> Exhaustion {
    let need = |months: f64| -> f64 {
        let grown =
            |workload: &SizedWorkload| workload.rate.0 * workload.cost.0 * (1.0 + workload.growth.0).powf(months);
        question.workloads.iter().map(grown).sum()
    };
    if need(0.0) >= most {
        return Exhaustion::Now;
    }
    let (mut before, mut after) = (0.0, 1.0);
    while need(after) < most {
        (before, after) = (after, 2.0 * after);
        if after > MONTHS_MAX {
            return Exhaustion::Never;
        }
    }
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(before, after);
        if need(middle) < most { before = middle } else { after = middle }
    }
    Exhaustion::After { months: after }
}

/// Number of months after which the answer is [`Exhaustion::Never`]: a hundred thousand years.
const MONTHS_MAX: f64 = 1.2e6;
/// Number of bisections that make the result exact to the precision of a number.
const BISECTIONS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 + 10 * 1.1^t = 140 at t = ln 9 / ln 1.1; one mean rate said 33 months.
    #[test]
    fn a_mix_is_exhausted_when_the_sum_of_its_workloads_is() {
        let workload = |rate: f64, growth: f64| SizedWorkload {
            name: "w".to_owned(),
            rate: PerSecond(rate),
            cost: CapacityUnits(1.0),
            growth: PerMonth(growth),
            memory: Bytes(0.0),
            disk: Bytes(0.0),
            origin: Origin::Measured,
        };
        let question = |workloads: Vec<SizedWorkload>| SizingQuestion {
            workloads,
            target: Share(0.7),
            horizon_months: 12.0,
            catalogue: Vec::new(),
        };
        let after = |workloads, most| match exhaustion_of_mix(&question(workloads), most) {
            Exhaustion::After { months } => months,
            other => panic!("{other:?}"),
        };
        let months = after(vec![workload(50.0, 0.0), workload(10.0, 0.1)], 140.0);
        assert!((months - 9f64.ln() / 1.1f64.ln()).abs() < 1e-9, "{months}");
        // One falls while the other grows.
        let months = after(vec![workload(90.0, -0.1), workload(10.0, 0.1)], 140.0);
        assert!((27.0..28.0).contains(&months), "{months}");
        assert_eq!(exhaustion_of_mix(&question(vec![workload(50.0, -0.1)]), 140.0), Exhaustion::Never);
        assert_eq!(exhaustion_of_mix(&question(vec![workload(150.0, 0.0)]), 140.0), Exhaustion::Now);
    }
}
