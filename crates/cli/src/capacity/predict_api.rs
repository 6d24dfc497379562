//! `quayline predict work` of an API: its operations and their providers as one network.

use std::path::Path;

use quayline_capacity::{Prediction, Seconds};
use quayline_core::{Fault, Finding};
use quayline_workload::{ApiGraph, measured_operations, names};

use super::predict_work::{Answer, demands};
use super::{BasisWire, CAP_FILE, CAP_INTERVALS, component, refused, weakest};
use crate::args::PredictWorkArgs;
use crate::console::{Console, shown};
use crate::exit::{Exit, Stop, argument};

/// Predicts the operations of an API in their measured mix.
pub(super) fn api(args: &PredictWorkArgs, path: &Path, console: &Console) -> Result<Exit, Stop> {
    if args.items.is_some() {
        return Err(argument("--items does not apply to an API".to_owned()).into());
    }
    let Some(mut defined) = quayline_server::operations_of(path)? else {
        let message = format!("{} is not an API file of a project", shown(path));
        return Err(Finding::error(CAP_FILE, Fault::Caller, message).hint("name a file in the folder apis").into());
    };
    if let Some(member) = &args.member {
        defined.retain(|(name, _)| name == member);
    }
    let intervals = component::intervals(&args.from)?;
    let (mut operations, missing) = measured_operations(defined, &intervals);
    if args.contended {
        operations.iter_mut().for_each(|operation| operation.demands = operation.demands.contended());
    }
    if operations.is_empty() {
        let name = args.member.clone().or_else(|| missing.first().cloned()).unwrap_or_default();
        return demands(&intervals, &name).map(|_| Exit::Done);
    }
    let findings = missing.iter().map(|name| {
        let message = format!("operation {name} was not measured, so the prediction does not include it");
        Finding::warning(CAP_INTERVALS, Fault::Caller, message)
            .hint("send requests for it while intervals are collected")
    });
    console.findings(&findings.collect::<Vec<_>>());
    let last = intervals.last();
    let measured_on = last.map_or(1, |interval| interval.processors);
    #[expect(clippy::cast_possible_truncation, reason = "a server has fewer threads than 4 billion")]
    let threads = last.and_then(|interval| interval.seen.get(names::LISTENER_THREADS)).map(|seen| seen.last as u32);
    let graph = ApiGraph {
        operations,
        processors: args.processors.unwrap_or(measured_on),
        threads: threads.unwrap_or(measured_on),
        faster: args.faster,
        think: args.think.map_or(Seconds(0.0), |think| think.0),
    };
    let users = if args.workers.is_empty() { &[1][..] } else { &args.workers };
    let estimates: Result<Vec<_>, _> = users.iter().map(|users| graph.predict(*users)).collect();
    let estimates = estimates.map_err(|error| refused(&error))?;
    let Some(basis) = weakest(&estimates).map(BasisWire::of) else { return Ok(Exit::Done) };
    let workload = graph.network();
    let answer = Answer {
        name: &shown(path),
        transactions: graph.operations.iter().map(|operation| operation.demands.transactions).sum(),
        elapsed: vec![None; estimates.len()],
        bottleneck: workload.bottleneck().map(|at| workload.stations[at].name.clone()),
        notes: graph.text(&estimates.iter().map(|estimate| &estimate.value).collect::<Vec<_>>()),
        rows: &estimates.iter().map(|estimate| estimate.value.all.clone()).collect::<Vec<Prediction>>(),
        demands: &graph.wire(&estimates.iter().map(|estimate| &estimate.value).collect::<Vec<_>>()),
        workload: &workload,
    };
    answer.finish(&basis, args, console)
}
