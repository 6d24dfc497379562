//! The codes of findings of conversions; `docs/reference/errors/convert.md` explains them. Numbers that are missing here belong to `project` and
//! `pipeline`.

use quayline_core::Code;

pub(crate) const STOPPED: Code = Code("CNV-002");
pub(crate) const CLOSED_PIPE: Code = Code("CNV-003");
pub(crate) const TOO_MANY_REJECTS: Code = Code("CNV-004");
pub(crate) const NOT_RESUMABLE: Code = Code("CNV-005");
pub(crate) const OTHER_SOURCE: Code = Code("CNV-006");
pub(crate) const OTHER_PLAN: Code = Code("CNV-007");
pub(crate) const BAD_CHECKPOINT: Code = Code("CNV-008");
pub(crate) const PARTIAL_SHORT: Code = Code("CNV-009");
pub(crate) const SAME_FILE: Code = Code("CNV-012");
pub(crate) const NOT_SPLIT: Code = Code("CNV-014");
pub(crate) const NOT_A_FILE: Code = Code("CNV-015");
pub(crate) const NO_CHECKPOINT: Code = Code("CNV-037");
pub(crate) const EARLIER_FILES: Code = Code("CNV-043");
pub(crate) const CHANGED_SOURCE: Code = Code("CNV-044");
