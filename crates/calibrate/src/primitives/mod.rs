//! Primitive workloads: the cost of a network request or of a cryptographic operation alone.
//!
//! A rating does not include them. A transaction of an application consists of many primitives, so their costs are a lower bound, not a prediction.

mod crypto;
mod net;

pub use crypto::{CryptoRow, CryptoStudy};
pub use net::{NetOptions, NetRow, NetStudy, Policy, Traffic};

/// Returns the median; 0 for no values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
