//! Data model of guides: the output of guide files, importers and overlays, and the input of the compiler.

use std::collections::BTreeMap;

use quayline_core::stored;

use crate::delimiters::Standard;

/// Allowed content of one transaction set or message of one version.
///
/// Envelope segments (ST and SE, UNH and UNT) are not part of it. Names and descriptions are informative; nothing depends on them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Guide {
    /// Short name, unique among the guides in use: `837P`, `ORDERS-D96A`.
    pub name: String,
    /// Descriptive title.
    pub title: Option<String>,
    /// X12 or EDIFACT.
    pub standard: Standard,
    /// Version by which an interchange selects this guide. X12: GS08 or ST03 (`005010X222A1`), or a prefix of it (`005010`).
    /// EDIFACT: version, release and agency of UNH S009, and the association code if there is one (`D:96A:UN`, `D:96A:UN:EAN008`).
    pub version: String,
    /// ST01 (`837`) or UNH 0065 (`ORDERS`).
    pub transaction: String,
    /// GS01 (`HC`).
    pub functional_group: Option<String>,
    /// Source of an imported guide: package, version, licence.
    pub source: Option<String>,
    /// Definitions that the structure refers to.
    pub dictionary: Dictionary,
    /// Segments and loops in order.
    pub structure: Vec<Item>,
    /// Balances and rules between segments.
    pub rules: Vec<Rule>,
}

/// Elements, composites, segments and code lists by their ids.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Dictionary {
    /// Elements by data element number: `98`, `3035`.
    pub elements: BTreeMap<String, ElementDef>,
    /// Composites by id: `C040`, `C082`.
    pub composites: BTreeMap<String, CompositeDef>,
    /// Segments by tag: `NM1`, `NAD`.
    pub segments: BTreeMap<String, SegmentDef>,
    /// Code lists by name, usually the number of the element.
    pub codes: BTreeMap<String, CodeList>,
}

/// A simple data element.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ElementDef {
    /// Descriptive name.
    pub name: Option<String>,
    /// Representation.
    pub data_type: DataType,
    /// Fewest characters (of a number: digits).
    pub min: u32,
    /// Most characters (of a number: digits).
    pub max: u32,
    /// Name of its code list in the dictionary.
    pub codes: Option<String>,
}

/// Representation of a simple data element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DataType {
    /// X12 `AN`: characters.
    Text,
    /// X12 `ID`: a code.
    Identifier,
    /// X12 `N`, `N0` to `N9`: an integer with this many implied decimal places.
    Implied(u8),
    /// X12 `R`: a number with a decimal point if needed.
    Decimal,
    /// X12 `DT`: YYMMDD or CCYYMMDD.
    Date,
    /// X12 `TM`: HHMM, HHMMSS, HHMMSSd, HHMMSSdd.
    Time,
    /// X12 `B`: bytes.
    Binary,
    /// EDIFACT `a`: letters.
    Letters,
    /// EDIFACT `an`: any characters.
    Alphanumeric,
    /// EDIFACT `n`: a number with the interchange's decimal mark.
    Number,
}

/// Codes of an element.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CodeList {
    /// Descriptive name.
    pub name: Option<String>,
    /// Codes in order, each once.
    pub codes: Vec<CodeEntry>,
    /// Maintained externally (ICD-10, ISO 3166): an unlisted code is not an error.
    pub open: bool,
}

/// One code.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CodeEntry {
    /// Value in an element.
    pub value: String,
    /// Descriptive name.
    pub name: Option<String>,
    /// First day on which it is valid, `YYYYMMDD`.
    pub from: Option<u32>,
    /// Last day on which it is valid, `YYYYMMDD`.
    pub until: Option<u32>,
}

/// Several components in one element.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CompositeDef {
    /// Descriptive name.
    pub name: Option<String>,
    /// Components in order; always simple elements.
    pub components: Vec<ElementUse>,
    /// Notes between components.
    pub notes: Vec<SyntaxNote>,
}

/// A segment as the dictionary has it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SegmentDef {
    /// Descriptive name.
    pub name: Option<String>,
    /// Elements in order, from element 1.
    pub elements: Vec<ElementUse>,
    /// Notes between elements.
    pub notes: Vec<SyntaxNote>,
}

/// An element in a segment, or a component in a composite.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ElementUse {
    /// The element or composite.
    pub of: ElementOf,
    /// Descriptive name, if it differs from the element's own.
    pub name: Option<String>,
    /// Requirement of the element or component.
    pub requirement: Requirement,
    /// Most repetitions; `None` is unbounded. 1 for components.
    pub repeat: Option<u32>,
}

/// Kind of an element in a segment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ElementOf {
    /// Simple, by data element number.
    Element(String),
    /// Composite, by id.
    Composite(String),
}

/// Requirement of an item: mandatory, optional or not used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Requirement {
    /// X12 `M`, guides' `R`.
    Mandatory,
    /// X12 `O`, `X`, `C`, guides' `S`.
    Optional,
    /// Guides' `N`.
    NotUsed,
}

/// A syntax note: X12 `P0304`, EDIFACT `D1(010,020)`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SyntaxNote {
    /// Kind of the requirement.
    pub kind: NoteKind,
    /// Elements (or components) by their number from 1, in the note's order.
    pub elements: Vec<u8>,
}

/// Kind of a syntax note (X12.6 clause 3.8.4.3 and ISO 9735-1 dependency notes).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoteKind {
    /// X12 P, EDIFACT D2: if any is present, all must be.
    AllOrNone,
    /// X12 R, EDIFACT D3: at least one.
    OneOrMore,
    /// X12 E, EDIFACT D4: at most one.
    OneOrNone,
    /// EDIFACT D1: exactly one.
    ExactlyOne,
    /// X12 C, EDIFACT D5: if the first is present, all others must be.
    IfFirstThenAll,
    /// X12 L, EDIFACT D6: if the first is present, at least one other must be.
    IfFirstThenOne,
    /// EDIFACT D7: if the first is present, none of the others may be.
    IfFirstThenNone,
}

/// A segment or a loop at its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Item {
    /// A segment.
    Segment(SegmentUse),
    /// A loop (EDIFACT: segment group).
    Loop(LoopUse),
}

/// A segment at its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SegmentUse {
    /// Tag, also the dictionary's key.
    pub tag: String,
    /// Name in documents among siblings with the same tag (`REF_PriorAuthorization`); by default the compiler derives one from the qualifier.
    pub id: Option<String>,
    /// Descriptive name.
    pub name: Option<String>,
    /// Requirement of the segment.
    pub requirement: Requirement,
    /// Most occurrences in a row; `None` is unbounded.
    pub max: Option<u32>,
    /// Position among its siblings; adjacent ones with the same position may come in any order. 0: after the preceding ones.
    pub position: u32,
    /// Condition that distinguishes it from siblings with the same tag. By default the compiler uses the first element whose codes differ.
    pub qualifier: Option<Qualifier>,
    /// Differences of its elements from the dictionary.
    pub changes: Vec<ElementChange>,
    /// Notes in place of the dictionary's.
    pub notes: Option<Vec<SyntaxNote>>,
}

/// `01 = ST|BY`: the values of one element that say which of several segments it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Qualifier {
    /// Element from 1.
    pub element: u8,
    /// Component from 1; 0 for a simple element.
    pub component: u8,
    /// Any of these.
    pub values: Vec<String>,
}

/// Difference of an element from the dictionary at one place of the structure.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ElementChange {
    /// Element from 1.
    pub element: u8,
    /// Component from 1; 0 is the element itself.
    pub component: u8,
    /// Descriptive name.
    pub name: Option<String>,
    /// Requirement, overriding the dictionary.
    pub requirement: Option<Requirement>,
    /// Minimum number of characters, overriding the dictionary.
    pub min: Option<u32>,
    /// Maximum number of characters, overriding the dictionary.
    pub max: Option<u32>,
    /// Maximum number of repetitions, overriding the dictionary.
    pub repeat: Option<u32>,
    /// Codes, overriding the dictionary.
    pub codes: Option<Codes>,
    /// Representation, overriding the dictionary, such as a date in an AN element.
    pub data_type: Option<DataType>,
}

/// Codes at one place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Codes {
    /// A code list of the dictionary.
    List(String),
    /// Only these codes.
    These(Vec<String>),
    /// Any value.
    Any,
}

/// A loop at its place. Its first item is a segment, its trigger: it opens each repetition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoopUse {
    /// `2010AA`, `N1`, `SG25`.
    pub id: String,
    /// Descriptive name.
    pub name: Option<String>,
    /// Requirement of the loop.
    pub requirement: Requirement,
    /// Most repetitions; `None` is unbounded.
    pub repeat: Option<u32>,
    /// Position, as for a segment.
    pub position: u32,
    /// For a loop that begins with HL and is repeated for each level: the levels, and their allowed parents. Empty: any.
    pub levels: Vec<HlLevel>,
    /// Segments and loops in order.
    pub items: Vec<Item>,
}

/// `level P in O T`: a level of a hierarchy with consecutive HL loops, identified by HL03.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HlLevel {
    /// HL03.
    pub code: String,
    /// True if it may be without a parent level.
    pub top: bool,
    /// The allowed parent levels.
    pub within: Vec<String>,
}

/// A balance or a rule between segments.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Short name, shown in findings.
    pub name: String,
    /// Loop whose every repetition is checked; empty is the transaction.
    pub at: String,
    /// The expression as written, which must be true.
    pub expression: String,
    /// Message for a violation.
    pub message: Option<String>,
    /// A warning rather than an error.
    pub warning: bool,
}

stored!(struct Guide {
    name, title, standard, version, transaction, functional_group, source, dictionary, structure, rules,
});
stored!(struct Dictionary { elements, composites, segments, codes });
stored!(struct ElementDef { name, data_type, min, max, codes });
stored!(enum DataType {
    0 Text, 1 Identifier, 2 Implied(places), 3 Decimal, 4 Date, 5 Time, 6 Binary, 7 Letters, 8 Alphanumeric, 9 Number,
});
stored!(struct CodeList { name, codes, open });
stored!(struct CodeEntry { value, name, from, until });
stored!(struct CompositeDef { name, components, notes });
stored!(struct SegmentDef { name, elements, notes });
stored!(struct ElementUse { of, name, requirement, repeat });
stored!(enum ElementOf { 0 Element(number), 1 Composite(id) });
stored!(enum Requirement { 0 Mandatory, 1 Optional, 2 NotUsed });
stored!(struct SyntaxNote { kind, elements });
stored!(enum NoteKind {
    0 AllOrNone, 1 OneOrMore, 2 OneOrNone, 3 ExactlyOne, 4 IfFirstThenAll, 5 IfFirstThenOne, 6 IfFirstThenNone,
});
stored!(enum Item { 0 Segment(segment), 1 Loop(inner) });
stored!(struct SegmentUse { tag, id, name, requirement, max, position, qualifier, changes, notes });
stored!(struct Qualifier { element, component, values });
stored!(struct ElementChange { element, component, name, requirement, min, max, repeat, codes, data_type });
stored!(enum Codes { 0 List(name), 1 These(values), 2 Any });
stored!(struct LoopUse { id, name, requirement, repeat, position, levels, items });
stored!(struct HlLevel { code, top, within });
stored!(struct Rule { name, at, expression, message, warning });
