//! Spacing of snapshots: record bytes between two of them, along a lineage and its ancestors.

use milepost_codec::{LineageId, LogId, LogKind, Offset, Result, TaskNo};
use milepost_replay::{Reducer, RunReducer};
use milepost_store::index::SnapshotNote;
use milepost_store::index::keys::{self, KeyKind};

use super::events::{Ancestry, Inherited};
use crate::history::catalog::Catalog;

/// Bytes by which a log grows, in addition to the size of its last snapshot, until the next
/// snapshot is due. A state is thus read from at most twice its size plus twice this, and snapshots
/// take no more space than the events.
const SNAPSHOT_SLACK: u64 = 64 << 10;

/// Maximum number of cached spacings.
const REMEMBERED: usize = 1 << 16;

impl Catalog {
    /// Returns the record bytes by which a lineage grows between two snapshots.
    pub(crate) fn snapshot_distance(&self, log: LogId) -> u64 {
        let size = self.sizes.lock().get(&log).copied().unwrap_or(0);
        SNAPSHOT_SLACK + size
    }

    /// Caches the spacing of a lineage's newest snapshot.
    pub(crate) fn snapshot_made(&self, log: LogId, size: u64) {
        let mut sizes = self.sizes.lock();
        if sizes.len() > REMEMBERED {
            sizes.clear();
        }
        sizes.insert(log, size);
    }

    /// Returns the number of own record bytes at which a lineage's next snapshot is due.
    pub(crate) fn snapshot_at(&self, log: LogId) -> Result<u64> {
        let LogKind::Lineage(lineage) = log.kind else {
            return Ok(u64::MAX);
        };
        let prefix = keys::snapshots(log.task, lineage, RunReducer.name(), RunReducer.version());
        let end = keys::after_prefix(&prefix);
        if let Some((_, note)) = self.log().scan(&prefix, &end, true, 1)?.pop() {
            let note = SnapshotNote::decode(&note)?;
            self.snapshot_made(log, note.size);
            return Ok(note.log_bytes + self.snapshot_distance(log));
        }
        match self.lineage_ever(log.task, lineage)?.parent {
            Some(parent) => self.snapshot_behind(log, (parent.lineage, parent.offset), None),
            None => Ok(self.snapshot_distance(log)),
        }
    }

    /// Returns the same for a lineage without snapshots that forks from `parent`. Inherited bytes
    /// since the last snapshot count too, so that a lineage of many short forks has a snapshot
    /// nearby. `planned` is a snapshot in progress: its lineage and the own bytes before it.
    pub(crate) fn snapshot_behind(
        &self,
        log: LogId,
        (parent, fork): (LineageId, Offset),
        planned: Option<(LineageId, u64)>,
    ) -> Result<u64> {
        let task = log.task;
        let ancestry = Ancestry::of(self, task, parent)?;
        let name = keys::snapshots(task, parent, RunReducer.name(), RunReducer.version());
        let snapshots = Inherited {
            ancestry: &ancestry,
            prefix: &keys::of_task(KeyKind::Snapshot, task),
            middle: name.last_chunk::<8>().map_or(&[][..], |id| id),
            before: fork,
            inclusive: true,
        };
        let newest = snapshots.newest(self.log().as_ref(), &mut |owner, _, _, note| {
            Ok(Some((owner, SnapshotNote::decode(note)?)))
        })?;
        if let Some((_, note)) = &newest {
            self.snapshot_made(log, note.size);
        }
        let made = newest.map(|(owner, note)| (owner, note.log_bytes));
        let distance = self.snapshot_distance(log);
        let mut inherited = 0;
        for (owner, from, to) in ancestry.newest_first(fork) {
            inherited += self.bytes_before(task, owner, (from, to))?;
            let here = [planned, made].into_iter().flatten().filter(|(at, _)| *at == owner);
            if let Some(bytes) = here.map(|(_, bytes)| bytes).max() {
                inherited = inherited.saturating_sub(bytes);
                break;
            }
            if inherited >= distance {
                break;
            }
        }
        Ok(distance.saturating_sub(inherited))
    }

    /// Estimates the bytes of a lineage's own records before an offset, as if all its events had
    /// the same size.
    fn bytes_before(
        &self,
        task: TaskNo,
        owner: LineageId,
        (from, to): (Offset, Offset),
    ) -> Result<u64> {
        let Some(head) = self.log().head(LogId::lineage(task, owner))? else {
            return Ok(0);
        };
        let all = head.head.next.saturating_sub(from).max(1);
        let before = to.min(head.head.next).saturating_sub(from);
        let bytes = u128::from(head.bytes) * u128::from(before) / u128::from(all);
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}
