//! Conversion of a record description into its layout.

use std::sync::Arc;

use quayline_core::{Code, Finding, Findings, Severity};

use super::counters::Names;
use super::item::{self, Inherited};
use super::{Dialect, Field, FieldIndex, FieldKind, Layout, NameIndex, counters, place, redefines, renames};
use crate::codes;
use crate::copybook::RecordDescription;
use crate::copybook::entry::Entry;
use crate::copybook::report::Report;
use crate::copybook::source::{Sources, Span};

impl Layout {
    /// Computes offsets, lengths and types.
    ///
    /// Storage rules that depend on the compiler: see [`Dialect`]. A redefinition that is larger than the original (which the
    /// Language Reference allows at level 01 only, and GnuCOBOL and Micro Focus everywhere) makes the storage larger and is a
    /// warning. Slack bytes of SYNCHRONIZED precede the outermost group that begins with the aligned field, and do not belong to
    /// the field before it.
    ///
    /// # Errors
    /// All findings at once, including warnings, if at least one is an error. Codes from `COB-026` on;
    /// `docs/reference/errors/cobol.md` lists them.
    ///
    /// Source: IBM Enterprise COBOL for z/OS 6.4, Language Reference, Data division: OCCURS, PICTURE, REDEFINES, RENAMES, SIGN,
    /// SYNCHRONIZED (slack bytes within records) and USAGE clauses.
    pub fn build(record: &RecordDescription, dialect: &Dialect) -> Result<Layout, Findings> {
        let mut context =
            Context { report: Report::new(record.limits.findings_max), sources: &record.sources, dialect };
        let (fields, alignments) = fields(record, &mut context);
        let mut layout = Layout {
            fields,
            renames: Vec::new(),
            length_max: 0,
            length_min: 0,
            dialect: *dialect,
            warnings: Vec::new(),
            names: NameIndex::default(),
        };
        let names = Names::of(&layout);
        redefines::resolve(&mut layout, record, &names, &mut context);
        let placed = place::place(&mut layout, record, &alignments, &mut context);
        counters::resolve(&mut layout, record, &names, &mut context);
        layout.renames = renames::resolve(&layout, record, &names, &mut context);
        names_twice(&layout, record, &mut context);
        if placed {
            layout.length_max = layout.fields[0].size;
            layout.length_min = place::length_min(&layout);
        }
        let (findings, failed) = context.report.finish();
        if failed {
            return Err(Findings(findings));
        }
        layout.warnings = findings;
        Ok(layout)
    }
}

/// Errors of the fields of a record that is refused for others: those that depend on one entry alone, in every dialect.
pub(crate) fn errors_of_fields(record: &RecordDescription) -> Vec<Finding> {
    let dialect = Dialect { binary_digits_max: u16::MAX, ..Dialect::default() };
    let mut context =
        Context { report: Report::new(record.limits.findings_max), sources: &record.sources, dialect: &dialect };
    fields(record, &mut context);
    let (findings, _) = context.report.finish();
    findings.into_iter().filter(|finding| finding.severity == Severity::Error).collect()
}

/// Input of every step of the build.
pub(super) struct Context<'a> {
    report: Report,
    sources: &'a Arc<Sources>,
    pub(super) dialect: &'a Dialect,
}

impl Context<'_> {
    pub(super) fn error(&mut self, code: Code, at: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.report.error(self.sources, code, at, message, hint);
    }

    pub(super) fn warning(&mut self, code: Code, at: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.report.warning(self.sources, code, at, message, hint);
    }
}

/// Fields with types and sizes of elementary items, and the boundary each SYNCHRONIZED item needs (1 for others).
fn fields(record: &RecordDescription, context: &mut Context<'_>) -> (Vec<Field>, Vec<usize>) {
    let mut fields: Vec<Field> = Vec::with_capacity(record.items.len());
    let mut alignments = Vec::with_capacity(record.items.len());
    let mut inherited: Vec<Inherited> = Vec::with_capacity(record.items.len());
    for (index, item) in record.items.iter().enumerate() {
        let entry = &item.entry;
        let outer = item.parent.map_or_else(Inherited::default, |p| inherited[p]);
        let group = item.end > index + 1;
        let inner = item::inherit(entry, outer, group, context);
        let (kind, size, alignment, description) = if group {
            item::group_clauses(entry, context);
            (FieldKind::Group, 0, 1, String::new())
        } else {
            let made = item::elementary(entry, &inner, context);
            (FieldKind::Item(made.encoding), made.size, made.alignment, made.description)
        };
        inherited.push(inner);
        alignments.push(alignment);
        fields.push(Field {
            name: entry.name.clone(),
            filler: entry.filler,
            level: entry.level,
            parent: item.parent.map(field_index),
            subtree_end: field_index(item.end),
            offset: 0,
            size,
            stride: size,
            slack_before: 0,
            occurs: None,
            redefines: None,
            kind,
            description,
            conditions: entry.conditions.clone(),
            value: entry.value.as_ref().map(|(value, _)| value.clone()),
            external: entry.external,
            global: entry.global,
            source: record.sources.source_place(entry.at),
        });
    }
    (fields, alignments)
}

/// Returns the index of a field.
pub(super) fn field_index(index: usize) -> FieldIndex {
    FieldIndex(u32::try_from(index).expect("the limit fields_max keeps indices below 2^32"))
}

/// Returns the entry of a field.
pub(super) fn entry(record: &RecordDescription, index: FieldIndex) -> &Entry {
    &record.items[index.index()].entry
}

fn names_twice(layout: &Layout, record: &RecordDescription, context: &mut Context<'_>) {
    let mut seen = std::collections::HashMap::new();
    for (index, field) in layout.iter() {
        if field.filler {
            continue;
        }
        let Some(first) = seen.insert((field.parent, field.name.as_str()), index) else { continue };
        let line = entry(record, first).at.line;
        let message = format!("{} is the name of two fields of one group, the other is in line {line}", field.name);
        let hint = "rename one of them: a reference to either is ambiguous";
        context.warning(codes::NAME_TWICE, entry(record, index).at, message, hint);
    }
}
