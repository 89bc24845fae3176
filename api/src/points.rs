//! Points, and the events, states and captured files there.

use std::borrow::Cow;

use milepost_codec::{CheckpointId, Hash, Json, LineageId, PathBytes, TreePath};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, CheckpointForm, EventForm};

/// The point that an address names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct PointForm {
    /// A stable address, independent of the active lineage: `TASK/LINEAGE@OFFSET`.
    pub address: String,
    /// The task.
    pub task: String,
    /// The lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The offset; the point is before the event at this offset.
    pub offset: Big,
    /// The chain hash at the point, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The checkpoint that the address names, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub checkpoint: Option<CheckpointId>,
}

/// The event at a point. `milepost show --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct EventAt {
    /// The task.
    pub task: String,
    /// The event.
    #[serde(flatten)]
    pub event: EventForm,
    /// The chain hash after the event, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The checkpoint that the address names, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub checkpoint: Option<CheckpointId>,
}

/// The fields of [`EventAt`] other than the event.
#[derive(Deserialize)]
struct Beside {
    task: String,
    hash: Hash,
    checkpoint: Option<CheckpointId>,
}

impl<'de> Deserialize<'de> for EventAt {
    /// Reads the text twice: a flattened body would lose its original text.
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(d)?;
        let event = serde_json::from_str(text.get()).map_err(Error::custom)?;
        let beside: Beside = serde_json::from_str(text.get()).map_err(Error::custom)?;
        Ok(Self { task: beside.task, event, hash: beside.hash, checkpoint: beside.checkpoint })
    }
}

/// A state, or a part of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(untagged)]
pub enum StateOrPart {
    /// The whole state.
    State(StateForm),
    /// A part of the state.
    Part(PartForm),
}

/// The state before the event at a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct StateForm {
    /// The point.
    pub point: PointForm,
    /// The state, as `milepost state --json` prints it.
    #[cfg_attr(feature = "schema", schema(value_type = Value))]
    pub state: Json,
}

/// A checkpoint and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckpointState {
    /// The checkpoint.
    pub checkpoint: CheckpointForm,
    /// The marked point.
    pub point: PointForm,
    /// The state there, as `milepost state --json` prints it.
    pub state: Json,
}

/// A part of the state before the event at a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct PartForm {
    /// The point.
    pub point: PointForm,
    /// The part, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The value of the part.
    #[cfg_attr(feature = "schema", schema(value_type = Value))]
    pub value: Json,
}

/// The kind of a change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// Only in the later capture.
    Added,
    /// Only in the earlier capture.
    Removed,
    /// In both, with another content, target or kind.
    Changed,
    /// In both, with only the permission bits changed.
    Mode,
    /// In both, at different paths.
    Renamed,
    /// Only in the earlier capture: the later one left the path out.
    LeftOut,
    /// Only in the later capture: the earlier one left the path out.
    TakenIn,
}

/// A difference between two captures. `diff --files --json` prints the same changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FileChangeForm {
    /// The kind of the change.
    pub change: FileChangeKind,
    /// The entry in the earlier capture; `null` if it was added.
    pub before: Option<FileForm>,
    /// The entry in the later capture; `null` if it was removed.
    pub after: Option<FileForm>,
}

impl FileChangeForm {
    /// Returns the path, in the later capture if it is there.
    pub fn path(&self) -> Option<&TreePath> {
        self.after.as_ref().or(self.before.as_ref()).map(|entry| &entry.path)
    }
}

/// Differences between two captures, in order of paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FileChangesForm {
    /// The first 10,000 differences.
    pub items: Vec<FileChangeForm>,
    /// `true` if there are more.
    pub more: bool,
}

/// A path of a captured folder. `milepost files --json` prints the same. Names that are not UTF-8
/// are `{"base64": "…"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FileForm {
    /// The path relative to the folder.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub path: TreePath,
    /// `file`, `directory` or `link`.
    pub kind: Cow<'static, str>,
    /// The permission bits, octal: `0644`.
    pub mode: String,
    /// The length of a file, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Big>,
    /// BLAKE3 of a file's content, 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub hash: Option<Hash>,
    /// True if a file was written to while it was captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstable: Option<bool>,
    /// The target of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub target: Option<PathBytes>,
}
