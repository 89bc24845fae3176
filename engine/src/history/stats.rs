//! Statistics of a store and its tasks.

use std::collections::{BTreeMap, HashMap};

use milepost_codec::{LogId, LogKind, Offset, Result, Seq, TaskNo};
use milepost_store::DiskBytes;
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::index::{BaseEntry, LineageEntry, LogHead, Tally, TaskEntry};

use super::state_cache::StateCacheStats;
use crate::history::catalog::Catalog;

/// Statistics of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Number of tasks.
    pub tasks: u64,
    /// Lineages of all tasks.
    pub lineages: u64,
    /// Events of all lineages, each counted on the lineage it was appended to.
    pub events: u64,
    /// Number of checkpoints.
    pub checkpoints: u64,
    /// Snapshots of states. Deleting them changes no answer.
    pub snapshots: u64,
    /// Bytes of the events' records.
    pub event_bytes: u64,
    /// The last commit.
    pub seq: Seq,
    /// The last commit applied to sled.
    pub applied: Seq,
    /// The last commit in the anchor that is kept up to date; 0 without an anchor.
    pub anchored: Seq,
    /// Commits that opening recovered from the journal.
    pub recovered: u64,
    /// `true` if the journal ended in bytes without a commit when it was opened: an incomplete
    /// write that was never acknowledged, or damage at the very end.
    pub torn: bool,
    /// Size on disk.
    pub disk: DiskBytes,
    /// Statistics of the cache of checkpoint states.
    pub kept: StateCacheStats,
}

/// Statistics of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskStats {
    /// The task.
    pub task: String,
    /// The task's number in the store.
    pub no: TaskNo,
    /// The owner.
    pub user: String,
    /// Lineages, without those that retention dropped.
    pub lineages: u64,
    /// Events of all lineages, each counted on the lineage it was appended to.
    pub events: u64,
    /// Number of checkpoints.
    pub checkpoints: u64,
    /// Bytes of the events' records; an estimate if a lineage was trimmed since the last
    /// compaction.
    pub bytes: u64,
    /// Estimated bytes on disk: the task's share of the store's size.
    pub disk: u64,
}

impl Catalog {
    /// Returns the statistics of each task, or of each task of one user, in the order of their
    /// start.
    pub(crate) fn task_stats(&self, user: Option<&str>) -> Result<Vec<TaskStats>> {
        let mut tasks = by_task(self)?;
        let all: u64 = tasks.values().map(|task| task.bytes).sum();
        let disk = self.log().disk_bytes()?;
        let data = disk.archive + disk.sled + disk.packs;
        for task in tasks.values_mut() {
            task.disk = share(data, task.bytes, all);
        }
        let mut found: Vec<_> = tasks.into_values().collect();
        found.retain(|task| user.is_none_or(|user| task.user == user));
        Ok(found)
    }
}

fn share(whole: u64, part: u64, of: u64) -> u64 {
    match of {
        0 => 0,
        of => (u128::from(whole) * u128::from(part) / u128::from(of)) as u64,
    }
}

/// Returns the statistics of each task that is not deleted.
fn by_task(catalog: &Catalog) -> Result<BTreeMap<TaskNo, TaskStats>> {
    let mut tasks: BTreeMap<TaskNo, TaskStats> = BTreeMap::new();
    catalog.log().walk(&keys::all(KeyKind::Task), &mut |key, value| {
        let entry = TaskEntry::decode(value)?;
        if entry.deleted_us.is_none() {
            let no = TaskNo(keys::first_u64(key));
            let task = TaskStats { task: entry.name, no, user: entry.user, ..TaskStats::default() };
            tasks.insert(no, task);
        }
        Ok(())
    })?;
    let mut dropping = Vec::new();
    catalog.log().walk(&keys::all(KeyKind::Tally), &mut |key, value| {
        let no = TaskNo(keys::first_u64(key));
        if let Some(task) = tasks.get_mut(&no) {
            let tally = Tally::decode(value)?;
            task.checkpoints = tally.marks;
            dropping.extend((tally.dropped > 0).then_some(no));
        }
        Ok(())
    })?;
    let gone = retained(catalog, &dropping)?;
    catalog.log().walk(&keys::all(KeyKind::Head), &mut |key, value| {
        let log = keys::log_of(key);
        if let (LogKind::Lineage(_), Some(task)) = (log.kind, tasks.get_mut(&log.task)) {
            let head = LogHead::decode(value)?;
            let begin = gone.get(&log).map_or(0, |begin| *begin);
            if begin < Offset::MAX {
                let all = head.head.next - head.start;
                let left = head.head.next.saturating_sub(begin.max(head.start));
                task.lineages += 1;
                task.events += left;
                task.bytes += share(head.bytes, left, all);
            }
        }
        Ok(())
    })?;
    Ok(tasks)
}

/// Returns the first offset of each trimmed lineage, and `Offset::MAX` for dropped lineages of the
/// tasks in `dropping`.
fn retained(catalog: &Catalog, dropping: &[TaskNo]) -> Result<HashMap<LogId, Offset>> {
    let mut begins = HashMap::new();
    catalog.log().walk(&keys::all(KeyKind::Base), &mut |key, value| {
        begins.insert(keys::log_of(key), BaseEntry::decode(value)?.head.next);
        Ok(())
    })?;
    for task in dropping {
        let prefix = keys::of_task(KeyKind::Lineage, *task);
        let end = keys::after_prefix(&prefix);
        for (key, value) in catalog.log().scan(&prefix, &end, false, usize::MAX)? {
            if LineageEntry::decode(&value)?.dropped {
                begins.insert(keys::log_of(&key), Offset::MAX);
            }
        }
    }
    Ok(begins)
}

/// Counts tasks, lineages, events and checkpoints from the index.
pub(crate) fn count(catalog: &Catalog) -> Result<Stats> {
    let mut stats = Stats::default();
    for task in by_task(catalog)?.into_values() {
        stats.tasks += 1;
        stats.lineages += task.lineages;
        stats.events += task.events;
        stats.checkpoints += task.checkpoints;
        stats.event_bytes += task.bytes;
    }
    catalog.log().walk(&keys::all(KeyKind::Snapshot), &mut |_, _| {
        stats.snapshots += 1;
        Ok(())
    })?;
    Ok(stats)
}
