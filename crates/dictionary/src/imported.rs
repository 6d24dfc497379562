//! Result of an import.

use quayline_core::Finding;
use quayline_edi::guide::Guide;

/// Guides, and the parts of their source that they do not hold.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// One for each transaction set or message of each version.
    pub guides: Vec<Guide>,
    /// Warnings: rules that a guide cannot express, contradictions in the source, omitted parts.
    pub findings: Vec<Finding>,
}

impl Imported {
    /// Appends the guides and notes of another import.
    pub fn extend(&mut self, other: Imported) {
        self.guides.extend(other.guides);
        self.findings.extend(other.findings);
    }
}
