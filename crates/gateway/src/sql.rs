//! A database as provider: fields of the request are parameters of a statement, columns of its rows are fields of the answer.
//!
//! This module knows the fields; the server holds the connections. The statement is the operator's and prepared once; input from
//! clients is only ever a parameter.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::layout::{FieldIndex, Layout};
use quayline_cobol::{Absent, Interface, NoteKind, NullAs, Policies, RecordEncoder, RecordPlan, Trim};
use quayline_core::{Findings, NodeId, NodeKind, Run, Sink, Value};

use crate::rule::Probe;

/// A statement of a PostgreSQL database.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SqlSpec {
    /// Host name, address, or folder of the server's socket.
    pub host: String,
    /// Port. Default 5432.
    pub port: u16,
    /// Database.
    pub database: String,
    /// User.
    pub user: String,
    /// Source of the user's password.
    pub password: SqlPassword,
    /// The statement, with `$1` and so on for the request's fields.
    pub query: String,
    /// Certificates of the authorities that must have signed the server's certificate. Without them, TLS is not used.
    pub authorities: Option<PathBuf>,
    /// Connections from each server thread. Default 2.
    pub connections: usize,
    /// Longest time that a statement may run. Default 5 s.
    pub time_limit: Duration,
    /// Longest time that a call may wait for a connection. Default 2 s.
    pub wait_limit: Duration,
    /// Fields of parameters and columns.
    pub form: Arc<SqlForm>,
}

/// Source of a password: never a file of definitions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SqlPassword {
    /// The server requires no password.
    None,
    /// The first line of a file, read for every connection.
    File(PathBuf),
    /// A variable of the environment.
    Environment(String),
}

/// Mapping of requests to parameters and of rows to records.
#[derive(Debug)]
pub struct SqlForm {
    probe: Probe,
    plan: RecordPlan,
    /// The list that rows fill; `None`: there is one row.
    rows: Option<NodeId>,
    /// A field for the number of rows.
    count: Option<NodeId>,
    length: usize,
    /// Identity of its copybook and settings.
    stamp: u64,
}

impl PartialEq for SqlForm {
    fn eq(&self, other: &Self) -> bool {
        self.stamp == other.stamp
    }
}

impl Eq for SqlForm {}

/// The names in a service file.
pub(crate) struct SqlNames {
    pub(crate) parameters: Vec<FieldIndex>,
    pub(crate) rows: Option<FieldIndex>,
    pub(crate) count: Option<FieldIndex>,
}

/// A statement's columns as fields: made when it has been prepared.
#[derive(Debug)]
pub struct SqlColumns {
    nodes: Vec<NodeId>,
    /// Nodes that are a column or have one below them.
    needed: Vec<bool>,
}

impl SqlForm {
    pub(crate) fn new(
        layout: &Layout,
        policies: &Policies,
        charset: Charset,
        length: usize,
        names: &SqlNames,
    ) -> Result<SqlForm, Findings> {
        // `trim` is for answers. A parameter has the blanks before a text, and not those that fill its field.
        let of_parameters = Policies { trim: Trim::Padding, ..policies.clone() };
        let probe = Probe::new(layout, &names.parameters, &of_parameters, charset)?;
        // Fields without a column are as INITIALIZE leaves them.
        let policies = Policies { absent: Absent::Initialize, null: Some(NullAs::Zeros), ..policies.clone() };
        let plan = RecordPlan::new(layout, &Interface::default(), &policies, charset)?;
        let node = |field: Option<FieldIndex>| field.and_then(|field| plan.node_of(field));
        let (rows, count) = (node(names.rows), node(names.count));
        let text = format!("{layout:?} {policies:?} {charset:?} {:?} {rows:?} {count:?} {length}", names.parameters);
        let stamp = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
        Ok(SqlForm { probe, plan, rows, count, length, stamp })
    }

    /// Returns the parameters of a request's statement, as text.
    #[must_use]
    pub fn parameters(&self, record: &[u8]) -> Vec<Vec<u8>> {
        let mut values = Vec::new();
        // The value of a field that cannot be read is empty.
        let _ = self.probe.values(&mut self.probe.decoder(), record, &mut values);
        // Low-values are the initial content of a field that the request does not set. PostgreSQL does not allow the character in a text.
        values.iter_mut().filter(|value| value.iter().all(|byte| *byte == 0)).for_each(Vec::clear);
        values
    }

    /// Matches columns to fields: a column has the field's name, with `_` for `-`, in any case.
    ///
    /// # Errors
    /// A column that matches no field or several; for an operator.
    pub fn columns(&self, names: &[String]) -> Result<SqlColumns, String> {
        let shape = self.plan.shape();
        let mut needed = vec![false; shape.len()];
        let mut need = |node: NodeId| {
            let mut at = Some(node);
            while let Some(node) = at {
                needed[node.index()] = true;
                at = shape.node(node).parent;
            }
        };
        let inside = |node: NodeId| {
            let mut at = shape.node(node).parent;
            while let Some(group) = at {
                if shape.node(group).is_list() && Some(group) != self.rows {
                    return false;
                }
                at = shape.node(group).parent;
            }
            true
        };
        let mut nodes = Vec::new();
        for name in names {
            let field = name.replace('_', "-");
            let fits = shape.iter().filter(|(id, node)| {
                node.kind != NodeKind::Group
                    && (!node.is_list() || Some(*id) == self.rows)
                    && node.name.eq_ignore_ascii_case(&field)
                    && inside(*id)
            });
            let [node] = fits.map(|(id, _)| id).collect::<Vec<_>>()[..] else {
                return Err(format!(
                    "the column `{name}` is not a field of the copybook, or several: rename it with AS"
                ));
            };
            if nodes.contains(&node) {
                return Err(format!("two columns are the field `{field}`"));
            }
            need(node);
            nodes.push(node);
        }
        if let Some(rows) = self.rows {
            need(rows);
        }
        if let Some(count) = self.count.filter(|count| !nodes.contains(count)) {
            need(count);
        }
        Ok(SqlColumns { nodes, needed })
    }

    /// Builds the record from a statement's rows. An absent value leaves its field as INITIALIZE sets it.
    ///
    /// # Errors
    /// More rows than the record has room for, a value that does not fit its field, or a number that its float does not keep; for an operator, without
    /// the value.
    pub fn record(&self, columns: &SqlColumns, rows: &[Vec<Option<String>>]) -> Result<Vec<u8>, String> {
        if self.rows.is_none() && rows.len() > 1 {
            return Err("the statement gave more than one row, and `rows` names no list for them".to_owned());
        }
        let mut encoder = RecordEncoder::new(&self.plan);
        let mut filler = Filler { form: self, columns, rows, encoder: &mut encoder };
        filler.encoder.enter(NodeId::ROOT);
        filler.fill(NodeId::ROOT, if self.rows.is_none() { rows.first() } else { None });
        filler.encoder.leave(NodeId::ROOT);
        let record = encoder.take().map_err(|faults| {
            let all = faults.0.iter().map(|fault| format!("{}: {}", fault.path, fault.kind));
            format!("what the statement gave does not fit: {}", all.collect::<Vec<_>>().join("; "))
        })?;
        let mut record = record.to_vec();
        record.resize(self.length, 0);
        let rounded = encoder.notes().iter().find(|note| note.kind == NoteKind::NearestFloat);
        if let Some(field) = rounded.and_then(|note| note.field) {
            let name = self.plan.layout().path(field);
            return Err(format!(
                "{name} is a float that does not keep all digits of what the statement gave: cast the column to `real` or `double precision`, or round it (COMP-1 keeps 6 digits, COMP-2 keeps 15)"
            ));
        }
        Ok(record)
    }
}

struct Filler<'a> {
    form: &'a SqlForm,
    columns: &'a SqlColumns,
    rows: &'a [Vec<Option<String>>],
    encoder: &'a mut RecordEncoder,
}

impl Filler<'_> {
    fn fill(&mut self, group: NodeId, row: Option<&Vec<Option<String>>>) {
        let shape = self.form.plan.shape();
        for node in shape.children(group).filter(|node| self.columns.needed[node.index()]) {
            let is_group = shape.node(node).kind == NodeKind::Group;
            if Some(node) == self.form.rows {
                self.encoder.open_list(node);
                for row in self.rows {
                    if is_group {
                        self.encoder.enter(node);
                        self.fill(node, Some(row));
                        self.encoder.leave(node);
                    } else if !self.value(node, Some(row)) {
                        // Each row has its place in the list.
                        self.encoder.value(node, Value::Null);
                    }
                }
                self.encoder.close_list(node);
            } else if is_group {
                self.encoder.enter(node);
                self.fill(node, row);
                self.encoder.leave(node);
            } else if Some(node) == self.form.count {
                let count = self.rows.len().to_string();
                self.encoder.value(node, Value::Text(Run::from(count.as_bytes())));
            } else {
                self.value(node, row);
            }
        }
    }

    /// Sets a field from its column. Returns whether there is a value.
    fn value(&mut self, node: NodeId, row: Option<&Vec<Option<String>>>) -> bool {
        let column = self.columns.nodes.iter().position(|known| *known == node);
        if let Some(text) = row.zip(column).and_then(|(row, column)| row.get(column)?.as_deref()) {
            self.encoder.value(node, Value::Text(Run::from(text.as_bytes())));
            return true;
        }
        false
    }
}
