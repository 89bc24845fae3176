//! Long answers: read on the blocking pool a buffer at a time, each when the one before it is taken. Who reads slowly holds
//! one buffer here, and no thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{io, mem};

use axum::body::{Body, Bytes};
use futures_core::Stream;
use tokio::task::{JoinHandle, spawn_blocking};
use tracing::error;

use crate::around::{RequestId, bug};
use crate::server::App;
use crate::wrong::Wrong;

/// About how many bytes a buffer has; one event, or one entry of a list, may be longer.
pub(crate) const BUFFER: usize = 128 << 10;

/// What an answer is read from. It may wait for the disk.
pub(crate) trait Source: Send + Unpin + 'static {
    /// The next buffer; nothing at the end.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Wrong>;
}

/// A streamed answer. What is wrong with the first buffer is answered; what goes wrong later is logged, and ends the
/// answer before its end, so that whoever reads it sees that.
pub(crate) async fn body(app: &App, id: RequestId, mut source: impl Source) -> Result<Body, Wrong> {
    let first = app.work(move |_| Ok((source.next()?, source)));
    let (first, source) = first.await?;
    let stage = match first {
        Some(first) => Stage::Ready(first, source),
        None => Stage::Ended,
    };
    Ok(Body::from_stream(Streamed { id, stage }))
}

struct Streamed<S> {
    id: RequestId,
    stage: Stage<S>,
}

/// What was read, and what reads on.
type Read<S> = (Result<Option<Vec<u8>>, Wrong>, S);

enum Stage<S> {
    /// A buffer is there.
    Ready(Vec<u8>, S),
    /// The next has to be read.
    Next(S),
    Reading(JoinHandle<Read<S>>),
    Ended,
}

impl<S: Source> Stream for Streamed<S> {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match mem::replace(&mut this.stage, Stage::Ended) {
                Stage::Ready(buffer, source) => {
                    this.stage = Stage::Next(source);
                    return Poll::Ready(Some(Ok(buffer.into())));
                }
                Stage::Next(mut source) => {
                    let read = move || (source.next(), source);
                    this.stage = Stage::Reading(spawn_blocking(read));
                }
                Stage::Reading(mut reading) => {
                    let Poll::Ready(read) = Pin::new(&mut reading).poll(context) else {
                        this.stage = Stage::Reading(reading);
                        return Poll::Pending;
                    };
                    match read {
                        Ok((Ok(Some(buffer)), source)) => this.stage = Stage::Ready(buffer, source),
                        Ok((Ok(None), _)) => return Poll::Ready(None),
                        Ok((Err(wrong), _)) => {
                            let request_id = &*this.id.0;
                            error!(target: "milepost::http", request_id, ?wrong, "ended before its end");
                            return Poll::Ready(Some(Err(cut())));
                        }
                        Err(panic) => {
                            bug(&this.id.0, panic);
                            return Poll::Ready(Some(Err(cut())));
                        }
                    }
                }
                Stage::Ended => return Poll::Ready(None),
            }
        }
    }
}

fn cut() -> io::Error {
    io::Error::other("the answer ended before its end: the log of the service says why")
}
