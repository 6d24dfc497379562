//! The findings of a run as standard error shows them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use quayline_convert::Report;
use quayline_core::{Code, Finding, Severity};

use crate::console::Console;
use crate::render::{count_of, grouped};

/// Maximum number of printed findings of one run. The rest is counted, and all are in a file beside the rejects.
const FINDINGS_SHOWN: usize = 10;

/// What one run says about its documents.
pub(crate) struct Summary {
    /// Findings about documents. In text, equal ones are one with a count.
    pub(crate) findings: Vec<Finding>,
    /// Findings that begin with their count.
    pub(crate) repeated: Vec<Finding>,
    /// Number of the other findings, by code.
    unshown: Option<String>,
}

impl Summary {
    /// Summarises the findings that `is_worth` accepts. With JSON output, all findings of the report are shown.
    pub(crate) fn of(report: &Report, console: &Console, is_worth: impl Fn(&Finding) -> bool) -> Summary {
        let findings = report.findings.iter().filter(|finding| is_worth(finding));
        let repeated = report.repeated.iter().filter(|finding| is_worth(finding));
        if console.json() {
            return Summary {
                findings: findings.cloned().collect(),
                repeated: repeated.cloned().collect(),
                unshown: None,
            };
        }
        // Codes with their number of findings. The report counts those beyond its limit, but not those about a head.
        let mut rest: Vec<(Code, u64)> = Vec::new();
        for finding in findings.clone() {
            if !rest.iter().any(|(code, _)| *code == finding.code) {
                let listed = findings.clone().filter(|other| other.code == finding.code).count() as u64;
                let counted = report.findings_by_code.iter().find(|(code, _)| *code == finding.code);
                rest.push((finding.code, listed.max(counted.map_or(0, |(_, count)| *count))));
            }
        }
        // Codes of which the report has counts only. If some findings are left out, such codes may be left out too.
        let is_whole = report.findings.iter().all(&is_worth);
        for (code, count) in report.findings_by_code.iter().filter(|_| is_whole) {
            if !report.findings.iter().chain(&report.repeated).any(|finding| finding.code == *code) {
                rest.push((*code, *count));
            }
        }
        let shown = without_repeats(findings);
        for (finding, more) in &shown {
            if let Some((_, count)) = rest.iter_mut().find(|(code, _)| *code == finding.code) {
                *count -= more + 1;
            }
        }
        for finding in repeated.clone().skip(FINDINGS_SHOWN) {
            match rest.iter_mut().find(|(code, _)| *code == finding.code) {
                Some((_, count)) => *count += 1,
                None => rest.push((finding.code, 1)),
            }
        }
        rest.retain(|(_, count)| *count > 0);
        let all: u64 = rest.iter().map(|(_, count)| count).sum();
        let by_code: Vec<String> = rest.iter().map(|(code, count)| format!("{} {code}", grouped(*count))).collect();
        // The line about the rejects names the file with their findings.
        let is_listed = rest.iter().map(|(_, count)| count).sum::<u64>() <= report.findings.len() as u64;
        let remedy = match (report.rejects.is_some(), is_listed) {
            (true, _) => "",
            (false, true) => "; `--json` shows them",
            (false, false) => "; `--rejects FILE` keeps all of them",
        };
        Summary {
            findings: shown.into_iter().map(with_count).collect(),
            repeated: repeated.take(FINDINGS_SHOWN).cloned().collect(),
            unshown: (all > 0)
                .then(|| format!("{} not shown: {}{remedy}", count_of(all, "more finding"), by_code.join(", "))),
        }
    }

    /// Prints the findings and the number of those that are not shown.
    pub(crate) fn tell(&self, console: &Console) {
        console.findings(&self.findings);
        console.findings(&self.repeated);
        if let Some(unshown) = &self.unshown {
            console.paragraph(unshown);
        }
    }
}

/// Groups findings that differ only in their positions. Returns the first ones with the number of their repetitions, in their order. Errors come
/// before others that are more than the limit.
fn without_repeats<'f>(findings: impl Iterator<Item = &'f Finding> + Clone) -> Vec<(Finding, u64)> {
    let key = |of: &Finding| (of.code, of.message.clone(), of.place.file.clone(), of.place.path.clone());
    let mut once: Vec<(usize, Finding, u64)> = Vec::new();
    for errors in [true, false] {
        let numbered = findings.clone().enumerate();
        for (at, finding) in numbered.filter(|(_, finding)| (finding.severity == Severity::Error) == errors) {
            match once.iter().position(|(_, first, _)| key(first) == key(finding)) {
                Some(known) => once[known].2 += 1,
                None if once.len() < FINDINGS_SHOWN => once.push((at, finding.clone(), 0)),
                None => {}
            }
        }
    }
    once.sort_by_key(|(at, ..)| *at);
    once.into_iter().map(|(_, finding, more)| (finding, more)).collect()
}

/// Reports findings that differ only in their positions once, each with its count.
pub(crate) fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut once: Vec<(Finding, u64)> = Vec::new();
    let mut known: HashMap<_, usize> = HashMap::new();
    for finding in findings {
        let place = (finding.place.file.clone(), finding.place.path.clone());
        match known.entry((finding.code, finding.message.clone(), place)) {
            Entry::Occupied(at) => once[*at.get()].1 += 1,
            Entry::Vacant(entry) => {
                entry.insert(once.len());
                once.push((finding, 0));
            }
        }
    }
    once.into_iter().map(with_count).collect()
}

fn with_count((mut finding, more): (Finding, u64)) -> Finding {
    if more > 0 {
        finding.message += &format!(" ({} more like this one)", grouped(more));
    }
    finding
}
