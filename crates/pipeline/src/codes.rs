//! Codes of findings about the conversion of documents, explained in `docs/errors/convert.md`.

use quayline_core::Code;

pub(crate) const IO: Code = Code("CNV-001");
pub(crate) const NO_DESCRIPTION: Code = Code("CNV-010");
pub(crate) const OTHER_SHAPE: Code = Code("CNV-011");
pub(crate) const COLUMNS_OF_UNIT: Code = Code("CNV-016");
pub(crate) const NO_PARENT: Code = Code("CNV-022");
pub(crate) const LARGE_FAMILY: Code = Code("CNV-023");
/// A record whose value no record type of the interface has.
pub const UNKNOWN_TYPE: Code = Code("CNV-026");
pub(crate) const REJECTED_WITH: Code = Code("CNV-027");
pub(crate) const NO_RECORD: Code = Code("CNV-028");
pub(crate) const SHORT_OF_SKIPPED: Code = Code("CNV-029");
pub(crate) const MISFIT: Code = Code("CNV-030");
pub(crate) const OTHER_TYPE: Code = Code("CNV-031");
pub(crate) const ORDER_LOST: Code = Code("CNV-032");
pub(crate) const PLACE: Code = Code("CNV-033");
pub(crate) const CARRIAGE_RETURN: Code = Code("CNV-035");
pub(crate) const FEWER_THAN_SKIPPED: Code = Code("CNV-036");
pub(crate) const LONG_DOCUMENT: Code = Code("CNV-034");
pub(crate) const LINE_FEED: Code = Code("CNV-038");
/// Records of no type were skipped.
pub(crate) const SKIPPED_UNKNOWN: Code = Code("CNV-039");
/// Members, elements or attributes were left out because the user asked for it.
pub(crate) const IGNORED: Code = Code("CNV-040");
/// The map left documents out.
pub(crate) const DROPPED: Code = Code("CNV-041");
/// Numbers of documents became the nearest floats.
pub(crate) const ROUNDED: Code = Code("CNV-042");
/// The way out for lines that `lines:crlf` joins.
pub(crate) const LINE_FEED_HINT: &str =
    "if some lines end in LF only, use `--framing lines:strip-cr`, which reads both line ends";
