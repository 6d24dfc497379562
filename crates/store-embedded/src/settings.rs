//! Settings of the embedded engine.

/// Point at which a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Durability {
    /// After its sync: a power failure loses no acknowledged commit.
    #[default]
    Sync,
    /// After its write: the end of the process loses nothing, a power failure loses the last seconds. The remaining units are complete, in
    /// order and without a gap.
    Buffered,
}

/// Threads that move changes into the applied store, and commit groups for which no caller waits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Work {
    /// Threads of the engine.
    #[default]
    Background,
    /// The caller, by [`crate::EmbeddedEngine::flush`] and [`crate::EmbeddedEngine::apply`]: for tests that repeat.
    Inline,
}

/// Settings with units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// Point at which a commit is acknowledged.
    pub durability: Durability,
    /// Threads that do the background work.
    pub work: Work,
    /// Size of a log segment in bytes. A larger group gets a separate segment. Default 16 MB, so that an idle store with its spare segments stays
    /// below 64 MB.
    pub segment_bytes: u64,
    /// Freed segments kept for reuse: writing into them needs no new space and no new length. Default 2.
    pub spare_segments_max: usize,
    /// Bytes of the log that are not applied; beyond them commits wait for the applier. Default 1 GB.
    pub log_bytes_max: u64,
    /// Bytes of changes in memory; beyond them commits wait for the applier. Default 256 MB.
    pub delta_bytes_max: usize,
    /// Bytes of changes in memory at which the applier begins without waiting for its interval. Default 64 MB.
    pub apply_bytes: usize,
    /// Milliseconds between two applies while there are changes. Default 1,000: a record that changes often is written once a second.
    pub apply_interval_ms: u64,
    /// Changes in one commit of the applied store. Default 20,000, about 150 ms; a larger one would hold the disk for seconds.
    pub apply_batch_changes_max: usize,
    /// Bytes of the cache of the applied store. Default 256 MB.
    pub cache_bytes: usize,
    /// Bytes of the cache of small records, filled as records are read. Default 32 MB: 262,144 records of up to 104 bytes including keys. 0 disables it.
    pub record_cache_bytes: usize,
    /// Maximum number of bytes of submitted commits; beyond it, [`quayline_store::Engine::submit`] waits. Default 64 MB.
    pub in_flight_bytes_max: usize,
    /// Number of such commits. Default 16,384.
    pub in_flight_units_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            durability: Durability::Sync,
            work: Work::Background,
            segment_bytes: 16 << 20,
            spare_segments_max: 2,
            log_bytes_max: 1 << 30,
            delta_bytes_max: 256 << 20,
            apply_bytes: 64 << 20,
            apply_interval_ms: 1_000,
            apply_batch_changes_max: 20_000,
            cache_bytes: 256 << 20,
            record_cache_bytes: 32 << 20,
            in_flight_bytes_max: 64 << 20,
            in_flight_units_max: 16_384,
        }
    }
}
