//! Serialization of plans for reuse in later runs. Shapes are not included: the caller must know the shapes that a plan was compiled against.

use std::sync::Arc;

use quayline_core::{Shape, Stored, StoredReader, store_bytes, stored};

use crate::date::{Format, Piece};
use crate::functions::Builtin;
use crate::plan::*;
use crate::syntax::text::{SourceText, Span};
use crate::value::{Bytes, Val};

impl MapPlan {
    /// Appends the plan without its shapes.
    pub fn store(&self, to: &mut Vec<u8>) {
        let MapPlan {
            title,
            source: _,
            ordered,
            outputs,
            texts,
            actions,
            scopes,
            cursors,
            cursor_scopes,
            exprs,
            lists,
            constants,
            blocks,
            root,
            loops,
            limits,
            picks,
            folds,
            vars,
            statements,
            targets,
            tables,
            formats,
            lookups,
            envelope_in,
            envelope_out,
            buffers,
            recordings,
        } = self;
        title.store(to);
        ordered.store(to);
        outputs.len().store(to);
        for OutputPlan { name, shape: _, mandatory, required, list_min } in outputs {
            name.store(to);
            mandatory.store(to);
            required.store(to);
            list_min.store(to);
        }
        texts.store(to);
        actions.store(to);
        scopes.store(to);
        cursors.store(to);
        cursor_scopes.store(to);
        exprs.store(to);
        lists.store(to);
        store_bytes(constants, to);
        blocks.store(to);
        root.store(to);
        loops.store(to);
        limits.store(to);
        picks.store(to);
        folds.store(to);
        vars.store(to);
        statements.store(to);
        targets.store(to);
        tables.store(to);
        formats.store(to);
        lookups.store(to);
        envelope_in.store(to);
        envelope_out.store(to);
        buffers.store(to);
        recordings.store(to);
    }

    /// Reads a plan that was compiled against these shapes; `None` if the bytes are not such a plan.
    pub fn load(from: &mut StoredReader<'_>, source: &Shape, shapes: &[&Shape]) -> Option<MapPlan> {
        let title = Stored::load(from)?;
        let ordered = Stored::load(from)?;
        if usize::load(from)? != shapes.len() {
            return None;
        }
        let mut outputs = Vec::new();
        for shape in shapes {
            let (name, mandatory, required): (String, Vec<u8>, Vec<_>) = Stored::load(from)?;
            let list_min: Vec<u32> = Stored::load(from)?;
            let whole = [mandatory.len(), required.len(), list_min.len()] == [shape.len(); 3];
            outputs.extend(whole.then(|| OutputPlan { name, shape: (*shape).clone(), mandatory, required, list_min }));
        }
        let plan = MapPlan {
            title,
            source: source.clone(),
            ordered,
            outputs,
            texts: Stored::load(from)?,
            actions: Stored::load(from)?,
            scopes: Stored::load(from)?,
            cursors: Stored::load(from)?,
            cursor_scopes: Stored::load(from)?,
            exprs: Stored::load(from)?,
            lists: Stored::load(from)?,
            constants: from.bytes()?.to_vec(),
            blocks: Stored::load(from)?,
            root: Stored::load(from)?,
            loops: Stored::load(from)?,
            limits: Stored::load(from)?,
            picks: Stored::load(from)?,
            folds: Stored::load(from)?,
            vars: Stored::load(from)?,
            statements: Stored::load(from)?,
            targets: Stored::load(from)?,
            tables: Stored::load(from)?,
            formats: Stored::load(from)?,
            lookups: Stored::load(from)?,
            envelope_in: Stored::load(from)?,
            envelope_out: Stored::load(from)?,
            buffers: Stored::load(from)?,
            recordings: Stored::load(from)?,
        };
        (plan.actions.len() == source.len() && plan.outputs.len() == shapes.len()).then_some(plan)
    }
}

impl Stored for SourceText {
    fn store(&self, to: &mut Vec<u8>) {
        store_bytes(self.name().as_bytes(), to);
        store_bytes(self.text().as_bytes(), to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let (name, text): (Arc<str>, Arc<str>) = Stored::load(from)?;
        Some(SourceText::new(&name, &text))
    }
}

stored!(struct Span { file, start, end });
stored!(struct StatementId(number));
stored!(enum Action { 0 Ignore, 1 Slot(slot), 2 Presence(slot), 3 List(scope) });
stored!(struct ScopePlan {
    node, begins, parent, leaf, slots, width, list_slot, retained, picks, folds, streamed,
});
stored!(enum Compare { 0 Equal, 1 Unequal, 2 Less, 3 LessEqual, 4 Greater, 5 GreaterEqual });
stored!(enum Order { 0 Text, 1 Number, 2 Float, 3 Bool, 4 Moment, 5 Bytes });
stored!(enum Expr {
    0 Absent, 1 Const(value), 2 Slot { cursor, slot, statement_node }, 3 Var(var), 4 Position(cursor), 5 Present(of),
    6 PresentSlot { cursor, slot }, 7 Not(of), 8 Minus(of), 9 And(a, b), 10 Or(a, b), 11 Compare(how, order, a, b), 12 Add(a, b),
    13 Subtract(a, b), 14 Multiply(a, b), 15 FloatOp(how, a, b), 16 Otherwise(a, b), 17 Concat { first, count },
    18 Joined { first, count }, 19 If(condition, yes, no), 20 Bound(var), 21 Bind(var, value, then),
    22 Call { function, first, count }, 23 Table { table, direction, key, quiet }, 24 InTable { table, key },
    25 Lookup { lookup, field, first, count }, 26 Envelope(name), 27 Pick { pick, value }, 28 Fold(fold), 29 Text(of),
});
stored!(enum FloatOp { 0 Add, 1 Subtract, 2 Multiply, 3 Divide });
stored!(enum Direction { 0 Forward, 1 Back });
stored!(struct PickPlan { owner, cursor, scope, select, slot, outer, statement });
stored!(enum PickSelect { 0 Index(number), 1 Last, 2 Where(condition) });
stored!(enum FoldOp { 0 Count, 1 Sum, 2 Min, 3 Max, 4 Any, 5 All, 6 Join });
stored!(struct FoldPlan { op, owner, levels, filter, value, separator, order, slot, outer, statement });
stored!(struct VarPlan { name, digits, chars });
stored!(struct Block { code, ready });
stored!(enum Opening { 0 Document, 1 Group, 2 List, 3 Occurrence });
stored!(enum Op {
    0 Open { what, output, node }, 1 Close, 2 Touch, 3 Emit { target, expr }, 4 Copy { target, cursor, slot },
    5 Set { var, expr, statement }, 6 Unless { var, arm, to }, 7 Loop(inner), 8 Filter { expr, statement }, 9 Skip, 10 Drop { statement },
    11 Raise { statement }, 12 Envelope { name, expr, statement }, 13 Record { recording, output }, 14 EndRecord,
    15 Replay { recording, list }, 16 Take(limit),
});
stored!(struct LoopPlan { scope, owner, cursor, picks, body, streamed, recording, makes_documents, sort, restarts, limit, statement });
stored!(struct SortPlan { expr, order, descending });
stored!(struct StatementPlan { span, target, sources, raise });
stored!(struct RaisePlan { severity, message, id, hint });
stored!(struct TargetPlan { bit, output, node, statement, fit, empty, element });
stored!(enum EmptyItem { 0 Null, 1 Initial, 2 Refused });
stored!(enum Fit {
    0 Text { max }, 1 Decimal { digits, scale, signed }, 2 Float32, 3 Float64, 4 Bool, 5 Bytes { max }, 6 ExactFloat32,
    7 ExactFloat64,
});
stored!(struct TablePlan { name, forward, back, otherwise });
stored!(struct LookupPlan { name, function, keys, fields });
stored!(enum ColumnType { 0 Text, 1 Decimal, 2 Bool, 3 Date, 4 Time, 5 DateTime, 6 Bytes });
stored!(struct BufferPlan { path, statement, line, reason, bytes_per_occurrence, occurrences_max });
stored!(struct Bytes { start, len });
stored!(enum Val {
    0 Absent, 1 Text(bytes), 2 Ascii(bytes), 3 Digits { bytes, negative, scale }, 4 Num(units, scale), 5 Float32(number),
    6 Float64(number), 7 Bool(truth), 8 Date(days), 9 Time(micros), 10 DateTime(micros), 11 Bytes(bytes), 12 Raw(bytes), 13 Frame(slot),
    14 List { first, last, count }, 15 Link { next, index },
});
stored!(struct Format { pieces, century, is_ascii });
stored!(enum Piece { 0 Year, 1 ShortYear, 2 Month, 3 Day, 4 YearDay, 5 Hour, 6 Minute, 7 Second, 8 Fraction(of), 9 Literal(of) });
stored!(enum Builtin {
    0 Upper, 1 Lower, 2 Trim, 3 TrimStart, 4 TrimEnd, 5 Squeeze, 6 Left, 7 Right, 8 Substring, 9 Length, 10 Replace, 11 PadLeft, 12
    PadRight, 13 Repeat, 14 Contains, 15 StartsWith, 16 EndsWith, 17 Position, 18 Split, 19 OnlyDigits, 20 OnlyLetters, 21 Like, 22 Hex, 23
    Round, 24 Divide, 25 Abs, 26 Sign, 27 Least, 28 Greatest, 29 Remainder, 30 Scale, 31 Fit, 32 Number, 33 FormatNumber, 34 IsNumber, 35
    ToFloat, 36 ReadDate, 37 ReadTime, 38 ReadDateTime, 39 IsDate, 40 FormatDate, 41 AddDays, 42 AddMonths, 43 AddSeconds, 44 DaysBetween,
    45 SecondsBetween, 46 Year, 47 Month, 48 Day, 49 Weekday, 50 MonthEnd, 51 DateOf, 52 TimeOf, 53 AtTime, 54 Today, 55 Now, 56 Hash, 57
    Sha256, 58 NewId, 59 IdOf,
});
