//! Conformance checks for every engine. Each check is a function of an empty store and is named for the property it checks.
//!
//! An engine's tests call [`run`] with a function that creates an empty store. A failed check returns a text instead of panicking, so the engine's
//! test can report its name.

mod claims;
mod files;
mod histories;
mod loads;
mod long;
mod model;
mod queue_model;
mod queues;
mod saves;
mod unit_model;
mod units;

use crate::Store;

pub use histories::{Reads, run_histories, run_threads};
pub use model::run_sequences;
pub use queue_model::run_queue_sequences;
pub use unit_model::run_unit_sequences;

/// A check of an empty store.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Name of the property that the check covers.
    pub name: &'static str,
    /// Runs the check. The error describes the expected and the found value.
    pub run: fn(&Store) -> Result<(), String>,
}

/// Returns all checks.
#[must_use]
pub fn checks() -> Vec<Check> {
    [units::CHECKS, files::CHECKS, loads::CHECKS, queues::CHECKS, claims::CHECKS, saves::CHECKS].concat()
}

/// Runs every check, each on a new store. Returns `name: reason` for each failed check.
#[must_use]
pub fn run(mut new_store: impl FnMut() -> Store) -> Vec<String> {
    let failed = |check: &Check, store: &Store| (check.run)(store).err().map(|why| format!("{}: {why}", check.name));
    checks().iter().filter_map(|check| failed(check, &new_store())).collect()
}

/// Returns an error that describes the expected and the found value if they differ.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: found {found:?}, expected {expected:?}")) }
}

/// Turns an error of the store into the text of a failed check.
pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
