//! Cost by number of fields, of gateway features, and of maps that are interpreted.

use crate::error::{not_negative, within};
use crate::{Estimate, Method, ModelError, Share, Validity};

/// Fixed part of the cost by fields, in fields: 50 fields cost half as much as 350.
const FIXED_FIELDS: f64 = 250.0;

/// Computes the cost of a transaction of `fields` over that of one of `reference` fields: `(250 + fields) / (250 + reference)`.
///
/// # Errors
/// [`ModelError`] for negative counts.
pub fn field_cost_ratio(fields: f64, reference: f64) -> Result<Estimate<f64>, ModelError> {
    let ratio = (FIXED_FIELDS + not_negative("fields", fields)?) / (FIXED_FIELDS + not_negative("fields", reference)?);
    let text = "derived from one printed ratio; fit the cost of your own transactions instead";
    Ok(Estimate::new(Method::FieldCost, Validity::OurRule(text), ratio))
}

/// Fields of a page of a table: rows that are requested times columns.
#[must_use]
pub fn page_fields(rows: u64, columns: u64) -> Estimate<u64> {
    Estimate::exact(Method::FieldCost, rows.saturating_mul(columns))
}

/// A feature that adds to the cost of a transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feature {
    /// Cost that the feature adds, as a share of the cost without it.
    pub adds: Share,
}

impl Feature {
    /// Audit to a queue.
    pub const AUDIT: Feature = Feature { adds: Share(0.15) };
    /// Recovery by checkpoints.
    pub const RECOVERY: Feature = Feature { adds: Share(0.5) };
}

/// Rule that combines the costs of features.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Combine {
    /// Each adds to the cost with the others.
    Multiply,
    /// Each adds to the cost without any.
    Add,
}

/// Computes the cost with features over the cost without. No document says how several features combine, so both rules are offered.
///
/// # Errors
/// [`ModelError`] for negative costs.
pub fn feature_cost(base: f64, features: &[Feature], combine: Combine) -> Result<Estimate<f64>, ModelError> {
    not_negative("cost", base)?;
    let cost = match combine {
        Combine::Multiply => features.iter().fold(base, |cost, feature| cost * (1.0 + feature.adds.0)),
        Combine::Add => base * (1.0 + features.iter().map(|feature| feature.adds.0).sum::<f64>()),
    };
    let text = "printed shares for one product; measure each feature on and off";
    Ok(Estimate::new(Method::FeatureCost, Validity::RuleOfSource(text), cost))
}

/// Computes the range of CPU time saved by generating a share of the maps in advance: 5 to 10 % at 30 %, 20 to 25 % at 100 %, linear between.
///
/// # Errors
/// [`ModelError`] for shares outside 0 to 1.
pub fn pregeneration_saving(generated: Share) -> Result<Estimate<(Share, Share)>, ModelError> {
    let share = within("share generated ahead", generated.0, 0.0, 1.0)?;
    let line = |at30: f64, at100: f64| {
        if share <= 0.3 { at30 * share / 0.3 } else { at30 + (at100 - at30) * (share - 0.3) / 0.7 }
    };
    let text = "between the printed points the line is ours";
    Ok(Estimate::new(Method::FeatureCost, Validity::OurRule(text), (Share(line(0.05, 0.2)), Share(line(0.1, 0.25)))))
}
