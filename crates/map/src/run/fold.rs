//! Evaluation of choices and folds: while the list is read if possible, otherwise over kept occurrences.

use core::cmp::Ordering;

use super::fault::What;
use super::mapper::Mapper;
use crate::functions::decimal;
use crate::host::{Host, Outputs};
use crate::observe::Observer;
use crate::plan::{ExprId, FoldOp, FoldPlan, Order, PickSelect, ScopeId};
use crate::value::{NONE, Val};

/// A fold as it grows.
struct Growing {
    val: Val,
    text: Vec<u8>,
    any: bool,
    /// True if further occurrences cannot change the result.
    done: bool,
}

impl<O: Outputs, H: Host, V: Observer> Mapper<'_, O, H, V> {
    /// Updates the choices and folds of a list when an occurrence is complete.
    pub(super) fn notice(&mut self, scope: ScopeId) {
        let plan = self.plan;
        let over = &plan.scopes[usize::from(scope)];
        let base = self.open_base[usize::from(scope)];
        for number in &over.picks {
            let pick = &plan.picks[usize::from(*number)];
            let Some(slot) = pick.slot else { continue };
            let owner = over.parent.map_or(NONE, |parent| self.open_base[usize::from(parent)]);
            let at = owner.wrapping_add(slot) as usize;
            if !matches!(self.slots.get(at), Some(Val::Absent)) {
                continue;
            }
            let chosen = match pick.select {
                PickSelect::Index(wanted) => {
                    matches!(self.slots[base as usize], Val::Link { index, .. } if index == wanted)
                }
                PickSelect::Where(condition) => {
                    self.statement = pick.statement;
                    self.stand(&pick.outer);
                    self.cursors[usize::from(pick.cursor)] = base;
                    let mark = self.arena.mark();
                    let holds = self.truth(condition);
                    self.arena.release(mark);
                    holds
                }
                PickSelect::Last => false,
            };
            if chosen {
                self.slots[at] = Val::Frame(base);
                self.keep_frame();
            }
        }
        for number in &over.folds {
            let fold = &plan.folds[usize::from(*number)];
            let Some(slot) = fold.slot else { continue };
            self.stand(&fold.outer);
            for (scope, cursor) in &fold.levels {
                self.cursors[usize::from(*cursor)] = self.open_base[usize::from(*scope)];
            }
            let top = fold.levels.first().and_then(|(scope, _)| plan.scopes[usize::from(*scope)].parent);
            let owner = top.map_or(NONE, |scope| self.open_base[usize::from(scope)]);
            let at = owner.wrapping_add(slot) as usize;
            let Some(val) = self.slots.get(at).copied() else { continue };
            let mark = self.arena.mark();
            self.statement = fold.statement;
            let mut growing = Growing { val, text: Vec::new(), any: true, done: false };
            self.grow(fold, &mut growing);
            self.arena.release(mark);
            self.slots[at] = growing.val;
        }
    }

    /// Sets the cursors of the enclosing loops to the occurrences that are being read.
    fn stand(&mut self, outer: &[u16]) {
        for cursor in outer {
            let scope = self.plan.cursor_scopes[usize::from(*cursor)];
            let base = self.open_base[usize::from(scope)];
            if base != NONE {
                self.cursors[usize::from(*cursor)] = base;
            }
        }
    }

    /// Sets a pick's cursor to the chosen occurrence. Returns false if no occurrence was chosen.
    pub(super) fn choose(&mut self, number: u16) -> bool {
        let plan = self.plan;
        let pick = &plan.picks[usize::from(number)];
        let owner = self.cursors[usize::from(pick.owner)];
        if let Some(slot) = pick.slot {
            return match self.slots.get(owner.wrapping_add(slot) as usize) {
                Some(Val::Frame(base)) => {
                    self.cursors[usize::from(pick.cursor)] = *base;
                    true
                }
                _ => false,
            };
        }
        let slot = plan.scopes[usize::from(pick.scope)].list_slot;
        let Some(Val::List { first, last, count }) = self.slots.get(owner.wrapping_add(slot) as usize).copied() else {
            return false;
        };
        match pick.select {
            PickSelect::Last => {
                self.cursors[usize::from(pick.cursor)] = last;
                count > 0
            }
            PickSelect::Index(wanted) if wanted >= count => false,
            _ => {
                let (mut at, mut index) = (first, 0);
                while at != NONE {
                    self.cursors[usize::from(pick.cursor)] = at;
                    let chosen = match pick.select {
                        PickSelect::Index(wanted) => wanted == index,
                        PickSelect::Where(condition) => {
                            let mark = self.arena.mark();
                            let holds = self.truth(condition);
                            self.arena.release(mark);
                            holds
                        }
                        PickSelect::Last => false,
                    };
                    if chosen {
                        // The condition may have moved it.
                        self.cursors[usize::from(pick.cursor)] = at;
                        return true;
                    }
                    at = self.next(at);
                    index += 1;
                }
                false
            }
        }
    }

    fn next(&self, at: u32) -> u32 {
        match self.slots.get(at as usize) {
            Some(Val::Link { next, .. }) => *next,
            _ => NONE,
        }
    }

    /// Evaluates a fold.
    pub(super) fn fold(&mut self, number: u16) -> Val {
        let plan = self.plan;
        let fold = &plan.folds[usize::from(number)];
        let owner = self.cursors[usize::from(fold.owner)];
        if let Some(slot) = fold.slot {
            let val = self.slots.get(owner.wrapping_add(slot) as usize).copied().unwrap_or(Val::Absent);
            return finished(fold, val);
        }
        let mut growing = Growing { val: Val::Absent, text: Vec::new(), any: false, done: false };
        self.gather(fold, 0, owner, &mut growing);
        if fold.op == FoldOp::Join {
            return if growing.any { Val::Text(self.arena.keep(&growing.text)) } else { Val::Absent };
        }
        finished(fold, growing.val)
    }

    fn gather(&mut self, fold: &FoldPlan, level: usize, owner: u32, growing: &mut Growing) {
        let Some((scope, cursor)) = fold.levels.get(level).copied() else {
            self.grow(fold, growing);
            return;
        };
        let slot = self.plan.scopes[usize::from(scope)].list_slot;
        let Some(Val::List { first, .. }) = self.slots.get(owner.wrapping_add(slot) as usize).copied() else { return };
        let mut at = first;
        while at != NONE && !growing.done {
            self.cursors[usize::from(cursor)] = at;
            self.gather(fold, level + 1, at, growing);
            at = self.next(at);
        }
    }

    /// Takes one occurrence in.
    fn grow(&mut self, fold: &FoldPlan, growing: &mut Growing) {
        if let Some(filter) = fold.filter
            && !self.truth(filter)
        {
            return;
        }
        match (fold.op, fold.value) {
            (FoldOp::Count, _) | (_, None) => {
                let count = if let Val::Num(n, _) = growing.val { n } else { 0 };
                growing.val = Val::Num(count + 1, 0);
            }
            (FoldOp::Any, Some(value)) => {
                if self.truth(value) {
                    growing.val = Val::Bool(true);
                    growing.done = true;
                }
            }
            (FoldOp::All, Some(value)) => {
                if !self.truth(value) {
                    growing.val = Val::Bool(false);
                    growing.done = true;
                }
            }
            (FoldOp::Sum, Some(value)) => self.grow_sum(value, growing),
            (FoldOp::Min | FoldOp::Max, Some(value)) => {
                let val = self.eval(value);
                // The arena reclaims the memory of digits and texts. Numbers need none.
                let Some(val) = self.ordered(fold.order, val, value) else { return };
                let wanted = if fold.op == FoldOp::Min { Ordering::Less } else { Ordering::Greater };
                if growing.val.is_absent() || self.ordering(fold.order, val, growing.val, value, value) == Some(wanted)
                {
                    growing.val = val;
                }
            }
            (FoldOp::Join, Some(value)) => {
                let val = self.eval(value);
                if super::eval::is_blank(val) {
                    return;
                }
                if growing.any
                    && let Some(separator) = fold.separator
                {
                    let separator = self.eval(separator);
                    if let Some(bytes) = self.text_of(separator) {
                        growing.text.extend_from_slice(self.arena.get(bytes));
                    }
                }
                if let Some(bytes) = self.text_of(val) {
                    growing.text.extend_from_slice(self.arena.get(bytes));
                    growing.any = true;
                }
                if growing.text.len() > self.text_max {
                    self.fault(What::Text { max: self.text_max }, None, None);
                    growing.text = Vec::new();
                    growing.done = true;
                }
            }
        }
    }

    /// Returns a value in the form that the fold compares. Reports a text that is not a number and returns `None`.
    fn ordered(&mut self, order: Order, val: Val, value: ExprId) -> Option<Val> {
        match (order, val) {
            (_, Val::Absent) => None,
            (Order::Number, val) => self.number_value(val, value).map(|(n, scale)| Val::Num(n, scale)),
            (Order::Float, Val::Float32(_) | Val::Float64(_)) => Some(val),
            (Order::Float, val) => self.float_value(val, value).map(Val::Float64),
            _ => Some(val),
        }
    }

    fn grow_sum(&mut self, value: ExprId, growing: &mut Growing) {
        let val = self.eval(value);
        let is_float = |val: Val| matches!(val, Val::Float32(_) | Val::Float64(_));
        match (growing.val, val) {
            (_, Val::Absent) => {}
            // The smaller or greater of a float and a number can be either, so one sum may have both.
            (sum, val) if is_float(sum) || is_float(val) => {
                let Some(more) = self.float_value(val, value) else { return };
                let before = if sum.is_absent() { Some(0.0) } else { self.float_value(sum, value) };
                growing.val = before.map_or(sum, |before| Val::Float64(before + more));
            }
            (sum, _) => {
                let Some(number) = self.number_value(val, value) else { return };
                let before = if let Val::Num(n, scale) = sum { (n, scale) } else { (0, 0) };
                match decimal::add(before, number) {
                    Some((n, scale)) => growing.val = Val::Num(n, scale),
                    None => self.fault(What::Overflow, None, None),
                }
            }
        }
    }
}

/// Returns the result of a fold, with the default for a fold over nothing.
fn finished(fold: &FoldPlan, val: Val) -> Val {
    match (fold.op, val) {
        (FoldOp::Count | FoldOp::Sum, Val::Absent) => Val::int(0),
        (FoldOp::Any, Val::Absent) => Val::Bool(false),
        (FoldOp::All, Val::Absent) => Val::Bool(true),
        (_, val) => val,
    }
}
