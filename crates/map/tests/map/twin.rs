//! The slow twin: generated maps of loops, variables, folds and choices against an interpreter that runs statement after statement.
//!
//! The laws hold for a map that is wrong in the same way in every order. Here the values are compared with those that the reference of the
//! language promises, with everything in memory and nothing computed ahead.

use std::cmp::Ordering;
use std::fmt::Write as _;

use quayline_map::{Absent, SourceOrder};

use crate::law::Dice;
use crate::support::{Case, Json};

const SOURCE: &str = "
in
  n decimal(9)
  list*
    v decimal(9)
    sub*
      w decimal(9)
    y? decimal(9)
  other*
    x? decimal(9)
  tail? decimal(9)
";

const TARGET: &str = "
out
  h1? decimal(30)
  rows*
    b? decimal(30)
    subs*
      d? decimal(30)
    e? decimal(30)
  more*
    g? decimal(30)
  h2? decimal(30)
";

/// A group of the source or target: its fields, and its lists.
struct Group {
    name: &'static str,
    fields: &'static [&'static str],
    lists: &'static [&'static str],
}

const GROUPS: [Group; 8] = [
    Group { name: "in", fields: &["n", "tail"], lists: &["list", "other"] },
    Group { name: "list", fields: &["v", "y"], lists: &["sub"] },
    Group { name: "sub", fields: &["w"], lists: &[] },
    Group { name: "other", fields: &["x"], lists: &[] },
    Group { name: "out", fields: &["h1", "h2"], lists: &["rows", "more"] },
    Group { name: "rows", fields: &["b", "e"], lists: &["subs"] },
    Group { name: "subs", fields: &["d"], lists: &[] },
    Group { name: "more", fields: &["g"], lists: &[] },
];

/// The members of the target in the order of its shape, for `canonical`.
const MEMBERS: [&str; 9] = ["h1", "b", "d", "g", "rows", "subs", "e", "more", "h2"];

fn group(name: &str) -> &'static Group {
    GROUPS.iter().find(|group| group.name == name).expect("a group")
}

#[derive(Clone, Default)]
struct Occurrence {
    fields: Vec<(&'static str, i128)>,
    lists: Vec<(&'static str, Vec<Occurrence>)>,
}

enum Num {
    Const(i128),
    Field(&'static str),
    Var(usize),
    Add(Box<Num>, Box<Num>),
    Or(Box<Num>, i128),
    Position(&'static str),
    Fold(&'static str, &'static str, &'static str, Option<Box<Cond>>),
    Pick(&'static str, Box<Cond>, &'static str),
}

struct Cond(&'static str, Num, Num);

enum Stmt {
    Assign(&'static str, Num),
    Var(usize, Num),
    Set(usize, &'static str, Num),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    Skip,
    For(Box<Loop>),
}

struct Loop {
    list: &'static str,
    filter: Option<Cond>,
    sort: Option<(Num, bool)>,
    limit: Option<usize>,
    make: Option<&'static str>,
    body: Vec<Stmt>,
}

/// Writes maps.
struct Author {
    dice: Dice,
    vars: usize,
}

/// Position of a block.
#[derive(Clone)]
struct Here {
    scopes: Vec<&'static str>,
    target: &'static str,
    vars: Vec<usize>,
}

impl Author {
    fn field(&mut self, scopes: &[&'static str]) -> &'static str {
        let name = *self.dice.of(scopes);
        self.dice.of::<&str>(group(name).fields)
    }

    /// Returns a list that no enclosing loop iterates.
    fn list(&mut self, scopes: &[&'static str]) -> Option<&'static str> {
        let all: Vec<&'static str> =
            scopes.iter().flat_map(|name| group(name).lists).copied().filter(|list| !scopes.contains(list)).collect();
        (!all.is_empty()).then(|| *self.dice.of(&all))
    }

    fn num(&mut self, here: &Here, depth: usize) -> Num {
        match self.dice.roll(if depth > 2 { 6 } else { 12 }) {
            0 | 1 => Num::Const(i128::try_from(self.dice.roll(6)).expect("small")),
            2 if !here.vars.is_empty() => Num::Var(*self.dice.of(&here.vars)),
            3 if here.scopes.len() > 1 => Num::Position(self.dice.of::<&str>(&here.scopes[1..])),
            6 | 7 => Num::Add(Box::new(self.num(here, depth + 1)), Box::new(self.num(here, depth + 1))),
            8 => Num::Or(Box::new(self.num(here, depth + 1)), 3),
            9 | 10 => {
                let Some(list) = self.list(&here.scopes) else { return Num::Const(1) };
                let mut inner = here.clone();
                inner.scopes.push(list);
                let filter = self.dice.chance(60).then(|| Box::new(self.cond(&inner, 2)));
                let op = *self.dice.of(&["sum", "count", "min", "max"]);
                Num::Fold(op, list, self.dice.of::<&str>(group(list).fields), filter)
            }
            11 => {
                let Some(list) = self.list(&here.scopes) else { return Num::Const(2) };
                let mut inner = here.clone();
                inner.scopes.push(list);
                let condition = Box::new(self.cond(&inner, 2));
                Num::Pick(list, condition, self.dice.of::<&str>(group(list).fields))
            }
            _ => Num::Field(self.field(&here.scopes)),
        }
    }

    fn cond(&mut self, here: &Here, depth: usize) -> Cond {
        let op = *self.dice.of(&["=", "!=", "<", "<=", ">", ">="]);
        // A field of the innermost occurrence, so that conditions are rarely constant.
        Cond(op, Num::Field(self.field(&here.scopes[here.scopes.len() - 1..])), self.num(here, depth))
    }

    fn block(&mut self, here: &Here, free: &mut Vec<&'static str>, depth: usize) -> Vec<Stmt> {
        let mut here = here.clone();
        let mut block = Vec::new();
        for at in 0..1 + self.dice.roll(4) {
            // Most maps begin with arms, which share fields and lists.
            let begins = depth == 0 && at == 0 && self.dice.chance(60);
            match if begins { 6 } else { self.dice.roll(10) } {
                0..3 if !free.is_empty() => {
                    let field = free.swap_remove(self.dice.roll(free.len()));
                    block.push(Stmt::Assign(field, self.num(&here, 0)));
                }
                3 => {
                    block.push(Stmt::Var(self.vars, self.num(&here, 0)));
                    here.vars.push(self.vars);
                    self.vars += 1;
                }
                4 | 5 if !here.vars.is_empty() => {
                    let (var, op) = (*self.dice.of(&here.vars), *self.dice.of(&["=", "+=", "-="]));
                    block.push(Stmt::Set(var, op, self.num(&here, 1)));
                }
                6 if depth < 4 => {
                    let condition = self.cond(&here, 1);
                    // Each arm may set the same fields.
                    let mut other = free.clone();
                    let yes = self.block(&here, free, depth + 1);
                    let no = if self.dice.chance(80) { self.block(&here, &mut other, depth + 1) } else { Vec::new() };
                    free.retain(|field| other.contains(field));
                    block.push(Stmt::If(condition, yes, no));
                }
                7 if here.scopes.len() > 1 => {
                    let condition = self.cond(&here, 1);
                    block.push(Stmt::If(condition, vec![Stmt::Skip], Vec::new()));
                }
                8.. if depth < 4 => {
                    let Some(list) = self.list(&here.scopes) else { continue };
                    let mut inner = here.clone();
                    inner.scopes.push(list);
                    let lists = group(here.target).lists;
                    let make = (!lists.is_empty() && self.dice.chance(65)).then(|| *self.dice.of(lists));
                    let filter = self.dice.chance(40).then(|| self.cond(&inner, 1));
                    let keys = Here { vars: Vec::new(), ..inner.clone() };
                    let sort = self.dice.chance(25).then(|| (self.num(&keys, 1), self.dice.chance(50)));
                    let limit = self.dice.chance(25).then(|| self.dice.roll(4));
                    inner.target = make.unwrap_or(inner.target);
                    let mut leaves = make.map_or(Vec::new(), |make| group(make).fields.to_vec());
                    let body = self.block(&inner, &mut leaves, depth + 1);
                    block.push(Stmt::For(Box::new(Loop { list, filter, sort, limit, make, body })));
                }
                _ => {}
            }
        }
        block
    }

    fn occurrence(&mut self, name: &'static str) -> Occurrence {
        let mut one = Occurrence::default();
        for field in group(name).fields {
            if !["y", "x", "tail"].contains(field) || self.dice.chance(75) {
                one.fields.push((field, i128::try_from(self.dice.roll(8)).expect("small")));
            }
        }
        for list in group(name).lists {
            let all = (0..self.dice.roll(5)).map(|_| self.occurrence(list)).collect();
            one.lists.push((list, all));
        }
        one
    }
}

fn num_text(num: &Num) -> String {
    match num {
        Num::Const(n) => n.to_string(),
        Num::Field(name) => (*name).to_owned(),
        Num::Var(var) => format!("z{var}"),
        Num::Add(a, b) => format!("({} + {})", num_text(a), num_text(b)),
        Num::Or(a, b) => format!("({} ?? {b})", num_text(a)),
        Num::Position(list) => format!("position({list})"),
        Num::Fold(op, list, field, filter) => {
            let filter = filter.as_ref().map_or(String::new(), |filter| format!(" where {}", cond_text(filter)));
            if *op == "count" { format!("count({list}{filter})") } else { format!("{op}({field} for {list}{filter})") }
        }
        Num::Pick(list, condition, field) => format!("{list}[{}].{field}", cond_text(condition)),
    }
}

fn cond_text(Cond(op, a, b): &Cond) -> String {
    format!("{} {op} {}", num_text(a), num_text(b))
}

fn block_text(block: &[Stmt], depth: usize, out: &mut String) {
    for statement in block {
        let _ = write!(out, "{:depth$}", "", depth = depth * 2);
        let (head, body) = match statement {
            Stmt::Assign(field, num) => (format!("{field} = {}", num_text(num)), None),
            Stmt::Var(var, num) => (format!("var z{var}: decimal(30) = {}", num_text(num)), None),
            Stmt::Set(var, op, num) => (format!("set z{var} {op} {}", num_text(num)), None),
            Stmt::Skip => ("skip".to_owned(), None),
            Stmt::If(condition, body, _) => (format!("if {} {{", cond_text(condition)), Some(body)),
            Stmt::For(over) => {
                let mut head = format!("for {}", over.list);
                if let Some(filter) = &over.filter {
                    let _ = write!(head, " where {}", cond_text(filter));
                }
                if let Some((key, descending)) = &over.sort {
                    let _ = write!(head, " sort by {}{}", num_text(key), if *descending { " desc" } else { "" });
                }
                if let Some(limit) = over.limit {
                    let _ = write!(head, " limit {limit}");
                }
                if let Some(make) = over.make {
                    let _ = write!(head, " make {make}");
                }
                (format!("{head} {{"), Some(&over.body))
            }
        };
        let _ = writeln!(out, "{head}");
        if let Some(body) = body {
            block_text(body, depth + 1, out);
            if let Stmt::If(_, _, otherwise) = statement
                && !otherwise.is_empty()
            {
                let _ = writeln!(out, "{:depth$}}} else {{", "", depth = depth * 2);
                block_text(otherwise, depth + 1, out);
            }
            let _ = writeln!(out, "{:depth$}}}", "", depth = depth * 2);
        }
    }
}

/// The interpreter. `skip` ends the block of an occurrence.
struct Twin<'a> {
    scopes: Vec<(&'static str, &'a Occurrence, i128)>,
    vars: Vec<Option<i128>>,
}

struct Skipped;

impl<'a> Twin<'a> {
    fn all(&self, list: &str) -> &'a [Occurrence] {
        let found = self.scopes.iter().rev().find_map(|(_, one, _)| one.lists.iter().find(|(name, _)| *name == list));
        found.map_or(&[], |(_, all)| all.as_slice())
    }

    /// Evaluates `with` for each occurrence of a list and returns the results.
    fn each<T>(&mut self, list: &'static str, mut with: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut results = Vec::new();
        for (one, position) in self.all(list).iter().zip(1..) {
            self.scopes.push((list, one, position));
            results.push(with(self));
            self.scopes.pop();
        }
        results
    }

    fn num(&mut self, num: &Num) -> Option<i128> {
        match num {
            Num::Const(n) => Some(*n),
            Num::Field(name) => {
                let of = self.scopes.iter().rev().find(|(scope, ..)| group(scope).fields.contains(name))?.1;
                of.fields.iter().find(|(field, _)| field == name).map(|(_, n)| *n)
            }
            Num::Var(var) => self.vars.get(*var).copied().flatten(),
            Num::Add(a, b) => Some(self.num(a)? + self.num(b)?),
            Num::Or(a, b) => self.num(a).or(Some(*b)),
            Num::Position(list) => self.scopes.iter().rev().find(|(name, ..)| name == list).map(|(.., at)| *at),
            Num::Fold(op, list, field, filter) => {
                let taken = self.each(list, |twin| {
                    filter.as_ref().is_none_or(|filter| twin.cond(filter)).then(|| twin.num(&Num::Field(field)))
                });
                let taken: Vec<Option<i128>> = taken.into_iter().flatten().collect();
                let values = taken.iter().flatten().copied();
                match *op {
                    "count" => Some(i128::try_from(taken.len()).expect("few")),
                    "sum" => Some(values.sum()),
                    "min" => values.min(),
                    _ => values.max(),
                }
            }
            Num::Pick(list, condition, field) => {
                let found = self.each(list, |twin| twin.cond(condition).then(|| twin.num(&Num::Field(field))));
                found.into_iter().flatten().next().flatten()
            }
        }
    }

    fn cond(&mut self, Cond(op, a, b): &Cond) -> bool {
        let (Some(a), Some(b)) = (self.num(a), self.num(b)) else { return *op == "!=" };
        match *op {
            "=" => a == b,
            "!=" => a != b,
            "<" => a < b,
            "<=" => a <= b,
            ">" => a > b,
            _ => a >= b,
        }
    }

    fn block(&mut self, block: &[Stmt], target: &mut Occurrence) -> Result<(), Skipped> {
        for statement in block {
            match statement {
                Stmt::Assign(field, num) => target.fields.extend(self.num(num).map(|n| (*field, n))),
                Stmt::Var(var, num) | Stmt::Set(var, "=", num) => {
                    let value = self.num(num);
                    self.vars.resize(self.vars.len().max(var + 1), None);
                    self.vars[*var] = value;
                }
                Stmt::Set(var, op, num) => {
                    let (by, before) = (self.num(num).unwrap_or(0), self.vars[*var].unwrap_or(0));
                    self.vars[*var] = Some(if *op == "+=" { before + by } else { before - by });
                }
                Stmt::If(condition, body, otherwise) => {
                    let arm = if self.cond(condition) { body } else { otherwise };
                    self.block(arm, target)?;
                }
                Stmt::Skip => return Err(Skipped),
                Stmt::For(over) => self.repeat(over, target),
            }
        }
        Ok(())
    }

    fn repeat(&mut self, over: &Loop, target: &mut Occurrence) {
        let mut order: Vec<(usize, Option<i128>)> = (0..self.all(over.list).len()).map(|at| (at, None)).collect();
        if let Some((key, descending)) = &over.sort {
            let keys = self.each(over.list, |twin| {
                over.filter.as_ref().is_none_or(|filter| twin.cond(filter)).then(|| twin.num(key))
            });
            order = keys.into_iter().enumerate().filter_map(|(at, key)| Some((at, key?))).collect();
            let by = |a: &Option<i128>, b: &Option<i128>| -> Ordering { if *descending { b.cmp(a) } else { a.cmp(b) } };
            order.sort_by(|(_, a), (_, b)| by(a, b));
        }
        let mut taken = 0;
        for (at, _) in order {
            if over.limit.is_some_and(|limit| taken >= limit) {
                return;
            }
            let one = &self.all(over.list)[at];
            self.scopes.push((over.list, one, i128::try_from(at + 1).expect("few")));
            if over.filter.as_ref().is_none_or(|filter| self.cond(filter)) {
                taken += 1;
                let mut made = if over.make.is_some() { Occurrence::default() } else { target.clone() };
                match (self.block(&over.body, &mut made), over.make) {
                    (Ok(()), Some(make)) => match target.lists.iter_mut().find(|(name, _)| *name == make) {
                        Some((_, all)) => all.push(made),
                        None => target.lists.push((make, vec![made])),
                    },
                    (Ok(()), None) => *target = made,
                    (Err(Skipped), _) => {}
                }
            }
            self.scopes.pop();
        }
    }
}

/// Formats a document as text, with members in the order of the given names or in their stored order; empty lists are omitted.
fn text_of(one: &Occurrence, names: &[&str]) -> String {
    let mut parts: Vec<(usize, String)> = Vec::new();
    let place = |name: &str| names.iter().position(|known| *known == name).expect("a known name");
    for (name, n) in &one.fields {
        parts.push((place(name), format!("\"{name}\":{n}")));
    }
    for (name, all) in one.lists.iter().filter(|(_, all)| !all.is_empty()) {
        let all: Vec<String> = all.iter().map(|one| text_of(one, names)).collect();
        parts.push((place(name), format!("\"{name}\":[{}]", all.join(","))));
    }
    parts.sort();
    format!("{{{}}}", parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(","))
}

fn canonical(json: &Json) -> String {
    match json {
        Json::Object(members) => {
            let empty = |value: &Json| matches!(value, Json::Array(all) if all.is_empty());
            let parts: Vec<String> = members
                .iter()
                .filter(|(_, value)| !empty(value))
                .map(|(name, value)| format!("\"{name}\":{}", canonical(value)))
                .collect();
            format!("{{{}}}", parts.join(","))
        }
        Json::Array(all) => format!("[{}]", all.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Json::Number(number) => number.clone(),
        other => panic!("only numbers are mapped: {other:?}"),
    }
}

#[test]
fn maps_give_what_their_statements_say_one_after_another() {
    let mut compiled = 0;
    for seed in 1..=600_u64 {
        let mut author = Author { dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), vars: 0 };
        let here = Here { scopes: vec!["in"], target: "out", vars: Vec::new() };
        let block = author.block(&here, &mut group("out").fields.to_vec(), 0);
        let mut map = String::new();
        block_text(&block, 0, &mut map);
        for order in [SourceOrder::AsShape, SourceOrder::Any] {
            let case = Case { source: SOURCE, targets: vec![("out", TARGET, Absent::Refused)], order };
            if case.compile(&map).is_err() {
                continue;
            }
            compiled += 1;
            for _ in 0..4 {
                let document = author.occurrence("in");
                let input = text_of(&document, &["n", "v", "w", "x", "list", "sub", "y", "other", "tail"]);
                let mut expected = Occurrence::default();
                let mut twin = Twin { scopes: vec![("in", &document, 1)], vars: Vec::new() };
                let _ = twin.block(&block, &mut expected);
                let ran = case.run(&map, &[&input]);
                let line =
                    ran.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{map}\n{input}\n{ran}"));
                assert_eq!(
                    canonical(&Json::parse(line)),
                    text_of(&expected, &MEMBERS),
                    "seed {seed}, {order:?}\n{map}\n{input}"
                );
            }
        }
    }
    assert!(compiled > 700, "{compiled} of 1200 maps compile");
}
