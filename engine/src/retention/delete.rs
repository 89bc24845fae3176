//! Deletion of tasks.

use milepost_codec::{Deleted, LineageId, LogId, Result};

use super::plan::each_task;
use super::{Retention, ViewRetention};
use crate::handles::audit;

impl ViewRetention<'_> {
    /// Deletes a task: it no longer exists for any call, and its name is free. A tombstone without
    /// the name stays. The next compaction removes its bytes from the disk.
    ///
    /// # Errors
    ///
    /// - `NotFound`: the task does not exist.
    /// - `Unavailable`: a restore of it is pending.
    pub fn delete_task(&self, id: &str) -> Result<()> {
        let inner = &self.view.inner;
        let structure = inner.structure()?;
        let task = inner.catalog.find_for(id, self.view.viewer())?;
        let entry = inner.catalog.task(task)?;
        inner.catalog.goes_on(task)?;
        let mut append = self.view.log_append(LogId::STORE, inner.store);
        let deleted = Deleted { task, opened: entry.opened, origin: entry.origin };
        append.control(&deleted.into(), inner.now_us())?;
        // Reported while the name is still known.
        audit::AuditEvent::of("task_deleted", task, LineageId(0)).tell(self.view);
        inner.commit(append)?;
        drop(structure);
        inner.withdraw(task);
        inner.workspaces.forget(&entry.name);
        Ok(())
    }
}

impl Retention<'_> {
    /// Deletes all tasks of a user and returns their number. `progress` gets the number of
    /// processed tasks and the total.
    ///
    /// # Errors
    ///
    /// Deleted tasks stay deleted after these:
    ///
    /// - `Unavailable`: the store is closed.
    /// - `Poisoned`: a write failed.
    pub fn delete_user(&self, user: &str, progress: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        let mut names = Vec::new();
        each_task(&self.engine.inner.catalog, &mut |_, entry| {
            if entry.deleted_us.is_none() && entry.user == user {
                names.push(entry.name.clone());
            }
        })?;
        let all = names.len() as u64;
        let mut count = 0;
        for (done, name) in (1..).zip(&names) {
            match self.delete_task(name) {
                // Another caller deleted the task.
                Err(e) if e.kind() == milepost_codec::ErrorKind::NotFound => {}
                other => {
                    other?;
                    count += 1;
                }
            }
            progress(done, all);
        }
        Ok(count)
    }
}
