//! A plan, done.

use std::collections::HashSet;
use std::sync::Arc;

use milepost_codec::{
    Control, Detail, Dropped, Error, ErrorKind, Json, LineageId, Offset, RemovedMark, Result,
    Retained, TaskNo, Trimmed,
};

use super::plan::{RetentionPlan, TaskPlan, fates};
use super::policy::Retention;
use crate::audit;
use crate::base;
use crate::committer::Slot;
use crate::engine::Engine;
use crate::index::MarkEntry;
use crate::index::keys;

/// Marks that one commit removes: appends wait for it.
pub(super) const MARKS_EACH: usize = 100;

/// Tasks that are done together, so that they share syncs. Restores and branches wait for their bases.
const TASKS_EACH: usize = 4;

/// What a cleanup did.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RetentionReport {
    /// Each task of the plan.
    pub tasks: Vec<TaskRetained>,
}

/// What a cleanup did to one task.
#[derive(Debug)]
#[non_exhaustive]
pub struct TaskRetained {
    /// The task.
    pub task: String,
    /// Whose it is.
    pub user: String,
    /// How many checkpoints it had.
    pub checkpoints: u64,
    /// How many went.
    pub removed: u64,
    /// Lineages that begin with a base now, and at which offset.
    pub trimmed: Vec<(LineageId, Offset)>,
    /// Lineages that went.
    pub dropped: Vec<LineageId>,
    /// Why not all of it was done. What was done stays done.
    pub error: Option<Error>,
}

/// Tasks that are done together.
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

    /// Does a step of one task, unless there is nothing to do for it or a step before failed. That a step
    /// fails is noted, and keeps no other task from being done; an error is one of the store.
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

/// Whether an error is one of the store, and not of one task: of that a restore may be pending.
pub(super) fn is_of_the_store(error: &Error) -> bool {
    let pending = matches!(error.detail(), Some(Detail::Pending { .. }));
    matches!(error.kind(), ErrorKind::Poisoned | ErrorKind::Unavailable) && !pending
}

impl Engine {
    /// Does what a plan says. `progress` is told how many tasks are done, and of how many.
    ///
    /// What happened since it was planned does no harm: a checkpoint that was pinned meanwhile stays, and
    /// what is needed is looked at again. A task that fails does not keep the others from being done.
    ///
    /// # Errors
    ///
    /// `Unavailable` where the store is closed; `Poisoned` where a write failed.
    pub fn apply_retention(
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
                group.step(n, |task, _| {
                    self.tell("retained", task.no);
                    Ok(())
                })?;
            }
            report.tasks.extend(group.done);
            progress(report.tasks.len() as u64, plan.tasks.len() as u64);
        }
        Ok(report)
    }

    /// Plans and applies in one.
    ///
    /// # Errors
    ///
    /// As [`Engine::plan_retention`] and [`Engine::apply_retention`].
    pub fn retain(&self, policy: &Retention) -> Result<RetentionReport> {
        self.apply_retention(&self.plan_retention(policy)?, &mut |_, _| {})
    }

    /// Removes the marks that the plan says and that nobody pinned since, a few in one commit.
    fn remove_marks(&self, policy: &Json, group: &mut Group<'_>) -> Result<()> {
        let all: Vec<(usize, RemovedMark)> = (group.plans.iter().enumerate())
            .flat_map(|(n, plan)| plan.places.iter().map(move |place| (n, *place)))
            .collect();
        for some in all.chunks(MARKS_EACH) {
            // For a few marks at a time: restores and branches wait for it.
            let _structure = self.inner.structure.lock();
            let mut sent: Vec<(usize, Arc<Slot>, u64)> = Vec::new();
            for marks in some.chunk_by(|(n, _), (m, _)| n == m) {
                let Some((n, _)) = marks.first() else {
                    continue;
                };
                let removed = group.step(*n, |task, _| self.still_there(task.no, marks))?;
                let Some(removed) = removed.filter(|removed| !removed.is_empty()) else {
                    continue;
                };
                let count = removed.len() as u64;
                let policy = policy.clone();
                let retained = Retained { policy, removed }.into();
                let slot =
                    group.step(*n, |task, _| self.submit_control(task.no, vec![retained]))?;
                sent.extend(slot.map(|slot| (*n, slot, count)));
            }
            for (n, slot, count) in sent {
                group.step(n, |_, done| {
                    slot.wait()?;
                    done.removed += count;
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Those marks that are there and were not pinned since.
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

    /// Lets go of the events that nothing needs: of each task in one commit, once the bases are durable.
    fn trim(&self, policy: &Retention, group: &mut Group<'_>) -> Result<()> {
        let inner = &self.inner;
        let _structure = inner.structure.lock();
        let _storing = inner.catalog.log().storing();
        let mut made = Vec::new();
        for n in 0..group.plans.len() {
            let bases = group.step(n, |task, done| self.make_bases(task.no, policy, done))?;
            made.extend(bases.map(|events| (n, events)));
        }
        inner.catalog.log().sync_chunks()?;
        let mut sent: Vec<(usize, Arc<Slot>)> = Vec::new();
        for (n, events) in made.into_iter().filter(|(_, events)| !events.is_empty()) {
            let slot = group.step(n, |task, _| self.submit_control(task.no, events))?;
            sent.extend(slot.map(|slot| (n, slot)));
        }
        for (n, slot) in sent {
            let waited = group.step(n, |_, _| slot.wait())?;
            if let (None, Some(done)) = (waited, group.done.get_mut(n)) {
                done.trimmed.clear();
                done.dropped.clear();
            }
        }
        for n in 0..group.plans.len() {
            group.step(n, |task, _| {
                inner.forget_states(task.no);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Makes the bases of a task's lineages, and gives the events that name them. The bases are not durable yet.
    fn make_bases(
        &self,
        task: TaskNo,
        policy: &Retention,
        done: &mut TaskRetained,
    ) -> Result<Vec<Control>> {
        let inner = &self.inner;
        inner.catalog.goes_on(task)?;
        let fates = fates(&inner.catalog, task, &HashSet::new(), policy)?;
        let mut events: Vec<Control> = Vec::new();
        // Children first, as all read what is there still.
        for (lineage, offset) in fates.trims.iter().rev() {
            let place = (task, *lineage, *offset);
            let reducers = &inner.options.reducers;
            let (head, base) = base::make(&inner.catalog, reducers, &inner.entropy, place)?;
            let trimmed = Trimmed {
                lineage: *lineage,
                offset: *offset,
                hash: head.hash,
                base,
            };
            events.push(trimmed.into());
        }
        let dropped = fates.dropped.iter();
        events.extend(dropped.map(|lineage| Control::from(Dropped { lineage: *lineage })));
        done.trimmed.extend(fates.trims.into_iter().rev());
        done.dropped.extend(fates.dropped);
        Ok(events)
    }

    pub(super) fn tell(&self, action: &'static str, task: TaskNo) {
        if let Ok((_, active)) = self.inner.catalog.active(task) {
            audit::Done::of(action, task, active.lineage).tell(&self.inner);
        }
    }

    /// Whether a checkpoint is there still, and was not pinned since.
    fn removable(&self, task: TaskNo, mark: &RemovedMark) -> Result<bool> {
        let catalog = &self.inner.catalog;
        let key = keys::mark(task, mark.lineage, mark.offset);
        let Some(entry) = catalog.log().get(&key)? else {
            return Ok(false);
        };
        let same = MarkEntry::decode(&entry)?.id == mark.checkpoint;
        Ok(same && !catalog.is_pinned(task, &mark.checkpoint)?)
    }
}
