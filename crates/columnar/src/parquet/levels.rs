//! Definition and repetition levels, once for all leaves of the same group.
//!
//! Source: Apache Parquet, "Nested Encoding" (after Dremel).

use quayline_core::NodeId;

use crate::parquet::hybrid;
use crate::plan::Plan;
use crate::sink::ColumnSink;
use crate::validity::Validity;

/// Container between the root and a leaf that adds levels. Groups that occur once add none.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Step {
    /// An optional group: one definition level.
    Optional(NodeId),
    /// A list: two definition levels (there, not empty) and a repetition level.
    List(NodeId),
}

/// The steps that several leaves share.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) steps: Vec<Step>,
    /// Definition level of a leaf that is there.
    pub(crate) def_max: u8,
    pub(crate) rep_max: u8,
    /// Lowest definition level at which the leaf's column has an entry.
    entry_def: u8,
}

/// A leaf with its container, in the order of the Parquet schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) node: NodeId,
    /// Index into the containers.
    pub(crate) container: usize,
}

/// Levels of one container in one batch, in the form of a page, with their lengths first.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    pub(crate) count: usize,
    rep: Vec<u8>,
    /// Definition levels of leaves that cannot be null.
    def: Vec<u8>,
    /// One byte a level; empty for containers without steps.
    raw: Vec<u8>,
}

/// A leaf is below more lists and optional groups than levels of eight bits can count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooDeep(pub(crate) NodeId);

/// Lists the leaves of a plan and their containers.
pub(crate) fn columns(plan: &Plan) -> Result<(Vec<Column>, Vec<Container>), TooDeep> {
    let mut columns = Vec::new();
    let mut containers: Vec<Container> = Vec::new();
    collect(plan, NodeId::ROOT, &mut Vec::new(), &mut columns, &mut containers)?;
    Ok((columns, containers))
}

fn collect(
    plan: &Plan,
    group: NodeId,
    steps: &mut Vec<Step>,
    columns: &mut Vec<Column>,
    containers: &mut Vec<Container>,
) -> Result<(), TooDeep> {
    for &child in &plan.nodes[group.index()].children {
        let node = &plan.nodes[child.index()];
        let depth = steps.len();
        if node.list {
            steps.push(Step::List(child));
        } else if node.optional && node.leaf.is_none() {
            steps.push(Step::Optional(child));
        }
        if node.leaf.is_some() {
            let container = match containers.iter().position(|container| container.steps == *steps) {
                Some(at) => at,
                None => {
                    containers.push(Container::new(steps).ok_or(TooDeep(child))?);
                    containers.len() - 1
                }
            };
            columns.push(Column { node: child, container });
        } else {
            collect(plan, child, steps, columns, containers)?;
        }
        steps.truncate(depth);
    }
    Ok(())
}

impl Container {
    fn new(steps: &[Step]) -> Option<Self> {
        let (mut def, mut rep, mut entry_def) = (0u8, 0u8, 0u8);
        for step in steps {
            match step {
                Step::Optional(_) => def = def.checked_add(1)?,
                Step::List(_) => {
                    def = def.checked_add(2)?;
                    rep = rep.checked_add(1)?;
                    entry_def = def;
                }
            }
        }
        Some(Container { steps: steps.to_vec(), def_max: def.checked_add(1)?, rep_max: rep, entry_def })
    }

    /// Computes the levels of the rows in `sink`.
    pub(crate) fn levels(&self, sink: &ColumnSink) -> Levels {
        let rows = sink.rows();
        if self.steps.is_empty() {
            let mut def = Vec::new();
            with_length(&mut def, |def| hybrid::put_run(1, rows, 1, def));
            return Levels { count: rows, rep: Vec::new(), def, raw: Vec::new() };
        }
        let mut walk = Walk { sink, def: Vec::new(), rep: Vec::new(), def_max: self.def_max };
        walk.go(&self.steps, 0..rows, 0, 0, 0);
        let mut levels = Levels { count: walk.def.len(), rep: Vec::new(), def: Vec::new(), raw: walk.def };
        if self.rep_max > 0 {
            let width = hybrid::width(self.rep_max.into());
            with_length(&mut levels.rep, |out| hybrid::encode(&walk.rep, width, out));
        }
        let width = hybrid::width(self.def_max.into());
        with_length(&mut levels.def, |out| hybrid::encode(&levels.raw, width, out));
        levels
    }

    /// Appends the levels of a leaf of this container whose column has `len` entries.
    pub(crate) fn put(&self, levels: &Levels, validity: &Validity, len: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&levels.rep);
        let Some(words) = validity.words(len) else {
            out.extend_from_slice(&levels.def);
            return;
        };
        if self.steps.is_empty() {
            with_length(out, |out| hybrid::put_bits(&words, len, out));
            return;
        }
        let mut def = levels.raw.clone();
        let mut at = 0;
        for level in &mut def {
            if *level >= self.entry_def {
                let valid = words[at / 64] >> (at % 64) & 1;
                if *level == self.def_max && valid == 0 {
                    *level -= 1;
                }
                at += 1;
            }
        }
        with_length(out, |out| hybrid::encode(&def, hybrid::width(self.def_max.into()), out));
    }
}

/// Runs `put` and writes the length of its output before it, as data pages of version 1 require.
fn with_length(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put(out);
    let len = u32::try_from(out.len() - start - 4).expect("levels of one batch are far below 4 GiB");
    out[start..start + 4].copy_from_slice(&len.to_le_bytes());
}

struct Walk<'a> {
    sink: &'a ColumnSink,
    def: Vec<u8>,
    rep: Vec<u8>,
    def_max: u8,
}

impl Walk<'_> {
    /// Writes the levels of the entries in `range` at the first of `steps`. Each entry after the first repeats at level `rep`, and so does the
    /// first unless the caller overwrites its level.
    fn go(&mut self, steps: &[Step], range: core::ops::Range<usize>, def: u8, rep: u8, depth: u8) {
        let Some((step, below)) = steps.split_first() else {
            let len = self.def.len() + range.len();
            self.def.resize(len, self.def_max);
            self.rep.resize(len, rep);
            return;
        };
        match *step {
            Step::Optional(node) => {
                let validity = &self.sink.lists[node.index()].validity;
                if validity.nulls() == 0 {
                    return self.go(below, range, def + 1, rep, depth);
                }
                for at in range {
                    if validity.is_valid(at) {
                        self.go(below, at..at + 1, def + 1, rep, depth);
                    } else {
                        self.one(def, rep);
                    }
                }
            }
            Step::List(node) => {
                let validity = &self.sink.lists[node.index()].validity;
                let ends = self.sink.ends(node);
                let mut start = range.start.checked_sub(1).map_or(0, |last| ends[last] as usize);
                for at in range {
                    let end = ends[at] as usize;
                    if !validity.is_valid(at) {
                        self.one(def, rep);
                    } else if start == end {
                        self.one(def + 1, rep);
                    } else {
                        let first = self.rep.len();
                        self.go(below, start..end, def + 2, depth + 1, depth + 1);
                        self.rep[first] = rep;
                    }
                    start = end;
                }
            }
        }
    }

    fn one(&mut self, def: u8, rep: u8) {
        self.def.push(def);
        self.rep.push(rep);
    }
}
