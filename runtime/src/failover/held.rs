//! An append of a failover engine, which is held in memory if the store fails.

use milepost::ids::Epoch;
use milepost::{Append, Appended, Detail, Engine, Error, ErrorKind, Mark, Result, Task};

use super::reopener::is_of_the_store;

/// An append, the task that it is for, and the checkpoint after it.
#[derive(Debug, Clone)]
pub(crate) struct HeldAppend {
    pub(super) task: String,
    /// The activation that the append belongs to; `None` for the one at its commit.
    epoch: Option<Epoch>,
    /// The handle to append with, of an engine that is not opened again here.
    handle: Option<Task>,
    pub(super) append: Append,
    mark: Option<Mark>,
    pub(super) bytes: usize,
}

/// Result of a write that is held if the store fails.
#[derive(Debug)]
pub(crate) enum Written<T> {
    /// Durable in the log.
    Durable(T),
    /// Held in memory, with the number of held appends.
    Held(u64),
}

impl HeldAppend {
    /// An append to the active lineage of a task.
    pub(super) fn to(task: &str, append: Append) -> Self {
        Self { task: task.to_owned(), epoch: None, handle: None, append, mark: None, bytes: 0 }
    }

    /// An append to the lineage of a handle. It is refused if another one is active then.
    pub(crate) fn by(task: &Task, append: Append, mark: Option<Mark>) -> Self {
        Self { epoch: Some(task.epoch()), mark, ..Self::to(task.id(), append) }
    }

    /// Returns `true` if the append is for the lineage of a handle.
    pub(super) fn is_of(&self, task: &Task) -> bool {
        self.task == task.id() && self.epoch.is_none_or(|epoch| epoch == task.epoch())
    }

    /// Sets the handle to append with.
    pub(crate) fn with_handle(self, task: Task) -> Self {
        Self { handle: Some(task), ..self }
    }

    /// Returns the handle to append with.
    pub(super) fn task(&self, engine: &Engine) -> Result<Task> {
        if let Some(task) = &self.handle {
            return Ok(task.clone());
        }
        let task = engine.task(&self.task)?;
        let (epoch, lineage) = (task.epoch(), task.lineage().id());
        if self.epoch.is_some_and(|own| own != epoch) {
            let why = format!("lineage {lineage} was activated: the append was for an earlier one");
            let active = Detail::Active { lineage, epoch };
            return Err(Error::new(ErrorKind::Conflict, why).with_detail(active));
        }
        Ok(task)
    }

    pub(crate) fn append(&self, task: &Task) -> Result<Appended> {
        task.append(&self.append)
    }

    /// Appends with the checkpoint, and returns it, or the reason why only the events are
    /// committed: a failed capture is not a failure of the store.
    pub(crate) fn append_marked(
        &self,
        task: &Task,
        mark: &Mark,
    ) -> Result<Result<milepost::Checkpoint>> {
        match task.append_marked(self.append.clone(), mark.clone()) {
            Err(error) if is_of_the_store(&error) => match self.append(task) {
                Ok(_) => Ok(Err(error)),
                Err(_) => Err(error),
            },
            saved => saved.map(Ok),
        }
    }

    /// Commits a held append. If its checkpoint is refused, such as by a hook, the events are
    /// committed without it.
    pub(super) fn commit(&self, engine: &Engine) -> Result<()> {
        let task = self.task(engine)?;
        let Some(mark) = &self.mark else {
            return self.append(&task).map(|_| ());
        };
        let Err(error) = task.append(self.append.clone().mark(mark.clone())) else {
            return Ok(());
        };
        if error.kind() == ErrorKind::Conflict {
            return Err(error);
        }
        // A failed capture is not a failure of the store: then the events alone are committed.
        self.append(&task)?;
        task.save_failed(&error, None);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use milepost::events::Message;
    use milepost::{Hook, Options};

    use super::*;

    struct Refusing;

    impl Hook for Refusing {
        fn name(&self) -> &str {
            "refusing"
        }

        fn before_checkpoint(&self, _: &Task, _: &Mark) -> Result<(), String> {
            Err("no more checkpoints".into())
        }
    }

    #[test]
    fn an_append_held_before_a_restore_is_refused_after_it() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("tuning", "ana").unwrap();
        let said = Append::from(Message::text("user", "hello"));
        let held = HeldAppend::by(&task, said.clone(), None);
        held.commit(&engine).unwrap();
        engine.restore(&engine.point("tuning@0").unwrap()).run().unwrap();
        let error = held.commit(&engine).unwrap_err();
        assert!(matches!(error.detail(), Some(Detail::Active { .. })), "{error}");
        HeldAppend::to("tuning", said).commit(&engine).unwrap();
    }

    #[test]
    fn a_held_append_whose_checkpoint_is_refused_is_committed_without_it() {
        let engine = Engine::in_memory(Options::default().hook(Arc::new(Refusing))).unwrap();
        let task = engine.start_task("tuning", "ana").unwrap();
        let said = Append::from(Message::text("user", "hello")).key("once");
        HeldAppend::by(&task, said, Some(Mark::new())).commit(&engine).unwrap();
        assert_eq!((task.head().unwrap().next, task.checkpoints().unwrap()), (2, 0));
    }
}
