//! RENAMES: level-66 entries.

use super::build::Context;
use super::counters::Names;
use super::{FieldIndex, Layout, Rename};
use crate::codes;
use crate::copybook::RecordDescription;
use crate::copybook::entry::{Entry, Reference};

pub(super) fn resolve(
    layout: &Layout,
    record: &RecordDescription,
    names: &Names,
    context: &mut Context<'_>,
) -> Vec<Rename> {
    let varying: Vec<FieldIndex> = layout
        .iter()
        .map(|(index, _)| index)
        .filter(|index| super::build::entry(record, *index).occurs.as_ref().is_some_and(|o| o.depending_on.is_some()))
        .collect();
    record.renames.iter().filter_map(|entry| rename(layout, record, names, entry, &varying, context)).collect()
}

fn rename(
    layout: &Layout,
    record: &RecordDescription,
    names: &Names,
    entry: &Entry,
    varying: &[FieldIndex],
    context: &mut Context<'_>,
) -> Option<Rename> {
    let clause = entry.renames.as_ref()?;
    let from = target(layout, record, names, &clause.from, context);
    let thru = match &clause.thru {
        Some(reference) => Some(target(layout, record, names, reference, context)?),
        None => None,
    };
    let from = from?;
    let last = thru.unwrap_or(from);
    let (first_field, last_field) = (layout.field(from), layout.field(last));
    let end = last_field.offset + last_field.size;
    let backwards = thru
        .is_some_and(|thru| thru <= from || last_field.offset < first_field.offset || thru < first_field.subtree_end);
    if backwards || end < first_field.offset + first_field.size {
        let at = clause.thru.as_ref().map_or(clause.from.at, |t| t.at);
        let message = format!("{} does not end after {}", last_field.name, first_field.name);
        context.error(codes::RENAMES_RANGE, at, message, "the field after THRU must follow the first one, outside it");
        return None;
    }
    let next = varying.partition_point(|table| *table < from);
    let varies = varying.get(next).is_some_and(|table| *table < last_field.subtree_end);
    if varies {
        let message = format!("{} renames fields of varying length", entry.name);
        context.error(
            codes::RENAMES_RANGE,
            clause.from.at,
            message,
            "rename fields without OCCURS DEPENDING ON among them",
        );
        return None;
    }
    Some(Rename {
        name: entry.name.clone(),
        from,
        thru,
        offset: first_field.offset,
        size: end - first_field.offset,
        source: record.sources.source_place(entry.at),
    })
}

fn target(
    layout: &Layout,
    record: &RecordDescription,
    names: &Names,
    reference: &Reference,
    context: &mut Context<'_>,
) -> Option<FieldIndex> {
    let found = names.find(layout, record, reference);
    let name = reference.shown();
    let index = match found[..] {
        [index] => index,
        [] => {
            let hint = "RENAMES names fields of the record in front of it";
            context.error(codes::RENAMES_UNKNOWN, reference.at, format!("{name} is not in this record"), hint);
            return None;
        }
        _ => {
            let paths: Vec<String> = found.iter().map(|i| layout.path(*i)).collect();
            let message = format!("{name} is ambiguous: {}", paths.join(", "));
            context.error(
                codes::RENAMES_UNKNOWN,
                reference.at,
                message,
                format!("say which: `{} OF group`", reference.name),
            );
            return None;
        }
    };
    let mut at = Some(index);
    while let Some(group) = at {
        if layout.field(group).occurs.is_some() {
            let message = format!("{name} repeats, it cannot be renamed");
            context.error(codes::RENAMES_RANGE, reference.at, message, "rename the group around the table");
            return None;
        }
        at = layout.field(group).parent;
    }
    if index == FieldIndex::RECORD {
        let message = format!("{name} is the record itself, it cannot be renamed");
        context.error(codes::RENAMES_RANGE, reference.at, message, "rename its fields");
        return None;
    }
    Some(index)
}
