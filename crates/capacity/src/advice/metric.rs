//! Metrics of the rules. Their names are those of a file of measurements.

macro_rules! metrics {
    ($($variant:ident: $name:literal, $unit:literal;)*) => {
        /// A measured quantity.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Metric {
            $(#[doc = concat!("`", $name, "`, in ", $unit, ".")] $variant,)*
        }

        impl Metric {
            /// Every metric, by name.
            pub const ALL: &'static [Metric] = &[$(Metric::$variant),*];

            /// Returns the name that files and answers use.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Metric::$variant => $name,)* }
            }

            /// Returns the unit; for a yes-or-no condition, the meanings of 1 and 0.
            #[must_use]
            pub fn unit(self) -> &'static str {
                match self { $(Metric::$variant => $unit,)* }
            }

            /// Returns the metric with a name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Metric> {
                Metric::ALL.iter().copied().find(|metric| metric.name() == name)
            }
        }
    };
}

metrics! {
    ActiveUsers: "active-users", "users";
    AdhocStatements: "adhoc-statements", "1 for yes, 0 for no";
    AllocationCpu: "allocation-cpu", "share";
    ArrivalRate: "arrival-rate", "per s";
    AtomicAcrossManagers: "atomic-across-managers", "1 for yes, 0 for no";
    AtomicChanges: "atomic-changes", "1 for yes, 0 for no";
    AuditDrainRate: "audit-drain-rate", "per s";
    AuditQueue: "audit-queue", "1 for yes, 0 for no";
    AuditRate: "audit-rate", "per s";
    Authenticated: "authenticated", "1 for yes, 0 for no";
    Autocommit: "autocommit", "1 for yes, 0 for no";
    Batch: "batch", "1 for yes, 0 for no";
    BatchPriority: "batch-priority", "priority number";
    BatchTime: "batch-time", "share of the window";
    BlockSize: "block-size", "bytes";
    BlockedSequentialLoad: "blocked-sequential-load", "1 for yes, 0 for no";
    BlockingThreads: "blocking-threads", "1 for yes, 0 for no";
    BufferPoolShare: "buffer-pool-share", "share of memory";
    BufferSize: "buffer-size", "bytes";
    BulkLine: "bulk-line", "1 for yes, 0 for no";
    CacheMisses: "cache-misses", "per 1000 instructions";
    CapacityExceededTime: "capacity-exceeded-time", "s";
    CheckpointRecovery: "checkpoint-recovery", "1 for yes, 0 for no";
    CheckpointShare: "checkpoint-share", "share of elapsed";
    ChoosingProcessor: "choosing-processor", "1 for yes, 0 for no";
    ClassJobs: "class-jobs", "jobs";
    ClassThrottled: "class-throttled", "1 for yes, 0 for no";
    ClassTimeAboveThreshold: "class-time-above-threshold", "s";
    ClassUse: "class-use", "share of entitlement";
    ClientAuthentication: "client-authentication", "1 for yes, 0 for no";
    ClientAuthenticationRequired: "client-authentication-required", "1 for yes, 0 for no";
    CloseRequests: "close-requests", "per query";
    CodePageCpu: "code-page-cpu", "share";
    ColdStartIncluded: "cold-start-included", "1 for yes, 0 for no";
    ColumnsFetched: "columns-fetched", "per row";
    ColumnsMapped: "columns-mapped", "per row";
    CommitInterval: "commit-interval", "changes";
    CommitmentControl: "commitment-control", "1 for yes, 0 for no";
    Compilations: "compilations", "per definition";
    CompiledMaps: "compiled-maps", "share";
    CompilesEverythingAtStart: "compiles-everything-at-start", "1 for yes, 0 for no";
    Compression: "compression", "1 for yes, 0 for no";
    Connections: "connections", "per request";
    ConnectionsInMesh: "connections-in-mesh", "connections";
    Cpu: "cpu", "share";
    DatabaseConnections: "database-connections", "per request";
    DecimalFieldsAsFloat: "decimal-fields-as-float", "fields";
    DefinitionEntries: "definition-entries", "entries";
    DefinitionHits: "definition-hits", "share";
    DefinitionLimit: "definition-limit", "entries";
    DeleteTrigger: "delete-trigger", "1 for yes, 0 for no";
    DeletedRecords: "deleted-records", "share";
    DeletesEveryRecord: "deletes-every-record", "1 for yes, 0 for no";
    DeliveryHeavierThanTransfer: "delivery-heavier-than-transfer", "1 for yes, 0 for no";
    DeliveryThreads: "delivery-threads", "threads";
    DiagnosticsOn: "diagnostics-on", "1 for yes, 0 for no";
    DiskLimits: "disk-limits", "1 for yes, 0 for no";
    DiskUse: "disk-use", "share";
    DistinctKeys: "distinct-keys", "keys";
    DuplexMismatch: "duplex-mismatch", "1 for yes, 0 for no";
    EntitlementShareChange: "entitlement-share-change", "ratio";
    Exceptions: "exceptions", "per transaction";
    FillDifference: "fill-difference", "share";
    Findings: "findings", "per 1000 documents";
    FirstReads: "first-reads", "share of reads";
    FixedReceiver: "fixed-receiver", "1 for yes, 0 for no";
    FormatConversions: "format-conversions", "per payload";
    FrameLimit: "frame-limit", "bytes";
    FrameSize: "frame-size", "bytes";
    FramesInError: "frames-in-error", "share";
    FullHandshakeRate: "full-handshake-rate", "per s";
    FullHandshakes: "full-handshakes", "per request";
    FullValidation: "full-validation", "1 for yes, 0 for no";
    GuestProcessors: "guest-processors", "processors";
    Headroom: "headroom", "share";
    HeapLimit: "heap-limit", "bytes";
    HostCpu: "host-cpu", "share";
    HotPath: "hot-path", "1 for yes, 0 for no";
    IdleConnectionThreads: "idle-connection-threads", "share of threads";
    ImmutableAnswers: "immutable-answers", "share";
    IndexFirstInList: "index-first-in-list", "share of the time";
    IndexKey: "index-key", "1 for yes, 0 for no";
    Indexes: "indexes", "per file";
    InsertRate: "insert-rate", "per s";
    IntegrityChecksInPrograms: "integrity-checks-in-programs", "checks per transaction";
    IntendedTimes: "intended-times", "1 for yes, 0 for no";
    InterfaceUse: "interface-use", "share";
    IsolationLevel: "isolation-level", "level";
    IsolationNeeded: "isolation-needed", "level";
    JournalWrites: "journal-writes", "per s";
    LargestCachePolicy: "largest-cache-policy", "1 for yes, 0 for no";
    LargestObject: "largest-object", "share of all bytes";
    LargestResponse: "largest-response", "s";
    LineSpeed: "line-speed", "bit/s";
    LineUse: "line-use", "share";
    ListenerThreads: "listener-threads", "threads";
    LogOnDataDisk: "log-on-data-disk", "1 for yes, 0 for no";
    LongScans: "long-scans", "scans at a time";
    LossMatters: "loss-matters", "1 for yes, 0 for no";
    MeasuredTime: "measured-time", "s";
    MemoryContention: "memory-contention", "share";
    MemoryFree: "memory-free", "bytes";
    Messages: "messages", "per opened route";
    MtuMismatch: "mtu-mismatch", "1 for yes, 0 for no";
    NeedsOrder: "needs-order", "1 for yes, 0 for no";
    OffloadDevice: "offload-device", "1 for yes, 0 for no";
    OpenConnections: "open-connections", "connections";
    OpenUnits: "open-units", "units";
    Opens: "opens", "per transaction";
    OperatorAboveWorkloads: "operator-above-workloads", "1 for yes, 0 for no";
    OrderedIndex: "ordered-index", "1 for yes, 0 for no";
    PageFaults: "page-faults", "per s";
    PartitionKeyUpdated: "partition-key-updated", "1 for yes, 0 for no";
    PartnerTrusted: "partner-trusted", "1 for yes, 0 for no";
    Partners: "partners", "partners";
    PathDepth: "path-depth", "folders";
    Persistent: "persistent", "1 for yes, 0 for no";
    PoolConnections: "pool-connections", "connections";
    PoolConnectionsPeak: "pool-connections-peak", "connections";
    PoolFaults: "pool-faults", "per s";
    PoolFree: "pool-free", "bytes";
    Prefetch: "prefetch", "1 for yes, 0 for no";
    Prepares: "prepares", "per statement";
    ProcessStarts: "process-starts", "per message";
    Production: "production", "1 for yes, 0 for no";
    ProgramStarts: "program-starts", "per request";
    QueueDepthTrend: "queue-depth-trend", "messages per min";
    QueuePoolFaults: "queue-pool-faults", "per s";
    RandomRead: "random-read", "1 for yes, 0 for no";
    ReadSize: "read-size", "bytes";
    RecoveryEvaluationCpu: "recovery-evaluation-cpu", "share";
    RecoveryExposure: "recovery-exposure", "s";
    RecoveryProtectionOff: "recovery-protection-off", "1 for yes, 0 for no";
    RecoverySweepCpu: "recovery-sweep-cpu", "share";
    RecoveryTarget: "recovery-target", "s";
    RecoveryTuningCpu: "recovery-tuning-cpu", "share";
    RecoveryWindowBySaveRate: "recovery-window-by-save-rate", "1 for yes, 0 for no";
    RegulatorOn: "regulator-on", "1 for yes, 0 for no";
    RemoteData: "remote-data", "1 for yes, 0 for no";
    Replayable: "replayable", "1 for yes, 0 for no";
    ReplicatesEverything: "replicates-everything", "1 for yes, 0 for no";
    RequestInterval: "request-interval", "s";
    ResourceManagers: "resource-managers", "managers";
    ResponseCache: "response-cache", "1 for yes, 0 for no";
    ResponseTime: "response-time", "s";
    ReuseDeleted: "reuse-deleted", "1 for yes, 0 for no";
    RolloverPause: "rollover-pause", "s";
    RoomWait: "room-wait", "share of the time";
    RowsFetched: "rows-fetched", "per request";
    RowsInserted: "rows-inserted", "per call";
    RowsShown: "rows-shown", "per request";
    RunQueueWait: "run-queue-wait", "share of CPU time";
    Runs: "runs", "per statement";
    ScalabilityPeak: "scalability-peak", "workers";
    SchemaFetches: "schema-fetches", "per document";
    ScrollsRows: "scrolls-rows", "1 for yes, 0 for no";
    SelectionTime: "selection-time", "s";
    SelectionsOnPartitionKey: "selections-on-partition-key", "share";
    SelectsSets: "selects-sets", "1 for yes, 0 for no";
    SendSize: "send-size", "bytes";
    Sends: "sends", "per block";
    SequentialRead: "sequential-read", "1 for yes, 0 for no";
    ServerShareOfResponse: "server-share-of-response", "share";
    SharedDataSource: "shared-data-source", "1 for yes, 0 for no";
    SharedPlanPackage: "shared-plan-package", "1 for yes, 0 for no";
    ShortTransactions: "short-transactions", "per s in the same pool";
    Signatures: "signatures", "per s";
    SigningThreads: "signing-threads", "threads";
    SizeExponent: "size-exponent", "exponent";
    SizedOnAverage: "sized-on-average", "1 for yes, 0 for no";
    SmallestCachePolicy: "smallest-cache-policy", "1 for yes, 0 for no";
    SoftwareCompression: "software-compression", "1 for yes, 0 for no";
    SpilledRows: "spilled-rows", "share";
    StartupCritical: "startup-critical", "1 for yes, 0 for no";
    StatementPrepared: "statement-prepared", "1 for yes, 0 for no";
    StatesDiffer: "states-differ", "1 for yes, 0 for no";
    StatisticsCollectedInForeground: "statistics-collected-in-foreground", "1 for yes, 0 for no";
    StatisticsCpu: "statistics-cpu", "share";
    StatisticsPresent: "statistics-present", "1 for yes, 0 for no";
    StreamImbalance: "stream-imbalance", "share of the mean";
    Streams: "streams", "streams";
    StreamsFed: "streams-fed", "streams";
    TablePartitions: "table-partitions", "partitions";
    TableRecords: "table-records", "records";
    TargetConcurrency: "target-concurrency", "requests at a time";
    TargetRating: "target-rating", "capacity units";
    TestConcurrency: "test-concurrency", "requests at a time";
    TestRating: "test-rating", "capacity units";
    Threads: "threads", "threads";
    ThreadsActivePeak: "threads-active-peak", "threads";
    Tls: "tls", "1 for yes, 0 for no";
    TrafficClasses: "traffic-classes", "classes in one pool";
    TransferSize: "transfer-size", "bytes";
    TransferThreads: "transfer-threads", "threads";
    TriggerCalls: "trigger-calls", "per s";
    TriggerChangesData: "trigger-changes-data", "1 for yes, 0 for no";
    TriggerOpens: "trigger-opens", "per call";
    TriggerOpensForCommit: "trigger-opens-for-commit", "1 for yes, 0 for no";
    TwoPhaseCommit: "two-phase-commit", "1 for yes, 0 for no";
    UnaccountedTime: "unaccounted-time", "share";
    UnusedDefinitions: "unused-definitions", "share of entries";
    UnusedOptionsOn: "unused-options-on", "options";
    UserResponse: "user-response", "s";
    VaryingLengthField: "varying-length-field", "1 for yes, 0 for no";
    Workers: "workers", "workers";
}
