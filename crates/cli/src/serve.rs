//! `quayline serve` and `quayline measure`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use quayline_calibrate::primitives::{CryptoStudy, NetOptions, NetStudy};
use quayline_connect::Listener;
use quayline_core::{Fault, Finding, Findings};
use quayline_gateway::{Definitions, ProviderSpec};
use quayline_measure::batch::{BatchStudy, BatchStudyOptions, Repositories, Rows};
use quayline_measure::{
    ConvertStudy, ConvertStudyOptions, FlowStudy, FlowStudyOptions, GatewayStudy, MemoryStudy, MemoryStudyOptions,
    Scratch, SizingStudy, SizingStudyOptions, StoreStudy, StoreStudyOptions, StudyOptions, SweepStudy,
    SweepStudyOptions, partner_study, process, translator_study,
};
use quayline_partner::has_stored;
use quayline_project::job::{EventSettings, JobSettings};
use quayline_server::{
    AdminPart, Beside, EarlySignals, ServeConfig, ServeError, StoreDurability, StorePart, backout_misfits,
    queue_misfits, store_misfits,
};
use quayline_store::{STO_IN_USE, Store};

use quayline_workload::Accounting;

use crate::args::{
    DurabilityArg, DurabilityOption, FolderArg, MeasureArgs, MeasureBatchArgs, MeasureCommand, MeasureConvertArgs,
    MeasureCryptoArgs, MeasureFlowArgs, MeasureMemoryArgs, MeasureNetArgs, MeasureSizingArgs, MeasureStoreArgs,
    MeasureSweepArgs, MeasureTranslateArgs, ServeArgs,
};
use crate::console::Console;
use crate::exit::{CLI_INPUT, CLI_LISTEN, CLI_MEASURE, Exit, Stop};
use crate::flow::{FlowsPart, ServedFlows};
use crate::job::{JobsPart, Place as JobsPlace, has_jobs};
use crate::partner::{PartnersPart, ServedPartners};
use crate::store::{FilesPart, Missing, Opened, QueuesPart, saver};

/// Serves the project until it is stopped.
pub(crate) fn run(args: &ServeArgs, _console: &Console) -> Result<Exit, Stop> {
    let root = args.project.clone();
    let (mut config, definitions) = match (ServeConfig::load(&root), Definitions::load(&root)) {
        (Ok(config), Ok(definitions)) => (config, definitions),
        (config, definitions) => {
            let all = [config.err(), definitions.err()].into_iter().flatten();
            return Err(Findings(all.flat_map(|findings| findings.0).collect()).into());
        }
    };
    let has_flows = !quayline_flow::flow_files(&root)?.is_empty();
    let is_asked = config.admin.listen.is_some() || config.partners.is_some();
    let has_partners = is_asked && (root.join("partners").is_dir() || config.partners.is_some());
    let has_jobs = config.admin.listen.is_some() && has_jobs(&root);
    let has_queues = config.amqp.is_some() || config.queues.is_some();
    if definitions.operations.is_empty() && !has_flows && !has_queues && !has_partners && !has_jobs {
        let what = format!(
            "{} has nothing to serve: expected APIs in apis/*.toml, flows in flows/*.toml, `[serve.queues]`, or `[serve.admin]` for jobs and partners",
            root.display()
        );
        let hint = "`quayline new` writes a project that serves an API; docs/reference/project.md lists the files of a project";
        return Err(Finding::error(CLI_INPUT, Fault::Config, what).hint(hint).into());
    }
    if let Some(listen) = args.listen {
        config.listen = Some(listen);
        config.check()?;
    }
    config.threads = args.threads.or(config.threads);
    let durability = DurabilityOption { when: args.durability.when.or_else(|| configured(&config)) };
    let folder = FolderArg::new(args.store.clone().unwrap_or_else(|| root.join("data")), durability);
    if args.check {
        let doubts = quayline_server::doubts(&config, &definitions);
        doubts.iter().for_each(|doubt| eprintln!("{doubt}"));
        let mut findings = quayline_server::cannot_work(&config, &definitions);
        if has_jobs {
            findings.extend(EventSettings::open(&root).err().into_iter().flat_map(|wrong| wrong.0));
            findings.extend(JobSettings::open(&root).err().into_iter().flat_map(|wrong| wrong.0));
        }
        let partners = crate::partner::for_flows(&quayline_flow::flow_files(&root)?, &folder, &Console::plain())?;
        let store = partners.as_ref().map(|opened| &opened.store);
        let flows = quayline_flow::Flow::open_all(&root, crate::cache::cache().as_ref(), store)?;
        partners.map_or(Ok(Exit::Done), |opened| opened.close(Exit::Done))?;
        let listeners = config.listeners().into_iter().map(|(key, address)| (format!("serve.{key}"), address));
        let listeners: Vec<_> = listeners.collect();
        findings.extend(quayline_flow::shared_modules(&flows, []));
        findings.extend(flows.iter().flat_map(quayline_flow::Flow::try_programs));
        findings.extend(quayline_flow::shared_addresses(&flows, &listeners, quayline_server::collide));
        if config.queues.is_some() || needs_store(&definitions) || has_flows {
            findings.extend(store_findings(&folder, &config, &definitions, &flows)?);
        }
        if !findings.is_empty() {
            return Err(Findings(findings).into());
        }
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let found = if doubts.is_empty() { "no findings".to_owned() } else { count(doubts.len(), "warning") };
        eprintln!(
            "{}, {}, {}: {found}",
            count(definitions.services.len(), "service"),
            count(definitions.apis.len(), "API"),
            count(definitions.operations.len(), "operation")
        );
        if has_flows {
            eprintln!("{}: no errors", count(flows.len(), "flow"));
        }
        return Ok(Exit::Done);
    }
    if has_jobs && args.job_repository.is_none() {
        crate::job::needs_repository(&folder)?;
    }
    let workload = crate::workload::of_process(&config.workload);
    let listeners = config.listeners().into_iter().map(|(key, address)| (format!("serve.{key}"), address)).collect();
    crate::interrupt::bound_end(config.drain()).map_err(|error| crate::store::unreadable(&root, &error))?;
    let early = EarlySignals::take(Exit::Interrupted.code().into()).ok().map(Arc::new);
    let flows = ServedFlows::start(&root, &folder, config.threads, &workload, listeners)?;
    // Flows have opened the store that queues, services and partners use too.
    let missing = if has_partners || has_jobs { Missing::Create } else { Missing::Refuse };
    let opened = if flows.is_none() && (has_queues || has_partners || has_jobs || needs_store(&definitions)) {
        Some(Opened::open(&folder, missing)?)
    } else {
        None
    };
    let store =
        flows.as_ref().map(|flows| flows.engine.store()).or(opened.as_ref().map(|opened| &opened.store)).cloned();
    let queues = ServedQueues::start(&config, store.as_ref())?;
    if let Some(queues) = &queues {
        workload.add_source(Arc::new(crate::workload::AmqpSource(queues.listener.counts())));
    }
    let misfits = |store| [store_misfits(store, &definitions), queue_misfits(store, &config)].concat();
    for finding in store.iter().flat_map(misfits) {
        // The other services work, and missing definitions may be added before the next start.
        eprintln!("{finding}");
    }
    let mut parts: Vec<Arc<dyn AdminPart>> = Vec::new();
    let mut partners = None;
    parts.extend(
        store.iter().map(|store| Arc::new(StorePart::new(store.clone(), saver(&folder, store))) as Arc<dyn AdminPart>),
    );
    parts.extend(store.iter().flat_map(|store| -> [Arc<dyn AdminPart>; 2] {
        [Arc::new(QueuesPart(store.clone())), Arc::new(FilesPart(store.clone()))]
    }));
    if let Some(flows) = &flows {
        parts.push(Arc::new(FlowsPart(Arc::clone(&flows.engine))));
    }
    if let Some(store) = store.as_ref().filter(|store| has_partners || is_asked && has_stored(store)) {
        let ledger = crate::partner::ledger_of(store)?;
        let part = Arc::new(PartnersPart::new(root.clone(), ledger, Arc::clone(&workload)));
        partners = Some(ServedPartners::start(&part, &root, config.partners.as_ref())?);
        parts.push(part);
    }
    let jobs = match store.as_ref().filter(|_| has_jobs) {
        Some(store) => {
            let repository = crate::job::served(store, args.job_repository.as_deref())?;
            let own = store.clone();
            let keeping = crate::job::keeping(&root, Some(&own), &repository)?;
            let settings = JobSettings::open(&root)?;
            let (project, store, workload) = (root.clone(), folder.local().to_owned(), Arc::clone(&workload));
            let place = JobsPlace { project, store, keeping, settings, workload };
            let part = JobsPart::new(place, repository);
            Some(Arc::new(part.map_err(|error| crate::store::unreadable(&folder.folder, &error))?))
        }
        None => None,
    };
    parts.extend(jobs.iter().map(|jobs| Arc::clone(jobs) as Arc<dyn AdminPart>));
    let log = Box::new(|line: &str| drop(std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{line}\n"))));
    let beside = Beside { parts, store, workload: Some(workload), early };
    let served = quayline_server::serve_with(config, root, definitions, beside, log, |address| {
        eprintln!("listening on {address}")
    })
    .map_err(|error| {
        let (what, hint) = match &error {
            ServeError::Listener(address, error) => (
                format!("{address} cannot be listened on: {}", error.kind()),
                "choose another address with --listen, or stop what uses it",
            ),
            other => (other.to_string(), "see `[serve]` in quayline.toml"),
        };
        Finding::error(CLI_LISTEN, Fault::Environment, what).hint(hint)
    });
    if let Some(jobs) = &jobs {
        jobs.end();
    }
    drop(jobs);
    if let Some(partners) = partners {
        partners.end();
    }
    // Work in progress of queue clients and flows is finished even if the server could not start.
    if let Some(queues) = queues {
        queues.end();
    }
    let exit = flows.map_or(Ok(Exit::Done), |flows| flows.end(Exit::Done))?;
    let exit = opened.map_or(Ok(exit), |opened| opened.close(exit))?;
    served?;
    Ok(exit)
}

/// Returns the durability in quayline.toml.
fn configured(config: &ServeConfig) -> Option<DurabilityArg> {
    config.durability.map(|durability| match durability {
        StoreDurability::Sync => DurabilityArg::Sync,
        StoreDurability::Buffered => DurabilityArg::Buffered,
    })
}

/// Returns true if a service uses a record file or a queue.
fn needs_store(definitions: &Definitions) -> bool {
    let of_store = |spec: &ProviderSpec| matches!(spec, ProviderSpec::File(_) | ProviderSpec::Queue(_));
    definitions.services.iter().any(|service| of_store(&service.provider))
}

/// Returns findings about missing objects of services in the store. A store that another process has open is not checked.
fn store_findings(
    folder: &FolderArg,
    config: &ServeConfig,
    definitions: &Definitions,
    flows: &[quayline_flow::Flow],
) -> Result<Vec<Finding>, Stop> {
    let opened = match Opened::open(folder, Missing::Refuse) {
        Ok(opened) => opened,
        Err(Stop::Findings(Findings(findings))) if findings.iter().any(|finding| finding.code == STO_IN_USE) => {
            eprintln!("the store is in use, so its record files and queues are not checked");
            return Ok(Vec::new());
        }
        Err(Stop::Findings(Findings(findings))) => return Ok(findings),
        Err(stop) => return Err(stop),
    };
    let store = &opened.store;
    let mut findings = [store_misfits(store, definitions), queue_misfits(store, config)].concat();
    findings.extend(quayline_flow::missing_definitions(store, flows).map_err(crate::store::stop)?);
    let got = config.queues.iter().flat_map(|queues| queues.queue.keys().map(String::as_str));
    let got = got.chain(flows.iter().flat_map(quayline_flow::Flow::input_queues));
    findings.extend(backout_misfits(store, got).map_err(crate::store::stop)?);
    opened.close(Exit::Done)?;
    Ok(findings)
}

/// The AMQP 1.0 listener of the server.
struct ServedQueues {
    listener: Listener,
}

impl ServedQueues {
    /// Starts the listener if `[serve.amqp]` is there.
    fn start(config: &ServeConfig, store: Option<&Store>) -> Result<Option<ServedQueues>, Stop> {
        let (Some(_), Some(store)) = (&config.amqp, store) else { return Ok(None) };
        let listener = crate::queues::listen(store, config)?;
        eprintln!("listening on {} for AMQP", listener.address());
        Ok(Some(ServedQueues { listener }))
    }

    /// Ends the connections.
    fn end(self) {
        self.listener.stop();
    }
}

/// Runs a study and prints its tables. Returns `Rejected` if a limit is missed.
pub(crate) fn measure(args: &MeasureArgs, console: &Console) -> Result<Exit, Stop> {
    crate::capacity::check_baseline(args.what.files())?;
    let account = Accounting::begin();
    let args = match &args.what {
        MeasureCommand::Gateway(args) => args,
        MeasureCommand::Flow(args) => return measure_flow(args, account, console),
        MeasureCommand::Translate(args) => return measure_translate(args, account, console),
        MeasureCommand::Batch(args) => return measure_batch(args, account, console),
        MeasureCommand::Net(args) => return measure_net(args, account, console),
        MeasureCommand::Store(args) => return measure_store(args, account, console),
        MeasureCommand::Memory(args) => return measure_memory(args, account, console),
        MeasureCommand::Mix(args) => return crate::capacity::measure_mix(args, account, console),
        MeasureCommand::Crypto(args) => return measure_crypto(args, account, console),
        MeasureCommand::Convert(args) => return measure_convert(args, account, console),
        MeasureCommand::Sweep(args) => return measure_sweep(args, account, console),
        MeasureCommand::Sizing(args) => return measure_sizing(args, account, console),
    };
    let options = StudyOptions {
        project: args.project.clone(),
        seconds: args.seconds,
        clients: args.clients.clone(),
        saturated_only: args.saturated,
        short: args.short,
    };
    let study = GatewayStudy::run(&options)
        .map_err(|why| Finding::error(CLI_MEASURE, Fault::Environment, why).hint("see what the server said above"))?;
    crate::capacity::finish_measured(study.report(), Some(study.tables()), account, &args.report, console)
}

/// A study that could not keep its files.
fn no_room(why: String) -> Finding {
    Finding::error(CLI_MEASURE, Fault::Environment, why).hint("name a folder with enough room: --scratch DIR")
}

fn this_program() -> Result<std::path::PathBuf, Stop> {
    Ok(std::env::current_exe().map_err(|error| no_room(quayline_core::system_error_text(&error)))?)
}

fn measure_convert(args: &MeasureConvertArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let this = this_program()?;
    let scratch = Scratch::new(args.scratch.as_deref()).map_err(no_room)?;
    let options = ConvertStudyOptions {
        scratch: scratch.folder().to_owned(),
        bytes_max: args.megabytes_max * 1_000_000,
        workers: usize::from(args.workers),
    };
    let study = ConvertStudy::run(&options, &this, &|what| eprintln!("{what}")).map_err(no_room)?;
    drop(scratch);
    crate::capacity::finish_measured(study.report(&options), None, account, &args.report, console)
}

fn measure_sweep(args: &MeasureSweepArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let this = this_program()?;
    let scratch = Scratch::new(args.scratch.as_deref()).map_err(no_room)?;
    let options = SweepStudyOptions {
        scratch: scratch.folder().to_owned(),
        bytes: args.megabytes * 1_000_000,
        workers: args.workers.iter().copied().map(usize::from).collect::<BTreeSet<_>>().into_iter().collect(),
    };
    let study = SweepStudy::run(&options, &this, &|what| eprintln!("{what}")).map_err(no_room)?;
    drop(scratch);
    crate::capacity::finish_measured(study.report(&options).map_err(no_room)?, None, account, &args.report, console)
}

fn measure_sizing(args: &MeasureSizingArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let failed = |why: String| {
        Finding::error(CLI_MEASURE, Fault::Environment, why).hint("name the folder of the sample flows: examples/flows")
    };
    let scratch = Scratch::new(args.scratch.as_deref()).map_err(failed)?;
    let options = SizingStudyOptions {
        flows: args.flows.clone(),
        scratch: scratch.folder().to_owned(),
        seconds: args.seconds,
        records: args.records,
        tolerance: args.error_max / 100.0,
    };
    let study = SizingStudy::run(&options, &|what| eprintln!("{what}")).map_err(failed)?;
    drop(scratch);
    crate::capacity::finish_measured(study.report(&options).map_err(failed)?, None, account, &args.report, console)
}

fn measure_net(args: &MeasureNetArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let options = NetOptions { clients: args.clients, time: Duration::from_secs_f64(args.seconds) };
    let study = NetStudy::run(options, &mut |what| eprintln!("{what}")).map_err(|why| {
        Finding::error(CLI_MEASURE, Fault::Environment, why).hint("check that loopback connections are allowed")
    })?;
    crate::capacity::finish_measured(study.report(), None, account, &args.report, console)
}

fn measure_store(args: &MeasureStoreArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let this = this_program()?;
    let scratch = Scratch::new(args.scratch.as_deref()).map_err(no_room)?;
    let options = StoreStudyOptions {
        scratch: scratch.folder().to_owned(),
        seconds: args.seconds,
        drivers: args.drivers.iter().copied().map(usize::from).collect(),
        bytes: usize::try_from(args.bytes).unwrap_or(usize::MAX),
        open: args.open.clone(),
        p95_ms: 1e3 * args.p95_max.0.0,
    };
    let study = StoreStudy::run(&options, &this, &|what| eprintln!("{what}")).map_err(no_room)?;
    drop(scratch);
    crate::capacity::finish_measured(study.report(), None, account, &args.report, console)
}

fn measure_memory(args: &MeasureMemoryArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let scratch = Scratch::new(args.scratch.as_deref()).map_err(no_room)?;
    let options = MemoryStudyOptions {
        scratch: scratch.folder().to_owned(),
        seconds: args.seconds,
        drivers: usize::from(args.drivers),
        records: args.records,
        limits_mb: args.limits.clone(),
    };
    let study = MemoryStudy::run(&options, &|what| eprintln!("{what}")).map_err(no_room)?;
    drop(scratch);
    crate::capacity::finish_measured(study.report(), None, account, &args.report, console)
}

fn measure_crypto(args: &MeasureCryptoArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let threads = args.threads.unwrap_or_else(|| quayline_calibrate::host().threads);
    let time = Duration::from_secs_f64(args.seconds);
    let study = CryptoStudy::run(threads, time, &mut |what| eprintln!("{what}"))
        .map_err(|why| Finding::error(CLI_MEASURE, Fault::Environment, why).hint("use fewer threads"))?;
    crate::capacity::finish_measured(study.report(), None, account, &args.report, console)
}

fn measure_batch(args: &MeasureBatchArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let rows = if args.deletes == "set" { Rows::Set } else { Rows::Pipelined };
    let places = match args.place.as_str() {
        "store" => vec![Repositories::Store],
        "postgresql" => vec![Repositories::Database],
        _ => vec![Repositories::Database, Repositories::Store],
    };
    let options = BatchStudyOptions { records: args.records, places, rows };
    let study = BatchStudy::run(&options, &|what| eprintln!("{what}")).map_err(|why| {
        Finding::error(CLI_MEASURE, Fault::Environment, why)
            .hint("see what is missing above; --in store needs no database")
    })?;
    crate::capacity::finish_measured(study.report(), None, account, &args.report, console)
}

fn measure_flow(args: &MeasureFlowArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let failed = |why: String| {
        Finding::error(CLI_MEASURE, Fault::Environment, why).hint("check the flows with `quayline flow check`")
    };
    if let Some(path) = &args.write_records {
        let written = std::fs::write(path, quayline_measure::sample_file());
        written.map_err(|error| failed(format!("{}: {}", path.display(), quayline_core::system_error_text(&error))))?;
        return Ok(Exit::Done);
    }
    let scratch = Scratch::new(args.scratch.as_deref()).map_err(failed)?;
    let options = FlowStudyOptions {
        project: args.project.clone(),
        scratch: scratch.folder().to_owned(),
        seconds: args.seconds,
        applications: args.applications.clone(),
        samples: args.samples.clone(),
        instances: args.instances,
        over_amqp: args.amqp,
    };
    let study = FlowStudy::run(&options, &|what| eprintln!("{what}")).map_err(failed)?;
    drop(scratch);
    crate::capacity::finish_measured(study.report(&options), Some(study.tables()), account, &args.report, console)
}

fn measure_translate(args: &MeasureTranslateArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let this = this_program()?;
    let scratch = Scratch::new(args.scratch.as_deref()).map_err(no_room)?;
    let bytes_max = args.megabytes_max.map_or(u64::MAX, |megabytes| megabytes.saturating_mul(1 << 20));
    let mut written = Ok(());
    let measured = translator_study::report(&this, &this, scratch.folder(), bytes_max, &mut |line| {
        if written.is_ok() && !args.report.json {
            written = crate::console::write_stdout(format!("{line}\n").as_bytes());
        }
    });
    drop(scratch);
    written?;
    // The lines are printed while the rows are measured.
    crate::capacity::finish_measured(measured.map_err(no_room)?, Some(String::new()), account, &args.report, console)
}

/// Runs an internal process that is not part of the arguments: one that calls a COBOL program, or one that is measured.
pub(crate) fn hidden(arguments: &[OsString]) -> Option<i32> {
    let (command, rest) = arguments.get(1..)?.split_first()?;
    match command.to_str()? {
        quayline_program::WORKER_ARGUMENT => Some(quayline_program::run_worker(rest)),
        quayline_measure::CHILD_ARGUMENT => Some(quayline_measure::run_child(rest)),
        quayline_measure::STORE_CHILD => Some(quayline_measure::run_store_child(rest)),
        process::MEASURE => Some(answered(process::measure_here(rest))),
        partner_study::CHILD => Some(answered(partner_study::child(rest))),
        _ => None,
    }
}

fn answered(line: Result<String, String>) -> i32 {
    match line {
        Ok(line) => i32::from(crate::console::write_stdout(format!("{line}\n").as_bytes()).is_err()),
        Err(why) => {
            eprintln!("error: {why}");
            2
        }
    }
}
