//! Several records as one, one after another.

use quayline_cobol::layout::{Field, FieldIndex, FieldKind, Layout, NameIndex, Occurs, Rename};

/// Combines several records as consecutive groups of one record, without slack: the parameters of a program. Each group keeps its own
/// alignment. `None` for no records, or for more than four billion fields.
pub(super) fn joined(name: &str, parts: Vec<Layout>) -> Option<Layout> {
    let (dialect, source) = parts.first().map(|first| (first.dialect, first.fields[0].source.clone()))?;
    let length_max: usize = parts.iter().map(|part| part.length_max).sum();
    let length_min = parts.iter().map(|part| part.length_min).sum();
    let count: usize = 1 + parts.iter().map(|part| part.fields.len()).sum::<usize>();
    let root = Field {
        name: name.to_owned(),
        filler: false,
        level: 1,
        parent: None,
        subtree_end: FieldIndex(u32::try_from(count).ok()?),
        offset: 0,
        size: length_max,
        stride: length_max,
        slack_before: 0,
        occurs: None,
        redefines: None,
        kind: FieldKind::Group,
        description: String::new(),
        conditions: Vec::new(),
        value: None,
        external: false,
        global: false,
        source,
    };
    let mut all = Layout {
        fields: vec![root],
        renames: Vec::new(),
        length_max,
        length_min,
        dialect,
        warnings: Vec::new(),
        names: NameIndex::default(),
    };
    let mut offset = 0;
    for part in parts {
        let first = u32::try_from(all.fields.len()).ok()?;
        let moved = |index: FieldIndex| FieldIndex(index.0 + first);
        all.fields.extend(part.fields.into_iter().map(|field| Field {
            parent: Some(field.parent.map_or(FieldIndex::RECORD, moved)),
            subtree_end: moved(field.subtree_end),
            offset: field.offset + offset,
            redefines: field.redefines.map(moved),
            occurs: field.occurs.map(|occurs| Occurs { depending_on: occurs.depending_on.map(moved), ..occurs }),
            ..field
        }));
        all.renames.extend(part.renames.into_iter().map(|rename| Rename {
            from: moved(rename.from),
            thru: rename.thru.map(moved),
            offset: rename.offset + offset,
            ..rename
        }));
        all.warnings.extend(part.warnings);
        offset += part.length_max;
    }
    Some(all)
}
