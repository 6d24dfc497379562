//! The codes of findings about shape files; `docs/reference/errors/shape.md` explains them.

use quayline_core::Code;

pub(crate) const UNREADABLE: Code = Code("SHP-001");
pub(crate) const UNKNOWN_FORM: Code = Code("SHP-002");
pub(crate) const SYNTAX: Code = Code("SHP-003");
pub(crate) const NO_SUCH_PART: Code = Code("SHP-004");
pub(crate) const NOT_HELD: Code = Code("SHP-005");
pub(crate) const NOT_CHECKED: Code = Code("SHP-006");
pub(crate) const ITSELF: Code = Code("SHP-007");
pub(crate) const CONTRADICTORY: Code = Code("SHP-008");
pub(crate) const LAYOUT: Code = Code("SHP-009");
pub(crate) const NO_CODE_PAGE: Code = Code("SHP-010");
pub(crate) const NO_REFERENCE: Code = Code("SHP-012");
