//! A plan, done.

use std::collections::{BTreeMap, HashSet};

use milepost_codec::{
    CheckpointId, Control, Dropped, Error, ErrorKind, Json, LineageId, Offset, RemovedMark, Result,
    Retained, TaskNo, Trimmed,
};

use super::plan::{RetentionPlan, TaskPlan, fates};
use super::policy::Retention;
use crate::audit;
use crate::base;
use crate::engine::Engine;
use crate::index::MarkEntry;
use crate::index::keys;
use crate::query::CheckpointQuery;

/// Marks that one commit removes: appends wait for it.
const MARKS_EACH: usize = 100;

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
        let mut report = RetentionReport::default();
        let all = plan.tasks.len() as u64;
        for (n, task) in (1..).zip(&plan.tasks) {
            let mut done = TaskRetained {
                task: task.task.clone(),
                user: task.user.clone(),
                checkpoints: task.checkpoints,
                removed: 0,
                trimmed: Vec::new(),
                dropped: Vec::new(),
                error: None,
            };
            if !task.is_empty()
                && let Err(error) = self.apply_one(&plan.policy, task, &mut done)
            {
                if matches!(error.kind(), ErrorKind::Poisoned | ErrorKind::Unavailable) {
                    return Err(error);
                }
                tracing::warn!("task {}: not cleaned up: {error}", task.task);
                done.error = Some(error);
            }
            report.tasks.push(done);
            progress(n, all);
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

    /// Removes checkpoints. The events stay until a cleanup finds that nothing needs them.
    ///
    /// # Errors
    ///
    /// `NotFound` where one is not there; `Conflict` where one is pinned. Then none is removed.
    pub fn remove_checkpoints(&self, checkpoints: &[CheckpointId]) -> Result<()> {
        let inner = &self.inner;
        let _structure = inner.structure.lock();
        let mut by_task: BTreeMap<TaskNo, Vec<RemovedMark>> = BTreeMap::new();
        for id in checkpoints {
            let found = inner.catalog.checkpoint_named(&id.to_string(), None)?;
            let task = inner.catalog.find_for(&found.task, None)?;
            if inner.catalog.is_pinned(task, id)? {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!("checkpoint {id} is pinned"),
                ));
            }
            by_task.entry(task).or_default().push(RemovedMark {
                lineage: found.lineage,
                offset: found.mark,
                checkpoint: *id,
            });
        }
        let policy = Json::new(r#"{"asked_for":true}"#)?;
        for (task, marks) in by_task {
            for marks in marks.chunks(MARKS_EACH) {
                self.remove(task, &policy, marks)?;
            }
            self.tell("checkpoints_removed", task);
        }
        Ok(())
    }

    /// Removes all checkpoints that a query finds, but those that are pinned: those of one run, by what
    /// their metadata says. Gives how many. The query's page is not looked at.
    ///
    /// ```
    /// use milepost::{CheckpointQuery, Engine, Json, Mark, Message, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("thread", "ana")?;
    /// for run in ["r-1", "r-1", "r-2"] {
    ///     task.append(Message::text("user", "hello"))?;
    ///     let metadata = Json::from_value(&serde_json::json!({ "run": run }))?;
    ///     task.checkpoint(Mark::new().metadata(metadata))?;
    /// }
    /// let of_run = CheckpointQuery {
    ///     task: Some("thread".into()),
    ///     filter: vec![("run".into(), "r-1".into())],
    ///     ..CheckpointQuery::default()
    /// };
    /// assert_eq!(engine.remove_checkpoints_of(&of_run)?, 2);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Engine::checkpoints`] and [`Engine::remove_checkpoints`].
    pub fn remove_checkpoints_of(&self, query: &CheckpointQuery) -> Result<u64> {
        let mut query = CheckpointQuery {
            limit: Some(MARKS_EACH),
            cursor: None,
            ..query.clone()
        };
        let mut found = Vec::new();
        loop {
            let page = self.checkpoints(&query)?;
            for checkpoint in page.items {
                let task = self.task_no(&checkpoint.task)?;
                if !self.inner.catalog.is_pinned(task, &checkpoint.id)? {
                    found.push(checkpoint.id);
                }
            }
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        self.remove_checkpoints(&found)?;
        Ok(found.len() as u64)
    }

    fn apply_one(
        &self,
        policy: &Retention,
        plan: &TaskPlan,
        done: &mut TaskRetained,
    ) -> Result<()> {
        let inner = &self.inner;
        let no = plan.no;
        let text = serde_json::to_string(policy)
            .map_err(|e| Error::invalid(format!("the policy as JSON: {e}")))?;
        let json = Json::new(&text)?;
        for marks in plan.places.chunks(MARKS_EACH) {
            // For a few marks at a time: restores and branches wait for it.
            let _structure = inner.structure.lock();
            let mut gone = Vec::with_capacity(marks.len());
            for mark in marks {
                if self.removable(no, mark)? {
                    gone.push(*mark);
                }
            }
            if !gone.is_empty() {
                self.remove(no, &json, &gone)?;
                done.removed += gone.len() as u64;
            }
        }
        if !policy.marks_only {
            let _structure = inner.structure.lock();
            self.trim(no, policy.undo, done)?;
            inner.forget_states(no);
        }
        self.tell("retained", no);
        Ok(())
    }

    fn tell(&self, action: &'static str, task: TaskNo) {
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

    fn remove(&self, task: TaskNo, policy: &Json, marks: &[RemovedMark]) -> Result<()> {
        let retained = Retained {
            policy: policy.clone(),
            removed: marks.to_vec(),
        };
        self.commit_control(task, vec![retained.into()])
    }

    /// Lets go of the events that nothing needs, each lineage in one commit: its base is durable before.
    fn trim(&self, task: TaskNo, undo: u32, done: &mut TaskRetained) -> Result<()> {
        let inner = &self.inner;
        let fates = fates(&inner.catalog, task, &HashSet::new(), undo)?;
        // Children first: a base is made of what the parent has still.
        for (lineage, offset) in fates.trims.iter().rev() {
            let _storing = inner.catalog.log().storing();
            let place = (task, *lineage, *offset);
            let reducers = &inner.options.reducers;
            let (head, base) = base::make(&inner.catalog, reducers, &inner.entropy, place)?;
            let trimmed = Trimmed {
                lineage: *lineage,
                offset: *offset,
                hash: head.hash,
                base,
            };
            self.commit_control(task, vec![trimmed.into()])?;
            done.trimmed.push((*lineage, *offset));
        }
        let dropped: Vec<Control> = (fates.dropped.iter())
            .map(|lineage| Dropped { lineage: *lineage }.into())
            .collect();
        if !dropped.is_empty() {
            self.commit_control(task, dropped)?;
            done.dropped.extend(&fates.dropped);
        }
        Ok(())
    }
}
