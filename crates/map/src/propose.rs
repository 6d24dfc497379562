//! A first map between two shapes, by names and types. What is guessed is marked, so that a person decides.

use core::fmt::Write as _;

use quayline_core::{NodeId, Occurs, Scalar, Shape};

use crate::syntax::token::is_plain_name;

/// What a proposed map is between.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The file of the source's description, for the head of the map.
    pub source_file: &'a str,
    /// Its shape.
    pub source: &'a Shape,
    /// Name of the target.
    pub target_name: &'a str,
    /// The file of its description.
    pub target_file: &'a str,
    /// Its shape.
    pub target: &'a Shape,
}

/// Writes a map that sets every target field whose name or path is like one of the source's.
///
/// Equal names of fitting type are written as they are; nearly equal ones carry `# guess`; fields without a likeness stand as comments, the
/// mandatory ones first told as such. The map compiles as soon as those are filled in.
#[must_use]
pub fn propose(ends: &Ends<'_>) -> String {
    let mut proposal =
        Proposal { source: ends.source, target: ends.target, chain: vec![NodeId::ROOT], out: String::new() };
    let title = format!("{} to {}", ends.source.node(NodeId::ROOT).name, ends.target.node(NodeId::ROOT).name);
    proposal.line(0, &format!("map {}", quoted(&title)));
    proposal.line(0, &format!("source {}", quoted(ends.source_file)));
    proposal.line(0, &format!("target {} {}", name(ends.target_name), quoted(ends.target_file)));
    proposal.line(0, "");
    proposal.group(NodeId::ROOT, "", 0);
    proposal.out
}

struct Proposal<'a> {
    source: &'a Shape,
    target: &'a Shape,
    /// Groups of the source whose fields can be named, innermost last.
    chain: Vec<NodeId>,
    out: String,
}

/// A field of the source that may be meant.
struct Candidate {
    path: String,
    node: NodeId,
    score: u32,
}

/// Equal names.
const SURE: u32 = 100;
/// Too little to write down.
const LEAST: u32 = 50;

impl Proposal<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        writeln!(self.out, "{:width$}{text}", "", width = if text.is_empty() { 0 } else { depth * 2 })
            .expect("writing to a string does not fail");
    }

    fn group(&mut self, group: NodeId, prefix: &str, depth: usize) {
        let children: Vec<NodeId> = self.target.children(group).collect();
        for child in children {
            let node = self.target.node(child);
            let path = format!("{prefix}{}", name(&node.name));
            match (node.scalar().cloned(), node.is_list()) {
                (Some(scalar), false) => self.leaf(child, &path, &scalar, depth),
                (None, false) => self.group(child, &format!("{path}."), depth),
                (scalar, true) => self.list(child, &path, scalar.as_ref(), depth),
            }
        }
    }

    fn leaf(&mut self, node: NodeId, path: &str, scalar: &Scalar, depth: usize) {
        let mandatory = self.target.node(node).occurs == Occurs::Once;
        match self.best(node, scalar) {
            Some(best) => {
                let from = self.source.node(best.node).scalar().cloned();
                let value = from.as_ref().and_then(|from| converted(&best.path, from, scalar));
                let Some(value) = value else { return self.open(path, scalar, mandatory, depth) };
                let guess = if best.score >= SURE { "" } else { "  # guess" };
                self.line(depth, &format!("{path} = {value}{guess}"));
            }
            None => self.open(path, scalar, mandatory, depth),
        }
    }

    /// A field for which nothing is alike.
    fn open(&mut self, path: &str, scalar: &Scalar, mandatory: bool, depth: usize) {
        let word = if mandatory { "mandatory" } else { "optional" };
        self.line(depth, &format!("# {path} = …  # {word}, {}", crate::check::types::Kind::from(scalar)));
    }

    fn list(&mut self, node: NodeId, path: &str, scalar: Option<&Scalar>, depth: usize) {
        let Some((over, from)) = self.best_list(node, scalar.is_some()) else {
            self.line(depth, &format!("# for … make {path} {{ … }}  # a list, nothing alike"));
            return;
        };
        let sure = fold(&self.source.node(from).name) == fold(&self.target.node(node).name);
        let guess = if sure { "" } else { "  # guess" };
        let inner = self.source.node(from).scalar().cloned();
        match (scalar, inner) {
            (Some(scalar), Some(inner)) => {
                if let Some(value) = converted("it", &inner, scalar) {
                    self.line(depth, &format!("for {over} make {path} = {value}{guess}"));
                }
            }
            (None, None) => {
                self.line(depth, &format!("for {over} make {path} {{{guess}"));
                self.chain.push(from);
                self.group(node, "", depth + 1);
                self.chain.pop();
                self.line(depth, "}");
            }
            _ => {}
        }
    }

    /// The source field that is most like a target field.
    fn best(&self, node: NodeId, scalar: &Scalar) -> Option<Candidate> {
        let mut best: Option<Candidate> = None;
        for (distance, context) in (0u32..).zip(self.chain.iter().rev()) {
            for (path, leaf) in self.reachable(*context) {
                let Some(from) = self.source.node(leaf).scalar() else { continue };
                if converted("x", from, scalar).is_none() {
                    continue;
                }
                let score = self.likeness(leaf, node).saturating_sub(distance * 5);
                if score >= LEAST && best.as_ref().is_none_or(|best| score > best.score) {
                    best = Some(Candidate { path, node: leaf, score });
                }
            }
        }
        // The nearer context costs a little, which is no doubt.
        best.map(|best| Candidate {
            score: if self.likeness(best.node, node) >= SURE { SURE } else { best.score },
            ..best
        })
    }

    /// Leaves that can be named from a group without choosing from a list.
    fn reachable(&self, group: NodeId) -> Vec<(String, NodeId)> {
        let mut found = Vec::new();
        let mut todo = vec![(String::new(), group)];
        while let Some((prefix, group)) = todo.pop() {
            for child in self.source.children(group) {
                let node = self.source.node(child);
                if node.is_list() {
                    continue;
                }
                let path = format!("{prefix}{}", name(&node.name));
                if node.scalar().is_some() {
                    found.push((path, child));
                } else {
                    todo.push((format!("{path}."), child));
                }
            }
        }
        found.sort_by_key(|(_, node)| *node);
        found
    }

    /// How alike two nodes are: by their names, and by those of the groups around them.
    fn likeness(&self, source: NodeId, target: NodeId) -> u32 {
        let (a, b) = (self.source.node(source), self.target.node(target));
        let own = alike(&a.name, &b.name);
        let around = match (a.parent, b.parent) {
            (Some(a), Some(b)) => alike(&self.source.node(a).name, &self.target.node(b).name),
            _ => 0,
        };
        if own == 0 {
            // `buyer.name` and `buyer-name`.
            let joined = |shape: &Shape, node: NodeId| {
                shape
                    .node(node)
                    .parent
                    .map_or(String::new(), |parent| format!("{}{}", shape.node(parent).name, shape.node(node).name))
            };
            let one = fold(&joined(self.source, source)) == fold(&b.name)
                || fold(&joined(self.target, target)) == fold(&a.name);
            return if one { 90 } else { 0 };
        }
        own + if own >= SURE { around / 20 } else { around / 10 }
    }

    fn best_list(&self, target: NodeId, leaf: bool) -> Option<(String, NodeId)> {
        let mut best: Option<(u32, String, NodeId)> = None;
        for context in self.chain.iter().rev() {
            let end = self.source.node(*context).subtree_end;
            let lists = self
                .source
                .iter()
                .filter(|(id, node)| *id > *context && *id < end && node.is_list() && node.scalar().is_some() == leaf);
            for (list, node) in lists {
                let by_name = alike(&node.name, &self.target.node(target).name);
                let by_fields: u32 = self
                    .target
                    .children(target)
                    .map(|child| {
                        let all = self
                            .reachable(list)
                            .into_iter()
                            .map(|(_, leaf)| alike(&self.source.node(leaf).name, &self.target.node(child).name));
                        u32::from(all.max().unwrap_or(0) >= LEAST) * 30
                    })
                    .sum();
                let score = by_name + by_fields;
                if score >= LEAST && best.as_ref().is_none_or(|(known, ..)| score > *known) {
                    best = Some((score, self.relative(*context, list), list));
                }
            }
            if best.is_some() {
                break;
            }
        }
        best.map(|(_, path, list)| (path, list))
    }

    /// The path of a node as seen from a group around it.
    fn relative(&self, from: NodeId, to: NodeId) -> String {
        let mut names = Vec::new();
        let mut at = Some(to).filter(|at| *at != from);
        while let Some(node) = at {
            names.push(name(&self.source.node(node).name));
            at = self.source.node(node).parent.filter(|parent| *parent != from);
        }
        names.reverse();
        names.join(".")
    }
}

/// A value as a target of another type takes it, if a function does so without a question left open.
fn converted(path: &str, from: &Scalar, to: &Scalar) -> Option<String> {
    match (from, to) {
        (Scalar::Text { chars_max: own }, Scalar::Text { chars_max: Some(max) })
            if own.is_none_or(|own| own > *max) =>
        {
            Some(format!("left({path}, {max})"))
        }
        (Scalar::Text { .. }, Scalar::Text { .. })
        | (Scalar::Decimal { .. }, Scalar::Text { .. } | Scalar::Float32 | Scalar::Float64)
        | (Scalar::Bool, Scalar::Bool)
        | (Scalar::Bytes { .. }, Scalar::Bytes { .. })
        | (Scalar::Float32 | Scalar::Float64, Scalar::Float32 | Scalar::Float64) => Some(path.to_owned()),
        (Scalar::Decimal { scale: own, .. }, Scalar::Decimal { scale, .. }) => {
            Some(if own > scale { format!("round({path}, {})", (*scale).max(0)) } else { path.to_owned() })
        }
        (Scalar::Text { .. }, Scalar::Decimal { .. }) => Some(format!("number({path})")),
        (Scalar::Text { .. }, Scalar::Float32 | Scalar::Float64) => Some(format!("float({path})")),
        (Scalar::Float32 | Scalar::Float64, Scalar::Decimal { scale, .. }) => {
            Some(format!("round({path}, {})", (*scale).max(0)))
        }
        (Scalar::Bool, Scalar::Text { .. }) => Some(format!("if {path} then \"Y\" else \"N\"")),
        (Scalar::Text { .. }, Scalar::Bool) => Some(format!("{path} = \"Y\"")),
        (Scalar::Bytes { .. }, Scalar::Text { .. }) => Some(format!("hex({path})")),
        _ => None,
    }
}

/// How alike two names are, from 0 to 100.
fn alike(a: &str, b: &str) -> u32 {
    let (x, y) = (fold(a), fold(b));
    if x == y {
        return SURE;
    }
    let (short, long) = if x.len() < y.len() { (&x, &y) } else { (&y, &x) };
    if short.len() >= 4 && long.contains(short.as_str()) {
        return 70;
    }
    let (a, b) = (words(a), words(b));
    let common = a.iter().filter(|word| b.iter().any(|other| same_word(word, other))).count();
    let all = a.len().max(b.len());
    u32::try_from(80 * common / all.max(1)).unwrap_or(0)
}

/// Abbreviations of one word.
fn same_word(a: &str, b: &str) -> bool {
    const SAME: [&[&str]; 12] = [
        &["number", "no", "nr", "num", "id"],
        &["quantity", "qty"],
        &["amount", "amt"],
        &["customer", "cust"],
        &["address", "addr", "street"],
        &["name", "nm"],
        &["date", "dt", "day"],
        &["description", "desc", "text"],
        &["code", "cd"],
        &["postal", "zip", "postcode"],
        &["lines", "line", "items", "item"],
        &["telephone", "phone", "tel"],
    ];
    a == b || SAME.iter().any(|group| group.contains(&a) && group.contains(&b))
}

/// Words of a name: parted by dashes, underscores, and capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn name(name: &str) -> String {
    if is_plain_name(name) && !RESERVED.contains(&name) { name.to_owned() } else { format!("'{name}'") }
}

/// Words that mean something else where a path may stand.
const RESERVED: [&str; 14] =
    ["if", "match", "true", "false", "absent", "not", "then", "else", "where", "make", "and", "or", "in", "for"];

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
