//! The keys of a partner file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{Named as _, Severity};
use quayline_edi::{CharacterSet, Delimiters, HeaderField, Level, Standard, ValidationLevel};
use serde::Deserialize;
use toml::Spanned;

use super::settings::{
    AckKind, AdviceKind, ClosePolicy, DuplicatePolicy, EnvelopePolicy, GapPolicy, KeepPolicy, LowestRefused,
    NumberRange, Period, Settings, Usage, WholePolicy,
};
use super::{Agreement, Condition, Delivery, Direction, Identity, PartnerFile, Rule, RuleMap};
use crate::codes;
use crate::lookup_table::LookupTable;
use crate::user_file::UserFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    name: Option<Spanned<String>>,
    #[serde(default)]
    own: bool,
    description: Option<String>,
    contact: Option<String>,
    #[serde(default)]
    identity: Vec<Spanned<WireIdentity>>,
    settings: Option<WireSettings>,
    #[serde(default)]
    agreement: Vec<WireAgreement>,
    #[serde(default)]
    rule: Vec<Spanned<WireRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WireIdentity {
    standard: Spanned<String>,
    qualifier: Option<Spanned<String>>,
    id: Spanned<String>,
    group: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WireAgreement {
    with: Spanned<String>,
    #[serde(default)]
    settings: WireSettings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WireRule {
    name: Option<Spanned<String>>,
    direction: Spanned<String>,
    standard: Option<Spanned<String>>,
    document: Option<String>,
    version: Option<String>,
    application: Option<String>,
    test: Option<bool>,
    #[serde(default)]
    when: BTreeMap<String, Spanned<String>>,
    #[serde(rename = "where")]
    condition: Option<Spanned<String>>,
    guide: Option<Spanned<PathBuf>>,
    map: Option<WireMaps>,
    lookups: Option<Spanned<String>>,
    deliver: Option<Spanned<WireDeliver>>,
    #[serde(default)]
    fields: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    settings: WireSettings,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a map, or a list of maps")]
enum WireMaps {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a place such as \"folder:PATH\", or a place for each output, as { order = \"folder:PATH\", reply = \"answer\" }"
)]
enum WireDeliver {
    All(String),
    Each(BTreeMap<String, String>),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WireSettings {
    usage: Option<Spanned<String>>,
    validate: Option<Spanned<String>>,
    reject_on: Option<Spanned<String>>,
    duplicates: Option<Spanned<String>>,
    duplicate_days: Option<Spanned<u64>>,
    gaps: Option<Spanned<String>>,
    acknowledge: Option<Vec<Spanned<String>>>,
    advise: Option<Vec<Spanned<String>>>,
    acknowledge_to: Option<Spanned<String>>,
    expect: Option<Spanned<WireExpect>>,
    due: Option<Spanned<String>>,
    guides: Option<Vec<PathBuf>>,
    keep: Option<Spanned<String>>,
    keep_days: Option<Spanned<u64>>,
    keep_interchanges: Option<Spanned<String>>,
    keep_interchanges_days: Option<Spanned<u64>>,
    envelope: Option<Spanned<String>>,
    close: Option<WireClose>,
    send_to: Option<Spanned<String>>,
    delimiters: Option<Spanned<WireByStandard>>,
    version: Option<Spanned<WireByStandard>>,
    line_breaks: Option<bool>,
    interchange_numbers: Option<Spanned<WireRange>>,
    group_numbers: Option<Spanned<WireRange>>,
    transaction_numbers: Option<Spanned<WireRange>>,
    fields: Option<BTreeMap<String, Spanned<String>>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a word, or a list of words")]
enum WireExpect {
    One(String),
    Several(Vec<String>),
}

/// A value for the standard whose form it has, or one for each standard.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, or one for each standard as { x12 = \"…\", edifact = \"…\" }")]
enum WireByStandard {
    One(String),
    Each(WireEach),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireEach {
    x12: Option<String>,
    edifact: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireClose {
    count: Option<Spanned<u64>>,
    bytes: Option<Spanned<String>>,
    age: Option<Spanned<String>>,
    #[serde(default)]
    at: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRange {
    first: Option<u64>,
    last: Option<u64>,
}

/// Longest name, so that entries of the store have a fixed place for it.
const NAME_BYTES_MAX: usize = 32;

pub(super) fn partner(file: &mut UserFile, path: &Path, wire: File) -> PartnerFile {
    let stem = super::default_name(path);
    let name = match &wire.name {
        Some(name) => {
            check_name(file, name);
            name.get_ref().clone()
        }
        None => {
            if !is_name(&stem) {
                let message = "the file's name cannot be the partner's name";
                file.find_in_file(codes::PARTNER_VALUE, message, "give the partner a name: name = \"ACME\"");
            }
            stem
        }
    };
    let mut identities: Vec<Identity> = wire.identity.into_iter().filter_map(|one| identity(file, one)).collect();
    // Most partners have one, and a project may have thousands of partners. By default, the iterator would reserve space for four.
    identities.shrink_to_fit();
    let settings = wire.settings.map(|wire| settings(file, wire)).unwrap_or_default().shared();
    let agreements = wire.agreement.into_iter().map(|one| {
        let place = file.text.place(&one.with.span());
        Agreement { with: one.with.into_inner(), settings: self::settings(file, one.settings).shared(), place }
    });
    let agreements = agreements.collect();
    let mut rules: Vec<Rule> = Vec::new();
    for (number, one) in wire.rule.into_iter().enumerate() {
        let at = one.span();
        let rule = rule(file, one, number + 1);
        if rules.iter().any(|other| other.name == rule.name) {
            let message = format!("two rules have the name `{}`", rule.name);
            file.find(codes::PARTNER_TWICE, message, &Spanned::new(at, ()), "give each rule a name of its own");
        }
        rules.push(rule);
    }
    rules.shrink_to_fit();
    PartnerFile {
        name,
        path: path.to_owned(),
        is_own: wire.own,
        description: wire.description,
        contact: wire.contact,
        identities,
        settings,
        agreements,
        rules,
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed)
}

fn check_name(file: &mut UserFile, name: &Spanned<String>) {
    if !is_name(name.get_ref()) {
        let message = format!("a name has 1 to {NAME_BYTES_MAX} letters, digits and the characters . _ -");
        file.find(codes::PARTNER_VALUE, message, name, "choose a shorter or simpler name");
    }
}

/// Parses a word of a closed list; reports other words.
fn word<T>(
    file: &mut UserFile,
    value: &Spanned<String>,
    parse: impl Fn(&str) -> Option<T>,
    words: &[&str],
) -> Option<T> {
    let found = parse(value.get_ref());
    if found.is_none() {
        let hint = match quayline_core::nearest(value.get_ref(), words.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write one of {}", words.join(", ")),
        };
        let message = format!("`{}` is not one of {}", value.get_ref(), words.join(", "));
        file.find(codes::PARTNER_VALUE, message, value, hint);
    }
    found
}

fn standard(file: &mut UserFile, value: &Spanned<String>) -> Option<Standard> {
    let parse = |text: &str| match text {
        "x12" => Some(Standard::X12),
        "edifact" => Some(Standard::Edifact),
        _ => None,
    };
    word(file, value, parse, &["x12", "edifact"])
}

fn identity(file: &mut UserFile, wire: Spanned<WireIdentity>) -> Option<Identity> {
    let place = file.text.place(&wire.span());
    let wire = wire.into_inner();
    let standard = standard(file, &wire.standard)?;
    let mut field = |name: &str, value: &Spanned<String>| {
        let known = HeaderField::named(standard, name).expect("a field that both headers have").1;
        let expected = known.expected(value.get_ref().as_bytes());
        let longest = if standard == Standard::Edifact { 35 } else { 15 };
        let too_long = (value.get_ref().len() > longest).then_some("at most 35 characters");
        if let Some(expected) = expected.or(too_long) {
            let message = format!("{} must be {expected}", known.reference);
            file.find(codes::PARTNER_VALUE, message, value, "write it as interchanges have it, without padding");
        }
    };
    field("sender", &wire.id);
    if let Some(qualifier) = &wire.qualifier {
        field("sender_qualifier", qualifier);
    } else if standard == Standard::X12 {
        let hint = "add the partner's ISA05, such as qualifier = \"01\" or \"ZZ\"";
        file.find(codes::PARTNER_VALUE, "an X12 identity needs a qualifier", &wire.id, hint);
    }
    let text = |value: Option<Spanned<String>>| value.map(Spanned::into_inner).unwrap_or_default();
    Some(Identity {
        standard,
        qualifier: text(wire.qualifier),
        id: wire.id.into_inner(),
        group: text(wire.group),
        place,
    })
}

fn delivery(file: &mut UserFile, value: &Spanned<String>) -> Option<Delivery> {
    let found = Delivery::parse(value.get_ref());
    if found.is_none() {
        let message = format!("`{}` is not a place to deliver to", value.get_ref());
        let hint = "write folder:PATH, queue:NAME or output; in `deliver` of a rule also file:NAME, and for documents received also answer";
        file.find(codes::PARTNER_VALUE, message, value, hint);
    }
    found
}

/// Parses a destination for interchanges and acknowledgments.
fn outside(file: &mut UserFile, value: &Spanned<String>) -> Option<Delivery> {
    delivery(file, value).filter(|found| {
        let message = match found {
            Delivery::Answer => "an answer is an output of a map, not a place for interchanges",
            Delivery::File(_) => "a record file takes the records of a map, and an interchange is EDI",
            Delivery::Folder(_) | Delivery::Queue(_) | Delivery::Output => return true,
        };
        file.find(codes::PARTNER_VALUE, message, value, "write folder:PATH, queue:NAME or output");
        false
    })
}

fn rule(file: &mut UserFile, wire: Spanned<WireRule>, number: usize) -> Rule {
    let found_before = file.findings.len();
    let place = file.text.place(&wire.span());
    let wire = wire.into_inner();
    let parse = |text: &str| match text {
        "receive" => Some(Direction::Receive),
        "send" => Some(Direction::Send),
        _ => None,
    };
    let direction = word(file, &wire.direction, parse, &["receive", "send"]).unwrap_or(Direction::Receive);
    if let Some(name) = &wire.name {
        check_name(file, name);
    }
    let mut deliver = BTreeMap::new();
    match &wire.deliver {
        Some(all) => {
            // The place of the whole value: which of its strings is wrong, the message says.
            let at = |text: &String| Spanned::new(all.span(), text.clone());
            match all.get_ref() {
                WireDeliver::All(to) => {
                    deliver.extend(delivery(file, &at(to)).map(|to| (String::new(), to)));
                }
                WireDeliver::Each(each) => {
                    for (name, to) in each {
                        deliver.extend(delivery(file, &at(to)).map(|to| (name.clone(), to)));
                    }
                }
            }
        }
        None if direction == Direction::Receive => {
            let hint = "add deliver = \"folder:PATH\" or \"queue:NAME\"";
            file.find(
                codes::PARTNER_VALUE,
                "a rule for documents received needs a place to deliver to",
                &wire.direction,
                hint,
            );
        }
        None => {}
    }
    let maps = match wire.map {
        None => Vec::new(),
        Some(WireMaps::One(map)) => vec![map],
        Some(WireMaps::Several(maps)) => maps,
    };
    let lookups = lookups(file, wire.lookups.as_ref(), !maps.is_empty());
    let maps: Vec<_> = maps.into_iter().map(|path| RuleMap { path, lookups: Arc::clone(&lookups) }).collect();
    if direction == Direction::Send && deliver.values().any(|to| *to == Delivery::Answer) {
        let message = "a rule for documents to send has nothing to answer";
        file.find(codes::PARTNER_VALUE, message, &wire.direction, "remove `deliver`: documents go to the partner");
    }
    if direction == Direction::Send && maps.is_empty() && wire.document.is_none() {
        let hint = "add map = \"maps/NAME.qmap\", or the document that is sent as it is: document = \"810\"";
        file.find(
            codes::PARTNER_VALUE,
            "a rule for documents to send needs a map or a document",
            &wire.direction,
            hint,
        );
    }
    let mut elements = |all: BTreeMap<String, Spanned<String>>, of_key: bool| {
        let mut out = Vec::new();
        // Keeps the order of the file, because the first field is the reference of a document.
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by_key(|(_, value)| value.span().start);
        for (key, value) in all {
            let reference = if of_key { key.as_str() } else { value.get_ref() };
            if !is_element(reference) {
                let message = format!("`{reference}` is not an element of a segment");
                file.find(codes::PARTNER_VALUE, message, &value, "write segment and element, such as BEG03 or BGM01-1");
            } else if let Some(tag) = SERVICE_TAGS.iter().find(|tag| **tag == tag_of(reference)) {
                let message = format!("`{reference}` is in a header or trailer, and rules read segments between them");
                let hint = format!("name an element of the document instead of {tag}, such as BEG03 or BGM01-1");
                file.find(codes::PARTNER_VALUE, message, &value, hint);
            }
            out.push((key, value.into_inner()));
        }
        out
    };
    let when = elements(wire.when, true);
    let fields = elements(wire.fields, false);
    let standard = wire.standard.as_ref().and_then(|value| standard(file, value));
    let condition = condition(file, wire.condition, wire.guide, (wire.document.is_some(), !maps.is_empty()));
    let settings = settings(file, wire.settings).shared();
    let has_errors = file.findings[found_before..].iter().any(|finding| finding.severity == Severity::Error);
    Rule {
        name: wire.name.map_or_else(|| format!("rule-{number}"), Spanned::into_inner),
        direction,
        standard,
        document: wire.document,
        version: wire.version,
        application: wire.application,
        test: wire.test,
        when,
        condition,
        maps,
        deliver,
        fields,
        settings,
        has_errors,
        place,
    }
}

/// Parses the condition of a rule or of its map, with the names of a guide.
fn condition(
    file: &mut UserFile,
    text: Option<Spanned<String>>,
    guide: Option<Spanned<PathBuf>>,
    (has_document, has_map): (bool, bool),
) -> Option<Condition> {
    let Some(text) = text else {
        if let Some(guide) = guide {
            let hint = "add `where`, or remove `guide`; `guides` in the settings names the guides that check documents";
            file.find(codes::PARTNER_VALUE, "`guide` of a rule is for its `where`, which is missing", &guide, hint);
        }
        return None;
    };
    if !has_document {
        let hint = "add the type of the document, such as document = \"850\"";
        file.find(
            codes::PARTNER_VALUE,
            "`where` reads one type of document, and the rule does not name it",
            &text,
            hint,
        );
    }
    if !has_map && guide.is_none() {
        let hint = "add guide = \"guides/NAME.guide\"; a rule with a map may leave it out";
        file.find(
            codes::PARTNER_VALUE,
            "a rule without a map does not say what the names in `where` mean",
            &text,
            hint,
        );
    }
    let span = text.span();
    let guide = guide.map(Spanned::into_inner);
    Some(Condition { text: text.into_inner(), guide, span, file: file.text.clone() })
}

/// Parses the look-up tables of a rule's maps: `customers=tables/customers.csv`, separated by vertical bars.
fn lookups(file: &mut UserFile, text: Option<&Spanned<String>>, has_map: bool) -> Arc<[(String, PathBuf)]> {
    let Some(text) = text else { return Arc::default() };
    if !has_map {
        let hint = "add the map that looks up the tables, or remove `lookups`";
        file.find(codes::PARTNER_VALUE, "a rule without a map looks up no table", text, hint);
    }
    match LookupTable::pairs(text.get_ref()) {
        Ok(pairs) => pairs.into_iter().map(|(name, path)| (name, PathBuf::from(path))).collect(),
        Err(part) => {
            let hint = "write it as \"customers=tables/customers.csv\"";
            file.find(codes::PARTNER_VALUE, format!("`{part}` is not NAME=FILE"), text, hint);
            Arc::default()
        }
    }
}

/// Headers and trailers, whose elements rules do not read.
const SERVICE_TAGS: [&str; 13] =
    ["ISA", "GS", "ST", "SE", "GE", "IEA", "UNA", "UNB", "UNG", "UNH", "UNT", "UNE", "UNZ"];

/// Returns the tag of an element reference.
fn tag_of(reference: &str) -> &str {
    let element = reference.split_once('-').map_or(reference, |(element, _)| element);
    &element[..element.len() - 2]
}

/// Returns true for element references such as `BEG03` and `BGM01-1`: a tag of two or three characters, two digits, an optional component.
/// Elements and components count from 1.
fn is_element(reference: &str) -> bool {
    let (element, component) = reference.split_once('-').unwrap_or((reference, "1"));
    let number = |text: &str| {
        let digits = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits && text.bytes().any(|byte| byte != b'0')
    };
    let is_tag = |tag: &str| {
        tag.starts_with(|first: char| first.is_ascii_uppercase())
            && tag.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    element.is_ascii()
        && (4..=5).contains(&element.len())
        && is_tag(&element[..element.len() - 2])
        && number(&element[element.len() - 2..])
        && number(component)
}

fn settings(file: &mut UserFile, wire: WireSettings) -> Settings {
    fn one<T>(
        file: &mut UserFile,
        value: Option<Spanned<String>>,
        parse: impl Fn(&str) -> Option<T>,
        words: &[&str],
    ) -> Option<T> {
        value.and_then(|value| word(file, &value, parse, words))
    }
    let acknowledge = wire
        .acknowledge
        .map(|all| all.iter().filter_map(|one| word(file, one, AckKind::parse, AckKind::WORDS)).collect::<Vec<_>>());
    let advise = wire.advise.map(|all| {
        let parsed = all.iter().filter_map(|one| word(file, one, AdviceKind::parse, AdviceKind::WORDS));
        parsed.collect::<Vec<_>>()
    });
    if let Some(kinds) = &acknowledge
        && kinds.contains(&AckKind::Functional)
        && kinds.contains(&AckKind::Implementation)
    {
        file.find_in_file(codes::PARTNER_VALUE, "997 and 999 answer the same groups", "choose one of them");
    }
    let [delimiters_x12, delimiters_edifact] = by_standard(file, wire.delimiters, |text, standard| {
        let length = if standard == Standard::X12 { 4 } else { 5 };
        // Four characters are those of X12; EDIFACT has a release character too.
        let fits = text.len() == length && delimiters_of(text, standard).is_some();
        (!fits).then_some(match standard {
            Standard::X12 => (
                "delimiters of X12 are four different characters that are not letters, digits or spaces",
                "write element, component, repetition and terminator, such as \"*:^~\"",
            ),
            Standard::Edifact => (
                "delimiters of EDIFACT are five different characters that are not letters, digits or, but for the third, spaces",
                "write element, component, repetition or a space, terminator and release character, such as \"+: '?\"",
            ),
        })
    });
    let [version_x12, version_edifact] = by_standard(file, wire.version, |text, standard| {
        let fits = match standard {
            Standard::X12 => HeaderField::named(Standard::X12, "version")
                .is_some_and(|(_, field)| field.expected(text.as_bytes()).is_none()),
            Standard::Edifact => text.split_once(':').is_some_and(|(identifier, version)| {
                CharacterSet::of(identifier.as_bytes()).is_some() && matches!(version, "1" | "2" | "3" | "4")
            }),
        };
        (!fits).then_some((
            "this is not a version of an interchange",
            "write ISA12, such as 00501, or the syntax of UNB, such as UNOC:3",
        ))
    });
    let expect = wire.expect.map(|expect| {
        let all = match expect.get_ref() {
            WireExpect::One(one) => vec![one.clone()],
            WireExpect::Several(several) => several.clone(),
        };
        let parsed = all
            .into_iter()
            .filter_map(|one| word(file, &Spanned::new(expect.span(), one), AckKind::parse, AckKind::WORDS));
        parsed.collect::<Vec<_>>()
    });
    let fields = wire.fields.map(|fields| {
        let mut known = BTreeMap::new();
        for (name, value) in fields {
            let field = header_field(file, &name, &value);
            if field.is_some_and(|field| known.insert(field, value.get_ref().clone()).is_some()) {
                let message = format!("`{name}` is another spelling of a field that has a value");
                file.find(codes::PARTNER_VALUE, message, &value, "leave one of them out");
            }
        }
        known.into_iter().collect()
    });
    Settings {
        usage: one(file, wire.usage, Usage::parse, Usage::WORDS),
        validate: one(file, wire.validate, ValidationLevel::by_name, ValidationLevel::NAMES),
        reject_on: one(file, wire.reject_on, LowestRefused::parse, LowestRefused::WORDS),
        duplicates: one(file, wire.duplicates, DuplicatePolicy::parse, DuplicatePolicy::WORDS),
        duplicate_days: wire.duplicate_days.map(|days| duplicate_days(file, &days)),
        gaps: one(file, wire.gaps, GapPolicy::parse, GapPolicy::WORDS),
        acknowledge,
        advise,
        acknowledge_to: wire.acknowledge_to.and_then(|to| outside(file, &to)),
        expect,
        due: wire.due.and_then(|value| period(file, &value)),
        guides: wire.guides,
        keep: one(file, wire.keep, KeepPolicy::parse, KeepPolicy::WORDS),
        keep_days: wire.keep_days.map(|days| {
            if *days.get_ref() == 0 {
                file.find(
                    codes::PARTNER_VALUE,
                    "entries cannot be kept for 0 days",
                    &days,
                    "write a number of days from 1",
                );
            }
            *days.get_ref()
        }),
        keep_interchanges: one(file, wire.keep_interchanges, WholePolicy::parse, WholePolicy::WORDS),
        keep_interchanges_days: wire.keep_interchanges_days.map(|days| {
            if *days.get_ref() == 0 {
                let hint = "write a number of days from 1, or keep-interchanges = \"none\"";
                file.find(codes::PARTNER_VALUE, "what is kept for 0 days is not kept", &days, hint);
            }
            *days.get_ref()
        }),
        envelope: one(file, wire.envelope, EnvelopePolicy::parse, EnvelopePolicy::WORDS),
        close: wire.close.map(|wire| close(file, wire)),
        send_to: wire.send_to.and_then(|to| outside(file, &to)),
        delimiters_x12,
        delimiters_edifact,
        version_x12,
        version_edifact,
        line_breaks: wire.line_breaks,
        interchange_numbers: range(file, wire.interchange_numbers),
        group_numbers: range(file, wire.group_numbers),
        transaction_numbers: range(file, wire.transaction_numbers),
        fields,
    }
}

fn duplicate_days(file: &mut UserFile, days: &Spanned<u64>) -> u64 {
    if *days.get_ref() == 0 {
        let hint = "write a number of days from 1, or duplicates = \"accept\"";
        file.find(codes::PARTNER_VALUE, "with 0 days, no interchange is a duplicate", days, hint);
    }
    *days.get_ref()
}

/// Parses a period such as `90s`, `15m`, `24h`, `7d`.
fn period(file: &mut UserFile, value: &Spanned<String>) -> Option<Period> {
    let text = value.get_ref();
    let period = Period::parse(text);
    if period.is_none() {
        file.find(
            codes::PARTNER_VALUE,
            format!("`{text}` is not a duration of 1s to 366d"),
            value,
            "write 90s, 15m, 24h or 7d",
        );
    }
    period
}

fn close(file: &mut UserFile, wire: WireClose) -> ClosePolicy {
    let count = wire.count.map(|count| {
        if *count.get_ref() == 0 {
            file.find(codes::PARTNER_VALUE, "an envelope of no documents never closes", &count, "write a count from 1");
        }
        count.into_inner()
    });
    let bytes = wire.bytes.and_then(|value| {
        let text = value.get_ref();
        let bytes = quayline_core::Limits::number_of(text).and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = bytes.filter(|bytes| *bytes <= 64 << 20);
        if bytes.is_none() {
            file.find(codes::PARTNER_VALUE, format!("`{text}` is not a size of 1 to 64M"), &value, "write 100K or 1M");
        }
        bytes
    });
    let age = wire.age.and_then(|value| period(file, &value));
    let mut at_minutes = Vec::new();
    for value in wire.at {
        let time = value.get_ref().split_once(':').and_then(|(hours, minutes)| {
            let (hours, minutes) = (hours.parse::<u64>().ok()?, minutes.parse::<u64>().ok()?);
            (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
        });
        match time {
            Some(time) => at_minutes.push(time),
            None => {
                let message = format!("`{}` is not a time of day", value.get_ref());
                file.find(codes::PARTNER_VALUE, message, &value, "write hours and minutes in UTC, such as 18:00");
            }
        }
    }
    at_minutes.sort_unstable();
    ClosePolicy { count, bytes, age, at_minutes }
}

fn range(file: &mut UserFile, wire: Option<Spanned<WireRange>>) -> Option<NumberRange> {
    let wire = wire?;
    let WireRange { first, last } = wire.get_ref();
    let range = NumberRange { first: first.unwrap_or(1), last: last.unwrap_or(NumberRange::ALL.last) };
    if range.first == 0 || range.first > range.last || range.last > NumberRange::ALL.last {
        let message = "control numbers are from 1 to 999999999, the first not above the last";
        file.find(codes::PARTNER_VALUE, message, &wire, "correct `first` and `last`");
    }
    Some(range)
}

/// Parses a delimiters setting: element, component, repetition or a space, terminator, and for EDIFACT the release character.
pub(super) fn delimiters_of(text: &str, standard: Standard) -> Option<Delimiters> {
    let bytes = text.as_bytes();
    let base = if standard == Standard::X12 { Delimiters::X12 } else { Delimiters::EDIFACT };
    let [element, component, repetition, terminator, rest @ ..] = bytes else { return None };
    let release = match (standard, rest) {
        (Standard::X12, []) => None,
        (Standard::Edifact, []) => base.release,
        (Standard::Edifact, [release]) => Some(*release),
        _ => return None,
    };
    let repetition = (*repetition != b' ').then_some(*repetition);
    let delimiters =
        Delimiters { element: *element, component: *component, repetition, terminator: *terminator, release, ..base };
    let all = [Some(*element), Some(*component), repetition, Some(*terminator), release];
    let usable = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b' ';
    let all: Vec<u8> = all.into_iter().flatten().collect();
    let distinct = all.iter().enumerate().all(|(at, byte)| !all[..at].contains(byte));
    (all.iter().all(usable) && distinct).then_some(delimiters)
}

/// Returns the values for X12 and EDIFACT. `wrong` returns message and hint for an invalid one.
fn by_standard(
    file: &mut UserFile,
    value: Option<Spanned<WireByStandard>>,
    wrong: impl Fn(&str, Standard) -> Option<(&'static str, &'static str)>,
) -> [Option<String>; 2] {
    const STANDARDS: [Standard; 2] = [Standard::X12, Standard::Edifact];
    let Some(value) = value else { return [None, None] };
    let span = value.span();
    let mut check = |text: &String, standard| {
        if let Some((message, hint)) = wrong(text, standard) {
            file.find(codes::PARTNER_VALUE, message, &Spanned::new(span.clone(), ()), hint);
        }
    };
    match value.into_inner() {
        WireByStandard::Each(WireEach { x12, edifact }) => {
            x12.iter().for_each(|text| check(text, Standard::X12));
            edifact.iter().for_each(|text| check(text, Standard::Edifact));
            [x12, edifact]
        }
        WireByStandard::One(text) => {
            let fitting = STANDARDS.map(|standard| wrong(&text, standard).is_none());
            if fitting == [false, false] {
                check(
                    &text,
                    if text.len() == 5 && text.contains(':') || text.len() < 5 {
                        Standard::X12
                    } else {
                        Standard::Edifact
                    },
                );
            }
            fitting.map(|fits| fits.then(|| text.clone()))
        }
    }
}

/// Checks a header field of an envelope and returns its name as `interchange.FIELD` or `group.FIELD`.
fn header_field(file: &mut UserFile, name: &str, value: &Spanned<String>) -> Option<String> {
    const OURS: [&str; 12] = [
        "sender",
        "sender_qualifier",
        "receiver",
        "receiver_qualifier",
        "control_number",
        "date",
        "time",
        "test",
        "version",
        "standards_id",
        "syntax_identifier",
        "syntax_version",
    ];
    let known: Vec<_> = [Standard::X12, Standard::Edifact]
        .into_iter()
        .filter_map(|standard| HeaderField::named(standard, name))
        .collect();
    let Some((level, _)) = known.first() else {
        let hint = "write interchange.FIELD or group.FIELD; docs/reference/edi.md lists the fields";
        file.find(codes::PARTNER_VALUE, format!("no header has a field `{name}`"), value, hint);
        return None;
    };
    let short = known[0].1.name;
    // Envelopes have groups in X12 alone, and the documents decide about GS01 and GS08.
    if *level == Level::Transaction || OURS.contains(&short) || *level == Level::Group && short != "agency" {
        let message = format!("`{name}` is not for partner files: Quayline sets it");
        let hint = "identities, numbers, clock, documents and the other settings decide it; leave it out";
        file.find(codes::PARTNER_VALUE, message, value, hint);
        return None;
    }
    let level = if *level == Level::Group { "group" } else { "interchange" };
    let canonical = Some(format!("{level}.{short}"));
    let is_secret = matches!(short, "authorization" | "security" | "password");
    match value.get_ref().strip_prefix("env:") {
        Some(variable) if !variable.is_empty() => return canonical,
        _ if is_secret => {
            let message = format!("`{name}` is a secret, and partner files hold none");
            file.find(codes::PARTNER_VALUE, message, value, "name an environment variable: \"env:ACME_PASSWORD\"");
            return canonical;
        }
        _ => {}
    }
    let fits = known.iter().any(|(_, field)| field.expected(value.get_ref().as_bytes()).is_none());
    if let (false, Some(expected)) = (fits, known[0].1.expected(value.get_ref().as_bytes())) {
        let message = format!("the value of {} must be {expected}", known[0].1.reference);
        file.find(codes::PARTNER_VALUE, message, value, "correct the value");
    }
    canonical
}
