//! A stream that gives up when its reader does not read.

use core::cell::Cell;
use core::future::Future as _;
use core::pin::Pin;
use core::task::{Context, Poll};
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
}

impl<T> Patient<T> {
    pub(crate) fn new(stream: T, limit: Duration) -> Self {
        Patient { stream, limit, clock: None, waits: Rc::default() }
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

impl<T: AsyncWrite + Unpin> AsyncWrite for Patient<T> {
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
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
