//! Workload classes of a served project: the settings, and the counts of its parts.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use quayline_cache::Cache;
use quayline_connect::ListenerFacts;
use quayline_flow::{CpuPart, Engine};
use quayline_workload::{Figure, Kind, MemberTotals, Source, Workload, WorkloadConfig, names};

/// Returns the workload of this process.
pub(crate) fn of_process(config: &WorkloadConfig) -> Arc<Workload> {
    let processors = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
    let workload = Workload::new(config.clone(), processors);
    workload.add_source(Arc::new(DefinitionSource(crate::cache::cache())));
    workload
}

/// Counts of an engine's flows. It does not keep the engine alive.
pub(crate) struct FlowSource(pub(crate) Weak<Engine>);

impl Source for FlowSource {
    fn totals(&self) -> Vec<MemberTotals> {
        let Some(engine) = self.0.upgrade() else { return Vec::new() };
        let total = |state: &quayline_flow::FlowState| {
            let stats = &state.stats;
            let (committed, rolled_back) =
                (stats.committed.load(Ordering::Relaxed), stats.rolled_back.load(Ordering::Relaxed));
            let received = stats.received.load(Ordering::Relaxed) as f64;
            let parts = [
                ("queues", CpuPart::Queues),
                ("files", CpuPart::Files),
                ("flow", CpuPart::Flow),
                ("commit", CpuPart::Commit),
            ];
            let phases = parts.map(|(name, part)| (name, stats.cpu.us_per_message(part) * received / 1e6)).to_vec();
            MemberTotals {
                count: committed + rolled_back,
                failed: rolled_back,
                wall_s: stats.wall_ns.load(Ordering::Relaxed) as f64 / 1e9,
                external_s: stats.external_ns.load(Ordering::Relaxed) as f64 / 1e9,
                device_s: stats.device_ns.load(Ordering::Relaxed) as f64 / 1e9,
                weight_s: phases.iter().map(|(_, seconds)| seconds).sum(),
                commits: committed,
                phases,
                ..MemberTotals::new(Kind::Flow, state.flow.name())
            }
        };
        engine.flows().iter().map(total).collect()
    }
}

/// Counts of the cache of compiled definitions.
struct DefinitionSource(Option<Arc<Cache>>);

impl Source for DefinitionSource {
    fn totals(&self) -> Vec<MemberTotals> {
        Vec::new()
    }

    fn figures(&self) -> Vec<Figure> {
        let Some(cache) = &self.0 else { return Vec::new() };
        vec![
            Figure::total(names::DEFINITIONS_COMPILED, cache.looked_up()[1] as f64),
            Figure::total(names::DEFINITIONS_DIFFERENT, cache.different_missed() as f64),
            Figure::total(names::DEFINITIONS_REMOVED, cache.removed() as f64),
        ]
    }

    fn definitions(&self) -> Option<[u64; 2]> {
        self.0.as_ref().map(|cache| cache.looked_up())
    }
}

/// Clients of queues over AMQP: their connections belong to the class of flows.
pub(crate) struct AmqpSource<F>(pub(crate) F);

impl<F: Fn() -> ListenerFacts + Send + Sync> Source for AmqpSource<F> {
    fn totals(&self) -> Vec<MemberTotals> {
        vec![MemberTotals { handshakes: (self.0)().handshakes, ..MemberTotals::new(Kind::Flow, "(AMQP clients)") }]
    }

    fn handshakes(&self) -> Option<[u64; 2]> {
        Some((self.0)().handshakes)
    }
}
