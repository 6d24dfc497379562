//! Checks of a job before it starts: ids, targets, loops, unreachable elements, artifacts.

use std::collections::{BTreeMap, BTreeSet};

use quayline_core::{Code, Finding, Severity};

use super::build::Builder;
use super::read::{JobFile, Node};
use super::substitute::{Parameters, Reference, Scope, not_planned, planned_hint};
use crate::codes;

/// Properties of a step that Quayline reads, each with its words; without words it is a number from 1.
const STEP_PROPERTIES: [(&str, &[&str]); 7] = [
    ("quayline.rejects", &["drop", "keep"]),
    ("quayline.stragglers", &["keep", "split"]),
    ("quayline.partitions", &["local", "shared"]),
    ("quayline.checkpoints", &["whole", "delta"]),
    ("quayline.redo-budget-ms", &[]),
    ("quayline.chunk-bytes-max", &[]),
    ("quayline.partition-threads-max", &[]),
];

/// Catalogue of artifacts. `kind` is the element's name (`reader`, `listener`, ...).
pub trait Artifacts {
    /// Returns the names most similar to a reference if no artifact has it; `None` if one has.
    fn missing(&self, kind: &str, reference: &str) -> Option<Vec<String>>;

    /// Returns faults of the properties of an artifact. Values that are unknown before the run are `None`.
    fn properties(&self, kind: &str, reference: &str, given: &BTreeMap<String, Option<String>>) -> Vec<PropertyFault> {
        let _ = (kind, reference, given);
        Vec::new()
    }

    /// Returns findings about the definitions that an artifact compiles, such as a map. Called once all its properties are known and valid. A
    /// finding about the text of a property has the property's name as its file.
    fn definitions(&self, kind: &str, reference: &str, given: &BTreeMap<String, String>) -> Vec<Finding> {
        let _ = (kind, reference, given);
        Vec::new()
    }
}

/// A property of an artifact that is missing, unknown or wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PropertyFault {
    /// Code of the finding.
    pub code: Code,
    /// The property.
    pub name: String,
    /// True if the name is wrong, false if the value is.
    pub is_name: bool,
    /// Description of the fault.
    pub message: String,
    /// Step that resolves the fault.
    pub remedy: String,
}

/// Accepts every artifact.
impl Artifacts for () {
    fn missing(&self, _kind: &str, _reference: &str) -> Option<Vec<String>> {
        None
    }
}

impl JobFile {
    /// Checks a job without starting it. With the parameters of a start, references are resolved first; without, elements whose targets are
    /// references are left out.
    ///
    /// Errors would end an execution FAILED; warnings would not.
    #[must_use]
    pub fn check(
        &self,
        parameters: Option<&Parameters>,
        system: &dyn Fn(&str) -> Option<String>,
        artifacts: &dyn Artifacts,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let none = Parameters::new();
        let mut scope = Scope::new(parameters.unwrap_or(&none), system, None);
        let resolved = scope.resolve(&self.root);
        if parameters.is_some() {
            findings.extend(scope.unresolved.iter().map(|reference| self.unresolved(reference)));
            if let Err(found) = self.resolve(parameters.unwrap_or(&none), system) {
                findings.extend(found.0);
            }
        } else {
            let of_properties = scope.unresolved.iter().filter(|reference| reference.operator == "jobProperties");
            findings.extend(of_properties.map(|reference| self.unresolved(reference)));
            // What is written without references is checked as it stands.
            let mut builder = Builder::of(self);
            builder.is_open = true;
            builder.job(&self.root);
            findings.extend(builder.findings);
        }
        let root = if parameters.is_some() { &resolved } else { &self.root };
        let mut checker = Checker { file: self, ids: BTreeMap::new(), findings };
        checker.ids(root);
        checker.scope(root, true);
        checker.artifacts(root, artifacts);
        checker.repeated_properties(root);
        checker.references(&self.root);
        checker.own_properties(root);
        checker.partition_properties(root);
        let mut findings = checker.findings;
        let own = Some(&self.text.name);
        findings.sort_by_key(|Finding { place, .. }| {
            (place.file.as_ref() != own, place.file.clone(), place.line, place.column)
        });
        // Two steps may name the same map.
        findings.dedup();
        findings
    }

    /// Names of the job parameters that the job refers to, each with the default of its first reference.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, Option<String>)> {
        let mut found: Vec<(String, Option<String>)> = Vec::new();
        self.root.each(&mut |node| {
            for (_, value) in &node.attributes {
                for (at, _) in value.match_indices("#{") {
                    if let Some(reference) = Reference::parse(&value[at..])
                        && reference.operator == "jobParameters"
                        && !found.iter().any(|(name, _)| name == reference.name)
                    {
                        found.push((reference.name.to_owned(), reference.default.map(str::to_owned)));
                    }
                }
            }
        });
        found
    }
}

impl Node {
    fn each<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        visit(self);
        self.children.iter().for_each(|child| child.each(visit));
    }

    fn elements(&self) -> impl Iterator<Item = &Node> {
        self.children.iter().filter(|child| matches!(child.name, "step" | "flow" | "split" | "decision"))
    }

    /// Returns the elements at which execution may continue: target, and the element and attribute that name it.
    fn targets(&self) -> Vec<(&str, &Node, &'static str)> {
        let own = self.attribute("next").map(|target| (target, self, "next"));
        let next = self.named("next").map(|next| (next.required("to"), next, "to"));
        own.into_iter().chain(next).filter(|(target, ..)| !target.is_empty() && !target.contains("#{")).collect()
    }

    /// Returns the transitions that the element never takes, because an earlier one matches every exit status that they match. Each has its element
    /// and attribute, and the `on` of the earlier one. The attribute `next` comes after all transition elements.
    fn never_taken(&self) -> Vec<(&Node, &'static str, &str)> {
        let mut seen: Vec<&str> = Vec::new();
        let mut never = Vec::new();
        let is_all = |on: &str| !on.is_empty() && on.chars().all(|c| c == '*');
        let before =
            |seen: &[&'_ str], on: Option<&str>| seen.iter().position(|known| is_all(known) || Some(*known) == on);
        for child in self.children.iter().filter(|child| matches!(child.name, "next" | "end" | "stop" | "fail")) {
            let on = child.required("on");
            match before(&seen, Some(on)) {
                Some(at) => never.push((child, "on", seen[at])),
                None => seen.push(on),
            }
        }
        if self.attribute("next").is_some_and(|next| !next.is_empty())
            && let Some(at) = before(&seen, None)
        {
            never.push((self, "next", seen[at]));
        }
        never
    }
}

struct Checker<'f> {
    file: &'f JobFile,
    ids: BTreeMap<String, usize>,
    findings: Vec<Finding>,
}

impl Checker<'_> {
    fn refuse(&mut self, code: Code, node: &Node, attribute: &str, message: String, hint: String) {
        let finding = self.file.finding(code, node, Some(attribute), message);
        self.findings.push(finding.hint(hint));
    }

    fn warn(&mut self, code: Code, node: &Node, attribute: &str, message: String, hint: String) {
        let finding = self.file.finding(code, node, Some(attribute), message);
        self.findings.push(Finding { severity: Severity::Warning, ..finding }.hint(hint));
    }

    fn ids(&mut self, root: &Node) {
        let mut nodes = Vec::new();
        root.each(&mut |node| {
            if matches!(node.name, "step" | "flow" | "split" | "decision") {
                nodes.push(node);
            }
        });
        for node in nodes {
            let id = node.required("id");
            if id.contains("#{") {
                continue;
            }
            if id.is_empty() && node.attribute("id").is_some() {
                let hint = "give it an id: transitions, lists and logs refer to the element by its id";
                self.refuse(
                    codes::JOB_VALUE,
                    node,
                    "id",
                    format!("the id of a {} is empty", node.name),
                    hint.to_owned(),
                );
                continue;
            }
            if self.ids.insert(id.to_owned(), node.at).is_some() {
                let message = format!("two elements of the job have the id {id}");
                self.refuse(codes::JOB_ID_TWICE, node, "id", message, "give each element an id of its own".to_owned());
            }
        }
    }

    /// Checks the elements of a job or flow.
    fn scope(&mut self, scope: &Node, is_job: bool) {
        let elements: Vec<&Node> = scope.elements().collect();
        let Some(first) = elements.first() else {
            let message = format!("{} has no elements", scope.shown());
            self.refuse(codes::JOB_TARGET, scope, "id", message, "add a step".to_owned());
            return;
        };
        if first.name == "decision" {
            let message = format!("{} begins with a decision, which needs an element before it", scope.shown());
            let hint = "put a step, flow or split before the decision".to_owned();
            self.refuse(codes::JOB_TARGET, first, "id", message, hint);
        }
        let number: BTreeMap<&str, usize> =
            elements.iter().enumerate().rev().map(|(number, node)| (node.required("id"), number)).collect();
        let mut edges: Vec<Vec<(usize, &Node, &'static str)>> = vec![Vec::new(); elements.len()];
        for (at, element) in elements.iter().enumerate() {
            let never = element.never_taken();
            for (target, node, attribute) in element.targets() {
                let is_taken =
                    !never.iter().any(|(of, by, _)| of.at == node.at && (*by == "next") == (attribute == "next"));
                match number.get(target) {
                    Some(to) if is_taken => edges[at].push((*to, node, attribute)),
                    Some(_) => {}
                    None => self.no_target(scope, target, node, attribute),
                }
            }
            for next in element.named("next").filter(|next| next.attribute("to") == Some("")) {
                let known: Vec<&str> = elements.iter().map(|element| element.required("id")).collect();
                let hint = format!("the elements of {} are {}", scope.shown(), known.join(", "));
                self.refuse(codes::JOB_TARGET, next, "to", "a next leads to no element".to_owned(), hint);
            }
            for (node, attribute, on) in never {
                let (message, hint) = match attribute {
                    "next" => ("next is never followed", "remove next or that transition"),
                    _ => ("the transition is never taken", "put it before that transition, or remove it"),
                };
                let message = format!("{message}: an earlier on=\"{on}\" matches every exit status that leads here");
                self.warn(codes::JOB_UNREACHED, node, attribute, message, hint.to_owned());
            }
            match element.name {
                "flow" => self.scope(element, false),
                "split" => element.named("flow").for_each(|flow| {
                    self.leads_nowhere(flow);
                    self.scope(flow, false);
                }),
                _ => {}
            }
        }
        self.loops(&elements, &edges);
        self.unreached(scope, &elements, &edges, is_job, &number);
    }

    /// Warns about transitions of a flow in a split. They have no effect, because the split continues after all of its flows.
    fn leads_nowhere(&mut self, flow: &Node) {
        let what = "the job continues after all flows of the split";
        let hint = "put it on the split, or into the flow after its last element".to_owned();
        // A split has no other transitions than `next`.
        let hint_of_others = "put it into the flow after its last element, or on an element after the split".to_owned();
        if flow.attribute("next").is_some_and(|next| !next.is_empty()) {
            self.warn(codes::JOB_UNREACHED, flow, "next", format!("next has no effect: {what}"), hint.clone());
        }
        for child in flow.children.iter().filter(|child| matches!(child.name, "next" | "end" | "stop" | "fail")) {
            let message = format!("the transition has no effect: {what}");
            let hint = if child.name == "next" { &hint } else { &hint_of_others };
            self.warn(codes::JOB_UNREACHED, child, "on", message, hint.clone());
        }
    }

    fn no_target(&mut self, scope: &Node, target: &str, node: &Node, attribute: &'static str) {
        let (message, hint) = if self.ids.contains_key(target) {
            let message = format!("{target} is not an element of {}, so the job cannot continue there", scope.shown());
            (message, "continue with an element of the same job or flow".to_owned())
        } else {
            let message = format!("no element has the id {target}");
            let known: Vec<&str> = scope.elements().map(|element| element.required("id")).collect();
            (message, format!("the elements of {} are {}", scope.shown(), known.join(", ")))
        };
        self.refuse(codes::JOB_TARGET, node, attribute, message, hint);
    }

    /// Reports the edge that closes each loop, in depth-first order.
    fn loops(&mut self, elements: &[&Node], edges: &[Vec<(usize, &Node, &'static str)>]) {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; elements.len()];
        for start in 0..elements.len() {
            if marks[start] != Mark::New {
                continue;
            }
            marks[start] = Mark::Open;
            let mut path = vec![(start, 0)];
            while let Some((at, edge)) = path.last_mut() {
                let Some((to, node, attribute)) = edges[*at].get(*edge) else {
                    marks[*at] = Mark::Done;
                    path.pop();
                    continue;
                };
                *edge += 1;
                match marks[*to] {
                    Mark::New => {
                        marks[*to] = Mark::Open;
                        path.push((*to, 0));
                    }
                    Mark::Open => {
                        let from = path.iter().position(|(at, _)| at == to).unwrap_or(0);
                        let names: Vec<&str> =
                            path[from..].iter().map(|(at, _)| elements[*at].required("id")).collect();
                        let message = format!("a loop: {} and then {} again", names.join(", "), names[0]);
                        let hint = "an element runs once in an execution: end the loop with stop and restart, or use another element";
                        self.refuse(codes::JOB_LOOP, node, attribute, message, hint.to_owned());
                    }
                    Mark::Done => {}
                }
            }
        }
    }

    fn unreached(
        &mut self,
        scope: &Node,
        elements: &[&Node],
        edges: &[Vec<(usize, &Node, &'static str)>],
        is_job: bool,
        number: &BTreeMap<&str, usize>,
    ) {
        let mut begins = vec![0];
        // A target that is a reference may be any element.
        let mut is_open = false;
        scope.each(&mut |node| {
            let targets = [("next", "next"), ("next", "to"), ("stop", "restart")];
            for (name, attribute) in targets {
                let value = node.attribute(attribute).filter(|_| node.name == name || attribute == "next");
                is_open |= value.is_some_and(|value| value.contains("#{"));
            }
            if let Some(restart) = node.attribute("restart").filter(|_| is_job && node.name == "stop") {
                begins.extend(number.get(restart));
            }
        });
        if is_job {
            self.restart_targets(scope, number);
        }
        if is_open {
            return;
        }
        let mut reached = BTreeSet::new();
        while let Some(at) = begins.pop() {
            if reached.insert(at) {
                begins.extend(edges[at].iter().map(|(to, ..)| *to));
            }
        }
        for (at, element) in elements.iter().enumerate() {
            if !reached.contains(&at) {
                let message = format!("nothing reaches {}", element.shown());
                let hint = format!("name {} in a next, or remove it", element.required("id"));
                self.warn(codes::JOB_UNREACHED, element, "id", message, hint);
            }
        }
    }

    fn restart_targets(&mut self, job: &Node, number: &BTreeMap<&str, usize>) {
        let decisions: BTreeSet<&str> =
            job.elements().filter(|element| element.name == "decision").map(|element| element.required("id")).collect();
        let mut wrong = Vec::new();
        job.each(&mut |node| {
            let restart = node.attribute("restart").filter(|_| node.name == "stop");
            if let Some(target) = restart.filter(|target| !target.is_empty() && !target.contains("#{"))
                && (!number.contains_key(target) || decisions.contains(target))
            {
                wrong.push((node, target));
            }
        });
        for (node, target) in wrong {
            let what = match decisions.contains(target) {
                true => "is a decision and needs an element before it",
                false => "is not a job-level element",
            };
            let message = format!("a restart cannot begin at {target}, which {what}");
            let begins = job.elements().map(|element| element.required("id")).filter(|id| !decisions.contains(id));
            let known: Vec<&str> = begins.collect();
            let hint = format!("the steps, flows and splits of the job are {}", known.join(", "));
            self.refuse(codes::JOB_TARGET, node, "restart", message, hint);
        }
    }

    /// Warns about text that looks like a reference and is not one.
    fn references(&mut self, root: &Node) {
        let mut wrong = Vec::new();
        root.each(&mut |node| {
            for (name, value) in &node.attributes {
                let is_wrong = value.match_indices("#{").any(|(at, _)| Reference::parse(&value[at..]).is_none());
                if is_wrong {
                    wrong.push((node, name));
                }
            }
        });
        for (node, name) in wrong {
            let hint = "write #{jobParameters['x']}, jobProperties, systemProperties or partitionPlan, with quotes around the name";
            self.warn(
                codes::JOB_UNRESOLVED,
                node,
                name,
                "`#{` begins no reference and stays as text".to_owned(),
                hint.to_owned(),
            );
        }
    }

    /// Warns about properties of a step that look like Quayline's own and are not, and refuses unknown values of its own properties.
    fn own_properties(&mut self, root: &Node) {
        let mut own = Vec::new();
        root.each(&mut |node| {
            let lists = node.children.iter().filter(|child| child.name == "properties" && node.name == "step");
            for property in lists.flat_map(|list| &list.children) {
                let name = property.required("name");
                let is_own = name.get(..9).is_some_and(|begin| begin.eq_ignore_ascii_case("quayline."));
                if is_own {
                    own.push(property);
                }
            }
        });
        for property in own {
            let (name, value) = (property.required("name"), property.required("value"));
            let Some((_, words)) = STEP_PROPERTIES.iter().find(|(known, _)| *known == name) else {
                let message = format!("{name} has no effect: a step has no such property");
                let known: Vec<&str> = STEP_PROPERTIES.iter().map(|(known, _)| *known).collect();
                let hint = format!("the properties that Quayline reads are {}", known.join(", "));
                self.warn(codes::JOB_VALUE, property, "name", message, hint);
                continue;
            };
            // What is empty takes the default, and a reference may be anything.
            if value.is_empty() || value.contains("#{") {
                continue;
            }
            let (is_right, hint) = match words {
                [] => (value.parse::<u64>().is_ok_and(|number| number > 0), "write a whole number from 1".to_owned()),
                words => (words.contains(&value), format!("write {}", words.join(" or "))),
            };
            if !is_right {
                self.refuse(
                    codes::JOB_VALUE,
                    property,
                    "value",
                    format!("property {name} of the step is not known"),
                    hint,
                );
            }
        }
    }

    /// Refuses references to properties that the plan of a step has for no partition: each partition would read the empty text, and so all of the
    /// input.
    fn partition_properties(&mut self, root: &Node) {
        let mut steps = Vec::new();
        root.each(&mut |node| {
            let plan = node.child("partition").and_then(|partition| partition.child("plan"));
            steps.extend(plan.filter(|_| node.name == "step").map(|plan| (node, plan)));
        });
        for (step, plan) in steps {
            let mut planned = Parameters::new();
            plan.each(&mut |node| {
                if node.name == "property" {
                    planned.insert(node.required("name").to_owned(), "1".to_owned());
                }
            });
            // A name that is a reference may be any.
            if planned.keys().any(|name| name.contains("#{")) {
                continue;
            }
            for missing in not_planned(step, &planned) {
                let node = Node { name: "", attributes: Vec::new(), children: Vec::new(), at: missing.at };
                let message = format!("#{{partitionPlan['{}']}} has no value in any partition", missing.name);
                self.refuse(codes::JOB_UNRESOLVED, &node, &missing.attribute, message, planned_hint(&planned));
            }
        }
    }

    /// Warns of properties that another one of the same list replaces.
    fn repeated_properties(&mut self, root: &Node) {
        let mut lists = Vec::new();
        root.each(&mut |node| lists.extend((node.name == "properties").then_some(node)));
        for list in lists {
            let mut later = BTreeSet::new();
            for property in list.named("property").collect::<Vec<_>>().into_iter().rev() {
                let name = property.required("name");
                if !later.insert(name) {
                    let message = format!("a later property `{name}` replaces this one");
                    self.warn(codes::JOB_VALUE, property, "name", message, "remove one of them".to_owned());
                }
            }
        }
    }

    fn artifacts(&mut self, root: &Node, artifacts: &dyn Artifacts) {
        let mut nodes = Vec::new();
        root.each(&mut |node| {
            if let Some(reference) = node.attribute("ref").filter(|reference| !reference.contains("#{")) {
                nodes.push((node, reference));
            }
        });
        for (node, reference) in nodes {
            let Some(near) = artifacts.missing(node.name, reference) else {
                self.properties(node, reference, artifacts);
                continue;
            };
            let message = format!("no {} is called {reference}", kind_text(node.name));
            let hint = match near.as_slice() {
                [] => format!("no {} comes with Quayline: register one, or remove it", kind_text(node.name)),
                near => format!("there are {}", near.join(", ")),
            };
            self.refuse(codes::JOB_ARTIFACT, node, "ref", message, hint);
        }
    }

    /// Checks the properties of an artifact that exists.
    fn properties(&mut self, node: &Node, reference: &str, artifacts: &dyn Artifacts) {
        let nodes: Vec<&Node> = node.child("properties").map_or_else(Vec::new, |list| list.children.iter().collect());
        // A name that is a reference may be any.
        if nodes.iter().any(|property| property.required("name").contains("#{")) {
            return;
        }
        // Of two with a name the last counts, as in a run.
        let value = |property: &&Node| {
            let value = property.required("value");
            (property.required("name").to_owned(), (!value.contains("#{")).then(|| value.to_owned()))
        };
        let given: BTreeMap<String, Option<String>> = nodes.iter().map(value).collect();
        let faults = artifacts.properties(node.name, reference, &given);
        let known = given.into_iter().map(|(name, value)| value.map(|value| (name, value)));
        if faults.is_empty()
            && let Some(known) = known.collect::<Option<BTreeMap<_, _>>>()
        {
            let found = artifacts.definitions(node.name, reference, &known);
            self.findings.extend(found.into_iter().map(|finding| self.file.of_definition(finding, node, &nodes)));
        }
        for fault in faults {
            let at = nodes.iter().rev().find(|property| property.required("name") == fault.name);
            let (at, attribute) = match at {
                Some(property) => (*property, if fault.is_name { "name" } else { "value" }),
                None => (node, "ref"),
            };
            self.refuse(fault.code, at, attribute, fault.message, fault.remedy);
        }
    }
}

fn kind_text(name: &str) -> &str {
    match name {
        "decision" => "decider",
        "mapper" => "partition mapper",
        "collector" => "partition collector",
        "analyzer" => "partition analyzer",
        "reducer" => "partition reducer",
        "checkpoint-algorithm" => "checkpoint algorithm",
        name => name,
    }
}
