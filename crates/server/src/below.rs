//! Faults of connections that never become a request. No operation counts them, so each has a metric by reason, a line in the access log if
//! HTTP sent a response, and at most one line in the log every ten seconds.

use std::io;
use std::sync::atomic::Ordering;

use crate::shared::Shared;

/// Reason why a connection ended outside of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ConnectionFault {
    /// The TLS handshake failed or did not end in time.
    Handshake,
    /// The client did not send HTTP/1.1; the response was 400.
    Malformed,
    /// The request line or headers exceed `header-bytes`; the response was 431.
    HeadersTooLarge,
    /// No request arrived within `idle-seconds`, or its headers did not end in time.
    Idle,
    /// The client closed the connection before its headers ended, or did not take its answer.
    Left,
}

impl ConnectionFault {
    pub(crate) const ALL: [ConnectionFault; 5] = [
        ConnectionFault::Handshake,
        ConnectionFault::Malformed,
        ConnectionFault::HeadersTooLarge,
        ConnectionFault::Idle,
        ConnectionFault::Left,
    ];

    /// Returns the metric label.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ConnectionFault::Handshake => "tls-handshake",
            ConnectionFault::Malformed => "malformed",
            ConnectionFault::HeadersTooLarge => "headers-too-large",
            ConnectionFault::Idle => "idle",
            ConnectionFault::Left => "left",
        }
    }

    /// Returns the status of the response that the HTTP library sent.
    fn status(self) -> Option<u16> {
        match self {
            ConnectionFault::Malformed => Some(400),
            ConnectionFault::HeadersTooLarge => Some(431),
            _ => None,
        }
    }

    /// Classifies an error of the HTTP library.
    pub(crate) fn of(error: &hyper::Error) -> ConnectionFault {
        if error.is_parse_too_large() {
            ConnectionFault::HeadersTooLarge
        } else if error.is_parse() {
            ConnectionFault::Malformed
        } else if error.is_timeout() {
            ConnectionFault::Idle
        } else {
            ConnectionFault::Left
        }
    }
}

impl Shared {
    /// Records a fault. `why` is for the operator and contains no data of the client.
    pub(crate) fn connection_fault(&self, fault: ConnectionFault, from: std::net::IpAddr, why: &str) {
        self.metrics.connection_faults[fault as usize].fetch_add(1, Ordering::Relaxed);
        if let (Some(log), Some(status)) = (&self.access_log, fault.status()) {
            log.line(&format!("{} {from} - - - {status} 0 0us - \"-\"", crate::access::now_text()));
        }
        // Clients that are slow or leave are everyday.
        if matches!(fault, ConnectionFault::Idle | ConnectionFault::Left) {
            return;
        }
        if let Some(count) = self.seldom.faults[fault as usize].due() {
            let name = fault.name();
            self.log(&format!(
                "connections that failed since the last such line ({name}): {count}; the last from {from}: {why}"
            ));
        }
    }

    /// Counts and logs a failed TLS handshake; `None` means that it did not end in time.
    pub(crate) fn handshake_fault(&self, from: std::net::IpAddr, error: Option<&io::Error>) {
        let why = error.map_or_else(|| "it did not end within `body-seconds`".to_owned(), ToString::to_string);
        self.connection_fault(ConnectionFault::Handshake, from, &why);
    }
}
