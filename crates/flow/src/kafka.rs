//! Topics of Kafka: messages that come from one, each with its effect once, and messages that are appended after the commit.
//!
//! ```text
//! checkpoint "flow-kafka/FLOW/READER/TOPIC/PARTITION"            ─▶ version, offset below which everything had its effect
//! checkpoint "flow-kafka/FLOW/READER/TOPIC/PARTITION/" + offset  ─▶ nothing: the message at this offset had its effect
//! ```
//!
//! The offset of a message commits with what the flow makes of it, and Kafka knows nothing of it. Messages of a partition may end in any order, so offsets
//! above the first are entries of their own until those before them have ended. TOPIC is a digest of its name and of the brokers'.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::try_join_all;
use quayline_connect::{KafkaAddress, KafkaConnection, KafkaError, KafkaLogin, KafkaRecord, Leader};
use quayline_project::FlowNode;
use quayline_store::queue::{DEAD_LETTER, Message, MessageId};
use quayline_store::{Space, Store};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};
use xxhash_rust::xxh3::xxh3_64;

use crate::codes;
use crate::failure::Failure;
use crate::run::Run;
use crate::taken::{Taken, pause_again};

/// Messages and bytes that an input holds, above which it fetches nothing more. Default 1,000 and 8 MiB, and one fetch.
const HELD_MAX: (usize, usize) = (1_000, 8 << 20);
/// Longest wait of a broker for messages.
const FETCH_WAIT: Duration = Duration::from_millis(500);
/// Time after which the partitions of the topic are looked up again.
const REFRESH: Duration = Duration::from_secs(300);
/// First and longest pause before the next connection.
const CONNECT_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Failures after which a message moves to the backout queue, where the node says nothing. Default 3.
const ATTEMPTS: u64 = 3;
/// Entries of offsets above which the first offset is raised, and the longest time until then while messages come.
const RAISE: (usize, Duration) = (512, Duration::from_secs(2));
/// Variable of the environment with the password, where the node names none.
const PASSWORD: &str = "KAFKA_PASSWORD";
/// Version of the head.
const VERSION: u8 = 1;
/// Prefix of properties that describe a received message.
pub(crate) const PREFIX: &str = "kafka_";
/// Longest name of a topic, which is Kafka's own limit.
const NAME_BYTES_MAX: usize = 249;

/// A partition: what is done, and what is on its way.
#[derive(Default)]
struct Partition {
    /// Everything below had its effect.
    first: i64,
    /// Offsets from there on that had their effect.
    done: BTreeSet<i64>,
    /// Offsets that are processed or wait to be processed again.
    open: BTreeSet<i64>,
    /// The offset after the last that was taken.
    taken: i64,
    /// The offset to fetch next.
    fetched: i64,
    arrived: VecDeque<KafkaRecord>,
    raised: Option<Instant>,
}

/// What the tasks of the connections and the input share.
#[derive(Default)]
struct Shared {
    partitions: BTreeMap<u32, Partition>,
    /// Messages and bytes that have arrived and are not done.
    held: (usize, usize),
    waits: Option<Failure>,
    waker: Option<Waker>,
}

impl Shared {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

fn length(record: &KafkaRecord) -> usize {
    record.value.as_ref().map_or(0, Vec::len) + record.key.as_ref().map_or(0, Vec::len)
}

/// A message that is processed or waits to be processed again.
struct Open {
    header: Message,
    content: Rc<[u8]>,
    bytes: usize,
}

/// An input from a topic.
pub(crate) struct KafkaInput {
    pub(crate) topic: String,
    prefix: String,
    shared: Rc<RefCell<Shared>>,
    room: Rc<Notify>,
    task: JoinHandle<Infallible>,
    open: HashMap<(u32, i64), Open>,
    again: BTreeSet<(Instant, (u32, i64))>,
    timer: Pin<Box<Sleep>>,
    failed: HashMap<(u32, i64), (u64, String)>,
    attempts: u64,
    backout: String,
    is_ordered: bool,
    source: u64,
    /// The partition that is looked at first.
    turn: u32,
}

impl Drop for KafkaInput {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What is wrong with the properties of a node: the property, and why.
pub(crate) fn check(node: &FlowNode, root: &std::path::Path) -> Option<(&'static str, String)> {
    if !node.kind.name.starts_with("kafka_") {
        return None;
    }
    let address = match node.text("server").map(KafkaAddress::parse)? {
        Err(why) => return Some(("server", why)),
        Ok(address) => address,
    };
    if let Some(topic) = node.text("topic").filter(|topic| !is_topic(topic)) {
        let why =
            format!("`{topic}` is not a topic: 1 to {NAME_BYTES_MAX} letters, digits, points, underscores and hyphens");
        return Some(("topic", why));
    }
    if let Some(Err(why)) = node.text("partitions").map(partitions) {
        return Some(("partitions", why));
    }
    crate::tls::check(node, root, address.is_encrypted())
}

pub(crate) fn is_topic(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_known) && name != "." && name != ".."
}

/// Reads numbers and ranges such as `0-3,7`.
fn partitions(text: &str) -> Result<BTreeSet<u32>, String> {
    let mut found = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let wrong = || format!("`{part}` is not a partition or a range such as 0-3");
        let (first, last): (u32, u32) =
            (first.trim().parse().map_err(|_| wrong())?, last.trim().parse().map_err(|_| wrong())?);
        if first > last || last > 1_000_000 {
            return Err(wrong());
        }
        found.extend(first..=last);
    }
    Ok(found)
}

pub(crate) fn login(run: &Run<'_>, node: &FlowNode) -> Result<(KafkaAddress, KafkaLogin), Failure> {
    let wrong = |why: String| Failure::new(codes::BAD_SERVER, why, "write `server` as kafka://HOST:PORT");
    let address = KafkaAddress::parse(node.text("server").unwrap_or_default()).map_err(wrong)?;
    let variable = node.text("password_variable").unwrap_or(PASSWORD);
    let password = || std::env::var(variable).unwrap_or_default();
    let login = KafkaLogin {
        name: format!("quayline {} {}", run.name, node.name),
        user: node.text("user").map(|user| (user.to_owned(), password())),
        tls: if address.is_encrypted() { Some(crate::tls::load(node, &run.flow.root).map_err(wrong)?) } else { None },
    };
    Ok((address, login))
}

pub(crate) fn failure(error: &KafkaError) -> Failure {
    let (code, hint) = match error {
        KafkaError::Login(_) => (codes::KAFKA_UNREACHABLE, "check `user` and the password in the environment"),
        KafkaError::Refused { .. } | KafkaError::Version { .. } => {
            (codes::KAFKA_REFUSED, "see the number in Kafka's protocol guide; the flow tries again")
        }
        KafkaError::Batch { .. } => (codes::KAFKA_REFUSED, "check the topic with Kafka's own tools"),
        _ => (codes::KAFKA_UNREACHABLE, "check the brokers and the network; the flow tries again"),
    };
    Failure::new(code, format!("Kafka: {error}"), hint)
}

fn lost(what: String) -> Failure {
    let hint = "restore the topic, or set another `reader` to begin again with the topic as it is";
    Failure::new(codes::KAFKA_LOST, what, hint)
}

/// The connections of an input, in a task of their own.
struct Session {
    store: Store,
    address: KafkaAddress,
    login: KafkaLogin,
    topic: String,
    chosen: Option<BTreeSet<u32>>,
    begins_at_end: bool,
    prefix: String,
    shared: Rc<RefCell<Shared>>,
    room: Rc<Notify>,
    is_connected: bool,
}

impl Session {
    async fn run(mut self) -> Infallible {
        let mut pause = CONNECT_PAUSE.0;
        loop {
            self.is_connected = false;
            if let Err(why) = self.connected().await {
                let mut shared = self.shared.borrow_mut();
                shared.waits = Some(why);
                shared.wake();
            } else {
                continue;
            }
            pause = if self.is_connected { CONNECT_PAUSE.0 } else { (pause * 2).min(CONNECT_PAUSE.1) };
            tokio::time::sleep(pause).await;
        }
    }

    async fn connected(&mut self) -> Result<(), Failure> {
        let outside = |error: KafkaError| failure(&error);
        let mut client = KafkaConnection::connect(&self.address, &self.login).await.map_err(outside)?;
        let cluster = client.cluster(&self.topic).await.map_err(outside)?;
        let mut by_leader: HashMap<Leader, Vec<u32>> = HashMap::new();
        for (partition, leader) in (0..).zip(&cluster.leaders) {
            if self.chosen.as_ref().is_none_or(|chosen| chosen.contains(&partition)) {
                by_leader.entry(leader.clone()).or_default().push(partition);
            }
        }
        if let Some(missing) =
            self.chosen.iter().flatten().find(|partition| **partition as usize >= cluster.leaders.len())
        {
            let message = format!("Kafka: topic {} has no partition {missing}", self.topic);
            return Err(Failure::new(codes::KAFKA_REFUSED, message, "correct `partitions`"));
        }
        let mut loops = Vec::new();
        for (leader, partitions) in by_leader {
            let connected = KafkaConnection::connect_leader(&self.address, &leader, &self.login).await;
            let mut client = connected.map_err(outside)?;
            for partition in &partitions {
                let (first, end) = client.offsets(&self.topic, *partition).await.map_err(outside)?;
                self.place(*partition, first, end).await?;
            }
            loops.push((client, partitions));
        }
        self.is_connected = true;
        let end = Instant::now() + REFRESH;
        let this = &*self;
        try_join_all(loops.into_iter().map(|(client, partitions)| this.fetch(client, partitions, end))).await?;
        Ok(())
    }

    /// Compares a partition as it is with what the store knows, or begins with it.
    async fn place(&self, partition: u32, first: i64, end: i64) -> Result<(), Failure> {
        let known = self.shared.borrow().partitions.get(&partition).map(|known| (known.first, known.fetched));
        match known {
            None => {
                let begin = if self.begins_at_end { end } else { first };
                let mut unit = self.store.begin()?;
                unit.put_checkpoint(&format!("{}{partition:08x}", self.prefix), &head(begin))?;
                unit.submit().await.map_err(Failure::from)?;
                let fresh = Partition { first: begin, taken: begin, fetched: begin, ..Partition::default() };
                self.shared.borrow_mut().partitions.insert(partition, fresh);
                Ok(())
            }
            Some((_, fetched)) if fetched < first => Err(lost(format!(
                "partition {partition} begins with offset {first}, but {fetched} is next: Kafka removed messages before they were processed"
            ))),
            Some((done, _)) if done > end => Err(lost(format!(
                "partition {partition} ends before offset {end}, but everything up to {done} was processed: the topic lost messages or was made again"
            ))),
            Some(_) => Ok(()),
        }
    }

    /// Fetches from one broker until its time is over.
    async fn fetch(&self, mut client: KafkaConnection, partitions: Vec<u32>, end: Instant) -> Result<(), Failure> {
        while Instant::now() < end {
            let (count, bytes) = self.shared.borrow().held;
            if count >= HELD_MAX.0 || bytes >= HELD_MAX.1 {
                let _ = tokio::time::timeout_at(end, self.room.notified()).await;
                continue;
            }
            let positions: Vec<(u32, i64)> = {
                let shared = self.shared.borrow();
                let fetched = |partition: &u32| shared.partitions.get(partition).map(|known| known.fetched);
                partitions.iter().filter_map(|partition| Some((*partition, fetched(partition)?))).collect()
            };
            let fetched = match client.fetch(&self.topic, &positions, FETCH_WAIT).await {
                Ok(fetched) => fetched,
                Err(KafkaError::OutOfRange { partition, offset }) => {
                    let message = format!("partition {partition} no longer has offset {offset}, which is next");
                    return Err(lost(message));
                }
                Err(error) => return Err(failure(&error)),
            };
            let mut shared = self.shared.borrow_mut();
            for part in fetched {
                let bytes: usize = part.records.iter().map(length).sum();
                shared.held.0 += part.records.len();
                shared.held.1 += bytes;
                if let Some(partition) = shared.partitions.get_mut(&part.partition) {
                    partition.fetched = part.next;
                    partition.arrived.extend(part.records);
                }
            }
            shared.wake();
        }
        Ok(())
    }
}

fn head(first: i64) -> Vec<u8> {
    [&[VERSION][..], &first.to_le_bytes()].concat()
}

/// The partitions that the store knows.
fn load(run: &Run<'_>, prefix: &str) -> Result<BTreeMap<u32, Partition>, Failure> {
    let unit = run.store.begin()?;
    let damaged = || {
        let hint = "restore the store from a save";
        Failure::new(codes::NOT_READABLE, "the position in the topic is of no known form", hint)
    };
    let mut known: BTreeMap<u32, Partition> = BTreeMap::new();
    for key in crate::outbox::keys(&unit, prefix)? {
        let (partition, offset) = match key[prefix.len()..].split_once('/') {
            Some((partition, offset)) => (partition, Some(offset)),
            None => (&key[prefix.len()..], None),
        };
        let partition = u32::from_str_radix(partition, 16).map_err(|_| damaged())?;
        let partition = known.entry(partition).or_default();
        match offset {
            Some(offset) => {
                partition.done.insert(i64::from_str_radix(offset, 16).map_err(|_| damaged())?);
            }
            None => {
                let head = unit.checkpoint(&key)?.ok_or_else(damaged)?;
                let (version, first) = head.split_first().ok_or_else(damaged)?;
                let first = first.first_chunk::<8>().filter(|_| *version == VERSION).ok_or_else(damaged)?;
                partition.first = i64::from_le_bytes(*first);
                (partition.taken, partition.fetched) = (partition.first, partition.first);
            }
        }
    }
    Ok(known)
}

impl KafkaInput {
    /// Begins to connect, in a task of this thread.
    pub(crate) fn start(run: &Run<'_>, at: usize) -> Result<KafkaInput, Failure> {
        let node = &run.flow.file.nodes[at];
        let (address, login) = login(run, node)?;
        let topic = node.text("topic").unwrap_or_default().to_owned();
        let source = xxh3_64(format!("{} {topic}", node.text("server").unwrap_or_default()).as_bytes());
        let reader = node.text("reader").unwrap_or(&node.name);
        let prefix = format!("flow-kafka/{}/{reader}/{source:016x}/", run.name);
        let shared = Shared { partitions: load(run, &prefix)?, ..Shared::default() };
        let (shared, room) = (Rc::new(RefCell::new(shared)), Rc::new(Notify::new()));
        let session = Session {
            store: run.store.clone(),
            address,
            login,
            topic: topic.clone(),
            chosen: node.text("partitions").and_then(|text| partitions(text).ok()),
            begins_at_end: node.text("start") == Some("latest"),
            prefix: prefix.clone(),
            shared: Rc::clone(&shared),
            room: Rc::clone(&room),
            is_connected: false,
        };
        Ok(KafkaInput {
            topic,
            prefix,
            shared,
            room,
            task: tokio::task::spawn_local(session.run()),
            open: HashMap::new(),
            again: BTreeSet::new(),
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
            failed: HashMap::new(),
            attempts: node.number("attempts").unwrap_or(ATTEMPTS),
            backout: node.text("backout").unwrap_or(DEAD_LETTER).to_owned(),
            is_ordered: node.text("order") == Some("by_partition"),
            source,
            turn: 0,
        })
    }

    fn key(&self, (partition, offset): (u32, i64)) -> String {
        format!("{}{partition:08x}/{offset:016x}", self.prefix)
    }

    /// The next message that has not had its effect.
    pub(crate) fn poll(&mut self, run: &Run<'_>, at: usize, context: &mut Context<'_>) -> Poll<Result<Taken, Failure>> {
        let waits = self.shared.borrow_mut().waits.take();
        if let Some(failure) = waits {
            run.waits(at, &failure);
        }
        while let Some((due, place)) = self.again.first().copied() {
            if due <= Instant::now() {
                self.again.remove(&(due, place));
                return Poll::Ready(self.take(run, place));
            }
            self.timer.as_mut().reset(due);
            if self.timer.as_mut().poll(context).is_pending() {
                break;
            }
        }
        let Some((partition, record)) = self.next() else {
            self.shared.borrow_mut().waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        let place = (partition, record.offset);
        let bytes = length(&record);
        let header = self.header(run, partition, &record);
        let content = record.value.unwrap_or_default().into();
        self.open.insert(place, Open { header, content, bytes });
        Poll::Ready(self.take(run, place))
    }

    /// The next record of the partitions in turn.
    fn next(&mut self) -> Option<(u32, KafkaRecord)> {
        let mut shared = self.shared.borrow_mut();
        let Shared { partitions, held, .. } = &mut *shared;
        let (before, after): (Vec<u32>, Vec<u32>) = partitions.keys().partition(|partition| **partition < self.turn);
        for number in after.into_iter().chain(before) {
            let Some(partition) = partitions.get_mut(&number) else { continue };
            if self.is_ordered && !partition.open.is_empty() {
                continue;
            }
            while let Some(record) = partition.arrived.pop_front() {
                partition.taken = record.offset + 1;
                if record.offset < partition.first || partition.done.contains(&record.offset) {
                    held.0 -= 1;
                    held.1 -= length(&record);
                    self.room.notify_waiters();
                    continue;
                }
                partition.open.insert(record.offset);
                self.turn = number + 1;
                return Some((number, record));
            }
        }
        None
    }

    fn header(&self, run: &Run<'_>, partition: u32, record: &KafkaRecord) -> Message {
        let put_ms = u64::try_from(record.time_ms).unwrap_or_else(|_| run.clock.now_ms());
        let mut header = Message { put_ms, ..Message::default() };
        header.persistence = quayline_store::queue::Persistence::Persistent;
        header.id[..8].copy_from_slice(&self.source.to_be_bytes());
        header.id[8..12].copy_from_slice(&partition.to_be_bytes());
        header.id[16..].copy_from_slice(&record.offset.to_be_bytes());
        let own = [
            ("topic", self.topic.clone().into_bytes()),
            ("partition", partition.to_string().into_bytes()),
            ("offset", record.offset.to_string().into_bytes()),
        ];
        let key = record.key.clone().map(|key| ("key", key));
        let null = record.value.is_none().then(|| ("null", b"yes".to_vec()));
        let own = own.into_iter().chain(key).chain(null);
        header.properties = own.map(|(name, value)| (format!("{PREFIX}{name}"), value)).collect();
        header.properties.extend(record.headers.iter().cloned());
        header
    }

    fn take(&mut self, run: &Run<'_>, place: (u32, i64)) -> Result<Taken, Failure> {
        let mut unit = run.store.begin()?;
        unit.put_checkpoint(&self.key(place), &[])?;
        let gone = || Failure::new(codes::NOT_READABLE, "the message is not there", "see the flow's last error");
        let open = self.open.get(&place).ok_or_else(gone)?;
        let mut header = open.header.clone();
        let backout = match self.failed.get(&place) {
            Some((failures, why)) => {
                header.backout_count = u32::try_from(*failures).unwrap_or(u32::MAX);
                (*failures >= self.attempts).then(|| (self.backout.clone(), why.clone()))
            }
            None => None,
        };
        Ok(Taken { unit, header, content: Rc::clone(&open.content), backout })
    }

    /// Takes note of the end of a unit of work.
    pub(crate) fn ended(&mut self, store: &Store, id: &MessageId, outcome: Result<(), String>) -> Result<(), Failure> {
        let number = |bytes: Option<&[u8; 4]>| bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let partition = number(id[8..].first_chunk());
        let offset = id.last_chunk::<8>().map_or(0, |offset| i64::from_be_bytes(*offset));
        let place = (partition, offset);
        if let Err(why) = outcome {
            let (failures, reason) = self.failed.entry(place).or_default();
            *failures += 1;
            *reason = why;
            self.again.insert((Instant::now() + pause_again(*failures), place));
            return Ok(());
        }
        self.failed.remove(&place);
        let Some(open) = self.open.remove(&place) else { return Ok(()) };
        let mut shared = self.shared.borrow_mut();
        shared.held.0 -= 1;
        shared.held.1 -= open.bytes;
        self.room.notify_waiters();
        let Some(known) = shared.partitions.get_mut(&partition) else { return Ok(()) };
        known.open.remove(&offset);
        known.done.insert(offset);
        let now = Instant::now();
        if known.done.len() < RAISE.0 && known.raised.is_some_and(|raised| now - raised < RAISE.1) {
            return Ok(());
        }
        known.raised = Some(now);
        let first = known.open.first().copied().unwrap_or(known.taken);
        if first <= known.first {
            return Ok(());
        }
        let mut unit = store.begin()?;
        let above = known.done.split_off(&first);
        for offset in std::mem::replace(&mut known.done, above) {
            unit.delete(Space::CHECKPOINTS, format!("{}{partition:08x}/{offset:016x}", self.prefix).as_bytes())?;
        }
        known.first = first;
        unit.put_checkpoint(&format!("{}{partition:08x}", self.prefix), &head(first))?;
        // Nobody waits: what comes back after a crash is removed at the next time.
        unit.submit_with(Box::new(|_| ()));
        Ok(())
    }
}
