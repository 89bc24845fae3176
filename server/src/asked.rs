//! Who asked, and by which request: for all that is done to answer it, wherever that is done.

use std::future::Future;
use std::sync::Arc;

use milepost::on_behalf_of;

use crate::around::RequestId;

tokio::task_local! {
    static NOW: Asked;
}

/// Who asked, by which request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) user: Arc<str>,
    pub(crate) id: RequestId,
}

impl Asked {
    /// Who asked for what this task answers; nobody where everybody may.
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
            Some(Self { user, id }) => on_behalf_of(user, &id.0, work),
            None => work(),
        }
    }
}
