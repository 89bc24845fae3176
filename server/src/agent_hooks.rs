//! Hooks of coding agents, recorded by a function of the embedder.

use std::fmt;
use std::sync::Arc;

use milepost_api::{HookRequest, HookTakenForm};

use crate::error::ApiError;

/// A function that records the document of a hook.
type Take = dyn Fn(HookRequest) -> milepost::Result<HookTakenForm> + Send + Sync;

/// The recorder of a service. Empty, it refuses documents.
#[derive(Clone, Default)]
pub(crate) struct AgentHooks(Option<Arc<Take>>);

impl AgentHooks {
    pub(crate) fn by<F>(take: F) -> Self
    where
        F: Fn(HookRequest) -> milepost::Result<HookTakenForm> + Send + Sync + 'static,
    {
        Self(Some(Arc::new(take)))
    }

    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Records a document, and returns once the agent may continue.
    pub(crate) fn take(&self, asked: HookRequest) -> Result<HookTakenForm, ApiError> {
        let Some(take) = &self.0 else {
            let text = "this program records no coding agents: the daemon of a project does";
            return Err(ApiError::NotFound(text.to_owned()));
        };
        Ok(take(asked)?)
    }
}

impl fmt::Debug for AgentHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgentHooks").field(&self.is_some()).finish()
    }
}
