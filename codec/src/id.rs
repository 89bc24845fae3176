//! Ids and positions. Each has a type of its own, so that they cannot be mixed up.

use std::fmt;
use std::str::FromStr;

use bincode::{Decode, Encode};
use data_encoding::HEXLOWER;

use crate::error::{Error, Result};

/// A position in a lineage: dense, from 0 at the root through the ancestors. `@N` is the point
/// before event N.
pub type Offset = u64;

/// The number of a commit in the store, from 1. Each journal frame is one commit.
pub type Seq = u64;

/// The number of an activation in a task, from 1. A restore and its undo each add one.
pub type Epoch = u64;

macro_rules! bytes_id {
    ($(#[$doc:meta])* $name:ident, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
        pub struct $name(pub [u8; $len]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&HEXLOWER.encode(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(s: &str) -> Result<Self> {
                let bytes = HEXLOWER
                    .decode(s.to_ascii_lowercase().as_bytes())
                    .ok()
                    .and_then(|b| <[u8; $len]>::try_from(b).ok());
                bytes.map(Self).ok_or_else(|| {
                    Error::invalid(format!("`{s}` is not {} hexadecimal digits", $len * 2))
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let s = <std::borrow::Cow<'de, str>>::deserialize(d)?;
                s.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

bytes_id!(
    /// A 32-byte hash: of a chain up to a point, of a body, of a block.
    Hash, 32
);
bytes_id!(
    /// The content address of a chunk: BLAKE3 of its bytes.
    ChunkId, 32
);
bytes_id!(
    /// The id of a checkpoint: the SHA-256 digest of its mark.
    CheckpointId, 32
);
bytes_id!(
    /// The random id fixed when a task's history begins. Export and import preserve it.
    Origin, 16
);
bytes_id!(
    /// The random id of a store.
    StoreId, 16
);
bytes_id!(
    /// The random id of one restore, the same from its beginning to its end.
    RestoreId, 16
);
bytes_id!(
    /// The secret that the salts of one append are derived from. Erasing a body removes it.
    Seed, 16
);

impl Hash {
    /// All zeros: the previous check of a store's first frame.
    pub const ZERO: Self = Self([0; 32]);
}

/// The number of a task in its store, from 1. 0 is the store itself. A number is never reused, so
/// it identifies one incarnation.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Encode,
    Decode,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct TaskNo(pub u64);

impl TaskNo {
    /// The number of the store's own control log.
    pub const STORE: Self = Self(0);
}

/// The number of a lineage in its task, from 0 in order of opening.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Encode,
    Decode,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct LineageId(pub u32);

impl fmt::Display for LineageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Kind of a log of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogKind {
    /// The events of one lineage.
    Lineage(LineageId),
    /// The changes of a task's lineages, or of the store's tasks.
    Control,
}

impl LogKind {
    const CONTROL: u32 = u32::MAX;

    /// Returns the stored number: the lineage's, or the highest `u32` for the control log.
    pub fn number(self) -> u32 {
        match self {
            Self::Lineage(LineageId(n)) => n,
            Self::Control => Self::CONTROL,
        }
    }

    /// Returns the log stored under `number`.
    pub fn from_number(number: u32) -> Self {
        if number == Self::CONTROL { Self::Control } else { Self::Lineage(LineageId(number)) }
    }
}

/// Identifies one log of a store: a lineage, a task's control log or the store's control log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId {
    /// The task, or [`TaskNo::STORE`].
    pub task: TaskNo,
    /// The log within the task.
    pub kind: LogKind,
}

impl LogId {
    /// The store's control log.
    pub const STORE: Self = Self { task: TaskNo::STORE, kind: LogKind::Control };

    /// Returns the control log of a task.
    pub fn control(task: TaskNo) -> Self {
        Self { task, kind: LogKind::Control }
    }

    /// Returns a lineage of a task.
    pub fn lineage(task: TaskNo, lineage: LineageId) -> Self {
        Self { task, kind: LogKind::Lineage(lineage) }
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.task, self.kind) {
            (TaskNo::STORE, LogKind::Control) => f.write_str("control log of the store"),
            (task, LogKind::Control) => write!(f, "control log of task #{}", task.0),
            (task, LogKind::Lineage(l)) => write!(f, "lineage {l} of task #{}", task.0),
        }
    }
}

/// The end of a log: its next offset, and the chain hash of all events before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode, serde::Serialize, serde::Deserialize,
)]
pub struct Head {
    /// The next offset.
    pub next: Offset,
    /// The chain hash of all events before `next`.
    pub hash: Hash,
}
