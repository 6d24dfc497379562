//! The codes of findings about documents and partners at run time; `docs/reference/errors/partner.md` explains them.

use quayline_core::Code;

/// Two rules fit the same documents.
pub(crate) const AMBIGUOUS: Code = Code("PTN-010");
/// A map cannot be used in its rule.
pub(crate) const MAP: Code = Code("PTN-011");
/// A header field has no value.
pub(crate) const SECRET: Code = Code("PTN-012");
/// A function of a map that a program computes.
pub(crate) const OWN_FUNCTION: Code = Code("PTN-013");

/// Two ranges of control numbers overlap.
pub(crate) const NUMBERS: Code = Code("PTN-014");
/// Conditions of a rule would have to choose a map before it runs.
pub(crate) const NEVER: Code = Code("PTN-015");
/// The condition of a rule cannot be used.
pub(crate) const CONDITION: Code = Code("PTN-016");

/// A change of partners that is not possible.
pub const ROSTER: Code = Code("PTN-017");
/// A partner file that cannot be changed.
pub(crate) const ROSTER_FILE: Code = Code("PTN-018");
/// A partner that was changed since the caller read it.
pub const VERSION: Code = Code("PTN-019");
/// A rule reads an element that its documents do not have.
pub(crate) const ELEMENT: Code = Code("PTN-020");
/// A search names a partner, rule or business field that nothing has.
pub(crate) const UNKNOWN_NAME: Code = Code("PTN-021");

/// The sender is not a partner.
pub(crate) const UNKNOWN_SENDER: Code = Code("PTN-100");
/// The receiver is not us.
pub(crate) const UNKNOWN_RECEIVER: Code = Code("PTN-101");
/// A test where production is expected, or the other way.
pub(crate) const USAGE: Code = Code("PTN-102");
/// The interchange number came before.
pub(crate) const DUPLICATE: Code = Code("PTN-103");
/// Interchange numbers are missing.
pub(crate) const GAP: Code = Code("PTN-104");
/// No rule matches the document.
pub(crate) const NO_RULE: Code = Code("PTN-105");
/// The same file was received before.
pub const SAME_FILE: Code = Code("PTN-106");
/// An acknowledgment is about a document or interchange that was never sent.
pub(crate) const ACK_UNKNOWN: Code = Code("PTN-107");
/// A transaction is larger than the limit.
pub(crate) const TOO_LARGE: Code = Code("PTN-108");
/// The document is in a group or interchange that is rejected.
pub(crate) const REJECTED_WITH: Code = Code("PTN-109");
/// The file holds no interchange that can be processed.
pub(crate) const NO_INTERCHANGE: Code = Code("PTN-110");
/// A partner rejected a sent document or interchange.
pub(crate) const REFUSED: Code = Code("PTN-111");
/// An acknowledgment contradicts itself, an earlier acknowledgment or the state of the sent document.
pub(crate) const ACK_CONTRADICTS: Code = Code("PTN-112");
/// The condition of a rule has no value for a document.
pub(crate) const UNDECIDED: Code = Code("PTN-113");

/// The partner cannot be advised of a rejected document.
pub(crate) const NOT_ADVISED: Code = Code("PTN-114");
/// A text of an advice cannot be written exactly.
pub(crate) const ADVICE_TEXT: Code = Code("PTN-115");

/// The partner for a document to send is unknown.
pub(crate) const NO_PARTNER: Code = Code("PTN-200");
/// The partner has no identity in the standard.
pub(crate) const NO_IDENTITY: Code = Code("PTN-201");
/// Data holds a delimiter of the partner.
pub(crate) const DELIMITER: Code = Code("PTN-202");
/// The output of a map is not a transaction.
pub(crate) const NOT_EDI: Code = Code("PTN-203");
/// An envelope with the wrong parts.
pub(crate) const NO_ENVELOPE: Code = Code("PTN-204");
/// The document names another partner than the caller.
pub(crate) const OTHER_PARTNER: Code = Code("PTN-206");

/// The rule of waiting documents is missing.
pub(crate) const RULE_MISSING: Code = Code("PTN-207");
/// The partner's character set does not have a character of the document.
pub(crate) const CHARACTER: Code = Code("PTN-208");

/// Output cannot be delivered.
pub(crate) const DELIVERY: Code = Code("PTN-300");
/// No entry has this number.
pub const NO_ENTRY: Code = Code("PTN-301");
/// The entry's bytes are not kept.
pub const NO_BYTES: Code = Code("PTN-302");
/// The entry's state does not allow it.
pub const STATE: Code = Code("PTN-303");
/// A stored entry cannot be read.
pub(crate) const DAMAGED: Code = Code("PTN-304");
/// A page of a search begins at a place that the search does not have.
pub const PLACE: Code = Code("PTN-306");
/// The key of the store is missing, another one, or no key.
pub(crate) const KEY: Code = Code("PTN-305");
/// Another worker continued a source between two units of work.
pub(crate) const CONTINUED: Code = Code("PTN-307");
/// A watched folder did not exist.
pub const NEW_FOLDER: Code = Code("PTN-308");
