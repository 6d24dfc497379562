//! States of deliveries, and the requests of a transaction controller.

use crate::codes;
use crate::error::AmqpError;
use crate::reader::{DecodeError, Reader};
use crate::value::Value;
use crate::writer::ListWriter;

/// State of a delivery.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DeliveryState {
    /// Received up to a place.
    Received {
        /// Section.
        section_number: u32,
        /// Byte in it.
        section_offset: u64,
    },
    /// Done.
    Accepted,
    /// The message is invalid.
    Rejected(Option<AmqpError>),
    /// The message was not processed and is available again.
    Released,
    /// The message was not processed, and its header or annotations change.
    Modified {
        /// True if the attempt counts as failed.
        delivery_failed: bool,
        /// True if this receiver must not get the message again.
        undeliverable_here: bool,
        /// Annotations to merge into the message.
        message_annotations: Option<Value>,
    },
    /// A transaction began.
    Declared {
        /// Id of the transaction.
        txn_id: Vec<u8>,
    },
    /// The outcome holds if the transaction commits.
    Transactional {
        /// Id of the transaction.
        txn_id: Vec<u8>,
        /// Outcome; none at first.
        outcome: Option<Box<DeliveryState>>,
    },
}

impl DeliveryState {
    /// Returns whether it ends a delivery.
    #[must_use]
    pub fn is_outcome(&self) -> bool {
        !matches!(self, DeliveryState::Received { .. } | DeliveryState::Transactional { outcome: None, .. })
    }

    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            DeliveryState::Received { section_number, section_offset } => {
                let mut list = ListWriter::begin(out, codes::RECEIVED);
                list.uint(Some(*section_number));
                list.field(Some(*section_offset), crate::writer::ulong);
                list.end();
            }
            DeliveryState::Accepted => ListWriter::begin(out, codes::ACCEPTED).end(),
            DeliveryState::Rejected(error) => {
                let mut list = ListWriter::begin(out, codes::REJECTED);
                list.field(error.as_ref(), |out, error| error.write(out));
                list.end();
            }
            DeliveryState::Released => ListWriter::begin(out, codes::RELEASED).end(),
            DeliveryState::Modified { delivery_failed, undeliverable_here, message_annotations } => {
                let mut list = ListWriter::begin(out, codes::MODIFIED);
                list.flag(*delivery_failed);
                list.flag(*undeliverable_here);
                list.any(message_annotations.as_ref());
                list.end();
            }
            DeliveryState::Declared { txn_id } => {
                let mut list = ListWriter::begin(out, codes::DECLARED);
                list.binary(Some(txn_id));
                list.end();
            }
            DeliveryState::Transactional { txn_id, outcome } => {
                let mut list = ListWriter::begin(out, codes::TRANSACTIONAL_STATE);
                list.binary(Some(txn_id));
                list.field(outcome.as_deref(), |out, outcome| outcome.write(out));
                list.end();
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        DeliveryState::read_in(reader, true)
    }

    fn read_in(reader: &mut Reader<'_>, may_be_transactional: bool) -> Result<Self, DecodeError> {
        let at = reader.at();
        let code = reader.descriptor()?;
        let mut fields = reader.fields()?;
        Ok(match code {
            codes::RECEIVED => DeliveryState::Received {
                section_number: fields.must("section-number", Reader::uint)?,
                section_offset: fields.must("section-offset", Reader::ulong)?,
            },
            codes::ACCEPTED => DeliveryState::Accepted,
            codes::REJECTED => DeliveryState::Rejected(fields.composite(AmqpError::read)?),
            codes::RELEASED => DeliveryState::Released,
            codes::MODIFIED => DeliveryState::Modified {
                delivery_failed: fields.next(Reader::boolean)?.unwrap_or(false),
                undeliverable_here: fields.next(Reader::boolean)?.unwrap_or(false),
                message_annotations: fields.any()?,
            },
            codes::DECLARED => DeliveryState::Declared { txn_id: fields.must("txn-id", Reader::binary)?.to_vec() },
            // An outcome inside is an outcome and not a transaction again.
            codes::TRANSACTIONAL_STATE if may_be_transactional => DeliveryState::Transactional {
                txn_id: fields.must("txn-id", Reader::binary)?.to_vec(),
                outcome: fields.composite(|reader| DeliveryState::read_in(reader, false))?.map(Box::new),
            },
            _ => return Err(DecodeError::Descriptor { at }),
        })
    }
}

/// Request of a controller to the coordinator, as the value of a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Control {
    /// Begin a transaction.
    Declare,
    /// End a transaction.
    Discharge {
        /// Id of the transaction.
        txn_id: Vec<u8>,
        /// True to roll back, false to commit.
        fail: bool,
    },
}

impl Control {
    /// Reads the content of a message to the coordinator.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn read(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(message);
        loop {
            let at = reader.at();
            match reader.descriptor()? {
                codes::AMQP_VALUE => break,
                codes::HEADER..=codes::APPLICATION_PROPERTIES => reader.skip()?,
                _ => return Err(DecodeError::Descriptor { at }),
            };
        }
        let at = reader.at();
        let code = reader.descriptor()?;
        let mut fields = reader.fields()?;
        match code {
            codes::DECLARE => match fields.any()? {
                None => Ok(Control::Declare),
                // A transaction of several resources: there is no coordinator for those here.
                Some(_) => Err(DecodeError::Descriptor { at }),
            },
            codes::DISCHARGE => Ok(Control::Discharge {
                txn_id: fields.must("txn-id", Reader::binary)?.to_vec(),
                fail: fields.next(Reader::boolean)?.unwrap_or(false),
            }),
            _ => Err(DecodeError::Descriptor { at }),
        }
    }

    /// Writes the content of a message to the coordinator.
    pub fn write(&self, out: &mut Vec<u8>) {
        crate::writer::descriptor(out, codes::AMQP_VALUE);
        match self {
            Control::Declare => ListWriter::begin(out, codes::DECLARE).end(),
            Control::Discharge { txn_id, fail } => {
                let mut list = ListWriter::begin(out, codes::DISCHARGE);
                list.binary(Some(txn_id));
                list.field(Some(*fail), crate::writer::boolean);
                list.end();
            }
        }
    }
}
