//! Code lists of acknowledgments, with the meaning of each code in plain words.

/// A code list of the standards.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AcknowledgmentList {
    /// X12 data element I17 (TA104): interchange acknowledgment code.
    InterchangeStatus,
    /// X12 data element I18 (TA105): interchange note code.
    InterchangeNote,
    /// X12 data element 715 (AK901): functional group acknowledgment code.
    GroupStatus,
    /// X12 data element 716 (AK905 to AK909): functional group syntax error code.
    Group,
    /// X12 data element 717 (AK501, IK501): transaction set acknowledgment code.
    TransactionStatus,
    /// X12 data element 718 (AK502 to AK506): transaction set syntax error code.
    Transaction,
    /// X12 data element 618 (IK502 to IK506): implementation transaction set syntax error code.
    ImplementationTransaction,
    /// X12 data element 720 (AK304): segment syntax error code.
    Segment,
    /// X12 data element 620 (IK304): implementation segment syntax error code.
    ImplementationSegment,
    /// X12 data element 723 (AK403): data element syntax error code.
    Element,
    /// X12 data element 621 (IK403): implementation data element syntax error code.
    ImplementationElement,
    /// EDIFACT data element 0083: action, coded.
    Action,
    /// EDIFACT data element 0085: syntax error, coded.
    SyntaxError,
}

impl AcknowledgmentList {
    /// All lists.
    pub const ALL: [AcknowledgmentList; 13] = [
        AcknowledgmentList::InterchangeStatus,
        AcknowledgmentList::InterchangeNote,
        AcknowledgmentList::GroupStatus,
        AcknowledgmentList::Group,
        AcknowledgmentList::TransactionStatus,
        AcknowledgmentList::Transaction,
        AcknowledgmentList::ImplementationTransaction,
        AcknowledgmentList::Segment,
        AcknowledgmentList::ImplementationSegment,
        AcknowledgmentList::Element,
        AcknowledgmentList::ImplementationElement,
        AcknowledgmentList::Action,
        AcknowledgmentList::SyntaxError,
    ];

    /// Returns the number of the data element in the standard's directory.
    #[must_use]
    pub fn data_element(self) -> &'static str {
        match self {
            AcknowledgmentList::InterchangeStatus => "I17",
            AcknowledgmentList::InterchangeNote => "I18",
            AcknowledgmentList::GroupStatus => "715",
            AcknowledgmentList::Group => "716",
            AcknowledgmentList::TransactionStatus => "717",
            AcknowledgmentList::Transaction => "718",
            AcknowledgmentList::ImplementationTransaction => "618",
            AcknowledgmentList::Segment => "720",
            AcknowledgmentList::ImplementationSegment => "620",
            AcknowledgmentList::Element => "723",
            AcknowledgmentList::ImplementationElement => "621",
            AcknowledgmentList::Action => "0083",
            AcknowledgmentList::SyntaxError => "0085",
        }
    }

    /// Returns each code with its meaning in our words; numbers in order, then letters.
    #[must_use]
    pub fn codes(self) -> &'static [(&'static str, &'static str)] {
        match self {
            AcknowledgmentList::InterchangeStatus => &INTERCHANGE_STATUS,
            AcknowledgmentList::InterchangeNote => &INTERCHANGE_NOTE,
            AcknowledgmentList::GroupStatus => &GROUP_STATUS,
            AcknowledgmentList::Group => &GROUP,
            AcknowledgmentList::TransactionStatus => &TRANSACTION_STATUS,
            AcknowledgmentList::Transaction => &TRANSACTION,
            AcknowledgmentList::ImplementationTransaction => &IMPLEMENTATION_TRANSACTION,
            AcknowledgmentList::Segment => &SEGMENT,
            AcknowledgmentList::ImplementationSegment => &IMPLEMENTATION_SEGMENT,
            AcknowledgmentList::Element => &ELEMENT,
            AcknowledgmentList::ImplementationElement => &IMPLEMENTATION_ELEMENT,
            AcknowledgmentList::Action => &ACTION,
            AcknowledgmentList::SyntaxError => &SYNTAX_ERROR,
        }
    }

    /// Returns the meaning of a code; `None` if the list does not contain it.
    #[must_use]
    pub fn words(self, code: &str) -> Option<&'static str> {
        self.codes().iter().find(|(known, _)| *known == code).map(|(_, words)| *words)
    }
}

type Table<const N: usize> = [(&'static str, &'static str); N];

static INTERCHANGE_STATUS: Table<3> =
    [("A", "accepted"), ("E", "accepted, errors are noted; it must not be sent again"), ("R", "rejected")];

static INTERCHANGE_NOTE: Table<32> = [
    ("000", "no findings"),
    ("001", "the control numbers of ISA and IEA differ"),
    ("002", "the standard that ISA11 names is not supported"),
    ("003", "the version of the control segments (ISA12) is not supported"),
    ("004", "the segment terminator is not usable"),
    ("005", "the qualifier of the sender (ISA05) is wrong"),
    ("006", "the identification of the sender (ISA06) is wrong"),
    ("007", "the qualifier of the receiver (ISA07) is wrong"),
    ("008", "the identification of the receiver (ISA08) is wrong"),
    ("009", "the receiver (ISA08) is not known"),
    ("010", "the authorization qualifier (ISA01) is wrong"),
    ("011", "the authorization (ISA02) is wrong"),
    ("012", "the security qualifier (ISA03) is wrong"),
    ("013", "the security information (ISA04) is wrong"),
    ("014", "the date (ISA09) is wrong"),
    ("015", "the time (ISA10) is wrong"),
    ("016", "the standards identifier or repetition separator (ISA11) is wrong"),
    ("017", "the version (ISA12) is wrong"),
    ("018", "the control number (ISA13) is wrong"),
    ("019", "the request for an acknowledgment (ISA14) is wrong"),
    ("020", "the test indicator (ISA15) is wrong"),
    ("021", "the number of groups (IEA01) is wrong"),
    ("022", "the control segments are not in order"),
    ("023", "the file ends too early"),
    ("024", "something in the interchange is out of place, such as GS"),
    ("025", "the control number (ISA13) came before"),
    ("026", "the element separator is not usable"),
    ("027", "the component separator is not usable"),
    ("028", "the delivery date of a deferred delivery is wrong"),
    ("029", "the delivery time of a deferred delivery is wrong"),
    ("030", "the delivery time code of a deferred delivery is wrong"),
    ("031", "the grade of service is wrong"),
];

static GROUP_STATUS: Table<7> = [
    ("A", "accepted"),
    ("E", "accepted, errors are noted"),
    ("M", "rejected: the message authentication code is wrong"),
    ("P", "partially accepted: some transaction sets are rejected"),
    ("R", "rejected"),
    ("W", "rejected: the assurance is not valid"),
    ("X", "rejected: what was decrypted is not readable"),
];

static GROUP: Table<26> = [
    ("1", "the kind of group (GS01) is not supported"),
    ("2", "the version of the group (GS08) is not supported"),
    ("3", "GE is missing"),
    ("4", "the control numbers of GS and GE differ"),
    ("5", "the number of transaction sets (GE01) is wrong"),
    ("6", "the control number (GS06) is not of its form"),
    ("7", "the sender of the group (GS02) is wrong"),
    ("8", "the receiver of the group (GS03) is wrong"),
    ("9", "the responsible agency (GS07) is wrong"),
    ("10", "the key for authentication is not known"),
    ("11", "the key for encryption is not known"),
    ("12", "authentication or encryption is not available"),
    ("13", "the recipient of the security is not known"),
    ("14", "the originator of the security is not known"),
    ("15", "the decrypted text is not correct"),
    ("16", "security is not supported"),
    ("17", "the length of the encrypted message is wrong"),
    ("18", "the message authentication code is wrong"),
    ("19", "the control number (GS06) came before in the interchange; before 005010: S1E is missing"),
    ("20", "S1S is missing (before 005010)"),
    ("21", "S2E is missing (before 005010)"),
    ("22", "S2S is missing (before 005010)"),
    ("23", "S3E is missing"),
    ("24", "S3S is missing"),
    ("25", "S4E is missing"),
    ("26", "S4S is missing"),
];

static TRANSACTION_STATUS: Table<6> = [
    ("A", "accepted"),
    ("E", "accepted, errors are noted"),
    ("M", "rejected: the message authentication code is wrong"),
    ("R", "rejected"),
    ("W", "rejected: the assurance is not valid"),
    ("X", "rejected: what was decrypted is not readable"),
];

static TRANSACTION: Table<26> = [
    ("1", "this transaction set is not supported"),
    ("2", "SE is missing"),
    ("3", "the control numbers of ST and SE differ"),
    ("4", "the number of segments (SE01) is wrong"),
    ("5", "one or more segments are wrong"),
    ("6", "the kind of transaction set (ST01) is missing or wrong"),
    ("7", "the control number (ST02) is missing or wrong"),
    ("8", "the key for authentication is not known"),
    ("9", "the key for encryption is not known"),
    ("10", "authentication or encryption is not available"),
    ("11", "the recipient of the security is not known"),
    ("12", "the length of the encrypted message is wrong"),
    ("13", "the message authentication code is wrong"),
    ("15", "the originator of the security is not known"),
    ("16", "the decrypted text is not correct"),
    ("17", "security is not supported"),
    ("18", "the transaction set does not belong into this kind of group"),
    ("19", "the implementation (ST03) is wrong; before 005010: S1E is missing"),
    ("20", "S1S is missing (before 005010)"),
    ("21", "S2E is missing (before 005010)"),
    ("22", "S2S is missing (before 005010)"),
    ("23", "the control number (ST02) came before in the group"),
    ("24", "S3E is missing"),
    ("25", "S3S is missing"),
    ("26", "S4E is missing"),
    ("27", "S4S is missing"),
];

static IMPLEMENTATION_TRANSACTION: Table<25> = [
    ("1", "this transaction set is not supported"),
    ("2", "SE is missing"),
    ("3", "the control numbers of ST and SE differ"),
    ("4", "the number of segments (SE01) is wrong"),
    ("5", "one or more segments are wrong"),
    ("6", "the kind of transaction set (ST01) is missing or wrong"),
    ("7", "the control number (ST02) is missing or wrong"),
    ("8", "the key for authentication is not known"),
    ("9", "the key for encryption is not known"),
    ("10", "authentication or encryption is not available"),
    ("11", "the recipient of the security is not known"),
    ("12", "the length of the encrypted message is wrong"),
    ("13", "the message authentication code is wrong"),
    ("15", "the originator of the security is not known"),
    ("16", "the decrypted text is not correct"),
    ("17", "security is not supported"),
    ("18", "the transaction set does not belong into this kind of group"),
    ("19", "the implementation (ST03) is wrong"),
    ("23", "the control number (ST02) came before in the group"),
    ("24", "S3E is missing"),
    ("25", "S3S is missing"),
    ("26", "S4E is missing"),
    ("27", "S4S is missing"),
    ("I5", "one or more segments break the rules of the implementation guide"),
    ("I6", "the implementation guide (ST03) is not supported"),
];

static SEGMENT: Table<8> = [
    ("1", "the segment is not known"),
    ("2", "the segment is not expected here"),
    ("3", "a mandatory segment is missing"),
    ("4", "the loop occurs too often"),
    ("5", "the segment occurs too often"),
    ("6", "the segment does not belong into this transaction set"),
    ("7", "the segment is not in its order"),
    ("8", "data elements of the segment are wrong"),
];

static IMPLEMENTATION_SEGMENT: Table<13> = [
    ("1", "the segment is not known"),
    ("2", "the segment is not expected here"),
    ("3", "a required segment is missing"),
    ("4", "the loop occurs too often"),
    ("5", "the segment occurs too often"),
    ("6", "the segment does not belong into this transaction set"),
    ("7", "the segment is not in its order"),
    ("8", "data elements of the segment are wrong"),
    ("I4", "the implementation guide does not use the segment"),
    ("I6", "a segment is missing that the implementation guide requires in this situation"),
    ("I7", "the loop occurs too seldom for the implementation guide"),
    ("I8", "the segment occurs too seldom for the implementation guide"),
    ("I9", "the implementation guide does not use the segment in this situation"),
];

static ELEMENT: Table<12> = [
    ("1", "a mandatory data element is missing"),
    ("2", "a data element is missing that others require"),
    ("3", "there are too many data elements"),
    ("4", "the data element is too short"),
    ("5", "the data element is too long"),
    ("6", "a character is not allowed in the data element"),
    ("7", "the code is not in its list"),
    ("8", "the date is wrong"),
    ("9", "the time is wrong"),
    ("10", "data elements exclude each other"),
    ("12", "the data element is repeated too often"),
    ("13", "the data element has too many components"),
];

static IMPLEMENTATION_ELEMENT: Table<18> = [
    ("1", "a required data element is missing"),
    ("2", "a data element is missing that others require"),
    ("3", "there are too many data elements"),
    ("4", "the data element is too short"),
    ("5", "the data element is too long"),
    ("6", "a character is not allowed in the data element"),
    ("7", "the code is not in its list"),
    ("8", "the date is wrong"),
    ("9", "the time is wrong"),
    ("10", "data elements exclude each other"),
    ("12", "the data element is repeated too often"),
    ("13", "the data element has too many components"),
    ("I6", "the implementation guide does not use the code"),
    ("I9", "a data element is missing that the implementation guide requires in this situation"),
    ("I10", "the implementation guide does not use the data element"),
    ("I11", "the data element is repeated too seldom for the implementation guide"),
    ("I12", "the data element does not have the pattern of the implementation guide"),
    ("I13", "the implementation guide does not use the data element in this situation"),
];

static ACTION: Table<3> = [
    ("4", "rejected with all that it holds"),
    ("7", "acknowledged, and what it holds as far as it is not rejected"),
    ("8", "received; nothing is said of what it holds"),
];

static SYNTAX_ERROR: Table<47> = [
    ("1", "UNA is not supported (before D:3)"),
    ("2", "the syntax version or level is not supported"),
    ("3", "the version of the message is not supported (before D:3)"),
    ("4", "a service segment is missing or wrong (before D:3)"),
    ("5", "a trailer does not match its header or has a wrong count (before D:3)"),
    ("6", "a data segment is missing or wrong (before D:3)"),
    ("7", "the recipient named is not the one who received it"),
    ("8", "a segment has too many data elements (before D:3)"),
    ("9", "a mandatory data element is missing (before D:3)"),
    ("10", "a data element is not of its form (before D:3)"),
    ("11", "the password is wrong (before D:3)"),
    ("12", "the value is wrong"),
    ("13", "something mandatory is missing"),
    ("14", "the value is not supported in this position"),
    ("15", "this is not supported in this position"),
    ("16", "there are too many elements or components"),
    ("17", "there is no agreement on this"),
    ("18", "something is wrong that is not said"),
    ("19", "the decimal mark is wrong (before syntax version 4)"),
    ("20", "a character of UNA cannot be a service character"),
    ("21", "a character is not allowed"),
    ("22", "a service character is wrong"),
    ("23", "the sender is not known"),
    ("24", "it is too old"),
    ("25", "tests are not supported"),
    ("26", "it came before"),
    ("27", "the security function is not supported"),
    ("28", "the references of header and trailer differ"),
    ("29", "the count of the trailer is wrong"),
    ("30", "groups and messages are mixed"),
    ("31", "a group holds more than one kind of message"),
    ("32", "there is nothing in it"),
    ("33", "something is outside messages and groups that must not be"),
    ("34", "explicit nesting is not allowed"),
    ("35", "a data element or segment is repeated too often"),
    ("36", "a segment group is repeated too often"),
    ("37", "letters are in a number, or digits among letters"),
    ("38", "a digit is missing before the decimal mark"),
    ("39", "the data element is too long"),
    ("40", "the data element is too short"),
    ("41", "the network failed for good"),
    ("42", "the network failed for now"),
    ("43", "the recipient is not known"),
    ("45", "a separator is at an end"),
    ("46", "the character set is not supported"),
    ("47", "the kind of envelope is not supported"),
    ("48", "data elements do not depend on each other as they must"),
];
