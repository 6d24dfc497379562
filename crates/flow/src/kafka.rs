//! Kafka topics: messages received with exactly one effect each, and messages appended after the commit.
//!
//! ```text
//! checkpoint "flow-kafka/FLOW/READER/TOPIC/PARTITION"            ─▶ version, offset below which every message was processed
//! checkpoint "flow-kafka/FLOW/READER/TOPIC/PARTITION/" + offset  ─▶ the message at this offset was processed; the offset after the previous message
//! ```
//!
//! The offset of a message commits together with the effect of the message, and is not committed to Kafka. Messages of a partition may end in any order,
//! so offsets above the first one are separate entries until all earlier messages have ended. TOPIC is a digest of the topic's and the brokers' names.
//!
//! There may be offsets without a message: transaction markers, and messages that compaction removed. Each entry therefore records the offset that
//! its message follows, so that the first offset is known after a crash even if Kafka has removed messages since.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::try_join_all;
use quayline_connect::{KafkaAddress, KafkaConnection, KafkaError, KafkaLogin, KafkaRecord, Leader};
use quayline_project::FlowNode;
use quayline_store::queue::{Message, MessageId, OF_AMQP};
use quayline_store::{Space, Store};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};
use xxhash_rust::xxh3::xxh3_64;

use crate::codes;
use crate::failure::Failure;
use crate::run::Run;
use crate::taken::{Failures, Link, Outcome, Pauses, Taken};

/// Messages and bytes that an input holds, above which it fetches nothing more. Default 1,000 and 8 MiB, and one fetch.
const HELD_MAX: (usize, usize) = (1_000, 8 << 20);
/// Longest wait of a broker for messages.
const FETCH_WAIT: Duration = Duration::from_millis(500);
/// Time after which the partitions of the topic are looked up again.
const REFRESH: Duration = Duration::from_secs(300);
/// First and longest pause before the next connection.
const CONNECT_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Entries of offsets above which the first offset is raised, and the longest time until then.
const RAISE: (usize, Duration) = (512, Duration::from_secs(2));
/// Variable of the environment with the password, where the node names none.
const PASSWORD: &str = "KAFKA_PASSWORD";
/// Time after which a broker that cannot be reached, or a partition that it refuses, is tried again while others are read.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// Errors of Kafka for a partition that has another leader, or none for a moment, and the time after which its leader is looked up.
const MOVED: [i16; 4] = [5, 6, 74, 75];
const MOVED_AGAIN: Duration = Duration::from_millis(250);
/// Version of the head.
const VERSION: u8 = 1;
/// Prefix of properties that describe a received message.
pub(crate) const PREFIX: &str = "kafka_";
/// Names of these properties after the prefix.
const OWN: [&str; 5] = ["topic", "partition", "offset", "key", "null"];
/// Longest name of a topic, which is Kafka's own limit.
const NAME_BYTES_MAX: usize = 249;

/// State of a partition: processed and pending offsets.
#[derive(Default)]
struct Partition {
    /// Offset below which every message was processed.
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

impl Partition {
    /// Returns the offset below which every message was processed, as known now.
    fn frontier(&self) -> i64 {
        let after_all = if self.arrived.is_empty() { self.fetched.max(self.taken) } else { self.taken };
        self.open.first().copied().unwrap_or(after_all)
    }
}

/// State shared by the connections' tasks and the input.
#[derive(Default)]
struct Shared {
    partitions: BTreeMap<u32, Partition>,
    /// Messages and bytes that have arrived and are not done.
    held: (usize, usize),
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

fn length(record: &KafkaRecord) -> usize {
    record.value.as_ref().map_or(0, Vec::len) + record.key.as_ref().map_or(0, Vec::len)
}

/// A message that is processed or waits to be processed again.
struct Open {
    header: Message,
    content: Rc<[u8]>,
    bytes: usize,
    /// The offset after the message before it.
    follows: i64,
}

/// An input from a topic.
pub(crate) struct KafkaInput {
    pub(crate) topic: String,
    prefix: String,
    shared: Rc<RefCell<Shared>>,
    room: Rc<Notify>,
    task: JoinHandle<Infallible>,
    open: HashMap<(u32, i64), Open>,
    again: Pauses<(u32, i64)>,
    /// Fires when first offsets are to be raised although no message comes.
    raise: Option<Pin<Box<Sleep>>>,
    failed: Failures<(u32, i64)>,
    is_ordered: bool,
    source: u64,
    /// Partition that is tried first.
    turn: u32,
}

impl Drop for KafkaInput {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Checks the properties of a node. Returns the wrong property and the reason.
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
                self.report(why);
            } else {
                continue;
            }
            pause = if self.is_connected { CONNECT_PAUSE.0 } else { (pause * 2).min(CONNECT_PAUSE.1) };
            tokio::time::sleep(pause).await;
        }
    }

    fn report(&self, why: Failure) {
        let mut shared = self.shared.borrow_mut();
        shared.link.breaks(why);
        shared.wake();
    }

    async fn connected(&mut self) -> Result<(), Failure> {
        let outside = |error: KafkaError| failure(&error);
        let mut client = KafkaConnection::connect(&self.address, &self.login).await.map_err(outside)?;
        let cluster = client.cluster(&self.topic).await.map_err(outside)?;
        let mut by_leader: HashMap<Leader, Vec<u32>> = HashMap::new();
        let end = Cell::new(Instant::now() + REFRESH);
        let mut is_whole = true;
        let is_chosen = |partition: &u32| self.chosen.as_ref().is_none_or(|chosen| chosen.contains(partition));
        for (partition, leader) in (0..).zip(&cluster.leaders).filter(|(partition, _)| is_chosen(partition)) {
            let Some(leader) = leader else {
                let what = format!("partition {partition} of topic {}", self.topic);
                // 5: no leader is available.
                self.report(failure(&KafkaError::Refused { code: 5, what }));
                is_whole = false;
                end.set(end.get().min(Instant::now() + TRY_AGAIN));
                continue;
            };
            by_leader.entry(leader.clone()).or_default().push(partition);
        }
        if let Some(missing) =
            self.chosen.iter().flatten().find(|partition| **partition as usize >= cluster.leaders.len())
        {
            let message = format!("Kafka: topic {} has no partition {missing}", self.topic);
            return Err(Failure::new(codes::KAFKA_REFUSED, message, "correct `partitions`"));
        }
        let mut loops = Vec::new();
        for (leader, partitions) in by_leader {
            // A broker or a partition that fails keeps no other one from being read.
            let mut client = match KafkaConnection::connect_leader(&self.address, &leader, &self.login).await {
                Ok(client) => client,
                Err(error) => {
                    self.report(failure(&error));
                    is_whole = false;
                    end.set(end.get().min(Instant::now() + TRY_AGAIN));
                    continue;
                }
            };
            let mut good = Vec::new();
            for partition in partitions {
                let (first, last) = match client.offsets(&self.topic, partition).await {
                    Ok(found) => found,
                    Err(error @ KafkaError::Refused { code, .. }) => {
                        self.report(failure(&error));
                        is_whole = false;
                        sooner(&end, code);
                        continue;
                    }
                    Err(error) => return Err(failure(&error)),
                };
                match self.place(partition, first, last).await {
                    Ok(()) => good.push(partition),
                    Err(why) if why.finding.code == codes::KAFKA_LOST => {
                        is_whole = false;
                        self.report(why);
                    }
                    Err(why) => return Err(why),
                }
            }
            if !good.is_empty() {
                loops.push((client, good));
            }
        }
        self.is_connected = true;
        if is_whole {
            let mut shared = self.shared.borrow_mut();
            shared.link.works();
            shared.wake();
        }
        let this = &*self;
        try_join_all(loops.into_iter().map(|(client, partitions)| this.fetch(client, partitions, &end))).await?;
        tokio::time::sleep_until(end.get()).await;
        Ok(())
    }

    /// Compares the state of a partition at the broker with the stored state, or stores it at the first contact.
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

    /// Fetches from one broker until its time is over. Ends early if no partition is left. A partition that the broker refuses ends the time of all brokers
    /// sooner, because it may have another leader.
    async fn fetch(
        &self,
        mut client: KafkaConnection,
        mut partitions: Vec<u32>,
        end: &Cell<Instant>,
    ) -> Result<(), Failure> {
        while Instant::now() < end.get() && !partitions.is_empty() {
            let (count, bytes) = self.shared.borrow().held;
            if count >= HELD_MAX.0 || bytes >= HELD_MAX.1 {
                let _ = tokio::time::timeout_at(end.get(), self.room.notified()).await;
                continue;
            }
            let positions: Vec<(u32, i64)> = {
                let shared = self.shared.borrow();
                let fetched = |partition: &u32| shared.partitions.get(partition).map(|known| known.fetched);
                partitions.iter().filter_map(|partition| Some((*partition, fetched(partition)?))).collect()
            };
            // A broker fills its answer in this order, so the first partition could leave no room for the others.
            partitions.rotate_left(1);
            let fetched = client.fetch(&self.topic, &positions, FETCH_WAIT).await.map_err(|error| failure(&error))?;
            for (number, part) in fetched {
                let part = match part {
                    Ok(part) => part,
                    Err(error) => {
                        partitions.retain(|known| *known != number);
                        if let KafkaError::Refused { code, .. } = error {
                            sooner(end, code);
                        }
                        self.report(match error {
                            KafkaError::OutOfRange { partition, offset } => {
                                lost(format!("partition {partition} no longer has offset {offset}, which is next"))
                            }
                            other => failure(&other),
                        });
                        continue;
                    }
                };
                let mut shared = self.shared.borrow_mut();
                let bytes: usize = part.records.iter().map(length).sum();
                shared.held.0 += part.records.len();
                shared.held.1 += bytes;
                if let Some(partition) = shared.partitions.get_mut(&number) {
                    partition.fetched = part.next;
                    partition.arrived.extend(part.records);
                }
            }
            self.shared.borrow_mut().wake();
        }
        Ok(())
    }
}

/// Moves the end of all fetches to the time at which a partition that was refused with this error is tried again.
fn sooner(end: &Cell<Instant>, code: i16) {
    let pause = if MOVED.contains(&code) { MOVED_AGAIN } else { TRY_AGAIN };
    end.set(end.get().min(Instant::now() + pause));
}

fn head(first: i64) -> Vec<u8> {
    [&[VERSION][..], &first.to_le_bytes()].concat()
}

/// Computes the offset below which every message was processed, from the stored offset and the entries above it (offset, and the offset after the
/// previous message).
fn reached(first: i64, entries: &BTreeMap<i64, i64>) -> i64 {
    let mut reached = first;
    for (offset, follows) in entries.range(first..) {
        if *follows > reached {
            break;
        }
        reached = offset + 1;
    }
    reached
}

/// Loads the stored state of the partitions.
fn load(run: &Run<'_>, prefix: &str) -> Result<BTreeMap<u32, Partition>, Failure> {
    let unit = run.store.begin()?;
    let damaged = || {
        let hint = "restore the store from a save";
        Failure::new(codes::NOT_READABLE, "the position in the topic is of no known form", hint)
    };
    let mut known: BTreeMap<u32, Partition> = BTreeMap::new();
    let mut follows: BTreeMap<u32, BTreeMap<i64, i64>> = BTreeMap::new();
    for key in crate::outbox::keys(&unit, prefix)? {
        let (partition, offset) = match key[prefix.len()..].split_once('/') {
            Some((partition, offset)) => (partition, Some(offset)),
            None => (&key[prefix.len()..], None),
        };
        let number = u32::from_str_radix(partition, 16).map_err(|_| damaged())?;
        let partition = known.entry(number).or_default();
        match offset {
            Some(offset) => {
                let offset = i64::from_str_radix(offset, 16).map_err(|_| damaged())?;
                let entry = unit.checkpoint(&key)?.unwrap_or_default();
                // Entries of earlier versions say nothing.
                let before = entry.first_chunk::<8>().map_or(offset, |before| i64::from_le_bytes(*before));
                follows.entry(number).or_default().insert(offset, before);
                partition.done.insert(offset);
            }
            None => {
                let head = unit.checkpoint(&key)?.ok_or_else(damaged)?;
                let (version, first) = head.split_first().ok_or_else(damaged)?;
                let first = first.first_chunk::<8>().filter(|_| *version == VERSION).ok_or_else(damaged)?;
                partition.first = i64::from_le_bytes(*first);
            }
        }
    }
    for (number, partition) in &mut known {
        let begin = follows.get(number).map_or(partition.first, |entries| reached(partition.first, entries));
        (partition.taken, partition.fetched) = (begin, begin);
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
            again: Pauses::new(),
            raise: None,
            failed: Failures::new(&run.name, node),
            is_ordered: node.text("order") == Some("by_partition"),
            source,
            turn: 0,
        })
    }

    fn key(&self, (partition, offset): (u32, i64)) -> String {
        format!("{}{partition:08x}/{offset:016x}", self.prefix)
    }

    /// Returns the next message that has not been processed.
    pub(crate) fn poll(&mut self, run: &Run<'_>, at: usize, context: &mut Context<'_>) -> Poll<Result<Taken, Failure>> {
        let news = self.shared.borrow_mut().link.news();
        run.follows(at, news);
        if let Some(place) = self.again.ended(context) {
            return Poll::Ready(self.take(run, place));
        }
        let Some((partition, record, follows)) = self.next() else {
            self.shared.borrow_mut().waker = Some(context.waker().clone());
            self.raise_in_time(&run.store, context)?;
            return Poll::Pending;
        };
        let place = (partition, record.offset);
        let bytes = length(&record);
        let header = self.header(run, partition, &record);
        let content = record.value.unwrap_or_default().into();
        self.open.insert(place, Open { header, content, bytes, follows });
        Poll::Ready(self.take(run, place))
    }

    /// Returns the next record of the partitions in turn, and the offset after the previous record.
    fn next(&mut self) -> Option<(u32, KafkaRecord, i64)> {
        let mut shared = self.shared.borrow_mut();
        let Shared { partitions, held, .. } = &mut *shared;
        let (before, after): (Vec<u32>, Vec<u32>) = partitions.keys().partition(|partition| **partition < self.turn);
        for number in after.into_iter().chain(before) {
            let Some(partition) = partitions.get_mut(&number) else { continue };
            if self.is_ordered && !partition.open.is_empty() {
                continue;
            }
            while let Some(record) = partition.arrived.pop_front() {
                let follows = std::mem::replace(&mut partition.taken, record.offset + 1);
                if record.offset < partition.first || partition.done.contains(&record.offset) {
                    held.0 -= 1;
                    held.1 -= length(&record);
                    self.room.notify_waiters();
                    continue;
                }
                partition.open.insert(record.offset);
                self.turn = number + 1;
                return Some((number, record, follows));
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
        // Only Quayline's own listeners know who sent a message, and only this node the place of one; a header may claim anything.
        let is_own = |name: &str| name.strip_prefix(PREFIX).is_some_and(|name| OWN.contains(&name));
        let is_other = |name: &str| !name.starts_with(OF_AMQP) && !is_own(name);
        header.properties.extend(record.headers.iter().filter(|(name, _)| is_other(name)).cloned());
        header
    }

    fn take(&mut self, run: &Run<'_>, place: (u32, i64)) -> Result<Taken, Failure> {
        let taken = self.begin(run, place);
        if taken.is_err() {
            self.again.add_not_begun(place);
        }
        taken
    }

    fn begin(&mut self, run: &Run<'_>, place: (u32, i64)) -> Result<Taken, Failure> {
        let mut unit = run.store.begin()?;
        let gone = || Failure::new(codes::NOT_READABLE, "the message is not there", "see the flow's last error");
        let open = self.open.get(&place).ok_or_else(gone)?;
        unit.put_checkpoint(&self.key(place), &open.follows.to_le_bytes())?;
        let mut header = open.header.clone();
        let backout = self.failed.count(&place, &mut header);
        Ok(Taken { unit, header, content: Rc::clone(&open.content), backout })
    }

    /// Takes note of the end of a unit of work.
    pub(crate) fn ended(&mut self, store: &Store, id: &MessageId, outcome: Outcome) -> Result<(), Failure> {
        let number = |bytes: Option<&[u8; 4]>| bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let partition = number(id[8..].first_chunk());
        let offset = id.last_chunk::<8>().map_or(0, |offset| i64::from_be_bytes(*offset));
        let place = (partition, offset);
        if let Err(why) = outcome {
            let pause = self.failed.add(place, why);
            self.again.add(place, pause);
            return Ok(());
        }
        self.failed.forget(&place);
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
        raise(store, &self.prefix, partition, known)
    }

    /// Advances stored first offsets some time after the last message, because Kafka may remove the messages long before another one arrives.
    fn raise_in_time(&mut self, store: &Store, context: &mut Context<'_>) -> Result<(), Failure> {
        let is_behind = self.shared.borrow().partitions.values().any(|known| known.frontier() > known.first);
        if !is_behind {
            return Ok(());
        }
        let raise = self.raise.get_or_insert_with(|| Box::pin(tokio::time::sleep(RAISE.1)));
        if raise.as_mut().poll(context).is_ready() {
            self.raise = None;
            self.raise_all(store)?;
        }
        Ok(())
    }

    /// Raises the first offsets of all partitions, also before the input ends.
    pub(crate) fn raise_all(&mut self, store: &Store) -> Result<(), Failure> {
        let mut shared = self.shared.borrow_mut();
        shared.partitions.iter_mut().try_for_each(|(partition, known)| raise(store, &self.prefix, *partition, known))
    }
}

/// Raises the first offset of a partition to the end of the processed offsets without a gap, and removes the entries below it.
fn raise(store: &Store, prefix: &str, partition: u32, known: &mut Partition) -> Result<(), Failure> {
    known.raised = Some(Instant::now());
    let first = known.frontier();
    if first <= known.first {
        return Ok(());
    }
    let mut unit = store.begin()?;
    let above = known.done.split_off(&first);
    for offset in std::mem::replace(&mut known.done, above) {
        unit.delete(Space::CHECKPOINTS, format!("{prefix}{partition:08x}/{offset:016x}").as_bytes())?;
    }
    known.first = first;
    unit.put_checkpoint(&format!("{prefix}{partition:08x}"), &head(first))?;
    // No one waits for this commit. After a crash, the next raise removes the entries.
    unit.submit_with(Box::new(|_| ()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the stored first offset counted after a crash, although messages above had their effect: if Kafka had removed them, the node refused the
    /// partition.
    #[test]
    fn the_first_offset_follows_the_entries_across_marks_of_transactions() {
        let reached = |first, entries: &[(i64, i64)]| reached(first, &entries.iter().copied().collect());
        assert_eq!(reached(5, &[]), 5);
        assert_eq!(reached(5, &[(5, 5), (6, 6), (8, 7)]), 9, "7 is a mark");
        assert_eq!(reached(5, &[(6, 6)]), 5, "5 is not done");
        assert_eq!(reached(5, &[(2, 2), (5, 5), (9, 8)]), 6, "7 is not done");
    }

    #[test]
    fn everything_below_the_first_open_message_had_its_effect() {
        let mut partition = Partition { first: 3, taken: 7, fetched: 9, ..Partition::default() };
        assert_eq!(partition.frontier(), 9, "nothing is open, and nothing is between");
        partition.open.extend([5, 6]);
        assert_eq!(partition.frontier(), 5);
    }
}
