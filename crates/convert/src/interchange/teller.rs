//! Reporter: passes findings to people and acknowledgments in the order of the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use quayline_core::{Code, Finding, Severity};
use quayline_edi::guide::CompiledGuide;
use quayline_edi::{EdiFault, EnvelopePass, Event};

use super::acknowledgment::AcknowledgmentFile;
use super::check::Listener;
use crate::error::ConvertError;

/// Counts, reports and acknowledges faults.
pub(crate) struct Teller<'v> {
    name: Arc<str>,
    findings_max: usize,
    pub(crate) acknowledgment: Option<&'v mut AcknowledgmentFile>,
    tell: &'v mut (dyn FnMut(&Finding) -> std::io::Result<()> + Send),
    pub(crate) counts: Counts,
}

/// Counts of a validation.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) interchanges: u64,
    pub(crate) groups: u64,
    pub(crate) transactions: u64,
    pub(crate) transactions_bad: u64,
    /// Transactions by the name of the guide that checked them.
    pub(crate) guides: BTreeMap<String, u64>,
    /// The transaction that is open, or ended last, has an error.
    is_bad: bool,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    told: usize,
    pub(crate) untold: u64,
    pub(crate) by_code: BTreeMap<Code, u64>,
}

impl Counts {
    /// Counts a transaction that a guide checks.
    pub(crate) fn by_guide(&mut self, guide: &CompiledGuide) {
        match self.guides.get_mut(guide.name()) {
            Some(count) => *count += 1,
            None => {
                self.guides.insert(guide.name().to_owned(), 1);
            }
        }
    }

    /// Counts interchanges, groups and transactions. Returns true at the start of a transaction.
    #[inline(always)]
    pub(crate) fn event(&mut self, event: Event) -> bool {
        match event {
            Event::InterchangeStart => self.interchanges += 1,
            Event::GroupStart => self.groups += 1,
            Event::TransactionStart => {
                self.transactions += 1;
                return true;
            }
            _ => {}
        }
        false
    }
}

impl<'v> Teller<'v> {
    pub(crate) fn new(
        name: &Arc<str>,
        findings_max: usize,
        acknowledgment: Option<&'v mut AcknowledgmentFile>,
        tell: &'v mut (dyn FnMut(&Finding) -> std::io::Result<()> + Send),
    ) -> Self {
        Teller { name: Arc::clone(name), findings_max, acknowledgment, tell, counts: Counts::default() }
    }

    /// Ends a transaction; later faults belong to the next one.
    pub(crate) fn next_transaction(&mut self) {
        self.counts.is_bad = false;
    }

    /// Reports a fault.
    pub(crate) fn found(&mut self, fault: &EdiFault) -> Result<(), ConvertError> {
        let counts = &mut self.counts;
        *counts.by_code.entry(fault.error.code()).or_default() += 1;
        match fault.severity {
            Severity::Error => {
                counts.errors += 1;
                if fault.at.transaction > 0 && !core::mem::replace(&mut counts.is_bad, true) {
                    counts.transactions_bad += 1;
                }
            }
            Severity::Warning | Severity::Note => counts.warnings += 1,
        }
        if counts.told >= self.findings_max {
            counts.untold += 1;
            return Ok(());
        }
        counts.told += 1;
        (self.tell)(&fault.finding(Some(&self.name))).map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => ConvertError::ClosedPipe,
            _ => ConvertError::io("write", "<output>")(error),
        })
    }

    #[cold]
    #[inline(never)]
    fn found_all(&mut self, faults: &[EdiFault]) -> Result<(), ConvertError> {
        faults.iter().try_for_each(|fault| self.found(fault))
    }
}

impl Listener for Teller<'_> {
    #[inline(always)]
    fn hear(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: &[EdiFault]) -> Result<(), ConvertError> {
        if self.counts.event(event) {
            self.next_transaction();
        }
        if !faults.is_empty() {
            self.found_all(faults)?;
        }
        if let Some(file) = &mut self.acknowledgment {
            file.event(event, pass, faults);
        }
        Ok(())
    }

    fn by_guide(&mut self, guide: &CompiledGuide) {
        self.counts.by_guide(guide);
    }
}
