//! Points: where an address leads, the event and the state there, and what is different elsewhere.

use milepost_codec::Json;
use milepost_forms::{
    BlamedForm, ChangesForm, ErasedForm, EventAt, PartForm, PointForm, StateForm,
};

use crate::client::Client;
use crate::error::Result;
use crate::pins::Why;

/// Addresses are those of the command: `essay`, `essay@12`, `essay@draft`, `essay~1`, `essay/3@12`,
/// `@1f2e3d4c`. Inside a task's id and a label, `@`, `~`, `/` and `%` are percent-encoded.
impl Client {
    /// Where an address leads.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Invalid`: it is no address.
    pub async fn point(&self, address: &str) -> Result<PointForm> {
        self.get(["v1", "points", address])?.read().await
    }

    /// The event at a point.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is none, as at the head. `Invalid`: it is no address.
    pub async fn event(&self, address: &str) -> Result<EventAt> {
        self.get(["v1", "points", address, "event"])?.read().await
    }

    /// The state before the event at a point.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Invalid`: it is no address.
    pub async fn state(&self, address: &str) -> Result<StateForm> {
        self.get(["v1", "points", address, "state"])?.read().await
    }

    /// A part of that state, by a JSON pointer (RFC 6901): `/variables/score`.
    ///
    /// # Errors
    ///
    /// `NotFound`: nothing is there. `Invalid`: it is no pointer, or no address.
    pub async fn state_at(&self, address: &str, pointer: &str) -> Result<PartForm> {
        let ask = self.get(["v1", "points", address, "state"])?;
        ask.query("pointer", Some(pointer)).read().await
    }

    /// What is different between the states of two points, from the first to the other: the first
    /// 10,000 changes.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Invalid`: one is no address.
    pub async fn diff(&self, before: &str, after: &str) -> Result<ChangesForm> {
        let path = ["v1", "points", before, "diff", after];
        self.get(path)?.read().await
    }

    /// The same as a JSON patch (RFC 6902), all of it.
    ///
    /// # Errors
    ///
    /// As [`Client::diff`]. `TooLarge`: it would have more than 10,000 changes, or 16 MiB.
    pub async fn patch(&self, before: &str, after: &str) -> Result<Json> {
        let path = ["v1", "points", before, "diff", after];
        let ask = self.get(path)?.accept("application/json-patch+json");
        ask.read().await
    }

    /// The same with so many of its last messages and pieces of guidance: 1,000 at most.
    ///
    /// # Errors
    ///
    /// As [`Client::state`].
    pub async fn state_with(&self, address: &str, messages: u64) -> Result<StateForm> {
        let ask = self.get(["v1", "points", address, "state"])?;
        ask.query("messages", Some(messages)).read().await
    }

    /// Which event last set the part of the state at a point that a JSON pointer names; with
    /// `history` every one that changed it.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Invalid`: it is no address, or no pointer.
    pub async fn blame(&self, address: &str, pointer: &str, history: bool) -> Result<BlamedForm> {
        let ask = self.get(["v1", "points", address, "blame"])?;
        let ask = ask.query("pointer", Some(pointer));
        ask.query("history", Some(history)).read().await
    }

    /// Erases what the event at a point says, for good.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Conflict`, `Invalid`: it goes with its lineage only.
    pub async fn erase(&self, address: &str, reason: Option<&str>) -> Result<ErasedForm> {
        let ask = self.post(["v1", "points", address, "erase"], &Why { reason })?;
        ask.read().await
    }
}
