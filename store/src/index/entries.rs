//! Values of index entries. They are projections: a rebuild may change their layout.

use bincode::{Decode, Encode};
use milepost_codec::{
    CheckpointId, CheckpointMarked, ChunkId, Epoch, Error, Hash, Head, LineageId, LineageType,
    Offset, Origin, Parent, RestoreId, Result, Seq, StoreKey, TaskNo, wire,
};

macro_rules! stored {
    ($($name:ident $what:literal)*) => {
        $(impl $name {
            /// Returns the stored bytes.
            pub fn encode(&self) -> Vec<u8> {
                wire::encode(self)
            }

            /// Decodes stored bytes.
            pub fn decode(bytes: &[u8]) -> Result<Self> {
                wire::decode(bytes, $what)
            }
        })*
    };
}

stored! {
    LogHead "head of a log"
    TaskEntry "task entry"
    LineageEntry "lineage entry"
    ActivationEntry "activation entry"
    MarkEntry "checkpoint entry"
    MarkPlace "checkpoint place"
    KeyEntry "idempotency key entry"
    BaseEntry "base entry"
    PinEntry "pin entry"
    PendingEntry "pending restore entry"
    Tally "tally"
    SnapshotNote "snapshot note"
    SummaryNote "summary note"
}

/// Notes that end in a check over the index key and their other fields, keyed in a keyed store. No
/// event commits to a note, so without the key an attacker could replace it, and choose the state.
macro_rules! sealed {
    ($($name:ident $domain:literal $what:literal)*) => {
        $(impl $name {
            /// Returns the note with its check for an index key.
            pub fn sealed(mut self, name: &[u8], key: Option<&StoreKey>) -> Self {
                self.check = self.check_under(name, key);
                self
            }

            fn check_under(&self, name: &[u8], key: Option<&StoreKey>) -> [u8; 16] {
                let plain = Self { check: [0; 16], ..self.clone() }.encode();
                milepost_codec::check_of(key, &[$domain, name, &plain])
            }

            /// Decodes the note stored under an index key, and checks it.
            pub fn unseal(name: &[u8], bytes: &[u8], key: Option<&StoreKey>) -> Result<Self> {
                let note = Self::decode(bytes)?;
                if note.check == note.check_under(name, key) {
                    return Ok(note);
                }
                Err(Error::corrupt($what, "a note that matches its check", "another"))
            }
        })*
    };
}

sealed! {
    SnapshotNote b"milepost.note.2\0" "snapshot note"
    SummaryNote b"milepost.summary.2\0" "summary note"
}

/// The end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LogHead {
    /// The offset and the chain hash after the last record.
    pub head: Head,
    /// Bytes of its own records; they decide when a snapshot is due.
    pub bytes: u64,
    /// The offset of its first own record.
    pub start: Offset,
}

impl LogHead {
    /// The maximum stored length: a hash and three numbers of at most nine bytes.
    pub const LEN_MAX: usize = 64;

    /// Writes the stored bytes into `room` and returns them.
    pub fn encode_in<'a>(&self, room: &'a mut [u8; Self::LEN_MAX]) -> &'a [u8] {
        wire::encode_in(self, room)
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TaskEntry {
    /// The name that its user chose.
    pub name: String,
    /// The owner.
    pub user: String,
    /// The origin that its chains commit to.
    pub origin: Origin,
    /// The time of its start, in microseconds since the Unix epoch.
    pub created_us: u64,
    /// The offset of the event in the store's log that opened it.
    pub opened: Offset,
    /// The time of its deletion, or [`NOT_YET`](Self::NOT_YET); name and user are empty then.
    pub deleted_us: Option<u64>,
}

impl TaskEntry {
    /// A time in the future. As `deleted_us` it marks a task being imported, which looks deleted to
    /// readers. As `created_us` it marks a task whose import was cancelled.
    pub const NOT_YET: u64 = u64::MAX;

    /// Returns `true` while the task is being imported.
    pub fn is_prepared(&self) -> bool {
        self.deleted_us == Some(Self::NOT_YET)
    }

    /// Returns `true` if the import was cancelled. The records that it left may be incomplete.
    pub fn is_given_up(&self) -> bool {
        self.deleted_us.is_some() && self.created_us == Self::NOT_YET
    }
}

/// Counts of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Tally {
    /// The number of its checkpoints.
    pub marks: u64,
    /// The number of its dropped lineages.
    pub dropped: u64,
    /// Set once any of its checkpoints was removed.
    pub retained: bool,
    /// Set once its workspace was captured.
    pub captured: bool,
}

/// A lineage.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct LineageEntry {
    /// The reason why it was opened.
    pub lineage_type: LineageType,
    /// A description by the caller.
    pub description: Option<String>,
    /// The lineage and the offset that it forks from.
    pub parent: Option<Parent>,
    /// The time of its opening, in microseconds since the Unix epoch.
    pub opened_us: u64,
    /// Set once retention dropped it.
    pub dropped: bool,
}

/// The beginning of a trimmed lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct BaseEntry {
    /// The head at which it begins.
    pub head: Head,
    /// The chunk that holds the base.
    pub chunk: ChunkId,
}

/// A checkpoint that policies may not remove.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PinEntry {
    /// The time of the pin, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The reason that the caller gave.
    pub reason: Option<String>,
}

/// A restore that began and has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct PendingEntry {
    /// The id of the restore.
    pub restore: RestoreId,
    /// The offset of its beginning in the task's control log.
    pub begun: Offset,
    /// The time of its beginning, in microseconds since the Unix epoch.
    pub time_us: u64,
}

/// An activation of a lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ActivationEntry {
    /// The lineage.
    pub lineage: LineageId,
    /// The activation that an undo returned to.
    pub back: Option<Epoch>,
    /// The time, in microseconds since the Unix epoch.
    pub time_us: u64,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct MarkEntry {
    /// The id.
    pub id: CheckpointId,
    /// The time, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The commit.
    pub seq: Seq,
    /// The chain hash before the mark's own event.
    pub hash: Hash,
    /// The mark.
    pub body: CheckpointMarked,
    /// Set if its metadata is too large for an entry and has to be read from the log.
    pub elided: bool,
}

/// The location of a mark's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct MarkPlace {
    /// The task.
    pub task: TaskNo,
    /// The lineage.
    pub lineage: LineageId,
    /// The offset of the event.
    pub offset: Offset,
}

/// The append that an idempotency key was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct KeyEntry {
    /// The offset of its first event.
    pub first: Offset,
    /// The number of its events.
    pub count: u32,
    /// The commit.
    pub seq: Seq,
}

/// The index entry of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SnapshotNote {
    /// The chunk that holds it.
    pub chunk: ChunkId,
    /// Bytes that the log may grow before the next snapshot is due, not counting the slack.
    pub size: u64,
    /// The lineage's own record bytes before it.
    pub log_bytes: u64,
    /// The number of erased events of the task when it was made. The snapshot is unused once that
    /// changes.
    pub erased: u64,
    /// The first offset of the history at its creation. The snapshot is unused once that changes:
    /// its pieces may refer to trimmed events.
    pub begin: Offset,
    /// Check over the index key and the fields above.
    pub check: [u8; 16],
}

/// A summary of a lineage, from its events up to a head. It may be lost.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SummaryNote {
    /// The first offset of the summarized history.
    pub begin: Offset,
    /// The head up to which it is summarized.
    pub head: Head,
    /// The number of erased events of the task when it was made. The summary is unused once that
    /// changes.
    pub erased: u64,
    /// The encoded summary.
    pub summary: Vec<u8>,
    /// The value of the outcome at the head, as JSON.
    pub outcome: Option<String>,
    /// Check over the index key and the fields above.
    pub check: [u8; 16],
}
