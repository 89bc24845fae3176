//! Snapshots: each is read, and compared with the chain at the point that it names. The hashes come
//! from the ranges, so no range is hashed again for them.

use std::collections::{BTreeMap, HashMap};

use milepost_codec::{Error, Hash, Head, LineageId, LogId, Offset, Result, TaskNo};
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::{Fault, Remedy};

use super::Verification;
use super::chain::Ranged;
use crate::history::catalog::Catalog;
use crate::history::chain_hash::hash_at;
use crate::history::events::read_chunks;
use crate::history::state::snapshot_of;

/// The snapshots of a lineage.
#[derive(Default)]
pub(super) struct Snapshots {
    /// The index key and the note of each.
    notes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Their offsets, in order.
    pub(super) points: Vec<Offset>,
    /// The index keys of those that are intact, and the points that they name.
    pub(super) intact: Vec<(Vec<u8>, Head)>,
}

impl Snapshots {
    /// Lists the snapshots that the index has.
    pub(super) fn of(catalog: &Catalog, task: TaskNo, lineage: LineageId) -> Result<Self> {
        let prefix = keys::of_lineage(KeyKind::Snapshot, task, lineage);
        let notes = catalog.log().scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)?;
        let mut points: Vec<_> = notes.iter().map(|(key, _)| keys::tail_u64(key)).collect();
        points.sort_unstable();
        Ok(Self { notes, points, intact: Vec::new() })
    }
}

impl Verification<'_> {
    /// Reads the snapshots of a lineage. Returns the index keys of those that are intact, and the
    /// points that they name.
    pub(super) fn read_snapshots(
        &self,
        id: LogId,
        faults: &mut Vec<Fault>,
    ) -> Result<Vec<(Vec<u8>, Head)>> {
        if self.live.is_gone(id) {
            // After a kill a snapshot may be ahead of the lineage in the rebuilt archive.
            return Ok(Vec::new());
        }
        let (begin, mut intact) = (self.begin(id)?, Vec::new());
        for (key, value) in self.snapshots.get(&id).into_iter().flat_map(|of| &of.notes) {
            if keys::tail_u64(key) < begin {
                continue;
            }
            let read = || -> Result<Head> {
                let snapshot = snapshot_of(self.catalog, key, value)?;
                read_chunks(self.catalog.log(), &snapshot.state)?;
                Ok(snapshot.head)
            };
            match read() {
                Ok(head) => intact.push((key.clone(), head)),
                Err(error) => faults.push(snapshot_fault(id, key, &error)),
            }
        }
        Ok(intact)
    }

    /// Checks that each intact snapshot of a log is of the point that it names.
    pub(super) fn check_points(&mut self, id: LogId, ranged: &BTreeMap<Offset, Ranged>) {
        let hashes = ranged.values().flat_map(|one| one.hashes.iter().copied());
        let hashes: HashMap<Offset, Hash> = hashes.collect();
        for (key, head) in self.snapshots.remove(&id).into_iter().flat_map(|of| of.intact) {
            let at = keys::tail_u64(&key);
            let hash = match hashes.get(&at) {
                Some(hash) => Ok(*hash),
                // Its range could not be read, or it is not in the verified ones.
                None => {
                    let origin = self.origin(id);
                    origin.and_then(|origin| hash_at(self.catalog, origin, id, at))
                }
            };
            let is_there = hash.and_then(|hash| match head == (Head { next: at, hash }) {
                true => Ok(()),
                false => Err(Error::corrupt("its point", hash, head.hash)),
            });
            match is_there {
                Ok(()) => self.report.snapshots += 1,
                Err(error) => self.report.faults.push(snapshot_fault(id, &key, &error)),
            }
        }
    }
}

/// Returns the fault of a snapshot, given its index key.
fn snapshot_fault(id: LogId, key: &[u8], error: &Error) -> Fault {
    let place = format!("snapshot of {id} at offset {}", keys::tail_u64(key));
    Fault::of(place, error).mended_by(Remedy::Note(key.to_vec()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use milepost_replay::{Reducer, RunReducer};
    use milepost_store::index::SnapshotNote;

    use super::*;
    use crate::events::Message;
    use crate::history::state::{DynReducer, Registered};
    use crate::{Append, Engine, Options};

    #[test]
    fn a_snapshot_of_another_point_is_a_fault_at_each_offset_of_its_log() {
        let engine = Engine::in_memory(Options::default().snapshots(false)).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        task.append(Append::batch((0..20).map(|n| Message::text("user", &n.to_string())))).unwrap();
        let (catalog, log) = (&engine.inner.catalog, task.lineage().log());
        let prefix =
            keys::snapshots(log.task, task.lineage().id(), RunReducer.name(), RunReducer.version());
        let verify = || engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        for (made, at) in (1..).zip([1, 7, 20, task.head().unwrap().next]) {
            assert!(Registered(RunReducer).snapshot(catalog, log, at, 1).unwrap());
            let report = verify();
            assert!(report.is_clean(), "{:?}", report.faults);
            assert_eq!(report.snapshots, made);

            let key = keys::with_offset(&prefix, at);
            let right = catalog.log().get(&key).unwrap().unwrap();
            let mut snapshot = snapshot_of(catalog, &key, &right).unwrap();
            snapshot.head.hash = Hash([9; 32]);
            let chunk = catalog.log().put_chunk(&snapshot.encode(), false).unwrap();
            let wrong = SnapshotNote { chunk, ..SnapshotNote::decode(&right).unwrap() };
            let wrong = wrong.sealed(&key, catalog.key()).encode();
            catalog.log().put_note(key.clone(), wrong).unwrap();
            let report = verify();
            assert_eq!((report.snapshots, report.faults.len()), (made - 1, 1));
            assert_eq!(report.faults[0].place, format!("snapshot of {log} at offset {at}"));
            catalog.log().put_note(key, right).unwrap();
        }
    }
}
