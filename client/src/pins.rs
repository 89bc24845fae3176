//! Checkpoints that are kept whatever a cleanup is asked for.

use milepost_forms::{Listed, PinForm};
use reqwest::Method;
use serde::Serialize;

use crate::client::Client;
use crate::error::Result;

/// Why something is done.
#[derive(Serialize)]
pub(crate) struct Why<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
}

impl Client {
    /// The pinned checkpoints of a task, all of them.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub async fn pins(&self, task: &str) -> Result<Listed<PinForm>> {
        self.get(["v1", "tasks", task, "pins"])?.read().await
    }

    /// Keeps a checkpoint, and what it needs, whatever a cleanup is asked for.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Invalid`: the reason is too long.
    pub async fn pin(&self, id: &str, reason: Option<&str>) -> Result<PinForm> {
        let ask = self.ask(Method::PUT, ["v1", "checkpoints", id, "pin"])?;
        ask.json(&Why { reason })?.read().await
    }

    /// No longer keeps a checkpoint whatever a cleanup is asked for.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub async fn unpin(&self, id: &str) -> Result<()> {
        let ask = self.ask(Method::DELETE, ["v1", "checkpoints", id, "pin"])?;
        ask.done().await
    }
}
