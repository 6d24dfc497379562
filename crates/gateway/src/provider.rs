//! Providers answer calls: the seam to programs, upstreams and files.

use core::future::Future;
use core::pin::Pin;
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use crate::record_call::{FileSpec, QueueSpec, RecordCall};
use crate::{Problem, codes};

/// The record of a call, in two consecutive parts.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The part that the request has set.
    pub front: &'a [u8],
    /// The rest, which is the same for every call of a service: who waits need not copy it.
    pub tail: &'a Arc<[u8]>,
    /// Bytes of the tail up to the 0x00 that fills its end.
    pub tail_used: usize,
}

impl Outgoing<'_> {
    /// Joins both parts.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        [self.front, self.tail].concat()
    }
}

/// The record that a provider answered with.
pub enum Returned {
    /// Owned bytes.
    Bytes(Vec<u8>),
    /// Bytes in the provider's memory, copied once when they are read.
    Held(Box<dyn Held>),
    /// The current committed record of a file.
    Record(Vec<u8>),
    /// A page of a file's records, and the place after which the next one begins.
    Records {
        /// One after another.
        records: Vec<Vec<u8>>,
        /// `None` after the last page.
        next: Option<Vec<u8>>,
    },
    /// The record of a file is deleted, committed.
    Deleted,
    /// A message is on its queue, committed; its id as hexadecimal digits.
    Accepted(String),
}

/// A record in a provider's memory until it is taken or dropped.
pub trait Held {
    /// Copies the record to `to`, which is emptied before, and frees its place. If `length` measures the record, only its actual
    /// length is copied.
    fn take(self: Box<Self>, length: Option<Measure<'_>>, to: &mut Vec<u8>);
}

/// Determines a record's length from its first bytes.
pub struct Measure<'a> {
    /// Number of bytes that it needs.
    pub front: usize,
    /// Takes those bytes and returns the length; `None` means that the record is copied whole.
    pub length: &'a mut dyn FnMut(&[u8]) -> Option<usize>,
}

impl core::fmt::Debug for Returned {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Returned::Bytes(_) => "Bytes",
            Returned::Held(_) => "Held",
            Returned::Record(_) => "Record",
            Returned::Records { .. } => "Records",
            Returned::Deleted => "Deleted",
            Returned::Accepted(_) => "Accepted",
        })
    }
}

/// Answers calls of one service on one thread.
pub trait Provider {
    /// Calls with a record, whose parts are read before this returns. `traceparent` makes the W3C trace context for protocols that
    /// carry one.
    fn call<'a>(&'a self, record: Outgoing<'_>, traceparent: &dyn Fn() -> String) -> Answered<'a>;

    /// Performs an operation on the records of a file, in one unit of work that is committed before the answer. Providers without a file return an
    /// error.
    fn act<'a>(&'a self, _call: RecordCall) -> Answered<'a> {
        let reason = "the provider has no record file".to_owned();
        Box::pin(core::future::ready(Err(ProviderFault::Absent { reason })))
    }

    /// Checks whether calls can be answered now, for readiness. `Err` is the reason why not.
    ///
    /// # Errors
    /// The reason, for an operator.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A pending answer.
pub type Answered<'a> = Pin<Box<dyn Future<Output = Result<Returned, ProviderFault>> + 'a>>;

/// Reason why a provider gave no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ProviderFault {
    /// The program ended while it processed the call.
    Ended {
        /// The way it ended, also for the client.
        reason: String,
    },
    /// The call exceeded the time limit and was stopped.
    TimeLimit {
        /// The limit.
        limit: Duration,
    },
    /// The maximum number of calls is waiting.
    Busy {
        /// Time after which a retry may succeed.
        retry_after: Duration,
    },
    /// The provider cannot be started or reached.
    Absent {
        /// Reason, for the log.
        reason: String,
    },
    /// The provider has no record for the call.
    NoRecord,
    /// The answer is not a record of the service.
    BadAnswer {
        /// Reason, for the log.
        reason: String,
    },
    /// The call was refused with a problem for the client.
    Refused(Box<Problem>),
}

impl ProviderFault {
    /// Returns the answer to the client.
    #[must_use]
    pub fn problem(&self) -> Problem {
        match self {
            // The log line has the id of the request, because the operator looks for the request at which a program ended.
            ProviderFault::Ended { reason } => {
                Problem::new(502, codes::PROVIDER_ENDED, reason.clone()).logged(reason.clone())
            }
            ProviderFault::TimeLimit { limit } => {
                let text = format!("the program ran longer than its limit of {} ms and was stopped", limit.as_millis());
                Problem::new(504, codes::PROVIDER_TIME, text.clone()).logged(text)
            }
            ProviderFault::Busy { retry_after } => {
                let text = "the service is busy with other calls, and this one could not begin in time";
                let mut problem = Problem::new(503, codes::PROVIDER_BUSY, text);
                problem.retry_after_s = Some(u32::try_from(retry_after.as_secs().max(1)).unwrap_or(u32::MAX));
                problem
            }
            ProviderFault::Absent { reason } => {
                let mut problem = Problem::new(503, codes::PROVIDER_ABSENT, "the service cannot be reached now");
                problem.retry_after_s = Some(5);
                problem.logged(reason.clone())
            }
            ProviderFault::NoRecord => Problem::new(404, codes::NO_RECORD, "no record has this value"),
            ProviderFault::BadAnswer { reason } => Problem::new(
                502,
                codes::BAD_ANSWER,
                "the service answered with something that is not one of its records",
            )
            .logged(reason.clone()),
            ProviderFault::Refused(problem) => Problem::clone(problem),
        }
    }
}

/// Hashes names, sizes and times of the modules in folders.
fn modules_stamp(folders: &[PathBuf]) -> u64 {
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let modules = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "so"));
    let mut known: Vec<_> = modules
        .filter_map(|entry| entry.metadata().ok().map(|data| (entry.path(), data.len(), data.modified().ok())))
        .collect();
    known.sort();
    xxhash_rust::xxh3::xxh3_64(format!("{known:?}").as_bytes())
}

impl ProgramSpec {
    /// Returns a digest of the names, sizes and times of all modules that the program may call, including its own. A changed module needs new workers.
    #[must_use]
    pub fn modules_stamp(&self) -> u64 {
        modules_stamp(&self.modules)
    }

    /// Returns the module that is compiled from the source; `None` without a source.
    #[must_use]
    pub fn made_module(&self) -> Option<PathBuf> {
        self.source.as_ref()?;
        Some(self.modules.first()?.join(format!("{}.so", self.program)))
    }
}

/// The provider in a service file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProviderSpec {
    /// A COBOL program, called with its COMMAREA.
    Program(ProgramSpec),
    /// Records of a file: for tests and for clients that are built before the program is.
    Canned(CannedSpec),
    /// An HTTP service that takes and returns records.
    Http(HttpSpec),
    /// A statement of a database.
    Sql(crate::SqlSpec),
    /// A record file of the store.
    File(FileSpec),
    /// A queue of the store.
    Queue(QueueSpec),
}

/// A COBOL program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProgramSpec {
    /// PROGRAM-ID.
    pub program: String,
    /// Folders with its module.
    pub modules: Vec<PathBuf>,
    /// Folder it runs in.
    pub work_folder: PathBuf,
    /// Worker processes for each server thread. Default 1.
    pub workers: usize,
    /// Calls that one worker holds. Default 32.
    pub slots: usize,
    /// Longest time that one call may run. Default 5 s.
    pub time_limit: Duration,
    /// Longest time that a call may wait for a worker. Default 2 s.
    pub wait_limit: Duration,
    /// Memory of a worker. Default 512 MiB.
    pub memory_bytes_max: u64,
    /// Content of WORKING-STORAGE at the start of a call. Default: its VALUE clauses.
    pub working_storage: WorkingStorage,
    /// Environment of the worker.
    pub environment: Vec<(String, String)>,
    /// Source of its module.
    pub source: Option<ProgramSource>,
    /// Bytes of each parameter, which follow one another in the record. Empty: the record is the only one, the COMMAREA.
    pub parameters: Vec<usize>,
}

/// Content of WORKING-STORAGE at the start of a program's call.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum WorkingStorage {
    /// The VALUE clauses, as for a CICS task.
    #[default]
    Fresh,
    /// The content that an earlier call in the same worker left, which may be another client's.
    Keep,
}

/// Source of a program's module.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProgramSource {
    /// The COBOL source.
    pub file: PathBuf,
    /// Options of GnuCOBOL's compiler: the user's, and those that make it store data as the service reads it.
    pub options: Vec<String>,
    /// The project's folder: copybooks are looked for there and in `copybooks/`.
    pub root: PathBuf,
}

/// Records of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CannedSpec {
    /// The file: consecutive records of the service's length.
    pub file: PathBuf,
    /// Bytes that request and record must have alike: offset and length of a field; a call that no record fits has none. `None`: the first
    /// record answers every call.
    pub by: Option<(usize, usize)>,
}

/// An HTTP service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HttpSpec {
    /// URL to which the record is posted.
    pub url: String,
    /// Headers to send, such as an authorization from the environment.
    pub headers: Vec<(String, String)>,
    /// Longest time for an answer. Default 5 s.
    pub time_limit: Duration,
    /// Certificates of the authorities that its own is checked against, for https.
    pub authorities: Option<PathBuf>,
}

/// Answers from a file of records.
#[derive(Clone, Debug)]
pub struct CannedRecords {
    records: Vec<u8>,
    length: usize,
    by: Option<(usize, usize)>,
}

impl CannedRecords {
    /// Records of `length` bytes from the file's bytes.
    ///
    /// # Errors
    /// The fault of the file, for an operator.
    pub fn new(records: Vec<u8>, length: usize, by: Option<(usize, usize)>) -> Result<Self, String> {
        if records.is_empty() || !records.len().is_multiple_of(length) {
            return Err(format!(
                "it has {} bytes, which is not a whole number of records of {length} bytes",
                records.len()
            ));
        }
        Ok(CannedRecords { records, length, by })
    }
}

impl Provider for CannedRecords {
    fn call<'a>(&'a self, record: Outgoing<'_>, _: &dyn Fn() -> String) -> Answered<'a> {
        let fits = |known: &&[u8]| match self.by {
            Some((at, len)) => {
                let byte = |i: usize| record.front.get(i).or_else(|| record.tail.get(i - record.front.len()));
                (at..at + len).all(|i| known.get(i).is_some() && known.get(i) == byte(i))
            }
            None => true,
        };
        let found = self.records.chunks_exact(self.length).find(fits);
        let answer = found.map(|record| Returned::Bytes(record.to_vec())).ok_or(ProviderFault::NoRecord);
        Box::pin(core::future::ready(answer))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    /// The newest time of all modules hid one that was replaced by an older file, as a copy that keeps times does.
    #[test]
    fn a_replaced_module_is_noticed_whatever_its_time_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, seconds: u64| {
            let file = std::fs::File::create(folder.path().join(name)).expect("a file");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("a time");
        };
        let stamp = || modules_stamp(&[folder.path().to_owned()]);
        write("A.so", 10);
        write("B.so", 20);
        let before = stamp();
        assert_eq!(stamp(), before);
        write("A.so", 15);
        let after = stamp();
        assert_ne!(after, before);
        write("notes.txt", 30);
        assert_eq!(stamp(), after);
    }
}
