//! Points: events, states and differences.

use bytes::Bytes;
use milepost_api::{ChangesForm, EventAt, PartForm, StateForm};
use milepost_codec::Json;

use crate::client::Client;
use crate::error::Result;

/// Addresses have the same form as in the command: `essay`, `essay@12`, `essay@draft`, `essay~1`,
/// `essay/3@12`, `@1f2e3d4c`. In a task's id and a label, `@`, `~`, `/` and `%` are
/// percent-encoded.
impl Client {
    /// Returns the event at a point.
    ///
    /// # Errors
    ///
    /// `NotFound`: no event there, as at the head. `Invalid`: not an address.
    pub async fn event(&self, address: &str) -> Result<EventAt> {
        self.get(["v1", "points", address, "event"])?.read().await
    }

    /// Returns the state before the event at a point.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such point. `Invalid`: not an address.
    pub async fn state(&self, address: &str) -> Result<StateForm> {
        self.get(["v1", "points", address, "state"])?.read().await
    }

    /// Returns the state of a point, folded by a reducer that the service registers, in the
    /// encoding of the reducer.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such point, or the service has no such reducer. `Invalid`: not an address.
    pub async fn encoded_state(&self, address: &str, reducer: &str) -> Result<Bytes> {
        let request = self.get(["v1", "points", address, "encoded", reducer])?;
        request.accept("application/octet-stream").bytes().await.map(Bytes::from)
    }

    /// Returns a part of a point's state, by a JSON pointer (RFC 6901): `/variables/score`.
    ///
    /// # Errors
    ///
    /// `NotFound`: the state has no such part. `Invalid`: not a pointer, or not an address.
    pub async fn state_at(&self, address: &str, pointer: &str) -> Result<PartForm> {
        let request = self.get(["v1", "points", address, "state"])?;
        request.query("pointer", Some(pointer)).read().await
    }

    /// Returns the first 10,000 differences from the state at `before` to the state at `after`.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such point. `Invalid`: not an address.
    pub async fn diff(&self, before: &str, after: &str) -> Result<ChangesForm> {
        let path = ["v1", "points", before, "diff", after];
        self.get(path)?.read().await
    }

    /// Returns all differences between two states as a JSON patch (RFC 6902).
    ///
    /// # Errors
    ///
    /// As [`Client::diff`]. `TooLarge`: the patch has more than 10,000 changes, or 16 MiB.
    pub async fn patch(&self, before: &str, after: &str) -> Result<Json> {
        let path = ["v1", "points", before, "diff", after];
        let request = self.get(path)?.accept("application/json-patch+json");
        request.read().await
    }

    /// Returns a state with its last messages and pieces of guidance only, 1,000 at most.
    ///
    /// # Errors
    ///
    /// As [`Client::state`].
    pub async fn state_with(&self, address: &str, messages: u64) -> Result<StateForm> {
        let request = self.get(["v1", "points", address, "state"])?;
        request.query("messages", Some(messages)).read().await
    }
}
