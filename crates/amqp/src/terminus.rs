//! Sources, targets and coordinators: the two ends of a link.

use crate::codes;
use crate::reader::{DecodeError, Reader};
use crate::state::DeliveryState;
use crate::value::Value;
use crate::writer::ListWriter;

/// Origin of a link's messages.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Source {
    /// Name of the node; with `dynamic`, `None` requests a new one.
    pub address: Option<String>,
    /// 0 nothing, 1 configuration, 2 unsettled state survives.
    pub durable: u32,
    /// Event after which the terminus expires; `None` is the end of the session.
    pub expiry_policy: Option<String>,
    /// Seconds until then.
    pub timeout: u32,
    /// True to create a node for the link.
    pub dynamic: bool,
    /// Properties of the node to create.
    pub dynamic_node_properties: Option<Value>,
    /// `move` takes messages, `copy` browses.
    pub distribution_mode: Option<String>,
    /// Filters by name.
    pub filter: Option<Value>,
    /// Outcome of deliveries that end unsettled.
    pub default_outcome: Option<DeliveryState>,
    /// Outcomes that the receiver can answer.
    pub outcomes: Vec<String>,
    /// Extensions.
    pub capabilities: Vec<String>,
}

/// Destination of a link's messages.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Target {
    /// Name of the node; none is one for each message, or a new one if `dynamic`.
    pub address: Option<String>,
    /// 0 nothing, 1 configuration, 2 unsettled state survives.
    pub durable: u32,
    /// Event after which the terminus expires; `None` is the end of the session.
    pub expiry_policy: Option<String>,
    /// Seconds until then.
    pub timeout: u32,
    /// True to create a node for the link.
    pub dynamic: bool,
    /// Properties of the node to create.
    pub dynamic_node_properties: Option<Value>,
    /// Extensions.
    pub capabilities: Vec<String>,
}

/// Target of a sending link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LinkTarget {
    /// A node.
    Node(Box<Target>),
    /// The coordinator of transactions, with its capabilities.
    Coordinator(Vec<String>),
}

impl Source {
    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::SOURCE);
        list.string(self.address.as_deref());
        list.uint((self.durable != 0).then_some(self.durable));
        list.symbol(self.expiry_policy.as_deref());
        list.uint((self.timeout != 0).then_some(self.timeout));
        list.flag(self.dynamic);
        list.any(self.dynamic_node_properties.as_ref());
        list.symbol(self.distribution_mode.as_deref());
        list.any(self.filter.as_ref());
        list.field(self.default_outcome.as_ref(), |out, outcome| outcome.write(out));
        list.symbols(&self.outcomes);
        list.symbols(&self.capabilities);
        list.end();
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = reader.at();
        if reader.descriptor()? != codes::SOURCE {
            return Err(DecodeError::Descriptor { at });
        }
        let mut fields = reader.fields()?;
        Ok(Source {
            address: fields.next(Reader::string)?.map(str::to_owned),
            durable: fields.next(Reader::uint)?.unwrap_or(0),
            expiry_policy: fields.next(Reader::symbol)?.map(str::to_owned),
            timeout: fields.next(Reader::uint)?.unwrap_or(0),
            dynamic: fields.next(Reader::boolean)?.unwrap_or(false),
            dynamic_node_properties: fields.any()?,
            distribution_mode: fields.next(Reader::symbol)?.map(str::to_owned),
            filter: fields.any()?,
            default_outcome: fields.composite(DeliveryState::read)?,
            outcomes: fields.next(Reader::symbols)?,
            capabilities: fields.next(Reader::symbols)?,
        })
    }
}

impl Target {
    fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::TARGET);
        list.string(self.address.as_deref());
        list.uint((self.durable != 0).then_some(self.durable));
        list.symbol(self.expiry_policy.as_deref());
        list.uint((self.timeout != 0).then_some(self.timeout));
        list.flag(self.dynamic);
        list.any(self.dynamic_node_properties.as_ref());
        list.symbols(&self.capabilities);
        list.end();
    }
}

impl LinkTarget {
    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            LinkTarget::Node(target) => target.write(out),
            LinkTarget::Coordinator(capabilities) => {
                let mut list = ListWriter::begin(out, codes::COORDINATOR);
                list.symbols(capabilities);
                list.end();
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = reader.at();
        let code = reader.descriptor()?;
        let mut fields = reader.fields()?;
        match code {
            codes::TARGET => Ok(LinkTarget::Node(Box::new(Target {
                address: fields.next(Reader::string)?.map(str::to_owned),
                durable: fields.next(Reader::uint)?.unwrap_or(0),
                expiry_policy: fields.next(Reader::symbol)?.map(str::to_owned),
                timeout: fields.next(Reader::uint)?.unwrap_or(0),
                dynamic: fields.next(Reader::boolean)?.unwrap_or(false),
                dynamic_node_properties: fields.any()?,
                capabilities: fields.next(Reader::symbols)?,
            }))),
            codes::COORDINATOR => Ok(LinkTarget::Coordinator(fields.next(Reader::symbols)?)),
            _ => Err(DecodeError::Descriptor { at }),
        }
    }
}

/// Returns the lifetime policy of a node that is deleted when its link closes.
#[must_use]
pub fn delete_on_close() -> Value {
    let policy = Value::Described(Box::new((Value::Ulong(codes::DELETE_ON_CLOSE), Value::List(Vec::new()))));
    Value::Map(vec![(Value::Symbol("lifetime-policy".to_owned()), policy)])
}
