//! `quayline transaction` and `quayline interchange`.

use std::fmt::Write as _;

use quayline_partner::{
    AdviceOutcome, DeskLimits, Entry, EntryId, Filter, Kind, Ledger, State, Way, time_of, time_text,
};
use quayline_store::Store;
use serde_json::{Value, json};

use super::export::export;
use super::{book, desk_of, is_error, ledger, now_ms, open_store, read_book, say_undelivered};
use crate::args::{
    EntryArgs, FilterArgs, InterchangeArgs, InterchangeCommand, ListArgs, ProjectArgs, TransactionArgs,
    TransactionCommand,
};
use crate::console::{Console, write_stdout};
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop, argument};
use crate::render::{count_of, grouped};
use crate::store::{Missing, from_hex};

/// Runs `quayline transaction`.
pub(crate) fn run_transaction(args: &TransactionArgs, console: &Console) -> Result<Exit, Stop> {
    let project = match &args.command {
        TransactionCommand::List(args) => &args.project,
        TransactionCommand::Show(args) => &args.project,
        TransactionCommand::Reprocess(args) => &args.project,
        TransactionCommand::Advise(args) => &args.project,
        TransactionCommand::Export(args) => &args.project,
        TransactionCommand::Purge(args) => &args.project,
    };
    let opened = open_store(project, Missing::Refuse)?;
    let store = ledger(&opened)?;
    let exit = match &args.command {
        TransactionCommand::List(args) => list(args, Kind::Transaction, &opened.store, &store, console)?,
        TransactionCommand::Show(args) => show(args, &store)?,
        TransactionCommand::Export(args) => {
            let filter = filter_of(&args.filter, None)?;
            store.check_names(&filter, || read_book(&project.project, Some(&opened.store)).ok())?;
            export(&store, filter, args)?;
            Exit::Done
        }
        TransactionCommand::Purge(args) => {
            let removed = store.purge(now_ms(), args.older_than)?;
            let entries = if removed == 1 { "1 entry".to_owned() } else { format!("{} entries", grouped(removed)) };
            console.line(&format!("{entries} removed"));
            Exit::Done
        }
        TransactionCommand::Advise(args) => {
            let outcome = AdviceOutcome::named(&args.outcome).ok_or_else(|| {
                let hint = format!("write one of {}", AdviceOutcome::WORDS.join(", "));
                Stop::from(argument(format!("`{}` is not an outcome", args.outcome)).hint(hint))
            })?;
            let book = book(project, &opened.store, console)?;
            let mut desk = desk_of(&book, &store, DeskLimits::default())?;
            let advice = desk.advise(EntryId(args.entry), outcome, &args.text)?;
            console.line(&format!("the partner is advised of entry {} in entry {advice}", args.entry));
            say_undelivered(&mut desk, Exit::Done, console)
        }
        TransactionCommand::Reprocess(args) => {
            if args.with.is_some() && args.entries.len() > 1 {
                return Err(argument("--with is for one entry").hint("name one entry").into());
            }
            let corrected = match args.with.as_deref() {
                Some(path) => Some(std::fs::read(path).map_err(|error| unreadable(path, &error))?),
                None => None,
            };
            let book = book(project, &opened.store, console)?;
            let mut desk = desk_of(&book, &store, DeskLimits::default())?;
            let mut exit = Exit::Done;
            for id in &args.entries {
                let done = desk.reprocess(EntryId(*id), corrected.as_deref())?;
                console.findings(&done.findings);
                let outputs =
                    if done.outputs.is_empty() { String::new() } else { format!(": {}", done.outputs.join(", ")) };
                console.line(&format!("entry {id} is now entry {}, {}{outputs}", done.entry, done.state.name()));
                let is_done = matches!(done.state, State::Delivered | State::Sent | State::Waiting);
                if !is_done || done.findings.iter().any(is_error) {
                    exit = Exit::Rejected;
                }
            }
            say_undelivered(&mut desk, exit, console)
        }
    };
    opened.close(exit)
}

/// Runs `quayline interchange`.
pub(crate) fn run_interchange(args: &InterchangeArgs, console: &Console) -> Result<Exit, Stop> {
    let project: &ProjectArgs = match &args.command {
        InterchangeCommand::List(args) => &args.project,
        InterchangeCommand::Show(args) => &args.project,
        InterchangeCommand::Overdue(args) => &args.project,
        InterchangeCommand::Resend(args) | InterchangeCommand::Reenvelope(args) => &args.project,
    };
    let opened = open_store(project, Missing::Refuse)?;
    let store = ledger(&opened)?;
    let exit = match &args.command {
        InterchangeCommand::List(args) => list(args, Kind::Interchange, &opened.store, &store, console)?,
        InterchangeCommand::Show(args) => show(args, &store)?,
        InterchangeCommand::Overdue(args) => {
            let at = args.at.as_deref().map(|text| time("--at", text)).transpose()?.unwrap_or_else(now_ms);
            let mut filter =
                Filter { state: Some(State::Expecting), overdue_at_ms: Some(at), limit: 1_000, ..Filter::default() };
            let mut any = false;
            loop {
                let found = store.search(&filter)?;
                any |= !found.entries.is_empty();
                print(&found.entries, args.json)?;
                match found.next {
                    Some(next) => filter.after = Some(next),
                    None => break,
                }
            }
            if any { Exit::Rejected } else { Exit::Done }
        }
        InterchangeCommand::Resend(args) => {
            let book = book(project, &opened.store, console)?;
            let mut desk = desk_of(&book, &store, DeskLimits::default())?;
            let place = desk.resend(EntryId(args.entry))?;
            console.line(&format!("entry {} sent again to {place}", args.entry));
            say_undelivered(&mut desk, Exit::Done, console)
        }
        InterchangeCommand::Reenvelope(args) => {
            let book = book(project, &opened.store, console)?;
            let mut desk = desk_of(&book, &store, DeskLimits::default())?;
            let report = desk.reenvelope(EntryId(args.entry))?;
            console.line(&format!("{} sent in a new interchange", count_of(report.transactions, "document")));
            say_undelivered(&mut desk, Exit::Done, console)
        }
    };
    opened.close(exit)
}

fn time(option: &str, text: &str) -> Result<u64, Stop> {
    time_of(text).ok_or_else(|| {
        argument(format!("`{text}` of {option} is not a time"))
            .hint("write 2026-04-01 or 2026-04-01T12:00, in UTC")
            .into()
    })
}

fn filter_of(args: &FilterArgs, kind: Option<Kind>) -> Result<Filter, Stop> {
    let state = args.state.as_deref().map(|word| {
        State::named(word).ok_or_else(|| {
            let hint = match quayline_core::nearest(word, State::WORDS.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("write one of {}", State::WORDS.join(", ")),
            };
            Stop::from(argument(format!("`{word}` is not a state")).hint(hint))
        })
    });
    let field = args.field.as_deref().map(|text| {
        Filter::field_of(text).ok_or_else(|| {
            let finding = argument(format!("`--field {text}` has no `=`"));
            Stop::from(finding.hint("write it as --field purchase-order=PO4711"))
        })
    });
    let way = match (args.received, args.sent) {
        (true, _) => Some(Way::Received),
        (_, true) => Some(Way::Sent),
        _ => None,
    };
    Ok(Filter {
        kind,
        partner: args.partner.clone(),
        state: state.transpose()?,
        way,
        document: args.document.clone(),
        guide: args.guide.clone(),
        map: args.map.clone(),
        rule: args.rule.clone(),
        finding: args.finding.clone(),
        number: args.number.clone(),
        field: field.transpose()?,
        from_ms: args.from.as_deref().map(|text| time("--from", text)).transpose()?,
        to_ms: args.to.as_deref().map(|text| time("--to", text)).transpose()?,
        ..Filter::default()
    })
}

fn list(args: &ListArgs, kind: Kind, opened: &Store, store: &Ledger, console: &Console) -> Result<Exit, Stop> {
    let mut filter = filter_of(&args.filter, Some(kind))?;
    filter.after = args.after.as_deref().map(|place| from_hex("--after", place)).transpose()?;
    let mut left = args.count;
    let mut printed = 0;
    // A page may have no entry after examining its maximum number of entries.
    while left > 0 {
        filter.limit = left;
        let found = store.search(&filter)?;
        print(&found.entries, args.json)?;
        printed += found.entries.len();
        left -= found.entries.len().min(left);
        match found.next {
            Some(next) => filter.after = Some(next),
            None => {
                filter.after = None;
                break;
            }
        }
    }
    if printed == 0 {
        if args.after.is_none() && args.count > 0 {
            store.check_names(&filter, || read_book(&args.project.project, Some(opened)).ok())?;
        }
        console.line("no entry");
    }
    if let Some(after) = &filter.after {
        let place = quayline_core::hex(after);
        console.line(&format!("more with --after {place}"));
    }
    Ok(Exit::Done)
}

fn print(entries: &[Entry], json: bool) -> Result<(), Stop> {
    let mut out = String::new();
    for entry in entries {
        if json {
            let _ = writeln!(out, "{}", entry_json(entry));
        } else {
            let document = format!("{} {}", entry.details.document, entry.details.version);
            let partner = if entry.partner.is_empty() { "-" } else { &entry.partner };
            let document = if document.trim().is_empty() { entry.kind.name() } else { document.trim() };
            let number = if entry.number.is_empty() { "-" } else { &entry.number };
            let time = time_text(entry.time_ms);
            let _ = writeln!(
                out,
                "{:>8}  {time}  {:8}  {:10}  {partner}  {document}  {number}",
                entry.id,
                entry.way.name(),
                entry.state.name()
            );
        }
    }
    write_stdout(out.as_bytes())?;
    Ok(())
}

/// Formats an entry as JSON.
pub(super) fn entry_json(entry: &Entry) -> Value {
    let details = &entry.details;
    let fields: serde_json::Map<String, Value> =
        details.fields.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect();
    let findings: Vec<Value> = details
        .findings
        .iter()
        .map(|one| json!({"code": one.code, "severity": one.severity, "message": one.message, "place": one.place, "hint": one.hint}))
        .collect();
    let history: Vec<Value> =
        details.history.iter().map(|line| json!({"at": time_text(line.at_ms), "what": line.what})).collect();
    let id = |id: u64| if id == 0 { Value::Null } else { Value::from(id) };
    let due = if entry.state == State::Expecting { Value::String(time_text(entry.due_ms)) } else { Value::Null };
    json!({
        "entry": entry.id.0, "kind": entry.kind.name(), "way": entry.way.name(), "state": entry.state.name(),
        "time": time_text(entry.time_ms), "due": due, "partner": entry.partner, "own": details.own, "standard": details.standard,
        "document": details.document, "version": details.version, "number": entry.number, "group": details.group,
        "interchange": details.interchange, "test": details.test, "sender": details.sender, "receiver": details.receiver,
        "parent": id(details.parent), "about": id(details.about), "replaced_by": id(details.replaced_by), "answered_by": id(details.answered_by), "rule": details.rule,
        "map": details.map, "guide": details.guide, "bytes": details.bytes, "kept_bytes": details.kept_bytes, "transactions": details.transactions, "transactions_bad": details.transactions_bad,
        "source": details.source, "outputs": details.outputs, "fields": fields, "findings": findings,
        "findings_more": details.findings_more, "history": history,
    })
}

fn show(args: &EntryArgs, store: &Ledger) -> Result<Exit, Stop> {
    let id = EntryId(args.entry);
    let unit = store.begin().map_err(crate::store::stop)?;
    let entry = store.need(&unit, id)?;
    if args.bytes {
        let mut stopped = Ok(());
        store.bytes_of(&unit, &entry, &mut |bytes| {
            if stopped.is_ok() {
                stopped = write_stdout(bytes);
            }
            Ok(())
        })?;
        stopped?;
        return Ok(Exit::Done);
    }
    if args.json {
        write_stdout(format!("{}\n", entry_json(&entry)).as_bytes())?;
        return Ok(Exit::Done);
    }
    let details = &entry.details;
    let mut out = String::new();
    let _ = writeln!(out, "entry {}: {} {}, {}", entry.id, entry.kind.name(), entry.way.name(), entry.state.name());
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(out, "  {name}: {value}");
        }
    };
    row("time", &time_text(entry.time_ms));
    if entry.state == State::Expecting {
        row("due", &time_text(entry.due_ms));
    }
    row("partner", &entry.partner);
    row("own", &details.own);
    row("document", format!("{} {} {}", details.standard, details.document, details.version).trim());
    row("number", &entry.number);
    row("group", &details.group);
    row("interchange", &details.interchange);
    row("test", if details.test { "yes" } else { "" });
    row("sender", &details.sender);
    row("receiver", &details.receiver);
    let number = |number: u64| if number == 0 { String::new() } else { number.to_string() };
    row("in entry", &number(details.parent));
    row("about entry", &number(details.about));
    row("replaced by entry", &number(details.replaced_by));
    row("answered by entry", &number(details.answered_by));
    row("rule", &details.rule);
    row("map", &details.map);
    row("guide", &details.guide);
    row("bytes", &number(details.bytes));
    row("bytes kept as they came", &number(details.kept_bytes));
    row("transactions", &number(details.transactions));
    row("not delivered", &number(details.transactions_bad));
    row("source", &details.source);
    details.outputs.iter().for_each(|output| row("output", output));
    details.fields.iter().for_each(|(name, value)| row(name, value));
    for finding in &details.findings {
        let place = if finding.place.is_empty() { String::new() } else { format!(" ({})", finding.place) };
        let _ = writeln!(out, "  {}[{}]: {}{place}", finding.severity, finding.code, finding.message);
        if !finding.hint.is_empty() {
            let _ = writeln!(out, "    hint: {}", finding.hint);
        }
    }
    if details.findings_more > 0 {
        let _ = writeln!(out, "  {} more findings", details.findings_more);
    }
    for line in &details.history {
        let _ = writeln!(out, "  {}  {}", time_text(line.at_ms), line.what);
    }
    write_stdout(out.as_bytes())?;
    Ok(Exit::Done)
}
