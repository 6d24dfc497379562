//! Settings of the embedded engine.

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Durability {
    /// After its sync: no power cut loses it.
    #[default]
    Sync,
    /// After its write: the end of the process does not lose it, a power cut loses the last seconds. What remains is still whole units, in
    /// order, without a gap.
    Buffered,
}

/// Who moves changes into the applied store and leads groups of commits that nobody waits for.
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
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// Who works.
    pub work: Work,
    /// Bytes of one segment of the log. A larger group has a segment of its own. Default 16 MB, so that an idle store with its spare segments stays
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
    /// Bytes of the cache of small records, used as records are read. Default 32 MB: 262,144 records of up to 104 bytes with their keys. 0 is none.
    pub record_cache_bytes: usize,
    /// Bytes of commits on their way; beyond them [`quayline_store::Engine::submit`] waits. Default 64 MB.
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
