//! Errors in the content of a transaction, by its guide.

use core::fmt;

use crate::acknowledgment_codes::AcknowledgmentCodes;
use crate::delimiters::Standard;

/// Code of numbers in a form that documents do not keep.
pub(crate) const NUMBER_FORM: &str = "EDI-132";

/// Content of a transaction that its guide does not allow: kind, and place in the guide's terms.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ContentError {
    /// Kind of error.
    pub kind: ContentErrorKind,
    /// X12 or EDIFACT.
    pub standard: Standard,
    /// Segment or element: `CLM`, `CLM05`, `CLM05-1`; of a loop its id.
    pub reference: Box<str>,
    /// Name in the guide.
    pub name: Option<Box<str>>,
    /// Loops around it, `2000A/2000B/2300`; empty directly in the transaction.
    pub loops: Box<str>,
}

/// Kinds of [`ContentError`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ContentErrorKind {
    /// `EDI-101`: a tag that neither the guide nor its dictionary has.
    SegmentUnknown,
    /// `EDI-102`: a segment of the standard that the guide does not use.
    SegmentUndefined,
    /// `EDI-103`: a segment that has no place here.
    SegmentUnexpected,
    /// `EDI-104`: a segment that should have come earlier.
    SegmentOutOfSequence,
    /// `EDI-105`: a segment more often than allowed.
    SegmentTooMany {
        /// Most occurrences.
        max: u32,
    },
    /// `EDI-106`: a loop more often than allowed.
    LoopTooMany {
        /// Most repetitions.
        max: u32,
    },
    /// `EDI-107`: a segment that the guide marks as not used.
    SegmentNotUsed,
    /// `EDI-108`: a mandatory segment is missing.
    SegmentMissing,
    /// `EDI-109`: a mandatory loop is missing.
    LoopMissing {
        /// Tag of the segment that opens it.
        trigger: Box<str>,
    },
    /// `EDI-110`: a qualifier by which the segment has no place here.
    Qualifier {
        /// The value is a code of the standard.
        listed: bool,
    },
    /// `EDI-111`: a mandatory element or component is missing.
    ElementMissing,
    /// `EDI-111`: a segment has no elements, and this is the first mandatory one.
    ElementsMissing,
    /// `EDI-112`: too few characters.
    ElementTooShort {
        /// Fewest.
        min: u32,
        /// Number of characters found.
        found: u32,
    },
    /// `EDI-113`: too many characters.
    ElementTooLong {
        /// Most.
        max: u32,
        /// Number of characters found.
        found: u32,
    },
    /// `EDI-114`: a value that is not in the code list.
    Code {
        /// The value is a code of the standard that the guide does not allow here.
        listed: bool,
    },
    /// `EDI-115`: a code that is not valid on the day.
    CodeOutOfDate {
        /// `YYYYMMDD`.
        day: u32,
    },
    /// `EDI-116`: characters that the data type does not have.
    Characters {
        /// Allowed characters.
        expected: &'static str,
    },
    /// `EDI-117`: no date.
    Date {
        /// The form that it must have.
        expected: &'static str,
    },
    /// `EDI-117`: a date whose form is right and whose day does not exist.
    Day {
        /// The form that it has.
        form: &'static str,
    },
    /// `EDI-118`: no time.
    Time {
        /// The form that it must have.
        expected: &'static str,
    },
    /// `EDI-119`: an element that the guide marks as not used.
    ElementNotUsed,
    /// `EDI-120`: more elements than the segment has.
    ElementsTooMany {
        /// Elements of the segment.
        max: u32,
        /// Number found.
        found: u32,
    },
    /// `EDI-121`: more components than the element has.
    ComponentsTooMany {
        /// Components of the composite; 1 of a simple element.
        max: u32,
        /// Number found.
        found: u32,
    },
    /// `EDI-122`: more repetitions than the element may have.
    RepetitionsTooMany {
        /// Most.
        max: u32,
        /// Number found.
        found: u32,
    },
    /// `EDI-123`: separators after the last value.
    TrailingSeparators,
    /// `EDI-124`: an element that others require is missing.
    Required {
        /// The note, such as `P0304`.
        note: Box<str>,
    },
    /// `EDI-125`: an element that excludes others that are present.
    Excluded {
        /// The note.
        note: Box<str>,
    },
    /// `EDI-126`: HL01 does not count up.
    HlNumber {
        /// The number that is next.
        expected: u64,
    },
    /// `EDI-126`: HL01 came before.
    HlTwice,
    /// `EDI-127`: HL02 is not the number of an earlier HL, with consecutive HL loops.
    HlUnknown,
    /// `EDI-129`: a level that the guide does not allow below the one that HL02 names, or does not have.
    HlLevel {
        /// Allowed parent levels.
        allowed: Option<Box<str>>,
    },
    /// `EDI-127`: HL02 is not the number of the HL above.
    HlParent {
        /// Expected value: the number of the open HL one level up, or no value.
        expected: Option<u64>,
    },
    /// `EDI-128`: HL04 contradicts the presence of child levels.
    HlChild {
        /// Children follow.
        has: bool,
    },
    /// `EDI-130`: a balance or rule of the guide is broken.
    Rule(Box<BrokenRule>),
    /// `EDI-131`: a mandatory text of blanks only.
    Blank,
    /// `EDI-132`: a number in a form that documents do not keep.
    NumberForm {
        /// The number has an exponent; otherwise, superfluous leading zeros.
        exponent: bool,
    },
}

impl ContentErrorKind {
    /// Returns true if the fault changes no value, so that it is a warning.
    pub(crate) fn is_warning(&self) -> bool {
        matches!(self, ContentErrorKind::TrailingSeparators | ContentErrorKind::NumberForm { .. })
    }
}

/// A rule that does not hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BrokenRule {
    /// Name of the rule in the guide.
    pub name: Box<str>,
    /// Message of the guide for a violation, or the rule itself.
    pub message: Box<str>,
    /// Violated requirement.
    pub about: RuleSubject,
}

/// Requirement of a rule.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RuleSubject {
    /// A value.
    Value,
    /// An element to be there.
    ElementMissing,
    /// An element not to be there.
    ElementPresent,
    /// A segment or loop to be there.
    SegmentMissing,
    /// A segment or loop not to be there.
    SegmentPresent,
}

impl ContentError {
    pub(crate) const fn code(&self) -> &'static str {
        match &self.kind {
            ContentErrorKind::SegmentUnknown => "EDI-101",
            ContentErrorKind::SegmentUndefined => "EDI-102",
            ContentErrorKind::SegmentUnexpected => "EDI-103",
            ContentErrorKind::SegmentOutOfSequence => "EDI-104",
            ContentErrorKind::SegmentTooMany { .. } => "EDI-105",
            ContentErrorKind::LoopTooMany { .. } => "EDI-106",
            ContentErrorKind::SegmentNotUsed => "EDI-107",
            ContentErrorKind::SegmentMissing => "EDI-108",
            ContentErrorKind::LoopMissing { .. } => "EDI-109",
            ContentErrorKind::Qualifier { .. } => "EDI-110",
            ContentErrorKind::ElementMissing | ContentErrorKind::ElementsMissing => "EDI-111",
            ContentErrorKind::ElementTooShort { .. } => "EDI-112",
            ContentErrorKind::ElementTooLong { .. } => "EDI-113",
            ContentErrorKind::Code { .. } => "EDI-114",
            ContentErrorKind::CodeOutOfDate { .. } => "EDI-115",
            ContentErrorKind::Characters { .. } => "EDI-116",
            ContentErrorKind::Date { .. } | ContentErrorKind::Day { .. } => "EDI-117",
            ContentErrorKind::Time { .. } => "EDI-118",
            ContentErrorKind::ElementNotUsed => "EDI-119",
            ContentErrorKind::ElementsTooMany { .. } => "EDI-120",
            ContentErrorKind::ComponentsTooMany { .. } => "EDI-121",
            ContentErrorKind::RepetitionsTooMany { .. } => "EDI-122",
            ContentErrorKind::TrailingSeparators => "EDI-123",
            ContentErrorKind::Required { .. } => "EDI-124",
            ContentErrorKind::Excluded { .. } => "EDI-125",
            ContentErrorKind::HlNumber { .. } | ContentErrorKind::HlTwice => "EDI-126",
            ContentErrorKind::HlParent { .. } | ContentErrorKind::HlUnknown => "EDI-127",
            ContentErrorKind::HlLevel { .. } => "EDI-129",
            ContentErrorKind::HlChild { .. } => "EDI-128",
            ContentErrorKind::Rule(_) => "EDI-130",
            ContentErrorKind::Blank => "EDI-131",
            ContentErrorKind::NumberForm { .. } => NUMBER_FORM,
        }
    }

    /// Returns the violated clause.
    pub(crate) fn clause(&self) -> &'static str {
        let (x12, edifact) = match &self.kind {
            ContentErrorKind::SegmentUnknown
            | ContentErrorKind::SegmentUndefined
            | ContentErrorKind::SegmentUnexpected
            | ContentErrorKind::SegmentOutOfSequence
            | ContentErrorKind::SegmentTooMany { .. }
            | ContentErrorKind::LoopTooMany { .. }
            | ContentErrorKind::SegmentMissing
            | ContentErrorKind::LoopMissing { .. } => {
                ("X12.6, transaction set structure", "ISO 9735-1, message structure")
            }
            ContentErrorKind::SegmentNotUsed
            | ContentErrorKind::ElementNotUsed
            | ContentErrorKind::Qualifier { .. }
            | ContentErrorKind::Rule(_) => ("the implementation guide", "the implementation guide"),
            ContentErrorKind::ElementMissing
            | ContentErrorKind::ElementsMissing
            | ContentErrorKind::ElementsTooMany { .. }
            | ContentErrorKind::ComponentsTooMany { .. }
            | ContentErrorKind::RepetitionsTooMany { .. } => {
                ("X12.6, data segment structure", "ISO 9735-1, segment structure")
            }
            ContentErrorKind::ElementTooShort { .. }
            | ContentErrorKind::ElementTooLong { .. }
            | ContentErrorKind::Blank
            | ContentErrorKind::Characters { .. }
            | ContentErrorKind::Date { .. }
            | ContentErrorKind::Day { .. }
            | ContentErrorKind::NumberForm { .. }
            | ContentErrorKind::Time { .. } => {
                ("X12.6, data element types and lengths", "ISO 9735-1, representation of values")
            }
            ContentErrorKind::Code { .. } | ContentErrorKind::CodeOutOfDate { .. } => {
                ("X12.3, code sources", "UNCL, code lists")
            }
            ContentErrorKind::TrailingSeparators => {
                ("X12.6, exclusion of trailing separators", "ISO 9735-1, exclusion")
            }
            ContentErrorKind::Required { .. } | ContentErrorKind::Excluded { .. } => {
                ("X12.6, relational conditions", "ISO 9735-1, dependency notes")
            }
            ContentErrorKind::HlNumber { .. }
            | ContentErrorKind::HlTwice
            | ContentErrorKind::HlUnknown
            | ContentErrorKind::HlLevel { .. }
            | ContentErrorKind::HlParent { .. }
            | ContentErrorKind::HlChild { .. } => ("X12.22, segment HL", "X12.22, segment HL"),
        };
        match self.standard {
            Standard::X12 => x12,
            Standard::Edifact => edifact,
        }
    }

    /// Returns the remedy.
    pub(crate) fn hint(&self) -> String {
        let reference = &self.reference;
        match &self.kind {
            ContentErrorKind::SegmentUnknown => "check the tag; if the standard has this segment, use a guide that has it, since one made from a company's subset may not".to_owned(),
            ContentErrorKind::SegmentUndefined => "remove the segment, or add it to the guide".to_owned(),
            ContentErrorKind::SegmentUnexpected => {
                "remove the segment, or move it to where the guide has it".to_owned()
            }
            ContentErrorKind::SegmentOutOfSequence => "write the segments in the order of the guide".to_owned(),
            ContentErrorKind::SegmentTooMany { max } => format!("write at most {max}, or raise the limit in the guide"),
            ContentErrorKind::LoopTooMany { max } => format!("write at most {max}, or raise the limit in the guide"),
            ContentErrorKind::SegmentNotUsed | ContentErrorKind::ElementNotUsed => format!("leave {reference} out"),
            ContentErrorKind::SegmentMissing => format!("write {reference} before this segment"),
            ContentErrorKind::LoopMissing { trigger } => {
                format!("write the loop, which begins with {trigger}, before this segment")
            }
            ContentErrorKind::Qualifier { .. } | ContentErrorKind::Code { .. } => {
                format!("write one of the codes that the guide lists for {reference}")
            }
            ContentErrorKind::ElementMissing => format!("write {reference}"),
            ContentErrorKind::ElementsMissing => "write the elements of the segment, or remove it".to_owned(),
            ContentErrorKind::Blank => format!("write a value into {reference}"),
            ContentErrorKind::ElementTooShort { min, .. } => format!("write at least {min} characters"),
            ContentErrorKind::ElementTooLong { max, .. } => format!("write at most {max} characters"),
            ContentErrorKind::CodeOutOfDate { .. } => {
                "write a code that is valid on that day, or bring the code list up to date".to_owned()
            }
            ContentErrorKind::Characters { expected }
            | ContentErrorKind::Date { expected }
            | ContentErrorKind::Time { expected } => format!("write {expected}"),
            ContentErrorKind::Day { form } => format!("correct the day; its form {form} is right"),
            ContentErrorKind::ElementsTooMany { .. } | ContentErrorKind::ComponentsTooMany { .. } => {
                "look for a separator too many, or for one that belongs to the data".to_owned()
            }
            ContentErrorKind::RepetitionsTooMany { max, .. } => format!("repeat it at most {max} times"),
            ContentErrorKind::TrailingSeparators => "end the segment after its last value".to_owned(),
            ContentErrorKind::NumberForm { exponent: true } => {
                "write the number without an exponent, as documents hold it, such as 10 for 1E1".to_owned()
            }
            ContentErrorKind::NumberForm { exponent: false } => {
                "leave out the leading zeros; documents hold the number without them".to_owned()
            }
            ContentErrorKind::Required { .. } => format!("write {reference}, or leave out what requires it"),
            ContentErrorKind::Excluded { .. } => format!("leave out {reference}, or the other"),
            ContentErrorKind::HlNumber { .. } => "number all HL segments of the transaction from 1".to_owned(),
            ContentErrorKind::HlTwice => "give each HL segment of the transaction its own HL01".to_owned(),
            ContentErrorKind::HlLevel { .. } => {
                "write HL01 of a level that the guide allows into HL02, or the right level into HL03".to_owned()
            }
            ContentErrorKind::HlParent { .. } | ContentErrorKind::HlUnknown => {
                "write HL01 of the HL that this one belongs to into HL02".to_owned()
            }
            ContentErrorKind::HlChild { .. } => {
                "write 1 into HL04 where an HL of a lower level follows, otherwise 0".to_owned()
            }
            ContentErrorKind::Rule(_) => "the rule is in the guide's `rules`".to_owned(),
        }
    }

    /// Codes of this error in 997, 999 and CONTRL.
    ///
    /// Sources: X12 data elements 720 and 620 (segments), 723 and 621 (elements), 718 (5: segments in error); UN/EDIFACT 0085.
    pub(crate) fn acknowledgment(&self) -> AcknowledgmentCodes {
        let none = AcknowledgmentCodes { transaction: Some("5"), ..AcknowledgmentCodes::default() };
        let segment = |code, contrl| AcknowledgmentCodes { segment: Some(code), contrl: Some(contrl), ..none };
        let element = |code, contrl| AcknowledgmentCodes { element: Some(code), ..segment("8", contrl) };
        let in_guide = |codes: AcknowledgmentCodes, code| AcknowledgmentCodes {
            implementation_transaction: Some("I5"),
            implementation_element: Some(code),
            ..codes
        };
        let segment_in_guide = |codes: AcknowledgmentCodes, code| AcknowledgmentCodes {
            implementation_transaction: Some("I5"),
            implementation_segment: Some(code),
            ..codes
        };
        match &self.kind {
            // 1 unrecognised segment identifier; 15 not supported in this position.
            ContentErrorKind::SegmentUnknown => segment("1", "15"),
            // 6 segment not in defined transaction set.
            ContentErrorKind::SegmentUndefined => segment("6", "15"),
            // 2 unexpected segment.
            ContentErrorKind::SegmentUnexpected => segment("2", "15"),
            // 7 segment not in proper sequence.
            ContentErrorKind::SegmentOutOfSequence => segment("7", "15"),
            // 5 segment exceeds maximum use; 35 too many repetitions.
            ContentErrorKind::SegmentTooMany { .. } => segment("5", "35"),
            // 4 loop occurs over maximum times; 36 too many segment group repetitions.
            ContentErrorKind::LoopTooMany { .. } => segment("4", "36"),
            // I4 implementation "not used" segment present.
            ContentErrorKind::SegmentNotUsed => segment_in_guide(segment("2", "15"), "I4"),
            // 3 required segment missing; 13 missing.
            ContentErrorKind::SegmentMissing => segment("3", "13"),
            // I7 implementation loop occurs under minimum times.
            ContentErrorKind::LoopMissing { .. } => segment_in_guide(segment("3", "13"), "I7"),
            // 7 invalid code value; I6 code value not used in implementation; 12 invalid value.
            ContentErrorKind::Qualifier { listed: true } | ContentErrorKind::Code { listed: true } => {
                in_guide(element("7", "12"), "I6")
            }
            ContentErrorKind::Qualifier { listed: false }
            | ContentErrorKind::Code { listed: false }
            | ContentErrorKind::CodeOutOfDate { .. } => element("7", "12"),
            ContentErrorKind::ElementMissing | ContentErrorKind::ElementsMissing => element("1", "13"),
            ContentErrorKind::ElementTooShort { .. } => element("4", "40"),
            ContentErrorKind::ElementTooLong { .. } => element("5", "39"),
            // A string has at least one character that is not a blank (X12.6), so a mandatory one is missing.
            ContentErrorKind::Blank => element("1", "13"),
            // 6 invalid character in data element; 37 invalid type of character(s).
            ContentErrorKind::Characters { .. } => element("6", "37"),
            ContentErrorKind::Date { .. } | ContentErrorKind::Day { .. } => element("8", "12"),
            ContentErrorKind::Time { .. } => element("9", "12"),
            // 10 exclusion condition violated; I10 implementation "not used" data element present.
            ContentErrorKind::ElementNotUsed => in_guide(element("10", "15"), "I10"),
            // 3: too many data elements; 16: too many constituents.
            ContentErrorKind::ElementsTooMany { .. } => element("3", "16"),
            // 13: too many components.
            ContentErrorKind::ComponentsTooMany { .. } => element("13", "16"),
            // 12: too many repetitions.
            ContentErrorKind::RepetitionsTooMany { .. } => element("12", "35"),
            // A warning; 45 trailing separator.
            ContentErrorKind::TrailingSeparators => AcknowledgmentCodes { contrl: Some("45"), ..none },
            // A warning; 12 invalid value.
            ContentErrorKind::NumberForm { .. } => AcknowledgmentCodes { contrl: Some("12"), ..none },
            // 2 conditional required data element missing.
            ContentErrorKind::Required { .. } => element("2", "13"),
            ContentErrorKind::Excluded { .. } => element("10", "15"),
            // I12 implementation pattern match failure.
            ContentErrorKind::HlNumber { .. }
            | ContentErrorKind::HlTwice
            | ContentErrorKind::HlUnknown
            | ContentErrorKind::HlLevel { .. }
            | ContentErrorKind::HlParent { .. }
            | ContentErrorKind::HlChild { .. } => in_guide(element("7", "12"), "I12"),
            ContentErrorKind::Rule(rule) => match rule.about {
                RuleSubject::Value => in_guide(element("7", "12"), "I12"),
                // I9 implementation dependent data element missing.
                RuleSubject::ElementMissing => in_guide(element("2", "13"), "I9"),
                // I13 implementation dependent "not used" data element present.
                RuleSubject::ElementPresent => in_guide(element("10", "15"), "I13"),
                // I6 implementation dependent segment missing.
                RuleSubject::SegmentMissing => segment_in_guide(segment("3", "13"), "I6"),
                // I9 implementation dependent "not used" segment present.
                RuleSubject::SegmentPresent => segment_in_guide(segment("2", "15"), "I9"),
            },
        }
    }
}

/// Formats the message without the place in the file; it never contains data.
impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ContentErrorKind::Rule(rule) = &self.kind {
            write!(f, "{} ({})", rule.message, rule.name)?;
            return self.within(f);
        }
        let what = match &self.kind {
            ContentErrorKind::LoopTooMany { .. } | ContentErrorKind::LoopMissing { .. } => "loop ",
            _ => "",
        };
        let subject = match &self.kind {
            // The reference names the first element that is too many. Its segment is what has them.
            ContentErrorKind::ElementsTooMany { max, .. } => {
                self.reference.strip_suffix(&format!("{:02}", max + 1)).unwrap_or(&self.reference)
            }
            _ => &*self.reference,
        };
        write!(f, "{what}{subject}")?;
        if let Some(name) = &self.name {
            write!(f, " ({name})")?;
        }
        self.within(f)?;
        match &self.kind {
            ContentErrorKind::SegmentUnknown => f.write_str(" is not in the guide"),
            ContentErrorKind::SegmentUndefined => f.write_str(" is not part of this transaction"),
            ContentErrorKind::SegmentUnexpected => f.write_str(" is not expected here"),
            ContentErrorKind::SegmentOutOfSequence => f.write_str(" is in the wrong order"),
            ContentErrorKind::SegmentTooMany { max } => write!(f, " is here more than {max} {}", times(*max)),
            ContentErrorKind::LoopTooMany { max } => write!(f, " is repeated more than {max} {}", times(*max)),
            ContentErrorKind::SegmentNotUsed | ContentErrorKind::ElementNotUsed => {
                f.write_str(" is present, but not used by the guide")
            }
            ContentErrorKind::SegmentMissing | ContentErrorKind::ElementMissing => f.write_str(" is missing"),
            ContentErrorKind::ElementsMissing => {
                f.write_str(" is missing, and so is every other element of the segment")
            }
            ContentErrorKind::LoopMissing { trigger } => write!(f, " is missing, which begins with {trigger}"),
            ContentErrorKind::Qualifier { listed } => {
                let why = if *listed { "a code that the guide does not have here" } else { "no code of the list" };
                write!(f, " is {why}, so the segment has no place")
            }
            ContentErrorKind::Blank => f.write_str(" holds blanks only"),
            ContentErrorKind::ElementTooShort { min, found } => {
                write!(f, " has {found} characters, expected at least {min}")
            }
            ContentErrorKind::ElementTooLong { max, found } => {
                write!(f, " has {found} characters, expected at most {max}")
            }
            ContentErrorKind::Code { listed: true } => f.write_str(" is a code that the guide does not allow here"),
            ContentErrorKind::Code { listed: false } => f.write_str(" is not in its code list"),
            ContentErrorKind::CodeOutOfDate { day } => write!(f, " is a code that is not valid on {day}"),
            ContentErrorKind::Characters { expected } => write!(f, " has invalid characters, expected {expected}"),
            ContentErrorKind::Date { expected } => write!(f, " is not a date, expected {expected}"),
            ContentErrorKind::Day { .. } => f.write_str(" is not a date: the day does not exist"),
            ContentErrorKind::Time { expected } => write!(f, " is not a time, expected {expected}"),
            ContentErrorKind::ElementsTooMany { max, found } => {
                write!(f, " has {found} elements, expected at most {max}")
            }
            ContentErrorKind::ComponentsTooMany { max: 1, found } => {
                write!(f, " has {found} components, but is not a composite")
            }
            ContentErrorKind::ComponentsTooMany { max, found } => {
                write!(f, " has {found} components, expected at most {max}")
            }
            ContentErrorKind::RepetitionsTooMany { max, found } => {
                write!(f, " is repeated {found} times, expected at most {max}")
            }
            ContentErrorKind::TrailingSeparators => f.write_str(" has separators after its last value"),
            ContentErrorKind::NumberForm { exponent: true } => f.write_str(" is a number with an exponent"),
            ContentErrorKind::NumberForm { exponent: false } => {
                f.write_str(" has more leading zeros than its minimum length needs")
            }
            ContentErrorKind::Required { note } => write!(f, " is missing by the note {note}"),
            ContentErrorKind::Excluded { note } => write!(f, " must not be present with the others by the note {note}"),
            ContentErrorKind::HlNumber { expected } => write!(f, " is not the next number, expected {expected}"),
            ContentErrorKind::HlParent { expected: Some(expected) } => {
                write!(f, " is not the number of the HL above, expected {expected}")
            }
            ContentErrorKind::HlParent { expected: None } => f.write_str(" names an HL above, but there is no such HL"),
            ContentErrorKind::HlTwice => f.write_str(" is that of an HL before"),
            ContentErrorKind::HlUnknown => f.write_str(" is not the number of an HL that came before"),
            ContentErrorKind::HlLevel { allowed: Some(allowed) } => {
                write!(f, " puts it below a level that does not allow it, expected {allowed}")
            }
            ContentErrorKind::HlLevel { allowed: None } => f.write_str(" is not a level of the guide"),
            ContentErrorKind::HlChild { has: true } => {
                f.write_str(" says that no HL of a lower level follows, but one does")
            }
            ContentErrorKind::HlChild { has: false } => {
                f.write_str(" says that an HL of a lower level follows, but none does")
            }
            ContentErrorKind::Rule(_) => Ok(()),
        }
    }
}

impl ContentError {
    fn within(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.loops.is_empty() {
            return Ok(());
        }
        write!(f, " in loop {}", self.loops)
    }
}

fn times(n: u32) -> &'static str {
    if n == 1 { "time" } else { "times" }
}
