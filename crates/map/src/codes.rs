//! Codes of findings, explained in `docs/reference/errors/map.md`. Below 100: text and types; 100 to 199: behavior of a plan; from 200: runs.

use quayline_core::Code;

pub(crate) const STRAY: Code = Code("MAP-001");
pub(crate) const OPEN_TEXT: Code = Code("MAP-002");
pub(crate) const EXPECTED: Code = Code("MAP-003");
pub(crate) const OPEN_BLOCK: Code = Code("MAP-004");
pub(crate) const NO_STATEMENT: Code = Code("MAP-005");
pub(crate) const BAD_NUMBER: Code = Code("MAP-006");
pub(crate) const BAD_DATE: Code = Code("MAP-007");
pub(crate) const BAD_ESCAPE: Code = Code("MAP-008");
pub(crate) const TOO_DEEP: Code = Code("MAP-009");
pub(crate) const TOO_LARGE: Code = Code("MAP-010");
pub(crate) const TOO_MANY: Code = Code("MAP-011");
pub(crate) const MISPLACED: Code = Code("MAP-012");

pub(crate) const NO_FILE: Code = Code("MAP-013");
pub(crate) const TWICE: Code = Code("MAP-014");
pub(crate) const RECURSION: Code = Code("MAP-015");
pub(crate) const TABLE_ROW: Code = Code("MAP-016");
pub(crate) const TYPE_NAME: Code = Code("MAP-017");

pub(crate) const UNKNOWN_SOURCE: Code = Code("MAP-020");
pub(crate) const UNKNOWN_TARGET: Code = Code("MAP-021");
pub(crate) const UNKNOWN_OUTPUT: Code = Code("MAP-022");
pub(crate) const UNKNOWN_FUNCTION: Code = Code("MAP-023");
pub(crate) const UNKNOWN_TABLE: Code = Code("MAP-024");
pub(crate) const UNKNOWN_PART: Code = Code("MAP-025");
pub(crate) const UNKNOWN_VARIABLE: Code = Code("MAP-026");
pub(crate) const UNKNOWN_FIELD: Code = Code("MAP-027");
pub(crate) const NO_LOOP: Code = Code("MAP-028");
pub(crate) const NO_DOCUMENT: Code = Code("MAP-029");

pub(crate) const REPEATS: Code = Code("MAP-030");
pub(crate) const NO_LIST: Code = Code("MAP-031");
pub(crate) const GROUP_AS_VALUE: Code = Code("MAP-032");
pub(crate) const TARGET_REPEATS: Code = Code("MAP-033");
pub(crate) const TARGET_GROUP: Code = Code("MAP-034");
pub(crate) const TARGET_LEAF: Code = Code("MAP-035");
pub(crate) const CARDINALITY: Code = Code("MAP-036");

pub(crate) const TYPE: Code = Code("MAP-040");
pub(crate) const CANNOT_HOLD: Code = Code("MAP-041");
pub(crate) const QUOTIENT: Code = Code("MAP-042");
pub(crate) const OPERANDS: Code = Code("MAP-043");
pub(crate) const OPERAND_VALUE: Code = Code("MAP-044");
pub(crate) const FORMAT: Code = Code("MAP-045");
pub(crate) const CENTURY: Code = Code("MAP-046");

pub(crate) const TOO_LONG: Code = Code("MAP-050");
pub(crate) const TRUNCATION: Code = Code("MAP-051");
pub(crate) const DIGITS_LOST: Code = Code("MAP-052");
pub(crate) const DECIMALS_LOST: Code = Code("MAP-053");
pub(crate) const SIGN_LOST: Code = Code("MAP-054");
pub(crate) const MAYBE_ABSENT: Code = Code("MAP-055");
pub(crate) const NEVER_SET: Code = Code("MAP-056");
pub(crate) const SOMETIMES_SET: Code = Code("MAP-057");
pub(crate) const SET_TWICE: Code = Code("MAP-058");

pub(crate) const NEVER: Code = Code("MAP-060");
pub(crate) const CONSTANT: Code = Code("MAP-061");
pub(crate) const AMBIGUOUS: Code = Code("MAP-062");
pub(crate) const UNUSED: Code = Code("MAP-063");
pub(crate) const HIDES: Code = Code("MAP-064");
pub(crate) const USELESS: Code = Code("MAP-065");

pub(crate) const NOT_ALLOWED: Code = Code("MAP-066");
pub(crate) const UNKNOWN_ENVELOPE: Code = Code("MAP-067");

// Runs.
pub(crate) const RULE: Code = Code("MAP-200");
pub(crate) const VALUE_TOO_LONG: Code = Code("MAP-201");
pub(crate) const VALUE_DIGITS: Code = Code("MAP-202");
pub(crate) const VALUE_DECIMALS: Code = Code("MAP-203");
pub(crate) const VALUE_SIGN: Code = Code("MAP-204");
pub(crate) const NOT_A_NUMBER: Code = Code("MAP-205");
pub(crate) const NOT_A_DATE: Code = Code("MAP-206");
pub(crate) const OVERFLOW: Code = Code("MAP-207");
pub(crate) const ZERO_DIVISOR: Code = Code("MAP-208");
pub(crate) const NOT_IN_TABLE: Code = Code("MAP-209");
pub(crate) const MISSING: Code = Code("MAP-210");
pub(crate) const TOO_MANY_OCCURRENCES: Code = Code("MAP-211");
pub(crate) const TOO_FEW_OCCURRENCES: Code = Code("MAP-212");
pub(crate) const RAW_VALUE: Code = Code("MAP-213");
pub(crate) const WRONG_KIND: Code = Code("MAP-214");
pub(crate) const LOOKUP: Code = Code("MAP-215");
pub(crate) const SOURCE_ORDER: Code = Code("MAP-216");
pub(crate) const DOCUMENT_SIZE: Code = Code("MAP-217");
pub(crate) const DATE_RANGE: Code = Code("MAP-218");
pub(crate) const OUT_OF_PICTURE: Code = Code("MAP-219");
pub(crate) const COUNT_RANGE: Code = Code("MAP-220");
pub(crate) const VARIABLE_RANGE: Code = Code("MAP-221");
pub(crate) const FLOAT_RANGE: Code = Code("MAP-222");
pub(crate) const TEXT_SIZE: Code = Code("MAP-223");
pub(crate) const OWN_FUNCTION: Code = Code("MAP-224");
pub(crate) const FLOAT_DIGITS: Code = Code("MAP-225");
pub(crate) const EMPTY_ITEM: Code = Code("MAP-226");
