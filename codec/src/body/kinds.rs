//! Structures of the event kinds. Field order is the stored order: append fields, never reorder
//! them.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Serialize, Serializer};

use super::{Data, macros};
use crate::error::Result;
use crate::float::Float;
use crate::id::{CheckpointId, Hash, LineageId, Offset, Origin};
use crate::json::Json;

/// Cause of a lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineageType {
    /// The beginning of a task.
    Root,
    /// Opened by a policy.
    Automatic,
    /// Opened by a person.
    Manual,
    /// Opened by a restore, without the workspace.
    Restore,
    /// Opened by a restore, with the workspace.
    Rollback,
    /// Opened as a branch; the active lineage does not change.
    Branch,
}

impl LineageType {
    /// Returns the name in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Automatic => "automatic",
            Self::Manual => "manual",
            Self::Restore => "restore",
            Self::Rollback => "rollback",
            Self::Branch => "branch",
        }
    }
}

/// The fork point of a lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Parent {
    /// The parent lineage.
    pub lineage: LineageId,
    /// The first offset of the new lineage's own events.
    pub offset: Offset,
    /// The parent's chain hash at `offset`.
    pub hash: Hash,
}

/// Source of events that were copied into a lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct CopiedFrom {
    /// The origin of the source history.
    pub origin: Origin,
    /// The source lineage.
    pub lineage: LineageId,
    /// The end of the copied events.
    pub offset: Offset,
    /// The source's chain hash at `offset`.
    pub hash: Hash,
}

/// The first event of a lineage: its cause and its initial state.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LineageOpened {
    /// The cause of the lineage.
    pub lineage_type: LineageType,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fork point; absent for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The initial state as the reducer's JSON; absent for a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Json>,
    /// The source of the events, if they were copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<CopiedFrom>,
}

/// A step began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct StepStarted {
    /// The step's number in the run.
    pub step: u64,
    /// A description of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The step's iteration; absent if it is that of the previous step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
}

/// A step ended well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct StepFinished {
    /// The step's number in the run.
    pub step: u64,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Measured values by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Float>,
}

/// A step ended badly.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct StepFailed {
    /// The step's number in the run.
    pub step: u64,
    /// The error.
    pub error: String,
}

/// The iteration changed from one state to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct PhaseChanged {
    /// The previous iteration state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The new iteration state.
    pub phase: String,
    /// The number of the iteration.
    pub iteration: u64,
}

/// Control of a run.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum RunControl {
    /// Not started.
    #[default]
    Idle,
    /// Started and not paused.
    Running,
    /// Waiting for a resume.
    Paused,
    /// Ended; can be started again.
    Stopped,
}

impl RunControl {
    /// Returns the name in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
        }
    }
}

/// The run was started, paused, resumed or stopped.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ControlChanged {
    /// The previous control.
    pub from: RunControl,
    /// The new control.
    pub to: RunControl,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A person gave an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct GuidanceGiven {
    /// The instruction.
    pub text: String,
    /// Additional data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

impl GuidanceGiven {
    /// Creates an instruction without data.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), data: None }
    }
}

/// The prompt was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct PromptChanged {
    /// The whole new prompt.
    pub prompt: String,
}

/// The rule system was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RulesChanged {
    /// The whole new rule system.
    pub rules: Json,
}

/// Artifacts were set, or removed where the value is `null`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ArtifactsEdited {
    /// New values by name.
    pub artifacts: BTreeMap<String, Json>,
}

/// Form of a patch: one of the two standard ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchForm {
    /// A JSON merge patch, RFC 7396.
    #[default]
    Merge,
    /// A JSON patch, RFC 6902.
    Patch,
}

/// The variables were patched.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct VariablesPatched {
    /// The form of `patch`.
    #[serde(default)]
    pub form: PatchForm,
    /// The patch.
    pub patch: Json,
}

/// The context was patched.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ContextChanged {
    /// The form of `patch`.
    #[serde(default)]
    pub form: PatchForm,
    /// The patch.
    pub patch: Json,
}

/// A message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Message {
    /// The speaker's role: `system`, `user`, `assistant`, or a name of the application.
    pub role: String,
    /// The content: a string, a list of parts, or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Json>,
    /// The speaker's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All other fields of the message. In JSON they are at the level of the named ones.
    #[serde(flatten, skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
}

impl Message {
    /// Creates a message of plain text.
    pub fn text(role: impl Into<String>, content: &str) -> Self {
        Self { role: role.into(), content: Some(Json::string(content)), name: None, extra: None }
    }
}

/// A tool was called.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ToolCalled {
    /// The call's id. The return refers to it.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Json,
}

/// A tool returned.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ToolReturned {
    /// The id of the call.
    pub call: String,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Set if the call succeeded.
    #[serde(default = "yes")]
    pub ok: bool,
    /// The tool's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
}

fn yes() -> bool {
    true
}

/// The workspace was captured.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct WorkspaceCaptured {
    /// The hash of the captured tree.
    pub root: Hash,
    /// Number of files in the tree.
    pub files: u64,
    /// Total size of the files, in bytes.
    pub bytes: u64,
    /// Number of entries left out; the tree lists each.
    pub skipped: u64,
}

/// Extent of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// State, conversation, tool calls and files.
    All,
    /// State, conversation and tool calls. The task had no captured workspace, or it was not
    /// restored.
    State,
    /// Files only.
    Files,
}

/// This lineage was opened by a restore to an earlier point.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Restored {
    /// The lineage that was active before.
    pub from: LineageId,
    /// The head of that lineage at the restore.
    pub head: Offset,
    /// The lineage of the restored point.
    pub lineage: LineageId,
    /// The offset of the restored point.
    pub offset: Offset,
    /// The restored checkpoint, if the point was given as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// The extent of the restore.
    pub scope: Scope,
}

/// Data was attached to an existing checkpoint, under a key of writer, index and name.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct CheckpointAttached {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The writer.
    pub writer: String,
    /// The writer's count.
    pub index: u32,
    /// The name of the data.
    pub name: String,
    /// The data.
    pub data: Data,
}

/// Data was attached to the checkpoint that has the event's correlation id as an alias, whether it
/// is marked already or later, under a key of writer and index.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct DataAttached {
    /// The writer.
    pub writer: String,
    /// The writer's number of the data. Of several events with a number from 0 on, the first
    /// counts; of those with a negative one, the last.
    pub index: i64,
    /// The name of the data.
    pub name: String,
    /// The data.
    pub data: Data,
}

/// An event kind that the application defines.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Application {
    /// The application's name for the kind.
    pub name: String,
    /// The application's data.
    pub data: Data,
}

impl Application {
    /// Creates an event of the application's kind `name` whose data is a value in JSON.
    ///
    /// # Errors
    ///
    /// `Invalid`: the value has no JSON form.
    pub fn new<T: Serialize + ?Sized>(name: impl Into<String>, value: &T) -> Result<Self> {
        Ok(Self { name: name.into(), data: Data::Json(Json::from_value(value)?) })
    }
}

/// Fields of a JSON object that its structure does not have, as the text of an object. They are
/// serialized after the known fields.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Extra(pub Json);

impl Extra {
    /// Returns the text of the object.
    pub fn text(&self) -> &str {
        self.0.text()
    }
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let fields = macros::fields(self.text()).map_err(S::Error::custom)?;
        let mut map = s.serialize_map(Some(fields.len()))?;
        for (name, value) in &fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
