//! Conversion of a resolved tree into a [`Job`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quayline_core::{Finding, Findings};

use super::model::{
    ArtifactRef, Chunk, Decision, Element, ExceptionFilter, Flow, Job, Partition, PartitionSource, Split, Step,
    StepBody, Transition, TransitionAction, Unplanned,
};
use super::read::{JobFile, Node};
use super::substitute::{
    NESTED_MAX, Outer, Parameters, Reference, Scope, Unresolved, VALUE_BYTES_MAX, not_planned, planned_hint,
};
use crate::codes;

/// Items of a chunk where the job says nothing.
const ITEM_COUNT: u32 = 10;

impl JobFile {
    /// Resolves references with the parameters of a start, and builds the job. References without a value become empty texts and are returned.
    ///
    /// # Errors
    /// Every value that is not a number, boolean or policy after resolution.
    pub fn resolve(
        &self,
        parameters: &Parameters,
        system: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Job, Vec<Unresolved>), Findings> {
        let mut scope = Scope::new(parameters, system, None);
        let root = scope.resolve(&self.root);
        let outer = Outer {
            parameters: parameters.clone(),
            properties: root.child("properties").into_iter().flat_map(pairs).collect(),
            system: self.system_properties(system),
        };
        let mut builder = Builder { outer: Arc::new(outer), ..Builder::of(self) };
        let job = builder.job(&root);
        if let Some((at, attribute)) = &scope.too_long {
            let node = Node { name: "", attributes: Vec::new(), children: Vec::new(), at: *at };
            let message =
                format!("the value has more than {VALUE_BYTES_MAX} bytes, or all values have more than 64 MB together");
            builder.refuse(&node, attribute, message, "shorten the properties that it refers to");
        }
        if let Some((at, attribute)) = &scope.too_deep {
            let node = Node { name: "", attributes: Vec::new(), children: Vec::new(), at: *at };
            let message = format!("the value nests more than {NESTED_MAX} defaults");
            builder.refuse(
                &node,
                attribute,
                message,
                "end each default with `;`, or define properties for the inner ones",
            );
        }
        if builder.findings.is_empty() { Ok((job, scope.unresolved)) } else { Err(Findings(builder.findings)) }
    }

    /// Returns the system properties to which the job refers, with their values.
    fn system_properties(&self, system: &dyn Fn(&str) -> Option<String>) -> Parameters {
        let mut found = Parameters::new();
        self.root.each_value(&mut |text| {
            for (at, _) in text.match_indices("#{systemProperties") {
                if let Some(reference) = Reference::parse(&text[at..])
                    && let Some(value) = system(reference.name)
                {
                    found.insert(reference.name.to_owned(), value);
                }
            }
        });
        found
    }

    /// Builds the warning for a reference without a value.
    #[must_use]
    pub fn unresolved(&self, reference: &Unresolved) -> Finding {
        let Unresolved { operator, name, at, attribute } = reference;
        let node = Node { name: "", attributes: Vec::new(), children: Vec::new(), at: *at };
        let message = format!("#{{{operator}['{name}']}} has no value and becomes an empty text");
        let hint = match operator.as_str() {
            "jobParameters" => format!("start the job with --param {name}=VALUE, or add a default: ?:VALUE;"),
            "jobProperties" => {
                format!("define the property {name} before, in an enclosing element, or add a default: ?:VALUE;")
            }
            _ => "add a default: ?:VALUE;".to_owned(),
        };
        let finding = self.finding(codes::JOB_UNRESOLVED, &node, Some(attribute), message);
        Finding { severity: quayline_core::Severity::Warning, ..finding }.hint(hint)
    }
}

impl Step {
    /// Builds the step for one partition; `#{partitionPlan[..]}` has the partition's properties.
    ///
    /// # Errors
    /// Every value that is not a number after resolution.
    pub fn of_partition(&self, properties: &Parameters) -> Result<Step, Findings> {
        let Some(source) = &self.source else { return Ok(self.clone()) };
        let node = source.outer.resolve(&source.step, properties);
        let outer = Arc::clone(&source.outer);
        let mut builder = Builder { file: None, findings: Vec::new(), is_open: false, outer };
        let step = builder.step(&node);
        if builder.findings.is_empty() { Ok(step) } else { Err(Findings(builder.findings)) }
    }

    /// Returns message and remedy if the step refers to properties that no partition has. The specification makes such references empty texts, so
    /// each partition would read all of the input.
    #[must_use]
    pub fn not_planned<'p>(&self, partitions: impl IntoIterator<Item = &'p Parameters>) -> Option<(String, String)> {
        let source = self.source.as_ref()?;
        let planned: Parameters =
            partitions.into_iter().flatten().map(|(name, _)| (name.clone(), "1".to_owned())).collect();
        let missing = not_planned(&source.step, &planned).into_iter().next()?;
        let message =
            format!("#{{partitionPlan['{}']}} has no value in any partition of step {}", missing.name, self.id);
        Some((message, planned_hint(&planned)))
    }
}

/// Returns the step without its plan, which the partitions do not need. Each partition resolves its own copy, so keeping the plan with the
/// properties of all partitions would take quadratic time.
fn without_plan(step: &Node) -> Node {
    let mut step = step.clone();
    for partition in step.children.iter_mut().filter(|child| child.name == "partition") {
        partition.children.retain(|child| child.name != "plan");
    }
    step
}

pub(super) struct Builder<'f> {
    /// The file, for places; `None` for a partition's step.
    pub(super) file: Option<&'f JobFile>,
    pub(super) findings: Vec<Finding>,
    /// True if references are not resolved. An attribute with a reference can then have any value.
    pub(super) is_open: bool,
    /// Values for the partitions of steps.
    outer: Arc<Outer>,
}

impl<'f> Builder<'f> {
    /// Creates a builder for a file.
    pub(super) fn of(file: &'f JobFile) -> Self {
        Builder { file: Some(file), findings: Vec::new(), is_open: false, outer: Arc::default() }
    }

    fn refuse(&mut self, node: &Node, attribute: &str, message: String, hint: impl Into<String>) {
        let finding = match self.file {
            Some(file) => file.finding(codes::JOB_VALUE, node, Some(attribute), message),
            None => Finding::error(codes::JOB_VALUE, quayline_core::Fault::Config, message),
        };
        self.findings.push(finding.hint(hint));
    }

    pub(super) fn job(&mut self, node: &Node) -> Job {
        if node.required("id").trim().is_empty() {
            self.refuse(
                node,
                "id",
                "the job's id is empty".to_owned(),
                "give the job an id: lists and logs name it by that",
            );
        }
        Job {
            id: node.required("id").to_owned(),
            restartable: self.truth(node, "restartable", true),
            properties: properties(node),
            listeners: listeners(node),
            elements: self.elements(node),
        }
    }

    fn elements(&mut self, node: &Node) -> Vec<Element> {
        let mut elements = Vec::new();
        for child in &node.children {
            match child.name {
                "step" => elements.push(Element::Step(self.step(child))),
                "flow" => elements.push(Element::Flow(self.flow(child))),
                "split" => {
                    let flows = child.named("flow").map(|flow| self.flow(flow)).collect();
                    elements.push(Element::Split(Split { id: id(child), next: text(child, "next"), flows }));
                }
                "decision" => elements.push(Element::Decision(Decision {
                    id: id(child),
                    decider: artifact(child),
                    transitions: transitions(child),
                })),
                _ => {}
            }
        }
        elements
    }

    fn flow(&mut self, node: &Node) -> Flow {
        Flow { id: id(node), next: text(node, "next"), elements: self.elements(node), transitions: transitions(node) }
    }

    fn step(&mut self, node: &Node) -> Step {
        let body = match (node.child("batchlet"), node.child("chunk")) {
            (Some(batchlet), _) => StepBody::Batchlet(artifact(batchlet)),
            (None, Some(chunk)) => StepBody::Chunk(self.chunk(chunk)),
            (None, None) => {
                self.refuse(
                    node,
                    "id",
                    format!("step {} does nothing", node.required("id")),
                    "add a batchlet or a chunk",
                );
                StepBody::Batchlet(ArtifactRef { name: String::new(), properties: BTreeMap::new() })
            }
        };
        let partition = node.child("partition").map(|partition| self.partition(partition));
        Step {
            id: id(node),
            start_limit: self.number(node, "start-limit").unwrap_or(0),
            allow_start_if_complete: self.truth(node, "allow-start-if-complete", false),
            next: text(node, "next"),
            properties: properties(node),
            listeners: listeners(node),
            body,
            source: partition.is_some().then(|| {
                let outer = Arc::clone(&self.outer);
                Box::new(Unplanned { step: without_plan(node), outer })
            }),
            partition,
            transitions: transitions(node),
        }
    }

    fn chunk(&mut self, node: &Node) -> Chunk {
        let custom = match node.attribute("checkpoint-policy").unwrap_or("item") {
            "item" | "" => false,
            open if self.is_open && open.contains("#{") => false,
            "custom" => true,
            other => {
                let message = format!("checkpoint-policy is {other}, expected item or custom");
                self.refuse(node, "checkpoint-policy", message, "write item, or custom with a checkpoint-algorithm");
                false
            }
        };
        let algorithm = node.child("checkpoint-algorithm").map(artifact);
        if custom && algorithm.is_none() {
            let message = "checkpoint-policy is custom, but the chunk has no checkpoint-algorithm".to_owned();
            self.refuse(node, "checkpoint-policy", message, "add <checkpoint-algorithm ref=\"...\"/> after the writer");
        }
        let item_count = self.number(node, "item-count").unwrap_or(ITEM_COUNT);
        if item_count == 0 && !custom {
            let message = "item-count is 0, expected at least 1".to_owned();
            self.refuse(node, "item-count", message, "write the number of items between two checkpoints");
        }
        let filter = |name: &str| {
            let classes = |word: &str| {
                let of = |classes: &Node| classes.named(word).map(|class| class.required("class").to_owned()).collect();
                node.child(name).map(of).unwrap_or_default()
            };
            ExceptionFilter { include: classes("include"), exclude: classes("exclude") }
        };
        Chunk {
            reader: node.child("reader").map(artifact).unwrap_or_else(|| artifact(node)),
            processor: node.child("processor").map(artifact),
            writer: node.child("writer").map(artifact).unwrap_or_else(|| artifact(node)),
            checkpoint_algorithm: algorithm.filter(|_| custom),
            item_count,
            time_limit_s: self.number(node, "time-limit").unwrap_or(0),
            skip_limit: self.number(node, "skip-limit"),
            retry_limit: self.number(node, "retry-limit"),
            skippable: filter("skippable-exception-classes"),
            retryable: filter("retryable-exception-classes"),
            no_rollback: filter("no-rollback-exception-classes"),
        }
    }

    fn partition(&mut self, node: &Node) -> Partition {
        let source = match (node.child("mapper"), node.child("plan")) {
            (Some(mapper), _) => PartitionSource::Mapper(artifact(mapper)),
            (None, Some(plan)) => self.plan(plan),
            (None, None) => PartitionSource::Plan { partitions: 1, threads: 0, properties: vec![BTreeMap::new()] },
        };
        Partition {
            source,
            collector: node.child("collector").map(artifact),
            analyzer: node.child("analyzer").map(artifact),
            reducer: node.child("reducer").map(artifact),
        }
    }

    fn plan(&mut self, node: &Node) -> PartitionSource {
        let partitions = self.number(node, "partitions").unwrap_or(1);
        let threads = self.number(node, "threads").unwrap_or(0);
        let mut list = vec![BTreeMap::new(); usize::try_from(partitions).unwrap_or(0).min(PARTITIONS_MAX)];
        if partitions == 0 || list.len() < usize::try_from(partitions).unwrap_or(usize::MAX) {
            let message = format!("a plan of {partitions} partitions, expected 1 to {PARTITIONS_MAX}");
            self.refuse(node, "partitions", message, "write another number of partitions");
        }
        let mut seen = BTreeSet::new();
        for (at, of) in node.named("properties").enumerate() {
            let number = match of.attribute("partition") {
                Some(_) => self.number(of, "partition").and_then(|number| usize::try_from(number).ok()),
                None => Some(at),
            };
            if number.is_some_and(|number| !seen.insert(number)) {
                let message = "properties of a partition that has properties already".to_owned();
                self.refuse(of, "partition", message, "put all properties of a partition into one element");
            }
            match number.and_then(|number| list.get_mut(number)) {
                Some(slot) => slot.extend(pairs(of)),
                None => {
                    let message = format!("properties of a partition that the plan of {partitions} does not have");
                    self.refuse(of, "partition", message, "number partitions from 0");
                }
            }
        }
        PartitionSource::Plan { partitions, threads, properties: list }
    }

    fn number(&mut self, node: &Node, name: &str) -> Option<u32> {
        let written = node.attribute(name)?.trim();
        // A reference without a value leaves nothing: the default applies. One to the plan is not resolved yet.
        if written.is_empty() || written.contains("#{partitionPlan") || (self.is_open && written.contains("#{")) {
            return None;
        }
        match written.parse() {
            Ok(number) => Some(number),
            Err(_) => {
                let message = format!("{name} is not a whole number from 0 to {}", u32::MAX);
                self.refuse(node, name, message, "write a number, or a reference whose value is a number");
                None
            }
        }
    }

    fn truth(&mut self, node: &Node, name: &str, default: bool) -> bool {
        match node.attribute(name).map(str::trim) {
            None | Some("") => default,
            Some(open) if self.is_open && open.contains("#{") => default,
            Some("true") => true,
            Some("false") => false,
            Some(_) => {
                self.refuse(node, name, format!("{name} is neither true nor false"), "write true or false");
                default
            }
        }
    }
}

/// Greatest number of partitions of a step. Their properties are in memory at once: about 100 MB.
const PARTITIONS_MAX: usize = 100_000;

fn id(node: &Node) -> String {
    node.required("id").to_owned()
}

/// Returns an attribute that is present and not empty.
fn text(node: &Node, name: &str) -> Option<String> {
    node.attribute(name).filter(|value| !value.is_empty()).map(str::to_owned)
}

fn pairs(node: &Node) -> impl Iterator<Item = (String, String)> {
    node.named("property").map(|property| (property.required("name").to_owned(), property.required("value").to_owned()))
}

fn properties(node: &Node) -> BTreeMap<String, String> {
    node.child("properties").into_iter().flat_map(pairs).collect()
}

fn artifact(node: &Node) -> ArtifactRef {
    ArtifactRef { name: node.required("ref").to_owned(), properties: properties(node) }
}

fn listeners(node: &Node) -> Vec<ArtifactRef> {
    node.child("listeners").into_iter().flat_map(|list| list.named("listener")).map(artifact).collect()
}

fn transitions(node: &Node) -> Vec<Transition> {
    let exit_status = |child: &Node| text(child, "exit-status");
    let mut transitions = Vec::new();
    for child in &node.children {
        let action = match child.name {
            "next" => TransitionAction::Next(child.required("to").to_owned()),
            "end" => TransitionAction::End { exit_status: exit_status(child) },
            "stop" => TransitionAction::Stop { exit_status: exit_status(child), restart: text(child, "restart") },
            "fail" => TransitionAction::Fail { exit_status: exit_status(child) },
            _ => continue,
        };
        transitions.push(Transition { on: child.required("on").to_owned(), action });
    }
    transitions
}
