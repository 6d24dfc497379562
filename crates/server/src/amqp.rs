//! Users of the gateway, for the listener for AMQP 1.0.

use std::sync::Arc;

use crate::access::Access;
use crate::config::ServeConfig;
use crate::tls;

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
