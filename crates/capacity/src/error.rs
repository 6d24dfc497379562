//! Errors of models.

/// Error of a model. Each names the quantity, the expected and the found value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A quantity that must be a finite number is not.
    #[error("{what} is {found}, expected a finite number")]
    NotFinite {
        /// The quantity.
        what: &'static str,
        /// Value found.
        found: f64,
    },
    /// A quantity lies outside its range.
    #[error("{what} is {}, expected {}", short(*found), range(*least, *most))]
    OutOfRange {
        /// The quantity.
        what: &'static str,
        /// Value found.
        found: f64,
        /// Smallest value that has a meaning.
        least: f64,
        /// Largest value that has a meaning.
        most: f64,
    },
    /// Two lists that describe the same things differ in length.
    #[error("{what} has {found} entries, expected {expected}")]
    WrongLength {
        /// The list.
        what: &'static str,
        /// Entries that it must have.
        expected: usize,
        /// Entries that it has.
        found: usize,
    },
    /// A station receives more work than it can do.
    #[error("{station} is saturated: utilization {utilization:.4}, expected below 1")]
    Saturated {
        /// Name of the station.
        station: String,
        /// Work that arrives over work that it can do.
        utilization: f64,
    },
    /// A closed class has neither demand nor think time, so its throughput has no bound.
    #[error("class {class} has neither service demand nor think time, so its throughput has no bound")]
    NoDemand {
        /// Index of the class, from 0.
        class: usize,
    },
    /// A workload of one class has neither demand nor think time, so its throughput has no bound.
    #[error("the transaction needs no time at any station and its users do not think, so its throughput has no bound")]
    NoTime,
    /// The method needs more memory or time than its limit.
    #[error("{what} needs {}, the limit is {}", short(needed.round()), short(limit.round()))]
    TooLarge {
        /// Resource that is needed.
        what: &'static str,
        /// Amount needed.
        needed: f64,
        /// Amount allowed.
        limit: f64,
    },
    /// Every customer waits for room that only another waiting customer could free.
    #[error("all {customers} customers wait for room at full stations")]
    Deadlock {
        /// Customers.
        customers: usize,
    },
    /// The number of measurements is smaller than the number of model parameters.
    #[error("{found} measurements, the fit needs at least {needed}")]
    TooFewPoints {
        /// Measurements that are needed.
        needed: usize,
        /// Measurements that are there.
        found: usize,
    },
    /// The measurements do not vary enough to determine the parameters separately.
    #[error("the measurements cannot separate {what}")]
    NotIdentifiable {
        /// Parameters that cannot be separated.
        what: &'static str,
    },
    /// A cost is smaller than the differences between equal runs.
    #[error("the cost of {what} is smaller than the noise of the runs")]
    Noise {
        /// Part of the work.
        what: &'static str,
    },
    /// No measurement includes this kind of work.
    #[error("no measurement has a {what} above 0, so its cost is unknown")]
    NotMeasured {
        /// Name of the kind of work.
        what: &'static str,
    },
    /// The question lies further outside the measurements than the fit supports.
    #[error(
        "a {what} of {asked} is more than {limit} times the largest measured value {measured}, and the fit is not certain enough"
    )]
    Extrapolation {
        /// Quantity measured.
        what: &'static str,
        /// Requested amount.
        asked: f64,
        /// Largest measured value.
        measured: f64,
        /// Factor up to which the fit answers.
        limit: f64,
    },
    /// An iteration did not settle.
    #[error("{what} did not converge in {iterations} iterations")]
    NoConvergence {
        /// The iteration.
        what: &'static str,
        /// Iterations that were made.
        iterations: usize,
    },
    /// The method does not cover such a network or question.
    #[error("{method} does not cover {what}")]
    NotCovered {
        /// The method.
        method: &'static str,
        /// Case that the model does not cover.
        what: &'static str,
    },
}

impl ModelError {
    /// Returns the step that resolves the error.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            ModelError::NotFinite { .. } | ModelError::OutOfRange { .. } | ModelError::WrongLength { .. } => {
                "correct the value; units are seconds, events a second and shares from 0 to 1"
            }
            ModelError::Saturated { .. } => "lower the arrival rate, add servers or reduce the demand",
            ModelError::NoDemand { .. } => "give the class a demand at one station or a think time",
            ModelError::NoTime => "give a station (or --cpu) a demand above 0, or give a think time",
            ModelError::TooLarge { .. } => "use the Linearizer, or merge classes that behave alike",
            ModelError::Deadlock { .. } => {
                "give a station on each circle of the routing more room, or lower the population"
            }
            ModelError::TooFewPoints { .. } => "measure at more load levels",
            ModelError::NotMeasured { .. } => "add a measurement that contains it, or remove it from the query",
            ModelError::NotIdentifiable { .. } => "vary the mix between measurements",
            ModelError::Noise { .. } => "measure more runs, with item counts that differ by a factor of 10 or more",
            ModelError::Extrapolation { .. } => "measure closer to the value that the question names",
            ModelError::NoConvergence { .. } => "use an exact solver, or report the input as a defect",
            ModelError::NotCovered { .. } => "choose another method; the documentation of each names what it covers",
        }
    }
}

/// Formats a number for a message: one of many digits in scientific notation.
fn short(number: f64) -> String {
    let is_plain = number == 0.0 || (1e-9..1e15).contains(&number.abs());
    if is_plain { number.to_string() } else { format!("{number:e}") }
}

/// Formats a range. The largest number and the smallest above zero mean that the side is open.
fn range(least: f64, most: f64) -> String {
    let above = least == f64::MIN_POSITIVE;
    match (above, most == f64::MAX) {
        (true, true) => "above 0".to_owned(),
        (true, false) => format!("above 0 and at most {}", short(most)),
        (false, true) => format!("at least {}", short(least)),
        (false, false) => format!("{} to {}", short(least), short(most)),
    }
}

/// Checks that `found` is finite and within `least..=most`.
pub(crate) fn within(what: &'static str, found: f64, least: f64, most: f64) -> Result<f64, ModelError> {
    if !found.is_finite() {
        return Err(ModelError::NotFinite { what, found });
    }
    if found < least || found > most {
        return Err(ModelError::OutOfRange { what, found, least, most });
    }
    Ok(found)
}

/// Checks that `found` is finite and not negative.
pub(crate) fn not_negative(what: &'static str, found: f64) -> Result<f64, ModelError> {
    within(what, found, 0.0, f64::MAX)
}

/// Checks that `found` is finite and above zero.
pub(crate) fn positive(what: &'static str, found: f64) -> Result<f64, ModelError> {
    within(what, found, f64::MIN_POSITIVE, f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: messages printed bounds that no caller set, with 309 digits.
    #[test]
    fn no_message_has_hundreds_of_digits() {
        let text = |found: Result<f64, ModelError>| found.unwrap_err().to_string();
        assert_eq!(text(not_negative("memory", -4.0)), "memory is -4, expected at least 0");
        assert_eq!(text(positive("rating", 0.0)), "rating is 0, expected above 0");
        assert_eq!(text(within("share", 1.5, f64::MIN_POSITIVE, 1.0)), "share is 1.5, expected above 0 and at most 1");
        assert_eq!(text(within("target", -1e300, 0.05, 1.0)), "target is -1e300, expected 0.05 to 1");
        let large = ModelError::TooLarge { what: "the table", needed: 1e40, limit: 5e8 };
        assert_eq!(large.to_string(), "the table needs 1e40, the limit is 500000000");
    }
}
