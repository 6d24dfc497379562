//! Laws over generated shapes, maps and documents.
//!
//! A map that compiles never panics. Its output is well formed, in the order of its shape and valid against it, or there is a finding.
//! It writes the same output whether it is mapped while it is read or kept, and for any order of the source's members.

use std::fmt::Write as _;

use proptest::prelude::*;
use quayline_core::{NodeId, NodeKind, Occurs, Scalar, Shape};
use quayline_map::{Absent, SourceOrder};

use crate::support::{Case, Json, shape};

/// A small deterministic random generator: one seed, one case.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).expect("44 bits") % sides
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.roll(100) < percent
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.roll(all.len())]
    }
}

fn outline(dice: &mut Dice, letter: char) -> String {
    let mut text = format!("{letter}\n");
    let mut next = 0;
    group(dice, letter, 1, &mut next, &mut text);
    text
}

fn group(dice: &mut Dice, letter: char, depth: usize, next: &mut usize, text: &mut String) {
    for _ in 0..1 + dice.roll(4) {
        *next += 1;
        let occurs = *dice.of(&["", "", "?", "*", "*1..4", "*0..3"]);
        write!(text, "{:depth$}{letter}{next}{occurs}", "", depth = depth * 2).expect("writes");
        if depth < 4 && *next < 24 && dice.chance(45) {
            text.push('\n');
            group(dice, letter, depth + 1, next, text);
        } else {
            let kind = dice.of(&["text(6)", "text(3)", "decimal(5,2)", "unsigned(3)", "text"]);
            writeln!(text, " {kind}").expect("writes");
        }
    }
}

/// Writes maps: the current position in the source, and the names that are defined.
pub(crate) struct Author<'a> {
    source: &'a Shape,
    target: &'a Shape,
    /// Nodes whose children can be named.
    chain: Vec<NodeId>,
    variables: Vec<String>,
    names: usize,
    /// Percentage of optional fields that are omitted; its last digit is the percentage of omitted mandatory fields.
    sparse: usize,
    pub(crate) text: String,
}

impl<'a> Author<'a> {
    /// Creates an author of an empty map.
    pub(crate) fn new(source: &'a Shape, target: &'a Shape, sparse: usize) -> Self {
        let (chain, text) = (vec![NodeId::ROOT], String::new());
        Author { source, target, chain, variables: Vec::new(), names: 0, sparse, text }
    }

    fn line(&mut self, depth: usize, line: &str) {
        writeln!(self.text, "{:depth$}{line}", "", depth = depth * 2).expect("writes");
    }

    /// Returns a path from a context to a node of the wanted kind, with selections from lists on the way.
    fn path(&self, dice: &mut Dice, wanted: fn(&Shape, NodeId) -> bool, through: bool) -> Option<(String, NodeId)> {
        for _ in 0..12 {
            let mut node = *dice.of(&self.chain);
            let mut path = String::new();
            for _ in 0..4 {
                let children: Vec<NodeId> = self.source.children(node).collect();
                if children.is_empty() {
                    break;
                }
                node = *dice.of(&children);
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&called(&self.source.node(node).name));
                if wanted(self.source, node) && (through || !self.source.node(node).is_list()) {
                    return Some((path, node));
                }
                if self.source.node(node).is_list() {
                    let select = match dice.roll(4) {
                        0 => "[last]".to_owned(),
                        1 => {
                            self.condition_in(dice, node).map_or("[0]".to_owned(), |condition| format!("[{condition}]"))
                        }
                        n => format!("[{}]", n - 2),
                    };
                    path.push_str(&select);
                    if wanted(self.source, node) {
                        return Some((path, node));
                    }
                }
            }
        }
        None
    }

    fn condition_in(&self, dice: &mut Dice, list: NodeId) -> Option<String> {
        let leaves: Vec<NodeId> = self
            .source
            .children(list)
            .filter(|child| is_text(self.source, *child) && !self.source.node(*child).is_list())
            .collect();
        (!leaves.is_empty())
            .then(|| format!("{} = \"{}\"", called(&self.source.node(*dice.of(&leaves)).name), dice.of(&["a", "bb"])))
    }

    fn text(&self, dice: &mut Dice, depth: usize) -> String {
        let leaf = self.path(dice, is_text, false);
        match (dice.roll(if depth > 3 { 3 } else { 10 }), leaf) {
            (0, _) | (_, None) => format!("\"{}\"", dice.of(&["x", "yy", "a"])),
            (1..=3, Some((path, _))) => path,
            (4, _) => format!("left({} & {}, 3)", self.text(dice, depth + 1), self.text(dice, depth + 1)),
            (5, _) => format!("({} ?? {})", self.text(dice, depth + 1), self.text(dice, depth + 1)),
            (6, _) => format!(
                "if {} then {} else {}",
                self.condition(dice, depth + 1),
                self.text(dice, depth + 1),
                self.text(dice, depth + 1)
            ),
            (7, _) => match self.list(dice) {
                Some((path, node)) => match self.leaf_of(dice, node, is_text) {
                    Some(leaf) => format!("left(join({leaf} for {path}, \",\") ?? \"-\", 6)"),
                    None => format!("text(count({path}))"),
                },
                None => "\"none\"".to_owned(),
            },
            (8, _) => format!("text({})", self.number(dice, depth + 1)),
            _ => format!("upper({})", self.text(dice, depth + 1)),
        }
    }

    fn number(&self, dice: &mut Dice, depth: usize) -> String {
        let leaf = self.path(dice, is_number, false);
        match (dice.roll(if depth > 3 { 3 } else { 9 }), leaf) {
            (0, _) | (_, None) => format!("{}", dice.roll(20)),
            (1..=3, Some((path, _))) => path,
            (4, _) => format!("round({} * {}, 2)", self.number(dice, depth + 1), self.number(dice, depth + 1)),
            (5, _) => format!("({} + {})", self.number(dice, depth + 1), self.number(dice, depth + 1)),
            (6, _) => match self.list(dice) {
                Some((path, node)) => match self.leaf_of(dice, node, is_number) {
                    Some(leaf) => format!("{}({leaf} for {path})", dice.of(&["sum", "max", "min"])),
                    None => format!("count({path})"),
                },
                None => "1".to_owned(),
            },
            (7, _) if !self.variables.is_empty() => dice.of(&self.variables).clone(),
            _ => format!("round({} / 7, 1, half-even)", self.number(dice, depth + 1)),
        }
    }

    fn list(&self, dice: &mut Dice) -> Option<(String, NodeId)> {
        self.path(dice, |shape, node| shape.node(node).is_list() && shape.node(node).scalar().is_none(), true)
            .filter(|(path, _)| !path.ends_with(']'))
    }

    fn leaf_of(&self, dice: &mut Dice, group: NodeId, wanted: fn(&Shape, NodeId) -> bool) -> Option<String> {
        let leaves: Vec<NodeId> = self
            .source
            .children(group)
            .filter(|child| wanted(self.source, *child) && !self.source.node(*child).is_list())
            .collect();
        (!leaves.is_empty()).then(|| called(&self.source.node(*dice.of(&leaves)).name))
    }

    fn condition(&self, dice: &mut Dice, depth: usize) -> String {
        match dice.roll(4) {
            0 => format!("{} = {}", self.text(dice, depth + 2), self.text(dice, depth + 2)),
            1 => format!("{} > {}", self.number(dice, depth + 2), self.number(dice, depth + 2)),
            2 => match self.path(dice, |_, _| true, true) {
                Some((path, _)) => format!("present({path})"),
                None => "true".to_owned(),
            },
            _ => format!("not {} in (\"a\", \"x\")", self.text(dice, depth + 2)),
        }
    }

    fn value(&self, dice: &mut Dice, node: NodeId) -> String {
        match self.target.node(node).scalar() {
            Some(Scalar::Text { .. }) => self.text(dice, 0),
            Some(Scalar::Bool) => self.condition(dice, 0),
            _ => self.number(dice, 0),
        }
    }

    /// Statements for the children of a target group.
    pub(crate) fn body(&mut self, dice: &mut Dice, group: NodeId, depth: usize) {
        if depth < 5 && dice.chance(25) {
            self.names += 1;
            let name = format!("v{}", self.names);
            self.line(depth, &format!("var {name} = 0"));
            self.variables.push(name);
        }
        let variables = self.variables.len();
        let mut children: Vec<NodeId> = self.target.children(group).collect();
        for at in (1..children.len()).rev() {
            children.swap(at, dice.roll(at + 1));
        }
        for child in children {
            let must = self.target.node(child).occurs == Occurs::Once;
            if dice.chance(if must { self.sparse % 10 } else { self.sparse }) {
                continue;
            }
            if !self.variables.is_empty() && dice.chance(15) {
                let name = dice.of(&self.variables).clone();
                self.line(depth, &format!("set {name} += 1"));
            }
            let conditional = self.target.node(child).occurs != Occurs::Once && dice.chance(15);
            if conditional {
                let condition = self.condition(dice, 0);
                self.line(depth, &format!("if {condition} {{"));
            }
            self.child(dice, child, depth + usize::from(conditional));
            if conditional {
                self.line(depth, "}");
            }
        }
        self.variables.truncate(variables);
    }

    fn child(&mut self, dice: &mut Dice, child: NodeId, depth: usize) {
        let node = self.target.node(child);
        let name = called(&node.name);
        let leaf = matches!(node.kind, NodeKind::Scalar(_));
        let list = node.is_list();
        match (leaf, list) {
            (true, false) => {
                let value = self.value(dice, child);
                self.line(depth, &format!("{name} = {value}"));
            }
            (true, true) if dice.chance(40) => {
                let values: Vec<String> = (0..1 + dice.roll(2)).map(|_| self.value(dice, child)).collect();
                self.line(depth, &format!("{name} = [{}]", values.join(", ")));
            }
            (false, false) => {
                self.line(depth, &format!("make {name} {{"));
                self.body(dice, child, depth + 1);
                self.line(depth, "}");
            }
            _ => self.fill(dice, child, &name, leaf, depth),
        }
    }

    /// Fills a list by a loop, if there is one to go through.
    fn fill(&mut self, dice: &mut Dice, child: NodeId, name: &str, leaf: bool, depth: usize) {
        let Some((path, over)) = self.list(dice).filter(|_| dice.chance(85)) else {
            if !leaf {
                self.line(depth, &format!("make {name} {{"));
                self.body(dice, child, depth + 1);
                self.line(depth, "}");
            }
            return;
        };
        self.chain.push(over);
        let filter = if dice.chance(20) { format!(" where {}", self.condition(dice, 1)) } else { String::new() };
        let limit = if dice.chance(50) { " limit 3" } else { "" };
        if leaf {
            let value = self.value(dice, child);
            self.line(depth, &format!("for {path}{filter}{limit} make {name} = {value}"));
        } else {
            self.line(depth, &format!("for {path}{filter}{limit} make {name} {{"));
            self.body(dice, child, depth + 1);
            self.line(depth, "}");
        }
        self.chain.pop();
    }
}

/// Returns a name as maps write it: words of the language and unusual characters are quoted.
fn called(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let own = name.chars().any(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    if plain && own && !name.ends_with('-') { name.to_owned() } else { format!("'{name}'") }
}

fn is_text(shape: &Shape, node: NodeId) -> bool {
    matches!(shape.node(node).scalar(), Some(Scalar::Text { .. }))
}

fn is_number(shape: &Shape, node: NodeId) -> bool {
    matches!(shape.node(node).scalar(), Some(Scalar::Decimal { .. }))
}

fn document(dice: &mut Dice, shape: &Shape, group: NodeId) -> Json {
    let mut members = Vec::new();
    for child in shape.children(group) {
        let node = shape.node(child);
        let name = node.name.clone();
        match node.occurs {
            Occurs::Optional if dice.chance(40) => {}
            Occurs::Many { .. } if dice.chance(15) => {}
            Occurs::Many { .. } => {
                let all = (0..dice.roll(4)).map(|_| one(dice, shape, child)).collect();
                members.push((name, Json::Array(all)));
            }
            _ => members.push((name, one(dice, shape, child))),
        }
    }
    Json::Object(members)
}

fn one(dice: &mut Dice, shape: &Shape, node: NodeId) -> Json {
    match shape.node(node).scalar() {
        None => document(dice, shape, node),
        Some(Scalar::Text { .. }) => Json::Text((*dice.of(&["a", "bb", "x", "ccc", ""])).to_owned()),
        Some(_) => Json::Number((*dice.of(&["0", "1", "2.5", "12", "999.99"])).to_owned()),
    }
}

fn shuffled(dice: &mut Dice, json: &Json) -> Json {
    match json {
        Json::Object(members) => {
            let mut members: Vec<(String, Json)> =
                members.iter().map(|(name, value)| (name.clone(), shuffled(dice, value))).collect();
            for at in (1..members.len()).rev() {
                members.swap(at, dice.roll(at + 1));
            }
            Json::Object(members)
        }
        Json::Array(all) => Json::Array(all.iter().map(|one| shuffled(dice, one)).collect()),
        other => other.clone(),
    }
}

/// Returns an outline in which some siblings come in any order.
fn mixed(dice: &mut Dice, outline: &str) -> String {
    let mut text = String::new();
    for (number, line) in outline.lines().enumerate() {
        let name = line.trim_start();
        let mark = if number > 0 && dice.chance(40) { "~" } else { "" };
        writeln!(text, "{}{mark}{name}", &line[..line.len() - name.len()]).expect("writes");
    }
    text
}

/// Shuffles the members of each run of siblings that come in any order.
fn within_runs(dice: &mut Dice, shape: &Shape, group: NodeId, json: &Json) -> Json {
    match json {
        Json::Object(members) => {
            let mut members: Vec<(NodeId, usize, String, Json)> = members
                .iter()
                .map(|(name, value)| {
                    let node = shape.child(group, name).expect("a member of the shape");
                    (shape.run_of(node).0, dice.roll(1000), name.clone(), within_runs(dice, shape, node, value))
                })
                .collect();
            members.sort_by_key(|(run, place, ..)| (*run, *place));
            Json::Object(members.into_iter().map(|(_, _, name, value)| (name, value)).collect())
        }
        Json::Array(all) => Json::Array(all.iter().map(|one| within_runs(dice, shape, group, one)).collect()),
        other => other.clone(),
    }
}

pub(crate) fn shown(json: &Json) -> String {
    match json {
        Json::Object(members) => {
            format!(
                "{{{}}}",
                members.iter().map(|(name, value)| format!("{name:?}:{}", shown(value))).collect::<Vec<_>>().join(",")
            )
        }
        Json::Array(all) => format!("[{}]", all.iter().map(shown).collect::<Vec<_>>().join(",")),
        Json::Text(text) => format!("{text:?}"),
        Json::Number(text) => text.clone(),
        Json::Bool(x) => x.to_string(),
        Json::Null => "null".to_owned(),
    }
}

/// Checks a document against its shape.
pub(crate) fn valid(shape: &Shape, group: NodeId, json: &Json) -> Result<(), String> {
    let Json::Object(members) = json else { return Err(format!("{} is no object", shape.path(group))) };
    for child in shape.children(group) {
        let node = shape.node(child);
        let found = members.iter().find(|(name, _)| *name == node.name).map(|(_, value)| value);
        let path = shape.path(child);
        match (node.occurs, found) {
            (Occurs::Once, None) => return Err(format!("{path} is missing")),
            (Occurs::Many { min, .. }, None) if min > 0 => return Err(format!("{path} is missing")),
            (Occurs::Many { min, max }, Some(Json::Array(all))) => {
                if all.len() < min as usize || max.is_some_and(|max| all.len() > max as usize) {
                    return Err(format!("{path} has {} occurrences", all.len()));
                }
                for one in all {
                    valid_one(shape, child, one)?;
                }
            }
            (_, Some(one)) => valid_one(shape, child, one)?,
            (_, None) => {}
        }
    }
    Ok(())
}

fn valid_one(shape: &Shape, node: NodeId, json: &Json) -> Result<(), String> {
    let path = shape.path(node);
    match (shape.node(node).scalar(), json) {
        (None, json) => valid(shape, node, json),
        (Some(Scalar::Text { chars_max }), Json::Text(text)) => {
            if chars_max.is_some_and(|max| text.chars().count() > max as usize) {
                Err(format!("{path} is too long"))
            } else {
                Ok(())
            }
        }
        (Some(Scalar::Decimal { digits, scale, signed }), Json::Number(text)) => {
            let (whole, fraction) =
                text.trim_start_matches('-').split_once('.').unwrap_or((text.trim_start_matches('-'), ""));
            let whole = whole.trim_start_matches('0').len();
            let bound = usize::try_from(i32::from(*digits) - i32::from(*scale)).expect("more digits than decimals");
            if whole > bound
                || fraction.len() > usize::try_from(*scale).unwrap_or(0)
                || (text.starts_with('-') && !signed)
            {
                Err(format!("{path} is {text}"))
            } else {
                Ok(())
            }
        }
        (Some(Scalar::Bool), Json::Bool(_)) | (Some(Scalar::Float32 | Scalar::Float64), Json::Number(_)) => Ok(()),
        // An occurrence without a value keeps its place in a list of values.
        (Some(_), Json::Null) if shape.node(node).is_list() => Ok(()),
        (_, json) => Err(format!("{path} is {json:?}")),
    }
}

/// Checks one generated case. Returns true if its map compiled.
fn check(seed: u64) -> bool {
    let mut dice = Dice(seed | 1);
    for _ in 0..8 {
        dice.roll(2);
    }
    let (source_outline, target_outline) = (outline(&mut dice, 's'), outline(&mut dice, 't'));
    let (source, target) = (shape(&source_outline), shape(&target_outline));
    let mut author = Author::new(&source, &target, 8);
    author.body(&mut dice, NodeId::ROOT, 0);
    let map = author.text;
    let case = |order| Case { source: &source_outline, targets: vec![("t", &target_outline, Absent::Refused)], order };
    let straight = case(SourceOrder::AsShape);
    if straight.compile(&map).is_err() {
        return false;
    }
    let laid_out = quayline_map::format_map("t.qmap", &map).expect("it compiles");
    assert_eq!(quayline_map::format_map("t.qmap", &laid_out).as_ref(), Ok(&laid_out), "{map}");
    let documents: Vec<Json> = (0..3).map(|_| document(&mut dice, &source, NodeId::ROOT)).collect();
    let texts: Vec<String> = documents.iter().map(shown).collect();
    let world = || format!("seed {seed}\n{source_outline}\n{target_outline}\n{map}\n{}", texts.join("\n"));
    for text in &texts {
        let written = straight.run(&map, &[text]);
        let lines = |text: &str| {
            let mut lines: Vec<String> =
                text.lines().filter(|line| !line.starts_with("  ")).map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let again = straight.run(&laid_out, &[text]);
        let payload = |text: &str| {
            text.lines()
                .filter(|line| line.starts_with('{') || line.starts_with("refused"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(payload(&again), payload(&written), "laid out, it differs: {}", world());
        let any = case(SourceOrder::Any);
        assert_eq!(lines(&any.run(&map, &[text])), lines(&written), "kept differs: {}", world());
        let other = shown(&shuffled(&mut dice, &Json::parse(text)));
        assert_eq!(lines(&any.run(&map, &[&other])), lines(&written), "{other}: another order differs: {}", world());
        let marked = mixed(&mut dice, &source_outline);
        let some = Case {
            source: &marked,
            targets: vec![("t", &target_outline, Absent::Refused)],
            order: SourceOrder::AsShape,
        };
        let other = shown(&within_runs(&mut dice, &shape(&marked), NodeId::ROOT, &Json::parse(text)));
        assert_eq!(lines(&some.run(&map, &[&other])), lines(&written), "{marked}{other}: runs differ: {}", world());
        for line in written.lines().filter(|line| line.starts_with('{')) {
            if let Err(reason) = valid(&target, NodeId::ROOT, &Json::parse(line)) {
                panic!("{reason}: {line}\n{}", world());
            }
        }
        let refused = written.contains("refused") || written.contains("error[");
        assert!(refused || written.lines().any(|line| line.starts_with('{')), "nothing written: {}", world());
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300), ..ProptestConfig::default() })]
    #[test]
    fn maps_that_compile_give_valid_documents_or_findings(seed in any::<u64>()) {
        check(seed);
    }
}

#[test]
fn most_generated_maps_compile() {
    let compiled = (1..200u64).filter(|seed| check(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))).count();
    assert!(compiled > 60, "{compiled} of 200");
}

#[test]
fn seed_of_the_environment() {
    // `SEED=… cargo test seed_of -- --nocapture` shows one world.
    if let Some(seed) = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()) {
        eprintln!("{}", world(seed));
        check(seed);
    }
}

fn world(seed: u64) -> String {
    let mut dice = Dice(seed | 1);
    for _ in 0..8 {
        dice.roll(2);
    }
    let (source_outline, target_outline) = (outline(&mut dice, 's'), outline(&mut dice, 't'));
    let (source, target) = (shape(&source_outline), shape(&target_outline));
    let mut author = Author::new(&source, &target, 8);
    author.body(&mut dice, NodeId::ROOT, 0);
    format!("{source_outline}\n{target_outline}\n{}", author.text)
}
