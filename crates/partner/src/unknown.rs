//! Names in searches that nothing has.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use quayline_core::{Fault, Finding, Findings, nearest};

use crate::book::Book;
use crate::codes;
use crate::ledger::Ledger;
use crate::search::Filter;

/// Names in a hint: a project may have thousands of partners.
const NAMES_MAX: usize = 10;

impl Book {
    /// Checks the names in a search that found no entry; see [`Ledger::check_names`]. Entries outlive partners and rules, so a name is unknown only if neither the partners nor an
    /// entry has it.
    ///
    /// # Errors
    /// A partner, rule or business field is unknown.
    fn check_names(&self, ledger: &Ledger, filter: &Filter) -> Result<(), Findings> {
        if let Some(name) = filter.partner.as_deref().filter(|name| self.named(name).is_none())
            && !ledger.has(&Filter { partner: Some(name.to_owned()), ..Filter::default() })?
        {
            return Err(unknown("partner", name, self.partners().iter().map(|one| one.name.clone()).collect()));
        }
        let rules = || self.partners().iter().flat_map(|one| one.rules.iter().map(move |rule| (&one.name, rule)));
        if let Some(name) = filter.rule.as_deref().filter(|name| self.rule_named(name).is_none()) {
            return Err(unknown("rule", name, rules().map(|(owner, rule)| format!("{owner}/{}", rule.name)).collect()));
        }
        if let Some((name, _)) = &filter.field {
            let names: BTreeSet<String> =
                rules().flat_map(|(_, rule)| rule.fields.iter().map(|(name, _)| name.clone())).collect();
            if !names.contains(name) {
                return Err(unknown("business field", name, names));
            }
        }
        Ok(())
    }
}

impl Ledger {
    /// Refuses a search that finds nothing and names a partner, rule or business field that does not exist. Partners that cannot be read are no
    /// reason to refuse a search.
    ///
    /// # Errors
    /// A name is unknown, or the store fails.
    pub fn check_names<B: Borrow<Book>>(
        &self,
        filter: &Filter,
        book: impl FnOnce() -> Option<B>,
    ) -> Result<(), Findings> {
        let has_name = filter.partner.is_some() || filter.rule.is_some() || filter.field.is_some();
        let book = if has_name && !self.has(filter)? { book() } else { None };
        book.map_or(Ok(()), |book| book.borrow().check_names(self, filter))
    }

    /// Returns true if a search finds an entry.
    fn has(&self, filter: &Filter) -> Result<bool, Findings> {
        let mut filter = Filter { limit: 1, ..filter.clone() };
        loop {
            let found = self.search(&filter)?;
            match found.next {
                _ if !found.entries.is_empty() => return Ok(true),
                Some(next) => filter.after = Some(next),
                None => return Ok(false),
            }
        }
    }
}

fn unknown(what: &str, name: &str, known: BTreeSet<String>) -> Findings {
    let meant = nearest(name, known.iter().map(String::as_str)).map(|meant| format!("did you mean `{meant}`? "));
    let names: Vec<&str> = known.iter().map(String::as_str).take(NAMES_MAX).collect();
    let more = known.len().saturating_sub(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let hint = match names.len() {
        0 => format!("no partner file has a {what}"),
        1 => format!("{}the only {what} is {}", meant.unwrap_or_default(), names[0]),
        _ => format!("{}the {what}s are {}{more}", meant.unwrap_or_default(), names.join(", ")),
    };
    let message = format!("the search found no entry, and {what} `{name}` does not exist");
    Finding::error(codes::UNKNOWN_NAME, Fault::Caller, message).hint(hint).into()
}
