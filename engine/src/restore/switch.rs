//! Switch to an existing lineage, and redo of the last undo: one activation in the control log.

use milepost_codec::{Activated, ActivationCause, Error, ErrorKind, LineageId, Result, TaskNo};

use crate::commit::conditions;
use crate::handles::engine::Engine;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::handles::view::View;
use crate::history::address::{Address, AddressTarget};
use crate::history::catalog::Viewer;

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
    /// - `NotFound`: the task was deleted, retention dropped the lineage, or it is of another
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
    /// - `Invalid`: there is no undo to take back.
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
            if inner.catalog.active(no)?.1.lineage == lineage {
                return Task::of(self, no);
            }
            let point = there.point(there.head()?.next)?;
            hooks.ask("a restore", |hook| hook.before_restore(&point))?;
            let structure = inner.structure()?;
            // Another caller with the same key may have come first.
            if let Some(task) = self.chosen_already(no, asked)? {
                return Ok(task);
            }
            // The task may have been given away, or another restore may have come first.
            if !viewer.sees_all() && inner.catalog.find_for(name, viewer)? != no {
                return Err(Error::not_found(format!("there is no task `{name}`")));
            }
            inner.catalog.goes_on(no)?;
            let (epoch, active) = inner.catalog.active(no)?;
            if target()? != lineage || active.lineage == lineage {
                continue;
            }
            inner.catalog.lineage(no, lineage)?;
            let entry = inner.catalog.task(no)?;
            let (cause, back) = (ActivationCause::Chosen, Some(epoch));
            let activated = Activated { lineage, epoch: epoch + 1, cause, back };
            self.commit_activation(no, activated, Vec::new(), None)?;
            let task = Task::made(self, (no, &entry), lineage, epoch + 1);
            drop(structure);
            self.tell_gone(action, &task, active.lineage);
            hooks.tell("a restore", |hook| hook.after_restore(&task));
            return Ok(task);
        }
    }

    /// Returns the task on the lineage that an earlier call with the current key made active.
    fn chosen_already(&self, no: TaskNo, lineage: Option<LineageId>) -> Result<Option<Task>> {
        let Some(key) = conditions::key()? else {
            return Ok(None);
        };
        let chosen = self.inner.catalog.activated_under(no, &key, ActivationCause::Chosen)?;
        if let (Some(chosen), Some(asked)) = (chosen, lineage)
            && chosen != asked
        {
            let used = format!("a switch to lineage {chosen}");
            return Err(conditions::used_otherwise(&key, used));
        }
        chosen.map(|lineage| self.on_lineage(no, lineage)).transpose()
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
