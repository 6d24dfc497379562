//! A stream that gives up when its reader does not read, and that lets a client finish its request before it closes.

use core::cell::Cell;
use core::future::Future as _;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Ends a connection whose answer makes no progress for so long.
pub(crate) struct Patient<T> {
    stream: T,
    limit: Duration,
    /// Runs while a write waits.
    clock: Option<Pin<Box<Sleep>>>,
    /// True while a write waits for the reader.
    waits: Rc<Cell<bool>>,
    /// True if the last response came before the end of its request.
    early: Rc<Cell<bool>>,
    /// Runs while the closing stream reads the rest of the request; `None` before it is shut down.
    lingers: Option<Pin<Box<Sleep>>>,
    /// Bytes that it may still read then.
    rest: usize,
}

/// Longest time for which a closing connection reads the rest of a request, and the most bytes of it.
const LINGER_TIME: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 64 << 20;

impl<T> Patient<T> {
    pub(crate) fn new(stream: T, limit: Duration) -> Self {
        Patient {
            stream,
            limit,
            clock: None,
            waits: Rc::default(),
            early: Rc::default(),
            lingers: None,
            rest: LINGER_BYTES,
        }
    }

    /// Returns a flag for code that does not own the stream, to say that the last response came before the end of its request. A socket that
    /// closes with unread bytes resets the connection, and the client may lose the response (RFC 9112, section 9.6).
    pub(crate) fn early(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.early)
    }

    /// Returns a flag that says whether a write waits for the reader, for code that does not own the stream.
    pub(crate) fn waits(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.waits)
    }

    /// Starts the clock when a write has to wait, and stops it when one does not.
    fn timed<R>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        self.waits.set(polled.is_pending());
        if polled.is_ready() {
            self.clock = None;
            return polled;
        }
        let limit = self.limit;
        let clock = self.clock.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + limit)));
        match clock.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Patient<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.timed(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.timed(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.timed(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingers.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            if !self.early.get() {
                return Poll::Ready(Ok(()));
            }
        }
        let this = &mut *self;
        let clock = this.lingers.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER_TIME)));
        let mut bytes = [0; 8 << 10];
        while clock.as_mut().poll(cx).is_pending() && this.rest > 0 {
            let mut buf = ReadBuf::new(&mut bytes);
            // The response is sent, so an error of the rest means nothing.
            let Ok(()) = ready!(Pin::new(&mut this.stream).poll_read(cx, &mut buf)) else { break };
            match buf.filled().len() {
                0 => break,
                count => this.rest = this.rest.saturating_sub(count),
            }
        }
        Poll::Ready(Ok(()))
    }
}
