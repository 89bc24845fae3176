//! The structures of the event kinds. Field order is the stored order: append, never reorder.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Serialize, Serializer};

use super::{Data, macros};
use crate::float::Float;
use crate::id::{CheckpointId, Hash, LineageId, Offset, Origin};
use crate::json::Json;

/// How a lineage came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineageType {
    /// The beginning of a task.
    Root,
    /// Opened by a policy.
    Automatic,
    /// Opened by a person, for a reason of their own.
    Manual,
    /// Opened to go back, without the workspace.
    Restore,
    /// Opened to go back, with the workspace.
    Rollback,
    /// Opened beside the lineage it came from.
    Branch,
}

/// Where a lineage parts from the one it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Parent {
    /// The lineage it came from.
    pub lineage: LineageId,
    /// The first offset of its own.
    pub offset: Offset,
    /// The parent's chain hash there.
    pub hash: Hash,
}

/// Where events that were copied into this lineage were recorded first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct CopiedFrom {
    /// The origin of the history copied from.
    pub origin: Origin,
    /// The lineage in it.
    pub lineage: LineageId,
    /// How far it was copied.
    pub offset: Offset,
    /// The chain hash there.
    pub hash: Hash,
}

/// The first event of a lineage: how it came to be, and what it starts from.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LineageOpened {
    /// How it came to be.
    pub lineage_type: LineageType,
    /// What it is for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it parts from another; absent for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The state it starts with, as the reducer's JSON; absent for a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Json>,
    /// Where its events were recorded first, if they were copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<CopiedFrom>,
}

/// A step began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct StepStarted {
    /// The step's number in the run.
    pub step: u64,
    /// What the step does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The iteration it belongs to, if it begins another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
}

/// A step ended well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct StepFinished {
    /// The step's number in the run.
    pub step: u64,
    /// What came out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// What was measured, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Float>,
}

/// A step ended badly.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct StepFailed {
    /// The step's number in the run.
    pub step: u64,
    /// What went wrong.
    pub error: String,
}

/// The iteration went from one state to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct PhaseChanged {
    /// The iteration state before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The iteration state from here on.
    pub phase: String,
    /// The number of the iteration.
    pub iteration: u64,
}

/// Whether a run is going.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum RunControl {
    /// Not begun.
    #[default]
    Idle,
    /// Going.
    Running,
    /// Waiting to be resumed.
    Paused,
    /// Ended; it can be begun again.
    Stopped,
}

impl RunControl {
    /// Its name, as the JSON form has it.
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
    /// What it was.
    pub from: RunControl,
    /// What it is from here on.
    pub to: RunControl,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A person said what to do.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct GuidanceGiven {
    /// What they said.
    pub text: String,
    /// What goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

/// The prompt is another one.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct PromptChanged {
    /// The whole new prompt.
    pub prompt: String,
}

/// The rule system is another one.
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

/// Which of the two standard patch forms.
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
    /// How `patch` is to be read.
    #[serde(default)]
    pub form: PatchForm,
    /// The patch.
    pub patch: Json,
}

/// The context was patched.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ContextChanged {
    /// How `patch` is to be read.
    #[serde(default)]
    pub form: PatchForm,
    /// The patch.
    pub patch: Json,
}

/// Somebody said something in the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Message {
    /// Who: `system`, `user`, `assistant`, or what the application calls it.
    pub role: String,
    /// What: a string, a list of parts, or nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Json>,
    /// The speaker's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All other fields it came with. In JSON they stand beside the named ones.
    #[serde(flatten, skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
}

impl Message {
    /// A message of plain text.
    pub fn text(role: impl Into<String>, content: &str) -> Self {
        Self { role: role.into(), content: Some(Json::string(content)), name: None, extra: None }
    }
}

/// A tool was called.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ToolCalled {
    /// The call's id, which its return names.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// What it was called with.
    pub arguments: Json,
}

/// A tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ToolReturned {
    /// The id of the call it answers.
    pub call: String,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether it did what it was asked.
    #[serde(default = "yes")]
    pub ok: bool,
    /// What it answered.
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
    /// Files in it.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Files left out, each listed in the tree.
    pub skipped: u64,
}

/// How much a restore takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// State, conversation, tool calls and files.
    All,
    /// State, conversation and tool calls; the task had no captured workspace, or it was left.
    State,
    /// Files only.
    Files,
}

/// This lineage was opened to go back to an earlier point.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Restored {
    /// The lineage that was active before.
    pub from: LineageId,
    /// Its head then.
    pub head: Offset,
    /// The lineage gone back in.
    pub lineage: LineageId,
    /// The point gone back to.
    pub offset: Offset,
    /// The checkpoint gone back to, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// How much was taken back.
    pub scope: Scope,
}

/// Something was added to a checkpoint after the fact, under a key of three parts.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct CheckpointAttached {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// Who adds it.
    pub writer: String,
    /// The writer's count.
    pub index: u32,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub data: Data,
}

/// What only the application knows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Application {
    /// The application's name for the kind.
    pub name: String,
    /// The application's data.
    pub data: Data,
}

/// Fields of a JSON object that its structure does not have, as the text of an object. They are
/// written after the others again.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Extra(pub Json);

impl Extra {
    /// The text of the object.
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
