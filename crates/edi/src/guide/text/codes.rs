//! Codes of findings about guide files; explained in `docs/reference/errors/guide.md`.

use quayline_core::Code;

/// Indentation that fits no line above, or tabs.
pub(super) const INDENTATION: Code = Code("GDE-001");
/// Quotes that do not end, an unknown escape.
pub(super) const QUOTES: Code = Code("GDE-002");
/// A word that is not known here.
pub(super) const WORD: Code = Code("GDE-003");
/// A line is incomplete.
pub(super) const MISSING: Code = Code("GDE-004");
/// An invalid value.
pub(super) const VALUE: Code = Code("GDE-005");
/// A duplicate definition.
pub(super) const TWICE: Code = Code("GDE-006");
/// The structure or the dictionary refers to an undefined name.
pub(super) const UNDEFINED: Code = Code("GDE-007");
/// The head of the file lacks mandatory information.
pub(super) const HEAD: Code = Code("GDE-008");
/// An include or the base of an overlay cannot be read.
pub(super) const UNREADABLE: Code = Code("GDE-009");
/// A file includes itself, or includes nest too deep.
pub(super) const CIRCLE: Code = Code("GDE-010");
/// Two includes define the same thing differently.
pub(super) const CONFLICT: Code = Code("GDE-011");
/// The structure cannot be.
pub(super) const STRUCTURE: Code = Code("GDE-012");
/// An overlay names an item that its base does not have.
pub(super) const NOT_IN_BASE: Code = Code("GDE-013");
/// Longer or deeper than the limit, or more findings than are shown.
pub(super) const LIMIT: Code = Code("GDE-014");
