//! Bounds of the store above its engine.

/// Limits with their units. Each limit has its own finding; reaching a limit refuses the operation and loses nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StoreLimits {
    /// Maximum number of open units of work. Each keeps its changes in memory. Default 10,000.
    pub units_open_max: usize,
    /// Changes of one unit of work. Default 1,000,000: about 200 MB of bookkeeping.
    pub unit_changes_max: usize,
    /// Bytes of keys and values that one unit of work changes. Default 256 MB: two messages of the largest size.
    pub unit_bytes_max: usize,
    /// Maximum length of a key in bytes. Default 1,024: four times the VSAM maximum, so that an alternate key and a primary key fit in one index
    /// entry.
    pub key_bytes_max: usize,
    /// Bytes of a record or message. Default 101 MB: a message of 100 MB and its header.
    pub value_bytes_max: usize,
    /// Record locks held at once by all units of work. Default 1,000,000.
    pub locks_max: usize,
    /// Maximum time in milliseconds that a unit of work waits for a record lock. Default 10,000.
    pub lock_wait_ms_max: u64,
    /// Bytes of content from which a message that persists is stored in parts of this length, which only a get reads. Default 1 MB less 1 kB, so that a
    /// part and its key fit into a page of the applied store.
    pub message_part_bytes: usize,
    /// Maximum number of messages of one queue that wait for their retry at once, each with about 100 bytes in memory. At this number, gets find no
    /// other message. Default 100,000.
    pub queue_delayed_max: usize,
    /// Messages of one queue whose content is kept in memory ahead of the next get. Default 4,096.
    pub queue_window_messages_max: usize,
    /// Maximum bytes of those messages. Default 16 MB; at least one message is kept regardless of its size.
    pub queue_window_bytes_max: usize,
    /// Maximum bytes of non-persistent messages of one queue, which exist only in memory, regardless of the depth. A put beyond this limit finds the
    /// queue full. Default 256 MB: two messages of the maximum size. One message fits regardless of its size.
    pub queue_memory_bytes_max: usize,
}

impl Default for StoreLimits {
    fn default() -> Self {
        StoreLimits {
            units_open_max: 10_000,
            unit_changes_max: 1_000_000,
            unit_bytes_max: 256 << 20,
            key_bytes_max: 1_024,
            value_bytes_max: 101 << 20,
            locks_max: 1_000_000,
            lock_wait_ms_max: 10_000,
            message_part_bytes: (1 << 20) - 1_024,
            queue_delayed_max: 100_000,
            queue_window_messages_max: 4_096,
            queue_window_bytes_max: 16 << 20,
            queue_memory_bytes_max: 256 << 20,
        }
    }
}
