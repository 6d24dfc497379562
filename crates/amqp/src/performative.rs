//! The nine performatives of the transport (part 2 of the standard).

use crate::codes;
use crate::error::AmqpError;
use crate::reader::{DecodeError, Reader};
use crate::state::DeliveryState;
use crate::terminus::{LinkTarget, Source};
use crate::value::Value;
use crate::writer::{self, ListWriter};

/// End of a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// Sends messages.
    Sender,
    /// Receives messages.
    Receiver,
}

impl Role {
    fn of(is_receiver: bool) -> Role {
        if is_receiver { Role::Receiver } else { Role::Sender }
    }

    /// The other end.
    #[must_use]
    pub fn other(self) -> Role {
        if self == Role::Sender { Role::Receiver } else { Role::Sender }
    }
}

/// Begins a connection.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Open {
    /// Name of the container.
    pub container_id: String,
    /// Host that the client means.
    pub hostname: Option<String>,
    /// Maximum size in bytes of a frame that the sender of this performative accepts; `None` is unlimited.
    pub max_frame_size: Option<u32>,
    /// Highest channel that it takes.
    pub channel_max: Option<u16>,
    /// Milliseconds without a frame after which it closes.
    pub idle_time_out: Option<u32>,
    /// Extensions that it offers.
    pub offered_capabilities: Vec<String>,
    /// Extensions that it would use.
    pub desired_capabilities: Vec<String>,
    /// Facts about it.
    pub properties: Option<Value>,
}

/// Begins a session.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Begin {
    /// Channel of the peer's session, in the answer to its `begin`.
    pub remote_channel: Option<u16>,
    /// Id of the next transfer.
    pub next_outgoing_id: u32,
    /// Transfers that it can take.
    pub incoming_window: u32,
    /// Transfers that it may send.
    pub outgoing_window: u32,
    /// Highest handle that it takes.
    pub handle_max: Option<u32>,
}

/// Begins a link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attach {
    /// Name of the link.
    pub name: String,
    /// Number of the link in its session.
    pub handle: u32,
    /// Role of the sender.
    pub role: Role,
    /// 0 unsettled, 1 settled, 2 mixed.
    pub snd_settle_mode: u8,
    /// 0 the receiver settles first, 1 second.
    pub rcv_settle_mode: u8,
    /// Source of messages.
    pub source: Option<Box<Source>>,
    /// Target of messages.
    pub target: Option<LinkTarget>,
    /// Deliveries so far, of a sender.
    pub initial_delivery_count: Option<u32>,
    /// Maximum size in bytes of a message that the sender of this performative accepts; `None` or 0 is unlimited.
    pub max_message_size: Option<u64>,
    /// Extensions that it offers.
    pub offered_capabilities: Vec<String>,
    /// Extensions that it would use.
    pub desired_capabilities: Vec<String>,
    /// Facts about it.
    pub properties: Option<Value>,
}

/// State of a session and perhaps of a link.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flow {
    /// Id of the next transfer that it expects.
    pub next_incoming_id: Option<u32>,
    /// Transfers that it can take.
    pub incoming_window: u32,
    /// Id of the next transfer that it sends.
    pub next_outgoing_id: u32,
    /// Transfers that it may send.
    pub outgoing_window: u32,
    /// The link, if any.
    pub handle: Option<u32>,
    /// Deliveries of the link so far.
    pub delivery_count: Option<u32>,
    /// Messages that may be sent.
    pub link_credit: Option<u32>,
    /// Number of messages available at the sender.
    pub available: Option<u32>,
    /// True if the sender must use up credit for which it has no messages.
    pub drain: bool,
    /// True if the peer requests a flow frame as an answer.
    pub echo: bool,
}

/// One frame of a message. The content follows it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Transfer {
    /// The link.
    pub handle: u32,
    /// Number of the delivery; in the first frame of a message.
    pub delivery_id: Option<u32>,
    /// Name of the delivery; in the first frame of a message.
    pub delivery_tag: Option<Vec<u8>>,
    /// Format of the message; 0 is the standard's.
    pub message_format: Option<u32>,
    /// True if the sender expects no outcome.
    pub settled: Option<bool>,
    /// True if more frames of the delivery follow.
    pub more: bool,
    /// 0 the receiver settles first, 1 second.
    pub rcv_settle_mode: Option<u8>,
    /// State at the sender, such as a transaction.
    pub state: Option<DeliveryState>,
    /// True if an earlier link began the delivery.
    pub resume: bool,
    /// True if the message is aborted.
    pub aborted: bool,
    /// True if the answer may be combined with later ones.
    pub batchable: bool,
}

/// States of deliveries.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Disposition {
    /// Role of the sender.
    pub role: Role,
    /// First delivery.
    pub first: u32,
    /// Last delivery; none is the first.
    pub last: Option<u32>,
    /// True if the deliveries are settled.
    pub settled: bool,
    /// Their state.
    pub state: Option<DeliveryState>,
    /// True if the answer may be combined with later ones.
    pub batchable: bool,
}

/// Ends a link.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Detach {
    /// The link.
    pub handle: u32,
    /// True if the link is closed permanently.
    pub closed: bool,
    /// Reason for the end, if it is an error.
    pub error: Option<AmqpError>,
}

/// A performative.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Performative {
    /// Begins a connection.
    Open(Box<Open>),
    /// Begins a session.
    Begin(Begin),
    /// Begins a link.
    Attach(Box<Attach>),
    /// Credit and windows.
    Flow(Flow),
    /// A part of a message.
    Transfer(Transfer),
    /// Outcomes.
    Disposition(Disposition),
    /// Ends a link.
    Detach(Detach),
    /// Ends a session.
    End(Option<AmqpError>),
    /// Ends a connection.
    Close(Option<AmqpError>),
}

impl Performative {
    /// Reads the performative of a frame's body; the content of a transfer remains in `reader`.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = reader.at();
        let code = reader.descriptor()?;
        let mut fields = reader.fields()?;
        Ok(match code {
            codes::OPEN => Performative::Open(Box::new(Open {
                container_id: fields.must("container-id", Reader::string)?.to_owned(),
                hostname: fields.next(Reader::string)?.map(str::to_owned),
                max_frame_size: fields.next(Reader::uint)?,
                channel_max: fields.next(Reader::ushort)?,
                idle_time_out: fields.next(Reader::uint)?,
                offered_capabilities: {
                    // Languages of descriptions come first; those of Quayline are in English.
                    fields.next(Reader::symbols)?;
                    fields.next(Reader::symbols)?;
                    fields.next(Reader::symbols)?
                },
                desired_capabilities: fields.next(Reader::symbols)?,
                properties: fields.any()?,
            })),
            codes::BEGIN => Performative::Begin(Begin {
                remote_channel: fields.next(Reader::ushort)?,
                next_outgoing_id: fields.must("next-outgoing-id", Reader::uint)?,
                incoming_window: fields.must("incoming-window", Reader::uint)?,
                outgoing_window: fields.must("outgoing-window", Reader::uint)?,
                handle_max: fields.next(Reader::uint)?,
            }),
            codes::ATTACH => Performative::Attach(Box::new(Attach {
                name: fields.must("name", Reader::string)?.to_owned(),
                handle: fields.must("handle", Reader::uint)?,
                role: Role::of(fields.must("role", Reader::boolean)?),
                snd_settle_mode: fields.next(Reader::ubyte)?.unwrap_or(2),
                rcv_settle_mode: fields.next(Reader::ubyte)?.unwrap_or(0),
                source: fields.composite(Source::read)?.map(Box::new),
                target: fields.composite(LinkTarget::read)?,
                initial_delivery_count: {
                    // Deliveries of an earlier link: this server keeps none, so they are new for it.
                    fields.next(|reader| reader.skip().map(|_| ()))?;
                    fields.next(Reader::boolean)?;
                    fields.next(Reader::uint)?
                },
                max_message_size: fields.next(Reader::ulong)?,
                offered_capabilities: fields.next(Reader::symbols)?,
                desired_capabilities: fields.next(Reader::symbols)?,
                properties: fields.any()?,
            })),
            codes::FLOW => Performative::Flow(Flow {
                next_incoming_id: fields.next(Reader::uint)?,
                incoming_window: fields.must("incoming-window", Reader::uint)?,
                next_outgoing_id: fields.must("next-outgoing-id", Reader::uint)?,
                outgoing_window: fields.must("outgoing-window", Reader::uint)?,
                handle: fields.next(Reader::uint)?,
                delivery_count: fields.next(Reader::uint)?,
                link_credit: fields.next(Reader::uint)?,
                available: fields.next(Reader::uint)?,
                drain: fields.next(Reader::boolean)?.unwrap_or(false),
                echo: fields.next(Reader::boolean)?.unwrap_or(false),
            }),
            codes::TRANSFER => Performative::Transfer(Transfer {
                handle: fields.must("handle", Reader::uint)?,
                delivery_id: fields.next(Reader::uint)?,
                delivery_tag: fields.next(Reader::binary)?.map(<[u8]>::to_vec),
                message_format: fields.next(Reader::uint)?,
                settled: fields.next(Reader::boolean)?,
                more: fields.next(Reader::boolean)?.unwrap_or(false),
                rcv_settle_mode: fields.next(Reader::ubyte)?,
                state: fields.composite(DeliveryState::read)?,
                resume: fields.next(Reader::boolean)?.unwrap_or(false),
                aborted: fields.next(Reader::boolean)?.unwrap_or(false),
                batchable: fields.next(Reader::boolean)?.unwrap_or(false),
            }),
            codes::DISPOSITION => Performative::Disposition(Disposition {
                role: Role::of(fields.must("role", Reader::boolean)?),
                first: fields.must("first", Reader::uint)?,
                last: fields.next(Reader::uint)?,
                settled: fields.next(Reader::boolean)?.unwrap_or(false),
                state: fields.composite(DeliveryState::read)?,
                batchable: fields.next(Reader::boolean)?.unwrap_or(false),
            }),
            codes::DETACH => Performative::Detach(Detach {
                handle: fields.must("handle", Reader::uint)?,
                closed: fields.next(Reader::boolean)?.unwrap_or(false),
                error: fields.composite(AmqpError::read)?,
            }),
            codes::END => Performative::End(fields.composite(AmqpError::read)?),
            codes::CLOSE => Performative::Close(fields.composite(AmqpError::read)?),
            _ => return Err(DecodeError::Descriptor { at }),
        })
    }

    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Performative::Open(open) => open.write(out),
            Performative::Begin(begin) => {
                let mut list = ListWriter::begin(out, codes::BEGIN);
                list.ushort(begin.remote_channel);
                list.uint(Some(begin.next_outgoing_id));
                list.uint(Some(begin.incoming_window));
                list.uint(Some(begin.outgoing_window));
                list.uint(begin.handle_max);
                list.end();
            }
            Performative::Attach(attach) => attach.write(out),
            Performative::Flow(flow) => flow.write(out),
            Performative::Transfer(transfer) => transfer.write(out),
            Performative::Disposition(disposition) => disposition.write(out),
            Performative::Detach(detach) => {
                let mut list = ListWriter::begin(out, codes::DETACH);
                list.uint(Some(detach.handle)).flag(detach.closed);
                list.field(detach.error.as_ref(), |out, error| error.write(out));
                list.end();
            }
            Performative::End(error) => ended(out, codes::END, error.as_ref()),
            Performative::Close(error) => ended(out, codes::CLOSE, error.as_ref()),
        }
    }
}

fn ended(out: &mut Vec<u8>, code: u64, error: Option<&AmqpError>) {
    let mut list = ListWriter::begin(out, code);
    list.field(error, |out, error| error.write(out));
    list.end();
}

impl Open {
    fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::OPEN);
        list.string(Some(&self.container_id)).string(self.hostname.as_deref());
        list.uint(self.max_frame_size).ushort(self.channel_max).uint(self.idle_time_out);
        list.null().null();
        list.symbols(&self.offered_capabilities).symbols(&self.desired_capabilities);
        list.any(self.properties.as_ref());
        list.end();
    }
}

impl Attach {
    /// Returns the maximum size in bytes of a message that the sender of this performative accepts.
    #[must_use]
    pub fn bytes_max(&self) -> u64 {
        self.max_message_size.filter(|max| *max > 0).unwrap_or(u64::MAX)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::ATTACH);
        list.string(Some(&self.name)).uint(Some(self.handle));
        list.field(Some(self.role == Role::Receiver), writer::boolean);
        list.ubyte((self.snd_settle_mode != 2).then_some(self.snd_settle_mode));
        list.ubyte((self.rcv_settle_mode != 0).then_some(self.rcv_settle_mode));
        list.field(self.source.as_deref(), |out, source| source.write(out));
        list.field(self.target.as_ref(), |out, target| target.write(out));
        list.null().null();
        list.uint(self.initial_delivery_count);
        list.field(self.max_message_size, writer::ulong);
        list.symbols(&self.offered_capabilities).symbols(&self.desired_capabilities);
        list.any(self.properties.as_ref());
        list.end();
    }
}

impl Flow {
    fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::FLOW);
        list.uint(self.next_incoming_id).uint(Some(self.incoming_window));
        list.uint(Some(self.next_outgoing_id)).uint(Some(self.outgoing_window));
        list.uint(self.handle).uint(self.delivery_count).uint(self.link_credit).uint(self.available);
        list.flag(self.drain).flag(self.echo);
        list.end();
    }
}

impl Transfer {
    fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::TRANSFER);
        list.uint(Some(self.handle)).uint(self.delivery_id).binary(self.delivery_tag.as_deref());
        list.uint(self.message_format);
        list.field(self.settled, writer::boolean);
        list.flag(self.more).ubyte(self.rcv_settle_mode);
        list.field(self.state.as_ref(), |out, state| state.write(out));
        list.flag(self.resume).flag(self.aborted).flag(self.batchable);
        list.end();
    }
}

impl Disposition {
    fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::DISPOSITION);
        list.field(Some(self.role == Role::Receiver), writer::boolean);
        list.uint(Some(self.first)).uint(self.last).flag(self.settled);
        list.field(self.state.as_ref(), |out, state| state.write(out));
        list.flag(self.batchable);
        list.end();
    }
}
