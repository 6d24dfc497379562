//! Demands by class where only the utilization of a resource is known: `U m = sum_c X_c D_c + background` (Bard & Shatzoff 1978).

use super::least_squares::{Coefficient, Sign, least_squares};
use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, PerSecond, Share, Validity};

/// An interval: throughput by class and the utilization of the resource.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSample {
    /// Throughput by class.
    pub throughput: Vec<PerSecond>,
    /// Utilization, per server.
    pub utilization: Share,
}

/// Fitted demands.
#[derive(Clone, Debug, PartialEq)]
pub struct DemandFit {
    /// Seconds by class.
    pub demands: Vec<Coefficient>,
    /// Busy servers without any load.
    pub background: Coefficient,
    /// Condition number; above 30 the mix varied too little between intervals.
    pub condition: f64,
    /// Share of the variance that the fit explains.
    pub r_squared: f64,
}

/// Regresses demands on intervals of different mix.
///
/// # Errors
/// [`ModelError::TooFewPoints`] with fewer intervals than classes and one, [`ModelError::NotIdentifiable`] where the mix never changes.
pub fn regress_demands(samples: &[LoadSample], servers: u32) -> Result<Estimate<DemandFit>, ModelError> {
    positive("number of servers", f64::from(servers))?;
    let mut rows = Vec::new();
    let mut values = Vec::new();
    for sample in samples {
        not_negative("utilization", sample.utilization.0)?;
        let mut row = vec![1.0];
        for rate in &sample.throughput {
            row.push(not_negative("throughput", rate.0)?);
        }
        rows.push(row);
        values.push(sample.utilization.0 * f64::from(servers));
    }
    let fit = least_squares(&rows, &values, Sign::NotNegative)?.value;
    let background = fit.coefficients[0];
    let demands = fit.coefficients[1..].to_vec();
    let fit = DemandFit { demands, background, condition: fit.condition, r_squared: fit.r_squared };
    Ok(Estimate::new(Method::UtilizationRegression, Validity::WithinData, fit))
}
