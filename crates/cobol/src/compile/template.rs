//! The record that encoding starts from.

use std::collections::{HashMap, HashSet};

use quayline_core::{Code, Fault, Finding, Run, Value};

use super::select::Selection;
use crate::item::{encode_item, hex_into, initial, initialise, is_nearest_float, literal};
use crate::layout::{Condition, Encoding, Field, FieldIndex, FieldKind, Literal};
use crate::plan::{HIDDEN, Item, ItemForm, ItemIndex, Plan, Union, View};
use crate::{Absent, FaultKind};

/// Writes a default. If the text is `0x` and all bytes of the field in hexadecimal, it means these bytes; as characters, it would not fit.
fn encode_default(plan: &Plan, item: &Item, default: &str, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let is_text = matches!(item.encoding, Encoding::Text { .. });
    if is_text && default.starts_with("0x") && hex_into(default.as_bytes(), bytes).is_some() {
        return Ok(());
    }
    encode_item(plan, item, Value::Text(Run::from(default.as_bytes())), bytes)
}

/// What the initial bytes of a record depend on.
struct Initials<'a> {
    plan: &'a Plan,
    selection: &'a Selection,
    items: &'a HashMap<FieldIndex, ItemIndex>,
    /// Redefinitions whose initial values are not in the template.
    unused: HashSet<FieldIndex>,
}

impl<'a> Initials<'a> {
    /// Determines the view of each storage that records without one of its views have: the one that the interface names for every
    /// record; the original, if it has a VALUE clause that counts; the first that documents show.
    fn new(
        plan: &'a Plan,
        selection: &'a Selection,
        items: &'a HashMap<FieldIndex, ItemIndex>,
        redefinitions: &HashMap<FieldIndex, Vec<FieldIndex>>,
        chosen: &HashSet<FieldIndex>,
    ) -> Self {
        let shown = |view: &FieldIndex| {
            let fields = view.0..plan.layout.field(*view).subtree_end.0;
            fields
                .map(FieldIndex)
                .any(|at| items.get(&at).is_some_and(|item| plan.items[*item as usize].node != HIDDEN))
        };
        let has_value = |storage: FieldIndex| {
            let mut fields = storage.index()..plan.layout.field(storage).subtree_end.index();
            in_value(plan, storage) || fields.any(|at| plan.layout.fields[at].value.is_some())
        };
        let mut unused = HashSet::new();
        for (storage, others) in redefinitions {
            let views = || core::iter::once(storage).chain(others);
            let by_value = || (plan.policies.absent == Absent::Value && has_value(*storage)).then_some(storage);
            let known = views().find(|view| chosen.contains(view)).or_else(by_value);
            let first = known.or_else(|| views().find(|view| shown(view))).unwrap_or(storage);
            // The original is written in any case: a view may be shorter.
            unused.extend(others.iter().filter(|view| *view != first));
        }
        Initials { plan, selection, items, unused }
    }

    /// Returns whether a field below `root` is in an unused redefinition.
    fn is_unused(&self, root: FieldIndex, index: FieldIndex) -> bool {
        let layout = &self.plan.layout;
        let mut around =
            core::iter::successors(Some(index), |at| layout.field(*at).parent).take_while(|at| *at != root);
        around.any(|at| self.unused.contains(&at))
    }

    /// Returns the bytes of `root`, in all its occurrences, with every item at its initial value: default of the interface, VALUE
    /// clause, or spaces and zeros, as the policy says.
    fn bytes(&self, root: FieldIndex, findings: &mut Vec<Finding>) -> Vec<u8> {
        let plan = self.plan;
        let layout = &plan.layout;
        let fill = if plan.policies.absent == Absent::LowValues { 0 } else { plan.text.space };
        let place = Place { plan, root };
        let mut record = vec![fill; place.len()];
        let fields = || {
            let inside = (root.0..layout.field(root).subtree_end.0).map(FieldIndex);
            inside.map(|index| (index, layout.field(index)))
        };
        // Slack bytes belong to no item; compilers leave them at binary zero.
        for (index, field) in fields() {
            let behind = if field.occurs.is_some() { field.stride - field.size } else { 0 };
            let slack_before = if index == root { 0 } else { field.slack_before };
            if slack_before + behind == 0 {
                continue;
            }
            let count = place.count(index);
            for (i, start) in place.starts(index).into_iter().enumerate() {
                // A table's own slack precedes its first occurrence only; `starts` has those of all its parents together.
                let first = field.occurs.is_none_or(|occurs| i * (occurs.max as usize) < count);
                let before = if first { slack_before } else { 0 };
                record[start - before..start].fill(0);
                record[start + field.size..][..behind].fill(0);
            }
        }
        if plan.policies.absent == Absent::Value {
            self.group_values(&place, &mut record);
        }
        for (index, field) in fields() {
            let FieldKind::Item(encoding) = &field.kind else { continue };
            let default = self.selection.default[index.index()].as_deref();
            let has_value =
                self.is_unused(root, index) || plan.policies.absent == Absent::Value && in_value(plan, index);
            if has_value && default.is_none() {
                continue;
            }
            let item = self.items.get(&index).map_or_else(
                || Item {
                    field: index,
                    node: HIDDEN,
                    offset: field.offset,
                    size: field.size,
                    encoding: encoding.clone(),
                    null: crate::NullAs::Error,
                    form: ItemForm::Plain,
                },
                |item| plan.items[*item as usize].clone(),
            );
            let mut bytes = vec![fill; field.size];
            match plan.policies.absent {
                Absent::LowValues => {}
                Absent::Value => initial(plan, &item, field.value.as_ref(), &mut bytes),
                Absent::Initialize | Absent::Error => initial(plan, &item, None, &mut bytes),
            }
            if let Some(default) = default {
                let finding = |text| Finding::error(Code("PLN-005"), Fault::Config, text);
                let value = Value::Text(Run::from(default.as_bytes()));
                if let Err(fault) = encode_default(plan, &item, default, &mut bytes) {
                    let text = format!("default of `{}` does not fit it: {fault}", field.name);
                    findings.push(finding(text).hint(format!("the field is {}", field.description)));
                } else if is_nearest_float(plan, &item, value, &bytes) {
                    let text = format!("default of `{}` has more digits than the float keeps", field.name);
                    findings.push(finding(text).hint("write the number with fewer digits"));
                }
            }
            place.put(index, &bytes, &mut record);
        }
        record
    }

    /// Writes the VALUE clauses of groups, which are text over all items of the group.
    fn group_values(&self, place: &Place<'_>, record: &mut [u8]) {
        let plan = self.plan;
        let end = plan.layout.field(place.root).subtree_end;
        for index in (place.root.0..end.0).map(FieldIndex) {
            let field = plan.layout.field(index);
            let Some(value) = field.value.as_ref().filter(|_| !field.is_item()) else { continue };
            if self.is_unused(place.root, index) || in_value(plan, index) {
                continue;
            }
            let item = Item {
                field: index,
                node: HIDDEN,
                offset: field.offset,
                size: field.size,
                encoding: Encoding::Text { justified: false, alphabetic: false },
                null: crate::NullAs::Error,
                form: ItemForm::Plain,
            };
            let mut bytes = vec![0; field.size];
            initial(plan, &item, Some(value), &mut bytes);
            place.put(index, &bytes, record);
        }
    }
}

/// Gives the plan its template, and each view the bytes that its absent members get, if the template has others there.
pub(super) fn fill_in(
    plan: &mut Plan,
    selection: &Selection,
    items: &HashMap<FieldIndex, ItemIndex>,
    redefinitions: &HashMap<FieldIndex, Vec<FieldIndex>>,
    chosen: &HashSet<FieldIndex>,
    findings: &mut Vec<Finding>,
) {
    let initials = Initials::new(plan, selection, items, redefinitions, chosen);
    let template = initials.bytes(FieldIndex::RECORD, findings);
    let of = |view: &View| {
        // The template's findings are those of each view.
        let bytes = initials.bytes(view.field, &mut Vec::new());
        let start = initials.plan.layout.field(view.field).offset;
        (template[start..start + bytes.len()] != bytes).then(|| bytes.into_boxed_slice())
    };
    // A RENAMES item has one view and is never written.
    let of_union =
        |union: &Union| if union.views.len() > 1 { union.views.iter().map(of).collect() } else { vec![None] };
    let views: Vec<Vec<Option<Box<[u8]>>>> = initials.plan.unions.iter().map(of_union).collect();
    plan.template = template;
    for (view, initial) in plan.unions.iter_mut().flat_map(|union| &mut union.views).zip(views.into_iter().flatten()) {
        view.initial = initial;
    }
    ascii_twin(plan);
}

/// Splits the template into text and the rest, if all of its text is printable ASCII and no bytes are text in one view only.
fn ascii_twin(plan: &mut Plan) {
    let fits = |i: usize, plan: &Plan| plan.text.to_ascii[usize::from(plan.template[i])] != 0xff;
    let mut is_text = vec![0u8; plan.template.len()];
    let mut whole = plan.text.bulk.is_some() && plan.layout.fields.iter().all(|field| field.redefines.is_none());
    for (index, field) in plan.layout.iter() {
        if !matches!(field.kind, FieldKind::Item(Encoding::Text { justified: false, .. })) {
            continue;
        }
        for start in (Place { plan, root: FieldIndex::RECORD }).starts(index) {
            let range = start..start + field.size;
            whole &= range.clone().all(|i| fits(i, plan));
            is_text[range].fill(0xff);
        }
    }
    if !whole {
        plan.text.bulk = None;
        return;
    }
    plan.ascii = plan.template.iter().map(|b| plan.text.to_ascii[usize::from(*b)] & 0x7f).collect();
    plan.is_text = is_text;
}

/// Returns the value of a condition that has exactly one.
pub(super) fn single(condition: &Condition) -> Option<&Literal> {
    match &condition.values[..] {
        [(value, None)] => Some(value),
        _ => None,
    }
}

/// Returns the names of values, for the items that show them. If two names have the same value, the first is written and both are accepted.
pub(super) fn names(plan: &Plan) -> HashMap<ItemIndex, Vec<(String, Vec<u8>)>> {
    let mut names = HashMap::new();
    for (index, item) in plan.items.iter().enumerate().filter(|(_, item)| item.form == ItemForm::Named) {
        // A value that is shorter than the item is compared with spaces after it. A value that does not fit names none.
        let bytes = |value: &Literal| {
            let mut bytes = vec![0; item.size];
            initialise(plan, item, &mut bytes);
            literal(plan, item, value, &mut bytes).then_some(bytes)
        };
        let conditions = plan.layout.field(item.field).conditions.iter();
        let of_item = conditions.filter_map(|condition| Some((condition.name.clone(), bytes(single(condition)?)?)));
        let index = ItemIndex::try_from(index).expect("a layout has fewer than 2^32 fields");
        names.insert(index, of_item.collect());
    }
    names
}

/// Returns true if a group around a field has a VALUE clause.
fn in_value(plan: &Plan, index: FieldIndex) -> bool {
    let mut at = plan.layout.field(index).parent;
    while let Some(field) = at {
        let field = plan.layout.field(field);
        if field.value.is_some() {
            return true;
        }
        at = field.parent;
    }
    false
}

/// Where the fields of `root` are in its bytes.
struct Place<'a> {
    plan: &'a Plan,
    root: FieldIndex,
}

impl Place<'_> {
    fn len(&self) -> usize {
        let field = self.plan.layout.field(self.root);
        match field.occurs {
            _ if self.root == FieldIndex::RECORD => self.plan.layout.length_max,
            Some(occurs) => occurs.max as usize * field.stride,
            None => field.size,
        }
    }

    /// Writes `bytes` to every occurrence of the item.
    fn put(&self, index: FieldIndex, bytes: &[u8], record: &mut [u8]) {
        for start in self.starts(index) {
            record[start..start + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Returns a field and the groups around it, up to the root.
    fn around(&self, index: FieldIndex) -> impl Iterator<Item = &Field> {
        let root = self.root;
        let around =
            core::iter::successors(
                Some(index),
                move |at| {
                    if *at == root { None } else { self.plan.layout.field(*at).parent }
                },
            );
        around.map(|at| self.plan.layout.field(at))
    }

    /// Returns how often an item occurs, tables at their maximum.
    fn count(&self, index: FieldIndex) -> usize {
        self.around(index).map(|field| field.occurs.map_or(1, |occurs| occurs.max as usize)).product()
    }

    /// Returns the start of each occurrence of an item, tables at their maximum; those of the outer tables together for each of the inner.
    fn starts(&self, index: FieldIndex) -> Vec<usize> {
        let mut starts = vec![self.plan.layout.field(index).offset - self.plan.layout.field(self.root).offset];
        for field in self.around(index) {
            let Some(occurs) = field.occurs else { continue };
            starts = starts.iter().flat_map(|s| (0..occurs.max as usize).map(move |i| s + i * field.stride)).collect();
        }
        starts
    }
}
