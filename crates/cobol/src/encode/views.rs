//! Views of the same bytes: the views that a document has, and the check that selectors choose them.

use core::cmp::Reverse;
use std::collections::HashSet;

use quayline_core::{NodeId, Value};

use super::{End, IsNull, State};
use crate::extent::places;
use crate::item::{Scratch, as_text, encode_item, loaded, read};
use crate::layout::Encoding;
use crate::plan::{ItemIndex, Plan, TargetKind};
use crate::{Absent, FaultKind, OtherView, RecordDecoder, RecordFault, RecordFaults, RecordPlan};

/// A union whose view a selector chooses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selected {
    union: u32,
    /// A node in one of its views.
    node: NodeId,
    /// The innermost table around it.
    list: Option<NodeId>,
}

impl Selected {
    pub(super) fn is_in_table(&self) -> bool {
        self.list.is_some()
    }

    /// Returns whether values of the selector choose no view.
    pub(super) fn is_open(&self, plan: &Plan) -> bool {
        plan.unions[self.union as usize].choice.as_ref().is_some_and(|choice| choice.view(None).is_none())
    }
}

/// Returns the unions whose view a selector chooses. Those around others come first.
pub(super) fn selected(plan: &Plan) -> Vec<Selected> {
    let mut nodes = vec![None; plan.unions.len()];
    for (node, _) in plan.shape.iter() {
        if let Some((union, _)) = plan.targets[node.index()].view {
            nodes[union as usize].get_or_insert(node);
        }
    }
    let unions = (0u32..).zip(&plan.unions).zip(nodes).filter(|((_, of), _)| of.choice.is_some());
    let selected = unions.filter_map(|((union, of), node)| {
        let node = node?;
        let around = core::iter::successors(Some(node), |at| plan.shape.node(*at).parent);
        let mut lists: Vec<NodeId> = around.filter(|at| plan.targets[at.index()].list.is_some()).collect();
        lists.reverse();
        Some(Selected { union, node, list: (of.depth as usize).checked_sub(1).and_then(|at| lists.get(at)).copied() })
    });
    selected.collect()
}

/// Returns those outside of tables and other unions, each with a node in one of its views.
pub(super) fn choices(plan: &Plan) -> Vec<(u32, NodeId)> {
    let is_outside = |of: &Selected| of.list.is_none() && plan.unions[of.union as usize].inside.is_none();
    selected(plan).into_iter().filter(is_outside).map(|of| (of.union, of.node)).collect()
}

/// A view that a member of the document belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    union: u32,
    view: u32,
    /// Place of the storage's tables, relative to its static offset.
    base: usize,
    /// Base of the selector's tables.
    selector_base: usize,
    node: NodeId,
    /// First and last entry in `around`, for the path.
    around: (usize, usize),
}

/// Number of a union, base of its place, and number of a view: unions around others first, and the last view of a union first.
pub(super) type FilledView = (u32, usize, Reverse<u32>);

/// A null in a view, until it is known whether the document has another view of the same bytes.
#[derive(Clone, Debug)]
pub(super) struct NullView {
    item: ItemIndex,
    /// Offset in the image.
    at: usize,
    node: NodeId,
    /// The views around it, innermost first.
    views: Vec<Given>,
}

impl State {
    /// Returns the views that a node belongs to, innermost first.
    #[cold]
    fn views_of(&mut self, plan: &Plan, node: NodeId) -> Vec<Given> {
        let mut views = Vec::new();
        let start = self.around.len();
        self.around.extend(self.lists.iter().map(|list| (list.node, list.index)));
        let around = (start, self.around.len());
        let mut next = plan.targets[node.index()].view;
        while let Some((union, view)) = next {
            let of = &plan.unions[union as usize];
            let base = |depth: u32| {
                let list = (depth as usize).checked_sub(1).and_then(|at| self.lists.get(at));
                list.map_or(0, |list| list.outer + list.index as usize * list.stride)
            };
            let selector_base = of.choice.as_ref().map_or(0, |choice| base(choice.depth));
            views.push(Given { union, view, base: base(of.depth), selector_base, node, around });
            next = of.inside;
        }
        views
    }

    /// Notes the chosen views of an element that ends.
    #[cold]
    pub(super) fn note_element(&mut self, plan: &Plan, list: NodeId) {
        for at in 0..self.selected.len() {
            let of = self.selected[at];
            if of.list == Some(list) {
                let views = self.selected_of(plan, of);
                self.elements.extend(views);
            }
        }
    }

    /// Returns the place of a union, and those of the views around it, innermost first.
    fn selected_of(&mut self, plan: &Plan, of: Selected) -> Option<Vec<Given>> {
        let around = self.around.len();
        let mut views = self.views_of(plan, of.node);
        self.around.truncate(around);
        let first = views.iter().position(|given| given.union == of.union)?;
        Some(views.split_off(first))
    }

    /// Notes that the document has a value in the views of a node.
    #[cold]
    pub(super) fn note_views(&mut self, plan: &Plan, node: NodeId) {
        let views = self.views_of(plan, node);
        self.views.extend(views);
    }

    /// Notes a null in the views of a node.
    #[cold]
    pub(super) fn note_null_view(&mut self, plan: &Plan, item: ItemIndex, at: usize, node: NodeId) {
        let views = self.views_of(plan, node);
        self.null_views.push(NullView { item, at, node, views });
        self.null_nodes.push(node);
    }

    /// Returns the view that the selector of a union chooses in the image; `None` without a selector, or if no case has its value.
    fn chosen_view(&self, plan: &Plan, given: &Given) -> Option<u32> {
        let choice = plan.unions[given.union as usize].choice.as_ref()?;
        choice.view(self.selector_text(plan, given).as_deref()).and_then(|view| u32::try_from(view).ok())
    }

    fn selector_text(&self, plan: &Plan, given: &Given) -> Option<String> {
        selector_text(plan, given.union, &self.image, given.selector_base)
    }

    /// Settles null views. A null of a view that the record does not have says nothing: columns have a cell for each view. Otherwise it
    /// is a null like any other.
    pub(super) fn settle_null_views(&mut self, plan: &Plan) {
        if self.null_views.is_empty() {
            return;
        }
        let written: HashSet<(u32, u32, usize)> = self.views.iter().map(|at| (at.union, at.view, at.base)).collect();
        for NullView { item: index, at, node, views } in core::mem::take(&mut self.null_views) {
            let is_other = |given: &Given| {
                let has = |view: u32| written.contains(&(given.union, view, given.base));
                match self.chosen_view(plan, given) {
                    Some(chosen) => chosen != given.view,
                    None => {
                        let count = u32::try_from(plan.unions[given.union as usize].views.len()).unwrap_or(u32::MAX);
                        !has(given.view) && (0..count).any(has)
                    }
                }
            };
            if views.iter().any(is_other) {
                continue;
            }
            let item = &plan.items[index as usize];
            let range = at..at + item.size;
            if self.written[range.clone()].contains(&true) {
                continue;
            }
            match encode_item(plan, item, Value::Null, &mut self.image[range.clone()]) {
                Ok(()) => {
                    self.written[range].fill(true);
                    self.track(index, at, IsNull::Yes);
                }
                Err(_) if self.lenient => {}
                Err(kind) => self.refuse(plan, kind, node, index, at, Value::Null),
            }
        }
    }

    /// Checks that no absent member of a view has bytes of which another view has written some: they would be a value that nobody gave.
    pub(super) fn check_halves(&mut self, plan: &Plan) {
        if self.views.len() < 2 || self.lenient {
            return;
        }
        let views = core::mem::take(&mut self.views);
        let mut seen: HashSet<(u32, u32, usize)> = HashSet::new();
        let given: HashSet<(NodeId, usize)> = views.iter().map(|given| (given.node, given.base)).collect();
        'views: for of in &views {
            // There is an entry for each value of a view, and each view is looked at once.
            if !seen.insert((of.union, of.view, of.base)) {
                continue;
            }
            let field = plan.layout.field(plan.unions[of.union as usize].views[of.view as usize].field);
            let start = field.offset + of.base;
            let is_whole = self.written.get(start..start + field.size).is_none_or(|bytes| !bytes.contains(&false));
            if is_whole {
                continue;
            }
            for (node, target) in plan.targets.iter().enumerate() {
                let TargetKind::Item(item) = target.kind else { continue };
                let item = &plan.items[item as usize];
                let node = NodeId(u32::try_from(node).unwrap_or(u32::MAX));
                // Half a text is one that the other view gave. The places of elements of a table in the view are other ones.
                if matches!(item.encoding, Encoding::Text { .. })
                    || target.view != Some((of.union, of.view))
                    || Self::is_in_list(plan, node, of.union)
                {
                    continue;
                }
                let range = item.offset + of.base..item.offset + of.base + item.size;
                let bytes = &self.written[range.clone()];
                let is_half = bytes.contains(&true) && bytes.contains(&false);
                if is_half
                    && !given.contains(&(node, of.base))
                    && !self.null_nodes.contains(&node)
                    && self.image[range.clone()] != plan.template[range]
                {
                    self.count_fault(plan, FaultKind::ViewConflict, node, of.around);
                    break 'views;
                }
            }
        }
        self.views = views;
    }

    /// Gives the absent members of each view that the record has their initial values; the template has those of one view. If the
    /// document has several views, the first in the copybook determines the bytes that none of them has written.
    pub(super) fn fill_views(&mut self, plan: &Plan) {
        let is_strict = plan.policies.absent == Absent::Error;
        if !self.fills && !is_strict {
            return;
        }
        let mut given = core::mem::take(&mut self.given_views);
        given.clear();
        for of in &self.views {
            let view = (of.union, of.base, Reverse(of.view));
            // There is an entry for each value of a view.
            if given.last() != Some(&view) {
                given.push(view);
            }
        }
        given.sort_unstable();
        given.dedup();
        if is_strict {
            self.check_absent(plan, &given);
        }
        // Unions around others have lower numbers. Their views may contain the selectors of the others.
        let mut done = 0;
        if !self.selected.is_empty() {
            let mut chosen: Vec<FilledView> = Vec::new();
            for around in self.selected_views(plan) {
                let own = (around[0].union, around[0].base);
                done = self.fill_up_to(plan, &given, done, own);
                let has = |views: &[FilledView], of: (u32, usize)| {
                    views.binary_search_by_key(&of, |(union, base, _)| (*union, *base)).is_ok()
                };
                if has(&given, own) {
                    continue;
                }
                let is_there = around[1..].iter().all(|outer| {
                    let view = (outer.union, outer.base, Reverse(outer.view));
                    let is_known = has(&given, (outer.union, outer.base)) || has(&chosen, (outer.union, outer.base));
                    let is_first = || plan.unions[outer.union as usize].views[outer.view as usize].initial.is_none();
                    given.binary_search(&view).is_ok() || chosen.binary_search(&view).is_ok() || !is_known && is_first()
                });
                if let Some(view) = self.chosen_view(plan, &around[0]).filter(|_| is_there) {
                    if is_strict {
                        self.refuse_absent(plan, own.0, view);
                    }
                    self.fill(plan, (own.0, own.1, Reverse(view)), true);
                    chosen.push((own.0, own.1, Reverse(view)));
                }
            }
        }
        self.fill_up_to(plan, &given, done, (u32::MAX, usize::MAX));
        self.given_views = given;
    }

    /// Fills the views of the document from number `from` on, up to a place. Returns the number of the first one after it.
    fn fill_up_to(&mut self, plan: &Plan, given: &[FilledView], from: usize, to: (u32, usize)) -> usize {
        let mut at = from;
        while let Some(view) = given.get(at).filter(|(union, base, _)| (*union, *base) <= to) {
            let is_first =
                at.checked_sub(1).is_none_or(|before| (given[before].0, given[before].1) != (view.0, view.1));
            self.fill(plan, *view, is_first);
            at += 1;
        }
        at
    }

    /// Returns the unions whose view a selector chooses, at each of their places in the document, with the views around them, innermost first.
    fn selected_views(&mut self, plan: &Plan) -> Vec<Vec<Given>> {
        let mut all = core::mem::take(&mut self.elements);
        for at in 0..self.selected.len() {
            let of = self.selected[at];
            if !of.is_in_table() {
                all.extend(self.selected_of(plan, of));
            }
        }
        all.sort_unstable_by_key(|around| (around[0].union, around[0].base));
        all
    }

    /// Refuses storage outside of tables of which the document has no view and no selector chooses one.
    #[cold]
    fn check_absent(&mut self, plan: &Plan, given: &[FilledView]) {
        for (union, of) in (0u32..).zip(&plan.unions) {
            let is_outside = of.depth == 0 && of.inside.is_none() && of.views.len() > 1 && of.choice.is_none();
            if is_outside && given.binary_search_by_key(&union, |view| view.0).is_err() {
                self.refuse_absent(plan, union, 0);
            }
        }
    }

    /// Refuses that the document lacks a view.
    #[cold]
    fn refuse_absent(&mut self, plan: &Plan, union: u32, view: u32) {
        let node = plan.targets.iter().position(|target| target.view == Some((union, view)));
        if let Some(node) = node.and_then(|node| u32::try_from(node).ok()) {
            self.count_fault(plan, FaultKind::Missing, NodeId(node), (0, 0));
        }
    }

    /// Gives the bytes of a view that no view has written their initial values. `is_first` is false if another view of the same bytes was filled.
    fn fill(&mut self, plan: &Plan, (union, base, Reverse(view)): FilledView, is_first: bool) {
        let union = &plan.unions[union as usize];
        let view = &union.views[view as usize];
        let field = plan.layout.field(view.field);
        let template = field.offset..field.offset + field.occurs.map_or(field.size, |o| o.max as usize * field.stride);
        let initial = match &view.initial {
            Some(initial) => initial,
            // The image has these bytes of the template, unless another view has replaced them.
            None if is_first && union.inside.is_none() => return,
            None => &plan.template[template],
        };
        let start = field.offset + base;
        let end = start + initial.len();
        let bytes = self.image[start..end].iter_mut().zip(initial).zip(&self.written[start..end]);
        for ((byte, initial), written) in bytes {
            if !written {
                *byte = *initial;
            }
        }
    }

    /// Returns whether a node is in a table that its union is not in.
    fn is_in_list(plan: &Plan, node: NodeId, union: u32) -> bool {
        let around = core::iter::successors(Some(node), |at| plan.shape.node(*at).parent);
        let lists = around.filter(|at| plan.targets[at.index()].list.is_some()).count();
        lists != plan.unions[union as usize].depth as usize
    }

    /// Checks that each selector outside of tables chooses a view where the document has none: nobody could read the record of a file.
    fn check_choices(&mut self, plan: &Plan) {
        self.has_view.clear();
        self.has_view.resize(plan.unions.len(), false);
        for given in &self.views {
            self.has_view[given.union as usize] = true;
        }
        for at in 0..self.choices.len() {
            let (union, node) = self.choices[at];
            let none = Given { union, view: 0, base: 0, selector_base: 0, node, around: (0, 0) };
            if !self.has_view[union as usize] && self.chosen_view(plan, &none).is_none() {
                self.count_fault(plan, FaultKind::NoView, node, none.around);
            }
        }
    }

    /// Checks that the document has the views that the selectors choose. A record with another view would be decoded differently.
    pub(super) fn check_views(&mut self, plan: &Plan) {
        if self.lenient {
            return;
        }
        if self.end == End::View && !self.choices.is_empty() {
            self.check_choices(plan);
        }
        if self.views.is_empty() {
            return;
        }
        let views = core::mem::take(&mut self.views);
        let mut told: HashSet<(u32, usize)> = HashSet::new();
        let mut written: Option<HashSet<(u32, u32, usize)>> = None;
        for given in &views {
            let Some(choice) = &plan.unions[given.union as usize].choice else { continue };
            if self.is_part && choice.depth == 0 {
                continue;
            }
            let chosen = self.chosen_view(plan, given);
            if chosen == Some(given.view) || told.contains(&(given.union, given.base)) {
                continue;
            }
            // With the chosen view in the document too, both agree on their bytes: that is checked where they are written.
            let written = written.get_or_insert_with(|| views.iter().map(|at| (at.union, at.view, at.base)).collect());
            if chosen.is_some_and(|view| written.contains(&(given.union, view, given.base))) {
                continue;
            }
            told.insert((given.union, given.base));
            if self.faults.len() >= RecordFaults::MAX {
                break;
            }
            let kind = other_view(plan, (given.union, given.view), chosen, self.selector_text(plan, given));
            self.count_fault(plan, kind, given.node, given.around);
        }
        self.views = views;
    }
}

/// Returns the text of a union's selector in a record.
fn selector_text(plan: &Plan, union: u32, record: &[u8], base: usize) -> Option<String> {
    let choice = plan.unions[union as usize].choice.as_ref()?;
    let item = &plan.items[plan.captures[choice.slot as usize] as usize];
    let at = item.offset.wrapping_add(base);
    let bytes = loaded(plan, record.get(at..at.checked_add(item.size)?)?);
    read(plan, item, &bytes, 0, &mut Scratch::default()).ok().and_then(as_text)
}

/// Returns the fault of a document with a view that the selector does not choose.
fn other_view(plan: &Plan, (union, given): (u32, u32), chosen: Option<u32>, text: Option<String>) -> FaultKind {
    let union = &plan.unions[union as usize];
    let name = |view: u32| plan.layout.field(union.views[view as usize].field).name.clone();
    let selector = union.choice.as_ref().map(|choice| {
        let item = &plan.items[plan.captures[choice.slot as usize] as usize];
        plan.layout.field(item.field).name.clone()
    });
    // A value that the interface lists is no payload.
    let is_listed = |text: &String| union.choice.iter().flat_map(|choice| &choice.cases).any(|(case, _)| case == text);
    FaultKind::OtherView(Box::new(OtherView {
        given: name(given),
        selector: selector.unwrap_or_default(),
        value: text.filter(is_listed),
        chosen: chosen.map(name),
    }))
}

impl RecordPlan {
    /// Checks that the selectors of a record choose the views that these nodes are in. It skips selectors in tables, and the whole record if a counter
    /// is bad: decoding reports the counter.
    ///
    /// # Errors
    /// A fault for each storage of which another view is chosen, at the first of its nodes.
    pub fn check_views(&self, record: &[u8], nodes: &[NodeId]) -> Result<(), RecordFaults> {
        let plan = &*self.0;
        let mut given: Vec<(u32, u32, NodeId)> = Vec::new();
        for node in nodes {
            let mut next = plan.targets[node.index()].view;
            while let Some((union, view)) = next {
                if !given.iter().any(|known| (known.0, known.1) == (union, view)) {
                    given.push((union, view, *node));
                }
                next = plan.unions[union as usize].inside;
            }
        }
        let slides = !plan.slides.is_empty() && !given.is_empty();
        let places = if slides { places(plan, record) } else { None };
        if slides && places.is_none() {
            return Ok(());
        }
        let mut faults: Vec<RecordFault> = Vec::new();
        let mut told = HashSet::new();
        for (union, view, node) in &given {
            let Some(choice) = plan.unions[*union as usize].choice.as_ref().filter(|choice| choice.depth == 0) else {
                continue;
            };
            let offset = plan.items[plan.captures[choice.slot as usize] as usize].offset;
            let base = places.as_ref().map_or(0, |places| places[choice.slot as usize].wrapping_sub(offset));
            let text = selector_text(plan, *union, record, base);
            let chosen = choice.view(text.as_deref()).and_then(|view| u32::try_from(view).ok());
            // The values of two views agree on their bytes.
            let has_chosen = given.iter().any(|known| known.0 == *union && Some(known.1) == chosen);
            if !has_chosen && told.insert(*union) && faults.len() < RecordFaults::MAX {
                let kind = other_view(plan, (*union, *view), chosen, text);
                let field = self.field_of(*node);
                let offset = field.map_or(0, |field| plan.layout.field(field).offset);
                faults.push(RecordFault { kind, field, offset, path: format!("$.{}", plan.shape.path(*node)) });
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(RecordFaults(faults)) }
    }
}

/// Adds the faults of elements of tables for which no view is chosen: nobody could read the record of a file.
#[cold]
pub(super) fn check_elements(reader: &mut RecordDecoder, record: &[u8], faults: &mut Vec<RecordFault>) {
    let Err(found) = reader.check(record) else { return };
    let unread = found.0.into_iter().filter(|fault| matches!(fault.kind, FaultKind::NoView));
    faults.extend(unread.map(|fault| RecordFault { path: format!("$.{}", fault.path), ..fault }));
}
