//! The codes of findings about users' files; `docs/reference/errors/project.md` explains them.

use quayline_core::Code;

pub(crate) const SYNTAX: Code = Code("PRJ-001");
pub(crate) const TWO_RULES: Code = Code("PRJ-002");
pub(crate) const EMPTY: Code = Code("PRJ-003");
pub(crate) const INCOMPLETE: Code = Code("PRJ-004");
pub(crate) const NO_SUCH_TYPE: Code = Code("PRJ-005");
pub(crate) const VALUE_TWICE: Code = Code("PRJ-006");
pub(crate) const UNREADABLE: Code = Code("PRJ-007");
pub(crate) const EXISTS: Code = Code("PRJ-008");
pub(crate) const NO_PROJECT: Code = Code("PRJ-009");
pub(crate) const NOT_OF_A_FILE: Code = Code("PRJ-010");
pub(crate) const TOO_MUCH_TO_SKIP: Code = Code("PRJ-011");
pub(crate) const LOOKUP_TABLE: Code = Code("PRJ-012");
pub(crate) const DATE_PATTERN: Code = Code("PRJ-013");

// Schemas and guides; `docs/reference/errors/convert.md` explains them.
pub(crate) const NO_GUIDE: Code = Code("CNV-013");
pub(crate) const UNKNOWN_RECORD: Code = Code("CNV-020");
pub(crate) const UNKNOWN_TYPE_RULE: Code = Code("CNV-021");
pub(crate) const CHOOSER: Code = Code("CNV-024");
pub(crate) const RULE_WITHOUT_FIELD: Code = Code("CNV-025");

// Job XML; `docs/reference/errors/job.md` explains them.
pub(crate) const JOB_SYNTAX: Code = Code("JOB-001");
pub(crate) const JOB_VALUE: Code = Code("JOB-002");
pub(crate) const JOB_ID_TWICE: Code = Code("JOB-003");
pub(crate) const JOB_TARGET: Code = Code("JOB-004");
pub(crate) const JOB_LOOP: Code = Code("JOB-005");
pub(crate) const JOB_UNREACHED: Code = Code("JOB-006");
pub(crate) const JOB_UNRESOLVED: Code = Code("JOB-007");
pub(crate) const JOB_ARTIFACT: Code = Code("JOB-008");
pub(crate) const JOB_EVENTS: Code = Code("JOB-009");
pub(crate) const JOB_SETTINGS: Code = Code("JOB-010");
// Partner files; `docs/reference/errors/partner.md` explains them.
pub(crate) const PARTNER_SYNTAX: Code = Code("PTN-001");
pub(crate) const PARTNER_VALUE: Code = Code("PTN-002");
pub(crate) const PARTNER_TWICE: Code = Code("PTN-003");
pub(crate) const PARTNER_MISSING: Code = Code("PTN-004");
/// Nothing can satisfy an expectation in a partner file.
pub(crate) const PARTNER_NEVER: Code = Code("PTN-005");
