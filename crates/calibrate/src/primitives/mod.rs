//! Primitive workloads: what a request over the network and an operation of cryptography cost, by themselves.
//!
//! A rating does not include them. A transaction of an application is made of many primitives, so their figures bound it and do not predict it.

mod crypto;
mod net;

pub use crypto::{CryptoRow, CryptoStudy};
pub use net::{NetOptions, NetRow, NetStudy, Policy, Traffic};

/// The median of values; 0 without any.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
