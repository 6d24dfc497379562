//! Figures of the process and the system for the rules of advice, in addition to the counts of members.

use serde::{Deserialize, Serialize};

/// A figure of a part of the process, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name, one of [`names`]. The figure of one of several objects has `:` and the object's name appended.
    pub name: String,
    /// Value of the figure.
    pub value: FigureValue,
}

/// Kind and value of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FigureValue {
    /// A count since the start of the process, or of the system: an interval has the difference.
    Total(f64),
    /// A state: an interval has the first, the last and the greatest one.
    Now(f64),
}

/// A state during an interval.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Seen {
    /// Value at the first reading.
    pub first: f64,
    /// Value at the last reading.
    pub last: f64,
    /// Greatest value.
    pub peak: f64,
}

impl Seen {
    /// Creates a state with one reading.
    #[must_use]
    pub fn once(value: f64) -> Seen {
        Seen { first: value, last: value, peak: value }
    }

    /// Sees it again.
    pub fn again(&mut self, value: f64) {
        self.last = value;
        self.peak = self.peak.max(value);
    }
}

impl Figure {
    /// Creates a count since the start.
    #[must_use]
    pub fn total(name: impl Into<String>, value: f64) -> Figure {
        Figure { name: name.into(), value: FigureValue::Total(value) }
    }

    /// Creates a state.
    #[must_use]
    pub fn now(name: impl Into<String>, value: f64) -> Figure {
        Figure { name: name.into(), value: FigureValue::Now(value) }
    }

    /// Creates a yes-or-no state.
    #[must_use]
    pub fn holds(name: impl Into<String>, holds: bool) -> Figure {
        Figure::now(name, f64::from(u8::from(holds)))
    }
}

/// Names of figures, with their units.
pub mod names {
    /// Lines for the audit, a count.
    pub const AUDIT_LINES: &str = "audit-lines";
    /// Lines for the audit that are not written yet, a state.
    pub const AUDIT_WAITING: &str = "audit-waiting";
    /// Priority number of the class of jobs, a state.
    pub const BATCH_PRIORITY: &str = "batch-priority";
    /// 1 if clients are asked to present a certificate.
    pub const CLIENT_AUTHENTICATION: &str = "client-authentication";
    /// 1 if somebody's rights depend on a certificate.
    pub const CLIENT_AUTHENTICATION_NEEDED: &str = "client-authentication-needed";
    /// 1 if answers are compressed.
    pub const COMPRESSION: &str = "compression";
    /// Connections of clients, a count.
    pub const CONNECTIONS: &str = "connections";
    /// Calls of databases, a count.
    pub const DATABASE_CALLS: &str = "database-calls";
    /// Connections to databases that were made, a count.
    pub const DATABASE_CONNECTS: &str = "database-connects";
    /// Definitions that were compiled, a count.
    pub const DEFINITIONS_COMPILED: &str = "definitions-compiled";
    /// Different definitions among them, a count.
    pub const DEFINITIONS_DIFFERENT: &str = "definitions-different";
    /// Definitions that the cache removed to make room, a count.
    pub const DEFINITIONS_REMOVED: &str = "definitions-removed";
    /// Seconds for which a disk was busy, by disk, a count.
    pub const DISK_BUSY: &str = "disk-busy-s";
    /// Files that were emptied record by record, a count.
    pub const FILES_EMPTIED: &str = "files-emptied";
    /// Processors of this machine, if it is a virtual one, a state.
    pub const GUEST_PROCESSORS: &str = "guest-processors";
    /// Most alternate indexes of a file that got records, a state.
    pub const INDEXES: &str = "indexes";
    /// Bytes over a network interface, by interface, a count.
    pub const INTERFACE_BYTES: &str = "interface-bytes";
    /// Speed of a network interface in bit/s, by interface, a state.
    pub const INTERFACE_SPEED: &str = "interface-speed";
    /// Share of time in which some process of the machine waited for a disk, a state.
    pub const IO_PRESSURE: &str = "io-pressure";
    /// Threads that take connections, a state.
    pub const LISTENER_THREADS: &str = "listener-threads";
    /// Looks into record files, a count.
    pub const LOOKUPS: &str = "lookups";
    /// Looks into record files that read a page from the medium, a count.
    pub const LOOKUPS_MISSED: &str = "lookups-missed";
    /// Bytes of memory that the machine can give, a state.
    pub const MEMORY_FREE: &str = "memory-free";
    /// Bytes of memory that the process may take, a state.
    pub const MEMORY_LIMIT: &str = "memory-limit";
    /// Units of work that are open, a state.
    pub const OPEN_UNITS: &str = "open-units";
    /// 1 if there is a separate listener for operators.
    pub const OPERATOR_LISTENER: &str = "operator-listener";
    /// Page faults of the process that read from a disk, a count.
    pub const PAGE_FAULTS: &str = "page-faults";
    /// Folders above the store's files, a state.
    pub const PATH_DEPTH: &str = "path-depth";
    /// Processes for COBOL programs that were started, a count.
    pub const PROGRAM_STARTS: &str = "program-starts";
    /// Calls of COBOL programs, a count.
    pub const PROGRAM_CALLS: &str = "program-calls";
    /// Messages on a queue, by queue, a state.
    pub const QUEUE_DEPTH: &str = "queue-depth";
    /// Records inserted into record files, a count.
    pub const RECORDS_INSERTED: &str = "records-inserted";
    /// 1 if the shares of classes are enforced.
    pub const REGULATOR: &str = "regulator";
    /// Seconds for which commits waited for the applied store, a count.
    pub const STALLED: &str = "stalled-s";
    /// Units of work that inserted records, a count.
    pub const UNITS_INSERTING: &str = "units-inserting";
    /// Seconds since the start of the process, a state.
    pub const UPTIME: &str = "uptime-s";
}
