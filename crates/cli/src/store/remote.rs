//! `--admin` of `quayline queue` and `quayline file define`: the same commands through the listener for operators of a server that has the store open.

use std::net::SocketAddr;

use quayline_gateway::percent_encoded;
use quayline_store::queue::QueueChange;
use quayline_store::record_file::FileDefinition;
use serde_json::Value;

use super::api::{self, Attributes, ROOT};
use super::files_api::DefinitionWire;
use super::queue::{MessageLine, NOT_EMPTY, Partial, changed, defined, in_steps, line, say_retried};
use crate::args::{BrowseQueueArgs, QueueCommand};
use crate::console::{Console, write_stdout};
use crate::exit::{Exit, Stop};
use crate::operator::{Failed, Operator, findings_of, incomplete};

/// The id of a message that has none.
const NO_ID: &str = "000000000000000000000000000000000000000000000000";

/// Runs a command at the server.
pub(super) fn perform(command: &QueueCommand, server: SocketAddr, console: &Console) -> Result<Exit, Stop> {
    let server = Operator(server);
    match command {
        QueueCommand::Define(args) => put(server, &args.name, defined(args))?,
        QueueCommand::Alias(args) => {
            put(server, &args.name, QueueChange { alias: Some(args.target.clone()), ..QueueChange::default() })?;
        }
        QueueCommand::Alter(args) => {
            server.ask("PATCH", &path(&args.name, ""), &body(changed(args)?))?;
        }
        QueueCommand::Delete(args) => {
            let query = if args.with_messages { "?messages=delete" } else { "" };
            server.ask("DELETE", &path(&args.name, query), "").map_err(of_command)?;
        }
        QueueCommand::Depth(args) => depth(server, args.name.as_deref(), console)?,
        QueueCommand::Browse(args) => browse(server, args)?,
        QueueCommand::Move(args) => {
            let path = path(&args.from, &format!("/move?to={}&", percent_encoded(&args.to)));
            return in_steps(args.count, "moved", |count| step(server, &path, count, "moved"), console);
        }
        QueueCommand::Purge(args) => {
            let path = path(&args.name, "/purge?");
            return in_steps(None, "dropped", |count| step(server, &path, count, "dropped"), console);
        }
        QueueCommand::Retry(args) => {
            let count = args.count.map_or_else(String::new, |count| format!("?count={count}"));
            let answer = server.ask("POST", &path(&args.name, &format!("/retry{count}")), "")?;
            say_retried(number(&answer, "returned"), number(&answer, "left"), console);
        }
        // They have no option for it.
        QueueCommand::Put(_) | QueueCommand::Get(_) | QueueCommand::Serve(_) => {}
    }
    Ok(Exit::Done)
}

/// Defines a record file at a server.
pub(super) fn define_file(server: SocketAddr, definition: &FileDefinition) -> Result<Exit, Stop> {
    let body = serde_json::to_string(&DefinitionWire::from(definition)).expect("a definition has plain values");
    let path = format!("{}/{}", super::files_api::ROOT, percent_encoded(&definition.name));
    Operator(server).ask("PUT", &path, &body).map(|_| Exit::Done)
}

/// Defines queues with default attributes at a server, and returns the names of those that it did not have.
pub(crate) fn define_missing(server: SocketAddr, names: &[&str]) -> Result<Vec<String>, Stop> {
    let server = Operator(server);
    let known = server.ask("GET", ROOT, "")?;
    let is_known =
        |name: &str| known["queues"].as_array().is_some_and(|all| all.iter().any(|queue| queue["name"] == name));
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_known(name)).collect();
    for name in &missing {
        put(server, name, QueueChange::default())?;
    }
    Ok(missing.into_iter().map(str::to_owned).collect())
}

/// Replaces the remedy of a request by that of the command.
fn of_command(mut stop: Stop) -> Stop {
    if let Stop::Findings(findings) = &mut stop {
        for finding in findings.0.iter_mut().filter(|finding| finding.hint.as_deref() == Some(api::NOT_EMPTY)) {
            finding.hint = Some(NOT_EMPTY.to_owned());
        }
    }
    stop
}

fn path(name: &str, rest: &str) -> String {
    format!("{ROOT}/{}{rest}", percent_encoded(name))
}

/// Requests a step of a move or purge. `name` is the figure of the answer.
fn step(server: Operator, path: &str, count: u64, name: &str) -> Result<u64, Partial> {
    match server.attempt("POST", &format!("{path}count={count}"), b"") {
        Ok(answer) => answer[name].as_u64().ok_or_else(|| Partial { stop: incomplete(server.0), done: None }),
        Err(Failed { stop, answer: Some(answer) }) => Err(Partial { stop, done: Some(number(&answer, name)) }),
        Err(Failed { stop, answer: None }) => Err(Partial { stop, done: None }),
    }
}

fn body(change: QueueChange) -> String {
    serde_json::to_string(&Attributes::from(change)).expect("attributes have string keys and plain values")
}

fn put(server: Operator, name: &str, change: QueueChange) -> Result<(), Stop> {
    server.ask("PUT", &path(name, ""), &body(change)).map(|_| ())
}

fn depth(server: Operator, name: Option<&str>, console: &Console) -> Result<(), Stop> {
    let answer = server.ask("GET", &name.map_or_else(|| ROOT.to_owned(), |name| path(name, "")), "")?;
    let all = match name {
        None => answer["queues"].as_array().cloned().unwrap_or_default(),
        Some(_) => vec![answer.clone()],
    };
    let mut text = String::new();
    for queue in &all {
        let name = queue["name"].as_str().unwrap_or_default();
        text.push_str(&match (&queue["missing"], &queue["depth"]) {
            (Value::String(missing), _) => format!("{name}  leads to {missing}, which does not exist\n"),
            (_, Value::Null) => format!("{name}  topic\n"),
            (_, depth) => format!("{name}  {depth}\n"),
        });
    }
    write_stdout(text.as_bytes())?;
    console.findings(&findings_of(&answer));
    Ok(())
}

fn browse(server: Operator, args: &BrowseQueueArgs) -> Result<(), Stop> {
    let (mut left, mut after) = (args.count, String::new());
    while left > 0 {
        let query = format!("/messages?count={}{after}", left.min(1_000));
        let page = server.ask("GET", &path(&args.name, &query), "")?;
        let browsed = page["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(next) = page["next"].as_str().filter(|_| !browsed.is_empty()) else { break };
        after = format!("&after={next}");
        left = left.saturating_sub(browsed.len());
        let text = |message: &Value| if args.json { format!("{message}\n") } else { line_of(message) };
        write_stdout(browsed.iter().map(text).collect::<String>().as_bytes())?;
    }
    Ok(())
}

/// Formats a message as the command does that opens the store.
fn line_of(message: &Value) -> String {
    let text = |name: &str| message[name].as_str().unwrap_or_default();
    line(&MessageLine {
        id: text("message_id"),
        correlation: message["correlation_id"].as_str().unwrap_or(NO_ID),
        priority: number(message, "priority"),
        bytes: number(message, "bytes"),
        backouts: number(message, "backout_count"),
        reason: text("reason"),
        due_ms: message["available_at_ms"].as_u64(),
    })
}

fn number(answer: &Value, name: &str) -> u64 {
    answer[name].as_u64().unwrap_or_default()
}
