//! `quayline partner list`, `show` and `explain`.

use std::fmt::Write as _;

use quayline_core::nearest;
use quayline_partner::{Book, Explanation, Query};
use quayline_project::partner::{Direction, PartnerFile};
use serde_json::{Value, json};

use super::book_to_read;
use crate::args::{ExplainArgs, PartnerListArgs, PartnerShowArgs};
use crate::console::{Console, write_stdout};
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop, argument};
use crate::render::count_of;

pub(super) fn list(args: &PartnerListArgs, console: &Console) -> Result<Exit, Stop> {
    let book = book_to_read(&args.project, console)?;
    let width = book.partners().iter().map(|partner| partner.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for partner in book.partners() {
        if args.json {
            let _ = writeln!(out, "{}", partner_line_json(partner));
        } else {
            let identities = identities(partner);
            let own = if partner.is_own { "own, " } else { "" };
            let rules = count_of(partner.rules.len() as u64, "rule");
            let stored = if partner.is_stored() { "; in the store" } else { "" };
            let _ = writeln!(out, "{:width$}  {own}{}; {rules}{stored}", partner.name, identities.join(", "));
        }
    }
    write_stdout(out.as_bytes())?;
    Ok(Exit::Done)
}

/// Formats a partner in a list as JSON.
pub(super) fn partner_line_json(partner: &PartnerFile) -> Value {
    json!({"name": partner.name, "own": partner.is_own, "identities": identities(partner), "rules": partner.rules.len(),
        "description": partner.description, "contact": partner.contact, "source": partner.path.display().to_string()})
}

fn identities(partner: &PartnerFile) -> Vec<String> {
    let text =
        |one: &quayline_project::partner::Identity| format!("{} {}:{}", one.standard.name(), one.qualifier, one.id);
    partner.identities.iter().map(text).collect()
}

fn named(book: &Book, name: &str) -> Result<usize, Stop> {
    book.named(name).ok_or_else(|| {
        let names = book.partners().iter().map(|partner| partner.name.as_str());
        let hint = match nearest(name, names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`quayline partner list` lists partners".to_owned(),
        };
        argument(format!("partner `{name}` does not exist")).hint(hint).into()
    })
}

pub(super) fn show(args: &PartnerShowArgs, console: &Console) -> Result<Exit, Stop> {
    let book = book_to_read(&args.project, console)?;
    let number = named(&book, &args.name)?;
    if args.json {
        write_stdout(format!("{}\n", partner_json(&book, number)).as_bytes())?;
        return Ok(Exit::Done);
    }
    let partner = book.partner(number);
    let mut out = String::new();
    let _ = writeln!(out, "{}{}", partner.name, if partner.is_own { " (own)" } else { "" });
    let version = book.version(number).unwrap_or_default();
    let _ = writeln!(out, "  from {}, version {version}", partner.path.display());
    for text in [&partner.description, &partner.contact].into_iter().flatten() {
        let _ = writeln!(out, "  {text}");
    }
    for identity in identities(partner) {
        let _ = writeln!(out, "  identity {identity}");
    }
    write_settings(&mut out, &settings_of(&book, number));
    for (name, direction, conditions, map, deliver) in rules_of(partner) {
        let conditions = if conditions.is_empty() { "any document".to_owned() } else { conditions.join(", ") };
        let map = map.map(|map| format!(", map {map}")).unwrap_or_default();
        let deliver = if deliver.is_empty() { String::new() } else { format!(", to {}", deliver.join(", ")) };
        let _ = writeln!(out, "  rule {name}: {direction} {conditions}{map}{deliver}");
    }
    write_stdout(out.as_bytes())?;
    Ok(Exit::Done)
}

/// Returns the effective settings of a partner: key, value, and source.
fn settings_of(book: &Book, number: usize) -> Vec<(&'static str, String, String)> {
    let mut settings: Vec<(&str, String, String)> = Vec::new();
    for layer in book.layers(book.own()[0], number, None) {
        for (key, value) in layer.settings.given() {
            if !settings.iter().any(|(known, ..)| *known == key) {
                settings.push((key, value, layer.name.clone()));
            }
        }
    }
    settings.sort_by_key(|(key, ..)| *key);
    settings
}

/// A rule for people: its name, direction, conditions, map and deliveries.
type RuleText = (String, &'static str, Vec<String>, Option<String>, Vec<String>);

fn rules_of(partner: &PartnerFile) -> Vec<RuleText> {
    partner
        .rules
        .iter()
        .map(|rule| {
            let mut conditions = Vec::new();
            conditions.extend(rule.standard.map(|standard| standard.name().to_owned()));
            conditions.extend(rule.document.clone());
            conditions.extend(rule.version.clone());
            conditions.extend(rule.application.clone());
            conditions.extend(rule.test.map(|test| if test { "test".to_owned() } else { "production".to_owned() }));
            conditions.extend(rule.when.iter().map(|(element, value)| format!("{element}={value}")));
            conditions.extend(rule.condition.as_ref().map(|condition| format!("where {}", condition.text)));
            let maps: Vec<String> = rule.maps.iter().map(|map| map.path.display().to_string()).collect();
            let map = (!maps.is_empty()).then(|| maps.join(", "));
            let deliver: Vec<String> = rule
                .deliver
                .iter()
                .map(|(name, to)| if name.is_empty() { to.to_string() } else { format!("{name} to {to}") })
                .collect();
            (rule.name.clone(), rule.direction.name(), conditions, map, deliver)
        })
        .collect()
}

/// Formats a partner as JSON.
pub(super) fn partner_json(book: &Book, number: usize) -> Value {
    let partner = book.partner(number);
    let rules: Vec<_> = rules_of(partner)
        .into_iter()
        .map(|(name, direction, conditions, map, deliver)| {
            json!({"name": name, "direction": direction, "conditions": conditions, "map": map, "deliver": deliver})
        })
        .collect();
    let settings = settings_of(book, number);
    let settings: Vec<_> =
        settings.iter().map(|(key, value, from)| json!({"key": key, "value": value, "from": from})).collect();
    json!({"name": partner.name, "own": partner.is_own, "description": partner.description, "contact": partner.contact,
        "identities": identities(partner), "settings": settings, "rules": rules, "source": partner.path.display().to_string(),
        "version": book.version(number)})
}

fn write_settings(out: &mut String, settings: &[(&str, String, String)]) {
    for (key, value, from) in settings {
        let _ = writeln!(out, "  {key} = {value}  ({from})");
    }
}

pub(super) fn explain(args: &ExplainArgs, console: &Console) -> Result<Exit, Stop> {
    let book = book_to_read(&args.project, console)?;
    let all = match &args.file {
        Some(path) => {
            let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
            book.explain(&bytes)?
        }
        None => {
            let partner = named(&book, args.partner.as_deref().unwrap_or_default())?;
            let mut values = Vec::new();
            for text in &args.when {
                let (element, value) = text.split_once('=').ok_or_else(|| {
                    argument(format!("`--when {text}` has no `=`")).hint("write it as --when BEG02=SA")
                })?;
                values.push((element, value));
            }
            let query = Query {
                direction: if args.send { Direction::Send } else { Direction::Receive },
                standard: None,
                document: &args.document,
                version: &args.version,
                application: "",
                test: args.test,
            };
            let standards = [quayline_edi::Standard::X12, quayline_edi::Standard::Edifact];
            let standard = standards.into_iter().find(|standard| book.partner(partner).identity(*standard).is_some());
            let query = Query { standard, ..query };
            let value = |element: &str| {
                values.iter().find(|(known, _)| *known == element).map(|(_, value)| (*value).to_owned())
            };
            vec![book.explain_query(Some(book.own()[0]), Some(partner), &query, &value, None)]
        }
    };
    let mut out = String::new();
    for one in &all {
        if args.json {
            let _ = writeln!(out, "{}", explanation_json(one));
        } else {
            write_explanation(&mut out, one);
        }
    }
    write_stdout(out.as_bytes())?;
    Ok(if all.iter().all(|one| one.outcome.is_some()) { Exit::Done } else { Exit::Rejected })
}

/// Formats an explanation as JSON.
pub(super) fn explanation_json(one: &Explanation) -> Value {
    let rules: Vec<_> = one.rules.iter().map(|(name, why)| json!({"rule": name, "refused": why})).collect();
    let settings: Vec<_> =
        one.settings.iter().map(|(key, value, from)| json!({"key": key, "value": value, "from": from})).collect();
    let outcome = one.outcome.as_ref().map(|(map, deliver)| json!({"map": map, "deliver": deliver}));
    let [own_source, partner_source] = &one.sources;
    json!({"document": one.document.0, "version": one.document.1, "own": one.own, "partner": one.partner, "test": one.test,
        "own_source": own_source, "partner_source": partner_source,
        "rules": rules, "outcome": outcome, "settings": settings})
}

fn write_explanation(out: &mut String, one: &Explanation) {
    let test = if one.test { ", a test" } else { "" };
    let document = format!("{} {}", one.document.0, one.document.1);
    let _ = writeln!(out, "{}{test}", document.trim());
    for (what, name, source) in [("partner", &one.partner, &one.sources[1]), ("own", &one.own, &one.sources[0])] {
        let source = source.as_ref().map(|path| format!("  ({path})")).unwrap_or_default();
        let _ = writeln!(out, "  {what}: {}{source}", name.as_deref().unwrap_or("unknown"));
    }
    for (name, why) in &one.rules {
        match why {
            Some(why) => {
                let _ = writeln!(out, "  rule {name}: no, {why}");
            }
            None => {
                let _ = writeln!(out, "  rule {name}: yes");
            }
        }
    }
    match &one.outcome {
        Some((map, deliver)) => {
            let to = if deliver.is_empty() { String::new() } else { format!(", to {}", deliver.join(", ")) };
            let _ = writeln!(out, "  {map}{to}");
        }
        None => {
            let _ = writeln!(out, "  no rule takes it");
        }
    }
    write_settings(
        out,
        &one.settings.iter().map(|(key, value, from)| (*key, value.clone(), from.clone())).collect::<Vec<_>>(),
    );
}
