//! Views of the same bytes: the views that a document has, and the check that selectors choose them.

use core::cmp::Reverse;
use std::collections::HashSet;

use quayline_core::{NodeId, Value};

use super::{End, IsNull, State};
use crate::item::{Scratch, as_text, encode_item, loaded, read};
use crate::layout::Encoding;
use crate::plan::{ItemIndex, Plan, TargetKind, Union};
use crate::{FaultKind, OtherView, RecordFaults};

/// Returns the unions outside of other unions whose view a selector chooses, each with a node in one of its views.
fn chosen(plan: &Plan) -> impl Iterator<Item = (u32, &Union, NodeId)> {
    let mut nodes = vec![None; plan.unions.len()];
    for (node, _) in plan.shape.iter() {
        if let Some((union, _)) = plan.targets[node.index()].view {
            nodes[union as usize].get_or_insert(node);
        }
    }
    let unions = (0u32..).zip(&plan.unions).zip(nodes);
    let chosen = unions.filter(|((_, of), _)| of.choice.is_some() && of.inside.is_none());
    chosen.filter_map(|((union, of), node)| Some((union, of, node?)))
}

/// Returns those outside of tables.
pub(super) fn choices(plan: &Plan) -> Vec<(u32, NodeId)> {
    chosen(plan).filter(|(_, of, _)| of.depth == 0).map(|(union, _, node)| (union, node)).collect()
}

/// Returns those inside of tables, each with the node of the table.
pub(super) fn element_choices(plan: &Plan) -> Vec<(NodeId, u32, NodeId)> {
    let inside = chosen(plan).filter_map(|(union, of, node)| {
        let around = core::iter::successors(Some(node), |at| plan.shape.node(*at).parent);
        let mut lists: Vec<NodeId> = around.filter(|at| plan.targets[at.index()].list.is_some()).collect();
        lists.reverse();
        let list = lists.get((of.depth as usize).checked_sub(1)?)?;
        Some((*list, union, node))
    });
    inside.collect()
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
        for at in 0..self.element_choices.len() {
            let (of, union, node) = self.element_choices[at];
            if of != list {
                continue;
            }
            let around = self.around.len();
            let given = self.views_of(plan, node).into_iter().find(|given| given.union == union);
            self.around.truncate(around);
            self.elements.extend(given);
        }
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
        let choice = plan.unions[given.union as usize].choice.as_ref()?;
        let item = &plan.items[plan.captures[choice.slot as usize] as usize];
        let at = item.offset + given.selector_base;
        let bytes = loaded(plan, self.image.get(at..at + item.size)?);
        read(plan, item, &bytes, 0, &mut Scratch::default()).ok().and_then(as_text)
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
                let has_value = views.iter().any(|given| given.node == node && given.base == of.base);
                if is_half
                    && !has_value
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
        if !self.fills {
            return;
        }
        // Unions around others have lower numbers.
        let mut views: Vec<(u32, usize, Reverse<u32>)> = Vec::new();
        for given in &self.views {
            let view = (given.union, given.base, Reverse(given.view));
            // There is an entry for each value of a view.
            if views.last() != Some(&view) {
                views.push(view);
            }
        }
        views.sort_unstable();
        views.dedup();
        let given = views.len();
        let outside = self.choices.iter();
        let outside = outside.map(|(union, node)| Given {
            union: *union,
            view: 0,
            base: 0,
            selector_base: 0,
            node: *node,
            around: (0, 0),
        });
        for of in outside.chain(self.elements.iter().copied()) {
            let key = (of.union, of.base);
            let is_given = views[..given].binary_search_by_key(&key, |(union, base, _)| (*union, *base)).is_ok();
            if !is_given && let Some(view) = self.chosen_view(plan, &of) {
                views.push((of.union, of.base, Reverse(view)));
            }
        }
        views.sort_unstable();
        for (at, (union, base, Reverse(view))) in views.iter().enumerate() {
            let of = &plan.unions[*union as usize].views[*view as usize];
            let field = plan.layout.field(of.field);
            let start = field.offset + base;
            let is_first = at.checked_sub(1).is_none_or(|before| (views[before].0, views[before].1) != (*union, *base));
            let template =
                field.offset..field.offset + field.occurs.map_or(field.size, |o| o.max as usize * field.stride);
            let initial = match &of.initial {
                Some(initial) => initial,
                // The image has these bytes already, unless a later view of the document has put its own there.
                None if is_first => continue,
                None => &plan.template[template],
            };
            let end = start + initial.len();
            let bytes = self.image[start..end].iter_mut().zip(initial).zip(&self.written[start..end]);
            for ((byte, initial), written) in bytes {
                if !written {
                    *byte = *initial;
                }
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
            let union = &plan.unions[given.union as usize];
            let Some(choice) = &union.choice else { continue };
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
            let name = |view: u32| plan.layout.field(union.views[view as usize].field).name.clone();
            let item = &plan.items[plan.captures[choice.slot as usize] as usize];
            // A value that the interface lists is no payload.
            let text = self.selector_text(plan, given);
            let value = text.filter(|text| choice.cases.iter().any(|(case, _)| case == text));
            let kind = FaultKind::OtherView(Box::new(OtherView {
                given: name(given.view),
                selector: plan.layout.field(item.field).name.clone(),
                value,
                chosen: chosen.map(name),
            }));
            self.count_fault(plan, kind, given.node, given.around);
        }
        self.views = views;
    }
}
