//! Requests of commands to the listener for operators of a server.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use quayline_core::{Code, Fault, Finding, Findings, Severity};
use serde_json::Value;

use crate::env_vars::QUAYLINE_ADMIN_KEY;
use crate::exit::{CLI_INPUT, Stop, argument};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(30);
/// Longest wait for a part of an answer: a purge of millions of messages takes minutes.
const WAIT: Duration = Duration::from_secs(900);

/// The listener for operators of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operator(pub(crate) SocketAddr);

impl Operator {
    /// Sends a request and returns its JSON answer. An answer with another status than 2xx becomes its findings.
    pub(crate) fn ask(self, method: &str, path: &str, body: &str) -> Result<Value, Stop> {
        let (status, text) = asked(self.0, method, path, body)?;
        let answer = serde_json::from_str::<Value>(&text);
        if (200..300).contains(&status) {
            return Ok(answer.map_err(|_| {
                let what = format!("the answer of {} is incomplete, or is not that of an admin listener", self.0);
                Finding::error(CLI_INPUT, Fault::Environment, what)
                    .hint("the server may have done the work: look at the queue before you repeat the command")
            })?);
        }
        let answer = answer.unwrap_or_default();
        let findings = findings_of(&answer);
        if !findings.is_empty() {
            return Err(Findings(findings).into());
        }
        let what = match answer["status"].as_str() {
            Some(why) => format!("{} answers {status}: {why}", self.0),
            None => format!("{} answers {status}", self.0),
        };
        Err(argument(what)
            .hint("check that the address is `listen` of [serve.admin], and that the server has a store")
            .into())
    }
}

/// Sends a request to a server, and returns status and body of its response.
pub(crate) fn asked(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<(u16, String), Stop> {
    let key = match QUAYLINE_ADMIN_KEY.value().map(std::ffi::OsString::into_string) {
        None => String::new(),
        Some(Ok(key)) if key.bytes().all(|byte| byte.is_ascii_graphic()) => format!("x-api-key: {key}\r\n"),
        Some(_) => {
            let finding = argument("QUAYLINE_ADMIN_KEY has characters that a header cannot have".to_owned());
            return Err(finding.hint("set it to the key of an operator, without blanks").into());
        }
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{key}content-length: {}\r\n\r\n",
        body.len()
    );
    Ok(request(address, &(head + body)).map_err(|error| {
        let hint = match error.kind() {
            // The request may have arrived.
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => {
                "the server may have done the work: look at its state before you repeat the command"
            }
            _ => "start the server with `quayline serve`",
        };
        let why = quayline_core::system_error_text(&error);
        Finding::error(CLI_INPUT, Fault::Environment, format!("{address} does not answer: {why}")).hint(hint)
    })?)
}

fn request(address: SocketAddr, text: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECT)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.write_all(text.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let no_text = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, "the answer is not UTF-8");
    let answer = String::from_utf8(answer).map_err(no_text)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split_ascii_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok((status, body.to_owned()))
}

/// Reads the findings of an answer (`quayline.finding/1`).
pub(crate) fn findings_of(answer: &Value) -> Vec<Finding> {
    answer["findings"].as_array().into_iter().flatten().map(finding_of).collect()
}

fn finding_of(value: &Value) -> Finding {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    // A code lives as long as the process, which ends after it has shown the answer.
    let code = Code(Box::leak(text("code").to_owned().into_boxed_str()));
    let fault = match text("fault") {
        "sender" => Fault::Sender,
        "config" => Fault::Config,
        "caller" => Fault::Caller,
        "environment" => Fault::Environment,
        _ => Fault::Ours,
    };
    let severity = match text("severity") {
        "note" => Severity::Note,
        "warning" => Severity::Warning,
        _ => Severity::Error,
    };
    let mut finding = Finding { severity, ..Finding::error(code, fault, text("message")) };
    finding.hint = value["hint"].as_str().map(str::to_owned);
    finding.place.path = value["path"].as_str().map(|path| path.into());
    finding
}
