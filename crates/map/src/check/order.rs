//! Order of a block's units: target order, as far as the dependencies on variables allow.

use std::collections::BTreeMap;

use quayline_core::NodeId;

use super::Lower;
use super::statement::{Unit, UnitKind};
use super::target::Step;
use crate::codes;

/// Returns the target position that a unit writes as a sort key. Documents sort in the order in which they are made.
fn key(unit: &Unit) -> Option<Vec<(u32, u32)>> {
    if unit.address.is_empty() && unit.leaf.is_none() {
        let unit = core::slice::from_ref(unit);
        let made = first_document(unit).map(|ordinal| vec![(ordinal, 0)]);
        return made.or_else(|| dropped(unit).flatten().map(|(ordinal, output)| vec![(ordinal, output.into()), LAST]));
    }
    let mut key: Vec<(u32, u32)> = unit
        .address
        .iter()
        .map(|step| match step {
            Step::Document { ordinal, output } => (*ordinal, u32::from(*output)),
            Step::Group(node) | Step::List(node) => (node.0, 0),
            Step::Occurrence { node, ordinal } => (node.0, *ordinal),
        })
        .collect();
    if let Some((node, ordinal)) = unit.leaf {
        key.push((node.0, ordinal));
    }
    Some(key)
}

/// End of the key of a `drop`: it runs at the end of its document, while that is open.
const LAST: (u32, u32) = (u32::MAX, 0);

/// Returns true if a unit decides whether an occurrence exists, or all documents that follow.
fn is_gate(unit: &Unit) -> bool {
    matches!(unit.kind, UnitKind::Filter { .. } | UnitKind::Take { .. } | UnitKind::Skip) || drops_all(unit)
}

/// Returns true if a unit runs a `drop` outside of any document, in no loop that makes documents: those have their own.
fn drops_all(unit: &Unit) -> bool {
    let unit = core::slice::from_ref(unit);
    first_document(unit).is_none() && dropped(unit) == Some(None)
}

/// Returns the document of the first `drop` of the units.
fn dropped(units: &[Unit]) -> Option<Option<(u32, u16)>> {
    units.iter().find_map(|unit| match &unit.kind {
        UnitKind::Drop { document } => Some(*document),
        UnitKind::Loop(inner) => dropped(&inner.body),
        _ => None,
    })
}

/// Returns the ordinal of the first document that the units make.
pub(crate) fn first_document(units: &[Unit]) -> Option<u32> {
    let of = |unit: &Unit| match (unit.address.first(), &unit.kind) {
        (Some(Step::Document { ordinal, .. }), _) => Some(*ordinal),
        (None, UnitKind::Loop(inner)) => first_document(&inner.body),
        _ => None,
    };
    units.iter().filter_map(of).min()
}

/// Returns all variables that a unit reads and writes, including the bodies of loops.
fn variables(unit: &Unit) -> (Vec<u16>, Vec<u16>) {
    let mut reads = unit.reads.vars.clone();
    reads.extend(unit.guards.iter().map(|guard| guard.var));
    let mut writes = unit.writes.clone();
    if let UnitKind::Loop(inner) = &unit.kind {
        for unit in &inner.body {
            let (r, w) = variables(unit);
            reads.extend(r);
            writes.extend(w);
        }
    }
    (reads, writes)
}

impl Lower<'_> {
    /// Orders units. Loops that variables force to run before their turn in the target are recorded and replayed.
    pub(crate) fn ordered(&mut self, units: Vec<Unit>) -> Vec<Unit> {
        let mut dependencies = dependencies(&units);
        self.effects_before_skips(&units, &mut dependencies);
        let keys: Vec<Option<Vec<(u32, u32)>>> = units.iter().map(key).collect();
        let mut done = vec![false; units.len()];
        let mut order: Vec<usize> = Vec::new();
        let first = (0..units.len()).filter(|at| is_gate(&units[*at]));
        for at in first {
            let known = order.len();
            pull(at, &dependencies, &mut done, &mut order);
            if drops_all(&units[at])
                && order[known..].iter().any(|before| first_document(&units[*before..=*before]).is_some())
            {
                let span = self.statements[units[at].statement as usize].span;
                let message = "this `drop` needs a variable that a loop changes while it makes documents";
                self.error(codes::CARDINALITY, span, message).hint =
                    Some("compute the variable by a fold, or in a loop of its own without `make`".to_owned());
            }
        }
        let mut targets: Vec<usize> = (0..units.len()).filter(|at| keys[*at].is_some()).collect();
        targets.sort_by(|a, b| keys[*a].cmp(&keys[*b]));
        for at in targets {
            pull(at, &dependencies, &mut done, &mut order);
        }
        for at in 0..units.len() {
            pull(at, &dependencies, &mut done, &mut order);
        }
        // The output of a unit that runs before a preceding part of the target is recorded and replayed later.
        let mut early: Vec<(usize, u16)> = Vec::new();
        for (place, at) in order.iter().enumerate() {
            let Some(own) = &keys[*at] else { continue };
            let overtaken = order[place + 1..].iter().any(|later| keys[*later].as_ref().is_some_and(|key| key < own));
            if overtaken && matches!(units[*at].kind, UnitKind::Loop(_)) && own.last() != Some(&LAST) {
                let shared = units
                    .iter()
                    .enumerate()
                    .any(|(other, unit)| other != *at && unit.address.starts_with(&units[*at].address));
                if shared {
                    let span = self.statements[units[*at].statement as usize].span;
                    self.error(
                        codes::CARDINALITY,
                        span,
                        "this loop changes a variable that is written before its list, and others fill the same list",
                    )
                    .hint = Some("compute the variable by a fold: sum(… for …)".to_owned());
                }
                let recording = u16::try_from(self.recordings).unwrap_or(u16::MAX);
                self.recordings += 1;
                early.push((*at, recording));
            }
        }
        let mut units: Vec<Option<Unit>> = units.into_iter().map(Some).collect();
        let mut replays: Vec<(Vec<(u32, u32)>, Unit)> = Vec::new();
        for (at, recording) in early {
            let Some(unit) = &mut units[at] else { continue };
            let list = unit.leaf.map_or(NodeId::ROOT, |(list, _)| list);
            let mut replay = Unit { kind: UnitKind::Replay { recording, list }, ..unit.clone() };
            // The recording includes the list itself.
            replay.address.pop();
            replay.reads = super::Reads::default();
            if let UnitKind::Loop(inner) = &mut unit.kind {
                inner.recording = Some(recording);
            }
            replays.push((keys[at].clone().unwrap_or_default(), replay));
        }
        replays.sort_by(|a, b| a.0.cmp(&b.0));
        let mut result: Vec<Unit> = Vec::new();
        let mut waiting = replays.into_iter().peekable();
        let mut left: BTreeMap<usize, ()> = order.iter().map(|at| (*at, ())).collect();
        for at in order {
            let Some(unit) = units[at].take() else { continue };
            left.remove(&at);
            let recorded = matches!(&unit.kind, UnitKind::Loop(inner) if inner.recording.is_some());
            if let Some(own) = &keys[at]
                && !recorded
            {
                while let Some((_, replay)) = waiting.next_if(|(key, _)| key < own) {
                    result.push(replay);
                }
            }
            result.push(unit);
        }
        result.extend(waiting.map(|(_, replay)| replay));
        result
    }
}

impl Lower<'_> {
    /// Adds dependencies for `skip`, which omits an occurrence from the target. Changes and findings of the statements before it stay in effect, so
    /// they run first.
    fn effects_before_skips(&mut self, units: &[Unit], dependencies: &mut [Vec<usize>]) {
        let mut since: Vec<usize> = Vec::new();
        for (at, unit) in units.iter().enumerate() {
            if matches!(unit.kind, UnitKind::Skip) {
                for effect in since.drain(..) {
                    if first_document(&units[effect..=effect]).is_none() {
                        dependencies[at].push(effect);
                    } else {
                        let span = self.statements[units[effect].statement as usize].span;
                        self.error(
                            codes::CARDINALITY,
                            span,
                            "this loop fills the target before `skip`, and changes a variable or raises findings",
                        )
                        .hint = Some(
                            "put `skip` before the loop, or give what it changes a loop of its own without `make`"
                                .to_owned(),
                        );
                    }
                }
                since.push(at);
            } else if self.has_effect(unit) && !is_of_made(unit, units) {
                since.push(at);
            }
        }
    }

    /// Returns true if a unit has an effect beyond the target.
    fn has_effect(&self, unit: &Unit) -> bool {
        match &unit.kind {
            UnitKind::Set { var, .. } => self.mutable_vars.contains(var),
            UnitKind::Raise | UnitKind::Drop { .. } | UnitKind::Envelope { .. } => true,
            UnitKind::Loop(inner) => inner.body.iter().any(|unit| self.has_effect(unit)),
            _ => false,
        }
    }
}

/// Returns true if a unit drops a document that the same block makes, which `skip` omits as well.
fn is_of_made(unit: &Unit, units: &[Unit]) -> bool {
    let UnitKind::Drop { document: Some((number, _)) } = unit.kind else { return false };
    let makes = |step: &Step| matches!(step, Step::Document { ordinal, .. } if *ordinal == number);
    units.iter().any(|unit| matches!(unit.kind, UnitKind::Touch) && unit.address.first().is_some_and(makes))
}

/// Returns, for each unit, the units that must run before it.
fn dependencies(units: &[Unit]) -> Vec<Vec<usize>> {
    let mut last_write: BTreeMap<u16, usize> = BTreeMap::new();
    let mut readers: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    let mut all = Vec::with_capacity(units.len());
    for (at, unit) in units.iter().enumerate() {
        let (reads, writes) = variables(unit);
        let mut needs: Vec<usize> = Vec::new();
        for var in &reads {
            needs.extend(last_write.get(var));
        }
        for var in &writes {
            needs.extend(last_write.get(var));
            needs.extend(readers.get(var).into_iter().flatten().copied().filter(|reader| *reader != at));
        }
        for var in writes {
            last_write.insert(var, at);
            readers.remove(&var);
        }
        for var in reads {
            readers.entry(var).or_default().push(at);
        }
        needs.sort_unstable();
        needs.dedup();
        needs.retain(|need| *need != at);
        all.push(needs);
    }
    all
}

/// Appends a unit after its dependencies. Dependencies always have smaller indexes, so this terminates. It is iterative because chains may be long.
fn pull(at: usize, dependencies: &[Vec<usize>], done: &mut [bool], order: &mut Vec<usize>) {
    let mut wanted = vec![at];
    let mut needed = Vec::new();
    while let Some(at) = wanted.pop() {
        if !done[at] {
            done[at] = true;
            needed.push(at);
            wanted.extend(&dependencies[at]);
        }
    }
    needed.sort_unstable();
    order.extend(needed);
}
