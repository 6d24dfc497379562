//! XML: a sink that writes documents as elements, and a source that reads them back.
//!
//! * [`XmlWriter`] is a [`quayline_core::Sink`]: `<records>` holds one `<record>` a document, each on a line of its own.
//! * [`RecordSplitter`] finds record elements in a byte stream; [`XmlReader`] turns one into events.
//!
//! Sans-IO. XML 1.0 in UTF-8.
//!
//! # How values are written
//! | value | element |
//! |---|---|
//! | text, number | `<NAME>text</NAME>` |
//! | empty text | `<NAME></NAME>` |
//! | null | `<NAME xsi:nil="true"/>`, so that it stays apart from empty text and from an absent element |
//! | absent | no element |
//! | list | one element for each occurrence, in sequence; an empty list has no element, and is read as empty if its minimum is 0 |
//! | text with characters that XML 1.0 cannot hold (0x00 to 0x1f but tab and line ends, U+FFFE, U+FFFF) | `<NAME escaped="true">`, each as `\uHHHH`, `\` as `\\` |
//!
//! The form of the last row loses nothing, and its attribute shows other readers that the text is not plain. An error would reject
//! every record with LOW-VALUES in a text field, and a replacement character could not be read back. Documents of an XML schema
//! ([`XmlStyle::is_described`]) cannot have that attribute, so a document with such a character is refused (`XML-037`).
//!
//! # Names
//! A name that is not an XML name is mapped: other characters become `_xHHHH_`, and a start that XML does not allow (a digit, `-`,
//! `.`) gets `_` before it: `1ST-AMT` is `<_1ST-AMT>`. Two names of one group that map to the same name are refused (`XML-001`).
//!
//! # Attributes
//! A field called `@name` is the attribute `name` of the enclosing group; a field called `$text` is the text of that group:
//! `<Money currency="EUR">1.50</Money>` is the group `Money` with `@currency` and `$text`. An attribute that is absent or null is
//! not written. An attribute with characters that XML 1.0 cannot hold is preceded by an attribute that marks it:
//! `code.escaped="true" code="\u0001"`. The mark of `$text` is `escaped`, or `text.escaped` if the group has a field `@escaped`.
//!
//! # Departures
//! * Namespaces are not resolved: prefixes of elements and attributes are cut. A writer may write some ([`XmlStyle::namespaces`]).
//!   The one exception is the namespace of `xsi:type`: a prefix that the record declares for it means the same as `xsi` within the
//!   element that declares it. `xsi` itself needs no declaration. At most 64 other prefixes have that meaning at a time.
//! * Attributes without a field are refused, since their values would be lost, except `xmlns` and those prefixed `xmlns:`, `xml:` or
//!   `xsi:`. Without an XML schema, `nil` and `escaped` with a truth value are also accepted. A field `@nil` or `@escaped` is an
//!   ordinary attribute.
//! * Document type definitions are not read, so the only entities are the five of XML and character references, and no expansion is
//!   possible. A declaration that only names a file is skipped; one with its own declarations is refused (`XML-011`).

mod fault;
mod names;
mod reader;
mod splitter;
mod style;
mod text;
mod writer;

pub use fault::{Syntax, TextPosition, XmlFault, XmlFaultKind, XmlFaults};
pub use names::element_name;
pub use reader::XmlReader;
pub use splitter::{EndOfInput, RawRecord, RecordSplitter, XmlPart, XmlStep};
pub use style::{LeafTexts, Namespaces, Spacing, TypeNames, WhiteSpace, XmlStyle};
pub use writer::XmlWriter;
