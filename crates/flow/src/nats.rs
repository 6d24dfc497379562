//! NATS streams: messages received with exactly one effect each, and messages published after the commit.
//!
//! ```text
//! checkpoint "flow-nats/FLOW/NODE"                          ─▶ version, suffix of the consumer's name, floor, identity of the stream
//! checkpoint "flow-nats/FLOW/NODE/" + digest + "/" + number ─▶ empty: message `number` of the stream with this digest of its identity was processed
//! ```
//!
//! The number of a message commits together with the effect of the message. The acknowledgment follows the commit and may be lost, so a message may
//! arrive again; if its number is stored, or not above the floor, it is acknowledged without further processing. The floor is the number up to which
//! the server reports every message as acknowledged; smaller numbers are removed.
//!
//! A stream that was deleted and recreated has another identity, and its numbers start again. Numbers, acknowledgments and floors of the earlier stream
//! must not apply to it, also if they are on their way when the input learns of the new stream: entries name their stream, and what the connection and
//! the input exchange has the epoch of the stream. Entries of earlier versions have no digest; they belong to the stream in the head.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::path::Path;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use quayline_connect::{
    Acknowledged, ConsumerSettings, DeliveredBy, NatsAddress, NatsClient, NatsCredentials, NatsError, NatsLogin,
    NatsMessage,
};
use quayline_core::hex;
use quayline_project::FlowNode;
use quayline_store::queue::{Message, MessageId, OF_AMQP};
use quayline_store::{Clock, Space, Store, Unit};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_128;

use crate::codes;
use crate::deliver::Outside;
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::message::Parcel;
use crate::run::{Gives, Run, Work};
use crate::taken::{Failures, NOT_BEGUN, Outcome, Taken};

/// Messages of one pull. Default 100.
const BATCH: usize = 100;
/// Maximum number of bytes of one pull, unless the server's longest message is longer. Default 8 MiB. With [`BATCH`], this limits an input's memory.
const BATCH_BYTES: usize = 8 << 20;
/// Room in a pull for the subject and headers of the longest message.
const ENVELOPE_BYTES: usize = 64 << 10;
/// Time after which the server ends a pull without messages.
const PULL_WAIT: Duration = Duration::from_secs(20);
/// Silence after which a connection counts as broken.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Time until the server delivers a message again that has no acknowledgment: how long messages of a process that was killed are late.
const ACK_WAIT: Duration = Duration::from_secs(5);
/// Messages without acknowledgment that the server allows. Default 1,024: more than two pulls.
const PENDING_MAX: u64 = 1_024;
/// Acknowledgments between two looks at the floor.
const LOOK_ACKS: u64 = 512;
/// Pause before such a look when messages are few.
const LOOK: Duration = Duration::from_secs(2);
/// First and longest pause before the next connection.
const CONNECT_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Longest wait for the acknowledgment of a stream.
const PUBLISH_WAIT: Duration = Duration::from_secs(10);
/// Variable of the environment with the password, where the node names none.
const PASSWORD: &str = "NATS_PASSWORD";
/// Property with the subject of a received message.
const SUBJECT: &str = "nats_subject";
/// Version of the head.
const VERSION: u8 = 1;
/// Number of the error for a message that is longer than the stream allows.
const LONGER_THAN_STREAM: u64 = 10_054;

/// Messages of a stream that were processed, as recorded in the store.
#[derive(Debug)]
struct Seen {
    name: String,
    suffix: u32,
    floor: u64,
    identity: String,
    /// Number of the stream since the start of the flow, which grows with each recreation.
    epoch: u64,
    above: BTreeSet<u64>,
    /// Entries that say nothing about this stream, to be removed with the next change.
    stray: Vec<String>,
}

impl Seen {
    fn load(run: &Run<'_>, node: &str) -> Result<Seen, Failure> {
        let name = format!("flow-nats/{}/{node}", run.name);
        let mut unit = run.store.begin()?;
        let damaged = || {
            let hint = "restore the store from a save";
            Failure::new(codes::NOT_READABLE, "the position in the stream is of no known form", hint)
        };
        let Some(head) = unit.checkpoint(&name)? else {
            let suffix = u32::try_from(run.clock.random() >> 32).unwrap_or_default();
            let (identity, above) = (String::new(), BTreeSet::new());
            return Ok(Seen { name, suffix, floor: 0, identity, epoch: 0, above, stray: Vec::new() });
        };
        let read = || {
            let (version, rest) = head.split_first()?;
            let (suffix, rest) = rest.split_first_chunk::<4>()?;
            let (floor, identity) = rest.split_first_chunk::<8>()?;
            let identity = String::from_utf8(identity.to_vec()).ok()?;
            (*version == VERSION).then_some((u32::from_le_bytes(*suffix), u64::from_le_bytes(*floor), identity))
        };
        let (suffix, floor, identity) = read().ok_or_else(damaged)?;
        let prefix = format!("{name}/");
        let mut seen = Seen { name, suffix, floor, identity, epoch: 0, above: BTreeSet::new(), stray: Vec::new() };
        let own = seen.prefix();
        for key in crate::outbox::keys(&unit, &prefix)? {
            let number = |text: &str| u64::from_str_radix(text, 16).map_err(|_| damaged());
            if let Some(sequence) = key.strip_prefix(&own) {
                seen.above.insert(number(sequence)?);
            } else if key[prefix.len()..].contains('/') {
                seen.stray.push(key);
            } else {
                let sequence = number(&key[prefix.len()..])?;
                seen.above.insert(sequence);
                unit.delete(Space::CHECKPOINTS, key.as_bytes())?;
                unit.put_checkpoint(&seen.key(sequence), &[])?;
            }
        }
        if !unit.is_empty() {
            // Nobody waits: what comes back after a crash is read again.
            unit.submit_with(Box::new(|_| ()));
        }
        Ok(seen)
    }

    /// Returns the first part of the keys of all messages of the stream.
    fn prefix(&self) -> String {
        format!("{}/{:032x}/", self.name, xxh3_128(self.identity.as_bytes()))
    }

    fn key(&self, sequence: u64) -> String {
        format!("{}{sequence:016x}", self.prefix())
    }

    /// Returns the id of a message: no message of another stream has it.
    fn id(&self, sequence: u64) -> MessageId {
        let mut id = [0; 24];
        id[..16].copy_from_slice(&xxh3_128(self.identity.as_bytes()).to_be_bytes());
        id[16..].copy_from_slice(&sequence.to_be_bytes());
        id
    }

    fn put_head(&self, unit: &mut Unit) -> Result<(), Failure> {
        let mut head = vec![VERSION];
        head.extend(self.suffix.to_le_bytes());
        head.extend(self.floor.to_le_bytes());
        head.extend(self.identity.as_bytes());
        Ok(unit.put_checkpoint(&self.name, &head)?)
    }

    fn has(&self, sequence: u64) -> bool {
        sequence <= self.floor || self.above.contains(&sequence)
    }

    /// Returns the number of the last processed message.
    fn last(&self) -> u64 {
        self.above.last().copied().unwrap_or(0).max(self.floor)
    }

    /// Begins again with a stream that the store does not know.
    fn begin(&mut self, store: &Store, identity: String) -> Result<Unit, Failure> {
        let mut unit = store.begin()?;
        for key in self.above.iter().map(|sequence| self.key(*sequence)).chain(self.stray.iter().cloned()) {
            unit.delete(Space::CHECKPOINTS, key.as_bytes())?;
        }
        self.above.clear();
        self.stray.clear();
        (self.floor, self.identity) = (0, identity);
        self.epoch += 1;
        self.put_head(&mut unit)?;
        Ok(unit)
    }

    /// Raises the stored floor to the one that the server reports, and removes the entries of acknowledged messages below it.
    fn raise(&mut self, store: &Store, floor: u64) -> Result<(), Failure> {
        if floor <= self.floor {
            return Ok(());
        }
        let mut unit = store.begin()?;
        let above = self.above.split_off(&(floor + 1));
        for sequence in std::mem::replace(&mut self.above, above) {
            unit.delete(Space::CHECKPOINTS, self.key(sequence).as_bytes())?;
        }
        for key in std::mem::take(&mut self.stray) {
            unit.delete(Space::CHECKPOINTS, key.as_bytes())?;
        }
        self.floor = floor;
        self.put_head(&mut unit)?;
        // Nobody waits: what comes back after a crash is removed at the next look.
        unit.submit_with(Box::new(|_| ()));
        Ok(())
    }
}

/// Event of a connection's task.
enum Event {
    /// A message of the stream of this epoch.
    Message {
        epoch: u64,
        sequence: u64,
        reply: String,
        message: Box<NatsMessage>,
    },
    /// The stream of this epoch has acknowledgments up to this number.
    Acknowledged {
        epoch: u64,
        floor: u64,
    },
    Waits(Failure),
    /// The consumer is ready.
    Connected,
}

/// An input from a stream.
pub(crate) struct Subscription {
    pub(crate) stream: String,
    events: Receiver<Event>,
    settle: UnboundedSender<Settled>,
    task: JoinHandle<()>,
    seen: Rc<RefCell<Seen>>,
    /// Messages that are processed.
    open: HashMap<MessageId, Open>,
    failed: Failures<MessageId>,
    /// Epoch of the last event.
    epoch: u64,
}

/// A message that is processed.
struct Open {
    epoch: u64,
    /// Subject for the acknowledgment.
    reply: String,
    /// Entry of the message in the store.
    key: String,
}

/// An acknowledgment for the stream of an epoch. Its subject does not distinguish the stream from a later one of the same name.
struct Settled {
    epoch: u64,
    reply: String,
    how: Acknowledged,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Checks the properties of a node. Returns the wrong property and the reason.
pub(crate) fn check(node: &FlowNode, root: &Path) -> Option<(&'static str, String)> {
    if !node.kind.name.starts_with("nats_") {
        return None;
    }
    if let Some(Err(why)) = node.text("server").map(NatsAddress::parse) {
        return Some(("server", why));
    }
    if let Err(why) = credentials(node, root) {
        return Some(("credentials", why));
    }
    // A server that requires TLS gets it with any scheme.
    if let Some(found) = crate::tls::check(node, root, true) {
        return Some(found);
    }
    let is_name = |name: &str| {
        !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || ".*>/\\".contains(c))
    };
    for property in ["stream", "consumer"] {
        if node.text(property).is_some_and(|name| !is_name(name)) {
            return Some((property, "a name has no blank and none of . * > / \\".to_owned()));
        }
    }
    let wildcards = node.kind.is_input;
    match node.text("subject") {
        Some(subject) if !is_subject(subject, wildcards) => {
            Some(("subject", "it is not a subject such as orders.new".to_owned()))
        }
        _ => None,
    }
}

/// Returns true if a text is a subject.
fn is_subject(text: &str, wildcards: bool) -> bool {
    let is_word = |word: &str| {
        let is_wild = word == "*" || word == ">";
        !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c.is_control()) && (wildcards || !is_wild)
    };
    text.split('.').all(is_word)
}

/// Returns the credentials of a node.
fn credentials(node: &FlowNode, root: &Path) -> Result<Option<NatsCredentials>, String> {
    let Some(file) = node.text("credentials") else { return Ok(None) };
    let path = root.join(file);
    let named = |why: String| format!("{}: {why}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| named(quayline_core::system_error_text(&error)))?;
    NatsCredentials::parse(&text).map(Some).map_err(named)
}

fn login(run: &Run<'_>, node: &FlowNode) -> Result<(NatsAddress, NatsLogin), Failure> {
    let wrong = |why: String| Failure::new(codes::BAD_SERVER, why, "write `server` as nats://HOST:PORT");
    let address = NatsAddress::parse(node.text("server").unwrap_or_default()).map_err(wrong)?;
    let variable = node.text("password_variable").unwrap_or(PASSWORD);
    let has_files = node.text("authorities").or(node.text("certificate")).is_some();
    let login = NatsLogin {
        name: format!("quayline {} {}", run.name, node.name),
        user: node.text("user").map(str::to_owned),
        secret: std::env::var(variable).ok(),
        credentials: credentials(node, &run.flow.root).map_err(wrong)?,
        // Otherwise the authorities of the system, if the server wants TLS.
        tls: if has_files { Some(crate::tls::load(node, &run.flow.root).map_err(wrong)?) } else { None },
    };
    Ok((address, login))
}

/// Creates the failure of a stream or subject.
fn failure(error: &NatsError, of: &str) -> Failure {
    let hint = match error {
        NatsError::Requires(_) => "set the properties of the node as the server requires",
        NatsError::Denied(_) => "check `user`, the password in the environment, and `credentials`",
        NatsError::NoResponder { .. } => "enable JetStream on the server, and make a stream that takes the subject",
        NatsError::TooLong { .. } => "raise `max_payload` of the server, or make the message shorter",
        NatsError::Refused { .. } => "see the error in the manual of NATS; the flow tries again",
        NatsError::Unchanged { .. } => {
            "delete the consumer, which the flow then creates with the properties of the node"
        }
        _ => "check the server and the network; the flow tries again",
    };
    let code = match error {
        NatsError::Refused { .. } | NatsError::Unchanged { .. } | NatsError::TooLong { .. } => codes::NATS_REFUSED,
        _ => codes::NATS_UNREACHABLE,
    };
    Failure::new(code, format!("NATS, {of}: {error}"), hint)
}

/// Creates the failure of a consumer for which the server stops delivering, with the reason of the server.
fn ended(stream: &str, why: &str) -> Failure {
    let hint = if why.contains("Deleted") {
        "the flow connects again and creates the consumer if the stream exists; messages that it has processed have no second effect. If this \
         repeats, find out what deletes the consumer or the stream"
    } else {
        "the flow connects again; check the server if this repeats"
    };
    Failure::new(codes::NATS_UNREACHABLE, format!("NATS, stream {stream}: the server ended the delivery: {why}"), hint)
}

/// Connection of an input, in a separate task.
struct Session {
    store: Store,
    clock: std::sync::Arc<dyn Clock>,
    address: NatsAddress,
    login: NatsLogin,
    stream: String,
    consumer: Option<String>,
    flow: Rc<str>,
    node: String,
    subject: Option<String>,
    pending_max: u64,
    seen: Rc<RefCell<Seen>>,
    events: Sender<Event>,
    settled: UnboundedReceiver<Settled>,
    is_connected: bool,
}

/// Reason for closing a connection.
enum Broken {
    Server(NatsError),
    Here(Failure),
}

impl From<NatsError> for Broken {
    fn from(error: NatsError) -> Self {
        Broken::Server(error)
    }
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Broken::Here(failure)
    }
}

impl Session {
    async fn run(mut self) {
        let mut pause = CONNECT_PAUSE.0;
        loop {
            self.is_connected = false;
            let why = match self.connected().await {
                Ok(never) => match never {},
                Err(Broken::Server(error)) => failure(&error, &format!("stream {}", self.stream)),
                Err(Broken::Here(failure)) => failure,
            };
            // A channel that is full has something to do anyway.
            let _ = self.events.try_send(Event::Waits(why));
            pause = if self.is_connected { CONNECT_PAUSE.0 } else { (pause * 2).min(CONNECT_PAUSE.1) };
            tokio::time::sleep(pause).await;
        }
    }

    /// Returns the name of the consumer: that of the node, or one that is unique among all stores.
    fn consumer(&self) -> String {
        let clean = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
        let made = || format!("quayline-{}-{}-{:08x}", clean(&self.flow), clean(&self.node), self.seen.borrow().suffix);
        self.consumer.clone().unwrap_or_else(made)
    }

    async fn connected(&mut self) -> Result<Infallible, Broken> {
        let mut client = NatsClient::connect(&self.address, &self.login, self.clock.random()).await?;
        let facts = client.stream(&self.stream).await?;
        let consumer = self.consumer();
        let identity = format!("{} {} {consumer}", self.stream, facts.created);
        let is_known = self.seen.borrow().identity == identity;
        if !is_known {
            let unit = self.seen.borrow_mut().begin(&self.store, identity)?;
            if let Err(error) = unit.submit().await {
                // The store does not have it, so the next connection begins again.
                self.seen.borrow_mut().identity.clear();
                return Err(Failure::from(error).into());
            }
        }
        let epoch = self.seen.borrow().epoch;
        let (floor, last) = (self.seen.borrow().floor, self.seen.borrow().last());
        if facts.last_sequence < last {
            let message = format!(
                "stream {} ends with message {}, but message {last} was processed: the server lost messages",
                self.stream, facts.last_sequence
            );
            let hint = "restore the stream, or set another `consumer` to begin again with the stream as it is";
            return Err(Failure::new(codes::NATS_LOST, message, hint).into());
        }
        // A queue of work has what is not acknowledged, and takes no consumer that begins elsewhere.
        let first_sequence = if facts.is_work_queue { 1 } else { floor + 1 };
        let settings = ConsumerSettings {
            stream: &self.stream,
            name: &consumer,
            subject: self.subject.as_deref(),
            first_sequence,
            ack_wait: ACK_WAIT,
            pending_max: self.pending_max,
        };
        client.consumer(&settings).await?;
        self.is_connected = true;
        // It waits for room, so that the input learns in turn what happened.
        let _ = self.events.send(Event::Connected).await;
        let bytes = BATCH_BYTES.max(client.max_payload() + ENVELOPE_BYTES);
        let mut pulled = 0;
        let mut pull = String::new();
        let mut acknowledged = 0;
        let mut heard = Instant::now();
        loop {
            if pulled == 0 && self.events.capacity() >= BATCH {
                pull = client.pull(&self.stream, &consumer, BATCH, bytes, PULL_WAIT).await?;
                pulled = BATCH;
                heard = Instant::now();
            }
            if acknowledged >= LOOK_ACKS {
                acknowledged = 0;
                self.look(&mut client, &consumer, epoch).await?;
            }
            tokio::select! {
                settled = self.settled.recv() => {
                    let mut next = settled;
                    while let Some(settled) = next {
                        if settled.epoch == epoch {
                            client.acknowledge(&settled.reply, settled.how)?;
                            acknowledged += 1;
                        }
                        next = self.settled.try_recv().ok();
                    }
                    client.flush().await?;
                }
                message = client.next() => {
                    heard = Instant::now();
                    pulled = self.delivered(message?, pulled, &pull, epoch)?;
                }
                () = tokio::time::sleep(LOOK) => {
                    if acknowledged > 0 {
                        acknowledged = 0;
                        self.look(&mut client, &consumer, epoch).await?;
                    }
                    if pulled > 0 && heard.elapsed() > SILENCE_MAX {
                        return Err(NatsError::Closed.into());
                    }
                }
            }
        }
    }

    /// Passes a message on; the messages of the pull that are still to come.
    fn delivered(&self, message: NatsMessage, pulled: usize, pull: &str, epoch: u64) -> Result<usize, Broken> {
        if let Some((reply, by)) =
            message.reply.clone().and_then(|reply| Some((reply.clone(), DeliveredBy::read(&reply)?)))
        {
            // The pull asked for no more than there is room for; what finds none comes again.
            let (sequence, message) = (by.sequence, Box::new(message));
            let _ = self.events.try_send(Event::Message { epoch, sequence, reply, message });
            return Ok(pulled.saturating_sub(1));
        }
        match message.status {
            Some((100, _)) | None => Ok(pulled),
            Some((503, _)) => Err(NatsError::NoResponder { subject: self.stream.clone() }.into()),
            Some((409, text)) if text.contains("Deleted") || text.contains("Shutdown") => {
                Err(ended(&self.stream, &text).into())
            }
            // The end of the pull before this one changes nothing.
            Some(_) if message.subject != pull => Ok(pulled),
            Some(_) => Ok(0),
        }
    }

    async fn look(&self, client: &mut NatsClient, consumer: &str, epoch: u64) -> Result<(), NatsError> {
        let facts = client.consumer_facts(&self.stream, consumer).await?;
        let _ = self.events.try_send(Event::Acknowledged { epoch, floor: facts.acknowledged });
        Ok(())
    }
}

impl Subscription {
    /// Begins to connect, in a task of this thread.
    pub(crate) fn start(run: &Run<'_>, at: usize) -> Result<Subscription, Failure> {
        let node = &run.flow.file.nodes[at];
        let (address, login) = login(run, node)?;
        let seen = Rc::new(RefCell::new(Seen::load(run, &node.name)?));
        // A pull, the one before it, and what else there is to tell.
        let (events, received) = channel(2 * BATCH + 8);
        let (settle, settled) = unbounded_channel();
        let stream = node.text("stream").unwrap_or_default().to_owned();
        let session = Session {
            store: run.store.clone(),
            clock: std::sync::Arc::clone(&run.clock),
            address,
            login,
            stream: stream.clone(),
            consumer: node.text("consumer").map(str::to_owned),
            flow: Rc::clone(&run.name),
            node: node.name.clone(),
            subject: node.text("subject").map(str::to_owned),
            pending_max: if node.text("order") == Some("by_stream") { 1 } else { PENDING_MAX },
            seen: Rc::clone(&seen),
            events,
            settled,
            is_connected: false,
        };
        Ok(Subscription {
            stream,
            events: received,
            settle,
            task: tokio::task::spawn_local(session.run()),
            seen,
            open: HashMap::new(),
            failed: Failures::new(&run.name, node),
            epoch: 0,
        })
    }

    fn settle(&self, epoch: u64, reply: String, how: Acknowledged) {
        // A task that has ended ends with the flow; the message comes again and is known.
        let _ = self.settle.send(Settled { epoch, reply, how });
    }

    /// Returns the next message that has not been processed.
    pub(crate) fn poll(&mut self, run: &Run<'_>, at: usize, context: &mut Context<'_>) -> Poll<Result<Taken, Failure>> {
        loop {
            let Poll::Ready(Some(event)) = self.events.poll_recv(context) else { return Poll::Pending };
            let now = self.seen.borrow().epoch;
            if std::mem::replace(&mut self.epoch, now) != now {
                self.failed.clear();
            }
            match event {
                Event::Waits(failure) => run.waits(at, &failure),
                Event::Connected => run.stats.nodes[at].continues(),
                Event::Acknowledged { epoch, .. } | Event::Message { epoch, .. } if epoch != now => {}
                Event::Acknowledged { floor, .. } => self.seen.borrow_mut().raise(&run.store, floor)?,
                Event::Message { epoch, sequence, reply, message } => {
                    let (id, key, is_done) = {
                        let seen = self.seen.borrow();
                        (seen.id(sequence), seen.key(sequence), seen.has(sequence))
                    };
                    if let Some(known) = self.open.get_mut(&id) {
                        // It comes again while it is processed.
                        known.reply = reply;
                    } else if is_done {
                        self.settle(epoch, reply, Acknowledged::Done);
                    } else {
                        let taken = self.take(run, id, &key, *message);
                        match taken {
                            Ok(_) => drop(self.open.insert(id, Open { epoch, reply, key })),
                            // The server keeps the message and its place, and delivers it after the pause.
                            Err(_) => self.settle(epoch, reply, Acknowledged::Again(NOT_BEGUN)),
                        }
                        return Poll::Ready(taken);
                    }
                }
            }
        }
    }

    fn take(&mut self, run: &Run<'_>, id: MessageId, key: &str, message: NatsMessage) -> Result<Taken, Failure> {
        let mut unit = run.store.begin()?;
        unit.put_checkpoint(key, &[])?;
        let mut header = Message { id, put_ms: run.clock.now_ms(), ..Message::default() };
        header.properties.push((SUBJECT.to_owned(), message.subject.into_bytes()));
        // A name that occurs several times is one property with all values, as properties have one value each.
        for (name, value) in message.headers {
            // Only Quayline's own listeners know who sent a message, and only this node its subject; a header may claim anything.
            if name.starts_with(OF_AMQP) || name == SUBJECT {
                continue;
            }
            match header.properties.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => known.extend([b", ", value.as_bytes()].concat()),
                None => header.properties.push((name, value.into_bytes())),
            }
        }
        let backout = match message.fault {
            Some(fault) => Some(self.failed.to_backout(codes::NATS_BAD_HEADERS, fault.to_string())),
            None => self.failed.count(&id, &mut header),
        };
        Ok(Taken { unit, header, content: message.payload.into(), backout })
    }

    /// Takes note of the end of a unit of work.
    pub(crate) fn ended(&mut self, id: &MessageId, outcome: Outcome) {
        let Some(Open { epoch, reply, key }) = self.open.remove(id) else { return };
        let mut seen = self.seen.borrow_mut();
        if epoch != seen.epoch {
            // The message had its effect, but its stream was deleted, so no server waits for the acknowledgment.
            seen.stray.extend(outcome.is_ok().then_some(key));
            return;
        }
        match outcome {
            Ok(()) => {
                self.failed.forget(id);
                seen.above.insert(id.last_chunk().map_or(0, |number| u64::from_be_bytes(*number)));
                self.settle(epoch, reply, Acknowledged::Done);
            }
            Err(why) => {
                let pause = self.failed.add(*id, why);
                self.settle(epoch, reply, Acknowledged::Again(pause));
            }
        }
    }
}

/// Connections of outputs on one thread, by number of the node.
#[derive(Default)]
pub(crate) struct Publishers(RefCell<HashMap<usize, NatsClient>>);

impl Run<'_> {
    /// Keeps the content and its subject in the outbox.
    pub(crate) async fn nats_output(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let subject = self.needed(at, values, "subject")?;
        if !is_subject(subject, false) {
            let hint = "make the subject from words without blanks, with a point between them";
            return Err(Failure::new(codes::NO_VALUE, "the value of `subject` is not a subject of NATS", hint));
        }
        let mut payload = subject.as_bytes().to_vec();
        payload.push(b'\n');
        payload.extend_from_slice(&parcel.content);
        self.keep(work, at, parcel, payload).await?;
        Ok(Gives::Same("out"))
    }

    /// Publishes a message of the outbox.
    pub(crate) async fn deliver_nats(&self, at: usize, message: &Message) -> Result<(), Outside> {
        let end = message.payload.iter().position(|byte| *byte == b'\n').unwrap_or(message.payload.len());
        let subject = std::str::from_utf8(&message.payload[..end]).unwrap_or_default();
        let content = message.payload.get(end + 1..).unwrap_or_default();
        let id = hex(&message.id);
        let mut headers = vec![("Nats-Msg-Id", id.as_str())];
        for (name, value) in &message.properties {
            // Headers of the server itself belong to the received message.
            let is_own = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("nats-"))
                || name == SUBJECT
                || name.starts_with(OF_AMQP);
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
            if let (Ok(value), true, false) = (std::str::from_utf8(value), is_name, is_own)
                && !value.contains(['\r', '\n'])
            {
                headers.push((name, value));
            }
        }
        let failure = |error: &NatsError| failure(error, &format!("subject {subject}"));
        let known = self.nats.0.borrow_mut().remove(&at);
        let mut client = match known {
            Some(client) => client,
            None => {
                let (address, login) = login(self, &self.flow.file.nodes[at]).map_err(Outside::Waits)?;
                let connected = NatsClient::connect(&address, &login, self.clock.random()).await;
                connected.map_err(|error| Outside::Waits(failure(&error)))?
            }
        };
        let done = client.publish_kept(subject, &headers, content, PUBLISH_WAIT).await;
        let is_usable = matches!(
            done,
            Ok(_) | Err(NatsError::Refused { .. } | NatsError::TooLong { .. } | NatsError::NoResponder { .. })
        );
        if is_usable {
            self.nats.0.borrow_mut().insert(at, client);
        }
        match done {
            // A stream that has the message already says so, and that is what was wanted.
            Ok(_) => Ok(()),
            Err(error @ (NatsError::TooLong { .. } | NatsError::Refused { number: LONGER_THAN_STREAM, .. })) => {
                Err(Outside::Refuses(failure(&error)))
            }
            Err(error) => Err(Outside::Waits(failure(&error))),
        }
    }
}
