//! Entries to records: which entry belongs to which, by level numbers.
//!
//! An entry belongs to the nearest preceding entry with a lower level number. Entries of one group may have unequal level numbers,
//! as Enterprise COBOL allows beyond the standard; that is a warning, since it is usually a slip.

use crate::codes;
use std::sync::Arc;

use quayline_core::Limits;

use super::entry::{Entry, Usage};
use super::report::Report;
use super::source::{Sources, Span};

/// Section of the data division with a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are COBOL's own words")]
pub enum Section {
    File,
    WorkingStorage,
    LocalStorage,
    Linkage,
}

/// One record as described: a level-01 record with everything below it, a level-77 item, or a fragment.
#[derive(Clone, Debug)]
pub struct RecordDescription {
    /// The record itself, then its fields in order.
    pub(crate) items: Vec<Item>,
    /// Level-66 entries.
    pub(crate) renames: Vec<Entry>,
    pub(crate) sources: Arc<Sources>,
    pub(crate) limits: Limits,
    fragment: bool,
}

/// An entry with its place in the record.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) entry: Entry,
    /// Index of the group it belongs to; `None` for the record.
    pub(crate) parent: Option<usize>,
    /// Index after the last entry that belongs to it.
    pub(crate) end: usize,
}

impl RecordDescription {
    /// Returns the record's name in upper case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.items[0].entry.name
    }

    /// Returns whether the record was created for entries without a level 01.
    #[must_use]
    pub fn is_fragment(&self) -> bool {
        self.fragment
    }

    /// Returns its section, in a program.
    #[must_use]
    pub fn section(&self) -> Option<Section> {
        self.items[0].entry.section
    }

    /// Returns the file (FD or SD) of the record, in a program.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        self.items[0].entry.file_name.as_deref()
    }
}

/// Cuts the entries into records.
pub(crate) fn records(
    entries: Vec<Entry>,
    fragment_name: &str,
    sources: &Arc<Sources>,
    report: &mut Report,
    limits: &Limits,
) -> Vec<RecordDescription> {
    let mut records: Vec<RecordDescription> = Vec::new();
    let mut builder: Option<Builder> = None;
    let mut fields = 0usize;
    for entry in entries {
        fields += 1;
        if fields > limits.fields_max {
            let message = format!("the copybook has more than {} fields", limits.fields_max);
            report.error(
                sources,
                codes::TOO_MANY_FIELDS,
                entry.at,
                message,
                "keep the record descriptions that you need in a copybook of their own, or allow more with `--limit fields=N`",
            );
            break;
        }
        match (entry.level, &mut builder) {
            (1 | 77, _) => {
                records.extend(builder.take().map(|b| b.finish(sources, limits)));
                builder = Some(Builder::new(entry, false));
            }
            (66, Some(builder)) => builder.renames.push(entry),
            (66, None) => {
                let hint = "move it after the record whose fields it renames";
                report.error(
                    sources,
                    codes::CONDITION_MISPLACED,
                    entry.at,
                    "this level 66 has no record in front of it",
                    hint,
                );
            }
            (_, Some(builder)) => builder.add(entry, sources, report),
            (_, None) => {
                let mut record = Entry::new(1, entry.at);
                record.name = fragment_name.to_owned();
                record.filler = false;
                record.section = entry.section;
                record.file_name.clone_from(&entry.file_name);
                let mut made = Builder::new(record, true);
                made.add(entry, sources, report);
                builder = Some(made);
            }
        }
    }
    records.extend(builder.map(|b| b.finish(sources, limits)));
    let text_is_missing = report.text_is_missing();
    for record in &records {
        pictures(record, text_is_missing, report);
    }
    records
}

struct Builder {
    items: Vec<Item>,
    renames: Vec<Entry>,
    /// Indices of the open groups, outermost first.
    open: Vec<usize>,
    fragment: bool,
}

impl Builder {
    fn new(record: Entry, fragment: bool) -> Self {
        Builder {
            items: vec![Item { entry: record, parent: None, end: 1 }],
            renames: Vec::new(),
            open: vec![0],
            fragment,
        }
    }

    fn add(&mut self, entry: Entry, sources: &Sources, report: &mut Report) {
        let level = entry.level;
        if self.items[0].entry.level == 77 {
            let hint = "make the level 77 a level 01, or begin a record with a level 01 here";
            report.error(
                sources,
                codes::LEVEL_ORDER,
                entry.at,
                format!("level {level:02} follows a level 77, which has no fields"),
                hint,
            );
            return;
        }
        if let Some(first) = self.renames.first() {
            let message = format!("{} follows a level 66 of its record", entry.name);
            report.error(
                sources,
                codes::LEVEL_ORDER,
                entry.at,
                message,
                format!("move {} after all other entries of the record", first.name),
            );
        }
        // A preceding sibling has the highest level that is closed here.
        let mut sibling = None;
        while self.open.len() > 1 && self.open.last().is_some_and(|i| self.items[*i].entry.level >= level) {
            sibling = self.open.pop();
        }
        let parent = self.open.last().copied().unwrap_or(0);
        let before = sibling.or_else(|| self.last_child(parent));
        if let Some(before) = before
            && self.items[before].entry.level != level
        {
            let other = &self.items[before].entry;
            let message = format!(
                "level {level:02} does not match its sibling {}, which has level {:02}",
                other.name, other.level
            );
            let group = &self.items[parent].entry.name;
            let hint =
                format!("{} is taken as a field of {group}; give fields of one group one level number", entry.name);
            report.warning(sources, codes::LEVEL_ORDER, entry.at, message, hint);
        }
        let index = self.items.len();
        self.items.push(Item { entry, parent: Some(parent), end: index + 1 });
        self.open.push(index);
    }

    /// Returns the child of `parent` that ends where the items end.
    fn last_child(&self, parent: usize) -> Option<usize> {
        let mut at = self.items.len() - 1;
        while at > parent {
            match self.items[at].parent {
                Some(up) if up == parent => return Some(at),
                Some(up) => at = up,
                None => return None,
            }
        }
        None
    }

    fn finish(mut self, sources: &Arc<Sources>, limits: &Limits) -> RecordDescription {
        for index in (1..self.items.len()).rev() {
            let end = self.items[index].end;
            if let Some(parent) = self.items[index].parent {
                let group = &mut self.items[parent];
                group.end = group.end.max(end);
            }
        }
        RecordDescription {
            items: self.items,
            renames: self.renames,
            sources: Arc::clone(sources),
            limits: limits.clone(),
            fragment: self.fragment,
        }
    }
}

/// Checks pictures: groups have none, and every other field has one unless its usage determines its size.
fn pictures(record: &RecordDescription, text_is_missing: bool, report: &mut Report) {
    let mut usages: Vec<Option<Usage>> = Vec::with_capacity(record.items.len());
    for (index, item) in record.items.iter().enumerate() {
        let entry = &item.entry;
        let inherited = item.parent.and_then(|p| usages[p]);
        usages.push(entry.usage.map(|(usage, _)| usage).or(inherited));
        let group = item.end > index + 1;
        match &entry.picture {
            Some((_, at)) if group => {
                let child = &record.items[index + 1].entry;
                let message = format!("{} has a picture, but {} belongs to it", entry.name, child.name);
                let hint = format!("remove the picture, or give {} the level number {:02}", child.name, entry.level);
                report.error(&record.sources, codes::GROUP_WITH_PICTURE, *at, message, hint);
            }
            None if !group && !entry.broken && !text_is_missing && usages[index].is_none_or(Usage::has_picture) => {
                no_picture(record, entry, entry.at, report);
            }
            _ => {}
        }
    }
}

fn no_picture(record: &RecordDescription, entry: &Entry, at: Span, report: &mut Report) {
    let hint = "give it a PICTURE, or fields with higher level numbers";
    let message = format!("{} has neither a picture nor fields of its own", entry.name);
    report.error(&record.sources, codes::NO_PICTURE, at, message, hint);
}
