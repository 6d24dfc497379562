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
}

impl Outcome {
    /// Returns true if the figure is within its tolerance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.found.is_some_and(|found| (found - self.expected).abs() <= self.allowed)
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
        let blank = Outcome {
            group,
            name: name.to_owned(),
            source,
            kind,
            found: None,
            expected: f64::NAN,
            allowed: 0.0,
            error: None,
        };
        match pairs {
            Err(error) => Outcome { error: Some(error), ..blank },
            Ok(pairs) => {
                let apart = |(found, expected): (f64, f64)| {
                    let difference = (found - expected).abs() / expected.abs().max(1e-12);
                    if difference.is_nan() { f64::INFINITY } else { difference }
                };
                let worst = pairs.into_iter().max_by(|a, b| apart(*a).total_cmp(&apart(*b)));
                worst.map_or(blank.clone(), |(found, expected)| Outcome {
                    found: Some(found),
                    expected,
                    allowed: relative * expected.abs().max(1e-12),
                    ..blank
                })
            }
        }
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
        let (found, error) = match (self.compute)() {
            Ok(found) => (Some(found), None),
            Err(error) => (None, Some(error)),
        };
        Outcome {
            group: self.group,
            name: self.name.to_owned(),
            source: self.source,
            kind: self.kind,
            found,
            expected: self.expected,
            // A figure that is exact in decimals is not exact in binary.
            allowed: self.allowed.max(1e-12 * self.expected.abs()),
            error,
        }
    }
}
