//! Restores with participants. Nothing is appended between the beginning and the end, and the end
//! is one commit. The guarantees for each instant of a crash in `docs/WORKSPACE.md` follow from
//! that.

use std::sync::Arc;

use milepost_codec::{
    Activated, ActivationCause, Body, Control, Detail, Epoch, Error, ErrorKind, Hash, LineageId,
    LineageType, LogId, MarkCause, Offset, RestoreBegun, RestoreEnded, RestoreId, RestoreOutcome,
    RestorePart, Restored, Result, Scope, TaskNo,
};

use crate::cancel::Cancel;
use crate::commit::append::Append;
use crate::commit::committer::{LogAppend, Request};
use crate::conditions::Conditions;
use crate::handles::engine::Engine;
use crate::handles::lineage::Lineage;
use crate::handles::participant::{CaptureContext, Participant, PrepareContext};
use crate::handles::task::Task;
use crate::history::base;
use crate::history::catalog::Viewer;
use crate::history::checkpoint::Mark;
use crate::history::pending::PendingRestore;
use crate::history::point::Point;

/// The target of a restore.
struct RestoreTarget<'a> {
    to: Point,
    scope: Scope,
    description: Option<&'a str>,
    conditions: &'a Conditions,
    /// For an undo: the current epoch, the lineage to activate again, and the epoch that the next
    /// undo restores.
    undoes: Option<(Epoch, LineageId, Option<Epoch>)>,
}

impl Engine {
    /// Restores a point with participants.
    pub(super) fn restore_with(
        &self,
        point: &Point,
        scope: Scope,
        description: Option<&str>,
        (with, conditions): (&[Arc<dyn Participant>], &Conditions),
    ) -> Result<Task> {
        if let Some(task) = self.restored_already(point, scope, conditions)? {
            return Ok(task);
        }
        self.run_restore(
            &RestoreTarget { to: point.clone(), scope, description, conditions, undoes: None },
            with,
        )
    }

    /// Undoes the last restore of a task with participants.
    pub(super) fn undo_with(
        &self,
        (no, task): (TaskNo, &str),
        viewer: Viewer<'_>,
        (with, conditions): (&[Arc<dyn Participant>], &Conditions),
    ) -> Result<Task> {
        let catalog = &self.inner.catalog;
        if let Some(task) = self.undone_already(no, conditions)? {
            return Ok(task);
        }
        let (epoch, active) = catalog.active(no)?;
        let takes_files = catalog.undo_takes_files(no)?;
        let Some(back) = active.back.filter(|_| takes_files) else {
            return self.undo_joined((task, viewer), true, conditions);
        };
        let before = catalog.activation(no, back)?;
        let lineage = Lineage::new(self, no, before.lineage, None)?;
        self.run_restore(
            &RestoreTarget {
                to: lineage.point(lineage.head()?.next)?,
                scope: Scope::All,
                description: None,
                conditions,
                undoes: Some((epoch, before.lineage, before.back)),
            },
            with,
        )
    }

    fn run_restore(
        &self,
        target: &RestoreTarget<'_>,
        with: &[Arc<dyn Participant>],
    ) -> Result<Task> {
        self.check_writable()?;
        let hooks = &self.inner.options.hooks;
        hooks.ask("a restore", |hook| hook.before_restore(&target.to))?;
        let task = Task::of(self, target.to.no)?;
        self.inner.catalog.goes_on(task.no())?;
        let entry = self.inner.catalog.task(task.no())?;
        let under_way = self.inner.controls.begin_restore(task.no());
        let pending = self.prepare(&task, target, with).inspect_err(|error| {
            with.iter().for_each(|participant| participant.release(self, &task, error));
        })?;
        // From here on files change, so a caller that is gone does not end it halfway.
        let whole = self.with_cancel(&Cancel::NEVER);
        let committed = whole.commit_restore(&task, target, &pending, with);
        let (lineage, epoch) = committed.map_err(|error| whole.failed(&pending, with, error))?;
        drop(under_way);
        whole.finish(&pending, with);
        let task = Task::made(self, (target.to.no, &entry), lineage, epoch);
        self.inner.meters.restores.add(1);
        let action = match target.undoes {
            Some(_) => "undone",
            None => "rolled_back",
        };
        self.tell_gone(action, &task, pending.begun.from);
        hooks.tell("a restore", |hook| hook.after_restore(&task));
        Ok(task)
    }

    /// Lets the participants clear up after a restore.
    fn finish(&self, pending: &PendingRestore, with: &[Arc<dyn Participant>]) {
        for participant in with {
            if let Err(error) = participant.finish(self, pending) {
                tracing::warn!(
                    "restore {}: {} is not cleared up yet: {error}",
                    pending.begun.restore,
                    participant.name()
                );
            }
        }
    }

    /// Aborts a restore that was not committed. Returns the error.
    fn failed(
        &self,
        pending: &PendingRestore,
        with: &[Arc<dyn Participant>],
        error: Error,
    ) -> Error {
        // Only the next opening shows whether the commit is durable (I11).
        if self.inner.catalog.log().is_poisoned() {
            return error;
        }
        match self.abort(pending, with, &error.to_string()) {
            Ok(()) => error,
            Err(left) => left.at(format!("taking back what failed with: {error}")),
        }
    }

    /// Captures the present, prepares each participant, and records the beginning.
    fn prepare(
        &self,
        task: &Task,
        target: &RestoreTarget<'_>,
        with: &[Arc<dyn Participant>],
    ) -> Result<PendingRestore> {
        // Holds captured and prepared chunks until the begin event names them.
        let _held = self.inner.catalog.log().storing();
        let there = self.workspace_at(&target.to)?;
        let known = self.last_capture(task)?;
        let marked = self.capture_present(task, target, with)?;
        let present = self.workspace_at(&task.point(task.head()?.next)?)?;
        let mut parts = Vec::with_capacity(with.len());
        for participant in with {
            parts.push(participant.prepare(&PrepareContext {
                engine: self,
                task,
                to: &target.to,
                scope: target.scope,
                known,
                present,
                target: there,
            })?);
        }
        self.begin(task, target, parts, marked)
    }

    /// Captures the present and marks it. Returns the head after the mark.
    fn capture_present(
        &self,
        task: &Task,
        target: &RestoreTarget<'_>,
        with: &[Arc<dyn Participant>],
    ) -> Result<Offset> {
        target.conditions.check_head(task.head()?)?;
        let mut bodies = Vec::new();
        for participant in with {
            bodies.extend(participant.capture(&CaptureContext {
                engine: self,
                task,
                before: Some(&target.to),
            })?);
        }
        let mark = Mark::new().cause(MarkCause::BeforeRestore);
        // The caller's key applies to the restore, not to this append.
        let conditions = target.conditions.without_key();
        match bodies.is_empty() {
            true => task.mark(mark.conditions(conditions)).map(|marked| marked.mark + 1),
            false => {
                let append = Append::batch(bodies).mark(mark).conditions(&conditions);
                task.append_uncaptured(&append).map(|committed| committed.appended.head.next)
            }
        }
    }

    /// Records the planned changes. Nothing outside of the log changes before this is durable. If
    /// the caller expects a head, nothing may have been appended after the mark.
    fn begin(
        &self,
        task: &Task,
        target: &RestoreTarget<'_>,
        parts: Vec<RestorePart>,
        marked: Offset,
    ) -> Result<PendingRestore> {
        let inner = &self.inner;
        let no = task.no();
        let _structure = inner.structure()?;
        let (epoch, active) = inner.catalog.active(no)?;
        // An undo reverts the activation that it found, and no later one.
        let is_moved = target.undoes.is_some_and(|(undone, ..)| undone != epoch);
        if is_moved || epoch != task.epoch() {
            let lineage = active.lineage;
            let message =
                format!("lineage {lineage} became active during the restore: take the task again");
            return Err(Error::new(ErrorKind::Conflict, message)
                .with_detail(Detail::Active { lineage, epoch }));
        }
        inner.catalog.goes_on(no)?;
        let begun = RestoreBegun {
            restore: RestoreId(inner.entropy.bytes16()),
            from: active.lineage,
            head: inner.catalog.head(LogId::lineage(no, active.lineage))?.next,
            lineage: target.to.lineage,
            offset: target.to.offset,
            checkpoint: target.to.checkpoint,
            scope: target.scope,
            undoes: target.undoes.map(|(epoch, ..)| epoch),
            parts,
        };
        let since_us = inner.now_us();
        let append = self.control_append(no, since_us, &[begun.clone().into()])?;
        let expects = target.conditions.expected().is_some();
        let head = expects.then_some((LogId::lineage(no, active.lineage), marked));
        inner.commit(Request::of(vec![append]).unless_grown(head.into_iter().collect()))?;
        Ok(PendingRestore { task: task.id().to_owned(), since_us, begun, no })
    }

    /// Applies each participant's plan and commits the end with the activation. Returns the
    /// activated lineage and its epoch.
    fn commit_restore(
        &self,
        task: &Task,
        target: &RestoreTarget<'_>,
        pending: &PendingRestore,
        with: &[Arc<dyn Participant>],
    ) -> Result<(LineageId, Epoch)> {
        let mut bodies = Vec::new();
        for participant in with {
            bodies.extend(participant.apply(self, pending)?);
        }
        let inner = &self.inner;
        let (no, begun) = (task.no(), &pending.begun);
        // The beginning has checked the expected head, and the mark has moved it since.
        let conditions = &target.conditions.without_head();
        let _structure = inner.structure()?;
        let (epoch, _) = inner.catalog.active(no)?;
        let ended =
            RestoreEnded { restore: begun.restore, outcome: RestoreOutcome::Done, reason: None };
        if let Some((_, lineage, back)) = target.undoes {
            let activated =
                Activated { lineage, epoch: epoch + 1, cause: ActivationCause::Undone, back };
            let appends = self.events_on(no, lineage, &bodies)?;
            self.commit_activation(no, activated, appends, (&[ended.into()], None), conditions)?;
            return Ok((lineage, epoch + 1));
        }
        let from = begun.head;
        let restored = Restored {
            from: begun.from,
            head: from,
            lineage: begun.lineage,
            offset: begun.offset,
            checkpoint: begun.checkpoint,
            scope: begun.scope,
        };
        let at = match target.scope {
            Scope::Files => task.point(from)?,
            _ => target.to.clone(),
        };
        let mut events = vec![Body::from(restored)];
        events.extend(bodies);
        let opened = (LineageType::Rollback, target.description, conditions.checked_key()?);
        let (lineage, appends) = self.fork(&at, opened, &events)?;
        let activated = Activated {
            lineage,
            epoch: epoch + 1,
            cause: ActivationCause::Restored,
            back: Some(epoch),
        };
        self.commit_activation(no, activated, appends, (&[ended.into()], None), conditions)?;
        Ok((lineage, epoch + 1))
    }

    /// Returns the events for captures after an undo, if the lineage does not name them already.
    fn events_on(&self, no: TaskNo, lineage: LineageId, bodies: &[Body]) -> Result<Vec<LogAppend>> {
        if bodies.is_empty() {
            return Ok(Vec::new());
        }
        let inner = &self.inner;
        let origin = inner.catalog.task(no)?.origin;
        let mut append = self.log_append(LogId::lineage(no, lineage), origin);
        for body in bodies {
            append.body(body, inner.now_us())?;
        }
        Ok(vec![append])
    }

    pub(super) fn abort(
        &self,
        pending: &PendingRestore,
        with: &[Arc<dyn Participant>],
        reason: &str,
    ) -> Result<()> {
        for part in pending.begun.parts.iter().rev() {
            let name = &part.participant;
            let found = with.iter().find(|there| there.name() == name);
            let participant = found.ok_or_else(|| {
                Error::new(
                    ErrorKind::Unavailable,
                    format!(
                        "restore {} needs participant {name} to be undone",
                        pending.begun.restore
                    ),
                )
            })?;
            participant.abort(self, pending)?;
        }
        self.end(pending, RestoreOutcome::Undone, reason)
    }

    pub(super) fn end(
        &self,
        pending: &PendingRestore,
        outcome: RestoreOutcome,
        reason: &str,
    ) -> Result<()> {
        let inner = &self.inner;
        let (no, restore) = (pending.no, pending.begun.restore);
        let _structure = inner.structure()?;
        let now = inner.catalog.pending(no)?;
        if now.is_none_or(|entry| entry.restore != restore) {
            return Err(Error::not_found(format!("restore {restore} is not pending")));
        }
        let ended = RestoreEnded { restore, outcome, reason: Some(reason.to_owned()) };
        inner.commit(self.control_append(no, inner.now_us(), &[ended.into()])?)?;
        Ok(())
    }

    fn control_append(&self, no: TaskNo, now: u64, events: &[Control]) -> Result<LogAppend> {
        let origin = self.inner.catalog.task(no)?.origin;
        let mut append = self.log_append(LogId::control(no), origin);
        for event in events {
            append.control(event, now)?;
        }
        Ok(append)
    }

    /// Returns the root of the workspace at a point: see [`Captures::at`](super::Captures::at).
    pub(crate) fn workspace_at(&self, point: &Point) -> Result<Option<Hash>> {
        match base::has_captures(&self.inner.catalog, point.no)? {
            true => Ok(self.run_state(point)?.workspace),
            // Without captures no state has to be folded.
            false => Ok(None),
        }
    }
}
