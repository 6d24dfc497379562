//! Messages that failed too often, back to the queue that they came from.

use super::json::Content;
use super::window::Select;
use super::{GetWait, Queue};
use crate::roll_back::{Cause, RollBack};
use crate::{Store, StoreError};

/// Property with the name of the queue that a message left when it reached its threshold.
pub const FAILED_ON: &str = "quayline.failed-on";

/// Property with the code of the finding that made a message fail for the last time.
pub const FAILURE_CODE: &str = "quayline.failure-code";

/// Property with the place of that finding, such as flow and node.
pub const FAILURE_PLACE: &str = "quayline.failure-place";

/// Property with the text of that finding.
pub const FAILURE_TEXT: &str = "quayline.failure-text";

/// Returns true if a property describes why a message is on a backout queue.
pub(super) fn of_failure(name: &str) -> bool {
    [FAILED_ON, FAILURE_CODE, FAILURE_PLACE, FAILURE_TEXT].contains(&name)
}

/// Sets the properties that describe why a message failed, in place of those of an earlier failure.
pub fn set_cause(properties: &mut Vec<(String, Vec<u8>)>, cause: Option<&Cause>) {
    properties.retain(|(name, _)| !of_failure(name));
    if let Some(Cause { code, place, text }) = cause {
        let carried = [(FAILURE_CODE, code), (FAILURE_PLACE, place), (FAILURE_TEXT, text)];
        properties.extend(carried.map(|(name, value)| (name.to_owned(), value.clone().into_bytes())));
    }
}

/// Number of messages read at once.
const PAGE: usize = 200;
/// Bytes of their headers and of content that is stored with them, the last one not counted. Default 1 MB.
const PAGE_BYTES: usize = 1 << 20;

/// Outcome of [`Queue::retry`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RetryOutcome {
    /// Messages that are on their own queue again.
    pub returned: u64,
    /// Messages that stay because they do not name their original queue or it is missing.
    pub left: u64,
}

impl Queue {
    /// Puts up to `count` messages of a backout or dead-letter queue back on the queues on which they failed, each in a separate unit of work. Their
    /// reason is removed and their backout count reset. Other messages stay.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`] and [`StoreError::MessageTooLong`] of those queues; messages returned before the error stay returned.
    pub fn retry(&self, store: &Store, count: u64) -> Result<RetryOutcome, StoreError> {
        let mut outcome = RetryOutcome::default();
        let mut after = None;
        while outcome.returned < count {
            let page = {
                let unit = store.begin()?;
                let most = usize::try_from(count - outcome.returned).unwrap_or(PAGE).min(PAGE);
                self.browse_within(&unit, after, most, PAGE_BYTES, Content::LeftOut)?
            };
            let Some(last) = page.last() else { break };
            after = Some(last.after);
            for browsed in page {
                if outcome.returned == count {
                    break;
                }
                match self.retry_one(store, &browsed.message)? {
                    true => outcome.returned += 1,
                    false => outcome.left += 1,
                }
            }
        }
        Ok(outcome)
    }

    fn retry_one(&self, store: &Store, seen: &super::Message) -> Result<bool, StoreError> {
        if origin_of(store, seen)?.is_none() {
            return Ok(false);
        }
        // With a topic, several messages with one id may be here, each from a different queue. The ones before wait in units of work of their own.
        let mut others = Vec::new();
        let found = loop {
            let mut unit = store.begin()?;
            match self.get(&mut unit, Select::Id(seen.id), GetWait::No) {
                Ok(message) if failed_on(&message) == failed_on(seen) => break Ok(Some((unit, message))),
                Ok(_) => others.push(unit),
                // Another get took it in the meantime.
                Err(StoreError::NoMessage { .. }) => break Ok(None),
                Err(error) => break Err(error),
            }
        };
        others.into_iter().for_each(|unit| unit.roll_back_as(RollBack::Ended));
        let Some((mut unit, mut message)) = found? else { return Ok(false) };
        let Some(target) = origin_of(store, &message)? else {
            unit.roll_back_as(RollBack::Ended);
            return Ok(false);
        };
        message.reason.clear();
        message.properties.retain(|(name, _)| !of_failure(name));
        if let Err(error) = target.put(&mut unit, &message) {
            // The message was not processed, so this does not count as a rollback.
            unit.roll_back_as(RollBack::Ended);
            return Err(error);
        }
        unit.commit()?;
        Ok(true)
    }
}

/// Returns the name of the queue on which a message failed.
fn failed_on(message: &super::Message) -> Option<&[u8]> {
    message.properties.iter().find(|(name, _)| name == FAILED_ON).map(|(_, name)| &name[..])
}

/// Returns the queue on which a message failed, if its properties name one that exists.
fn origin_of(store: &Store, message: &super::Message) -> Result<Option<Queue>, StoreError> {
    let Some(origin) = failed_on(message).and_then(|name| std::str::from_utf8(name).ok()) else { return Ok(None) };
    match store.queue(origin) {
        Ok(target) => Ok(Some(target)),
        Err(StoreError::QueueMissing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
