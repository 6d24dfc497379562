//! Execution of each type of node.

use std::rc::Rc;
use std::time::Duration;

use quayline_core::{Code, Fault, Finding};
use quayline_pipeline::Acknowledged;
use quayline_project::{Form, PropertyValue, ShapeFile, SourceFormat};
use quayline_store::StoreError;
use quayline_store::queue::{Message, Persistence, set_cause};

use crate::codes;
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::http::Answer;
use crate::message::{HOPS, Parcel, Received};
use crate::outbox::Owner;
use crate::run::{After, Gives, Run, Work};
use crate::stats::CpuPart;

/// Longest name of a file that Linux file systems accept.
const FILE_NAME_BYTES_MAX: usize = 255;

/// Maximum number of queues that a message and its successors may pass. Default 100; a higher number indicates an endless loop.
const HOPS_MAX: u32 = 100;
/// First and longest pause while an output queue is full.
const FULL_PAUSE_MS: (u64, u64) = (5, 1_000);

/// Longest content that a [`Template`] keeps memory for. Default 64 KiB.
const TEMPLATE_BYTES_MAX: usize = 64 << 10;

/// A message for a queue, to be used again for the next part of the same received message.
pub(crate) struct Template {
    at: usize,
    received: Rc<Received>,
    message: Message,
}

impl Run<'_> {
    /// Runs one node.
    pub(crate) async fn node(&self, work: &mut Work, at: usize, parcel: &Parcel) -> Result<Gives, Failure> {
        let values = self.values(at, parcel)?;
        let node = &self.flow.file.nodes[at];
        match node.kind.name {
            "map" => {
                let now_ms = self.clock.now_ms();
                let (made, mut warnings) = self.lanes.map(at, now_ms, parcel)?;
                if let Some(last) = warnings.pop() {
                    self.stats.nodes[at].warned(now_ms, warnings.len() as u64 + 1, last);
                }
                if made.is_empty() {
                    self.stats.nodes[at].dropped();
                }
                let made = self.numbered(work, at, made).await?;
                Ok(Gives::Out(made.into_iter().map(|made| ("out", parcel.with_content(made.content))).collect()))
            }
            "filter" => {
                let terminal = if values.first() == Some(&Evaluated::Truth(true)) { "out" } else { "no_match" };
                Ok(Gives::Same(terminal))
            }
            "route" => self.route(at, &values, parcel),
            "split" => self.split(at, parcel),
            "try" => Ok(Gives::Try),
            "throw" => {
                let text = self.needed(at, &values, "text")?;
                Err(Failure::new(codes::THROWN, text, "the flow file decides this; see the node in the flow"))
            }
            "trace" => {
                let text = self.needed(at, &values, "text")?;
                self.observer.trace(&self.name, &node.name, text);
                Ok(Gives::Same("out"))
            }
            "validate" => self.validate(work, at, parcel).await,
            "reply" => self.reply(work, at, parcel).await,
            "queue_output" => self.queue_output(work, at, &values, parcel).await,
            "file_output" => self.file_output(work, at, &values, parcel),
            "cobol_program" => self.external(self.cobol_program(work, at, parcel)).await,
            "aggregate" => self.aggregate(work, at, &values, parcel).await,
            "sql_query" => self.external(self.sql_query(work, at, &values, parcel)).await,
            "sql_output" => self.sql_output(work, at, &values, parcel).await,
            "http_request" => self.external(self.http_request(work, at, &values, parcel)).await,
            "http_output" => self.http_output(work, at, &values, parcel).await,
            "nats_output" => self.nats_output(work, at, &values, parcel).await,
            "amqp_output" => self.amqp_output(work, at, &values, parcel).await,
            "kafka_output" => self.kafka_output(work, at, &values, parcel).await,
            "partner_receive" => self.partner_receive(work, at, parcel).await,
            "partner_send" => self.partner_send(work, at, &values, parcel).await,
            "record_input" => self.record_input(work, at, &values, parcel).await,
            _ => self.record(work, at, &values, parcel).await,
        }
    }

    /// Checks a message, and acknowledges its interchanges.
    async fn validate(&self, work: &mut Work, at: usize, parcel: &Parcel) -> Result<Gives, Failure> {
        let mut out = Vec::new();
        let checked = match &self.flow.nodes[at].acknowledging {
            None => self.lanes.check(at, parcel)?.and_then(|documents| match documents {
                Some(documents) if documents.is_empty() => {
                    let hint = "send a document; wire `no_match` for messages that have none";
                    Err(Failure::new(codes::NOT_READABLE, "the message has no document", hint))
                }
                _ => Ok(()),
            }),
            Some(acknowledging) => {
                let Acknowledged { mut content, rejected } =
                    acknowledging.acknowledge(&parcel.content, self.clock.now_ms() / 1_000);
                if !content.is_empty() {
                    self.number(work, at, &mut content).await?;
                    out.push(("acknowledgment", parcel.with_content(content)));
                }
                match rejected {
                    None => Ok(()),
                    Some(finding) => Err(Failure::rejected(codes::NOT_READABLE, finding)),
                }
            }
        };
        let node = &self.flow.nodes[at];
        out.push(match checked {
            Ok(()) => ("out", parcel.clone()),
            // A failure would undo the acknowledgment, which says that the message is rejected.
            Err(failure) if !self.flow.file.nodes[at].is_wired("no_match") && node.acknowledging.is_none() => {
                return Err(failure);
            }
            Err(failure) => ("no_match", Parcel { failure: Some(Rc::new(failure)), ..parcel.clone() }),
        });
        Ok(Gives::Out(out))
    }

    fn route(&self, at: usize, values: &[Evaluated], parcel: &Parcel) -> Result<Gives, Failure> {
        let node = &self.flow.file.nodes[at];
        if let Some(PropertyValue::Cases(cases)) = node.property("cases").map(|property| &property.value) {
            let fits = values.iter().position(|value| *value == Evaluated::Truth(true));
            return Ok(match fits.and_then(|number| cases.get(number)) {
                Some((_, _, to)) => Gives::To(*to, parcel.clone()),
                None if !node.is_wired("no_match") => {
                    let hint = "add a case, or wire `no_match`; `no_match = []` drops such messages";
                    return Err(Failure::new(codes::NO_ROUTE, "no case fits the message", hint));
                }
                None => Gives::Same("no_match"),
            });
        }
        let label = self.needed(at, values, "label")?;
        let Some(PropertyValue::Nodes(labels)) = node.property("labels").map(|property| &property.value) else {
            return Ok(Gives::Same("no_match"));
        };
        match labels.iter().find(|to| self.flow.file.nodes[**to].name == label) {
            Some(to) => Ok(Gives::To(*to, parcel.clone())),
            None if !node.is_wired("no_match") => Err(Failure::new(
                codes::NO_ROUTE,
                "the label names no node of `labels`",
                "add the node to `labels`, or wire `no_match`; `no_match = []` drops such messages",
            )),
            None => Ok(Gives::Same("no_match")),
        }
    }

    fn split(&self, at: usize, parcel: &Parcel) -> Result<Gives, Failure> {
        let lines = |content: &[u8]| {
            let (mut parts, mut blank) = (Vec::new(), 0);
            let mut start = 0;
            for end in memchr_lines(content) {
                let line = content[start..end].strip_suffix(b"\r").map_or(end, |line| start + line.len());
                if line > start {
                    parts.push(start..line);
                } else {
                    blank += 1;
                }
                start = end + 1;
            }
            (parts, blank)
        };
        let (parts, blank, content) = if self.flow.file.nodes[at].text("by") == Some("line") {
            let (parts, blank) = lines(&parcel.content);
            (parts, blank, Rc::clone(&parcel.content))
        } else if let Some(parts) = self.fixed_records(at, parcel)? {
            (parts, 0, Rc::clone(&parcel.content))
        } else {
            let documents = self.lanes.check(at, parcel)??.unwrap_or_default();
            (lines(&documents).0, 0, documents.into())
        };
        let message = match (blank, parts.is_empty()) {
            (0, false) => None,
            (0, true) => Some("the message has no parts, so no message leaves by `out`".to_owned()),
            (1, false) => Some("1 blank line of the message is left out".to_owned()),
            (_, false) => Some(format!("{blank} blank lines of the message are left out")),
            (_, true) => Some("the message has blank lines only, so no message leaves by `out`".to_owned()),
        };
        if let Some(message) = message {
            self.warned(at, codes::NO_PARTS, message);
        }
        Ok(Gives::Parts(parts, content))
    }

    /// Counts a warning about a message that a node accepted.
    fn warned(&self, at: usize, code: Code, message: String) {
        let node = &self.flow.file.nodes[at].name;
        let finding = Finding::warning(code, Fault::Sender, format!("flow {}, node {node}: {message}", self.name));
        self.stats.nodes[at].warned(self.clock.now_ms(), 1, finding);
    }

    /// Splits a message whose shape is a record of fixed length into its records.
    pub(crate) fn fixed_records(
        &self,
        at: usize,
        parcel: &Parcel,
    ) -> Result<Option<Vec<core::ops::Range<usize>>>, Failure> {
        let Some(length) = self.flow.nodes[at].record_length else { return Ok(None) };
        let bytes = parcel.content.len();
        if !bytes.is_multiple_of(length) {
            let message =
                format!("the message has {bytes} bytes, which is not a multiple of the record length {length}");
            return Err(Failure::new(codes::NOT_READABLE, message, "check the record length of the shape"));
        }
        Ok(Some((0..bytes / length).map(|number| number * length..(number + 1) * length).collect()))
    }

    /// Creates a message for a queue from the received message, without content.
    fn outgoing(&self, at: usize, parcel: &Parcel) -> Result<Message, Failure> {
        let node = &self.flow.file.nodes[at];
        let header = &parcel.received.header;
        let hops = parcel.hops() + 1;
        if hops > HOPS_MAX {
            let message = format!("the message passed more than {HOPS_MAX} queues, so flows send it round and round");
            return Err(Failure::new(codes::HOPS, message, "end the loop with a filter node"));
        }
        let mut properties: Vec<(String, Vec<u8>)> =
            header.properties.iter().filter(|(name, _)| name != HOPS).cloned().collect();
        properties.push((HOPS.to_owned(), hops.to_string().into_bytes()));
        if let Some(failure) = &parcel.failure {
            set_cause(&mut properties, Some(&failure.cause(&self.name)));
        }
        let persistence = match node.text("persistence") {
            Some("yes") => Persistence::Persistent,
            Some("no") => Persistence::NotPersistent,
            _ => header.persistence,
        };
        let correlation = match node.text("correlation") {
            Some("correlation_id") => header.correlation,
            Some("none") => [0; 24],
            _ => header.id,
        };
        let expires_ms =
            node.number("expiry").map_or(0, |expiry_ms| self.clock.now_ms().saturating_add(expiry_ms.max(1)));
        let priority = node.number("priority").and_then(|p| u8::try_from(p).ok()).unwrap_or(header.priority);
        Ok(Message {
            correlation,
            group: header.group,
            group_sequence: header.group_sequence,
            priority,
            persistence,
            expires_ms,
            properties,
            ..Message::default()
        })
    }

    /// Puts a message. While the queue is full the unit of work waits, without a thread, for room or its time limit.
    pub(crate) async fn put(&self, work: &mut Work, queue: &str, message: &Message) -> Result<(), Failure> {
        self.part(work, CpuPart::Queues);
        work.is_written_only &= message.persistence == Persistence::NotPersistent;
        let queue = self.queue(queue)?;
        let (mut pause_ms, mut asked) = (FULL_PAUSE_MS.0, None);
        loop {
            match queue.put(&mut work.unit, message) {
                Ok(_) => break,
                Err(error @ StoreError::QueueFull { .. }) => {
                    if self.gives_up(work, &mut asked, pause_ms) {
                        return Err(error.into());
                    }
                    tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                    self.resumed(work);
                    pause_ms = (pause_ms * 2).min(FULL_PAUSE_MS.1);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.part(work, CpuPart::Flow);
        Ok(())
    }

    async fn queue_output(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        // Of the parts of one message, only the content differs.
        let fits = |kept: &Template| kept.at == at && Rc::ptr_eq(&kept.received, &parcel.received);
        // A message after a failure carries that failure, so its properties differ, too.
        let has_failed = parcel.failure.is_some();
        let kept = if has_failed { None } else { work.template.take().filter(fits) };
        let mut template = match kept {
            Some(template) => template,
            None => Template { at, received: Rc::clone(&parcel.received), message: self.outgoing(at, parcel)? },
        };
        template.message.payload.clear();
        template.message.payload.extend_from_slice(&parcel.content);
        let queue = self.needed(at, values, "queue")?;
        self.put(work, queue, &template.message).await?;
        let has_expiry = self.flow.file.nodes[at].number("expiry").is_some();
        if parcel.content.len() <= TEMPLATE_BYTES_MAX && !has_expiry && !has_failed {
            work.template = Some(template);
        }
        Ok(Gives::Same("out"))
    }

    async fn reply(&self, work: &mut Work, at: usize, parcel: &Parcel) -> Result<Gives, Failure> {
        if let Some(reply) = &parcel.received.reply {
            let status = self.flow.file.nodes[at].number("status").and_then(|s| u16::try_from(s).ok()).unwrap_or(200);
            let content_type = self.flow.file.nodes[at].text("content_type").map(Rc::from);
            let answer = Answer { status, content_type, content: Rc::clone(&parcel.content) };
            if !reply.answers(answer, parcel.failure.is_some()) {
                return Err(Failure::new(
                    codes::ANSWERED,
                    "the HTTP request already has its answer, from a `reply` node that the message reached before",
                    "wire `reply` nodes so that each request reaches one, such as after `done` of a split",
                ));
            }
            work.after.push(After::Answer(reply.clone()));
        } else if parcel.received.header.reply_to.is_empty() {
            return Err(Failure::new(
                codes::NO_REPLY,
                "the received message names no reply queue",
                "set the reply queue where the request is put, or use a queue_output node",
            ));
        } else {
            let message = Message { payload: parcel.content.to_vec(), ..self.outgoing(at, parcel)? };
            let queue = parcel.received.header.reply_to.clone();
            self.put(work, &queue, &message).await?;
        }
        Ok(Gives::Same("out"))
    }

    /// Keeps the content in the unit of work; the file is written after the commit, and again after a restart if that was interrupted.
    fn file_output(&self, work: &mut Work, at: usize, values: &[Evaluated], parcel: &Parcel) -> Result<Gives, Failure> {
        let folder = self.needed(at, values, "folder")?;
        let name = self.needed(at, values, "name")?;
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            let message = "the name of the file is empty, begins with a point or holds a slash";
            return Err(Failure::new(
                codes::FILE_SYSTEM,
                message,
                "make the name from letters and digits of the message",
            ));
        }
        // File systems refuse longer ones, and a file that cannot be written waits for ever.
        if name.len() > FILE_NAME_BYTES_MAX {
            let message = format!("the name of the file has {} bytes", name.len());
            return Err(Failure::new(
                codes::FILE_SYSTEM,
                message,
                format!("shorten it: a name has at most {FILE_NAME_BYTES_MAX} bytes"),
            ));
        }
        let path = std::path::absolute(self.flow.root.join(folder).join(name)).map_err(|error| {
            let why = quayline_core::system_error_text(&error);
            Failure::new(codes::FILE_SYSTEM, format!("the path of the file is not known: {why}"), "check the folder")
        })?;
        // The last message of this unit of work for the file is the one that it has in the end.
        let owner = Owner { flow: self.name.to_string(), node: self.flow.file.nodes[at].name.clone() };
        let entry = crate::outbox::entry(&path, &owner, &parcel.content);
        let before = work.files.insert(crate::outbox::key(&path), entry);
        if before.is_some_and(|before| crate::outbox::content(&before) != Some(&*parcel.content)) {
            let message =
                "a file has the content of the last message only: two messages of one unit of work have the same name";
            self.warned(at, codes::REPLACED, message.to_owned());
        }
        Ok(Gives::Same("out"))
    }
}

/// Ends of the lines of a text, the last one too if it has no line feed.
fn memchr_lines(content: &[u8]) -> impl Iterator<Item = usize> {
    let feeds = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let last = (content.last().is_some_and(|byte| *byte != b'\n')).then_some(content.len());
    feeds.chain(last)
}

/// Parses the length in `fixed:80`.
fn fixed_length(framing: &str) -> Option<usize> {
    framing.strip_prefix("fixed:")?.parse().ok().filter(|length| *length > 0)
}

/// Bytes of each record of a shape, if all have the same length.
pub(crate) fn record_length(shape: &ShapeFile) -> Option<usize> {
    match (shape.form(), shape.source()) {
        (Form::Records { .. }, Ok(SourceFormat::Records(framing))) => fixed_length(&framing.to_string()),
        _ => None,
    }
}

/// Returns true if a flow can split messages of a format into documents.
pub(crate) fn splits(source: &SourceFormat) -> bool {
    match source {
        SourceFormat::Json(_) => true,
        SourceFormat::Records(framing) => fixed_length(&framing.to_string()).is_some(),
        _ => false,
    }
}
