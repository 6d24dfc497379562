//! Errors of the store, with their codes, file statuses and findings.

use std::io::ErrorKind;

use quayline_core::{Code, Fault, Finding, Place, Severity};

use crate::{FileStatus, Position, Space};

/// Operation that would give a queue each message again that it gives away.
pub(crate) const MOVE_TO_ITSELF: &str = "a move from a queue that gets its messages";

fn of_file(file: Option<&String>) -> String {
    file.map_or_else(String::new, |file| format!(" of file {file}"))
}

/// Error of a store operation. The operation changed nothing unless the variant says otherwise.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The medium failed.
    #[error("{file} cannot be {action}: {why}")]
    Io {
        /// File of the data folder.
        file: String,
        /// Failed action as a participle: "read", "written", "synced".
        action: &'static str,
        /// Kind of the system's error.
        kind: ErrorKind,
        /// The system's own words.
        why: String,
    },
    /// A write or sync failed, and the written bytes could not be truncated. Whether the unit of work was committed is known only after the store is
    /// reopened.
    #[error("{file} cannot be {action}, and the unit of work may have happened: {why}")]
    Unknown {
        /// File of the data folder.
        file: String,
        /// Failed action as a participle: "written", "synced".
        action: &'static str,
        /// The system's own words.
        why: String,
    },
    /// An earlier write or sync failed, so nothing more may commit.
    #[error("the store takes no more commits since a write failed: {cause}")]
    Poisoned {
        /// The first failure.
        cause: String,
    },
    /// Stored bytes differ from the written ones.
    #[error("{file} is damaged at byte {byte}: {what}")]
    Damaged {
        /// File of the data folder.
        file: String,
        /// Byte in the file, from 0.
        byte: u64,
        /// Expected and found values.
        what: String,
    },
    /// A group of the log is damaged although a later one is intact, so it is not the torn end of the log.
    #[error("the group at position {damaged} is damaged, but the group at position {intact} after it is intact")]
    LogDamaged {
        /// Segment file of the damaged group.
        file: String,
        /// Byte of the damaged group in that file.
        byte: u64,
        /// Position of the damaged commit.
        damaged: Position,
        /// Position of the first intact group after it.
        intact: Position,
    },
    /// A save is damaged or incomplete.
    #[error("the save is not usable at byte {byte}: {what}")]
    BadSave {
        /// The save.
        file: String,
        /// Byte, from 0.
        byte: u64,
        /// Expected and found values.
        what: String,
    },
    /// A restore into a database did not end.
    #[error("{store} holds only a part of a save, because a restore into it did not end")]
    UnfinishedRestore {
        /// The store.
        store: String,
    },
    /// A save in parts did not end.
    #[error("the save is not complete: it has {parts} finished parts")]
    UnfinishedSave {
        /// Folder of the save.
        folder: String,
        /// Finished parts.
        parts: usize,
    },
    /// Another process has the data folder open.
    #[error("another process has the data folder open")]
    InUse {
        /// The folder.
        folder: String,
    },
    /// The files are of a version that this program does not know.
    #[error("{file} has format version {found}, this program reads version {known}")]
    Version {
        /// File of the data folder.
        file: String,
        /// Version found.
        found: u32,
        /// Version that this program writes.
        known: u32,
    },
    /// The store is open for reading only.
    #[error("the store is open for reading only")]
    ReadOnly,
    /// A limit was reached.
    #[error("the limit {limit} of {value} is reached")]
    LimitReached {
        /// Name of the limit.
        limit: &'static str,
        /// Value of the limit.
        value: u64,
    },
    /// Another unit of work has the lock on the record.
    #[error("another unit of work holds the record{}, waited {waited_ms} ms", of_file(file.as_ref()))]
    LockTimeout {
        /// Space of the record.
        space: Space,
        /// Record file, if the record is in one.
        file: Option<String>,
        /// Milliseconds waited.
        waited_ms: u64,
    },
    /// Waiting for the record would never end.
    #[error("waiting for the record{} would never end: its holder waits for this unit of work", of_file(file.as_ref()))]
    Deadlock {
        /// Space of the record.
        space: Space,
        /// Record file, if the record is in one.
        file: Option<String>,
    },
    /// A key or value is too long.
    #[error("the {what} has {found} bytes, expected at most {max}")]
    TooLong {
        /// "key", "record", "message", "unit of work".
        what: &'static str,
        /// Length found.
        found: usize,
        /// Longest allowed.
        max: usize,
    },
    /// A record with this key exists.
    #[error("a record with this {} exists in {file}", .index.as_ref().map_or("key".to_owned(), |index| format!("key of index {index}")))]
    DuplicateKey {
        /// File.
        file: String,
        /// Unique alternate index; `None` is the primary key.
        index: Option<String>,
    },
    /// A delete by a key that several records have, or begin with.
    #[error("several records of {file} have this key or begin with it")]
    SeveralRecords {
        /// File.
        file: String,
    },
    /// No record has this key.
    #[error("no record of {file} has this key")]
    NotFound {
        /// File.
        file: String,
    },
    /// A browse reached the end of the file, or its beginning.
    #[error("{file} has no further record in this direction")]
    EndOfFile {
        /// File.
        file: String,
    },
    /// The file does not allow records of this length.
    #[error("the record has {found} bytes, expected {}", range_text(*.min, *.max))]
    WrongLength {
        /// File.
        file: String,
        /// Length found.
        found: usize,
        /// Shortest allowed.
        min: usize,
        /// Longest allowed.
        max: usize,
    },
    /// A rewrite changes the primary key, or the length of a record that has an address.
    #[error("a rewrite in {file} must not change the {what}")]
    Immutable {
        /// File.
        file: String,
        /// "primary key" or "length".
        what: &'static str,
    },
    /// A rewrite or delete of a record that this unit of work did not read for update.
    #[error("the unit of work did not read this record of {file} for update")]
    NotReadForUpdate {
        /// File.
        file: String,
    },
    /// A browse has no position.
    #[error("the browse of {file} has no position")]
    NoPosition {
        /// File.
        file: String,
    },
    /// The record file does not exist.
    #[error("no record file {name}")]
    FileMissing {
        /// Name.
        name: String,
    },
    /// A name is in use.
    #[error("{kind} {name} exists")]
    Exists {
        /// "record file" or "queue".
        kind: &'static str,
        /// Name.
        name: String,
    },
    /// The organisation does not support the operation.
    #[error("{file} is {organisation}, which does not support {operation}")]
    Unsupported {
        /// File.
        file: String,
        /// "key-sequenced" and so on.
        organisation: &'static str,
        /// Operation.
        operation: &'static str,
    },
    /// A relative record number is outside of the file.
    #[error("relative record number {found} is outside of {file}, expected 1 to {max}")]
    OutOfRange {
        /// File.
        file: String,
        /// Number found.
        found: u64,
        /// Greatest number.
        max: u64,
    },
    /// The alternate index does not exist.
    #[error("{file} has no alternate index {index}")]
    IndexMissing {
        /// File.
        file: String,
        /// Name of the index.
        index: String,
    },
    /// A definition contradicts itself.
    #[error("the definition of {name} is not usable: {what}")]
    BadDefinition {
        /// Name of the file or queue.
        name: String,
        /// Description of the fault.
        what: String,
    },
    /// Loaded keys are not ascending.
    #[error("entry {entry} of the load has a key that is not above the one before")]
    NotAscending {
        /// Number of the entry, from 1.
        entry: u64,
    },
    /// The queue does not exist.
    #[error("no queue {name}")]
    QueueMissing {
        /// Name.
        name: String,
    },
    /// The queue has reached its maximum depth, or its maximum number of bytes in non-persistent messages.
    #[error("queue {queue} is full: {}", full_text(*.depth, *.memory_bytes))]
    QueueFull {
        /// Queue.
        queue: String,
        /// Number of messages on the queue.
        depth: u64,
        /// Bytes of those that do not persist, if they are the reason.
        memory_bytes: Option<u64>,
    },
    /// A queue that another process uses cannot be deleted.
    #[error("another process uses queue {queue}")]
    QueueInUse {
        /// Queue.
        queue: String,
    },
    /// A record file that another process uses cannot be changed or deleted, and one that another process changes cannot be used.
    #[error("another process uses record file {file}")]
    FileInUse {
        /// File.
        file: String,
    },
    /// The target space of a load contains entries.
    #[error("the load met a key that exists")]
    NotEmpty {
        /// The space.
        space: Space,
    },
    /// No matching message arrived within the wait limit.
    #[error("no message of queue {queue} fits, waited {waited_ms} ms")]
    NoMessage {
        /// Queue.
        queue: String,
        /// Milliseconds waited.
        waited_ms: u64,
    },
    /// A message is longer than the queue allows.
    #[error("the message has {found} bytes, queue {queue} allows {max}")]
    MessageTooLong {
        /// Queue.
        queue: String,
        /// Length found.
        found: usize,
        /// Longest allowed.
        max: usize,
    },
}

/// Begin of the name of a store in a database, in the place of a file.
const DATABASE: &str = "the database ";

/// The medium failed.
pub const STO_IO: Code = Code("STO-001");
/// The store is poisoned.
pub const STO_POISONED: Code = Code("STO-002");
/// Stored bytes are damaged.
pub const STO_DAMAGED: Code = Code("STO-003");
/// The log is damaged before its end.
pub const STO_LOG_DAMAGED: Code = Code("STO-004");
/// A save is damaged.
pub const STO_SAVE: Code = Code("STO-034");
/// Another process has the folder open.
pub const STO_IN_USE: Code = Code("STO-005");
/// Unknown version of a file.
pub const STO_VERSION: Code = Code("STO-006");
/// The store is open for reading only.
pub const STO_READ_ONLY: Code = Code("STO-007");
/// A limit is reached.
pub const STO_LIMIT: Code = Code("STO-008");
/// A record lock was not free in time.
pub const STO_LOCK: Code = Code("STO-009");
/// Units of work wait for each other in a cycle.
pub const STO_DEADLOCK: Code = Code("STO-010");
/// Too long.
pub const STO_LENGTH: Code = Code("STO-011");
/// A unique key exists.
pub const STO_DUPLICATE: Code = Code("STO-012");
/// The record does not exist.
pub const STO_NOT_FOUND: Code = Code("STO-013");
/// End of a browse.
pub const STO_END: Code = Code("STO-014");
/// A record's length does not fit its file.
pub const STO_RECORD_LENGTH: Code = Code("STO-015");
/// A rewrite changes a key or length that must not change.
pub const STO_IMMUTABLE: Code = Code("STO-016");
/// A rewrite without a read for update.
pub const STO_NOT_READ: Code = Code("STO-017");
/// A browse without position.
pub const STO_NO_POSITION: Code = Code("STO-018");
/// The record file does not exist.
pub const STO_NO_FILE: Code = Code("STO-019");
/// A name is in use.
pub const STO_EXISTS: Code = Code("STO-020");
/// The organisation does not support the operation.
pub const STO_UNSUPPORTED: Code = Code("STO-021");
/// The outcome of a unit of work is not known.
pub const STO_UNKNOWN: Code = Code("STO-038");
/// A relative record number is out of range.
pub const STO_RANGE: Code = Code("STO-022");
/// The alternate index does not exist.
pub const STO_NO_INDEX: Code = Code("STO-023");
/// A definition contradicts itself.
pub const STO_DEFINITION: Code = Code("STO-024");
/// Loaded keys are not ascending.
pub const STO_ORDER: Code = Code("STO-025");
/// The queue does not exist.
pub const STO_NO_QUEUE: Code = Code("STO-030");
/// The queue is full.
pub const STO_QUEUE_FULL: Code = Code("STO-031");
/// Messages expired.
pub const STO_EXPIRED: Code = Code("STO-039");
/// Another process uses the queue.
pub const STO_QUEUE_IN_USE: Code = Code("STO-035");
/// Another process uses the record file.
pub const STO_FILE_IN_USE: Code = Code("STO-040");
/// A load met a key that exists.
pub const STO_NOT_EMPTY: Code = Code("STO-041");
/// A restore did not end.
pub const STO_RESTORE: Code = Code("STO-044");
/// Several records have a key.
pub const STO_SEVERAL: Code = Code("STO-045");
/// A message failed too often and cannot move to the backout queue.
pub const STO_POISON: Code = Code("STO-042");
/// A message moved to the backout queue, because it failed too often.
pub const STO_BACKED_OUT: Code = Code("STO-043");
/// No message matches.
pub const STO_NO_MESSAGE: Code = Code("STO-032");
/// The message is too long.
pub const STO_MESSAGE_LENGTH: Code = Code("STO-033");

impl StoreError {
    /// Names the record file in an error about a lock on one of its records.
    pub(crate) fn of_record_in(mut self, name: &str) -> StoreError {
        if let StoreError::LockTimeout { file, .. } | StoreError::Deadlock { file, .. } = &mut self {
            *file = Some(name.to_owned());
        }
        self
    }

    /// Creates an error of the medium.
    #[must_use]
    pub fn io(file: &str, action: &'static str, error: &std::io::Error) -> Self {
        StoreError::Io { file: file.to_owned(), action, kind: error.kind(), why: error.to_string() }
    }

    /// Returns the COBOL file status of the outcome.
    #[must_use]
    pub fn status(&self) -> FileStatus {
        match self {
            StoreError::Io { kind: ErrorKind::StorageFull | ErrorKind::QuotaExceeded, .. }
            | StoreError::QueueFull { .. } => FileStatus::Full,
            StoreError::Io { .. }
            | StoreError::Poisoned { .. }
            | StoreError::Unknown { .. }
            | StoreError::Damaged { .. }
            | StoreError::LogDamaged { .. }
            | StoreError::BadSave { .. }
            | StoreError::UnfinishedSave { .. }
            | StoreError::UnfinishedRestore { .. } => FileStatus::Permanent,
            StoreError::InUse { .. }
            | StoreError::QueueInUse { .. }
            | StoreError::FileInUse { .. }
            | StoreError::LimitReached { .. }
            | StoreError::LockTimeout { .. }
            | StoreError::Deadlock { .. } => FileStatus::Resource,
            StoreError::Version { .. } | StoreError::BadDefinition { .. } | StoreError::IndexMissing { .. } => {
                FileStatus::Attributes
            }
            StoreError::ReadOnly | StoreError::Unsupported { .. } => FileStatus::Unsupported,
            StoreError::TooLong { .. } | StoreError::WrongLength { .. } | StoreError::MessageTooLong { .. } => {
                FileStatus::Length
            }
            StoreError::DuplicateKey { .. } | StoreError::Exists { .. } | StoreError::NotEmpty { .. } => {
                FileStatus::DuplicateKey
            }
            StoreError::NotFound { .. } => FileStatus::NotFound,
            StoreError::EndOfFile { .. } | StoreError::NoMessage { .. } => FileStatus::EndOfFile,
            StoreError::Immutable { what: "length", .. } => FileStatus::Length,
            StoreError::Immutable { .. } | StoreError::NotAscending { .. } => FileStatus::Sequence,
            StoreError::NotReadForUpdate { .. } | StoreError::SeveralRecords { .. } => FileStatus::NotRead,
            StoreError::NoPosition { .. } => FileStatus::NoPosition,
            StoreError::FileMissing { .. } | StoreError::QueueMissing { .. } => FileStatus::Missing,
            StoreError::OutOfRange { .. } => FileStatus::Boundary,
        }
    }

    /// Converts the error into a finding with a remedy.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let (code, fault) = self.code();
        let finding = Finding::error(code, fault, self.to_string());
        let finding = match self.place() {
            Some(place) => finding.at(place),
            None => finding,
        };
        finding.hint(self.remedy())
    }

    fn code(&self) -> (Code, Fault) {
        match self {
            StoreError::Io { .. } => (STO_IO, Fault::Environment),
            StoreError::Poisoned { .. } => (STO_POISONED, Fault::Environment),
            StoreError::Unknown { .. } => (STO_UNKNOWN, Fault::Environment),
            StoreError::Damaged { .. } => (STO_DAMAGED, Fault::Environment),
            StoreError::LogDamaged { .. } => (STO_LOG_DAMAGED, Fault::Environment),
            StoreError::BadSave { .. } => (STO_SAVE, Fault::Environment),
            StoreError::UnfinishedSave { .. } => (STO_SAVE, Fault::Caller),
            StoreError::UnfinishedRestore { .. } => (STO_RESTORE, Fault::Environment),
            StoreError::InUse { .. } => (STO_IN_USE, Fault::Environment),
            StoreError::Version { .. } => (STO_VERSION, Fault::Config),
            StoreError::ReadOnly => (STO_READ_ONLY, Fault::Caller),
            StoreError::LimitReached { .. } => (STO_LIMIT, Fault::Caller),
            StoreError::LockTimeout { .. } => (STO_LOCK, Fault::Caller),
            StoreError::Deadlock { .. } => (STO_DEADLOCK, Fault::Caller),
            StoreError::TooLong { .. } => (STO_LENGTH, Fault::Sender),
            StoreError::DuplicateKey { .. } => (STO_DUPLICATE, Fault::Sender),
            StoreError::SeveralRecords { .. } => (STO_SEVERAL, Fault::Sender),
            StoreError::NotFound { .. } => (STO_NOT_FOUND, Fault::Sender),
            StoreError::EndOfFile { .. } => (STO_END, Fault::Caller),
            StoreError::WrongLength { .. } => (STO_RECORD_LENGTH, Fault::Sender),
            StoreError::Immutable { .. } => (STO_IMMUTABLE, Fault::Caller),
            StoreError::NotReadForUpdate { .. } => (STO_NOT_READ, Fault::Caller),
            StoreError::NoPosition { .. } => (STO_NO_POSITION, Fault::Caller),
            StoreError::FileMissing { .. } => (STO_NO_FILE, Fault::Config),
            StoreError::Exists { .. } => (STO_EXISTS, Fault::Caller),
            StoreError::Unsupported { .. } => (STO_UNSUPPORTED, Fault::Caller),
            StoreError::OutOfRange { .. } => (STO_RANGE, Fault::Sender),
            StoreError::IndexMissing { .. } => (STO_NO_INDEX, Fault::Config),
            StoreError::BadDefinition { .. } => (STO_DEFINITION, Fault::Config),
            StoreError::NotAscending { .. } => (STO_ORDER, Fault::Sender),
            StoreError::QueueMissing { .. } => (STO_NO_QUEUE, Fault::Config),
            StoreError::QueueFull { .. } => (STO_QUEUE_FULL, Fault::Environment),
            StoreError::QueueInUse { .. } => (STO_QUEUE_IN_USE, Fault::Caller),
            StoreError::FileInUse { .. } => (STO_FILE_IN_USE, Fault::Caller),
            StoreError::NotEmpty { .. } => (STO_NOT_EMPTY, Fault::Caller),
            StoreError::NoMessage { .. } => (STO_NO_MESSAGE, Fault::Caller),
            StoreError::MessageTooLong { .. } => (STO_MESSAGE_LENGTH, Fault::Sender),
        }
    }

    fn place(&self) -> Option<Place> {
        let (file, byte) = match self {
            StoreError::Damaged { file, byte, .. }
            | StoreError::LogDamaged { file, byte, .. }
            | StoreError::BadSave { file, byte, .. } => (file, Some(*byte)),
            StoreError::Version { file, .. } => (file, None),
            StoreError::InUse { folder } | StoreError::UnfinishedSave { folder, .. } => (folder, None),
            _ => return None,
        };
        let byte = byte.map(quayline_core::ByteOffset);
        Some(Place { file: Some(file.as_str().into()), byte, ..Place::default() })
    }

    fn remedy(&self) -> &'static str {
        match self {
            StoreError::Io { kind: ErrorKind::StorageFull | ErrorKind::QuotaExceeded, .. } => {
                "free space on the disk, then open the store again: everything acknowledged is there"
            }
            StoreError::Io { kind: ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem, .. } => {
                "give this user the right to write into the data folder, then open the store again"
            }
            StoreError::Unknown { file, .. } if file.starts_with(DATABASE) => {
                "check the server, open the store again and look whether the change is there before you repeat it"
            }
            StoreError::Unknown { .. } => {
                "check the disk or the server, open the store again and look whether the change is there before you repeat it"
            }
            StoreError::Io { file, .. } if file.starts_with(DATABASE) => {
                "check the address, the user and the server, then repeat the command"
            }
            StoreError::Poisoned { cause } if cause.contains(DATABASE) => {
                "check the server, then repeat the command: everything acknowledged is there"
            }
            StoreError::Io { .. } | StoreError::Poisoned { .. } => {
                "check the disk, then open the store again: everything acknowledged is there"
            }
            StoreError::Damaged { .. } | StoreError::LogDamaged { .. } => {
                "run `quayline store check` to see all damage, then restore the latest save"
            }
            StoreError::BadSave { .. } => "restore another save; the store itself was not changed",
            StoreError::UnfinishedRestore { .. } => {
                "run `quayline store restore` with this store again: it removes the part and restores the whole save"
            }
            StoreError::UnfinishedSave { .. } => {
                "run `quayline store save` with this folder again, which continues the save, or restore another one"
            }
            StoreError::InUse { .. } => {
                "end the other process, or use another data folder; with --admin ADDRESS, `quayline queue`, `quayline file` and `quayline flow define` ask a running server"
            }
            StoreError::Version { .. } => "open the folder with the version of quayline that wrote it",
            StoreError::ReadOnly => "open the store for writing",
            StoreError::LimitReached { .. } => "commit smaller or fewer units of work, or raise the limit",
            StoreError::LockTimeout { .. } => "repeat the unit of work, or commit the one that holds the record sooner",
            StoreError::Deadlock { .. } => {
                "roll back and repeat the unit of work; read records for update in the same order everywhere"
            }
            StoreError::DuplicateKey { .. } => "read the record for update and rewrite it, or use another key",
            StoreError::NotFound { .. } => {
                "read the next greater key (`--at-least`, `at-least`, or `KEY_GE` in a flow), or insert the record"
            }
            StoreError::SeveralRecords { .. } => {
                "see the records with `start` and `next`, and delete each by its own key"
            }
            StoreError::WrongLength { .. } => "see the allowed lengths with `quayline file facts`",
            StoreError::Immutable { .. } => "delete the record and insert it under its new key",
            StoreError::NotReadForUpdate { .. } => "read the record for update in the same unit of work first",
            StoreError::NoPosition { .. } => "start the browse at a key first",
            StoreError::FileMissing { .. } => "define the file with `quayline file define`",
            StoreError::Exists { .. } => "use another name, or delete the existing one first",
            StoreError::IndexMissing { .. } => "see the file's indexes with `quayline file facts`",
            StoreError::NotAscending { .. } => "sort the input by its key, or load it without the sorted option",
            StoreError::QueueMissing { .. } => "define the queue with `quayline queue define`",
            StoreError::QueueFull { memory_bytes: Some(_), .. } => {
                "get messages from the queue, or put persistent messages, which wait on the disk"
            }
            StoreError::QueueFull { .. } => {
                "get messages from the queue, or raise its depth limit: quayline queue alter"
            }
            StoreError::QueueInUse { .. } => "end the processes that use the queue, then delete it",
            StoreError::FileInUse { .. } => {
                "end the processes that use the file, or wait until the one that changes it has finished, then repeat the command"
            }
            StoreError::NotEmpty { .. } => "load into a new file, or without the sorted option",
            StoreError::MessageTooLong { .. } => "split the message, or raise the queue's message limit",
            StoreError::TooLong { what: "unit of work", .. } => "commit smaller units of work",
            StoreError::TooLong { .. } => {
                "shorten it; `quayline file facts` shows the length of the key and of the records"
            }
            StoreError::EndOfFile { .. } => "start the browse at another key, or read the other way",
            StoreError::Unsupported { operation, .. } if operation.starts_with("a sorted load") => {
                "load it without --sorted"
            }
            StoreError::Unsupported { operation: MOVE_TO_ITSELF, .. } => "name another queue",
            StoreError::Unsupported { organisation: "a topic", .. } => "use one of the queues that subscribe to it",
            StoreError::Unsupported { .. } => {
                "see the organisation with `quayline file facts`, and use an operation that it has"
            }
            StoreError::OutOfRange { .. } => "use a number of that range",
            StoreError::BadDefinition { .. } => {
                "correct the definition; `quayline file define --help` and `quayline queue define --help` show its parts"
            }
            StoreError::NoMessage { .. } => {
                "see the messages with `quayline queue browse`; in a database, `--wait` waits for a message of another process"
            }
        }
    }
}

/// Creates a note that a get found expired messages and deleted them.
#[must_use]
pub fn expired_finding(queue: &str, count: u64) -> Finding {
    let message = match count {
        1 => format!("1 message of queue {queue} expired and was deleted"),
        count => format!("{count} messages of queue {queue} expired and were deleted"),
    };
    let note = Finding { severity: Severity::Note, ..Finding::error(STO_EXPIRED, Fault::Sender, message) };
    note.hint("get messages sooner, or put them with a longer expiry or none")
}

/// Creates a finding about messages that failed too often and remain on their queue.
pub(crate) fn poison_finding(queue: &str, count: u64, backout: &str, error: &StoreError) -> Finding {
    let what = match count {
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    };
    let named = format!("`quayline queue alter {queue} --backout-queue NAME`");
    let (why, remedy) = match error {
        StoreError::QueueMissing { name } if name == queue => (
            "the queue is its own backout queue".to_owned(),
            format!("name a backout queue with {named}, or get the message and keep it elsewhere"),
        ),
        StoreError::QueueMissing { name } => (
            error.to_string(),
            format!("define the backout queue with `quayline queue define {name}`, or name another one with {named}"),
        ),
        error => (error.to_string(), format!("{}; or name another backout queue with {named}", error.remedy())),
    };
    let message = format!("{what} of queue {queue} failed too often and cannot move to backout queue {backout}: {why}");
    Finding::warning(STO_POISON, Fault::Config, message).hint(remedy)
}

fn full_text(depth: u64, memory_bytes: Option<u64>) -> String {
    match memory_bytes {
        Some(bytes) => format!("its messages that do not persist have {bytes} bytes"),
        None if depth == 1 => "1 message".to_owned(),
        None => format!("{depth} messages"),
    }
}

fn range_text(min: usize, max: usize) -> String {
    if min == max { max.to_string() } else { format!("{min} to {max}") }
}
