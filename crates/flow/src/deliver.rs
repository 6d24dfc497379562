//! Delivery of messages to other systems after the commit.
//!
//! ```text
//! node ─put─▶ outbox (a queue) ─claim─▶ delivery: the outside accepts ─▶ get commits
//!                                              │ refuses: backout queue, with the reason
//!                                              └ is not reachable: pause, and again
//! ```
//!
//! The put is a part of the unit of work, so a rollback prevents the delivery. The message id is the same for each attempt, and the receiver remembers
//! it, so an attempt with an unknown outcome is repeated without a second effect. An outbox delivers one message after another.

use std::sync::atomic::Ordering;
use std::time::Duration;

use quayline_store::queue::{Attempt, Claim, Message, Persistence};

use quayline_store::Unit;

use crate::codes;
use crate::failure::Failure;
use crate::message::Parcel;
use crate::run::{Run, Work};
use crate::taken::LinkNews;

/// Types of nodes that deliver after the commit.
pub(crate) const DELIVERED: &[&str] = &["sql_output", "http_output", "nats_output", "amqp_output", "kafka_output"];
/// First and longest pause while the outside is not reachable.
const PAUSE_MS: (u64, u64) = (50, 10_000);

/// Reason why a message stays in the outbox.
#[derive(Debug)]
pub(crate) enum Outside {
    /// The receiver will never accept the message.
    Refuses(Failure),
    /// The receiver may accept the message later.
    Waits(Failure),
}

impl Run<'_> {
    /// Puts a message on the outbox of a node.
    pub(crate) async fn keep(
        &self,
        work: &mut Work,
        at: usize,
        parcel: &Parcel,
        payload: Vec<u8>,
    ) -> Result<(), Failure> {
        let outbox = self.flow.file.nodes[at].text("outbox").unwrap_or_default().to_owned();
        let header = &parcel.received.header;
        let message = Message {
            correlation: header.id,
            persistence: Persistence::Persistent,
            properties: header.properties.clone(),
            payload,
            ..Message::default()
        };
        self.put(work, &outbox, &message).await
    }

    /// Delivers a message of an outbox. Returns whether its get is durable.
    pub(crate) async fn delivery(&self, mut work: Work, at: usize, claim: Claim, message: &Message) -> bool {
        let mut pause_ms = PAUSE_MS.0;
        loop {
            let failure = match self.attempt(at, message, &mut work.unit).await {
                Ok(()) => {
                    self.stats.nodes[at].continues();
                    work.messages += 1;
                    let done = match claim.get(&mut work.unit) {
                        Ok(()) => self.submit(work).await,
                        Err(error) => Err(error.into()),
                    };
                    let done = done.map(|()| self.delivered(at, message));
                    return done.map_err(|failure| self.failed(&failure)).is_ok();
                }
                Err(Outside::Refuses(failure)) => {
                    self.stats.nodes[at].continues();
                    let reason = format!("{}: {}", failure.finding.code, failure.finding.message);
                    let failure = self.named(at, failure);
                    let cause = failure.cause(&self.name);
                    self.stats.nodes[at].failed(self.clock.now_ms(), failure.located(&self.name));
                    self.failed_for(&failure, &message.id);
                    match claim.move_to_backout(&mut work.unit, &reason, Some(&cause)) {
                        Ok(()) => {
                            return self.submit(work).await.map_err(|failure| self.failed(&failure)).is_ok();
                        }
                        Err(refused) => {
                            let (claim, error) = *refused;
                            let failure = self.named(at, error.into());
                            self.failed_for(&failure, &message.id);
                            self.stats.nodes[at].waits(self.clock.now_ms(), failure.located(&self.name));
                            work.unit.roll_back();
                            // Without a backout queue it stays where it is, and what is after it waits.
                            self.waits_undelivered(PAUSE_MS.1).await;
                            claim.release(Attempt::NotMade);
                            return false;
                        }
                    }
                }
                Err(Outside::Waits(failure)) => failure,
            };
            self.waits(at, &failure);
            if self.waits_undelivered(pause_ms).await {
                claim.release(Attempt::NotMade);
                return false;
            }
            pause_ms = (pause_ms * 2).min(PAUSE_MS.1);
        }
    }

    /// Waits before the next attempt of a delivery. Returns true if the flow is to stop.
    async fn waits_undelivered(&self, pause_ms: u64) -> bool {
        self.stats.undelivered.fetch_add(1, Ordering::Relaxed);
        let is_stopped = self.stopped_within(Duration::from_millis(pause_ms)).await;
        self.stats.undelivered.fetch_sub(1, Ordering::Relaxed);
        is_stopped
    }

    async fn attempt(&self, at: usize, message: &Message, unit: &mut Unit) -> Result<(), Outside> {
        match self.flow.file.nodes[at].kind.name {
            "sql_output" => {
                let outbox = self.outbox_id(at).await.map_err(Outside::Waits)?;
                self.external(self.deliver_sql(at, &outbox, message)).await
            }
            "nats_output" => self.external(self.deliver_nats(at, message)).await,
            "amqp_output" => self.external(self.deliver_amqp(at, message)).await,
            "kafka_output" => self.external(self.deliver_kafka(at, message, unit)).await,
            _ => self.external(self.deliver_http(at, message)).await,
        }
    }

    /// Returns a name of an outbox that is unique among all stores.
    async fn outbox_id(&self, at: usize) -> Result<String, Failure> {
        let name = format!("flow-outbox/{}/{}", self.name, self.flow.file.nodes[at].name);
        let mut unit = self.store.begin()?;
        if let Some(id) = unit.checkpoint(&name)? {
            return String::from_utf8(id.to_vec()).map_err(|_| {
                let message = "the identity of the outbox is of no known form";
                Failure::new(codes::NOT_READABLE, message, "restore the store from a save")
            });
        }
        let id = format!("{}/{}/{:016x}", self.name, self.flow.file.nodes[at].name, self.clock.random());
        unit.put_checkpoint(&name, id.as_bytes())?;
        unit.submit().await?;
        Ok(id)
    }

    fn named(&self, at: usize, mut failure: Failure) -> Failure {
        failure.node = Some(self.flow.file.nodes[at].name.clone());
        failure
    }

    /// Records that a node waits for another system.
    pub(crate) fn waits(&self, at: usize, failure: &Failure) {
        let located = self.named(at, failure.clone()).located(&self.name);
        self.observer.failed(&self.name, &located, false);
        self.stats.nodes[at].waits(self.clock.now_ms(), located);
    }

    /// Reports what happened to the connection of an input, and whether the node waits.
    pub(crate) fn follows(&self, at: usize, LinkNews { failure, is_up, begins }: LinkNews) {
        match failure {
            Some(failure) if is_up => self.reports(at, &failure),
            Some(failure) => self.waits(at, &failure),
            None => {}
        }
        if begins {
            self.stats.nodes[at].continues();
        }
    }

    /// Reports a failure of a node that continues with its other work.
    fn reports(&self, at: usize, failure: &Failure) {
        let located = self.named(at, failure.clone()).located(&self.name);
        self.observer.failed(&self.name, &located, false);
        self.stats.nodes[at].failed(self.clock.now_ms(), located);
    }
}
