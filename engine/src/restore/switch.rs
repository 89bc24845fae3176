//! Switch to an existing lineage, and redo of the last undo: one activation in the control log.

use milepost_codec::{
    Activated, ActivationCause, Control, Error, ErrorKind, LineageId, Result, TaskNo,
};

use super::last_capture::FolderState;
use crate::commit::conditions;
use crate::conditions::Conditions;
use crate::handles::engine::Engine;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::history::address::{Address, AddressTarget};
use crate::history::catalog::Viewer;
use crate::history::point::Point;

impl Engine {
    pub(super) fn switch_for(
        &self,
        lineage: &Lineage,
        viewer: Viewer<'_>,
        conditions: &Conditions,
    ) -> Result<Task> {
        self.check_writable()?;
        let (no, id) = (lineage.task(), lineage.id());
        let name = lineage.task_id();
        let foreign = || Error::not_found(format!("there is no task `{name}` with this lineage"));
        if self.inner.catalog.task(no)?.origin != lineage.origin() {
            return Err(foreign());
        }
        if !viewer.sees_all() && self.inner.catalog.find_for(name, viewer)? != no {
            return Err(foreign());
        }
        if let Some(task) = self.chosen_already(no, Some(id), conditions)? {
            return Ok(task);
        }
        self.choose((no, name), viewer, (conditions, "switched", Some(id)), &|| Ok(id))
    }

    pub(super) fn redo_for(
        &self,
        task: &str,
        viewer: Viewer<'_>,
        conditions: &Conditions,
    ) -> Result<Task> {
        self.check_writable()?;
        let no = self.inner.catalog.find_for(task, viewer)?;
        if let Some(task) = self.chosen_already(no, None, conditions)? {
            return Ok(task);
        }
        let target = || self.redo_target(no, task);
        self.choose((no, task), viewer, (conditions, "redone", None), &target)
    }

    /// Returns the lineage that a redo makes active.
    pub(super) fn redo_target(&self, no: TaskNo, task: &str) -> Result<LineageId> {
        match self.inner.catalog.last_undone(no)? {
            Some((lineage, false)) => Ok(lineage),
            Some((lineage, true)) => {
                let (task_id, place) = (task.to_owned(), AddressTarget::Head);
                let address = Address::Task { task: task_id, lineage: Some(lineage), place };
                let text = format!(
                    "the undone restore of task `{task}` restored files too, and a redo leaves \
                     files as they are: `milepost rollback {address}` brings state and files there"
                );
                Err(Error::new(ErrorKind::Conflict, text))
            }
            None => Err(Error::invalid(format!("task `{task}`: there is no undo to take back"))),
        }
    }

    /// Makes a lineage active that `target` returns before and after the hooks are asked.
    fn choose(
        &self,
        (no, name): (TaskNo, &str),
        viewer: Viewer<'_>,
        (conditions, action, asked): (&Conditions, &'static str, Option<LineageId>),
        target: &dyn Fn() -> Result<LineageId>,
    ) -> Result<Task> {
        let inner = &self.inner;
        let hooks = &inner.options.hooks;
        loop {
            inner.catalog.goes_on(no)?;
            let lineage = target()?;
            let there = Lineage::new(self, no, lineage, None)?;
            let (epoch, active) = inner.catalog.active(no)?;
            if active.lineage == lineage {
                conditions.check_head(there.head()?)?;
                // Another lineage may have become active since: the answer is of this activation.
                let entry = inner.catalog.task(no)?;
                return Ok(Task::made(self, (no, &entry), lineage, epoch));
            }
            let point = there.point(there.head()?.next)?;
            hooks.ask("a restore", |hook| hook.before_restore(&point))?;
            let chosen = self.with_folder_state(&point, |folder| {
                let _structure = inner.structure()?;
                // Another caller with the same key may have come first.
                if let Some(task) = self.chosen_already(no, asked, conditions)? {
                    return Ok(Some((task, None)));
                }
                // The task may have been given away, or another restore may have come first.
                if !viewer.sees_all() && inner.catalog.find_for(name, viewer)? != no {
                    return Err(Error::not_found(format!("there is no task `{name}`")));
                }
                match target()? == lineage {
                    true => self.chosen(&point, folder, conditions),
                    false => Ok(None),
                }
            })?;
            let Some((task, left)) = chosen else { continue };
            if let Some(left) = left {
                self.tell_gone(action, &task, left);
                hooks.tell("a restore", |hook| hook.after_restore(&task));
            }
            return Ok(task);
        }
    }

    /// Commits the activation of a point's lineage. Returns the task and the lineage that it left;
    /// `None` if the lineage is active already.
    fn chosen(
        &self,
        point: &Point,
        folder: &FolderState,
        conditions: &Conditions,
    ) -> Result<Option<(Task, Option<LineageId>)>> {
        let (catalog, no, lineage) = (&self.inner.catalog, point.no, point.lineage);
        catalog.goes_on(no)?;
        let (back, active) = catalog.active(no)?;
        if active.lineage == lineage {
            return Ok(None);
        }
        catalog.lineage(no, lineage)?;
        let entry = catalog.task(no)?;
        let (epoch, cause, back) = (back + 1, ActivationCause::Chosen, Some(back));
        let activated = Activated { lineage, epoch, cause, back };
        let kept = folder.after_activation(epoch, point).map(Control::from);
        let more = (kept.as_slice(), Some(folder.seen));
        self.commit_activation(no, activated, Vec::new(), more, conditions)?;
        Ok(Some((Task::made(self, (no, &entry), lineage, epoch), Some(active.lineage))))
    }

    /// Returns the task on the lineage that an earlier call with the same key made active: a
    /// switch to this lineage, or a redo.
    fn chosen_already(
        &self,
        no: TaskNo,
        lineage: Option<LineageId>,
        conditions: &Conditions,
    ) -> Result<Option<Task>> {
        let Some(key) = conditions.checked_key()? else {
            return Ok(None);
        };
        let catalog = &self.inner.catalog;
        let Some(chosen) = catalog.activated_under(no, key, ActivationCause::Chosen)? else {
            return Ok(None);
        };
        let is_same = match lineage {
            Some(asked) => asked == chosen.lineage,
            None => catalog.takes_an_undo_back(no, chosen)?,
        };
        if !is_same {
            let used = format!("a switch to lineage {}", chosen.lineage);
            return Err(conditions::used_otherwise(key, used));
        }
        self.on_lineage(no, chosen.lineage).map(Some)
    }
}
