//! What an interval report says: shares, CPU time per transaction, concurrency, charge-back.

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
    /// Of which by interactive work.
    pub interactive: Share,
    /// Of which by batch work.
    pub batch: Share,
}

/// What follows from a row.
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

/// Figures of a row on a machine of so many processors.
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

/// CPU time of a class as its meter sees it, and with what helpers did on its behalf. Both are reported: their difference is work that
/// the class' limit does not see.
#[must_use]
pub fn charged_back(own: Seconds, helpers: &[Seconds]) -> Estimate<(Seconds, Seconds)> {
    let helped: Seconds = helpers.iter().copied().sum();
    Estimate::exact(Method::ComponentReport, (own, own + helped))
}

/// CPU time of a transaction: CPU time of an interval over its transactions.
///
/// # Errors
/// [`ModelError`] for an interval without transactions.
pub fn transaction_cost(cpu: Seconds, interval: Seconds, rate: f64) -> Result<Estimate<Seconds>, ModelError> {
    not_negative("CPU time", cpu.0)?;
    let completed = positive("interval", interval.0)? * positive("transactions a second", rate)?;
    Ok(Estimate::exact(Method::TransactionCost, Seconds(cpu.0 / completed)))
}
