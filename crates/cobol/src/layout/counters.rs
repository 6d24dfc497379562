//! References to fields by name, and the counters of OCCURS DEPENDING ON.

use std::collections::{HashMap, HashSet};

use super::build::{Context, entry};
use super::{Encoding, FieldIndex, FieldKind, Layout};
use crate::codes;
use crate::copybook::RecordDescription;
use crate::copybook::entry::Reference;

/// Fields by name.
pub(super) struct Names {
    by_name: HashMap<String, Vec<FieldIndex>>,
}

impl Names {
    pub(super) fn of(layout: &Layout) -> Self {
        let mut by_name: HashMap<String, Vec<FieldIndex>> = HashMap::new();
        for (index, field) in layout.iter().filter(|(_, f)| !f.filler) {
            by_name.entry(field.name.clone()).or_default().push(index);
        }
        Names { by_name }
    }

    /// Indices of the fields of this name, in order.
    pub(super) fn named(&self, name: &str) -> &[FieldIndex] {
        self.by_name.get(name).map_or(&[][..], Vec::as_slice)
    }

    /// Finds the fields that match the reference, ten at most. The file of the record qualifies like a group.
    pub(super) fn find(&self, layout: &Layout, record: &RecordDescription, reference: &Reference) -> Vec<FieldIndex> {
        let named = self.named(&reference.name).iter().copied();
        named.filter(|index| qualified(layout, record, *index, &reference.qualifiers)).take(10).collect()
    }
}

fn qualified(layout: &Layout, record: &RecordDescription, index: FieldIndex, qualifiers: &[String]) -> bool {
    let mut wanted = qualifiers.iter().peekable();
    let mut at = layout.field(index).parent;
    while let (Some(group), Some(name)) = (at, wanted.peek()) {
        if layout.field(group).name == **name {
            wanted.next();
        }
        at = layout.field(group).parent;
    }
    match (wanted.next(), wanted.next()) {
        (None, _) => true,
        (Some(name), None) => record.file_name() == Some(name.as_str()),
        (Some(_), Some(_)) => false,
    }
}

/// Finds the counter of every table with DEPENDING ON.
pub(super) fn resolve(layout: &mut Layout, record: &RecordDescription, names: &Names, context: &mut Context<'_>) {
    let tables: Vec<FieldIndex> =
        layout.iter().filter(|(i, _)| entry(record, *i).occurs.is_some()).map(|(i, _)| i).collect();
    let shared: HashSet<FieldIndex> =
        layout.iter().filter_map(|(index, field)| field.redefines.map(|storage| [index, storage])).flatten().collect();
    for table in tables {
        let Some(reference) = entry(record, table).occurs.as_ref().and_then(|o| o.depending_on.as_ref()) else {
            continue;
        };
        in_redefinition(layout, record, table, &shared, context);
        let counter = counter(layout, record, names, table, reference, context);
        if let Some(occurs) = &mut layout.fields[table.index()].occurs {
            occurs.depending_on = counter;
        }
    }
}

fn counter(
    layout: &Layout,
    record: &RecordDescription,
    names: &Names,
    table: FieldIndex,
    reference: &Reference,
    context: &mut Context<'_>,
) -> Option<FieldIndex> {
    let found = names.find(layout, record, reference);
    let name = reference.shown();
    let index = match found[..] {
        [index] => index,
        [] => {
            let hint = "the counter is a field of the same record, in front of the table; a counter outside the record cannot be read with it";
            context.error(
                codes::COUNTER_UNKNOWN,
                reference.at,
                format!("the counter {name} is not in this record"),
                hint,
            );
            return None;
        }
        _ => {
            let paths: Vec<String> = found.iter().map(|i| layout.path(*i)).collect();
            let message = format!("the counter {name} is ambiguous: {}", paths.join(", "));
            context.error(
                codes::COUNTER_AMBIGUOUS,
                reference.at,
                message,
                format!("say which: `{} OF group`", reference.name),
            );
            return None;
        }
    };
    let table_field = layout.field(table);
    let inside = |outer: FieldIndex, inner: FieldIndex| outer <= inner && inner < layout.field(outer).subtree_end;
    let place = if inside(table, index) {
        Some(format!("the counter {name} is in the table it counts, {}", table_field.name))
    } else if index > table {
        Some(format!("the counter {name} is after the table it counts, {}", table_field.name))
    } else {
        let mut at = Some(index);
        let mut repeated = None;
        while let Some(group) = at {
            if layout.field(group).occurs.is_some() && !inside(group, table) {
                repeated = Some(group);
            }
            at = layout.field(group).parent;
        }
        repeated.map(|group| {
            format!(
                "the counter {name} repeats in {}, so it is not clear which occurrence counts {}",
                layout.field(group).name,
                table_field.name
            )
        })
    };
    if let Some(message) = place {
        context.error(
            codes::COUNTER_PLACE,
            reference.at,
            message,
            "move the counter in front of the table, outside other tables",
        );
        return None;
    }
    let integer = match &layout.field(index).kind {
        FieldKind::Item(
            Encoding::Zoned { scale, .. }
            | Encoding::Packed { scale, .. }
            | Encoding::PackedUnsigned { scale, .. }
            | Encoding::Binary { scale, .. },
        ) => *scale <= 0,
        _ => false,
    };
    if !integer {
        let description = match layout.field(index).description.as_str() {
            "" => "a group",
            description => description,
        };
        let message = format!("the counter {name} is not a whole number: {description}");
        context.error(
            codes::COUNTER_NOT_INTEGER,
            reference.at,
            message,
            "use a numeric field without V, such as `PIC 9(3)`",
        );
        return None;
    }
    Some(index)
}

/// Reports a table of variable length in shared storage. Shared storage has one length, so no view can hold such a table.
fn in_redefinition(
    layout: &Layout,
    record: &RecordDescription,
    table: FieldIndex,
    shared: &HashSet<FieldIndex>,
    context: &mut Context<'_>,
) {
    let mut at = Some(table);
    while let Some(index) = at {
        if shared.contains(&index) {
            let clause = entry(record, table).occurs.as_ref().map_or(entry(record, table).at, |o| o.at);
            let message = format!(
                "{} varies in length inside {}, which shares its storage by REDEFINES",
                layout.field(table).name,
                layout.field(index).name
            );
            let hint = "give the table a fixed number of occurrences, or describe the variants as records of their own";
            context.error(codes::REDEFINES_TABLE, clause, message, hint);
            return;
        }
        at = layout.field(index).parent;
    }
}
