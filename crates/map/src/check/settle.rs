//! Decides which loops run while their list is read, and generates the code of blocks.

use std::collections::BTreeSet;

use quayline_core::{NodeId, NodeKind, Occurs};

use super::order;
use super::statement::{LoopUnit, Unit, UnitKind};
use super::target::{Guard, Step, exclusive};
use super::{Absent, Lower, Reads};
use crate::plan::{Block, BufferPlan, Expr, LoopPlan, Op, Opening, StatementId};
use crate::value::{Val, small};

/// Position of a block in the source and target.
#[derive(Clone, Copy)]
struct Place {
    cursor: u16,
    /// True if the block's occurrence is mapped while it is read.
    streamed: bool,
}

impl Lower<'_> {
    pub(crate) fn settle(&mut self, units: Vec<Unit>) -> u32 {
        self.block(units, &[], Place { cursor: 0, streamed: true })
    }

    fn block(&mut self, units: Vec<Unit>, base: &[Step], place: Place) -> u32 {
        let mut units = units;
        self.visit_groups(&mut units, base);
        let units = self.ordered(units);
        let mut code = Code { base: base.len(), open: base.to_vec(), block: Block::default() };
        // Effects so far, with their guards: the source position at which each was complete, and its statement.
        let mut before: Vec<(u32, Vec<Guard>, u32)> = Vec::new();
        for unit in units {
            let own = self.known_at(&unit, place.cursor);
            let waits = before
                .iter()
                .filter(|(_, guards, _)| !exclusive(guards, &unit.guards))
                .map(|(done, _, statement)| (*done, *statement))
                .max();
            let (guards, statement) = (unit.guards.clone(), unit.statement);
            let ready = own.max(waits.map_or(0, |(done, _)| done));
            let done = match unit.kind {
                UnitKind::Loop(inner) => {
                    let list = self.scopes[usize::from(inner.scope)].node;
                    let streamed = self.streams(&inner, list, ready, place);
                    let done = ready.max(self.complete(list));
                    if !streamed {
                        self.keep(&inner, list, unit.statement, own, waits, place);
                    }
                    let address = unit.address;
                    // A recording has a separate target: the open nodes stay open.
                    if inner.recording.is_none() && !address.is_empty() {
                        code.go_to(&address);
                    } else if inner.recording.is_none() && order::first_document(&inner.body).is_some() {
                        // The documents of the loop are siblings of the documents made so far.
                        let base = code.base;
                        code.close_to(base);
                    }
                    let jumps = code.guards(&guards);
                    if let Some(recording) = inner.recording {
                        let path = self.target_path_of(&address);
                        self.buffers.push(BufferPlan {
                            path,
                            statement: StatementId(unit.statement),
                            line: self.line(self.statements[unit.statement as usize].span),
                            reason: "its output is kept back: it changes a variable that is written before it"
                                .to_owned(),
                            bytes_per_occurrence: 24,
                            occurrences_max: None,
                        });
                        code.push(Op::Record { recording, output: output_of(&address) }, done.min(ready));
                        if let Some(Step::List(node)) = address.last() {
                            code.push(Op::Open { what: Opening::List, output: 0, node: *node }, 0);
                        }
                    }
                    let number = self.loop_plan(*inner, &address, streamed, unit.statement);
                    code.push(Op::Loop(number), if streamed { ready.min(list.0) } else { done });
                    if self.loops[usize::from(number)].recording {
                        if matches!(address.last(), Some(Step::List(_))) {
                            code.push(Op::Close, 0);
                        }
                        code.push(Op::EndRecord, 0);
                    }
                    code.land(jumps);
                    done
                }
                kind => {
                    if !unit.address.is_empty() {
                        code.go_to(&unit.address);
                    }
                    if matches!(kind, UnitKind::Visit) {
                        continue;
                    }
                    let jumps = code.guards(&guards);
                    let op = self.op(kind, statement);
                    code.push(op, ready);
                    code.land(jumps);
                    ready
                }
            };
            before.push((done, guards, statement));
        }
        let base = code.base;
        code.close_to(base);
        self.blocks.push(code.block);
        small(self.blocks.len() - 1)
    }

    /// Adds units for mandatory groups, which appear whenever their parent group does.
    fn visit_groups(&self, units: &mut Vec<Unit>, base: &[Step]) {
        let mut known: BTreeSet<Vec<Step>> = BTreeSet::new();
        let mut todo: Vec<Vec<Step>> = Vec::new();
        for unit in units.iter() {
            for len in base.len() + 1..=unit.address.len() {
                let prefix = unit.address[..len].to_vec();
                if known.insert(prefix.clone()) {
                    todo.push(prefix);
                }
            }
        }
        while let Some(prefix) = todo.pop() {
            let output = prefix.iter().find_map(|step| match step {
                Step::Document { output, .. } => Some(usize::from(*output)),
                _ => None,
            });
            let group = match prefix.last() {
                Some(Step::Document { .. }) => NodeId::ROOT,
                Some(Step::Group(node) | Step::Occurrence { node, .. }) => *node,
                _ => continue,
            };
            let Some(output) = output.filter(|output| self.outputs[*output].absent == Absent::Refused) else {
                continue;
            };
            let shape = self.outputs[output].shape;
            for child in shape.children(group) {
                let node = shape.node(child);
                let wanted = node.kind == NodeKind::Group
                    && node.occurs == Occurs::Once
                    && !self.omitted.contains(&(output, child));
                let mut address = prefix.clone();
                address.push(Step::Group(child));
                if wanted && known.insert(address.clone()) {
                    let statement = units.first().map_or(0, |unit| unit.statement);
                    units.push(Unit {
                        statement,
                        guards: Vec::new(),
                        address: address.clone(),
                        leaf: None,
                        kind: UnitKind::Visit,
                        reads: Reads::default(),
                        writes: Vec::new(),
                    });
                    todo.push(address);
                }
            }
        }
    }

    fn op(&mut self, kind: UnitKind, statement: u32) -> Op {
        match kind {
            UnitKind::Emit { target, expr } => {
                self.targets.push(target);
                let target = small(self.targets.len() - 1);
                match self.exprs[expr as usize] {
                    Expr::Slot { cursor, slot, .. } => Op::Copy { target, cursor, slot },
                    _ => Op::Emit { target, expr },
                }
            }
            UnitKind::Touch => Op::Touch,
            UnitKind::Set { var, expr } => Op::Set { var, expr, statement },
            UnitKind::Filter { expr } => Op::Filter { expr, statement },
            UnitKind::Take { limit } => Op::Take(limit),
            UnitKind::Skip => Op::Skip,
            UnitKind::Drop { .. } => Op::Drop { statement },
            UnitKind::Raise => Op::Raise { statement },
            UnitKind::Envelope { name, expr } => Op::Envelope { name, expr, statement },
            UnitKind::Replay { recording, list } => Op::Replay { recording, list },
            UnitKind::Loop(_) | UnitKind::Visit => Op::Touch,
        }
    }

    /// Returns the source position after which all inputs of a unit from the block's occurrence are known. For a loop, its own list is excluded.
    fn known_at(&self, unit: &Unit, cursor: u16) -> u32 {
        let own = unit.reads.at.iter().filter(|(read, _)| *read == cursor).map(|(_, position)| *position).max();
        let inner = match &unit.kind {
            UnitKind::Loop(inner) => {
                inner.body.iter().map(|unit| self.known_at(unit, cursor).max(self.goes_through(unit, cursor))).max()
            }
            _ => None,
        };
        own.max(inner).unwrap_or(0)
    }

    /// Returns the position at which the list of an inner loop ends, if the list belongs to this occurrence.
    fn goes_through(&self, unit: &Unit, cursor: u16) -> u32 {
        match &unit.kind {
            UnitKind::Loop(inner) if inner.owner == cursor => self.complete(self.scopes[usize::from(inner.scope)].node),
            _ => 0,
        }
    }

    /// Returns true if a loop may run page by page: its list belongs to the occurrence that is being read, and all inputs of the loop and of the
    /// statements before it are known before the list begins.
    fn streams(&self, inner: &LoopUnit, list: NodeId, ready: u32, place: Place) -> bool {
        let parent = self.scopes[usize::from(inner.scope)].parent;
        place.streamed
            && inner.owner == place.cursor
            && inner.picks.is_empty()
            && inner.sort.is_empty()
            && parent == Some(self.cursors[usize::from(place.cursor)].scope)
            && ready <= list.0
    }

    /// Notes that the occurrences of a list are kept, and why.
    fn keep(
        &mut self,
        inner: &LoopUnit,
        list: NodeId,
        statement: u32,
        own: u32,
        waits: Option<(u32, u32)>,
        place: Place,
    ) {
        let scope = &mut self.scopes[usize::from(inner.scope)];
        scope.retained = true;
        let bytes = scope.width as usize * size_of::<Val>();
        let path = self.source.path(list);
        let occurrences_max = match self.source.node(list).occurs {
            Occurs::Many { max, .. } => max,
            _ => Some(1),
        };
        let (culprit, reason) = if !inner.sort.is_empty() {
            (statement, "the loop sorts its list".to_owned())
        } else if !place.streamed {
            (statement, "the loop around it is not run page by page".to_owned())
        } else if own > list.0 {
            (
                statement,
                "the loop needs values that come after its list, or uses another list than the one being read"
                    .to_owned(),
            )
        } else if let Some((done, culprit)) = waits.filter(|(done, _)| *done > list.0) {
            let after = self
                .source
                .iter()
                .find(|(id, _)| id.0 + 1 >= done)
                .map(|(id, _)| self.source.path(id))
                .unwrap_or_default();
            let line = self.line(self.statements[culprit as usize].span);
            (
                culprit,
                format!("line {line} precedes it in the target and needs {after}, which comes after it in the source"),
            )
        } else {
            (statement, "it goes through a list that was chosen, or lies in another occurrence".to_owned())
        };
        let line = self.line(self.statements[culprit as usize].span);
        self.buffers.push(BufferPlan {
            path,
            statement: StatementId(culprit),
            line,
            reason,
            bytes_per_occurrence: bytes,
            occurrences_max,
        });
    }

    fn loop_plan(&mut self, inner: LoopUnit, address: &[Step], streamed: bool, statement: u32) -> u16 {
        let makes_documents = order::first_document(&inner.body).is_some();
        let body = self.block(inner.body, address, Place { cursor: inner.cursor, streamed });
        if streamed {
            self.scopes[usize::from(inner.scope)].streamed = true;
        }
        self.loops.push(LoopPlan {
            scope: inner.scope,
            owner: inner.owner,
            cursor: inner.cursor,
            picks: inner.picks,
            body,
            streamed,
            recording: inner.recording.is_some(),
            makes_documents,
            sort: inner.sort,
            restarts: inner.restarts,
            limit: inner.limit,
            statement,
        });
        u16::try_from(self.loops.len() - 1).unwrap_or(u16::MAX)
    }

    fn target_path_of(&self, address: &[Step]) -> String {
        let shape = self.outputs[usize::from(output_of(address))].shape;
        match address.last() {
            Some(Step::List(node) | Step::Group(node) | Step::Occurrence { node, .. }) => shape.path(*node),
            _ => String::new(),
        }
    }
}

/// Returns the output whose document contains an address.
fn output_of(address: &[Step]) -> u16 {
    let output = address.iter().find_map(|step| match step {
        Step::Document { output, .. } => Some(*output),
        _ => None,
    });
    output.unwrap_or(0)
}

/// Code of a block under construction, with the target nodes that are open after it.
struct Code {
    base: usize,
    open: Vec<Step>,
    block: Block,
}

impl Code {
    fn push(&mut self, op: Op, ready: u32) {
        self.block.code.push(op);
        self.block.ready.push(ready);
    }

    fn go_to(&mut self, address: &[Step]) {
        let common = self.open.iter().zip(address).take_while(|(a, b)| a == b).count().max(self.base);
        self.close_to(common);
        for step in address.iter().skip(common) {
            let op = match step {
                Step::Document { output, .. } => {
                    Op::Open { what: Opening::Document, output: *output, node: NodeId::ROOT }
                }
                Step::Group(node) => Op::Open { what: Opening::Group, output: 0, node: *node },
                Step::List(node) => Op::Open { what: Opening::List, output: 0, node: *node },
                Step::Occurrence { node, .. } => Op::Open { what: Opening::Occurrence, output: 0, node: *node },
            };
            self.push(op, 0);
            self.open.push(*step);
        }
    }

    fn close_to(&mut self, len: usize) {
        while self.open.len() > len {
            self.open.pop();
            self.push(Op::Close, 0);
        }
    }

    /// Adds the jumps past a unit of an arm that was not chosen. The unit's own position does not hold them up: the choice of the arm precedes them
    /// and waits for its values. A jump that waited for a value of another arm would hide the lists of its own arm that begin before that value.
    fn guards(&mut self, guards: &[Guard]) -> Vec<usize> {
        guards
            .iter()
            .map(|guard| {
                self.push(Op::Unless { var: guard.var, arm: guard.arm, to: 0 }, 0);
                self.block.code.len() - 1
            })
            .collect()
    }

    fn land(&mut self, jumps: Vec<usize>) {
        let here = small(self.block.code.len());
        for jump in jumps {
            if let Op::Unless { to, .. } = &mut self.block.code[jump] {
                *to = here;
            }
        }
    }
}
