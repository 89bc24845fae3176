//! Pinned checkpoints.

use milepost_api::{Listed, PinAsked, PinForm};
use reqwest::Method;

use crate::client::Client;
use crate::error::Result;

impl Client {
    /// Returns all pinned checkpoints of a task.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task.
    pub async fn pins(&self, task: &str) -> Result<Listed<PinForm>> {
        self.get(["v1", "tasks", task, "pins"])?.read().await
    }

    /// Pins a checkpoint: no cleanup removes it or the events it needs.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such checkpoint. `Invalid`: the reason is too long.
    pub async fn pin(&self, id: &str, reason: Option<&str>) -> Result<PinForm> {
        let ask = self.ask(Method::PUT, ["v1", "checkpoints", id, "pin"])?;
        ask.json(&PinAsked { reason: reason.map(str::to_owned) })?.read().await
    }

    /// Removes the pin of a checkpoint.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such checkpoint.
    pub async fn unpin(&self, id: &str) -> Result<()> {
        let ask = self.ask(Method::DELETE, ["v1", "checkpoints", id, "pin"])?;
        ask.done().await
    }
}
