//! Codes of everything this crate finds in a copybook. `docs/reference/errors/cobol.md` lists each with its meaning and remedy.

use quayline_core::Code;

macro_rules! codes {
    ($($name:ident = $code:literal;)*) => {
        $(pub(crate) const $name: Code = Code($code);)*
        /// Every code above, for the test that holds them against the table in the documents.
        #[cfg(test)]
        pub(crate) const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    LITERAL_NOT_CLOSED = "COB-001";
    CONTINUATION = "COB-002";
    INDICATOR = "COB-003";
    TEXT_PAST_MARGIN = "COB-004";
    SOURCE_TOO_LARGE = "COB-005";
    DIRECTIVE = "COB-006";

    COPY_NOT_FOUND = "COB-010";
    COPY_RECURSION = "COB-011";
    COPY_DEPTH = "COB-012";
    COPY_SYNTAX = "COB-013";
    FOREIGN_INCLUDE = "COB-014";
    PLACEHOLDER = "COB-015";
    COPY_UNREADABLE = "COB-016";
    REPLACING_UNUSED = "COB-017";

    NOTHING_DESCRIBED = "COB-020";
    UNEXPECTED = "COB-021";
    PERIOD_MISSING = "COB-022";
    LEVEL_NUMBER = "COB-023";
    LEVEL_ORDER = "COB-024";
    CONDITION_MISPLACED = "COB-025";
    GROUP_WITH_PICTURE = "COB-026";
    NO_PICTURE = "COB-027";
    CLAUSE_TWICE = "COB-028";
    CLAUSE_SYNTAX = "COB-029";
    NAME = "COB-030";
    UNSUPPORTED = "COB-031";
    IGNORED = "COB-032";

    PICTURE_SYMBOL = "COB-040";
    PICTURE_STRUCTURE = "COB-041";
    PICTURE_COUNT = "COB-042";
    PICTURE_DIGITS = "COB-043";
    PICTURE_FLOAT = "COB-044";

    USAGE_AND_PICTURE = "COB-050";
    CLAUSE_CONFLICT = "COB-051";
    USAGE_CONFLICT = "COB-052";
    VALUE_KIND = "COB-053";
    VALUE_DBCS = "COB-054";

    REDEFINES_UNKNOWN = "COB-060";
    REDEFINES_MISPLACED = "COB-061";
    REDEFINES_LARGER = "COB-062";
    REDEFINES_TABLE = "COB-063";
    REDEFINES_ALIGNMENT = "COB-064";

    OCCURS_RANGE = "COB-070";
    OCCURS_LEVEL = "COB-071";
    COUNTER_UNKNOWN = "COB-072";
    COUNTER_AMBIGUOUS = "COB-073";
    COUNTER_NOT_INTEGER = "COB-074";
    COUNTER_PLACE = "COB-075";
    OCCURS_UNBOUNDED = "COB-076";

    RENAMES_UNKNOWN = "COB-080";
    RENAMES_RANGE = "COB-081";

    RECORD_TOO_LONG = "COB-090";
    TOO_MANY_FIELDS = "COB-091";
    NAME_TWICE = "COB-092";
}
