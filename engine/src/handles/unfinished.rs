//! Deletion of tasks whose import was interrupted.

// tidy: one operation
use milepost_codec::{Deleted, ErrorKind, LogId, Offset, Origin, Result, TaskNo};
use milepost_store::index::TaskEntry;
use milepost_store::index::keys::{self, KeyKind};

use crate::handles::engine::Engine;

impl Engine {
    /// Deletes the tasks of interrupted imports.
    pub(crate) fn delete_imports(&self) -> Result<()> {
        let mut left = Vec::new();
        self.inner.catalog.log().walk(&keys::all(KeyKind::Prepared), &mut |key, _| {
            left.push(TaskNo(keys::first_u64(key)));
            Ok(())
        })?;
        for no in left {
            let TaskEntry { opened, origin, .. } = self.inner.catalog.task_ever(no)?;
            match self.delete_import(no, opened, origin) {
                // The disk is full. The task is not visible, and the next open tries again.
                Err(error) if error.kind() == ErrorKind::Unavailable => {}
                deleted => deleted?,
            }
        }
        Ok(())
    }

    /// Deletes a task that is not visible yet.
    pub(crate) fn delete_import(&self, task: TaskNo, opened: Offset, origin: Origin) -> Result<()> {
        let mut append = self.log_append(LogId::STORE, self.inner.store);
        let deleted = Deleted { task, opened, origin };
        append.control(&deleted.into(), self.inner.now_us())?;
        self.inner.commit(append)?;
        self.inner.withdraw(task);
        Ok(())
    }
}
