//! Authentication of clients.

use std::fmt;

/// Properties of a connection before its first byte.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transport {
    /// Whether TLS protects it.
    pub is_encrypted: bool,
    /// Whether the client presented a certificate that was verified.
    pub has_certificate: bool,
}

/// Decides who may connect.
pub trait Authenticator: Send + Sync + fmt::Debug {
    /// SASL mechanisms to offer, the best first: `EXTERNAL`, `PLAIN`, `ANONYMOUS`.
    fn mechanisms(&self, transport: Transport) -> Vec<String>;

    /// The name of the client with this user name and password; `None` is a wrong one. Must take the same time for both.
    fn password(&self, user: &str, password: &str) -> Option<String>;

    /// The name of the client with this certificate (DER), which TLS has verified.
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
