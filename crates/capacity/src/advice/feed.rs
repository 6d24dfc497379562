//! Origin of a metric's value: the intervals of a running server, or a report.

use super::rule::Bound;
use super::{Metric as M, Rule};

/// Origin of a metric's value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Feed {
    /// Intervals of a server or job measure it.
    Live,
    /// A report of another program; enter the value in a file under this name.
    Report(&'static str),
    /// Quayline has nothing like the measured object. The rule is for figures of other systems.
    OtherSystems(&'static str),
}

impl M {
    /// Returns the origin of the value.
    #[must_use]
    pub fn feed(self) -> Feed {
        if let Some((_, why)) = OTHER_SYSTEMS.iter().find(|(metrics, _)| metrics.contains(&self)) {
            return Feed::OtherSystems(why);
        }
        match REPORTS.iter().find(|(metrics, _)| metrics.contains(&self)) {
            Some((_, report)) => Feed::Report(report),
            None => Feed::Live,
        }
    }
}

impl Rule {
    /// Iterates over the metrics of the rule.
    pub fn metrics(&self) -> impl Iterator<Item = M> + '_ {
        self.conditions.iter().flat_map(|condition| {
            let other = match condition.bound {
                Bound::Times { of, .. } => Some(of),
                Bound::Value(_) => None,
            };
            [Some(condition.metric), other].into_iter().flatten()
        })
    }

    /// Returns the origin of the rule's values: live if all of them are.
    #[must_use]
    pub fn feed(&self) -> Feed {
        let rank = |feed: &Feed| match feed {
            Feed::Live => 0,
            Feed::Report(_) => 1,
            Feed::OtherSystems(_) => 2,
        };
        self.metrics().map(M::feed).max_by_key(rank).unwrap_or(Feed::Live)
    }
}

/// Metrics of things that Quayline does not have, and why.
const OTHER_SYSTEMS: &[(&[M], &str)] = &[
    (&[M::BlockingThreads, M::IdleConnectionThreads, M::OpenConnections], "a connection of Quayline holds no thread"),
    (&[M::CompiledMaps, M::HotPath], "Quayline compiles every map"),
    (&[M::SchemaFetches], "schemas of a project are local"),
    (&[M::TwoPhaseCommit, M::ResourceManagers, M::AtomicAcrossManagers], "a unit of work commits in one store"),
    (&[M::DecimalFieldsAsFloat], "Quayline keeps decimals exact"),
    (&[M::StatementPrepared, M::Runs, M::Prepares], "Quayline prepares each statement when it connects"),
    (
        &[M::TriggerCalls, M::TriggerOpens, M::TriggerOpensForCommit, M::TriggerChangesData],
        "record files have no triggers",
    ),
    (&[M::ReuseDeleted, M::BlockedSequentialLoad, M::DeletedRecords], "the store always reuses space"),
    (&[M::Opens], "record files are open as long as the store is"),
    (&[M::RowsFetched, M::RowsShown], "a browse reads one page"),
    (&[M::LogOnDataDisk], "log and data of a store are in one folder"),
    (&[M::OffloadDevice], "TLS runs on the processors"),
    (&[M::ResponseCache], "the server does not cache answers"),
];

/// Metrics that no interval has, and the report that has them.
const REPORTS: &[(&[M], &str)] = &[
    (
        &[
            M::AdhocStatements,
            M::SharedPlanPackage,
            M::ColumnsFetched,
            M::ColumnsMapped,
            M::IsolationLevel,
            M::IsolationNeeded,
            M::SelectionTime,
            M::StatisticsPresent,
            M::StatisticsCollectedInForeground,
            M::TablePartitions,
            M::SelectionsOnPartitionKey,
            M::DistinctKeys,
            M::SelectsSets,
            M::NeedsOrder,
            M::OrderedIndex,
            M::PartitionKeyUpdated,
            M::VaryingLengthField,
            M::IndexKey,
            M::SpilledRows,
            M::FixedReceiver,
            M::IntegrityChecksInPrograms,
            M::TableRecords,
            M::Prefetch,
            M::ScrollsRows,
            M::CloseRequests,
            M::SharedDataSource,
            M::PoolConnections,
            M::PoolConnectionsPeak,
        ],
        "plans and catalog of a database",
    ),
    (
        &[
            M::RecoveryTuningCpu,
            M::RecoveryEvaluationCpu,
            M::RecoverySweepCpu,
            M::RecoveryExposure,
            M::RecoveryTarget,
            M::IndexFirstInList,
            M::RecoveryProtectionOff,
            M::CommitmentControl,
            M::AtomicChanges,
        ],
        "a report of access path protection and journals",
    ),
    (&[M::SizeExponent], "runs of several sizes"),
    (&[M::CacheMisses], "hardware counters, such as those of perf stat"),
    (&[M::HostCpu], "a report of the hypervisor"),
    (
        &[
            M::SizedOnAverage,
            M::ChoosingProcessor,
            M::Production,
            M::DiagnosticsOn,
            M::StartupCritical,
            M::CompilesEverythingAtStart,
            M::LossMatters,
            M::Persistent,
            M::Replayable,
            M::CheckpointRecovery,
            M::UnusedOptionsOn,
            M::PartnerTrusted,
            M::FullValidation,
            M::ReplicatesEverything,
            M::TestConcurrency,
            M::TargetConcurrency,
            M::TestRating,
            M::TargetRating,
            M::StatesDiffer,
        ],
        "a decision that no counter shows",
    ),
    (&[M::BatchTime], "the window of the batch, over the elapsed time that quayline job show prints"),
    (&[M::Findings], "quayline validate"),
    (&[M::RunQueueWait, M::RoomWait], "quayline report component"),
    (&[M::LargestResponse, M::RequestInterval, M::IntendedTimes], "the report of a load driver"),
    (&[M::Authenticated, M::ImmutableAnswers], "the access log"),
    (&[M::UserResponse, M::ServerShareOfResponse], "a measurement at the client"),
    (
        &[
            M::Streams,
            M::StreamsFed,
            M::LargestObject,
            M::RecoveryWindowBySaveRate,
            M::SoftwareCompression,
            M::FillDifference,
            M::StreamImbalance,
        ],
        "a report of saves and restores",
    ),
    (
        &[M::AllocationCpu, M::CodePageCpu, M::Exceptions, M::ProcessStarts, M::FormatConversions],
        "a profile of the program, such as that of perf record",
    ),
    (
        &[
            M::TransferSize,
            M::BufferSize,
            M::Sends,
            M::SendSize,
            M::RemoteData,
            M::MtuMismatch,
            M::DuplexMismatch,
            M::FrameSize,
            M::FrameLimit,
            M::FramesInError,
        ],
        "a trace of the network",
    ),
    (
        &[
            M::Threads,
            M::ThreadsActivePeak,
            M::ActiveUsers,
            M::DeliveryThreads,
            M::TransferThreads,
            M::DeliveryHeavierThanTransfer,
            M::ConnectionsInMesh,
            M::Partners,
            M::Messages,
            M::Signatures,
            M::SigningThreads,
        ],
        "the report of a mail or message server",
    ),
    (
        &[
            M::BlockSize,
            M::ReadSize,
            M::SequentialRead,
            M::RandomRead,
            M::LongScans,
            M::ShortTransactions,
            M::MemoryContention,
            M::LargestCachePolicy,
            M::SmallestCachePolicy,
            M::BufferPoolShare,
            M::QueuePoolFaults,
        ],
        "a report of memory pools and disks",
    ),
    (&[M::UnusedDefinitions], "the folder of the definition cache"),
];
