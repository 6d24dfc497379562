//! Boundaries of frames and protocol headers.

use crate::error::{AmqpError, condition};

/// Smallest largest frame that the standard allows.
pub const MIN_MAX_FRAME_SIZE: u32 = 512;
/// Bytes of a frame's header and of a protocol header.
pub const HEADER_BYTES: usize = 8;

/// Protocol that a header announces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// AMQP 1.0.
    Amqp,
    /// TLS inside of the connection; this crate supports only TLS around it.
    Tls,
    /// SASL.
    Sasl,
}

impl Protocol {
    /// Returns the eight bytes of the protocol header.
    #[must_use]
    pub fn header(self) -> [u8; HEADER_BYTES] {
        let id = match self {
            Protocol::Amqp => 0,
            Protocol::Tls => 2,
            Protocol::Sasl => 3,
        };
        [b'A', b'M', b'Q', b'P', id, 1, 0, 0]
    }

    /// Returns the protocol that eight bytes announce; `None` for another protocol or version.
    #[must_use]
    pub fn of(header: &[u8; HEADER_BYTES]) -> Option<Protocol> {
        [Protocol::Amqp, Protocol::Tls, Protocol::Sasl].into_iter().find(|protocol| protocol.header() == *header)
    }
}

/// Type of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FrameType {
    /// A performative.
    Amqp,
    /// A step of SASL.
    Sasl,
}

/// A frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frame<'a> {
    /// Type.
    pub kind: FrameType,
    /// Channel.
    pub channel: u16,
    /// Performative and content; empty in a frame that only shows life.
    pub body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Takes the first frame of some bytes. Returns the frame and its length, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// A framing error for an invalid header, or a frame of more than `max` bytes. The header alone determines it.
    pub fn split(bytes: &'a [u8], max: u32) -> Result<Option<(Frame<'a>, usize)>, AmqpError> {
        let Some((header, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let wrong = |what: String| Err(AmqpError::new(condition::FRAMING, what));
        let [a, b, c, d, offset, kind, high, low] = *header;
        let size = u32::from_be_bytes([a, b, c, d]);
        if size > max {
            return wrong(format!("a frame of {size} bytes, at most {max} are taken"));
        }
        let (Ok(size), begin) = (usize::try_from(size), usize::from(offset) * 4) else {
            return wrong(format!("a frame of {size} bytes"));
        };
        if begin < HEADER_BYTES || begin > size {
            return wrong(format!("a frame of {size} bytes whose body begins at byte {begin}"));
        }
        let kind = match kind {
            0 => FrameType::Amqp,
            1 => FrameType::Sasl,
            other => return wrong(format!("a frame of type {other}")),
        };
        let Some(frame) = bytes.get(..size) else { return Ok(None) };
        Ok(Some((Frame { kind, channel: u16::from_be_bytes([high, low]), body: &frame[begin..] }, size)))
    }

    /// Writes a frame with the body that `write` writes.
    pub fn write(out: &mut Vec<u8>, kind: FrameType, channel: u16, write: impl FnOnce(&mut Vec<u8>)) {
        let begin = out.len();
        let [high, low] = channel.to_be_bytes();
        out.extend_from_slice(&[0, 0, 0, 0, 2, u8::from(kind == FrameType::Sasl), high, low]);
        write(out);
        let size = u32::try_from(out.len() - begin).expect("limits keep frames below 4 GB");
        out[begin..begin + 4].copy_from_slice(&size.to_be_bytes());
    }
}
