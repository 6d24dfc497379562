//! The codes of findings of conversions; `docs/reference/errors/convert.md` explains them. Numbers that are missing here belong to `project`.

use quayline_core::Code;

pub(crate) const IO: Code = Code("CNV-001");
pub(crate) const STOPPED: Code = Code("CNV-002");
pub(crate) const CLOSED_PIPE: Code = Code("CNV-003");
pub(crate) const TOO_MANY_REJECTS: Code = Code("CNV-004");
pub(crate) const NOT_RESUMABLE: Code = Code("CNV-005");
pub(crate) const OTHER_SOURCE: Code = Code("CNV-006");
pub(crate) const OTHER_PLAN: Code = Code("CNV-007");
pub(crate) const BAD_CHECKPOINT: Code = Code("CNV-008");
pub(crate) const PARTIAL_SHORT: Code = Code("CNV-009");
pub(crate) const NO_DESCRIPTION: Code = Code("CNV-010");
pub(crate) const OTHER_SHAPE: Code = Code("CNV-011");
pub(crate) const SAME_FILE: Code = Code("CNV-012");
pub(crate) const NOT_SPLIT: Code = Code("CNV-014");
pub(crate) const NOT_A_FILE: Code = Code("CNV-015");
pub(crate) const UNKNOWN_TYPE: Code = Code("CNV-026");
pub(crate) const NO_PARENT: Code = Code("CNV-022");
pub(crate) const LARGE_FAMILY: Code = Code("CNV-023");
pub(crate) const REJECTED_WITH: Code = Code("CNV-027");
pub(crate) const NO_RECORD: Code = Code("CNV-028");
pub(crate) const MISFIT: Code = Code("CNV-030");
