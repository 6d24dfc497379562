//! Envelope values that a run is given: whether anybody takes them, and whether they are right.

use quayline_core::{Finding, Findings, nearest};
use quayline_edi::guide::GuideSet;
use quayline_edi::{HeaderField, Level, Standard, header_fields};

use crate::{Form, MapFile};

/// A value for the envelopes that a map's outputs write, and for `envelope.NAME` in the map.
#[derive(Clone, Copy, Debug)]
pub struct EnvelopeValue<'v> {
    /// The name, such as `interchange.sender`.
    pub name: &'v str,
    /// The value.
    pub value: &'v str,
    /// The setting as the user wrote it, for messages: `--envelope group.sender`.
    pub option: &'v str,
    /// True if an output or the map must use the value.
    pub must_be_taken: bool,
}

/// Refuses names that neither a header of an output nor the map takes, and values that a header cannot have. `refusal` makes a finding of a
/// message.
///
/// # Errors
/// The first value that is wrong.
pub fn check_envelope(
    map: &MapFile,
    given: &[EnvelopeValue<'_>],
    refusal: fn(String) -> Finding,
) -> Result<(), Findings> {
    let mut standards: Vec<Standard> = Vec::new();
    for target in &map.targets {
        let Form::Guide(documents) = target.shape.form() else { continue };
        let standard = documents.guides().compiled(0).standard();
        if !standards.contains(&standard) {
            standards.push(standard);
        }
    }
    // The first value would count, and the others be dropped.
    let mut seen: Vec<String> = Vec::new();
    for EnvelopeValue { name, value, option, must_be_taken } in given {
        if seen.contains(&full(name)) {
            return Err(refusal(format!("`{name}` is given twice")).hint("give each envelope value once").into());
        }
        seen.push(full(name));
        for target in &map.targets {
            if let Form::Guide(documents) = target.shape.form()
                && let Some(set) = set_by(documents.guides(), name).filter(|set| set != value)
            {
                let message = format!("the value of {option} has no effect: the guide says `{set}`");
                return Err(refusal(message).hint("leave it out, or write with a guide that says so").into());
            }
        }
        if let Some(why) = without_effect(map, &standards, given, name) {
            let message = format!("the value of {option} has no effect: {why}");
            return Err(refusal(message).hint("leave it out").into());
        }
        let known = value_of(&standards, name, value, option, refusal)?;
        if *must_be_taken && !known && !map.plan.envelope_reads().iter().any(|read| read == name) {
            return Err(unknown(name, &standards, refusal).into());
        }
    }
    Ok(())
}

/// Returns the reason why no output has the value in a header.
fn without_effect(
    map: &MapFile,
    standards: &[Standard],
    given: &[EnvelopeValue<'_>],
    name: &str,
) -> Option<&'static str> {
    let given_value = |wanted: &str| given.iter().find(|one| full(one.name) == wanted).map(|one| one.value);
    let is_read = map.plan.envelope_reads().iter().any(|read| full(read) == full(name));
    match (standards, full(name).as_str()) {
        _ if is_read => None,
        ([Standard::X12], "interchange.standards_id") => {
            let guides = map.targets.iter().filter_map(|target| match target.shape.form() {
                Form::Guide(documents) => documents.guides().compiled(0).version().get(..5),
                _ => None,
            });
            let is_separator = |version: &str| version >= "00402";
            let all = match given_value("interchange.version") {
                Some(version) => is_separator(version),
                None => guides.into_iter().all(is_separator),
            };
            all.then_some("from version 00402, ISA11 is the repetition separator")
        }
        _ => None,
    }
}

/// Adds the default level to a name: `sender` is `interchange.sender`.
fn full(name: &str) -> String {
    let level = ["interchange", "group", "transaction"]
        .into_iter()
        .find_map(|level| Some((level, name.strip_prefix(level)?.strip_prefix(['.', '-', '_'])?)));
    let (level, field) = level.unwrap_or(("interchange", name));
    format!("{level}.{field}")
}

/// Returns the value that a target's only guide writes into a header field.
fn set_by(guides: &GuideSet, name: &str) -> Option<String> {
    let guide = guides.compiled(0);
    let name = full(name);
    let part = |number: usize| guide.version().split(':').nth(number).map(str::to_owned);
    match (guide.standard(), name.as_str()) {
        _ if guides.len() != 1 => None,
        (_, "transaction.type") => Some(guide.transaction().to_owned()),
        (Standard::X12, "group.functional_id") => guide.functional_group().map(str::to_owned),
        (Standard::X12, "group.version") => Some(guide.version().to_owned()),
        (Standard::Edifact, "transaction.version") => part(0),
        (Standard::Edifact, "transaction.release") => part(1),
        (Standard::Edifact, "transaction.agency") => part(2),
        (Standard::Edifact, "transaction.association") => part(3),
        _ => None,
    }
}

/// Returns true if a header has the field; an error if the field cannot have the value.
fn value_of(
    standards: &[Standard],
    name: &str,
    value: &str,
    option: &str,
    refusal: fn(String) -> Finding,
) -> Result<bool, Findings> {
    let mut known = false;
    let named = |standard: &Standard| Some((*standard, HeaderField::named(*standard, name)?));
    for (standard, (level, field)) in standards.iter().filter_map(named) {
        known = true;
        let is_number = field.name == "control_number" && value.bytes().all(|byte| byte.is_ascii_digit());
        let zero = is_number && !value.is_empty() && value.bytes().all(|byte| byte == b'0');
        // ISA13 always has nine digits, and ST02 at least four.
        let digits = match (standard, level) {
            (Standard::X12, Level::Interchange) => usize::MAX,
            (Standard::X12, Level::Transaction) => 4,
            _ => 1,
        };
        let is_padded = is_number && value.starts_with('0') && value.len() > digits;
        let expected = field.expected(value.as_bytes()).or(zero.then_some("greater than zero"));
        let expected = expected.or(is_padded.then_some("a number without leading zeros, from which Quayline counts"));
        if let Some(expected) = expected {
            return Err(refusal(format!(
                "the value of {option} does not fit {}: it is not {expected}",
                field.reference
            ))
            .hint("correct the value")
            .into());
        }
    }
    Ok(known)
}

fn unknown(name: &str, standards: &[Standard], refusal: fn(String) -> Finding) -> Finding {
    let finding =
        refusal(format!("no output has a header field `{name}`, and the map does not read `envelope.{name}`"));
    if standards.is_empty() {
        return finding.hint("leave it out: the map writes no EDI");
    }
    let levels = [("interchange", Level::Interchange), ("group", Level::Group), ("transaction", Level::Transaction)];
    let split = levels.iter().find_map(|(word, level)| {
        let field = name.strip_prefix(word).and_then(|rest| rest.strip_prefix(['.', '-', '_']))?;
        Some((*word, *level, field))
    });
    let (word, level, field) = split.unwrap_or(("interchange", Level::Interchange, name));
    let fields = standards.iter().flat_map(|standard| header_fields(*standard, level));
    let mut names: Vec<&str> = fields.map(|field| field.name).collect();
    names.sort_unstable();
    names.dedup();
    // Other words for ISA15 and its like.
    let meant = match field {
        "usage" | "usage_indicator" | "test_indicator" | "production" => Some("test"),
        "control" | "icn" => Some("control_number"),
        _ => nearest(field, names.iter().copied()),
    };
    let known = format!("fields of `{word}`: {}", names.join(", "));
    match meant {
        Some(meant) => finding.hint(format!("is `{word}.{meant}` meant? {known}")),
        None => finding.hint(known),
    }
}
