//! Linear least squares of few columns, free or non-negative, with confidence intervals and a condition number.

use super::student::t95;
use crate::{Estimate, Method, ModelError, Validity};

/// Constraint on the signs of coefficients.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sign {
    /// Any.
    Any,
    /// All coefficients are zero or positive, as costs are.
    NotNegative,
}

/// A fitted coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// Value of the coefficient.
    pub value: f64,
    /// Half width of its 95 % confidence interval; infinite without spare measurements, zero at a bound.
    pub half_width: f64,
}

/// A linear fit.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearFit {
    /// Coefficients, by column.
    pub coefficients: Vec<Coefficient>,
    /// Sum of squared residuals.
    pub residual: f64,
    /// Share of the variance that the fit explains.
    pub r_squared: f64,
    /// Condition number of the columns, each scaled to length one. Above 30, the columns are hard to separate (Belsley 1980).
    pub condition: f64,
}

/// Columns that a fit may have; non-negative fits try every subset.
const COLUMNS_MAX: usize = 10;

/// Fits `values` by `rows` of columns. Non-negative fits are the best of all subsets of columns, which is exact for so few.
///
/// # Errors
/// [`ModelError::TooFewPoints`] with fewer rows than columns, [`ModelError::NotIdentifiable`] for columns that depend on each other,
/// [`ModelError::NotFinite`] for values that are not numbers.
pub fn least_squares(rows: &[Vec<f64>], values: &[f64], sign: Sign) -> Result<Estimate<LinearFit>, ModelError> {
    let columns = rows.first().map_or(0, Vec::len);
    if rows.len() != values.len() {
        return Err(ModelError::WrongLength { what: "values", expected: rows.len(), found: values.len() });
    }
    if rows.len() < columns || columns == 0 {
        return Err(ModelError::TooFewPoints { needed: columns.max(1), found: rows.len() });
    }
    if columns > COLUMNS_MAX {
        let (needed, limit) = (columns as f64, COLUMNS_MAX as f64);
        return Err(ModelError::TooLarge { what: "columns of a fit", needed, limit });
    }
    for row in rows {
        if row.len() != columns {
            return Err(ModelError::WrongLength { what: "row", expected: columns, found: row.len() });
        }
        if let Some(found) = row.iter().copied().find(|value| !value.is_finite()) {
            return Err(ModelError::NotFinite { what: "entry of a fit", found });
        }
    }
    if let Some(found) = values.iter().copied().find(|value| !value.is_finite()) {
        return Err(ModelError::NotFinite { what: "measured value", found });
    }
    let all: Vec<usize> = (0..columns).collect();
    let best = match sign {
        Sign::Any => solve(rows, values, &all)?,
        Sign::NotNegative => best_subset(rows, values, columns)?,
    };
    Ok(Estimate::new(Method::CostFit, Validity::WithinData, best))
}

fn best_subset(rows: &[Vec<f64>], values: &[f64], columns: usize) -> Result<LinearFit, ModelError> {
    let mut best: Option<LinearFit> = None;
    // A full fit that cannot tell its columns apart is refused, rather than answered by one of them.
    let all: Vec<usize> = (0..columns).collect();
    solve(rows, values, &all)?;
    for subset in 1_u32..1 << columns {
        let chosen: Vec<usize> = (0..columns).filter(|column| subset >> column & 1 == 1).collect();
        let Ok(fit) = solve(rows, values, &chosen) else { continue };
        let allowed = fit.coefficients.iter().all(|coefficient| coefficient.value >= 0.0);
        if allowed && best.as_ref().is_none_or(|best| fit.residual < best.residual) {
            best = Some(fit);
        }
    }
    best.ok_or(ModelError::NotIdentifiable { what: "non-negative costs" })
}

/// Fits a subset of the columns with two passes of Gram-Schmidt over scaled columns, which is as exact as Householder for so few columns.
fn solve(rows: &[Vec<f64>], values: &[f64], chosen: &[usize]) -> Result<LinearFit, ModelError> {
    let columns = rows.first().map_or(0, Vec::len);
    let mut q: Vec<Vec<f64>> = Vec::new();
    let mut r: Vec<Vec<f64>> = Vec::new();
    let mut lengths = Vec::new();
    for &column in chosen {
        let mut vector: Vec<f64> = rows.iter().map(|row| row[column]).collect();
        let length = dot(&vector, &vector).sqrt();
        if length == 0.0 {
            return Err(ModelError::NotIdentifiable { what: "a column without any entry" });
        }
        vector.iter_mut().for_each(|entry| *entry /= length);
        let mut parts = vec![0.0; q.len()];
        for _ in 0..2 {
            for (part, earlier) in parts.iter_mut().zip(&q) {
                let along = dot(earlier, &vector);
                *part += along;
                for (entry, base) in vector.iter_mut().zip(earlier) {
                    *entry -= along * base;
                }
            }
        }
        let left = dot(&vector, &vector).sqrt();
        if left < 1e-10 {
            return Err(ModelError::NotIdentifiable { what: "the columns of the fit" });
        }
        vector.iter_mut().for_each(|entry| *entry /= left);
        parts.push(left);
        q.push(vector);
        r.push(parts);
        lengths.push(length);
    }
    let mut rest = values.to_vec();
    let along: Vec<f64> = q
        .iter()
        .map(|base| {
            let part = dot(base, &rest);
            rest.iter_mut().zip(base).for_each(|(entry, base)| *entry -= part * base);
            part
        })
        .collect();
    let inverse = inverse_upper(&r);
    let residual = dot(&rest, &rest);
    let spare = values.len() - chosen.len();
    let variance = if spare > 0 { residual / spare as f64 } else { f64::INFINITY };
    let mut coefficients = vec![Coefficient { value: 0.0, half_width: 0.0 }; columns];
    for (i, &column) in chosen.iter().enumerate() {
        let value = dot(&inverse[i], &along) / lengths[i];
        let spread = dot(&inverse[i], &inverse[i]).sqrt() / lengths[i];
        let half_width = if spare > 0 { t95(spare) * variance.sqrt() * spread } else { f64::INFINITY };
        coefficients[column] = Coefficient { value, half_width };
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variation: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let r_squared = if variation > 0.0 { 1.0 - residual / variation } else { 1.0 };
    Ok(LinearFit { coefficients, residual, r_squared, condition: condition(&r) })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Rows of the inverse of the upper triangular matrix whose columns `r` are.
fn inverse_upper(r: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = r.len();
    let mut inverse = vec![vec![0.0; n]; n];
    for column in 0..n {
        inverse[column][column] = 1.0 / r[column][column];
        for row in (0..column).rev() {
            let sum: f64 = (row + 1..=column).map(|k| r[k][row] * inverse[k][column]).sum();
            inverse[row][column] = -sum / r[row][row];
        }
    }
    inverse
}

/// Computes the ratio of the largest to the smallest singular value of the triangular matrix, by power iteration on it and on its inverse.
fn condition(r: &[Vec<f64>]) -> f64 {
    let n = r.len();
    let at = |row: usize, column: usize| if row <= column { r[column][row] } else { 0.0 };
    let forward: Vec<Vec<f64>> = (0..n).map(|row| (0..n).map(|column| at(row, column)).collect()).collect();
    norm(&forward) * norm(&inverse_upper(r))
}

fn norm(matrix: &[Vec<f64>]) -> f64 {
    let n = matrix.len();
    let mut vector: Vec<f64> = (0..n).map(|i| 1.0 + i as f64 / 7.0).collect();
    let mut size = 0.0;
    for _ in 0..200 {
        let image: Vec<f64> = matrix.iter().map(|row| dot(row, &vector)).collect();
        let back: Vec<f64> =
            (0..n).map(|c| matrix.iter().zip(&image).map(|(row, value)| row[c] * value).sum()).collect();
        let length = dot(&back, &back).sqrt();
        if length == 0.0 {
            break;
        }
        size = (dot(&image, &image) / dot(&vector, &vector)).sqrt();
        vector = back.into_iter().map(|entry| entry / length).collect();
    }
    size
}
