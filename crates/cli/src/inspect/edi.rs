//! Content of a file of interchanges.

use std::path::Path;
use std::sync::Arc;

use quayline_convert::{InterchangeFacts, Survey};
use quayline_edi::{CharacterSet, Delimiters, LineBreak};
use serde::Serialize;

use super::answers::{self, AnswerWire};
use super::print_json;
use super::sample::Sample;
use crate::args::{InspectArgs, LimitArg};
use crate::console::{Console, shown, write_stdout};
use crate::convert::check_interchanges;
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop, argument};
use crate::render::{FindingWire, Paint, Style, count_of, grouped};

/// Interchanges, partners and kinds of transactions that are shown to people.
const SHOWN_MAX: usize = 10;
/// Findings that are shown to people.
const FINDINGS_SHOWN: usize = 5;

/// Reads the whole file and shows its content.
pub(crate) fn survey(sample: Sample, args: &InspectArgs, console: &Console) -> Result<Exit, Stop> {
    let given = [
        (args.copybook.is_some(), "--copybook"),
        (args.encoding.is_some(), "--encoding"),
        (args.framing.is_some(), "--framing"),
    ];
    if let Some((_, name)) = given.iter().find(|(given, _)| *given) {
        let finding = argument(format!("{name} is for files of records, and this is EDI"));
        return Err(finding.hint("leave it out, or add `--as data` if the file is not EDI").into());
    }
    check_interchanges(&args.file, &sample.bytes, "inspect")?;
    let refuse = |error: std::io::Error| Stop::from(unreadable(&args.file, &error));
    let is_stdin = args.file == Path::new("-");
    let source = sample.into_reader();
    let name: Arc<str> = if is_stdin { "<stdin>".into() } else { shown(&args.file).into() };
    let survey = Survey::of(&name, source, &LimitArg::limits(&args.reading.source.limit)).map_err(refuse)?;
    if console.json() {
        print_json(&SurveyWire::of(&name, &survey))?;
    } else {
        write_stdout(text(&name, &survey, console.color_stdout()).as_bytes())?;
        console.findings(&survey.findings[..survey.findings.len().min(FINDINGS_SHOWN)]);
        let all: u64 = survey.findings_by_code.iter().map(|(_, count)| count).sum();
        if all > FINDINGS_SHOWN as u64 {
            console.paragraph(&format!("{} in all; `quayline validate` shows them", count_of(all, "finding")));
        }
    }
    Ok(if survey.errors > 0 { Exit::Rejected } else { Exit::Done })
}

fn text(name: &str, survey: &Survey, color: bool) -> String {
    let paint = Paint::new(color);
    let is = if survey.interchanges > 0 { "bytes of EDI" } else { "bytes, no EDI" };
    let mut text = format!("{}  {} {is}\n\n", paint.text(Style::Strong, name), grouped(survey.bytes));
    let counts = [
        (survey.interchanges, "interchange"),
        (survey.groups, "functional group"),
        (survey.transactions, "transaction"),
        (survey.segments, "segment"),
    ];
    let counts: Vec<String> = counts.iter().map(|(count, what)| count_of(*count, what)).collect();
    text.push_str(&format!("  {}\n", counts.join(", ")));
    let heading = |text: &mut String, title: &str| {
        text.push_str(&format!("\n{}\n", paint.text(Style::Faint, title)));
    };
    if !survey.kinds.is_empty() {
        heading(&mut text, "transactions");
        for kind in survey.kinds.iter().take(SHOWN_MAX) {
            let group = kind.functional_group.as_ref().map_or_else(String::new, |group| format!(" in {group}"));
            let longest =
                if kind.count > 1 { format!(", the longest {}", grouped(kind.segments_max)) } else { String::new() };
            text.push_str(&format!(
                "  {:>9}  {} {} {}{group}: {}{longest}\n",
                grouped(kind.count),
                kind.standard.name(),
                printable(&kind.transaction),
                printable(&kind.version),
                count_of(kind.segments, "segment"),
            ));
        }
        left_out(&mut text, survey.kinds.len());
    }
    if !survey.partners.is_empty() {
        heading(&mut text, "partners");
        for partners in survey.partners.iter().take(SHOWN_MAX) {
            text.push_str(&format!(
                "  {:>9}  from {} to {}: {}\n",
                grouped(partners.interchanges),
                party(&partners.sender),
                party(&partners.receiver),
                count_of(partners.transactions, "transaction"),
            ));
        }
        left_out(&mut text, survey.partners.len());
    }
    if !survey.answers.is_empty() {
        heading(&mut text, "answers to what was sent");
        text.push_str(&answers::text(survey));
    }
    if !survey.first.is_empty() {
        heading(&mut text, "interchanges");
        for facts in survey.first.iter().take(SHOWN_MAX) {
            push_interchange(&mut text, facts);
        }
        let rest = survey.interchanges.saturating_sub(survey.first.len().min(SHOWN_MAX) as u64);
        if rest > 0 {
            text.push_str(&format!("  and {} more\n", grouped(rest)));
        }
    }
    text
}

fn left_out(text: &mut String, all: usize) {
    if all > SHOWN_MAX {
        text.push_str(&format!("  and {} more\n", grouped((all - SHOWN_MAX) as u64)));
    }
}

fn push_interchange(text: &mut String, facts: &InterchangeFacts) {
    let test = if facts.is_test { ", marked as a test" } else { "" };
    text.push_str(&format!(
        "  byte {}: {} {}, control number {}, of {} {}{test}\n",
        grouped(facts.byte),
        facts.standard.name(),
        printable(&version(facts)),
        printable(&facts.control_number),
        printable(&facts.date),
        printable(&facts.time),
    ));
    text.push_str(&format!(
        "    {}, {}; {}\n",
        count_of(facts.groups, "group"),
        count_of(facts.transactions, "transaction"),
        delimiters(facts)
    ));
}

/// Formats a version such as `00501` or `UNOC version 3 (ISO 8859-1)`.
fn version(facts: &InterchangeFacts) -> String {
    match &facts.character_set {
        None => facts.version.clone(),
        Some(identifier) => {
            let set = match CharacterSet::of(identifier.as_bytes()) {
                Some(CharacterSet::A | CharacterSet::B) => "ASCII".to_owned(),
                Some(CharacterSet::Iso8859(part)) => format!("ISO 8859-{part}"),
                Some(CharacterSet::Utf8 | CharacterSet::Iso10646) => "UTF-8".to_owned(),
                Some(CharacterSet::Iso2022) => "ISO 2022".to_owned(),
                None => "unknown".to_owned(),
            };
            format!("{identifier} syntax {} ({set})", facts.version)
        }
    }
}

fn delimiters(facts: &InterchangeFacts) -> String {
    let Delimiters { element, component, terminator, repetition, release, .. } = facts.delimiters;
    let mut text = format!("elements {} components {} segments {}", sign(element), sign(component), sign(terminator));
    for (name, byte) in [("repetitions", repetition), ("release", release)] {
        if let Some(byte) = byte {
            text.push_str(&format!(" {name} {}", sign(byte)));
        }
    }
    text.push_str(match facts.line_break {
        LineBreak::None => "",
        LineBreak::Lf => ", on lines",
        LineBreak::CrLf => ", on lines with CR LF",
    });
    if facts.una {
        text.push_str(", UNA");
    }
    text
}

fn sign(byte: u8) -> String {
    if byte.is_ascii_graphic() { char::from(byte).to_string() } else { format!("0x{byte:02x}") }
}

fn party((id, qualifier): &(String, String)) -> String {
    let id = printable(id);
    if qualifier.is_empty() { id } else { format!("{id} ({})", printable(qualifier)) }
}

/// Replaces control characters in a text of a file for the terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Content of a file of interchanges, `quayline.interchanges/1` in docs/reference/json.md.
#[derive(Serialize)]
struct SurveyWire<'a> {
    schema: &'static str,
    file: &'a str,
    bytes: u64,
    interchanges: u64,
    groups: u64,
    transactions: u64,
    segments: u64,
    unlisted: u64,
    errors: u64,
    first: Vec<InterchangeWire<'a>>,
    partners: Vec<PartnersWire<'a>>,
    kinds: Vec<KindWire<'a>>,
    answers: Vec<AnswerWire<'a>>,
    answers_unlisted: u64,
    findings: Vec<FindingWire<'a>>,
}

#[derive(Serialize)]
struct InterchangeWire<'a> {
    byte: u64,
    standard: &'static str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    character_set: Option<&'a str>,
    sender: &'a str,
    sender_qualifier: &'a str,
    receiver: &'a str,
    receiver_qualifier: &'a str,
    date: &'a str,
    time: &'a str,
    control_number: &'a str,
    test: bool,
    groups: u64,
    transactions: u64,
    delimiters: DelimitersWire,
}

#[derive(Serialize)]
struct DelimitersWire {
    element: String,
    component: String,
    terminator: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    decimal_mark: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_break: Option<&'static str>,
    una: bool,
}

#[derive(Serialize)]
struct PartnersWire<'a> {
    sender: &'a str,
    sender_qualifier: &'a str,
    receiver: &'a str,
    receiver_qualifier: &'a str,
    interchanges: u64,
    transactions: u64,
}

#[derive(Serialize)]
struct KindWire<'a> {
    standard: &'static str,
    transaction: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    functional_group: Option<&'a str>,
    count: u64,
    segments: u64,
    segments_max: u64,
}

impl<'a> SurveyWire<'a> {
    fn of(file: &'a str, survey: &'a Survey) -> Self {
        let kinds = survey.kinds.iter().map(|kind| KindWire {
            standard: kind.standard.name(),
            transaction: &kind.transaction,
            version: &kind.version,
            functional_group: kind.functional_group.as_deref(),
            count: kind.count,
            segments: kind.segments,
            segments_max: kind.segments_max,
        });
        let partners = survey.partners.iter().map(|partners| PartnersWire {
            sender: &partners.sender.0,
            sender_qualifier: &partners.sender.1,
            receiver: &partners.receiver.0,
            receiver_qualifier: &partners.receiver.1,
            interchanges: partners.interchanges,
            transactions: partners.transactions,
        });
        SurveyWire {
            schema: "quayline.interchanges/1",
            file,
            bytes: survey.bytes,
            interchanges: survey.interchanges,
            groups: survey.groups,
            transactions: survey.transactions,
            segments: survey.segments,
            unlisted: survey.unlisted,
            errors: survey.errors,
            first: survey.first.iter().map(InterchangeWire::of).collect(),
            partners: partners.collect(),
            kinds: kinds.collect(),
            answers: survey.answers.iter().map(AnswerWire::of).collect(),
            answers_unlisted: survey.answers_unlisted,
            findings: survey.findings.iter().map(FindingWire::of).collect(),
        }
    }
}

impl<'a> InterchangeWire<'a> {
    fn of(facts: &'a InterchangeFacts) -> Self {
        let d = &facts.delimiters;
        InterchangeWire {
            byte: facts.byte,
            standard: facts.standard.name(),
            version: &facts.version,
            character_set: facts.character_set.as_deref(),
            sender: &facts.sender.0,
            sender_qualifier: &facts.sender.1,
            receiver: &facts.receiver.0,
            receiver_qualifier: &facts.receiver.1,
            date: &facts.date,
            time: &facts.time,
            control_number: &facts.control_number,
            test: facts.is_test,
            groups: facts.groups,
            transactions: facts.transactions,
            delimiters: DelimitersWire {
                element: sign(d.element),
                component: sign(d.component),
                terminator: sign(d.terminator),
                repetition: d.repetition.map(sign),
                release: d.release.map(sign),
                decimal_mark: sign(d.decimal_mark),
                line_break: match facts.line_break {
                    LineBreak::None => None,
                    LineBreak::Lf => Some("LF"),
                    LineBreak::CrLf => Some("CRLF"),
                },
                una: facts.una,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_that_does_not_print_is_a_number() {
        assert_eq!(sign(b'*'), "*");
        assert_eq!(sign(0x1d), "0x1d");
    }
}
