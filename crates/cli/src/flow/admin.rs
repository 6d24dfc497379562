//! Flows on the listener for operators, and the commands that ask it.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quayline_core::{Fault, Finding};
use quayline_flow::{Engine, FlowState, LastError};
use quayline_server::{AdminPart, ServeConfig};
use serde_json::{Value, json};

use crate::args::FlowAdminArgs;
use crate::console::write_stdout;
use crate::exit::{CLI_INPUT, Exit, Stop};

/// Longest wait for the answer of a server.
const WAIT: Duration = Duration::from_secs(30);

/// Flows of an engine, for operators.
pub(crate) struct FlowsPart(pub(crate) Arc<Engine>);

impl AdminPart for FlowsPart {
    fn answer(&self, method: &str, path: &str) -> Option<(u16, String)> {
        let rest = path.strip_prefix("/flows")?;
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        let answer = match (method, parts.as_slice()) {
            ("GET", []) => (200, Value::from(self.0.flows().iter().map(state).collect::<Vec<_>>())),
            ("GET", [name]) => match self.0.flows().iter().find(|flow| flow.flow.name() == *name) {
                Some(flow) => (200, state(flow)),
                None => unknown(name),
            },
            ("POST", [name, "stop"]) if self.0.stop(name) => (200, json!({ "flow": name, "running": false })),
            ("POST", [name, "start"]) if self.0.restart(name) => (200, json!({ "flow": name, "running": true })),
            ("POST", [name, "start" | "stop"]) => unknown(name),
            _ => return None,
        };
        Some((answer.0, format!("{}\n", answer.1)))
    }

    fn metrics(&self) -> String {
        let mut text = String::new();
        let flows = self.0.flows();
        let mut counter = |name: &str, help: &str, kind: &str, value: &dyn Fn(&FlowState) -> u64| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for flow in &flows {
                let _ = writeln!(text, "{name}{{flow=\"{}\"}} {}", flow.flow.name(), value(flow));
            }
        };
        counter("quayline_flow_messages_total", "Messages received.", "counter", &|flow| count(&flow.stats.received));
        counter("quayline_flow_commits_total", "Units of work committed.", "counter", &|flow| {
            count(&flow.stats.committed)
        });
        counter("quayline_flow_rollbacks_total", "Units of work rolled back.", "counter", &|flow| {
            count(&flow.stats.rolled_back)
        });
        counter("quayline_flow_open", "Units of work that are open.", "gauge", &|flow| count(&flow.stats.open));
        counter("quayline_flow_running", "1 if the flow takes messages.", "gauge", &|flow| u64::from(flow.is_running));
        text
    }
}

fn count(of: &AtomicU64) -> u64 {
    of.load(Ordering::Relaxed)
}

fn unknown(name: &str) -> (u16, Value) {
    (404, json!({ "status": "no such flow", "flow": name }))
}

fn failure(error: Option<LastError>) -> Value {
    error.map_or(Value::Null, |error| {
        json!({ "at_ms": error.at_ms, "code": error.finding.code.0, "message": error.finding.message, "place": error.finding.place.to_string() })
    })
}

fn state(flow: &FlowState) -> Value {
    let nodes = flow.flow.file.nodes.iter().zip(&flow.stats.nodes).map(|(node, stats)| {
        json!({
            "name": node.name, "type": node.kind.name, "messages": count(&stats.messages),
            "failures": count(&stats.failures), "last_failure": failure(stats.last_error()),
        })
    });
    let stats = &flow.stats;
    json!({
        "name": flow.flow.name(), "running": flow.is_running, "received": count(&stats.received),
        "committed": count(&stats.committed), "rolled_back": count(&stats.rolled_back), "open": count(&stats.open),
        "last_failure": failure(stats.last_error()), "nodes": nodes.collect::<Vec<_>>(),
    })
}

/// `quayline flow stats`, `stop` and `start`: asks the server of a project.
pub(crate) fn ask(args: &FlowAdminArgs, method: &str, action: &str) -> Result<Exit, Stop> {
    let path = match (&args.name, action) {
        (Some(name), "") => format!("/flows/{name}"),
        (Some(name), action) => format!("/flows/{name}/{action}"),
        (None, _) => "/flows".to_owned(),
    };
    let address = match args.admin {
        Some(address) => address,
        None => ServeConfig::load(&args.project)?.admin.listen.ok_or_else(|| {
            let what = "the project's server has no listener for operators";
            Finding::error(CLI_INPUT, Fault::Config, what)
                .hint("set `listen` in [serve.admin] of quayline.toml, or give --admin")
        })?,
    };
    let (status, body) = request(address, method, &path).map_err(|error| {
        let why = quayline_core::system_error_text(&error);
        Finding::error(CLI_INPUT, Fault::Environment, format!("{address} does not answer: {why}"))
            .hint("start the server with `quayline serve`")
    })?;
    write_stdout(body.as_bytes())?;
    Ok(if status == 200 { Exit::Done } else { Exit::Rejected })
}

fn request(address: SocketAddr, method: &str, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, WAIT)?;
    stream.set_read_timeout(Some(WAIT))?;
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let no_text = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, "the answer is not UTF-8");
    let answer = String::from_utf8(answer).map_err(no_text)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split_ascii_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok((status, body.to_owned()))
}
