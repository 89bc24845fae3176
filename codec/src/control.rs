//! Control events. Each task has a totally ordered log of its lineages, and the store has one of
//! its tasks.

use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};

use crate::body::{self, Data, LineageType, Parent, Scope};
use crate::chunk::ChunkList;
use crate::error::{Error, Result};
use crate::id::{
    CheckpointId, ChunkId, Epoch, Hash, Head, LineageId, Offset, Origin, RestoreId, StoreId, TaskNo,
};
use crate::json::Json;
use crate::limits::check_text;

body::macros::bodies! {
    /// A control event. The first three kinds and `task_prepared` occur in the store's log.
    Control, "control event" {
        /// The store's first event.
        256 StoreCreated "store_created",
        /// A task began.
        257 TaskOpened "task_opened",
        /// A task was deleted.
        258 Deleted "deleted",
        /// A lineage was opened.
        259 LineageRegistered "lineage_registered",
        /// Another lineage became the active one.
        260 Activated "activated",
        /// A checkpoint was pinned: retention keeps it.
        261 Pinned "pinned",
        /// A checkpoint was unpinned.
        262 Unpinned "unpinned",
        /// The task was given to another user.
        263 OwnerSet "owner_set",
        /// Retention was applied.
        264 Retained "retained",
        /// The body of an event was erased.
        265 Erased "erased",
        /// A lineage was trimmed: it begins at a base now.
        266 Trimmed "trimmed",
        /// Events were lost: damage hit both copies of them.
        267 Lost "lost",
        /// A lineage that is no longer needed was dropped.
        268 Dropped "dropped",
        /// A restore of more than the log began. The task is blocked until it ends.
        269 RestoreBegun "restore_begun",
        /// A restore ended.
        270 RestoreEnded "restore_ended",
        /// An import of a task began. The task exists from its `task_opened` on.
        271 TaskPrepared "task_prepared",
        /// An activation left the files of the task's folder as they were.
        272 FilesKept "files_kept",
    }
}

impl Control {
    /// Checks the texts against the limits that a store has.
    ///
    /// # Errors
    ///
    /// `Invalid`: a text is over its limit; the message names it.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::LineageRegistered(opened) => {
                check_text("a description", opened.description.as_ref())
            }
            Self::Pinned(pinned) => check_text("a reason", pinned.reason.as_ref()),
            Self::Erased(erased) => check_text("a reason", erased.reason.as_ref()),
            _ => Ok(()),
        }
    }

    /// Parses the JSON form. In contrast to [`Body::from_json`](crate::Body::from_json), an unknown
    /// `kind` is `Invalid`, since its effect on a task is unknown.
    ///
    /// ```
    /// use milepost_codec::Control;
    ///
    /// let control = Control::from_json(r#"{"kind":"owner_set","user":"ana"}"#)?;
    /// assert_eq!(control.kind_name(), "owner_set");
    /// # Ok::<(), milepost_codec::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid`: the text is not an event of a known kind, or has fields that the kind does not
    /// have.
    pub fn from_json(text: &str) -> Result<Self> {
        let kind = body::macros::kind_of(&body::macros::fields(text)?)?;
        match Self::known_from_json(&kind, text) {
            Some((control, ignored)) => {
                body::macros::refuse_unknown(&kind, &ignored.fields).and(control)
            }
            None => Err(Error::invalid(format!("there is no control event `{kind}`"))),
        }
    }

    /// Returns the JSON form as text.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|e| Error::invalid(format!("no JSON form: {e}")).with_source(e))
    }
}

/// The store's first event.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct StoreCreated {
    /// The store.
    pub store: StoreId,
    /// Set if the chains are keyed.
    pub keyed: bool,
    /// The version of Milepost that created the store.
    pub version: String,
}

/// A task began.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct TaskOpened {
    /// The task's number, never reused.
    pub task: TaskNo,
    /// The caller's name for the task.
    pub name: String,
    /// The owner.
    pub user: String,
    /// The origin of the task's history.
    pub origin: Origin,
}

/// A task was deleted. Its number is never reused; the name may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Deleted {
    /// The task.
    pub task: TaskNo,
    /// The offset of the task's `task_opened` in the store's log. That body is erased too.
    pub opened: Offset,
    /// The origin of the task's history.
    pub origin: Origin,
}

/// A lineage was opened.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LineageRegistered {
    /// The lineage's number in the task.
    pub lineage: LineageId,
    /// The cause of the lineage.
    pub lineage_type: LineageType,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fork point; absent for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// Cause of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationCause {
    /// The task began with this lineage.
    Opened,
    /// A restore or rollback opened the lineage.
    Restored,
    /// A restore was undone.
    Undone,
    /// A user or program selected the lineage.
    Chosen,
}

/// Another lineage became the active one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Activated {
    /// The lineage.
    pub lineage: LineageId,
    /// The number of this activation, from 1.
    pub epoch: Epoch,
    /// The cause.
    pub cause: ActivationCause,
    /// The activation that an undo returns to; absent if there is nothing to undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Epoch>,
}

/// A checkpoint was pinned: retention keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Pinned {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A checkpoint was unpinned.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Unpinned {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
}

/// The task was given to another user.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct OwnerSet {
    /// The user.
    pub user: String,
}

/// Retention was applied.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Retained {
    /// The policy, as JSON.
    pub policy: Json,
    /// The checkpoints whose marks were removed.
    pub removed: Vec<RemovedMark>,
}

/// A checkpoint whose mark was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RemovedMark {
    /// The lineage of the mark.
    pub lineage: LineageId,
    /// The offset of the mark's own event.
    pub offset: Offset,
    /// The checkpoint.
    pub checkpoint: CheckpointId,
}

/// A lineage was dropped: it is not active and nothing that is kept needs it. Its number is never
/// reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Dropped {
    /// The lineage.
    pub lineage: LineageId,
}

/// The body of an event was erased; its header and body hash remain.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Erased {
    /// The lineage.
    pub lineage: LineageId,
    /// The event.
    pub offset: Offset,
    /// The hash that replaces the body.
    pub body_hash: Hash,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Events were lost: damage hit both copies of them, and a repair continued without them.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Lost {
    /// The lineage; absent for the control log itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<LineageId>,
    /// The first lost offset.
    pub from: Offset,
    /// The end of the known lost offsets, exclusive.
    pub to: Offset,
}

/// A lineage was trimmed: it begins at a base now. The events before the base are removed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Trimmed {
    /// The lineage.
    pub lineage: LineageId,
    /// The first remaining offset.
    pub offset: Offset,
    /// The chain hash at `offset`.
    pub hash: Hash,
    /// The chunk that holds the base.
    pub base: ChunkId,
}

/// A restore of more than the log began. This event is durable before anything outside of the log
/// is changed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RestoreBegun {
    /// The restore.
    pub restore: RestoreId,
    /// The lineage that was active.
    pub from: LineageId,
    /// The head of `from`, after the saved present.
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
    /// The activation that this restore undoes, if it is an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<Epoch>,
    /// The parts of the restore outside of the log, one for each participant.
    pub parts: Vec<RestorePart>,
}

/// The part of one participant in a restore.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RestorePart {
    /// The participant's name.
    pub participant: String,
    /// The place that it changes. For a workspace, the folder: a JSON string, or bytes if not
    /// UTF-8.
    pub place: Data,
    /// Data that the participant stores for a recovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Json>,
    /// The participant's intent: a workspace stores a [`RestoreIntent`](crate::RestoreIntent).
    pub plan: ChunkList,
    /// Chunks that must stay until the restore ends, with all chunks they refer to: the previous
    /// and the new content.
    pub roots: Vec<ChunkId>,
}

/// Outcome of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestoreOutcome {
    /// Completed. The activation is in the same commit.
    Done,
    /// Fully reverted.
    Undone,
    /// Abandoned: the actual content is unknown and was left as found.
    GivenUp,
}

/// A restore ended.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RestoreEnded {
    /// The restore.
    pub restore: RestoreId,
    /// The outcome.
    pub outcome: RestoreOutcome,
    /// The reason, if it was not completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An import of a task began. The task is invisible, like a deleted one, until a `task_opened` of
/// the same number gives its name, in the last commit of the import.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct TaskPrepared {
    /// The task's number.
    pub task: TaskNo,
    /// The origin of the task's history.
    pub origin: Origin,
    /// Lineages that begin at a base. The events that record this come later in the import.
    pub begins: Vec<LineageBegin>,
}

/// The beginning of a lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LineageBegin {
    /// The lineage.
    pub lineage: LineageId,
    /// The first offset, and the chain hash there.
    pub head: Head,
}

/// An activation left the files of the task's folder as they were, and the activated lineage names
/// another capture. In the commit of the activation, after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct FilesKept {
    /// The activation.
    pub epoch: Epoch,
    /// The last capture of the folder.
    pub root: Hash,
    /// The lineage that names it.
    pub lineage: LineageId,
    /// The head of the activated lineage. A capture from there on is later.
    pub from: Offset,
}
