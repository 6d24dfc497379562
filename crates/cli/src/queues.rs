//! The listener for AMQP 1.0 with the settings and users of a project.

use std::sync::Arc;

use quayline_connect::{
    Authenticator, ListenError, Listener, ListenerLimits, ListenerSettings, TlsSettings, Transport,
};
use quayline_core::{Fault, Finding};
use quayline_server::{ServeConfig, Users, tls_without_http};
use quayline_store::Store;

use crate::exit::{CLI_LISTEN, Stop};

/// The users of the gateway at the listener for AMQP.
#[derive(Debug)]
struct ProjectUsers {
    users: Users,
    /// True if a client may connect without a name. It has no role, so `roles` exclude it.
    admits_anonymous: bool,
    /// True if only this machine can connect, so that passwords cannot be intercepted.
    is_local: bool,
}

impl Authenticator for ProjectUsers {
    fn mechanisms(&self, transport: Transport) -> Vec<String> {
        let offers = [
            ("EXTERNAL", transport.has_certificate),
            ("PLAIN", self.users.have_passwords() && (transport.is_encrypted || self.is_local)),
            ("ANONYMOUS", self.admits_anonymous),
        ];
        offers.iter().filter(|(_, is_offered)| *is_offered).map(|(name, _)| (*name).to_owned()).collect()
    }

    fn password(&self, user: &str, password: &str) -> Option<String> {
        self.users.by_password(user, password)
    }

    fn certificate(&self, certificate: &[u8]) -> Option<String> {
        self.users.by_certificate(certificate)
    }
}

/// Starts the listener that `[serve.amqp]` describes.
pub(crate) fn listen(store: &Store, config: &ServeConfig) -> Result<Listener, Stop> {
    let amqp = config.amqp.clone().unwrap_or_default();
    let wrong = |what: String, hint: &str| Stop::from(Finding::error(CLI_LISTEN, Fault::Environment, what).hint(hint));
    let settings = "see `[serve]` in quayline.toml";
    let address = amqp.listen(config);
    let users = Users::load(config, amqp.roles.clone()).map_err(|why| wrong(why, settings))?;
    let tls = config.tls.as_ref().map(tls_without_http).transpose().map_err(|why| wrong(why, settings))?;
    let tls = tls.map(|tls| TlsSettings(Arc::new(move || Arc::clone(&tls))));
    let limits = ListenerLimits::default();
    let is_local = address.ip().is_loopback();
    let admits_anonymous = !config.authentication.required && amqp.roles.is_none();
    let listener = Listener::start(
        store.clone(),
        ListenerSettings {
            listen: address,
            container_id: "quayline".to_owned(),
            tls,
            authenticator: Arc::new(ProjectUsers { users, admits_anonymous, is_local }),
            threads: amqp.threads.unwrap_or(2),
            limits: ListenerLimits {
                connections: amqp.connections.unwrap_or(limits.connections),
                credit: amqp.credit.unwrap_or(limits.credit),
                idle_ms: amqp.idle_seconds.map_or(limits.idle_ms, |seconds| seconds.saturating_mul(1_000)),
                transaction_ms: amqp
                    .transaction_seconds
                    .map_or(limits.transaction_ms, |seconds| seconds.saturating_mul(1_000)),
                ..limits
            },
        },
    );
    listener.map_err(|error| match error {
        ListenError::Store(error) => error.finding().into(),
        other => wrong(other.to_string(), "choose another address with --listen, or stop what uses it"),
    })
}
