//! Errors of XML.

use core::fmt;

use quayline_core::{Breach, Code, Definition, Fault, Finding, Findings, PRESERVE, PRESERVE_REMEDY, Place};

/// A place in the text of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TextPosition {
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
}

impl TextPosition {
    /// The first character of a file.
    pub const START: TextPosition = TextPosition { line: 1, column: 1 };

    /// Returns the place after `text`, if this is the place before it.
    #[must_use]
    pub fn behind(self, text: &[u8]) -> Self {
        let lines = memchr::memchr_iter(b'\n', text).count() as u64;
        let last = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
        let chars = text[last..].iter().filter(|b| **b & 0xc0 != 0x80).count() as u64;
        let column = if lines > 0 { 1 + chars } else { self.column + chars };
        TextPosition { line: self.line + lines, column }
    }
}

/// One thing that is wrong, with its place. `Display` is the message; [`XmlFault::finding`] adds place and remedy. No text is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct XmlFault {
    /// Kind of the fault.
    pub kind: XmlFaultKind,
    /// Position in the file.
    pub at: TextPosition,
    /// Path of the element, from below the record; empty for the record itself and outside of records.
    pub path: String,
}

/// The faults of one record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct XmlFaults {
    /// The faults, at least one.
    pub faults: Vec<XmlFault>,
    /// True if the sink received a document, which the caller must discard.
    pub sent: bool,
}

/// Kinds of faults.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum XmlFaultKind {
    /// `XML-010`: not well-formed.
    Syntax(Syntax),
    /// `XML-011`: a document type definition.
    Doctype,
    /// `XML-012`: another encoding than UTF-8.
    Encoding,
    /// `XML-012`: the declaration names another encoding than UTF-8.
    Declared {
        /// The encoding, if it has the form of a name.
        encoding: Option<String>,
    },
    /// `XML-013`: the file ends inside an element.
    Truncated,
    /// `XML-014`: an element (with all in it) or other markup longer than `record_bytes_max`.
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// `XML-015`: elements nested deeper than `depth_max`.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// `XML-020`: an element that the group has no field for, or that is not the record's.
    UnknownElement {
        /// Name of the element, if it is short enough to be a name.
        name: String,
        /// The record's or a similar name.
        expected: Option<String>,
    },
    /// `XML-021`: an element that may occur once occurs again.
    Repeated,
    /// `XML-022`: the elements of a list do not follow each other directly.
    Scattered,
    /// `XML-023`: text where elements are expected.
    TextInGroup,
    /// `XML-024`: an attribute that has no meaning here.
    Attribute {
        /// Name of the attribute.
        name: String,
    },
    /// `XML-024`: the prefix of an attribute is not declared.
    Prefix {
        /// Name of the attribute with its prefix.
        name: String,
    },
    /// `XML-025`: an entity that is not one of the five.
    Entity,
    /// `XML-026`: `escaped="true"`, but a backslash begins neither `\\` nor `\uHHHH`.
    Escape,
    /// `XML-027`: a null element that is not empty.
    NilWithContent,
    /// `XML-028`: the content of an element of bytes is not hexadecimal.
    Hex,
    /// `XML-029`: the content of an element of a truth value is not one of the four forms.
    NotBool,
    /// `XML-029`: the value of `xsi:nil` is not one of them.
    NotNil,
    /// `XML-030`: `xsi:type` names a type whose content may be more than that of the element's own type.
    OtherType {
        /// Local name of the type, or an empty text if the name is too long.
        name: String,
    },
    /// `XML-031`: a group in a list, or the record, is null.
    NilOccurrence,
    /// `XML-036`, a warning: the root element, which is around the records, has attributes.
    RootAttributes {
        /// Names of the attributes, at most a few.
        names: String,
    },
    /// `XML-037`: a text to be written has a character that XML does not allow.
    Unwritable {
        /// The character.
        character: char,
    },
    /// `XML-038`: an empty text to be written is in an element whose schema gives a default for it.
    EmptyIsDefault,
    /// `XML-032` to `XML-035`: the record exceeds a limit of its schema.
    Limit {
        /// The limit.
        breach: Breach,
        /// The kind of file that states it.
        definition: Definition,
    },
}

/// Ways in which text is not well-formed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Syntax {
    /// Text outside of elements.
    TextOutside,
    /// An end tag without its start tag.
    EndTag,
    /// `<` that begins no markup.
    Markup,
    /// A second outermost element, or none.
    Root,
    /// A character that XML does not allow.
    Character,
    /// An `&` that begins no reference.
    Reference,
    /// A malformed attribute.
    AttributeForm,
    /// `]]>` in text.
    SectionEnd,
    /// `--` in a comment.
    Comment,
}

impl XmlFault {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        Code(match &self.kind {
            XmlFaultKind::Syntax(_) => "XML-010",
            XmlFaultKind::Doctype => "XML-011",
            XmlFaultKind::Encoding | XmlFaultKind::Declared { .. } => "XML-012",
            XmlFaultKind::Truncated => "XML-013",
            XmlFaultKind::TooLarge { .. } => "XML-014",
            XmlFaultKind::TooDeep { .. } => "XML-015",
            XmlFaultKind::UnknownElement { .. } => "XML-020",
            XmlFaultKind::Repeated => "XML-021",
            XmlFaultKind::Scattered => "XML-022",
            XmlFaultKind::TextInGroup => "XML-023",
            XmlFaultKind::Attribute { .. } | XmlFaultKind::Prefix { .. } => "XML-024",
            XmlFaultKind::Entity => "XML-025",
            XmlFaultKind::Escape => "XML-026",
            XmlFaultKind::NilWithContent => "XML-027",
            XmlFaultKind::Hex => "XML-028",
            XmlFaultKind::NotBool | XmlFaultKind::NotNil => "XML-029",
            XmlFaultKind::OtherType { .. } => "XML-030",
            XmlFaultKind::NilOccurrence => "XML-031",
            XmlFaultKind::RootAttributes { .. } => "XML-036",
            XmlFaultKind::Unwritable { .. } => "XML-037",
            XmlFaultKind::EmptyIsDefault => "XML-038",
            XmlFaultKind::Limit { breach, .. } => match breach {
                Breach::Missing | Breach::Null => "XML-032",
                Breach::Characters { .. } | Breach::Bytes { .. } => "XML-033",
                Breach::TooFew { .. } | Breach::TooMany { .. } => "XML-035",
                _ => "XML-034",
            },
        })
    }

    fn remedy(&self) -> String {
        match &self.kind {
            XmlFaultKind::Syntax(Syntax::Character | Syntax::Reference) => {
                "the program that wrote the file must escape `<` and `&` and leave out control characters"
            }
            XmlFaultKind::Syntax(Syntax::SectionEnd) => "the program that wrote the file must write it as `]]&gt;`",
            XmlFaultKind::Syntax(_) => "correct the file with the program that wrote it: it is not well-formed XML",
            XmlFaultKind::Doctype => {
                "remove the <!DOCTYPE …>: definitions are not read, so that entities cannot expand without end"
            }
            XmlFaultKind::Declared { .. } => {
                "if the file is in UTF-8, change the declaration to encoding=\"UTF-8\"; otherwise convert the file too, for example with `iconv -f NAME -t UTF-8`"
            }
            XmlFaultKind::Encoding => "convert the file to UTF-8, for example with `iconv -t UTF-8`",
            XmlFaultKind::Truncated => "the transfer stopped early: compare the file's size with the sender's",
            XmlFaultKind::TooLarge { .. } => {
                "look for an element that is not closed, or allow more with `--limit record-bytes=N`"
            },
            XmlFaultKind::TooDeep { .. } => {
                "look for an element nested by mistake or one that is not closed, or allow more with `--limit depth=N`"
            },
            XmlFaultKind::UnknownElement { name, .. } if name == PRESERVE => PRESERVE_REMEDY,
            XmlFaultKind::UnknownElement { expected: Some(expected), .. } => {
                return format!("`{expected}` is expected");
            }
            XmlFaultKind::UnknownElement { expected: None, .. } => "remove the element or correct its name",
            XmlFaultKind::Repeated => "keep one of the elements; only fields with OCCURS repeat",
            XmlFaultKind::Scattered => "put the elements of the list next to each other",
            XmlFaultKind::TextInGroup => "put the text into an element of the group",
            XmlFaultKind::Attribute { name } if name == "nil" => {
                "to make the element null, write `xsi:nil=\"true\"`; otherwise describe the attribute, or remove it"
            }
            XmlFaultKind::Attribute { .. } => "put the value into an element, or describe the attribute",
            XmlFaultKind::Prefix { .. } => "declare the prefix with `xmlns:` in the element or in an enclosing one",
            XmlFaultKind::Entity => "write the character itself, or a reference such as &#233;",
            XmlFaultKind::Escape => "double each backslash, or leave out the attribute `escaped`",
            XmlFaultKind::NilWithContent => "leave out the attribute `nil` or the content",
            XmlFaultKind::Hex => "write two hexadecimal digits for each byte, such as 7e2a for `~*`",
            XmlFaultKind::NotBool => "write true, false, 1 or 0, or describe the element as text",
            XmlFaultKind::NotNil => "write true, false, 1 or 0",
            XmlFaultKind::OtherType { .. } => {
                "in a copy of the schema, give the element this type, or declare a separate element for each type in the documents"
            }
            XmlFaultKind::NilOccurrence => "leave the element out: a list has no null groups",
            XmlFaultKind::RootAttributes { .. } => {
                "if their values matter, put them into the records, or describe the whole document by an XML schema"
            }
            XmlFaultKind::Unwritable { .. } => {
                "correct the source, or let the map remove or replace the character"
            }
            XmlFaultKind::EmptyIsDefault => {
                "leave the element out, let the map set a value, or remove `default` or `fixed` from the element in a copy of the schema"
            }
            XmlFaultKind::Limit { breach, definition } => return breach.hint(*definition),
        }
        .to_owned()
    }

    /// The fault as a finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let narrow = |n: u64| Some(u32::try_from(n).unwrap_or(u32::MAX));
        let path = (!self.path.is_empty()).then(|| self.path.clone());
        let place = match self.kind {
            // The text has no place in a file yet.
            XmlFaultKind::Unwritable { .. } | XmlFaultKind::EmptyIsDefault => Place { path, ..Place::default() },
            _ => Place { line: narrow(self.at.line), column: narrow(self.at.column), path, ..Place::default() },
        };
        let of_severity = match self.kind {
            XmlFaultKind::RootAttributes { .. } => Finding::warning,
            _ => Finding::error,
        };
        of_severity(self.code(), Fault::Sender, self.to_string()).at(place).hint(self.remedy())
    }
}

impl XmlFaults {
    /// The faults as findings.
    #[must_use]
    pub fn findings(&self) -> Findings {
        Findings(self.faults.iter().map(XmlFault::finding).collect())
    }
}

impl fmt::Display for XmlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            XmlFaultKind::Syntax(syntax) => f.write_str(match syntax {
                Syntax::TextOutside => "text outside of any element",
                Syntax::EndTag => "an end tag that does not close the element that is open",
                Syntax::Markup => "`<` begins no markup",
                Syntax::Root => "a file has exactly one outermost element",
                Syntax::Character => "a character that XML 1.0 does not allow",
                Syntax::Reference => "`&` begins no reference",
                Syntax::SectionEnd => "`]]>` in text, which only ends a CDATA section",
                Syntax::Comment => "`--` in a comment, which only ends it, as `-->`",
                Syntax::AttributeForm => "an attribute is not of the form name=\"value\", or occurs twice",
            }),
            XmlFaultKind::Doctype => f.write_str("the file has a document type definition with declarations"),
            XmlFaultKind::Encoding => f.write_str("the file is not in UTF-8"),
            XmlFaultKind::Declared { encoding: Some(name) } => {
                write!(f, "the XML declaration names the encoding {name}, and only UTF-8 is read")
            }
            XmlFaultKind::Declared { encoding: None } => {
                f.write_str("the XML declaration names another encoding than UTF-8")
            }
            XmlFaultKind::Truncated => f.write_str("the file ends inside an element"),
            XmlFaultKind::TooLarge { limit } => write!(f, "an element is longer than {limit} bytes"),
            XmlFaultKind::TooDeep { limit } => write!(f, "elements are nested deeper than {limit}"),
            XmlFaultKind::UnknownElement { name, .. } if name.is_empty() => f.write_str("an element is not known here"),
            XmlFaultKind::UnknownElement { name, .. } => write!(f, "the element {name} is not known here"),
            XmlFaultKind::Repeated => f.write_str("the element occurs here a second time"),
            XmlFaultKind::Scattered => f.write_str("the list continues after other elements"),
            XmlFaultKind::TextInGroup => f.write_str("text appears where only elements are expected"),
            XmlFaultKind::Attribute { name } => write!(f, "the attribute {name} is not known here"),
            XmlFaultKind::Prefix { name } => write!(f, "the prefix of the attribute {name} is not declared"),
            XmlFaultKind::Entity => f.write_str("a reference to an entity that is not lt, gt, amp, apos or quot"),
            XmlFaultKind::Escape => f.write_str("a backslash begins neither \\\\ nor \\uHHHH"),
            XmlFaultKind::NilWithContent => f.write_str("the element is null (nil) and has content"),
            XmlFaultKind::NotBool => f.write_str("the content is not a truth value: expected true, false, 1 or 0"),
            XmlFaultKind::NotNil => f.write_str("xsi:nil is not a truth value: expected true, false, 1 or 0"),
            XmlFaultKind::OtherType { name } if name.is_empty() => {
                f.write_str("xsi:type names a type that the shape does not allow here")
            }
            XmlFaultKind::OtherType { name } => {
                write!(f, "the element has the type {name} (xsi:type), which the shape does not allow here")
            }
            XmlFaultKind::RootAttributes { names } => {
                write!(f, "attributes of the root element are not read: {names}")
            }
            XmlFaultKind::Unwritable { character } => {
                write!(f, "the text has the character U+{:04X}, which XML 1.0 does not allow", u32::from(*character))
            }
            XmlFaultKind::EmptyIsDefault => {
                f.write_str("the text is empty, and readers give an empty element its `default` or `fixed` value")
            }
            XmlFaultKind::NilOccurrence => f.write_str("a group in a list, or the record, is null (xsi:nil)"),
            XmlFaultKind::Limit { breach: Breach::Missing, .. } => {
                f.write_str("a mandatory element or attribute is missing")
            }
            XmlFaultKind::Limit { breach, .. } => breach.fmt(f),
            XmlFaultKind::Hex => {
                f.write_str("the element holds bytes, but its content is not an even number of hexadecimal digits")
            }
        }
    }
}

impl std::error::Error for XmlFault {}

impl fmt::Display for XmlFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings().fmt(f)
    }
}

impl std::error::Error for XmlFaults {}
