//! Flows on the listener for operators, and the commands that ask it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use quayline_core::{Fault, Finding};
use quayline_flow::Engine;
use quayline_server::{AdminPart, ServeConfig};
use quayline_store::{Clock as _, SystemClock};
use serde_json::{Value, json};

use crate::args::{FlowAdminArgs, FlowListArgs, FlowTraceArgs};
use crate::console::{Console, write_stdout};
use crate::exit::{CLI_INPUT, Exit, Stop};
use crate::interrupt::stop_flag;

/// Interval between two checks of the steps of a flow.
const LOOK: Duration = Duration::from_millis(200);
/// Flows of an engine, for operators.
pub(crate) struct FlowsPart(pub(crate) Arc<Engine>);

impl AdminPart for FlowsPart {
    fn answer(&self, method: &str, path: &str) -> Option<(u16, String)> {
        let (status, answer) = quayline_flow::answer(&self.0, SystemClock.now_ms(), method, path)?;
        Some((status, format!("{answer}\n")))
    }

    fn not_ready(&self) -> Vec<(String, String)> {
        quayline_flow::not_ready(&self.0.flows())
    }

    fn metrics(&self) -> String {
        quayline_flow::metrics(&self.0.flows())
    }
}

/// Implements `quayline flow stats`, `stop` and `start`: sends a request to the server of a project.
pub(crate) fn ask(args: &FlowAdminArgs, method: &str, action: &str, console: &Console) -> Result<Exit, Stop> {
    let path = match (&args.name, action) {
        (Some(name), "") => format!("/flows/{name}"),
        (Some(name), action) => format!("/flows/{name}/{action}"),
        (None, _) => "/flows".to_owned(),
    };
    let address = listener(args)?;
    let (status, body) = asked(address, method, &path)?;
    if status != 200 {
        return refused(address, args, &body, console);
    }
    write_stdout(body.as_bytes())?;
    Ok(Exit::Done)
}

/// Reports a flow that a server does not have, with the names of its flows. Prints other answers as they are.
fn refused(address: SocketAddr, args: &FlowAdminArgs, body: &str, console: &Console) -> Result<Exit, Stop> {
    let (status, all) = asked(address, "GET", "/flows")?;
    match (&args.name, serde_json::from_str::<Vec<Value>>(&all)) {
        (Some(name), Ok(all)) if status == 200 && !all.iter().any(|flow| flow["name"] == **name) => {
            console.findings(&[unknown(name, &all)]);
        }
        _ => write_stdout(body.as_bytes())?,
    }
    Ok(Exit::Rejected)
}

/// Returns the finding about a flow that a server does not have.
fn unknown(name: &str, all: &[Value]) -> Finding {
    let known: Vec<&str> = all.iter().filter_map(|flow| flow["name"].as_str()).collect();
    let hint = match known.as_slice() {
        [] => "it has no flows; the files of flows are in the folder `flows` of its project".to_owned(),
        known => format!("its flows: {}", known.join(", ")),
    };
    Finding::error(CLI_INPUT, Fault::Caller, format!("the server has no flow `{name}`")).hint(hint)
}

/// Figures of the nodes of a flow that a server runs, by name, each as a line for people.
pub(crate) fn figures(args: &FlowAdminArgs) -> Result<BTreeMap<String, String>, Stop> {
    let path = format!("/flows/{}", args.name.as_deref().unwrap_or_default());
    let (status, body) = asked(listener(args)?, "GET", &path)?;
    let answer: Value = serde_json::from_str(&body).unwrap_or_default();
    if status != 200 {
        let what = "the server does not run this flow";
        return Err(Finding::error(CLI_INPUT, Fault::Caller, what)
            .hint("`quayline flow stats` lists its flows")
            .into());
    }
    let figures = |node: &Value| {
        let count = |of: &Value, one: &str, several: &str| match of.as_u64() {
            Some(1) => format!("1 {one}"),
            _ => format!("{of} {several}"),
        };
        let state = node["state"].as_str().unwrap_or("?");
        let mut text = format!("{state}, {}", count(&node["messages"], "message", "messages"));
        if let Some(what) = node["waits_for"].as_str() {
            let _ = write!(text, ", waits: {what}");
        }
        if let Some(failures) = node["failures"].as_u64().filter(|failures| *failures > 0) {
            let _ = write!(text, ", {failures} failed, last {}", failure_line(&node["last_failure"]));
        }
        if let Some(dropped) = node["dropped"].as_u64().filter(|dropped| *dropped > 0) {
            let _ = write!(text, ", {dropped} dropped");
        }
        if node["warnings"].as_u64().is_some_and(|warnings| warnings > 0) {
            let warnings = count(&node["warnings"], "warning", "warnings");
            let _ = write!(text, ", {warnings}, last {}", failure_line(&node["last_warning"]));
        }
        Some((node["name"].as_str()?.to_owned(), text))
    };
    Ok(answer["nodes"].as_array().into_iter().flatten().filter_map(figures).collect())
}

fn failure_line(last: &Value) -> String {
    let text = |name: &str| last[name].as_str().unwrap_or_default();
    format!("{}: {}", text("code"), text("message"))
}

/// Implements `quayline flow list --live`.
pub(crate) fn list(args: &FlowListArgs) -> Result<Exit, Stop> {
    let (status, body) = asked(listener_of(args.admin, &args.flows.project)?, "GET", "/flows")?;
    let wrong = |what: String| Finding::error(CLI_INPUT, Fault::Caller, what);
    let all: Vec<Value> = match serde_json::from_str(&body) {
        Ok(all) if status == 200 => all,
        _ => return Err(wrong("the server runs no flows".to_owned()).hint("see `quayline serve --check`").into()),
    };
    let name = |flow: &Value| flow["name"].as_str().unwrap_or_default().to_owned();
    let names = &args.flows.names;
    if let Some(missing) = names.iter().find(|wanted| !all.iter().any(|flow| name(flow) == **wanted)) {
        return Err(unknown(missing, &all).into());
    }
    let mut text = String::new();
    for flow in all.iter().filter(|flow| names.is_empty() || names.contains(&name(flow))) {
        let state = match (&flow["ended"], &flow["waits_for"]) {
            (Value::String(why), _) => format!("ended: {why}"),
            _ if flow["running"] != true => "stopped".to_owned(),
            (_, Value::String(what)) => format!("waiting for {what}"),
            _ => format!("running{}", waiting_nodes(&flow["nodes"])),
        };
        let (received, committed, back) = (&flow["received"], &flow["committed"], &flow["rolled_back"]);
        let _ = write!(text, "{}  {state}; {received} received, {committed} committed, {back} rolled back", name(flow));
        if !flow["last_failure"].is_null() {
            let _ = write!(text, "; last failure {}", failure_line(&flow["last_failure"]));
        }
        text.push('\n');
    }
    write_stdout(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Returns the nodes that wait for another system or a folder, with the reasons.
fn waiting_nodes(nodes: &Value) -> String {
    let waits =
        |node: &Value| Some(format!(", node {} waits: {}", node["name"].as_str()?, node["waits_for"].as_str()?));
    nodes.as_array().into_iter().flatten().filter_map(waits).collect()
}

/// Returns the operators' listener of a project.
fn listener(args: &FlowAdminArgs) -> Result<SocketAddr, Stop> {
    listener_of(args.admin, &args.project)
}

/// Returns the given operators' listener, or that of a project.
pub(crate) fn listener_of(admin: Option<SocketAddr>, project: &std::path::Path) -> Result<SocketAddr, Stop> {
    if let Some(address) = admin {
        return Ok(address);
    }
    let configured = ServeConfig::load(project)?.admin.listen;
    Ok(configured.ok_or_else(|| {
        let what = "the project's server has no listener for operators";
        Finding::error(CLI_INPUT, Fault::Config, what)
            .hint("set `listen` in [serve.admin] of quayline.toml, or give --admin")
    })?)
}

/// Sends a request to a server, and returns status and body of its response.
pub(crate) fn asked(address: SocketAddr, method: &str, path: &str) -> Result<(u16, String), Stop> {
    crate::operator::asked(address, method, path, "")
}

/// Implements `quayline flow trace`: prints the steps of messages until the time is over or Ctrl-C.
pub(crate) fn trace(args: &FlowTraceArgs, console: &Console) -> Result<Exit, Stop> {
    let address = listener(&args.flow)?;
    let path = format!("/flows/{}/trace", args.flow.name.as_deref().unwrap_or_default());
    let interrupted = stop_flag().map_err(Stop::from)?;
    let until = args.time.map(|ms| Instant::now() + Duration::from_millis(ms));
    let mut method = "POST";
    loop {
        let (status, body) = asked(address, method, &path)?;
        if status != 200 {
            return refused(address, &args.flow, &body, console);
        }
        let answer: Value = serde_json::from_str(&body).unwrap_or_default();
        let mut text = String::new();
        if let Some(lost) = answer["lost"].as_u64().filter(|lost| *lost > 0) {
            let _ = writeln!(text, "{}", json!({ "lost": lost }));
        }
        for event in answer["events"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "{event}");
        }
        write_stdout(text.as_bytes())?;
        if interrupted.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until) {
            return Ok(Exit::Done);
        }
        method = "GET";
        std::thread::sleep(LOOK);
    }
}
