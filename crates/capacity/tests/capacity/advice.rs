//! Every rule of advice: readings on which it speaks, and readings on which it is silent.

use quayline_capacity::advice::{Bound, Feed, Metric as M, Readings, advise, rules};

/// Measured values.
type Values = &'static [(M, f64)];

/// Code, readings on which the rule applies, readings on which it does not.
#[rustfmt::skip]
const CASES: &[(&str, Values, Values)] = &[
    ("class-above-target", &[(M::ClassUse, 0.84)], &[(M::ClassUse, 0.56)]),
    ("class-above-threshold-at-times", &[(M::ClassTimeAboveThreshold, 1.0), (M::ClassUse, 0.56)], &[(M::ClassTimeAboveThreshold, -1.0), (M::ClassUse, 0.56)]),
    ("sustained-overload", &[(M::CapacityExceededTime, 4_320.0)], &[(M::CapacityExceededTime, 2_880.0)]),
    ("entitlement-share-shrank", &[(M::EntitlementShareChange, 0.8)], &[(M::EntitlementShareChange, 1.2)]),
    ("compute-heavy-choice", &[(M::CacheMisses, 0.8), (M::ChoosingProcessor, 1.0), (M::ResponseTime, 1.2)], &[(M::CacheMisses, 0.8), (M::ChoosingProcessor, 1.0), (M::ResponseTime, 0.8)]),
    ("memory-heavy-choice", &[(M::CacheMisses, 12.0), (M::ChoosingProcessor, 1.0), (M::ResponseTime, 1.2)], &[(M::CacheMisses, 12.0), (M::ChoosingProcessor, 1.0), (M::ResponseTime, 0.8)]),
    ("operator-below-workloads", &[(M::OperatorAboveWorkloads, 0.0)], &[(M::OperatorAboveWorkloads, 1.0)]),
    ("batch-priority-outside-regulator", &[(M::BatchPriority, 42.0), (M::RegulatorOn, 1.0)], &[(M::BatchPriority, 28.0), (M::RegulatorOn, 1.0)]),
    ("single-job-throttled", &[(M::ClassJobs, 0.8), (M::ClassThrottled, 1.0)], &[(M::ClassJobs, 1.2), (M::ClassThrottled, 1.0)]),
    ("scans-share-a-pool", &[(M::LongScans, 1.0), (M::ShortTransactions, 1.0)], &[(M::LongScans, 1.0), (M::ShortTransactions, -1.0)]),
    ("read-cache", &[(M::Cpu, 0.48), (M::DiskLimits, 1.0), (M::MemoryFree, 1.0)], &[(M::Cpu, 0.48), (M::DiskLimits, 1.0), (M::MemoryFree, -1.0)]),
    ("split-batch", &[(M::BatchTime, 1.2), (M::DiskLimits, 1.0)], &[(M::BatchTime, 1.2), (M::DiskLimits, 0.0)]),
    ("many-opens", &[(M::Opens, 1.2)], &[(M::Opens, 0.8)]),
    ("preload", &[(M::FirstReads, 0.12), (M::MemoryFree, 1.0)], &[(M::FirstReads, 0.08), (M::MemoryFree, 1.0)]),
    ("small-remote-sends", &[(M::RemoteData, 1.0), (M::SendSize, 3276.8)], &[(M::RemoteData, 1.0), (M::SendSize, 4915.2)]),
    ("selection-without-statistics", &[(M::SelectionTime, 1.2), (M::StatisticsPresent, 0.0)], &[(M::SelectionTime, 1.2), (M::StatisticsPresent, 1.0)]),
    ("statistics-in-foreground", &[(M::StatisticsCollectedInForeground, 1.0)], &[(M::StatisticsCollectedInForeground, 0.0)]),
    ("too-many-partitions", &[(M::TablePartitions, 38.4)], &[(M::TablePartitions, 25.6)]),
    ("selections-cross-partitions", &[(M::SelectionsOnPartitionKey, 0.4), (M::TablePartitions, 1.2)], &[(M::SelectionsOnPartitionKey, 0.6), (M::TablePartitions, 1.2)]),
    ("vector-index", &[(M::DistinctKeys, 52_428.0), (M::NeedsOrder, 0.0), (M::SelectsSets, 1.0)], &[(M::DistinctKeys, 52_428.0), (M::NeedsOrder, 1.0), (M::SelectsSets, 1.0)]),
    ("ordered-index", &[(M::NeedsOrder, 1.0), (M::OrderedIndex, 0.0)], &[(M::NeedsOrder, 1.0), (M::OrderedIndex, 1.0)]),
    ("commit-interval", &[(M::CommitInterval, 800.0), (M::JournalWrites, 1_200.0)], &[(M::CommitInterval, 1_200.0), (M::JournalWrites, 1_200.0)]),
    ("commit-without-need", &[(M::AtomicChanges, 0.0), (M::CommitmentControl, 1.0)], &[(M::AtomicChanges, 1.0), (M::CommitmentControl, 1.0)]),
    ("trigger-opens-for-commit", &[(M::TriggerChangesData, 0.0), (M::TriggerOpensForCommit, 1.0)], &[(M::TriggerChangesData, 1.0), (M::TriggerOpensForCommit, 1.0)]),
    ("recovery-tuning-busy", &[(M::RecoveryTuningCpu, 0.012)], &[(M::RecoveryTuningCpu, 0.008)]),
    ("recovery-evaluation-busy", &[(M::Opens, 1.2), (M::RecoveryEvaluationCpu, 0.012)], &[(M::Opens, 0.8), (M::RecoveryEvaluationCpu, 0.012)]),
    ("recovery-target-missed", &[(M::RecoveryExposure, 12.0), (M::RecoveryTarget, 10.0)], &[(M::RecoveryExposure, 8.0), (M::RecoveryTarget, 10.0)]),
    ("index-always-protected", &[(M::IndexFirstInList, 1.08)], &[(M::IndexFirstInList, 0.72)]),
    ("recovery-protection-off", &[(M::RecoveryProtectionOff, 1.0)], &[(M::RecoveryProtectionOff, 0.0)]),
    ("varying-index-key", &[(M::IndexKey, 1.0), (M::VaryingLengthField, 1.0)], &[(M::IndexKey, 0.0), (M::VaryingLengthField, 1.0)]),
    ("spill-too-large", &[(M::SpilledRows, 0.72)], &[(M::SpilledRows, 0.48)]),
    ("varying-data-in-fixed-receiver", &[(M::FixedReceiver, 1.0), (M::VaryingLengthField, 1.0)], &[(M::FixedReceiver, 0.0), (M::VaryingLengthField, 1.0)]),
    ("indexes-slow-inserts", &[(M::Indexes, 6.0), (M::InsertRate, 1_200.0)], &[(M::Indexes, 4.0), (M::InsertRate, 1_200.0)]),
    ("reuse-with-blocked-load", &[(M::BlockedSequentialLoad, 1.0), (M::ReuseDeleted, 1.0)], &[(M::BlockedSequentialLoad, 1.0), (M::ReuseDeleted, 0.0)]),
    ("reuse-off-and-deletes", &[(M::DeletedRecords, 0.24), (M::ReuseDeleted, 0.0)], &[(M::DeletedRecords, 0.16), (M::ReuseDeleted, 0.0)]),
    ("trigger-opens-files", &[(M::TriggerCalls, 120.0), (M::TriggerOpens, 1.0)], &[(M::TriggerCalls, 120.0), (M::TriggerOpens, -1.0)]),
    ("delete-all-row-by-row", &[(M::DeleteTrigger, 0.0), (M::DeletesEveryRecord, 1.0)], &[(M::DeleteTrigger, 1.0), (M::DeletesEveryRecord, 1.0)]),
    ("partition-key-updated", &[(M::PartitionKeyUpdated, 1.0)], &[(M::PartitionKeyUpdated, 0.0)]),
    ("distributed-commit", &[(M::AtomicAcrossManagers, 0.0), (M::ResourceManagers, 1.2), (M::TwoPhaseCommit, 1.0)], &[(M::AtomicAcrossManagers, 1.0), (M::ResourceManagers, 1.2), (M::TwoPhaseCommit, 1.0)]),
    ("transfer-buffers", &[(M::BufferSize, 52428.8), (M::TransferSize, 1_200_000.0)], &[(M::BufferSize, 78643.2), (M::TransferSize, 1_200_000.0)]),
    ("buffers-for-small-files", &[(M::BufferSize, 9_600_000.0), (M::TransferSize, 8_000.0)], &[(M::BufferSize, 6_400_000.0), (M::TransferSize, 8_000.0)]),
    ("sends-in-pieces", &[(M::Sends, 1.2)], &[(M::Sends, 0.8)]),
    ("interactive-line", &[(M::BulkLine, 0.0), (M::LineUse, 0.36)], &[(M::BulkLine, 1.0), (M::LineUse, 0.36)]),
    ("interface-busy", &[(M::InterfaceUse, 0.72)], &[(M::InterfaceUse, 0.48)]),
    ("short-connections", &[(M::Connections, 0.6), (M::Tls, 0.0)], &[(M::Connections, 0.6), (M::Tls, 1.0)]),
    ("tls-without-reuse", &[(M::FullHandshakes, 0.12), (M::Tls, 1.0)], &[(M::FullHandshakes, 0.08), (M::Tls, 1.0)]),
    ("idle-keepalive-threads", &[(M::BlockingThreads, 1.0), (M::IdleConnectionThreads, 0.6)], &[(M::BlockingThreads, 1.0), (M::IdleConnectionThreads, 0.4)]),
    ("diagnostics-in-production", &[(M::DiagnosticsOn, 1.0), (M::Production, 1.0)], &[(M::DiagnosticsOn, 0.0), (M::Production, 1.0)]),
    ("cacheable-answers", &[(M::Authenticated, 0.0), (M::ImmutableAnswers, 0.6), (M::ResponseCache, 0.0)], &[(M::Authenticated, 0.0), (M::ImmutableAnswers, 0.6), (M::ResponseCache, 1.0)]),
    ("program-start-per-request", &[(M::ProgramStarts, 0.12)], &[(M::ProgramStarts, 0.08)]),
    ("interpreted-maps", &[(M::CompiledMaps, 0.8), (M::HotPath, 1.0)], &[(M::CompiledMaps, 1.2), (M::HotPath, 1.0)]),
    ("deep-paths", &[(M::PathDepth, 9.6)], &[(M::PathDepth, 6.4)]),
    ("two-phase-for-one-manager", &[(M::ResourceManagers, 0.8), (M::TwoPhaseCommit, 1.0)], &[(M::ResourceManagers, 1.2), (M::TwoPhaseCommit, 1.0)]),
    ("cache-hit-ratio", &[(M::DefinitionEntries, 12.0), (M::DefinitionHits, 0.72), (M::DefinitionLimit, 10.0)], &[(M::DefinitionEntries, 8.0), (M::DefinitionHits, 0.72), (M::DefinitionLimit, 10.0)]),
    ("cache-too-large", &[(M::UnusedDefinitions, 0.6)], &[(M::UnusedDefinitions, 0.4)]),
    ("compress-slow-line", &[(M::Compression, 0.0), (M::Cpu, 0.56), (M::LineSpeed, 204_800.0)], &[(M::Compression, 0.0), (M::Cpu, 0.84), (M::LineSpeed, 204_800.0)]),
    ("compression-on-lan", &[(M::Compression, 1.0), (M::LineSpeed, 12_000_000.0)], &[(M::Compression, 1.0), (M::LineSpeed, 8_000_000.0)]),
    ("all-rows-fetched", &[(M::RowsFetched, 12.0), (M::RowsShown, 10.0)], &[(M::RowsFetched, 8.0), (M::RowsShown, 10.0)]),
    ("validation-of-trusted-partner", &[(M::Findings, 0.8), (M::FullValidation, 1.0), (M::PartnerTrusted, 1.0)], &[(M::Findings, 1.2), (M::FullValidation, 1.0), (M::PartnerTrusted, 1.0)]),
    ("schema-fetched", &[(M::SchemaFetches, 1.0)], &[(M::SchemaFetches, -1.0)]),
    ("recovery-for-replayable", &[(M::CheckpointRecovery, 1.0), (M::Replayable, 1.0)], &[(M::CheckpointRecovery, 1.0), (M::Replayable, 0.0)]),
    ("audit-queue-depth", &[(M::AuditDrainRate, 10.0), (M::AuditQueue, 1.0), (M::AuditRate, 12.0)], &[(M::AuditDrainRate, 10.0), (M::AuditQueue, 1.0), (M::AuditRate, 8.0)]),
    ("single-threaded-listener", &[(M::ArrivalRate, 120.0), (M::ListenerThreads, 0.8)], &[(M::ArrivalRate, 120.0), (M::ListenerThreads, 1.2)]),
    ("slow-for-the-user", &[(M::ServerShareOfResponse, 0.4), (M::UserResponse, 2.4)], &[(M::ServerShareOfResponse, 0.6), (M::UserResponse, 2.4)]),
    ("sized-on-average", &[(M::SizedOnAverage, 1.0)], &[(M::SizedOnAverage, 0.0)]),
    ("checks-in-programs", &[(M::IntegrityChecksInPrograms, 1.0)], &[(M::IntegrityChecksInPrograms, -1.0)]),
    ("run-too-short", &[(M::MeasuredTime, 720.0)], &[(M::MeasuredTime, 1_080.0)]),
    ("cold-and-warm-mixed", &[(M::ColdStartIncluded, 1.0)], &[(M::ColdStartIncluded, 0.0)]),
    ("unequal-fill", &[(M::FillDifference, 0.06)], &[(M::FillDifference, 0.04)]),
    ("statistics-overhead", &[(M::StatisticsCpu, 0.024)], &[(M::StatisticsCpu, 0.016)]),
    ("process-per-message", &[(M::ProcessStarts, 0.12)], &[(M::ProcessStarts, 0.08)]),
    ("object-churn", &[(M::AllocationCpu, 0.18)], &[(M::AllocationCpu, 0.12)]),
    ("exceptions-on-normal-path", &[(M::Exceptions, 1.2)], &[(M::Exceptions, 0.8)]),
    ("recompiled-definitions", &[(M::Compilations, 1.2)], &[(M::Compilations, 0.8)]),
    ("eager-compilation", &[(M::CompilesEverythingAtStart, 1.0), (M::StartupCritical, 1.0)], &[(M::CompilesEverythingAtStart, 0.0), (M::StartupCritical, 1.0)]),
    ("heap-above-pool", &[(M::HeapLimit, 12.0), (M::PoolFree, 10.0)], &[(M::HeapLimit, 8.0), (M::PoolFree, 10.0)]),
    ("heap-faults", &[(M::PageFaults, 24.0)], &[(M::PageFaults, 16.0)]),
    ("code-page-share", &[(M::CodePageCpu, 0.06)], &[(M::CodePageCpu, 0.04)]),
    ("two-formats-of-one-payload", &[(M::FormatConversions, 1.2)], &[(M::FormatConversions, 0.8)]),
    ("decimals-as-floats", &[(M::DecimalFieldsAsFloat, 1.0)], &[(M::DecimalFieldsAsFloat, -1.0)]),
    ("statement-not-prepared", &[(M::Runs, 1.2), (M::StatementPrepared, 0.0)], &[(M::Runs, 1.2), (M::StatementPrepared, 1.0)]),
    ("autocommit-in-batch", &[(M::Autocommit, 1.0), (M::Batch, 1.0)], &[(M::Autocommit, 0.0), (M::Batch, 1.0)]),
    ("isolation-too-high", &[(M::IsolationLevel, 12.0), (M::IsolationNeeded, 10.0)], &[(M::IsolationLevel, 8.0), (M::IsolationNeeded, 10.0)]),
    ("row-at-a-time", &[(M::InsertRate, 120.0), (M::RowsInserted, 1.6)], &[(M::InsertRate, 80.0), (M::RowsInserted, 1.6)]),
    ("unmapped-columns", &[(M::ColumnsFetched, 12.0), (M::ColumnsMapped, 10.0)], &[(M::ColumnsFetched, 8.0), (M::ColumnsMapped, 10.0)]),
    ("small-blocks", &[(M::BlockSize, 26214.4), (M::SequentialRead, 1.0)], &[(M::BlockSize, 39321.6), (M::SequentialRead, 1.0)]),
    ("large-blocks-for-random", &[(M::BlockSize, 19660.8), (M::RandomRead, 1.0), (M::ReadSize, 13107.2)], &[(M::BlockSize, 13107.2), (M::RandomRead, 1.0), (M::ReadSize, 13107.2)]),
    ("connection-per-request", &[(M::DatabaseConnections, 0.12)], &[(M::DatabaseConnections, 0.08)]),
    ("shared-package-locks", &[(M::AdhocStatements, 1.0), (M::SharedPlanPackage, 1.0)], &[(M::AdhocStatements, 1.0), (M::SharedPlanPackage, 0.0)]),
    ("pool-faults", &[(M::Cpu, 0.4), (M::PoolFaults, 12.0)], &[(M::Cpu, 0.6), (M::PoolFaults, 12.0)]),
    ("max-cache-under-contention", &[(M::LargestCachePolicy, 1.0), (M::MemoryContention, 0.6)], &[(M::LargestCachePolicy, 0.0), (M::MemoryContention, 0.6)]),
    ("threads-at-limit", &[(M::Threads, 10.0), (M::ThreadsActivePeak, 12.0)], &[(M::Threads, 10.0), (M::ThreadsActivePeak, 8.0)]),
    ("pool-too-large", &[(M::ActiveUsers, 10.0), (M::Threads, 0.24)], &[(M::ActiveUsers, 10.0), (M::Threads, 0.16)]),
    ("queue-grows", &[(M::QueueDepthTrend, 1.0)], &[(M::QueueDepthTrend, -1.0)]),
    ("few-delivery-threads", &[(M::DeliveryHeavierThanTransfer, 1.0), (M::DeliveryThreads, 16.0), (M::TransferThreads, 10.0)], &[(M::DeliveryHeavierThanTransfer, 1.0), (M::DeliveryThreads, 24.0), (M::TransferThreads, 10.0)]),
    ("route-per-message", &[(M::Messages, 16.0)], &[(M::Messages, 24.0)]),
    ("persistent-without-need", &[(M::LossMatters, 0.0), (M::Persistent, 1.0)], &[(M::LossMatters, 1.0), (M::Persistent, 1.0)]),
    ("log-shares-disk", &[(M::LogOnDataDisk, 1.0), (M::Persistent, 1.0)], &[(M::LogOnDataDisk, 0.0), (M::Persistent, 1.0)]),
    ("rollover-pause", &[(M::RolloverPause, 0.12)], &[(M::RolloverPause, 0.08)]),
    ("open-units-of-work", &[(M::OpenUnits, 60.0)], &[(M::OpenUnits, 40.0)]),
    ("full-mesh", &[(M::ConnectionsInMesh, 132.0), (M::Partners, 12.0)], &[(M::ConnectionsInMesh, 16.0), (M::Partners, 12.0)]),
    ("mixed-traffic-classes", &[(M::TrafficClasses, 1.2)], &[(M::TrafficClasses, 0.8)]),
    ("costly-options-unused", &[(M::UnusedOptionsOn, 1.0)], &[(M::UnusedOptionsOn, -1.0)]),
    ("offload-for-resumed", &[(M::FullHandshakeRate, 0.8), (M::OffloadDevice, 1.0)], &[(M::FullHandshakeRate, 1.2), (M::OffloadDevice, 1.0)]),
    ("single-threaded-signing", &[(M::Signatures, 120.0), (M::SigningThreads, 0.8)], &[(M::Signatures, 120.0), (M::SigningThreads, 1.2)]),
    ("client-authentication-everywhere", &[(M::ClientAuthentication, 1.0), (M::ClientAuthenticationRequired, 0.0)], &[(M::ClientAuthentication, 1.0), (M::ClientAuthenticationRequired, 1.0)]),
    ("host-without-headroom", &[(M::GuestProcessors, 1.0), (M::HostCpu, 1.14)], &[(M::GuestProcessors, -1.0), (M::HostCpu, 1.14)]),
    ("disk-above-42", &[(M::DiskUse, 0.504)], &[(M::DiskUse, 0.336)]),
    ("large-guest", &[(M::GuestProcessors, 4.8)], &[(M::GuestProcessors, 3.2)]),
    ("dominant-object", &[(M::LargestObject, 0.6), (M::Streams, 0.8)], &[(M::LargestObject, 0.6), (M::Streams, 1.2)]),
    ("streams-without-feed", &[(M::Streams, 12.0), (M::StreamsFed, 10.0)], &[(M::Streams, 8.0), (M::StreamsFed, 10.0)]),
    ("window-by-save", &[(M::RecoveryWindowBySaveRate, 1.0)], &[(M::RecoveryWindowBySaveRate, 0.0)]),
    ("compression-per-stream", &[(M::Cpu, 1.08), (M::SoftwareCompression, 1.0)], &[(M::Cpu, 0.72), (M::SoftwareCompression, 1.0)]),
    ("mtu-mismatch", &[(M::MtuMismatch, 1.0)], &[(M::MtuMismatch, 0.0)]),
    ("replicate-everything", &[(M::ReplicatesEverything, 1.0)], &[(M::ReplicatesEverything, 0.0)]),
    ("recovery-sweep-busy", &[(M::RecoverySweepCpu, 0.012)], &[(M::RecoverySweepCpu, 0.008)]),
    ("small-file-partitioned", &[(M::TablePartitions, 4.0), (M::TableRecords, 80_000.0)], &[(M::TablePartitions, 4.0), (M::TableRecords, 120_000.0)]),
    ("frames-below-largest", &[(M::FrameLimit, 8_996.0), (M::FrameSize, 1_496.0), (M::FramesInError, 0.0), (M::TransferSize, 1_200_000.0)], &[(M::FrameLimit, 8_996.0), (M::FrameSize, 1_496.0), (M::FramesInError, 0.02), (M::TransferSize, 1_200_000.0)]),
    ("large-frames-with-errors", &[(M::FrameSize, 1_496.0), (M::FramesInError, 0.02)], &[(M::FrameSize, 1_496.0), (M::FramesInError, 0.001)]),
    ("shared-connections-exhausted", &[(M::PoolConnections, 10.0), (M::PoolConnectionsPeak, 10.0), (M::SharedDataSource, 1.0)], &[(M::PoolConnections, 10.0), (M::PoolConnectionsPeak, 10.0), (M::SharedDataSource, 0.0)]),
    ("threaded-listener-for-idle-connections", &[(M::ArrivalRate, 80.0), (M::ListenerThreads, 4.0), (M::OpenConnections, 1_200.0)], &[(M::ArrivalRate, 120.0), (M::ListenerThreads, 4.0), (M::OpenConnections, 1_200.0)]),
    ("single-stream-test", &[(M::TargetConcurrency, 40.0), (M::TestConcurrency, 1.0)], &[(M::TargetConcurrency, 40.0), (M::TestConcurrency, 2.0)]),
    ("test-machine-too-small", &[(M::TargetRating, 1_000.0), (M::TestRating, 200.0)], &[(M::TargetRating, 1_000.0), (M::TestRating, 300.0)]),
    ("unequal-states", &[(M::StatesDiffer, 1.0)], &[(M::StatesDiffer, 0.0)]),
    ("statement-prepared-again", &[(M::Prepares, 1.2)], &[(M::Prepares, 0.8)]),
    ("statement-prepared-for-one-run", &[(M::Runs, 1.0), (M::StatementPrepared, 1.0)], &[(M::Runs, 2.0), (M::StatementPrepared, 1.0)]),
    ("close-as-a-request", &[(M::CloseRequests, 1.0)], &[(M::CloseRequests, 0.0)]),
    ("prefetch-off", &[(M::Prefetch, 0.0), (M::ScrollsRows, 0.0)], &[(M::Prefetch, 0.0), (M::ScrollsRows, 1.0)]),
    ("prefetch-while-scrolling", &[(M::Prefetch, 1.0), (M::ScrollsRows, 1.0)], &[(M::Prefetch, 1.0), (M::ScrollsRows, 0.0)]),
    ("buffer-pool-displaces-pages", &[(M::BufferPoolShare, 0.6), (M::PageFaults, 24.0)], &[(M::BufferPoolShare, 0.6), (M::PageFaults, 16.0)]),
    ("buffer-pool-too-small", &[(M::BufferPoolShare, 0.2), (M::Cpu, 0.84), (M::PageFaults, 16.0)], &[(M::BufferPoolShare, 0.2), (M::Cpu, 0.84), (M::PageFaults, 24.0)]),
    ("small-cache-without-contention", &[(M::MemoryContention, 0.08), (M::SmallestCachePolicy, 1.0)], &[(M::MemoryContention, 0.12), (M::SmallestCachePolicy, 1.0)]),
    ("queue-pool-paging", &[(M::QueuePoolFaults, 24.0)], &[(M::QueuePoolFaults, 16.0)]),
    ("full-handshakes-limit", &[(M::Cpu, 0.84), (M::FullHandshakeRate, 120.0), (M::OffloadDevice, 0.0)], &[(M::Cpu, 0.84), (M::FullHandshakeRate, 120.0), (M::OffloadDevice, 1.0)]),
    ("small-objects-in-one-stream", &[(M::LargestObject, 0.4), (M::Streams, 1.0), (M::StreamsFed, 4.0)], &[(M::LargestObject, 0.6), (M::Streams, 1.0), (M::StreamsFed, 4.0)]),
    ("uneven-streams", &[(M::StreamImbalance, 0.24), (M::Streams, 4.0)], &[(M::StreamImbalance, 0.16), (M::Streams, 4.0)]),
    ("duplex-mismatch", &[(M::DuplexMismatch, 1.0)], &[(M::DuplexMismatch, 0.0)]),
    ("not-streaming", &[(M::SizeExponent, 1.38)], &[(M::SizeExponent, 0.92)]),
    ("unaccounted-time", &[(M::UnaccountedTime, 0.024)], &[(M::UnaccountedTime, 0.016)]),
    ("checkpoint-too-often", &[(M::CheckpointShare, 0.12)], &[(M::CheckpointShare, 0.08)]),
    ("beyond-scalability-peak", &[(M::ScalabilityPeak, 10.0), (M::Workers, 12.0)], &[(M::ScalabilityPeak, 10.0), (M::Workers, 8.0)]),
    ("demands-under-contention", &[(M::RunQueueWait, 0.12)], &[(M::RunQueueWait, 0.08)]),
    ("blocked-by-the-next-step", &[(M::RoomWait, 0.12)], &[(M::RoomWait, 0.08)]),
    ("stalls-hide-requests", &[(M::IntendedTimes, 0.0), (M::LargestResponse, 2.0), (M::RequestInterval, 0.01)], &[(M::IntendedTimes, 1.0), (M::LargestResponse, 2.0), (M::RequestInterval, 0.01)]),
    ("below-percentile-headroom", &[(M::Cpu, 12.0), (M::Headroom, 10.0)], &[(M::Cpu, 8.0), (M::Headroom, 10.0)]),
];

fn readings(values: &[(M, f64)]) -> Readings {
    values.iter().copied().collect()
}

fn speaks(code: &str, values: &[(M, f64)]) -> bool {
    advise(&readings(values)).iter().any(|advice| advice.rule.code == code)
}

#[test]
fn every_rule_speaks_and_is_silent() {
    for (code, fires, quiet) in CASES {
        assert!(speaks(code, fires), "{code} is silent on {fires:?}");
        assert!(!speaks(code, quiet), "{code} speaks on {quiet:?}");
    }
    for rule in rules() {
        assert!(CASES.iter().any(|(code, ..)| *code == rule.code), "{} has no case", rule.code);
    }
    assert_eq!(CASES.len(), rules().count());
}

#[test]
fn a_rule_without_its_metrics_is_silent() {
    for (code, fires, _) in CASES {
        for missing in 0..fires.len() {
            let mut fewer = fires.to_vec();
            fewer.remove(missing);
            assert!(!speaks(code, &fewer), "{code} speaks without {:?}", fires[missing].0);
        }
    }
}

#[test]
fn evidence_names_what_was_measured_and_the_bound() {
    for (code, fires, _) in CASES {
        let advice = advise(&readings(fires));
        let advice = advice.iter().find(|advice| advice.rule.code == *code).expect("it speaks");
        assert_eq!(advice.evidence.len(), advice.rule.conditions.len());
        for (evidence, condition) in advice.evidence.iter().zip(advice.rule.conditions) {
            assert!(evidence.relation.holds(evidence.measured, evidence.bound), "{code}");
            if let Bound::Value(value) = condition.bound {
                assert!((evidence.bound - value).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn codes_and_metrics_are_unique() {
    let mut codes: Vec<&str> = rules().map(|rule| rule.code).collect();
    codes.sort_unstable();
    assert!(codes.windows(2).all(|pair| pair[0] != pair[1]));
    for metric in M::ALL {
        assert_eq!(M::by_name(metric.name()), Some(*metric));
        assert!(!metric.unit().is_empty());
    }
}

/// A rule says where its values come from. The rules that are live are those of the tests of the crate `workload`.
#[test]
fn every_rule_names_its_feed() {
    let live = rules().filter(|rule| rule.feed() == Feed::Live).count();
    let reports = rules().filter(|rule| matches!(rule.feed(), Feed::Report(_))).count();
    let others = rules().filter(|rule| matches!(rule.feed(), Feed::OtherSystems(_))).count();
    assert_eq!(live + reports + others, rules().count());
    assert!(live >= 40 && others <= 24, "{live} live, {reports} by reports, {others} of other systems");
    assert_eq!(M::CacheMisses.feed(), Feed::Report("hardware counters, such as those of perf stat"));
    assert!(rules().any(|rule| rule.code == "schema-fetched" && matches!(rule.feed(), Feed::OtherSystems(_))));
}
