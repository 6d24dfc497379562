//! Codes of acknowledgments.

/// Codes of the standards for an error in acknowledgments; `None` if an acknowledgment cannot express it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct AcknowledgmentCodes {
    /// TA105, X12 data element I18: note on an interchange.
    pub interchange_note: Option<&'static str>,
    /// AK905, X12 data element 716: functional group syntax error.
    pub group: Option<&'static str>,
    /// AK502 and IK502, X12 data elements 718 and 618: transaction set syntax error.
    pub transaction: Option<&'static str>,
    /// AK304 and IK304, X12 data elements 720 and 620: segment syntax error.
    pub segment: Option<&'static str>,
    /// AK403 and IK403, X12 data elements 723 and 621: data element syntax error.
    pub element: Option<&'static str>,
    /// IK502, X12 data element 618, if the code of 999 differs from 997: `I5`, `I6`.
    pub implementation_transaction: Option<&'static str>,
    /// IK304, X12 data element 620, if the code of 999 differs from 997: `I4` to `I9`.
    pub implementation_segment: Option<&'static str>,
    /// IK403, X12 data element 621, if the code of 999 differs from 997: `I6` to `I13`.
    pub implementation_element: Option<&'static str>,
    /// EDIFACT data element 0085 of CONTRL: syntax error.
    pub contrl: Option<&'static str>,
}
