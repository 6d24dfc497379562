//! The choices of an interface: selectors and the views that their values choose.

use quayline_core::{Code, Fault, Finding};

use super::select::{case_twice, choice_twice, resolve_one};
use super::{Compiler, is_decimal};
use crate::layout::{FieldIndex, FieldKind};
use crate::plan::plain_number;

/// The view that a selector chooses of a storage.
pub(super) struct ChoiceSpec {
    pub(super) slot: u32,
    pub(super) cases: Vec<(String, FieldIndex)>,
    pub(super) is_number: bool,
    pub(super) otherwise: Option<FieldIndex>,
}

impl Compiler<'_> {
    /// Assigns slots to ODO counters and selectors before anything is compiled.
    pub(super) fn find_captures(&mut self) {
        for (_, field) in self.layout.iter() {
            if let Some(counter) = field.occurs.and_then(|occurs| occurs.depending_on) {
                self.slot(counter);
            }
        }
        let interface = self.interface;
        for view in &interface.views {
            self.chosen_views.extend(resolve_one(self.layout, view, "view of every record", &mut self.findings));
        }
        for choice in &interface.choices {
            let what = "choice of a view";
            let storage = resolve_one(self.layout, &choice.storage, what, &mut self.findings);
            let by = resolve_one(self.layout, &choice.by, what, &mut self.findings);
            let mut case_of = |name: &str| resolve_one(self.layout, name, what, &mut self.findings);
            let cases: Vec<(String, Option<FieldIndex>)> = choice
                .cases
                .iter()
                .flat_map(|(values, view)| {
                    let view = case_of(view);
                    values.iter().map(move |value| (value.trim().to_owned(), view))
                })
                .collect();
            let otherwise = choice.otherwise.as_deref().map(&mut case_of);
            let (Some(storage), Some(by)) = (storage, by) else { continue };
            let storage = self.layout.field(storage).redefines.unwrap_or(storage);
            if !self.is_selector(by, storage) {
                self.findings.push(
                    Finding::error(
                        Code("PLN-003"),
                        Fault::Config,
                        format!("`{}` cannot choose a view of `{}`", choice.by, choice.storage),
                    )
                    .hint("the selector must be an elementary item without OCCURS before the storage, and in no table that the storage is not in"),
                );
                continue;
            }
            let views: Vec<FieldIndex> = self.views(storage);
            if let [_] = views[..] {
                self.findings.push(only_view(&choice.storage));
                continue;
            }
            for view in cases.iter().filter_map(|(_, view)| *view).chain(otherwise.flatten()) {
                if !views.contains(&view) {
                    let names: Vec<String> = views.iter().map(|v| self.layout.field(*v).name.clone()).collect();
                    self.findings.push(
                        Finding::error(
                            Code("PLN-004"),
                            Fault::Config,
                            format!("`{}` is not a view of `{}`", self.layout.field(view).name, choice.storage),
                        )
                        .hint(format!("its views are {}", names.join(", "))),
                    );
                }
            }
            let is_number = matches!(&self.layout.field(by).kind, FieldKind::Item(encoding) if is_decimal(encoding));
            let cases = cases.into_iter().filter_map(|(value, view)| {
                Some((if is_number { self.numeric_case(by, value) } else { value }, view?))
            });
            let cases: Vec<(String, FieldIndex)> = cases.collect();
            let slot = self.slot(by);
            self.findings.extend(case_twice(&choice.by, &cases));
            let spec = ChoiceSpec { slot, cases, is_number, otherwise: otherwise.flatten() };
            if self.choices.insert(storage, spec).is_some() {
                self.findings.push(choice_twice(&self.layout.field(storage).name));
            }
        }
    }

    /// Formats a case like the selector's value: `01` is `1` for a number.
    fn numeric_case(&mut self, by: FieldIndex, case: String) -> String {
        let field = self.layout.field(by);
        match plain_number(&case) {
            Some(number) => number,
            None => {
                self.findings.push(
                    Finding::error(
                        Code("PLN-007"),
                        Fault::Config,
                        format!("a case of the choice by `{}` is not a number: `{case}`", field.name),
                    )
                    .hint(format!("the field is {}: write the cases as numbers", field.description)),
                );
                case
            }
        }
    }

    /// Returns whether the values of a field can choose a view of `storage` in each record.
    fn is_selector(&self, by: FieldIndex, storage: FieldIndex) -> bool {
        let field = self.layout.field(by);
        field.is_item() && field.occurs.is_none() && by < storage && self.encloses(by, storage)
    }

    /// Returns whether every table around `outer` is also around `inner`.
    fn encloses(&self, outer: FieldIndex, inner: FieldIndex) -> bool {
        let inner = self.tables_around(inner);
        self.tables_around(outer).iter().all(|table| inner.contains(table))
    }
}

/// Reports a choice for storage that has one view.
fn only_view(storage: &str) -> Finding {
    let message = format!("nothing redefines `{storage}`, so it has only one view");
    let hint = "name a field that REDEFINES clauses of the copybook name, or remove the [[choose]]";
    Finding::error(Code("PLN-003"), Fault::Config, message).hint(hint)
}
