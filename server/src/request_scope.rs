//! The id, the user and the waiting time of the current request, for all work done for it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use data_encoding::HEXLOWER;
use milepost::Engine;
use milepost::calls::Context;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::error::ApiError;

/// Header that says that a page asks, which has no folders of this machine. A browser cannot leave
/// it out: the service of the page sets it.
pub(crate) const OF_PAGE: HeaderName = HeaderName::from_static("milepost-of-page");

/// The header of a request's id, and of its answer's.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The maximum length of a client's request id.
const ID_MAX: usize = 128;

/// The id of a request, which is the correlation id of its events.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get().cloned().ok_or(ApiError::Bug)
    }
}

/// Ids for requests without one: a random prefix and a counter.
#[derive(Debug)]
pub(crate) struct Ids {
    random: String,
    next: AtomicU64,
}

impl Ids {
    pub(crate) fn new() -> milepost::Result<Self> {
        let random = milepost::internals::new_secret()?;
        Ok(Self { random: HEXLOWER.encode(random.split_at(8).0), next: AtomicU64::new(0) })
    }

    /// Returns the id of a request: the client's, if it is valid, or a new one.
    pub(crate) fn of(&self, headers: &HeaderMap) -> String {
        let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
        let fits = |id: &&str| {
            let known = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
            (1..=ID_MAX).contains(&id.len()) && id.bytes().all(known)
        };
        match given.filter(fits) {
            Some(id) => id.to_owned(),
            None => format!("{}-{:x}", self.random, self.next.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

tokio::task_local! {
    static NOW: RequestContext;
}

/// The user and id of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub(crate) user: Arc<str>,
    pub(crate) id: RequestId,
}

impl RequestContext {
    /// Returns the request of the current async task; `None` for public paths.
    pub(crate) fn now() -> Option<Self> {
        NOW.try_with(Self::clone).ok()
    }

    /// Runs a future in the scope of a request.
    pub(crate) async fn answered<T>(asked: Option<Self>, answer: impl Future<Output = T>) -> T {
        match asked {
            Some(asked) => NOW.scope(asked, answer).await,
            None => answer.await,
        }
    }

    /// Returns the engine for a request: its events have the user and the request's id.
    pub(crate) fn engine(asked: Option<&Self>, engine: &Engine) -> Engine {
        match asked {
            Some(Self { user, id }) => engine.with_context(Context::of(user, &id.0)),
            None => engine.clone(),
        }
    }
}

/// The start of the wait for an answer; unset while the request's body arrives.
#[derive(Debug, Clone)]
pub(crate) struct Since(Arc<Mutex<Option<Instant>>>);

impl Since {
    /// Starts now.
    pub(crate) fn now() -> Self {
        Self(Arc::new(Mutex::new(Some(Instant::now()))))
    }

    /// Pauses the time until the guard is dropped, then restarts it from zero.
    pub(crate) fn stand_still(&self) -> StandsStill {
        *self.0.lock() = None;
        StandsStill(self.clone())
    }

    /// Completes when the wait exceeds `at_most`.
    pub(crate) async fn late(&self, at_most: Duration) {
        loop {
            let gone = self.0.lock().map_or(Duration::ZERO, |since| since.elapsed());
            let left = at_most.saturating_sub(gone);
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// Restarts the time when dropped.
pub(crate) struct StandsStill(Since);

impl Drop for StandsStill {
    fn drop(&mut self) {
        let Since(since) = &self.0;
        *since.lock() = Some(Instant::now());
    }
}
