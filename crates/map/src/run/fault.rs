//! Faults of a running map, in a compact form until they are reported.

use quayline_core::{Code, Fault, Finding, Place, Severity};

use crate::codes;
use crate::plan::MapPlan;

/// A fault: statement, position in the target, and kind.
#[derive(Clone, Debug)]
pub(crate) struct RunFault {
    pub(crate) what: What,
    pub(crate) statement: u32,
    /// Path in the target with occurrences, or in the source.
    pub(crate) path: Option<String>,
    /// Path of the source leaf of the value, if it came from one.
    pub(crate) source: Option<String>,
}

/// Kind of a fault. Contains shape limits and positions, never payload.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A finding that a rule of the map raises.
    Rule,
    TooLong {
        max: u32,
        found: usize,
    },
    TooManyBytes {
        max: u32,
        found: usize,
    },
    Digits {
        whole: i32,
        found: u32,
    },
    Decimals {
        scale: i16,
        found: i16,
    },
    Sign,
    NotANumber,
    NotADate,
    Overflow,
    ZeroDivisor,
    NotInTable(u16),
    Missing(Vec<String>),
    TooMany {
        max: u32,
    },
    TooFew {
        min: u32,
        found: u32,
    },
    /// An occurrence, counted from 1, of a list whose values cannot be empty.
    EmptyItem {
        occurrence: u32,
    },
    Raw,
    Kind {
        wanted: &'static str,
    },
    Lookup(String),
    /// A cell of a lookup does not have the declared type.
    Cell {
        lookup: u16,
        field: u16,
    },
    /// A function, and why it gave no value.
    Function(String, String),
    Order,
    Size,
    DateRange,
    Picture,
    Count,
    /// A number of days or months that has decimals.
    Whole,
    /// A position before the first.
    Position,
    /// A text that the map makes is longer than its bound.
    Text {
        max: usize,
    },
    Variable(u16),
    Float,
    /// The nearest float is another number.
    FloatDigits,
}

impl RunFault {
    pub(crate) fn severity(&self, plan: &MapPlan) -> Severity {
        match (&self.what, plan.statements.get(self.statement as usize).and_then(|statement| statement.raise.as_ref()))
        {
            (What::Rule, Some(raise)) => raise.severity,
            _ => Severity::Error,
        }
    }

    pub(crate) fn finding(&self, plan: &MapPlan) -> Finding {
        let (code, message, hint) = self.words(plan);
        let mut place = Place::default();
        if let Some(statement) = plan.statements.get(self.statement as usize)
            && let Some(text) = plan.texts.get(usize::from(statement.span.file))
        {
            place = text.place(statement.span);
        }
        place.path.clone_from(&self.path);
        place.detail = self.source.as_ref().map(|source| format!("from {source}"));
        let mut finding = Finding::error(code, Fault::Sender, message).at(place);
        finding.severity = self.severity(plan);
        if matches!(self.what, What::Order | What::Kind { .. } | What::Size | What::Lookup(_) | What::Cell { .. }) {
            finding.fault = Fault::Config;
        }
        finding.hint = hint;
        finding
    }

    fn words(&self, plan: &MapPlan) -> (Code, String, Option<String>) {
        let hint = |text: &str| Some(text.to_owned());
        let number = |n: u32, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        match &self.what {
            What::Rule => {
                let raise = plan.statements.get(self.statement as usize).and_then(|statement| statement.raise.as_ref());
                let message = raise.map_or(String::new(), |raise| match &raise.id {
                    Some(id) => format!("{id}: {}", raise.message),
                    None => raise.message.clone(),
                });
                (codes::RULE, message, raise.and_then(|raise| raise.hint.clone()))
            }
            What::TooLong { max, found } => (
                codes::VALUE_TOO_LONG,
                format!("the text has {found} characters, and the target holds {max}"),
                Some(format!("if the rest may go, write left(…, {max})")),
            ),
            What::TooManyBytes { max, found } => (
                codes::VALUE_TOO_LONG,
                format!("the value has {found} bytes, and the target holds {max}"),
                hint("choose a longer target"),
            ),
            What::Digits { whole, found } => (
                codes::VALUE_DIGITS,
                format!("the number has {found} digits before the point, and {whole} fit"),
                hint("a wider target, or a smaller number, is needed; digits are never cut"),
            ),
            What::Decimals { scale: zeros @ ..0, .. } => {
                let unit = format!("1{}", "0".repeat(zeros.unsigned_abs().into()));
                (
                    codes::VALUE_DECIMALS,
                    format!("the number is not a multiple of {unit}, and the target holds only such numbers"),
                    Some(format!("if its last digits may go, write round(… / {unit}, 0) * {unit}")),
                )
            }
            What::Decimals { scale, found } => (
                codes::VALUE_DECIMALS,
                format!("the number has {found} decimals, and the target holds {}", (*scale).max(0)),
                Some(format!("if they may go, write round(…, {})", (*scale).max(0))),
            ),
            What::Sign => (
                codes::VALUE_SIGN,
                "the number is negative, and the target has no sign".to_owned(),
                hint("abs(…) takes the sign off"),
            ),
            What::NotANumber => (
                codes::NOT_A_NUMBER,
                "the text is not a number".to_owned(),
                hint("a sign or none, digits, and one point; is-number(…) tests it first"),
            ),
            What::NotADate => (
                codes::NOT_A_DATE,
                "the text is not a date or time of this format".to_owned(),
                hint("is-date(…, \"…\") tests it first"),
            ),
            What::Overflow => {
                (codes::OVERFLOW, "the result has more than 38 digits".to_owned(), hint("round on the way"))
            }
            What::ZeroDivisor => (
                codes::ZERO_DIVISOR,
                "a number is divided by zero".to_owned(),
                hint("test it first: if … = 0 then … else …"),
            ),
            What::NotInTable(table) => {
                let name = plan.tables.get(usize::from(*table)).map_or("", |table| table.name.as_str());
                (
                    codes::NOT_IN_TABLE,
                    format!("the code is not in `{name}`"),
                    Some(format!("add it, or a row for all others: else \"…\"; `… in {name}` tests it first")),
                )
            }
            What::Missing(names) => (
                codes::MISSING,
                format!("mandatory, but without a value: {}", names.join(", ")),
                hint("the source has none; … ?? \"…\" gives a value for this case"),
            ),
            What::TooMany { max } => (
                codes::TOO_MANY_OCCURRENCES,
                format!("more than {}, which is all that the target holds", number(*max, "occurrence", "occurrences")),
                Some(format!("if the others may go, write limit {max} in the loop")),
            ),
            What::TooFew { min, found } => (
                codes::TOO_FEW_OCCURRENCES,
                format!("{}, and the target needs {min}", number(*found, "occurrence", "occurrences")),
                hint("make those that are missing"),
            ),
            What::EmptyItem { occurrence } => {
                let statement = plan.statements.get(self.statement as usize);
                let list = statement.and_then(|statement| statement.target.as_deref()).unwrap_or_default();
                (
                    codes::EMPTY_ITEM,
                    format!(
                        "occurrence {occurrence} of `{list}` has no value, and the target cannot have an empty one"
                    ),
                    hint("give it a value: … ?? \"…\"; `where present(…)` leaves occurrences of a loop out"),
                )
            }
            What::Raw => (
                codes::RAW_VALUE,
                "the source's bytes are not a value of its type".to_owned(),
                hint("fix the source, or read it with a policy that gives text or nothing instead"),
            ),
            What::Kind { wanted } => (
                codes::WRONG_KIND,
                format!("the source sent another kind of value than its shape says: {wanted} is needed"),
                hint("compare the source's definition with what it sends"),
            ),
            What::Lookup(reason) => (codes::LOOKUP, format!("the lookup failed: {reason}"), hint("connect it")),
            What::Cell { lookup, field } => {
                let table = plan.lookups.get(usize::from(*lookup));
                let column = table.and_then(|table| table.fields.get(usize::from(*field)));
                let (name, wanted) = column.map_or(("", "another value"), |(name, column)| (name, column.words()));
                let table = table.map_or("", |table| table.name.as_str());
                (
                    codes::LOOKUP,
                    format!("the field `{name}` of `{table}` is not what the map declares: {wanted} is needed"),
                    hint("correct the cell in the table, or declare the field as text"),
                )
            }
            What::Function(name, reason) => (
                codes::OWN_FUNCTION,
                format!("the function `{name}` failed: {reason}"),
                hint("check the program of the function, and what it wrote to standard error"),
            ),
            What::Order => (
                codes::SOURCE_ORDER,
                "the source sends this after a list that comes later in its shape, and the list is already mapped"
                    .to_owned(),
                hint("compile the map for sources in any order; it keeps more in memory then"),
            ),
            What::Size => (
                codes::DOCUMENT_SIZE,
                "what the map keeps of one document is more than 1 GiB".to_owned(),
                hint("`--explain` names the statement that forces it"),
            ),
            What::DateRange => (
                codes::DATE_RANGE,
                "the date lies outside the years 1 to 9999".to_owned(),
                hint("correct the number of days or months"),
            ),
            What::Picture => (
                codes::OUT_OF_PICTURE,
                "the number does not go into the picture: a sign, a digit or a decimal has no place".to_owned(),
                hint("make it wider, or round the number first"),
            ),
            What::Count => (
                codes::COUNT_RANGE,
                "a count is negative, has decimals, or is above 1,000,000".to_owned(),
                hint("correct how it is computed"),
            ),
            What::Whole => (
                codes::COUNT_RANGE,
                "a number of days or months has decimals, or is not a number of a calendar".to_owned(),
                hint("round it: round(…, 0)"),
            ),
            What::Position => (
                codes::COUNT_RANGE,
                "a position is 0, and positions count from 1".to_owned(),
                hint("correct how it is computed"),
            ),
            What::Text { max } => (
                codes::TEXT_SIZE,
                format!("the map makes a text of more than {max} bytes"),
                hint("look for a text that grows by mistake, or allow more with `--limit map-text-bytes=N`"),
            ),
            What::Variable(var) => {
                let name = plan.vars.get(usize::from(*var)).map_or("", |var| var.name.as_str());
                (
                    codes::VARIABLE_RANGE,
                    format!("the value does not fit the type of `{name}`"),
                    hint("declare it wider"),
                )
            }
            What::FloatDigits => (
                codes::FLOAT_DIGITS,
                "the number has more digits than the target's float keeps".to_owned(),
                hint("round it, or take the nearest float: float(text(…))"),
            ),
            What::Float => (
                codes::FLOAT_RANGE,
                "the number is beyond the range of the float".to_owned(),
                hint("correct how it is computed"),
            ),
        }
    }
}
