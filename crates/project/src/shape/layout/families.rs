//! CSV whose documents have several rows: kinds of row, and rows with equal keys.

use quayline_core::{Finding, Findings, Moment, NodeId, Occurs, Scalar, Shape, ShapeBuilder};
use quayline_flat::{ColumnRole, KeyOrder, KeyedColumn, RowFamilies, RowKind};
use toml::Spanned;

use super::columns::{leaf, moment_of};
use super::wire::{KeyOrderName, Layout, Record};
use super::{Loader, text};
use crate::Schema;

/// Rows with equal keys as one document.
pub(super) fn keyed(
    loader: &Loader<'_>,
    name: &str,
    layout: &Layout,
    keys: &Spanned<Vec<String>>,
) -> Result<Schema, Findings> {
    let mut findings = Vec::new();
    let mut seen = Vec::new();
    let leaves: Vec<_> =
        layout.field.iter().map(|field| leaf(loader, field.get_ref(), &mut seen, &mut findings)).collect();
    let lists: Vec<&Spanned<String>> = layout.field.iter().filter_map(|field| field.get_ref().list.as_ref()).collect();
    let is_key = |name: &str| keys.get_ref().iter().any(|key| key == name);
    for key in keys.get_ref() {
        let field = layout.field.iter().find(|field| field.get_ref().name.get_ref() == key);
        if field.is_none_or(|field| field.get_ref().list.is_some()) {
            let what = if field.is_none() { "is not a field" } else { "is a field of the list" };
            let hint = "keys are fields that all rows of a document have";
            findings.push(loader.wrong(&keys.span(), format!("the key `{key}` {what}"), hint));
        }
    }
    if keys.get_ref().is_empty() || keys.get_ref().len() > KEYS_MAX {
        let message = format!("`group-by` names 1 to {KEYS_MAX} fields");
        findings.push(loader.wrong(&keys.span(), message, "say group-by = [\"order\"]"));
    }
    match lists.as_slice() {
        [] => {
            let hint = "give the fields that each row has of its own list = \"lines\"";
            findings.push(loader.wrong(
                &keys.span(),
                "no field belongs to a list, so rows of a document have nothing of their own",
                hint,
            ));
        }
        [first, others @ ..] => {
            for other in others.iter().filter(|other| other.get_ref() != first.get_ref()) {
                let message = format!("a second list `{}`", other.get_ref());
                findings.push(loader.wrong(&other.span(), message, "each row is one occurrence of one list"));
            }
            if seen.contains(&first.get_ref().as_str()) || first.get_ref().is_empty() {
                let message = format!("the list cannot have the name `{}`", first.get_ref());
                findings.push(loader.wrong(&first.span(), message, "name it as no field is named"));
            }
        }
    }
    if !findings.is_empty() {
        return Err(Findings(findings));
    }
    let mut shape = Shape::builder(name);
    let mut columns: Vec<KeyedColumn> = Vec::new();
    let mut moments: Vec<(NodeId, Moment)> = Vec::new();
    let mut add = |shape: &mut ShapeBuilder, number: usize, role| {
        let field = layout.field[number].get_ref();
        let (scalar, occurs) = leaves[number].clone();
        let moment = moment_of(field.kind);
        let has_empty_text = moment.is_none() && matches!(scalar, Scalar::Text { .. } | Scalar::Bytes { .. });
        let node = shape.scalar(field.name.get_ref(), scalar, occurs);
        moments.extend(moment.map(|moment| (node, moment)));
        columns.push(KeyedColumn { name: field.name.get_ref().clone(), leaf: node, role, has_empty_text });
    };
    let of_rows = |number: &usize| layout.field[*number].get_ref().list.is_some();
    for number in (0..layout.field.len()).filter(|number| !of_rows(number)) {
        let role =
            if is_key(layout.field[number].get_ref().name.get_ref()) { ColumnRole::Key } else { ColumnRole::Document };
        add(&mut shape, number, role);
    }
    let list = shape.open(lists[0].get_ref().as_str(), Occurs::Many { min: 1, max: None });
    for number in (0..layout.field.len()).filter(of_rows) {
        add(&mut shape, number, ColumnRole::Row);
    }
    shape.close();
    columns.sort_by_key(|column| seen.iter().position(|name| *name == column.name));
    let order = match layout.key_order.as_ref().map(Spanned::get_ref) {
        Some(KeyOrderName::Ascending) => KeyOrder::Ascending,
        Some(KeyOrderName::Together) | None => KeyOrder::Together,
    };
    Ok(Schema::of_families(shape.finish(), RowFamilies::Keys { columns, list, order }).with_moments(moments))
}

/// Fields of a key: more is a mistake.
const KEYS_MAX: usize = 16;

/// Builds the schema of rows of several kinds, which a cell distinguishes.
pub(super) fn kinds(loader: &Loader<'_>, name: &str, layout: &Layout) -> Result<Schema, Findings> {
    let mut findings = Vec::new();
    if !layout.field.is_empty() {
        let hint = "describe the one kind of row by [[field]], several kinds by [[record]] with [[record.field]]";
        findings.push(loader.wrong(&layout.layout.span(), "fields are both in [[field]] and in [[record]]", hint));
    }
    if layout.header == Some(true) {
        let message = "rows of several kinds have no header";
        findings.push(loader.wrong(&layout.layout.span(), message, "leave `header` out"));
    }
    let cell = match &layout.key {
        None => 0,
        Some(key) => match (key.get_ref().column, key.get_ref().start, key.get_ref().length) {
            (Some(column @ 1..), None, None) => column - 1,
            _ => {
                let hint = "say key = { column = 1 }, which is also the default";
                findings.push(loader.wrong(&key.span(), "the key of rows is a column, counted from 1", hint));
                0
            }
        },
    };
    let parents = parents(loader, &layout.record, &mut findings);
    let mut taken: Vec<&str> = Vec::new();
    for record in &layout.record {
        let of = record.get_ref();
        let (name, at) = text(&of.name);
        if of.value.is_none() && of.values.is_empty() || of.field.len() <= cell {
            let message = format!("`{name}` has no value, or no field for the cell {} that holds it", cell + 1);
            findings.push(loader.wrong(
                &at,
                message,
                "say what its key holds: value = \"H\", and its [[record.field]]",
            ));
        }
        for value in of.value.iter().chain(&of.values) {
            if taken.contains(&value.as_str()) {
                let message = format!("two kinds of row have the value `{value}`");
                findings.push(loader.wrong(&at, message, "give each kind values of its own"));
            }
            taken.push(value);
        }
        let same = |other: &&Spanned<Record>| other.get_ref().name.get_ref() == name;
        if layout.record.iter().filter(same).count() > 1 {
            findings.push(loader.wrong(&at, format!("two records `{name}`"), "names of records are unique"));
        }
    }
    let mut composer = Composer {
        loader,
        records: &layout.record,
        parents: &parents,
        kinds: vec![None; layout.record.len()],
        moments: Vec::new(),
    };
    let mut shape = Shape::builder(name);
    composer.compose(&mut shape, None, &mut findings);
    let (kinds, moments) = (composer.kinds, composer.moments);
    if !findings.is_empty() {
        return Err(Findings(findings));
    }
    let kinds = kinds.into_iter().flatten().collect();
    Ok(Schema::of_families(shape.finish(), RowFamilies::Kinds { cell, kinds }).with_moments(moments))
}

/// Returns the parent of each kind that has one. A parent must be described before its children.
fn parents(loader: &Loader<'_>, records: &[Spanned<Record>], findings: &mut Vec<Finding>) -> Vec<Option<usize>> {
    let parent = |(number, record): (usize, &Spanned<Record>)| {
        let parent = record.get_ref().parent.as_ref()?;
        let found = records[..number].iter().position(|other| other.get_ref().name.get_ref() == parent.get_ref());
        if found.is_none() {
            let message = format!("there is no record `{}` above", parent.get_ref());
            findings.push(loader.wrong(&parent.span(), message, "describe it before its parts"));
        }
        found
    };
    records.iter().enumerate().map(parent).collect()
}

/// Combines the kinds: each is a group, and its children follow its fields.
struct Composer<'c> {
    loader: &'c Loader<'c>,
    records: &'c [Spanned<Record>],
    parents: &'c [Option<usize>],
    kinds: Vec<Option<RowKind>>,
    moments: Vec<(NodeId, Moment)>,
}

impl Composer<'_> {
    fn compose(&mut self, shape: &mut ShapeBuilder, parent: Option<usize>, findings: &mut Vec<Finding>) {
        let occurs = if parent.is_none() { Occurs::Optional } else { Occurs::Many { min: 0, max: None } };
        let records = self.records;
        for number in (0..records.len()).filter(|number| self.parents[*number] == parent) {
            let of = records[number].get_ref();
            // A record whose parent is missing was refused.
            if parent.is_none() && of.parent.is_some() {
                continue;
            }
            let name = of.name.get_ref();
            let group = shape.open(name.as_str(), occurs);
            let mut seen = Vec::new();
            let mut cells: Vec<NodeId> = Vec::new();
            for field in &of.field {
                let (scalar, occurs) = leaf(self.loader, field.get_ref(), &mut seen, findings);
                if let Some(list) = &field.get_ref().list {
                    findings.push(self.loader.wrong(
                        &list.span(),
                        "`list` is for layouts with `group-by`",
                        "leave it out",
                    ));
                }
                let node = shape.scalar(field.get_ref().name.get_ref(), scalar, occurs);
                self.moments.extend(moment_of(field.get_ref().kind).map(|moment| (node, moment)));
                cells.push(node);
            }
            let values = of.value.iter().chain(&of.values).cloned().collect();
            self.kinds[number] = Some(RowKind { name: name.clone(), values, parent, group, cells });
            self.compose(shape, Some(number), findings);
            shape.close();
        }
    }
}
