//! Versions of tasks, by which a program that keeps summaries knows which of them have changed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use milepost_codec::{ErrorKind, Result, TaskNo};
use milepost_store::index::TaskEntry;
use milepost_store::index::keys::{self, KeyKind};

use super::Query;
use crate::history::summary::TaskSummary;

/// A task, and a number that changes with each commit to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskVersion {
    /// The task's number in the store.
    pub no: TaskNo,
    /// The task's id.
    pub id: String,
    /// The owner.
    pub user: String,
    /// The hash of the heads of all logs of the task: of its lineages and of its control log.
    pub version: u64,
}

impl Query<'_> {
    /// Returns the version of each task, in the order they were started. Reads no event.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn task_versions(&self) -> Result<Vec<TaskVersion>> {
        let log = self.view.inner.catalog.log();
        let mut hashers: HashMap<TaskNo, DefaultHasher> = HashMap::new();
        log.walk(&keys::all(KeyKind::Head), &mut |key, value| {
            let hasher = hashers.entry(keys::log_of(key).task).or_default();
            (key, value).hash(hasher);
            Ok(())
        })?;
        let mut found = Vec::with_capacity(hashers.len());
        log.walk(&keys::all(KeyKind::Task), &mut |key, value| {
            let entry = TaskEntry::decode(value)?;
            if entry.deleted_us.is_none() && self.view.viewer().sees(&entry) {
                let no = TaskNo(keys::first_u64(key));
                let version = hashers.get(&no).map_or(0, DefaultHasher::finish);
                found.push(TaskVersion { no, id: entry.name, user: entry.user, version });
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the summary of the task with a number; `None` if the task was deleted. If its events
    /// cannot be read, it has the error.
    ///
    /// # Errors
    ///
    /// As [`Query::summaries`].
    pub fn summary_of(&self, task: TaskNo) -> Result<Option<TaskSummary>> {
        let catalog = &self.view.inner.catalog;
        let entry = match catalog.task(task) {
            Ok(entry) if self.view.viewer().sees(&entry) => entry,
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let info = match catalog.task_info(task, entry) {
            Ok(info) => info,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        self.summary_or_reason(info)
    }
}
