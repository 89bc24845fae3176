//! A plan, done.

use std::collections::HashSet;
use std::mem::take;
use std::sync::Arc;

use milepost_codec::{
    ChunkId, Control, Dropped, Error, ErrorKind, Json, LineageId, LogId, LogKind, Offset,
    RemovedMark, Result, Retained, TaskNo, Trimmed,
};
use milepost_store::index::MarkEntry;
use milepost_store::index::keys;

use super::plan::{RetentionPlan, TaskPlan, fates};
use super::policy::Retention;
use crate::commit::committer::Slot;
use crate::handles::audit;
use crate::handles::engine::Engine;
use crate::history::base;
use crate::history::pending::is_of_the_store;

/// Marks that one commit removes: appends wait for it.
pub(super) const MARKS_EACH: usize = 100;

/// Tasks that are done together, so that they share syncs. Restores and branches wait for their
/// bases.
const TASKS_EACH: usize = 4;

/// Tries to trim a task whose lineages grow in between.
const TRIM_TRIES: u32 = 4;

/// The trims of one task, to be committed where none of the lineages that go has grown.
struct Trims {
    heads: Vec<(LogId, Offset)>,
    events: Vec<Control>,
    /// Bases that these take the place of.
    replaced: Vec<ChunkId>,
    trimmed: Vec<(LineageId, Offset)>,
    dropped: Vec<LineageId>,
}

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

    /// Does a step of one task, unless there is nothing to do for it or a step before failed. That
    /// a step fails is noted, and keeps no other task from being done; an error is one of the
    /// store.
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

impl Engine {
    /// Does what a plan says. `progress` is told how many tasks are done, and of how many.
    ///
    /// What happened since it was planned does no harm: a checkpoint that was pinned meanwhile
    /// stays, and what is needed is looked at again. A task that fails does not keep the others
    /// from being done.
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
            let _structure = self.inner.structure()?;
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

    /// Removes the events that nothing needs: of each task in one commit, once the bases are
    /// durable. A task of which a lineage grew in between is looked at again: a checkpoint may have
    /// come.
    fn trim(&self, policy: &Retention, group: &mut Group<'_>) -> Result<()> {
        let inner = &self.inner;
        let _structure = inner.structure()?;
        let _storing = inner.catalog.log().storing();
        let mut left: Vec<usize> = (0..group.plans.len()).collect();
        for attempt in 1..=TRIM_TRIES {
            let mut made = Vec::new();
            for n in left {
                let trims = group.step(n, |task, _| self.make_bases(task.no, policy))?;
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

    /// Makes the bases of a task's lineages, and the events that name them. The bases are not
    /// durable yet.
    fn make_bases(&self, task: TaskNo, policy: &Retention) -> Result<Trims> {
        let inner = &self.inner;
        inner.catalog.goes_on(task)?;
        // Before it is looked at what is needed: what comes after this is found by the commit.
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
        let (mut events, mut replaced): (Vec<Control>, Vec<ChunkId>) = Default::default();
        // Children first, as all read what is there still.
        for (lineage, offset) in fates.trims.iter().rev() {
            let place = (task, *lineage, *offset);
            let reducers = &inner.options.reducers;
            let made = base::make(&inner.catalog, reducers, &inner.entropy, place)?;
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

    pub(super) fn tell(&self, action: &'static str, task: TaskNo) {
        if let Ok((_, active)) = self.inner.catalog.active(task) {
            audit::AuditEvent::of(action, task, active.lineage).tell(&self.inner);
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
