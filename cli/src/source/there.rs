//! A store that another program answers for, over HTTP: at an address, or at the socket in the store.

use std::future::Future;
use std::ops::Range;

use milepost::{Anchor, CheckpointId, Engine, Json, MessageRange, RunControl};
use milepost_client::{
    ChangeControl, CheckpointQuery, Client, EditArtifacts, EventQuery, Guidance, Mark, Restore,
    StatsQuery, TaskQuery,
};
use milepost_forms::{
    AppendedForm, BlamedForm, ChangesForm, CheckpointForm, EventAt, LineageForm, Listed, PinForm,
    PointForm, RestoredForm, StoreForm, TaskForm, UserForm, VerifyForm,
};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{CheckpointsAsked, Each, MarkAsked, Source, VerifyAsked};
use crate::error::{Failure, Result};
use crate::output::Out;

/// How many items a page of a list has, and a page of events.
const PAGE: usize = 100;
const EVENTS: u32 = 1000;

/// A store that another program answers for.
pub struct There {
    client: Client,
    runtime: Runtime,
    /// Where it answers, for people.
    place: String,
}

impl There {
    pub fn new(client: Client, place: String) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self {
            client,
            runtime,
            place,
        })
    }

    /// Where it answers, for people.
    pub fn place(&self) -> &str {
        &self.place
    }

    fn wait<T>(&self, answer: impl Future<Output = milepost_client::Result<T>>) -> Result<T> {
        Ok(self.runtime.block_on(answer)?)
    }
}
