//! AMQP 1.0 (OASIS 2012, ISO/IEC 19464): types, frames, and the state of connections, sessions and links. Sans-IO: bytes in, events
//! out, bytes out.
//!
//! ```text
//!  socket ──bytes──▶ Endpoint::receive ──▶ Event ──▶ who serves the queues
//!                      │ Frame, SaslFrame, Performative       │ accept, refuse, grant, send, settle, detach …
//!  socket ◀──bytes── Endpoint::output ◀───────────────────────┘
//! ```
//!
//! - [`Reader`] and [`writer`] know the types, [`Performative`], [`SaslFrame`] and [`DeliveryState`] the composite types, [`Frame`]
//!   the end of a frame, [`Sections`] the places of a message's sections. They decode and encode, so a client can use them too;
//!   tests do.
//! - [`Endpoint`] is one side of a connection, the server's or ([`Endpoint::client`]) the client's: SASL, channels, handles, windows, credit, deliveries, multi-frame
//!   messages, time-outs.
//! - **It never looks into a message**, knows no queue, opens no socket and reads no clock.
//! - **Everything is bounded** by [`Limits`], [`NESTING_MAX`] and [`EMPTY_ITEMS_MAX`]. A peer that breaks the protocol gets the
//!   standard's condition and a description with place, found and expected value; the link, session or connection ends, as the
//!   standard requires.

mod codes;
mod endpoint;
mod error;
mod frame;
mod limits;
mod message;
mod performative;
mod reader;
mod sasl;
mod state;
mod terminus;
mod value;
pub mod writer;

pub use endpoint::{
    ClientLogin, ClientSettings, Delivery, Endpoint, Event, Identity, LinkId, LinkRequest, Message, Settings,
};
pub use error::{AmqpError, condition};
pub use frame::{Frame, FrameType, HEADER_BYTES, MIN_MAX_FRAME_SIZE, Protocol};
pub use limits::Limits;
pub use message::{
    Body, BodyKind, Header, Properties, Sections, read_map, write_application_properties, write_body,
    write_delivery_annotations,
};
pub use performative::{Attach, Begin, Detach, Disposition, Flow, Open, Performative, Role, Transfer};
pub use reader::{DecodeError, EMPTY_ITEMS_MAX, Fields, NESTING_MAX, Reader};
pub use sasl::{SaslCode, SaslFrame};
pub use state::{Control, DeliveryState};
pub use terminus::{LinkTarget, Source, Target, delete_on_close};
pub use value::{Array, Value};
