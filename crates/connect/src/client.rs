//! One client: translates the events of its endpoint to work of the store, and back. No I/O happens here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use quayline_amqp::{
    AmqpError, Attach, Endpoint, Event, Identity, Limits, LinkId, LinkTarget, Role, SaslCode, Settings, Value,
    condition,
};
use quayline_store::{Store, StoreError};

use crate::batch::Batch;
use crate::convert::HEADERS_BYTES_MAX;
use crate::facts::{Counters, count};
use crate::links::Link;
use crate::mailbox::{Mailbox, Signal};
use crate::settings::ListenerSettings;
use crate::transaction::Transaction;

/// State that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) settings: ListenerSettings,
    pub(crate) counters: Counters,
    /// Open transactions of all connections.
    pub(crate) transactions: Arc<AtomicUsize>,
}

/// The way a connection ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// The client closed it.
    Closed,
    /// The connection broke, or the client violated the protocol.
    Lost,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) endpoint: Endpoint,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) links: BTreeMap<LinkId, Link>,
    pub(crate) batch: Batch,
    /// Bytes of messages whose commit is pending, except those in `batch`.
    pub(crate) committing: u64,
    /// Units of work whose outcome is pending.
    pub(crate) in_flight: usize,
    /// Bytes of messages that the client has and has not settled.
    pub(crate) unsettled: u64,
    pub(crate) transactions: HashMap<Vec<u8>, Transaction>,
    pub(crate) next_transaction: u64,
    /// Temporary queues by the link that they end with.
    pub(crate) temporary: HashMap<LinkId, String>,
    /// True if a link could not be served because the output buffer was full.
    pub(crate) is_starved: bool,
    /// True if the server stops. It then sends outcomes to the client, but no further messages.
    pub(crate) is_stopping: bool,
    certificate: Option<Vec<u8>>,
    pub(crate) identity: Option<Identity>,
    pub(crate) end: End,
}

impl Client {
    pub(crate) fn new(shared: Arc<Shared>, is_encrypted: bool, certificate: Option<Vec<u8>>) -> Self {
        let settings = &shared.settings;
        let transport = crate::auth::Transport { is_encrypted, has_certificate: certificate.is_some() };
        let mechanisms = settings.authenticator.mechanisms(transport);
        let limits = Limits { idle_ms_max: settings.limits.idle_ms, ..Limits::default() };
        let text = |text: &str| Value::String(text.to_owned());
        let symbol = |text: &str| Value::Symbol(text.to_owned());
        let endpoint = Endpoint::new(Settings {
            container_id: settings.container_id.clone(),
            sasl_optional: mechanisms.iter().any(|name| name == "ANONYMOUS"),
            mechanisms,
            capabilities: vec!["ANONYMOUS-RELAY".to_owned()],
            properties: Some(Value::Map(vec![
                (symbol("product"), text("Quayline")),
                (symbol("version"), text(env!("CARGO_PKG_VERSION"))),
            ])),
            limits,
        });
        Client {
            shared,
            endpoint,
            mailbox: Arc::new(Mailbox::default()),
            links: BTreeMap::new(),
            batch: Batch::default(),
            committing: 0,
            in_flight: 0,
            unsettled: 0,
            transactions: HashMap::new(),
            next_transaction: 1,
            temporary: HashMap::new(),
            is_starved: false,
            is_stopping: false,
            certificate,
            identity: None,
            end: End::Lost,
        }
    }

    /// Returns whether more bytes may be read, because the disk keeps up.
    pub(crate) fn may_read(&self) -> bool {
        self.committing < self.shared.settings.limits.commit_bytes
    }

    /// Handles the whole frames at the beginning of `input`. Returns the bytes taken.
    pub(crate) fn receive(&mut self, input: &[u8], now_ms: u64) -> usize {
        let mut at = 0;
        while self.may_read() {
            let taken = self.endpoint.receive(&input[at..]);
            at += taken;
            self.events(now_ms);
            if taken == 0 {
                break;
            }
        }
        self.commit_batch();
        at
    }

    fn events(&mut self, now_ms: u64) {
        while let Some(event) = self.endpoint.event() {
            self.event(event, now_ms);
        }
    }

    fn event(&mut self, event: Event, now_ms: u64) {
        match event {
            Event::Sasl { mechanism, response } => self.authenticate(&mechanism, &response),
            Event::Opened(_) => {
                self.identity.get_or_insert(Identity::Anonymous);
            }
            Event::Attach(link, attach) => self.attach(link, attach),
            Event::Message(message) => {
                if matches!(self.links.get(&message.delivery.link), Some(Link::Control)) {
                    self.control(&message, now_ms);
                } else {
                    self.take_message(message);
                }
            }
            Event::Outcome { delivery, state, settled } => self.outcome(delivery, state, settled),
            Event::Credit(link) => self.serve(link),
            Event::Detached(link, _) => {
                // The links of a connection that ends come before its own end. Those of a server that stops return unchanged.
                let is_lost = self.endpoint.peer_failed() && !self.is_stopping;
                self.detached(link, if is_lost { End::Lost } else { End::Closed });
            }
            // Only a client attaches.
            Event::Attached(..) => {}
            Event::Closed(error) => {
                // A client that closes is done; one that broke the protocol may have died on a message.
                self.end = if self.endpoint.is_finished() && error.is_none() { End::Closed } else { End::Lost };
            }
        }
    }

    fn authenticate(&mut self, mechanism: &str, response: &[u8]) {
        let authenticator = Arc::clone(&self.shared.settings.authenticator);
        let identity = match mechanism {
            "ANONYMOUS" => Some(Identity::Anonymous),
            "EXTERNAL" => {
                let certificate = self.certificate.as_deref();
                certificate.and_then(|certificate| authenticator.certificate(certificate)).map(Identity::Named)
            }
            "PLAIN" => {
                plain(response).and_then(|(user, password)| authenticator.password(user, password)).map(Identity::Named)
            }
            _ => None,
        };
        match identity {
            Some(identity) => {
                self.identity = Some(identity);
                self.endpoint.authenticated();
            }
            None => {
                count(&self.shared.counters.unauthenticated);
                self.endpoint.not_authenticated(SaslCode::Auth);
            }
        }
    }

    fn attach(&mut self, id: LinkId, attach: Box<Attach>) {
        let done = match (attach.role.other(), &attach.target) {
            (Role::Receiver, Some(LinkTarget::Coordinator(_))) => {
                self.endpoint.accept(id, attach.source.map(|source| *source), attach.target, 1 << 16);
                self.endpoint.grant(id, CONTROL_CREDIT);
                self.links.insert(id, Link::Control);
                Ok(())
            }
            (Role::Receiver, Some(LinkTarget::Node(target))) if target.dynamic => self.make_queue(id, attach),
            (Role::Receiver, Some(LinkTarget::Node(_))) => self.attach_put(id, *attach, None),
            (Role::Receiver, None) => Err(AmqpError::new(condition::INVALID_FIELD, "a sender without a target")),
            (Role::Sender, _) if attach.source.as_ref().is_some_and(|source| source.dynamic) => {
                self.make_queue(id, attach)
            }
            (Role::Sender, _) => self.attach_source(id, *attach, None),
        };
        if let Err(error) = done {
            self.endpoint.refuse(id, error);
        }
    }

    /// Attaches a link that gets messages; `made` is the name of its temporary queue.
    pub(crate) fn attach_source(&mut self, id: LinkId, attach: Attach, made: Option<String>) -> Result<(), AmqpError> {
        match attach.source.as_ref().and_then(|source| source.distribution_mode.as_deref()) {
            Some("copy") => self.attach_browse(id, attach),
            None | Some("move") => self.attach_get(id, attach, made),
            Some(other) => {
                let what = format!("distribution-mode is {other}, expected move or copy");
                Err(AmqpError::new(condition::INVALID_FIELD, what))
            }
        }
    }

    /// Sends the messages that a link may receive.
    pub(crate) fn serve(&mut self, link: LinkId) {
        if self.is_stopping {
            return;
        }
        match self.links.get(&link) {
            Some(Link::Get(_)) => self.serve_get(link),
            Some(Link::Browse(_)) => self.serve_browse(link),
            Some(Link::Put(_)) => self.grant(link),
            Some(Link::Control) => self.grant_control(link),
            Some(Link::Making(_)) | None => {}
        }
    }

    /// Sends the messages that all links may receive, after room became available.
    pub(crate) fn serve_all(&mut self) {
        self.is_starved = false;
        let links: Vec<LinkId> = self.links.keys().copied().collect();
        for link in links {
            self.serve(link);
        }
    }

    /// Handles the signals of other threads.
    pub(crate) fn signals(&mut self, now_ms: u64) {
        for signal in self.mailbox.take() {
            if matches!(signal, Signal::Committed(_) | Signal::Discharged { .. }) {
                self.in_flight = self.in_flight.saturating_sub(1);
            }
            match signal {
                Signal::Committed(committed) => self.committed(committed),
                Signal::Discharged { delivery, outcome } => self.discharged(delivery, outcome),
                Signal::Arrived(link) => self.arrived(link),
                Signal::Made { link, name, outcome } => self.made(link, name, outcome),
            }
        }
        // An answer may have ended a link or the connection.
        self.events(now_ms);
        self.commit_batch();
    }

    /// Advances the clock. Returns when to call again.
    pub(crate) fn tick(&mut self, now_ms: u64) -> u64 {
        let next_ms = self.endpoint.tick(now_ms);
        self.events(now_ms);
        let next_ms = next_ms.min(self.end_old_transactions(now_ms));
        next_ms.min(self.serve_due(now_ms))
    }

    pub(crate) fn commit_batch(&mut self) {
        if let Some(bytes) = self.batch.commit(&self.mailbox) {
            self.committing += bytes;
            self.in_flight += 1;
        }
    }

    pub(crate) fn detached(&mut self, id: LinkId, how: End) {
        match self.links.remove(&id) {
            Some(Link::Get(link)) => self.end_get(link, how),
            Some(Link::Put(_) | Link::Browse(_) | Link::Control | Link::Making(_)) | None => {}
        }
        self.end_temporary(id);
    }

    /// Ends everything that the client had open.
    pub(crate) fn finish(&mut self) {
        self.commit_batch();
        let how = self.end;
        let links: Vec<LinkId> = self.links.keys().copied().collect();
        for link in links {
            self.detached(link, how);
        }
        let made: Vec<LinkId> = self.temporary.keys().copied().collect();
        for link in made {
            self.end_temporary(link);
        }
        // Dropping a unit of work rolls it back.
        for _ in self.transactions.drain() {
            count(&self.shared.counters.rolled_back);
        }
    }
}

/// Declares and discharges that may wait.
pub(crate) const CONTROL_CREDIT: u32 = 100;

/// Splits a PLAIN response into user name and password (RFC 4616).
fn plain(response: &[u8]) -> Option<(&str, &str)> {
    let mut parts = std::str::from_utf8(response).ok()?.split('\0');
    let (authorization, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    // Acting for another identity is not supported.
    let is_self = authorization.is_empty() || authorization == user;
    (is_self && parts.next().is_none()).then_some((user, password))
}

/// Returns the maximum encoded size of a message whose content has at most `content_bytes_max` bytes.
pub(crate) fn message_bytes_max(content_bytes_max: u64) -> u64 {
    content_bytes_max.saturating_add(HEADERS_BYTES_MAX as u64)
}

/// Converts an error of the store into an AMQP error.
pub(crate) fn amqp_error(error: &StoreError) -> AmqpError {
    let condition = match error {
        StoreError::QueueMissing { .. } => condition::NOT_FOUND,
        StoreError::MessageTooLong { .. } | StoreError::TooLong { .. } => condition::MESSAGE_SIZE,
        StoreError::QueueFull { .. } | StoreError::LimitReached { .. } => condition::RESOURCE_LIMIT,
        StoreError::Unsupported { .. } | StoreError::ReadOnly => condition::NOT_ALLOWED,
        StoreError::BadDefinition { .. } => condition::ILLEGAL_STATE,
        _ => condition::INTERNAL,
    };
    let finding = error.finding();
    let hint = finding.hint.as_deref().map_or(String::new(), |hint| format!("; {hint}"));
    AmqpError::new(condition, format!("{}: {error}{hint}", finding.code))
}
