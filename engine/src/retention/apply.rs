//! Execution of a retention plan.

use std::collections::{HashMap, HashSet};
use std::mem::take;
use std::sync::Arc;

use milepost_codec::{
    ChunkId, Control, Dropped, Error, ErrorKind, Head, Json, LineageId, LogId, LogKind, Offset,
    RemovedMark, Result, TaskNo, Trimmed,
};
use milepost_store::index::MarkEntry;
use milepost_store::index::keys;

use super::plan::{RetentionPlan, TaskPlan, fates};
use super::policy::Policy;
use super::{Retention, ViewRetention};
use crate::commit::committer::Slot;
use crate::handles::audit;
use crate::history::base;
use crate::history::pending::is_of_the_store;

/// Maximum marks that one commit removes. Appends wait for it.
pub(super) const MARKS_EACH: usize = 100;

/// Tasks processed together to share syncs. Restores and branches wait while they are trimmed.
const TASKS_EACH: usize = 4;

/// Maximum attempts to trim a task whose lineages grow in between.
const TRIM_TRIES: u32 = 4;

/// The trims of one task, committed only if no lineage to be dropped has grown.
struct Trims {
    heads: Vec<(LogId, Offset)>,
    events: Vec<Control>,
    /// Bases that these replace.
    replaced: Vec<ChunkId>,
    trimmed: Vec<(LineageId, Offset)>,
    dropped: Vec<LineageId>,
}

/// Bases of a task that were made before the structure was locked.
struct BasesAhead {
    /// The head of the task's control log before.
    control: Option<Head>,
    made: HashMap<(LineageId, Offset), base::Made>,
}

/// Result of a cleanup.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RetentionReport {
    /// The result of each task in the plan.
    pub tasks: Vec<TaskRetained>,
}

/// Result of a cleanup for one task.
#[derive(Debug)]
#[non_exhaustive]
pub struct TaskRetained {
    /// The task's id.
    pub task: String,
    /// The owner.
    pub user: String,
    /// The number of checkpoints before.
    pub checkpoints: u64,
    /// The number of removed checkpoints.
    pub removed: u64,
    /// Lineages that got a base, and its offset.
    pub trimmed: Vec<(LineageId, Offset)>,
    /// Lineages that were dropped.
    pub dropped: Vec<LineageId>,
    /// The error that stopped the cleanup of this task. Earlier changes stay.
    pub error: Option<Error>,
}

/// Tasks processed together.
struct Group<'a> {
    plans: &'a [TaskPlan],
    done: Vec<TaskRetained>,
}

impl<'a> Group<'a> {
    fn of(plans: &'a [TaskPlan]) -> Self {
        let begun = |plan: &TaskPlan| TaskRetained {
            task: plan.task.clone(),
            user: plan.user.clone(),
            checkpoints: plan.checkpoints,
            removed: 0,
            trimmed: Vec::new(),
            dropped: Vec::new(),
            error: plan.failed(),
        };
        let done = plans.iter().map(begun).collect();
        Self { plans, done }
    }

    /// Runs a step for one task, unless its plan is empty or an earlier step failed. A failure is
    /// recorded in the task's result and does not stop other tasks; only errors of the store are
    /// returned.
    fn step<T>(
        &mut self,
        n: usize,
        step: impl FnOnce(&TaskPlan, &mut TaskRetained) -> Result<T>,
    ) -> Result<Option<T>> {
        let (Some(plan), Some(done)) = (self.plans.get(n), self.done.get_mut(n)) else {
            return Ok(None);
        };
        if plan.is_empty() || done.error.is_some() {
            return Ok(None);
        }
        match step(plan, done) {
            Ok(done) => Ok(Some(done)),
            Err(error) if is_of_the_store(&error) => Err(error),
            Err(error) => {
                tracing::warn!("task {}: not cleaned up: {error}", plan.task);
                done.error = Some(error);
                Ok(None)
            }
        }
    }
}

impl Retention<'_> {
    /// Applies a plan. `progress` gets the number of processed tasks and the total.
    ///
    /// Changes since the planning are respected: newly pinned checkpoints stay, and the needed
    /// events are computed again. A failing task does not stop the others.
    ///
    /// # Errors
    ///
    /// - `Unavailable`: the store is closed.
    /// - `Poisoned`: a write failed.
    pub fn apply(
        &self,
        plan: &RetentionPlan,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<RetentionReport> {
        let text = serde_json::to_string(&plan.policy)
            .map_err(|e| Error::invalid(format!("the policy as JSON: {e}")))?;
        let policy = Json::new(&text)?;
        let mut report = RetentionReport::default();
        for plans in plan.tasks.chunks(TASKS_EACH) {
            let mut group = Group::of(plans);
            self.remove_marks(&policy, &mut group)?;
            if !plan.policy.marks_only {
                self.trim(&plan.policy, &mut group)?;
            }
            for n in 0..plans.len() {
                group.step(n, |task, done| {
                    let keep = plan.policy.keep.map(|keep| keep as u64);
                    self.tell("retained", task.no, (keep, done.removed));
                    Ok(())
                })?;
            }
            report.tasks.extend(group.done);
            progress(report.tasks.len() as u64, plan.tasks.len() as u64);
        }
        Ok(report)
    }

    /// Plans a cleanup and applies it.
    ///
    /// # Errors
    ///
    /// As [`Retention::plan`] and [`Retention::apply`].
    pub fn retain(&self, policy: &Policy) -> Result<RetentionReport> {
        self.apply(&self.plan(policy)?, &mut |_, _| {})
    }

    /// Removes the planned marks that have not been pinned since, a few in each commit.
    fn remove_marks(&self, policy: &Json, group: &mut Group<'_>) -> Result<()> {
        let all: Vec<(usize, RemovedMark)> = (group.plans.iter().enumerate())
            .flat_map(|(n, plan)| plan.places.iter().map(move |place| (n, *place)))
            .collect();
        for some in all.chunks(MARKS_EACH) {
            // Locked for a few marks at a time, since restores and branches wait for it.
            let inner = &self.engine.inner;
            let _structure = inner.structure()?;
            let mut sent: Vec<(usize, Arc<Slot>, Vec<RemovedMark>)> = Vec::new();
            for marks in some.chunk_by(|(n, _), (m, _)| n == m) {
                let Some((n, _)) = marks.first() else {
                    continue;
                };
                let removed = group.step(*n, |task, _| self.still_there(task.no, marks))?;
                let Some(removed) = removed.filter(|removed| !removed.is_empty()) else {
                    continue;
                };
                let slot = group.step(*n, |task, _| {
                    inner.committer.submit(self.removal(task.no, policy, &removed)?)
                })?;
                sent.extend(slot.map(|slot| (*n, slot, removed)));
            }
            for (n, slot, removed) in sent {
                group.step(n, |task, done| {
                    match slot.wait() {
                        Err(error) if error.kind() == ErrorKind::Conflict => {
                            self.remove(task.no, policy, &removed)?;
                        }
                        committed => drop(committed?),
                    }
                    done.removed += removed.len() as u64;
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Returns the marks that still exist and have not been pinned.
    fn still_there(
        &self,
        task: TaskNo,
        marks: &[(usize, RemovedMark)],
    ) -> Result<Vec<RemovedMark>> {
        let mut removed = Vec::with_capacity(marks.len());
        for (_, mark) in marks {
            if self.removable(task, mark)? {
                removed.push(*mark);
            }
        }
        Ok(removed)
    }

    /// Removes unneeded events: the events of each task in one commit, after the bases are durable.
    /// A task with a lineage that grew in between is tried again, since it may have a new
    /// checkpoint.
    fn trim(&self, policy: &Policy, group: &mut Group<'_>) -> Result<()> {
        let inner = &self.engine.inner;
        let _storing = inner.catalog.log().storing();
        let ahead: Vec<BasesAhead> =
            group.plans.iter().map(|task| self.bases_ahead(task, policy)).collect();
        let _structure = inner.structure()?;
        let mut left: Vec<usize> = (0..group.plans.len()).collect();
        for attempt in 1..=TRIM_TRIES {
            let mut made = Vec::new();
            for n in left {
                let ahead = ahead.get(n);
                let trims = group.step(n, |task, _| self.make_bases(task.no, policy, ahead))?;
                made.extend(trims.map(|trims| (n, trims)));
            }
            inner.catalog.log().sync_chunks()?;
            let mut sent: Vec<(usize, Arc<Slot>, Trims)> = Vec::new();
            for (n, mut trims) in made {
                let (events, heads) = (take(&mut trims.events), take(&mut trims.heads));
                if events.is_empty() {
                    continue;
                }
                let slot = group.step(n, |task, _| {
                    let request = self.control_request(task.no, events)?;
                    inner.committer.submit(request.unless_grown(heads))
                })?;
                sent.extend(slot.map(|slot| (n, slot, trims)));
            }
            left = Vec::new();
            for (n, slot, trims) in sent {
                let done = slot.wait();
                let grew = done.as_ref().is_err_and(|e| e.kind() == ErrorKind::Conflict);
                if grew && attempt < TRIM_TRIES {
                    left.push(n);
                    continue;
                }
                group.step(n, |_, retained| {
                    done?;
                    let known = &inner.catalog.known_keys;
                    trims.replaced.iter().for_each(|base| known.forget(*base));
                    (retained.trimmed, retained.dropped) = (trims.trimmed, trims.dropped);
                    Ok(())
                })?;
            }
        }
        for n in 0..group.plans.len() {
            group.step(n, |task, _| {
                inner.withdraw(task.no);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Makes the bases that a trim of a task is going to need, before the structure is locked:
    /// restores and branches wait for the lock, and a state may have to be folded. A base that
    /// cannot be made is left to [`Retention::make_bases`], which reports it.
    fn bases_ahead(&self, task: &TaskPlan, policy: &Policy) -> BasesAhead {
        let inner = &self.engine.inner;
        let control = || inner.catalog.head(LogId::control(task.no));
        let mut ahead = BasesAhead { control: control().ok(), made: HashMap::new() };
        let fates = match task.is_empty() {
            true => return ahead,
            false => fates(&inner.catalog, task.no, &HashSet::new(), policy),
        };
        for (lineage, offset) in fates.iter().flat_map(|fates| fates.trims.iter().rev()) {
            let place = (task.no, *lineage, *offset);
            let made =
                base::make(&self.engine.catalog(), &inner.options.reducers, &inner.entropy, place);
            ahead.made.extend(made.ok().map(|made| ((*lineage, *offset), made)));
        }
        ahead
    }

    /// Makes the bases of a task's lineages and the events that name them. The bases are not
    /// durable yet. Those that were made ahead are taken if the task's control log, which has its
    /// lineages, erasures and trims, has not grown since.
    fn make_bases(
        &self,
        task: TaskNo,
        policy: &Policy,
        ahead: Option<&BasesAhead>,
    ) -> Result<Trims> {
        let inner = &self.engine.inner;
        inner.catalog.goes_on(task)?;
        let control = inner.catalog.head(LogId::control(task))?;
        let ahead = ahead.filter(|ahead| ahead.control == Some(control));
        // Heads are read before the needed events are computed: the commit detects later growth.
        let mut heads = Vec::new();
        for (lineage, entry) in inner.catalog.lineages(task)? {
            let log = LogId::lineage(task, lineage);
            if !entry.dropped {
                heads.push((log, inner.catalog.head(log)?.next));
            }
        }
        let fates = fates(&inner.catalog, task, &HashSet::new(), policy)?;
        let dropped = |log: &LogId| match log.kind {
            LogKind::Lineage(lineage) => fates.dropped.contains(&lineage),
            LogKind::Control => false,
        };
        heads.retain(|(log, _)| dropped(log));
        let (mut events, mut replaced) = (self.carry(task, &fates)?, Vec::new());
        // Children first: they read events that the trim of a parent would remove.
        for (lineage, offset) in fates.trims.iter().rev() {
            let place = (task, *lineage, *offset);
            let made = match ahead.and_then(|ahead| ahead.made.get(&(*lineage, *offset))) {
                Some(made) => made.clone(),
                None => {
                    let reducers = &inner.options.reducers;
                    base::make(&self.engine.catalog(), reducers, &inner.entropy, place)?
                }
            };
            let trimmed = Trimmed {
                lineage: *lineage,
                offset: *offset,
                hash: made.entry.head.hash,
                base: made.entry.chunk,
            };
            replaced.extend(made.replaces);
            events.push(trimmed.into());
        }
        let dropped = fates.dropped.iter();
        events.extend(dropped.map(|lineage| Control::from(Dropped { lineage: *lineage })));
        Ok(Trims {
            heads,
            events,
            replaced,
            trimmed: fates.trims.into_iter().rev().collect(),
            dropped: fates.dropped.into_iter().collect(),
        })
    }

    /// Returns `true` if a checkpoint still exists and has not been pinned.
    fn removable(&self, task: TaskNo, mark: &RemovedMark) -> Result<bool> {
        let catalog = &self.engine.inner.catalog;
        let key = keys::mark(task, mark.lineage, mark.offset);
        let Some(entry) = catalog.log().get(&key)? else {
            return Ok(false);
        };
        let same = MarkEntry::decode(&entry)?.id == mark.checkpoint;
        Ok(same && !catalog.is_pinned(task, &mark.checkpoint)?)
    }
}

impl ViewRetention<'_> {
    /// Reports a removal of checkpoints to the audit: the number that the policy keeps, and the
    /// number of removed ones.
    pub(super) fn tell(&self, action: &'static str, task: TaskNo, removed: (Option<u64>, u64)) {
        if let Ok((_, active)) = self.view.inner.catalog.active(task) {
            let event = audit::AuditEvent {
                removed: Some(removed),
                ..audit::AuditEvent::of(action, task, active.lineage)
            };
            event.tell(self.view);
        }
    }
}
