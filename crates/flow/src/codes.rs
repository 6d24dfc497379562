//! The codes of findings about flows that are compiled and run; `docs/reference/errors/flow.md` explains them.

use quayline_core::Code;

pub(crate) const TWO_SHAPES: Code = Code("FLO-020");
pub(crate) const OTHER_SHAPE: Code = Code("FLO-021");
pub(crate) const NO_SHAPE: Code = Code("FLO-022");
pub(crate) const UNKNOWN_ENVELOPE: Code = Code("FLO-023");
pub(crate) const NOT_DEFINED: Code = Code("FLO-024");
pub(crate) const FEEDS_ITSELF: Code = Code("FLO-026");
pub(crate) const BAD_DATABASE: Code = Code("FLO-027");
pub(crate) const BAD_URL: Code = Code("FLO-028");
pub(crate) const SHARED_OUTBOX: Code = Code("FLO-029");
pub(crate) const BAD_SERVER: Code = Code("FLO-030");
pub(crate) const NOT_READABLE: Code = Code("FLO-040");
pub(crate) const NO_VALUE: Code = Code("FLO-041");
pub(crate) const BAD_KEY: Code = Code("FLO-042");
pub(crate) const NO_ROUTE: Code = Code("FLO-043");
pub(crate) const THROWN: Code = Code("FLO-044");
pub(crate) const TIME_LIMIT: Code = Code("FLO-045");
pub(crate) const HOPS: Code = Code("FLO-046");
pub(crate) const NO_REPLY: Code = Code("FLO-047");
pub(crate) const NOT_MAPPED: Code = Code("FLO-048");
pub(crate) const FILE_SYSTEM: Code = Code("FLO-049");
pub(crate) const STEPS: Code = Code("FLO-051");
pub(crate) const LISTEN: Code = Code("FLO-052");
pub(crate) const GROUP: Code = Code("FLO-053");
pub(crate) const SQL_UNREACHABLE: Code = Code("FLO-054");
pub(crate) const SQL_REFUSED: Code = Code("FLO-055");
pub(crate) const HTTP_UNREACHABLE: Code = Code("FLO-056");
pub(crate) const HTTP_STATUS: Code = Code("FLO-057");
pub(crate) const NATS_UNREACHABLE: Code = Code("FLO-058");
pub(crate) const NATS_REFUSED: Code = Code("FLO-059");
pub(crate) const NATS_LOST: Code = Code("FLO-060");
