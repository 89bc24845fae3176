//! Runs are controlled, guidance is given, artifacts are edited.

use std::collections::BTreeMap;

use milepost_codec::{Json, RunControl};
use milepost_forms::{AppendedForm, ControlForm};
use reqwest::Method;
use serde::Serialize;

use crate::client::Client;
use crate::conditions::{Conditions, conditions};
use crate::error::Result;

/// A change of control.
///
/// ```
/// use milepost_client::ChangeControl;
/// use milepost_client::codec::RunControl;
///
/// let pause = ChangeControl::to(RunControl::Paused).reason("let me look");
/// # let _ = pause;
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct ChangeControl {
    to: RunControl,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip)]
    conditions: Conditions,
}

conditions!(ChangeControl);

impl ChangeControl {
    /// `Running` begins and resumes, `Paused` pauses, `Stopped` stops, `Idle` ends.
    pub fn to(control: RunControl) -> Self {
        Self { to: control, reason: None, conditions: Conditions::default() }
    }

    /// Why, for people.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

impl From<RunControl> for ChangeControl {
    fn from(control: RunControl) -> Self {
        Self::to(control)
    }
}

/// Guidance to be given.
///
/// ```
/// use milepost_client::Guidance;
///
/// let guidance = Guidance::new("Fewer adjectives.").target("essay.md");
/// # let _ = guidance;
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct Guidance {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip)]
    conditions: Conditions,
}

conditions!(Guidance);

impl Guidance {
    /// In words.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), target: None, conditions: Conditions::default() }
    }

    /// What it is for.
    #[must_use]
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.target = Some(target.into());
        self
    }
}

impl From<&str> for Guidance {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// Artifacts to be set and removed, at least one.
///
/// ```
/// use milepost_client::EditArtifacts;
/// use milepost_client::codec::Json;
///
/// let edit = EditArtifacts::new().set("essay.md", Json::string("It rained.")).remove("notes.md");
/// # let _ = edit;
/// ```
#[derive(Debug, Clone, Default)]
pub struct EditArtifacts {
    artifacts: BTreeMap<String, Json>,
    conditions: Conditions,
}

conditions!(EditArtifacts);

impl EditArtifacts {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new value, taken whole. `null` removes.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: Json) -> Self {
        self.artifacts.insert(name.into(), value);
        self
    }

    /// Removes one.
    #[must_use]
    pub fn remove(self, name: impl Into<String>) -> Self {
        self.set(name, Json::null())
    }
}

impl Client {
    /// Begins, pauses, resumes, stops or ends a run, from whatever its control is. Done once: see
    /// [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Conflict`: there is no such change, the head is another
    /// one, or the key was used otherwise.
    pub async fn control(
        &self,
        task: &str,
        change: impl Into<ChangeControl>,
    ) -> Result<ControlForm> {
        let change = change.into();
        let ask = self.post(["v1", "tasks", task, "control"], &change)?;
        change.conditions.on(ask)?.read().await
    }

    /// Gives guidance. Done once: see [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Conflict`: the head is another one, or the key was used
    /// otherwise.
    pub async fn guide(&self, task: &str, guidance: impl Into<Guidance>) -> Result<AppendedForm> {
        let guidance = guidance.into();
        let ask = self.post(["v1", "tasks", task, "guidance"], &guidance)?;
        guidance.conditions.on(ask)?.read().await
    }

    /// Sets artifacts, and removes them. Done once: see [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: none is named. `Conflict`: the head is another
    /// one, or the key was used otherwise.
    pub async fn edit_artifacts(&self, task: &str, edit: EditArtifacts) -> Result<AppendedForm> {
        let ask = self.ask(Method::PATCH, ["v1", "tasks", task, "artifacts"])?;
        let ask = edit.conditions.on(ask)?.json(&edit.artifacts)?;
        ask.read().await
    }
}
