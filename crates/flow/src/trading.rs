//! Nodes of trading partners: interchanges and documents, in the unit of work of their message.
//!
//! ```text
//! partners/*.toml, store: PARTNER.PARTNERS ─ Book ─┐
//! store: PARTNER.* ─ Ledger ──────────────────────────▶ Desk (one for each thread) ─ in_unit ─▶ the Unit of the message: entries, numbers, acknowledgments, outputs
//! ```
//!
//! `partner` never waits here: while another unit of work has a lock, the node undoes its work, waits as a future, and repeats it (`Run::locked`).

use std::cell::RefCell;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use quayline_cache::Cache;
use quayline_core::{Fault, Finding, Findings, Severity, hex};
use quayline_partner::{
    Again, Book, Desk, DeskLimits, EntryId, HandedOutput, InUnit, Ledger, OutputKind, SendRequest, StoreKey,
};
use quayline_project::partner::Direction;
use quayline_project::{FlowFile, FlowNode, ShapeOptions};
use quayline_store::{Clock, STO_LOCK, Space, Store, StoreError, Unit};

use crate::codes;
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::message::Parcel;
use crate::run::{After, Gives, Run, Work};

/// Numbers of entries that a thread takes in advance. Default 256: one sync of the disk for as many entries, and no unit of work waits for the numbers of
/// another one.
const ENTRY_NUMBERS: u64 = 256;

/// Outline of the messages that leave by `report`.
pub(crate) const REPORT_OUTLINE: &str = "report\n  flow text\n  node text\n  interchanges decimal(18)\n  documents decimal(18)\n  delivered decimal(18)\n  sent decimal(18)\n  waiting decimal(18)\n  rejected decimal(18)\n  duplicates decimal(18)\n  unrouted decimal(18)\n  acknowledgments decimal(18)\n  code? text\n  text? text\n";

/// Returns true if a node needs the partners of the project.
pub(crate) fn trades(node: &FlowNode) -> bool {
    node.kind.name.starts_with("partner_")
}

/// Returns true if a flow needs the partners of the project, which may be in the store.
#[must_use]
pub fn uses_partners(file: &FlowFile) -> bool {
    file.nodes.iter().any(trades)
}

/// The partners of a flow on one thread.
pub(crate) struct Trading {
    book: Book,
    ledger: Ledger,
}

/// The worker of a flow on one thread, made at its first use.
pub(crate) type Worker<'p> = RefCell<Option<Desk<'p>>>;

/// Result of checking the nodes of partners.
pub(crate) struct Checked {
    pub(crate) findings: Vec<Finding>,
    /// Every file that partners, rules, maps and guides consist of.
    pub(crate) files: Vec<PathBuf>,
    /// Number of changes of partners in the store, if they were checked too.
    pub(crate) stored_version: Option<u64>,
}

impl Trading {
    /// Checks partners, rules, maps and guides, and the names that nodes use. Without a store, partners are only those in files.
    pub(crate) fn check(file: &FlowFile, root: &Path, cache: Option<Arc<Cache>>, store: Option<&Store>) -> Checked {
        let failed =
            |Findings(findings)| Checked { findings, files: vec![root.join("partners")], stored_version: None };
        let book = match Book::open_with(root, store, ShapeOptions { cache, ..ShapeOptions::default() }, 0, 0) {
            Ok(book) => book,
            Err(findings) => return failed(findings),
        };
        let mut findings = book.findings().to_vec();
        if let Err(Findings(found)) = book.check() {
            findings.extend(found);
        }
        for node in file.nodes.iter().filter(|node| node.kind.name == "partner_send") {
            let mut wrong = |property: &str, message: String, hint: &str| {
                let place = node.property(property).map(|property| file.text.place(&property.span)).unwrap_or_default();
                let finding = Finding::error(codes::PARTNER, Fault::Config, message).at(place);
                findings.push(finding.hint(hint));
            };
            let is_own = |name: &str| book.named(name).map(|number| book.partner(number).is_own);
            if let Some(to) = node.text("to").filter(|to| is_own(to) != Some(false)) {
                wrong("to", format!("`{to}` is not a partner"), "`quayline partner list` lists partners");
            }
            if let Some(from) = node.text("from").filter(|from| is_own(from) != Some(true)) {
                wrong("from", format!("`{from}` is not one of your own files"), "name a file with own = true");
            }
            let rules = || book.partners().iter().flat_map(|partner| &partner.rules);
            let sends = |document: &str| {
                rules().any(|rule| rule.direction == Direction::Send && rule.document.as_deref() == Some(document))
            };
            if let Some(document) = node.text("document").filter(|document| !sends(document)) {
                let message = format!("no rule to send is for `{document}`");
                wrong("document", message, "add a rule with direction = \"send\" and this `document`");
            }
        }
        Checked { findings, files: book.files(), stored_version: book.stored_version() }
    }

    /// Opens partners and the transaction store for a flow on one thread. Threads do not share maps, whose clock and ids are those of one unit of work.
    pub(crate) fn open(
        root: &Path,
        cache: Option<Arc<Cache>>,
        store: &Store,
        clock: &dyn Clock,
    ) -> Result<Trading, Findings> {
        let now_us = i64::try_from(clock.now_ms()).unwrap_or(i64::MAX).saturating_mul(1_000);
        let options = ShapeOptions { cache, ..ShapeOptions::default() };
        let book = Book::open_with(root, Some(store), options, now_us, clock.random())?;
        let ledger = Ledger::open_with(store, StoreKey::from_environment()?)?;
        Ok(Trading { book, ledger })
    }

    /// Writes the files that a crash or a folder left in the store. Returns findings about those that still cannot be written.
    pub(crate) fn write_left(&self, clock: &dyn Clock) -> Result<Vec<Finding>, Findings> {
        let mut desk = Desk::new(&self.book, &self.ledger, DeskLimits::default(), || clock.now_ms())?;
        Ok(desk.take_undelivered())
    }
}

/// Counts of a node for its report.
#[derive(Default)]
struct Counts {
    interchanges: u64,
    documents: u64,
    delivered: u64,
    sent: u64,
    waiting: u64,
    rejected: u64,
    duplicates: u64,
    unrouted: u64,
    acknowledgments: u64,
    /// True if every document is delivered, sent or waits.
    is_good: bool,
    /// The first error.
    reason: Option<Finding>,
}

/// Terminals of output that rules and settings deliver to `output`.
const TERMINALS: [(OutputKind, &str); 3] = [
    (OutputKind::Document, "output"),
    (OutputKind::Acknowledgment, "acknowledgment"),
    (OutputKind::Interchange, "interchange"),
];

impl<'p> Run<'p> {
    /// Receives the interchanges of a message.
    pub(crate) async fn partner_receive(&self, work: &mut Work, at: usize, parcel: &Parcel) -> Result<Gives, Failure> {
        let name = self.source_name(parcel);
        let receive = |desk: &mut Desk<'p>| desk.receive(&name, &mut Cursor::new(&parcel.content[..]), Again::Yes);
        let done = self.at_desk(work, at, receive).await?;
        let report = &done.done;
        let counts = Counts {
            interchanges: report.interchanges,
            documents: report.transactions,
            delivered: report.delivered,
            rejected: report.rejected,
            duplicates: report.duplicates,
            unrouted: report.unrouted,
            acknowledgments: report.acknowledgments,
            is_good: report.is_good(),
            reason: first_error(&report.findings),
            ..Counts::default()
        };
        Ok(self.traded(work, at, parcel, done, counts))
    }

    /// Sends the documents of a message.
    pub(crate) async fn partner_send(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let name = self.source_name(parcel);
        let request = SendRequest {
            name: &name,
            to: self.text(at, values, "to")?,
            from: self.text(at, values, "from")?,
            document: self.text(at, values, "document")?.unwrap_or_default(),
            again: Again::Yes,
        };
        let send = |desk: &mut Desk<'p>| desk.send_or_refuse(&request, &parcel.content);
        let done = self.at_desk(work, at, send).await?;
        let report = &done.done;
        let reason = first_error(&report.findings);
        let counts = Counts {
            interchanges: report.interchanges,
            documents: report.transactions,
            sent: report.sent,
            waiting: report.waiting,
            rejected: report.rejected,
            is_good: report.rejected == 0 && reason.is_none(),
            reason,
            ..Counts::default()
        };
        Ok(self.traded(work, at, parcel, done, counts))
    }

    /// Returns the name of the message in entries.
    fn source_name(&self, parcel: &Parcel) -> String {
        let id = hex(&parcel.received.header.id);
        let part = if parcel.part > 0 { format!("/{}", parcel.part) } else { String::new() };
        format!("flow:{}/{id}{part}", self.name)
    }

    /// Does work at the desk of this thread, in the unit of work of the message.
    async fn at_desk<T>(
        &self,
        work: &mut Work,
        at: usize,
        mut operation: impl FnMut(&mut Desk<'p>) -> Result<T, Findings>,
    ) -> Result<InUnit<T>, Failure> {
        // Numbers and acknowledgments that leave rely on this unit of work, so it survives a power failure.
        work.is_written_only = false;
        let node = &self.flow.file.nodes[at];
        let wired = |(kind, terminal)| (!node.wire(terminal).is_empty()).then_some(kind);
        let kinds: Vec<OutputKind> = TERMINALS.into_iter().filter_map(wired).collect();
        let mut failed = Findings(Vec::new());
        let attempt = |unit: &mut Unit| {
            let done = match self.desk(&mut self.worker.borrow_mut()) {
                Ok(desk) => desk.in_unit(unit, &kinds, &mut operation),
                Err(findings) => Err(findings),
            };
            match done {
                Ok(done) => Ok(Some(done)),
                // Another unit of work has a lock; `locked` repeats the operation when it is free.
                Err(Findings(found)) if found.iter().any(|one| one.code == STO_LOCK) => {
                    Err(StoreError::LockTimeout { space: Space::CATALOG, file: None, waited_ms: 0 })
                }
                Err(findings) => {
                    failed = findings;
                    Ok(None)
                }
            }
        };
        match self.locked(work, attempt).await? {
            Some(done) => Ok(done),
            None => Err(Failure::of(failed)),
        }
    }

    /// Returns the worker of this thread, which is made at its first use.
    fn desk<'s>(&self, slot: &'s mut Option<Desk<'p>>) -> Result<&'s mut Desk<'p>, Findings> {
        if slot.is_none() {
            let trading = self.trading.expect("a flow with nodes of partners has opened them");
            let limits = DeskLimits { entry_numbers_ahead: ENTRY_NUMBERS, ..DeskLimits::default() };
            let clock = Arc::clone(&self.clock);
            *slot = Some(Desk::new(&trading.book, &trading.ledger, limits, move || clock.now_ms())?);
        }
        Ok(slot.as_mut().expect("made above"))
    }

    /// Returns the messages that leave a node: output first, then the report, then the message itself.
    fn traded<T>(&self, work: &mut Work, at: usize, parcel: &Parcel, done: InUnit<T>, counts: Counts) -> Gives {
        let node = &self.flow.file.nodes[at];
        let InUnit { outputs, files, .. } = done;
        if !files.is_empty() {
            work.after.push(After::Delivery(files, node.name.clone()));
        }
        let mut out = Vec::new();
        for HandedOutput { kind, bytes } in outputs {
            let terminal = TERMINALS.iter().find(|(of, _)| *of == kind).map_or("output", |(_, terminal)| terminal);
            out.push((terminal, parcel.with_content(bytes)));
        }
        if !node.wire("report").is_empty() {
            let report = counts.report(&self.name, &node.name);
            out.push(("report", parcel.with_content(report.to_string().into_bytes())));
        }
        let failure = counts.reason.map(|finding| Rc::new(Failure::of(finding.into())));
        out.push(match counts.is_good {
            true => ("out", parcel.clone()),
            false => ("rejected", Parcel { failure, ..parcel.clone() }),
        });
        Gives::Out(out)
    }
}

impl Counts {
    /// Returns the content of the message that leaves by `report`.
    fn report(&self, flow: &str, node: &str) -> serde_json::Value {
        let mut report = serde_json::json!({
            "flow": flow, "node": node, "interchanges": self.interchanges, "documents": self.documents,
            "delivered": self.delivered, "sent": self.sent, "waiting": self.waiting, "rejected": self.rejected,
            "duplicates": self.duplicates, "unrouted": self.unrouted, "acknowledgments": self.acknowledgments,
        });
        if let Some(reason) = &self.reason {
            report["code"] = reason.code.to_string().into();
            report["text"] = reason.message.clone().into();
        }
        report
    }
}

fn first_error(findings: &[(EntryId, Finding)]) -> Option<Finding> {
    let error = findings.iter().find(|(_, finding)| finding.severity == Severity::Error)?;
    Some(error.1.clone())
}
