//! Balances of health care transactions (SNIP type 3), as rules that are added to a guide.

use quayline_core::{Findings, Limits};

use super::{Guide, GuideResolver, GuideText, ResolveError, parse_guide, write_guide};
use crate::delimiters::Standard;

/// Transaction, the versions whose industry identifier names the kind of claim, and the overlay.
const BALANCES: [(&str, &[&str], &str); 4] = [
    ("835", &["005010", "004010"], include_str!("../../guides/balances/835.guide")),
    ("837", &["005010X222", "004010X098"], include_str!("../../guides/balances/837p.guide")),
    ("837", &["005010X223", "004010X096"], include_str!("../../guides/balances/837i.guide")),
    ("837", &["005010X224", "004010X097"], include_str!("../../guides/balances/837d.guide")),
];

/// Suffix of the name of a guide with balances.
const SUFFIX: &str = "+balances";

/// Returns the guide with the balance rules for its transaction, named `NAME+balances`; `None` if it has no such rules.
///
/// A user's or imported guide needs the loops of the implementation guide: 2100 and 2110 in 835, 2300, 2320, 2400 and 2430 in 837.
///
/// Source: WEDI SNIP type 3; ASC X12 005010X221, 1.10.2 (balancing), and 005010X222, X223 and X224, 1.4.4 (balancing).
///
/// # Errors
/// The guide lacks a loop or segment that a rule names.
pub fn with_balances(guide: &Guide) -> Option<Result<Guide, Findings>> {
    let fits = |(transaction, versions, _): &&(&str, &[&str], &str)| {
        *transaction == guide.transaction && versions.iter().any(|version| guide.version.starts_with(version))
    };
    let (_, _, overlay) = BALANCES.iter().find(fits).filter(|_| guide.standard == Standard::X12)?;
    let name = format!("{}{SUFFIX}", guide.name);
    let read = parse_guide(&name, overlay, &Base(write_guide(guide)), &Limits::default());
    Some(read.map(|mut read| {
        read.name = name;
        read.title.clone_from(&guide.title);
        read.source.clone_from(&guide.source);
        read
    }))
}

/// The guide that the rules are added to.
struct Base(String);

impl GuideResolver for Base {
    fn read(&self, name: &str, _from: &str) -> Result<GuideText, ResolveError> {
        Ok(GuideText { name: name.to_owned(), text: self.0.clone() })
    }
}
