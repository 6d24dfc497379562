//! One received document: its rule, its map, its deliveries.

use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Place};
use quayline_edi::Standard;
use quayline_project::partner::Direction;

use crate::codes;
use crate::desk::Desk;
use crate::entry::{Details, EntryId, State};
use crate::rules::Query;
use crate::watch::Watch;

/// A document that is processed: the first time, or again.
pub(crate) struct Work<'w> {
    pub(crate) id: EntryId,
    pub(crate) own: usize,
    pub(crate) partner: Option<usize>,
    pub(crate) details: Details,
    pub(crate) place: Place,
    pub(crate) application: String,
    /// The document as an interchange of its own.
    pub(crate) bytes: &'w [u8],
    pub(crate) watch: &'w Watch,
    pub(crate) findings: Vec<Finding>,
}

impl Work<'_> {
    /// Adds a finding of the document.
    pub(crate) fn find(&mut self, mut finding: Finding) {
        if finding.place == Place::default() {
            finding.place = self.place.clone();
        }
        self.details.add_findings([&finding]);
        self.findings.push(finding);
    }

    /// Finds the rule, maps and delivers.
    pub(crate) fn process(&mut self, desk: &mut Desk<'_>) -> Result<State, Findings> {
        let book = desk.book;
        let standard = if self.details.standard == "X12" { Standard::X12 } else { Standard::Edifact };
        let query = Query {
            direction: Direction::Receive,
            standard: Some(standard),
            document: &self.details.document,
            version: &self.details.version,
            application: &self.application,
            test: self.details.test,
        };
        let watch = self.watch;
        let holds = |element: &str, value: &str| watch.value(element) == Some(value);
        let Some(rule_id) = book.choose(self.own, self.partner, &query, &holds) else {
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
        for (name, element) in &rule.fields {
            if let Some(value) = watch.value(element).filter(|value| !value.is_empty()) {
                self.details.fields.push((name.clone(), value.to_owned()));
            }
        }
        let partner = self.partner.map(|partner| book.partner(partner).name.clone()).unwrap_or_default();
        let stem = format!("{partner}-{}-{}", self.details.document, self.id);
        let Some(map) = &rule.map else {
            let to =
                rule.deliver.get("").or_else(|| rule.deliver.values().next()).expect("checked when the file was read");
            let extension = if standard == Standard::X12 { "x12" } else { "edi" };
            let place = desk.deliver(to, self.id, 0, &format!("{stem}.{extension}"), self.bytes)?;
            self.details.outputs.push(place);
            return Ok(State::Delivered);
        };
        let (now_ms, run) = desk.begin_map();
        let lane = desk.lane(map)?;
        lane.map.begin_unit(now_ms, run);
        self.details.map = format!("{:016x}", lane.map.digest);
        let name: Arc<str> = stem.as_str().into();
        let mut report = lane.lane.run(&name, self.bytes, &mut lane.buffers);
        let outputs: Vec<_> = lane.map.outputs.clone();
        // Taken in any case: the buffers are for the next document.
        let bytes: Vec<Vec<u8>> = lane.buffers.iter_mut().map(quayline_pipeline::OutputBuffer::take).collect();
        let lost = report.lost.take().map(|Findings(lost)| lost).unwrap_or_default();
        let is_good = lost.is_empty() && report.tally.records_rejected == 0;
        for finding in report.findings.drain(..).chain(lost) {
            self.find(finding);
        }
        if !is_good {
            return Ok(State::Rejected);
        }
        let several = outputs.len() > 1;
        for (number, (output, bytes)) in (0_u16..).zip(outputs.iter().zip(&bytes)) {
            let Some(to) = rule.deliver.get(&output.name).or_else(|| rule.deliver.get("")) else { continue };
            let name = if several {
                format!("{stem}-{}.{}", output.name, output.extension)
            } else {
                format!("{stem}.{}", output.extension)
            };
            let place = desk.deliver(to, self.id, number, &name, bytes)?;
            self.details.outputs.push(place);
        }
        Ok(State::Delivered)
    }
}
