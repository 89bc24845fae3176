//! Tasks that are deleted.

use milepost_codec::{Deleted, LineageId, LogId, Result};

use super::plan::each_task;
use crate::commit::committer::Request;
use crate::handles::audit;
use crate::handles::engine::Engine;
use crate::history::catalog::Viewer;

impl Engine {
    /// Deletes a task: from now on it answers like one that was never there, and another may have
    /// its name. A tombstone without the name stays. Its bytes leave the disk at the next
    /// compaction.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such task; `Unavailable` where a restore of it has not ended.
    pub fn delete_task(&self, id: &str) -> Result<()> {
        self.delete_task_for(id, None)
    }

    /// The same of a task that somebody may see: whose it is, is looked at while nobody starts or
    /// deletes one.
    pub(crate) fn delete_task_for(&self, id: &str, viewer: Viewer<'_>) -> Result<()> {
        let inner = &self.inner;
        let structure = inner.structure()?;
        let task = inner.catalog.find_for(id, viewer)?;
        let entry = inner.catalog.task(task)?;
        inner.catalog.goes_on(task)?;
        let mut part = inner.part(LogId::STORE, inner.store);
        let deleted = Deleted { task, opened: entry.opened, origin: entry.origin };
        part.control(&deleted.into(), inner.now_us())?;
        // While its name is known still.
        audit::AuditEvent::of("task_deleted", task, LineageId(0)).tell(inner);
        inner.commit(Request::one(part.finish()).deleting(task))?;
        drop(structure);
        inner.withdraw(task);
        Ok(())
    }

    /// Deletes all tasks of a user; gives how many. `progress` is told how many are done, and of
    /// how many.
    ///
    /// # Errors
    ///
    /// `Unavailable` where the store is closed; `Poisoned` where a write failed. Those that are
    /// done stay done.
    pub fn delete_user(&self, user: &str, progress: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        let mut names = Vec::new();
        each_task(&self.inner.catalog, &mut |_, entry| {
            if entry.deleted_us.is_none() && entry.user == user {
                names.push(entry.name.clone());
            }
        })?;
        let all = names.len() as u64;
        let mut count = 0;
        for (done, name) in (1..).zip(&names) {
            match self.delete_task(name) {
                // Somebody else deleted it.
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
