//! Aggregation: messages that wait for the other messages of their group.
//!
//! ```text
//! checkpoint "flow-group/FLOW/NODE/DIGEST"       ─▶ version, count, bytes, due time, key
//! checkpoint "flow-group/FLOW/NODE/DIGEST/" + n  ─▶ content of part n (n: 8 bytes, big-endian)
//! checkpoint "flow-due/FLOW/NODE/" + due time    ─▶ digest, one entry for each group that has a time limit
//! ```
//!
//! All parts of a group change in the unit of work of the message that changes it, so a group survives a crash and counts each message once.
//! The lock on the head prevents two units of work from adding to one group at the same time. A group whose time limit has passed becomes a message
//! of its own: one thread of the flow searches for such groups in the order of their due times.

use std::ops::Bound;
use std::rc::Rc;

use quayline_store::queue::MessageId;
use quayline_store::{Direction, KeyRange, LockWait, Page, PageLimit, Space, Store, StoreError, Unit};
use xxhash_rust::xxh3::xxh3_128;

use crate::codes;
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::message::Parcel;
use crate::run::{Gives, Run, Work};
use crate::stats::CpuPart;

/// Maximum number of messages of one group: 900,000. One unit of work may make 1,000,000 changes by default.
const PARTS_MAX: u64 = 900_000;
/// Maximum number of bytes of the message that a group becomes: 100 MiB, the longest message that a queue may allow. The default of a queue is 4 MiB, and a
/// queue that gets longer groups needs a higher limit.
const BYTES_MAX: u64 = 100 << 20;
/// Groups that one unit of work brings forward.
const FORWARD_AT_ONCE: usize = 256;
/// Entries of groups that a search reads at once.
const DUES_AT_ONCE: usize = 64;
/// Prefix of the keys of all groups.
pub(crate) const HEADS: &str = "flow-group/";
/// Version of the head of a group.
const VERSION: u8 = 1;

/// The head of a group.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Head {
    count: u64,
    bytes: u64,
    due_ms: u64,
    key: String,
}

impl Head {
    fn encode(&self) -> Vec<u8> {
        let numbers = [self.count, self.bytes, self.due_ms];
        let mut bytes = vec![VERSION];
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(self.key.as_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Head> {
        let (version, rest) = bytes.split_first()?;
        let (count, rest) = rest.split_first_chunk::<8>()?;
        let (size, rest) = rest.split_first_chunk::<8>()?;
        let (due_ms, key) = rest.split_first_chunk::<8>()?;
        (*version == VERSION).then_some(())?;
        let number = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let key = String::from_utf8(key.to_vec()).ok()?;
        Some(Head { count: number(count), bytes: number(size), due_ms: number(due_ms), key })
    }
}

/// Returns flow, node and number of messages of the group with this head.
pub(crate) fn head_of<'k>(key: &'k [u8], head: &[u8]) -> Option<(&'k str, &'k str, u64)> {
    let (owner, _digest) = std::str::from_utf8(key).ok()?.strip_prefix(HEADS)?.rsplit_once('/')?;
    let (flow, node) = owner.rsplit_once('/')?;
    Some((flow, node, Head::decode(head)?.count))
}

/// The groups of one node.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    heads: String,
    dues: String,
    join: Join,
}

#[derive(Clone, Copy, Debug)]
enum Join {
    Lines,
    Bytes,
    Json,
}

/// A group that left the node.
#[derive(Debug)]
pub(crate) struct Complete {
    pub(crate) content: Vec<u8>,
    /// Key of the group, and the number of its parts.
    pub(crate) group: Rc<(String, u64)>,
    /// Identity of the group, as long as it is in the store.
    pub(crate) place: GroupPlace,
    /// Message id, the same for every attempt to send these messages.
    pub(crate) id: MessageId,
}

/// Identity of a group with a time limit: digest of its key, and its due time.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct GroupPlace {
    digest: u128,
    due_ms: u64,
}

impl GroupPlace {
    /// Returns the id of the message that a group of this number of messages becomes.
    ///
    /// The id is what receivers recognize a repetition by, so it has to change with the content, and a group that failed may grow in its pause: with the
    /// number of its messages, the id is another one then. The alternative is a new group for messages that arrive when the time is over. It would send the
    /// same content again, but needs any number of groups of one key at once, each with its parts. A failed group has left nothing but the effects of nodes
    /// that act at least once, such as `http_request`, so the receiver of the larger group may get messages again, as documented, and loses none.
    fn message_id(self, count: u64) -> MessageId {
        let mut id = [0; 24];
        let named = [&self.digest.to_be_bytes()[..], &count.to_be_bytes()].concat();
        id[..16].copy_from_slice(&xxh3_128(&named).to_be_bytes());
        id[16..].copy_from_slice(&self.due_ms.to_be_bytes());
        id
    }
}

/// Result of a search for groups whose time limit has passed.
#[derive(Debug)]
pub(crate) enum Overdue {
    Group(Complete),
    /// No group is overdue, except those that wait after a failure; the next one is due at this time.
    Next(Option<u64>),
    /// A unit of work is adding to an overdue group, or sends it.
    Locked,
}

/// Search for the groups that were overdue when it began, in the order of their due times. A search that begins anew for each group would read all the
/// groups that wait after a failure each time.
#[derive(Debug)]
pub(crate) struct Search {
    from: Bound<Vec<u8>>,
    until_ms: u64,
}

fn damaged() -> Failure {
    Failure::new(codes::GROUP, "the state of the group is of no known form", "restore the store from a save")
}

/// Returns the text of a message that becomes one line. A line break at its end is the end of that line.
fn as_line(content: &[u8]) -> Result<&[u8], Failure> {
    let line = content.strip_suffix(b"\n").unwrap_or(content);
    if line.contains(&b'\n') {
        return Err(Failure::new(
            codes::GROUP,
            "the message has a line break, so it would be several lines of the group",
            "use `join = \"json\"` or `\"bytes\"`, or map the message to one line first",
        ));
    }
    Ok(line)
}

impl Groups {
    pub(crate) fn new(flow: &str, node: &str, join: Option<&str>) -> Groups {
        let join = match join {
            Some("bytes") => Join::Bytes,
            Some("json") => Join::Json,
            _ => Join::Lines,
        };
        Groups { heads: format!("{HEADS}{flow}/{node}/"), dues: format!("flow-due/{flow}/{node}/"), join }
    }

    /// Returns the length of the message that a group becomes.
    fn joined_bytes(&self, count: u64, bytes: u64) -> u64 {
        match self.join {
            Join::Lines => bytes + count,
            Join::Bytes => bytes,
            // The brackets and the commas between.
            Join::Json => bytes + count.max(1) + 1,
        }
    }

    fn head_key(&self, digest: &str) -> Vec<u8> {
        format!("{}{digest}", self.heads).into_bytes()
    }

    fn part_key(&self, digest: &str, number: u64) -> Vec<u8> {
        let mut key = format!("{}{digest}/", self.heads).into_bytes();
        key.extend(number.to_be_bytes());
        key
    }

    fn due_key(&self, due_ms: u64, digest: &str) -> Vec<u8> {
        let mut key = self.dues.clone().into_bytes();
        key.extend(due_ms.to_be_bytes());
        key.extend(digest.as_bytes());
        key
    }

    /// Takes a group out of the store and joins its parts.
    fn take(&self, unit: &mut Unit, digest: &str, head: &Head) -> Result<Complete, Failure> {
        let mut content =
            Vec::with_capacity(usize::try_from(self.joined_bytes(head.count, head.bytes)).unwrap_or_default());
        if matches!(self.join, Join::Json) {
            content.push(b'[');
        }
        for number in 0..head.count {
            let key = self.part_key(digest, number);
            let part = unit.read(Space::CHECKPOINTS, &key)?.ok_or_else(damaged)?;
            match self.join {
                Join::Json if number > 0 => content.push(b','),
                _ => {}
            }
            content.extend_from_slice(&part);
            if matches!(self.join, Join::Lines) {
                content.push(b'\n');
            }
            unit.delete(Space::CHECKPOINTS, &key)?;
        }
        if matches!(self.join, Join::Json) {
            content.push(b']');
        }
        unit.delete(Space::CHECKPOINTS, &self.head_key(digest))?;
        if head.due_ms > 0 {
            unit.delete(Space::CHECKPOINTS, &self.due_key(head.due_ms, digest))?;
        }
        let place = GroupPlace { digest: xxh3_128(head.key.as_bytes()), due_ms: head.due_ms };
        Ok(Complete {
            content,
            group: Rc::new((head.key.clone(), head.count)),
            place,
            id: place.message_id(head.count),
        })
    }

    /// Makes groups that are due after `latest_ms` due at that time, after the clock was set back. Returns whether no such group remains.
    pub(crate) fn bring_forward(&self, store: &Store, latest_ms: u64) -> Result<bool, Failure> {
        let (from, to) = (self.due_key(latest_ms.saturating_add(1), ""), self.due_key(u64::MAX, "~"));
        let range = KeyRange { from: Bound::Included(&from), to: Bound::Excluded(&to) };
        let mut unit = store.begin()?;
        let limit = PageLimit { entries: FORWARD_AT_ONCE, ..PageLimit::default() };
        let late = unit.first_entries(Space::CHECKPOINTS, range, Direction::Forward, limit)?;
        if late.is_empty() {
            return Ok(true);
        }
        for (key, _) in &late {
            let place = key.get(self.dues.len()..).and_then(<[u8]>::split_first_chunk::<8>).ok_or_else(damaged)?;
            let digest = std::str::from_utf8(place.1).map_err(|_| damaged())?;
            let head_key = self.head_key(digest);
            let head = match unit.read_for_update(Space::CHECKPOINTS, &head_key, LockWait::No) {
                Ok(Some(head)) => Head::decode(&head).ok_or_else(damaged)?,
                // The group has ended since the look-up, or a unit of work is adding to it.
                Ok(None) | Err(StoreError::LockTimeout { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            if head.due_ms == u64::from_be_bytes(*place.0) {
                unit.delete(Space::CHECKPOINTS, key)?;
                unit.put(Space::CHECKPOINTS, &self.due_key(latest_ms, digest), digest.as_bytes())?;
                unit.put(Space::CHECKPOINTS, &head_key, Head { due_ms: latest_ms, ..head }.encode())?;
            }
        }
        // Nobody waits: the next look sees whether any is left.
        unit.submit_with(Box::new(|_| ()));
        Ok(false)
    }

    /// Begins a search for the groups that are overdue at a time.
    pub(crate) fn search(&self, now_ms: u64) -> Search {
        Search { from: Bound::Included(self.dues.clone().into_bytes()), until_ms: now_ms }
    }

    /// Returns the next group of the search that is not in use and does not wait after a failure, as a part of a unit of work. `waits` receives the
    /// identity of a group. Without such a group, the search has ended.
    pub(crate) fn overdue(
        &self,
        unit: &mut Unit,
        search: &mut Search,
        waits: impl Fn(&GroupPlace) -> bool,
    ) -> Result<Overdue, Failure> {
        let to = self.due_key(u64::MAX, "~");
        let mut page = Page::default();
        let mut next = Some(search.from.clone());
        let mut is_locked = false;
        while let Some(from) = next.take() {
            let range = KeyRange { to: Bound::Excluded(&to), ..KeyRange::ALL.after(Direction::Forward, &from) };
            let limit = PageLimit { entries: DUES_AT_ONCE, ..PageLimit::default() };
            unit.page(Space::CHECKPOINTS, range, Direction::Forward, limit, &mut page)?;
            for (key, _) in page.iter() {
                let entry = key.get(self.dues.len()..).and_then(<[u8]>::split_first_chunk::<8>).ok_or_else(damaged)?;
                let due_ms = u64::from_be_bytes(*entry.0);
                if due_ms > search.until_ms {
                    return Ok(if is_locked { Overdue::Locked } else { Overdue::Next(Some(due_ms)) });
                }
                let digest = std::str::from_utf8(entry.1).map_err(|_| damaged())?;
                let place = GroupPlace { digest: u128::from_str_radix(digest, 16).map_err(|_| damaged())?, due_ms };
                if waits(&place) {
                    continue;
                }
                match unit.read_for_update(Space::CHECKPOINTS, &self.head_key(digest), LockWait::No) {
                    Ok(Some(head)) => {
                        let head = Head::decode(&head).ok_or_else(damaged)?;
                        if head.due_ms == due_ms {
                            search.from = Bound::Excluded(key.to_vec());
                            return self.take(unit, digest, &head).map(Overdue::Group);
                        }
                        is_locked = true;
                    }
                    // The group became complete after the page was read, or a unit of work is adding to it.
                    Ok(None) | Err(StoreError::LockTimeout { .. }) => is_locked = true,
                    Err(error) => return Err(error.into()),
                }
            }
            next = page.next.take();
        }
        Ok(if is_locked { Overdue::Locked } else { Overdue::Next(None) })
    }
}

impl Run<'_> {
    /// Adds a message to its group. The last one of the group takes the whole group on.
    pub(crate) async fn aggregate(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let node = &self.flow.file.nodes[at];
        // What waits for others of its group is durable.
        work.is_written_only = false;
        let groups = Groups::new(&self.name, &node.name, node.text("join"));
        let key = self.text(at, values, "key")?.unwrap_or_default().to_owned();
        let digest = format!("{:032x}", xxh3_128(key.as_bytes()));
        let expected = match self.text(at, values, "count")? {
            Some(text) => Some(text.trim().parse::<u64>().ok().filter(|count| *count > 0).ok_or_else(|| {
                Failure::new(codes::GROUP, "`count` is not a whole number from 1", "correct the expression of `count`")
            })?),
            None => None,
        };
        let is_last = self.value(at, values, "last") == Some(&Evaluated::Truth(true));
        let head_key = groups.head_key(&digest);
        let known =
            self.locked(work, |unit| unit.read_for_update(Space::CHECKPOINTS, &head_key, LockWait::Default)).await?;
        self.part(work, CpuPart::Files);
        let mut head = match known {
            Some(known) => Head::decode(&known).filter(|head| head.key == key).ok_or_else(damaged)?,
            None => Head { key, ..Head::default() },
        };
        if matches!(groups.join, Join::Json)
            && serde_json::from_slice::<serde::de::IgnoredAny>(&parcel.content).is_err()
        {
            let message = "the message is not one JSON value, so it cannot be an element of an array";
            return Err(Failure::new(
                codes::GROUP,
                message,
                "use `join = \"lines\"`, or map the message to JSON first",
            ));
        }
        let content = match groups.join {
            Join::Lines => as_line(&parcel.content)?,
            Join::Bytes | Join::Json => &parcel.content,
        };
        let size = content.len() as u64;
        if head.count >= PARTS_MAX || groups.joined_bytes(head.count + 1, head.bytes + size) > BYTES_MAX {
            let message =
                format!("the group has {} messages of {} bytes, and this one is too much", head.count, head.bytes);
            let hint = format!(
                "groups hold {PARTS_MAX} messages and, with what is between them, {BYTES_MAX} bytes; complete them earlier with `count`, `last` or `timeout`"
            );
            return Err(Failure::new(codes::GROUP, message, hint));
        }
        let unit = &mut work.unit;
        unit.put(Space::CHECKPOINTS, &groups.part_key(&digest, head.count), content)?;
        head.count += 1;
        head.bytes += size;
        if is_last || expected.is_some_and(|expected| head.count >= expected) {
            let complete = groups.take(unit, &digest, &head)?;
            self.part(work, CpuPart::Flow);
            let whole = Parcel { group: Some(complete.group), ..parcel.with_content(complete.content) };
            return Ok(Gives::Out(vec![("out", whole)]));
        }
        if head.count == 1
            && let Some(timeout_ms) = node.number("timeout")
        {
            head.due_ms = self.even_ms().saturating_add(timeout_ms).max(1);
            unit.put(Space::CHECKPOINTS, &groups.due_key(head.due_ms, &digest), digest.as_bytes())?;
        }
        unit.put(Space::CHECKPOINTS, &head_key, head.encode())?;
        self.part(work, CpuPart::Flow);
        Ok(Gives::Out(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

    use std::cell::Cell;
    use std::collections::HashSet;
    use std::sync::Arc;

    use quayline_store::{Access, MemoryEngine, StoreLimits, SystemClock};

    use super::*;

    /// The limit of a group did not count the line breaks and commas between its messages, so its message could be longer than any queue allows.
    #[test]
    fn the_length_of_a_group_counts_what_is_between_its_messages() {
        let store =
            Store::open(Arc::new(MemoryEngine::new()), Arc::new(SystemClock), StoreLimits::default(), Access::Write)
                .unwrap();
        for join in ["lines", "bytes", "json"] {
            let groups = Groups::new("orders", "group", Some(join));
            for count in [1, 2, 5] {
                let head = Head { count, bytes: 3 * count, ..Head::default() };
                let mut unit = store.begin().unwrap();
                for number in 0..count {
                    unit.put(Space::CHECKPOINTS, &groups.part_key("d", number), *b"123").unwrap();
                }
                let content = groups.take(&mut unit, "d", &head).unwrap().content;
                assert_eq!(content.len() as u64, groups.joined_bytes(count, head.bytes), "{join}, {count}");
                unit.roll_back();
            }
        }
    }

    /// Each group that fails stays in the store until it is sent again. The search for the next one read all of them each time.
    #[test]
    fn a_search_passes_each_group_that_failed_once() {
        const COUNT: u64 = 1_000;
        let store =
            Store::open(Arc::new(MemoryEngine::new()), Arc::new(SystemClock), StoreLimits::default(), Access::Write)
                .unwrap();
        let groups = Groups::new("orders", "group", None);
        let mut unit = store.begin().unwrap();
        for number in 0..COUNT {
            let head = Head { count: 0, bytes: 0, due_ms: 10 + number / 3, key: number.to_string() };
            let digest = format!("{:032x}", xxh3_128(head.key.as_bytes()));
            unit.put(Space::CHECKPOINTS, &groups.head_key(&digest), head.encode()).unwrap();
            unit.put(Space::CHECKPOINTS, &groups.due_key(head.due_ms, &digest), digest.as_bytes()).unwrap();
        }
        unit.commit().unwrap();
        let (mut failed, passed) = (HashSet::new(), Cell::new(0));
        let mut search = groups.search(10 + COUNT);
        for _ in 0..2 {
            loop {
                let mut unit = store.begin().unwrap();
                let waits = |place: &GroupPlace| {
                    passed.set(passed.get() + 1);
                    failed.contains(place)
                };
                match groups.overdue(&mut unit, &mut search, waits).unwrap() {
                    Overdue::Group(group) => assert!(failed.insert(group.place), "a group that waits"),
                    Overdue::Next(None) => break,
                    other => panic!("{other:?}"),
                }
                unit.roll_back();
            }
            assert_eq!(failed.len() as u64, COUNT);
            assert!(passed.get() <= COUNT, "{} looks at {COUNT} groups", passed.take());
            passed.set(0);
            // The next search finds none, and passes each of them again.
            search = groups.search(10 + COUNT);
        }
    }
}
