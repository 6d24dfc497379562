//! The smallest machine of a catalogue that bears a mix of workloads at their peak hour, after growth.

use crate::error::{not_negative, positive, within};
use crate::fit::{Exhaustion, exhaustion};
use crate::{Bytes, CapacityUnits, Estimate, Method, ModelError, Origin, PerMonth, PerSecond, Share, Validity};

/// One workload of the mix.
#[derive(Clone, Debug, PartialEq)]
pub struct SizedWorkload {
    /// Its name.
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
    /// Where its cost comes from.
    pub origin: Origin,
}

/// A machine of the catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Its rating.
    pub rating: CapacityUnits,
    /// Its memory.
    pub memory: Bytes,
    /// Its disk space.
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

/// What a machine lacks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lack {
    /// Its rating times the target is below the need.
    Rating,
    /// Its memory.
    Memory,
    /// Its disk space.
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
    /// When the mix, growing as a whole as it does now, reaches the target on that machine.
    pub exhausted: Option<Exhaustion>,
    /// What each machine of the catalogue lacks.
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
        Some((today, later)) if today.0 > 0.0 => {
            let months = question.horizon_months;
            let growth =
                if months > 0.0 { (later.0 / today.0).powf(1.0 / months) - 1.0 } else { mean_growth(question) };
            Some(exhaustion(today, question.target, PerMonth(growth))?.value)
        }
        _ => None,
    };
    let rating = CapacityUnits(need / question.target.0);
    let answer = SizingAnswer { now, then, rating, memory, disk, machine, utilization, exhausted, lacks };
    let text = "ratings and costs are of one unit; a rating does not hold where disk or memory limit";
    Ok(Estimate::new(Method::Sizing, Validity::Approximate(text), answer).from_inputs(origin))
}

/// Growth of the whole mix in its first month.
fn mean_growth(question: &SizingQuestion) -> f64 {
    let need = |workload: &SizedWorkload| workload.rate.0 * workload.cost.0;
    let all: f64 = question.workloads.iter().map(need).sum();
    question.workloads.iter().map(|workload| need(workload) * workload.growth.0).sum::<f64>() / all
}
