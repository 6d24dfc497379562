//! Reporter: passes findings to people and acknowledgments in the order of the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use quayline_core::{Code, Finding, Severity};
use quayline_edi::acknowledge::RecordedEvents;
use quayline_edi::guide::CompiledGuide;
use quayline_edi::{EdiError, EdiFault, EnvelopePass, Event};

use super::acknowledgment::AcknowledgmentFile;
use super::check::Listener;
use crate::error::ConvertError;

/// Counts, reports and acknowledges faults.
pub(crate) struct Reporter<'v> {
    name: Arc<str>,
    findings_max: usize,
    pub(crate) acknowledgment: Option<&'v mut AcknowledgmentFile>,
    on_finding: &'v mut (dyn FnMut(&Finding) -> std::io::Result<()> + Send),
    pub(crate) counts: Counts,
    /// Fault that the next transactions of the group may also have, and the number of transactions with this fault.
    held: Option<(EdiFault, u64)>,
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
    reported: usize,
    pub(crate) unreported: u64,
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

impl<'v> Reporter<'v> {
    pub(crate) fn new(
        name: &Arc<str>,
        findings_max: usize,
        acknowledgment: Option<&'v mut AcknowledgmentFile>,
        on_finding: &'v mut (dyn FnMut(&Finding) -> std::io::Result<()> + Send),
    ) -> Self {
        Reporter {
            name: Arc::clone(name),
            findings_max,
            acknowledgment,
            on_finding,
            counts: Counts::default(),
            held: None,
        }
    }

    /// Ends a transaction; later faults belong to the next one.
    pub(crate) fn next_transaction(&mut self) {
        self.counts.is_bad = false;
    }

    /// Reports a fault. It reports a missing guide once for consecutive transactions of a group.
    pub(crate) fn found(&mut self, fault: &EdiFault) -> Result<(), ConvertError> {
        let is_new_in_transaction = fault.severity == Severity::Error
            && fault.at.transaction > 0
            && !core::mem::replace(&mut self.counts.is_bad, true);
        self.counts.transactions_bad += u64::from(is_new_in_transaction);
        if let Some((held, count)) = &mut self.held
            && held.error == fault.error
            && (held.at.interchange, held.at.group) == (fault.at.interchange, fault.at.group)
        {
            *count += 1;
            return Ok(());
        }
        self.finish()?;
        *self.counts.by_code.entry(fault.error.code()).or_default() += 1;
        match fault.severity {
            Severity::Error => self.counts.errors += 1,
            Severity::Warning | Severity::Note => self.counts.warnings += 1,
        }
        if matches!(fault.error, EdiError::NoGuide { .. }) {
            self.held = Some((fault.clone(), 1));
            return Ok(());
        }
        self.report(fault, 1)
    }

    /// Reports the held fault.
    pub(crate) fn finish(&mut self) -> Result<(), ConvertError> {
        self.held.take().map_or(Ok(()), |(fault, count)| self.report(&fault, count))
    }

    fn report(&mut self, fault: &EdiFault, count: u64) -> Result<(), ConvertError> {
        let counts = &mut self.counts;
        if counts.reported >= self.findings_max {
            counts.unreported += 1;
            return Ok(());
        }
        counts.reported += 1;
        let mut finding = fault.finding(Some(&self.name));
        if count > 1 {
            let around = if fault.at.group > 0 { "group" } else { "interchange" };
            finding.message = format!("{}; so are {} more in the {around}", finding.message, count - 1);
        }
        (self.on_finding)(&finding).map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => ConvertError::ClosedPipe,
            _ => ConvertError::io("write", "<output>")(error),
        })
    }

    /// Acknowledges a part of the file from the events that were recorded where it was read, with all its faults.
    pub(crate) fn acknowledge(&mut self, recorded: &RecordedEvents, faults: &[EdiFault]) -> Result<(), ConvertError> {
        match &mut self.acknowledgment {
            Some(file) => {
                file.recorded(recorded, faults, &self.name);
                file.check()
            }
            None => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn found_all(&mut self, faults: &[EdiFault]) -> Result<(), ConvertError> {
        faults.iter().try_for_each(|fault| self.found(fault))
    }
}

impl Listener for Reporter<'_> {
    #[inline(always)]
    fn on_event(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: &[EdiFault]) -> Result<(), ConvertError> {
        if self.counts.event(event) {
            self.next_transaction();
        }
        if !faults.is_empty() {
            self.found_all(faults)?;
        }
        if let Some(file) = &mut self.acknowledgment {
            file.event(event, pass, faults, &self.name);
        }
        Ok(())
    }

    fn by_guide(&mut self, guide: &CompiledGuide) {
        self.counts.by_guide(guide);
    }
}
