//! `quayline partner`, `transaction`, `interchange` and `envelope`.

mod api;
mod entries;
mod export;
mod folders;
mod openapi;
mod outbox;
mod roster;
mod served;
mod show;

use std::fs::File;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};

use quayline_core::{Finding, Findings, Severity};
use quayline_partner::{
    Again, Book, Desk, DeskLimits, EntryId, Existing, Ledger, ReceiveReport, Release, SendReport, SendRequest, Source,
    StoreKey, Waiting,
};
use quayline_project::{FlowFile, ShapeOptions};
use quayline_store::{Clock as _, STO_IN_USE, Store, SystemClock};
use quayline_store_embedded::Settings;
use serde_json::json;

use crate::admin::raw;
use crate::args::{
    DurabilityOption, EnvelopeArgs, EnvelopeCommand, FolderArg, PartnerArgs, PartnerCommand, ProjectArgs, ReceiveArgs,
    SendArgs,
};
use crate::cache::cache;
use crate::console::{Console, shown, write_stdout};
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop};
use crate::memory;
use crate::render::count_of;
use crate::store::{Missing, Opened, alone, record_file};

pub(crate) use api::PartnersPart;
pub(crate) use entries::{run_interchange, run_transaction};
pub(crate) use served::ServedPartners;

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemClock.now_ms()
}

/// Reads the partners of a project.
pub(crate) fn book(project: &ProjectArgs, store: &Store, console: &Console) -> Result<Book, Stop> {
    let book = read_book(&project.project, Some(store))?;
    console.findings(book.findings());
    Ok(book)
}

/// Reads the partners of a project for a command that needs nothing else of the store.
fn book_to_read(project: &ProjectArgs, console: &Console) -> Result<Book, Stop> {
    let opened = to_read(&folder(project), console)?;
    let book = read_book(&project.project, opened.as_ref().map(|opened| &opened.store));
    opened.map_or(Ok(Exit::Done), |opened| opened.close(Exit::Done))?;
    let book = book?;
    console.findings(book.findings());
    Ok(book)
}

/// Reads the partners without reporting warnings.
fn read_book(project: &Path, store: Option<&Store>) -> Result<Book, Findings> {
    let (options, now_us) = reading();
    Book::open_with(project, store, options, now_us, SystemClock.random())
}

/// Returns the options to read partners with, and the time in microseconds since 1970.
fn reading() -> (ShapeOptions, i64) {
    let now_us = i64::try_from(now_ms()).unwrap_or(i64::MAX).saturating_mul(1_000);
    (ShapeOptions { cache: cache(), ..ShapeOptions::default() }, now_us)
}

/// Opens the store for a command that receives or sends, and reads the partners. In a project without a store, wrong partners create none.
fn open_with_book(
    project: &ProjectArgs,
    open: impl FnOnce() -> Result<Opened, Stop>,
    console: &Console,
) -> Result<(Opened, Book), Stop> {
    if !exists(&folder(project)) {
        read_book(&project.project, None)?;
    }
    let opened = open()?;
    let book = book(project, &opened.store, console)?;
    Ok((opened, book))
}

/// Opens the store for a command that reads the partners in it. `None` if there is none, or if a server uses it.
pub(crate) fn to_read(folder: &FolderArg, console: &Console) -> Result<Option<Opened>, Stop> {
    if !exists(folder) {
        return Ok(None);
    }
    match Opened::open_with(folder, Missing::RefuseToRead, alone()) {
        Err(Stop::Findings(Findings(found))) if found.iter().any(|one| one.code == STO_IN_USE) => {
            console
                .line("the store is in use, so partners in it are not read; send requests to the server that uses it");
            Ok(None)
        }
        opened => opened.map(Some),
    }
}

/// Opens the store if one of the flows uses partners.
pub(crate) fn for_flows(flows: &[PathBuf], store: &FolderArg, console: &Console) -> Result<Option<Opened>, Stop> {
    let uses = |path: &PathBuf| FlowFile::open(path).is_ok_and(|flow| quayline_flow::uses_partners(&flow));
    if flows.iter().any(uses) { to_read(store, console) } else { Ok(None) }
}

/// Opens the store of a project to check it, if it has partners or flows that use them.
pub(crate) fn for_check(root: &Path, is_served: bool, console: &Console) -> Result<Option<Opened>, Stop> {
    let store = FolderArg::new(root.join("data"), DurabilityOption::default());
    if is_served || root.join("partners").is_dir() {
        return to_read(&store, console);
    }
    for_flows(&quayline_flow::flow_files(root)?, &store, console)
}

fn exists(store: &FolderArg) -> bool {
    store.address().is_some() || store.folder.join("store.redb").exists()
}

/// Returns the place of the store of a project.
fn folder(project: &ProjectArgs) -> FolderArg {
    let folder = project.store.clone().unwrap_or_else(|| project.project.join("data"));
    FolderArg::new(folder, project.durability)
}

/// Reports documents that could not be delivered.
fn say_undelivered(desk: &mut Desk<'_>, exit: Exit, console: &Console) -> Exit {
    let left = desk.take_undelivered();
    console.findings(&left);
    if left.is_empty() { exit } else { Exit::Rejected }
}

/// Opens the store of a project, for a command that reads, or that processes many documents.
pub(crate) fn open_store(project: &ProjectArgs, missing: Missing) -> Result<Opened, Stop> {
    open_store_with(project, missing, 6 << 20)
}

/// Opens the store for a command that receives. Half of the cache is for written pages. Changes applied together fit in it, so that each page is
/// written once; with less, pages are written, read again for their checksum and written again.
pub(crate) fn open_store_to_receive(project: &ProjectArgs) -> Result<Opened, Stop> {
    open_store_with(project, Missing::Create, 14 << 20)
}

fn open_store_with(project: &ProjectArgs, missing: Missing, cache_bytes: usize) -> Result<Opened, Stop> {
    // With 10,000 partners, 10,000 envelopes close within 64 MB.
    let settings = Settings { cache_bytes, ..alone() };
    Opened::open_with(&folder(project), missing, settings)
}

/// Opens the transaction store of a project.
pub(crate) fn ledger(opened: &Opened) -> Result<Ledger, Stop> {
    ledger_of(&opened.store)
}

/// Opens the transaction store in a store, with the key in the environment.
pub(crate) fn ledger_of(store: &Store) -> Result<Ledger, Stop> {
    Ok(Ledger::open_with(store, StoreKey::from_environment()?)?)
}

/// Creates the worker of a command, which writes what is delivered to `output` to standard output.
fn desk_of<'b>(book: &'b Book, ledger: &'b Ledger, limits: DeskLimits) -> Result<Desk<'b>, Findings> {
    Desk::with_output(book, ledger, limits, now_ms, Some(Box::new(std::io::stdout())))
}

/// Runs `quayline partner`.
pub(crate) fn run(args: &PartnerArgs, console: &Console) -> Result<Exit, Stop> {
    memory::give_large_blocks_back();
    memory::keep_small_blocks();
    match &args.command {
        PartnerCommand::Check(args) => {
            let opened = to_read(&folder(&args.project), console)?;
            let store = opened.as_ref().map(|opened| &opened.store);
            let (options, now_us) = reading();
            let checked = Book::open_checked(&args.project.project, store, options, now_us, SystemClock.random());
            opened.map_or(Ok(Exit::Done), |opened| opened.close(Exit::Done))?;
            let book = checked.map_err(|(_, findings)| findings)?;
            console.findings(book.findings());
            let rules: usize = book.partners().iter().map(|partner| partner.rules.len()).sum();
            let (partners, rules) = (count_of(book.partners().len() as u64, "partner"), count_of(rules as u64, "rule"));
            let stored = match book.partners().iter().filter(|partner| partner.is_stored()).count() {
                0 => String::new(),
                stored => format!(", {stored} of them in the store"),
            };
            console.line(&format!("{partners} with {rules}{stored}: no errors"));
            Ok(Exit::Done)
        }
        PartnerCommand::List(args) => show::list(args, console),
        PartnerCommand::Add(args) => roster::add(args, Existing::Refused, None, console),
        PartnerCommand::Import(args) => {
            roster::add(&args.files, Existing::Replaced, args.if_version.as_deref(), console)
        }
        PartnerCommand::Export(args) => roster::export(args, console),
        PartnerCommand::Remove(args) => roster::remove(args, console),
        PartnerCommand::Changes(args) => roster::changes(args, console),
        PartnerCommand::Show(args) => show::show(args, console),
        PartnerCommand::Explain(args) => show::explain(args, console),
        PartnerCommand::Receive(args) => receive(args, console),
        PartnerCommand::Send(args) => send(args, console),
        PartnerCommand::Outbox(args) => outbox::outbox(args, console),
        PartnerCommand::Run(args) => folders::run(args, console),
    }
}

/// Opens a source that can be read twice: standard input is read into memory first.
fn source(path: &Path) -> Result<(String, Box<dyn Source>), Stop> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
        return Ok(("<stdin>".to_owned(), Box::new(Cursor::new(bytes))));
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        let error = std::io::Error::from(std::io::ErrorKind::IsADirectory);
        return Err(unreadable(path, &error).into());
    }
    Ok((shown(path), Box::new(file)))
}

fn receive(args: &ReceiveArgs, console: &Console) -> Result<Exit, Stop> {
    let (opened, book) = open_with_book(&args.project, || open_store_to_receive(&args.project), console)?;
    let ledger = ledger(&opened)?;
    let limits = DeskLimits { unit_transactions_max: args.commit_interval.into(), ..DeskLimits::default() };
    let mut desk = desk_of(&book, &ledger, limits)?;
    let mut exit = Exit::Done;
    for path in &args.files {
        let (name, mut source) = source(path)?;
        let report = desk.receive(&name, &mut *source, if args.again { Again::Yes } else { Again::No })?;
        if args.json {
            write_stdout(format!("{}\n", receive_json(&name, &report)).as_bytes())?;
        } else {
            say_received(&name, &report, console);
        }
        if !report.is_good() {
            exit = Exit::Rejected;
        }
    }
    drop(desk);
    opened.close(exit)
}

/// Reports the result of a source.
pub(crate) fn say_received(name: &str, report: &ReceiveReport, console: &Console) {
    let findings: Vec<Finding> = report.findings.iter().map(|(_, finding)| finding.clone()).collect();
    console.findings(&findings);
    if report.findings_more > 0 {
        let list = match report.findings.last() {
            // An entry can also have warnings, such as an interchange that was delivered.
            Some((_, last)) if report.rejected == 0 => format!(
                "`quayline interchange list` and `quayline transaction list` with `--finding {}`, or another code, list",
                last.code
            ),
            _ => "`quayline transaction list --state rejected` lists".to_owned(),
        };
        console.paragraph(&format!("{} more findings; {list} their entries", report.findings_more));
    }
    let mut parts = vec![
        count_of(report.interchanges, "interchange"),
        count_of(report.transactions, "transaction"),
        format!("{} delivered", report.delivered),
    ];
    for (count, what) in [(report.rejected, "rejected"), (report.unrouted, "unrouted")] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    if report.duplicates > 0 {
        parts.push(count_of(report.duplicates, "duplicate"));
    }
    if report.acknowledgments > 0 {
        parts.push(format!("{} sent", count_of(report.acknowledgments, "acknowledgment")));
    }
    if report.matched > 0 {
        parts.push(format!("{} of sent documents matched", count_of(report.matched, "report")));
    }
    let resumed = if report.resumed { " (continued)" } else { "" };
    console.line(&format!("{name}: {}{resumed}", parts.join(", ")));
}

fn receive_json(name: &str, report: &ReceiveReport) -> serde_json::Value {
    json!({
        "source": name, "interchanges": report.interchanges, "transactions": report.transactions, "delivered": report.delivered,
        "rejected": report.rejected, "duplicates": report.duplicates, "unrouted": report.unrouted,
        "acknowledgments": report.acknowledgments, "matched": report.matched, "resumed": report.resumed,
        "findings": findings_json(&report.findings), "findings_more": report.findings_more,
    })
}

fn send(args: &SendArgs, console: &Console) -> Result<Exit, Stop> {
    let (opened, book) = open_with_book(&args.project, || open_store(&args.project, Missing::Create), console)?;
    let ledger = ledger(&opened)?;
    let mut desk = desk_of(&book, &ledger, DeskLimits::default())?;
    let mut exit = Exit::Done;
    for path in &args.files {
        let name = if path == Path::new("-") { "<stdin>".to_owned() } else { shown(path) };
        let request = SendRequest {
            name: &name,
            to: args.to.as_deref(),
            from: args.from.as_deref(),
            document: &args.document,
            again: if args.again { Again::Yes } else { Again::No },
        };
        let mut source: Box<dyn Source> = match record_file(path) {
            Some(file) => Box::new(Cursor::new(desk.records_to_send(&request, file)?)),
            None => source(path)?.1,
        };
        let report = desk.send(&request, &mut *source)?;
        if args.json {
            write_stdout(format!("{}\n", send_json(&name, &report)).as_bytes())?;
        } else {
            say_sent(&name, &report, console);
        }
        if report.rejected > 0 || report.repeated || report.findings.iter().any(|(_, finding)| is_error(finding)) {
            exit = Exit::Rejected;
        }
    }
    drop(desk);
    opened.close(exit)
}

/// Reports the result of documents to send.
pub(crate) fn say_sent(name: &str, report: &SendReport, console: &Console) {
    let findings: Vec<Finding> = report.findings.iter().map(|(_, finding)| finding.clone()).collect();
    console.findings(&findings);
    if report.findings_more > 0 {
        console.paragraph(&format!("{} more findings", report.findings_more));
    }
    let mut parts = vec![count_of(report.transactions, "document")];
    for (count, what) in [(report.sent, "sent"), (report.waiting, "waiting"), (report.rejected, "rejected")] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.push(format!("{} written", count_of(report.interchanges, "interchange")));
    let resumed = if report.resumed { " (continued)" } else { "" };
    console.line(&format!("{name}: {}{resumed}", parts.join(", ")));
}

fn send_json(name: &str, report: &SendReport) -> serde_json::Value {
    json!({
        "source": name, "documents": report.transactions, "sent": report.sent, "waiting": report.waiting,
        "rejected": report.rejected, "interchanges": report.interchanges, "resumed": report.resumed, "repeated": report.repeated,
        "findings": findings_json(&report.findings), "findings_more": report.findings_more,
    })
}

/// Formats the result of a release as JSON.
fn release_json(report: &SendReport) -> serde_json::Value {
    json!({
        "interchanges": report.interchanges,
        "findings": findings_json(&report.findings), "findings_more": report.findings_more,
    })
}

fn findings_json(findings: &[(EntryId, Finding)]) -> serde_json::Value {
    findings.iter().map(|(id, finding)| json!({"entry": id.0, "finding": raw(finding)})).collect()
}

/// Runs `quayline envelope`.
pub(crate) fn run_envelope(args: &EnvelopeArgs, console: &Console) -> Result<Exit, Stop> {
    memory::give_large_blocks_back();
    memory::keep_small_blocks();
    let project = match &args.command {
        EnvelopeCommand::List(args) => &args.project,
        EnvelopeCommand::Release(args) => &args.project,
    };
    let (opened, book) = open_with_book(project, || open_store(project, Missing::Refuse), console)?;
    let ledger = ledger(&opened)?;
    let mut desk = desk_of(&book, &ledger, DeskLimits::default())?;
    let mut exit = Exit::Done;
    match &args.command {
        EnvelopeCommand::List(args) => {
            for one in desk.waiting()? {
                let line = if args.json {
                    envelope_json(&one).to_string()
                } else {
                    let since = quayline_partner::time_text(one.since_ms);
                    let test = if one.test { " test" } else { "" };
                    let documents = count_of(one.count, "document");
                    let rule = if one.rule.is_empty() { String::new() } else { format!(", rule {}", one.rule) };
                    format!(
                        "{} {}{test}: {documents}, {} bytes, since {since}{rule}",
                        one.partner, one.standard, one.bytes
                    )
                };
                write_stdout(format!("{line}\n").as_bytes())?;
            }
        }
        EnvelopeCommand::Release(args) => {
            let which = match &args.partner {
                Some(partner) => Release::Partner(partner),
                None if args.due => Release::Due,
                None => Release::All,
            };
            let report = desk.release(&which)?;
            let findings: Vec<Finding> = report.findings.into_iter().map(|(_, finding)| finding).collect();
            console.findings(&findings);
            if report.findings_more > 0 {
                console.paragraph(&format!("{} more findings", report.findings_more));
            }
            if findings.iter().any(is_error) {
                exit = Exit::Rejected;
            }
            console.line(&format!("{} written", count_of(report.interchanges, "interchange")));
        }
    }
    let exit = say_undelivered(&mut desk, exit, console);
    drop(desk);
    opened.close(exit)
}

/// Formats an open envelope with waiting documents as JSON.
fn envelope_json(one: &Waiting) -> serde_json::Value {
    json!({"partner": one.partner, "own": one.own, "standard": one.standard, "test": one.test, "rule": one.rule, "documents": one.count, "bytes": one.bytes,
        "since": quayline_partner::time_text(one.since_ms)})
}

/// Returns true if a finding is an error.
pub(crate) fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}
