//! Survey of a file of interchanges: counts of everything, in memory that does not depend on its length.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use quayline_core::{Code, Finding, Limits, Severity};
use quayline_edi::acknowledge::{AcknowledgmentReader, Report};
use quayline_edi::{Delimiters, EnvelopePass, EnvelopeReader, Event, Header, LineBreak, Rules, Standard};

use super::feed::Feed;

/// Survey of a file of interchanges.
///
/// Counts are of the whole file; lists are bounded and have a count of the omitted entries.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Survey {
    /// Bytes read.
    pub bytes: u64,
    /// Interchanges.
    pub interchanges: u64,
    /// Functional groups.
    pub groups: u64,
    /// Transaction sets and messages.
    pub transactions: u64,
    /// Segments, those of envelopes included.
    pub segments: u64,
    /// The first interchanges, at most [`Survey::SHOWN_MAX`].
    pub first: Vec<InterchangeFacts>,
    /// Pairs of sender and receiver in the order of the file; at most [`Survey::KINDS_MAX`].
    pub partners: Vec<Partners>,
    /// Types and versions of transactions in the order of the file; at most [`Survey::KINDS_MAX`].
    pub kinds: Vec<TransactionKind>,
    /// Interchanges of partners, and transactions of kinds, that the lists have no room for.
    pub unlisted: u64,
    /// Reports of the acknowledgments in the file, in order: the first [`Survey::KINDS_MAX`], with at most [`Survey::FAULTS_MAX`] reported segments in
    /// all.
    pub answers: Vec<Report>,
    /// Number of further reports.
    pub answers_unlisted: u64,
    /// The first things that are wrong with envelopes, at most `Limits::findings_max`.
    pub findings: Vec<Finding>,
    /// Number of findings by code.
    pub findings_by_code: Vec<(Code, u64)>,
    /// Number of findings that are errors.
    pub errors: u64,
}

/// An interchange.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InterchangeFacts {
    /// First byte of its header.
    pub byte: u64,
    /// X12 or EDIFACT.
    pub standard: Standard,
    /// Delimiters of the interchange.
    pub delimiters: Delimiters,
    /// True if the interchange begins with UNA.
    pub una: bool,
    /// Line break after segment terminators.
    pub line_break: LineBreak,
    /// ISA12, or the syntax version of UNB.
    pub version: String,
    /// The syntax identifier of UNB, which names the character set.
    pub character_set: Option<String>,
    /// Sender, with the qualifier.
    pub sender: (String, String),
    /// Receiver, with the qualifier.
    pub receiver: (String, String),
    /// Date, as written.
    pub date: String,
    /// Time, as written.
    pub time: String,
    /// ISA13, UNB 0020.
    pub control_number: String,
    /// Marked as a test.
    pub is_test: bool,
    /// Functional groups in it.
    pub groups: u64,
    /// Transactions in it.
    pub transactions: u64,
}

/// Interchanges of one pair of partners.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Partners {
    /// Sender, with the qualifier.
    pub sender: (String, String),
    /// Receiver, with the qualifier.
    pub receiver: (String, String),
    /// Interchanges.
    pub interchanges: u64,
    /// Transactions in them.
    pub transactions: u64,
}

/// Transactions of one type and version.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TransactionKind {
    /// X12 or EDIFACT.
    pub standard: Standard,
    /// ST01, UNH 0065.
    pub transaction: String,
    /// ST03, otherwise GS08; for EDIFACT, version, release, agency and association code of UNH.
    pub version: String,
    /// GS01, UNG 0038.
    pub functional_group: Option<String>,
    /// Number of transactions.
    pub count: u64,
    /// Segments in all of them, headers and trailers included.
    pub segments: u64,
    /// Segments of the longest.
    pub segments_max: u64,
}

impl Survey {
    /// Interchanges that are described one by one.
    pub const SHOWN_MAX: usize = 100;
    /// Maximum number of distinct partners and of distinct kinds of transactions.
    pub const KINDS_MAX: usize = 1_000;
    /// Maximum number of segments kept from all acknowledgments.
    pub const FAULTS_MAX: usize = 10_000;

    /// Reads a source to its end.
    ///
    /// # Errors
    /// The reader's.
    pub fn of(name: &Arc<str>, source: Box<dyn Read + Send>, limits: &Limits) -> io::Result<Survey> {
        let all = Limits { findings_max: usize::MAX, ..limits.clone() };
        let mut reader = EnvelopeReader::new(&all, Rules::Lenient);
        let mut course = RunningSurvey { name, findings_max: limits.findings_max, ..RunningSurvey::new(name) };
        let mut feed = Feed::new(source);
        let mut done = 0;
        loop {
            feed.advance(done)?;
            let (input, end) = feed.input();
            let mut pass = reader.over(input, end);
            let ended = course.pass(&mut pass);
            done = pass.finish();
            course.survey.bytes += done as u64;
            if ended {
                return Ok(course.survey);
            }
        }
    }
}

/// A survey under way.
struct RunningSurvey<'n> {
    name: &'n Arc<str>,
    findings_max: usize,
    survey: Survey,
    partners: BTreeMap<[(String, String); 2], usize>,
    kinds: BTreeMap<(bool, String, String, Option<String>), usize>,
    counts: BTreeMap<Code, u64>,
    /// Indices in the lists for the open interchange, group and transaction.
    open_partners: Option<usize>,
    open_kind: Option<usize>,
    shown: bool,
    segments: u64,
    answers: AcknowledgmentReader,
    answered_segments: usize,
}

impl<'n> RunningSurvey<'n> {
    fn new(name: &'n Arc<str>) -> Self {
        RunningSurvey {
            name,
            findings_max: 0,
            survey: Survey::default(),
            partners: BTreeMap::new(),
            kinds: BTreeMap::new(),
            counts: BTreeMap::new(),
            open_partners: None,
            open_kind: None,
            shown: false,
            segments: 0,
            answers: AcknowledgmentReader::default(),
            answered_segments: 0,
        }
    }

    /// Processes the events. Returns true at the end of the source.
    fn pass(&mut self, pass: &mut EnvelopePass<'_>) -> bool {
        loop {
            let event = pass.advance();
            if pass.has_faults() {
                self.faults(pass);
            }
            let (survey, segments) = (&mut self.survey, &mut self.answered_segments);
            self.answers.event(event, pass, &mut |report| answered(report, survey, segments));
            match event {
                Event::Segment => {
                    self.segments += 1;
                    continue;
                }
                Event::InterchangeStart => self.interchange(pass),
                Event::GroupStart => {
                    self.survey.segments += 1;
                    self.survey.groups += 1;
                    if let (true, Some(facts)) = (self.shown, self.survey.first.last_mut()) {
                        facts.groups += 1;
                    }
                }
                Event::TransactionStart => self.transaction(pass),
                Event::TransactionEnd(closed) => {
                    let segments = core::mem::take(&mut self.segments);
                    let segments = segments + 1 + u64::from(closed == quayline_edi::Closed::ByTrailer);
                    self.survey.segments += segments;
                    if let Some(kind) = self.open_kind.take() {
                        let kind = &mut self.survey.kinds[kind];
                        kind.segments += segments;
                        kind.segments_max = kind.segments_max.max(segments);
                    }
                }
                Event::GroupEnd(closed) | Event::InterchangeEnd(closed) => {
                    let trailer = u64::from(closed == quayline_edi::Closed::ByTrailer);
                    self.survey.segments += core::mem::take(&mut self.segments) + trailer;
                }
                Event::NeedMore => return false,
                Event::Done => {
                    self.survey.segments += core::mem::take(&mut self.segments);
                    self.survey.findings_by_code = core::mem::take(&mut self.counts).into_iter().collect();
                    return true;
                }
            }
            // What the style is, the second segment tells.
            if self.shown
                && event != Event::InterchangeStart
                && let Some(facts) = self.survey.first.last_mut()
            {
                (facts.line_break, facts.una) = pass.style();
                facts.delimiters = *pass.delimiters();
            }
        }
    }

    #[cold]
    fn faults(&mut self, pass: &mut EnvelopePass<'_>) {
        for fault in pass.take_faults() {
            *self.counts.entry(fault.error.code()).or_default() += 1;
            self.survey.errors += u64::from(fault.severity == Severity::Error);
            if self.survey.findings.len() < self.findings_max {
                self.survey.findings.push(fault.finding(Some(self.name)));
            }
        }
    }

    fn interchange(&mut self, pass: &EnvelopePass<'_>) {
        let header = pass.interchange();
        let survey = &mut self.survey;
        survey.segments += 1;
        survey.interchanges += 1;
        let partner = |role: &str| (text(header, role), text(header, &format!("{role}_qualifier")));
        let (sender, receiver) = (partner("sender"), partner("receiver"));
        self.shown = survey.first.len() < Survey::SHOWN_MAX;
        if self.shown {
            let delimiters = *header.delimiters();
            let edifact = delimiters.standard == Standard::Edifact;
            survey.first.push(InterchangeFacts {
                byte: header.position().byte.0,
                standard: delimiters.standard,
                delimiters,
                una: false,
                line_break: LineBreak::None,
                version: text(header, if edifact { "syntax_version" } else { "version" }),
                character_set: edifact.then(|| text(header, "syntax_identifier")),
                sender: sender.clone(),
                receiver: receiver.clone(),
                date: text(header, "date"),
                time: text(header, "time"),
                control_number: text(header, "control_number"),
                is_test: header.is_test(),
                groups: 0,
                transactions: 0,
            });
        }
        let key = [sender, receiver];
        let known = self.partners.get(&key).copied();
        let at = known.or_else(|| {
            (survey.partners.len() < Survey::KINDS_MAX).then(|| {
                let [sender, receiver] = key.clone();
                survey.partners.push(Partners { sender, receiver, interchanges: 0, transactions: 0 });
                self.partners.insert(key, survey.partners.len() - 1);
                survey.partners.len() - 1
            })
        });
        match at {
            Some(at) => survey.partners[at].interchanges += 1,
            None => survey.unlisted += 1,
        }
        self.open_partners = at;
    }

    fn transaction(&mut self, pass: &EnvelopePass<'_>) {
        // What stood outside, before it.
        self.survey.segments += core::mem::take(&mut self.segments);
        let survey = &mut self.survey;
        survey.transactions += 1;
        if let Some(at) = self.open_partners {
            survey.partners[at].transactions += 1;
        }
        if let (true, Some(facts)) = (self.shown, survey.first.last_mut()) {
            facts.transactions += 1;
        }
        let header = pass.transaction();
        let standard = header.delimiters().standard;
        let version = match standard {
            Standard::X12 => {
                let own = text(header, "implementation");
                if own.is_empty() { pass.group().map_or_else(String::new, |group| text(group, "version")) } else { own }
            }
            Standard::Edifact => {
                let parts = ["version", "release", "agency", "association"].map(|name| text(header, name));
                parts.join(":").trim_end_matches(':').to_owned()
            }
        };
        let group = pass.group().map(|group| text(group, "functional_id"));
        let key = (standard == Standard::Edifact, text(header, "type"), version, group);
        let known = self.kinds.get(&key).copied();
        let at = known.or_else(|| {
            (survey.kinds.len() < Survey::KINDS_MAX).then(|| {
                let (_, transaction, version, functional_group) = key.clone();
                survey.kinds.push(TransactionKind {
                    standard,
                    transaction,
                    version,
                    functional_group,
                    count: 0,
                    segments: 0,
                    segments_max: 0,
                });
                self.kinds.insert(key, survey.kinds.len() - 1);
                survey.kinds.len() - 1
            })
        });
        match at {
            Some(at) => survey.kinds[at].count += 1,
            None => survey.unlisted += 1,
        }
        self.open_kind = at;
    }
}

/// Keeps the content of an acknowledgment while there is room.
fn answered(report: Report, survey: &mut Survey, segments: &mut usize) {
    *segments += match &report {
        Report::Transaction(transaction) => transaction.segments.len(),
        Report::Interchange(_) | Report::Group(_) => 0,
    };
    if survey.answers.len() < Survey::KINDS_MAX && *segments <= Survey::FAULTS_MAX {
        survey.answers.push(report);
    } else {
        survey.answers_unlisted += 1;
    }
}

/// Returns a header field as text; bytes beyond ASCII are read as Latin-1.
fn text(header: &Header, field: &str) -> String {
    header.field(field).iter().map(|byte| char::from(*byte)).collect()
}
