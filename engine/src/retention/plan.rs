//! Plans: the checkpoints that a policy removes, and the events that this frees.

use std::collections::{BTreeSet, HashSet};

use milepost_codec::{
    CheckpointId, Error, ErrorKind, LineageId, LogId, Offset, RemovedMark, Result, TaskNo,
};
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::index::{MarkEntry, TaskEntry};

use super::Retention;
use super::policy::{Floor, Policy, Scope};
use super::reachability::{Beginning, KeptMark, Lineages, Verdicts};
use crate::history::catalog::Catalog;
use crate::history::events::Ancestry;
use crate::history::pending::is_of_the_store;

/// Index entries read at a time.
const STRIDE: usize = 1024;

/// The effects of a cleanup.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetentionPlan {
    /// The policy.
    pub policy: Policy,
    /// Each task in the policy's scope, including tasks without changes.
    pub tasks: Vec<TaskPlan>,
}

/// The effects of a cleanup on one task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskPlan {
    /// The task's id.
    pub task: String,
    /// The owner.
    pub user: String,
    /// The number of its checkpoints.
    pub checkpoints: u64,
    /// The number of its pinned checkpoints.
    pub pinned: u64,
    /// The checkpoints to remove, newest first.
    pub removed: Vec<CheckpointId>,
    /// Lineages that would get a base, and its offset.
    pub trimmed: Vec<(LineageId, Offset)>,
    /// Lineages that would be dropped.
    pub dropped: Vec<LineageId>,
    /// The number of events that would be removed.
    pub events: u64,
    /// The approximate bytes of their records. The next compaction removes them from the disk.
    pub bytes: u64,
    /// The reason why nothing could be planned: an entry of the task cannot be read. Nothing is
    /// removed.
    pub error: Option<String>,
    pub(super) kind: Option<ErrorKind>,
    pub(super) no: TaskNo,
    pub(super) places: Vec<RemovedMark>,
}

impl TaskPlan {
    /// Returns `true` if the cleanup removes a checkpoint, events or a lineage of the task.
    pub fn removes(&self) -> bool {
        !self.removed.is_empty() || !self.trimmed.is_empty() || !self.dropped.is_empty()
    }

    fn of(no: TaskNo, entry: &TaskEntry) -> Self {
        Self {
            task: entry.name.clone(),
            user: entry.user.clone(),
            checkpoints: 0,
            pinned: 0,
            removed: Vec::new(),
            trimmed: Vec::new(),
            dropped: Vec::new(),
            events: 0,
            bytes: 0,
            error: None,
            kind: None,
            no,
            places: Vec::new(),
        }
    }

    /// Returns the error that prevented planning.
    pub(super) fn failed(&self) -> Option<Error> {
        Some(Error::new(self.kind?, self.error.clone()?))
    }

    /// Returns `true` if nothing would be removed.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.trimmed.is_empty() && self.dropped.is_empty()
    }

    /// Returns the number of checkpoints that stay.
    pub fn remaining(&self) -> u64 {
        self.checkpoints.saturating_sub(self.removed.len() as u64)
    }
}

impl Retention<'_> {
    /// Plans a cleanup by this policy. Changes nothing. The plan of an unreadable task holds its
    /// error; the others are planned.
    ///
    /// # Errors
    ///
    /// - `NotFound`: the policy names a task that does not exist.
    /// - `Invalid`: the policy removes checkpoints of one task and applies to several.
    /// - `Unavailable`: the store is closed.
    pub fn plan(&self, policy: &Policy) -> Result<RetentionPlan> {
        let catalog = &self.engine.inner.catalog;
        let mut tasks = Vec::new();
        match &policy.scope {
            Scope::Task(name) => {
                let no = self.engine.task_no(name)?;
                tasks.push((no, catalog.task(no)?));
            }
            scope => each_task(catalog, &mut |no, entry| {
                let fits = match scope {
                    Scope::User(user) => entry.user == *user,
                    _ => true,
                };
                if fits && entry.deleted_us.is_none() {
                    tasks.push((no, entry.clone()));
                }
            })?,
        }
        if policy.remove.is_some() && !matches!(policy.scope, Scope::Task(_)) {
            let why = "checkpoints to remove are of one task: name the task";
            return Err(Error::invalid(why));
        }
        let now = self.engine.inner.now_us();
        let planned = tasks.iter().map(|(no, entry)| {
            let begun = TaskPlan::of(*no, entry);
            planned(plan(catalog, policy, begun.clone(), now), begun)
        });
        Ok(RetentionPlan { policy: policy.clone(), tasks: planned.collect::<Result<_>>()? })
    }
}

/// Turns an error of the task into a plan that holds it, and returns errors of the store.
fn planned(plan: Result<TaskPlan>, begun: TaskPlan) -> Result<TaskPlan> {
    match plan {
        Err(error) if !is_of_the_store(&error) => {
            tracing::warn!("task {}: no cleanup can be planned: {error}", begun.task);
            Ok(TaskPlan { error: Some(error.to_string()), kind: Some(error.kind()), ..begun })
        }
        plan => plan,
    }
}

pub(super) fn each_task(catalog: &Catalog, each: &mut dyn FnMut(TaskNo, &TaskEntry)) -> Result<()> {
    catalog.log().walk(&keys::all(KeyKind::Task), &mut |key, value| {
        each(TaskNo(keys::first_u64(key)), &TaskEntry::decode(value)?);
        Ok(())
    })
}

fn plan(catalog: &Catalog, policy: &Policy, begun: TaskPlan, now_us: u64) -> Result<TaskPlan> {
    let no = begun.no;
    let pins: HashSet<CheckpointId> = catalog.pins(no)?.iter().map(|p| p.checkpoint).collect();
    let since = policy.younger_than.map(|s| now_us.saturating_sub(s.saturating_mul(1_000_000)));
    let (mut checkpoints, mut pinned, mut newest) = (0, 0, policy.newest());
    let mut places = Vec::new();
    let floor = policy.trim_before.map(|floor| History::of(catalog, no, floor)).transpose()?;
    each_mark(catalog, no, &mut |place, entry| {
        checkpoints += 1;
        if pins.contains(&entry.id) {
            pinned += 1;
            return Ok(());
        }
        let is_newest = newest > 0;
        newest = newest.saturating_sub(1);
        let is_young = since.is_some_and(|since| entry.time_us >= since);
        let is_behind = floor.as_ref().is_some_and(|floor| !floor.is_before(&place, entry));
        let is_spared = policy.remove.as_ref().is_some_and(|named| !named.contains(&entry.id));
        if !is_newest && !is_young && !is_spared && !is_behind {
            places.push(place);
        }
        Ok(())
    })?;
    let mut plan = TaskPlan {
        checkpoints,
        pinned,
        removed: places.iter().map(|place| place.checkpoint).collect(),
        places,
        ..begun
    };
    // A task that never lost a checkpoint keeps its events.
    let may_trim = !plan.places.is_empty() || floor.is_some() || catalog.tally(no)?.retained;
    if !policy.marks_only && may_trim {
        let removed = plan.places.iter().map(|p| (p.lineage, p.offset)).collect();
        let fates = fates(catalog, no, &removed, policy)?;
        (plan.events, plan.bytes) = freed(catalog, no, &fates)?;
        plan.trimmed = fates.trims.into_iter().collect();
        plan.dropped = fates.dropped.into_iter().collect();
    }
    Ok(plan)
}

/// The history of a point before which events are not needed.
struct History {
    ancestry: Ancestry,
    floor: Floor,
}

impl History {
    fn of(catalog: &Catalog, task: TaskNo, floor: Floor) -> Result<Self> {
        Ok(Self { ancestry: Ancestry::of(catalog, task, floor.lineage)?, floor })
    }

    /// Returns `true` if a checkpoint is in the history and marks a point before the floor.
    fn is_before(&self, place: &RemovedMark, entry: &MarkEntry) -> bool {
        let at = entry.body.at.map_or(place.offset, |at| at.next);
        let span = self.ancestry.span(place.lineage);
        at < self.floor.offset && span.is_some_and(|(from, to)| (from..to).contains(&place.offset))
    }

    /// Returns the floor as a checkpoint that needs the events after it.
    fn as_kept(&self) -> KeptMark {
        let Floor { lineage, offset } = self.floor;
        let lineage = self.ancestry.owner(offset).unwrap_or(lineage);
        KeptMark { lineage, offset, at: offset }
    }
}

/// Calls `each` for every checkpoint of a task, newest first.
fn each_mark(
    catalog: &Catalog,
    task: TaskNo,
    each: &mut dyn FnMut(RemovedMark, &MarkEntry) -> Result<()>,
) -> Result<()> {
    let prefix = keys::of_task(KeyKind::TaskMark, task);
    let mut end = keys::after_prefix(&prefix);
    loop {
        let page = catalog.log().scan(&prefix, &end, true, STRIDE)?;
        let Some((last, _)) = page.last() else {
            return Ok(());
        };
        end = last.clone();
        for (key, _) in page {
            let (lineage, offset) = keys::mark_place(&key);
            let Some(entry) = catalog.log().get(&keys::mark(task, lineage, offset))? else {
                continue;
            };
            let entry = MarkEntry::decode(&entry)?;
            let checkpoint = entry.id;
            let place = RemovedMark { lineage, offset, checkpoint };
            each(place, &entry)?;
        }
    }
}

/// Computes the trims and drops of a task's lineages without these marks.
pub(super) fn fates(
    catalog: &Catalog,
    task: TaskNo,
    removed: &HashSet<(LineageId, Offset)>,
    policy: &Policy,
) -> Result<Verdicts> {
    let mut lineages = Lineages::default();
    for (id, entry) in catalog.lineages(task)? {
        let beginning = match (catalog.base(task, id)?, entry.parent) {
            (Some(base), _) => Beginning::Base(base.head.next),
            (None, Some(parent)) => Beginning::Fork(parent.lineage, parent.offset),
            (None, None) => Beginning::Root,
        };
        lineages.0.insert(id, beginning);
    }
    let mut kept = Vec::new();
    each_mark(catalog, task, &mut |place, entry| {
        let RemovedMark { lineage, offset, .. } = place;
        if !removed.contains(&(lineage, offset)) {
            let at = entry.body.at.map_or(offset, |at| at.next);
            kept.push(KeptMark { lineage, offset, at });
        }
        Ok(())
    })?;
    if let Some(floor) = policy.trim_before {
        kept.push(History::of(catalog, task, floor)?.as_kept());
    }
    let going = match policy.keep_lineages {
        true => lineages.0.keys().copied().collect(),
        false => going(catalog, task, policy.undo)?,
    };
    Ok(lineages.fates(&going, &kept))
}

/// Returns the active lineage, those that the given number of undos would activate, and the one
/// that names the last capture of the folder.
fn going(catalog: &Catalog, task: TaskNo, undo: u32) -> Result<BTreeSet<LineageId>> {
    let (_, mut active) = catalog.active(task)?;
    let mut going = BTreeSet::from([active.lineage]);
    going.extend(catalog.files_kept(task)?.1.map(|kept| kept.lineage));
    for _ in 0..undo {
        let Some(back) = active.back else { break };
        active = catalog.activation(task, back)?;
        going.insert(active.lineage);
    }
    Ok(going)
}

/// Returns the number of removed events, and their approximate bytes.
fn freed(catalog: &Catalog, task: TaskNo, fates: &Verdicts) -> Result<(u64, u64)> {
    let (mut events, mut bytes) = (0, 0);
    let ends = fates.trims.iter().map(|(id, at)| (*id, Some(*at)));
    for (id, end) in ends.chain(fates.dropped.iter().map(|id| (*id, None))) {
        let Some(head) = catalog.log().head(LogId::lineage(task, id))? else {
            continue;
        };
        let base = catalog.base(task, id)?.map_or(0, |base| base.head.next);
        let start = head.start.max(base);
        let all = head.head.next.saturating_sub(head.start);
        let gone = end.unwrap_or(head.head.next).saturating_sub(start);
        events += gone;
        bytes += match all {
            0 => 0,
            all => (u128::from(head.bytes) * u128::from(gone) / u128::from(all)) as u64,
        };
    }
    Ok((events, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Mark, Options};

    #[test]
    fn a_task_that_cannot_be_planned_keeps_no_other_from_being_cleaned_up() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(dir.path(), Options::default()).unwrap();
        for name in ["before", "damaged", "behind"] {
            let task = engine.start_task(name, "ana").unwrap();
            for _ in 0..3 {
                task.checkpoint(Mark::new()).unwrap();
            }
        }
        engine.close().unwrap();
        let engine = Engine::open(dir.path(), Options::default()).unwrap();
        let task = engine.task("damaged").unwrap();
        let mark = task.last_successful().unwrap().unwrap();
        let key = keys::mark(task.no(), mark.lineage, mark.mark);
        let log = engine.inner.catalog.log();
        log.put_note(key, b"other bytes".to_vec()).unwrap();
        let policy = Policy::new().keep(1);
        let plan = engine.retention().plan(&policy).unwrap();
        let said: Vec<_> = (plan.tasks.iter())
            .map(|task| (task.task.as_str(), task.removed.len(), task.error.is_some()))
            .collect();
        let expected = [("before", 2, false), ("damaged", 0, true), ("behind", 2, false)];
        assert_eq!(said, expected);
        let report = engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
        let done: Vec<_> = (report.tasks.iter())
            .map(|task| (task.removed, task.error.as_ref().map(Error::kind)))
            .collect();
        assert_eq!(done, [(2, None), (0, Some(ErrorKind::Corrupt)), (2, None)]);
        let alone = engine.retention().plan(&policy.task("damaged")).unwrap();
        assert!(alone.tasks[0].error.is_some());
    }
}
