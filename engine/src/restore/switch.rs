//! Switch to an existing lineage, and redo of the last undo: one activation in the control log.

use milepost_codec::{
    Activated, ActivationCause, Control, Error, ErrorKind, LineageId, Result, TaskNo,
};

use super::last_capture::FolderState;
use crate::commit::conditions;
use crate::handles::engine::Engine;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::handles::view::View;
use crate::history::address::{Address, AddressTarget};
use crate::history::catalog::Viewer;
use crate::history::point::Point;

impl Engine {
    /// Switches a task to an existing lineage, which becomes the active one. No lineage is opened
    /// or changed, and files stay as they are: this is one small durable append. If the lineage is
    /// active already, nothing is appended. An [undo](Engine::undo) returns to the lineage before.
    ///
    /// ```
    /// use milepost::{Engine, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("essay", "ana")?;
    /// let other = engine.branch(&engine.point("essay@1")?, Some("shorter"))?;
    /// assert_eq!(engine.switch(&other)?.lineage().id(), other.id());
    /// engine.undo("essay").run()?;
    /// assert_eq!(engine.task("essay")?.lineage().id(), task.lineage().id());
    /// assert_eq!(engine.redo("essay")?.lineage().id(), other.id());
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - `Conflict`: the head of the active lineage is not the expected one, or the key was used
    ///   for something else.
    /// - `Invalid`: a hook refuses.
    /// - `NotFound`: the task was deleted, retention dropped the lineage, or it belongs to another
    ///   store.
    /// - `Unavailable`: a restore of the task is pending.
    pub fn switch(&self, lineage: &Lineage) -> Result<Task> {
        self.switch_for(lineage, Viewer::ALL)
    }

    /// Redoes the last undone restore or switch of a task: the lineage that the undo left becomes
    /// active again. A second call redoes the one before that. A restore, and a switch to another
    /// lineage, leave nothing to redo.
    ///
    /// # Errors
    ///
    /// As [`Engine::switch`], and:
    ///
    /// - `Conflict`: the undone restore also restored files.
    /// - `Invalid`: there is no undo to revert.
    pub fn redo(&self, task: &str) -> Result<Task> {
        self.redo_for(task, Viewer::ALL)
    }

    fn switch_for(&self, lineage: &Lineage, viewer: Viewer<'_>) -> Result<Task> {
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
        if let Some(task) = self.chosen_already(no, Some(id))? {
            return Ok(task);
        }
        self.choose((no, name), viewer, ("switched", Some(id)), &|| Ok(id))
    }

    fn redo_for(&self, task: &str, viewer: Viewer<'_>) -> Result<Task> {
        self.check_writable()?;
        let no = self.inner.catalog.find_for(task, viewer)?;
        if let Some(task) = self.chosen_already(no, None)? {
            return Ok(task);
        }
        self.choose((no, task), viewer, ("redone", None), &|| self.redo_target(no, task))
    }

    /// Returns the lineage that a redo makes active.
    fn redo_target(&self, no: TaskNo, task: &str) -> Result<LineageId> {
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
        (action, asked): (&'static str, Option<LineageId>),
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
                conditions::check_head(there.head()?)?;
                // Another lineage may have become active since: the answer is of this activation.
                let entry = inner.catalog.task(no)?;
                return Ok(Task::made(self, (no, &entry), lineage, epoch));
            }
            let point = there.point(there.head()?.next)?;
            hooks.ask("a restore", |hook| hook.before_restore(&point))?;
            let chosen = self.with_folder_state(&point, |folder| {
                let _structure = inner.structure()?;
                // Another caller with the same key may have come first.
                if let Some(task) = self.chosen_already(no, asked)? {
                    return Ok(Some((task, None)));
                }
                // The task may have been given away, or another restore may have come first.
                if !viewer.sees_all() && inner.catalog.find_for(name, viewer)? != no {
                    return Err(Error::not_found(format!("there is no task `{name}`")));
                }
                match target()? == lineage {
                    true => self.chosen(&point, folder),
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
        self.commit_activation(no, activated, Vec::new(), more)?;
        Ok(Some((Task::made(self, (no, &entry), lineage, epoch), Some(active.lineage))))
    }

    /// Returns the task on the lineage that an earlier call with the current key made active: a
    /// switch to this lineage, or a redo.
    fn chosen_already(&self, no: TaskNo, lineage: Option<LineageId>) -> Result<Option<Task>> {
        let Some(key) = conditions::key()? else {
            return Ok(None);
        };
        let catalog = &self.inner.catalog;
        let Some(chosen) = catalog.activated_under(no, &key, ActivationCause::Chosen)? else {
            return Ok(None);
        };
        let is_same = match lineage {
            Some(asked) => asked == chosen.lineage,
            None => catalog.takes_an_undo_back(no, chosen)?,
        };
        if !is_same {
            let used = format!("a switch to lineage {}", chosen.lineage);
            return Err(conditions::used_otherwise(&key, used));
        }
        self.on_lineage(no, chosen.lineage).map(Some)
    }
}

impl View {
    /// Switches a task to an existing lineage: see [`Engine::switch`].
    ///
    /// # Errors
    ///
    /// As [`Engine::switch`]. `NotFound`: the view does not show the task.
    pub fn switch(&self, lineage: &Lineage) -> Result<Task> {
        self.engine().switch_for(lineage, self.viewer())
    }

    /// Redoes the last undone restore or switch of a task: see [`Engine::redo`].
    ///
    /// # Errors
    ///
    /// As [`Engine::redo`]. `NotFound`: the view does not show the task.
    pub fn redo(&self, task: &str) -> Result<Task> {
        self.engine().redo_for(task, self.viewer())
    }
}
