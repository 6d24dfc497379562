//! A map as its author wrote it.

use quayline_core::{Decimal, Severity};

use super::text::Span;

/// A name with its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Name {
    /// The name without quotes.
    pub(crate) text: String,
    /// Position in the text.
    pub(crate) span: Span,
}

/// A text with its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Quote {
    /// The text without quotes and escapes.
    pub(crate) text: String,
    /// Position in the text.
    pub(crate) span: Span,
}

/// A definition at the top level.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Title(Quote),
    /// `source "850.guide"`, `source order "850.guide"`.
    Source {
        name: Option<Name>,
        reference: Option<Quote>,
    },
    /// `target order "order.json"`.
    Target {
        name: Option<Name>,
        reference: Option<Quote>,
    },
    Include(Quote),
    Function(Function),
    Part(Part),
    Table(Table),
    Lookup(Lookup),
}

/// `fn name(a, b) = expression`.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<Name>,
    pub(crate) body: Expr,
}

/// `part name { … }`: statements inserted at `use name`.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: Name,
    pub(crate) body: Vec<Stmt>,
}

/// `table name { "a" => "b", "A" => "b" one-way, else "c" }`, `codes name { "a", "b" }`, `table name from "units.csv"`.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: Name,
    /// A code list has keys only.
    pub(crate) codes: bool,
    pub(crate) rows: Vec<(Quote, Option<Quote>)>,
    /// Rows that are not for the way back, by number.
    pub(crate) one_way: Vec<usize>,
    pub(crate) otherwise: Option<Quote>,
    pub(crate) from: Option<Quote>,
}

/// `lookup name(key: text) -> (field: text(30), …)`, and, with one field, `fn name(a: text) -> text(30)`.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    /// Set if this is a function that the run connects.
    pub(crate) function: Option<Reuse>,
    pub(crate) name: Name,
    pub(crate) keys: Vec<(Name, TypeName)>,
    pub(crate) fields: Vec<(Name, TypeName)>,
}

/// Reuse of earlier results: `cached` after the type of a function.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reuse {
    Never,
    Cached,
}

/// `text(30)`, `decimal(11, 2)`, `date`.
#[derive(Clone, Debug)]
pub(crate) struct TypeName {
    pub(crate) name: Name,
    pub(crate) arguments: Vec<u32>,
    pub(crate) span: Span,
}

/// A path on the target's side.
#[derive(Clone, Debug)]
pub(crate) struct TargetPath {
    pub(crate) names: Vec<Name>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    /// Text shown in findings: a complete assignment, or the head of another statement.
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SetOp {
    Set,
    Add,
    Subtract,
    Append,
}

#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Assign {
        target: TargetPath,
        value: Expr,
    },
    /// `tags = [a, b]`.
    AssignList {
        target: TargetPath,
        values: Vec<Expr>,
    },
    /// `envelope.receiver = …`.
    Envelope {
        name: Name,
        value: Expr,
    },
    Let {
        name: Name,
        value: Expr,
    },
    Var {
        name: Name,
        declared: Option<TypeName>,
        value: Expr,
    },
    Set {
        name: Name,
        op: SetOp,
        value: Expr,
    },
    For(Box<For>),
    Make {
        target: TargetPath,
        body: Vec<Stmt>,
    },
    If {
        arms: Vec<(Expr, Vec<Stmt>)>,
        otherwise: Option<Vec<Stmt>>,
    },
    Match {
        subject: Expr,
        arms: Vec<(Vec<Pattern>, Vec<Stmt>)>,
        otherwise: Option<Vec<Stmt>>,
    },
    Use(Name),
    Raise {
        severity: Severity,
        message: Quote,
        id: Option<Quote>,
        hint: Option<Quote>,
    },
    /// The document is left out.
    Drop,
    /// The occurrence of the loop is left out.
    Skip,
    /// The listed target nodes have no value on purpose.
    Omit(Vec<TargetPath>),
}

#[derive(Clone, Debug)]
pub(crate) struct For {
    pub(crate) binding: Option<Name>,
    pub(crate) path: Path,
    pub(crate) filter: Option<Expr>,
    /// `sort by PO102 desc, PO101`.
    pub(crate) sort: Vec<SortKey>,
    pub(crate) limit: Option<u32>,
    pub(crate) make: Option<TargetPath>,
    pub(crate) body: ForBody,
}

#[derive(Clone, Debug)]
pub(crate) struct SortKey {
    pub(crate) value: Expr,
    pub(crate) descending: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum ForBody {
    Block(Vec<Stmt>),
    /// `for TAG make tags = it`.
    Value(Expr),
}

#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) steps: Vec<Step>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: Name,
    pub(crate) select: Option<Select>,
    /// Name and selection.
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum Select {
    Index(u32),
    First,
    Last,
    Where(Box<Expr>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Binary {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Otherwise,
    Concat,
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unary {
    Not,
    Minus,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Text(String),
    Number(Decimal),
    Bool(bool),
    /// Days since 1970-01-01.
    Date(i32),
    Absent,
    Path(Path),
    Call {
        name: Name,
        arguments: Vec<Expr>,
        field: Option<Name>,
    },
    /// A fold: `sum(SV102 for 2400 where …)`, `count(2400)`, `join(N102 for N1, ", ")`.
    Aggregate {
        name: Name,
        value: Option<Box<Expr>>,
        path: Path,
        filter: Option<Box<Expr>>,
        separator: Option<Box<Expr>>,
    },
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    If {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Option<Box<Expr>>,
    },
    Match {
        subject: Box<Expr>,
        arms: Vec<(Vec<Pattern>, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    In {
        value: Box<Expr>,
        set: Set,
        negated: bool,
    },
    /// An erroneous expression that is already reported.
    Bad,
}

#[derive(Clone, Debug)]
pub(crate) enum Set {
    /// `in ("A", "B")`.
    Values(Vec<Expr>),
    /// `in units`: keys of a table or code list.
    Table(Name),
}

/// Left side of `=>`.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    Value(Expr),
    Range(Expr, Expr),
}

impl Expr {
    /// Collects the first names of all paths in the expression, including selections.
    pub(crate) fn first_names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match &self.kind {
            ExprKind::Path(path) => path.first_names(names),
            ExprKind::Call { arguments, .. } => {
                for argument in arguments {
                    argument.first_names(names);
                }
            }
            ExprKind::Aggregate { value, path, filter, separator, .. } => {
                path.first_names(names);
                for part in [value, filter, separator].into_iter().flatten() {
                    part.first_names(names);
                }
            }
            ExprKind::Unary(_, of) => of.first_names(names),
            ExprKind::Binary(_, a, b) => {
                a.first_names(names);
                b.first_names(names);
            }
            ExprKind::If { condition, then, otherwise } => {
                condition.first_names(names);
                then.first_names(names);
                if let Some(otherwise) = otherwise {
                    otherwise.first_names(names);
                }
            }
            ExprKind::Match { subject, arms, otherwise } => {
                subject.first_names(names);
                for (patterns, value) in arms {
                    for pattern in patterns {
                        match pattern {
                            Pattern::Value(one) => one.first_names(names),
                            Pattern::Range(from, to) => {
                                from.first_names(names);
                                to.first_names(names);
                            }
                        }
                    }
                    value.first_names(names);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.first_names(names);
                }
            }
            ExprKind::In { value, set, .. } => {
                value.first_names(names);
                if let Set::Values(values) = set {
                    for one in values {
                        one.first_names(names);
                    }
                }
            }
            ExprKind::Text(_)
            | ExprKind::Number(_)
            | ExprKind::Bool(_)
            | ExprKind::Date(_)
            | ExprKind::Absent
            | ExprKind::Bad => {}
        }
    }
}

impl Path {
    fn first_names<'a>(&'a self, names: &mut Vec<&'a str>) {
        names.extend(self.steps.first().map(|step| step.name.text.as_str()));
        for step in &self.steps {
            if let Some(Select::Where(condition)) = &step.select {
                condition.first_names(names);
            }
        }
    }
}
