//! A job as the engine runs it: every value resolved.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Job {
    /// Id of the job: the name under which instances are listed.
    pub id: String,
    /// True if an execution may be restarted.
    pub restartable: bool,
    /// Properties of the job.
    pub properties: BTreeMap<String, String>,
    /// Job listeners, in document order.
    pub listeners: Vec<ArtifactRef>,
    /// Execution elements, in document order; the first one begins.
    pub elements: Vec<Element>,
}

/// An artifact by its reference, with its properties.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ArtifactRef {
    /// The `ref` attribute.
    pub name: String,
    /// Properties of this use.
    pub properties: BTreeMap<String, String>,
}

/// An execution element.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a job has few elements, and almost all are steps")]
pub enum Element {
    /// A step.
    Step(Step),
    /// A flow.
    Flow(Flow),
    /// A split.
    Split(Split),
    /// A decision.
    Decision(Decision),
}

impl Element {
    /// The id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Element::Step(step) => &step.id,
            Element::Flow(flow) => &flow.id,
            Element::Split(split) => &split.id,
            Element::Decision(decision) => &decision.id,
        }
    }

    /// The `next` attribute.
    #[must_use]
    pub fn next(&self) -> Option<&str> {
        match self {
            Element::Step(step) => step.next.as_deref(),
            Element::Flow(flow) => flow.next.as_deref(),
            Element::Split(split) => split.next.as_deref(),
            Element::Decision(_) => None,
        }
    }

    /// The transition elements, in document order.
    #[must_use]
    pub fn transitions(&self) -> &[Transition] {
        match self {
            Element::Step(step) => &step.transitions,
            Element::Flow(flow) => &flow.transitions,
            Element::Split(_) => &[],
            Element::Decision(decision) => &decision.transitions,
        }
    }
}

/// A step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Step {
    /// Id of the step, unique in the job.
    pub id: String,
    /// Maximum number of starts in one job instance; 0 is unlimited.
    pub start_limit: u32,
    /// True if a restart runs the step again although it completed.
    pub allow_start_if_complete: bool,
    /// The `next` attribute.
    pub next: Option<String>,
    /// Properties of the step.
    pub properties: BTreeMap<String, String>,
    /// Step-level listeners of all kinds, in document order.
    pub listeners: Vec<ArtifactRef>,
    /// Work of the step.
    pub body: StepBody,
    /// Partitions of the step, if it is partitioned.
    pub partition: Option<Partition>,
    /// Transition elements, in document order.
    pub transitions: Vec<Transition>,
    /// The step's part of the tree with `#{partitionPlan[..]}` still in it.
    pub(super) source: Option<Box<Unplanned>>,
}

/// A partitioned step before the properties of its partitions are known.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Unplanned {
    pub(super) step: super::read::Node,
    pub(super) outer: Arc<super::substitute::Outer>,
}

/// Work of a step.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a job has few steps")]
pub enum StepBody {
    /// Runs a batchlet.
    Batchlet(ArtifactRef),
    /// Reads, processes and writes in chunks.
    Chunk(Chunk),
}

/// A chunk-oriented step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chunk {
    /// Reader.
    pub reader: ArtifactRef,
    /// Processor, if any.
    pub processor: Option<ArtifactRef>,
    /// Writer.
    pub writer: ArtifactRef,
    /// The algorithm of `checkpoint-policy="custom"`.
    pub checkpoint_algorithm: Option<ArtifactRef>,
    /// Items of a chunk. Default 10.
    pub item_count: u32,
    /// Time limit of a chunk in seconds; 0 is unlimited.
    pub time_limit_s: u32,
    /// Maximum number of skipped exceptions; `None` is unlimited.
    pub skip_limit: Option<u32>,
    /// Maximum number of retries; `None` is unlimited.
    pub retry_limit: Option<u32>,
    /// Exceptions that skip their item.
    pub skippable: ExceptionFilter,
    /// Exceptions that are retried.
    pub retryable: ExceptionFilter,
    /// Retryable exceptions that do not roll the chunk back.
    pub no_rollback: ExceptionFilter,
}

impl Chunk {
    /// Returns a text that says when a chunk ends.
    #[must_use]
    pub fn end_text(&self) -> String {
        match (&self.checkpoint_algorithm, self.time_limit_s) {
            (Some(algorithm), _) => format!("chunks end as {} says", algorithm.name),
            (None, 0) => format!("{} items a chunk", self.item_count),
            (None, seconds) => format!("{} items or {seconds} s a chunk", self.item_count),
        }
    }
}

/// Classes of exceptions that are in and out.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ExceptionFilter {
    /// Classes that are included with their subclasses.
    pub include: Vec<String>,
    /// Classes that are excluded with their subclasses. If both lists match, the nearest class decides.
    pub exclude: Vec<String>,
}

impl ExceptionFilter {
    /// Returns true if the lists include an exception. `lineage` has its class and all superclasses, the nearest first. The first class in either
    /// list decides, and a class in both lists is excluded (Jakarta Batch 2.1, section 8.2.1.4.1).
    #[must_use]
    pub fn has<S: AsRef<str>>(&self, lineage: &[S]) -> bool {
        let nearest =
            |classes: &[String]| lineage.iter().position(|class| classes.iter().any(|known| known == class.as_ref()));
        match (nearest(&self.include), nearest(&self.exclude)) {
            (Some(include), Some(exclude)) => include < exclude,
            (include, _) => include.is_some(),
        }
    }
}

/// Partitioning of a step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Partition {
    /// Source of the partitions.
    pub source: PartitionSource,
    /// Collector, on the thread of each partition.
    pub collector: Option<ArtifactRef>,
    /// Analyzer, on the thread of the step.
    pub analyzer: Option<ArtifactRef>,
    /// Reducer, on the thread of the step.
    pub reducer: Option<ArtifactRef>,
}

/// Source of the partitions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PartitionSource {
    /// A plan in the job XML.
    Plan {
        /// Number of partitions.
        partitions: u32,
        /// Maximum number of concurrent partitions; 0 is the number of partitions.
        threads: u32,
        /// Properties by partition.
        properties: Vec<BTreeMap<String, String>>,
    },
    /// A mapper makes the plan at run time.
    Mapper(ArtifactRef),
}

/// A flow: elements that run one after another, as one element.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Flow {
    /// Id of the flow.
    pub id: String,
    /// The `next` attribute.
    pub next: Option<String>,
    /// Elements of the flow.
    pub elements: Vec<Element>,
    /// Transition elements.
    pub transitions: Vec<Transition>,
}

/// Flows that run at the same time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Split {
    /// Id of the split.
    pub id: String,
    /// The `next` attribute.
    pub next: Option<String>,
    /// Flows of the split.
    pub flows: Vec<Flow>,
}

/// A decision.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Decision {
    /// Id of the decision.
    pub id: String,
    /// The decider.
    pub decider: ArtifactRef,
    /// Transition elements.
    pub transitions: Vec<Transition>,
}

/// A transition element.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transition {
    /// Pattern of exit statuses: `*` is any text, `?` any character.
    pub on: String,
    /// Action of the transition.
    pub action: TransitionAction,
}

/// Action of a transition element.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TransitionAction {
    /// Continues with another element of the same scope.
    Next(String),
    /// Ends the job COMPLETED.
    End {
        /// Exit status of the job.
        exit_status: Option<String>,
    },
    /// Ends the job STOPPED.
    Stop {
        /// Exit status of the job.
        exit_status: Option<String>,
        /// Element at which a restart begins.
        restart: Option<String>,
    },
    /// Ends the job FAILED.
    Fail {
        /// Exit status of the job.
        exit_status: Option<String>,
    },
}

impl fmt::Display for TransitionAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (end, exit_status, restart) = match self {
            TransitionAction::Next(target) => return write!(f, "continue at {target}"),
            TransitionAction::End { exit_status } => ("COMPLETED", exit_status, &None),
            TransitionAction::Stop { exit_status, restart } => ("STOPPED", exit_status, restart),
            TransitionAction::Fail { exit_status } => ("FAILED", exit_status, &None),
        };
        write!(f, "end {end}")?;
        if let Some(exit_status) = exit_status {
            write!(f, ", exit status {exit_status}")?;
        }
        restart.iter().try_for_each(|at| write!(f, ", restart at {at}"))
    }
}

/// Returns true if an exit status matches a pattern with `*` for any text and `?` for any character. The time is at most proportional to the
/// product of the lengths.
#[must_use]
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last `*` was, and how much of the text it covers so far.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, covered)) => {
                    star = Some((at, covered + 1));
                    p = at + 1;
                    t = covered + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::TransitionAction::{End, Fail, Next, Stop};

    #[test]
    fn actions_of_transitions_are_shown_whole() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(Next("b".to_owned()).to_string(), "continue at b");
        assert_eq!(End { exit_status: None }.to_string(), "end COMPLETED");
        assert_eq!(Fail { exit_status: text("BAD") }.to_string(), "end FAILED, exit status BAD");
        let stop = Stop { exit_status: text("WAIT"), restart: text("b") };
        assert_eq!(stop.to_string(), "end STOPPED, exit status WAIT, restart at b");
    }
}
