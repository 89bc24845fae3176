//! Streamed answers: read on the blocking pool, one buffer at a time, each after the previous one
//! was sent. A slow reader holds one buffer and no thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{io, mem};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use milepost::calls::Cancel;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::error;

use crate::app::{App, Waits};
use crate::auth::Caller;
use crate::budget::{LongPiece, TokenBudget};
use crate::error::{ApiError, bug};
use crate::etag::Tagged;
use crate::request_scope::RequestId;

/// The approximate size of a buffer; one event or one entry of a list may be longer.
pub(crate) const BUFFER: usize = 128 << 10;

/// Buffers larger than this need a permit for their bytes.
pub(crate) const LONG: usize = 160 << 10;

/// The source of an answer, which may block on the disk.
pub(crate) trait Source: Send + Unpin + 'static {
    /// Returns the next buffer; `None` at the end.
    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError>;

    /// Returns the flag that ends its reads.
    fn cancel(&self) -> Cancel {
        Cancel::NEVER
    }

    /// Makes `next` return its last buffer again, which was too long. Returns false if that is not
    /// possible.
    fn again(&mut self) -> bool {
        false
    }
}

/// Creates a streamed answer. An error of the first buffer is the answer. A later error is logged
/// and aborts the answer, which the reader notices.
pub(crate) async fn body(
    app: &App,
    caller: &Caller,
    id: RequestId,
    source: impl Source,
) -> Result<Body, ApiError> {
    let reader =
        Reader { app: app.clone(), caller: caller.clone(), long: app.long(caller), id, source };
    let first = timeout(app.patience(), reader.next()).await;
    let late = "the long events under way hold all bytes that they may: ask again later";
    let stage = match first.map_err(|_| ApiError::unavailable(late))?? {
        Some((first, reader)) => Stage::Ready(first, reader),
        None => Stage::Ended,
    };
    Ok(Body::from_stream(Streamed { stage }))
}

/// Creates a streamed answer of a media type, unless the client has it.
pub(crate) async fn tagged(
    app: &App,
    caller: &Caller,
    id: RequestId,
    kind: &'static str,
    found: Tagged<impl Source>,
) -> Result<Response, ApiError> {
    let answer = match found {
        Tagged::Same(tag) => Tagged::Same(tag),
        Tagged::New(tag, source) => {
            let body = body(app, caller, id, source).await?;
            Tagged::New(tag, ([(header::CONTENT_TYPE, kind)], body))
        }
    };
    Ok(answer.into_response())
}

/// The reading side of an answer.
struct Reader<S> {
    app: App,
    caller: Caller,
    long: TokenBudget,
    id: RequestId,
    source: S,
}

impl<S: Source> Reader<S> {
    /// Reads the next buffer. A long one is dropped and read again when there is a permit for it,
    /// so that waiting readers hold none.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, ApiError> {
        let mut permit = None;
        loop {
            let one = self.app.permits.heavy(self.caller.of_token()).await;
            let (mut source, id) = (self.source, self.id.clone());
            // If the caller is dropped, the read ends early, and keeps its permit until then.
            let waits = Waits::new(&source.cancel());
            let read = spawn_blocking(move || (source.next(), source, one)).await;
            waits.done();
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
            // The buffer is dropped before the wait.
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
    /// A buffer is ready.
    Ready(Bytes, Reader<S>),
    /// The next buffer must be read.
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
                // Nothing of what was read passed a filter.
                Stage::Ready(buffer, reader) if buffer.is_empty() => {
                    this.stage = Stage::Next(reader);
                }
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
                            error!(target: "milepost::http", request_id, ?wrong, "ended before its \
                                end");
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

#[cfg(test)]
mod tests {
    use milepost::clock::SystemClock;
    use milepost::{Engine, Options};
    use tokio::sync::oneshot::{Sender, channel};

    use super::*;
    use crate::options::ServerOptions;
    use crate::tokens::Tokens;

    /// Reads until its caller is gone.
    struct Endless(Option<(Sender<()>, Sender<()>)>, Cancel);

    impl Source for Endless {
        fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
            let (begun, ended) = self.0.take().ok_or(ApiError::Bug)?;
            let _ = begun.send(());
            while self.1.check().is_ok() {}
            let _ = ended.send(());
            Err(ApiError::Bug)
        }

        fn cancel(&self) -> Cancel {
            self.1.clone()
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_read_of_an_answer_ends_when_the_client_is_gone() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let (tokens, options) = (Tokens::none(), ServerOptions::default());
        let app = App::new(engine, tokens, options, Box::new(SystemClock)).unwrap();
        let caller = Caller::local();
        let ((begun, begins), (ended, ends)) = (channel(), channel());
        let source = Endless(Some((begun, ended)), Cancel::new());
        let read = body(&app, &caller, RequestId("1".into()), source);
        tokio::select! {
            biased;
            _ = read => panic!("it ended"),
            begun = begins => begun.unwrap(),
        }
        ends.await.unwrap();
    }
}
