//! Write timeouts for peers that stop reading.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The activity of a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Requests whose answers are not complete.
    requests: AtomicUsize,
    /// True while a write waits for the peer.
    writing: AtomicBool,
}

impl Traffic {
    /// Counts a request until the guard is dropped.
    pub(crate) fn one_more(&self) -> OneRequest {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        OneRequest(self.clone())
    }

    /// Returns true if no request is active and no write is waiting.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.requests.load(Ordering::Relaxed) == 0 && !self.0.writing.load(Ordering::Relaxed)
    }
}

pub(crate) struct OneRequest(Traffic);

impl Drop for OneRequest {
    fn drop(&mut self) {
        let Traffic(counts) = &self.0;
        counts.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection whose writes fail if the peer reads nothing for too long. Such a peer would hold
/// its resources forever.
pub(crate) struct Patient<T> {
    io: T,
    traffic: Traffic,
    patience: Duration,
    /// The timer of a blocked write.
    late: Option<Pin<Box<Sleep>>>,
}

impl<T> Patient<T> {
    pub(crate) fn new(io: T, traffic: Traffic, patience: Duration) -> Self {
        Self { io, traffic, patience, late: None }
    }

    /// Applies the timeout to the result of a write. Progress resets the timer.
    fn wrote<R>(
        &mut self,
        wrote: Poll<io::Result<R>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<R>> {
        let waits = wrote.is_pending();
        self.traffic.0.writing.store(waits, Ordering::Relaxed);
        if !waits {
            self.late = None;
            return wrote;
        }
        let patience = self.patience;
        let late = self.late.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(late.as_mut().poll(context));
        let text = "the peer took nothing for too long";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Patient<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Patient<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.io).poll_write(context, bytes);
        this.wrote(wrote, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.io).poll_write_vectored(context, pieces);
        this.wrote(wrote, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    // Data written to a socket is in the kernel: flush and shutdown do not wait for the peer.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}
