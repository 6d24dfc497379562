//! Records that end with the view that is chosen for their last storage, as segments of varying length do.

use std::collections::{BTreeMap, HashSet};

use crate::layout::{FieldIndex, Layout};
use crate::plan::{Plan, Tail, TailView};

/// Returns the tails of a plan, outer ones first.
pub(super) fn tails(plan: &Plan, always: &HashSet<FieldIndex>) -> Vec<Tail> {
    let layout = &plan.layout;
    // Storage whose view is chosen, in the order of the copybook: an outer one precedes the inner ones.
    let mut chosen: BTreeMap<FieldIndex, Option<u32>> = BTreeMap::new();
    for (union, found) in (0u32..).zip(&plan.unions) {
        if let (Some(first), true) = (found.views.first(), found.choice.is_some()) {
            chosen.insert(first.field, Some(union));
        }
    }
    for view in always {
        chosen.insert(layout.field(*view).redefines.unwrap_or(*view), None);
    }
    let mut tails: Vec<Tail> = Vec::new();
    let mut views_of: Vec<Vec<FieldIndex>> = Vec::new();
    for (storage, union) in chosen {
        let Some(inside) = container(layout, storage, &views_of) else { continue };
        let views = views(layout, storage);
        let view = match union {
            Some(union) => TailView::Chosen(union),
            None => match views.iter().position(|view| always.contains(view)) {
                Some(view) => TailView::Always(view),
                None => continue,
            },
        };
        let extents: Vec<usize> = views.iter().map(|view| extent(layout, *view)).collect();
        let longest = extents.iter().copied().max().unwrap_or(0);
        tails.push(Tail { inside, lacks: extents.iter().map(|extent| longest - extent).collect(), view });
        views_of.push(views);
    }
    tails
}

/// Returns the container that ends with a storage: the record (`Some(None)`), or a view of an outer tail. `None` if something follows it,
/// or if it is in a table.
fn container(layout: &Layout, storage: FieldIndex, tails: &[Vec<FieldIndex>]) -> Option<Option<(usize, usize)>> {
    let mut at = storage;
    loop {
        let field = layout.field(at);
        if field.occurs.is_some() {
            return None;
        }
        if at != storage {
            let known = tails
                .iter()
                .enumerate()
                .find_map(|(tail, views)| views.iter().position(|view| *view == at).map(|view| (tail, view)));
            if known.is_some() {
                return Some(known);
            }
            if views(layout, field.redefines.unwrap_or(at)).len() > 1 {
                return None;
            }
        }
        let Some(parent) = field.parent else { return Some(None) };
        let original = field.redefines.unwrap_or(at);
        let follows = |child: &FieldIndex| *child > at && layout.field(*child).redefines != Some(original);
        if layout.children(parent).any(|child| follows(&child)) {
            return None;
        }
        at = parent;
    }
}

/// Returns the original and its redefinitions.
fn views(layout: &Layout, storage: FieldIndex) -> Vec<FieldIndex> {
    let Some(parent) = layout.field(storage).parent else { return vec![storage] };
    layout
        .children(parent)
        .filter(|child| *child == storage || layout.field(*child).redefines == Some(storage))
        .collect()
}

/// Bytes of a view with all its occurrences.
fn extent(layout: &Layout, view: FieldIndex) -> usize {
    let field = layout.field(view);
    field.occurs.map_or(field.size, |occurs| occurs.max as usize * field.stride)
}
