//! Partitions that any process may run: the process of the step takes them like the others do, and waits for those that others have taken.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use quayline_meter::{WaitFor, waiting};
use quayline_project::job::{Element, JobFile, Step};

use super::partition::{MESSAGES_MAX, Message, Planned, STACK_BYTES, Send, Whole, splitting};
use super::{Engine, Run, StartError};
use crate::artifact::{Answer, PartitionPlan};
use crate::context::{JobContext, StepContext, StopSignal};
use crate::error::{BatchError, Thrown};
use crate::record::{ExecutionId, Offer, PartitionState, Shared};
use crate::repository::{Claim, Held};
use crate::status::BatchStatus;

/// Interval between two checks for free partitions and for results of others.
const LOOK: Duration = Duration::from_millis(100);

impl Run<'_> {
    /// Runs the partitions of a step that other processes may also run.
    pub(super) fn run_shared(
        &self,
        step: &Step,
        (job, context): (&Arc<JobContext>, &Arc<StepContext>),
        plan: &PartitionPlan,
        whole: &mut Whole,
    ) -> Answer<()> {
        let splits = splitting(step)?;
        let most = self.threads_max(step)?.min(plan.properties.len().max(1));
        let wanted = usize::try_from(plan.threads).unwrap_or(usize::MAX);
        let threads = if wanted == 0 { most } else { wanted.min(most) };
        let give_up = AtomicBool::new(false);
        let (sender, receiver) = sync_channel(MESSAGES_MAX);
        let closed = AtomicBool::new(false);
        let began = whole.began;
        let ran_here = parking_lot::Mutex::new(HashSet::new());
        let worker = |sender: SyncSender<Message>| -> Answer<()> {
            let _working = self.working();
            let mut from = 0;
            loop {
                if (job.stop.is_set() || give_up.load(Ordering::Relaxed)) && !closed.swap(true, Ordering::SeqCst) {
                    self.repository().close_offer(self.held, &step.id)?;
                }
                let claimed = self.claimed(step, &mut from)?;
                let (run, number, state) = match claimed {
                    Ok(claimed) => claimed,
                    Err(Claim::Over) => return Ok(()),
                    Err(_) => {
                        if splits {
                            self.engine.stragglers.ask_slowest(self.held.execution, &step.id);
                        }
                        std::thread::park_timeout(LOOK);
                        continue;
                    }
                };
                ran_here.lock().insert(number);
                let send = |data| {
                    waiting(WaitFor::Room, || drop(sender.send(Message::Collected(data))));
                    Ok(())
                };
                let ended = run.claimed_partition(step, job, (number, state), began, &send);
                if ended.is_fenced() {
                    // This process looked as if it had ended, and another one runs the partition now.
                    ran_here.lock().remove(&number);
                } else {
                    let _ = sender.send(ended);
                }
            }
        };
        let mut told = HashSet::new();
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for number in 0..threads {
                let builder = std::thread::Builder::new().name(format!("partition {number}")).stack_size(STACK_BYTES);
                let (sender, worker) = (sender.clone(), &worker);
                match builder.spawn_scoped(scope, move || worker(sender)) {
                    Ok(worker) => workers.push(worker),
                    Err(error) if number == 0 => {
                        whole.fail(Thrown::new(
                            "quayline.Environment",
                            format!("no thread for partitions: {}", error.kind()),
                        ));
                    }
                    Err(_) => {}
                }
            }
            drop(sender);
            let mut looked = Instant::now();
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(message) => whole.take(message, context, &give_up),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                let begin = Instant::now();
                // However many partitions there are, looking takes a tenth of the time.
                if looked.elapsed() < LOOK {
                    continue;
                }
                if let Err(thrown) = self.others(step, context, &ran_here.lock().clone(), &mut told, whole, &give_up) {
                    whole.fail(thrown);
                    give_up.store(true, Ordering::Relaxed);
                }
                looked = Instant::now() + begin.elapsed() * 9;
            }
            for worker in workers {
                match worker.join() {
                    Ok(Ok(())) => {}
                    Ok(Err(thrown)) => whole.fail(thrown),
                    Err(_) => whole.fail(Thrown::new("quayline.Internal", "a thread of partitions panicked")),
                }
            }
        });
        self.others(step, context, &ran_here.lock().clone(), &mut told, whole, &give_up)?;
        // A stop that comes when all partitions have ended stops none.
        if closed.load(Ordering::SeqCst)
            && job.stop.is_set()
            && self.repository().has_partitions_left(self.held.instance, &step.id)?
        {
            whole.take(Message::stopped(), context, &give_up);
        }
        Ok(self.repository().withdraw_offer(self.held, &step.id)?)
    }

    /// Claims the next partition, with a run whose checkpoints have a unique token.
    fn claimed(&self, step: &Step, from: &mut u32) -> Answer<Result<(Run<'_>, u32, PartitionState), Claim>> {
        let sequence = self.engine.claims.fetch_add(1, Ordering::Relaxed);
        let token = self.repository().partition_token(sequence)?;
        let held = Held { token, ..self.held };
        let runs = |token| self.engine.claimed.lock().contains(&token);
        self.engine.claimed.lock().insert(token);
        let claim = self.repository().claim(held, &step.id, from, &runs);
        if !matches!(claim, Ok(Claim::Taken(..))) {
            self.engine.claimed.lock().remove(&token);
        }
        Ok(match claim? {
            Claim::Taken(number, state) => {
                let run = Run {
                    engine: self.engine,
                    job: Arc::clone(&self.job),
                    held,
                    context: Arc::clone(&self.context),
                    restart_of: None,
                    is_helper: true,
                    folder: self.folder.clone(),
                };
                Ok((run, number, *state))
            }
            other => Err(other),
        })
    }

    /// Runs a partition that this process has claimed. If it panics, it has failed.
    fn claimed_partition(
        &self,
        step: &Step,
        job: &JobContext,
        (number, state): (u32, PartitionState),
        began: ExecutionId,
        send: Send<'_>,
    ) -> Message {
        let token = self.held.token;
        let failed = PartitionState { status: BatchStatus::Failed, ..state.clone() };
        let planned = Planned { properties: None, began };
        // A partition that is made is free like all others.
        let run = || self.one_partition(step, job, (number, state), planned, (send, &|_| ()));
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|_| {
            let thrown = Thrown::new("quayline.Internal", format!("partition {number} of step {} panicked", step.id));
            let shared = failed.shared.unwrap_or_default();
            let cause = Some((thrown.class().to_owned(), thrown.message.clone()));
            let mut failed = PartitionState { shared: Some(Shared { cause, ..shared }), ..failed };
            // If this fails too, the process that takes over the partition runs it again.
            let at = (step.id.as_str(), number);
            let _ = self.repository().save_partition(self.held, at, (&mut failed, true), &|_| Ok(()));
            Message::failed(thrown)
        });
        self.engine.claimed.lock().remove(&token);
        ended
    }

    /// Handles the data of collectors and the ends of partitions in other processes.
    fn others(
        &self,
        step: &Step,
        context: &StepContext,
        ran_here: &HashSet<u32>,
        told: &mut HashSet<u32>,
        whole: &mut Whole,
        give_up: &AtomicBool,
    ) -> Answer<()> {
        // Check the ends first: the data of ended partitions is then already present.
        let known = |number| ran_here.contains(&number) || told.contains(&number);
        let ended = self.repository().ended(self.held, &step.id, &known)?;
        loop {
            let collected = self.repository().collected(self.held, &step.id)?;
            if collected.is_empty() {
                break;
            }
            let (places, given): (Vec<_>, Vec<_>) = collected.into_iter().unzip();
            given.into_iter().for_each(|data| whole.take(Message::Collected(data), context, give_up));
            self.repository().forget_collected(&places)?;
        }
        for (number, state) in ended {
            told.insert(number);
            let shared = state.shared.unwrap_or_default();
            let message = Message::Ended {
                status: state.status,
                exit_status: state.exit_status.unwrap_or_default(),
                counts: state.progress.counts,
                times: shared.times,
                cause: shared.cause.map(|(class, message)| Thrown::new(&class, message)),
            };
            whole.take(message, context, give_up);
        }
        Ok(())
    }
}

/// Options of [`Engine::assist`].
pub struct Assist<'a> {
    /// The execution to assist; `None` for all.
    pub execution: Option<ExecutionId>,
    /// Threads that run partitions.
    pub threads: usize,
    /// Ends after so long without work.
    pub idle: Option<Duration>,
    /// Ends the call when it is set; running partitions stop at their next checkpoint.
    pub stop: &'a StopSignal,
    /// Called once for each step whose partitions cannot run here, with the reason. Partitions of other steps still run.
    pub refused: &'a (dyn Fn(ExecutionId, &str, &StartError) + Sync),
}

/// Outcome of [`Engine::assist`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Assisted {
    /// Number of partitions that it ran, regardless of their outcome.
    pub partitions: u64,
    /// Steps whose partitions cannot run here.
    pub refused: u64,
}

impl Engine {
    /// Runs partitions of executions that other processes run, as long as there are any.
    ///
    /// # Errors
    /// The repository cannot be read or written. A job that does not resolve here as it did there is refused; the others run.
    pub fn assist(&self, assist: &Assist<'_>) -> Result<Assisted, StartError> {
        let mut assisted = Assisted::default();
        let mut idle_since = Instant::now();
        let mut refused: HashSet<(ExecutionId, String)> = HashSet::new();
        while !assist.stop.is_set() {
            let mut ran = 0;
            let offers = self.repository.offers()?;
            refused.retain(|(id, step)| offers.iter().any(|(execution, offer)| execution == id && offer.step == *step));
            for (execution, offer) in offers {
                if offer.is_closing || assist.execution.is_some_and(|only| only != execution) || assist.stop.is_set() {
                    continue;
                }
                let of_step = (execution, offer.step.clone());
                if refused.contains(&of_step) {
                    continue;
                }
                match self.assist_step(execution, &offer, assist) {
                    Ok(count) => ran += count,
                    // The execution has ended or was removed in the meantime.
                    Err(StartError::Batch(BatchError::NoSuchExecution(_))) => {}
                    Err(error @ (StartError::Job(_) | StartError::Batch(BatchError::Damaged { .. }))) => {
                        (assist.refused)(execution, &offer.step, &error);
                        assisted.refused += 1;
                        refused.insert(of_step);
                    }
                    Err(error) => return Err(error),
                }
            }
            assisted.partitions += ran;
            if ran > 0 {
                idle_since = Instant::now();
                continue;
            }
            if assist.idle.is_some_and(|idle| idle_since.elapsed() >= idle) {
                break;
            }
            let _ = assist.stop.wait(LOOK);
        }
        Ok(assisted)
    }

    /// Runs partitions of a step until none is free.
    fn assist_step(&self, id: ExecutionId, offer: &Offer, assist: &Assist<'_>) -> Result<u64, StartError> {
        let execution = self.repository.execution(id)?;
        let (Some(text), Some(instance)) =
            (self.repository.text(execution.digest)?, self.repository.instance(offer.instance)?)
        else {
            return Err(BatchError::Damaged { what: "an execution" }.into());
        };
        let file = JobFile::parse(&format!("job XML of execution {id}"), &text).map_err(StartError::Job)?;
        let (job, _) = file.resolve(&execution.parameters, &self.system).map_err(StartError::Job)?;
        let stop = StopSignal::default();
        let mut context = JobContext::new(&job.id, (offer.instance, id), job.properties.clone(), stop.clone());
        context.created_ms = instance.created_ms;
        context.parameters.clone_from(&execution.parameters);
        let held = Held { execution: id, instance: offer.instance, token: id.0 };
        let (job, context) = (Arc::new(job), Arc::new(context));
        let folder = match self.folder.as_os_str().is_empty() {
            true => PathBuf::from(instance.folder),
            false => self.folder.clone(),
        };
        let run = Run { engine: self, job: Arc::clone(&job), held, context, restart_of: None, is_helper: true, folder };
        let Some(step) = find(&job.elements, &offer.step) else {
            return Err(BatchError::Damaged { what: "a step that processes share" }.into());
        };
        let state = self.repository.step_state(offer.instance, &offer.step)?;
        let began = state.map(|state| state.began).unwrap_or_default();
        let worker = || -> Answer<u64> {
            let _working = run.working();
            let (mut from, mut ran) = (0, 0);
            while !assist.stop.is_set() && !stop.is_set() {
                let Ok((run, number, state)) = run.claimed(step, &mut from)? else { break };
                ran += 1;
                let sequence = std::cell::Cell::new(0);
                let send = |data| {
                    sequence.set(sequence.get() + 1);
                    Ok(run.repository().send_collected(run.held, (&step.id, number), sequence.get(), data)?)
                };
                let ended = run.claimed_partition(step, &run.context, (number, state), began, &send);
                if let Some(lost) = ended.is_lost().filter(|_| !ended.is_fenced()) {
                    // With the end of this process, others may take the partition.
                    return Err(lost.clone());
                }
            }
            Ok(ran)
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..assist.threads.max(1))
                .filter_map(|number| {
                    let builder = std::thread::Builder::new().name(format!("partition {number}"));
                    builder.stack_size(STACK_BYTES).spawn_scoped(scope, worker).ok()
                })
                .collect();
            while workers.iter().any(|worker| !worker.is_finished()) {
                std::thread::park_timeout(LOOK);
                // The owner of the execution is stopping it, or it has no owner any more.
                let offered = self.repository.offered(id, &offer.step);
                if assist.stop.is_set()
                    || matches!(&offered, Ok(offer) if offer.as_ref().is_none_or(|now| now.is_closing))
                {
                    stop.set();
                }
                self.take_split_requests_of(id);
            }
            self.measured.lock().remove(&(id, offer.step.clone()));
            let mut ran = 0;
            let mut lost = None;
            for worker in workers {
                match worker.join() {
                    Ok(Ok(count)) => ran += count,
                    Ok(Err(thrown)) => lost = Some(thrown),
                    Err(_) => {}
                }
            }
            match lost {
                Some(lost) => Err(BatchError::Deferred(Box::new(lost)).into()),
                None => Ok(ran),
            }
        })
    }
}

/// Finds a step by its id at any depth.
fn find<'j>(elements: &'j [Element], id: &str) -> Option<&'j Step> {
    elements.iter().find_map(|element| match element {
        Element::Step(step) => Some(step).filter(|step| step.id == id),
        Element::Flow(flow) => find(&flow.elements, id),
        Element::Split(split) => split.flows.iter().find_map(|flow| find(&flow.elements, id)),
        Element::Decision(_) => None,
    })
}
