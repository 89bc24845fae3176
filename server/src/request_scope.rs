//! The user and id of the current request, available to all work done for it.

use std::future::Future;
use std::sync::Arc;

use milepost::with_context;

use crate::middleware::RequestId;

tokio::task_local! {
    static NOW: Asked;
}

/// The user and id of a request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) user: Arc<str>,
    pub(crate) id: RequestId,
}

impl Asked {
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

    /// Runs a closure on this thread in the context of a request.
    pub(crate) fn on_behalf<T>(asked: Option<&Self>, work: impl FnOnce() -> T) -> T {
        match asked {
            Some(Self { user, id }) => with_context(user, &id.0, work),
            None => work(),
        }
    }
}
