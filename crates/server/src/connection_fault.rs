//! Reasons why connections end outside of a request.

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
    pub(crate) fn status(self) -> Option<u16> {
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
