//! Long answers: read on the blocking pool a buffer at a time, each when the one before it is
//! taken. Caller reads slowly holds one buffer here, and no thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{io, mem};

use axum::body::{Body, Bytes};
use futures_core::Stream;
use milepost::ErrorKind;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::error;

use crate::auth::Caller;
use crate::budget::{LongPiece, TokenBudget};
use crate::error::ApiError;
use crate::middleware::{RequestId, bug};
use crate::server::App;

/// About how many bytes a buffer has; one event, or one entry of a list, may be longer.
pub(crate) const BUFFER: usize = 128 << 10;

/// A buffer over this is long: leave is taken for its bytes.
pub(crate) const LONG: usize = 160 << 10;

/// What an answer is read from. It may wait for the disk.
pub(crate) trait Source: Send + Unpin + 'static {
    /// The next buffer; nothing at the end.
    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError>;

    /// Has `next` give again what it gave last, which was longer than a buffer; false where it
    /// cannot.
    fn again(&mut self) -> bool {
        false
    }
}

/// A streamed answer. What is wrong with the first buffer is answered; what goes wrong later is
/// logged, and ends the answer before its end, so that whoever reads it sees that.
pub(crate) async fn body(
    app: &App,
    caller: &Caller,
    id: RequestId,
    source: impl Source,
) -> Result<Body, ApiError> {
    let reader =
        Reader { app: app.clone(), caller: caller.clone(), long: app.long(caller), id, source };
    let late = ApiError::Engine(
        ErrorKind::Unavailable,
        "the long events under way hold all bytes that they may: ask again later".into(),
        None,
    );
    let first = timeout(app.patience(), reader.next()).await;
    let stage = match first.map_err(|_| late)?? {
        Some((first, reader)) => Stage::Ready(first, reader),
        None => Stage::Ended,
    };
    Ok(Body::from_stream(Streamed { stage }))
}

/// What reads an answer.
struct Reader<S> {
    app: App,
    caller: Caller,
    long: TokenBudget,
    id: RequestId,
    source: S,
}

impl<S: Source> Reader<S> {
    /// The next buffer, and what reads on. A long one is read again once there is leave for it: who
    /// waits holds none.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, ApiError> {
        let mut permit = None;
        loop {
            let one = self.app.permits().heavy(self.caller.of_token()).await;
            let (mut source, id) = (self.source, self.id.clone());
            // The read keeps its leave until its buffer is full, also where the caller is dropped.
            let read = spawn_blocking(move || (source.next(), source, one)).await;
            let (read, source, one) = read.map_err(|panic| {
                bug(&id.0, panic);
                ApiError::Bug
            })?;
            self.source = source;
            let Some(buffer) = read? else {
                return Ok(None);
            };
            let len = buffer.len();
            if len <= LONG {
                return Ok(Some((buffer.into(), self)));
            }
            let had = permit.take().filter(|(_, bytes)| *bytes >= len);
            let had = had.map(|(permit, _)| permit);
            if let Some(permit) = had.or_else(|| self.long.try_take(len)) {
                return Ok(Some((LongPiece::bytes(buffer, permit), self)));
            }
            // Dropped before it waits.
            let kept = Some(buffer).filter(|_| !self.source.again());
            drop(one);
            let waited = self.long.wait(len).await.ok_or(ApiError::Bug)?;
            match kept {
                Some(buffer) => return Ok(Some((LongPiece::bytes(buffer, waited), self))),
                None => permit = Some((waited, len)),
            }
        }
    }
}

struct Streamed<S> {
    stage: Stage<S>,
}

type Reading<S> =
    Pin<Box<dyn Future<Output = Result<Option<(Bytes, Reader<S>)>, ApiError>> + Send>>;

enum Stage<S> {
    /// A buffer is there.
    Ready(Bytes, Reader<S>),
    /// The next has to be read.
    Next(Reader<S>),
    Reading(Reading<S>, RequestId),
    Ended,
}

impl<S: Source> Stream for Streamed<S> {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match mem::replace(&mut this.stage, Stage::Ended) {
                Stage::Ready(buffer, reader) => {
                    this.stage = Stage::Next(reader);
                    return Poll::Ready(Some(Ok(buffer)));
                }
                Stage::Next(reader) => {
                    let id = reader.id.clone();
                    this.stage = Stage::Reading(Box::pin(reader.next()), id);
                }
                Stage::Reading(mut reading, id) => {
                    let Poll::Ready(read) = reading.as_mut().poll(context) else {
                        this.stage = Stage::Reading(reading, id);
                        return Poll::Pending;
                    };
                    match read {
                        Ok(Some((buffer, reader))) => this.stage = Stage::Ready(buffer, reader),
                        Ok(None) => return Poll::Ready(None),
                        Err(wrong) => {
                            let request_id = &*id.0;
                            error!(target: "milepost::http", request_id, ?wrong, "ended before its end");
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
