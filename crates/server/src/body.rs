//! Bodies of answers, whose buffers come back.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};

use std::time::Instant;

use bytes::{Buf, Bytes};
use hyper::body::{Frame, SizeHint};
use quayline_meter::Phase;
use tokio::sync::mpsc::Receiver;

use crate::metrics::Counted;

/// Buffers of one thread that are not in use. A giant answer's buffer is given back to the system.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    free: RefCell<Vec<Vec<u8>>>,
}

const KEPT_MAX: usize = 256;
const KEPT_BYTES_MAX: usize = 1 << 20;

impl Buffers {
    /// Returns a buffer with unspecified content.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.free.borrow_mut().pop().unwrap_or_default()
    }

    /// Gives a buffer back.
    pub(crate) fn give(&self, buffer: Vec<u8>) {
        let mut free = self.free.borrow_mut();
        if free.len() < KEPT_MAX && buffer.capacity() <= KEPT_BYTES_MAX && buffer.capacity() > 0 {
            free.push(buffer);
        }
    }
}

/// Part of a body.
pub(crate) enum Chunk {
    Shared(Bytes),
    Owned { buffer: Vec<u8>, at: usize, len: usize, home: Weak<Buffers>, written: Option<(Instant, Counted)> },
}

impl Chunk {
    fn len(&self) -> usize {
        match self {
            Chunk::Shared(bytes) => bytes.len(),
            Chunk::Owned { at, len, .. } => len - at,
        }
    }
}

impl Buf for Chunk {
    fn remaining(&self) -> usize {
        self.len()
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Chunk::Shared(bytes) => bytes,
            Chunk::Owned { buffer, at, len, .. } => &buffer[*at..*len],
        }
    }

    fn advance(&mut self, n: usize) {
        match self {
            Chunk::Shared(bytes) => bytes.advance(n),
            Chunk::Owned { at, len, .. } => *at = (*at + n).min(*len),
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let Chunk::Owned { buffer, home, written, .. } = self else { return };
        // The last of it was handed to the system.
        if let Some((since, metrics)) = written {
            metrics.phase(Phase::Write, since.elapsed());
        }
        if let Some(home) = home.upgrade() {
            home.give(core::mem::take(buffer));
        }
    }
}

/// Parts of a stream. After an error, the connection ends.
pub(crate) type Parts = Receiver<Result<Bytes, String>>;

/// A body that is whole from the start, or a stream of parts.
pub(crate) struct Body(Option<Chunk>, Option<Parts>);

impl Body {
    pub(crate) fn empty() -> Body {
        Body(None, None)
    }

    pub(crate) fn shared(bytes: impl Into<Bytes>) -> Body {
        Body(Some(Chunk::Shared(bytes.into())), None)
    }

    /// Parts as they come.
    pub(crate) fn streamed(parts: Parts) -> Body {
        Body(None, Some(parts))
    }

    /// Creates a body from the first `len` bytes of a buffer, which returns to `home` afterwards.
    pub(crate) fn pooled(buffer: Vec<u8>, len: usize, home: &Rc<Buffers>) -> Body {
        Body(Some(Chunk::Owned { buffer, at: 0, len, home: Rc::downgrade(home), written: None }), None)
    }

    /// Counts the time from `now` until the last byte is handed to the system.
    pub(crate) fn time_writing(&mut self, metrics: Counted, now: Instant) {
        if let Some(Chunk::Owned { written, .. }) = &mut self.0 {
            *written = Some((now, metrics));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, Chunk::len)
    }
}

impl hyper::body::Body for Body {
    type Data = Chunk;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Chunk>, io::Error>>> {
        if let Some(parts) = &mut self.1 {
            let framed = |part: Bytes| Frame::data(Chunk::Shared(part));
            return parts.poll_recv(cx).map(|part| part.map(|part| part.map(framed).map_err(io::Error::other)));
        }
        Poll::Ready(self.0.take().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none() && self.1.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.1.is_some() { SizeHint::default() } else { SizeHint::with_exact(self.len() as u64) }
    }
}
