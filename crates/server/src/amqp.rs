//! `[serve.amqp]`, and who may connect there: the users of the gateway.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde::Deserialize;

use crate::access::Access;
use crate::config::ServeConfig;
use crate::tls;

/// The listener for AMQP 1.0.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AmqpConfig {
    /// Address and port; 127.0.0.1:5672 by default, 5671 with `[serve.tls]`.
    pub listen: Option<SocketAddr>,
    /// Threads. Default 2.
    pub threads: Option<usize>,
    /// Roles of which a client needs one; by default every client that authenticates may connect.
    pub roles: Option<Vec<String>>,
    /// Connections. Default 1,000.
    pub connections: Option<usize>,
    /// Messages that a client may send on a link before the first is durable. Default 1,000.
    pub credit: Option<u32>,
    /// Seconds without a byte after which a connection ends. Default 120.
    pub idle_seconds: Option<u64>,
    /// Seconds that a transaction may be open. Default 600.
    pub transaction_seconds: Option<u64>,
}

impl AmqpConfig {
    /// Values that would let nothing through, and listeners that would be open by mistake: key, message and hint.
    pub(crate) fn wrong(&self, config: &ServeConfig) -> Vec<(&'static str, Kind, String, &'static str)> {
        let mut wrong = Vec::new();
        let is_open = !self.listen(config).ip().is_loopback();
        if is_open && !config.open_to_network {
            wrong.push((
                "amqp.listen",
                Kind::Unsafe,
                "`amqp.listen` is an address that other machines reach".to_owned(),
                "if that is meant, write `open-to-network = true` in [serve]",
            ));
        }
        if is_open && config.tls.is_none() {
            wrong.push((
                "amqp.listen",
                Kind::Unsafe,
                "passwords and messages would pass the network without TLS".to_owned(),
                "add [serve.tls]",
            ));
        }
        let authentication = &config.authentication;
        let has_authorities = config.tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some());
        if authentication.required && authentication.api_keys.is_none() && !has_authorities {
            wrong.push((
                "amqp",
                Kind::Value,
                "no client can log in: there are neither users with passwords nor client certificates".to_owned(),
                "add `api-keys` to [serve.authentication], or `client-authorities` to [serve.tls], or write `required = false`",
            ));
        }
        let least = [
            ("amqp.threads", self.threads.is_none_or(|n| (1..=64).contains(&n)), "1 to 64 threads"),
            ("amqp.connections", self.connections != Some(0), "at least 1 connection"),
            ("amqp.credit", self.credit != Some(0), "at least 1 message"),
            ("amqp.idle-seconds", self.idle_seconds != Some(0), "at least 1 second"),
            ("amqp.transaction-seconds", self.transaction_seconds != Some(0), "at least 1 second"),
        ];
        for (key, fits, expected) in least {
            if !fits {
                let hint = "leave the key out for its default, which docs/reference/amqp.md gives";
                wrong.push((key, Kind::Value, format!("expected {expected}"), hint));
            }
        }
        wrong
    }

    /// Address and port.
    #[must_use]
    pub fn listen(&self, config: &ServeConfig) -> SocketAddr {
        let port = if config.tls.is_some() { 5671 } else { 5672 };
        self.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }
}

/// Kind of a wrong setting.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Open by mistake.
    Unsafe,
    /// An invalid value.
    Value,
}

/// The users of the gateway, for other listeners: API keys as passwords, and certificates.
#[derive(Debug)]
pub struct Users {
    access: Access,
    roles: Option<Vec<String>>,
}

impl Users {
    /// Reads the users that the settings name. A user needs one of `roles`.
    ///
    /// # Errors
    /// The file and the problem, without a secret.
    pub fn load(config: &ServeConfig, roles: Option<Vec<String>>) -> Result<Users, String> {
        Ok(Users { access: Access::load(&config.authentication, None)?, roles })
    }

    /// Returns true if there are users with passwords.
    #[must_use]
    pub fn have_passwords(&self) -> bool {
        self.access.has_keys()
    }

    /// Returns the user of this name with this API key.
    #[must_use]
    pub fn by_password(&self, user: &str, password: &str) -> Option<String> {
        let identity = self.access.by_key(password)?;
        (identity.name == user && self.has_role(&identity.roles)).then_some(identity.name)
    }

    /// Returns the user of this verified certificate (DER).
    #[must_use]
    pub fn by_certificate(&self, certificate: &[u8]) -> Option<String> {
        let name = quayline_gateway::common_name(certificate)?;
        self.has_role(&self.access.certificate_roles(&name)).then_some(name)
    }

    fn has_role(&self, roles: &[String]) -> bool {
        self.roles.as_ref().is_none_or(|needed| needed.iter().any(|role| roles.contains(role)))
    }
}

/// Loads the settings of TLS handshakes for a protocol other than HTTP.
///
/// # Errors
/// The file and the problem, without any content of the file.
pub fn tls_without_http(config: &crate::TlsConfig) -> Result<Arc<rustls::ServerConfig>, String> {
    let mut settings = Arc::unwrap_or_clone(tls::load(config)?);
    settings.alpn_protocols.clear();
    Ok(Arc::new(settings))
}
