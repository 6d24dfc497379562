//! The codes of findings about flow files; `docs/reference/errors/flow.md` explains them.

use quayline_core::Code;

pub(crate) const SYNTAX: Code = Code("FLO-001");
pub(crate) const UNKNOWN_TYPE: Code = Code("FLO-002");
pub(crate) const UNKNOWN_KEY: Code = Code("FLO-003");
pub(crate) const MISSING_KEY: Code = Code("FLO-004");
pub(crate) const BAD_VALUE: Code = Code("FLO-005");
pub(crate) const NO_SUCH_NODE: Code = Code("FLO-006");
pub(crate) const NO_INPUT: Code = Code("FLO-007");
pub(crate) const NOT_REACHED: Code = Code("FLO-008");
pub(crate) const LOOP: Code = Code("FLO-009");
pub(crate) const CONTRADICTION: Code = Code("FLO-010");
pub(crate) const UNREADABLE: Code = Code("FLO-011");
