//! Faults of connections that never become a request. No operation counts them, so each has a metric by reason, a line in the access log if
//! HTTP sent a response, and at most one line in the log every ten seconds.

use std::io;
use std::sync::atomic::Ordering;

use crate::connection_fault::ConnectionFault;
use crate::shared::Shared;

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
