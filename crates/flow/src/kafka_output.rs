//! Messages that are appended to topics of Kafka after the commit, each once.
//!
//! ```text
//! checkpoint "flow-kafka-out/FLOW/NODE"                 ─▶ version, producer id and epoch, partition and id of the message on its way
//! checkpoint "flow-kafka-out/FLOW/NODE/TOPIC/PARTITION" ─▶ producer id, number of the next record
//! ```
//!
//! A broker recognizes a record that it already has by producer id, epoch and number. The store keeps these: the message in progress is durable
//! before its first attempt, and its number is consumed in the unit of work that removes the message from the outbox. An attempt whose outcome is
//! unknown is therefore repeated with the same numbers, also by another process. If such a message is removed from the outbox by hand, the next
//! one gets a new producer id, because the broker would mistake it for the same record. Source: KIP-98.

use std::cell::RefCell;
use std::collections::HashMap;

use quayline_connect::{Cluster, KafkaConnection, KafkaError, KafkaRecord, Leader, Producer, partition_of_key};
use quayline_core::hex;
use quayline_store::queue::{Message, MessageId, OF_AMQP};
use quayline_store::{Store, Unit};
use tokio::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

use crate::codes;
use crate::deliver::Outside;
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::kafka::{PREFIX, failure, is_topic, login};
use crate::message::Parcel;
use crate::run::{Gives, Run, Work};

/// Time after which brokers and partitions are looked up again.
const REFRESH: Duration = Duration::from_secs(300);
/// Version of the state.
const VERSION: u8 = 1;
/// Header with the id of the message, by which receivers can detect a repetition.
const ID: &str = "quayline_id";
/// Errors of a message that no broker will take: too large, alone or as a batch, or against the rules of its topic.
const REFUSED: [i16; 3] = [10, 18, 87];
/// Errors after which a producer needs another id: the broker does not know its numbers, its epoch or itself.
const UNKNOWN_PRODUCER: [i16; 3] = [45, 47, 59];

/// Connections of an output.
struct Sender {
    clusters: HashMap<String, Cluster>,
    leaders: HashMap<Leader, KafkaConnection>,
    since: Instant,
}

/// Connections of outputs on one thread, by number of the node.
#[derive(Default)]
pub(crate) struct Senders(RefCell<HashMap<usize, Sender>>);

/// State of a producer in the store.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct State {
    producer: Option<(i64, i16)>,
    on_its_way: Option<(u32, MessageId)>,
}

impl State {
    fn read(bytes: &[u8]) -> Option<State> {
        let (version, rest) = bytes.split_first()?;
        let (id, rest) = rest.split_first_chunk::<8>()?;
        let (epoch, rest) = rest.split_first_chunk::<2>()?;
        let (partition, rest) = rest.split_first_chunk::<4>()?;
        let message = MessageId::try_from(rest).ok()?;
        let producer = (i64::from_le_bytes(*id), i16::from_le_bytes(*epoch));
        (*version == VERSION).then_some(State {
            producer: Some(producer).filter(|(id, _)| *id >= 0),
            on_its_way: Some((u32::from_le_bytes(*partition), message)).filter(|_| message != [0; 24]),
        })
    }

    fn write(self) -> Vec<u8> {
        let (id, epoch) = self.producer.unwrap_or((-1, -1));
        let (partition, message) = self.on_its_way.unwrap_or_default();
        [&[VERSION][..], &id.to_le_bytes(), &epoch.to_le_bytes(), &partition.to_le_bytes(), &message].concat()
    }
}

/// A message of the outbox.
struct Outgoing<'m> {
    topic: &'m str,
    key: Option<&'m [u8]>,
    content: &'m [u8],
}

impl<'m> Outgoing<'m> {
    fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.content.len() + self.topic.len() + 40);
        for part in [Some(self.topic.as_bytes()), self.key] {
            let length = part.map_or(u32::MAX, |part| u32::try_from(part.len()).unwrap_or(u32::MAX));
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(part.unwrap_or_default());
        }
        out.extend_from_slice(self.content);
        out
    }

    fn read(payload: &'m [u8]) -> Option<Self> {
        let part = |bytes: &'m [u8]| {
            let (length, rest) = bytes.split_first_chunk::<4>()?;
            match u32::from_le_bytes(*length) {
                u32::MAX => Some((None, rest)),
                length => {
                    let (part, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                    Some((Some(part), rest))
                }
            }
        };
        let (topic, rest) = part(payload)?;
        let (key, content) = part(rest)?;
        Some(Outgoing { topic: std::str::from_utf8(topic?).ok()?, key, content })
    }
}

impl Run<'_> {
    /// Keeps the content, its topic and its key in the outbox.
    pub(crate) async fn kafka_output(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let topic = self.needed(at, values, "topic")?;
        if !is_topic(topic) {
            let hint = "make the topic from letters, digits, points, underscores and hyphens";
            return Err(Failure::new(codes::NO_VALUE, "the value of `topic` is not a topic of Kafka", hint));
        }
        let has_key = self.flow.file.nodes[at].property("key").is_some();
        let key = if has_key { Some(self.needed(at, values, "key")?.as_bytes()) } else { None };
        let payload = Outgoing { topic, key, content: &parcel.content }.write();
        self.keep(work, at, parcel, payload).await?;
        Ok(Gives::Same("out"))
    }

    /// Appends a message of the outbox. `unit` is the one that removes the message from the outbox.
    pub(crate) async fn deliver_kafka(&self, at: usize, message: &Message, unit: &mut Unit) -> Result<(), Outside> {
        let known = self.kafka.0.borrow_mut().remove(&at);
        let mut sender = known.filter(|known| known.since.elapsed() < REFRESH).unwrap_or_else(|| Sender {
            clusters: HashMap::new(),
            leaders: HashMap::new(),
            since: Instant::now(),
        });
        // Connections are of no more use after an error: leaders may have changed.
        self.append(at, message, unit, &mut sender).await?;
        self.kafka.0.borrow_mut().insert(at, sender);
        Ok(())
    }

    async fn append(&self, at: usize, message: &Message, unit: &mut Unit, sender: &mut Sender) -> Result<(), Outside> {
        let here = |failure: Failure| Outside::Waits(failure);
        let outside = |error: KafkaError| Outside::Waits(failure(&error));
        let node = &self.flow.file.nodes[at];
        let damaged = || {
            let hint = "see the queue of the outbox: only its node may put messages on it";
            Failure::new(codes::NOT_READABLE, "a message of the outbox is of no known form", hint)
        };
        let Some(outgoing) = Outgoing::read(&message.payload) else { return Err(Outside::Refuses(damaged())) };
        let topic = outgoing.topic;
        let (address, login) = login(self, node).map_err(here)?;
        let cluster = match sender.clusters.get(topic) {
            Some(cluster) => cluster.clone(),
            None => {
                let mut any = KafkaConnection::connect(&address, &login).await.map_err(outside)?;
                let cluster = any.cluster(topic).await.map_err(outside)?;
                sender.clusters.insert(topic.to_owned(), cluster.clone());
                cluster
            }
        };
        let count = u32::try_from(cluster.leaders.len()).unwrap_or(u32::MAX);
        let name = format!("flow-kafka-out/{}/{}", self.name, node.name);
        let mut state = self.kafka_state(&name).map_err(here)?;
        let partition = match state.on_its_way {
            Some((partition, id)) if id == message.id => partition,
            other => {
                if other.is_some() {
                    state.producer = None;
                }
                #[expect(clippy::cast_possible_truncation, reason = "the remainder is below a u32")]
                let any = || (xxh3_64(&message.id) % u64::from(count)) as u32;
                outgoing.key.map_or_else(any, |key| partition_of_key(key, count))
            }
        };
        let place = cluster.leaders.get(partition as usize);
        // 3: there is no such partition. 5: it has no leader now.
        let refused =
            |code| outside(KafkaError::Refused { code, what: format!("partition {partition} of topic {topic}") });
        let leader = place.ok_or_else(|| refused(3))?.clone().ok_or_else(|| refused(5))?;
        let client = match sender.leaders.entry(leader.clone()) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let connected = KafkaConnection::connect_leader(&address, &leader, &login).await;
                entry.insert(connected.map_err(outside)?)
            }
        };
        let (id, epoch) = match state.producer {
            Some(producer) => producer,
            None => {
                let producer = client.producer().await.map_err(outside)?;
                (producer.id, producer.epoch)
            }
        };
        let next = State { producer: Some((id, epoch)), on_its_way: Some((partition, message.id)) };
        if state != next {
            keep(&self.store, &name, next).await.map_err(here)?;
        }
        let numbers = format!("{name}/{topic}/{partition:08x}");
        let sequence = self.sequence(&numbers, id).map_err(here)?;
        let record = KafkaRecord {
            offset: 0,
            time_ms: i64::try_from(message.put_ms).unwrap_or(0),
            key: outgoing.key.map(<[u8]>::to_vec),
            value: Some(outgoing.content.to_vec()),
            headers: headers(message),
        };
        match client.produce(topic, partition, &record, Producer { id, epoch, sequence }).await {
            Ok(_) => {}
            Err(error @ KafkaError::Refused { code, .. }) if REFUSED.contains(&code) => {
                return Err(Outside::Refuses(failure(&error)));
            }
            Err(error) => {
                if let KafkaError::Refused { code, .. } = error
                    && UNKNOWN_PRODUCER.contains(&code)
                {
                    keep(&self.store, &name, State { producer: None, ..next }).await.map_err(here)?;
                }
                return Err(outside(error));
            }
        }
        let after = State { on_its_way: None, ..next };
        let following = sequence.checked_add(1).unwrap_or(0);
        let numbered = [&id.to_le_bytes()[..], &following.to_le_bytes()].concat();
        let done = unit.put_checkpoint(&name, &after.write()).and_then(|()| unit.put_checkpoint(&numbers, &numbered));
        done.map_err(|error| here(error.into()))
    }

    /// Returns the message whose delivery began before, of a node that must repeat that one first. With another message in between, the broker would
    /// no longer recognize it.
    pub(crate) fn on_its_way(&self, at: usize) -> Result<Option<MessageId>, Failure> {
        let node = &self.flow.file.nodes[at];
        if node.kind.name != "kafka_output" {
            return Ok(None);
        }
        let state = self.kafka_state(&format!("flow-kafka-out/{}/{}", self.name, node.name))?;
        Ok(state.on_its_way.map(|(_, id)| id))
    }

    fn kafka_state(&self, name: &str) -> Result<State, Failure> {
        let unit = self.store.begin()?;
        let Some(bytes) = unit.checkpoint(name)? else { return Ok(State::default()) };
        State::read(&bytes).ok_or_else(|| {
            let message = "the state of the producer is of no known form";
            Failure::new(codes::NOT_READABLE, message, "restore the store from a save")
        })
    }

    /// Returns the number of the next record that a producer appends.
    fn sequence(&self, name: &str, producer: i64) -> Result<i32, Failure> {
        let unit = self.store.begin()?;
        let known = unit.checkpoint(name)?;
        let read = |bytes: &[u8]| {
            let (id, rest) = bytes.split_first_chunk::<8>()?;
            (i64::from_le_bytes(*id) == producer).then_some(i32::from_le_bytes(*rest.first_chunk()?))
        };
        // The numbers of another producer id begin again.
        Ok(known.and_then(|bytes| read(&bytes)).unwrap_or(0))
    }
}

/// Makes a state durable.
async fn keep(store: &Store, name: &str, state: State) -> Result<(), Failure> {
    let mut unit = store.begin()?;
    unit.put_checkpoint(name, &state.write())?;
    unit.submit().await.map_err(Failure::from)?;
    Ok(())
}

/// Properties as headers. Those that describe the received message itself are left out.
fn headers(message: &Message) -> Vec<(String, Vec<u8>)> {
    let is_other = |name: &str| !name.starts_with(PREFIX) && !name.starts_with(OF_AMQP) && name != ID;
    let others = message.properties.iter().filter(|(name, _)| is_other(name)).cloned();
    others.chain([(ID.to_owned(), hex(&message.id).into_bytes())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_messages_come_back() {
        let states = [
            State::default(),
            State { producer: Some((0, 0)), on_its_way: None },
            State { producer: Some((i64::MAX, 7)), on_its_way: Some((9, [1; 24])) },
            State { producer: None, on_its_way: Some((0, [1; 24])) },
        ];
        for state in states {
            assert_eq!(State::read(&state.write()), Some(state));
            assert_eq!(State::read(&state.write()[1..]), None);
        }
        for key in [None, Some(&b""[..]), Some(b"key")] {
            let payload = Outgoing { topic: "t", key, content: b"content" }.write();
            let found = Outgoing::read(&payload).expect("a message");
            assert_eq!((found.topic, found.key, found.content), ("t", key, &b"content"[..]));
        }
        assert!(Outgoing::read(&[9, 0, 0, 0, 1]).is_none());
    }
}
