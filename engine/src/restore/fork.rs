//! Restore and undo. No event is overwritten, so each can be undone.

use milepost_codec::{
    Activated, ActivationCause, Body, Control, Epoch, Error, ErrorKind, Hash, Head, LineageId,
    LineageOpened, LineageType, LogId, Offset, Origin, Parent, Restored, Result, Scope, Seq,
    TEXT_MAX, TaskNo, check_size,
};
use milepost_store::index::{MarkEntry, keys};

use crate::commit::committer::{LogAppend, Request};
use crate::conditions::Conditions;
use crate::handles::audit::{self, AuditEvent};
use crate::handles::engine::{Engine, registered};
use crate::handles::inner::Inner;
use crate::handles::lineage::Lineage;
use crate::handles::run_control;
use crate::handles::task::Task;
use crate::history::catalog::Viewer;
use crate::history::checkpoint::Mark;
use crate::history::events::Ancestry;
use crate::history::point::Point;

use super::last_capture::FolderState;

impl Engine {
    /// Restores the state of a point, without participants.
    pub(super) fn restore_state(
        &self,
        point: &Point,
        description: Option<&str>,
        conditions: &Conditions,
    ) -> Result<Task> {
        self.check_writable()?;
        let inner = &self.inner;
        if let Some(task) = self.restored_already(point, Scope::State, conditions)? {
            return Ok(task);
        }
        let hooks = &inner.options.hooks;
        hooks.ask("a restore", |hook| hook.before_restore(point))?;
        let (task, from) = self.with_folder_state(point, |folder| {
            self.restored(point, description, conditions, folder)
        })?;
        let Some(from) = from else {
            return Ok(task);
        };
        inner.meters.restores.add(1);
        self.tell_gone("restored", &task, from);
        hooks.tell("a restore", |hook| hook.after_restore(&task));
        Ok(task)
    }

    /// Commits the restore of a state. Returns the task and the lineage that it left; `None` if
    /// another caller with the same key was first.
    fn restored(
        &self,
        point: &Point,
        description: Option<&str>,
        conditions: &Conditions,
        folder: &FolderState,
    ) -> Result<(Task, Option<LineageId>)> {
        let inner = &self.inner;
        // Read before the lock, like all that is not small.
        let carried = self.carried(folder)?;
        let _structure = inner.structure()?;
        if let Some(task) = self.restored_already(point, Scope::State, conditions)? {
            return Ok((task, None));
        }
        inner.catalog.goes_on(point.no)?;
        // Nothing is read after the commit, so that a read error cannot hide a completed restore.
        let entry = inner.catalog.task(point.no)?;
        let (epoch, active) = inner.catalog.active(point.no)?;
        let from = inner.catalog.head(LogId::lineage(point.no, active.lineage))?;
        let restored = Restored {
            from: active.lineage,
            head: from.next,
            lineage: point.lineage,
            offset: point.offset,
            checkpoint: point.checkpoint,
            scope: Scope::State,
        };
        let mut events = vec![Body::from(restored)];
        events.extend(carried);
        let opened = (LineageType::Restore, description, conditions.checked_key()?);
        let (lineage, appends) = self.fork(point, opened, &events)?;
        let activated = Activated {
            lineage,
            epoch: epoch + 1,
            cause: ActivationCause::Restored,
            back: Some(epoch),
        };
        let more = (&[][..], Some(folder.seen));
        self.commit_activation(point.no, activated, appends, more, conditions)?;
        let task = Task::made(self, (point.no, &entry), lineage, epoch + 1);
        Ok((task, Some(active.lineage)))
    }

    /// Returns the task on the lineage that an earlier restore with the same key opened.
    pub(super) fn restored_already(
        &self,
        point: &Point,
        scope: Scope,
        conditions: &Conditions,
    ) -> Result<Option<Task>> {
        let catalog = &self.inner.catalog;
        let Some(key) = conditions.checked_key()? else {
            return Ok(None);
        };
        let opened = catalog.restored_under(key, point, scope)?;
        opened.map(|lineage| self.on_lineage(point.no, lineage)).transpose()
    }

    /// Returns the task on a lineage, which need not be the active one any more.
    pub(super) fn on_lineage(&self, task: TaskNo, lineage: LineageId) -> Result<Task> {
        match Task::of(self, task)? {
            now if now.lineage().id() == lineage => Ok(now),
            _ => Lineage::new(self, task, lineage, None)?.as_task(),
        }
    }

    /// Undoes a restore if `viewer` owns the task. With `files` the participants that joined the
    /// task take part.
    pub(super) fn undo_joined(
        &self,
        (task, viewer): (&str, Viewer<'_>),
        files: bool,
        conditions: &Conditions,
    ) -> Result<Task> {
        let inner = &self.inner;
        let hooks = &inner.options.hooks;
        self.check_writable()?;
        loop {
            let no = inner.catalog.find_for(task, viewer)?;
            if let Some(task) = self.undone_already(no, conditions)? {
                return Ok(task);
            }
            inner.catalog.goes_on(no)?;
            let (epoch, _) = inner.catalog.active(no)?;
            if inner.catalog.undo_takes_files(no)? {
                let joined = self.joined(no);
                if files && !joined.is_empty() {
                    return self.undo_with((no, task), viewer, (&joined, conditions));
                }
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    format!(
                        "the last restore of task `{task}` brought files back too: undo it with \
                         its workspace (`Restore::with`), or restore the state only"
                    ),
                ));
            }
            let target = self.undo_point(task, viewer)?;
            hooks.ask("a restore", |hook| hook.before_restore(&target))?;
            // After another restore the hooks are asked about the new target.
            let undone = self.with_folder_state(&target, |folder| {
                self.undo_state((no, task), viewer, (epoch, &target, folder), conditions)
            })?;
            if let Some(task) = undone {
                hooks.tell("a restore", |hook| hook.after_restore(&task));
                return Ok(task);
            }
        }
    }

    /// Undoes a restore without participants: activates the lineage of `target`, unless the task
    /// has left the epoch. The owner is checked under the structure lock.
    fn undo_state(
        &self,
        (no, task): (TaskNo, &str),
        viewer: Viewer<'_>,
        (epoch, target, folder): (Epoch, &Point, &FolderState),
        conditions: &Conditions,
    ) -> Result<Option<Task>> {
        let inner = &self.inner;
        let structure = inner.structure()?;
        if inner.catalog.find_for(task, viewer)? != no {
            return Ok(None);
        }
        if let Some(task) = self.undone_already(no, conditions)? {
            return Ok(Some(task));
        }
        inner.catalog.goes_on(no)?;
        let (now, active) = inner.catalog.active(no)?;
        if now != epoch {
            return Ok(None);
        }
        let back = active.back.ok_or_else(|| nothing_to_undo(task))?;
        let before = inner.catalog.activation(no, back)?;
        inner.catalog.lineage(no, before.lineage)?;
        let entry = inner.catalog.task(no)?;
        let activated = Activated {
            lineage: before.lineage,
            epoch: epoch + 1,
            cause: ActivationCause::Undone,
            back: before.back,
        };
        let kept = folder.after_activation(epoch + 1, target).map(Control::from);
        let more = (kept.as_slice(), Some(folder.seen));
        self.commit_activation(no, activated, Vec::new(), more, conditions)?;
        let task = Task::made(self, (no, &entry), before.lineage, epoch + 1);
        drop(structure);
        self.tell_gone("undone", &task, active.lineage);
        Ok(Some(task))
    }

    /// Returns the task on the lineage that an earlier undo with the same key activated.
    pub(super) fn undone_already(
        &self,
        no: TaskNo,
        conditions: &Conditions,
    ) -> Result<Option<Task>> {
        let Some(key) = conditions.checked_key()? else {
            return Ok(None);
        };
        let undone = self.inner.catalog.activated_under(no, key, ActivationCause::Undone)?;
        undone.map(|to| self.on_lineage(no, to.lineage)).transpose()
    }

    /// Returns the head of the lineage that was active before the last restore of a task.
    pub(super) fn undo_point(&self, task: &str, viewer: Viewer<'_>) -> Result<Point> {
        let no = self.inner.catalog.find_for(task, viewer)?;
        let (_, active) = self.inner.catalog.active(no)?;
        let back = active.back.ok_or_else(|| nothing_to_undo(task))?;
        let before = self.inner.catalog.activation(no, back)?;
        let lineage = Lineage::new(self, no, before.lineage, None)?;
        lineage.point(lineage.head()?.next)
    }

    /// Reports to the audit that a task has left this lineage.
    pub(crate) fn tell_gone(&self, action: &'static str, task: &Task, before: LineageId) {
        let inner = &self.inner;
        let before = || run_control::status(inner, task.no(), before).ok();
        let before = audit::is_heard().then(before).flatten();
        let done = AuditEvent {
            before: before.as_ref().map(|status| status.control),
            phase_before: before.as_ref().map(|status| status.phase.as_deref().unwrap_or("")),
            ..AuditEvent::of(action, task.no(), task.lineage().id())
        };
        done.tell(self);
    }

    /// Returns the place at which a lineage forks for a point.
    pub(super) fn fork_of(&self, point: &Point) -> Result<Parent> {
        let inner = &self.inner;
        let origin = inner.catalog.task(point.no)?.origin;
        let head = inner.catalog.head(LogId::lineage(point.no, point.lineage))?;
        if point.offset > head.next {
            let (offset, head) = (point.offset, head.next);
            return Err(Error::invalid(format!("offset {offset} is past the head, {head}")));
        }
        inner.catalog.lineage(point.no, point.lineage)?;
        let ancestry = Ancestry::of(&inner.catalog, point.no, point.lineage)?;
        ancestry.check(point.offset)?;
        let offset = inner.fork_offset(point, &ancestry)?;
        // A fork before a lineage's first own event is a fork of its parent.
        let lineage = ancestry.hash_owner(offset).unwrap_or(point.lineage);
        let log = LogId::lineage(point.no, lineage);
        let hash = crate::history::chain_hash::hash_at(&inner.catalog, origin, log, offset)?;
        Ok(Parent { lineage, offset, hash })
    }

    /// Returns the appends that open a lineage at a point, with these events after the opening one.
    /// The lineage has a type, a description, and the key of the operation that opens it.
    pub(crate) fn fork(
        &self,
        point: &Point,
        (lineage_type, description, key): (LineageType, Option<&str>, Option<&str>),
        behind: &[Body],
    ) -> Result<(LineageId, Vec<LogAppend>)> {
        let inner = &self.inner;
        check_size("a description", description.map_or(0, str::len), TEXT_MAX)?;
        let origin = inner.catalog.task(point.no)?.origin;
        let parent = self.fork_of(point)?;
        let Parent { lineage: owner, offset, hash } = parent;
        let lineage = inner.catalog.next_lineage(point.no)?;
        let now = inner.now_us();
        let opened = LineageOpened {
            lineage_type,
            description: description.map(str::to_owned),
            parent: Some(parent),
            initial: None,
            copied_from: None,
        };
        let mut control = self.log_append(LogId::control(point.no), origin);
        control.control(&registered(lineage, &opened), now)?;
        let at = Head { next: offset, hash };
        let events = self.log_append(LogId::lineage(point.no, lineage), origin);
        let mut events = events.open(at).parent(owner).operation_key(key);
        events.body(&Body::from(opened), now)?;
        for body in behind {
            events.body(body, now)?;
        }
        if let Some(mark) = inner.left_behind(point, offset, hash)? {
            events = events.mark(mark.draft(self.context(), Some(at), now)?);
        }
        Ok((lineage, vec![control, events]))
    }

    /// Commits an activation, with the appends that open its lineage if it is new, and with control
    /// events after it. `unless_after`: fails if a later commit than this one has a capture or an
    /// activation of the task.
    pub(crate) fn commit_activation(
        &self,
        task: TaskNo,
        activated: Activated,
        mut appends: Vec<LogAppend>,
        (more, unless_after): (&[Control], Option<Seq>),
        conditions: &Conditions,
    ) -> Result<()> {
        let inner = &self.inner;
        let origin: Origin = inner.catalog.task(task)?.origin;
        let control = self.log_append(LogId::control(task), origin);
        let mut control = control.operation_key(conditions.checked_key()?);
        control.control(&Control::from(activated), inner.now_us())?;
        let before = inner.catalog.active(task)?.1.lineage;
        let heads = conditions.heads(task, before);
        for event in more {
            control.control(event, inner.now_us())?;
        }
        // In the control log the lineage must be registered before it is activated.
        appends.push(control);
        let request = Request::of(appends).unless_grown(heads);
        let done = inner.commit(match unless_after {
            Some(seen) => request.unless_overtaken(task, seen),
            None => request,
        });
        inner.controls.wake(task);
        done.map(|_| ())
    }
}

fn nothing_to_undo(task: &str) -> Error {
    Error::invalid(format!("task `{task}` has no restore to undo"))
}

impl Inner {
    /// Returns the offset of a fork for a point: the point, or right after a checkpoint's mark at
    /// that point. So the new lineage includes the restored checkpoint. Its mark does not change
    /// the state.
    fn fork_offset(&self, point: &Point, ancestry: &Ancestry) -> Result<Offset> {
        let (Some(id), Some(owner)) = (point.checkpoint, ancestry.owner(point.offset)) else {
            return Ok(point.offset);
        };
        let entry = self.catalog.log().get(&keys::mark(point.no, owner, point.offset))?;
        let stands_there = match entry {
            Some(entry) => MarkEntry::decode(&entry)?.id == id,
            None => false,
        };
        Ok(point.offset + u64::from(stands_there))
    }

    /// Returns the mark for a new lineage that restores a checkpoint whose own mark is at a later
    /// offset, and so not in the lineage: a copy, with the original as its parent. So the restored
    /// checkpoint is found in the lineage by its label and as the last one.
    fn left_behind(&self, point: &Point, offset: Offset, hash: Hash) -> Result<Option<Mark>> {
        let Some(id) = point.checkpoint else {
            return Ok(None);
        };
        let checkpoint = self.catalog.checkpoint_named(&id.to_string(), Viewer::ALL)?;
        if offset != point.offset || checkpoint.mark < offset || checkpoint.hash != hash {
            return Ok(None);
        }
        Ok(Some(checkpoint.again()))
    }
}
