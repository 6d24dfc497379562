//! Groups of an `aggregate` node whose time is over: each becomes a message, and one that fails waits and is sent again.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use quayline_project::FlowNode;
use quayline_store::queue::{Message, MessageId};
use quayline_store::{Cause, Unit};
use tokio::time::Instant;

use crate::aggregate::{GroupPlace, Groups, Overdue, Search};
use crate::failure::Failure;
use crate::run::Run;
use crate::taken::Failures;

/// Pause while a unit of work adds to a group whose time is over.
const LOCKED_PAUSE: Duration = Duration::from_millis(10);
/// Longest pause between two looks for such groups.
const GROUP_LOOK: Duration = Duration::from_secs(60);

/// The groups of one node, and what is known of those that failed.
pub(crate) struct Expired {
    groups: Groups,
    timeout: Duration,
    /// Terminal by which they leave.
    pub(crate) terminal: &'static str,
    /// Time at which groups of earlier runs are due at the latest, until all are.
    latest_ms: Option<u64>,
    failures: Failures<GroupPlace>,
    /// End of the pause of each group that failed.
    pauses: HashMap<GroupPlace, Instant>,
    /// The group that is sent now, by its message id.
    sent: HashMap<MessageId, GroupPlace>,
    /// The present search, and whether it found a group.
    search: Option<(Search, bool)>,
}

/// A group as a message, in the unit of work that removes it.
pub(crate) struct ExpiredGroup {
    pub(crate) unit: Unit,
    pub(crate) header: Message,
    pub(crate) content: Vec<u8>,
    /// Key of the group, and the number of its parts.
    pub(crate) group: Rc<(String, u64)>,
    /// Queue that it moves to instead, and why.
    pub(crate) backout: Option<(String, Cause)>,
}

/// Result of a look.
pub(crate) enum Look {
    Group(Box<ExpiredGroup>),
    /// Look again after this time.
    After(Duration),
}

impl Expired {
    pub(crate) fn new(run: &Run<'_>, node: &FlowNode) -> Expired {
        let timeout = Duration::from_millis(node.number("timeout").unwrap_or(1_000));
        let counts = node.property("count").is_some() || node.property("last").is_some();
        Expired {
            groups: Groups::new(&run.name, &node.name, node.text("join")),
            timeout,
            terminal: if counts { "incomplete" } else { "out" },
            latest_ms: Some(after(run.even_ms(), timeout)),
            failures: Failures::new(&run.name, node),
            pauses: HashMap::new(),
            sent: HashMap::new(),
            search: None,
        }
    }

    /// Looks for a group whose time is over.
    pub(crate) fn look(&mut self, run: &Run<'_>) -> Result<Look, Failure> {
        // What this run adds is due within the timeout, too, so a later pass would find nothing new.
        if let Some(latest) = self.latest_ms {
            if !self.groups.bring_forward(&run.store, latest.max(after(run.even_ms(), self.timeout)))? {
                return Ok(Look::After(LOCKED_PAUSE));
            }
            self.latest_ms = None;
        }
        let (now_ms, now) = (run.even_ms(), Instant::now());
        let pause = loop {
            let mut unit = run.store.begin()?;
            let (search, found) = self.search.get_or_insert_with(|| (self.groups.search(now_ms), false));
            let waits = |place: &GroupPlace| self.pauses.get(place).is_some_and(|until| *until > now);
            match self.groups.overdue(&mut unit, search, waits)? {
                Overdue::Group(complete) => {
                    *found = true;
                    self.pauses.remove(&complete.place);
                    self.sent.insert(complete.id, complete.place);
                    let mut header = Message { put_ms: now_ms, id: complete.id, ..Message::default() };
                    let backout = self.failures.count(&complete.place, &mut header);
                    let (content, group) = (complete.content, complete.group);
                    return Ok(Look::Group(Box::new(ExpiredGroup { unit, header, content, group, backout })));
                }
                // Others became due, and pauses ended, while this search sent its groups.
                _ if self.search.take().is_some_and(|(_, found)| found) => {}
                Overdue::Locked => break LOCKED_PAUSE,
                // A group that begins now is due after the whole time.
                Overdue::Next(due_ms) => {
                    // This search would have found a group whose pause is over, so that group became complete in another way.
                    let Expired { pauses, failures, .. } = self;
                    pauses.retain(|place, until| {
                        let waits = *until > now;
                        if !waits {
                            failures.forget(place);
                        }
                        waits
                    });
                    let pause = due_ms
                        .map_or(self.timeout, |due_ms| Duration::from_millis(due_ms.saturating_sub(now_ms)))
                        .clamp(LOCKED_PAUSE, GROUP_LOOK);
                    break pause;
                }
            }
        };
        let again = self.pauses.values().min().map(|until| until.saturating_duration_since(now).max(LOCKED_PAUSE));
        Ok(Look::After(again.map_or(pause, |again| again.min(pause))))
    }

    /// Takes note of the end of the unit of work of a group. Other groups do not wait for one that failed.
    pub(crate) fn ended(&mut self, id: MessageId, is_good: bool, why: Option<Cause>) {
        let Some(place) = self.sent.remove(&id) else { return };
        if is_good {
            self.failures.forget(&place);
        } else {
            self.pauses.insert(place, Instant::now() + self.failures.add(place, why));
        }
    }
}

fn after(now_ms: u64, timeout: Duration) -> u64 {
    now_ms.saturating_add(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
}
