//! How to restart an execution with the parameters that its instance began with.

use quayline_batch::Repository;
use quayline_batch::record::Execution;
use quayline_project::job::Parameters;

use super::batch;
use crate::exit::Stop;

/// Returns the first execution of an execution's instance.
pub(super) fn first_of(repository: &Repository, execution: &Execution) -> Result<Execution, Stop> {
    match repository.executions(execution.instance).map_err(batch)?.into_iter().min() {
        Some(first) if first != execution.id => repository.execution(first).map_err(batch),
        _ => Ok(execution.clone()),
    }
}

/// Returns notes on the parameters of earlier executions that a restart does not have, or has with another value. Values may be secret, so the
/// notes have the names only.
pub(super) fn differing(before: &Execution, first: &Execution, given: &Parameters) -> Vec<String> {
    let mut notes = Vec::new();
    let missing = names(before, |name, _| !given.contains_key(name));
    if !missing.is_empty() {
        let (id, names) = (before.id, missing.join(", "));
        notes.push(format!("execution {id} had {names}, and this one does not: --same-params reuses parameters"));
    }
    let lost = |name: &str| !given.contains_key(name) && !before.parameters.contains_key(name);
    let missing = names(first, |name, _| lost(name));
    if !missing.is_empty() {
        let (id, names) = (first.id, missing.join(", "));
        notes.push(format!(
            "execution {id}, the first of this instance, had {names}, and this one does not: -p NAME=VALUE"
        ));
    }
    let others = names(first, |name, value| given.get(name).is_some_and(|other| other != value));
    if !others.is_empty() {
        let (id, names) = (first.id, others.join(", "));
        notes.push(format!("execution {id} had other values of {names}"));
    }
    notes
}

fn names(of: &Execution, wanted: impl Fn(&str, &str) -> bool) -> Vec<String> {
    of.parameters.iter().filter(|(name, value)| wanted(name, value)).map(|(name, _)| format!("`{name}`")).collect()
}

/// Returns the command that restarts an execution with the parameters of the first one of its instance. It names the parameters that the
/// execution itself does not have.
pub(super) fn restart_of(repository: &Repository, execution: &Execution, place: &str) -> Result<String, Stop> {
    let first = first_of(repository, execution)?;
    let mut command = format!("quayline job restart {}", execution.id);
    if !execution.parameters.is_empty() {
        command.push_str(" --same-params");
    }
    let others = |(name, value): &(&String, &String)| execution.parameters.get(*name) != Some(*value);
    let others: Vec<_> = first.parameters.iter().filter(others).map(|(name, _)| format!(" -p {name}=…")).collect();
    command.push_str(&others.concat());
    command.push_str(place);
    if !others.is_empty() {
        command.push_str(&format!(", with the values of execution {0}: quayline job show {0}{place}", first.id));
    }
    Ok(command)
}
