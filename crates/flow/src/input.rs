//! Inputs of a flow. Each claims messages in the order that its node specifies, as long as the flow has free instances.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use quayline_project::FlowNode;
use quayline_store::queue::{Claim, Claimed as Outgoing, Message, MessageId, Persistence, Polled, Queue, Select};
use quayline_store::{Cause, RollBack, Store, Unit};
use tokio::time::{Instant, Sleep};

use crate::amqp::BrokerInput;
use crate::answers::{Answers, Known};
use crate::codes;
use crate::deliver::DELIVERED;
use crate::expired::{Expired, Look};
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::folder::{Folder, Processed, SETTLE_MS};
use crate::http::{KeptSockets, Listener};
use crate::kafka::KafkaInput;
use crate::message::{Parcel, Received};
use crate::nats::Subscription;
use crate::owner::Ownership;
use crate::run::{After, Run};
use crate::sql_input::SqlInput;
use crate::taken::Taken;

/// Messages and bytes that wait for others of their key, above which an input takes no more from its queue. Default 1,024 and 16 MiB.
const WAITING_MAX: (usize, usize) = (1_024, 16 << 20);
/// Pause after an input failed, such as a folder that is missing.
const FAILED_PAUSE: Duration = Duration::from_secs(5);

/// A message that was claimed, with the unit of work that claims it.
pub(crate) struct Claimed {
    pub(crate) unit: Unit,
    pub(crate) received: Rc<Received>,
    pub(crate) after: Vec<After>,
    /// Key of its order.
    pub(crate) key: Option<Arc<str>>,
    /// Messages that this unit of work may hold.
    pub(crate) count: u64,
    pub(crate) file: Option<Processed>,
    /// Failure known before processing.
    pub(crate) failure: Option<Failure>,
    /// True if the instance takes another message as soon as this unit of work has been submitted to the log.
    pub(crate) frees_early: bool,
    /// A message of an outbox instead of one for the flow.
    pub(crate) outgoing: Option<(Claim, Box<Message>)>,
    /// Queue that the message moves to instead of being processed, and why.
    pub(crate) backout: Option<(String, Cause)>,
}

/// Outcome of a unit of work.
pub(crate) struct Ended {
    pub(crate) input: usize,
    pub(crate) id: MessageId,
    pub(crate) key: Option<Arc<str>>,
    pub(crate) is_good: bool,
    pub(crate) messages: u64,
    pub(crate) file: Option<Processed>,
    /// True if the instance took another message already.
    pub(crate) is_free: bool,
    /// True if it was rolled back because its file was not complete, which is not a failure of the flow.
    pub(crate) is_early: bool,
    /// Reason for the rollback.
    pub(crate) why: Option<Cause>,
}

/// An input of a flow on one thread.
pub(crate) struct Input {
    pub(crate) node: usize,
    slots: usize,
    used: usize,
    from: Origin,
    timer: Option<Pin<Box<Sleep>>>,
    /// Holds the right to be the only one that takes messages here, among all processes on the store.
    _owner: Option<Unit>,
}

enum Origin {
    /// Another process may own the input.
    Unowned(Ownership),
    Queue(QueueFrom),
    Timer {
        every: Duration,
        payload: Rc<[u8]>,
    },
    Folder {
        folder: Box<Folder>,
        interval: Duration,
    },
    Http(Listener, Answers),
    /// Messages to deliver. The delivery of one of them may have begun before.
    Outbox(Queue, Option<MessageId>),
    Nats(Box<Subscription>),
    Amqp(Box<BrokerInput>),
    Kafka(Box<KafkaInput>),
    Sql(Box<SqlInput>),
    Groups(Box<Expired>),
}

struct QueueFrom {
    queue: Queue,
    order: Order,
    /// Unused without an order. The inputs of all threads share it with an order by user or key.
    keys: Arc<Mutex<Keys>>,
    commit_count: u64,
    /// Messages that are processed one by one, after a unit of work of several was rolled back.
    single: u64,
}

/// State of an order. An input gets a message and enters its key while it holds the lock, so keys are entered in the order of the queue.
#[derive(Default)]
pub(crate) struct Keys {
    keys: HashMap<Arc<str>, Keyed>,
    /// Messages that were given back and must come before others of their key.
    returned: VecDeque<(Arc<str>, MessageId)>,
    /// Messages whose turn has come: nothing of their key is processed any more.
    ready: VecDeque<Waiting>,
    /// Messages and bytes of `ready` and of those that wait for others of their key.
    waiting: (usize, usize),
    /// Inputs that wait for a message, by thread.
    wakers: Vec<Option<Waker>>,
    /// Inputs that share this.
    inputs: usize,
}

/// A message that waits for another one of its key. It may continue on another thread.
struct Waiting {
    unit: Unit,
    message: Message,
    key: Arc<str>,
    failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Order {
    None,
    ByQueue,
    ByUser,
    ByKey,
}

/// Messages of one key.
#[derive(Default)]
struct Keyed {
    /// Message that is processed; `None` for a new key.
    current: Option<MessageId>,
    /// True if the current message was given back, and another thread got it before its end was noted. It is the first of `waiting`.
    comes_again: bool,
    waiting: VecDeque<Waiting>,
}

impl Keys {
    fn has_room(&self) -> bool {
        self.waiting.0 < WAITING_MAX.0 && self.waiting.1 < WAITING_MAX.1
    }

    /// Frees a key, and takes the next waiting message with it.
    fn free(&mut self, key: &Arc<str>) {
        let Some(keyed) = self.keys.get_mut(key) else { return };
        match keyed.waiting.pop_front() {
            Some(next) => {
                keyed.current = Some(next.message.id);
                self.ready.push_back(next);
            }
            None => drop(self.keys.remove(key)),
        }
    }

    fn next_ready(&mut self) -> Option<Waiting> {
        let had_room = self.has_room();
        let next = self.ready.pop_front()?;
        self.waiting.0 -= 1;
        self.waiting.1 -= next.message.payload.len();
        if !had_room {
            self.wake();
        }
        Some(next)
    }

    fn waits(&mut self, thread: usize, waker: &Waker) {
        if self.wakers.len() <= thread {
            self.wakers.resize(thread + 1, None);
        }
        if !self.wakers[thread].as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.wakers[thread] = Some(waker.clone());
        }
    }

    /// Wakes all inputs that wait.
    fn wake(&mut self) {
        self.wakers.iter_mut().filter_map(Option::take).for_each(Waker::wake);
    }
}

/// Timer that wakes an input that polls; `None` for other inputs.
type Timer = Option<Pin<Box<Sleep>>>;

impl Input {
    /// Creates the inputs of a flow and, on its first thread, the inputs for messages to deliver and groups to send. `slots` is the number of instances on
    /// this thread; 0 if the flow runs on other threads.
    pub(crate) fn all(run: &Run<'_>, slots: usize, is_first: bool) -> Result<Vec<Input>, Failure> {
        let own = |node: &FlowNode| {
            DELIVERED.contains(&node.kind.name) || node.kind.name == "aggregate" && node.property("timeout").is_some()
        };
        let nodes = run.flow.file.nodes.iter().enumerate();
        let nodes = nodes.filter(|(_, node)| node.kind.is_input || is_first && own(node));
        let mut inputs: Vec<Input> = Vec::new();
        for (at, _) in nodes {
            match Input::new(run, at, slots) {
                Ok(input) => inputs.push(input),
                Err(failure) => {
                    // The last input of an order that stops gives its messages back, and must not count these.
                    inputs.iter_mut().try_for_each(|input| input.stop(&run.store))?;
                    return Err(failure);
                }
            }
        }
        Ok(inputs)
    }

    fn new(run: &Run<'_>, at: usize, slots: usize) -> Result<Input, Failure> {
        let node = &run.flow.file.nodes[at];
        let (from, timer) = if crate::owner::needs_one(&run.store, node) {
            (Origin::Unowned(Ownership::new(&run.name, &node.name)), None)
        } else {
            Input::origin(run, at)?
        };
        Ok(Input { node: at, slots: slots_of(node, slots), used: 0, from, timer, _owner: None })
    }

    /// Returns the origin of an input's messages, and its timer.
    fn origin(run: &Run<'_>, at: usize) -> Result<(Origin, Timer), Failure> {
        let node = &run.flow.file.nodes[at];
        let text = |name: &str| node.text(name).unwrap_or_default();
        let time = |name: &str, default_ms| Duration::from_millis(node.number(name).unwrap_or(default_ms));
        let (from, timer) = match node.kind.name {
            "timer_input" => {
                let every = time("every", 1_000).max(Duration::from_millis(1));
                (Origin::Timer { every, payload: text("payload").as_bytes().into() }, Some(every))
            }
            "folder_input" => {
                let pattern = node.text("pattern").unwrap_or("*");
                let folder =
                    Folder::new(&run.flow.root, &run.name, &node.name, text("folder"), pattern, node.text("done"))
                        .settled_after(time("settle", SETTLE_MS));
                (
                    Origin::Folder {
                        folder: Box::new(folder),
                        interval: time("interval", 1_000).max(Duration::from_millis(1)),
                    },
                    Some(Duration::ZERO),
                )
            }
            "http_input" => {
                let listener = Listener::bind(node, time("wait_limit", 30_000), &mut run.deployed().sockets.lock());
                let failed = |why| {
                    Failure::new(codes::LISTEN, why, "name another address, or end the program that uses this one")
                };
                let answers = Answers::new(&run.name, node);
                let mut listener = listener.map_err(failed)?;
                listener.forgets(answers.clone().forget(run.store.clone(), Arc::clone(&run.clock)));
                (Origin::Http(listener, answers), None)
            }
            "aggregate" => (Origin::Groups(Box::new(Expired::new(run, node))), Some(Duration::ZERO)),
            "nats_input" => (Origin::Nats(Box::new(Subscription::start(run, at)?)), None),
            "amqp_input" => (Origin::Amqp(Box::new(BrokerInput::start(run, at)?)), None),
            "kafka_input" => (Origin::Kafka(Box::new(KafkaInput::start(run, at)?)), None),
            "sql_input" => (Origin::Sql(Box::new(SqlInput::start(run, at)?)), None),
            kind if DELIVERED.contains(&kind) => {
                (Origin::Outbox(run.queue(text("outbox"))?, run.on_its_way(at)?), None)
            }
            _ => {
                let order = match node.text("order") {
                    Some("by_queue") => Order::ByQueue,
                    Some("by_user") => Order::ByUser,
                    Some("by_key") => Order::ByKey,
                    _ => Order::None,
                };
                let queue = run.queue(text("queue"))?;
                let keys = match order {
                    Order::None | Order::ByQueue => Arc::default(),
                    Order::ByUser | Order::ByKey => run.deployed().keys(at),
                };
                let mut shared = keys.lock();
                if order != Order::None && shared.inputs == 0 {
                    // The flow may have been stopped or replaced in the pause of a message, and later messages of its key must wait for it.
                    queue.end_pauses().map_err(Failure::from)?;
                }
                shared.inputs += 1;
                drop(shared);
                let from =
                    QueueFrom { queue, order, keys, commit_count: node.number("commit_count").unwrap_or(1), single: 0 };
                (Origin::Queue(from), None)
            }
        };
        Ok((from, timer.map(|after| Box::pin(tokio::time::sleep(after)))))
    }

    /// Begins once no other process takes messages here.
    fn poll_owned(&mut self, run: &Run<'_>, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let Origin::Unowned(ownership) = &mut self.from else { return Poll::Ready(Ok(())) };
        let Poll::Ready(owner) = ownership.poll(run, self.node, context) else { return Poll::Pending };
        let owner = owner?;
        let (from, timer) = Input::origin(run, self.node)?;
        (self.from, self.timer, self._owner) = (from, timer, Some(owner));
        Poll::Ready(Ok(()))
    }

    /// Claims a message that can be processed now. Pending registers the task for everything that it waits for.
    pub(crate) fn poll_claim(&mut self, run: &Run<'_>, context: &mut Context<'_>) -> Poll<Result<Claimed, Failure>> {
        std::task::ready!(self.poll_owned(run, context))?;
        let Input { node, slots, used, from, timer, .. } = self;
        match from {
            Origin::Unowned(_) => Poll::Pending,
            Origin::Queue(queue) => queue.poll(run, *node, (*slots, used), timer, context),
            Origin::Timer { every, payload } => {
                if *used >= *slots || !due(timer, context) {
                    return Poll::Pending;
                }
                set(timer, *every);
                let mut claimed = claimed(run, run.store.begin()?, own_header(run), Rc::clone(payload), "", None);
                *used += 1;
                if let Some(received) = Rc::get_mut(&mut claimed.received) {
                    received.comes_again = false;
                }
                Poll::Ready(Ok(claimed))
            }
            Origin::Http(listener, answers) => loop {
                if *used >= *slots {
                    return Poll::Pending;
                }
                let Poll::Ready(Some(asked)) = listener.asked.poll_recv(context) else { return Poll::Pending };
                let (mut unit, mut header, mut asking) = (run.store.begin()?, own_header(run), None);
                if let Some(key) = &asked.key {
                    match answers.look(&mut unit, key, &asked, header.put_ms)? {
                        Known::New(new) => (header.id, asking) = (new.id, Some(new)),
                        known => {
                            asked.reply.end(known.outcome());
                            continue;
                        }
                    }
                }
                *used += 1;
                header.properties = asked.context;
                let mut claimed = claimed(run, unit, header, asked.content, "", None);
                claimed.frees_early = true;
                if let Some(received) = Rc::get_mut(&mut claimed.received) {
                    received.reply = Some(asked.reply);
                    received.comes_again = asking.is_some();
                    received.asking = asking;
                }
                return Poll::Ready(Ok(claimed));
            },
            Origin::Nats(subscription) => {
                if *used >= *slots {
                    return Poll::Pending;
                }
                let Poll::Ready(taken) = subscription.poll(run, *node, context) else { return Poll::Pending };
                let taken = taken?;
                *used += 1;
                Poll::Ready(Ok(claimed_outside(run, taken, &subscription.stream, *slots)))
            }
            Origin::Amqp(input) => {
                if *used >= *slots {
                    return Poll::Pending;
                }
                let Poll::Ready(taken) = input.poll(run, *node, context) else { return Poll::Pending };
                let taken = taken?;
                *used += 1;
                Poll::Ready(Ok(claimed_outside(run, taken, &input.queue, *slots)))
            }
            Origin::Kafka(input) => {
                if *used >= *slots {
                    return Poll::Pending;
                }
                let Poll::Ready(taken) = input.poll(run, *node, context) else { return Poll::Pending };
                let taken = taken?;
                *used += 1;
                Poll::Ready(Ok(claimed_outside(run, taken, &input.topic, *slots)))
            }
            Origin::Sql(input) => {
                if *used >= *slots {
                    return Poll::Pending;
                }
                let Poll::Ready(taken) = input.poll(run, *node, context) else { return Poll::Pending };
                let taken = taken?;
                *used += 1;
                Poll::Ready(Ok(claimed_outside(run, taken, &input.name, *slots)))
            }
            Origin::Outbox(queue, begun) => {
                if *used >= *slots {
                    return Poll::Pending;
                }
                let (claim, message) = match next_outgoing(run, queue, begun, context.waker())? {
                    Outgoing::Message(claim, message) => (claim, message),
                    Outgoing::Nothing { due_ms } => {
                        if let Some(due_ms) = due_ms {
                            set(timer, Duration::from_millis(due_ms.saturating_sub(run.clock.now_ms()).max(1)));
                            if due(timer, context) {
                                context.waker().wake_by_ref();
                            }
                        }
                        return Poll::Pending;
                    }
                };
                let mut claimed = claimed(run, run.store.begin()?, Message::default(), Rc::new([]), queue.name(), None);
                *used += 1;
                claimed.outgoing = Some((claim, message));
                Poll::Ready(Ok(claimed))
            }
            Origin::Groups(expired) => {
                while *used < *slots && due(timer, context) {
                    let found = match expired.look(run)? {
                        Look::Group(found) => *found,
                        Look::After(pause) => {
                            set(timer, pause);
                            continue;
                        }
                    };
                    *used += 1;
                    set(timer, Duration::ZERO);
                    let mut claimed = claimed(run, found.unit, found.header, found.content.into(), "", None);
                    claimed.backout = found.backout;
                    if let Some(received) = Rc::get_mut(&mut claimed.received) {
                        (received.terminal, received.group) = (expired.terminal, Some(found.group));
                    }
                    return Poll::Ready(Ok(claimed));
                }
                Poll::Pending
            }
            Origin::Folder { folder, interval } => {
                if *used >= *slots {
                    return Poll::Pending;
                }
                loop {
                    match folder.next(&run.store) {
                        Ok(Some(taken)) => {
                            let begun = run.store.begin().and_then(|mut unit| {
                                unit.put_checkpoint(&taken.checkpoint, &taken.fingerprint).map(|()| unit)
                            });
                            let unit = match begun {
                                Ok(unit) => unit,
                                Err(error) => {
                                    // A later look finds it again.
                                    folder.give_back(taken.processed.path());
                                    return Poll::Ready(Err(error.into()));
                                }
                            };
                            *used += 1;
                            let mut header = Message { put_ms: run.clock.now_ms(), ..Message::default() };
                            header.id = taken.id;
                            let mut claimed = claimed(run, unit, header, taken.content.into(), "", Some(taken.name));
                            claimed.after.push(After::Processed(taken.processed.clone()));
                            claimed.file = Some(taken.processed);
                            return Poll::Ready(Ok(claimed));
                        }
                        Ok(None) => {}
                        Err(why) => {
                            let failure = Failure::new(codes::FILE_SYSTEM, why, "check the file and its permissions");
                            return Poll::Ready(Err(failure));
                        }
                    }
                    if !due(timer, context) {
                        return Poll::Pending;
                    }
                    set(timer, *interval);
                    if let Err(why) = folder.look() {
                        set(timer, FAILED_PAUSE);
                        let _ = due(timer, context);
                        let failure = Failure::new(codes::FILE_SYSTEM, why, "make the folder, or name another one");
                        return Poll::Ready(Err(failure));
                    }
                }
            }
        }
    }

    /// Records that a unit of work was submitted to the log, which frees its instance.
    pub(crate) fn submitted(&mut self) {
        self.used = self.used.saturating_sub(1);
    }

    /// Takes note of the end of a unit of work.
    pub(crate) fn ended(&mut self, run: &Run<'_>, ended: &Ended) -> Result<(), Failure> {
        if !ended.is_free {
            self.used = self.used.saturating_sub(1);
        }
        match &mut self.from {
            Origin::Queue(queue) => {
                queue.ended(ended, self.used < self.slots);
                Ok(())
            }
            Origin::Groups(expired) => {
                expired.ended(ended.id, ended.is_good, ended.why.clone());
                set(&mut self.timer, Duration::ZERO);
                Ok(())
            }
            Origin::Nats(subscription) => {
                let outcome = if ended.is_good { Ok(()) } else { Err(ended.why.clone()) };
                subscription.ended(&ended.id, outcome);
                Ok(())
            }
            Origin::Amqp(input) => {
                let outcome = if ended.is_good { Ok(()) } else { Err(ended.why.clone()) };
                input.ended(&ended.id, outcome);
                Ok(())
            }
            Origin::Kafka(input) => {
                let outcome = if ended.is_good { Ok(()) } else { Err(ended.why.clone()) };
                input.ended(&run.store, &ended.id, outcome)
            }
            Origin::Sql(input) => {
                let outcome = if ended.is_good { Ok(()) } else { Err(ended.why.clone()) };
                input.ended(&run.store, &ended.id, outcome)
            }
            Origin::Outbox(_, begun) => {
                if !ended.is_good {
                    *begun = run.on_its_way(self.node)?;
                }
                Ok(())
            }
            Origin::Unowned(_) | Origin::Timer { .. } | Origin::Http(..) => Ok(()),
            Origin::Folder { folder, .. } => {
                let Some(file) = &ended.file else { return Ok(()) };
                let done = folder.ended(file.path(), ended.is_good, ended.is_early);
                let done =
                    done.map_err(|why| Failure::new(codes::FILE_SYSTEM, why, "check the permissions of the folder"))?;
                if let Some(given_up) = done {
                    run.file_given_up(self.node, given_up);
                }
                Ok(())
            }
        }
    }

    /// Hands over the resources that the next version of the flow can continue to use: sockets.
    pub(crate) fn hand_over(&mut self, kept: &mut KeptSockets) {
        if let Origin::Http(listener, _) = &mut self.from {
            listener.hand_over(kept);
        }
    }

    /// Gives back everything that is claimed and not started, without counting it as a failure of the flow.
    pub(crate) fn stop(&mut self, store: &Store) -> Result<(), Failure> {
        match &mut self.from {
            Origin::Queue(queue) => {
                let mut keys = queue.keys.lock();
                keys.inputs -= 1;
                // Other threads may still process messages, whose keys must stay busy until then.
                let is_last = keys.inputs == 0;
                if is_last {
                    *keys = Keys::default();
                }
                drop(keys);
                if is_last && queue.order != Order::None {
                    // Another process may take over, and it cannot see the messages that wait here in their pauses.
                    queue.queue.end_pauses().map_err(Failure::from)?;
                }
                // This task no longer looks for messages, so another one has to.
                let _ = queue.queue.wake_all();
            }
            Origin::Outbox(queue, _) => {
                let _ = queue.wake_all();
            }
            Origin::Kafka(input) => input.raise_all(store)?,
            Origin::Sql(input) => input.raise_head(store)?,
            _ => {}
        }
        Ok(())
    }
}

/// Messages that an input processes at once, of those that a flow may.
fn slots_of(node: &FlowNode, slots: usize) -> usize {
    let is_one_by_one = match node.kind.name {
        "nats_input" => node.text("order") == Some("by_stream"),
        "queue_input" | "amqp_input" => node.text("order") == Some("by_queue"),
        "sql_input" => crate::sql_input::is_ordered(node),
        "http_input" | "kafka_input" => false,
        // A timer and a folder make one message after another.
        _ => true,
    };
    if is_one_by_one { slots.min(1) } else { slots }
}

fn due(timer: &mut Option<Pin<Box<Sleep>>>, context: &mut Context<'_>) -> bool {
    timer.as_mut().is_some_and(|timer| timer.as_mut().poll(context).is_ready())
}

fn set(timer: &mut Option<Pin<Box<Sleep>>>, after: Duration) {
    match timer {
        Some(timer) => timer.as_mut().reset(Instant::now() + after),
        None => *timer = Some(Box::pin(tokio::time::sleep(after))),
    }
}

/// Claims the next message to deliver: first the one whose delivery began before, because its outcome is unknown until it is repeated.
fn next_outgoing(
    run: &Run<'_>,
    queue: &Queue,
    begun: &mut Option<MessageId>,
    waker: &Waker,
) -> Result<Outgoing, Failure> {
    if let Some(id) = *begun {
        let found = queue.claim(&run.store, Select::Id(id), Some(waker))?;
        if matches!(found, Outgoing::Nothing { due_ms: Some(_) }) {
            return Ok(found);
        }
        *begun = None;
        if let Outgoing::Message(..) = found {
            return Ok(found);
        }
    }
    Ok(queue.claim(&run.store, Select::First, Some(waker))?)
}

/// Creates the claim of a message from a server. In an ordered input, the next message waits for the commit of this one.
fn claimed_outside(run: &Run<'_>, taken: Taken, from: &str, slots: usize) -> Claimed {
    let Taken { unit, header, content, backout } = taken;
    let mut claimed = claimed(run, unit, header, content, from, None);
    claimed.frees_early = slots > 1;
    claimed.backout = backout;
    claimed
}

fn claimed(
    run: &Run<'_>,
    unit: Unit,
    header: Message,
    content: Rc<[u8]>,
    from: &str,
    file_name: Option<String>,
) -> Claimed {
    let received = Received {
        header,
        from: from.to_owned(),
        flow: Rc::clone(&run.name),
        file_name,
        reply: None,
        content,
        terminal: "out",
        group: None,
        comes_again: true,
        asking: None,
    };
    Claimed {
        unit,
        received: Rc::new(received),
        after: Vec::new(),
        key: None,
        count: 1,
        file: None,
        failure: None,
        frees_early: false,
        outgoing: None,
        backout: None,
    }
}

/// Returns the header of a message that Quayline makes itself, for a request or a timer.
fn own_header(run: &Run<'_>) -> Message {
    Message {
        id: run.store.new_message_id(),
        persistence: Persistence::Persistent,
        put_ms: run.clock.now_ms(),
        ..Message::default()
    }
}

/// Converts a message of a queue into the form that a flow receives.
pub(crate) fn received(run: &Run<'_>, mut message: Message, queue: &str, comes_again: bool) -> Rc<Received> {
    let content = std::mem::take(&mut message.payload).into();
    let flow = Rc::clone(&run.name);
    Rc::new(Received {
        header: message,
        from: queue.to_owned(),
        flow,
        file_name: None,
        reply: None,
        content,
        terminal: "out",
        group: None,
        comes_again,
        asking: None,
    })
}

impl QueueFrom {
    fn poll(
        &mut self,
        run: &Run<'_>,
        node: usize,
        (slots, used): (usize, &mut usize),
        timer: &mut Option<Pin<Box<Sleep>>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Claimed, Failure>> {
        let mut due_ms: Option<u64> = None;
        let claimed = if self.order == Order::None {
            self.next(run, node, (slots, used), &mut due_ms, context)?
        } else {
            self.next_in_order(run, node, (slots, used), &mut due_ms, context)?
        };
        if let Some(claimed) = claimed {
            *used += 1;
            return Poll::Ready(Ok(claimed));
        }
        if let Some(due_ms) = due_ms {
            set(timer, Duration::from_millis(due_ms.saturating_sub(run.clock.now_ms()).max(1)));
            if due(timer, context) {
                context.waker().wake_by_ref();
            }
        }
        Poll::Pending
    }

    fn next(
        &mut self,
        run: &Run<'_>,
        node: usize,
        (slots, used): (usize, &usize),
        due_ms: &mut Option<u64>,
        context: &Context<'_>,
    ) -> Result<Option<Claimed>, Failure> {
        if *used >= slots {
            self.queue.forget(context.waker());
            return Ok(None);
        }
        let mut unit = run.store.begin()?;
        match self.queue.poll_get(&mut unit, Select::First, context.waker())? {
            Polled::Message(message) => Ok(Some(self.claim(run, node, unit, *message, None))),
            Polled::Nothing { due_ms: at_ms } => {
                *due_ms = at_ms;
                Ok(None)
            }
        }
    }

    fn next_in_order(
        &mut self,
        run: &Run<'_>,
        node: usize,
        (slots, used): (usize, &usize),
        due_ms: &mut Option<u64>,
        context: &Context<'_>,
    ) -> Result<Option<Claimed>, Failure> {
        let all = Arc::clone(&self.keys);
        let mut keys = all.lock();
        if *used >= slots {
            self.queue.forget(context.waker());
            if !keys.ready.is_empty() {
                keys.wake();
            }
            return Ok(None);
        }
        let mut comes_at = |at_ms: Option<u64>| {
            *due_ms = match (*due_ms, at_ms) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        };
        // Messages that were given back come first in their order.
        for _ in 0..keys.returned.len() {
            let mut unit = run.store.begin()?;
            let Some((key, id)) = keys.returned.pop_front() else { break };
            let polled = self.queue.poll_get(&mut unit, Select::Id(id), context.waker());
            if polled.is_err() {
                // Otherwise its key would stay busy.
                keys.returned.push_front((Arc::clone(&key), id));
            }
            match polled? {
                Polled::Message(message) => return Ok(Some(self.claim(run, node, unit, *message, Some(key)))),
                Polled::Nothing { due_ms: at_ms @ Some(_) } => {
                    comes_at(at_ms);
                    keys.returned.push_back((key, id));
                }
                // It expired or moved to the backout queue.
                Polled::Nothing { due_ms: None } => keys.free(&key),
            }
        }
        if let Some(Waiting { mut unit, message, key, failure }) = keys.next_ready() {
            unit.rolls_back_as(RollBack::Failed(None));
            let mut claimed = self.claim(run, node, unit, message, Some(key));
            claimed.failure = failure;
            return Ok(Some(claimed));
        }
        while keys.has_room() && (self.order != Order::ByQueue || keys.returned.is_empty()) {
            let mut unit = run.store.begin()?;
            let message = match self.queue.poll_get(&mut unit, Select::First, context.waker())? {
                Polled::Message(message) => *message,
                Polled::Nothing { due_ms: at_ms } => {
                    comes_at(at_ms);
                    break;
                }
            };
            let back = keys.returned.iter().position(|(_, id)| *id == message.id);
            if let Some((key, _)) = back.and_then(|at| keys.returned.remove(at)) {
                return Ok(Some(self.claim(run, node, unit, message, Some(key))));
            }
            let claimed = self.claim(run, node, unit, message, None);
            let Some(key) = claimed.key.clone() else { return Ok(Some(claimed)) };
            let id = claimed.received.header.id;
            let keyed = keys.keys.entry(Arc::clone(&key)).or_default();
            let Some(current) = keyed.current else {
                keyed.current = Some(id);
                return Ok(Some(claimed));
            };
            // It takes no instance, which messages of other keys may need meanwhile.
            let Claimed { mut unit, received, failure, .. } = claimed;
            // A flow that stops drops it, and nothing of it has failed.
            unit.rolls_back_as(RollBack::Ended);
            let message = Message { payload: received.content.to_vec(), ..received.header.clone() };
            let bytes = message.payload.len();
            let waiting = Waiting { unit, message, key, failure };
            if current == id {
                keyed.comes_again = true;
                keyed.waiting.push_front(waiting);
            } else {
                keyed.waiting.push_back(waiting);
            }
            keys.waiting.0 += 1;
            keys.waiting.1 += bytes;
        }
        if !keys.has_room() {
            self.queue.forget(context.waker());
        }
        keys.waits(run.thread(), context.waker());
        Ok(None)
    }

    fn claim(&mut self, run: &Run<'_>, node: usize, unit: Unit, message: Message, key: Option<Arc<str>>) -> Claimed {
        let count = if self.single > 0 || self.order != Order::None { 1 } else { self.commit_count };
        self.single = self.single.saturating_sub(1);
        let comes_again = !crate::worker::commits_first(run, node, message.persistence);
        let received = received(run, message, self.queue.name(), comes_again);
        // By queue, the next message has to see everything that this one did, so it waits for the commit.
        let frees_early = self.order != Order::ByQueue;
        let mut claimed = Claimed {
            unit,
            received,
            after: Vec::new(),
            key,
            count,
            file: None,
            failure: None,
            frees_early,
            outgoing: None,
            backout: None,
        };
        if claimed.key.is_none() {
            match self.order {
                Order::None => {}
                Order::ByQueue => claimed.key = Some("".into()),
                // Messages without a user are in one order, too.
                Order::ByUser => {
                    let user = Parcel::new(Rc::clone(&claimed.received)).envelope("user_id");
                    claimed.key = Some(user.unwrap_or_default().into());
                }
                Order::ByKey => match run.values(node, &Parcel::new(Rc::clone(&claimed.received))) {
                    Ok(values) => {
                        let key = values.first().map_or("", |value| match value {
                            Evaluated::Text(text) => text,
                            _ => "",
                        });
                        claimed.key = Some(key.into());
                    }
                    // Messages without a readable key are in the order of the empty key.
                    Err(failure) => (claimed.key, claimed.failure) = (Some("".into()), Some(failure)),
                },
            }
        }
        claimed
    }

    /// Takes note of the end of a unit of work. `has_instance` is true if this thread can process another message.
    fn ended(&mut self, ended: &Ended, has_instance: bool) {
        if !ended.is_good && ended.messages > 1 {
            self.single = ended.messages;
        }
        let Some(key) = &ended.key else { return };
        let mut keys = self.keys.lock();
        let comes_again = keys.keys.get_mut(key).is_some_and(|keyed| std::mem::take(&mut keyed.comes_again));
        if ended.is_good || comes_again {
            keys.free(key);
        } else {
            keys.returned.push_back((Arc::clone(key), ended.id));
        }
        // This input looks for messages next; without an instance, others have to.
        if !has_instance {
            keys.wake();
        }
    }
}
