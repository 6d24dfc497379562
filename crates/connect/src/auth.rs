//! Authentication of clients.

use std::fmt;

/// Properties of a connection before its first byte.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transport {
    /// True if the connection is protected by TLS.
    pub is_encrypted: bool,
    /// True if the client presented a certificate and TLS verified it.
    pub has_certificate: bool,
}

/// Decides who may connect.
pub trait Authenticator: Send + Sync + fmt::Debug {
    /// SASL mechanisms to offer, the best first: `EXTERNAL`, `PLAIN`, `ANONYMOUS`.
    fn mechanisms(&self, transport: Transport) -> Vec<String>;

    /// Returns the client's name for a user name and password, or `None` if they are wrong. Must take the same time in both cases.
    fn password(&self, user: &str, password: &str) -> Option<String>;

    /// Returns the client's name for a certificate (DER) that TLS has verified.
    fn certificate(&self, certificate: &[u8]) -> Option<String>;
}

/// Everybody may connect, without a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anonymous;

impl Authenticator for Anonymous {
    fn mechanisms(&self, _transport: Transport) -> Vec<String> {
        vec!["ANONYMOUS".to_owned()]
    }

    fn password(&self, _user: &str, _password: &str) -> Option<String> {
        None
    }

    fn certificate(&self, _certificate: &[u8]) -> Option<String> {
        None
    }
}
