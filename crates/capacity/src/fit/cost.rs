//! Cost of a transaction: fixed + per byte + per field + per connection.

use super::LINEAR_EXTRAPOLATION_MAX;
use super::least_squares::{Coefficient, Sign, least_squares};
use crate::error::not_negative;
use crate::{Bytes, Estimate, Method, ModelError, Seconds, Validity};

/// Work of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Bytes read and written.
    pub bytes: Bytes,
    /// Fields mapped.
    pub fields: f64,
    /// Connections opened.
    pub connections: f64,
}

/// A measurement: the work and its CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostSample {
    /// Work done.
    pub work: Work,
    /// Cost of the work.
    pub cost: Seconds,
}

/// A fitted cost.
#[derive(Clone, Debug, PartialEq)]
pub struct CostModel {
    /// Seconds of every transaction.
    pub fixed: Coefficient,
    /// Seconds a byte.
    pub per_byte: Coefficient,
    /// Seconds a field.
    pub per_field: Coefficient,
    /// Seconds a connection.
    pub per_connection: Coefficient,
    /// Condition number of the measurements; above 30, the parts are hard to separate.
    pub condition: f64,
    /// Share of the variance that the fit explains.
    pub r_squared: f64,
    /// Largest relative error over the measurements.
    pub worst_error: f64,
    /// Smallest work measured, component by component.
    pub least: Work,
    /// Largest work measured, component by component.
    pub most: Work,
}

impl CostModel {
    /// Fits non-negative costs. Parts that do not occur in the measurements (no fields, no connections) cost nothing. A part that never varies
    /// cannot be separated from the fixed cost.
    ///
    /// # Errors
    /// [`ModelError::TooFewPoints`] and [`ModelError::NotIdentifiable`] if the measurements do not determine the parts separately.
    pub fn fit(samples: &[CostSample]) -> Result<Estimate<CostModel>, ModelError> {
        let columns: [fn(&Work) -> f64; 3] = [|work| work.bytes.0, |work| work.fields, |work| work.connections];
        for sample in samples {
            not_negative("cost", sample.cost.0)?;
            for column in columns {
                not_negative("work", column(&sample.work))?;
            }
        }
        let used: Vec<bool> =
            columns.iter().map(|column| samples.iter().any(|sample| column(&sample.work) > 0.0)).collect();
        let row = |work: &Work| {
            let mut row = vec![1.0];
            row.extend(columns.iter().zip(&used).filter(|(_, used)| **used).map(|(column, _)| column(work)));
            row
        };
        let rows: Vec<Vec<f64>> = samples.iter().map(|sample| row(&sample.work)).collect();
        let values: Vec<f64> = samples.iter().map(|sample| sample.cost.0).collect();
        let fit = least_squares(&rows, &values, Sign::NotNegative)?.value;
        let mut left = fit.coefficients.iter().copied();
        let none = Coefficient { value: 0.0, half_width: 0.0 };
        let mut next = |used: bool| if used { left.next().unwrap_or(none) } else { none };
        let of_all = |from: f64, take: fn(f64, f64) -> f64| Work {
            bytes: Bytes(samples.iter().map(|sample| sample.work.bytes.0).fold(from, take)),
            fields: samples.iter().map(|sample| sample.work.fields).fold(from, take),
            connections: samples.iter().map(|sample| sample.work.connections).fold(from, take),
        };
        let mut model = CostModel {
            fixed: next(true),
            per_byte: next(used[0]),
            per_field: next(used[1]),
            per_connection: next(used[2]),
            condition: fit.condition,
            r_squared: fit.r_squared,
            worst_error: 0.0,
            least: of_all(f64::INFINITY, f64::min),
            most: of_all(0.0, f64::max),
        };
        let errors = samples.iter().filter(|sample| sample.cost.0 > 0.0);
        let errors = errors.map(|sample| (model.cost_of(&sample.work) / sample.cost.0 - 1.0).abs());
        model.worst_error = errors.fold(0.0, f64::max);
        Ok(Estimate::new(Method::CostFit, Validity::WithinData, model))
    }

    fn cost_of(&self, work: &Work) -> f64 {
        self.fixed.value
            + self.per_byte.value * work.bytes.0
            + self.per_field.value * work.fields
            + self.per_connection.value * work.connections
    }

    /// Predicts a cost, and how far it is outside of the measurements.
    ///
    /// # Errors
    /// [`ModelError::NotMeasured`] for a kind of work that no measurement contains, [`ModelError::Extrapolation`] for more than ten times
    /// the largest measured work.
    pub fn predict(&self, work: &Work) -> Result<Estimate<Seconds>, ModelError> {
        let mut validity = Validity::WithinData;
        let parts = [
            ("number of bytes", work.bytes.0, self.least.bytes.0, self.most.bytes.0),
            ("number of fields", work.fields, self.least.fields, self.most.fields),
            ("number of connections", work.connections, self.least.connections, self.most.connections),
        ];
        for (what, asked, least, most) in parts {
            not_negative(what, asked)?;
            if asked > 0.0 && most == 0.0 {
                return Err(ModelError::NotMeasured { what });
            }
            let limit = LINEAR_EXTRAPOLATION_MAX;
            if asked > limit * most {
                return Err(ModelError::Extrapolation { what, asked, measured: most, limit });
            }
            validity = validity.weaker(Validity::of_range(asked, least, most));
        }
        Ok(Estimate::new(Method::CostFit, validity, Seconds(self.cost_of(work))))
    }
}
