//! Envelope values of the arguments: whether anybody takes them, and whether they are right.

use quayline_core::{Finding, Findings, nearest};
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
    for (name, value) in given {
        let option = format!("--envelope {name}");
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
