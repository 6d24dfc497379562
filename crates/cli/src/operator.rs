//! Requests of commands to the listener for operators of a server.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use quayline_core::{ByteOffset, Code, Fault, Finding, Findings, Place, RecordNumber, Severity};
use serde_json::Value;

use crate::env_vars::QUAYLINE_ADMIN_KEY;
use crate::exit::{CLI_INPUT, Stop, argument};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(30);
/// Longest wait for a part of an answer: figures of a large file, or a retry of millions of messages, take minutes.
const WAIT: Duration = Duration::from_secs(900);

/// The listener for operators of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operator(pub(crate) SocketAddr);

/// A request that failed.
pub(crate) struct Failed {
    /// The findings.
    pub(crate) stop: Stop,
    /// The answer that refuses the request, if one arrived.
    pub(crate) answer: Option<Value>,
}

impl Operator {
    /// Sends a request and returns its JSON answer. An answer with another status than 2xx becomes its findings.
    pub(crate) fn ask(self, method: &str, path: &str, body: &str) -> Result<Value, Stop> {
        self.attempt(method, path, body.as_bytes()).map_err(|failed| failed.stop)
    }

    /// As [`Self::ask`], with the answer of a request that failed.
    pub(crate) fn attempt(self, method: &str, path: &str, body: &[u8]) -> Result<Value, Failed> {
        let answer = self.answered(method, path, body)?;
        serde_json::from_slice(&answer).map_err(|_| incomplete(self.0).into())
    }

    /// Sends a request and returns the bytes of its answer. An answer with another status than 2xx becomes its findings.
    pub(crate) fn exchange(self, method: &str, path: &str, body: &[u8]) -> Result<Vec<u8>, Stop> {
        self.answered(method, path, body).map_err(|failed| failed.stop)
    }

    fn answered(self, method: &str, path: &str, body: &[u8]) -> Result<Vec<u8>, Failed> {
        let (status, answer) = sent(self.0, method, path, body)?;
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        let answer = serde_json::from_slice::<Value>(&answer).unwrap_or_default();
        let findings = findings_of(&answer);
        if !findings.is_empty() {
            return Err(Failed { stop: Findings(findings).into(), answer: Some(answer) });
        }
        let what = match answer["status"].as_str() {
            Some(why) => format!("{} answers {status}: {why}", self.0),
            None => format!("{} answers {status}", self.0),
        };
        let hint = "check that the address is `listen` of [serve.admin], and that the server has a store";
        Err(Stop::from(argument(what).hint(hint)).into())
    }
}

impl From<Stop> for Failed {
    fn from(stop: Stop) -> Self {
        Failed { stop, answer: None }
    }
}

/// Creates the finding for an answer that ends early or is not from a server of Quayline.
pub(crate) fn incomplete(address: SocketAddr) -> Stop {
    let what = format!("the answer of {address} is incomplete, or is not that of an admin listener");
    Finding::error(CLI_INPUT, Fault::Environment, what)
        .hint("the server may have done the work: look at its state before you repeat the command")
        .into()
}

/// Sends a request to a server, and returns status and text of its response.
pub(crate) fn asked(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<(u16, String), Stop> {
    let (status, answer) = sent(address, method, path, body.as_bytes())?;
    String::from_utf8(answer).map(|text| (status, text)).map_err(|_| incomplete(address))
}

fn sent(address: SocketAddr, method: &str, path: &str, body: &[u8]) -> Result<(u16, Vec<u8>), Stop> {
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
    let answer = request(address, head.as_bytes(), body).map_err(|error| {
        let hint = match error.kind() {
            // The request may have arrived.
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => {
                "the server may have done the work: look at its state before you repeat the command"
            }
            _ => "start the server with `quayline serve`",
        };
        let why = quayline_core::system_error_text(&error);
        Stop::from(
            Finding::error(CLI_INPUT, Fault::Environment, format!("{address} does not answer: {why}")).hint(hint),
        )
    })?;
    parsed(answer).ok_or_else(|| incomplete(address))
}

fn request(address: SocketAddr, head: &[u8], body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECT)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.write_all(head)?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// Returns status and body of a response, or `None` if it has no status, or if its body is shorter than its `content-length`.
fn parsed(mut answer: Vec<u8>) -> Option<(u16, Vec<u8>)> {
    const END: &[u8] = b"\r\n\r\n";
    let end = answer.windows(END.len()).position(|bytes| bytes == END).unwrap_or(answer.len());
    let body = answer.split_off((end + END.len()).min(answer.len()));
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.split_ascii_whitespace().nth(1).and_then(|status| status.parse().ok())?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_none_or(|length| body.len() >= length).then_some((status, body))
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
    finding.place = Place {
        file: value["file"].as_str().map(Into::into),
        line: value["line"].as_u64().and_then(|line| line.try_into().ok()),
        column: value["column"].as_u64().and_then(|column| column.try_into().ok()),
        record: value["record"].as_u64().map(RecordNumber),
        byte: value["byte"].as_u64().map(ByteOffset),
        path: value["path"].as_str().map(str::to_owned),
        detail: value["detail"].as_str().map(str::to_owned),
        ..Place::default()
    };
    finding
}
