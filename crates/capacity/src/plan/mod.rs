//! Planning models: printed rules and worked examples as functions, with their sources.

mod access;
mod batch;
mod cache;
mod compression;
mod conversion;
mod disk;
mod entitlement;
mod features;
mod journal;
mod layout;
mod line;
mod minimum;
mod network;
mod regulator;
mod report;
mod transfer;
mod users;

pub use access::{
    Access, AccessChoice, AccessPlan, AccessTimes, CheckRange, Selectivity, access_choice, access_plan, memory_share,
    pruned_by_check, scan_reads, vector_index_bytes,
};
pub use batch::{
    BatchWindow, StepLimit, StreamLimits, WorkKind, batch_run_time, batch_window, block_time, cache_pays,
    serial_switches, streams,
};
pub use cache::{CacheVerdict, definition_cache};
pub use compression::{CompressionAdvice, compress_record, compressed_length, compression_advice, decompress_record};
pub use conversion::{HostRating, KernelShare, Overhead, convert_by_kernels, convert_by_rating, relative_overhead};
pub use disk::{Disk, arm_rate, disk_service};
pub use entitlement::{
    Entitlement, KneeRule, KneeState, MigrationRule, ShareCheck, knee, migrate, one_job_share, operating_target,
    pro_rata, share_check, trend_needs_upgrade,
};
pub use features::{Combine, Feature, feature_cost, field_cost_ratio, page_fields, pregeneration_saving};
pub use journal::{Protection, RecoveryObjective, journal_entries, protect};
pub use layout::{StoredVariable, store_variable};
pub use layout::{
    TopologyKind, connections, fixed_receiver, host_headroom, mtu_matches, rows_per_block, share_rounded,
    usable_processors,
};
pub use line::{
    Duplex, LineKind, LineLoad, LineVerdict, line_load, line_utilization, line_verdict, port_pairs, wire_time,
};
pub use minimum::{MachineSize, Minimum, MinimumOutcome, MinimumVerdict, minimum_check, worker_threads};
pub use network::{
    MixItem, SizeFit, TlsPlan, added_cost, capacity_rate, mix_need, required_utilization, size_fit, tls_plan,
};
pub use regulator::{BAND_EDGES, Band, BandRegulator, Job, Regulated, regulate, regulator_is_effective};
pub use report::{ComponentFigures, ComponentRow, charged_back, component_figures, transaction_cost};
pub use transfer::{TransferRate, transfer_rate};
pub use users::{
    OperatingPoint, UserLimit, UserPace, UserRatings, active_utilization, faster_servers_gain, operating_point,
    user_limit, user_ratings,
};
