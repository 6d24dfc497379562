//! Streams of JetStream: lookup, consumers and acknowledgments.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{NatsClient, NatsError};
use super::parser::NatsMessage;

/// Longest wait for an answer of the API.
const API_WAIT: Duration = Duration::from_secs(10);
/// All subjects.
const ALL: &str = ">";
/// Number of the error for a consumer that does not exist.
const NO_CONSUMER: u64 = 10_014;

/// Properties of a stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StreamFacts {
    /// Creation time, which distinguishes the stream from a later one with the same name.
    pub created: String,
    /// Number of its last message.
    pub last_sequence: u64,
    /// True if a message leaves the stream when it is acknowledged.
    pub is_work_queue: bool,
}

/// Settings of a consumer to create.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConsumerSettings<'c> {
    /// Name of the stream.
    pub stream: &'c str,
    /// Name of the consumer.
    pub name: &'c str,
    /// Subjects that it delivers; all without it.
    pub subject: Option<&'c str>,
    /// Number of the first message, for a consumer that does not exist yet.
    pub first_sequence: u64,
    /// Time until a message without acknowledgment is delivered again.
    pub ack_wait: Duration,
    /// Messages that wait for their acknowledgment at most.
    pub pending_max: u64,
}

/// Properties of a consumer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ConsumerFacts {
    /// Every message up to this number is acknowledged or not for this consumer.
    pub acknowledged: u64,
}

/// Origin of a message, decoded from the subject for its acknowledgment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DeliveredBy {
    /// Number in the stream.
    pub sequence: u64,
    /// Times that it was delivered.
    pub deliveries: u64,
}

/// An acknowledgment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Acknowledged {
    /// The message was processed.
    Done,
    /// The message is to be delivered again after this delay.
    Again(Duration),
}

/// Answer of a stream to a published message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Published {
    /// Sequence number of the message in the stream.
    pub sequence: u64,
    /// True if the stream had the message already.
    pub is_duplicate: bool,
}

impl DeliveredBy {
    /// Reads `$JS.ACK.…`, the form with the domain included.
    #[must_use]
    pub fn read(reply: &str) -> Option<Self> {
        let words: Vec<&str> = reply.strip_prefix("$JS.ACK.")?.split('.').collect();
        let rest = match words.len() {
            7 => &words[2..],
            9.. => &words[4..],
            _ => return None,
        };
        Some(DeliveredBy { deliveries: rest[0].parse().ok()?, sequence: rest[1].parse().ok()? })
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl NatsClient {
    /// Sends one request to the JetStream API and returns its answer.
    async fn api(&mut self, subject: &str, request: &Value) -> Result<Value, NatsError> {
        let payload = if request.is_null() { Vec::new() } else { request.to_string().into_bytes() };
        let answer = self.request(subject, &[], &payload, API_WAIT).await?;
        read_answer(subject, &answer)
    }

    /// Requests the properties of a stream.
    ///
    /// # Errors
    /// The stream does not exist, streams are not enabled, or the connection ends.
    pub async fn stream(&mut self, name: &str) -> Result<StreamFacts, NatsError> {
        let subject = format!("$JS.API.STREAM.INFO.{name}");
        let answer = self.api(&subject, &Value::Null).await?;
        let facts = || {
            Some(StreamFacts {
                created: answer["created"].as_str()?.to_owned(),
                last_sequence: answer["state"]["last_seq"].as_u64()?,
                is_work_queue: answer["config"]["retention"].as_str()? == "workqueue",
            })
        };
        facts().ok_or(NatsError::Answer { subject })
    }

    /// Returns the properties of a consumer, which is created if it does not exist. A consumer that exists keeps its place in the stream and gets the
    /// subject and the limits of the settings; what else an operator set there, such as `ack_wait`, stays.
    ///
    /// # Errors
    /// The server refuses it or ignores the change, or the connection ends.
    pub async fn consumer(&mut self, settings: &ConsumerSettings<'_>) -> Result<ConsumerFacts, NatsError> {
        let subject = format!("$JS.API.CONSUMER.DURABLE.CREATE.{}.{}", settings.stream, settings.name);
        match self.consumer_info(settings.stream, settings.name).await {
            Err(NatsError::Refused { number: NO_CONSUMER, .. }) => {}
            Err(other) => return Err(other),
            Ok(known) => {
                let Some(config) = changed(&known["config"], settings) else {
                    return facts(&known).ok_or(NatsError::Answer { subject });
                };
                let request = json!({ "stream_name": settings.stream, "config": config, "action": "update" });
                let answer = self.api(&subject, &request).await?;
                if changed(&answer["config"], settings).is_some() {
                    return Err(NatsError::Unchanged { consumer: settings.name.to_owned() });
                }
                return facts(&answer).ok_or(NatsError::Answer { subject });
            }
        }
        let mut config = json!({
            "durable_name": settings.name, "ack_policy": "explicit", "deliver_policy": "all", "max_deliver": -1,
            "ack_wait": nanoseconds(settings.ack_wait), "max_ack_pending": settings.pending_max,
        });
        if settings.first_sequence > 1 {
            config["deliver_policy"] = "by_start_sequence".into();
            config["opt_start_seq"] = settings.first_sequence.into();
        }
        if let Some(filter) = settings.subject {
            config["filter_subject"] = filter.into();
        }
        let request = json!({ "stream_name": settings.stream, "config": config });
        let answer = self.api(&subject, &request).await?;
        facts(&answer).ok_or(NatsError::Answer { subject })
    }

    /// Requests the properties of a consumer.
    ///
    /// # Errors
    /// The consumer does not exist, or the connection ends.
    pub async fn consumer_facts(&mut self, stream: &str, name: &str) -> Result<ConsumerFacts, NatsError> {
        let answer = self.consumer_info(stream, name).await?;
        facts(&answer).ok_or_else(|| NatsError::Answer { subject: format!("$JS.API.CONSUMER.INFO.{stream}.{name}") })
    }

    async fn consumer_info(&mut self, stream: &str, name: &str) -> Result<Value, NatsError> {
        self.api(&format!("$JS.API.CONSUMER.INFO.{stream}.{name}"), &Value::Null).await
    }

    /// Requests messages of a consumer; they come by [`NatsClient::next`]. A message with a status and this subject, which is the result, ends the pull.
    /// A server also sends one after the last message of a complete pull with a limit of bytes.
    ///
    /// # Errors
    /// The connection ends.
    pub async fn pull(
        &mut self,
        stream: &str,
        consumer: &str,
        messages: usize,
        bytes: usize,
        wait: Duration,
    ) -> Result<String, NatsError> {
        let request = json!({ "batch": messages, "max_bytes": bytes, "expires": nanoseconds(wait) }).to_string();
        let inbox = self.pull_inbox();
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}");
        self.publish(&subject, Some(&inbox), &[], request.as_bytes())?;
        self.flush().await?;
        Ok(inbox)
    }

    /// Queues an acknowledgment; it is sent with the next write.
    ///
    /// # Errors
    /// [`NatsError::TooLong`] if the acknowledgment exceeds the server's `max_payload`, which no server in use sets that low.
    pub fn acknowledge(&mut self, reply: &str, how: Acknowledged) -> Result<(), NatsError> {
        let text = match how {
            Acknowledged::Done => "+ACK".to_owned(),
            Acknowledged::Again(pause) => format!("-NAK {}", json!({ "delay": nanoseconds(pause) })),
        };
        self.publish(reply, None, &[], text.as_bytes())
    }

    /// Publishes a message to a stream and waits until the stream has it.
    ///
    /// # Errors
    /// No stream covers the subject, the stream refuses, the answer does not arrive in time, or the connection ends.
    pub async fn publish_kept(
        &mut self,
        subject: &str,
        headers: &[(&str, &str)],
        payload: &[u8],
        wait: Duration,
    ) -> Result<Published, NatsError> {
        let answer = self.request(subject, headers, payload, wait).await?;
        let answer = read_answer(subject, &answer)?;
        match answer["seq"].as_u64() {
            Some(sequence) => Ok(Published { sequence, is_duplicate: answer["duplicate"] == true }),
            None => Err(NatsError::Answer { subject: subject.to_owned() }),
        }
    }
}

/// Returns the configuration of a consumer with what the settings require, if it differs from them.
fn changed(config: &Value, settings: &ConsumerSettings<'_>) -> Option<Value> {
    let several = config["filter_subjects"].as_array().into_iter().flatten();
    let subjects = std::iter::once(&config["filter_subject"]).chain(several);
    let subjects: Vec<&str> =
        subjects.filter_map(Value::as_str).filter(|subject| !["", ALL].contains(subject)).collect();
    let is_same = subjects == settings.subject.filter(|subject| *subject != ALL).as_slice()
        && config["ack_policy"] == "explicit"
        && config["max_deliver"].as_i64().is_none_or(|max| max <= 0)
        && config["max_ack_pending"].as_u64() == Some(settings.pending_max);
    if is_same {
        return None;
    }
    let mut config = config.clone();
    if let Some(config) = config.as_object_mut() {
        config.remove("filter_subject");
        config.remove("filter_subjects");
        // A server of version 2.15 that gets no subject delivers all, but not before the next pull.
        config.insert("filter_subject".to_owned(), settings.subject.unwrap_or(ALL).into());
        config.insert("ack_policy".to_owned(), "explicit".into());
        config.insert("max_deliver".to_owned(), (-1).into());
        config.insert("max_ack_pending".to_owned(), settings.pending_max.into());
    }
    Some(config)
}

fn facts(answer: &Value) -> Option<ConsumerFacts> {
    Some(ConsumerFacts { acknowledged: answer["ack_floor"]["stream_seq"].as_u64()? })
}

fn read_answer(subject: &str, answer: &NatsMessage) -> Result<Value, NatsError> {
    let value: Value =
        serde_json::from_slice(&answer.payload).map_err(|_| NatsError::Answer { subject: subject.to_owned() })?;
    let error = &value["error"];
    if error.is_null() {
        return Ok(value);
    }
    Err(NatsError::Refused {
        code: error["code"].as_u64().unwrap_or_default(),
        number: error["err_code"].as_u64().unwrap_or_default(),
        text: error["description"].as_str().unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consumer_that_differs_is_changed_where_the_settings_say_something() {
        let settings = |subject, pending_max| ConsumerSettings {
            stream: "S",
            name: "c",
            subject,
            first_sequence: 7,
            ack_wait: Duration::from_secs(5),
            pending_max,
        };
        // The fields that a server of version 2.15 returns, and some of which it says nothing if they are empty.
        let plain = json!({ "durable_name": "c", "ack_policy": "explicit", "max_deliver": -1, "max_ack_pending": 9, "ack_wait": 1 });
        let with = |more: Value| {
            let mut config = plain.clone();
            config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            config
        };
        assert_eq!(changed(&plain, &settings(None, 9)), None);
        assert_eq!(changed(&with(json!({ "filter_subject": "a" })), &settings(Some("a"), 9)), None);
        assert_eq!(changed(&with(json!({ "filter_subjects": ["a"] })), &settings(Some("a"), 9)), None);
        let all = with(json!({ "filter_subject": ">" }));
        assert_eq!(changed(&with(json!({ "filter_subject": "a" })), &settings(None, 9)), Some(all.clone()));
        assert_eq!((changed(&all, &settings(None, 9)), changed(&plain, &settings(Some(">"), 9))), (None, None));
        assert_eq!(
            changed(&with(json!({ "filter_subjects": ["a", "b"], "max_deliver": 3 })), &settings(Some("c"), 1)),
            Some(with(json!({ "filter_subject": "c", "max_ack_pending": 1 })))
        );
    }

    #[test]
    fn the_subject_of_an_acknowledgment_has_two_forms() {
        let found = Some(DeliveredBy { sequence: 42, deliveries: 3 });
        assert_eq!(DeliveredBy::read("$JS.ACK.ORDERS.c.3.42.9.1700000000000000000.5"), found);
        assert_eq!(DeliveredBy::read("$JS.ACK.hub.ACC.ORDERS.c.3.42.9.1700000000000000000.5"), found);
        assert_eq!(DeliveredBy::read("$JS.ACK.hub.ACC.ORDERS.c.3.42.9.1700000000000000000.5.rnd"), found);
        assert_eq!(DeliveredBy::read("$JS.ACK.ORDERS.c.3"), None);
        assert_eq!(DeliveredBy::read("_INBOX.1"), None);
    }
}
