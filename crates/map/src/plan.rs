//! A compiled map: tables over node ids.

use quayline_core::{NodeId, Occurs, Severity, Shape};

use crate::date::Format;
use crate::functions::Builtin;
use crate::own_function::OwnFunction;
use crate::syntax::text::{SourceText, Span};
use crate::value::Val;

pub(crate) type ExprId = u32;
pub(crate) type BlockId = u32;
pub(crate) type VarId = u16;
pub(crate) type CursorId = u16;
pub(crate) type ScopeId = u16;
pub(crate) type LoopId = u16;

/// Maximum number of keys of a lookup. A run keeps them in a fixed array.
pub(crate) const KEYS_MAX: usize = 16;
/// Number of mandatory children of a group that are tracked by bits; further children are only counted.
pub(crate) const BITS: u8 = 128;

/// A statement of a map, numbered as written; included and repeated parts count again.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StatementId(pub u32);

/// A map that is ready to run, made by [`crate::compile`].
#[derive(Clone, Debug)]
pub struct MapPlan {
    pub(crate) title: String,
    pub(crate) source: Shape,
    /// The source sends children in the order of its shape.
    pub(crate) ordered: bool,
    pub(crate) outputs: Vec<OutputPlan>,
    pub(crate) texts: Vec<SourceText>,
    /// Action for events of each source node.
    pub(crate) actions: Vec<Action>,
    pub(crate) scopes: Vec<ScopePlan>,
    pub(crate) cursors: usize,
    pub(crate) cursor_scopes: Vec<ScopeId>,
    pub(crate) exprs: Vec<Expr>,
    /// Operand lists of calls.
    pub(crate) lists: Vec<ExprId>,
    pub(crate) constants: Vec<u8>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) root: BlockId,
    pub(crate) loops: Vec<LoopPlan>,
    /// Maximum numbers of occurrences of loops with a limit.
    pub(crate) limits: Vec<u32>,
    pub(crate) picks: Vec<PickPlan>,
    pub(crate) folds: Vec<FoldPlan>,
    pub(crate) vars: Vec<VarPlan>,
    pub(crate) statements: Vec<StatementPlan>,
    pub(crate) targets: Vec<TargetPlan>,
    pub(crate) tables: Vec<TablePlan>,
    pub(crate) formats: Vec<Format>,
    pub(crate) lookups: Vec<LookupPlan>,
    pub(crate) envelope_in: Vec<String>,
    pub(crate) envelope_out: Vec<String>,
    pub(crate) buffers: Vec<BufferPlan>,
    /// Target sub-streams that are kept until their turn.
    pub(crate) recordings: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct OutputPlan {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// Per target node: index among the mandatory children of its parent, or `u8::MAX`.
    pub(crate) mandatory: Vec<u8>,
    /// Required mandatory children by target node: bits, and number of children beyond the last bit.
    pub(crate) required: Vec<(u128, u32)>,
    /// Per target node: fewest occurrences of a list that is present.
    pub(crate) list_min: Vec<u32>,
}

impl OutputPlan {
    /// Returns the fewest occurrences that a list has if it is present.
    pub(crate) fn fewest(&self, list: NodeId) -> u32 {
        match self.shape.node(list).occurs {
            Occurs::Many { min, .. } => min.max(self.list_min[list.index()]),
            _ => self.list_min[list.index()],
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    Ignore,
    /// A leaf: kept in the open frame.
    Slot(u32),
    /// A group whose presence is recorded in a slot.
    Presence(u32),
    /// A list whose occurrences have frames.
    List(ScopeId),
}

/// A source list (or the root) whose occurrences have frames of slots. Slot 0 links the occurrences of a list.
#[derive(Clone, Debug)]
pub(crate) struct ScopePlan {
    pub(crate) node: NodeId,
    /// The first of the siblings that come in any order with it.
    pub(crate) begins: NodeId,
    pub(crate) parent: Option<ScopeId>,
    pub(crate) leaf: bool,
    pub(crate) slots: Vec<NodeId>,
    pub(crate) width: u32,
    /// Slot of the parent's frame that holds the list.
    pub(crate) list_slot: u32,
    /// True if occurrences are kept until the parent's frame ends.
    pub(crate) retained: bool,
    /// Picks and folds that look at every occurrence.
    pub(crate) picks: Vec<u16>,
    pub(crate) folds: Vec<u16>,
    /// True if a loop over the list may run while the list is read.
    pub(crate) streamed: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Compare {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Ordering for the comparison of two values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Order {
    Text,
    Number,
    Float,
    Bool,
    /// Dates and times.
    Moment,
    Bytes,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Expr {
    Absent,
    Const(Val),
    Slot {
        cursor: CursorId,
        slot: u32,
        statement_node: NodeId,
    },
    Var(VarId),
    /// Number of the occurrence, from 1.
    Position(CursorId),
    Present(ExprId),
    /// Tests whether a group is present.
    PresentSlot {
        cursor: CursorId,
        slot: u32,
    },
    Not(ExprId),
    Minus(ExprId),
    And(ExprId, ExprId),
    Or(ExprId, ExprId),
    Compare(Compare, Order, ExprId, ExprId),
    Add(ExprId, ExprId),
    Subtract(ExprId, ExprId),
    Multiply(ExprId, ExprId),
    FloatOp(FloatOp, ExprId, ExprId),
    Otherwise(ExprId, ExprId),
    Concat {
        first: u32,
        count: u32,
    },
    /// Texts that are there and not empty, with the first one between them.
    Joined {
        first: u32,
        count: u32,
    },
    If(ExprId, ExprId, ExprId),
    /// A variable that `Bind` has set just now.
    Bound(VarId),
    /// Evaluates the second into a variable, then the third.
    Bind(VarId, ExprId, ExprId),
    Call {
        function: Builtin,
        first: u32,
        count: u32,
    },
    Table {
        table: u16,
        direction: Direction,
        key: ExprId,
        /// True if a missing code is not a finding.
        quiet: bool,
    },
    InTable {
        table: u16,
        key: ExprId,
    },
    Lookup {
        lookup: u16,
        field: u16,
        first: u32,
        count: u32,
    },
    Envelope(u16),
    Pick {
        pick: u16,
        value: ExprId,
    },
    Fold(u16),
    /// Text of a number.
    Text(ExprId),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FloatOp {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Direction {
    Forward,
    Back,
}

/// One occurrence of a list, chosen.
#[derive(Clone, Debug)]
pub(crate) struct PickPlan {
    pub(crate) owner: CursorId,
    pub(crate) cursor: CursorId,
    pub(crate) scope: ScopeId,
    pub(crate) select: PickSelect,
    /// Slot of the owner's frame for the choice, if it is made while the list is read.
    pub(crate) slot: Option<u32>,
    /// Lexical cursors that the condition reads, to be set before it is tried while reading.
    pub(crate) outer: Vec<CursorId>,
    /// The first statement with the choice, for findings of its condition.
    pub(crate) statement: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum PickSelect {
    Index(u32),
    Last,
    Where(ExprId),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FoldOp {
    Count,
    Sum,
    Min,
    Max,
    Any,
    All,
    Join,
}

/// A value made of all occurrences of a list.
#[derive(Clone, Debug)]
pub(crate) struct FoldPlan {
    pub(crate) op: FoldOp,
    pub(crate) owner: CursorId,
    /// Lists from the owner down to the innermost.
    pub(crate) levels: Vec<(ScopeId, CursorId)>,
    pub(crate) filter: Option<ExprId>,
    pub(crate) value: Option<ExprId>,
    pub(crate) separator: Option<ExprId>,
    pub(crate) order: Order,
    /// Slot of the owner's frame, if the fold is evaluated while the list is read.
    pub(crate) slot: Option<u32>,
    pub(crate) outer: Vec<CursorId>,
    pub(crate) statement: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct VarPlan {
    pub(crate) name: String,
    /// Declared bounds of digits: whole and scale.
    pub(crate) digits: Option<(u16, i16)>,
    pub(crate) chars: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) code: Vec<Op>,
    /// Per operation: the source position from which it may run.
    pub(crate) ready: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Opening {
    Document,
    Group,
    List,
    Occurrence,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Opens a document, group, list or occurrence of the target. Lazy ones appear with their first value.
    Open {
        what: Opening,
        output: u16,
        node: NodeId,
    },
    Close,
    /// Sends the open nodes, even if they have no value yet.
    Touch,
    Emit {
        target: u32,
        expr: ExprId,
    },
    /// Two frequent forms of `Emit`.
    Copy {
        target: u32,
        cursor: CursorId,
        slot: u32,
    },
    Set {
        var: VarId,
        expr: ExprId,
        statement: u32,
    },
    /// Jumps to `to` unless the variable equals this arm.
    Unless {
        var: VarId,
        arm: u16,
        to: u32,
    },
    Loop(LoopId),
    /// Omits the occurrence unless this condition holds.
    Filter {
        expr: ExprId,
        statement: u32,
    },
    Take(u16),
    /// The occurrence is left out.
    Skip,
    Drop {
        statement: u32,
    },
    Raise {
        statement: u32,
    },
    Envelope {
        name: u16,
        expr: ExprId,
        statement: u32,
    },
    /// Records the output up to `EndRecord`.
    Record {
        recording: u16,
        output: u16,
    },
    EndRecord,
    Replay {
        recording: u16,
        list: NodeId,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct LoopPlan {
    pub(crate) scope: ScopeId,
    pub(crate) owner: CursorId,
    pub(crate) cursor: CursorId,
    /// Choices that lead to the owner's occurrence.
    pub(crate) picks: Vec<u16>,
    pub(crate) body: BlockId,
    pub(crate) streamed: bool,
    /// True if its output is recorded for a later replay.
    pub(crate) recording: bool,
    /// True if its occurrences make documents, which a `drop` outside of them omits.
    pub(crate) makes_documents: bool,
    pub(crate) sort: Vec<SortPlan>,
    /// The limit whose count begins again with this loop.
    pub(crate) restarts: Option<u16>,
    /// The limit that ends it.
    pub(crate) limit: Option<u16>,
    pub(crate) statement: u32,
}

/// Sort key of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortPlan {
    pub(crate) expr: ExprId,
    pub(crate) order: Order,
    pub(crate) descending: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct StatementPlan {
    pub(crate) span: Span,
    /// Target path that the statement writes, for messages.
    pub(crate) target: Option<String>,
    /// Leaves of the source that it reads.
    pub(crate) sources: Vec<NodeId>,
    pub(crate) raise: Option<RaisePlan>,
}

#[derive(Clone, Debug)]
pub(crate) struct RaisePlan {
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) id: Option<String>,
    pub(crate) hint: Option<String>,
}

/// A target leaf with the constraints of its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetPlan {
    /// Bit of the leaf among the mandatory children of its parent.
    pub(crate) bit: u8,
    pub(crate) output: u16,
    pub(crate) node: NodeId,
    pub(crate) statement: u32,
    pub(crate) fit: Fit,
    /// For the list of a loop or of `LIST = [value, …]`: what an occurrence without a value becomes. `None` for other leaves: nothing.
    pub(crate) empty: Option<EmptyItem>,
    /// Number of the value in `LIST = [value, …]`, from 0. `None` for other leaves.
    pub(crate) element: Option<u32>,
}

/// Result of an occurrence without a value in `for … make LIST = value` and, before one with a value, in `LIST = [value, …]`. The
/// occurrences after it keep their places.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum EmptyItem {
    /// The occurrence is null or empty.
    #[default]
    Null,
    /// The occurrence has an initial value: spaces or zeros.
    Initial,
    /// The document is refused.
    Refused,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fit {
    Text {
        max: u32,
    },
    Decimal {
        digits: u16,
        scale: i16,
        signed: bool,
    },
    Float32,
    Float64,
    Bool,
    Bytes {
        max: u32,
    },
    /// A float for an exact number, which the text of the float must give back.
    ExactFloat32,
    ExactFloat64,
}

/// Key and value of a table row.
pub(crate) type Row = (Box<[u8]>, Box<[u8]>);

#[derive(Clone, Debug)]
pub(crate) struct TablePlan {
    pub(crate) name: String,
    /// Sorted by key.
    pub(crate) forward: Vec<Row>,
    /// Sorted by value; of several keys the first.
    pub(crate) back: Vec<Row>,
    pub(crate) otherwise: Option<Box<[u8]>>,
}

#[derive(Clone, Debug)]
pub(crate) struct LookupPlan {
    pub(crate) name: String,
    /// Description of the function, if this is a function and not a table.
    pub(crate) function: Option<OwnFunction>,
    /// Columns of its table that are keys, and those that the map reads.
    pub(crate) keys: Vec<(String, ColumnType)>,
    pub(crate) fields: Vec<(String, ColumnType)>,
}

/// Type of the cells of a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ColumnType {
    /// Characters.
    Text,
    /// An exact number: `-12.50`.
    Decimal,
    /// `true` or `1`, `false` or `0`.
    Bool,
    /// `2026-01-31`.
    Date,
    /// `12:30:45.5`; seconds and decimals may be missing.
    Time,
    /// `2026-01-31T12:30:45.5`.
    DateTime,
    /// Hexadecimal digits.
    Bytes,
}

impl ColumnType {
    /// Returns the type for a type name of the language.
    pub(crate) fn named(name: &str) -> ColumnType {
        match name {
            "decimal" => ColumnType::Decimal,
            "bool" => ColumnType::Bool,
            "date" => ColumnType::Date,
            "time" => ColumnType::Time,
            "datetime" => ColumnType::DateTime,
            "bytes" => ColumnType::Bytes,
            _ => ColumnType::Text,
        }
    }

    /// Describes a value of the type, for messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            ColumnType::Text => "text",
            ColumnType::Decimal => "a number such as -12.50",
            ColumnType::Bool => "true or false",
            ColumnType::Date => "a date such as 2026-01-31",
            ColumnType::Time => "a time such as 12:30:45",
            ColumnType::DateTime => "a date and time such as 2026-01-31T12:30:45",
            ColumnType::Bytes => "an even number of hexadecimal digits",
        }
    }
}

/// Declaration of a table that a map looks up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DeclaredLookup<'p> {
    /// Name of the table.
    pub name: &'p str,
    /// Names and types of its keys.
    pub keys: &'p [(String, ColumnType)],
    /// Names and types of its fields.
    pub fields: &'p [(String, ColumnType)],
}

/// A source list that is kept, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BufferPlan {
    /// Path of the source list (or of the target list, for output that is kept back).
    pub path: String,
    /// The statement that forces it.
    pub statement: StatementId,
    /// Line of that statement in the map.
    pub line: u32,
    /// Event or value that the occurrences wait for, as a phrase.
    pub reason: String,
    /// Maximum number of bytes of a kept occurrence, not counting its values.
    pub bytes_per_occurrence: usize,
    /// Maximum number of occurrences in one parent, if the source bounds it.
    pub occurrences_max: Option<u32>,
}

impl MapPlan {
    /// Returns the title of the map.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Functions that the run connects, in the order of the map.
    pub fn own_functions(&self) -> impl Iterator<Item = &OwnFunction> {
        self.lookups.iter().filter_map(|lookup| lookup.function.as_ref())
    }

    /// Returns the shape of the source.
    #[must_use]
    pub fn source(&self) -> &Shape {
        &self.source
    }

    /// Names of envelope values that the map reads, as `envelope.NAME`.
    #[must_use]
    pub fn envelope_reads(&self) -> &[String] {
        &self.envelope_in
    }

    /// Returns the tables that the map looks up, in declaration order.
    pub fn lookups(&self) -> impl Iterator<Item = DeclaredLookup<'_>> {
        let tables = self.lookups.iter().filter(|lookup| lookup.function.is_none());
        tables.map(|lookup| DeclaredLookup { name: &lookup.name, keys: &lookup.keys, fields: &lookup.fields })
    }

    /// Returns the name of an output.
    #[must_use]
    pub fn output_name(&self, output: usize) -> Option<&str> {
        self.outputs.get(output).map(|output| output.name.as_str())
    }

    /// Returns the shape of an output.
    #[must_use]
    pub fn output(&self, output: usize) -> Option<&Shape> {
        self.outputs.get(output).map(|output| &output.shape)
    }

    /// Returns the lists that are kept in memory beyond one occurrence, with the statement that causes each.
    #[must_use]
    pub fn buffers(&self) -> &[BufferPlan] {
        &self.buffers
    }

    /// Returns for each source node true if a statement reads it.
    pub(crate) fn source_leaves_read(&self) -> Vec<bool> {
        let mut read = vec![false; self.source.len()];
        for node in self.statements.iter().flat_map(|statement| &statement.sources) {
            read[node.index()] = true;
        }
        for (action, read) in self.actions.iter().zip(&mut read) {
            *read |= matches!(action, Action::Slot(_));
        }
        read
    }

    /// Returns true if a statement reads a value of the source.
    #[must_use]
    pub fn reads_source(&self) -> bool {
        self.actions.iter().any(|action| *action != Action::Ignore)
    }

    /// Names of the envelope values that statements read.
    #[must_use]
    pub fn envelope_read(&self) -> &[String] {
        &self.envelope_in
    }

    /// Leaves of the source that no statement reads.
    #[must_use]
    pub fn never_read(&self) -> Vec<String> {
        let read = self.source_leaves_read();
        let leaves = self.source.iter().filter(|(id, node)| node.scalar().is_some() && !read[id.index()]);
        leaves.map(|(id, _)| self.source.path(id)).collect()
    }

    /// Returns the file, line and text of a statement, and the target that it writes.
    #[must_use]
    pub fn statement(&self, id: StatementId) -> Option<StatementView<'_>> {
        let statement = self.statements.get(id.0 as usize)?;
        let text = self.texts.get(usize::from(statement.span.file))?;
        Some(StatementView {
            file: text.name(),
            line: text.line(statement.span.start),
            words: text.slice(statement.span),
            target: statement.target.as_deref(),
            sources: &statement.sources,
        })
    }
}

/// One statement for people.
#[derive(Clone, Copy, Debug)]
pub struct StatementView<'a> {
    /// Name of the map, or of the included map, that contains the statement.
    pub file: &'a str,
    /// Line, from 1.
    pub line: u32,
    /// Text of the statement.
    pub words: &'a str,
    /// Path of the target that it writes.
    pub target: Option<&'a str>,
    /// Leaves of the source that it reads.
    pub sources: &'a [NodeId],
}
