//! `quayline flow`.

mod admin;
mod serve;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_core::{Fault, Finding, Findings};
use quayline_flow::{Engine, EngineOptions, Flow, FlowState, LeftFiles, Observer, flow_files};
use quayline_project::FlowFile;
use quayline_store::queue::{DEAD_LETTER, QueueDefinition};
use quayline_store::{Clock, Store, SystemClock};

use crate::args::{
    DurabilityOption, FlowAdminArgs, FlowArgs, FlowCommand, FlowDefineArgs, FlowListArgs, FlowNamesArgs, FlowPagesArgs,
    FlowRunArgs, FlowShowArgs, FolderArg,
};
use crate::cache::cache;
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_INPUT, Exit, Stop, argument};
use crate::interrupt::stop_flag;
use crate::store::{Missing, Opened, define_missing, stop};

pub(crate) use admin::{FlowsPart, asked, listener_of};
pub(crate) use serve::ServedFlows;

/// Maximum interval between two checks of the interrupt flag.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `quayline flow`.
pub(crate) fn run(args: &FlowArgs, console: &Console) -> Result<Exit, Stop> {
    match &args.command {
        FlowCommand::Check(args) => check(args, console),
        FlowCommand::Show(args) => show(args),
        FlowCommand::Pages(args) => pages(args),
        FlowCommand::List(args) => list(args),
        FlowCommand::Define(args) => define(args, console),
        FlowCommand::Run(args) => run_flows(args, console),
        FlowCommand::Stats(args) => admin::ask(args, "GET", "", console),
        FlowCommand::Trace(args) => {
            named(&args.flow)?;
            admin::trace(args, console)
        }
        FlowCommand::Stop(args) => admin::ask(named(args)?, "POST", "stop", console),
        FlowCommand::Start(args) => admin::ask(named(args)?, "POST", "start", console),
    }
}

fn named(args: &FlowAdminArgs) -> Result<&FlowAdminArgs, Stop> {
    if args.name.is_none() {
        return Err(argument("the flow is not named").hint("`quayline flow stats` lists the flows").into());
    }
    Ok(args)
}

/// Returns the default place of the store of a project.
fn project_store(project: &Path) -> FolderArg {
    FolderArg::new(project.join("data"), DurabilityOption::default())
}

/// Opens the named flows, or all, with the partners in the store of the project.
fn open(args: &FlowNamesArgs, store: &FolderArg, console: &Console) -> Result<Vec<Flow>, Stop> {
    let mut flows = Vec::new();
    let mut findings = Vec::new();
    let paths = paths(&args.project, &args.names)?;
    let opened = crate::partner::for_flows(&paths, store, console)?;
    for path in paths {
        match Flow::open_with(&path, &args.project, cache(), opened.as_ref().map(|opened| &opened.store)) {
            Ok(flow) => flows.push(flow),
            Err(Findings(found)) => findings.extend(found),
        }
    }
    opened.map_or(Ok(Exit::Done), |opened| opened.close(Exit::Done))?;
    if findings.is_empty() { Ok(flows) } else { Err(Findings(findings).into()) }
}

fn paths(project: &Path, names: &[String]) -> Result<Vec<std::path::PathBuf>, Stop> {
    let all = flow_files(project)?;
    if all.is_empty() {
        let what = format!("{} has no flow: expected files in flows/*.toml", shown(project));
        let hint = "name the project's folder with --project; docs/guides/first-flow.md shows a flow";
        return Err(Finding::error(CLI_INPUT, Fault::Caller, what).hint(hint).into());
    }
    if names.is_empty() {
        return Ok(all);
    }
    let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    let mut chosen = Vec::new();
    for name in names {
        match all.iter().find(|path| stem(path) == *name) {
            Some(path) => chosen.push(path.clone()),
            None => {
                let known: Vec<String> = all.iter().map(|path| stem(path)).collect();
                let what = format!("{} has no flow `{name}`", shown(project));
                return Err(Finding::error(CLI_INPUT, Fault::Caller, what)
                    .hint(format!("its flows: {}", known.join(", ")))
                    .into());
            }
        }
    }
    Ok(chosen)
}

fn check(args: &FlowNamesArgs, console: &Console) -> Result<Exit, Stop> {
    let flows = open(args, &project_store(&args.project), console)?;
    let shared = quayline_flow::shared_addresses(&flows, &[], quayline_server::collide);
    let modules = quayline_flow::shared_modules(&flows, []);
    let wrong: Vec<_> = shared.into_iter().chain(modules).chain(flows.iter().flat_map(Flow::try_programs)).collect();
    if !wrong.is_empty() {
        return Err(Findings(wrong).into());
    }
    for flow in &flows {
        console.findings(&flow.findings);
        for edge in flow.edges() {
            console.line(&format!("{}, {} ({}): {}", flow.name(), edge.node, edge.kind, edge.guarantee));
        }
    }
    let nodes: usize = flows.iter().map(|flow| flow.file.nodes.len()).sum();
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    console.line(&format!("{}, {}: no errors", count(flows.len(), "flow"), count(nodes, "node")));
    Ok(Exit::Done)
}

fn show(args: &FlowShowArgs) -> Result<Exit, Stop> {
    let paths = paths(&args.project, std::slice::from_ref(&args.name))?;
    let figures = if args.live {
        let (name, project, admin) = (Some(args.name.clone()), args.project.clone(), args.admin);
        admin::figures(&FlowAdminArgs { name, project, admin })?
    } else {
        BTreeMap::new()
    };
    for path in paths {
        let flow = FlowFile::open(&path)?;
        let picture = if args.svg {
            quayline_flow::svg(&flow)
        } else {
            quayline_flow::text_with(&flow, &|node| figures.get(node).cloned())
        };
        write_stdout(picture.as_bytes())?;
    }
    Ok(Exit::Done)
}

/// Writes a page and a picture for each flow.
fn pages(args: &FlowPagesArgs) -> Result<Exit, Stop> {
    let failed = |error: std::io::Error| {
        let why = quayline_core::system_error_text(&error);
        let what = format!("{} cannot be written: {why}", shown(&args.out));
        Finding::error(CLI_INPUT, Fault::Environment, what).hint("check the folder and its permissions")
    };
    std::fs::create_dir_all(&args.out).map_err(failed)?;
    for path in paths(&args.flows.project, &args.flows.names)? {
        let flow = FlowFile::open(&path)?;
        let picture = format!("{}.svg", flow.name);
        std::fs::write(args.out.join(&picture), quayline_flow::svg(&flow)).map_err(failed)?;
        let page = quayline_flow::page(&flow, &picture);
        std::fs::write(args.out.join(format!("{}.md", flow.name)), page).map_err(failed)?;
    }
    Ok(Exit::Done)
}

fn list(args: &FlowListArgs) -> Result<Exit, Stop> {
    if args.live {
        return admin::list(args);
    }
    let mut text = String::new();
    for flow in open(&args.flows, &project_store(&args.flows.project), &Console::plain())? {
        let join = |names: BTreeSet<&str>| {
            if names.is_empty() { "-".to_owned() } else { names.into_iter().collect::<Vec<_>>().join(", ") }
        };
        let mut uses: BTreeSet<&str> = flow.output_queues().collect();
        uses.extend(flow.record_files());
        let title = flow.file.title.as_deref().unwrap_or_default();
        text.push_str(&format!(
            "{}  {} -> {}  {title}\n",
            flow.name(),
            join(flow.input_queues().collect()),
            join(uses)
        ));
    }
    write_stdout(text.as_bytes())?;
    Ok(Exit::Done)
}

fn define(args: &FlowDefineArgs, console: &Console) -> Result<Exit, Stop> {
    let store = args.store.of(&args.flows.project);
    let flows = open(&args.flows, &store, console)?;
    if let Some(server) = args.admin {
        let names: Vec<&str> = queues_of(&flows).into_iter().collect();
        for name in define_missing(server, &names)? {
            console.line(&format!("defined queue {name}"));
        }
        return Ok(Exit::Done);
    }
    let opened = Opened::open(&store, Missing::Create)?;
    for name in define_queues(&opened.store, &flows)? {
        console.line(&format!("defined queue {name}"));
    }
    opened.close(Exit::Done)
}

/// Names of the queues that flows use, and of the dead-letter queue.
fn queues_of(flows: &[Flow]) -> BTreeSet<&str> {
    let names = flows.iter().flat_map(|flow| flow.input_queues().chain(flow.output_queues()));
    names.chain([DEAD_LETTER]).collect()
}

/// Defines missing queues that flows name, and the dead-letter queue.
fn define_queues(store: &Store, flows: &[Flow]) -> Result<Vec<String>, Stop> {
    let unit = store.begin().map_err(stop)?;
    let known: BTreeSet<String> = store.queues(&unit).map_err(stop)?.into_iter().collect();
    drop(unit);
    let mut unit = store.begin().map_err(stop)?;
    let mut defined = Vec::new();
    for name in queues_of(flows).into_iter().filter(|name| !known.contains(*name)) {
        store.define_queue(&mut unit, QueueDefinition::local(name)).map_err(stop)?;
        defined.push(name.to_owned());
    }
    unit.commit().map_err(stop)?;
    Ok(defined)
}

/// Prints failures and trace lines to standard error.
struct Lines;

impl Observer for Lines {
    fn failed(&self, _flow: &str, finding: &Finding, handled: bool) {
        if !handled {
            eprintln!("{finding}");
        }
    }

    fn trace(&self, flow: &str, node: &str, text: &str) {
        eprintln!("trace {flow}, {node}: {text}");
    }
}

fn run_flows(args: &FlowRunArgs, console: &Console) -> Result<Exit, Stop> {
    let store = args.store.of(&args.flows.project);
    let mut flows = open(&args.flows, &store, console)?;
    let shared = quayline_flow::shared_modules(&flows, []);
    if !shared.is_empty() {
        return Err(Findings(shared).into());
    }
    for flow in &mut flows {
        flow.make_programs()?.iter().for_each(|line| console.line(line));
    }
    let opened = Opened::open(&store, Missing::Refuse)?;
    missing(&opened.store, &flows)?;
    let interrupted = stop_flag().map_err(Stop::from)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let observer: Arc<dyn Observer> = Arc::new(Lines);
    let mut options = EngineOptions::default();
    options.threads = args.threads.unwrap_or(options.threads);
    let engine = Engine::start(&opened.store, &clock, &observer, options)?;
    for flow in flows {
        engine.deploy(flow);
    }
    engine.warn_of_stranded(&args.flows.project);
    wait(&engine, args.until_idle.map(Duration::from_millis), &interrupted);
    let states = engine.flows();
    let left = states.iter().map(|state| state.stats.undelivered.load(Ordering::Relaxed)).sum::<u64>();
    let files = engine.drain();
    for state in &states {
        console.line(&summary(state));
    }
    if left > 0 {
        console.line("messages for other systems are not delivered; the next run tries again");
    }
    for LeftFiles { folder, files } in &files {
        let (files, is) = if *files == 1 { ("1 file".to_owned(), "is") } else { (format!("{files} files"), "are") };
        let folder = shown(folder);
        console.line(&format!("{files} for the folder {folder} {is} not written yet; the next run tries again"));
    }
    let failed = left > 0
        || !files.is_empty()
        || states.iter().any(|state| state.stats.rolled_back.load(Ordering::Relaxed) > 0 || never_connected(state));
    opened.close(if failed { Exit::Rejected } else { Exit::Done })
}

/// Returns true if an input failed and the flow received nothing, so it is unknown whether messages are there.
fn never_connected(state: &FlowState) -> bool {
    let nodes = state.flow.file.nodes.iter().zip(&state.stats.nodes);
    let mut inputs = nodes.filter(|(node, _)| node.kind.is_input);
    state.stats.received.load(Ordering::Relaxed) == 0
        && inputs.any(|(_, stats)| stats.failures.load(Ordering::Relaxed) > 0)
}

/// Waits for an interrupt, or until no message was received for a time.
fn wait(engine: &Engine, until_idle: Option<Duration>, interrupted: &AtomicBool) {
    let activity = || -> (u64, u64) {
        engine.flows().iter().fold((0, 0), |(done, open), state| {
            let stats = &state.stats;
            // Failures of an input that receives nothing, such as a file that cannot be moved, are no activity.
            let ended = stats.committed.load(Ordering::Relaxed);
            // A delivery that waits for another system is attempted again in the next run.
            let busy = stats.open.load(Ordering::Relaxed).saturating_sub(stats.undelivered.load(Ordering::Relaxed));
            (done + ended + stats.received.load(Ordering::Relaxed), open + busy)
        })
    };
    let mut last = activity();
    let mut since = Instant::now();
    while !interrupted.load(Ordering::Relaxed) {
        std::thread::sleep(until_idle.map_or(LOOK, |idle| LOOK.min(idle)));
        let now = activity();
        if now.0 != last.0 || now.1 > 0 {
            (last, since) = (now, Instant::now());
        } else if until_idle.is_some_and(|idle| since.elapsed() >= idle) {
            return;
        }
    }
}

fn summary(state: &FlowState) -> String {
    let count = |of: &std::sync::atomic::AtomicU64, one: &str, several: &str| match of.load(Ordering::Relaxed) {
        1 => format!("1 {one}"),
        n => format!("{n} {several}"),
    };
    let stats = &state.stats;
    let mut text = format!(
        "{}: {} received, {} committed, {} rolled back",
        state.flow.name(),
        count(&stats.received, "message", "messages"),
        count(&stats.committed, "unit of work", "units of work"),
        stats.rolled_back.load(Ordering::Relaxed)
    );
    for (node, stats) in state.flow.file.nodes.iter().zip(&stats.nodes) {
        let failures = stats.failures.load(Ordering::Relaxed);
        if failures > 0 {
            let _ = write!(text, "\n  node {}: {}", node.name, count(&stats.failures, "failure", "failures"));
            let last = stats.last_error().map(|last| format!(", last {}: {}", last.finding.code, last.finding.message));
            text.push_str(&last.unwrap_or_default());
        }
        if stats.dropped.load(Ordering::Relaxed) > 0 {
            let dropped = count(&stats.dropped, "message", "messages");
            let _ = write!(text, "\n  node {}: {dropped} dropped", node.name);
        }
    }
    text
}

/// Reports all missing queues and record files of flows.
fn missing(store: &Store, flows: &[Flow]) -> Result<(), Stop> {
    let findings = quayline_flow::missing_definitions(store, flows).map_err(stop)?;
    if findings.is_empty() { Ok(()) } else { Err(Findings(findings).into()) }
}
