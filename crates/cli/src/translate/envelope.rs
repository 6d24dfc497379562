//! Envelope values of the arguments: whether anybody takes them, and whether they are right.

use quayline_core::{Finding, Findings, nearest};
use quayline_edi::guide::GuideSet;
use quayline_edi::{HeaderField, Level, Standard, header_fields};
use quayline_project::{Form, MapFile};

use crate::args::TranslateArgs;
use crate::exit::argument;

/// Refuses names that neither a header of an output nor the map takes, and values that a header cannot have.
pub(super) fn check(args: &TranslateArgs, map: &MapFile) -> Result<(), Findings> {
    let mut standards: Vec<Standard> = Vec::new();
    for target in &map.targets {
        let Form::Guide(documents) = target.shape.form() else { continue };
        let standard = documents.guides().compiled(0).standard();
        if !standards.contains(&standard) {
            standards.push(standard);
        }
    }
    let given = args.envelope.iter().filter_map(|text| text.split_once('='));
    // The first value would count, and the others be dropped.
    let options = [("sender", &args.sender), ("receiver", &args.receiver), ("control_number", &args.control_number)];
    let mut seen: Vec<String> =
        options.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| full(name)).collect();
    for (name, value) in given {
        let option = format!("--envelope {name}");
        if seen.contains(&full(name)) {
            return Err(argument(format!("`{name}` is given twice")).hint("give each envelope value once").into());
        }
        seen.push(full(name));
        for target in &map.targets {
            if let Form::Guide(documents) = target.shape.form()
                && let Some(set) = set_by(documents.guides(), name).filter(|set| set != value)
            {
                let message = format!("the value of {option} has no effect: the guide says `{set}`");
                return Err(argument(message).hint("leave it out, or write with a guide that says so").into());
            }
        }
        let known = value_of(&standards, name, value, &option)?;
        if !known && !map.plan.envelope_reads().iter().any(|read| read == name) {
            return Err(unknown(name, &standards).into());
        }
    }
    let of = |who: &Option<String>| who.as_deref().map(|who| who.rsplit(':').next().unwrap_or(who).to_owned());
    for (option, name, value) in [
        ("--sender", "sender", of(&args.sender)),
        ("--receiver", "receiver", of(&args.receiver)),
        ("--control-number", "control_number", args.control_number.clone()),
    ] {
        if let Some(value) = value {
            value_of(&standards, name, &value, option)?;
        }
    }
    Ok(())
}

/// A name with its level: `sender` is `interchange.sender`.
fn full(name: &str) -> String {
    let level = ["interchange", "group", "transaction"]
        .into_iter()
        .find_map(|level| Some((level, name.strip_prefix(level)?.strip_prefix(['.', '-', '_'])?)));
    let (level, field) = level.unwrap_or(("interchange", name));
    format!("{level}.{field}")
}

/// What the only guide of a target writes into a header field.
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

/// Whether a header has the field; an error where it cannot have the value.
fn value_of(standards: &[Standard], name: &str, value: &str, option: &str) -> Result<bool, Findings> {
    let mut known = false;
    for (_, field) in standards.iter().filter_map(|standard| HeaderField::named(*standard, name)) {
        known = true;
        let zero = field.name == "control_number" && !value.is_empty() && value.bytes().all(|byte| byte == b'0');
        let expected = field.expected(value.as_bytes()).or(zero.then_some("greater than zero"));
        if let Some(expected) = expected {
            return Err(argument(format!(
                "the value of {option} does not fit {}: it is not {expected}",
                field.reference
            ))
            .hint("correct the value")
            .into());
        }
    }
    Ok(known)
}

fn unknown(name: &str, standards: &[Standard]) -> Finding {
    let finding =
        argument(format!("no output has a header field `{name}`, and the map does not read `envelope.{name}`"));
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
