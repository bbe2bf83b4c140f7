//! The stream of one connection, which reports its bytes and its waits to the activity.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::activity::Activity;

/// A stream with its activity.
#[derive(Debug)]
pub struct WatchedStream {
    inner: TcpStream,
    activity: Arc<Activity>,
    write_waits: bool,
}

impl WatchedStream {
    pub fn new(inner: TcpStream, activity: Arc<Activity>) -> WatchedStream {
        WatchedStream {
            inner,
            activity,
            write_waits: false,
        }
    }

    fn note_write(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match (&written, self.write_waits) {
            (Poll::Pending, false) => {
                self.write_waits = true;
                self.activity.wait();
            }
            (Poll::Ready(_), true) => {
                self.write_waits = false;
                self.activity.go_on();
            }
            _ => {}
        }
        if let Poll::Ready(Ok(bytes)) = written {
            self.activity.sent(bytes);
        }
        written
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let bytes = buffer.filled().len() - before;
        if bytes > 0 {
            self.activity.received(bytes);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.note_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.note_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
