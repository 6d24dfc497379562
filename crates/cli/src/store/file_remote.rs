//! `--admin` of `quayline file`: the same commands through the listener for operators of a server that has the store open.

use std::collections::VecDeque;
use std::net::SocketAddr;

use quayline_core::{Fault, Finding, from_hex};
use quayline_gateway::percent_encoded;
use quayline_server::AdminRequest;
use quayline_store::record_file::{FileDefinition, Relation};
use quayline_store::{STO_NOT_FOUND, Value};

use super::file::{check_delete, no_key, no_record, print_all, print_one, unload_all};
use super::files_api::{DefinitionWire, ROOT};
use super::read_whole;
use super::records::{Records, Sought};
use super::records_api::{PAGE_RECORDS, PageWire};
use crate::args::{BrowseArgs, DeleteArgs, FactsArgs, FileCommand, GetArgs, PutArgs, UnloadArgs};
use crate::console::{Console, write_stdout};
use crate::exit::{CLI_INPUT, Exit, Stop, argument};
use crate::operator::{Operator, incomplete};

/// Runs a command at the server.
pub(super) fn perform(command: &FileCommand, server: SocketAddr, console: &Console) -> Result<Exit, Stop> {
    let server = Operator(server);
    match command {
        FileCommand::Get(args) => get(server, args, console),
        FileCommand::Put(args) => put(server, args),
        FileCommand::Browse(args) => browse(server, args, console),
        FileCommand::Unload(args) => unload(server, args, console),
        FileCommand::Delete(args) => delete(server, args, console),
        FileCommand::Facts(args) => facts(server, args),
        // `define` is a request of its own, and the others have no option for it.
        _ => Ok(Exit::Done),
    }
}

fn path(name: &str, rest: &str) -> String {
    format!("{ROOT}/{}{rest}", percent_encoded(name))
}

/// Reads the definition of a file.
fn definition(server: Operator, name: &str) -> Result<FileDefinition, Stop> {
    let answer = server.exchange("GET", &path(name, ""), b"")?;
    let wire = serde_json::from_slice::<DefinitionWire>(&answer).map_err(|_| incomplete(server.0))?;
    Ok(wire.named(name)?)
}

/// Reports that no record has the key; other reasons stop the command.
fn not_found(stop: Stop, relation: Relation, console: &Console) -> Result<Exit, Stop> {
    match stop {
        Stop::Findings(findings) if findings.0.iter().any(|finding| finding.code == STO_NOT_FOUND) => {
            let finding = findings.0.into_iter().find(|finding| finding.code == STO_NOT_FOUND);
            Ok(finding.map_or(Exit::NotThere, |finding| no_record(finding, relation, console)))
        }
        other => Err(other),
    }
}

fn get(server: Operator, args: &GetArgs, console: &Console) -> Result<Exit, Stop> {
    let sought = Sought::of_args(&args.key, args.described.encoding.as_deref())?;
    sought.by().ok_or_else(no_key)?;
    let (relation, text) = if args.at_least { (Relation::AtLeast, "at-least") } else { (Relation::Equal, "equal") };
    let query = format!("/record?relation={text}{}", sought.query());
    match server.exchange("GET", &path(&args.name, &query), b"") {
        Ok(record) => print_one(args, record.into(), console),
        Err(stop) => not_found(stop, relation, console),
    }
}

fn put(server: Operator, args: &PutArgs) -> Result<Exit, Stop> {
    let record = read_whole(&args.record)?;
    if record.len() > AdminRequest::BODY_BYTES_MAX {
        let (found, max) = (record.len(), AdminRequest::BODY_BYTES_MAX);
        let what = format!("the record has {found} bytes, and a request to a server at most {max}");
        let hint = "stop the server, and run the command with --store";
        return Err(Finding::error(CLI_INPUT, Fault::Caller, what).hint(hint).into());
    }
    let (method, rest) = if args.replace { ("PUT", "/record") } else { ("POST", "/records") };
    server.exchange(method, &path(&args.name, rest), &record).map(|_| Exit::Done)
}

fn browse(server: Operator, args: &BrowseArgs, console: &Console) -> Result<Exit, Stop> {
    let file = definition(server, &args.name)?;
    let sought = Sought::of_args(&args.key, args.described.encoding.as_deref())?;
    let order = if args.reverse { "&order=backward" } else { "" };
    let mut records = Pages::new(server, &args.name, &sought, order, args.count);
    // The first page shows whether a record has the key, before anything is printed.
    if let Err(stop) = records.begin() {
        return not_found(stop, Relation::AtLeast, console);
    }
    print_all(args, &file, Box::new(records), console)
}

fn unload(server: Operator, args: &UnloadArgs, console: &Console) -> Result<Exit, Stop> {
    if args.salvage {
        let hint = "stop the server, and run the command with --store";
        return Err(argument("--salvage needs the store itself, not a server").hint(hint).into());
    }
    let file = definition(server, &args.name)?;
    let mut records = Pages::new(server, &args.name, &Sought::default(), "", u64::MAX);
    unload_all(args, &file, &mut records, console)
}

fn delete(server: Operator, args: &DeleteArgs, console: &Console) -> Result<Exit, Stop> {
    let sought = Sought::of_args(&args.key, args.encoding.as_deref())?;
    check_delete(args, &sought)?;
    if args.all {
        let hint = "stop the server, and run the command with --store";
        return Err(argument("--all does not apply to a server, whose flows and APIs may use the file")
            .hint(hint)
            .into());
    }
    let query = sought.query();
    let query = query.strip_prefix('&').unwrap_or_default();
    match server.exchange("DELETE", &path(&args.name, &format!("/record?{query}")), b"") {
        Ok(_) => Ok(Exit::Done),
        Err(stop) => not_found(stop, Relation::Equal, console),
    }
}

fn facts(server: Operator, args: &FactsArgs) -> Result<Exit, Stop> {
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => {
            let all = server.ask("GET", ROOT, "")?;
            let files = all["files"].as_array().map(Vec::as_slice).unwrap_or_default();
            files.iter().filter_map(|file| file["name"].as_str()).map(str::to_owned).collect()
        }
    };
    for name in names {
        write_stdout(&server.exchange("GET", &path(&name, "/facts"), b"")?)?;
    }
    Ok(Exit::Done)
}

/// Records of a browse, one page after another, so that neither side holds more than a page.
struct Pages {
    server: Operator,
    path: String,
    /// Parameters of the next page; `None` after the last page.
    next: Option<String>,
    /// Parameters of every page after the first.
    rest: String,
    records: VecDeque<Value>,
    /// Records that it may still request.
    left: u64,
}

impl Pages {
    fn new(server: Operator, name: &str, sought: &Sought, order: &str, left: u64) -> Pages {
        // The places of a browse are those of the index, if the key is one of an index.
        let index =
            sought.browsed_index().map_or_else(String::new, |index| format!("&index={}", percent_encoded(index)));
        let (rest, first) = (format!("{index}{order}"), format!("{}{order}", sought.query()));
        Pages { server, path: path(name, "/records"), next: Some(first), rest, records: VecDeque::new(), left }
    }

    /// Requests the first page, also if no record is wanted: the server checks the key.
    fn begin(&mut self) -> Result<(), Stop> {
        if self.left > 0 {
            return self.fill();
        }
        let Some(parameters) = self.next.take() else { return Ok(()) };
        self.server.exchange("GET", &format!("{}?limit=1{parameters}", self.path), b"").map(drop)
    }

    /// Requests the next page if no record of the last one remains.
    fn fill(&mut self) -> Result<(), Stop> {
        while self.records.is_empty() && self.left > 0 {
            let Some(parameters) = self.next.take() else { return Ok(()) };
            let limit = self.left.min(PAGE_RECORDS);
            let path = format!("{}?limit={limit}{parameters}", self.path);
            let answer = self.server.exchange("GET", &path, b"")?;
            let page = serde_json::from_slice::<PageWire<'_>>(&answer).map_err(|_| incomplete(self.server.0))?;
            for record in &page.records {
                let bytes = from_hex(record.record.as_bytes()).ok_or_else(|| incomplete(self.server.0))?;
                self.records.push_back(bytes.into());
            }
            self.left = self.left.saturating_sub(page.records.len() as u64);
            self.next = page.next.map(|next| format!("{}&after={next}", self.rest));
        }
        Ok(())
    }
}

impl Records for Pages {
    fn next(&mut self) -> Result<Option<Value>, Stop> {
        self.fill()?;
        Ok(self.records.pop_front())
    }
}
