//! What an import gives.

use quayline_core::Finding;
use quayline_edi::guide::Guide;

/// Guides, and what of their source they do not hold.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// One for each transaction set or message of each version.
    pub guides: Vec<Guide>,
    /// Warnings: what a guide cannot say, what the source says twice and differently, what was left out.
    pub findings: Vec<Finding>,
}

impl Imported {
    /// Both together.
    pub fn extend(&mut self, other: Imported) {
        self.guides.extend(other.guides);
        self.findings.extend(other.findings);
    }
}
