//! Names, sources and assumptions of every solver and model.

macro_rules! methods {
    ($($name:ident: $title:literal, $source:literal, [$($assumption:ident),* $(,)?];)*) => {
        /// A solver or model, by the name that its literature uses.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Method {
            $(
                #[doc = concat!($title, ". Source: ", $source, ".")]
                $name,
            )*
        }

        impl Method {
            /// Every method.
            pub const ALL: &'static [Method] = &[$(Method::$name),*];

            /// Returns the name of the method for readers.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Method::$name => $title,)* }
            }

            /// Returns the source: author, year and section, or the document that prints the method.
            #[must_use]
            pub fn source(self) -> &'static str {
                match self { $(Method::$name => $source,)* }
            }

            /// Conditions under which the result holds.
            #[must_use]
            pub fn assumptions(self) -> &'static [Assumption] {
                match self { $(Method::$name => &[$(Assumption::$assumption),*],)* }
            }
        }
    };
}

macro_rules! assumptions {
    ($($name:ident: $text:literal;)*) => {
        /// A condition for the validity of a result.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Assumption {
            $(#[doc = $text] $name,)*
        }

        impl Assumption {
            /// Returns the assumption as a sentence.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Assumption::$name => $text,)* }
            }
        }
    };
}

assumptions! {
    FlowBalance: "Arrivals equal completions over the interval.";
    ProductForm: "Stations are PS, LCFS-PR, delay, or FCFS with exponential service that is the same for all classes (BCMP).";
    FixedDemands: "Demands do not change with load.";
    PoissonArrivals: "Arrivals are a Poisson process.";
    ExponentialService: "Service times are exponential.";
    SteadyState: "The interval is long against the longest transaction, and load is steady.";
    Independence: "Service times and gaps between arrivals are independent.";
    ProcessorSharing: "FCFS stations with different demands by class are treated as PS.";
    ServersSplit: "A station of m servers is replaced by one m times as fast and a delay (Seidmann).";
    BlockAfterService: "A finished job waits at its server until the next buffer has room.";
    SpeedByRating: "CPU time scales with the rating; nothing else limits.";
    NotIoBound: "Disk and memory do not limit.";
    LinearCost: "Cost is linear in size, fields and connections.";
    ConstantGrowth: "Growth is the same each month, and the mix stays as it is.";
    PowerLaw: "Time follows a power of size.";
    FailuresExponential: "Failures are a Poisson process, and checkpoints cost the same each time.";
    PrintedFixture: "Ratings and metrics are those that a document prints for its own machines.";
    PeakHour: "Workloads are those of the peak hour.";
    PriorityOrder: "The work with the highest priority runs first, and other work has a priority number of at most 35.";
    EqualProcessors: "All processors are equal, and each job runs on one at a time.";
    ConstraintHolds: "The constraint is enforced, so every record keeps it.";
    ColdReads: "Nothing is in memory, and reads of one kind cost the same.";
    SameWork: "Both measurements did the same work on the same machine.";
    UnitEntries: "Each change is one entry, and each unit of work has a begin and an end.";
    RebuildsAdd: "Indexes are rebuilt one after the other.";
    SpillWhole: "A value that does not fit in place is stored whole in the spill area.";
    OneCode: "Each row has one code; the table of symbols is not counted.";
    EvenParts: "Each active job has the same part.";
    FirstAccessMisses: "The first access to each definition is a miss at any size.";
    LineLimits: "The line limits, and the processor has room for the compression.";
    DirectedConnections: "Each pair of servers needs one connection for each direction.";
    WholeRows: "Rows have a fixed length, and a block has only whole rows.";
    LoadReached: "The measured series runs from low load to beyond half of the peak.";
}

methods! {
    OperationalLaws: "operational laws", "Denning & Buzen 1978, ACM Computing Surveys 10(3); Lazowska et al. 1984, ch. 3", [FlowBalance];
    AsymptoticBounds: "asymptotic bounds", "Lazowska et al. 1984, section 5.2; Muntz & Wong 1974", [FlowBalance, FixedDemands];
    BalancedBounds: "balanced system bounds", "Zahorjan, Sevcik, Eager & Galler 1982, CACM 25(2)", [ProductForm, FixedDemands];
    ProportionalBounds: "proportional bounds", "Hsieh & Lam 1987, Performance Evaluation 7(3)", [ProductForm, FixedDemands];
    ExactMva: "exact mean value analysis", "Reiser & Lavenberg 1980, JACM 27(2)", [ProductForm, FixedDemands, SteadyState];
    Convolution: "log-domain convolution", "Buzen 1973, CACM 16(9); Bruell & Balbo 1980", [ProductForm, FixedDemands, SteadyState];
    Schweitzer: "Schweitzer-Bard approximate mean value analysis", "Schweitzer 1979; Bard 1979", [ProductForm, FixedDemands, SteadyState];
    Linearizer: "Linearizer", "Chandy & Neuse 1982, CACM 25(2)", [ProductForm, FixedDemands, SteadyState];
    SeidmannLinearizer: "Linearizer with Seidmann's multi-server approximation", "Chandy & Neuse 1982; Seidmann, Schweitzer & Shalev-Oren 1987", [ProductForm, FixedDemands, SteadyState, ServersSplit];
    CalibratedLinearizer: "Linearizer with several servers calibrated by the exact single-class network", "Chandy & Neuse 1982; Seidmann, Schweitzer & Shalev-Oren 1987; calibration by this product", [ProductForm, FixedDemands, SteadyState, ServersSplit];
    OpenNetwork: "open product-form network", "Jackson 1957; Baskett, Chandy, Muntz & Palacios 1975", [ProductForm, PoissonArrivals, FixedDemands, SteadyState];
    MixedMva: "mixed network by exact mean value analysis", "Reiser & Lavenberg 1980; Lazowska et al. 1984, section 7.4.2", [ProductForm, PoissonArrivals, FixedDemands, SteadyState];
    MixedConvolution: "mixed network by log-domain convolution", "Bruell & Balbo 1980; Baskett et al. 1975", [ProductForm, PoissonArrivals, FixedDemands, SteadyState];
    MixedLinearizer: "mixed network by Linearizer", "Chandy & Neuse 1982; Lazowska et al. 1984, section 7.4.2", [ProductForm, PoissonArrivals, FixedDemands, SteadyState];
    MvaBlo: "mean value analysis with blocking after service (MVABLO)", "Akyildiz 1988, IEEE TSE 14(4)", [BlockAfterService, ExponentialService, FixedDemands];
    Simulation: "discrete-event simulation", "this product; batch means as in Law 2015, section 9.5.3", [SteadyState];
    PriorityQueue: "M/G/1 with priorities", "Cobham 1954; Kleinrock 1976, section 3.3", [PoissonArrivals, Independence, SteadyState];
    ErlangB: "Erlang B", "Erlang 1917; recursion in Jagerman 1974", [PoissonArrivals];
    ErlangC: "Erlang C", "Erlang 1917; Kleinrock 1975, section 3.5", [PoissonArrivals, ExponentialService];
    MMm: "M/M/m", "Kleinrock 1975, section 3.5", [PoissonArrivals, ExponentialService, SteadyState];
    MMmK: "M/M/m/K", "Kleinrock 1975, section 3.6", [PoissonArrivals, ExponentialService, SteadyState];
    MG1: "M/G/1 (Pollaczek-Khinchine)", "Pollaczek 1930; Khinchine 1932; Kleinrock 1975, section 5.6", [PoissonArrivals, Independence, SteadyState];
    AllenCunneen: "G/G/m (Allen-Cunneen)", "Allen 1990, section 5.3", [Independence, SteadyState];
    Hypoexponential: "response time as a sum of exponential residence times", "Bolch et al. 2006, section 1.3.1", [Independence, ExponentialService];
    CoordinatedOmission: "correction of coordinated omission", "Tene, HdrHistogram, recordValueWithExpectedInterval", [SteadyState];
    Usl: "Universal Scalability Law", "Gunther 2007, ch. 4 to 6", [LoadReached, FixedDemands];
    UslQuadratic: "Universal Scalability Law by the quadratic form", "Gunther 2007, section 5.2", [LoadReached];
    CostFit: "non-negative least squares", "Lawson & Hanson 1974, ch. 23", [LinearCost];
    UtilizationRegression: "utilization law regression", "Bard & Shatzoff 1978; Lazowska et al. 1984, section 12.4", [FlowBalance, FixedDemands];
    PowerFit: "power law", "least squares of logarithms", [PowerLaw];
    ChunkModel: "fixed cost and cost per checkpoint", "least squares over item counts", [LinearCost];
    YoungInterval: "checkpoint interval", "Young 1974, CACM 17(9)", [FailuresExponential];
    DalyInterval: "checkpoint interval of higher order", "Daly 2006, FGCS 22(3)", [FailuresExponential];
    CompoundGrowth: "compound growth", "utilization law", [ConstantGrowth, FixedDemands];
    ScalingAnalysis: "efficiency and marginal gain", "Gunther 2007, ch. 4", [FixedDemands];
    Knee: "class entitlement with a knee", "IBM iSeries Performance Capabilities Reference V5R3, ch. 2", [PrintedFixture];
    OperatingTarget: "operating target", "IBM iSeries Performance Capabilities Reference V5R3, ch. 2", [PrintedFixture];
    Migration: "migration sizing", "IBM iSeries Performance Capabilities Reference V5R3, ch. 2", [PrintedFixture];
    UpgradeRatio: "entitlement ratio of an upgrade", "IBM iSeries Performance Capabilities Reference V5R3, ch. 2", [PrintedFixture];
    Regulator: "priority regulator", "IBM iSeries Performance Capabilities Reference V5R3, ch. 2 (server dynamic tuning)", [PriorityOrder];
    Quota: "pro-rata quota", "IBM iSeries Performance Capabilities Reference V5R3, ch. 2", [EqualProcessors];
    BatchTime: "batch run time", "IBM iSeries Performance Capabilities Reference V5R3, ch. 3", [SpeedByRating];
    AccessPlan: "I/O cost of an access plan", "IBM iSeries Performance Capabilities Reference V5R3, ch. 4", [ColdReads];
    Overhead: "relative overhead", "IBM iSeries Performance Capabilities Reference V5R3, ch. 4", [SameWork];
    JournalEntries: "journal entries of a commit interval", "IBM iSeries Performance Capabilities Reference V5R3, ch. 4", [UnitEntries];
    RecoveryTime: "recovery-time objective", "IBM iSeries Performance Capabilities Reference V5R3, ch. 4 (access path protection)", [RebuildsAdd];
    VariableLength: "variable-length storage", "IBM iSeries Performance Capabilities Reference V5R3, ch. 4", [SpillWhole];
    VectorIndex: "encoded vector index", "IBM iSeries Performance Capabilities Reference V5R3, ch. 4", [OneCode];
    MemoryShare: "memory share", "IBM iSeries Performance Capabilities Reference V5R3, ch. 4", [EvenParts];
    NormalisedCapacity: "capacity metric", "IBM iSeries Performance Capabilities Reference V5R3, ch. 5, 6 and 8", [PrintedFixture, NotIoBound];
    LineUtilization: "line utilization", "IBM iSeries Performance Capabilities Reference V5R3, ch. 5", [SteadyState];
    MinimumCheck: "minimum configuration", "IBM iSeries Performance Capabilities Reference V5R3, ch. 6", [PrintedFixture];
    FieldCost: "cost by number of fields", "IBM iSeries Performance Capabilities Reference V5R3, ch. 6", [LinearCost];
    DefinitionCache: "definition cache", "IBM iSeries Performance Capabilities Reference V5R3, ch. 6", [FirstAccessMisses];
    Compression: "compression against wire time", "IBM iSeries Performance Capabilities Reference V5R3, ch. 6", [LineLimits];
    FeatureCost: "cost of gateway features", "IBM iSeries Performance Capabilities Reference V5R3, ch. 6 (Connect for iSeries)", [PrintedFixture];
    ComponentReport: "component report", "IBM iSeries Performance Capabilities Reference V5R3, ch. 2", [FlowBalance];
    RatingConversion: "conversion by rating per engine", "IBM LSPR; IBM IA13 performance report", [SpeedByRating, NotIoBound];
    VectorConversion: "conversion by a vector of kernels", "this product", [SpeedByRating, NotIoBound];
    TransactionCost: "CPU time per transaction", "IBM z/OS Connect performance report, section 11", [FlowBalance];
    BlockCost: "fixed cost per block", "IBM iSeries Performance Capabilities Reference V5R3, ch. 15", [LinearCost];
    TlsCapacity: "TLS handshake capacity", "IBM iSeries Performance Capabilities Reference V5R3, ch. 8", [PrintedFixture];
    UserPace: "users by pace and response objective", "IBM iSeries Performance Capabilities Reference V5R3, ch. 6; Kleinrock 1975, section 3.5", [PoissonArrivals, ExponentialService, SteadyState];
    Trend: "trend of an overhead", "IBM iSeries Performance Capabilities Reference V5R3, ch. 2", [PrintedFixture];
    ReadCache: "conditions of a read cache", "IBM iSeries Performance Capabilities Reference V5R3, ch. 3", [PrintedFixture];
    CheckConstraint: "selection against a check constraint", "IBM iSeries Performance Capabilities Reference V5R3, ch. 4", [ConstraintHolds];
    FrameSizes: "frame sizes of both ends", "IBM iSeries Performance Capabilities Reference V5R3, ch. 13", [PrintedFixture];
    UserWeight: "user weights and concurrency", "IBM iSeries Performance Capabilities Reference V5R3, ch. 11", [PrintedFixture];
    DiskService: "disk service time", "IBM iSeries Performance Capabilities Reference V5R3, ch. 14", [PrintedFixture];
    TransferRate: "transfer rate", "IBM iSeries Performance Capabilities Reference V5R3, ch. 15", [PrintedFixture];
    StreamFeed: "streams that a machine feeds", "IBM iSeries Performance Capabilities Reference V5R3, ch. 15", [PrintedFixture];
    Topology: "connections of a topology", "IBM iSeries Performance Capabilities Reference V5R3, ch. 11", [DirectedConnections];
    Partitioning: "shares of processors", "IBM iSeries Performance Capabilities Reference V5R3, ch. 13", [PrintedFixture];
    Blocking: "rows per block", "IBM iSeries Performance Capabilities Reference V5R3, ch. 10", [WholeRows];
    Audit: "mean absolute percentage error", "Lazowska et al. 1984, section 2.4 (verification)", [FlowBalance];
    Sizing: "sizing of a workload mix", "IBM iSeries Performance Capabilities Reference V5R3, ch. 6 and 11", [PeakHour, NotIoBound];
}
