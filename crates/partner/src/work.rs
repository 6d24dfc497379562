//! One received document: its rule, its map, its deliveries.

use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Place, Severity};
use quayline_edi::Standard;
use quayline_frame::FramingSpec;
use quayline_project::partner::{Delivery, Direction};

use crate::book::Book;
use crate::codes;
use crate::compiled_condition::Undecided;
use crate::desk::Desk;
use crate::details::Details;
use crate::entry::{EntryId, State};
use crate::outbox::name_part;
use crate::outputs::{OutputKind, not_taken};
use crate::rules::{Query, RuleId};
use crate::watch::Watch;

/// A document that is processed: the first time, or again.
pub(crate) struct Work<'w> {
    pub(crate) id: EntryId,
    pub(crate) own: usize,
    pub(crate) partner: Option<usize>,
    pub(crate) details: Details,
    pub(crate) place: Place,
    pub(crate) application: String,
    /// The document as a separate interchange.
    pub(crate) bytes: &'w mut Vec<u8>,
    pub(crate) watch: &'w Watch,
    pub(crate) findings: Vec<Finding>,
    /// True if a map rejected the document, so that its sender has to correct it.
    pub(crate) is_refused_by_map: bool,
}

/// Output of a map for a document.
struct Output {
    /// Name of the output in `deliver`.
    name: String,
    extension: &'static str,
    framing: Option<FramingSpec>,
    bytes: Vec<u8>,
}

impl Work<'_> {
    /// Adds a finding of the document.
    pub(crate) fn find(&mut self, mut finding: Finding) {
        if finding.place == Place::default() {
            finding.place = self.place.clone();
            let document = Some(&self.details.document).filter(|document| !document.is_empty());
            finding.place.path = finding.place.path.take().or_else(|| document.cloned());
        }
        // A map reads the headers around the document again, whose faults are warnings of a document that is processed again.
        let is_of_headers = |known: &Finding| {
            (known.code, &known.message, known.severity) == (finding.code, &finding.message, Severity::Warning)
        };
        if finding.severity == Severity::Error && self.findings.iter().any(is_of_headers) {
            return;
        }
        self.details.add_findings([&finding]);
        self.findings.push(finding);
    }

    /// Records the business fields of the rule that matches the document, also of a document that is not processed: people look for these most.
    pub(crate) fn record_fields(&mut self, book: &Book, rule: Option<RuleId>) {
        let Some(rule) = rule.map(|rule| book.rule(rule)) else { return };
        let value = |element: &String| self.watch.value(element).filter(|value| !value.is_empty());
        let fields = rule.fields.iter().filter_map(|(name, element)| Some((name.clone(), value(element)?.to_owned())));
        self.details.fields = fields.collect();
    }

    /// Rejects a document that its rule delivers to `output` if nothing takes it.
    fn refuse_untaken(&mut self, desk: &Desk<'_>, to: &Delivery) -> Result<(), State> {
        if *to != Delivery::Output || desk.outputs.takes(OutputKind::Document) {
            return Ok(());
        }
        self.find(not_taken(OutputKind::Document));
        Err(State::Rejected)
    }

    /// Returns the rule that matches the document.
    pub(crate) fn rule(&self, desk: &mut Desk<'_>) -> Result<Option<RuleId>, Undecided> {
        let standard = if self.details.standard == "X12" { Standard::X12 } else { Standard::Edifact };
        let query = Query {
            direction: Direction::Receive,
            standard: Some(standard),
            document: &self.details.document,
            version: &self.details.version,
            application: &self.application,
            test: self.details.test,
        };
        desk.choose((self.own, self.partner), &query, self.watch, Some(self.bytes.as_slice()))
    }

    /// Delivers a matched advice to the destination of its rule, if it has a rule.
    pub(crate) fn process_advice(
        &mut self,
        desk: &mut Desk<'_>,
        rule: Option<RuleId>,
        undecided: Vec<Finding>,
    ) -> Result<State, Findings> {
        if rule.is_some() {
            return self.process(desk, rule);
        }
        let state = if undecided.is_empty() { State::Delivered } else { State::Rejected };
        undecided.into_iter().for_each(|finding| self.find(finding));
        Ok(state)
    }

    /// Maps and delivers by a rule.
    pub(crate) fn process(&mut self, desk: &mut Desk<'_>, rule: Option<RuleId>) -> Result<State, Findings> {
        let book = desk.book;
        let Some(rule_id) = rule else {
            let message = format!("no rule takes {} {} of this partner", self.details.document, self.details.version);
            let finding = Finding::error(codes::NO_RULE, Fault::Config, message);
            self.find(finding.hint(format!(
                "add a rule, then run `quayline transaction reprocess {}`; `quayline partner explain` shows what rules look at",
                self.id
            )));
            return Ok(State::Unrouted);
        };
        let rule = book.rule(rule_id);
        self.details.rule = format!("{}/{}", book.partner(rule_id.owner).name, rule.name);
        let partner = self.partner.map(|partner| book.partner(partner).name.clone()).unwrap_or_default();
        let stem = format!("{partner}-{}-{}", name_part(&self.details.document), self.id);
        if rule.maps.is_empty() {
            let to =
                rule.deliver.get("").or_else(|| rule.deliver.values().next()).expect("checked when the file was read");
            let extension = if self.details.standard == "X12" { "x12" } else { "edi" };
            let place = match self.refuse_untaken(desk, to) {
                Ok(()) => {
                    let name = format!("{stem}.{extension}");
                    desk.deliver(to, OutputKind::Document, (self.id, 0), &name, self.bytes.as_slice().into())?
                }
                Err(state) => return Ok(state),
            };
            self.details.outputs.push(place);
            return Ok(State::Delivered);
        }
        let name: Arc<str> = stem.as_str().into();
        let mut all: Vec<Output> = Vec::new();
        let mut made = 0;
        let mut is_good = true;
        let mut is_our_fault = false;
        // Every map runs, so that all findings are reported; one that rejects the document keeps all outputs back.
        for map in &rule.maps {
            let (now_ms, run) = desk.begin_map();
            let lane = match desk.lane(map) {
                Ok(lane) => lane,
                // A map that cannot be used holds back its own documents, and those of no other partner.
                Err(Findings(found)) if found.iter().all(|one| one.fault != Fault::Environment) => {
                    for finding in found {
                        self.find(finding);
                    }
                    let message = format!("the map {} cannot be used", map.path.display());
                    let hint = format!("correct the map, then run `quayline transaction reprocess {}`", self.id);
                    self.find(Finding::error(codes::MAP, Fault::Config, message).hint(hint));
                    return Ok(State::Rejected);
                }
                Err(findings) => return Err(findings),
            };
            lane.map.begin_unit(now_ms, run);
            if !self.details.map.is_empty() {
                self.details.map.push(',');
            }
            self.details.map.push_str(&lane.map.digits);
            let mut report = lane.lane.run_held(&name, self.bytes, &mut lane.buffers);
            made += lane.buffers.len();
            // Taken in any case: the buffers are for the next document. An output whose document the map drops is not delivered.
            let bytes = lane.buffers.iter_mut().map(|buffer| (buffer.is_empty(), buffer.take()));
            let names = lane.map.delivery_names(rule, map);
            let outputs = lane.map.outputs.iter().zip(names).zip(bytes).filter(|(_, (is_empty, _))| !is_empty);
            all.extend(outputs.map(|((facts, name), (_, bytes))| Output {
                name,
                extension: facts.extension,
                framing: facts.framing,
                bytes,
            }));
            let lost = report.lost.take().map(|Findings(lost)| lost).unwrap_or_default();
            is_good &= lost.is_empty() && report.tally.records_rejected == 0;
            for finding in report.findings.drain(..).chain(lost) {
                // For example, if a look-up cannot be read, the sender has nothing to correct.
                is_our_fault |=
                    finding.severity == Severity::Error && matches!(finding.fault, Fault::Config | Fault::Environment);
                self.find(finding);
            }
        }
        if !is_good {
            self.is_refused_by_map = !is_our_fault;
            return Ok(State::Rejected);
        }
        let several = made > 1;
        let to = |output: &Output| rule.deliver.get(&output.name).or_else(|| rule.deliver.get(""));
        // Everything that can fail comes before the first delivery. A document may need no answer.
        let mut answers = Vec::new();
        let is_answer = |output: &&Output| to(output) == Some(&Delivery::Answer) && !output.bytes.is_empty();
        for output in all.iter().filter(is_answer) {
            let Some(partner) = self.partner else {
                let finding = Finding::error(
                    codes::NO_PARTNER,
                    Fault::Config,
                    "a document without a partner has no sender to answer",
                );
                self.find(finding.hint("add the sender to a partner file, then reprocess the document"));
                return Ok(State::Rejected);
            };
            match desk.prepare_answer((self.own, partner), self.details.test, &output.bytes) {
                Ok(pieces) => answers.extend(pieces),
                Err(Findings(found)) => {
                    for finding in found {
                        self.find(
                            finding.hint(format!(
                                "correct the map's output `{}`, then reprocess the document",
                                output.name
                            )),
                        );
                    }
                    return Ok(State::Rejected);
                }
            }
        }
        if let Some(to) = all.iter().filter_map(to).find(|to| **to == Delivery::Output)
            && let Err(state) = self.refuse_untaken(desk, to)
        {
            return Ok(state);
        }
        let into_file = |output: &Output| matches!(to(output), Some(Delivery::File(_)));
        let before = if all.iter().any(into_file) { Some(desk.mark()?) } else { None };
        for (number, output) in (0_u16..).zip(&mut all) {
            let Some(to) = to(output).filter(|to| **to != Delivery::Answer) else { continue };
            if let Delivery::File(file) = to {
                match desk.insert(file, output.framing.as_ref(), &output.bytes)? {
                    Ok(()) => self.details.outputs.push(to.to_string()),
                    Err(finding) => {
                        if let Some(before) = before {
                            desk.back_to(before)?;
                        }
                        self.details.outputs.clear();
                        self.find(finding);
                        return Ok(State::Rejected);
                    }
                }
                continue;
            }
            let name = if several {
                let part = name_part(&output.name);
                // Two names of outputs may have the same part.
                let part = if part == output.name { part } else { format!("{part}-{number}") };
                format!("{stem}-{part}.{}", output.extension)
            } else {
                format!("{stem}.{}", output.extension)
            };
            let bytes = std::mem::take(&mut output.bytes);
            let place = desk.deliver(to, OutputKind::Document, (self.id, number), &name, bytes.into())?;
            self.details.outputs.push(place);
        }
        if !answers.is_empty() {
            let entries = desk.answer(self.id, answers)?;
            self.details.outputs.extend(entries.iter().map(|id| format!("entry {id}")));
        }
        Ok(State::Delivered)
    }
}
