//! Serialization of plans for reuse in later runs. Shapes are not included: the caller must know the shapes that a plan was compiled against.

use std::sync::Arc;

use quayline_core::{Packed, Shape, Unpacker, pack_bytes, packed};

use crate::functions::Builtin;
use crate::plan::*;
use crate::run::date::{Format, Piece};
use crate::run::value::{Bytes, Val};
use crate::syntax::text::{SourceText, Span};

impl MapPlan {
    /// Appends the plan without its shapes.
    pub fn pack(&self, to: &mut Vec<u8>) {
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
        title.pack(to);
        ordered.pack(to);
        outputs.len().pack(to);
        for OutputPlan { name, shape: _, mandatory, required } in outputs {
            name.pack(to);
            mandatory.pack(to);
            required.pack(to);
        }
        texts.pack(to);
        actions.pack(to);
        scopes.pack(to);
        cursors.pack(to);
        cursor_scopes.pack(to);
        exprs.pack(to);
        lists.pack(to);
        pack_bytes(constants, to);
        blocks.pack(to);
        root.pack(to);
        loops.pack(to);
        limits.pack(to);
        picks.pack(to);
        folds.pack(to);
        vars.pack(to);
        statements.pack(to);
        targets.pack(to);
        tables.pack(to);
        formats.pack(to);
        lookups.pack(to);
        envelope_in.pack(to);
        envelope_out.pack(to);
        buffers.pack(to);
        recordings.pack(to);
    }

    /// Reads a plan that was compiled against these shapes; `None` if the bytes are not such a plan.
    pub fn unpack(from: &mut Unpacker<'_>, source: &Shape, shapes: &[&Shape]) -> Option<MapPlan> {
        let title = Packed::unpack(from)?;
        let ordered = Packed::unpack(from)?;
        if usize::unpack(from)? != shapes.len() {
            return None;
        }
        let mut outputs = Vec::new();
        for shape in shapes {
            let (name, mandatory, required): (String, Vec<u8>, Vec<_>) = Packed::unpack(from)?;
            let whole = mandatory.len() == shape.len() && required.len() == shape.len();
            outputs.extend(whole.then(|| OutputPlan { name, shape: (*shape).clone(), mandatory, required }));
        }
        let plan = MapPlan {
            title,
            source: source.clone(),
            ordered,
            outputs,
            texts: Packed::unpack(from)?,
            actions: Packed::unpack(from)?,
            scopes: Packed::unpack(from)?,
            cursors: Packed::unpack(from)?,
            cursor_scopes: Packed::unpack(from)?,
            exprs: Packed::unpack(from)?,
            lists: Packed::unpack(from)?,
            constants: from.bytes()?.to_vec(),
            blocks: Packed::unpack(from)?,
            root: Packed::unpack(from)?,
            loops: Packed::unpack(from)?,
            limits: Packed::unpack(from)?,
            picks: Packed::unpack(from)?,
            folds: Packed::unpack(from)?,
            vars: Packed::unpack(from)?,
            statements: Packed::unpack(from)?,
            targets: Packed::unpack(from)?,
            tables: Packed::unpack(from)?,
            formats: Packed::unpack(from)?,
            lookups: Packed::unpack(from)?,
            envelope_in: Packed::unpack(from)?,
            envelope_out: Packed::unpack(from)?,
            buffers: Packed::unpack(from)?,
            recordings: Packed::unpack(from)?,
        };
        (plan.actions.len() == source.len() && plan.outputs.len() == shapes.len()).then_some(plan)
    }
}

impl Packed for SourceText {
    fn pack(&self, to: &mut Vec<u8>) {
        pack_bytes(self.name().as_bytes(), to);
        pack_bytes(self.text().as_bytes(), to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let (name, text): (Arc<str>, Arc<str>) = Packed::unpack(from)?;
        Some(SourceText::new(&name, &text))
    }
}

packed!(struct Span { file, start, end });
packed!(struct StatementId(number));
packed!(enum Action { 0 Ignore, 1 Slot(slot), 2 Presence(slot), 3 List(scope) });
packed!(struct ScopePlan {
    node, begins, parent, leaf, slots, width, list_slot, retained, picks, folds, streamed,
});
packed!(enum Compare { 0 Equal, 1 Unequal, 2 Less, 3 LessEqual, 4 Greater, 5 GreaterEqual });
packed!(enum Order { 0 Text, 1 Number, 2 Float, 3 Bool, 4 Moment, 5 Bytes });
packed!(enum Expr {
    0 Absent, 1 Const(value), 2 Slot { cursor, slot, statement_node }, 3 Var(var), 4 Position(cursor), 5 Present(of),
    6 PresentSlot { cursor, slot }, 7 Not(of), 8 Minus(of), 9 And(a, b), 10 Or(a, b), 11 Compare(how, order, a, b), 12 Add(a, b),
    13 Subtract(a, b), 14 Multiply(a, b), 15 FloatOp(how, a, b), 16 Otherwise(a, b), 17 Concat { first, count },
    18 Joined { first, count }, 19 If(condition, yes, no), 20 Bound(var), 21 Bind(var, value, then),
    22 Call { function, first, count }, 23 Table { table, direction, key, quiet }, 24 InTable { table, key },
    25 Lookup { lookup, field, first, count }, 26 Envelope(name), 27 Pick { pick, value }, 28 Fold(fold), 29 Text(of),
});
packed!(enum FloatOp { 0 Add, 1 Subtract, 2 Multiply, 3 Divide });
packed!(enum Direction { 0 Forward, 1 Back });
packed!(struct PickPlan { owner, cursor, scope, select, slot, outer });
packed!(enum PickSelect { 0 Index(number), 1 Last, 2 Where(condition) });
packed!(enum FoldOp { 0 Count, 1 Sum, 2 Min, 3 Max, 4 Any, 5 All, 6 Join });
packed!(struct FoldPlan { op, owner, levels, filter, value, separator, order, slot, outer, statement });
packed!(struct VarPlan { name, digits, chars });
packed!(struct Block { code, ready });
packed!(enum Opening { 0 Document, 1 Group, 2 List, 3 Occurrence });
packed!(enum Op {
    0 Open { what, output, node }, 1 Close, 2 Touch, 3 Emit { target, expr }, 4 Copy { target, cursor, slot },
    5 Set { var, expr, statement }, 6 Unless { var, arm, to }, 7 Loop(inner), 8 Filter(condition), 9 Skip, 10 Drop { statement },
    11 Raise { statement }, 12 Envelope { name, expr, statement }, 13 Record { recording, output }, 14 EndRecord,
    15 Replay { recording, list }, 16 Take(limit),
});
packed!(struct LoopPlan { scope, owner, cursor, picks, body, streamed, recording, sort, restarts, limit, statement });
packed!(struct SortPlan { expr, order, descending });
packed!(struct StatementPlan { span, target, sources, raise });
packed!(struct RaisePlan { severity, message, id, hint });
packed!(struct TargetPlan { bit, output, node, statement, fit });
packed!(enum Fit {
    0 Text { max }, 1 Decimal { digits, scale, signed }, 2 Float32, 3 Float64, 4 Bool, 5 Bytes { max },
});
packed!(struct TablePlan { name, forward, back, otherwise });
packed!(struct LookupPlan { name, function, keys, fields });
packed!(enum ColumnType { 0 Text, 1 Decimal, 2 Bool, 3 Date, 4 Time, 5 DateTime, 6 Bytes });
packed!(struct BufferPlan { path, statement, line, reason, bytes_per_occurrence, occurrences_max });
packed!(struct Bytes { start, len });
packed!(enum Val {
    0 Absent, 1 Text(bytes), 2 Ascii(bytes), 3 Digits { bytes, negative, scale }, 4 Num(units, scale), 5 Float32(number),
    6 Float64(number), 7 Bool(truth), 8 Date(days), 9 Time(micros), 10 DateTime(micros), 11 Bytes(bytes), 12 Raw(bytes), 13 Frame(slot),
    14 List { first, last, count }, 15 Link { next, index },
});
packed!(struct Format { pieces, century, is_ascii });
packed!(enum Piece { 0 Year, 1 ShortYear, 2 Month, 3 Day, 4 YearDay, 5 Hour, 6 Minute, 7 Second, 8 Fraction(of), 9 Literal(of) });
packed!(enum Builtin {
    0 Upper, 1 Lower, 2 Trim, 3 TrimStart, 4 TrimEnd, 5 Squeeze, 6 Left, 7 Right, 8 Substring, 9 Length, 10 Replace, 11 PadLeft, 12
    PadRight, 13 Repeat, 14 Contains, 15 StartsWith, 16 EndsWith, 17 Position, 18 Split, 19 OnlyDigits, 20 OnlyLetters, 21 Like, 22 Hex, 23
    Round, 24 Divide, 25 Abs, 26 Sign, 27 Least, 28 Greatest, 29 Remainder, 30 Scale, 31 Fit, 32 Number, 33 FormatNumber, 34 IsNumber, 35
    ToFloat, 36 ReadDate, 37 ReadTime, 38 ReadDateTime, 39 IsDate, 40 FormatDate, 41 AddDays, 42 AddMonths, 43 AddSeconds, 44 DaysBetween,
    45 SecondsBetween, 46 Year, 47 Month, 48 Day, 49 Weekday, 50 MonthEnd, 51 DateOf, 52 TimeOf, 53 AtTime, 54 Today, 55 Now, 56 Hash, 57
    Sha256, 58 NewId, 59 IdOf,
});
