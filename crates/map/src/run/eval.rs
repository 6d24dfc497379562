//! Expressions.

use core::cmp::Ordering;

use quayline_core::{NoFloat, NodeId, Value, read_bool, read_float64};

use super::fault::What;
use super::mapper::Mapper;
use crate::date::{iso_day, iso_moment, iso_time};
use crate::functions::decimal;
use crate::host::{Host, Outputs};
use crate::observe::Observer;
use crate::own_function::{Checked, OwnFunction, OwnType};
use crate::plan::{ColumnType, Compare, Direction, Expr, ExprId, FloatOp, KEYS_MAX, Order, Row};
use crate::value::{Bytes, Val};

impl<O: Outputs, H: Host, V: Observer> Mapper<'_, O, H, V> {
    pub(super) fn eval(&mut self, id: ExprId) -> Val {
        let plan = self.plan;
        match plan.exprs[id as usize] {
            Expr::Absent => Val::Absent,
            Expr::Const(val) => val,
            Expr::Slot { cursor, slot, .. } => {
                let base = self.cursors[usize::from(cursor)];
                self.slots.get(base.wrapping_add(slot) as usize).copied().unwrap_or(Val::Absent)
            }
            Expr::Var(var) => self.variable(usize::from(var)),
            Expr::Bound(var) => self.bound[usize::from(var)],
            Expr::Bind(var, value, body) => {
                let val = self.eval(value);
                self.bound[usize::from(var)] = val;
                self.eval(body)
            }
            Expr::Position(cursor) => {
                let base = self.cursors[usize::from(cursor)];
                match self.slots.get(base as usize) {
                    Some(Val::Link { index, .. }) => Val::int(i64::from(*index) + 1),
                    _ => Val::int(1),
                }
            }
            Expr::Present(value) => {
                let val = self.eval(value);
                Val::Bool(!is_blank(val))
            }
            Expr::PresentSlot { cursor, slot } => {
                let base = self.cursors[usize::from(cursor)];
                match self.slots.get(base.wrapping_add(slot) as usize) {
                    None | Some(Val::Absent) => Val::Absent,
                    Some(_) => Val::Bool(true),
                }
            }
            Expr::Not(value) => Val::Bool(!self.truth(value)),
            Expr::And(..) | Expr::Or(..) => Val::Bool(self.truth(id)),
            Expr::Minus(value) => match self.eval(value) {
                Val::Absent => Val::Absent,
                Val::Float32(x) => Val::Float32(-x),
                Val::Float64(x) => Val::Float64(-x),
                val => match self.number_value(val, value) {
                    Some((n, scale)) => Val::Num(-n, scale),
                    None => Val::Absent,
                },
            },
            Expr::Compare(op, order, a, b) => Val::Bool(self.compared(op, order, a, b)),
            Expr::Add(a, b) => self.arithmetic(a, b, decimal::add),
            Expr::Subtract(a, b) => self.arithmetic(a, b, decimal::subtract),
            Expr::Multiply(a, b) => self.arithmetic(a, b, decimal::multiply),
            Expr::FloatOp(op, a, b) => self.floats(op, a, b),
            Expr::Otherwise(a, b) => {
                let val = self.eval(a);
                if is_blank(val) { self.eval(b) } else { val }
            }
            Expr::Concat { first, count } => self.concat(first, count),
            Expr::Joined { first, count } => self.joined(first, count),
            Expr::If(..) => {
                // A match with many arms is a chain of conditionals. A loop evaluates it, because recursion would overflow the stack.
                let mut id = id;
                while let Expr::If(condition, then, otherwise) = plan.exprs[id as usize] {
                    id = if self.truth(condition) { then } else { otherwise };
                }
                self.eval(id)
            }
            Expr::Call { function, first, count } => {
                let val = self.call(function, first, count);
                self.bounded(val)
            }
            Expr::Table { table, direction, key, quiet } => self.translate(table, direction, key, quiet),
            Expr::InTable { table, key } => {
                let val = self.eval(key);
                let Some(bytes) = self.text_of(val) else { return Val::Bool(false) };
                let found = find(&plan.tables[usize::from(table)].forward, self.arena.get(bytes)).is_some();
                Val::Bool(found)
            }
            Expr::Lookup { lookup, field, first, count } => {
                let val = self.lookup(lookup, field, first, count);
                self.bounded(val)
            }
            Expr::Envelope(name) => match self.host.envelope(&plan.envelope_in[usize::from(name)]) {
                Some(text) => Val::Text(self.arena.keep(text.as_bytes())),
                None => Val::Absent,
            },
            Expr::Pick { pick, value } => {
                if self.choose(pick) {
                    self.eval(value)
                } else {
                    Val::Absent
                }
            }
            Expr::Fold(fold) => self.fold(fold),
            Expr::Text(value) => {
                let val = self.eval(value);
                // A numeric field may contain text that is not a number, with any characters.
                let is_text = matches!(val, Val::Text(_));
                match self.text_of(val) {
                    Some(bytes) if is_text => Val::Text(bytes),
                    Some(bytes) => Val::Ascii(bytes),
                    None => Val::Absent,
                }
            }
        }
    }

    /// Evaluates a condition. An absent value is false. A value that is not a truth value is a fault, never silently false.
    pub(super) fn truth(&mut self, id: ExprId) -> bool {
        let mut id = id;
        loop {
            match self.plan.exprs[id as usize] {
                Expr::Or(a, b) => {
                    if self.truth(a) {
                        return true;
                    }
                    id = b;
                }
                Expr::And(a, b) => {
                    if !self.truth(a) {
                        return false;
                    }
                    id = b;
                }
                _ => break,
            }
        }
        match self.eval(id) {
            Val::Bool(truth) => truth,
            Val::Absent => false,
            val => {
                let source = self.source_of(id);
                self.no_truth(val, source);
                false
            }
        }
    }

    #[cold]
    fn no_truth(&mut self, val: Val, source: Option<NodeId>) {
        let what = if let Val::Raw(_) = val { What::Raw } else { What::Kind { wanted: "a truth value" } };
        self.fault(what, None, source);
    }

    fn variable(&mut self, at: usize) -> Val {
        let val = self.vars[at];
        let again = |arena: &mut crate::value::Arena, kept: &[u8]| arena.keep(kept);
        match val {
            Val::Text(_) => Val::Text(again(&mut self.arena, &self.var_bytes[at])),
            Val::Ascii(_) => Val::Ascii(again(&mut self.arena, &self.var_bytes[at])),
            Val::Bytes(_) => Val::Bytes(again(&mut self.arena, &self.var_bytes[at])),
            Val::Raw(_) => Val::Raw(again(&mut self.arena, &self.var_bytes[at])),
            Val::Digits { negative, scale, .. } => {
                Val::Digits { bytes: again(&mut self.arena, &self.var_bytes[at]), negative, scale }
            }
            val => val,
        }
    }

    /// Converts a value to text; `None` if it is absent or has no text form.
    pub(super) fn text_of(&mut self, val: Val) -> Option<Bytes> {
        match val {
            Val::Text(bytes) | Val::Ascii(bytes) => Some(bytes),
            Val::Absent => None,
            Val::Digits { .. } | Val::Num(..) | Val::Float32(_) | Val::Float64(_) => {
                let bytes = self.arena.number_text(val);
                if bytes.is_none() {
                    self.fault(What::Overflow, None, None);
                }
                bytes
            }
            Val::Bool(x) => Some(self.arena.keep(if x { b"true" } else { b"false" })),
            Val::Raw(_) => {
                self.fault(What::Raw, None, None);
                None
            }
            _ => {
                self.fault(What::Kind { wanted: "text" }, None, None);
                None
            }
        }
    }

    /// Converts a value to an exact number. Returns `None` for an absent value, and reports a fault for other values.
    pub(super) fn number_value(&mut self, val: Val, expr: ExprId) -> Option<(i128, i16)> {
        if val.is_absent() {
            return None;
        }
        match self.exact(val) {
            Ok(number) => Some(number),
            Err(what) => {
                let source = self.source_of(expr);
                self.fault(what, None, source);
                None
            }
        }
    }

    pub(super) fn number(&mut self, id: ExprId) -> Option<(i128, i16)> {
        let val = self.eval(id);
        self.number_value(val, id)
    }

    #[inline]
    fn arithmetic(&mut self, a: ExprId, b: ExprId, op: Operation) -> Val {
        let (Some(x), Some(y)) = (self.number(a), self.number(b)) else { return Val::Absent };
        match op(x, y) {
            Some((n, scale)) if n.unsigned_abs() < MOST => Val::Num(n, scale),
            _ => {
                self.fault(What::Overflow, None, None);
                Val::Absent
            }
        }
    }

    /// Returns the nearest float to a value. An absent value is not a number.
    pub(super) fn float(&self, val: Val) -> Result<f64, What> {
        let read = |text: &[u8]| {
            read_float64(text).map_err(|no| match no {
                NoFloat::NotANumber => What::NotANumber,
                NoFloat::OutOfRange => What::Float,
            })
        };
        match val {
            Val::Float64(x) => Ok(x),
            Val::Float32(x) => Ok(x.into()),
            Val::Text(bytes) | Val::Ascii(bytes) => read(self.arena.get(bytes)),
            Val::Absent => Err(What::NotANumber),
            _ => {
                let (n, scale) = self.exact(val)?;
                // Conversion through text gives the nearest float; arithmetic would round twice.
                read(format!("{n}e{}", -i32::from(scale)).as_bytes())
            }
        }
    }

    /// Returns the nearest float to a value. Reports a value that has none.
    pub(super) fn float_value(&mut self, val: Val, expr: ExprId) -> Option<f64> {
        match self.float(val) {
            Ok(float) => Some(float),
            Err(what) => {
                let source = self.source_of(expr);
                self.fault(what, None, source);
                None
            }
        }
    }

    fn floats(&mut self, op: FloatOp, a: ExprId, b: ExprId) -> Val {
        let (x, y) = (self.eval(a), self.eval(b));
        if x.is_absent() || y.is_absent() {
            return Val::Absent;
        }
        let (Some(x), Some(y)) = (self.float_value(x, a), self.float_value(y, b)) else { return Val::Absent };
        Val::Float64(match op {
            FloatOp::Add => x + y,
            FloatOp::Subtract => x - y,
            FloatOp::Multiply => x * y,
            FloatOp::Divide => x / y,
        })
    }

    /// Compares two values. An absent value is unequal to everything and neither smaller nor greater.
    fn compared(&mut self, op: Compare, order: Order, a: ExprId, b: ExprId) -> bool {
        let x = self.eval(a);
        let y = self.eval(b);
        if x.is_absent() || y.is_absent() {
            return op == Compare::Unequal;
        }
        let ordering = self.ordering(order, x, y, a, b);
        match ordering {
            None => op == Compare::Unequal,
            Some(ordering) => match op {
                Compare::Equal => ordering == Ordering::Equal,
                Compare::Unequal => ordering != Ordering::Equal,
                Compare::Less => ordering == Ordering::Less,
                Compare::LessEqual => ordering != Ordering::Greater,
                Compare::Greater => ordering == Ordering::Greater,
                Compare::GreaterEqual => ordering != Ordering::Less,
            },
        }
    }

    pub(super) fn ordering(&mut self, order: Order, x: Val, y: Val, a: ExprId, b: ExprId) -> Option<Ordering> {
        match order {
            Order::Text | Order::Bytes => match (x, y) {
                (Val::Text(x) | Val::Ascii(x) | Val::Bytes(x), Val::Text(y) | Val::Ascii(y) | Val::Bytes(y)) => {
                    Some(self.arena.get(x).cmp(self.arena.get(y)))
                }
                _ => {
                    let x = self.text_of(x)?;
                    let y = self.text_of(y)?;
                    Some(self.arena.get(x).cmp(self.arena.get(y)))
                }
            },
            Order::Number => {
                let x = self.number_value(x, a)?;
                let y = self.number_value(y, b)?;
                Some(decimal::compare(x, y))
            }
            Order::Float => {
                let x = self.float_value(x, a)?;
                let y = self.float_value(y, b)?;
                x.partial_cmp(&y)
            }
            Order::Bool => match (x, y) {
                (Val::Bool(x), Val::Bool(y)) => Some(x.cmp(&y)),
                (Val::Bool(_), _) => {
                    let source = self.source_of(b);
                    self.no_truth(y, source);
                    None
                }
                _ => {
                    let source = self.source_of(a);
                    self.no_truth(x, source);
                    None
                }
            },
            Order::Moment => match (x, y) {
                (Val::Date(x), Val::Date(y)) => Some(x.cmp(&y)),
                (Val::Time(x), Val::Time(y)) | (Val::DateTime(x), Val::DateTime(y)) => Some(x.cmp(&y)),
                _ => None,
            },
        }
    }

    /// Returns the value, unless it is a text above the maximum length that a map may build.
    #[inline]
    pub(super) fn bounded(&mut self, val: Val) -> Val {
        match val {
            Val::Text(bytes) | Val::Ascii(bytes) if bytes.len as usize > self.text_max => {
                self.fault(What::Text { max: self.text_max }, None, None);
                Val::Absent
            }
            val => val,
        }
    }

    pub(super) fn concat(&mut self, first: u32, count: u32) -> Val {
        let plan = self.plan;
        let parts = &plan.lists[first as usize..(first + count) as usize];
        // Parts are evaluated first, since they use the arena too; then copied to its end.
        let mut found = [Bytes::default(); 8];
        let (mut len, mut ascii, mut any, mut sum) = (0, true, false, 0usize);
        let mut joined = core::mem::take(&mut self.scratch);
        joined.clear();
        for part in parts {
            let val = self.eval(*part);
            if val.is_absent() {
                continue;
            }
            let Some(bytes) = self.text_of(val) else { continue };
            ascii &= !matches!(val, Val::Text(_));
            any = true;
            sum += bytes.len as usize;
            if sum > self.text_max {
                self.fault(What::Text { max: self.text_max }, None, None);
                self.scratch = joined;
                return Val::Absent;
            }
            if len == found.len() {
                for bytes in &found {
                    joined.extend_from_slice(self.arena.get(*bytes));
                }
                len = 0;
            }
            found[len] = bytes;
            len += 1;
        }
        let val = if any {
            let mark = self.arena.mark();
            self.arena.keep(&joined);
            for bytes in &found[..len] {
                self.arena.again(*bytes);
            }
            let bytes = self.arena.since(mark);
            if ascii { Val::Ascii(bytes) } else { Val::Text(bytes) }
        } else {
            Val::Absent
        };
        self.scratch = joined;
        val
    }

    /// Evaluates `join`: the parts that are neither absent nor empty, separated by the first part.
    fn joined(&mut self, first: u32, count: u32) -> Val {
        let plan = self.plan;
        let parts = &plan.lists[first as usize..(first + count) as usize];
        let separator = self.eval(parts[0]);
        let separator = self.text_of(separator).map(|bytes| self.arena.get(bytes).to_vec()).unwrap_or_default();
        let (mut joined, mut any) = (core::mem::take(&mut self.scratch), false);
        // ASCII includes control characters, and sinks do not escape them in printable text.
        let mut ascii = separator.iter().all(|byte| (0x20..0x7f).contains(byte));
        joined.clear();
        for part in &parts[1..] {
            let val = self.eval(*part);
            if is_blank(val) {
                continue;
            }
            let Some(bytes) = self.text_of(val) else { continue };
            ascii &= !matches!(val, Val::Text(_));
            if any {
                joined.extend_from_slice(&separator);
            }
            any = true;
            if joined.len() + bytes.len as usize > self.text_max {
                self.fault(What::Text { max: self.text_max }, None, None);
                self.scratch = joined;
                return Val::Absent;
            }
            joined.extend_from_slice(self.arena.get(bytes));
        }
        let val = match any {
            false => Val::Absent,
            true if ascii => Val::Ascii(self.arena.keep(&joined)),
            true => Val::Text(self.arena.keep(&joined)),
        };
        self.scratch = joined;
        val
    }

    fn translate(&mut self, table: u16, direction: Direction, key: ExprId, quiet: bool) -> Val {
        let plan = self.plan;
        let val = self.eval(key);
        let Some(bytes) = self.text_of(val) else { return Val::Absent };
        let over = &plan.tables[usize::from(table)];
        let (rows, otherwise) = match direction {
            Direction::Forward => (&over.forward, over.otherwise.as_deref()),
            Direction::Back => (&over.back, None),
        };
        match find(rows, self.arena.get(bytes)).or(otherwise) {
            Some(value) => Val::Text(self.arena.keep(value)),
            // An empty text is a code only if the table says so.
            None if quiet || bytes.len == 0 => Val::Absent,
            None => {
                let source = self.source_of(key);
                self.fault(What::NotInTable(table), None, source);
                Val::Absent
            }
        }
    }

    fn lookup(&mut self, lookup: u16, field: u16, first: u32, count: u32) -> Val {
        let plan = self.plan;
        let over = &plan.lookups[usize::from(lookup)];
        let mut vals = [Val::Absent; KEYS_MAX];
        let parts = &plan.lists[first as usize..(first + count) as usize];
        let len = parts.len().min(vals.len());
        for (val, part) in vals.iter_mut().zip(parts) {
            *val = self.eval(*part);
            if val.is_absent() {
                // Without its key nothing is looked up.
                return Val::Absent;
            }
        }
        if let Some(function) = &over.function {
            return self.own_function(function, &vals[..len]);
        }
        for ((val, part), (_, column)) in vals[..len].iter_mut().zip(parts).zip(&over.keys) {
            *val = match column {
                // Equal numbers are one key, however many decimals they are written with.
                ColumnType::Decimal if !is_blank(*val) => match self.number_value(*val, *part) {
                    Some(number) => {
                        let (n, scale) = decimal::trimmed(number);
                        Val::Num(n, scale)
                    }
                    None => return Val::Absent,
                },
                _ => self.crossing(*val),
            };
        }
        let mut keys = [Value::Null; KEYS_MAX];
        for (key, val) in keys.iter_mut().zip(&vals[..len]) {
            *key = self.arena.value(val);
        }
        let mut result = crate::value::Arena::default();
        let mut val = Val::Absent;
        let mut at = 0;
        let answer = self.host.lookup(&over.name, &keys[..len], &mut |value| {
            if at == usize::from(field) {
                val = result.store(value);
            }
            at += 1;
        });
        match answer {
            Ok(true) => {
                let val = self.adopt(val, &result);
                self.cell(lookup, field, val)
            }
            Ok(false) => Val::Absent,
            Err(reason) => {
                self.fault(What::Lookup(reason), None, None);
                Val::Absent
            }
        }
    }

    /// Converts a cell of a table, which may be text, to the declared type.
    fn cell(&mut self, lookup: u16, field: u16, val: Val) -> Val {
        let Some((_, column)) = self.plan.lookups[usize::from(lookup)].fields.get(usize::from(field)) else {
            return val;
        };
        let (Val::Text(bytes) | Val::Ascii(bytes), false) = (val, *column == ColumnType::Text) else { return val };
        if bytes.len == 0 {
            return Val::Absent;
        }
        let text = self.arena.get(bytes);
        let read = match column {
            ColumnType::Text => Some(val),
            ColumnType::Decimal => self.exact(val).ok().map(|(n, scale)| Val::Num(n, scale)),
            ColumnType::Bool => read_bool(text).map(Val::Bool),
            ColumnType::Date => iso_day(text).map(Val::Date),
            ColumnType::Time => iso_time(text).map(Val::Time),
            ColumnType::DateTime => iso_moment(text).map(Val::DateTime),
            ColumnType::Bytes => {
                let bytes = quayline_core::from_hex(text);
                bytes.map(|bytes| Val::Bytes(self.arena.keep(&bytes)))
            }
        };
        read.unwrap_or_else(|| {
            self.fault(What::Cell { lookup, field }, None, None);
            Val::Absent
        })
    }

    /// Converts a value that leaves the map: a date becomes text.
    fn crossing(&mut self, val: Val) -> Val {
        let Val::Date(days) = val else { return val };
        let (year, month, day) = crate::date::civil_from_days(days);
        Val::Ascii(self.arena.keep(format!("{year:04}-{month:02}-{day:02}").as_bytes()))
    }

    /// Calls a function of the user's own.
    #[cold]
    #[inline(never)]
    fn own_function(&mut self, function: &OwnFunction, vals: &[Val]) -> Val {
        match self.result_of(function, vals) {
            Ok(val) => val,
            Err(reason) => {
                // A document has at most one finding for each program that fails.
                if !self.has_failed(&function.name, &reason) {
                    self.fault(What::Function(function.name.clone(), reason), None, None);
                }
                Val::Absent
            }
        }
    }

    fn result_of(&mut self, function: &OwnFunction, vals: &[Val]) -> Result<Val, String> {
        let mut texts = [Bytes::default(); KEYS_MAX];
        for ((text, val), (name, wanted)) in texts.iter_mut().zip(vals).zip(&function.parameters) {
            let what = format!("its argument `{name}`");
            let val = self.crossing(*val);
            if let OwnType::Decimal(_) = wanted {
                let (units, scale) = self.exact(val).map_err(|_| format!("{what} is not an exact number"))?;
                if let Some(reason) = wanted.refuses(&what, Checked::Number(units, scale)) {
                    return Err(reason);
                }
                let number = self.arena.number_text(Val::Num(units, scale));
                *text = number.ok_or_else(|| format!("{what} has more than 38 digits"))?;
                continue;
            }
            *text = self.text_of(val).ok_or_else(|| format!("{what} has no text"))?;
            if let Some(reason) = wanted.refuses(&what, Checked::Text(self.arena.get(*text))) {
                return Err(reason);
            }
        }
        let mut arguments: [&[u8]; KEYS_MAX] = [&[]; KEYS_MAX];
        for (argument, text) in arguments.iter_mut().zip(&texts[..vals.len()]) {
            *argument = self.arena.get(*text);
        }
        let Some(result) = self.host.call(function, &arguments[..vals.len()])? else { return Ok(Val::Absent) };
        let text = Val::Text(self.arena.keep(&result));
        let what = "its result";
        match function.gives {
            OwnType::Text(_) => match function.gives.refuses(what, Checked::Text(&result)) {
                None => Ok(self.bounded(text)),
                Some(reason) => Err(reason),
            },
            OwnType::Decimal(_) => {
                let (units, scale) = self.exact(text).map_err(|_| format!("{what} is not a number"))?;
                match function.gives.refuses(what, Checked::Number(units, scale)) {
                    None => Ok(Val::Num(units, scale)),
                    Some(reason) => Err(reason),
                }
            }
            OwnType::Date => {
                iso_day(&result).map(Val::Date).ok_or_else(|| format!("{what} is not a date, expected CCYY-MM-DD"))
            }
        }
    }

    /// Copies a value from another arena.
    fn adopt(&mut self, val: Val, from: &crate::value::Arena) -> Val {
        let mut keep = |at: Bytes| self.arena.keep(from.get(at));
        match val {
            Val::Text(at) => Val::Text(keep(at)),
            Val::Ascii(at) => Val::Ascii(keep(at)),
            Val::Bytes(at) => Val::Bytes(keep(at)),
            Val::Raw(at) => Val::Raw(keep(at)),
            Val::Digits { bytes: at, negative, scale } => Val::Digits { bytes: keep(at), negative, scale },
            val => val,
        }
    }

    /// Returns the source leaf of an expression that has exactly one, for findings.
    pub(super) fn source_of(&self, expr: ExprId) -> Option<NodeId> {
        match self.plan.exprs[expr as usize] {
            Expr::Slot { statement_node, .. } => Some(statement_node),
            Expr::Minus(inner) | Expr::Text(inner) | Expr::Pick { value: inner, .. } | Expr::Otherwise(inner, _) => {
                self.source_of(inner)
            }
            Expr::Call { first, count, .. } if count > 0 => self.source_of(self.plan.lists[first as usize]),
            Expr::Table { key, .. } => self.source_of(key),
            _ => None,
        }
    }

    /// Returns the leaf that a slot contains.
    pub(super) fn slot_node(&self, slot: u32) -> Option<NodeId> {
        // The innermost scope whose cursor is directly before the slot.
        let (base, scope) = self
            .plan
            .scopes
            .iter()
            .enumerate()
            .filter_map(|(at, scope)| {
                let base = *self.open_base.get(at)?;
                (base <= slot && slot - base < scope.width).then_some((base, scope))
            })
            .max_by_key(|(base, _)| *base)?;
        scope.slots.get((slot - base) as usize).copied()
    }

    /// Collects all leaves that contribute to an expression's current value, with the positions at which they were read.
    pub(super) fn sources_of(&self, expr: ExprId, out: &mut Vec<(NodeId, u64)>) {
        let plan = self.plan;
        // A list of open expressions replaces recursion, because a match may have many arms.
        let mut todo = vec![expr];
        while let Some(expr) = todo.pop() {
            match plan.exprs[expr as usize] {
                Expr::Slot { cursor, slot, statement_node } => {
                    let at = self.cursors[usize::from(cursor)].wrapping_add(slot) as usize;
                    if self.slots.get(at).is_some_and(|val| !val.is_absent()) {
                        out.push((statement_node, self.origins.get(at).copied().unwrap_or(0)));
                    }
                }
                Expr::Present(a)
                | Expr::Not(a)
                | Expr::Minus(a)
                | Expr::Text(a)
                | Expr::Table { key: a, .. }
                | Expr::InTable { key: a, .. }
                | Expr::Pick { value: a, .. } => todo.push(a),
                Expr::And(a, b)
                | Expr::Or(a, b)
                | Expr::Compare(_, _, a, b)
                | Expr::Add(a, b)
                | Expr::Subtract(a, b)
                | Expr::Multiply(a, b)
                | Expr::FloatOp(_, a, b)
                | Expr::Otherwise(a, b)
                | Expr::Bind(_, a, b) => todo.extend([b, a]),
                Expr::If(a, b, c) => todo.extend([c, b, a]),
                Expr::Concat { first, count }
                | Expr::Joined { first, count }
                | Expr::Call { first, count, .. }
                | Expr::Lookup { first, count, .. } => {
                    todo.extend(plan.lists[first as usize..(first + count) as usize].iter().rev());
                }
                // A fold over several occurrences has no single place.
                Expr::Fold(fold) => {
                    let fold = &plan.folds[usize::from(fold)];
                    let nodes = &plan.statements[fold.statement as usize].sources;
                    out.extend(nodes.iter().map(|node| (*node, u64::MAX)));
                }
                _ => {}
            }
        }
    }
}

/// An operation of two exact numbers.
type Operation = fn((i128, i16), (i128, i16)) -> Option<(i128, i16)>;

/// More than 38 digits.
const MOST: u128 = 10u128.pow(38);

/// Returns true for an absent value or empty text, which `??` replaces.
pub(super) fn is_blank(val: Val) -> bool {
    match val {
        Val::Absent => true,
        Val::Text(bytes) | Val::Ascii(bytes) => bytes.len == 0,
        _ => false,
    }
}

fn find<'t>(rows: &'t [Row], key: &[u8]) -> Option<&'t [u8]> {
    rows.binary_search_by(|(known, _)| known.as_ref().cmp(key)).ok().map(|at| rows[at].1.as_ref())
}
