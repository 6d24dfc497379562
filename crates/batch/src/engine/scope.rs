//! Elements of a job or flow, one after another: transitions, flows, splits, decisions.

use std::collections::HashSet;
use std::sync::Arc;

use quayline_project::job::{Decision, Element, Flow, Split, Transition, TransitionAction, matches_pattern};

use super::Run;
use crate::codes;
use crate::context::JobContext;
use crate::error::{BatchError, Thrown};
use crate::event;
use crate::record::StepExecution;
use crate::status::BatchStatus;

/// Stack of the thread of a flow of a split.
const STACK_BYTES: usize = 4 << 20;

/// The thread on which elements run: the job's, or that of a flow of a split.
pub(super) struct FlowThread {
    pub(super) context: Arc<JobContext>,
}

impl FlowThread {
    pub(super) fn main(context: Arc<JobContext>) -> Self {
        FlowThread { context }
    }
}

/// Outcome of a job.
#[derive(Clone, Debug)]
pub(super) enum Termination {
    Completed { exit_status: Option<String> },
    Stopped { exit_status: Option<String>, restart_at: Option<String> },
    Failed { exit_status: Option<String>, cause: Option<Thrown> },
}

impl Termination {
    pub(super) fn status(&self) -> BatchStatus {
        match self {
            Termination::Completed { .. } => BatchStatus::Completed,
            Termination::Stopped { .. } => BatchStatus::Stopped,
            Termination::Failed { .. } => BatchStatus::Failed,
        }
    }

    pub(super) fn exit_status(&self) -> Option<&str> {
        match self {
            Termination::Completed { exit_status }
            | Termination::Stopped { exit_status, .. }
            | Termination::Failed { exit_status, .. } => exit_status.as_deref(),
        }
    }

    pub(super) fn restart_at(&self) -> Option<String> {
        match self {
            Termination::Stopped { restart_at, .. } => restart_at.clone(),
            _ => None,
        }
    }
}

/// Outcome of a scope.
pub(super) enum ScopeEnd {
    /// The scope ended after its last element.
    Finished { exit_status: String, steps: Vec<StepExecution> },
    /// The job ends.
    Terminated(Termination),
}

impl ScopeEnd {
    pub(super) fn termination(self) -> Termination {
        match self {
            ScopeEnd::Finished { .. } => Termination::Completed { exit_status: None },
            ScopeEnd::Terminated(termination) => termination,
        }
    }
}

/// Outcome of an element.
pub(super) struct ElementEnd {
    pub(super) status: BatchStatus,
    pub(super) exit_status: String,
    /// The last step executions: several after a split.
    pub(super) steps: Vec<StepExecution>,
    pub(super) cause: Option<Thrown>,
}

impl Run<'_> {
    /// Runs the elements of a job or flow from the first, or from another one.
    pub(super) fn scope(
        &self,
        elements: &[Element],
        begin: Option<&str>,
        thread: &FlowThread,
    ) -> Result<ScopeEnd, BatchError> {
        let position = |id: &str| elements.iter().position(|element| element.id() == id);
        let failed = |message: String| {
            let cause = Some(Thrown::new("quayline.Configuration", message));
            Ok(ScopeEnd::Terminated(Termination::Failed { exit_status: None, cause }))
        };
        let mut at = match begin.map(position) {
            None => 0,
            Some(Some(at)) => at,
            Some(None) => {
                return failed(format!("no element {} at which the restart could begin", begin.unwrap_or("")));
            }
        };
        let mut visited = HashSet::new();
        let mut before: Vec<StepExecution> = Vec::new();
        loop {
            let Some(element) = elements.get(at) else { return failed("the job has no elements".to_owned()) };
            if !visited.insert(at) {
                return failed(format!("a loop: {} ran already in this execution", element.id()));
            }
            let end = match element {
                Element::Step(step) => match self.step(step, thread)? {
                    Ok(end) => end,
                    Err(termination) => return Ok(ScopeEnd::Terminated(termination)),
                },
                Element::Decision(decision) if before.is_empty() => {
                    return failed(format!("the decision {} has no element before it", decision.id));
                }
                Element::Decision(decision) => match self.decision(decision, &before, thread) {
                    Ok(end) => end,
                    Err(termination) => return Ok(ScopeEnd::Terminated(termination)),
                },
                Element::Flow(flow) => match self.flow(flow, thread)? {
                    Ok(end) => end,
                    Err(termination) => return Ok(ScopeEnd::Terminated(termination)),
                },
                Element::Split(split) => match self.split(split)? {
                    Ok(end) => end,
                    Err(termination) => return Ok(ScopeEnd::Terminated(termination)),
                },
            };
            if end.status == BatchStatus::Stopped {
                return Ok(ScopeEnd::Terminated(Termination::Stopped { exit_status: None, restart_at: None }));
            }
            let matching =
                element.transitions().iter().find(|transition| matches_pattern(&transition.on, &end.exit_status));
            let target = match matching {
                Some(Transition { action: TransitionAction::Next(target), .. }) => Some(target.as_str()),
                Some(transition) => return Ok(ScopeEnd::Terminated(terminated(&transition.action))),
                None if end.status == BatchStatus::Failed => {
                    let termination = Termination::Failed { exit_status: None, cause: end.cause };
                    return Ok(ScopeEnd::Terminated(termination));
                }
                None => {
                    self.note_unmatched(element, &end.exit_status);
                    element.next()
                }
            };
            let Some(target) = target else {
                return Ok(ScopeEnd::Finished { exit_status: end.exit_status, steps: end.steps });
            };
            if thread.context.stop.is_set() {
                return Ok(ScopeEnd::Terminated(Termination::Stopped { exit_status: None, restart_at: None }));
            }
            match position(target) {
                Some(next) => at = next,
                None => {
                    return failed(format!(
                        "{} cannot continue at {target}, which is not in the same scope",
                        element.id()
                    ));
                }
            }
            before = end.steps;
        }
    }

    /// Notes an exit status that matches no transition, where the element could have led to another one. The job or flow then ends
    /// COMPLETED.
    fn note_unmatched(&self, element: &Element, exit_status: &str) {
        let mut transitions = element.transitions().iter();
        let may_lead_on = matches!(element, Element::Decision(_))
            || transitions.any(|transition| matches!(transition.action, TransitionAction::Next(_)));
        if may_lead_on && element.next().is_none() {
            let (id, code) = (element.id(), codes::NO_TRANSITION);
            let text = format!(
                "{id}: {code}: no transition matches the exit status {exit_status}, so the job or flow ends here"
            );
            self.event(event::LOG, None, None, text);
        }
    }

    fn flow(&self, flow: &Flow, thread: &FlowThread) -> Result<Result<ElementEnd, Termination>, BatchError> {
        Ok(match self.scope(&flow.elements, None, thread)? {
            ScopeEnd::Finished { exit_status, steps } => {
                Ok(ElementEnd { status: BatchStatus::Completed, exit_status, steps, cause: None })
            }
            ScopeEnd::Terminated(termination) => Err(termination),
        })
    }

    /// Runs a decision. An exception of its decider ends the job FAILED, regardless of the transitions (section 8.5.2).
    fn decision(
        &self,
        decision: &Decision,
        before: &[StepExecution],
        thread: &FlowThread,
    ) -> Result<ElementEnd, Termination> {
        let with = self.inject(&decision.decider, &thread.context, None);
        let decided = self.engine.registry.make_decider(&with).and_then(|mut decider| decider.decide(before));
        match decided {
            Ok(exit_status) => {
                self.event(event::LOG, None, None, format!("decision {} answers {exit_status}", decision.id));
                thread.context.set_exit_status(exit_status.clone());
                Ok(ElementEnd { status: BatchStatus::Completed, exit_status, steps: before.to_vec(), cause: None })
            }
            Err(thrown) => {
                self.log_thrown(None, &format!("decision {}", decision.id), &thrown);
                Err(Termination::Failed { exit_status: None, cause: Some(thrown) })
            }
        }
    }

    /// Runs the flows of a split, each on a separate thread, and waits for all.
    fn split(&self, split: &Split) -> Result<Result<ElementEnd, Termination>, BatchError> {
        let run_flow = |flow: &Flow| {
            let _working = self.working();
            self.event(event::SPLIT_FLOW_STARTED, None, None, format!("flow {} of split {} starts", flow.id, split.id));
            let thread = FlowThread { context: Arc::new(self.context.for_thread()) };
            let ended = self.scope(&flow.elements, None, &thread);
            self.event(event::SPLIT_FLOW_ENDED, None, None, format!("flow {} of split {} ends", flow.id, split.id));
            ended
        };
        let ends: Vec<Result<ScopeEnd, BatchError>> = std::thread::scope(|threads| {
            let spawn = |flow| {
                let builder = std::thread::Builder::new().name(format!("flow {}", split.id)).stack_size(STACK_BYTES);
                builder.spawn_scoped(threads, move || run_flow(flow))
            };
            let handles: Vec<_> = split.flows.iter().map(|flow| (flow, spawn(flow))).collect();
            let join = |(flow, handle): (&Flow, std::io::Result<std::thread::ScopedJoinHandle<'_, _>>)| match handle {
                // Propagate a panic of an artifact to the thread of the job.
                Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // No thread to be had: the flow runs here, after the others.
                Err(_) => run_flow(flow),
            };
            handles.into_iter().map(join).collect()
        });
        let mut steps = Vec::new();
        let mut exit_status = String::new();
        let mut worst: Option<Termination> = None;
        for end in ends {
            match end? {
                ScopeEnd::Finished { exit_status: last, steps: of_flow } => {
                    exit_status = last;
                    steps.extend(of_flow);
                }
                ScopeEnd::Terminated(termination) => {
                    let rank = |termination: &Termination| match termination {
                        Termination::Failed { .. } => 2,
                        Termination::Stopped { .. } => 1,
                        Termination::Completed { .. } => 0,
                    };
                    if worst.as_ref().is_none_or(|worst| rank(worst) < rank(&termination)) {
                        worst = Some(termination);
                    }
                }
            }
        }
        Ok(match worst {
            Some(termination) => Err(termination),
            None => Ok(ElementEnd { status: BatchStatus::Completed, exit_status, steps, cause: None }),
        })
    }
}

fn terminated(action: &TransitionAction) -> Termination {
    match action {
        TransitionAction::End { exit_status } => Termination::Completed { exit_status: exit_status.clone() },
        TransitionAction::Stop { exit_status, restart } => {
            Termination::Stopped { exit_status: exit_status.clone(), restart_at: restart.clone() }
        }
        TransitionAction::Fail { exit_status } => Termination::Failed { exit_status: exit_status.clone(), cause: None },
        TransitionAction::Next(_) => unreachable!("next does not end the job"),
    }
}
