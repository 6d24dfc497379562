//! Rules that follow from the models of this product.

use super::Metric as M;
use super::rule::{Rule, above, above_times, is_not, rule};

/// The rules, in the order of their source.
#[rustfmt::skip]
pub(super) const LAWS: &[Rule] = &[
    rule("not-streaming", &[above(M::SizeExponent, 1.15)],
        "find the phase whose time grows faster than size",
        "time grows with size alone", "scaling of time by size"),
    rule("unaccounted-time", &[above(M::UnaccountedTime, 0.02)],
        "do not trust the run: more than 2 % of its time is in no phase",
        "figures add up again", "accounting identity"),
    rule("checkpoint-too-often", &[above(M::CheckpointShare, 0.1)],
        "raise the item count: the interval that loses least is sqrt(2 c MTBF)",
        "elapsed falls towards the time without checkpoints", "Young 1974; Daly 2006"),
    rule("beyond-scalability-peak", &[above_times(M::Workers, 1.0, M::ScalabilityPeak)],
        "use fewer workers: beyond the peak each one costs throughput",
        "throughput returns to its peak", "Gunther 2007"),
    rule("below-percentile-headroom", &[above_times(M::Cpu, 1.0, M::Headroom)],
        "add servers, or lower the load: the objective fails before the processor is full",
        "the 95th percentile keeps its objective", "Erlang C"),
    rule("demands-under-contention", &[above(M::RunQueueWait, 0.1)],
        "predict this machine with --contended, or measure the demands again while it is quiet",
        "a prediction includes what other programs take", "Lazowska et al. 1984, section 12.4"),
    rule("blocked-by-the-next-step", &[above(M::RoomWait, 0.1)],
        "make the step that follows faster, or its queue larger: the step that waits is not the bottleneck",
        "the change is made where the time is lost", "Akyildiz 1988"),
    rule("stalls-hide-requests", &[above_times(M::LargestResponse, 1.0, M::RequestInterval), is_not(M::IntendedTimes)],
        "measure each response from the time at which its request was due",
        "percentiles include the requests that a stall delayed", "Tene, HdrHistogram"),
];
