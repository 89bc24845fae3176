//! The key of each kind of entry. Numbers are big-endian, so that keys sort like the values they
//! name.

use milepost_codec::{CheckpointId, ChunkId, Epoch, LineageId, LogId, Offset, Seq, TaskNo};

/// The kinds of entries, each the first byte of its keys. The numbers are stored: never change one.
///
/// | kind | key after the first byte | value |
/// |---|---|---|
/// | `Block` | task u64, log u32, first offset u64 | location of a run in the block files |
/// | `Head` | task u64, log u32 | `LogHead` |
/// | `Applied` | | last applied commit and the end of the packs at that time, of the local log |
/// | `Chunk` | id 32 | location in a pack, of the local log |
/// | `TaskName` | name | task u64 of its newest incarnation |
/// | `Task` | task u64 | `TaskEntry` |
/// | `Tally` | task u64 | `Tally` |
/// | `Lineage` | task u64, lineage u32 | `LineageEntry` |
/// | `Activation` | task u64, epoch u64 | `ActivationEntry` |
/// | `Base` | task u64, lineage u32 | `BaseEntry` |
/// | `Erased` | task u64, lineage u32, offset u64 | body hash 32 |
/// | `Pending` | task u64 | `PendingEntry` |
/// | `Prepared` | task u64 | offset u64 of the event in the store's log |
/// | `FilesKept` | task u64 | `FilesKept`, as in the event |
/// | `Mark` | task u64, lineage u32, offset u64 | `MarkEntry` |
/// | `TaskMark` | task u64, commit u64, lineage u32, offset u64 | empty |
/// | `StoreMark` | commit u64, task u64, lineage u32, offset u64 | empty |
/// | `MarkId` | id 32 | `MarkPlace` |
/// | `MarkLabel` | task u64, label, 0, lineage u32, offset u64 | empty |
/// | `MarkAlias` | task u64, alias, 0, lineage u32, offset u64 | empty |
/// | `Pin` | task u64, id 32 | `PinEntry` |
/// | `Attached` | task u64, lineage u32, offset u64 | the alias that data was attached by |
/// | `AttachedBy` | task u64, alias, 0, lineage u32, offset u64 | commit u64 |
/// | `Key` | task u64, first 16 bytes of BLAKE3 of the key, lineage u32 | `KeyEntry` |
/// | `Snapshot` | task u64, lineage u32, reducer 8, offset u64 | `SnapshotNote`; of no record |
/// | `Summary` | task u64, lineage u32 | `SummaryNote`; of no record |
/// | `PieceSource` | half of an id 16, task u64, lineage u32 | `PieceSource`; of no record |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum KeyKind {
    /// Sections of a log.
    Block = 1,
    /// The head of a log.
    Head = 2,
    /// The last commit that sled holds, with the digests.
    Applied = 3,
    /// The location of a chunk.
    Chunk = 4,
    /// A task's number by its name.
    TaskName = 16,
    /// A task.
    Task = 17,
    /// Counts of a task.
    Tally = 18,
    /// A lineage.
    Lineage = 20,
    /// An activation of a lineage.
    Activation = 21,
    /// The base of a trimmed lineage.
    Base = 22,
    /// An erased event.
    Erased = 23,
    /// A restore that has not ended.
    Pending = 24,
    /// A task that is being imported.
    Prepared = 25,
    /// The last capture of a folder, where an activation left the files.
    FilesKept = 26,
    /// A checkpoint, by lineage and offset.
    Mark = 30,
    /// A task's checkpoints, by commit.
    TaskMark = 31,
    /// The store's checkpoints, by commit.
    StoreMark = 32,
    /// A checkpoint, by its id.
    MarkId = 33,
    /// A checkpoint, by its label.
    MarkLabel = 34,
    /// A checkpoint, by its alias.
    MarkAlias = 35,
    /// A pin of a checkpoint.
    Pin = 36,
    /// Data that was attached to a checkpoint, by lineage and offset.
    Attached = 37,
    /// Data that was attached to a checkpoint, by the alias.
    AttachedBy = 38,
    /// An idempotency key.
    Key = 40,
    /// A snapshot of a state.
    Snapshot = 50,
    /// A summary of a lineage.
    Summary = 51,
    /// The events from which a piece of a state is made.
    PieceSource = 52,
}

impl KeyKind {
    /// The kinds whose entries each follow from one record: all but blocks, heads, tallies and
    /// notes.
    pub const OF_RECORDS: [Self; 19] = [
        Self::TaskName,
        Self::Task,
        Self::Lineage,
        Self::Activation,
        Self::Base,
        Self::Erased,
        Self::Pending,
        Self::Prepared,
        Self::FilesKept,
        Self::Mark,
        Self::TaskMark,
        Self::StoreMark,
        Self::MarkId,
        Self::MarkLabel,
        Self::MarkAlias,
        Self::Pin,
        Self::Attached,
        Self::AttachedBy,
        Self::Key,
    ];
}

/// Returns `true` if records account for an entry, so that it counts in sled's digest.
pub fn is_counted(key: &[u8]) -> bool {
    use KeyKind::{Applied, Chunk, PieceSource, Snapshot, Summary};
    const NOTES: [KeyKind; 5] = [Applied, Chunk, Snapshot, Summary, PieceSource];
    key.first().is_some_and(|kind| NOTES.iter().all(|note| *note as u8 != *kind))
}

struct Builder(Vec<u8>);

impl Builder {
    fn new(kind: KeyKind) -> Self {
        let mut bytes = Vec::with_capacity(40);
        bytes.push(kind as u8);
        Self(bytes)
    }
    fn u64(self, n: u64) -> Self {
        self.bytes(&n.to_be_bytes())
    }
    fn u32(self, n: u32) -> Self {
        self.bytes(&n.to_be_bytes())
    }
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Returns the first key after all that begin with `prefix`.
pub fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

/// Returns the prefix of all keys of a kind.
pub fn all(kind: KeyKind) -> Vec<u8> {
    vec![kind as u8]
}

/// Returns the prefix of a task's keys, for a kind whose keys begin with the task.
pub fn of_task(kind: KeyKind, task: TaskNo) -> Vec<u8> {
    Builder::new(kind).u64(task.0).0
}

/// Returns the prefix of a lineage's keys, for a kind whose keys begin with task and lineage.
pub fn of_lineage(kind: KeyKind, task: TaskNo, lineage: LineageId) -> Vec<u8> {
    Builder::new(kind).u64(task.0).u32(lineage.0).0
}

/// Returns the key of a run of a log in a block.
pub fn block(log: LogId, first: Offset) -> Vec<u8> {
    Builder::new(KeyKind::Block).u64(log.task.0).u32(log.kind.number()).u64(first).0
}

/// Returns the key of a log's head.
pub fn head(log: LogId) -> Vec<u8> {
    head_of(log).to_vec()
}

/// Returns the key of a log's head without an allocation.
pub fn head_of(log: LogId) -> [u8; 13] {
    let mut key = [KeyKind::Head as u8; 13];
    let (task, kind) = (log.task.0.to_be_bytes(), log.kind.number().to_be_bytes());
    for (to, from) in key.iter_mut().skip(1).zip(task.into_iter().chain(kind)) {
        *to = from;
    }
    key
}

/// Returns the key of a chunk.
pub fn chunk(id: &ChunkId) -> Vec<u8> {
    Builder::new(KeyKind::Chunk).bytes(&id.0).0
}

/// Returns the key of a task's name.
pub fn task_name(name: &str) -> Vec<u8> {
    Builder::new(KeyKind::TaskName).bytes(name.as_bytes()).0
}

/// Returns the key of a task.
pub fn task(task: TaskNo) -> Vec<u8> {
    of_task(KeyKind::Task, task)
}

/// Returns the key of a task's counts.
pub fn tally(task: TaskNo) -> Vec<u8> {
    of_task(KeyKind::Tally, task)
}

/// Returns the key of a lineage's base.
pub fn base(task: TaskNo, lineage: LineageId) -> Vec<u8> {
    of_lineage(KeyKind::Base, task, lineage)
}

/// Returns the key of an erased event.
pub fn erased(task: TaskNo, lineage: LineageId, offset: Offset) -> Vec<u8> {
    with_offset(&of_lineage(KeyKind::Erased, task, lineage), offset)
}

/// Returns the key of a task that is being imported.
pub fn prepared(task: TaskNo) -> Vec<u8> {
    of_task(KeyKind::Prepared, task)
}

/// Returns the key of a restore that has not ended.
pub fn pending(task: TaskNo) -> Vec<u8> {
    of_task(KeyKind::Pending, task)
}

/// Returns the key of the last capture of a folder, where an activation left the files.
pub fn files_kept(task: TaskNo) -> Vec<u8> {
    of_task(KeyKind::FilesKept, task)
}

/// Returns the key of a pin.
pub fn pin(task: TaskNo, checkpoint: &CheckpointId) -> Vec<u8> {
    Builder(of_task(KeyKind::Pin, task)).bytes(&checkpoint.0).0
}

/// Returns the key of a lineage.
pub fn lineage(task: TaskNo, lineage: LineageId) -> Vec<u8> {
    of_lineage(KeyKind::Lineage, task, lineage)
}

/// Returns the key of an activation.
pub fn activation(task: TaskNo, epoch: Epoch) -> Vec<u8> {
    Builder::new(KeyKind::Activation).u64(task.0).u64(epoch).0
}

/// Returns the key of a lineage's summary.
pub fn summary(task: TaskNo, lineage: LineageId) -> Vec<u8> {
    of_lineage(KeyKind::Summary, task, lineage)
}

/// Returns the key of a checkpoint by its location.
pub fn mark(task: TaskNo, lineage: LineageId, offset: Offset) -> Vec<u8> {
    Builder::new(KeyKind::Mark).u64(task.0).u32(lineage.0).u64(offset).0
}

/// Returns the key of a checkpoint in the list of its task.
pub fn task_mark(task: TaskNo, seq: Seq, lineage: LineageId, offset: Offset) -> Vec<u8> {
    Builder::new(KeyKind::TaskMark).u64(task.0).u64(seq).u32(lineage.0).u64(offset).0
}

/// Returns the key of a checkpoint in the list of the store.
pub fn store_mark(seq: Seq, task: TaskNo, lineage: LineageId, offset: Offset) -> Vec<u8> {
    Builder::new(KeyKind::StoreMark).u64(seq).u64(task.0).u32(lineage.0).u64(offset).0
}

/// Returns the key of a checkpoint by its id.
pub fn mark_id(id: &CheckpointId) -> Vec<u8> {
    Builder::new(KeyKind::MarkId).bytes(&id.0).0
}

/// Returns the prefix of the keys of a label or an alias.
pub fn named(kind: KeyKind, task: TaskNo, name: &str) -> Vec<u8> {
    Builder::new(kind).u64(task.0).bytes(name.as_bytes()).bytes(&[0]).0
}

/// Returns the end of the keys of all labels or aliases whose bytes sort before a text.
pub fn before_name(kind: KeyKind, task: TaskNo, text: &str) -> Vec<u8> {
    match text.split_once('\0') {
        // A name has no NUL: the one that is the text up to it sorts before the text.
        Some((name, _)) => after_prefix(&named(kind, task, name)),
        None => named(kind, task, text),
    }
}

/// Returns the key of attached data by its location.
pub fn attached(task: TaskNo, lineage: LineageId, offset: Offset) -> Vec<u8> {
    with_offset(&of_lineage(KeyKind::Attached, task, lineage), offset)
}

/// Returns the key of a checkpoint by a label or an alias, or of data attached by an alias.
pub fn named_mark(
    kind: KeyKind,
    task: TaskNo,
    name: &str,
    lineage: LineageId,
    offset: Offset,
) -> Vec<u8> {
    Builder(named(kind, task, name)).u32(lineage.0).u64(offset).0
}

/// Returns the prefix of the entries of one idempotency key, in all lineages of a task.
pub fn uses_of_key(task: TaskNo, key: &str) -> Vec<u8> {
    let hash = blake3::hash(key.as_bytes());
    let short = hash.as_bytes().split_at(16).0;
    Builder::new(KeyKind::Key).u64(task.0).bytes(short).0
}

/// Returns the key of the entry of an idempotency key.
pub fn idempotency(task: TaskNo, lineage: LineageId, key: &str) -> Vec<u8> {
    Builder(uses_of_key(task, key)).u32(lineage.0).0
}

/// Returns the lineage at the end of a key.
pub fn tail_lineage(key: &[u8]) -> LineageId {
    let number = key.last_chunk::<4>();
    LineageId(number.map_or(0, |bytes| u32::from_be_bytes(*bytes)))
}

/// Returns the prefix of a reducer's snapshots in a lineage.
pub fn snapshots(task: TaskNo, lineage: LineageId, reducer: &str, version: u32) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(reducer.as_bytes()).update(&version.to_le_bytes());
    let hash = hasher.finalize();
    let short = hash.as_bytes().split_at(8).0;
    Builder::new(KeyKind::Snapshot).u64(task.0).u32(lineage.0).bytes(short).0
}

/// Returns the prefix of the sources of a piece, in all lineages.
pub fn piece_sources(id: &ChunkId) -> Vec<u8> {
    Builder::new(KeyKind::PieceSource).bytes(id.0.split_at(16).0).0
}

/// Returns the key of the source of a piece in a lineage.
pub fn piece_source(id: &ChunkId, task: TaskNo, lineage: LineageId) -> Vec<u8> {
    Builder(piece_sources(id)).u64(task.0).u32(lineage.0).0
}

/// Returns the lineage at the end of the key of a piece's source.
pub fn source_lineage(key: &[u8]) -> (TaskNo, LineageId) {
    let task = key.split_last_chunk::<4>().map_or(0, |(rest, _)| tail_u64(rest));
    (TaskNo(task), tail_lineage(key))
}

/// Returns a key of `prefix` that ends in an offset.
pub fn with_offset(prefix: &[u8], offset: Offset) -> Vec<u8> {
    Builder(prefix.to_vec()).u64(offset).0
}

/// Returns the big-endian number at the end of a key.
pub fn tail_u64(key: &[u8]) -> u64 {
    key.last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Returns the lineage and offset at the end of a mark's key.
pub fn mark_place(key: &[u8]) -> (LineageId, Offset) {
    let lineage = key.len().checked_sub(12).and_then(|at| key.get(at..)?.first_chunk::<4>());
    (LineageId(lineage.map_or(0, |b| u32::from_be_bytes(*b))), tail_u64(key))
}

/// Returns the label or alias in a mark's key by it.
pub fn mark_name(key: &[u8]) -> Option<&str> {
    let end = key.len().checked_sub(13)?;
    std::str::from_utf8(key.get(9..end)?).ok()
}

/// Returns the task or commit that follows the kind in a key.
pub fn first_u64(key: &[u8]) -> u64 {
    key.get(1..).and_then(|k| k.first_chunk::<8>()).map_or(0, |b| u64::from_be_bytes(*b))
}

/// Returns the task that follows the commit in a key of the store's marks.
pub fn second_u64(key: &[u8]) -> u64 {
    key.get(9..).and_then(|k| k.first_chunk::<8>()).map_or(0, |b| u64::from_be_bytes(*b))
}

/// Returns the chunk that a key names.
pub fn chunk_id(key: &[u8]) -> Option<ChunkId> {
    <[u8; 32]>::try_from(key.get(1..)?).ok().map(ChunkId)
}

/// Returns the first offset in the key of a run.
pub fn block_first(key: &[u8]) -> Offset {
    key.get(13..).and_then(|k| k.first_chunk::<8>()).map_or(0, |b| u64::from_be_bytes(*b))
}

/// Returns the task and log of a key that begins with them.
pub fn log_of(key: &[u8]) -> LogId {
    let number =
        key.get(9..).and_then(|k| k.first_chunk::<4>()).map_or(0, |b| u32::from_be_bytes(*b));
    let kind = milepost_codec::LogKind::from_number(number);
    LogId { task: TaskNo(first_u64(key)), kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_like_what_they_name() {
        let log = LogId::lineage(TaskNo(1), LineageId(2));
        assert!(block(log, 255) < block(log, 256));
        let last = mark(TaskNo(1), LineageId(2), u64::MAX);
        assert!(last < after_prefix(&of_lineage(KeyKind::Mark, TaskNo(1), LineageId(2))));
        assert_eq!(after_prefix(&[1, 255]), [2]);
    }

    #[test]
    fn numbers_come_back_out_of_keys() {
        let key = task_mark(TaskNo(7), 8, LineageId(9), 10);
        assert_eq!(mark_place(&key), (LineageId(9), 10));
        assert_eq!(first_u64(&key), 7);
        let key = named_mark(KeyKind::MarkAlias, TaskNo(7), "a", LineageId(9), 10);
        assert_eq!((mark_name(&key), mark_place(&key)), (Some("a"), (LineageId(9), 10)));
        assert_eq!(log_of(&head(LogId::control(TaskNo(3)))), LogId::control(TaskNo(3)));
    }
}
