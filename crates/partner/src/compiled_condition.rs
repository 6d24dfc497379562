//! Compiled conditions of rules, and the memory to evaluate them.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use quayline_core::{Finding, Findings};
use quayline_pipeline::{Evaluated, ExpressionFault, Expressions, OutputBuffer, Pipeline, UnitLane, UnitWorld, World};
use quayline_project::partner::{Condition, Direction, PartnerFile, Rule, RuleMap};
use xxhash_rust::xxh3::xxh3_64;

use crate::rules::RuleId;

/// The conditions of all rules, by number.
#[derive(Default)]
pub(crate) struct Conditions {
    pub(crate) slots: Vec<OnceLock<Result<LoadedCondition, Findings>>>,
    pub(crate) of_rule: HashMap<RuleId, usize>,
}

/// Origin of the names in an expression.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Names {
    Guide(PathBuf),
    Source(RuleMap),
    Target(Vec<RuleMap>),
}

/// A condition, compiled.
pub(crate) struct LoadedCondition {
    pub(crate) expressions: Expressions,
    pub(crate) pipeline: Pipeline,
    pub(crate) world: Arc<World>,
    /// Files of the guide that the rule names. Those of maps are known to the book.
    pub(crate) files: Vec<PathBuf>,
}

/// A condition with its memory.
pub(crate) struct ConditionLane<'b> {
    loaded: &'b LoadedCondition,
    lane: UnitLane<'b>,
    buffers: Vec<OutputBuffer>,
}

/// Reason why the rule for a document is not known.
pub(crate) enum Undecided {
    /// The document is rejected.
    Rejected(Vec<Finding>),
    /// The run cannot continue.
    Stopped(Findings),
}

impl Conditions {
    /// Collects the conditions of these files without compiling them.
    pub(crate) fn of(partners: &[PartnerFile]) -> Conditions {
        let mut known: BTreeMap<(Names, &str), usize> = BTreeMap::new();
        let mut conditions = Conditions::default();
        for (owner, partner) in partners.iter().enumerate() {
            for (number, rule) in partner.rules.iter().enumerate() {
                let Some(condition) = &rule.condition else { continue };
                let slot = *known.entry((Names::of(rule, condition), condition.text.as_str())).or_insert_with(|| {
                    conditions.slots.push(OnceLock::new());
                    conditions.slots.len() - 1
                });
                conditions.of_rule.insert(RuleId { owner, rule: number }, slot);
            }
        }
        conditions
    }

    /// Returns the files of the conditions that were used so far.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        let loaded = self.slots.iter().filter_map(|slot| slot.get()?.as_ref().ok());
        loaded.flat_map(|condition| condition.files.iter().cloned())
    }

    /// Returns true if every condition that was used so far could be compiled.
    pub(crate) fn are_whole(&self) -> bool {
        !self.slots.iter().any(|slot| slot.get().is_some_and(Result::is_err))
    }

    /// Returns the number of a rule's condition.
    pub(crate) fn number(&self, id: RuleId) -> Option<usize> {
        self.of_rule.get(&id).copied()
    }
}

impl Names {
    pub(crate) fn of(rule: &Rule, condition: &Condition) -> Names {
        match (&condition.guide, rule.direction, rule.maps.first()) {
            (Some(guide), ..) => Names::Guide(guide.clone()),
            (None, Direction::Send, _) => Names::Target(rule.maps.clone()),
            (None, Direction::Receive, Some(map)) => Names::Source(map.clone()),
            // A finding when the file was read.
            (None, Direction::Receive, None) => Names::Guide(PathBuf::new()),
        }
    }
}

impl<'b> ConditionLane<'b> {
    pub(crate) fn new(loaded: &'b LoadedCondition) -> Result<ConditionLane<'b>, Findings> {
        Ok(ConditionLane { loaded, lane: loaded.pipeline.lane()?, buffers: loaded.pipeline.buffers()? })
    }

    pub(crate) fn holds(&mut self, now_ms: u64, document: &[u8]) -> Result<bool, Vec<Finding>> {
        let now = i64::try_from(now_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let seed = xxh3_64(document);
        self.loaded.world.set_unit(Some(UnitWorld { now, seed, envelope: Vec::new() }));
        let name = Arc::from("the document");
        match self.loaded.expressions.evaluate(&mut self.lane, &mut self.buffers, &name, document) {
            Ok((values, _)) => Ok(values.first() == Some(&Evaluated::Truth(true))),
            Err(ExpressionFault::Unreadable(report)) => {
                let lost = report.lost.map(|Findings(lost)| lost).unwrap_or_default();
                Err(report.findings.into_iter().chain(lost).collect())
            }
            Err(ExpressionFault::Documents(_) | ExpressionFault::Damaged) => Err(Vec::new()),
        }
    }
}
