//! Caller asked, and by which request: for all that is done to answer it, wherever that is done.

use std::future::Future;
use std::sync::Arc;

use milepost::with_context;

use crate::middleware::RequestId;

tokio::task_local! {
    static NOW: Asked;
}

/// Caller asked, by which request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) user: Arc<str>,
    pub(crate) id: RequestId,
}

impl Asked {
    /// Caller asked for what this task answers; nobody where everybody may.
    pub(crate) fn now() -> Option<Self> {
        NOW.try_with(Self::clone).ok()
    }

    /// An answer to who asked.
    pub(crate) async fn answered<T>(asked: Option<Self>, answer: impl Future<Output = T>) -> T {
        match asked {
            Some(asked) => NOW.scope(asked, answer).await,
            None => answer.await,
        }
    }

    /// Does something on this thread on behalf of who asked.
    pub(crate) fn on_behalf<T>(asked: Option<&Self>, work: impl FnOnce() -> T) -> T {
        match asked {
            Some(Self { user, id }) => with_context(user, &id.0, work),
            None => work(),
        }
    }
}
