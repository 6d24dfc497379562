//! Flows: sample 4 of IBM's report on VSAM nodes, compared with plain syncs, with NATS, and with other numbers of instances and orders.

use std::path::PathBuf;
use std::time::Duration;

use quayline_flow::{Commits, EngineOptions, Flow};
use quayline_measure::{Applications, Drive, FLOW_RECORDS, FlowBed, bare_syncs, sample_request};
use quayline_project::FlowFile;
use quayline_store::queue::{Message, Persistence};

use super::{Area, Bar, Bench, Measured, Side};
use crate::artemis::{ArtemisServer, Responder};
use crate::median;
use crate::nats::{Kept, NatsServer};

/// Duration of one measurement of a rate.
const TIME: Duration = Duration::from_millis(700);
/// Turns; the median counts.
const TURNS: usize = 3;
/// Messages of a queue that is emptied by key and without order.
const DRAINED: usize = 30_000;

pub(super) const BARS: &[Bar] = &[
    Bar { unit: "syncs", ..most("flow: durable request, one application", 3.6, in_syncs) },
    least("flow: durable requests, 5 applications by one", 2.0, |bench| by_one(bench, 5)),
    least("flow: durable requests, 64 applications by one", 9.0, |bench| by_one(bench, 64)),
    most("flow: CPU of a durable request by one in memory", 1.5, durable_cpu),
    least("flow: requests, one application, by NATS core", 1.5, |bench| by_nats(bench, Kept::Nothing, 1)),
    least("flow: requests, 5 applications, by NATS core", 2.0, |bench| by_nats(bench, Kept::Nothing, 5)),
    least("flow: durable requests, one application, by JetStream", 2.5, |bench| by_nats(bench, Kept::Synced, 1)),
    least("flow: durable requests, 5 applications, by JetStream", 4.0, |bench| by_nats(bench, Kept::Synced, 5)),
    least("flow: requests over AMQP, 5 applications, by Artemis", 1.5, |bench| {
        by_artemis(bench, Persistence::NotPersistent, Responder::Programs)
    }),
    least("flow: durable requests over AMQP, 5 applications, by Artemis", 1.5, |bench| {
        by_artemis(bench, Persistence::Persistent, Responder::Programs)
    }),
    least("flow: requests over AMQP, 5 applications, by Camel", 5.0, |bench| {
        by_artemis(bench, Persistence::NotPersistent, Responder::Camel)
    }),
    least("flow: durable requests over AMQP, 5 applications, by Camel", 5.0, |bench| {
        by_artemis(bench, Persistence::Persistent, Responder::Camel)
    }),
    Bar { unit: "k/s", ..least("flow: records of a pass to a queue in memory", 300.0, pass) },
    least("flow: 64 applications, instances free by held", 1.5, free_by_held),
    least("flow: one thread, 512 applications by one", 8.0, one_thread),
    least("flow: messages by 1,000 keys by unordered", 0.8, |bench| by_key(bench, 1_000)),
    least("flow: messages by 100,000 keys by unordered", 0.8, |bench| by_key(bench, 100_000)),
];

const fn least(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Flow, name, bar, side: Side::AtLeast, unit: "ratio", measure }
}

const fn most(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Flow, name, bar, side: Side::AtMost, unit: "ratio", measure }
}

/// Returns the folder of the flow samples.
fn project() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flows"))
}

fn sample(bench: &Bench, folder: &str, instances: u32, options: EngineOptions) -> Result<FlowBed, String> {
    let flow = FlowBed::sample(&project(), "4", instances)?;
    FlowBed::new(&bench.scratch.path(folder), flow, FLOW_RECORDS, options)
}

fn sample_4(bench: &Bench) -> Result<FlowBed, String> {
    sample(bench, "flow", 3, EngineOptions::default())
}

fn drive(bed: &FlowBed, applications: Applications, persistence: Persistence) -> Result<Drive, String> {
    bed.requests("4", applications, persistence, TIME, u64::MAX)
}

fn threads(bed: &FlowBed, count: usize, persistence: Persistence) -> Result<Drive, String> {
    drive(bed, Applications::Threads(count), persistence)
}

/// Ends the test bed; a failure of a flow fails the measurement.
fn ended(bed: FlowBed) -> Result<(), String> {
    let failures = bed.end();
    failures.first().map_or(Ok(()), |first| Err(first.clone()))
}

/// Alternates two rates, and returns the ratio of their medians.
fn in_turns(
    mut ours: impl FnMut() -> Result<f64, String>,
    mut other: impl FnMut() -> Result<f64, String>,
) -> Result<Measured, String> {
    // The first turn warms up.
    let mut pairs = Vec::new();
    for _ in 0..=TURNS {
        pairs.push((ours()?, other()?));
    }
    pairs.remove(0);
    let (a, b) = (median(pairs.iter().map(|pair| pair.0)), median(pairs.iter().map(|pair| pair.1)));
    Ok(Measured { value: median(pairs.iter().map(|(a, b)| a / b)), detail: format!("{a:.0} by {b:.0}/s") })
}

fn in_syncs(bench: &Bench) -> Result<Measured, String> {
    let bed = sample_4(bench)?;
    let floor = bench.scratch.path("flow-floor");
    // The floor before and after each turn: a disk that others use changes by the second.
    let mut before = bare_syncs(&floor)?;
    let found = in_turns(
        || {
            let after = bare_syncs(&floor)?;
            Ok(std::mem::replace(&mut before, after).midpoint(after))
        },
        || Ok(threads(&bed, 1, Persistence::Persistent)?.rate()),
    )?;
    ended(bed)?;
    Ok(found)
}

fn by_one(bench: &Bench, applications: usize) -> Result<Measured, String> {
    let bed = sample_4(bench)?;
    let rate = |count| Ok(threads(&bed, count, Persistence::Persistent)?.rate());
    let found = in_turns(|| rate(applications), || rate(1))?;
    ended(bed)?;
    Ok(found)
}

fn durable_cpu(bench: &Bench) -> Result<Measured, String> {
    let bed = sample_4(bench)?;
    let cpu = |persistence| Ok(threads(&bed, 5, persistence)?.cpu_us());
    let found = in_turns(|| cpu(Persistence::Persistent), || cpu(Persistence::NotPersistent))?;
    ended(bed)?;
    Ok(Measured { detail: found.detail.replace("/s", " us, 5 applications"), ..found })
}

fn by_nats(bench: &Bench, kept: Kept, applications: usize) -> Result<Measured, String> {
    let server = match NatsServer::start(&bench.scratch.path("nats"), kept) {
        Ok(server) => server,
        Err(why) => return Ok(Measured::skipped(&why)),
    };
    let mut flow = FlowBed::sample(&project(), "4", 3)?;
    // Sample 4 updates a record, which is synced by default. The peer's core keeps nothing.
    flow.file.syncs_persistent_only = kept == Kept::Nothing;
    let bed = FlowBed::new(&bench.scratch.path("flow"), flow, FLOW_RECORDS, EngineOptions::default())?;
    let persistence = if kept == Kept::Synced { Persistence::Persistent } else { Persistence::NotPersistent };
    let found = in_turns(
        || Ok(threads(&bed, applications, persistence)?.rate()),
        || server.requests(kept, applications, TIME),
    )?;
    ended(bed)?;
    Ok(found)
}

/// Compares sample 4 with Artemis. Sample 4 updates a record between request and reply. The programs at Artemis only reply, and the Camel route updates
/// a record in memory.
fn by_artemis(bench: &Bench, persistence: Persistence, responder: Responder) -> Result<Measured, String> {
    let programs = bench.scratch.path("").join("..");
    let folder = bench.scratch.path("artemis-data");
    let content = |number| sample_request("4", number);
    let server = match ArtemisServer::start(&programs, &folder, responder, persistence, &content) {
        Ok(server) => server,
        Err(why) => return Ok(Measured::skipped(&why)),
    };
    let mut flow = FlowBed::sample(&project(), "4", 3)?;
    flow.file.syncs_persistent_only = persistence == Persistence::NotPersistent;
    let bed = FlowBed::new(&bench.scratch.path("flow"), flow, FLOW_RECORDS, EngineOptions::default())?;
    let found = in_turns(
        || Ok(drive(&bed, Applications::Amqp(5), persistence)?.rate()),
        || server.requests(persistence, 5, TIME, &content),
    )?;
    ended(bed)?;
    Ok(found)
}

fn pass(bench: &Bench) -> Result<Measured, String> {
    let flow = FlowBed::sample(&project(), "1", 3)?;
    let bed = FlowBed::new(&bench.scratch.path("flow"), flow, FLOW_RECORDS, EngineOptions::default())?;
    let mut rates = Vec::new();
    for _ in 0..TURNS {
        rates.push(bed.pass(FLOW_RECORDS, Persistence::NotPersistent)?.rate() / 1e3);
    }
    ended(bed)?;
    Ok(Measured { value: median(rates.into_iter()), detail: format!("{FLOW_RECORDS} records of 32 bytes") })
}

fn free_by_held(bench: &Bench) -> Result<Measured, String> {
    let free = sample(bench, "flow", 3, EngineOptions::default())?;
    // A thread for each of the four instances.
    let options = EngineOptions { threads: 4, commits: Commits::Held };
    let held = sample(bench, "flow-held", 3, options)?;
    let rate = |bed: &FlowBed| Ok(threads(bed, 64, Persistence::Persistent)?.rate());
    let found = in_turns(|| rate(&free), || rate(&held))?;
    ended(free)?;
    ended(held)?;
    Ok(found)
}

fn one_thread(bench: &Bench) -> Result<Measured, String> {
    let options = EngineOptions { threads: 1, ..EngineOptions::default() };
    let bed = sample(bench, "flow", 256, options)?;
    let rate = |count| Ok(drive(&bed, Applications::Tasks(count), Persistence::Persistent)?.rate());
    let found = in_turns(|| rate(512), || rate(1))?;
    ended(bed)?;
    Ok(Measured { detail: format!("{}, 256 additional instances", found.detail), ..found })
}

fn by_key(bench: &Bench, keys: usize) -> Result<Measured, String> {
    let bed = |order: &str, folder: &str| {
        let text = format!(
            "additional_instances = 63\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\n{order}\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        );
        let flow = FlowFile::parse("keys.toml", &text).and_then(|file| Flow::compile(file, &project(), None));
        let flow = flow.map_err(|findings| findings.to_string())?;
        FlowBed::new(&bench.scratch.path(folder), flow, 0, EngineOptions::default())
    };
    let ordered = bed("order = \"by_key\"\norder_key = \"envelope.property_key\"", "flow")?;
    let unordered = bed("", "flow-unordered")?;
    let message = |number: usize| Message {
        properties: vec![("key".to_owned(), (number * 7919 % keys).to_string().into_bytes())],
        ..Message::new(vec![b'a'; 200])
    };
    let messages: Vec<Message> = (0..DRAINED).map(message).collect();
    let rate = |bed: &FlowBed| Ok(bed.drain("IN", &messages)?.rate());
    let found = in_turns(|| rate(&ordered), || rate(&unordered))?;
    ended(ordered)?;
    ended(unordered)?;
    Ok(Measured { detail: format!("{}, 64 instances", found.detail), ..found })
}
