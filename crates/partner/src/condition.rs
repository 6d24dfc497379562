//! Conditions of rules on content, in the expressions of maps (`where`).
//!
//! A condition is compiled when the first document reaches its rule, against the guide whose names it uses: the rule's `guide`, or the source of the
//! rule's map, or the target of the map for documents to send. Rules with the same expression and the same guide share the compiled condition.
//! If the expression fails on a document, Quayline does not try the next rule, but rejects the document with the reason.

use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings};
use quayline_pipeline::{Expressions, Gives, World, WrittenExpression};
use quayline_project::{ShapeFile, SourceFormat};

use crate::book::Book;
use crate::codes;
use crate::compiled_condition::{ConditionLane, LoadedCondition, Names, Undecided};
use crate::desk::Desk;
use crate::rules::{Query, RuleId};
use crate::watch::Watch;

impl Book {
    /// Returns the condition of a rule, compiled at its first use; `None` for a rule without one.
    fn condition(&self, id: RuleId) -> Option<Result<&LoadedCondition, &Findings>> {
        let number = self.conditions().number(id)?;
        Some(self.conditions().slots[number].get_or_init(|| self.load_condition(id)).as_ref())
    }

    /// Compiles every condition and returns the findings. Reports maps that it cannot use in separate findings.
    pub(crate) fn check_conditions(&self) -> Vec<Finding> {
        let mut rules: Vec<RuleId> = self.conditions().of_rule.keys().copied().collect();
        rules.sort_unstable();
        let mut found = Vec::new();
        for id in rules {
            let rule = self.rule(id);
            let names_guide = rule.condition.as_ref().is_some_and(|condition| condition.guide.is_some());
            if !names_guide && rule.maps.iter().any(|map| self.map(map).is_err()) {
                continue;
            }
            // Rules share what is compiled, and each has its own place.
            if let Some(Err(_)) = self.condition(id)
                && let Err(Findings(findings)) = self.load_condition(id)
            {
                found.extend(findings);
            }
        }
        found
    }

    fn load_condition(&self, id: RuleId) -> Result<LoadedCondition, Findings> {
        let rule = self.rule(id);
        let condition = rule.condition.as_ref().expect("the rule has one");
        let wrong = |message: String, hint: &str| -> Findings {
            let place = condition.file.place(&condition.span);
            Finding::error(codes::CONDITION, Fault::Config, message).at(place).hint(hint).into()
        };
        let loaded;
        let mut files = Vec::new();
        let shape: &ShapeFile = match Names::of(rule, condition) {
            Names::Guide(guide) => {
                loaded = ShapeFile::load(self.project(), &guide.display().to_string(), self.shape_options())?;
                files.extend_from_slice(loaded.files());
                &loaded
            }
            Names::Source(map) => &self.map(&map).map_err(Clone::clone)?.source,
            Names::Target(maps) => {
                let mut target = None;
                for map in &maps {
                    target = target.or(self.map(map).map_err(Clone::clone)?.edi_target.as_ref());
                }
                target.ok_or_else(|| {
                    wrong(
                        "`where` is about the transaction that is sent, and no output of the map is EDI".to_owned(),
                        "remove the condition, or give the rule a map with an EDI target",
                    )
                })?
            }
        };
        if !matches!(shape.source()?, SourceFormat::Edi(_)) {
            return Err(wrong(
                format!("`where` is about EDI, and {} is not a guide", shape.path().display()),
                "name a guide: guide = \"guides/NAME.guide\"",
            ));
        }
        let written = [WrittenExpression {
            name: "where".to_owned(),
            text: condition.text.clone(),
            span: condition.span.clone(),
            gives: Gives::Truth,
        }];
        let mut findings = Vec::new();
        let remedy = "use the names of the guide; `quayline inspect` lists them";
        let expressions = Expressions::compile(&written, Some(shape), remedy, &condition.file, &mut findings);
        let Some(expressions) = expressions else { return Err(Findings(findings)) };
        if let Some(name) = expressions.envelope_read().first() {
            return Err(wrong(
                format!("`where` reads `envelope.{name}`, and documents of partners have no such value"),
                "read the headers by the guide's names: interchange.sender, group.receiver",
            ));
        }
        let world = Arc::new(World::new(0, self.seed(), Vec::new(), Vec::new()));
        let pipeline = expressions.pipeline(&world, self.limits())?;
        Ok(LoadedCondition { expressions, pipeline, world, files })
    }

    /// Evaluates the condition of a rule for a document in the form of a separate interchange; `None` for a rule without one.
    pub(crate) fn explain_condition(&self, id: RuleId, document: &[u8]) -> Option<Result<bool, Findings>> {
        let holds = |loaded: &LoadedCondition| {
            let mut lane = ConditionLane::new(loaded)?;
            lane.holds(self.now_ms(), document).map_err(Findings)
        };
        Some(self.condition(id)?.map_err(Clone::clone).and_then(holds))
    }
}

impl<'b> Desk<'b> {
    /// Returns the rule that matches a received document. `document` is the document as a separate interchange, if a rule may have to read it.
    pub(crate) fn choose(
        &mut self,
        (own, partner): (usize, Option<usize>),
        query: &Query<'_>,
        watch: &Watch,
        document: Option<&[u8]>,
    ) -> Result<Option<RuleId>, Undecided> {
        let mut undecided = None;
        let book = self.book;
        let chosen = book.choose(own, partner, query, &mut |id, rule| {
            let holds = rule.when.iter().all(|(element, value)| watch.value(element) == Some(value));
            holds
                && (rule.condition.is_none()
                    || document.is_some_and(|document| {
                        self.condition_holds(id, document).unwrap_or_else(|why| {
                            undecided = Some(why);
                            true
                        })
                    }))
        });
        undecided.map_or(Ok(chosen), Err)
    }

    /// Returns true if the condition of a rule holds for a document in the form of a separate interchange.
    pub(crate) fn condition_holds(&mut self, id: RuleId, document: &[u8]) -> Result<bool, Undecided> {
        let book = self.book;
        let Some(number) = book.conditions().number(id) else { return Ok(true) };
        let now_ms = self.now_ms();
        if !self.conditions.contains_key(&number) {
            let loaded = book.condition(id).expect("it has a number").map_err(|Findings(found)| {
                if found.iter().any(|one| one.fault == Fault::Environment) {
                    return Undecided::Stopped(Findings(found.clone()));
                }
                Undecided::Rejected(book.undecided(id, found.clone()))
            })?;
            if self.conditions.len() >= CONDITION_LANES_MAX {
                self.conditions.clear();
            }
            let lane = ConditionLane::new(loaded).map_err(Undecided::Stopped)?;
            self.conditions.insert(number, lane);
        }
        let lane = self.conditions.get_mut(&number).expect("made above");
        lane.holds(now_ms, document).map_err(|found| Undecided::Rejected(book.undecided(id, found)))
    }
}

impl Book {
    /// Adds to the findings of a rejected document that a condition has no value for it.
    pub(crate) fn undecided(&self, id: RuleId, mut found: Vec<Finding>) -> Vec<Finding> {
        let (owner, rule) = (&self.partner(id.owner).name, &self.rule(id).name);
        let message = format!("the condition `where` of rule {owner}/{rule} has no value for the document");
        let hint = "correct the expression, or add conditions so that the rule gets only documents of its guide: version, \
                    application, when; then reprocess the document";
        // Leaves room for the finding that introduces the others.
        found.truncate(crate::FINDINGS_KEPT_MAX - 1);
        found.push(Finding::error(codes::UNDECIDED, Fault::Config, message).hint(hint));
        found
    }
}

/// Conditions whose memory a worker keeps.
const CONDITION_LANES_MAX: usize = 64;
