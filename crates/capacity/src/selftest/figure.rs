//! One figure of the self-test and its result.

use crate::ModelError;

/// Origin of an expected figure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A publication prints it.
    Published,
    /// Other solvers agree on it.
    OtherSolver,
    /// The document that the model answers prints it.
    Printed,
    /// A result derived from figures that the document prints.
    Derived,
}

impl Kind {
    /// Returns the kind as a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Published => "published",
            Kind::OtherSolver => "other solvers",
            Kind::Printed => "printed",
            Kind::Derived => "derived",
        }
    }
}

/// A computed figure beside the expected one.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Group of models.
    pub group: &'static str,
    /// Name of the case.
    pub name: String,
    /// Source of the expected figure.
    pub source: &'static str,
    /// Kind of the source.
    pub kind: Kind,
    /// Figure of this build; `None` if the model returned an error.
    pub found: Option<f64>,
    /// The expected figure.
    pub expected: f64,
    /// Largest difference that passes, in the figure's unit.
    pub allowed: f64,
    /// Error of the model, if it computed no figure.
    pub error: Option<ModelError>,
    /// Every expected figure of the case; `expected` is the one with the largest relative difference.
    pub compared: Vec<f64>,
}

impl Outcome {
    /// Returns true if the figure is within its tolerance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.found.is_some_and(|found| (found - self.expected).abs() <= self.allowed)
    }

    /// Returns one figure with the largest difference that passes.
    pub(super) fn of(
        group: &'static str,
        name: String,
        source: &'static str,
        kind: Kind,
        expected: f64,
        allowed: f64,
        found: Result<f64, ModelError>,
    ) -> Outcome {
        let (found, error) = match found {
            Ok(found) => (Some(found), None),
            Err(error) => (None, Some(error)),
        };
        // A figure that is exact in decimals is not exact in binary.
        let allowed = allowed.max(1e-12 * expected.abs());
        Outcome { group, name, source, kind, found, expected, allowed, error, compared: vec![expected] }
    }

    /// Returns the pair with the largest relative difference.
    pub(super) fn worst(
        group: &'static str,
        name: &str,
        source: &'static str,
        kind: Kind,
        relative: f64,
        pairs: Result<Vec<(f64, f64)>, ModelError>,
    ) -> Outcome {
        let outcome = |expected: f64, found| {
            let allowed = relative * expected.abs().max(1e-12);
            Outcome::of(group, name.to_owned(), source, kind, expected, allowed, found)
        };
        let pairs = match pairs {
            Err(error) => return outcome(f64::NAN, Err(error)),
            Ok(pairs) => pairs,
        };
        let apart = |(found, expected): (f64, f64)| {
            let difference = (found - expected).abs() / expected.abs().max(1e-12);
            if difference.is_nan() { f64::INFINITY } else { difference }
        };
        let compared = pairs.iter().map(|(_, expected)| *expected).collect();
        let worst = pairs.into_iter().max_by(|a, b| apart(*a).total_cmp(&apart(*b)));
        let (found, expected) = worst.unwrap_or((f64::NAN, f64::NAN));
        Outcome { compared, ..outcome(expected, Ok(found)) }
    }
}

/// A figure of the documents: the computation, the expected value and the allowed difference.
pub(super) struct Figure {
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    pub(super) source: &'static str,
    pub(super) kind: Kind,
    pub(super) expected: f64,
    /// Largest difference, in the figure's unit.
    pub(super) allowed: f64,
    pub(super) compute: fn() -> Result<f64, ModelError>,
}

impl Figure {
    pub(super) fn run(&self) -> Outcome {
        let name = self.name.to_owned();
        Outcome::of(self.group, name, self.source, self.kind, self.expected, self.allowed, (self.compute)())
    }
}
