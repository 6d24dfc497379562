//! The answers to requests with an `Idempotency-Key`, so that a repeated request has no second effect.
//!
//! ```text
//! checkpoint "flow-answer/FLOW/NODE/" + digest of the user, if the node has `user_header` + digest of the key
//!     ─▶ version (1 byte), time of the end (8), digest of the content (16), status (2), length of the content type (2), content type, content of the
//!        answer
//! checkpoint "flow-answer-end/FLOW/NODE/" + time of the end (8 bytes, big-endian) + the digests ─▶ empty
//! ```
//!
//! The second entry finds the answers that are too old without a look at the others. Answers of earlier versions have none: a pass over all answers at the
//! start of the flow removes those that are too old.
//!
//! A key belongs to the user who chose it: a user who sends the key of another one learns neither the answer nor that the key is in use. Each digest is
//! separate because the user is what the proxy says, while the key is any text of the client: no choice of a key reaches an entry of another user.
//!
//! The answer commits with what the flow makes of the request, so both are there or neither is. While the request is processed, its unit of work holds the
//! lock of the entry, also among several processes on one store. A request that failed left nothing and may be repeated; its message has the same id then, so a
//! pass over a record file resumes and servers that the flow asks recognize the repetition.
//!
//! Source: draft-ietf-httpapi-idempotency-key-header: 409 while the first request is processed, 422 for another content.

use std::ops::Bound;
use std::rc::Rc;
use std::time::Duration;

use quayline_project::FlowNode;
use quayline_store::queue::{MessageId, USER_ID};
use quayline_store::{Clock, Direction, KeyRange, LockWait, Page, PageLimit, Space, Store, StoreError, Unit};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::failure::Failure;
use crate::http::{Answer, Asked, Outcome};
use crate::message::Received;
use crate::run::{Run, Work};

/// Time for which an answer is kept, where the node says nothing. Default 1 day.
const REMEMBER_MS: u64 = 24 * 3_600_000;
/// Longest content of an answer that is kept. Default 1 MiB; of a longer one, a repeated request gets the status.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Pause between two looks for answers that are too old, and between two pages of one look.
const LOOK: (Duration, Duration) = (Duration::from_secs(60), Duration::from_millis(20));
/// Prefixes of the entries.
const ANSWERS: &str = "flow-answer/";
const ENDS: &str = "flow-answer-end/";
/// Version of the entries.
const VERSION: u8 = 1;
/// Bytes before the content type.
const HEAD: usize = 29;

/// A request that an answer is kept for.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    /// Name of the entry.
    entry: Rc<str>,
    content: u128,
    /// The id of its message.
    pub(crate) id: MessageId,
}

/// State of a request in the store.
pub(crate) enum Known {
    /// The request is new; the unit of work now has its entry.
    New(Asking),
    /// The request is being processed.
    Busy,
    /// The request was answered.
    Answered(Answer),
    /// The key was used with other content.
    OtherContent,
}

impl Known {
    /// Returns the outcome of a request that is not new.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Known::New(_) | Known::Busy => Outcome::Busy,
            Known::Answered(answer) => Outcome::Answer(answer),
            Known::OtherContent => Outcome::OtherContent,
        }
    }
}

/// The answers of one node.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    prefix: String,
    ends: String,
    has_users: bool,
}

impl Answers {
    pub(crate) fn new(flow: &str, node: &FlowNode) -> Answers {
        let (prefix, ends) = (format!("{ANSWERS}{flow}/{}/", node.name), format!("{ENDS}{flow}/{}/", node.name));
        Answers { prefix, ends, has_users: node.text("user_header").is_some() }
    }

    /// Returns the name of the entry for a key of a user. Requests without a user share their keys.
    fn entry(&self, user: &[u8], key: &str) -> String {
        let user = if self.has_users { format!("{:032x}", xxh3_128(user)) } else { String::new() };
        format!("{}{user}{:032x}", self.prefix, xxh3_128(key.as_bytes()))
    }

    /// Looks for an earlier request of the same user with the same key.
    pub(crate) fn look(&self, unit: &mut Unit, key: &str, asked: &Asked, now_ms: u64) -> Result<Known, StoreError> {
        let user = asked.context.iter().find(|(name, _)| name == USER_ID);
        let entry = self.entry(user.map_or(&[], |(_, user)| user), key);
        let content = &*asked.content;
        let digest = xxh3_128(content);
        match unit.lock(Space::CHECKPOINTS, entry.as_bytes(), LockWait::No) {
            Ok(()) => {}
            Err(StoreError::LockTimeout { .. }) => return Ok(Known::Busy),
            Err(error) => return Err(error),
        }
        let kept = unit.checkpoint(&entry)?;
        if let Some((end_ms, asked, answer)) = kept.as_deref().and_then(read)
            && end_ms > now_ms
        {
            return Ok(if asked == digest { Known::Answered(answer) } else { Known::OtherContent });
        }
        let mut id = [0; 24];
        id[..16].copy_from_slice(&xxh3_128(entry.as_bytes()).to_be_bytes());
        id[16..].copy_from_slice(&xxh3_64(content).to_be_bytes());
        Ok(Known::New(Asking { entry: entry.into(), content: digest, id }))
    }

    /// Removes answers that are too old, from now on.
    pub(crate) async fn forget(self, store: Store, clock: std::sync::Arc<dyn Clock>) {
        let mut is_first = true;
        loop {
            tokio::time::sleep(LOOK.0).await;
            for prefix in [&self.prefix, &self.ends].into_iter().skip(usize::from(!is_first)) {
                let mut next = Some(Bound::Included(prefix.as_bytes().to_vec()));
                while let Some(from) = next.take() {
                    // What cannot be removed now is removed at the next look.
                    next = self.forget_page(&store, clock.now_ms(), prefix, &from).unwrap_or_default();
                    tokio::time::sleep(LOOK.1).await;
                }
            }
            is_first = false;
        }
    }

    /// Removes the answers of one page of entries that are too old: of all, or of the ends before now. Returns where the next page begins.
    fn forget_page(
        &self,
        store: &Store,
        now_ms: u64,
        prefix: &str,
        from: &Bound<Vec<u8>>,
    ) -> Result<Option<Bound<Vec<u8>>>, StoreError> {
        let mut unit = store.begin()?;
        let mut page = Page::default();
        let range = KeyRange::ALL.after(Direction::Forward, from);
        unit.page(Space::CHECKPOINTS, range, Direction::Forward, PageLimit::default(), &mut page)?;
        let mut next = page.next.take();
        let is_over = |entry: &[u8]| read(entry).is_none_or(|(end_ms, ..)| end_ms <= now_ms);
        for (key, found) in page.iter() {
            let rest = key.strip_prefix(prefix.as_bytes());
            let name = match rest.map(|rest| rest.split_first_chunk::<8>()) {
                Some(Some((end_ms, digests))) if *prefix == self.ends && u64::from_be_bytes(*end_ms) <= now_ms => {
                    [self.prefix.as_bytes(), digests].concat()
                }
                Some(_) if *prefix == self.prefix => key.to_vec(),
                _ => {
                    next = None;
                    break;
                }
            };
            if !is_over(found) {
                continue;
            }
            // Another request may have replaced the answer since it was read, and one that is in use is replaced next.
            let answer = match unit.read_for_update(Space::CHECKPOINTS, &name, LockWait::No) {
                Ok(answer) => answer,
                Err(StoreError::LockTimeout { .. }) => continue,
                Err(error) => return Err(error),
            };
            if answer.as_deref().is_some_and(is_over) {
                unit.delete(Space::CHECKPOINTS, &name)?;
            }
            if name != key && unit.lock(Space::CHECKPOINTS, key, LockWait::No).is_ok() {
                unit.delete(Space::CHECKPOINTS, key)?;
            }
        }
        if !unit.is_empty() {
            // Nobody waits: what comes back after a crash is removed at the next look.
            unit.submit_with(Box::new(|_| ()));
        }
        Ok(next)
    }
}

/// Returns the name of the entry that finds an answer by its end.
fn end_of(name: &str, end_ms: u64) -> Vec<u8> {
    let (owner, digests) = name.rsplit_once('/').unwrap_or_default();
    let owner = owner.strip_prefix(ANSWERS).unwrap_or_default();
    [ENDS.as_bytes(), owner.as_bytes(), b"/", &end_ms.to_be_bytes(), digests.as_bytes()].concat()
}

impl Run<'_> {
    /// Keeps the answer to a request in its unit of work.
    pub(crate) fn keep_answer(&self, work: &mut Work, node: usize, received: &Received) -> Result<(), Failure> {
        let (Some(asking), Some(reply)) = (&received.asking, &received.reply) else { return Ok(()) };
        let done = || Answer { status: 204, content_type: None, content: Rc::new([]) };
        let remember_ms = self.flow.file.nodes[node].number("remember").unwrap_or(REMEMBER_MS);
        let end_ms = self.clock.now_ms().saturating_add(remember_ms);
        let entry = write(end_ms, asking.content, &reply.answer().unwrap_or_else(done));
        work.unit.put(Space::CHECKPOINTS, &end_of(&asking.entry, end_ms), [])?;
        Ok(work.unit.put_checkpoint(&asking.entry, &entry)?)
    }
}

fn write(end_ms: u64, asked: u128, answer: &Answer) -> Vec<u8> {
    let content_type = answer.content_type.as_deref().unwrap_or_default().as_bytes();
    let length = u16::try_from(content_type.len()).unwrap_or(0);
    let content = if answer.content.len() <= ANSWER_BYTES_MAX { &answer.content[..] } else { &[][..] };
    let mut entry = vec![VERSION];
    entry.extend(end_ms.to_le_bytes());
    entry.extend(asked.to_le_bytes());
    entry.extend(answer.status.to_le_bytes());
    entry.extend(length.to_le_bytes());
    entry.extend(&content_type[..usize::from(length)]);
    entry.extend(content);
    entry
}

/// Decodes an entry: end, digest of the content, answer.
fn read(entry: &[u8]) -> Option<(u64, u128, Answer)> {
    let (head, rest) = entry.split_first_chunk::<HEAD>()?;
    let (version, head) = head.split_first()?;
    let (end_ms, head) = head.split_first_chunk::<8>()?;
    let (asked, head) = head.split_first_chunk::<16>()?;
    let (status, length) = head.split_first_chunk::<2>()?;
    let (content_type, content) = rest.split_at_checked(u16::from_le_bytes(length.try_into().ok()?).into())?;
    let content_type = std::str::from_utf8(content_type).ok()?;
    let answer = Answer {
        status: u16::from_le_bytes(*status),
        content_type: (!content_type.is_empty()).then(|| content_type.into()),
        content: content.into(),
    };
    (*version == VERSION).then_some((u64::from_le_bytes(*end_ms), u128::from_le_bytes(*asked), answer))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

    use std::sync::Arc;

    use quayline_store::{Access, MemoryEngine, StoreLimits, SystemClock};

    use super::*;

    struct World {
        store: Store,
        answers: Answers,
    }

    impl World {
        fn new() -> World {
            let limits = StoreLimits::default();
            let store = Store::open(Arc::new(MemoryEngine::new()), Arc::new(SystemClock), limits, Access::Write);
            let (prefix, ends) = (format!("{ANSWERS}f/n/"), format!("{ENDS}f/n/"));
            World { store: store.unwrap(), answers: Answers { prefix, ends, has_users: false } }
        }

        fn put(&self, keys: std::ops::Range<u32>, end_ms: u64, has_end: bool) {
            let mut unit = self.store.begin().unwrap();
            for key in keys {
                let name = self.answers.entry(b"", &key.to_string());
                let answer = Answer { status: 204, content_type: None, content: Rc::new([]) };
                unit.put_checkpoint(&name, &write(end_ms, 1, &answer)).unwrap();
                if has_end {
                    unit.put(Space::CHECKPOINTS, &end_of(&name, end_ms), []).unwrap();
                }
            }
            unit.commit().unwrap();
        }

        fn has(&self, key: u32) -> bool {
            let name = self.answers.entry(b"", &key.to_string());
            self.store.begin().unwrap().checkpoint(&name).unwrap().is_some()
        }

        /// Forgets what ended at a time, and returns the number of pages that it read.
        fn forget(&self, prefix: &str, now_ms: u64) -> usize {
            let mut next = Some(Bound::Included(prefix.as_bytes().to_vec()));
            let pages = std::iter::from_fn(|| {
                let from = next.take()?;
                next = self.answers.forget_page(&self.store, now_ms, prefix, &from).unwrap();
                Some(())
            });
            pages.count()
        }
    }

    /// Each look read all answers, also if none was too old.
    #[test]
    fn a_look_for_answers_that_are_too_old_reads_no_others() {
        let world = World::new();
        world.put(0..5_000, 1_000, true);
        world.put(5_000..5_010, 10, true);
        assert_eq!(world.forget(&world.answers.ends, 9), 1);
        assert!((4_990..5_010).all(|key| world.has(key)));
        assert_eq!(world.forget(&world.answers.ends, 10), 1);
        assert!((0..5_000).all(|key| world.has(key)) && !(5_000..5_010).any(|key| world.has(key)));
        assert!(world.forget(&world.answers.ends, 1_000) > 5);
        assert!(!(0..5_000).any(|key| world.has(key)));
        assert_eq!(world.forget(&world.answers.ends, u64::MAX), 1, "no end is left");
        // Of an earlier version.
        world.put(0..10, 10, false);
        world.put(10..20, 11, false);
        world.forget(&world.answers.prefix, 10);
        assert!(!(0..10).any(|key| world.has(key)) && (10..20).all(|key| world.has(key)));
    }

    /// The answer to a later request with the same key was deleted, because the look had read the earlier answer.
    #[test]
    fn an_answer_that_was_replaced_since_it_was_found_stays() {
        let world = World::new();
        world.put(0..1, 10, true);
        world.put(0..1, 100, true);
        world.forget(&world.answers.ends, 50);
        assert!(world.has(0));
        world.forget(&world.answers.ends, 100);
        assert!(!world.has(0));
    }

    #[test]
    fn an_entry_is_read_as_it_was_written_and_a_long_answer_keeps_its_status() {
        let of = |length: usize, content_type: Option<&str>| Answer {
            status: 201,
            content_type: content_type.map(Rc::from),
            content: vec![b'x'; length].into(),
        };
        for (answer, kept) in [
            (of(3, Some("text/plain")), of(3, Some("text/plain"))),
            (of(0, None), of(0, None)),
            (of(ANSWER_BYTES_MAX + 1, Some("a/b")), of(0, Some("a/b"))),
        ] {
            let entry = write(7, 9, &answer);
            assert_eq!(read(&entry), Some((7, 9, kept)));
            assert!((0..HEAD).all(|end| read(&entry[..end]).is_none()));
        }
    }
}
