//! `quayline queue`.

use std::sync::atomic::Ordering;

use quayline_core::{Fault, Finding, Severity, hex};
use quayline_store::queue::{
    Browsed, Content, DrainStopped, GetWait, Message, MessageId, QueueChange, QueueDefinition, QueueKind, RetryOutcome,
    Select, USER_ID,
};
use quayline_store::{Clock as _, RollBack, Store, StoreError, SystemClock, expired_finding};
use quayline_store_embedded::Settings;

use super::{Missing, Opened, alone, from_hex, not_there, read_whole, stop};
use crate::args::{
    AlterQueueArgs, BrowseQueueArgs, DefineQueueArgs, DepthMarks, FolderArg, GetMessageArgs, PutMessageArgs, QueueArgs,
    QueueCommand, ServeQueuesArgs,
};
use crate::console::{Console, write_stdout};
use crate::exit::{CLI_PARTIAL, Exit, Stop, argument, once_each};
use crate::interrupt::stop_flag;
use crate::quantity::counted;

/// Beginning of the names of properties that hold AMQP's own parts of a message.
const OF_AMQP: &str = "amqp.";

/// Runs `quayline queue`.
pub(crate) fn run(args: &QueueArgs, console: &Console) -> Result<Exit, Stop> {
    let (place, missing) = match &args.command {
        QueueCommand::Define(args) => (&args.store, Missing::Create),
        QueueCommand::Alter(args) => (&args.store, Missing::Refuse),
        QueueCommand::Delete(args) => (&args.store, Missing::Refuse),
        QueueCommand::Browse(args) => (&args.store, Missing::RefuseToRead),
        QueueCommand::Depth(args) => (&args.store, Missing::RefuseToRead),
        QueueCommand::Move(args) => (&args.store, Missing::Refuse),
        QueueCommand::Purge(args) => (&args.store, Missing::Refuse),
        QueueCommand::Alias(args) => (&args.store, Missing::Refuse),
        QueueCommand::Retry(args) => (&args.store, Missing::Refuse),
        QueueCommand::Put(PutMessageArgs { store, .. })
        | QueueCommand::Get(GetMessageArgs { store, .. })
        | QueueCommand::Serve(ServeQueuesArgs { store, .. }) => {
            return run_here(&args.command, store, Missing::Refuse, console);
        }
    };
    match place.admin {
        Some(server) => super::remote::perform(&args.command, server, console),
        None => run_here(&args.command, &place.store, missing, console),
    }
}

/// Runs a command on a store that this process opens.
fn run_here(command: &QueueCommand, folder: &FolderArg, missing: Missing, console: &Console) -> Result<Exit, Stop> {
    let settings = match command {
        QueueCommand::Serve(_) => Settings::default(),
        // Each page is read once.
        _ => Settings { cache_bytes: 16 << 20, ..alone() },
    };
    let opened = Opened::open_with(folder, missing, settings)?;
    let done = perform(command, &opened.store, console);
    // Background work, such as the removal of expired messages, is written even if the command failed.
    let closed = opened.close(Exit::Done);
    let exit = done?;
    closed.map(|_| exit)
}

/// Remedy if a queue to delete has messages.
pub(super) const NOT_EMPTY: &str = "get or move them first, or add --with-messages";

fn perform(command: &QueueCommand, store: &Store, console: &Console) -> Result<Exit, Stop> {
    match command {
        QueueCommand::Define(args) => define_with(store, &args.name, defined(args)).map_err(stop)?,
        QueueCommand::Alter(args) => alter_with(store, &args.name, changed(args)?).map_err(stop)?,
        QueueCommand::Delete(args) => {
            let definition = store.queue_definition(&args.name).map_err(stop)?;
            if definition.kind == QueueKind::Local && !args.with_messages {
                let depth = store.queue(&args.name).and_then(|queue| queue.facts()).map_err(stop)?.depth;
                if depth > 0 {
                    let message = format!("queue {} has {}", args.name, messages(depth));
                    return Err(argument(message).hint(NOT_EMPTY).into());
                }
            }
            store.delete_queue(&args.name).map_err(stop)?;
        }
        QueueCommand::Put(args) => put(args, store)?,
        QueueCommand::Get(args) => return get(args, store, console),
        QueueCommand::Browse(args) => browse(args, store)?,
        QueueCommand::Depth(args) => depth(args.name.as_deref(), store, console)?,
        QueueCommand::Move(args) => {
            let (from, to) = (store.queue(&args.from).map_err(stop)?, store.queue(&args.to).map_err(stop)?);
            // A queue that is moved to itself would never be empty.
            if from.name() == to.name() {
                return Err(argument("both names are the same queue").hint("name another queue").into());
            }
            let step = |count| from.move_to(store, &to, count).map_err(|stopped| Partial::from(*stopped));
            return in_steps(args.count, "moved", step, console);
        }
        QueueCommand::Purge(args) => {
            let queue = store.queue(&args.name).map_err(stop)?;
            let step = |count| queue.purge_up_to(store, count).map_err(|stopped| Partial::from(*stopped));
            return in_steps(None, "dropped", step, console);
        }
        QueueCommand::Alias(args) => {
            let change = QueueChange { alias: Some(args.target.clone()), ..QueueChange::default() };
            define_with(store, &args.name, change).map_err(stop)?;
        }
        QueueCommand::Retry(args) => {
            let queue = store.queue(&args.name).map_err(stop)?;
            let RetryOutcome { returned, left } = queue.retry(store, args.count.unwrap_or(u64::MAX)).map_err(stop)?;
            say_retried(returned, left, console);
        }
        QueueCommand::Serve(args) => super::serve::run(args, store, console)?,
    }
    Ok(Exit::Done)
}

/// Messages of a step of a move or purge. Between two steps, Ctrl-C stops the command.
pub(super) const STEP: u64 = 10_000;

/// A step that failed.
pub(super) struct Partial {
    pub(super) stop: Stop,
    /// Messages of the step that are moved or dropped; `None` if only the server knows.
    pub(super) done: Option<u64>,
}

impl From<DrainStopped> for Partial {
    fn from(stopped: DrainStopped) -> Self {
        Partial { stop: stop(stopped.error), done: Some(stopped.done) }
    }
}

/// Moves or drops messages in steps and reports their number, also if a step fails or Ctrl-C stops the command.
pub(super) fn in_steps(
    count: Option<u64>,
    verb: &str,
    mut step: impl FnMut(u64) -> Result<u64, Partial>,
    console: &Console,
) -> Result<Exit, Stop> {
    let stopped = stop_flag()?;
    let (mut done, mut left) = (0, count.unwrap_or(u64::MAX));
    while left > 0 {
        let most = left.min(STEP);
        let count = match step(most) {
            Ok(count) => count,
            Err(Partial { stop: Stop::Findings(mut findings), done: of_step }) => {
                findings.0.extend(note_of(verb, done, of_step, most));
                return Err(findings.into());
            }
            Err(Partial { stop, .. }) => return Err(stop),
        };
        done += count;
        left = left.saturating_sub(count);
        if count < most {
            break;
        }
        if left > 0 && stopped.load(Ordering::Relaxed) {
            console.line(&format!("{} {verb} before the stop; the command did not reach the others", messages(done)));
            return Ok(Exit::Interrupted);
        }
    }
    console.line(&format!("{} {verb}", messages(done)));
    Ok(Exit::Done)
}

/// Creates the note about messages that were moved or dropped before a failure.
fn note_of(verb: &str, done: u64, of_step: Option<u64>, most: u64) -> Option<Finding> {
    let message = match of_step {
        Some(0) | None if done == 0 => return None,
        Some(of_step) => format!("{} {verb} before the failure", messages(done + of_step)),
        None => format!("{} {verb} before the failure, and perhaps up to {most} more", messages(done)),
    };
    let note = Finding { severity: Severity::Note, ..Finding::error(CLI_PARTIAL, Fault::Environment, message) };
    Some(note.hint("after the fix, repeat the command: it continues with the others"))
}

/// Reports the outcome of a retry.
pub(super) fn say_retried(returned: u64, left: u64, console: &Console) {
    console.line(&format!("{} returned", messages(returned)));
    if left > 0 {
        console.line(&match left {
            1 => "1 message stays: it does not name a queue on which it failed".to_owned(),
            _ => format!("{left} messages stay: they do not name a queue on which they failed"),
        });
    }
}

/// Formats a number of messages.
pub(super) fn messages(count: u64) -> String {
    counted(count, "message")
}

/// Attributes of a queue that is to be defined. The store has the defaults, and refuses an alias or topic with limits.
pub(super) fn defined(args: &DefineQueueArgs) -> QueueChange {
    args.marks.of(QueueChange {
        alias: args.alias.clone(),
        subscribers: subscribers(&args.subscriber),
        depth_max: args.depth_max,
        message_bytes_max: args.message_max,
        backout_threshold: args.backout_threshold,
        backout_queue: args.backout_queue.clone(),
        retry_ms: args.retry,
        ..QueueChange::default()
    })
}

fn subscribers(names: &[String]) -> Option<Vec<String>> {
    (!names.is_empty()).then(|| names.to_vec())
}

impl DepthMarks {
    fn of(&self, change: QueueChange) -> QueueChange {
        QueueChange {
            depth_high_mark: self.depth_high,
            depth_low_mark: self.depth_low,
            event_queue: self.event_queue.clone(),
            ..change
        }
    }
}

/// Refuses an alias that leads nowhere: now, not at the first message.
fn check_target(store: &Store, change: &QueueChange) -> Result<(), StoreError> {
    change.alias.as_ref().map_or(Ok(()), |target| store.queue(target).map(drop))
}

/// Defines a queue, alias or topic.
pub(super) fn define_with(store: &Store, name: &str, change: QueueChange) -> Result<(), StoreError> {
    let definition = change.applied_to(QueueDefinition::local(name))?;
    check_target(store, &change)?;
    let mut unit = store.begin()?;
    store.define_queue(&mut unit, definition)?;
    unit.commit().map(drop)
}

/// Changes a queue, alias or topic.
pub(super) fn alter_with(store: &Store, name: &str, change: QueueChange) -> Result<(), StoreError> {
    let definition = change.applied_to(store.queue_definition(name)?)?;
    check_target(store, &change)?;
    store.alter_queue(definition)
}

/// Attributes of a queue that are to change.
pub(super) fn changed(args: &AlterQueueArgs) -> Result<QueueChange, Stop> {
    let change = args.marks.of(QueueChange {
        alias: args.alias.clone(),
        subscribers: subscribers(&args.subscriber),
        depth_max: args.depth_max,
        message_bytes_max: args.message_max,
        backout_threshold: args.backout_threshold,
        backout_queue: args.backout_queue.clone(),
        retry_ms: args.retry,
        ..QueueChange::default()
    });
    if change.is_empty() {
        return Err(argument("the command names nothing to change")
            .hint("add one of the options of quayline queue alter --help")
            .into());
    }
    Ok(change)
}

/// Parses an id of up to 24 bytes, filled with zeros.
fn id(option: &str, digits: &str) -> Result<MessageId, Stop> {
    let bytes = from_hex(option, digits)?;
    let mut id = [0; 24];
    let Some(place) = id.get_mut(..bytes.len()) else {
        return Err(argument(format!("{option} has more than 48 digits")).hint("an id has 24 bytes").into());
    };
    place.copy_from_slice(&bytes);
    Ok(id)
}

fn put(args: &PutMessageArgs, store: &Store) -> Result<(), Stop> {
    let queue = store.queue(&args.name).map_err(stop)?;
    let mut message = Message { priority: args.priority, ..Message::new(read_whole(&args.message)?) };
    if let Some(expiry_ms) = args.expiry {
        message.expires_ms = SystemClock.now_ms().saturating_add(expiry_ms.max(1));
    }
    if let Some(digits) = &args.correlation {
        message.correlation = id("--correlation", digits)?;
    }
    if let (Some(digits), Some(sequence)) = (&args.group, args.sequence) {
        (message.group, message.group_sequence) = (id("--group", digits)?, sequence);
    }
    if let Some(digits) = &args.id {
        message.id = id("--id", digits)?;
        if message.id == [0; 24] {
            return Err(argument("--id has zeros only, which is not an id")
                .hint("write other digits, or leave it out")
                .into());
        }
    }
    message.reply_to = args.reply_to.clone().unwrap_or_default();
    message.format = args.format.clone().unwrap_or_default();
    for text in &args.property {
        message.properties.push(property(text)?);
    }
    once_each("--property", message.properties.iter().map(|(name, _)| name.as_str()))?;
    message.properties.extend(args.user_id.iter().map(|user| (USER_ID.to_owned(), user.clone().into_bytes())));
    let mut unit = store.begin().map_err(stop)?;
    let id = queue.put(&mut unit, &message).map_err(stop)?;
    // The unit of work has a copy, which may be long.
    drop(message);
    unit.commit().map_err(stop)?;
    write_stdout(format!("{}\n", hex(&id)).as_bytes())?;
    Ok(())
}

/// Parses a property of a message: NAME=VALUE.
fn property(text: &str) -> Result<(String, Vec<u8>), Stop> {
    let wrong = |what: String| Err(argument(what).hint("write NAME=VALUE, such as `--property customer=4711`").into());
    match text.split_once('=') {
        Some((name, _)) if name.starts_with(OF_AMQP) => {
            wrong(format!("--property: names that begin with {OF_AMQP} are those of AMQP's own parts of a message"))
        }
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.as_bytes().to_vec())),
        _ => wrong("--property has no name".to_owned()),
    }
}

fn get(args: &GetMessageArgs, store: &Store, console: &Console) -> Result<Exit, Stop> {
    let queue = store.queue(&args.name).map_err(stop)?;
    let select = match (&args.id, &args.correlation, &args.group) {
        (Some(digits), ..) => Select::Id(id("--id", digits)?),
        (None, Some(digits), _) => Select::Correlation(id("--correlation", digits)?),
        (None, None, Some(digits)) => Select::Group(id("--group", digits)?),
        (None, None, None) => Select::First,
    };
    let mut unit = store.begin().map_err(stop)?;
    let wait = GetWait::AtMostMs(args.wait.saturating_mul(1000));
    let got = queue.get(&mut unit, select, wait);
    let expired = queue.facts().map_or(0, |facts| facts.expired);
    if expired > 0 {
        console.findings(&[expired_finding(&args.name, expired)]);
    }
    let message = match got {
        Ok(message) => message,
        Err(error @ StoreError::NoMessage { .. }) => return Ok(not_there(&error.finding(), console)),
        Err(error) => return Err(stop(error)),
    };
    // The content is written before the message is removed; if that fails, the unit of work rolls back.
    let written = match args.json {
        true => write_stdout(message.as_json(Content::Included, None).as_bytes()),
        false => write_stdout(&message.payload),
    };
    if let Err(error) = written {
        // The message has no part in this failure.
        unit.roll_back_as(RollBack::Ended);
        return Err(error.into());
    }
    unit.commit().map_err(stop)?;
    Ok(Exit::Done)
}

/// Bytes of messages that are in memory at once, the last one not counted.
const BROWSED_BYTES: usize = 1 << 20;

fn browse(args: &BrowseQueueArgs, store: &Store) -> Result<(), Stop> {
    let queue = store.queue(&args.name).map_err(stop)?;
    let unit = store.begin().map_err(stop)?;
    let (mut left, mut after) = (args.count, None);
    while left > 0 {
        let page = queue.browse_within(&unit, after, left, BROWSED_BYTES, Content::LeftOut).map_err(stop)?;
        let Some(last) = page.last() else { break };
        after = Some(last.after);
        left -= page.len();
        write_stdout(page.into_iter().map(|browsed| line_of(browsed, args.json)).collect::<String>().as_bytes())?;
    }
    Ok(())
}

fn line_of(browsed: Browsed, json: bool) -> String {
    if json {
        return browsed.as_json();
    }
    let message = browsed.message;
    line(&MessageLine {
        id: &hex(&message.id),
        correlation: &hex(&message.correlation),
        priority: message.priority.into(),
        bytes: browsed.bytes,
        backouts: message.backout_count.into(),
        reason: &message.reason,
        due_ms: browsed.due_ms,
    })
}

/// What a line shows of a message.
pub(super) struct MessageLine<'m> {
    pub(super) id: &'m str,
    pub(super) correlation: &'m str,
    pub(super) priority: u64,
    pub(super) bytes: u64,
    pub(super) backouts: u64,
    pub(super) reason: &'m str,
    pub(super) due_ms: Option<u64>,
}

/// Formats a message as a line.
pub(super) fn line(message: &MessageLine<'_>) -> String {
    let MessageLine { id, correlation, priority, bytes, backouts, reason, due_ms } = message;
    let mut text = format!("{id}  correlation {correlation}  priority {priority}  {bytes} bytes  backouts {backouts}");
    if !reason.is_empty() {
        text.push_str(&format!("  {reason}"));
    }
    if let Some(due_ms) = due_ms {
        text.push_str(&format!("  comes again in {} ms", due_ms.saturating_sub(SystemClock.now_ms())));
    }
    text.push('\n');
    text
}

fn depth(name: Option<&str>, store: &Store, console: &Console) -> Result<(), Stop> {
    let unit = store.begin().map_err(stop)?;
    let is_list = name.is_none();
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => store.queues(&unit).map_err(stop)?,
    };
    let (mut text, mut findings) = (String::new(), Vec::new());
    for name in names {
        let queue = match store.queue(&name) {
            Ok(queue) => queue,
            // In a list, one name that leads nowhere does not hide the others.
            Err(StoreError::QueueMissing { name: missing }) if is_list && missing != name => {
                text.push_str(&format!("{name}  leads to {missing}, which does not exist\n"));
                continue;
            }
            Err(error) => return Err(stop(error)),
        };
        findings.extend(queue.poison_finding(store).ok().flatten());
        match queue.facts() {
            Ok(facts) => text.push_str(&format!("{name}  {}\n", facts.depth)),
            // A topic keeps no messages.
            Err(_) => text.push_str(&format!("{name}  topic\n")),
        }
    }
    write_stdout(text.as_bytes())?;
    console.findings(&findings);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_reports_all_messages_of_the_steps_before() {
        let failed = |done| {
            let mut steps = vec![Err(Partial { stop: stop(StoreError::ReadOnly), done }), Ok(STEP), Ok(STEP)];
            let mut step = |most| {
                assert_eq!(most, STEP);
                steps.pop().expect("no step after a failure")
            };
            match in_steps(None, "moved", &mut step, &Console::plain()) {
                Err(Stop::Findings(findings)) => findings.0.last().map(|finding| finding.message.clone()),
                _ => None,
            }
        };
        assert_eq!(failed(Some(7)).as_deref(), Some("20007 messages moved before the failure"));
        let unknown = "20000 messages moved before the failure, and perhaps up to 10000 more";
        assert_eq!(failed(None).as_deref(), Some(unknown));
    }

    #[test]
    fn steps_end_at_the_count_and_at_the_end_of_the_queue() {
        let mut requested = Vec::new();
        let mut step = |most| {
            requested.push(most);
            Ok(most)
        };
        assert!(matches!(in_steps(Some(STEP + 3), "moved", &mut step, &Console::plain()), Ok(Exit::Done)));
        let mut last = |most| {
            requested.push(most);
            Ok(most - 1)
        };
        assert!(matches!(in_steps(None, "dropped", &mut last, &Console::plain()), Ok(Exit::Done)));
        assert_eq!(requested, [STEP, 3, STEP]);
    }
}
