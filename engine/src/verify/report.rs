//! What a verification says.

use milepost_codec::{Error, LineageId, LogId, LogKind, Offset, TaskNo};

/// One thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// Which log or file.
    pub place: String,
    /// What is wrong with it.
    pub message: String,
    /// The event that it hits, where it is one.
    pub event: Option<EventPlace>,
    /// What it can be mended by.
    pub(crate) remedy: Remedy,
}

/// Where an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace {
    /// The task's number in the store.
    pub task: TaskNo,
    /// The lineage; nothing for the control log.
    pub lineage: Option<LineageId>,
    /// The offset.
    pub offset: Offset,
}

/// What a fault can be mended by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Building sled anew.
    Sled,
    /// Writing the archive again.
    Archive,
    /// Letting go of an entry that no event accounts for, of a snapshot or a chunk: its key.
    Note(Vec<u8>),
    /// There is one copy of it.
    None,
}

impl Fault {
    pub(crate) fn of(place: impl ToString, error: &Error) -> Self {
        Self {
            place: place.to_string(),
            message: error.to_string(),
            event: None,
            remedy: Remedy::Sled,
        }
    }

    pub(super) fn mended_by(mut self, remedy: Remedy) -> Self {
        self.remedy = remedy;
        self
    }

    /// An event whose body cannot be read.
    pub(super) fn of_event(id: LogId, offset: Offset, error: &Error) -> Self {
        let lineage = match id.kind {
            LogKind::Lineage(lineage) => Some(lineage),
            LogKind::Control => None,
        };
        Self {
            event: Some(EventPlace { task: id.task, lineage, offset }),
            ..Self::of(format!("{id} at offset {offset}"), error).mended_by(Remedy::None)
        }
    }
}

/// What a verification saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Tasks.
    pub tasks: u64,
    /// Lineages.
    pub lineages: u64,
    /// Events, those of control logs included.
    pub events: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// Checkpoints whose digest was computed again.
    pub checkpoints: u64,
    /// Captured workspaces of which everything was looked for that they need.
    pub captures: u64,
    /// Stretches of events whose block was checked.
    pub blocks: u64,
    /// Entries of the index that follow from events, each compared.
    pub entries: u64,
    /// Snapshots that were read.
    pub snapshots: u64,
    /// Journal frames, archived or not, beside the chains; not where one task was asked for.
    pub frames: u64,
    /// Chunks in packs; not where one task was asked for.
    pub chunks: u64,
    /// What is wrong. Empty: everything is as it was written.
    pub faults: Vec<Fault>,
}

impl VerifyReport {
    /// Whether everything is as it was written.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }
}
