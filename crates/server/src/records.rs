//! Record files and queues of the store as providers.
//!
//! A request is one unit of work, and its answer follows the commit. Nothing here holds the server's thread: a lock that another unit holds and a
//! commit wake the request's task ([`Unit::wake_for_locks`], `Unit::submit`). A client that leaves takes its unit with it, unless the commit began.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use quayline_core::{Code, Fault, Finding, Place, hex};
use quayline_gateway::{
    Answered, Definitions, FileAction, FileSpec, Matching, Outgoing, PAGE_BYTES_MAX, Problem, Provider, ProviderFault,
    ProviderSpec, QueueSpec, RecordCall, Returned,
};
use quayline_store::queue::{Claim, Claimed, Message, MessageId, Persistence, Queue, QueueKind, Select};
use quayline_store::record_file::{
    AlternateIndex, By, Duplicates, FileDefinition, KeyPlace, Organisation, RecordFile, Relation,
};
use quayline_store::{LockWait, Store, StoreError, Unit};

use crate::config::ServeConfig;
use crate::waiting_task::WaitingTask;

/// Times that a request is tried whose unit of work was chosen to end a deadlock.
const ATTEMPTS: usize = 3;

/// Reports a message to the operator.
type Say = Rc<dyn Fn(&str)>;

/// The store lacks a file or queue of a service.
const STORE: Code = Code("SRV-008");

/// A queue whose backout queue the store does not have.
const NO_BACKOUT: Code = Code("SRV-011");

/// Reason why a unit of work had no result.
enum Failed {
    Refused(Box<Problem>),
    Store(StoreError),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Failed::Store(error)
    }
}

impl From<Box<Problem>> for Failed {
    fn from(problem: Box<Problem>) -> Self {
        Failed::Refused(problem)
    }
}

impl From<Failed> for ProviderFault {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Refused(problem) => ProviderFault::Refused(problem),
            Failed::Store(error) => fault(&error),
        }
    }
}

/// Converts an error of the store for the client and the operator.
pub(crate) fn fault(error: &StoreError) -> ProviderFault {
    let refused = |problem| ProviderFault::Refused(Box::new(problem));
    let digits = error.status().digits();
    match error {
        StoreError::DuplicateKey { index, .. } => refused(Problem::duplicate_key(index.as_deref())),
        StoreError::NotFound { .. } => refused(Problem::no_record()),
        StoreError::LockTimeout { .. } | StoreError::Deadlock { .. } => refused(Problem::record_held()),
        StoreError::WrongLength { .. }
        | StoreError::TooLong { .. }
        | StoreError::MessageTooLong { .. }
        | StoreError::Immutable { .. }
        | StoreError::OutOfRange { .. } => refused(Problem::not_stored(format!("{error} (file status {digits})"))),
        StoreError::QueueFull { .. } => refused(Problem::store_full("the queue has as many messages as it may")),
        StoreError::Io { kind: std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded, .. } => {
            let problem = Problem::store_full("the store has no space left (file status 34)");
            refused(problem.logged(error.to_string()))
        }
        StoreError::Unknown { .. } => refused(Problem::unknown_outcome().logged(error.to_string())),
        StoreError::LimitReached { .. } => ProviderFault::Busy { retry_after: Duration::from_secs(1) },
        other => ProviderFault::Absent { reason: other.to_string() },
    }
}

/// A record file.
struct Records {
    store: Store,
    spec: FileSpec,
}

/// Creates a provider for a record file.
pub(crate) fn record_file(store: Store, spec: &FileSpec) -> Rc<dyn Provider> {
    Rc::new(Records { store, spec: spec.clone() })
}

impl Records {
    /// Opens the file anew, because an operator may alter it while the server runs.
    fn open(&self, unit: &Unit) -> Result<RecordFile, Failed> {
        let file = self.store.file(unit, &self.spec.file)?;
        match misfit(file.definition(), &self.spec) {
            None => Ok(file),
            Some(what) => Err(Failed::Store(StoreError::BadDefinition { name: self.spec.file.clone(), what })),
        }
    }

    async fn perform(&self, call: RecordCall) -> Result<Returned, ProviderFault> {
        match call.action {
            FileAction::Read => Ok(self.read(&call)?),
            FileAction::Browse => Ok(self.browse(&call)?),
            _ => self.change(&call).await,
        }
    }

    fn read(&self, call: &RecordCall) -> Result<Returned, Failed> {
        let unit = self.store.begin()?;
        let file = self.open(&unit)?;
        let by = match &call.index {
            Some(index) => By::Alternate(index, &call.key),
            None => By::Key(&call.key),
        };
        let record = file.read(&unit, by, Relation::Equal)?;
        call.conditions.check_read(&record.bytes)?;
        Ok(Returned::Record(record.bytes.to_vec()))
    }

    fn browse(&self, call: &RecordCall) -> Result<Returned, Failed> {
        let unit = self.store.begin()?;
        let file = self.open(&unit)?;
        let mut browse = match &call.index {
            Some(index) => file.browse_by(index)?,
            None => file.browse(),
        };
        let place = key_place(&file, call.index.as_deref());
        let (mut records, mut bytes) = (Vec::new(), 0);
        let by = match &call.index {
            Some(index) => By::Alternate(index, &call.key),
            None => By::Key(&call.key),
        };
        match &call.after {
            Some(after) => browse.resume(after),
            None if call.key.is_empty() => {}
            None => match browse.start(&unit, by, Relation::AtLeast) {
                Err(StoreError::NotFound { .. }) => return Ok(Returned::Records { records, next: None }),
                other => other?,
            },
        }
        let mut last = None;
        loop {
            let record = match browse.next(&unit) {
                Ok(record) => record,
                Err(StoreError::EndOfFile { .. }) => return Ok(Returned::Records { records, next: None }),
                Err(error) => return Err(error.into()),
            };
            let key = place.and_then(|place| place.of(&record.bytes)).unwrap_or_default();
            if call.matching != Matching::From && !key.starts_with(&call.key) {
                return Ok(Returned::Records { records, next: None });
            }
            // One more was read than the page holds: only then is there another page.
            if records.len() >= call.count || bytes >= PAGE_BYTES_MAX {
                return Ok(Returned::Records { records, next: last });
            }
            bytes += record.bytes.len();
            records.push(record.bytes.to_vec());
            last = browse.place().map(<[u8]>::to_vec);
        }
    }

    async fn change(&self, call: &RecordCall) -> Result<Returned, ProviderFault> {
        let mut attempt = 1;
        loop {
            let mut unit = self.store.begin().map_err(Failed::from)?;
            let file = self.open(&unit)?;
            match self.with_locks(&mut unit, |unit| made(unit, &file, call)).await {
                Err(Failed::Store(StoreError::Deadlock { .. })) if attempt < ATTEMPTS => attempt += 1,
                Err(failed) => return Err(failed.into()),
                Ok(returned) => {
                    unit.submit().await.map_err(Failed::from)?;
                    return Ok(returned);
                }
            }
        }
    }

    /// Makes a change again and again until every lock that it needs is free.
    async fn with_locks(
        &self,
        unit: &mut Unit,
        change: impl Fn(&mut Unit) -> Result<Returned, Failed>,
    ) -> Result<Returned, Failed> {
        let began = Instant::now();
        let tried = poll_fn(|cx| {
            unit.wake_for_locks(cx.waker());
            let mark = unit.mark();
            match change(unit) {
                Err(Failed::Store(StoreError::LockTimeout { .. })) => {
                    // A part of it may be done: the next attempt begins where this one did.
                    unit.back_to(mark);
                    Poll::Pending
                }
                other => Poll::Ready(other),
            }
        });
        tokio::time::timeout(self.spec.wait_limit, tried).await.unwrap_or_else(|_| {
            let waited_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let file = Some(self.spec.file.clone());
            Err(StoreError::LockTimeout { space: quayline_store::Space(0), file, waited_ms }.into())
        })
    }
}

/// Performs a request on the file, before the commit.
fn made(unit: &mut Unit, file: &RecordFile, call: &RecordCall) -> Result<Returned, Failed> {
    if call.action == FileAction::Insert {
        call.conditions.check(None)?;
        call.check(None, &call.record)?;
        file.insert(unit, &call.record)?;
        return Ok(Returned::Record(call.record.clone()));
    }
    let read = match file.read_for_update(unit, By::Key(&call.key), Relation::Equal, LockWait::Default) {
        Err(StoreError::NotFound { file }) => {
            call.conditions.check(None)?;
            return Err(StoreError::NotFound { file }.into());
        }
        other => other?,
    };
    call.conditions.check(Some(&read.bytes))?;
    if call.action == FileAction::Delete {
        file.delete(unit, &read)?;
        return Ok(Returned::Deleted);
    }
    let record = call.merged(&read.bytes);
    call.check(Some(&read.bytes), &record)?;
    if *record != *read.bytes {
        file.rewrite(unit, &read, &record)?;
    }
    Ok(Returned::Record(record))
}

fn key_place(file: &RecordFile, index: Option<&str>) -> Option<KeyPlace> {
    let definition = file.definition();
    match (index, definition.organisation) {
        (Some(name), _) => definition.alternates.iter().find(|index| index.name == name).map(|index| index.place),
        (None, Organisation::KeySequenced(place)) => Some(place),
        (None, _) => None,
    }
}

/// Returns the reason if a file does not match the service's definition.
fn misfit(definition: &FileDefinition, spec: &FileSpec) -> Option<String> {
    let is_at = |place: &KeyPlace, offset: usize, length: usize| {
        u32::try_from(offset) == Ok(place.offset) && u32::try_from(length) == Ok(place.length)
    };
    let shown = |place: &KeyPlace| format!("{} bytes at offset {}", place.length, place.offset);
    let Organisation::KeySequenced(place) = &definition.organisation else {
        return Some(format!("it is {}, and APIs need a key-sequenced file", definition.organisation.text()));
    };
    let key = &spec.key;
    if !is_at(place, key.offset, key.length) {
        let (length, offset) = (key.length, key.offset);
        return Some(format!("its key has {}, the field {} has {length} at offset {offset}", shown(place), key.field));
    }
    for index in &spec.indexes {
        let Some(known) = definition.alternates.iter().find(|known| known.name == index.name) else {
            return Some(format!("it has no alternate index {}", index.name));
        };
        let key = &index.key;
        if !is_at(&known.place, key.offset, key.length) {
            let (length, offset) = (key.length, key.offset);
            let place = shown(&known.place);
            return Some(format!(
                "its index {} has {place}, the field {} has {length} at offset {offset}",
                index.name, key.field
            ));
        }
    }
    let bytes = |bytes: u32| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (least, most) = spec.record_bytes;
    if most < bytes(definition.record_bytes_min) || least > bytes(definition.record_bytes_max) {
        let (min, max) = (definition.record_bytes_min, definition.record_bytes_max);
        return Some(format!("its records have {min} to {max} bytes, those of the copybook {least} to {most}"));
    }
    None
}

impl Provider for Records {
    fn call<'a>(&'a self, _: Outgoing<'_>, _: &dyn Fn() -> String) -> Answered<'a> {
        let reason = "an operation of a record file has an action".to_owned();
        Box::pin(std::future::ready(Err(ProviderFault::Absent { reason })))
    }

    fn act<'a>(&'a self, call: RecordCall) -> Answered<'a> {
        Box::pin(self.perform(call))
    }

    fn ready(&self) -> Result<(), String> {
        let unit = self.store.begin().map_err(|error| error.to_string())?;
        match self.open(&unit) {
            Ok(_) => Ok(()),
            Err(Failed::Store(error)) => Err(error.to_string()),
            Err(Failed::Refused(problem)) => Err(problem.detail),
        }
    }
}

/// A queue.
struct Messages {
    store: Store,
    spec: QueueSpec,
    length: usize,
    waiting: Rc<Waiting>,
    say: Say,
}

/// Requests that wait for replies, and those that no longer do.
#[derive(Default)]
struct Waiting {
    count: Cell<usize>,
    /// True if a task looks for late replies.
    looks: Cell<bool>,
    /// Requests that ended without their reply, and until when it is looked for.
    late: RefCell<VecDeque<(MessageId, Instant)>>,
}

/// Late replies that are looked for at once; the oldest are given up beyond.
const LATE_MAX: usize = 10_000;
/// Pause between two looks for late replies.
const LATE_LOOK: Duration = Duration::from_millis(500);

/// Creates a provider for a queue. `length` is the maximum length of a reply in bytes.
pub(crate) fn queue(store: Store, spec: &QueueSpec, length: usize, say: Say) -> Rc<dyn Provider> {
    Rc::new(Messages { store, spec: spec.clone(), length, waiting: Rc::default(), say })
}

/// A request that waits. If it ends without its reply, because its time is over or its client has left, the reply is looked for later.
struct Wait {
    waiting: Rc<Waiting>,
    id: MessageId,
    late_until: Duration,
    replied: bool,
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.waiting.count.set(self.waiting.count.get() - 1);
        if !self.replied {
            let mut late = self.waiting.late.borrow_mut();
            if late.len() >= LATE_MAX {
                late.pop_front();
            }
            late.push_back((self.id, Instant::now() + self.late_until));
        }
    }
}

impl Messages {
    async fn exchange(&self, payload: Vec<u8>) -> Result<Returned, ProviderFault> {
        let store = &self.store;
        let spec = &self.spec;
        let to = store.queue(&spec.queue).map_err(|error| fault(&error))?;
        let reply = spec.reply_queue.as_deref().map(|name| store.queue(name)).transpose();
        let reply = reply.map_err(|error| fault(&error))?;
        if reply.is_some() && self.waiting.count.get() >= spec.waiting_max {
            return Err(ProviderFault::Busy { retry_after: Duration::from_secs(1) });
        }
        let id = store.new_message_id();
        let message = Message {
            id,
            // A program that replies takes either of them for the correlation id of its reply.
            correlation: if reply.is_some() { id } else { [0; 24] },
            reply_to: spec.reply_queue.clone().unwrap_or_default(),
            priority: spec.priority,
            persistence: if spec.persistent { Persistence::Persistent } else { Persistence::NotPersistent },
            expires_ms: spec.expires.map_or(0, expires_ms),
            format: spec.format.clone(),
            payload,
            ..Message::default()
        };
        // Before the message can be got: a reply never comes before somebody waits for it.
        let mut wait = reply.as_ref().map(|queue| {
            self.waiting.count.set(self.waiting.count.get() + 1);
            self.look_for_late(queue);
            Wait { waiting: Rc::clone(&self.waiting), id, late_until: spec.late_limit, replied: false }
        });
        let put = async {
            let mut unit = store.begin()?;
            to.put(&mut unit, &message)?;
            drop(message);
            unit.submit().await
        };
        if let Err(error) = put.await {
            if let Some(wait) = &mut wait {
                wait.replied = true;
            }
            return Err(fault(&error));
        }
        let (Some(queue), Some(wait)) = (&reply, &mut wait) else { return Ok(Returned::Accepted(hex(&id))) };
        // The limit is that of the wait. A reply that has come is the answer, however long its commit takes: nothing would find it afterwards.
        let claimed = tokio::time::timeout(spec.time_limit, claim_reply(store, queue, id)).await;
        let claimed = claimed.map_err(|_| ProviderFault::Refused(Box::new(Problem::no_reply(spec.time_limit))))?;
        let claimed = claimed.map_err(|error| fault(&error))?;
        let replied = take_reply(store, queue, claimed, self.length).await.map_err(|error| fault(&error))?;
        wait.replied = true;
        match replied {
            Reply::Record(payload) => Ok(Returned::Bytes(payload)),
            Reply::TooLong(reason) => Err(ProviderFault::BadAnswer { reason }),
        }
    }

    /// Looks for replies without a waiting request and moves them to the backout queue. Runs while requests wait, or waited recently.
    fn look_for_late(&self, queue: &Queue) {
        if self.waiting.looks.replace(true) {
            return;
        }
        let (store, queue, waiting) = (self.store.clone(), queue.clone(), Rc::clone(&self.waiting));
        let say = Rc::clone(&self.say);
        tokio::task::spawn_local(async move {
            while waiting.count.get() > 0 || !waiting.late.borrow().is_empty() {
                tokio::time::sleep(LATE_LOOK).await;
                let now = Instant::now();
                let ids: Vec<_> = waiting.late.borrow_mut().drain(..).collect();
                for (id, until) in ids {
                    match move_late(&store, &queue, id).await {
                        Ok(true) => {}
                        Ok(false) if until <= now => {}
                        Ok(false) => waiting.late.borrow_mut().push_back((id, until)),
                        Err(error) => say(&format!(
                            "a reply for which no request waits stays on {}: {error}; define its backout queue",
                            queue.name()
                        )),
                    }
                }
            }
            waiting.looks.set(false);
        });
    }
}

/// Milliseconds since 1970 after a time from now.
fn expires_ms(after: Duration) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from((now + after).as_millis()).unwrap_or(u64::MAX)
}

/// Result of waiting for a reply.
enum Reply {
    /// The content of the reply.
    Record(Vec<u8>),
    /// The reply has more bytes than the service's record, and is on the backout queue. Why, for the log.
    TooLong(String),
}

/// Gets the reply to a request, committed. A reply that is longer than the record of the service would lose its end, so it moves to the
/// backout queue whole.
async fn claim_reply(store: &Store, queue: &Queue, id: MessageId) -> Result<(Claim, Box<Message>), StoreError> {
    // Otherwise, the queue would keep the waker of each request whose reply never arrives.
    let mut waiting = WaitingTask::new(queue);
    poll_fn(|cx| {
        waiting.notes(cx.waker());
        match queue.claim(store, Select::Correlation(id), Some(cx.waker())) {
            Ok(Claimed::Message(claim, message)) => Poll::Ready(Ok((claim, message))),
            Ok(Claimed::Nothing { .. }) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    })
    .await
}

async fn take_reply(
    store: &Store,
    queue: &Queue,
    (claim, message): (Claim, Box<Message>),
    length: usize,
) -> Result<Reply, StoreError> {
    let mut unit = store.begin()?;
    let bytes = message.payload.len();
    if bytes > length {
        let reason = format!("the reply has {bytes} bytes, the record of the service at most {length}");
        claim.move_to_backout(&mut unit, &reason, None).map_err(|failed| failed.1)?;
        unit.submit().await?;
        return Ok(Reply::TooLong(format!("{reason}; it is on the backout queue of {}", queue.name())));
    }
    claim.get(&mut unit)?;
    unit.submit().await?;
    Ok(Reply::Record(message.payload))
}

/// Moves a reply that came too late to the backout queue. Whether it came.
async fn move_late(store: &Store, queue: &Queue, id: MessageId) -> Result<bool, StoreError> {
    let Claimed::Message(claim, _) = queue.claim(store, Select::Correlation(id), None)? else { return Ok(false) };
    let mut unit = store.begin()?;
    claim
        .move_to_backout(&mut unit, "the request that it replies to waits no more", None)
        .map_err(|failed| failed.1)?;
    unit.submit().await?;
    Ok(true)
}

impl Provider for Messages {
    fn call<'a>(&'a self, record: Outgoing<'_>, _: &dyn Fn() -> String) -> Answered<'a> {
        let payload = record.to_vec();
        Box::pin(self.exchange(payload))
    }

    fn ready(&self) -> Result<(), String> {
        let mut names = std::iter::once(&self.spec.queue).chain(&self.spec.reply_queue);
        names.try_for_each(|name| self.store.queue(name).map(|_| ())).map_err(|error| error.to_string())
    }
}

/// Returns findings for record files and queues of services that are missing in the store or defined otherwise.
#[must_use]
pub fn store_misfits(store: &Store, definitions: &Definitions) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in &definitions.services {
        let place = service.file();
        match &service.provider {
            ProviderSpec::File(spec) => findings.extend(file_misfit(store, spec).map(|finding| (*finding).at(place))),
            ProviderSpec::Queue(spec) => {
                for name in std::iter::once(&spec.queue).chain(&spec.reply_queue) {
                    if let Err(error) = store.queue(name) {
                        let hint = format!("define it with `quayline queue define {name}`, or write another name");
                        let finding = Finding::error(STORE, Fault::Config, error.to_string());
                        findings.push(finding.at(place.clone()).hint(hint));
                    }
                }
            }
            _ => {}
        }
    }
    findings
}

/// Queues that `[serve.queues]` names and that the store does not have.
#[must_use]
pub fn queue_misfits(store: &Store, config: &ServeConfig) -> Vec<Finding> {
    let names = config.queues.iter().flat_map(|queues| queues.queue.keys());
    let missing = names.filter_map(|name| Some((name, store.queue(name).err()?)));
    let place = || Place { file: Some("quayline.toml".into()), ..Place::default() };
    let finding = |(name, error): (&String, StoreError)| {
        let hint = format!("define it with `quayline queue define {name}`, or remove [serve.queues.queue.{name}]");
        Finding::error(STORE, Fault::Config, error.to_string()).at(place()).hint(hint)
    };
    missing.map(finding).collect()
}

/// Queues whose poison messages have nowhere to go. Names that the store does not have are left to [`queue_misfits`] and to the flows.
///
/// # Errors
/// Errors of the medium.
pub fn backout_misfits<'n>(store: &Store, names: impl Iterator<Item = &'n str>) -> Result<Vec<Finding>, StoreError> {
    let unit = store.begin()?;
    let known = store.queues(&unit)?;
    let mut findings = Vec::new();
    for name in names.collect::<std::collections::BTreeSet<_>>() {
        let Ok(queue) = store.queue(name) else { continue };
        let definition = store.queue_definition(queue.name())?;
        let target = definition.backout_target();
        if definition.kind != QueueKind::Local
            || definition.backout_threshold == 0
            || known.iter().any(|known| known == target)
        {
            continue;
        }
        let message = format!(
            "queue {} has no backout queue: the store has no {target}, so a message that fails {} times is tried without end",
            definition.name, definition.backout_threshold
        );
        let hint = format!("define it with `quayline queue define {target}`, or name another with --backout-queue");
        findings.push(Finding::error(NO_BACKOUT, Fault::Config, message).hint(hint));
    }
    Ok(findings)
}

/// Returns the definition of a record file that a service names. `duplicates`: whether the keys of each index may repeat. `length_min`: bytes of the
/// shortest record of the layout.
#[must_use]
pub fn file_definition(spec: &FileSpec, duplicates: &[bool], length_min: usize) -> FileDefinition {
    let number = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    let place = |key: &quayline_gateway::FileKey| KeyPlace { offset: number(key.offset), length: number(key.length) };
    let index = |(index, repeated): (&quayline_gateway::FileIndex, &bool)| AlternateIndex {
        name: index.name.clone(),
        place: place(&index.key),
        duplicates: if *repeated { Duplicates::Allowed } else { Duplicates::Unique },
    };
    let (least, most) = spec.record_bytes;
    FileDefinition {
        name: spec.file.clone(),
        organisation: Organisation::KeySequenced(place(&spec.key)),
        record_bytes_min: number(least.min(length_min)),
        record_bytes_max: number(most),
        alternates: spec.indexes.iter().zip(duplicates).map(index).collect(),
    }
}

/// Returns a finding if a record file does not match a service's definition.
#[must_use]
pub fn file_misfit(store: &Store, spec: &FileSpec) -> Option<Box<Finding>> {
    let name = &spec.file;
    let (least, most) = spec.record_bytes;
    let record = if least == most { most.to_string() } else { format!("{least}-{most}") };
    let unit = match store.begin() {
        Ok(unit) => unit,
        Err(error) => return Some(Box::new(error.finding())),
    };
    let (why, hint) = match store.file(&unit, name) {
        Err(error) => {
            let (offset, length) = (spec.key.offset, spec.key.length);
            let index = |index: &quayline_gateway::FileIndex| {
                format!(" --index {}={}:{}", index.name, index.key.offset, index.key.length)
            };
            let indexes: String = spec.indexes.iter().map(index).collect();
            let duplicates =
                if indexes.is_empty() { "" } else { "; if keys of an index may repeat, add `:duplicates` to it" };
            let hint = format!(
                "define it with `quayline file define {name} --record {record} --key {offset}:{length}{indexes}`{duplicates}"
            );
            (error.to_string(), hint)
        }
        Ok(file) => {
            let what = misfit(file.definition(), spec)?;
            let hint = format!("`quayline file facts {name}` shows the file; change the service, or alter the file");
            (format!("the record file {name} does not match the service: {what}"), hint)
        }
    };
    Some(Box::new(Finding::error(STORE, Fault::Config, why).hint(hint)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::{Context, Wake, Waker};

    use quayline_store::queue::QueueDefinition;

    use super::*;

    struct Nobody;

    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }

    /// The queue kept the waker and the task of each request that ended without a reply, and compared all wakers at each put.
    #[test]
    fn a_queue_forgets_requests_whose_reply_did_not_come() {
        let engine = Arc::new(quayline_store::MemoryEngine::new());
        let clock = Arc::new(quayline_store::ManualClock::new(1, 1));
        let limits = quayline_store::StoreLimits::default();
        let store = Store::open(engine, clock, limits, quayline_store::Access::Write).expect("a store");
        let mut unit = store.begin().expect("a unit of work");
        store.define_queue(&mut unit, QueueDefinition::local("REPLIES")).expect("a queue");
        unit.commit().expect("committed");
        let queue = store.queue("REPLIES").expect("the queue");
        let task = Arc::new(Nobody);
        for id in 0..10u8 {
            let waker = Waker::from(Arc::clone(&task));
            let mut waits = Box::pin(claim_reply(&store, &queue, [id; 24]));
            assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(Arc::strong_count(&task), 1);
    }
}
