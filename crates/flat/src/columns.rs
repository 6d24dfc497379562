//! A shape as a table: the column of every leaf occurrence.

use std::collections::HashSet;

use quayline_core::{Code, Fault, Finding, Findings, Limits, NodeId, NodeKind, Occurs, Shape};

use crate::header::TWICE;

/// The columns of a shape, in document order: `ID`, `ADDR.CITY`, `CAR[0].MAKE`, `CAR[0].MODEL`, `CAR[1].MAKE`, …
#[derive(Clone, Debug)]
pub struct Columns {
    nodes: Vec<NodeColumns>,
    /// All names, concatenated, and the end of each.
    names: String,
    ends: Vec<usize>,
}

/// Place of a node's columns in one occurrence of its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeColumns {
    /// First column, from the parent occurrence's first.
    pub(crate) offset: u32,
    /// Columns of one occurrence.
    pub(crate) width: u32,
    /// Most occurrences.
    pub(crate) max: u32,
    pub(crate) list: bool,
}

impl Columns {
    /// Derives the columns of `shape`.
    ///
    /// # Errors
    /// `FLAT-002` for a list without a maximum, `FLAT-001` for more columns than `Limits::columns_max`; both name the list and a remedy.
    /// `FLAT-004` for a shape without leaves, `FLAT-006` for two columns of one name: a field `a.b` beside a group `a` with a field `b`.
    pub fn new(shape: &Shape, limits: &Limits) -> Result<Self, Findings> {
        let mut nodes: Vec<NodeColumns> = Vec::with_capacity(shape.len());
        let mut widths = vec![0u64; shape.len()];
        // Children follow their parents, so widths add up from the end.
        for (id, node) in shape.iter().collect::<Vec<_>>().into_iter().rev() {
            if let NodeKind::Scalar(_) = node.kind {
                widths[id.index()] = 1;
            }
            let times = match node.occurs {
                Occurs::Once | Occurs::Optional => 1,
                Occurs::Many { max: Some(max), .. } => max,
                Occurs::Many { max: None, .. } => return Err(unbounded(shape, id).into()),
            };
            let all = widths[id.index()].saturating_mul(times.into());
            if let Some(parent) = node.parent {
                widths[parent.index()] = widths[parent.index()].saturating_add(all);
            }
        }
        let total = widths[0];
        if total == 0 {
            let message = "the record has no field to make a column of";
            let finding = Finding::error(Code("FLAT-004"), Fault::Config, message);
            return Err(finding.hint("include at least one field in the interface").into());
        }
        if total > limits.columns_max as u64 {
            return Err(too_many(shape, &widths, total, limits.columns_max).into());
        }
        let mut used = vec![0u32; shape.len()];
        for (id, node) in shape.iter() {
            let width = u32::try_from(widths[id.index()]).expect("at most all columns, which are within the limit");
            let max = match node.occurs {
                Occurs::Many { max, .. } => max.unwrap_or(0),
                _ => 1,
            };
            let offset = node.parent.map_or(0, |parent| {
                let offset = used[parent.index()];
                used[parent.index()] += width * max;
                offset
            });
            nodes.push(NodeColumns { offset, width, max, list: node.is_list() });
        }
        let mut columns = Columns { nodes, names: String::new(), ends: Vec::new() };
        for child in shape.children(NodeId::ROOT) {
            columns.name(shape, child, "");
        }
        debug_assert_eq!(columns.ends.len() as u64, total);
        let mut seen = HashSet::with_capacity(columns.len());
        if let Some(name) = columns.names().find(|name| !seen.insert(*name)) {
            let message = format!("two fields have the column name {name}");
            let finding = Finding::error(TWICE, Fault::Config, message);
            return Err(finding
                .hint("rename one of the fields, or write JSON, which nests the fields of a group")
                .into());
        }
        Ok(columns)
    }

    /// Number of columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: a shape without leaves has no columns and is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Name of a column.
    #[must_use]
    pub fn name_of(&self, column: usize) -> &str {
        let start = if column == 0 { 0 } else { self.ends[column - 1] };
        &self.names[start..self.ends[column]]
    }

    /// All names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|column| self.name_of(column))
    }

    #[inline(always)]
    pub(crate) fn node(&self, id: NodeId) -> NodeColumns {
        self.nodes[id.index()]
    }

    /// Appends the names of all columns of a node, each after `prefix`.
    fn name(&mut self, shape: &Shape, id: NodeId, prefix: &str) {
        let node = shape.node(id);
        let NodeColumns { max, list, .. } = self.nodes[id.index()];
        for occurrence in 0..max {
            let mut path = format!("{prefix}{}", node.name);
            if list {
                path.push_str(&format!("[{occurrence}]"));
            }
            if node.scalar().is_some() {
                self.names.push_str(&path);
                self.ends.push(self.names.len());
            } else {
                path.push('.');
                for child in shape.children(id) {
                    self.name(shape, child, &path);
                }
            }
        }
    }
}

fn unbounded(shape: &Shape, id: NodeId) -> Finding {
    let message = format!("the list {} has no maximum, so it has no fixed number of columns", shape.path(id));
    Finding::error(Code("FLAT-002"), Fault::Config, message)
        .hint("convert to JSON, XML or Parquet, which hold lists; exclude the list in the interface of a record; if it is a record type, leave `parent` out and add `--by-type`; or write EDI with `--rows`")
}

fn too_many(shape: &Shape, widths: &[u64], total: u64, limit: usize) -> Finding {
    // The error names the list whose repetition makes most columns.
    let mut times = vec![1u64; shape.len()];
    let mut worst = (0, NodeId::ROOT, 1);
    for (id, node) in shape.iter() {
        let max = match node.occurs {
            Occurs::Many { max: Some(max), .. } => u64::from(max),
            _ => 1,
        };
        let around = node.parent.map_or(1, |parent| times[parent.index()]);
        times[id.index()] = around.saturating_mul(max);
        let caused = around.saturating_mul(max.saturating_sub(1)).saturating_mul(widths[id.index()]);
        if caused > worst.0 {
            worst = (caused, id, max);
        }
    }
    let (_, list, max) = worst;
    let mut message = format!("{total} columns are more than the limit of {limit}");
    if list != NodeId::ROOT {
        let width = widths[list.index()];
        message.push_str(&format!("; most come from the list {}: {max} times {width}", shape.path(list)));
    }
    Finding::error(Code("FLAT-001"), Fault::Config, message).hint(
        "exclude the list in the interface, convert to JSON, XML or Parquet, or allow more with `--limit columns=N`",
    )
}
