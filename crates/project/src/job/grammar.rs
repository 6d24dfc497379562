//! The elements of job XML: attributes and children, in the order of the schema.

/// Number of occurrences of a child element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Times {
    /// Exactly once.
    One,
    /// Zero or one occurrence.
    Maybe,
    /// Any number.
    Many,
}

/// One place in the sequence of children: any of these names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) names: &'static [&'static str],
    pub(super) times: Times,
}

/// An element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
    pub(super) children: &'static [Slot],
}

const fn one(names: &'static [&'static str]) -> Slot {
    Slot { names, times: Times::One }
}

const fn maybe(names: &'static [&'static str]) -> Slot {
    Slot { names, times: Times::Maybe }
}

const fn many(names: &'static [&'static str]) -> Slot {
    Slot { names, times: Times::Many }
}

const TRANSITIONS: &[&str] = &["end", "fail", "next", "stop"];
const ELEMENTS: &[&str] = &["decision", "flow", "split", "step"];
const PROPERTIES: Slot = maybe(&["properties"]);
const ARTIFACT: &[Slot] = &[PROPERTIES];
const CLASSES: &[Slot] = &[many(&["include", "exclude"])];

/// Rules of all elements.
pub(super) const RULES: &[Rule] = &[
    rule(
        "job",
        &["id", "version"],
        &["restartable", "schemaLocation"],
        &[PROPERTIES, maybe(&["listeners"]), many(ELEMENTS)],
    ),
    rule("properties", &[], &["partition"], &[many(&["property"])]),
    rule("property", &["name", "value"], &[], &[]),
    rule("listeners", &[], &[], &[many(&["listener"])]),
    rule("listener", &["ref"], &[], ARTIFACT),
    rule(
        "step",
        &["id"],
        &["start-limit", "allow-start-if-complete", "next"],
        &[PROPERTIES, maybe(&["listeners"]), maybe(&["batchlet", "chunk"]), maybe(&["partition"]), many(TRANSITIONS)],
    ),
    rule("batchlet", &["ref"], &[], ARTIFACT),
    rule(
        "chunk",
        &[],
        &["checkpoint-policy", "item-count", "time-limit", "skip-limit", "retry-limit"],
        &[
            one(&["reader"]),
            maybe(&["processor"]),
            one(&["writer"]),
            maybe(&["checkpoint-algorithm"]),
            maybe(&["skippable-exception-classes"]),
            maybe(&["retryable-exception-classes"]),
            maybe(&["no-rollback-exception-classes"]),
        ],
    ),
    rule("reader", &["ref"], &[], ARTIFACT),
    rule("processor", &["ref"], &[], ARTIFACT),
    rule("writer", &["ref"], &[], ARTIFACT),
    rule("checkpoint-algorithm", &["ref"], &[], ARTIFACT),
    rule("skippable-exception-classes", &[], &[], CLASSES),
    rule("retryable-exception-classes", &[], &[], CLASSES),
    rule("no-rollback-exception-classes", &[], &[], CLASSES),
    rule("include", &["class"], &[], &[]),
    rule("exclude", &["class"], &[], &[]),
    rule(
        "partition",
        &[],
        &[],
        &[maybe(&["mapper", "plan"]), maybe(&["collector"]), maybe(&["analyzer"]), maybe(&["reducer"])],
    ),
    rule("mapper", &["ref"], &[], ARTIFACT),
    rule("plan", &[], &["partitions", "threads"], &[many(&["properties"])]),
    rule("collector", &["ref"], &[], ARTIFACT),
    rule("analyzer", &["ref"], &[], ARTIFACT),
    rule("reducer", &["ref"], &[], ARTIFACT),
    rule("flow", &["id"], &["next"], &[many(ELEMENTS), many(TRANSITIONS)]),
    rule("split", &["id"], &["next"], &[many(&["flow"])]),
    rule("decision", &["id", "ref"], &[], &[PROPERTIES, many(TRANSITIONS)]),
    rule("next", &["on", "to"], &[], &[]),
    rule("end", &["on"], &["exit-status"], &[]),
    rule("stop", &["on"], &["exit-status", "restart"], &[]),
    rule("fail", &["on"], &["exit-status"], &[]),
];

const fn rule(
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    children: &'static [Slot],
) -> Rule {
    Rule { name, required, optional, children }
}

/// Returns the rule of an element.
pub(super) fn rule_of(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}
