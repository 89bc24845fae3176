//! Points: addresses, events, states, differences, blame, branches and erasure.

use bytes::Bytes;
use milepost_api::{
    BisectedForm, BlamedForm, BranchAsked, ChangesForm, EventAt, LineageForm, PartForm, StateForm,
};
use milepost_codec::Json;

use crate::client::Client;
use crate::conditions::Conditions;
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

    /// Searches for the first event after which a condition holds, as `milepost bisect --when`
    /// does: `/variables/score < 0.5`. It does not hold at `good`.
    ///
    /// # Errors
    ///
    /// `Invalid`: no condition, one that holds nowhere up to the point, or one that holds at
    /// `good`.
    /// `NotFound`: no such point.
    pub async fn bisect(
        &self,
        address: &str,
        when: &str,
        good: Option<&str>,
    ) -> Result<BisectedForm> {
        let request = self.get(["v1", "points", address, "bisect"])?;
        request.query("when", Some(when)).query("good", good).read().await
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

    /// Returns the last event that set the part of a state that a JSON pointer names; with
    /// `history` all events that changed it.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such point. `Invalid`: not an address, or not a pointer.
    pub async fn blame(&self, address: &str, pointer: &str, history: bool) -> Result<BlamedForm> {
        let request = self.get(["v1", "points", address, "blame"])?;
        let request = request.query("pointer", Some(pointer));
        request.query("history", Some(history)).read().await
    }

    /// Opens a new lineage at a point, and leaves the active one as it is. A retry opens no second
    /// one.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such point, or retention removed it. `Invalid`: not an address, or the
    /// description has more than 1,024 bytes. `Unavailable`: a restore of the task has not ended.
    pub async fn branch(&self, address: &str, description: Option<&str>) -> Result<LineageForm> {
        self.branch_as(
            address,
            &BranchAsked { description: description.map(str::to_owned), ..BranchAsked::default() },
        )
        .await
    }

    /// Opens a new lineage at a point as asked: `activate` makes it the active one.
    ///
    /// # Errors
    ///
    /// As [`Client::branch`].
    pub async fn branch_as(&self, address: &str, asked: &BranchAsked) -> Result<LineageForm> {
        let request = self.post(["v1", "points", address, "branch"], asked)?;
        Conditions::default().on(request)?.read().await
    }
}
