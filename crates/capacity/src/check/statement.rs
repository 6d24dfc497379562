//! Statements of a report and whether they can be true.

use super::fault::{FaultKind, ReportFault};
use super::printed::Printed;

/// A relation that a report's figures claim.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Statement {
    /// A closed workload: customers, think time, throughput and, where printed, response time.
    Response {
        /// Customers.
        users: Printed,
        /// Think time, seconds.
        think: Printed,
        /// Transactions a second.
        throughput: Printed,
        /// Response time, seconds.
        response: Option<Printed>,
    },
    /// A product of factors.
    Product {
        /// The factors.
        factors: Vec<Printed>,
        /// Printed product.
        printed: Printed,
    },
    /// A ratio.
    Ratio {
        /// Numerator.
        numerator: Printed,
        /// Denominator.
        denominator: Printed,
        /// Printed ratio.
        printed: Printed,
    },
    /// A total.
    Sum {
        /// The parts.
        terms: Vec<Printed>,
        /// Printed sum.
        printed: Printed,
    },
    /// One figure in several places.
    Same {
        /// Printed values.
        values: Vec<Printed>,
    },
    /// Two columns that both claim to be measured.
    Columns {
        /// The first.
        first: Vec<Printed>,
        /// The second.
        second: Vec<Printed>,
    },
    /// Utilization of a station.
    Utilization {
        /// Transactions a second.
        throughput: Printed,
        /// Service demand, seconds.
        demand: Printed,
        /// Servers.
        servers: Printed,
        /// Utilization, as a share.
        printed: Printed,
    },
    /// Customers present.
    Little {
        /// Transactions a second.
        throughput: Printed,
        /// Response time, seconds.
        response: Printed,
        /// Number present.
        printed: Printed,
    },
    /// An overhead over a base, in percent.
    Overhead {
        /// The base.
        base: Printed,
        /// The measurement.
        measured: Printed,
        /// Printed overhead, in percent of the base.
        printed: Printed,
    },
}

/// Returns a fault if no values that round to the figures make the statement true.
#[must_use]
pub fn check(statement: &Statement) -> Option<ReportFault> {
    match statement {
        Statement::Response { users, think, throughput, response } => triple(*users, *think, *throughput, *response),
        Statement::Product { factors, printed } => judge(
            FaultKind::ProductMismatch,
            *printed,
            factors.iter().fold((1.0, 1.0), |range, factor| times(range, factor.range())),
        ),
        Statement::Ratio { numerator, denominator, printed } => {
            judge(FaultKind::RatioMismatch, *printed, times(numerator.range(), inverse(denominator.range())?))
        }
        Statement::Sum { terms, printed } => {
            let range =
                terms.iter().map(|term| term.range()).fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
            judge(FaultKind::SumMismatch, *printed, range)
        }
        Statement::Same { values } => {
            let first = values.first()?;
            let other = values.iter().find(|value| !value.meets(first.range().0, first.range().1))?;
            judge(FaultKind::TwoValues, *other, first.range())
        }
        Statement::Columns { first, second } => scaled(first, second),
        Statement::Utilization { throughput, demand, servers, printed } => {
            let busy = times(throughput.range(), demand.range());
            judge(FaultKind::UtilizationMismatch, *printed, times(busy, inverse(servers.range())?))
        }
        Statement::Little { throughput, response, printed } => {
            judge(FaultKind::LittleMismatch, *printed, times(throughput.range(), response.range()))
        }
        Statement::Overhead { base, measured, printed } => {
            let ratio = times(measured.range(), inverse(base.range())?);
            judge(FaultKind::OverheadMismatch, *printed, (100.0 * (ratio.0 - 1.0), 100.0 * (ratio.1 - 1.0)))
        }
    }
}

type Range = (f64, f64);

fn judge(kind: FaultKind, printed: Printed, (least, most): Range) -> Option<ReportFault> {
    (!printed.meets(least, most)).then_some(ReportFault { kind, printed: printed.value, least, most })
}

fn times(a: Range, b: Range) -> Range {
    let products = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    (products.iter().copied().fold(f64::INFINITY, f64::min), products.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Inverts a positive range; `None` if the range reaches zero, in which case nothing can be concluded.
fn inverse((low, high): Range) -> Option<Range> {
    (low > 0.0).then(|| (1.0 / high, 1.0 / low))
}

fn triple(users: Printed, think: Printed, throughput: Printed, response: Option<Printed>) -> Option<ReportFault> {
    let cycle = times(users.range(), inverse(throughput.range())?);
    let left = (cycle.0 - think.range().1, cycle.1 - think.range().0);
    if let Some(response) = response {
        return judge(FaultKind::ResponseMismatch, response, left);
    }
    // The nominal figures leave nothing: a response takes time, so either the digits hide it, or the driver does not think.
    let nominal = users.value / throughput.value - think.value;
    let slack = 1e-9 * think.value.abs();
    (nominal <= slack).then_some(ReportFault {
        kind: FaultKind::ImpossibleTriple,
        printed: nominal,
        least: left.0.max(0.0),
        most: left.1.max(0.0),
    })
}

/// Returns a fault if the second column is the first times the same whole number in every row.
fn scaled(first: &[Printed], second: &[Printed]) -> Option<ReportFault> {
    let (one, other) = (first.first()?, second.first()?);
    let factor = (other.value / one.value).round();
    let all = first.len() == second.len()
        && first.len() > 1
        && factor > 1.0
        && first.iter().zip(second).all(|(a, b)| (a.value * factor - b.value).abs() <= 1e-9 * b.value.abs());
    all.then_some(ReportFault { kind: FaultKind::ScaledColumn, printed: other.value, least: factor, most: factor })
}
