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
            pub(crate) fn encode(&self) -> Vec<u8> {
                let bytes = bincode::encode_to_vec(self, bincode::config::standard());
                assert!(bytes.is_ok(), "plain data encodes into memory");
                bytes.unwrap_or_default()
            }

            /// Reads stored bytes.
            pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
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
pub(crate) struct LogHead {
    pub(crate) head: Head,
    /// Bytes of its own records, to know when a snapshot is due.
    pub(crate) bytes: u64,
    /// The offset of its first own record.
    pub(crate) start: Offset,
}

impl LogHead {
    /// The most bytes that it is stored in: a hash and three numbers of at most nine.
    pub(crate) const LEN_MAX: usize = 64;

    /// The stored bytes, in `room`.
    pub(crate) fn encode_in<'a>(&self, room: &'a mut [u8; Self::LEN_MAX]) -> &'a [u8] {
        let len = bincode::encode_into_slice(self, room, bincode::config::standard());
        assert!(len.is_ok(), "it has at most 59 bytes");
        room.get(..len.unwrap_or_default()).unwrap_or_default()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct TaskEntry {
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) origin: Origin,
    pub(crate) created_us: u64,
    /// Where the store's log says so.
    pub(crate) opened: Offset,
    /// When it was deleted, or [`NOT_YET`](Self::NOT_YET); name and user are empty then.
    pub(crate) deleted_us: Option<u64>,
}

impl TaskEntry {
    /// Stands for the time of deletion while a task is imported: it answers like one that was deleted. And for
    /// the time when it was started, where the import was given up.
    pub(crate) const NOT_YET: u64 = u64::MAX;

    /// Whether it is being imported.
    pub(crate) fn is_prepared(&self) -> bool {
        self.deleted_us == Some(Self::NOT_YET)
    }

    /// Whether it was given up before it was there: what came of it may be anything.
    pub(crate) fn is_given_up(&self) -> bool {
        self.deleted_us.is_some() && self.created_us == Self::NOT_YET
    }
}

/// What is counted of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Tally {
    /// Its checkpoints.
    pub(crate) marks: u64,
    /// Its lineages that were dropped.
    pub(crate) dropped: u64,
    /// Whether any of its checkpoints was removed, ever.
    pub(crate) retained: bool,
    /// Whether its workspace was captured, ever.
    pub(crate) captured: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct LineageEntry {
    pub(crate) lineage_type: LineageType,
    pub(crate) description: Option<String>,
    pub(crate) parent: Option<Parent>,
    pub(crate) opened_us: u64,
    /// Whether retention let go of it.
    pub(crate) dropped: bool,
}

/// Where a lineage begins since it was trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct BaseEntry {
    pub(crate) head: Head,
    /// The chunk that holds the base.
    pub(crate) chunk: ChunkId,
}

/// A checkpoint that is kept whatever a policy says.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct PinEntry {
    pub(crate) time_us: u64,
    pub(crate) reason: Option<String>,
}

/// A restore that began and has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct PendingEntry {
    pub(crate) restore: RestoreId,
    /// Where the task's control log says so.
    pub(crate) begun: Offset,
    pub(crate) time_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct ActivationEntry {
    pub(crate) lineage: LineageId,
    pub(crate) back: Option<Epoch>,
    pub(crate) time_us: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct MarkEntry {
    pub(crate) id: CheckpointId,
    pub(crate) time_us: u64,
    pub(crate) seq: Seq,
    /// The chain hash before the mark's own event.
    pub(crate) hash: Hash,
    /// The mark.
    pub(crate) body: CheckpointMarked,
    /// Whether its metadata is too large for an entry and has to be read from the log.
    pub(crate) elided: bool,
}

/// Where the event of a mark is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct MarkPlace {
    pub(crate) task: TaskNo,
    pub(crate) lineage: LineageId,
    pub(crate) offset: Offset,
}

/// The append that an idempotency key was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct KeyEntry {
    pub(crate) first: Offset,
    pub(crate) count: u32,
    pub(crate) seq: Seq,
}

/// A snapshot that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SnapshotNote {
    /// The chunk that holds it.
    pub(crate) chunk: ChunkId,
    /// How far the log may grow until the next, beside the slack.
    pub(crate) size: u64,
    /// The lineage's own record bytes before it.
    pub(crate) log_bytes: u64,
    /// Events of the task that were erased when it was made. With another number it is not used.
    pub(crate) erased: u64,
    /// Over its key in the index and the fields above, keyed in a keyed store: no event commits to a
    /// snapshot, and whoever could put another in its place could choose the state.
    pub(crate) check: [u8; 16],
}

impl SnapshotNote {
    /// The note as it is stored under a key.
    pub(crate) fn sealed(mut self, name: &[u8], key: Option<&StoreKey>) -> Self {
        self.check = self.check_under(name, key);
        self
    }

    fn check_under(&self, name: &[u8], key: Option<&StoreKey>) -> [u8; 16] {
        let numbers = [self.size, self.log_bytes, self.erased].map(u64::to_le_bytes);
        let parts: [&[u8]; 4] = [b"milepost.note.1\0", name, &self.chunk.0, numbers.as_flattened()];
        milepost_codec::check_of(key, &parts)
    }

    /// Reads a note that was stored under a key, and checks it.
    pub(crate) fn unseal(name: &[u8], bytes: &[u8], key: Option<&StoreKey>) -> Result<Self> {
        let note = Self::decode(bytes)?;
        if note.check == note.check_under(name, key) {
            return Ok(note);
        }
        Err(Error::corrupt("snapshot note", "a note that matches its check", "another"))
    }
}
