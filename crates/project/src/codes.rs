//! The codes of findings about users' files; `docs/errors/project.md` explains them.

use quayline_core::Code;

pub(crate) const SYNTAX: Code = Code("PRJ-001");
pub(crate) const TWO_RULES: Code = Code("PRJ-002");
pub(crate) const EMPTY: Code = Code("PRJ-003");
pub(crate) const INCOMPLETE: Code = Code("PRJ-004");
pub(crate) const NO_SUCH_TYPE: Code = Code("PRJ-005");
pub(crate) const VALUE_TWICE: Code = Code("PRJ-006");
pub(crate) const UNREADABLE: Code = Code("PRJ-007");
