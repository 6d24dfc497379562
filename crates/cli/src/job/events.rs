//! Kept events of jobs: `quayline job events`, `GET /batch/events` and the stream of server-sent events.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quayline_batch::event::{Event, EventPage, EventPosition, EventsWanted, Keeping};
use quayline_batch::log::line_of;
use quayline_batch::record::ExecutionId;
use quayline_batch::{BatchError, Relay, Repository};
use quayline_core::{Fault, Finding, Findings};
use quayline_project::job::events::topics_hint;
use quayline_project::job::{EventSettings, TopicFilter};
use quayline_server::AdminStream;
use quayline_store::Store;
use serde_json::{Value, json};

use super::ask::{self, Question};
use crate::args::JobEventsArgs;
use crate::console::{Console, write_stdout};
use crate::exit::{Exit, Stop, argument};
use crate::interrupt;

/// Events that are read at once.
const READ: usize = 500;
/// Between two looks for new events.
const LOOK: Duration = Duration::from_secs(1);

/// Reads `jobs/events.toml` of a project. `store` has the queue of `topic`; without it, another process moves the events to that queue.
pub(crate) fn keeping(
    project: &Path,
    store: Option<&Store>,
    repository: &Repository,
) -> Result<Option<Keeping>, Findings> {
    let Some(EventSettings { keep: filter, checkpoint_sample_ms, retain, topic }) = EventSettings::open(project)?
    else {
        return Ok(None);
    };
    let mut keeping = Keeping { filter, checkpoint_sample_ms, retain, queue: None, relay: None };
    if let (Some(name), Some(store)) = (&topic, store) {
        let queue = store.queue(name).map_err(|error| {
            let message = format!("jobs/events.toml: topic `{name}`: {error}");
            let finding = Finding::error(crate::exit::CLI_INPUT, Fault::Config, message);
            Findings::from(finding.hint("define it with quayline queue define, or remove `topic`"))
        })?;
        match repository.is_shared() {
            true => keeping.relay = Some(Arc::new(Relay::new(store.clone(), queue, filter))),
            false => keeping.queue = Some(queue),
        }
    }
    Ok(Some(keeping))
}

/// Moves kept events to the queue of `topic`. Returns the reason if some of them wait in the repository.
pub(super) fn relay(keeping: Option<&Keeping>, repository: &Repository) -> Option<String> {
    match keeping?.relay.as_ref()?.run(repository) {
        Ok(true) => None,
        Ok(false) => Some("the queue of `topic` is full, so events wait in the job repository".to_owned()),
        Err(error) => Some(format!("events for `topic` wait in the job repository: {error}")),
    }
}

/// Reads patterns of topics. Without a pattern, the filter accepts every topic.
pub(super) fn topics<'p>(patterns: impl Iterator<Item = &'p str>) -> Result<TopicFilter, Findings> {
    let filter = TopicFilter::of(patterns).map_err(|pattern| {
        Findings::from(argument(format!("`{pattern}` names no topic of events")).hint(topics_hint()))
    })?;
    Ok(if filter == TopicFilter::default() { TopicFilter::ALL } else { filter })
}

/// Formats a page as a response.
pub(super) fn page_json(page: &EventPage) -> Value {
    let events: Vec<Value> = page.events.iter().map(|(at, event)| event_json(*at, event)).collect();
    json!({ "events": events, "next": page.next.to_string(), "removed": page.removed })
}

fn event_json(at: EventPosition, event: &Event) -> Value {
    let mut value = event.json();
    value["position"] = json!(at.to_string());
    value
}

/// Formats a page as lines, after a line with the position of the next page.
pub(super) fn page_text(page: &EventPage, as_json: bool) -> String {
    let mut text = format!("{}\n", page.next);
    if page.removed && !as_json {
        text.push_str("(events after that position were removed)\n");
    }
    for (at, event) in &page.events {
        let _ = match as_json {
            true => writeln!(text, "{}", event_json(*at, event)),
            false => writeln!(text, "{at}  {}  (job {}, execution {})", line_of(event), event.job, event.execution),
        };
    }
    text
}

/// Prints kept events, and with `--follow` those that come.
pub(super) fn print(args: &JobEventsArgs, console: &Console) -> Result<Exit, Stop> {
    let wanted = EventsWanted {
        topics: topics(args.topic.iter().map(String::as_str))?,
        job: args.job.clone(),
        execution: args.execution.map(ExecutionId),
    };
    let mut after = match &args.after {
        None => EventPosition::default(),
        Some(text) => text.parse().map_err(|()| {
            Stop::from(
                argument(format!("--after {text} is not a position"))
                    .hint("take a position that this command has printed"),
            )
        })?,
    };
    let signalled = interrupt::stop_flag()?;
    let mut left = args.count;
    loop {
        let count = left.unwrap_or(READ).min(READ);
        let question = Question::Events { wanted: wanted.clone(), after, count, json: args.json };
        let text = ask::text_of(&args.place, &question)?;
        let (next, lines) = text.split_once('\n').unwrap_or((&text, ""));
        write_stdout(lines.as_bytes())?;
        let next = next.parse().unwrap_or(after);
        let is_at_end = next == after;
        after = next;
        left = left.map(|left| left.saturating_sub(lines.lines().count()));
        if left == Some(0) || signalled.load(Ordering::Relaxed) || (is_at_end && !args.follow) {
            break;
        }
        if is_at_end {
            std::thread::sleep(LOOK);
        }
    }
    if !args.json && !args.follow {
        console.paragraph(&format!("to continue: quayline job events --after {after}"));
    }
    Ok(Exit::Done)
}

/// Server-sent events (WHATWG HTML, section 9.2): each kept event has its position as the id, so that a reconnecting client gets the missed events.
pub(super) struct EventStream {
    repository: Arc<Repository>,
    wanted: EventsWanted,
    after: EventPosition,
    /// Events to be sent first.
    first: VecDeque<String>,
}

impl EventStream {
    /// Creates a stream after a position; by default, it begins with the next event.
    pub(super) fn new(
        repository: Arc<Repository>,
        wanted: EventsWanted,
        after: Option<EventPosition>,
    ) -> Result<EventStream, BatchError> {
        let mut first = VecDeque::from(["retry: 2000\n\n".to_owned()]);
        let after = match after {
            Some(after) => {
                if repository.events_removed_after(after)? {
                    first.push_back("event: batch/removed\ndata: {\"removed\":true}\n\n".to_owned());
                }
                after
            }
            None => repository.newest_event()?,
        };
        Ok(EventStream { repository, wanted, after, first })
    }
}

impl AdminStream for EventStream {
    fn next(&mut self) -> Option<Vec<u8>> {
        if let Some(first) = self.first.pop_front() {
            return Some(first.into_bytes());
        }
        // A database that does not answer may answer the next time; the client has missed nothing then.
        let Ok(found) = self.repository.events(self.after, READ) else { return Some(Vec::new()) };
        let mut text = String::new();
        for (at, event) in found {
            self.after = at;
            if self.wanted.has(&event) {
                let _ = write!(text, "id: {at}\nevent: batch/{}\ndata: {}\n\n", event.topic, event_json(at, &event));
            }
        }
        Some(text.into_bytes())
    }
}
