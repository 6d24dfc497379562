//! Errors as they go over the wire, and the conditions of the standard.

use crate::codes;
use crate::reader::{DecodeError, Reader};
use crate::writer::ListWriter;

/// An AMQP error: the reason why a link, session, connection or message ended, as a condition for programs and a description for people.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{condition}: {description}")]
pub struct AmqpError {
    /// A symbol of the standard or of ours.
    pub condition: String,
    /// A sentence; may be empty.
    pub description: String,
}

/// Conditions that this crate and its users answer.
pub mod condition {
    /// A bug of ours.
    pub const INTERNAL: &str = "amqp:internal-error";
    /// No such node.
    pub const NOT_FOUND: &str = "amqp:not-found";
    /// The client may not do this.
    pub const UNAUTHORIZED: &str = "amqp:unauthorized-access";
    /// Bytes that are not AMQP.
    pub const DECODE: &str = "amqp:decode-error";
    /// A limit was reached.
    pub const RESOURCE_LIMIT: &str = "amqp:resource-limit-exceeded";
    /// Not allowed by the standard, or here.
    pub const NOT_ALLOWED: &str = "amqp:not-allowed";
    /// A field has a value that it may not have.
    pub const INVALID_FIELD: &str = "amqp:invalid-field";
    /// An unsupported feature.
    pub const NOT_IMPLEMENTED: &str = "amqp:not-implemented";
    /// The state does not allow this.
    pub const ILLEGAL_STATE: &str = "amqp:illegal-state";
    /// An operator ended the connection, or the server stops.
    pub const CONNECTION_FORCED: &str = "amqp:connection:forced";
    /// A malformed frame.
    pub const FRAMING: &str = "amqp:connection:framing-error";
    /// More transfers than the session's window.
    pub const WINDOW_VIOLATION: &str = "amqp:session:window-violation";
    /// A handle that is in use.
    pub const HANDLE_IN_USE: &str = "amqp:session:handle-in-use";
    /// A handle without link.
    pub const UNATTACHED_HANDLE: &str = "amqp:session:unattached-handle";
    /// More transfers than the link's credit.
    pub const TRANSFER_LIMIT: &str = "amqp:link:transfer-limit-exceeded";
    /// A message is larger than the link allows.
    pub const MESSAGE_SIZE: &str = "amqp:link:message-size-exceeded";
    /// The link's connection ended.
    pub const DETACH_FORCED: &str = "amqp:link:detach-forced";
    /// No such transaction.
    pub const UNKNOWN_TRANSACTION: &str = "amqp:transaction:unknown-id";
    /// The transaction was rolled back.
    pub const ROLLED_BACK: &str = "amqp:transaction:rollback";
    /// The transaction was open for too long.
    pub const TRANSACTION_TIMEOUT: &str = "amqp:transaction:timeout";
}

impl AmqpError {
    /// An error.
    pub fn new(condition: &str, description: impl Into<String>) -> Self {
        AmqpError { condition: condition.to_owned(), description: description.into() }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = reader.at();
        if reader.descriptor()? != codes::ERROR {
            return Err(DecodeError::Descriptor { at });
        }
        let mut fields = reader.fields()?;
        let condition = fields.must("condition", Reader::symbol)?.to_owned();
        let description = fields.next(Reader::string)?.unwrap_or_default().to_owned();
        Ok(AmqpError { condition, description })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::ERROR);
        list.symbol(Some(&self.condition));
        list.string((!self.description.is_empty()).then_some(self.description.as_str()));
        list.end();
    }
}

impl From<DecodeError> for AmqpError {
    fn from(error: DecodeError) -> Self {
        AmqpError::new(condition::DECODE, error.to_string())
    }
}
