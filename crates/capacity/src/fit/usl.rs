//! The Universal Scalability Law: `X(N) = g N / (1 + a (N - 1) + b N (N - 1))` with contention `a` and coherency `b` from 0 to 1.

use super::least_squares::{Sign, least_squares};
use super::student::t95;
use crate::error::positive;
use crate::{Estimate, Method, ModelError, PerSecond, Validity};

/// A measured load (clients, workers, partitions) and its throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPoint {
    /// Load.
    pub load: f64,
    /// Throughput.
    pub throughput: f64,
}

/// An interval of confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A fitted law.
#[derive(Clone, Debug, PartialEq)]
pub struct UslFit {
    /// Throughput of one: `g`.
    pub gamma: f64,
    /// Contention: `a`.
    pub alpha: f64,
    /// Coherency: `b`.
    pub beta: f64,
    /// 95 % profile intervals of the three, in this order; none without spare measurements.
    pub intervals: Option<[Interval; 3]>,
    /// Share of the variance that the fit explains.
    pub r_squared: f64,
    /// Sum of squared residuals.
    pub residual: f64,
    /// Largest load measured.
    pub most: f64,
    points: Vec<LoadPoint>,
}

/// A predicted throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UslPrediction {
    /// Throughput.
    pub throughput: PerSecond,
    /// 95 % interval of the mean, by the delta method.
    pub interval: Interval,
}

/// The largest throughput, and its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UslPeak {
    /// Load.
    pub load: f64,
    /// Throughput.
    pub throughput: PerSecond,
}

/// Factor of the largest measured load up to which a prediction needs no further proof.
const EXTRAPOLATION_MAX: f64 = 2.0;
/// Relative width of the interval below which a prediction further out is given too.
const CERTAIN: f64 = 0.2;

impl UslFit {
    /// Returns the load with the largest throughput, `sqrt((1 - a) / b)`; `None` without coherency.
    #[must_use]
    pub fn peak_load(&self) -> Option<f64> {
        (self.beta > 0.0 && self.alpha < 1.0).then(|| ((1.0 - self.alpha) / self.beta).sqrt())
    }

    /// Returns the largest throughput; `None` without coherency.
    #[must_use]
    pub fn peak_throughput(&self) -> Option<PerSecond> {
        self.peak_load().map(|load| PerSecond(self.at(load)))
    }

    /// Predicts the peak, under the same limits as any other load; `None` without coherency.
    ///
    /// # Errors
    /// [`ModelError::Extrapolation`] as for [`UslFit::predict`].
    pub fn peak(&self) -> Option<Result<Estimate<UslPeak>, ModelError>> {
        let load = self.peak_load()?;
        Some(self.predict(load).map(|at| at.map(|at| UslPeak { load, throughput: at.throughput })))
    }

    /// Returns Amdahl's limit `g / a`, an upper bound of the throughput that ignores coherency; `None` without contention.
    #[must_use]
    pub fn limit(&self) -> Option<PerSecond> {
        (self.alpha > 0.0).then(|| PerSecond(self.gamma / self.alpha))
    }

    /// Evaluates the law at a load.
    #[must_use]
    pub fn at(&self, load: f64) -> f64 {
        self.gamma * shape(load, self.alpha, self.beta)
    }

    /// Predicts a throughput with its interval.
    ///
    /// # Errors
    /// [`ModelError::Extrapolation`] beyond twice the largest measured load, unless the interval is narrower than 20 %.
    pub fn predict(&self, load: f64) -> Result<Estimate<UslPrediction>, ModelError> {
        positive("load", load)?;
        let throughput = self.at(load);
        let half = self.half_width(load);
        let factor = load / self.most;
        let certain = 2.0 * half < CERTAIN * throughput;
        if factor > EXTRAPOLATION_MAX && !certain {
            let (what, limit) = ("load", EXTRAPOLATION_MAX);
            return Err(ModelError::Extrapolation { what, asked: load, measured: self.most, limit });
        }
        let least = self.points.iter().map(|point| point.load).fold(f64::INFINITY, f64::min);
        let validity = Validity::of_range(load, least, self.most);
        let interval = Interval { low: (throughput - half).max(0.0), high: throughput + half };
        Ok(Estimate::new(Method::Usl, validity, UslPrediction { throughput: PerSecond(throughput), interval }))
    }

    /// Returns the half width of the 95 % interval of the mean at a load. Parameters at a bound are treated as known.
    fn half_width(&self, load: f64) -> f64 {
        let free = self.free();
        let spare = self.points.len().saturating_sub(free.len());
        if spare == 0 {
            return f64::INFINITY;
        }
        let gradient = |load: f64| -> Vec<f64> {
            let all = slopes(load, [self.gamma, self.alpha, self.beta]);
            free.iter().map(|&parameter| all[parameter]).collect()
        };
        let mut normal = vec![vec![0.0; free.len()]; free.len()];
        for point in &self.points {
            accumulate(&mut normal, &gradient(point.load));
        }
        let here = gradient(load);
        let Some(solved) = solve_symmetric(normal, here.clone()) else { return f64::INFINITY };
        let variance: f64 = here.iter().zip(&solved).map(|(a, b)| a * b).sum();
        t95(spare) * (self.residual / spare as f64 * variance).max(0.0).sqrt()
    }

    fn free(&self) -> Vec<usize> {
        let inside = |value: f64| value > 0.0 && value < 1.0;
        [(0, true), (1, inside(self.alpha)), (2, inside(self.beta))]
            .iter()
            .filter(|(_, free)| *free)
            .map(|(at, _)| *at)
            .collect()
    }
}

fn shape(load: f64, alpha: f64, beta: f64) -> f64 {
    load / (1.0 + alpha * (load - 1.0) + beta * load * (load - 1.0))
}

/// Derivatives by gamma, alpha and beta.
fn slopes(load: f64, [gamma, alpha, beta]: [f64; 3]) -> [f64; 3] {
    let value = shape(load, alpha, beta);
    let by_alpha = -gamma * value * value / load * (load - 1.0);
    [value, by_alpha, by_alpha * load]
}

/// A parameter of a fit: free, or held at a value.
#[derive(Clone, Copy, Debug)]
enum Held {
    Free,
    At(f64),
}

/// Fits the law by bounded least squares: Levenberg and Marquardt from several starts, with each bound active or not, so that the result
/// is the best point of the box. Needs at least four points, one more than parameters.
///
/// # Errors
/// [`ModelError::TooFewPoints`] below four points, [`ModelError`] for loads or throughputs that are not positive.
pub fn fit_usl(points: &[LoadPoint]) -> Result<Estimate<UslFit>, ModelError> {
    check(points)?;
    let most = points.iter().map(|point| point.throughput).fold(0.0, f64::max);
    let scaled: Vec<LoadPoint> =
        points.iter().map(|point| LoadPoint { throughput: point.throughput / most, ..*point }).collect();
    let sides = [Held::Free, Held::At(0.0), Held::At(1.0)];
    let mut best: Option<([f64; 3], f64)> = None;
    for alpha in sides {
        for beta in sides {
            if let Some(found) = search(&scaled, [Held::Free, alpha, beta]) {
                let inside = (0.0..=1.0).contains(&found.0[1]) && (0.0..=1.0).contains(&found.0[2]);
                // A bound that is active must be better by more than noise.
                if inside && found.0[0] > 0.0 && best.is_none_or(|best| found.1 < best.1 * (1.0 - 1e-12)) {
                    best = Some(found);
                }
            }
        }
    }
    let (parameters, residual) =
        best.ok_or(ModelError::NoConvergence { what: "scalability fit", iterations: STEPS_MAX })?;
    let intervals = profile(&scaled, parameters, residual)
        .map(|[gamma, alpha, beta]| [Interval { low: gamma.low * most, high: gamma.high * most }, alpha, beta]);
    Ok(Estimate::new(Method::Usl, Validity::WithinData, finish(points, parameters, most, residual, intervals)))
}

/// Fits the law by linear least squares of `N / X` over `1`, `N - 1` and `N (N - 1)` with non-negative coefficients (Gunther 2007, section 5.2).
/// The method weights small loads more than [`fit_usl`] does; it is kept for comparison with published tables.
///
/// # Errors
/// [`ModelError`] as for [`fit_usl`].
pub fn fit_usl_quadratic(points: &[LoadPoint]) -> Result<Estimate<UslFit>, ModelError> {
    check(points)?;
    let rows: Vec<Vec<f64>> = points.iter().map(|at| vec![1.0, at.load - 1.0, at.load * (at.load - 1.0)]).collect();
    let values: Vec<f64> = points.iter().map(|at| at.load / at.throughput).collect();
    let fit = least_squares(&rows, &values, Sign::NotNegative)?.value;
    let base = positive("fixed part", fit.coefficients[0].value)?;
    let parameters = [1.0 / base, fit.coefficients[1].value / base, fit.coefficients[2].value / base];
    let residual = residual(points, parameters);
    let validity = Validity::Approximate("weights small loads more than least squares of throughput");
    Ok(Estimate::new(Method::UslQuadratic, validity, finish(points, parameters, 1.0, residual, None)))
}

fn check(points: &[LoadPoint]) -> Result<(), ModelError> {
    for point in points {
        positive("load", point.load)?;
        positive("throughput", point.throughput)?;
    }
    if points.len() < 4 {
        return Err(ModelError::TooFewPoints { needed: 4, found: points.len() });
    }
    Ok(())
}

fn finish(
    points: &[LoadPoint],
    parameters: [f64; 3],
    unit: f64,
    residual: f64,
    intervals: Option<[Interval; 3]>,
) -> UslFit {
    let mean = points.iter().map(|point| point.throughput).sum::<f64>() / points.len() as f64;
    let variation: f64 = points.iter().map(|point| (point.throughput - mean).powi(2)).sum();
    let residual = residual * unit * unit;
    UslFit {
        gamma: parameters[0] * unit,
        alpha: parameters[1],
        beta: parameters[2],
        intervals,
        r_squared: if variation > 0.0 { 1.0 - residual / variation } else { 1.0 },
        residual,
        most: points.iter().map(|point| point.load).fold(0.0, f64::max),
        points: points.to_vec(),
    }
}

fn residual(points: &[LoadPoint], [gamma, alpha, beta]: [f64; 3]) -> f64 {
    points.iter().map(|at| (at.throughput - gamma * shape(at.load, alpha, beta)).powi(2)).sum()
}

const STEPS_MAX: usize = 500;

/// Finds the best fit with some parameters fixed, from several starting points.
fn search(points: &[LoadPoint], held: [Held; 3]) -> Option<([f64; 3], f64)> {
    let one = points.iter().map(|point| point.throughput / point.load).fold(0.0, f64::max);
    let mut best: Option<([f64; 3], f64)> = None;
    for alpha in [0.0, 0.003, 0.03, 0.3] {
        for beta in [0.0, 1e-5, 1e-3, 0.05] {
            let mut start = [one, alpha, beta];
            for (value, held) in start.iter_mut().zip(held) {
                if let Held::At(fixed) = held {
                    *value = fixed;
                }
            }
            let found = descend(points, start, held);
            if found.1.is_finite() && best.is_none_or(|best| found.1 < best.1) {
                best = Some(found);
            }
        }
    }
    best
}

/// Runs Levenberg-Marquardt. Free parameters may leave the box; the caller checks.
fn descend(points: &[LoadPoint], start: [f64; 3], held: [Held; 3]) -> ([f64; 3], f64) {
    let free: Vec<usize> = (0..3).filter(|&at| matches!(held[at], Held::Free)).collect();
    let mut now = start;
    let mut error = residual(points, now);
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let mut normal = vec![vec![0.0; free.len()]; free.len()];
        let mut pull = vec![0.0; free.len()];
        for point in points {
            let all = slopes(point.load, now);
            let row: Vec<f64> = free.iter().map(|&at| all[at]).collect();
            let miss = point.throughput - now[0] * shape(point.load, now[1], now[2]);
            accumulate(&mut normal, &row);
            pull.iter_mut().zip(&row).for_each(|(sum, slope)| *sum += slope * miss);
        }
        let mut damped = normal.clone();
        for (at, row) in damped.iter_mut().enumerate() {
            row[at] *= 1.0 + damping;
        }
        let Some(step) = solve_symmetric(damped, pull) else { break };
        let mut next = now;
        for (&at, change) in free.iter().zip(&step) {
            next[at] += change;
        }
        // A law with a pole between the points is none.
        let sound = points.iter().all(|at| shape(at.load, next[1], next[2]) > 0.0);
        let next_error = if sound { residual(points, next) } else { f64::INFINITY };
        if next_error <= error {
            let moved = free.iter().any(|&at| (next[at] - now[at]).abs() > 1e-14 * now[at].abs().max(1e-12));
            now = next;
            error = next_error;
            damping = (damping / 5.0).max(1e-15);
            if !moved {
                break;
            }
        } else {
            damping *= 4.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    (now, error)
}

/// Computes 95 % profile intervals: the values of one parameter at which the F test accepts the best fit by the others.
fn profile(points: &[LoadPoint], best: [f64; 3], error: f64) -> Option<[Interval; 3]> {
    let spare = points.len().checked_sub(3).filter(|spare| *spare > 0)?;
    let allowed = error * (1.0 + t95(spare).powi(2) / spare as f64);
    let bounded = |value: f64, at: usize| if at == 0 { value.max(0.0) } else { value.clamp(0.0, 1.0) };
    let fits = |at: usize, value: f64| {
        let mut held = [Held::Free; 3];
        held[at] = Held::At(value);
        let mut start = best;
        start[at] = value;
        let free = descend(points, start, held);
        // Where the others leave the box, the edge decides.
        let inside = (1..3).all(|other| other == at || (0.0..=1.0).contains(&free.0[other]));
        let error = if inside {
            free.1
        } else {
            let mut edge = held;
            for other in 1..3 {
                if other != at {
                    edge[other] = Held::At(free.0[other].clamp(0.0, 1.0));
                    start[other] = free.0[other].clamp(0.0, 1.0);
                }
            }
            descend(points, start, edge).1
        };
        error <= allowed
    };
    let end = |at: usize, direction: f64| {
        let mut step = best[at].abs().max(1e-9) * 0.05;
        let mut inner = best[at];
        let mut outer = None;
        for _ in 0..80 {
            let next = bounded(inner + direction * step, at);
            if next == inner {
                return inner;
            }
            if fits(at, next) {
                inner = next;
                step *= 2.0;
            } else {
                outer = Some(next);
                break;
            }
        }
        let Some(mut outer) = outer else { return inner };
        for _ in 0..40 {
            let middle = (inner + outer) / 2.0;
            if fits(at, middle) { inner = middle } else { outer = middle }
        }
        inner
    };
    Some([0, 1, 2].map(|at| Interval { low: end(at, -1.0), high: end(at, 1.0) }))
}

fn accumulate(normal: &mut [Vec<f64>], row: &[f64]) {
    for (line, a) in normal.iter_mut().zip(row) {
        for (entry, b) in line.iter_mut().zip(row) {
            *entry += a * b;
        }
    }
}

/// Solves a small symmetric system by elimination with scaling and pivots; none where it is singular.
fn solve_symmetric(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    let scale: Vec<f64> = (0..n).map(|i| matrix[i][i].abs().sqrt()).collect();
    if !scale.iter().all(|size| *size > 0.0) {
        return None;
    }
    for i in 0..n {
        for j in 0..n {
            matrix[i][j] /= scale[i] * scale[j];
        }
        right[i] /= scale[i];
    }
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        if matrix[pivot][column].abs() < 1e-300 {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..n {
            let factor = matrix[row][column] / matrix[column][column];
            let pivot_row = matrix[column].clone();
            for (entry, above) in matrix[row].iter_mut().zip(&pivot_row).skip(column) {
                *entry -= factor * above;
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| matrix[row][k] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right.iter_mut().zip(&scale).for_each(|(value, size)| *value /= size);
    Some(right)
}
