//! Kinds of errors in printed figures.

/// Kind of an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FaultKind {
    /// Customers, throughput and think time leave no time for a response.
    ImpossibleTriple,
    /// Customers, throughput, think time and response time do not belong together.
    ResponseMismatch,
    /// A product differs from its factors.
    ProductMismatch,
    /// A ratio differs from its parts.
    RatioMismatch,
    /// A total differs from its parts.
    SumMismatch,
    /// One figure is printed with two values.
    TwoValues,
    /// A column is another one times a constant: calculated, not measured.
    ScaledColumn,
    /// A utilization differs from throughput times demand.
    UtilizationMismatch,
    /// A number of customers differs from throughput times response time.
    LittleMismatch,
    /// An overhead differs from its base and its measurement.
    OverheadMismatch,
}

impl FaultKind {
    /// Describes the kind in one phrase.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::ImpossibleTriple => "no time for a response",
            FaultKind::ResponseMismatch => "response time contradicts the response time law",
            FaultKind::ProductMismatch => "product contradicts its factors",
            FaultKind::RatioMismatch => "ratio contradicts its parts",
            FaultKind::SumMismatch => "total contradicts its parts",
            FaultKind::TwoValues => "one figure has two values",
            FaultKind::ScaledColumn => "calculated column, not a measurement",
            FaultKind::UtilizationMismatch => "utilization contradicts the utilization law",
            FaultKind::LittleMismatch => "number present contradicts Little's law",
            FaultKind::OverheadMismatch => "overhead contradicts its measurements",
        }
    }

    /// Returns the violated law or rule.
    #[must_use]
    pub fn law(self) -> &'static str {
        match self {
            FaultKind::ImpossibleTriple | FaultKind::ResponseMismatch => "R = N / X - Z (Denning & Buzen 1978)",
            FaultKind::ProductMismatch | FaultKind::RatioMismatch | FaultKind::SumMismatch => {
                "arithmetic of the printed digits"
            }
            FaultKind::TwoValues => "one figure, one value",
            FaultKind::ScaledColumn => "a measurement varies",
            FaultKind::UtilizationMismatch => "U = X D / m (Denning & Buzen 1978)",
            FaultKind::LittleMismatch => "Q = X R (Little 1961)",
            FaultKind::OverheadMismatch => "overhead = measurement / base - 1",
        }
    }

    /// Returns the step that resolves the error.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            FaultKind::ImpossibleTriple => {
                "check whether the driver starts requests at a fixed period instead of thinking after each answer, or print more digits"
            }
            FaultKind::ScaledColumn => "do not use the column as a measurement; use the column that it comes from",
            FaultKind::TwoValues => "use the value that the rest of the calculation needs, and say so",
            _ => "use the recomputed value, or find the figure that is out of date",
        }
    }

    /// Returns true if figures contradict each other; false if a figure only looks like a measurement.
    #[must_use]
    pub fn is_contradiction(self) -> bool {
        !matches!(self, FaultKind::ScaledColumn)
    }
}

/// A fault, with the figures that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportFault {
    /// Kind of the error.
    pub kind: FaultKind,
    /// The printed figure.
    pub printed: f64,
    /// Least value that the other figures allow.
    pub least: f64,
    /// Largest value that the other figures allow.
    pub most: f64,
}
