//! Tables whose occurrences hold only texts. Sinks may take them as rows, which need no translation in a code page that contains
//! ASCII unchanged.

use quayline_core::NodeId;

use super::{Op, Plan};

/// The tables of texts of a plan.
#[derive(Debug, Default)]
pub(crate) struct TextTables {
    pub(crate) tables: Vec<TextTable>,
    /// Bytes of a record that are translated before anything is read, if the rest is translated table by table; for sinks that take
    /// rows. `None` if all of the record is translated at once.
    pub(crate) eager: Option<usize>,
    /// True if printable ASCII is unchanged in records of this code page, and no other byte is printable ASCII.
    pub(crate) as_is: bool,
}

/// A table of texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextTable {
    pub(crate) group: NodeId,
    /// Number of texts in an occurrence; their operations begin two after the table's.
    pub(crate) texts: usize,
    /// Start of the next table of texts, or end of the last field that is read, with all tables at their maximum: the bytes up to
    /// there are translated with this table. `None` if the whole record is translated at first.
    pub(crate) until: Option<usize>,
}

impl TextTables {
    /// Finds them and writes their numbers, from 1, to `text_runs` at their `Loop` operations.
    pub(crate) fn find(plan: &mut Plan) {
        let mut rows = TextTables { as_is: as_is(plan.text.to_ascii), ..TextTables::default() };
        let mut first_offsets = Vec::new();
        let mut depth = 0u32;
        for (i, op) in plan.ops.iter().enumerate() {
            match *op {
                Op::Loop { len, .. } => {
                    if let Some((table, first)) = text_table(plan, i, len as usize) {
                        rows.tables.push(table);
                        plan.text_runs[i] = u32::try_from(rows.tables.len()).unwrap_or(0);
                        first_offsets.extend((depth == 0).then_some((rows.tables.len() - 1, first)));
                    }
                    depth += 1;
                }
                Op::Next => depth -= 1,
                _ => {}
            }
        }
        if let Some((_, eager)) = first_offsets.first().copied()
            && let Some(read_end) = end_if_in_order(plan)
            && plan.captures.iter().all(|item| {
                let item = &plan.items[*item as usize];
                item.offset + item.size <= eager
            })
        {
            rows.eager = Some(eager);
            for (n, (table, _)) in first_offsets.iter().enumerate() {
                rows.tables[*table].until = Some(first_offsets.get(n + 1).map_or(read_end, |(_, first)| *first));
            }
        }
        plan.rows = rows;
    }
}

/// Returns the table whose `Loop` is operation `at`, if its occurrences are groups that hold only texts in the order of their
/// places, and the offset of its first text.
fn text_table(plan: &Plan, at: usize, len: usize) -> Option<(TextTable, usize)> {
    let [Op::Enter(group), texts @ .., Op::Leave(left), Op::Next] = plan.ops.get(at + 1..=at + len)? else {
        return None;
    };
    let places = &plan.text_places[at + 2..][..texts.len()];
    let ordered =
        places.is_sorted_by(|one, next| u64::from(next.offset) >= u64::from(one.offset) + u64::from(one.size));
    let all_text = texts.iter().all(|op| matches!(op, Op::Text { .. }));
    let first = places.first()?.offset as usize;
    (group == left && ordered && all_text)
        .then_some((TextTable { group: *group, texts: texts.len(), until: None }, first))
}

/// Returns the end of the last field that is read, if operations read in the order of places, so that none reads bytes that a table
/// leaves untranslated.
fn end_if_in_order(plan: &Plan) -> Option<usize> {
    if plan.preserve_node.is_some() || !plan.unions.is_empty() {
        return None;
    }
    let mut behind = 0;
    let mut open = Vec::new();
    for (op, item) in plan.ops.iter().zip(&plan.op_items) {
        match *op {
            Op::Text { .. }
            | Op::ZonedUnsigned { .. }
            | Op::ZonedTrailing { .. }
            | Op::Packed { .. }
            | Op::Binary { .. }
            | Op::Item(_) => {
                let item = &plan.items[*item as usize];
                if item.offset < behind {
                    return None;
                }
                behind = item.offset + item.size;
            }
            Op::Loop { table, .. } => open.push(plan.tables[table as usize]),
            Op::Next => {
                let table: super::Table = open.pop()?;
                behind += table.stride * (table.max as usize).saturating_sub(1);
            }
            Op::Enter(_) | Op::Leave(_) | Op::Skip { .. } | Op::Capture { .. } => {}
            Op::Union { .. } => return None,
        }
    }
    Some(behind)
}

fn as_is(to_ascii: &[u8; 256]) -> bool {
    (0..=u8::MAX).all(|byte| {
        let ascii = to_ascii[usize::from(byte)];
        if matches!(byte, 0x20..=0x7e) { ascii == byte } else { ascii == 0xff }
    })
}
