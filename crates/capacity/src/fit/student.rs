//! Quantiles of Student's t distribution, two-sided 95 %.

/// The 97.5th percentile for 1 to 30 degrees of freedom (Abramowitz & Stegun 1964, table 26.10).
const TABLE: [f64; 30] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157, 2.228_139,
    2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905, 2.109_816, 2.100_922, 2.093_024, 2.085_963,
    2.079_614, 2.073_873, 2.068_658, 2.063_899, 2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
];

/// Returns the factor of a 95 % confidence interval. Beyond the table, it is computed from the expansion in powers of one over the degrees of
/// freedom (Abramowitz & Stegun 26.7.5). With no degrees of freedom the interval is infinite.
pub(crate) fn t95(degrees: usize) -> f64 {
    if degrees == 0 {
        return f64::INFINITY;
    }
    if let Some(value) = TABLE.get(degrees - 1) {
        return *value;
    }
    let z = 1.959_963_984_540_054_f64;
    let n = degrees as f64;
    let z3 = z.powi(3);
    let z5 = z.powi(5);
    z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
}
