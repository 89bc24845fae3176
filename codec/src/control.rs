//! What the control logs say: one totally ordered log for each task about its lineages, and one
//! for the store about its tasks.

use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};

use crate::body::{self, Data, LineageType, Parent, Scope};
use crate::chunk::ChunkList;
use crate::error::{Error, Result};
use crate::id::{
    CheckpointId, ChunkId, Epoch, Hash, Head, LineageId, Offset, Origin, RestoreId, StoreId, TaskNo,
};
use crate::json::Json;

body::macros::bodies! {
    /// What an event of a control log says. The first three, and the last, stand in the store's.
    Control, "control event" {
        /// The store's first event.
        256 StoreCreated "store_created",
        /// A task began.
        257 TaskOpened "task_opened",
        /// A task was deleted.
        258 Deleted "deleted",
        /// A lineage was opened.
        259 LineageRegistered "lineage_registered",
        /// The task goes on with another lineage.
        260 Activated "activated",
        /// A checkpoint is kept whatever retention says.
        261 Pinned "pinned",
        /// A checkpoint is no longer kept whatever retention says.
        262 Unpinned "unpinned",
        /// The task belongs to another user.
        263 OwnerSet "owner_set",
        /// Retention was applied.
        264 Retained "retained",
        /// The body of an event was erased for good.
        265 Erased "erased",
        /// A lineage begins at a base now.
        266 Trimmed "trimmed",
        /// Events were lost: damage took both copies of them.
        267 Lost "lost",
        /// A lineage is gone, since nothing needed it.
        268 Dropped "dropped",
        /// A restore of more than the log began: until it has ended, the task is blocked.
        269 RestoreBegun "restore_begun",
        /// A restore that began has ended.
        270 RestoreEnded "restore_ended",
        /// A task is being imported: it is there from its `task_opened` on.
        271 TaskPrepared "task_prepared",
    }
}

impl Control {
    /// Reads the JSON form. Other than with [`Body::from_json`](crate::Body::from_json), an unknown
    /// `kind` is `Invalid`: what it would do to a task nobody could say.
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
    /// `Invalid` where the text is none of a known kind, or has fields that the kind does not.
    pub fn from_json(text: &str) -> Result<Self> {
        let kind = body::macros::kind_of(&body::macros::fields(text)?)?;
        match Self::known_from_json(&kind, text) {
            Some((control, ignored)) => {
                body::macros::refuse_unknown(&kind, &ignored.fields).and(control)
            }
            None => Err(Error::invalid(format!("there is no control event `{kind}`"))),
        }
    }

    /// The JSON form as text.
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
    /// Whether its chains are keyed.
    pub keyed: bool,
    /// The version of Milepost that made it.
    pub version: String,
}

/// A task began.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct TaskOpened {
    /// Its number, never used twice.
    pub task: TaskNo,
    /// The caller's name for it.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// The origin of its history.
    pub origin: Origin,
}

/// A task was deleted. Its number stays dead; the name may be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Deleted {
    /// The task.
    pub task: TaskNo,
    /// Where the store's log said that it began: the body of that event is erased with it.
    pub opened: Offset,
    /// The origin of its history.
    pub origin: Origin,
}

/// A lineage was opened.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LineageRegistered {
    /// Its number in the task.
    pub lineage: LineageId,
    /// How it came to be.
    pub lineage_type: LineageType,
    /// What it is for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it parts from another; absent for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// Why a task goes on with another lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationCause {
    /// The task began with it.
    Opened,
    /// A restore or rollback opened it.
    Restored,
    /// A restore was undone.
    Undone,
    /// Somebody chose it.
    Chosen,
}

/// The task goes on with another lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Activated {
    /// The lineage.
    pub lineage: LineageId,
    /// The number of this activation, from 1.
    pub epoch: Epoch,
    /// Why.
    pub cause: ActivationCause,
    /// The activation that an undo goes back to; absent where there is nothing to undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Epoch>,
}

/// A checkpoint is kept whatever retention says.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Pinned {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A checkpoint is no longer kept whatever retention says.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Unpinned {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
}

/// The task belongs to another user.
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
    /// The checkpoints whose marks went.
    pub removed: Vec<RemovedMark>,
}

/// A checkpoint whose mark went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RemovedMark {
    /// The lineage it was marked on.
    pub lineage: LineageId,
    /// The offset of the mark's own event.
    pub offset: Offset,
    /// The checkpoint.
    pub checkpoint: CheckpointId,
}

/// A lineage is gone: the task does not go on with it, and nothing that is kept needs it. Its
/// number is not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Dropped {
    /// The lineage.
    pub lineage: LineageId,
}

/// The body of an event was erased for good; its header and body hash stay.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Erased {
    /// The lineage.
    pub lineage: LineageId,
    /// The event.
    pub offset: Offset,
    /// The hash that stands for the body now.
    pub body_hash: Hash,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Events were lost: damage took both copies of them, and a repair went on without them.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Lost {
    /// The lineage; none for the control log itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<LineageId>,
    /// The first offset that is lost.
    pub from: Offset,
    /// The offset after the last that was seen of it.
    pub to: Offset,
}

/// A lineage begins at a base now; what was before it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Trimmed {
    /// The lineage.
    pub lineage: LineageId,
    /// The first offset that is still there.
    pub offset: Offset,
    /// The chain hash there.
    pub hash: Hash,
    /// The chunk that holds the base.
    pub base: ChunkId,
}

/// A restore of more than the log began. Nothing outside of the log was changed before this is
/// durable.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RestoreBegun {
    /// The restore.
    pub restore: RestoreId,
    /// The lineage that was active.
    pub from: LineageId,
    /// Its head, behind what was saved of the present.
    pub head: Offset,
    /// The lineage gone back in.
    pub lineage: LineageId,
    /// The point gone back to.
    pub offset: Offset,
    /// The checkpoint gone back to, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// How much is taken back.
    pub scope: Scope,
    /// The activation that it undoes, if it undoes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<Epoch>,
    /// What else is brought back, by whom.
    pub parts: Vec<RestorePart>,
}

/// What one participant of a restore will do.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RestorePart {
    /// The participant's name.
    pub participant: String,
    /// Where it does it: of a workspace the folder, a JSON string, or bytes where it is no UTF-8.
    pub place: Data,
    /// What it wants to know of it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Json>,
    /// The intent of the participant: a workspace stores a [`RestoreIntent`](crate::RestoreIntent).
    pub plan: ChunkList,
    /// Chunks that have to stay until it has ended, with all that they name: what was there, and
    /// what is to come.
    pub roots: Vec<ChunkId>,
}

/// How a restore ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestoreOutcome {
    /// All of it was done. The activation is in the same commit.
    Done,
    /// All of it was taken back.
    Undone,
    /// Nobody can say what is there: it was left as it was.
    GivenUp,
}

/// A restore that began has ended.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RestoreEnded {
    /// The restore.
    pub restore: RestoreId,
    /// How.
    pub outcome: RestoreOutcome,
    /// Why, where it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A task is being imported. It cannot be seen until a `task_opened` of the same number says its
/// name, in the commit with which the import ends; until then it is as good as deleted.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct TaskPrepared {
    /// Its number.
    pub task: TaskNo,
    /// The origin of its history.
    pub origin: Origin,
    /// Lineages that begin at a base: the events that say so come later.
    pub begins: Vec<LineageBegin>,
}

/// Where a lineage begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LineageBegin {
    /// The lineage.
    pub lineage: LineageId,
    /// Its first offset, and the chain hash there.
    pub head: Head,
}
