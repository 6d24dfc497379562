//! Lossless maps: a map followed by its inverse returns every document unchanged. Shapes, maps and documents are generated in pairs: each
//! field has a rule for its value in both directions, and the other shape has the fields under other names and in another order.

use std::fmt::Write as _;

use proptest::prelude::*;
use quayline_map::SourceOrder;

use crate::law::{Dice, shown};
use crate::support::{Case, Json};

/// One way to write a value otherwise, and back. `@` is the value.
struct Rule {
    here: &'static str,
    other: &'static str,
    there: &'static str,
    back: &'static str,
    /// Values as JSON.
    values: &'static [&'static str],
    /// True if an absent value stays absent.
    optional: bool,
}

const fn rule(
    here: &'static str,
    other: &'static str,
    there: &'static str,
    back: &'static str,
    values: &'static [&'static str],
) -> Rule {
    Rule { here, other, there, back, values, optional: true }
}

const RULES: &[Rule] = &[
    rule("text(10)", "text(10)", "@", "@", &["\"\"", "\"a\"", "\"b c\"", "\"äöü\"", "\" x \""]),
    rule("text(2)", "text(5)", "translate(@, units)", "reverse(@, units)", &["\"EA\"", "\"KG\"", "\"<>\""]),
    rule("decimal(7,2)", "decimal(9,2)", "@", "fit(@, 7, 2)", &["0", "-3.25", "99999.99", "12"]),
    rule(
        "decimal(7,2)",
        "text(12)",
        "format(@, \"-00000.00\")",
        "fit(number(@), 7, 2)",
        &["0", "-3.25", "99999.99", "0.01"],
    ),
    rule("decimal(7,2)", "decimal(7)", "scale(@, -2)", "scale(@, 2)", &["0", "-3.25", "99999.99", "0.01"]),
    rule("decimal(5,2)", "decimal(6,2)", "@ + 1", "fit(@ - 1, 5, 2)", &["0", "-999.99", "999.99", "-1"]),
    rule("unsigned(3)", "decimal(3)", "0 - @", "unsigned(abs(@))", &["0", "7", "999"]),
    rule(
        "text(8)",
        "text(10)",
        "format(date(@, \"CCYYMMDD\"), \"DD.MM.CCYY\")",
        "format(date(@, \"DD.MM.CCYY\"), \"CCYYMMDD\")",
        &["\"20260131\"", "\"20240229\"", "\"00010101\"", "\"99991231\""],
    ),
    rule(
        "text(6)",
        "text(10)",
        "format(date(@, \"YYMMDD\", 1950), \"YYYY-MM-DD\")",
        "format(date(@, \"YYYY-MM-DD\"), \"YYMMDD\")",
        &["\"500101\"", "\"491231\"", "\"000229\""],
    ),
    rule(
        "text(4)",
        "text(8)",
        "format(time(@, \"HHMM\"), \"HH:MM:SS\")",
        "format(time(@, \"HH:MM:SS\"), \"HHMM\")",
        &["\"0000\"", "\"2359\"", "\"0730\""],
    ),
    rule(
        "text(8)",
        "text(10)",
        "format(add-days(date(@, \"CCYYMMDD\"), 45), \"YYYY-MM-DD\")",
        "format(add-days(date(@, \"YYYY-MM-DD\"), -45), \"CCYYMMDD\")",
        &["\"20260131\"", "\"20240229\"", "\"19991231\""],
    ),
    rule(
        "text(6)",
        "text(9)",
        "if present(@) then \"PO-\" & @ else absent",
        "substring(@, 4, 6)",
        &["\"1\"", "\"123456\"", "\"ä\""],
    ),
    rule("text(6)", "text(6)", "upper(@)", "lower(@)", &["\"\"", "\"abc\"", "\"é1\""]),
    rule("text(6)", "text(9)", "pad-left(@, 9, \"0\")", "right(@, 6)", &["\"123456\"", "\"000001\"", "\"abcdef\""]),
    rule("text(5)", "text(5)", "replace(@, \"-\", \"/\")", "replace(@, \"/\", \"-\")", &["\"a-b\"", "\"--\"", "\"x\""]),
    Rule {
        optional: false,
        ..rule("bool", "text(1)", "if @ then \"Y\" else \"N\"", "if @ = \"Y\" then true else false", &["true", "false"])
    },
];

const TABLE: &str = "table units { \"EA\" => \"PCE\", \"KG\" => \"KGM\", \"<>\" => \"INH\" }\n";

/// Both shapes, both maps, and documents of the first shape.
struct Pair {
    here: String,
    other: String,
    there: String,
    back: String,
    members: Vec<Member>,
}

/// A field or group of the first shape.
enum Member {
    Field { name: String, occurs: &'static str, rule: &'static Rule },
    Group { name: String, occurs: &'static str, members: Vec<Member> },
}

fn pair(dice: &mut Dice) -> Pair {
    let mut next = 0;
    let members = members(dice, 0, &mut next);
    let mut pair = Pair {
        here: "here\n".to_owned(),
        other: "other\n".to_owned(),
        there: TABLE.to_owned(),
        back: TABLE.to_owned(),
        members: Vec::new(),
    };
    write_here(&members, 1, &mut pair.here);
    write_other(dice, &members, 1, &mut pair);
    pair.members = members;
    pair
}

fn members(dice: &mut Dice, depth: usize, next: &mut usize) -> Vec<Member> {
    let mut all = Vec::new();
    for at in 0..1 + dice.roll(4) {
        *next += 1;
        let name = format!("a{next}");
        if at > 0 && depth < 3 && *next < 20 && dice.chance(45) {
            let occurs = *dice.of(&["", "?", "*", "*"]);
            all.push(Member::Group { name, occurs, members: members(dice, depth + 1, next) });
            continue;
        }
        let rule = dice.of(RULES);
        // The first field of a group is mandatory: a group without any value is not written.
        let occurs = match at {
            0 => "",
            _ if rule.optional => *dice.of(&["", "?", "?", "*"]),
            _ => *dice.of(&["", "*"]),
        };
        all.push(Member::Field { name, occurs, rule });
    }
    all
}

fn write_here(members: &[Member], depth: usize, text: &mut String) {
    for member in members {
        match member {
            Member::Field { name, occurs, rule } => {
                writeln!(text, "{:depth$}{name}{occurs} {}", "", rule.here, depth = depth * 2).expect("writes");
            }
            Member::Group { name, occurs, members } => {
                writeln!(text, "{:depth$}{name}{occurs}", "", depth = depth * 2).expect("writes");
                write_here(members, depth + 1, text);
            }
        }
    }
}

/// Writes the other shape in a random order, and both maps. The statements follow the order of neither shape.
fn write_other(dice: &mut Dice, members: &[Member], depth: usize, pair: &mut Pair) {
    let mut order: Vec<&Member> = members.iter().collect();
    for at in (1..order.len()).rev() {
        order.swap(at, dice.roll(at + 1));
    }
    for member in order {
        let indent = " ".repeat(depth * 2);
        match member {
            Member::Field { name, occurs, rule } => {
                let other = name.replace('a', "b");
                writeln!(pair.other, "{indent}{other}{occurs} {}", rule.other).expect("writes");
                let (there, back) = if *occurs == "*" {
                    let value = |text: &str| text.replace('@', "it");
                    (
                        format!("for {name} make {other} = {}", value(rule.there)),
                        format!("for {other} make {name} = {}", value(rule.back)),
                    )
                } else {
                    (
                        format!("{other} = {}", rule.there.replace('@', name)),
                        format!("{name} = {}", rule.back.replace('@', &other)),
                    )
                };
                writeln!(pair.there, "{indent}{there}").expect("writes");
                writeln!(pair.back, "{indent}{back}").expect("writes");
            }
            Member::Group { name, occurs, members } => {
                let other = name.replace('a', "b");
                writeln!(pair.other, "{indent}{other}{occurs}").expect("writes");
                writeln!(pair.there, "{indent}for {name} make {other} {{").expect("writes");
                writeln!(pair.back, "{indent}for {other} make {name} {{").expect("writes");
                write_other(dice, members, depth + 1, pair);
                writeln!(pair.there, "{indent}}}").expect("writes");
                writeln!(pair.back, "{indent}}}").expect("writes");
            }
        }
    }
}

fn document(dice: &mut Dice, members: &[Member]) -> Json {
    let mut all = Vec::new();
    for member in members {
        let (name, occurs) = match member {
            Member::Field { name, occurs, .. } | Member::Group { name, occurs, .. } => (name, *occurs),
        };
        let one = |dice: &mut Dice| match member {
            Member::Field { rule, .. } => Json::parse(dice.of::<&str>(rule.values)),
            Member::Group { members, .. } => document(dice, members),
        };
        let value = match occurs {
            "*" if dice.chance(20) => continue,
            "*" => Json::Array((0..dice.roll(4)).map(|_| one(dice)).collect()),
            "?" if dice.chance(40) => continue,
            _ => one(dice),
        };
        all.push((name.clone(), value));
    }
    Json::Object(all)
}

/// Normalizes a document: removes trailing zeros of decimals, and omits empty lists. A group that contains only empty lists is omitted
/// as well.
fn plain(json: &Json) -> Json {
    match json {
        Json::Object(members) => {
            let there = members.iter().filter(|(_, value)| !matches!(value, Json::Array(all) if all.is_empty()));
            Json::Object(there.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        Json::Array(all) => Json::Array(all.iter().map(plain).collect()),
        Json::Number(text) if text.contains('.') => {
            Json::Number(text.trim_end_matches('0').trim_end_matches('.').to_owned())
        }
        other => other.clone(),
    }
}

fn check(seed: u64) {
    let mut dice = Dice(seed | 1);
    for _ in 0..8 {
        dice.roll(2);
    }
    let pair = pair(&mut dice);
    let written = |ran: String| ran.lines().filter(|line| line.starts_with('{')).map(str::to_owned).collect::<Vec<_>>();
    for order in [SourceOrder::AsShape, SourceOrder::Any] {
        let (there, back) = (
            Case { order, ..Case::new(&pair.here, &pair.other) },
            Case { order, ..Case::new(&pair.other, &pair.here) },
        );
        for _ in 0..3 {
            let document = shown(&document(&mut dice, &pair.members));
            let between = there.run(&pair.there, &[&document]);
            let world = || {
                format!("seed {seed}\n{}{}{}\n{}\n{document}\n{between}", pair.here, pair.other, pair.there, pair.back)
            };
            let [middle] = &written(between.clone())[..] else { panic!("no document: {}", world()) };
            let end = back.run(&pair.back, &[middle]);
            let [again] = &written(end.clone())[..] else { panic!("none came back: {end}\n{}", world()) };
            let same = |text: &str| shown(&plain(&Json::parse(text)));
            assert_eq!(same(again), same(&document), "{}", world());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300), ..ProptestConfig::default() })]
    #[test]
    fn inverse_maps_give_every_document_back(seed in any::<u64>()) {
        check(seed);
    }
}
