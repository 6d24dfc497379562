//! Machine profiles: a vector of kernel rates and a rating. Profiles serve to compare machines and to project costs from one machine
//! to another.
//!
//! A single rating compares machines for one kind of work and is wrong by a third for others. A profile has a rate for each kind of
//! work in a transaction, so a projection weights the rates by the transaction's work, and its error band is the spread of the kernels.
//! Rates are operations a CPU second, so other programs on the machine change them little. Rates on all threads include contention
//! among the threads: for caches, for memory and for the second thread of a core.

use crate::error::{not_negative, positive};
use crate::plan::{KernelShare, convert_by_kernels};
use crate::{CapacityUnits, Estimate, ModelError, PerSecond, Seconds, Share};

/// Version of the set of kernels. Profiles of different versions measured different work.
pub const KERNELS_VERSION: u32 = 1;

/// Units of work a second that are one capacity unit.
pub const UNITS_PER_CAPACITY: f64 = 100.0;

/// Difference below which two rates are the same, however quiet both runs were.
const LEAST_DIFFERENCE: f64 = 0.05;

macro_rules! kernels {
    ($($variant:ident: $name:literal, $unit:literal, $meaning:literal;)*) => {
        /// A kind of work that transactions are made of.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Kernel {
            $(#[doc = $meaning] $variant,)*
        }

        impl Kernel {
            /// Every kernel, in the order of a profile.
            pub const ALL: &'static [Kernel] = &[$(Kernel::$variant),*];

            /// Returns the name that profiles and the command line use.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Kernel::$variant => $name,)* }
            }

            /// Returns the operation that the rate counts.
            #[must_use]
            pub fn unit(self) -> &'static str {
                match self { $(Kernel::$variant => $unit,)* }
            }

            /// Returns a description of the kernel's work.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Kernel::$variant => $meaning,)* }
            }
        }
    };
}

kernels! {
    EdiTokenise: "edi-tokenise", "bytes", "Splits X12 text into segments and elements.";
    Packed: "packed", "fields", "Decodes packed decimals of records.";
    Zoned: "zoned", "fields", "Decodes zoned decimals of records.";
    CodePage: "code-page", "bytes", "Translates EBCDIC to UTF-8.";
    JsonWrite: "json-write", "bytes", "Writes JSON text.";
    XmlWrite: "xml-write", "bytes", "Writes XML text.";
    Hash: "hash", "bytes", "Computes SHA-256.";
    Copy: "copy", "bytes", "Copies blocks of 512 KiB.";
    KeyedGet: "keyed-get", "records", "Reads records of a record file by random keys.";
    Sync: "sync", "syncs", "Appends 4 KiB to a file and makes it durable. Its rate is a second of wall time.";
    TlsFull: "tls-full", "handshakes", "Full TLS 1.3 handshakes, both sides, with a certificate of P-256.";
    TlsResumed: "tls-resumed", "handshakes", "Resumed TLS 1.3 handshakes, both sides.";
    Signature: "signature", "signatures", "Signs with ECDSA P-256 and checks the signature.";
}

impl Kernel {
    /// Returns the kernel with a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Kernel> {
        Kernel::ALL.iter().copied().find(|kernel| kernel.name() == name)
    }

    /// Returns true if the processor limits the kernel. Its rate is per CPU second; other rates are per second.
    #[must_use]
    pub fn is_processor_bound(self) -> bool {
        self != Kernel::Sync
    }
}

/// A measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelRate {
    /// Operations a CPU second of one thread; of a kernel that waits, operations a second of all threads.
    pub rate: f64,
    /// Spread of the repetitions: 1.48 times the median deviation, relative to the median.
    pub spread: Share,
}

/// The rates of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelFigure {
    /// The kernel.
    pub kernel: Kernel,
    /// One thread alone.
    pub one: KernelRate,
    /// A thread for each core, where cores have several threads.
    pub cores: Option<KernelRate>,
    /// A thread for each hardware thread.
    pub all: KernelRate,
}

/// Description of a machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Host {
    /// Model of the processor.
    pub processor: String,
    /// Architecture that the program was built for.
    pub architecture: String,
    /// Hardware threads that the program may use.
    pub threads: u32,
    /// Cores.
    pub cores: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Operating system and its release.
    pub system: String,
}

/// The rating of a machine: its commercial mix of keyed records, queues, journal and commit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// Units of work a second that all processors can do without another bottleneck.
    pub units: PerSecond,
    /// CPU time of one, engine included.
    pub cpu: Seconds,
    /// Units of work a second that were reached with a durable journal; far below `units`, the disk limits.
    pub durable: PerSecond,
}

impl Rating {
    /// Returns the rating in capacity units.
    #[must_use]
    pub fn capacity(&self) -> CapacityUnits {
        CapacityUnits(self.units.0 / UNITS_PER_CAPACITY)
    }
}

/// Measured performance of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct HostProfile {
    /// Version of the kernels.
    pub kernels_version: u32,
    /// Version of the program.
    pub program: String,
    /// Build mode of the program.
    pub optimised: Optimised,
    /// The machine.
    pub host: Host,
    /// Rates by kernel.
    pub kernels: Vec<KernelFigure>,
    /// The rating.
    pub rating: Rating,
    /// Share of the time in which threads were ready and another program had the processor.
    pub disturbance: Share,
}

/// Build mode of the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Optimised {
    /// A release build.
    Yes,
    /// A debug build, whose rates say nothing about the machine.
    No,
}

/// Error of comparing two profiles made under different conditions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unlike {
    /// Differences: property, value in the first profile, value in the second.
    pub differences: Vec<(&'static str, String, String)>,
}

impl core::fmt::Display for Unlike {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (at, (what, first, second)) in self.differences.iter().enumerate() {
            let comma = if at > 0 { "; " } else { "" };
            write!(f, "{comma}{what}: {first} and {second}")?;
        }
        Ok(())
    }
}

/// Change of a rate between two profiles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change {
    /// Within the noise of both runs, or less than 5 %.
    Same,
    /// Faster by more than the noise.
    Faster,
    /// Slower by more than the noise.
    Slower,
}

/// A kernel in two profiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelChange {
    /// The kernel.
    pub kernel: Kernel,
    /// Rate of the second profile over that of the first, on one thread.
    pub one: f64,
    /// Rate of the second profile over that of the first, on all threads.
    pub all: f64,
    /// Relative difference that the noise of both runs explains.
    pub noise: f64,
    /// The verdict, from both ratios.
    pub change: Change,
}

/// Checks that both profiles measured the same work by the same kind of build.
///
/// # Errors
/// [`Unlike`] with everything that differs.
pub fn same_work(first: &HostProfile, second: &HostProfile) -> Result<(), Unlike> {
    let mut differences = Vec::new();
    let mut differs = |what, first: String, second: String| {
        if first != second {
            differences.push((what, first, second));
        }
    };
    differs("version of the kernels", first.kernels_version.to_string(), second.kernels_version.to_string());
    let build = |profile: &HostProfile| match profile.optimised {
        Optimised::Yes => "release".to_owned(),
        Optimised::No => "debug".to_owned(),
    };
    differs("build", build(first), build(second));
    if differences.is_empty() { Ok(()) } else { Err(Unlike { differences }) }
}

/// Compares two profiles of one machine, such as before and after a change of the system.
///
/// # Errors
/// [`Unlike`] if the machines differ: a difference of rates would have other causes.
pub fn compare(first: &HostProfile, second: &HostProfile) -> Result<Vec<KernelChange>, Unlike> {
    let mut differences = same_work(first, second).err().map_or_else(Vec::new, |unlike| unlike.differences);
    let (a, b) = (&first.host, &second.host);
    let facts = [
        ("processor", a.processor.clone(), b.processor.clone()),
        ("architecture", a.architecture.clone(), b.architecture.clone()),
        ("hardware threads", a.threads.to_string(), b.threads.to_string()),
        ("cores", a.cores.to_string(), b.cores.to_string()),
    ];
    differences.extend(facts.into_iter().filter(|(_, first, second)| first != second));
    // Firmware takes a little more or less of the same memory at each start.
    if a.memory_mib.abs_diff(b.memory_mib) * 20 > a.memory_mib.max(b.memory_mib) {
        differences.push(("memory in MiB", a.memory_mib.to_string(), b.memory_mib.to_string()));
    }
    if !differences.is_empty() {
        return Err(Unlike { differences });
    }
    let pairs = first.kernels.iter().filter_map(|figure| {
        let other = second.kernels.iter().find(|other| other.kernel == figure.kernel)?;
        Some((figure, other))
    });
    Ok(pairs.map(|(figure, other)| change(figure, other)).collect())
}

fn change(first: &KernelFigure, second: &KernelFigure) -> KernelChange {
    let spread = |figure: &KernelFigure| figure.one.spread.0.max(figure.all.spread.0);
    let noise = 3.0 * (spread(first).powi(2) + spread(second).powi(2)).sqrt();
    let (one, all) = (second.one.rate / first.one.rate, second.all.rate / first.all.rate);
    let bound = noise.max(LEAST_DIFFERENCE);
    // Both must agree: one alone is more often a neighbour than a change.
    let change = if one < 1.0 - bound && all < 1.0 - bound {
        Change::Slower
    } else if one > 1.0 + bound && all > 1.0 + bound {
        Change::Faster
    } else {
        Change::Same
    };
    KernelChange { kernel: first.kernel, one, all, noise, change }
}

/// A cost on another machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    /// Least CPU time of a transaction: the kernel that gains most, and the noise of both profiles.
    pub least: Seconds,
    /// CPU time by the weighted kernels.
    pub likely: Seconds,
    /// Most CPU time.
    pub most: Seconds,
    /// Transactions a second that all processors of the target can do.
    pub capacity: PerSecond,
}

/// Projects the CPU time of a transaction from one machine to another, both with all threads busy. `shares` are the parts of its time that
/// resemble a kernel; without any, every kernel has the same weight, and the band is the widest.
///
/// # Errors
/// [`ModelError`] for negative costs, or shares that do not add up to 1.
pub fn project(
    cost: Seconds,
    shares: &[(Kernel, Share)],
    base: &HostProfile,
    target: &HostProfile,
) -> Result<Estimate<Projection>, ModelError> {
    not_negative("CPU time", cost.0)?;
    let threads = positive("hardware threads", f64::from(target.host.threads))?;
    let find = |profile: &HostProfile, kernel: Kernel| {
        let figure = profile.kernels.iter().find(|figure| figure.kernel == kernel).copied();
        figure.ok_or(ModelError::NotIdentifiable { what: "kernels of both profiles" })
    };
    let processor_bound = || Kernel::ALL.iter().copied().filter(|kernel| kernel.is_processor_bound());
    let shares: Vec<(Kernel, Share)> = if shares.is_empty() {
        let weight = 1.0 / processor_bound().count() as f64;
        processor_bound().map(|kernel| (kernel, Share(weight))).collect()
    } else {
        shares.to_vec()
    };
    let mut kernels = Vec::with_capacity(shares.len());
    let mut noise = 0.0_f64;
    for (kernel, share) in shares {
        if !kernel.is_processor_bound() {
            return Err(ModelError::NotCovered { method: "projection of CPU time", what: "kernels that wait" });
        }
        let (here, there) = (find(base, kernel)?, find(target, kernel)?);
        noise = noise.max((here.all.spread.0.powi(2) + there.all.spread.0.powi(2)).sqrt());
        kernels.push(KernelShare { share, base: here.all.rate, target: there.all.rate });
    }
    let converted = convert_by_kernels(cost, &kernels)?;
    Ok(converted.map(|(least, likely, most)| Projection {
        least: Seconds(least.0 * (1.0 - noise).max(0.0)),
        likely,
        most: Seconds(most.0 * (1.0 + noise)),
        capacity: PerSecond(if likely.0 > 0.0 { threads / likely.0 } else { 0.0 }),
    }))
}
