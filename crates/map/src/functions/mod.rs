//! Builtin functions of the language: names, operands and results.

pub(crate) mod decimal;
pub(crate) mod texts;

/// Operation that a run evaluates for a function.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Builtin {
    Upper,
    Lower,
    Trim,
    TrimStart,
    TrimEnd,
    Squeeze,
    Left,
    Right,
    Substring,
    Length,
    Replace,
    PadLeft,
    PadRight,
    Repeat,
    Contains,
    StartsWith,
    EndsWith,
    Position,
    Split,
    OnlyDigits,
    OnlyLetters,
    Like,
    Hex,
    Round,
    Divide,
    Abs,
    Sign,
    Least,
    Greatest,
    Remainder,
    Scale,
    Fit,
    Number,
    FormatNumber,
    IsNumber,
    ToFloat,
    ReadDate,
    ReadTime,
    ReadDateTime,
    IsDate,
    FormatDate,
    AddDays,
    AddMonths,
    AddSeconds,
    DaysBetween,
    SecondsBetween,
    Year,
    Month,
    Day,
    Weekday,
    MonthEnd,
    DateOf,
    TimeOf,
    AtTime,
    Today,
    Now,
    Hash,
    Sha256,
    NewId,
    IdOf,
}

/// Required type of an operand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Takes {
    Text,
    Number,
    /// A number that is not a float.
    Exact,
    /// A whole number.
    Count,
    Date,
    Time,
    DateTime,
    Any,
}

/// Type of a function's result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Gives {
    /// Text as long as the first operand at most.
    SameText,
    /// Text whose maximum length is the constant second operand.
    TextOfSecond,
    Text,
    TextOf(u32),
    Bool,
    /// An integer with at most this many digits.
    Count(u16),
    Date,
    Time,
    DateTime,
    /// Type that the checker derives for this function.
    Special,
}

/// One function as maps write it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) form: &'static str,
    pub(crate) takes: &'static [Takes],
    /// Operands that must be there; the others may be left out.
    pub(crate) least: usize,
    pub(crate) gives: Gives,
    pub(crate) function: Builtin,
    /// True if the result may be absent although all operands have a value.
    pub(crate) maybe: bool,
}

const fn signature(
    name: &'static str,
    form: &'static str,
    takes: &'static [Takes],
    least: usize,
    gives: Gives,
    function: Builtin,
) -> Signature {
    Signature { name, form, takes, least, gives, function, maybe: false }
}

const fn maybe(signature: Signature) -> Signature {
    Signature { maybe: true, ..signature }
}

use Takes::{Any, Count, Date, DateTime, Exact, Number, Text, Time};

/// All functions that the checker handles by their signature. `check::call` handles those with words and formats as operands.
pub(crate) const SIGNATURES: &[Signature] = &[
    signature("upper", "upper(text)", &[Text], 1, Gives::SameText, Builtin::Upper),
    signature("lower", "lower(text)", &[Text], 1, Gives::SameText, Builtin::Lower),
    signature("trim", "trim(text)", &[Text], 1, Gives::SameText, Builtin::Trim),
    signature("trim-start", "trim-start(text)", &[Text], 1, Gives::SameText, Builtin::TrimStart),
    signature("trim-end", "trim-end(text)", &[Text], 1, Gives::SameText, Builtin::TrimEnd),
    signature("squeeze", "squeeze(text)", &[Text], 1, Gives::SameText, Builtin::Squeeze),
    signature("left", "left(text, characters)", &[Text, Count], 2, Gives::TextOfSecond, Builtin::Left),
    signature("right", "right(text, characters)", &[Text, Count], 2, Gives::TextOfSecond, Builtin::Right),
    signature(
        "substring",
        "substring(text, from, characters)",
        &[Text, Count, Count],
        2,
        Gives::Special,
        Builtin::Substring,
    ),
    signature("length", "length(text)", &[Text], 1, Gives::Count(9), Builtin::Length),
    signature("replace", "replace(text, what, by)", &[Text, Text, Text], 3, Gives::Special, Builtin::Replace),
    signature(
        "pad-left",
        "pad-left(text, characters, with)",
        &[Text, Count, Text],
        2,
        Gives::Special,
        Builtin::PadLeft,
    ),
    signature(
        "pad-right",
        "pad-right(text, characters, with)",
        &[Text, Count, Text],
        2,
        Gives::Special,
        Builtin::PadRight,
    ),
    signature("repeat", "repeat(text, times)", &[Text, Count], 2, Gives::Text, Builtin::Repeat),
    signature("contains", "contains(text, part)", &[Text, Text], 2, Gives::Bool, Builtin::Contains),
    signature("starts-with", "starts-with(text, part)", &[Text, Text], 2, Gives::Bool, Builtin::StartsWith),
    signature("ends-with", "ends-with(text, part)", &[Text, Text], 2, Gives::Bool, Builtin::EndsWith),
    signature("like", "like(text, pattern)", &[Text, Text], 2, Gives::Bool, Builtin::Like),
    maybe(signature("position-of", "position-of(part, text)", &[Text, Text], 2, Gives::Count(9), Builtin::Position)),
    maybe(signature(
        "split",
        "split(text, separator, number)",
        &[Text, Text, Count],
        3,
        Gives::SameText,
        Builtin::Split,
    )),
    signature("digits", "digits(text)", &[Text], 1, Gives::SameText, Builtin::OnlyDigits),
    signature("letters", "letters(text)", &[Text], 1, Gives::SameText, Builtin::OnlyLetters),
    signature("hex", "hex(bytes or text)", &[Any], 1, Gives::Special, Builtin::Hex),
    signature("abs", "abs(number)", &[Number], 1, Gives::Special, Builtin::Abs),
    signature("sign", "sign(number)", &[Number], 1, Gives::Special, Builtin::Sign),
    signature("min", "min(number, number, …)", &[Number, Number], 2, Gives::Special, Builtin::Least),
    signature("max", "max(number, number, …)", &[Number, Number], 2, Gives::Special, Builtin::Greatest),
    signature("remainder", "remainder(number, by)", &[Exact, Exact], 2, Gives::Special, Builtin::Remainder),
    signature("is-number", "is-number(text)", &[Any], 1, Gives::Bool, Builtin::IsNumber),
    signature("add-days", "add-days(date, days)", &[Date, Exact], 2, Gives::Date, Builtin::AddDays),
    signature("add-months", "add-months(date, months)", &[Date, Exact], 2, Gives::Date, Builtin::AddMonths),
    signature(
        "add-seconds",
        "add-seconds(datetime, seconds)",
        &[DateTime, Exact],
        2,
        Gives::DateTime,
        Builtin::AddSeconds,
    ),
    signature("days-between", "days-between(from, to)", &[Date, Date], 2, Gives::Special, Builtin::DaysBetween),
    signature(
        "seconds-between",
        "seconds-between(from, to)",
        &[DateTime, DateTime],
        2,
        Gives::Special,
        Builtin::SecondsBetween,
    ),
    signature("year", "year(date)", &[Date], 1, Gives::Count(4), Builtin::Year),
    signature("month", "month(date)", &[Date], 1, Gives::Count(2), Builtin::Month),
    signature("day", "day(date)", &[Date], 1, Gives::Count(2), Builtin::Day),
    signature("weekday", "weekday(date)", &[Date], 1, Gives::Count(1), Builtin::Weekday),
    signature("month-end", "month-end(date)", &[Date], 1, Gives::Date, Builtin::MonthEnd),
    signature("date-of", "date-of(datetime)", &[DateTime], 1, Gives::Date, Builtin::DateOf),
    signature("time-of", "time-of(datetime)", &[DateTime], 1, Gives::Time, Builtin::TimeOf),
    signature("at-time", "at-time(date, time)", &[Date, Time], 2, Gives::DateTime, Builtin::AtTime),
    signature("today", "today()", &[], 0, Gives::Date, Builtin::Today),
    signature("now", "now()", &[], 0, Gives::DateTime, Builtin::Now),
    signature("hash", "hash(value)", &[Any], 1, Gives::TextOf(16), Builtin::Hash),
    signature("sha256", "sha256(value)", &[Any], 1, Gives::TextOf(64), Builtin::Sha256),
    signature("new-id", "new-id()", &[], 0, Gives::TextOf(36), Builtin::NewId),
    signature("id-of", "id-of(value)", &[Any], 1, Gives::TextOf(36), Builtin::IdOf),
];

/// Functions that take words, formats or tables.
pub(crate) const SPECIAL: &[(&str, &str)] = &[
    ("round", "round(number, decimals, mode)"),
    ("text", "text(value)"),
    ("number", "number(text), number(text, decimal \",\")"),
    ("float", "float(text)"),
    ("format", "format(value, \"CCYYMMDD\")"),
    ("date", "date(text, \"CCYYMMDD\", first-year)"),
    ("time", "time(text, \"HHMM\")"),
    ("datetime", "datetime(text, \"CCYYMMDDHHMM\", first-year)"),
    ("is-date", "is-date(text, \"CCYYMMDD\", first-year)"),
    ("scale", "scale(number, places)"),
    ("fit", "fit(number, digits, decimals)"),
    ("unsigned", "unsigned(number)"),
    ("joined", "joined(separator, text, text, …)"),
    ("present", "present(path)"),
    ("position", "position(), position(loop)"),
    ("translate", "translate(text, table)"),
    ("reverse", "reverse(text, table)"),
    ("count", "count(list where condition)"),
    ("sum", "sum(number for list where condition)"),
    ("any", "any(condition for list)"),
    ("all", "all(condition for list)"),
    ("join", "join(text for list where condition, separator)"),
];

/// Returns true if the language reserves a name for a function.
pub(crate) fn is_builtin(name: &str) -> bool {
    SIGNATURES.iter().any(|signature| signature.name == name) || SPECIAL.iter().any(|(known, _)| *known == name)
}

/// Returns every function name, for spelling hints.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SIGNATURES.iter().map(|signature| signature.name).chain(SPECIAL.iter().map(|(name, _)| *name))
}

/// Returns the forms of all functions in alphabetical order, as the language reference lists them.
#[must_use]
pub fn function_forms() -> Vec<&'static str> {
    let mut forms: Vec<&str> =
        SIGNATURES.iter().map(|signature| signature.form).chain(SPECIAL.iter().map(|(_, form)| *form)).collect();
    forms.sort_unstable();
    forms
}
