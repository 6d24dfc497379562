//! Weights of a station in the product form: `w(j)` for `j` closed customers, with the open customers summed out.
//!
//! With service rates `a(1), a(2), …` (constant from `a(L + 1)` on) and open work `rho`,
//! `w(j) = sum_i C(i + j, i) rho^i / (a(1) ⋯ a(i + j))`. From `L` on the weights are geometric, with the ratio `1 / (a (1 - rho / a))`.
//! All terms are positive, and everything is in logarithms, so a thousand servers neither overflow nor cancel.

use super::{Servers, Station, count};

/// Weights of one station, in logarithms, relative to `w(0)`.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    /// `ln(w(j) / w(0))` for `j` from 0 to `L`.
    pub(super) head: Vec<f64>,
    /// `ln(w(j + 1) / w(j))` for `j` from `L` on.
    pub(super) ratio: f64,
}

impl Weights {
    /// Weights of a station that is not a delay; `open` is its open work: the sum of rate times demand.
    pub(super) fn new(station: &Station, open: f64) -> Weights {
        let length = match &station.servers {
            Servers::Delay => 1,
            Servers::Count(servers) => (*servers).max(1) as usize,
            Servers::Rates(rates) => rates.len().max(1),
        };
        let rate = station.servers.rate(length);
        // ln(a(1) ⋯ a(n)) for n from 0 to `length`.
        let mut product = vec![0.0];
        for n in 1..=length {
            product.push(product[n - 1] + station.servers.rate(n).ln());
        }
        let load = open / rate;
        let ratio = -(rate * (1.0 - load)).ln();
        let raw: Vec<f64> = (0..length)
            .map(|j| if open > 0.0 { with_open(j, open, load, rate, &product) } else { -product[j] })
            .collect();
        let head = raw.iter().map(|weight| weight - raw[0]).collect();
        Weights { head, ratio }
    }

    /// Returns `ln(w(j) / w(0))` for any `j`.
    pub(super) fn at(&self, customers: usize) -> f64 {
        let last = self.head.len() - 1;
        if customers <= last { self.head[customers] } else { self.head[last] + count(customers - last) * self.ratio }
    }

    /// Returns true if the weights are geometric from the start, as for a single server.
    pub(super) fn is_single(&self) -> bool {
        self.head.len() == 1
    }
}

/// Returns `ln w(j)` with open work. The tail from `i = length - j` is the tail of a negative binomial distribution, which equals the head of
/// a binomial one, so it is a finite sum of positive terms too.
fn with_open(j: usize, open: f64, load: f64, rate: f64, product: &[f64]) -> f64 {
    let length = product.len() - 1;
    let mut terms = Vec::new();
    let mut choose = 0.0_f64;
    for i in 0..length - j {
        if i > 0 {
            choose += (count(i + j) / count(i)).ln();
        }
        terms.push(choose + count(i) * open.ln() - product[i + j]);
    }
    let scale = count(length - j) * rate.ln() - product[length] - count(j + 1) * (1.0 - load).ln();
    let mut binomial = 0.0_f64;
    for s in 0..=j {
        if s > 0 {
            binomial += (count(length - s + 1) / count(s)).ln();
        }
        terms.push(scale + binomial + count(s) * (1.0 - load).ln() + count(length - s) * load.ln());
    }
    log_sum(&terms)
}

/// Returns `ln(sum of exp(terms))` without overflow. Terms below e^-50 of the largest add less than a rounding error.
pub(super) fn log_sum(terms: &[f64]) -> f64 {
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    let sum: f64 = terms.iter().map(|term| term - most).filter(|below| *below > -50.0).map(f64::exp).sum();
    most + sum.ln()
}
