//! Selection of the rule for a document to send.
//!
//! The sender's document name selects the map, before the map's output is known. Conditions on standard, version, application, test and content
//! apply to the resulting transaction. Therefore each transaction gets the most specific matching rule among the rules with the same map.

use quayline_core::{Fault, Finding, Findings};
use quayline_project::partner::{Direction, Rule, RuleMap, Usage};

use crate::book::Book;
use crate::codes;
use crate::compiled_condition::Undecided;
use crate::desk::Desk;
use crate::envelope::{Piece, Wanted};
use crate::rules::{Query, RuleId, has_conditions};
use crate::send_target::Target;

/// The rules that documents of a source may have.
pub(crate) struct SendRules {
    /// Name that the sender gives the documents; empty for interchanges that are sent unchanged.
    document: String,
    owners: Vec<usize>,
    /// The rule of documents, unless a more specific one fits the transaction.
    pub(crate) usual: Option<RuleId>,
    /// The rule by which outputs that are not EDI are delivered.
    pub(crate) first: Option<RuleId>,
    /// The maps that all of these rules have.
    pub(crate) maps: Vec<RuleMap>,
    /// True if another rule may match the transaction.
    has_conditions: bool,
    /// Elements that these rules look at, or find documents by.
    references: Vec<String>,
    /// True if one of the rules has to read the whole document.
    reads_document: bool,
}

impl SendRules {
    /// Selects the rules for the documents of a source.
    pub(crate) fn of(book: &Book, own: usize, to: Option<usize>, document: &str) -> Result<SendRules, Findings> {
        let query =
            Query { direction: Direction::Send, standard: None, document, version: "", application: "", test: false };
        let owners = Book::owners(own, to);
        let sends = |rule: &&Rule| {
            let fits = match &rule.document {
                // Interchanges are sent as they are by rules without a map, whatever type of transaction they are for.
                _ if document.is_empty() => rule.maps.is_empty(),
                Some(known) => known == document,
                None => true,
            };
            rule.direction == Direction::Send && fits
        };
        let mut usual = None;
        book.rules().each(&owners, &query, &mut |id| {
            let rule = book.rule(id);
            let fits = sends(&rule) && rule.when.is_empty() && rule.condition.is_none();
            usual = Some(id).filter(|_| fits && !has_conditions(rule));
            fits
        });
        let all = || owners.iter().flat_map(|owner| &book.partner(*owner).rules).filter(sends);
        let maps = match usual {
            Some(id) => book.rule(id).maps.clone(),
            None => all().find(|rule| rule.document.is_some()).map(|rule| rule.maps.clone()).unwrap_or_default(),
        };
        if usual.is_none() && !document.is_empty() && all().next().is_none() {
            let message = match to {
                Some(to) => format!("no rule sends `{document}` to {}", book.partner(to).name),
                None => format!("no rule of your own file sends `{document}`"),
            };
            let hint = "add a [[rule]] with direction = \"send\" and this document, or name the partner with --to";
            return Err(Finding::error(codes::NO_RULE, Fault::Config, message).hint(hint).into());
        }
        let first = usual.or_else(|| {
            let all = owners
                .iter()
                .flat_map(|owner| (0..book.partner(*owner).rules.len()).map(|rule| RuleId { owner: *owner, rule }));
            all.into_iter().find(|id| sends(&book.rule(*id)) && book.rule(*id).maps == maps)
        });
        let mut references: Vec<String> = Vec::new();
        let (mut conditions, mut reads_document) = (false, false);
        for rule in all().filter(|rule| rule.maps == maps) {
            conditions |= has_conditions(rule) || document.is_empty() && rule.document.is_some();
            reads_document |= rule.condition.is_some();
            let elements = rule.when.iter().map(|(element, _)| element);
            for element in elements.chain(rule.fields.iter().map(|(_, element)| element)) {
                if !references.contains(element) {
                    references.push(element.clone());
                }
            }
        }
        let document = document.to_owned();
        Ok(SendRules { document, owners, usual, first, maps, has_conditions: conditions, references, reads_document })
    }

    /// Returns the parts of each transaction that these rules need.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted { elements: &self.references, alone: self.reads_document }
    }
}

impl Desk<'_> {
    /// Gives a document the rule that fits its transaction.
    pub(crate) fn with_rule(
        &mut self,
        target: Result<Target, Box<Finding>>,
        rules: &SendRules,
        piece: &Piece,
        text: &[u8],
    ) -> Result<Result<Target, Box<Finding>>, Findings> {
        let Ok(mut target) = target else { return Ok(target) };
        if !rules.has_conditions {
            return Ok(Ok(target));
        }
        let document = piece.alone(text);
        let book = self.book;
        let query = Query {
            direction: Direction::Send,
            standard: Some(piece.delimiters.standard),
            document: if rules.document.is_empty() { &piece.document } else { &rules.document },
            version: &piece.version,
            application: &piece.application,
            test: target.settings.usage == Some(Usage::Test),
        };
        let mut chosen = None;
        let mut undecided = None;
        book.rules().each(&rules.owners, &query, &mut |id| {
            let rule = book.rule(id);
            let fits = |(element, value): &(String, String)| piece.value(element) == Some(value.as_str());
            if rule.maps != rules.maps || !rule.when.iter().all(fits) {
                return false;
            }
            if rule.condition.is_some() {
                match document.as_ref().map_or(Ok(false), |document| self.condition_holds(id, document)) {
                    Ok(true) => {}
                    Ok(false) => return false,
                    Err(why) => {
                        undecided = Some(why);
                        return true;
                    }
                }
            }
            chosen = Some(id);
            true
        });
        match undecided {
            None => {}
            Some(Undecided::Stopped(findings)) => return Err(findings),
            // The reason is the last, and what it is about comes before it.
            Some(Undecided::Rejected(mut found)) => {
                let mut why = found.pop().expect("the reason is always there");
                if let Some(first) = found.first() {
                    why.message = format!("{}: {} ({})", why.message, first.message, first.code);
                }
                return Ok(Err(Box::new(why)));
            }
        }
        if chosen.is_none() && !rules.document.is_empty() {
            let message = format!(
                "no rule for `{}` fits what is sent: {} {} {}",
                rules.document,
                piece.delimiters.standard.name(),
                piece.document,
                piece.version
            );
            let hint = "add a rule without conditions, or correct theirs; `quayline partner explain --send` shows them";
            return Ok(Err(Box::new(Finding::error(codes::NO_RULE, Fault::Config, message).hint(hint))));
        }
        target.rule = chosen;
        target.settings = book.settings_of_rule(target.own, target.partner, chosen);
        Ok(Ok(target))
    }
}
