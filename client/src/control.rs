//! Run control, guidance and artifacts.

use std::collections::BTreeMap;

use milepost_api::{AppendedForm, ControlAsked, ControlForm, Fields, GuidanceAsked, calls};
use milepost_codec::{Json, RunControl};

use crate::client::Client;
use crate::conditions::{Conditions, conditions};
use crate::error::Result;

/// A change of a run's control.
///
/// ```
/// use milepost_client::ChangeControl;
/// use milepost_client::codec::RunControl;
///
/// let pause = ChangeControl::to(RunControl::Paused).reason("let me look");
/// # let _ = pause;
/// ```
#[derive(Debug, Clone)]
pub struct ChangeControl {
    request: ControlAsked,
    conditions: Conditions,
}

conditions!(ChangeControl);

impl ChangeControl {
    /// Creates a change: `Running` begins or resumes, `Paused` pauses, `Stopped` stops, `Idle`
    /// ends.
    pub fn to(control: RunControl) -> Self {
        let request = ControlAsked { to: control, reason: None };
        Self { request, conditions: Conditions::default() }
    }

    /// Sets the reason, for people.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.request.reason = Some(reason.into());
        self
    }
}

impl From<RunControl> for ChangeControl {
    fn from(control: RunControl) -> Self {
        Self::to(control)
    }
}

/// Guidance for a run.
///
/// ```
/// use milepost_client::Guidance;
///
/// let guidance = Guidance::new("Fewer adjectives.").target("essay.md");
/// # let _ = guidance;
/// ```
#[derive(Debug, Clone)]
pub struct Guidance {
    request: GuidanceAsked,
    conditions: Conditions,
}

conditions!(Guidance);

impl Guidance {
    /// Creates guidance from a text.
    pub fn new(text: impl Into<String>) -> Self {
        let request = GuidanceAsked { text: text.into(), target: None };
        Self { request, conditions: Conditions::default() }
    }

    /// Sets the part of the work that the guidance is about.
    #[must_use]
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.request.target = Some(target.into());
        self
    }
}

impl From<&str> for Guidance {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// Artifacts to set and to remove, at least one.
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
    /// Creates an empty edit.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the value of an artifact. `null` removes the artifact.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: Json) -> Self {
        self.artifacts.insert(name.into(), value);
        self
    }

    /// Removes an artifact.
    #[must_use]
    pub fn remove(self, name: impl Into<String>) -> Self {
        self.set(name, Json::null())
    }
}

impl Client {
    /// Begins, pauses, resumes, stops or ends a run. Retries take effect once: see
    /// [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task. `Conflict`: the current control does not allow the change, the
    /// head is a different one, or the key was used for another request.
    pub async fn control(
        &self,
        task: &str,
        change: impl Into<ChangeControl>,
    ) -> Result<ControlForm> {
        let ChangeControl { request, conditions } = change.into();
        self.call_under(&calls::Control::new(task, request), &conditions).await
    }

    /// Gives guidance. Retries take effect once: see [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task. `Conflict`: the head is a different one, or the key was used for
    /// another request.
    pub async fn guide(&self, task: &str, guidance: impl Into<Guidance>) -> Result<AppendedForm> {
        let Guidance { request, conditions } = guidance.into();
        self.call_under(&calls::Guide::new(task, request), &conditions).await
    }

    /// Sets and removes artifacts. Retries take effect once: see [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task. `Invalid`: the edit is empty. `Conflict`: the head is a different
    /// one, or the key was used for another request.
    pub async fn edit_artifacts(&self, task: &str, edit: EditArtifacts) -> Result<AppendedForm> {
        let EditArtifacts { artifacts, conditions } = edit;
        self.call_under(&calls::EditArtifacts::new(task, Fields(artifacts)), &conditions).await
    }
}
