//! What entries of the index hold. They are projections: their layout may change with a rebuild.

use bincode::{Decode, Encode};
use milepost_codec::{
    CheckpointId, CheckpointMarked, ChunkId, Epoch, Error, Hash, Head, LineageId, LineageType,
    Offset, Origin, Parent, RestoreId, Result, Seq, StoreKey, TaskNo,
};

macro_rules! stored {
    ($($name:ident $what:literal)*) => {
        $(impl $name {
            /// The stored bytes.
            pub fn encode(&self) -> Vec<u8> {
                let bytes = bincode::encode_to_vec(self, bincode::config::standard());
                assert!(bytes.is_ok(), "plain data encodes into memory");
                bytes.unwrap_or_default()
            }

            /// Reads stored bytes.
            pub fn decode(bytes: &[u8]) -> Result<Self> {
                let config = bincode::config::standard().with_limit::<0x4_0000>();
                match bincode::decode_from_slice(bytes, config) {
                    Ok((value, used)) if used == bytes.len() => Ok(value),
                    _ => Err(Error::corrupt($what, "an entry of the index", "other bytes")),
                }
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
}

/// Where a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LogHead {
    /// The offset and the chain hash after the last record.
    pub head: Head,
    /// Bytes of its own records, to know when a snapshot is due.
    pub bytes: u64,
    /// The offset of its first own record.
    pub start: Offset,
}

impl LogHead {
    /// The most bytes that it is stored in: a hash and three numbers of at most nine.
    pub const LEN_MAX: usize = 64;

    /// The stored bytes, in `room`.
    pub fn encode_in<'a>(&self, room: &'a mut [u8; Self::LEN_MAX]) -> &'a [u8] {
        let len = bincode::encode_into_slice(self, room, bincode::config::standard());
        assert!(len.is_ok(), "it has at most 59 bytes");
        room.get(..len.unwrap_or_default()).unwrap_or_default()
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TaskEntry {
    /// The name that its user gave.
    pub name: String,
    /// The owner.
    pub user: String,
    /// The origin that its chains commit to.
    pub origin: Origin,
    /// The time of its start, in microseconds of the Unix time.
    pub created_us: u64,
    /// Where the store's log says so.
    pub opened: Offset,
    /// When it was deleted, or [`NOT_YET`](Self::NOT_YET); name and user are empty then.
    pub deleted_us: Option<u64>,
}

impl TaskEntry {
    /// Stands for the time of deletion while a task is imported: it answers like one that was
    /// deleted. And for the time when it was started, where the import was given up.
    pub const NOT_YET: u64 = u64::MAX;

    /// Whether it is being imported.
    pub fn is_prepared(&self) -> bool {
        self.deleted_us == Some(Self::NOT_YET)
    }

    /// Whether it was given up before it was there: what came of it may be anything.
    pub fn is_given_up(&self) -> bool {
        self.deleted_us.is_some() && self.created_us == Self::NOT_YET
    }
}

/// What is counted of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Tally {
    /// Its checkpoints.
    pub marks: u64,
    /// Its lineages that were dropped.
    pub dropped: u64,
    /// Whether any of its checkpoints was removed, ever.
    pub retained: bool,
    /// Whether its workspace was captured, ever.
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
    /// The time of its opening, in microseconds of the Unix time.
    pub opened_us: u64,
    /// Whether retention let go of it.
    pub dropped: bool,
}

/// Where a lineage begins since it was trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct BaseEntry {
    /// The head at which it begins.
    pub head: Head,
    /// The chunk that holds the base.
    pub chunk: ChunkId,
}

/// A checkpoint that is kept whatever a policy says.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PinEntry {
    /// The time of the pin, in microseconds of the Unix time.
    pub time_us: u64,
    /// The reason, by the caller.
    pub reason: Option<String>,
}

/// A restore that began and has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct PendingEntry {
    /// The id of the restore.
    pub restore: RestoreId,
    /// Where the task's control log says so.
    pub begun: Offset,
    /// The time of its beginning, in microseconds of the Unix time.
    pub time_us: u64,
}

/// An activation of a lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ActivationEntry {
    /// The lineage.
    pub lineage: LineageId,
    /// The activation that an undo went back to.
    pub back: Option<Epoch>,
    /// The time, in microseconds of the Unix time.
    pub time_us: u64,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct MarkEntry {
    /// The id.
    pub id: CheckpointId,
    /// The time, in microseconds of the Unix time.
    pub time_us: u64,
    /// The commit.
    pub seq: Seq,
    /// The chain hash before the mark's own event.
    pub hash: Hash,
    /// The mark.
    pub body: CheckpointMarked,
    /// Whether its metadata is too large for an entry and has to be read from the log.
    pub elided: bool,
}

/// Where the event of a mark is.
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

/// A snapshot that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SnapshotNote {
    /// The chunk that holds it.
    pub chunk: ChunkId,
    /// How far the log may grow until the next, beside the slack.
    pub size: u64,
    /// The lineage's own record bytes before it.
    pub log_bytes: u64,
    /// Events of the task that were erased when it was made. With another number it is not used.
    pub erased: u64,
    /// Over its key in the index and the fields above, keyed in a keyed store: no event commits to
    /// a snapshot, and whoever could put another in its place could choose the state.
    pub check: [u8; 16],
}

impl SnapshotNote {
    /// The note as it is stored under a key.
    pub fn sealed(mut self, name: &[u8], key: Option<&StoreKey>) -> Self {
        self.check = self.check_under(name, key);
        self
    }

    fn check_under(&self, name: &[u8], key: Option<&StoreKey>) -> [u8; 16] {
        let numbers = [self.size, self.log_bytes, self.erased].map(u64::to_le_bytes);
        let parts: [&[u8]; 4] = [b"milepost.note.1\0", name, &self.chunk.0, numbers.as_flattened()];
        milepost_codec::check_of(key, &parts)
    }

    /// Reads a note that was stored under a key, and checks it.
    pub fn unseal(name: &[u8], bytes: &[u8], key: Option<&StoreKey>) -> Result<Self> {
        let note = Self::decode(bytes)?;
        if note.check == note.check_under(name, key) {
            return Ok(note);
        }
        Err(Error::corrupt("snapshot note", "a note that matches its check", "another"))
    }
}
