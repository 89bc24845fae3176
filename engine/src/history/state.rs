//! States: the nearest snapshot, folded up to the requested point.

use std::sync::Arc;

use fastcdc::v2020::{Chunk, FastCDC};
use milepost_codec::{
    ChunkList, Error, ErrorKind, Head, LineageId, LogId, LogKind, Offset, ReducerState, Result,
    Snapshot, TaskNo,
};
use milepost_replay::{Reducer, fold};
use milepost_store::Log;
use milepost_store::index::SnapshotNote;
use milepost_store::index::keys::{self, KeyKind};

use super::contents::{read_chunk, read_chunks};
use super::events::{Ancestry, Events, Inherited};
use crate::history::base;
use crate::history::catalog::Catalog;
use crate::history::log_chunks::LogChunks;
use milepost_store::put_content;

/// States are split by content into chunks of about 16 KiB, so that parts that did not change
/// between two snapshots are stored once.
const CUT_MIN: u32 = 4 << 10;
const CUT_AVG: u32 = 16 << 10;
const CUT_MAX: u32 = 64 << 10;

/// Maximum bytes in chunks that count for the spacing of snapshots. They are part of the state, but
/// a snapshot does not write them again. The limit keeps every point of a long conversation near a
/// snapshot.
const SPACING_IN_CHUNKS: u64 = 192 << 10;

/// A reducer whose states are bytes, as used by the snapshotter.
pub(crate) trait DynReducer: Send + Sync {
    /// Makes a snapshot of a lineage at an offset. Returns `false` if its state cannot have one.
    fn snapshot(&self, catalog: &Catalog, log: LogId, at: Offset, bytes: u64) -> Result<bool>;

    /// Returns the name and the version.
    fn id(&self) -> (&str, u32);

    /// Returns the encoded state of a lineage before an offset.
    fn encoded(&self, catalog: &Catalog, place: StateKey) -> Result<Vec<u8>>;

    /// Returns the state of a lineage before an offset, in the form for a base.
    fn kept(&self, catalog: &Catalog, place: StateKey) -> Result<ReducerState>;

    /// Folds a lineage from its beginning. Returns the snapshots, by key, whose state differs from
    /// the fold.
    fn check_snapshots(&self, catalog: &Catalog, log: LogId) -> Result<Vec<(Vec<u8>, Error)>>;
}

/// A point: a task, a lineage and an offset.
pub(crate) type StateKey = (TaskNo, LineageId, Offset);

/// A registered reducer.
pub(crate) struct Registered<R>(pub(crate) R);

impl<R: Reducer> DynReducer for Registered<R> {
    fn snapshot(&self, catalog: &Catalog, log: LogId, at: Offset, bytes: u64) -> Result<bool> {
        let LogKind::Lineage(lineage) = log.kind else {
            return Ok(false);
        };
        let _storing = catalog.log().storing();
        let erased = catalog.erased_count(log.task);
        let begin = Ancestry::of(catalog, log.task, lineage)?.begin();
        let state = state_at(catalog, &self.0, log.task, lineage, at)?;
        let chunks = LogChunks::storing(catalog, &self.0, (log.task, lineage))?;
        let (encoded, refers) = self.0.encode_snapshot(&state, &chunks)?;
        let encoded_len = encoded.len() as u64;
        let whole = encoded_len + self.0.bytes_in_chunks(&state);
        let size = whole.min(SPACING_IN_CHUNKS).max(encoded_len);
        let origin = catalog.task(log.task)?.origin;
        let hash = super::chain_hash::hash_at(catalog, origin, log, at)?;
        let snapshot = Snapshot {
            reducer: self.0.name().to_owned(),
            version: self.0.version(),
            head: Head { next: at, hash },
            state: put_cut(catalog.log(), &encoded)?,
            refers,
        };
        let content = snapshot.encode();
        let chunk = match put_content(catalog.log(), &content)?.chunks.as_slice() {
            [chunk] => *chunk,
            // The chunk list of a state of many gigabytes does not fit into one chunk.
            _ => return Ok(false),
        };
        // Nothing is synced: a read detects a snapshot that a crash damaged.
        let prefix = keys::snapshots(log.task, lineage, self.0.name(), self.0.version());
        let name = keys::with_offset(&prefix, at);
        let note = SnapshotNote { chunk, size, log_bytes: bytes, erased, begin, check: [0; 16] };
        let note = note.sealed(&name, catalog.key());
        catalog.snapshot_made(log, size);
        catalog.log().put_note(name, note.encode())?;
        Ok(true)
    }

    fn id(&self) -> (&str, u32) {
        (self.0.name(), self.0.version())
    }

    fn encoded(&self, catalog: &Catalog, place: StateKey) -> Result<Vec<u8>> {
        self.0.encode(&state_from(catalog, &self.0, place, None)?)
    }

    fn kept(&self, catalog: &Catalog, (task, lineage, offset): StateKey) -> Result<ReducerState> {
        let state = state_at(catalog, &self.0, task, lineage, offset)?;
        let refers = self.0.refers(&state);
        LogChunks::storing(catalog, &self.0, (task, lineage))?.keep_pieces(&refers)?;
        Ok(ReducerState {
            reducer: self.0.name().to_owned(),
            version: self.0.version(),
            state: put_cut(catalog.log(), &self.0.encode(&state)?)?,
            refers,
        })
    }

    fn check_snapshots(&self, catalog: &Catalog, log: LogId) -> Result<Vec<(Vec<u8>, Error)>> {
        let LogKind::Lineage(lineage) = log.kind else {
            return Ok(Vec::new());
        };
        let reducer = &self.0;
        let chunks = LogChunks::folding(catalog, reducer, (log.task, lineage))?;
        let prefix = keys::snapshots(log.task, lineage, reducer.name(), reducer.version());
        let ancestry = Ancestry::of(catalog, log.task, lineage)?;
        let end = keys::after_prefix(&prefix);
        let begin = keys::with_offset(&prefix, ancestry.begin());
        let (mut from, mut state) = beginning(catalog, reducer, &ancestry)?;
        let mut wrong = Vec::new();
        for (name, value) in catalog.log().scan(&begin, &end, false, usize::MAX)? {
            let at = keys::tail_u64(&name);
            let events = Events::new(catalog, log.task, lineage, from..at)?;
            state = fold(reducer, state, events, &chunks)?;
            from = at;
            let (expected, _) = reducer.encode_snapshot(&state, &chunks)?;
            let note = SnapshotNote::decode(&value)?;
            if !is_usable(catalog, log.task, &ancestry, &note) {
                continue;
            }
            let checked = content(catalog, reducer, &name, &value).and_then(|found| {
                if found == expected {
                    return Ok(());
                }
                let expected = blake3::hash(&expected).to_hex();
                let place = format!("snapshot of {log} at offset {at}");
                Err(Error::corrupt(place, expected, blake3::hash(&found).to_hex()))
            });
            if let Err(error) = checked {
                wrong.push((name, error));
            }
        }
        Ok(wrong)
    }
}

/// Splits content by content-defined chunking and stores the chunks.
fn put_cut(log: &Arc<dyn Log>, content: &[u8]) -> Result<ChunkList> {
    let cut = |cut: Chunk| {
        let piece = content.get(cut.offset..cut.offset + cut.length);
        piece.expect("a cut lies in the content")
    };
    let cuts: Vec<_> = FastCDC::new(content, CUT_MIN, CUT_AVG, CUT_MAX).map(cut).collect();
    Ok(ChunkList { len: content.len() as u64, chunks: log.put_chunks(&cuts)? })
}

/// Returns the state of a lineage before the event at `offset`. Damaged chunks of a state do not
/// change the result: a fold from zero stores them again.
pub(crate) fn state_at<R: Reducer>(
    catalog: &Catalog,
    reducer: &R,
    task: TaskNo,
    lineage: LineageId,
    offset: Offset,
) -> Result<R::State> {
    state_from(catalog, reducer, (task, lineage, offset), None)
}

/// Does the same with `seed`, a known state at an earlier offset. While a chunk is damaged, neither
/// the seed nor a snapshot is used.
pub(crate) fn state_from<R: Reducer>(
    catalog: &Catalog,
    reducer: &R,
    (task, lineage, offset): (TaskNo, LineageId, Offset),
    mut seed: Option<(Offset, R::State)>,
) -> Result<R::State> {
    loop {
        let (found, damaged) = catalog.log().damaged_chunks();
        // While a chunk is damaged no snapshot is used, since each may refer to it.
        let from_zero = damaged > 0;
        let begin = Ancestry::of(catalog, task, lineage)?.begin();
        let seed = seed.take().filter(|(at, _)| !from_zero && *at >= begin);
        match fold_to(catalog, reducer, task, lineage, offset, from_zero, seed) {
            Err(_) if catalog.log().damaged_chunks().0 > found => {}
            // The body of an event is damaged. A later snapshot may suffice.
            Err(_) if from_zero => {
                return fold_to(catalog, reducer, task, lineage, offset, false, None);
            }
            done => return done,
        }
    }
}

fn fold_to<R: Reducer>(
    catalog: &Catalog,
    reducer: &R,
    task: TaskNo,
    lineage: LineageId,
    offset: Offset,
    from_zero: bool,
    seed: Option<(Offset, R::State)>,
) -> Result<R::State> {
    let snapshot = match (from_zero, seed) {
        (true, _) => None,
        (false, Some(seed)) => Some(seed),
        (false, None) => nearest(catalog, reducer, task, lineage, offset)?,
    };
    let ancestry = Ancestry::of(catalog, task, lineage)?;
    ancestry.check(offset)?;
    let (from, state) = match snapshot {
        Some((from, state)) => (from, state),
        None => beginning(catalog, reducer, &ancestry)?,
    };
    let chunks = LogChunks::folding(catalog, reducer, (task, lineage))?;
    let events = Events::new(catalog, task, lineage, from..offset)?;
    if let Some(short) = offset.checked_sub(1).filter(|last| !events.reaches(*last)) {
        return Err(Error::invalid(format!("offset {} is past the head", short + 1)));
    }
    fold(reducer, state, events, &chunks)
}

/// Returns the start of a fold: the initial state, or the state of the base of a trimmed history.
pub(crate) fn beginning<R: Reducer>(
    catalog: &Catalog,
    reducer: &R,
    ancestry: &Ancestry,
) -> Result<(Offset, R::State)> {
    match ancestry.base() {
        Some((_, entry)) => Ok((entry.head.next, base::state(catalog, reducer, &entry)?)),
        None => Ok((0, reducer.initial())),
    }
}

/// Finds the newest usable snapshot at or before an offset, on the lineage or an ancestor. Damaged
/// snapshots are skipped.
fn nearest<R: Reducer>(
    catalog: &Catalog,
    reducer: &R,
    task: TaskNo,
    lineage: LineageId,
    offset: Offset,
) -> Result<Option<(Offset, R::State)>> {
    let ancestry = Ancestry::of(catalog, task, lineage)?;
    let name = keys::snapshots(task, lineage, reducer.name(), reducer.version());
    let snapshots = Inherited {
        ancestry: &ancestry,
        prefix: &keys::of_task(KeyKind::Snapshot, task),
        middle: name.last_chunk::<8>().map_or(&[][..], |id| id),
        before: offset,
        // A snapshot at a fork offset belongs to the parent.
        inclusive: true,
    };
    snapshots.newest(catalog.log().as_ref(), &mut |_, at, key, value| {
        let note = SnapshotNote::decode(value);
        if note.is_ok_and(|note| !is_usable(catalog, task, &ancestry, &note)) {
            return Ok(None);
        }
        match load(catalog, reducer, key, value) {
            Ok(state) => Ok(Some((at, state))),
            Err(e) if e.kind() == ErrorKind::Unavailable => Err(e),
            Err(_) => Ok(None),
        }
    })
}

/// Returns `true` if no content of a snapshot's history was withdrawn since it was made.
pub(crate) fn is_usable(
    catalog: &Catalog,
    task: TaskNo,
    ancestry: &Ancestry,
    note: &SnapshotNote,
) -> bool {
    note.erased == catalog.erased_count(task) && note.begin == ancestry.begin()
}

fn load<R: Reducer>(catalog: &Catalog, reducer: &R, name: &[u8], note: &[u8]) -> Result<R::State> {
    let content = content(catalog, reducer, name, note)?;
    reducer.decode_snapshot(&content, &LogChunks::reading(catalog))
}

/// Reads a snapshot, given its index key and its note.
pub(crate) fn snapshot_of(catalog: &Catalog, name: &[u8], note: &[u8]) -> Result<Snapshot> {
    let note = SnapshotNote::unseal(name, note, catalog.key())?;
    Snapshot::decode(&read_chunk(catalog.log(), &note.chunk)?)
}

/// Returns the encoded state of a snapshot, given its note.
fn content<R: Reducer>(
    catalog: &Catalog,
    reducer: &R,
    name: &[u8],
    note: &[u8],
) -> Result<Vec<u8>> {
    let snapshot = snapshot_of(catalog, name, note)?;
    let found = (snapshot.head.next, snapshot.reducer.as_str(), snapshot.version);
    let expected = (keys::tail_u64(name), reducer.name(), reducer.version());
    if found != expected {
        let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
        return Err(Error::corrupt("snapshot", expected, found));
    }
    read_chunks(catalog.log(), &snapshot.state)
}
