//! Codes of findings about dictionaries; `docs/reference/errors/dictionary.md` explains each.

use quayline_core::Code;

pub(crate) const UNREADABLE: Code = Code("DIC-001");
pub(crate) const NOT_WELL_FORMED: Code = Code("DIC-002");
pub(crate) const UNKNOWN_FORM: Code = Code("DIC-003");
pub(crate) const NOT_OF_THE_FORM: Code = Code("DIC-010");
pub(crate) const UNDEFINED: Code = Code("DIC-011");
pub(crate) const CONTRADICTORY: Code = Code("DIC-012");
pub(crate) const NOT_CARRIED_OVER: Code = Code("DIC-020");
pub(crate) const LEFT_OUT: Code = Code("DIC-021");
