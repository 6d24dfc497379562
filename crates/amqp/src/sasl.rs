//! Frames of the SASL layer (part 5 of the standard).

use crate::codes;
use crate::reader::{DecodeError, Reader};
use crate::value::Value;
use crate::writer::ListWriter;

/// Outcome of the authentication.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SaslCode {
    /// Authenticated.
    Ok,
    /// The credentials are wrong.
    Auth,
    /// The server cannot decide at present.
    SysTemp,
}

impl SaslCode {
    fn number(self) -> u8 {
        match self {
            SaslCode::Ok => 0,
            SaslCode::Auth => 1,
            SaslCode::SysTemp => 4,
        }
    }
}

/// A step of SASL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SaslFrame {
    /// Mechanisms that the server offers.
    Mechanisms(Vec<String>),
    /// Choice of the client.
    Init {
        /// The mechanism.
        mechanism: String,
        /// Initial response of the mechanism.
        response: Option<Vec<u8>>,
    },
    /// The server asks.
    Challenge(Vec<u8>),
    /// The client answers.
    Response(Vec<u8>),
    /// The outcome.
    Outcome(u8),
}

impl SaslFrame {
    /// Creates an outcome frame.
    #[must_use]
    pub fn outcome(code: SaslCode) -> SaslFrame {
        SaslFrame::Outcome(code.number())
    }

    /// Reads the body of a SASL frame.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn read(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let code = reader.descriptor()?;
        let mut fields = reader.fields()?;
        let bytes = |found: &[u8]| found.to_vec();
        Ok(match code {
            codes::SASL_MECHANISMS => SaslFrame::Mechanisms(fields.next(Reader::symbols)?),
            codes::SASL_INIT => SaslFrame::Init {
                mechanism: fields.must("mechanism", Reader::symbol)?.to_owned(),
                response: fields.next(Reader::binary)?.map(bytes),
            },
            codes::SASL_CHALLENGE => SaslFrame::Challenge(bytes(fields.must("challenge", Reader::binary)?)),
            codes::SASL_RESPONSE => SaslFrame::Response(bytes(fields.must("response", Reader::binary)?)),
            codes::SASL_OUTCOME => SaslFrame::Outcome(fields.must("code", Reader::ubyte)?),
            _ => return Err(DecodeError::Descriptor { at: 0 }),
        })
    }

    /// Writes the body of a SASL frame.
    pub fn write(&self, out: &mut Vec<u8>) {
        let list = match self {
            SaslFrame::Mechanisms(names) => {
                let mut list = ListWriter::begin(out, codes::SASL_MECHANISMS);
                // An array, also of none: the field is mandatory.
                list.any(Some(&Value::symbols(names.iter().map(String::as_str))));
                list
            }
            SaslFrame::Init { mechanism, response } => {
                let mut list = ListWriter::begin(out, codes::SASL_INIT);
                list.symbol(Some(mechanism)).binary(response.as_deref());
                list
            }
            SaslFrame::Challenge(bytes) => {
                let mut list = ListWriter::begin(out, codes::SASL_CHALLENGE);
                list.binary(Some(bytes));
                list
            }
            SaslFrame::Response(bytes) => {
                let mut list = ListWriter::begin(out, codes::SASL_RESPONSE);
                list.binary(Some(bytes));
                list
            }
            SaslFrame::Outcome(code) => {
                let mut list = ListWriter::begin(out, codes::SASL_OUTCOME);
                list.ubyte(Some(*code));
                list
            }
        };
        list.end();
    }
}
