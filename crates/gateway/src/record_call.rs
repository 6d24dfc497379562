//! Operations on the records of a file: the request as a call of the provider, and its result.
//!
//! ```text
//! Request ─▶ OperationLane::record_call ─▶ RecordCall ─▶ Provider::act ─▶ Returned::Record | Records | Nothing ─▶ Answer
//!              key, record, changed bytes, conditions, page              one unit of work, committed before the answer
//! ```
//!
//! The record of a request is encoded like that of any service, so keys have the code page and the form of the file. Fields that a request does not
//! set keep their bytes: an update has the positions that it changes ([`RecordCall::merged`]).

use core::ops::Range;
use core::time::Duration;
use std::collections::BTreeMap;

use quayline_cobol::{Extent, RecordDecoder, RecordFaults, RecordPlan};
use quayline_core::NodeId;

use crate::{FieldError, Problem, codes, from_base64url, to_base64url};

/// A record file as a service names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileSpec {
    /// Name of the record file.
    pub file: String,
    /// The primary key.
    pub key: FileKey,
    /// Alternate indexes that operations use.
    pub indexes: Vec<FileIndex>,
    /// Bytes of the shortest and the longest record that a request can make.
    pub record_bytes: (usize, usize),
    /// Maximum wait for a record that another unit of work has locked. Default 2 s.
    pub wait_limit: Duration,
}

/// Position of a key in the record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileKey {
    /// The field.
    pub field: String,
    /// Bytes before it.
    pub offset: usize,
    /// Length in bytes.
    pub length: usize,
}

impl FileKey {
    pub(crate) fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.length
    }
}

/// An alternate index of a record file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileIndex {
    /// Name of the index in the file.
    pub name: String,
    /// Key of the index.
    pub key: FileKey,
}

/// A queue as a service names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueueSpec {
    /// Name of the queue that records are put on.
    pub queue: String,
    /// Name of the queue that replies come to; without it a request is answered once its message is durable.
    pub reply_queue: Option<String>,
    /// Maximum wait for the reply. Default 5 s.
    pub time_limit: Duration,
    /// Time for which a reply is still expected, and then removed, after the client stopped waiting. Default 60 s.
    pub late_limit: Duration,
    /// Requests of one server thread that wait for replies. Default 1,000.
    pub waiting_max: usize,
    /// 0 to 9.
    pub priority: u8,
    /// True if messages survive a restart. Default true.
    pub persistent: bool,
    /// Time after which the message expires. Default: the time limit if a reply is expected, otherwise never.
    pub expires: Option<Duration>,
    /// Format name of messages.
    pub format: String,
}

/// Action of an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileAction {
    /// Reads the record with a key.
    Read,
    /// Adds a record.
    Insert,
    /// Gives the members of a record new values; absent members get their defaults.
    Replace,
    /// Gives those members new values that the request has.
    Update,
    /// Deletes the record with a key.
    Delete,
    /// Reads a page of records.
    Browse,
}

impl FileAction {
    pub(crate) const WORDS: &'static str = "read, insert, replace, update, delete, browse";

    pub(crate) fn named(word: &str) -> Option<FileAction> {
        Some(match word {
            "read" => FileAction::Read,
            "insert" => FileAction::Insert,
            "replace" => FileAction::Replace,
            "update" => FileAction::Update,
            "delete" => FileAction::Delete,
            "browse" => FileAction::Browse,
            _ => return None,
        })
    }

    /// Returns the default action of a method.
    pub(crate) fn of_method(method: &str) -> FileAction {
        match method {
            "POST" => FileAction::Insert,
            "PUT" => FileAction::Replace,
            "PATCH" => FileAction::Update,
            "DELETE" => FileAction::Delete,
            _ => FileAction::Read,
        }
    }

    /// Returns true if the action changes the file.
    #[must_use]
    pub fn changes(self) -> bool {
        !matches!(self, FileAction::Read | FileAction::Browse)
    }

    /// Returns true if requests have a body.
    pub(crate) fn takes_body(self) -> bool {
        matches!(self, FileAction::Insert | FileAction::Replace | FileAction::Update)
    }

    /// Returns true if the action needs the key of one record.
    pub(crate) fn needs_key(self) -> bool {
        !matches!(self, FileAction::Insert | FileAction::Browse)
    }

    pub(crate) fn status(self) -> u16 {
        match self {
            FileAction::Insert => 201,
            FileAction::Delete => 204,
            _ => 200,
        }
    }
}

/// Relation of the browsed records to the key in the request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Matching {
    /// Their leading key fields equal the request's values (`KEY_EQ`).
    Equal,
    /// Their key begins with the request's value (a generic key).
    Generic,
    /// Their keys are equal or greater (`KEY_GE`).
    From,
}

impl Matching {
    pub(crate) fn named(word: &str) -> Option<Matching> {
        Some(match word {
            "equal" => Matching::Equal,
            "generic" => Matching::Generic,
            "from" => Matching::From,
            _ => return None,
        })
    }
}

/// Compiled operation on the records of a file.
#[derive(Debug)]
pub(crate) struct FileOperation {
    pub(crate) action: FileAction,
    /// The index that it looks in; the primary key without.
    pub(crate) index: Option<String>,
    /// The key that it looks for.
    pub(crate) key: FileKey,
    pub(crate) matching: Matching,
    /// Fields of the key in the order of their bytes.
    pub(crate) key_nodes: Vec<(NodeId, Range<usize>)>,
    /// Leaves of the key that are texts.
    pub(crate) key_texts: Vec<NodeId>,
    /// Bytes of each member that a request can set.
    pub(crate) places: Vec<(NodeId, Range<usize>)>,
    /// Bytes that requests set of tables whose elements have others too: FILLER and slack, which keep their content.
    pub(crate) parted: BTreeMap<NodeId, Vec<Range<usize>>>,
    /// Counters of the tables among them.
    pub(crate) counters: Vec<TableCounter>,
    /// True if positions depend on counters, so that a record must be replaced as a whole.
    pub(crate) slides: bool,
    /// True if the record has views of the same bytes.
    pub(crate) has_views: bool,
    /// The plan of the whole record, if its length depends on counters.
    pub(crate) measure: Option<RecordPlan>,
    /// Byte that text is padded with.
    pub(crate) pad: u8,
    /// Records of a page by default, and at most.
    pub(crate) page: (usize, usize),
    /// Value that distinguishes continuation tokens of this operation from those of others.
    pub(crate) mark: u64,
}

/// A counter whose tables a request can set as lists.
#[derive(Debug)]
pub(crate) struct TableCounter {
    /// Position of the table's counter, outside of the lists.
    pub(crate) place: Range<usize>,
    /// Member of the counter, if requests have one.
    pub(crate) node: Option<NodeId>,
    /// The members with tables that it counts: lists outside of other lists.
    pub(crate) lists: Vec<NodeId>,
}

impl TableCounter {
    /// Returns the position of the counter if a request that `sets` these members sets the counter and its lists; `None` if it sets neither.
    ///
    /// # Errors
    /// The missing list or counter. Setting only some of them would drop elements, or add elements that nobody wrote.
    pub(crate) fn set_with(&self, sets: impl Fn(NodeId) -> bool) -> Result<Option<Range<usize>>, NodeId> {
        let any = self.node.is_some_and(&sets) || self.lists.iter().any(|list| sets(*list));
        if !any {
            return Ok(None);
        }
        match self.lists.iter().find(|list| !sets(**list)) {
            None => Ok(Some(self.place.clone())),
            Some(missing) => Err(*missing),
        }
    }
}

/// Query parameters of a browse: the number of records, and where to continue.
pub(crate) const PAGE_PARAMETERS: [&str; 2] = ["limit", "after"];

/// Bytes of records in one page; a page ends with the record that reaches it.
pub const PAGE_BYTES_MAX: usize = 4 << 20;

/// A request for the records of a file.
#[derive(Clone, Debug)]
pub struct RecordCall {
    /// Action to perform.
    pub action: FileAction,
    /// Alternate index to look in.
    pub index: Option<String>,
    /// The key; for a browse, its leading bytes.
    pub key: Vec<u8>,
    /// Treatment of the key by a browse.
    pub matching: Matching,
    /// The record that the request makes.
    pub record: Vec<u8>,
    /// Positions that the request sets; `None` for the whole record.
    pub changed: Option<Vec<Range<usize>>>,
    /// The plan that tells where the fields of a record of varying length end: a replacement keeps the bytes after them.
    pub measure: Option<RecordPlan>,
    /// The check of the record that a change makes, if views of the same bytes can make it unreadable.
    pub check: Option<RecordCheck>,
    /// Conditions of the request.
    pub conditions: Conditions,
    /// Records of a page.
    pub count: usize,
    /// Position after which a browse continues.
    pub after: Option<Vec<u8>>,
}

/// A check of a whole record. Its selectors may be in the stored part and the views in the request, or the other way round.
#[derive(Clone, Debug)]
pub struct RecordCheck {
    /// The plan of the request.
    pub(crate) request: RecordPlan,
    /// Members that a request for a part of the record has.
    pub(crate) given: Vec<NodeId>,
    /// The plan of answers, if they have the record.
    pub(crate) answer: Option<RecordPlan>,
}

impl RecordCall {
    /// Checks the record that the request makes of a stored one, if there was one: selectors choose the views in the request, and answers can have
    /// the record unless they could not have the stored one.
    ///
    /// # Errors
    /// 400 with the faults.
    pub fn check(&self, old: Option<&[u8]>, new: &[u8]) -> Result<(), Box<Problem>> {
        let Some(check) = &self.check else { return Ok(()) };
        let refused = |faults: RecordFaults| {
            let entries = faults.0.into_iter().map(|fault| FieldError {
                place: "body",
                field: if fault.path.starts_with('$') { fault.path } else { format!("$.{}", fault.path) },
                rule: fault.kind.code().to_string(),
                detail: fault.kind.to_string(),
            });
            Box::new(Problem::of_errors(entries.collect()))
        };
        check.request.check_views(new, &check.given).map_err(refused)?;
        let Some(answer) = &check.answer else { return Ok(()) };
        let mut decoder = RecordDecoder::new(answer);
        match decoder.check(new) {
            Err(faults) if old.is_none_or(|old| decoder.check(old).is_ok()) => Err(refused(faults)),
            _ => Ok(()),
        }
    }

    /// Returns the record that an update makes of the stored one.
    #[must_use]
    pub fn merged(&self, old: &[u8]) -> Vec<u8> {
        let Some(changed) = &self.changed else {
            let beyond = match self.measure.as_ref().map(|plan| plan.extent(old)) {
                Some(Extent::Bytes(length)) => old.get(length..),
                // The end of a record without valid counters is unknown.
                Some(Extent::NeedMore { .. } | Extent::Bad(_)) | None => None,
            };
            return [&self.record, beyond.unwrap_or_default()].concat();
        };
        let mut new = old.to_vec();
        let end = changed.iter().map(|range| range.end).max().unwrap_or(0).min(self.record.len());
        if let Some(more) = self.record.get(new.len()..end) {
            // What was not there begins as in a new record.
            new.extend_from_slice(more);
        }
        for range in changed {
            if let (Some(to), Some(from)) = (new.get_mut(range.clone()), self.record.get(range.clone())) {
                to.copy_from_slice(from);
            }
        }
        new
    }
}

/// Computes a validator of a record (RFC 9110, section 8.8.3), without quotes: records with equal validators have the same bytes.
#[must_use]
pub fn record_tag(record: &[u8]) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(record))
}

/// `If-Match` and `If-None-Match` of a request for a record.
///
/// Tags of a record are strong for each of its forms: `"hash"` is JSON, `"hash-xml"` and so on are others. A condition of a change is about the
/// record, so it holds for the tag of any form.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Conditions {
    matches: Option<Tags>,
    none_match: Option<Tags>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Tags {
    Any,
    Of(Vec<String>),
}

/// RFC 9110, section 8.8.3.2: `If-Match` compares strongly, `If-None-Match` weakly, since proxies that compress make tags weak.
#[derive(Clone, Copy)]
enum Comparison {
    Strong,
    Weak,
}

impl Tags {
    /// Parses a header; `None` without the header.
    fn of<'a>(values: impl Iterator<Item = &'a [u8]>, comparison: Comparison) -> Option<Tags> {
        let mut tags = None;
        for value in values.flat_map(|value| value.split(|byte| *byte == b',')) {
            let value = value.trim_ascii();
            if value == b"*" {
                return Some(Tags::Any);
            }
            let tags = tags.get_or_insert_with(Vec::new);
            let value = match comparison {
                Comparison::Weak => value.strip_prefix(b"W/").unwrap_or(value),
                Comparison::Strong => value,
            };
            let inner = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
            // Compared strongly, a weak tag is the tag of no record, like one that is none.
            let Some(inner) = inner else { continue };
            let record = inner.split(|byte| *byte == b'-').next().unwrap_or_default();
            tags.extend(core::str::from_utf8(record).map(str::to_owned));
        }
        tags.map(Tags::Of)
    }

    fn hold(&self, record: Option<&[u8]>) -> bool {
        match (self, record) {
            (_, None) => false,
            (Tags::Any, Some(_)) => true,
            (Tags::Of(tags), Some(record)) => tags.contains(&record_tag(record)),
        }
    }
}

impl Conditions {
    /// Collects the values of all occurrences of both headers.
    pub fn new<'a>(
        if_match: impl Iterator<Item = &'a [u8]>,
        if_none_match: impl Iterator<Item = &'a [u8]>,
    ) -> Conditions {
        let (matches, none_match) = (Tags::of(if_match, Comparison::Strong), Tags::of(if_none_match, Comparison::Weak));
        Conditions { matches, none_match }
    }

    /// Checks the preconditions for a change of the stored record, or of a missing one.
    ///
    /// # Errors
    /// 412 (RFC 9110, section 13.2.2).
    pub fn check(&self, record: Option<&[u8]>) -> Result<(), Box<Problem>> {
        if self.matches.as_ref().is_some_and(|tags| !tags.hold(record)) {
            return Err(Box::new(Problem::precondition("if-match")));
        }
        if self.none_match.as_ref().is_some_and(|tags| tags.hold(record)) {
            return Err(Box::new(Problem::precondition("if-none-match")));
        }
        Ok(())
    }

    /// Checks `If-Match` of a read. `If-None-Match` needs the form of the answer, which the server knows.
    ///
    /// # Errors
    /// 412.
    pub fn check_read(&self, record: &[u8]) -> Result<(), Box<Problem>> {
        if self.matches.as_ref().is_some_and(|tags| !tags.hold(Some(record))) {
            return Err(Box::new(Problem::precondition("if-match")));
        }
        Ok(())
    }
}

/// Version of the form of continuation tokens.
const TOKEN_VERSION: u8 = 2;

impl FileOperation {
    /// Returns true if requests may have a part of the record, and the rest is the stored one.
    pub(crate) fn changes_a_part(&self) -> bool {
        matches!(self.action, FileAction::Replace | FileAction::Update) && !self.slides
    }

    /// Returns a token that continues the browse of a key after a place. It is not a secret: it contains the key of the page's last record. Its digest
    /// binds it to the operation and to the key of the request.
    pub(crate) fn token(&self, key: &[u8], place: &[u8]) -> String {
        let mut bytes = vec![TOKEN_VERSION];
        bytes.extend_from_slice(&self.digest(key, place));
        bytes.extend_from_slice(place);
        to_base64url(&bytes)
    }

    /// Returns the place in a token of this operation for this key; `None` for any other text.
    pub(crate) fn place_of(&self, key: &[u8], token: &str) -> Option<Vec<u8>> {
        // A key and a stamp of 8 bytes.
        const PLACE_BYTES_MAX: usize = 255 + 8;
        let bytes = from_base64url(token)?;
        let (digest, place) = bytes.strip_prefix(&[TOKEN_VERSION])?.split_first_chunk()?;
        let is_own = (1..=PLACE_BYTES_MAX).contains(&place.len()) && *digest == self.digest(key, place);
        is_own.then(|| place.to_vec())
    }

    fn digest(&self, key: &[u8], place: &[u8]) -> [u8; 8] {
        let text = format!("{:x} {:?} {} ", self.mark, self.matching, key.len());
        xxhash_rust::xxh3::xxh3_64(&[text.as_bytes(), key, place].concat()).to_be_bytes()
    }

    /// Returns the key of a request's record; for a browse, the leading bytes that the request gives.
    ///
    /// # Errors
    /// The first part of the key that is missing although a later part is present.
    pub(crate) fn key_of(&self, record: &[u8], seen: &[bool]) -> Result<Vec<u8>, NodeId> {
        let all = record.get(self.key.range()).unwrap_or_default();
        if self.action != FileAction::Browse {
            return Ok(all.to_vec());
        }
        let given = |node: &NodeId| seen.get(node.index()).copied().unwrap_or(false);
        let count = self.key_nodes.iter().take_while(|(node, _)| given(node)).count();
        if let Some((missing, _)) = self.key_nodes.get(count)
            && self.key_nodes[count..].iter().any(|(node, _)| given(node))
        {
            return Err(*missing);
        }
        let end = match self.key_nodes.get(count) {
            _ if count == 0 => self.key.offset,
            Some((_, next)) => next.start,
            None => self.key.range().end,
        };
        let mut key = record.get(self.key.offset..end).unwrap_or_default();
        if self.matching == Matching::Generic
            && let Some((node, last)) = count.checked_sub(1).and_then(|last| self.key_nodes.get(last))
            // Blanks at the end of a text were not given; bytes of a number are its value.
            && self.key_texts.contains(node)
        {
            let fixed = last.start - self.key.offset;
            while key.len() > fixed && key.last() == Some(&self.pad) {
                key = &key[..key.len() - 1];
            }
        }
        Ok(key.to_vec())
    }
}

impl Problem {
    /// Reports that the file has no record with the key (file status 23).
    #[must_use]
    pub fn no_record() -> Problem {
        Problem::new(404, codes::NO_RECORD, "no record has this key (file status 23)")
    }

    /// Reports that the file has a record with the same key, or with the same key of a unique index (file status 22).
    #[must_use]
    pub fn duplicate_key(index: Option<&str>) -> Problem {
        let what = match index {
            None => "a record with this key exists (file status 22)".to_owned(),
            Some(index) => format!("a record with this key of the index {index} exists (file status 22)"),
        };
        Problem::new(409, codes::DUPLICATE_KEY, what)
    }

    /// Reports that the record was not unlocked in time (file status 93).
    #[must_use]
    pub fn record_held() -> Problem {
        let mut problem =
            Problem::new(503, codes::RECORD_HELD, "another unit of work holds the record (file status 93)");
        problem.retry_after_s = Some(1);
        problem
    }

    /// Reports that the store refuses the record, because of a COBOL file status or its length.
    #[must_use]
    pub fn not_stored(detail: impl Into<String>) -> Problem {
        Problem::new(400, codes::NOT_STORED, detail)
    }

    /// Reports that a limit of the store or the free space of its disk is reached.
    #[must_use]
    pub fn store_full(detail: impl Into<String>) -> Problem {
        Problem::new(507, codes::STORE_FULL, detail)
    }

    /// Reports that the store failed, and only reopening it will show whether the change was made.
    #[must_use]
    pub fn unknown_outcome() -> Problem {
        let detail = "the store failed, and the change may have been made: look before you repeat it (file status 30)";
        Problem::new(500, codes::UNKNOWN_OUTCOME, detail)
    }

    /// Reports that the queue does not exist or is not open to clients.
    #[must_use]
    pub fn no_queue() -> Problem {
        Problem::new(404, codes::NO_QUEUE, "no queue of this name is open to clients")
    }

    /// Reports that the claim was settled or has expired, or that another client has it.
    #[must_use]
    pub fn no_claim() -> Problem {
        Problem::new(404, codes::NO_CLAIM, "the claim has ended: it was settled, its time is over, or it is not yours")
    }

    /// Reports that the queue has no message with this id.
    #[must_use]
    pub fn no_message() -> Problem {
        Problem::new(404, codes::NO_MESSAGE, "no message of the queue has this id and can be got now")
    }

    /// Reports that the queue does not support the requested operation.
    #[must_use]
    pub fn not_supported(detail: impl Into<String>) -> Problem {
        Problem::new(409, codes::NOT_SUPPORTED, detail)
    }

    /// Reports that the page has an origin that `cors.origins` does not list.
    #[must_use]
    pub fn other_origin() -> Problem {
        Problem::new(
            403,
            codes::OTHER_ORIGIN,
            "the request comes from a page of an origin that may not use this server",
        )
    }

    /// Reports that a request parameter violates a rule. `place` is `query`, `path` or `header`.
    #[must_use]
    pub fn bad_parameter(place: &'static str, name: &str, rule: &str, detail: impl Into<String>) -> Problem {
        let mut problem = Problem::new(400, codes::PARAMETER, "a parameter breaks a rule");
        let (field, rule, detail) = (name.to_owned(), rule.to_owned(), detail.into());
        problem.errors.push(crate::FieldError { place, field, rule, detail });
        problem
    }

    /// Reports that another server received the request and did not answer in time.
    #[must_use]
    pub fn no_answer(limit: Duration) -> Problem {
        let detail = format!(
            "the service did not answer within {} ms; it may have performed the request, or may do so later",
            limit.as_millis()
        );
        Problem::new(504, codes::PROVIDER_TIME, detail)
    }

    /// Reports that another server received the request, and the connection ended before its answer was complete.
    #[must_use]
    pub fn cut_answer() -> Problem {
        let detail =
            "the connection to the service ended before its answer; the service may have performed the request";
        Problem::new(504, codes::NO_REPLY, detail)
    }

    /// Reports that the reply did not arrive in time.
    #[must_use]
    pub fn no_reply(limit: Duration) -> Problem {
        let detail = format!(
            "no reply came within {} ms; the request may have been performed, or may be later",
            limit.as_millis()
        );
        Problem::new(504, codes::NO_REPLY, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(if_match: &str, if_none_match: &str) -> Conditions {
        let values = |text: &'static str| Some(text.as_bytes()).filter(|text| !text.is_empty()).into_iter();
        Conditions::new(values(if_match.to_owned().leak()), values(if_none_match.to_owned().leak()))
    }

    #[test]
    fn conditions_are_about_the_record_whatever_its_form() {
        let tag = record_tag(b"one");
        let status = |conditions: Conditions, record: Option<&[u8]>| conditions.check(record).err().map(|p| p.status);
        for form in ["", "-xml", "-gzip"] {
            assert_eq!(status(conditions(&format!("\"x\", \"{tag}{form}\""), ""), Some(b"one")), None);
            assert_eq!(status(conditions(&format!("\"{tag}{form}\""), ""), Some(b"two")), Some(412));
            assert_eq!(status(conditions("", &format!("\"{tag}{form}\"")), Some(b"one")), Some(412));
            assert_eq!(conditions(&format!("\"{tag}{form}\""), "").check_read(b"one"), Ok(()));
        }
        // A proxy that compresses has made the tag weak.
        assert_eq!(status(conditions("", &format!("W/\"{tag}\"")), Some(b"one")), Some(412));
        assert_eq!(status(conditions("", &format!("W/\"{tag}-xml\"")), Some(b"one")), Some(412));
        // Weak tags never match strongly, and without a record nothing matches.
        assert_eq!(status(conditions(&format!("W/\"{tag}\""), ""), Some(b"one")), Some(412));
        assert_eq!(status(conditions("*", ""), None), Some(412));
        assert_eq!(status(conditions("*", ""), Some(b"one")), None);
        assert_eq!(status(conditions("", "*"), Some(b"one")), Some(412));
        assert_eq!(status(conditions("", "*"), None), None);
        assert_eq!(status(conditions("", ""), None), None);
    }

    #[test]
    fn an_update_keeps_what_it_does_not_set() {
        let call = |record: &[u8], changed: Option<Vec<Range<usize>>>| RecordCall {
            action: FileAction::Update,
            index: None,
            key: Vec::new(),
            matching: Matching::Equal,
            record: record.to_vec(),
            changed,
            check: None,
            conditions: Conditions::default(),
            measure: None,
            count: 0,
            after: None,
        };
        assert_eq!(call(b"ABCDEF", Some(vec![0..2, 4..5])).merged(b"abcdef"), b"ABcdEf");
        // A longer record keeps its end, a shorter one grows as far as it must.
        assert_eq!(call(b"ABCDEF", Some(vec![0..0, 1..2])).merged(b"abcdefgh"), b"aBcdefgh");
        assert_eq!(call(b"ABCDEF", Some(vec![0..0, 3..4])).merged(b"ab"), b"abCD");
        assert_eq!(call(b"ABCDEF", None).merged(b"ab"), b"ABCDEF");
    }
}
