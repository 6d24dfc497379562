//! Figures of an interval report: shares, CPU time per transaction, concurrency, charge-back.

use super::layout::part;
use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, Origin, Seconds, Share};

/// A row of a component report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComponentRow {
    /// Transactions an hour.
    pub transactions_an_hour: f64,
    /// Mean response time.
    pub response: Seconds,
    /// CPU utilization.
    pub total: Share,
    /// CPU utilization by interactive work, a part of `total`.
    pub interactive: Share,
    /// CPU utilization by batch work, a part of `total`.
    pub batch: Share,
}

/// Figures derived from a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComponentFigures {
    /// CPU utilization that neither class explains; negative values say that the row contradicts itself.
    pub other: Share,
    /// CPU time of a transaction.
    pub cpu: Seconds,
    /// Transactions in progress, by Little's law.
    pub concurrency: f64,
    /// Share of the CPU time in use that is interactive.
    pub interactive_part: Share,
}

/// Derives the figures of a row on a machine with this number of processors.
///
/// # Errors
/// [`ModelError`] for a row without transactions.
pub fn component_figures(row: &ComponentRow, processors: u32) -> Result<Estimate<ComponentFigures>, ModelError> {
    let rate = positive("transactions an hour", row.transactions_an_hour)? / 3600.0;
    let processors = positive("processors", f64::from(processors))?;
    not_negative("response time", row.response.0)?;
    let figures = ComponentFigures {
        other: Share(row.total.0 - row.interactive.0 - row.batch.0),
        cpu: Seconds(row.interactive.0 * processors / rate),
        concurrency: rate * row.response.0,
        interactive_part: part(row.interactive.0, row.total.0),
    };
    Ok(Estimate::exact(Method::ComponentReport, figures).from_inputs(Origin::Measured))
}

/// Returns the CPU time of a class from its own meter, and with the work of helpers on its behalf. The difference is work that the class'
/// limit does not count.
#[must_use]
pub fn charged_back(own: Seconds, helpers: &[Seconds]) -> Estimate<(Seconds, Seconds)> {
    let helped: Seconds = helpers.iter().copied().sum();
    Estimate::exact(Method::ComponentReport, (own, own + helped))
}

/// Computes the CPU time of a transaction: CPU time of an interval over its transactions.
///
/// # Errors
/// [`ModelError`] for an interval without transactions.
pub fn transaction_cost(cpu: Seconds, interval: Seconds, rate: f64) -> Result<Estimate<Seconds>, ModelError> {
    not_negative("CPU time", cpu.0)?;
    let completed = positive("interval", interval.0)? * positive("transactions a second", rate)?;
    Ok(Estimate::exact(Method::TransactionCost, Seconds(cpu.0 / completed)))
}
