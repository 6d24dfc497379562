//! Predictions over the number of users, for pictures.

use crate::prediction::{Prediction, Workload};

/// Points of the curve.
const POINTS: u32 = 24;
/// Maximum number of users for a curve, because each point is a separate solution.
const USERS_MAX: u32 = 20_000;

impl Workload {
    /// Predicts the workload from one user to beyond the number from which the bottleneck limits, and at least to `largest`. Empty for more than 20,000
    /// users.
    #[must_use]
    pub fn curve(&self, largest: u32) -> Vec<Prediction> {
        let beyond = quantity_of_users(1.5 * self.saturation_users());
        let end = largest.max(beyond);
        if end > USERS_MAX {
            return Vec::new();
        }
        let mut users: Vec<u32> = (0..=POINTS).map(|at| (end * at / POINTS).max(1)).collect();
        users.dedup();
        users.into_iter().filter_map(|users| Some(self.predict(users).ok()?.value)).collect()
    }
}

/// Returns the largest count up to [`USERS_MAX`] that is at most `users`, by bisection, because a float cannot be converted to a count without
/// loss.
fn quantity_of_users(users: f64) -> u32 {
    let (mut low, mut high) = (1, USERS_MAX);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if f64::from(middle) <= users { low = middle } else { high = middle - 1 }
    }
    low
}
