//! Documents of hooks of coding agents.

// tidy: one route

use milepost_api::{HookRequest, HookTakenForm};
use reqwest::Method;

use crate::client::Client;
use crate::error::Result;
use crate::retry::RetryRule;

impl Client {
    /// Records the document of a hook of a coding agent, and returns once the agent may continue.
    /// For programs at the store's own socket.
    ///
    /// # Errors
    ///
    /// `Forbidden`: not at the store's socket. `NotFound`: the program records no coding agents.
    pub async fn take_hook(&self, asked: &HookRequest) -> Result<HookTakenForm> {
        let request = self.request(Method::POST, ["v1", "agent", "hooks"])?.json(asked)?;
        // A document has an id, and is recorded once.
        request.retry(RetryRule::Always).read().await
    }
}
