//! Errors of JSON text, with place and remedy.

use core::fmt;

use quayline_core::{Breach, ByteOffset, Code, Definition, Fault, Finding, Findings, PRESERVE_REMEDY, Place};

/// Kinds of errors. `Display` writes the message without the place; it never holds a value of the document.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// `JSON-001`: a character that the grammar does not allow here.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// Text that the grammar allows.
        expected: &'static str,
        /// Kind of the byte found.
        found: &'static str,
    },
    /// `JSON-002`: the text ends inside the document.
    #[error("the document ends where {expected} is expected")]
    End {
        /// Text that the grammar requires.
        expected: &'static str,
    },
    /// `JSON-003`: a control character inside a string.
    #[error("a string contains the control character {byte:#04x}")]
    Control {
        /// The byte.
        byte: u8,
    },
    /// `JSON-004`: an escape that JSON does not have.
    #[error("a backslash is not followed by one of \" \\ / b f n r t or u and four hexadecimal digits")]
    Escape,
    /// `JSON-005`: half of a surrogate pair.
    #[error("an escape is half of a surrogate pair")]
    Surrogate,
    /// `JSON-006`: bytes that are not UTF-8.
    #[error("the text is not UTF-8")]
    Utf8,
    /// `JSON-007`: a number with a leading zero.
    #[error("a number starts with a superfluous zero")]
    LeadingZero,
    /// `JSON-008`: nested too deeply.
    #[error("objects and arrays are nested more than {limit} deep")]
    Depth {
        /// `Limits::depth_max`.
        limit: usize,
    },
    /// `JSON-009`: text after the document.
    #[error("expected the end of the document, found {found}")]
    Behind {
        /// Kind of the byte found.
        found: &'static str,
    },
    /// `JSON-010`: a member twice in one object.
    #[error("the member occurs twice in its object")]
    Duplicate,
    /// `JSON-011`: a member that the shape does not have.
    #[error("the layout has no such member")]
    Unknown {
        /// The name of the shape that is most like it.
        nearest: Option<String>,
        /// It is the member that `--preserve` adds.
        preserves: bool,
    },
    /// `JSON-012`: a value of the wrong kind.
    #[error("expected {expected}, found {found}")]
    Kind {
        /// Values that the node accepts.
        expected: &'static str,
        /// Value found.
        found: &'static str,
    },
    /// `JSON-013`: an exponent that gives more digits than a decimal can have.
    #[error("the number needs more than {limit} digits without its exponent")]
    Digits {
        /// Most digits.
        limit: usize,
    },
    /// `JSON-014`: a number beyond the node's float.
    #[error("the number is beyond the range of the field's floating-point format")]
    Float,
    /// `JSON-015`: bytes that are not hexadecimal.
    #[error("expected a string of hexadecimal digits, two for each byte")]
    Hex,
    /// `JSON-016` to `JSON-019`: the document exceeds a limit of its schema.
    #[error("{breach}")]
    Limit {
        /// The limit.
        breach: Breach,
        /// The kind of file that states it.
        definition: Definition,
    },
    /// `JSON-020`: a document longer than the limit.
    #[error("the document is longer than {limit} bytes")]
    TooLong {
        /// `Limits::record_bytes_max`.
        limit: usize,
    },
    /// `JSON-021`: the array of documents has a syntax error between two of them.
    #[error("expected {expected} in the array of documents, found {found}")]
    Array {
        /// Text that the grammar allows.
        expected: &'static str,
        /// Kind of the byte found.
        found: &'static str,
    },
    /// `JSON-022`: text after the array.
    #[error("expected the end of the text after the array of documents, found {found}")]
    BehindArray {
        /// Kind of the byte found.
        found: &'static str,
    },
    /// `JSON-023`: the array is not closed.
    #[error("the text ends before the array of documents is closed")]
    OpenArray,
}

impl JsonError {
    /// The stable code, listed in `docs/reference/errors/json.md`.
    #[must_use]
    pub fn code(&self) -> Code {
        Code(match self {
            JsonError::Unexpected { .. } => "JSON-001",
            JsonError::End { .. } => "JSON-002",
            JsonError::Control { .. } => "JSON-003",
            JsonError::Escape => "JSON-004",
            JsonError::Surrogate => "JSON-005",
            JsonError::Utf8 => "JSON-006",
            JsonError::LeadingZero => "JSON-007",
            JsonError::Depth { .. } => "JSON-008",
            JsonError::Behind { .. } => "JSON-009",
            JsonError::Duplicate => "JSON-010",
            JsonError::Unknown { .. } => "JSON-011",
            JsonError::Kind { .. } => "JSON-012",
            JsonError::Digits { .. } => "JSON-013",
            JsonError::Float => "JSON-014",
            JsonError::Hex => "JSON-015",
            JsonError::Limit { breach, .. } => match breach {
                Breach::Missing | Breach::Null => "JSON-016",
                Breach::Characters { .. } | Breach::Bytes { .. } => "JSON-017",
                Breach::TooFew { .. } | Breach::TooMany { .. } => "JSON-019",
                _ => "JSON-018",
            },
            JsonError::TooLong { .. } => "JSON-020",
            JsonError::Array { .. } => "JSON-021",
            JsonError::BehindArray { .. } => "JSON-022",
            JsonError::OpenArray => "JSON-023",
        })
    }

    /// Returns the remedy.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            JsonError::Unexpected { found: MARKUP, .. } => {
                "if the file is XML, add `--from xml` to the command; otherwise check the text at this place with a JSON checker"
            }
            JsonError::Unexpected { .. } => {
                "check the text at this place with a JSON checker: a comma, a quote or a bracket is missing or is one too many"
            }
            JsonError::Kind { .. } => {
                "write a value of the expected kind; the copybook or shape says what the member holds"
            }
            JsonError::Array { .. } => return None,
            JsonError::End { .. } | JsonError::OpenArray => {
                "the text may have been truncated in transfer; send it again whole"
            }
            JsonError::Control { .. } => "write it as an escape, such as \\n or \\u0000",
            JsonError::Escape => "write a backslash itself as \\\\",
            JsonError::Surrogate => "write both halves, such as \\ud83d\\ude00, or the character itself",
            JsonError::Utf8 => "JSON is UTF-8; convert the text from its code page first",
            JsonError::LeadingZero => "write the number without leading zeros, or as a string",
            JsonError::Depth { .. } => {
                "look for an object nested by mistake or a bracket that is not closed, or allow more with `--limit depth=N`"
            }
            JsonError::Behind { .. } => "write one document on each line, or all of them in one array",
            JsonError::Duplicate => "leave one of the two out",
            JsonError::Unknown { preserves: true, .. } => PRESERVE_REMEDY,
            JsonError::Unknown { nearest: Some(name), .. } => return Some(format!("did you mean `{name}`?")),
            JsonError::Unknown { .. } => "leave it out, or ignore unknown members with `--unknown ignore`",
            JsonError::Digits { .. } => "write the number with fewer digits",
            JsonError::Float => {
                "choose a field with a larger range, or correct the number: its magnitude is too large or too small"
            }
            JsonError::Hex => "write bytes as in \"00ff1a\"",
            JsonError::Limit { breach, definition } => return Some(breach.hint(*definition)),
            JsonError::TooLong { .. } => {
                "look for a brace or quote that is not closed, or allow more with `--limit record-bytes=N`"
            }
            JsonError::BehindArray { .. } => "put all documents into the array, or write them without one",
        };
        Some(hint.to_owned())
    }

    /// Returns the finding at `place`.
    #[must_use]
    pub fn finding(&self, place: Place) -> Finding {
        let finding = Finding::error(self.code(), Fault::Sender, self.to_string()).at(place);
        match self.hint() {
            Some(hint) => finding.hint(hint),
            None => finding,
        }
    }
}

/// One thing that is wrong in a document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JsonProblem {
    /// The error.
    pub error: JsonError,
    /// Byte in the document, from 0.
    pub byte: usize,
    /// Line in the document, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// JSON path such as `$.A.B[3].C`, indices from 0.
    pub path: String,
}

/// All faults of a refused document in the order of the text. Only the last one can be a syntax error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JsonFault {
    /// The problems, at least one.
    pub problems: Vec<JsonProblem>,
    /// Number of problems beyond `Limits::findings_max`.
    pub more: usize,
}

impl JsonFault {
    /// Returns the problems as findings. `place` is the start of the document; its file, record, line and byte are carried over.
    #[must_use]
    pub fn findings(&self, place: &Place) -> Findings {
        let mut findings: Vec<Finding> = self.problems.iter().map(|problem| problem.finding(place)).collect();
        if self.more > 0
            && let Some(last) = findings.last_mut()
        {
            last.message.push_str(&format!(" (and {} more problems in this document)", self.more));
        }
        Findings(findings)
    }
}

impl JsonProblem {
    fn finding(&self, start: &Place) -> Finding {
        let mut place = start.clone();
        place.line = Some(start.line.unwrap_or(1) + self.line - 1);
        place.column = Some(match start.column {
            Some(column) if self.line == 1 => column + self.column - 1,
            _ => self.column,
        });
        place.byte = Some(ByteOffset(start.byte.map_or(0, |byte| byte.0) + self.byte as u64));
        place.path = Some(self.path.clone());
        self.error.finding(place)
    }
}

impl fmt::Display for JsonProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}:{} {}: {}", self.error.code(), self.line, self.column, self.path, self.error)
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if i == 0 { "" } else { "\n" })?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for JsonFault {}

/// Begin of XML, which is no part of the grammar.
const MARKUP: &str = "`<`";

/// Describes a byte for messages by its role in the grammar, not its content.
pub(crate) fn describe(byte: u8) -> &'static str {
    match byte {
        b'{' => "`{`",
        b'}' => "`}`",
        b'[' => "`[`",
        b']' => "`]`",
        b':' => "`:`",
        b',' => "`,`",
        b'"' => "`\"`",
        b'\'' => "`'`",
        b'/' => "`/`",
        b'+' => "`+`",
        b'-' => "`-`",
        b'.' => "`.`",
        b'<' => MARKUP,
        b'0'..=b'9' => "a digit",
        b'a'..=b'z' | b'A'..=b'Z' => "a letter",
        b' ' | b'\t' | b'\n' | b'\r' => "white space",
        0..=0x1f | 0x7f => "a control character",
        0x80.. => "a character that is not ASCII",
        _ => "another character",
    }
}
