//! REDEFINES: the storage that a field shares.

use super::build::{Context, entry};
use super::counters::Names;
use super::{FieldIndex, Layout};
use crate::codes;
use crate::copybook::RecordDescription;
use crate::copybook::entry::Reference;
use crate::copybook::source::Span;

pub(super) fn resolve(layout: &mut Layout, record: &RecordDescription, names: &Names, context: &mut Context<'_>) {
    let groups: Vec<FieldIndex> = layout.iter().map(|(index, _)| index).collect();
    for group in groups {
        let children: Vec<FieldIndex> = layout.children(group).collect();
        // The preceding field that owns the storage, and all views of it so far.
        let mut views: Vec<FieldIndex> = Vec::new();
        for child in &children {
            match &entry(record, *child).redefines {
                None => views = vec![*child],
                Some((reference, span)) => {
                    if storage(layout, record, *child, (reference, *span), &views, names, context) {
                        layout.fields[child.index()].redefines = views.first().copied();
                        views.push(*child);
                    } else {
                        views = vec![*child];
                    }
                }
            }
        }
    }
}

/// Returns whether `reference` names one of `views`, and reports it otherwise.
fn storage(
    layout: &Layout,
    record: &RecordDescription,
    index: FieldIndex,
    (reference, clause): (&Reference, Span),
    views: &[FieldIndex],
    names: &Names,
    context: &mut Context<'_>,
) -> bool {
    let name = reference.name.as_str();
    let named = |i: &&FieldIndex| layout.field(**i).name == name;
    let field = layout.field(index);
    let at = clause.to(reference.at);
    // Mostly the original is named: it is looked at first.
    if let Some(view) = views.first().filter(named).or_else(|| views.iter().rev().find(named)) {
        let original = layout.field(*view);
        if original.level != field.level {
            let message = format!(
                "{} has level {:02}, but {name}, which it redefines, has level {:02}",
                field.name, field.level, original.level
            );
            context.error(codes::REDEFINES_MISPLACED, at, message, "give both the same level number");
            return false;
        }
        if entry(record, *view).occurs.is_some() {
            let message = format!("{name}, which is redefined, has an OCCURS clause");
            let hint = "the storage of all its occurrences is taken; Enterprise COBOL refuses this: put the table in a group and redefine that";
            context.warning(codes::REDEFINES_TABLE, at, message, hint);
        }
        return true;
    }
    let hint = "put REDEFINES directly after the field it names, with the same level number, in the same group";
    let same = names.named(name);
    let before = same.partition_point(|other| *other < index);
    let behind = same[before..].iter().find(|other| layout.field(**other).parent == field.parent);
    let (code, message) = if behind.is_some() {
        let what = if field.name == name { "itself".to_owned() } else { format!("{name}, which follows it") };
        (codes::REDEFINES_MISPLACED, format!("{} redefines {what}", field.name))
    } else if let Some(other) = before.checked_sub(1).map(|i| same[i]) {
        let what = if layout.field(other).parent == field.parent {
            let between = views.first().map_or("other fields", |i| layout.field(*i).name.as_str());
            format!("but {between} is between them")
        } else {
            "but it is not in the same group".to_owned()
        };
        (codes::REDEFINES_MISPLACED, format!("{} redefines {name}, {what}", field.name))
    } else {
        (codes::REDEFINES_UNKNOWN, format!("{} redefines {name}, which is not in this record", field.name))
    };
    context.error(code, at, message, hint);
    false
}
