//! Queues of other AMQP 1.0 brokers: messages received with exactly one effect each, and messages sent after the commit.
//!
//! ```text
//! checkpoint "flow-amqp/FLOW/NODE/SOURCE/" + id ─▶ milliseconds since 1970: the time at which the message with this id was processed
//! ```
//!
//! The id of a message commits together with the effect of the message. The answer to the broker follows the commit and may be lost, so a message
//! may arrive again; if its id is stored, it is accepted without further processing. Ids are removed after the retention time of the node. SOURCE is
//! a digest of broker and queue.
//!
//! A message that failed stays here until its retry delay ends, so that neither its order nor the count of its failures depends on the broker.
//! When the connection ends, the broker has all unanswered messages again, so the messages waiting here are dropped.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use quayline_connect::{
    BrokerAddress, BrokerClient, BrokerError, BrokerEvent, BrokerLogin, Delivery, DeliveryState, LinkId,
};
use quayline_core::hex;
use quayline_project::FlowNode;
use quayline_store::queue::{Message, MessageId};
use quayline_store::{Clock, Direction, KeyRange, Page, PageLimit, Space, Store, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use crate::codes;
use crate::deliver::Outside;
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::message::Parcel;
use crate::run::{Gives, Run, Work};
use crate::taken::{Failures, Link, Outcome, Pauses, Taken};

/// Maximum number of unanswered messages that an input holds. Default 200. With [`HELD_BYTES`], this limits its memory.
const PREFETCH: usize = 200;
/// Bytes of such messages above which the input reads no more. Default 8 MiB, and always one message of any size.
const HELD_BYTES: usize = 8 << 20;
/// First and longest pause before the next connection.
const CONNECT_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Time for which ids are remembered, where the node says nothing. Default 1 day: longer than a broker is usually down.
const REMEMBER_MS: u64 = 24 * 3_600_000;
/// Shortest and longest pause between two looks for ids that are too old.
const LOOK: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));
/// Pause between two pages of one look.
const PAGE_PAUSE: Duration = Duration::from_millis(20);
/// Longest wait for the outcome of a message that is sent.
const SEND_WAIT: Duration = Duration::from_secs(30);
/// Time after which an output's connection that is not used is closed.
const IDLE: Duration = Duration::from_secs(10);
/// Queues that an output's connection keeps links to.
const LINKS_MAX: usize = 64;
/// Variable of the environment with the password, where the node names none.
const PASSWORD: &str = "AMQP_PASSWORD";
/// Longest name of a queue, in bytes.
const NAME_BYTES_MAX: usize = 1_024;

/// The ids of processed messages in the store.
#[derive(Clone, Debug)]
struct Seen {
    prefix: String,
    remember_ms: u64,
}

impl Seen {
    fn key(&self, id: &MessageId) -> String {
        format!("{}{}", self.prefix, hex(id))
    }

    /// Returns whether the message with this id had its effect.
    fn has(&self, store: &Store, id: &MessageId) -> Result<bool, StoreError> {
        Ok(store.begin()?.checkpoint(&self.key(id))?.is_some())
    }

    /// Removes the ids of one page that are too old. Returns where the next page begins.
    fn forget(&self, store: &Store, now_ms: u64, from: Bound<Vec<u8>>) -> Result<Option<Bound<Vec<u8>>>, StoreError> {
        let mut unit = store.begin()?;
        let mut page = Page::default();
        let range = KeyRange::ALL.after(Direction::Forward, &from);
        unit.page(Space::CHECKPOINTS, range, Direction::Forward, PageLimit::default(), &mut page)?;
        let mut next = page.next.take();
        let mut old = Vec::new();
        for (key, at) in page.iter() {
            if !key.starts_with(self.prefix.as_bytes()) {
                next = None;
                break;
            }
            let at_ms = at.first_chunk::<8>().map_or(0, |ms| u64::from_le_bytes(*ms));
            if at_ms.saturating_add(self.remember_ms) < now_ms {
                old.push(key.to_vec());
            }
        }
        for key in &old {
            unit.delete(Space::CHECKPOINTS, key)?;
        }
        if !old.is_empty() {
            // Nobody waits: what comes back after a crash is removed at the next look.
            unit.submit_with(Box::new(|_| ()));
        }
        Ok(next)
    }
}

/// State shared by the connection's task and the input.
#[derive(Default)]
struct Shared {
    /// Number of the connection; deliveries of an earlier one have no meaning.
    epoch: u64,
    arrived: VecDeque<(Delivery, Message)>,
    link: Link,
    waker: Option<Waker>,
}

impl Shared {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// A message that is processed or waits to be processed again.
struct Open {
    epoch: u64,
    delivery: Delivery,
    /// The message without its content.
    header: Message,
    content: Rc<[u8]>,
    is_processed: bool,
    has_id: bool,
    /// Deliveries with the same id that arrived since.
    others: Vec<Delivery>,
}

/// An input from a queue of a broker.
pub(crate) struct BrokerInput {
    pub(crate) queue: String,
    shared: Rc<RefCell<Shared>>,
    settle: UnboundedSender<(u64, Delivery, DeliveryState)>,
    seen: Seen,
    epoch: u64,
    open: HashMap<MessageId, Open>,
    /// Messages to process again, and when.
    again: Pauses<MessageId>,
    failed: Failures<MessageId>,
    is_ordered: bool,
    needs_id: bool,
    /// Number of the next id for a message that has none.
    next_id: (u64, u64),
}

/// Checks the properties of a node. Returns the wrong property and the reason.
pub(crate) fn check(node: &FlowNode, root: &std::path::Path) -> Option<(&'static str, String)> {
    if !node.kind.name.starts_with("amqp_") {
        return None;
    }
    let address = match node.text("server").map(BrokerAddress::parse)? {
        Err(why) => return Some(("server", why)),
        Ok(address) => address,
    };
    if node.text("queue").is_some_and(|queue| !is_name(queue)) {
        return Some(("queue", format!("a name has 1 to {NAME_BYTES_MAX} bytes and no control characters")));
    }
    crate::tls::check(node, root, address.is_encrypted())
}

fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control)
}

fn login(run: &Run<'_>, node: &FlowNode) -> Result<(BrokerAddress, BrokerLogin), Failure> {
    let wrong = |why: String| Failure::new(codes::BAD_SERVER, why, "write `server` as amqp://HOST:PORT");
    let address = BrokerAddress::parse(node.text("server").unwrap_or_default()).map_err(wrong)?;
    let variable = node.text("password_variable").unwrap_or(PASSWORD);
    let password = || std::env::var(variable).unwrap_or_default();
    let login = BrokerLogin {
        container: format!("quayline {} {} {:016x}", run.name, node.name, run.clock.random()),
        user: node.text("user").map(|user| (user.to_owned(), password())),
        tls: if address.is_encrypted() { Some(crate::tls::load(node, &run.flow.root).map_err(wrong)?) } else { None },
    };
    Ok((address, login))
}

fn failure(error: &BrokerError) -> Failure {
    let (code, hint) = match error {
        BrokerError::Login(_) => {
            (codes::AMQP_UNREACHABLE, "check `user`, the password in the environment, and the certificates")
        }
        BrokerError::TooLong { .. } => (codes::AMQP_REFUSED, "raise the broker's limit, or make the message shorter"),
        BrokerError::Refused { .. } => {
            (codes::AMQP_REFUSED, "check the queue and its permissions on the broker; the flow tries again")
        }
        _ => (codes::AMQP_UNREACHABLE, "check the broker and the network; the flow tries again"),
    };
    Failure::new(code, format!("AMQP: {error}"), hint)
}

/// Connection of an input, in a separate task.
struct Session {
    store: Store,
    clock: Arc<dyn Clock>,
    address: BrokerAddress,
    login: BrokerLogin,
    queue: String,
    seen: Seen,
    shared: Rc<RefCell<Shared>>,
    settled: UnboundedReceiver<(u64, Delivery, DeliveryState)>,
    is_connected: bool,
    look_at: Instant,
    look_from: Option<Bound<Vec<u8>>>,
}

impl Session {
    async fn run(mut self) {
        let mut pause = CONNECT_PAUSE.0;
        loop {
            self.is_connected = false;
            let why = match self.connected().await {
                // The input has ended.
                Ok(()) => return,
                Err(why) => why,
            };
            {
                let mut shared = self.shared.borrow_mut();
                shared.arrived.clear();
                shared.epoch += 1;
                shared.link.breaks(why);
                shared.wake();
            }
            pause = if self.is_connected { CONNECT_PAUSE.0 } else { (pause * 2).min(CONNECT_PAUSE.1) };
            let next = Instant::now() + pause;
            // Answers to deliveries that are void; none at all once the input has ended.
            while let Ok(settled) = tokio::time::timeout_at(next, self.settled.recv()).await {
                if settled.is_none() {
                    return;
                }
            }
        }
    }

    async fn connected(&mut self) -> Result<(), Failure> {
        let outside = |error: BrokerError| failure(&error);
        let mut client = BrokerClient::connect(&self.address, &self.login).await.map_err(outside)?;
        let link = client.receiver(&self.queue).await.map_err(outside)?;
        self.is_connected = true;
        let epoch = {
            let mut shared = self.shared.borrow_mut();
            shared.link.works();
            shared.wake();
            shared.epoch
        };
        let mut held: HashMap<Delivery, usize> = HashMap::new();
        let mut held_bytes = 0;
        loop {
            let granted = usize::try_from(client.granted(link)).unwrap_or(usize::MAX);
            if granted.saturating_add(held.len()) <= PREFETCH / 2 {
                client.grant(link, u32::try_from(PREFETCH - held.len()).unwrap_or(0));
            }
            tokio::select! {
                settled = self.settled.recv() => {
                    let Some(mut settled) = settled else {
                        client.close().await;
                        return Ok(());
                    };
                    loop {
                        let (of, delivery, state) = settled;
                        if of == epoch {
                            held_bytes -= held.remove(&delivery).unwrap_or(0);
                            client.settle(delivery, state);
                        }
                        match self.settled.try_recv() {
                            Ok(next) => settled = next,
                            Err(_) => break,
                        }
                    }
                }
                event = client.next(held_bytes < HELD_BYTES) => match event.map_err(outside)? {
                    BrokerEvent::Message(arrived) => {
                        let mut shared = self.shared.borrow_mut();
                        match arrived.message {
                            Ok(message) => {
                                held.insert(arrived.delivery, arrived.bytes);
                                held_bytes += arrived.bytes;
                                shared.arrived.push_back((arrived.delivery, message));
                            }
                            Err(error) => {
                                let message = format!("AMQP: a message is not readable and was rejected: {error}");
                                let hint = "see the broker's queue of dead letters";
                                shared.link.fails(Failure::new(codes::AMQP_NOT_READABLE, message, hint));
                                client.settle(arrived.delivery, DeliveryState::Rejected(Some(error)));
                            }
                        }
                        shared.wake();
                    }
                    BrokerEvent::Detached(_, error) => return Err(failure(&error)),
                    // The next round grants more.
                    BrokerEvent::Outcome(..) | BrokerEvent::Credit(_) => {}
                },
                () = tokio::time::sleep_until(self.look_at) => self.look()?,
            }
        }
    }

    /// Removes ids that are too old, one page after another.
    fn look(&mut self) -> Result<(), Failure> {
        let begin = || Bound::Included(self.seen.prefix.as_bytes().to_vec());
        let from = self.look_from.take().unwrap_or_else(begin);
        self.look_from = self.seen.forget(&self.store, self.clock.now_ms(), from)?;
        let pause = Duration::from_millis(self.seen.remember_ms / 8).clamp(LOOK.0, LOOK.1);
        self.look_at = Instant::now() + if self.look_from.is_some() { PAGE_PAUSE } else { pause };
        Ok(())
    }
}

impl BrokerInput {
    /// Begins to connect, in a task of this thread.
    pub(crate) fn start(run: &Run<'_>, at: usize) -> Result<BrokerInput, Failure> {
        let node = &run.flow.file.nodes[at];
        let (address, login) = login(run, node)?;
        let queue = node.text("queue").unwrap_or_default().to_owned();
        let source = xxh3_64(format!("{address} {queue}").as_bytes());
        let seen = Seen {
            prefix: format!("flow-amqp/{}/{}/{source:016x}/", run.name, node.name),
            remember_ms: node.number("remember").unwrap_or(REMEMBER_MS),
        };
        let (settle, settled) = unbounded_channel();
        let shared = Rc::new(RefCell::new(Shared { epoch: 1, ..Shared::default() }));
        let session = Session {
            store: run.store.clone(),
            clock: Arc::clone(&run.clock),
            address,
            login,
            queue: queue.clone(),
            seen: seen.clone(),
            shared: Rc::clone(&shared),
            settled,
            is_connected: false,
            look_at: Instant::now() + LOOK.0,
            look_from: None,
        };
        tokio::task::spawn_local(session.run());
        Ok(BrokerInput {
            queue,
            shared,
            settle,
            seen,
            epoch: 1,
            open: HashMap::new(),
            again: Pauses::new(),
            failed: Failures::new(&run.name, node),
            is_ordered: node.text("order") == Some("by_queue"),
            needs_id: node.text("without_id") == Some("backout"),
            next_id: (run.clock.random(), 0),
        })
    }

    fn accept(&self, epoch: u64, delivery: Delivery) {
        // A task that has ended ends with the flow; the message comes again and is known.
        let _ = self.settle.send((epoch, delivery, DeliveryState::Accepted));
    }

    /// Returns the next message that has not been processed.
    pub(crate) fn poll(&mut self, run: &Run<'_>, at: usize, context: &mut Context<'_>) -> Poll<Result<Taken, Failure>> {
        loop {
            let (news, epoch) = {
                let mut shared = self.shared.borrow_mut();
                (shared.link.news(), shared.epoch)
            };
            run.follows(at, news);
            if epoch != self.epoch {
                self.epoch = epoch;
                self.again.clear();
                self.open.retain(|_, open| open.is_processed);
                self.open.values_mut().for_each(|open| open.others.clear());
            }
            if let Some(id) = self.again.ended(context) {
                return Poll::Ready(self.take(run, id));
            }
            // An input that keeps the order of the queue must process a failed message again before later ones.
            if self.is_ordered && !self.again.is_empty() {
                return Poll::Pending;
            }
            let Some((delivery, mut message)) = self.shared.borrow_mut().arrived.pop_front() else {
                self.shared.borrow_mut().waker = Some(context.waker().clone());
                return Poll::Pending;
            };
            let has_id = message.id != [0; 24];
            if has_id {
                if let Some(known) = self.open.get_mut(&message.id) {
                    // The message arrives again while it is processed.
                    known.others.push(delivery);
                    continue;
                }
                match self.seen.has(&run.store, &message.id) {
                    Ok(false) => {}
                    Ok(true) => {
                        self.accept(epoch, delivery);
                        continue;
                    }
                    Err(error) => {
                        // The message keeps its place. The flow tries again after its pause for a failed input.
                        self.shared.borrow_mut().arrived.push_front((delivery, message));
                        return Poll::Ready(Err(error.into()));
                    }
                }
            } else {
                let (salt, number) = self.next_id;
                self.next_id.1 += 1;
                message.id[..8].copy_from_slice(&salt.to_be_bytes());
                message.id[8..16].copy_from_slice(&number.to_be_bytes());
            }
            let id = message.id;
            message.put_ms = run.clock.now_ms();
            let content = std::mem::take(&mut message.payload).into();
            let others = Vec::new();
            self.open
                .insert(id, Open { epoch, delivery, header: message, content, is_processed: true, has_id, others });
            return Poll::Ready(self.take(run, id));
        }
    }

    fn take(&mut self, run: &Run<'_>, id: MessageId) -> Result<Taken, Failure> {
        let taken = self.begin(run, id);
        if taken.is_err()
            && let Some(open) = self.open.get_mut(&id)
        {
            open.is_processed = false;
            self.again.add_not_begun(id);
        }
        taken
    }

    fn begin(&mut self, run: &Run<'_>, id: MessageId) -> Result<Taken, Failure> {
        let gone = || Failure::new(codes::AMQP_UNREACHABLE, "AMQP: the connection ended", "the message comes again");
        let open = self.open.get_mut(&id).ok_or_else(gone)?;
        open.is_processed = true;
        let mut unit = run.store.begin()?;
        if open.has_id {
            unit.put_checkpoint(&self.seen.key(&id), &run.clock.now_ms().to_le_bytes())?;
        }
        let mut header = open.header.clone();
        header.backout_count = 0;
        let without_id = || {
            let why = || "the message has no message-id".to_owned();
            (self.needs_id && !open.has_id).then(|| self.failed.to_backout(codes::AMQP_NO_ID, why()))
        };
        let backout = self.failed.count(&id, &mut header).or_else(without_id);
        Ok(Taken { unit, header, content: Rc::clone(&open.content), backout })
    }

    /// Takes note of the end of a unit of work.
    pub(crate) fn ended(&mut self, id: &MessageId, outcome: Outcome) {
        match outcome {
            Ok(()) => {
                self.failed.forget(id);
                let Some(open) = self.open.remove(id) else { return };
                self.accept(open.epoch, open.delivery);
                for other in open.others {
                    self.accept(self.epoch, other);
                }
            }
            Err(why) => {
                let epoch = self.shared.borrow().epoch;
                let pause = self.failed.add(*id, why);
                let Some(open) = self.open.get_mut(id) else { return };
                if open.epoch != epoch {
                    // The broker has it again; it may have come again already.
                    let Some(other) = (self.epoch == epoch).then(|| open.others.pop()).flatten() else {
                        self.open.remove(id);
                        return;
                    };
                    (open.epoch, open.delivery) = (epoch, other);
                }
                open.is_processed = false;
                self.again.add(*id, pause);
            }
        }
    }
}

/// The connection of an output.
struct Sender {
    client: BrokerClient,
    links: HashMap<String, (LinkId, u64)>,
    used: Instant,
}

/// Connections of outputs on one thread, by number of the node.
#[derive(Default)]
pub(crate) struct Senders(RefCell<HashMap<usize, Sender>>);

impl Run<'_> {
    /// Keeps the content, its queue and its priority in the outbox.
    pub(crate) async fn amqp_output(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let queue = self.needed(at, values, "queue")?;
        if !is_name(queue) {
            let message = "the value of `queue` is empty, too long, or has a control character";
            return Err(Failure::new(codes::NO_VALUE, message, "make the name of a queue or topic of the broker"));
        }
        let mut payload = vec![b'0' + parcel.received.header.priority.min(9)];
        payload.extend_from_slice(queue.as_bytes());
        payload.push(b'\n');
        payload.extend_from_slice(&parcel.content);
        self.keep(work, at, parcel, payload).await?;
        Ok(Gives::Same("out"))
    }

    /// Sends a message of the outbox.
    pub(crate) async fn deliver_amqp(&self, at: usize, message: &Message) -> Result<(), Outside> {
        let node = &self.flow.file.nodes[at];
        let end = message.payload.iter().position(|byte| *byte == b'\n').unwrap_or(message.payload.len());
        let (priority, queue) = message.payload[..end].split_first().unwrap_or((&b'4', b""));
        let queue = std::str::from_utf8(queue).unwrap_or_default();
        let outgoing = Message {
            id: message.id,
            correlation: message.correlation,
            priority: priority.saturating_sub(b'0'),
            persistence: message.persistence,
            properties: message.properties.clone(),
            payload: message.payload.get(end + 1..).unwrap_or_default().to_vec(),
            ..Message::default()
        };
        let known = self.amqp.0.borrow_mut().remove(&at);
        let known = known.filter(|known| known.used.elapsed() < IDLE && known.links.len() < LINKS_MAX);
        let mut sender = match known {
            Some(sender) => sender,
            None => {
                let (address, login) = login(self, node).map_err(Outside::Waits)?;
                let connected = BrokerClient::connect(&address, &login).await;
                let client = connected.map_err(|error| Outside::Waits(failure(&error)))?;
                Sender { client, links: HashMap::new(), used: Instant::now() }
            }
        };
        let link = match sender.links.get(queue) {
            Some(link) => *link,
            None => {
                let link = sender.client.sender(queue).await.map_err(|error| Outside::Waits(failure(&error)))?;
                sender.links.insert(queue.to_owned(), link);
                link
            }
        };
        let property = node.text("duplicate_property");
        let sent = sender.client.send(link, &outgoing, property, SEND_WAIT).await;
        let refused = |what: String| {
            let hint = "see what the broker accepts in this queue";
            Failure::new(codes::AMQP_REFUSED, format!("AMQP: the broker refuses the message: {what}"), hint)
        };
        let outcome = match sent {
            Ok(Some(DeliveryState::Accepted)) => Ok(()),
            Ok(Some(DeliveryState::Rejected(Some(error)))) if is_passing(&error.condition) => {
                Err(Outside::Waits(refused(error.to_string())))
            }
            Ok(Some(DeliveryState::Rejected(error))) => {
                let what = error.map_or_else(|| "rejected".to_owned(), |error| error.to_string());
                Err(Outside::Refuses(refused(what)))
            }
            Ok(Some(DeliveryState::Modified { undeliverable_here: true, .. })) => {
                Err(Outside::Refuses(refused("undeliverable here".to_owned())))
            }
            Ok(_) => Err(Outside::Waits(refused("released".to_owned()))),
            Err(error @ BrokerError::TooLong { .. }) => Err(Outside::Refuses(failure(&error))),
            Err(BrokerError::Refused { condition, text }) if condition == "amqp:link:message-size-exceeded" => {
                return Err(Outside::Refuses(refused(format!("{condition}: {text}"))));
            }
            // The connection or link is of no more use.
            Err(error) => return Err(Outside::Waits(failure(&error))),
        };
        sender.used = Instant::now();
        self.amqp.0.borrow_mut().insert(at, sender);
        outcome
    }
}

/// Returns true if a rejection with this condition is not caused by the message itself.
fn is_passing(condition: &str) -> bool {
    ["amqp:resource-limit-exceeded", "amqp:internal-error", "amqp:unauthorized-access", "amqp:not-found"]
        .contains(&condition)
}
