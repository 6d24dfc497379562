//! Requests and their answers.

use std::time::Duration;

use super::connection::{KafkaConnection, KafkaError};
use super::records::{self, KafkaRecord, Producer};
use super::wire::{In, Out};
use crate::dial::Place;

/// Maximum time to wait for an answer, in addition to the wait that the request specifies.
const WAIT: Duration = Duration::from_secs(20);
/// Bytes of one fetch, and of each of its partitions. A first batch that is longer comes whole.
const FETCH_BYTES: (i32, i32) = (8 << 20, 1 << 20);
/// Milliseconds that a broker waits until all its replicas have a record.
const PRODUCE_MS: i32 = 15_000;
/// Kinds of requests and their versions.
const PRODUCE: (i16, i16) = (0, 3);
const FETCH: (i16, i16) = (1, 4);
const LIST_OFFSETS: (i16, i16) = (2, 1);
const METADATA: (i16, i16) = (3, 4);
const INIT_PRODUCER: (i16, i16) = (22, 0);
/// API keys and versions that a broker must support.
pub(super) const NEEDED: [(i16, i16); 5] = [PRODUCE, FETCH, LIST_OFFSETS, METADATA, INIT_PRODUCER];

/// The broker that serves a partition.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Leader(pub(super) Place);

/// A topic in its cluster.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cluster {
    /// Leaders by partition: partition `n` is the `n`th. A partition may be without one for a while.
    pub leaders: Vec<Option<Leader>>,
}

/// Result of a fetch from one partition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fetched {
    /// Records in their order.
    pub records: Vec<KafkaRecord>,
    /// Offset to fetch next.
    pub next: i64,
    /// Bytes of the answer.
    pub bytes: usize,
}

fn checked(code: i16, what: &str) -> Result<(), KafkaError> {
    if code == 0 { Ok(()) } else { Err(KafkaError::Refused { code, what: what.to_owned() }) }
}

fn named(topic: &str, partition: u32) -> String {
    format!("partition {partition} of topic {topic}")
}

fn number(partition: u32) -> i32 {
    i32::try_from(partition).unwrap_or(i32::MAX)
}

fn partition(input: &mut In<'_>) -> Result<u32, KafkaError> {
    u32::try_from(input.i32()?).map_err(|_| KafkaError::Answer("a partition is negative"))
}

impl KafkaConnection {
    /// Returns the partitions of a topic. A missing topic is not created.
    ///
    /// # Errors
    /// The topic does not exist, or the connection ends.
    pub async fn cluster(&mut self, topic: &str) -> Result<Cluster, KafkaError> {
        let mut request = Out::default();
        request.count(1).text(topic).i8(0);
        let answer = self.call(METADATA, &request.0, WAIT).await?;
        let mut input = In(&answer);
        input.i32()?;
        let mut brokers = Vec::new();
        for _ in 0..input.count()? {
            let (id, host, port) = (input.i32()?, input.name()?.to_owned(), input.i32()?);
            input.text()?;
            let port = u16::try_from(port).map_err(|_| KafkaError::Answer("a port is out of range"))?;
            brokers.push((id, Place { host, port }));
        }
        input.text()?;
        input.i32()?;
        let mut found = Vec::new();
        for _ in 0..input.count()? {
            let code = input.i16()?;
            let name = input.name()?;
            checked(code, &format!("topic {name}"))?;
            input.i8()?;
            for _ in 0..input.count()? {
                // An offline replica is no matter of ours as long as there is a leader.
                input.i16()?;
                let (partition, leader) = (partition(&mut input)?, input.i32()?);
                input.numbers()?;
                input.numbers()?;
                let place = brokers.iter().find(|(id, _)| *id == leader).map(|(_, place)| place.clone());
                found.push((partition, place.map(Leader)));
            }
        }
        found.sort_by_key(|(partition, _)| *partition);
        if found.is_empty() || !found.iter().map(|(partition, _)| *partition).eq(0..found.len().try_into().unwrap_or(0))
        {
            return Err(KafkaError::Answer("partitions are missing"));
        }
        Ok(Cluster { leaders: found.into_iter().map(|(_, leader)| leader).collect() })
    }

    /// Returns the first offset of a partition and the offset after its last record.
    ///
    /// # Errors
    /// The broker does not lead the partition, or the connection ends.
    pub async fn offsets(&mut self, topic: &str, partition: u32) -> Result<(i64, i64), KafkaError> {
        let mut found = [0; 2];
        for (time, found) in [-2, -1].into_iter().zip(&mut found) {
            let mut request = Out::default();
            request.i32(-1).count(1).text(topic).count(1).i32(number(partition)).i64(time);
            let answer = self.call(LIST_OFFSETS, &request.0, WAIT).await?;
            let mut input = In(&answer);
            for _ in 0..input.count()? {
                input.name()?;
                for _ in 0..input.count()? {
                    input.i32()?;
                    checked(input.i16()?, &named(topic, partition))?;
                    input.i64()?;
                    *found = input.i64()?;
                }
            }
        }
        Ok((found[0], found[1]))
    }

    /// Waits up to `wait` for records of partitions, from an offset on each. Only committed ones come. A partition that does not have its offset
    /// ([`KafkaError::OutOfRange`]), is damaged there ([`KafkaError::Batch`]) or is refused ([`KafkaError::Refused`]), such as one with another leader now,
    /// does not keep the others from coming.
    ///
    /// # Errors
    /// An answer that cannot be read, or the end of the connection.
    pub async fn fetch(
        &mut self,
        topic: &str,
        positions: &[(u32, i64)],
        wait: Duration,
    ) -> Result<Vec<(u32, Result<Fetched, KafkaError>)>, KafkaError> {
        let mut request = Out::default();
        request.i32(-1).i32(i32::try_from(wait.as_millis()).unwrap_or(i32::MAX)).i32(1).i32(FETCH_BYTES.0).i8(1);
        request.count(1).text(topic).count(positions.len());
        for (partition, offset) in positions {
            request.i32(number(*partition)).i64(*offset).i32(FETCH_BYTES.1);
        }
        let answer = self.call(FETCH, &request.0, WAIT + wait).await?;
        let mut input = In(&answer);
        input.i32()?;
        let mut fetched = Vec::new();
        for _ in 0..input.count()? {
            input.name()?;
            for _ in 0..input.count()? {
                let partition = partition(&mut input)?;
                let code = input.i16()?;
                input.i64()?;
                input.i64()?;
                let mut aborted = Vec::new();
                for _ in 0..input.count()? {
                    aborted.push((input.i64()?, input.i64()?));
                }
                let bytes = input.sized()?;
                let position = positions.iter().find(|(known, _)| *known == partition);
                let Some((_, offset)) = position else { return Err(KafkaError::Answer("another partition")) };
                let part = match code {
                    0 => records::read(bytes, *offset, aborted).map(|(records, next)| Fetched {
                        records,
                        next,
                        bytes: bytes.len(),
                    }),
                    1 => Err(KafkaError::OutOfRange { partition, offset: *offset }),
                    code => Err(KafkaError::Refused { code, what: named(topic, partition) }),
                };
                fetched.push((partition, part));
            }
        }
        Ok(fetched)
    }

    /// Requests a new, unique producer id with its epoch.
    ///
    /// # Errors
    /// The broker refuses, or the connection ends.
    pub async fn producer(&mut self) -> Result<Producer, KafkaError> {
        let mut request = Out::default();
        request.no_text().i32(PRODUCE_MS);
        let answer = self.call(INIT_PRODUCER, &request.0, WAIT).await?;
        let mut input = In(&answer);
        input.i32()?;
        checked(input.i16()?, "a producer id")?;
        Ok(Producer { id: input.i64()?, epoch: input.i16()?, sequence: 0 })
    }

    /// Appends a record to a partition, and waits until all replicas in sync have it. A record with the same producer, epoch and sequence is in the
    /// partition once, as long as the broker remembers the producer.
    ///
    /// # Errors
    /// The broker refuses it, or the connection ends. Whether the record is there is unknown after anything but [`KafkaError::Refused`].
    pub async fn produce(
        &mut self,
        topic: &str,
        partition: u32,
        record: &KafkaRecord,
        producer: Producer,
    ) -> Result<i64, KafkaError> {
        let batch = records::write(record, producer);
        let mut request = Out::default();
        request.no_text().i16(-1).i32(PRODUCE_MS).count(1).text(topic);
        request.count(1).i32(number(partition)).count(batch.len()).bytes(&batch);
        let answer = self.call(PRODUCE, &request.0, WAIT).await?;
        let mut input = In(&answer);
        let mut offset = None;
        for _ in 0..input.count()? {
            input.name()?;
            for _ in 0..input.count()? {
                input.i32()?;
                let code = input.i16()?;
                // 46: the broker had it already, too long ago to know its offset.
                if code != 46 {
                    checked(code, &named(topic, partition))?;
                }
                offset = Some(input.i64()?);
                input.i64()?;
            }
        }
        offset.ok_or(KafkaError::Answer("it names no partition"))
    }
}
