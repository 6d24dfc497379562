//! Explanation of how a document is processed: its parties, every rule that was tried, and the origin of each setting.

use quayline_core::Findings;
use quayline_edi::{Closed, EndOfInput, EnvelopeReader, Event, Header, Rules, Standard};
use quayline_project::partner::{Direction, Settings};

use crate::book::Book;
use crate::code_sets::ExtendedHeaders;
use crate::envelope::{begin_alone, end_alone, version_of};
use crate::rules::{Query, RuleId};
use crate::watch::Watch;

/// Explanation of how one document is processed.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Type and version.
    pub document: (String, String),
    /// Our identity, by name; `None` where the receiver is not one.
    pub own: Option<String>,
    /// The partner, by name; `None` where the sender is not one.
    pub partner: Option<String>,
    /// Places of our identity and the partner: their files, or `store:NAME`.
    pub sources: [Option<String>; 2],
    /// True if the interchange is a test.
    pub test: bool,
    /// Rules in the order in which they are tried: file and name, and the reason if the rule does not match.
    pub rules: Vec<(String, Option<String>)>,
    /// Map and deliveries of the rule that takes it.
    pub outcome: Option<(String, Vec<String>)>,
    /// Effective settings: key, value, and the layer that sets it.
    pub settings: Vec<(&'static str, String, String)>,
}

/// Properties of a document after its header was read: our number, the partner's, the query without its texts, document, version, application.
type Arrived<'q> = (Option<usize>, Option<usize>, Query<'q>, String, String, String);

impl Book {
    /// Explains each transaction of interchanges that were received.
    ///
    /// # Errors
    /// The bytes are not interchanges.
    pub fn explain(&self, bytes: &[u8]) -> Result<Vec<Explanation>, Findings> {
        let mut reader = EnvelopeReader::new(self.limits(), Rules::Lenient);
        let mut pass = reader.over(bytes, EndOfInput::Yes);
        let mut all = Vec::new();
        let mut watch = Watch::of_rules(self.partners().iter().flat_map(|partner| &partner.rules));
        let (mut text, mut begin, mut from) = (Vec::new(), 0, 0);
        let mut header: Option<Arrived<'_>> = None;
        let mut headers = ExtendedHeaders::default();
        loop {
            let event = pass.advance();
            match event {
                Event::TransactionStart => {
                    watch.clear();
                    if watch.reads_document {
                        let interchange = pass.interchange();
                        let delimiters = interchange.delimiters();
                        let service = (delimiters.standard == Standard::Edifact).then_some(delimiters);
                        let unchanged = headers.before_message();
                        begin_alone(service, (interchange, pass.group()), unchanged.as_deref(), &mut text);
                        (begin, from) = (text.len(), pass.segment_start());
                    }
                    let text = |header: &Header, name: &str| crate::time::text_of(&header.field(name));
                    let (sender, receiver) = self.parties(pass.interchange());
                    let transaction = pass.transaction();
                    let standard = transaction.delimiters().standard;
                    let application = match standard {
                        Standard::X12 => pass.group().map(|group| text(group, "receiver")).unwrap_or_default(),
                        Standard::Edifact => text(pass.interchange(), "application_reference"),
                    };
                    let query = Query {
                        direction: Direction::Receive,
                        standard: Some(standard),
                        document: "",
                        version: "",
                        application: "",
                        test: pass.interchange().is_test(),
                    };
                    let own = receiver.filter(|number| self.partner(*number).is_own);
                    let partner = sender.filter(|number| !self.partner(*number).is_own);
                    let version = version_of(transaction, pass.group());
                    header = Some((own, partner, query, text(transaction, "type"), version, application));
                }
                Event::Segment if pass.in_transaction() => watch.segment(&pass.segment(), pass.interchange()),
                Event::TransactionEnd(closed) => {
                    if watch.reads_document {
                        let end = match closed {
                            Closed::ByTrailer => pass.consumed(),
                            Closed::Unclosed => pass.segment_start(),
                        };
                        text.extend_from_slice(&bytes[from.min(end)..end]);
                        end_alone(pass.interchange(), pass.group(), begin, &mut text);
                    }
                    if let Some((own, partner, query, document, version, application)) = header.take() {
                        let query =
                            Query { document: &document, version: &version, application: &application, ..query };
                        all.push(self.explain_query(
                            own,
                            partner,
                            &query,
                            &|element| watch.value(element).map(str::to_owned),
                            watch.reads_document.then_some(text.as_slice()),
                        ));
                    }
                }
                Event::Done => break,
                _ => {}
            }
            headers.see(event, &pass, bytes);
        }
        Ok(all)
    }

    /// Explains the processing of a document from its known properties. `value` returns elements of its content, and `bytes` is the document as a
    /// separate interchange.
    #[must_use]
    pub fn explain_query(
        &self,
        own: Option<usize>,
        partner: Option<usize>,
        query: &Query<'_>,
        value: &dyn Fn(&str) -> Option<String>,
        bytes: Option<&[u8]>,
    ) -> Explanation {
        let ours = own.unwrap_or(self.own()[0]);
        let mut rules = Vec::new();
        let mut taken: Option<RuleId> = None;
        self.rules().each(&Book::owners(ours, partner), query, &mut |id| {
            let rule = self.rule(id);
            let name = format!("{}/{}", self.partner(id.owner).name, rule.name);
            let unmet = rule.when.iter().find(|(element, wanted)| value(element).as_ref() != Some(wanted));
            let why = unmet.map(|(element, wanted)| match value(element) {
                Some(_) => format!("{element} is not {wanted}"),
                None => format!("{element} is missing, expected {wanted}"),
            });
            let mut is_undecided = false;
            let why = why.or_else(|| {
                let condition = rule.condition.as_ref()?;
                match bytes.map(|bytes| self.explain_condition(id, bytes)) {
                    None => Some("its `where` reads the document, which is not given".to_owned()),
                    Some(None | Some(Ok(true))) => None,
                    Some(Some(Ok(false))) => Some(format!("it is not true that {}", one_line(&condition.text))),
                    Some(Some(Err(Findings(found)))) => {
                        is_undecided = true;
                        let first = found.first().map(|first| format!(": {} ({})", first.message, first.code));
                        let first = first.unwrap_or_default();
                        Some(format!(
                            "its `where` has no value for the document, so Quayline rejects the document{first}"
                        ))
                    }
                }
            });
            if why.is_none() {
                taken = Some(id);
            }
            rules.push((name, why));
            taken.is_some() || is_undecided
        });
        let outcome = taken.map(|id| {
            let rule = self.rule(id);
            let maps: Vec<String> = rule.maps.iter().map(|map| map.path.display().to_string()).collect();
            let map = if maps.is_empty() { "no map".to_owned() } else { maps.join(", ") };
            let to = rule
                .deliver
                .iter()
                .map(|(name, to)| if name.is_empty() { to.to_string() } else { format!("{name} to {to}") });
            (map, to.collect())
        });
        let mut settings: Vec<(&'static str, String, String)> = Vec::new();
        if let Some(partner) = partner {
            for layer in self.layers(ours, partner, taken) {
                for (key, text) in given(layer.settings) {
                    if !settings.iter().any(|(known, ..)| *known == key) {
                        settings.push((key, text, layer.name.clone()));
                    }
                }
            }
            settings.sort_by_key(|(key, ..)| *key);
        }
        Explanation {
            document: (query.document.to_owned(), query.version.to_owned()),
            own: own.map(|own| self.partner(own).name.clone()),
            partner: partner.map(|partner| self.partner(partner).name.clone()),
            sources: [own, partner].map(|number| number.map(|number| self.partner(number).path.display().to_string())),
            test: query.test,
            rules,
            outcome,
            settings,
        }
    }
}

/// Joins the lines of an expression for use in a sentence.
fn one_line(expression: &str) -> String {
    expression.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn given(settings: &Settings) -> Vec<(&'static str, String)> {
    settings.given()
}
