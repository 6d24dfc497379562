//! The codes of findings about jobs that run; `docs/reference/errors/job.md` explains them.

use quayline_core::Code;

pub(crate) const REPOSITORY: Code = Code("JOB-020");
pub(crate) const NO_SUCH_EXECUTION: Code = Code("JOB-021");
pub(crate) const NOT_RESTARTABLE: Code = Code("JOB-022");
pub(crate) const IS_RUNNING: Code = Code("JOB-023");
pub(crate) const NOT_RUNNING: Code = Code("JOB-024");
pub(crate) const DRIFT: Code = Code("JOB-025");
pub(crate) const FENCED: Code = Code("JOB-026");
pub(crate) const THROWN: Code = Code("JOB-027");
pub(crate) const PROPERTY: Code = Code("JOB-028");
pub(crate) const LOST: Code = Code("JOB-030");
pub(crate) const DATABASE: Code = Code("JOB-031");
pub(crate) const DATABASE_VERSION: Code = Code("JOB-032");
pub(crate) const NOT_ABANDONABLE: Code = Code("JOB-033");
pub(crate) const SAME_VARIABLE: Code = Code("JOB-034");
pub(crate) const PADDED: Code = Code("JOB-035");
pub(crate) const SKIPPED_ALL: Code = Code("JOB-036");
pub(crate) const NO_ROW: Code = Code("JOB-037");
pub(crate) const CHANGED: Code = Code("JOB-038");
pub(crate) const NO_MEMBER: Code = Code("JOB-039");
pub(crate) const OTHER_MEMBERS: Code = Code("JOB-040");
pub(crate) const NO_TRANSITION: Code = Code("JOB-041");
