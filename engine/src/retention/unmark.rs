//! Removal of single checkpoints on request.

use std::collections::BTreeMap;

use milepost_codec::{CheckpointId, Error, ErrorKind, Json, RemovedMark, Result, TaskNo};

use super::ViewRetention;
use super::apply::MARKS_EACH;
use crate::history::checkpoint::Checkpoint;
use crate::history::lists::CheckpointQuery;

impl ViewRetention<'_> {
    /// Removes checkpoints, and the data attached to them alone. Their events stay until a cleanup
    /// finds them unneeded.
    ///
    /// # Errors
    ///
    /// In both cases no checkpoint is removed:
    ///
    /// - `NotFound`: a checkpoint does not exist.
    /// - `Conflict`: a checkpoint is pinned.
    pub fn unmark(&self, checkpoints: &[CheckpointId]) -> Result<()> {
        let inner = &self.view.inner;
        let _structure = inner.structure()?;
        let mut by_task: BTreeMap<TaskNo, Vec<RemovedMark>> = BTreeMap::new();
        for id in checkpoints {
            let found = inner.catalog.checkpoint_named(&id.to_string(), self.view.viewer())?;
            let task = inner.catalog.find_for(&found.task, self.view.viewer())?;
            if inner.catalog.is_pinned(task, id)? {
                return Err(Error::new(ErrorKind::Conflict, format!("checkpoint {id} is pinned")));
            }
            by_task.entry(task).or_default().push(RemovedMark {
                lineage: found.lineage,
                offset: found.mark,
                checkpoint: *id,
            });
        }
        let policy = Json::new(r#"{"asked_for":true}"#)?;
        for (task, marks) in by_task {
            for marks in marks.chunks(MARKS_EACH) {
                self.remove(task, &policy, marks)?;
            }
            self.tell("checkpoints_removed", task, (None, marks.len() as u64));
        }
        Ok(())
    }

    /// Removes all checkpoints that a query finds, except pinned ones, such as the checkpoints of
    /// one run by its metadata. Returns their number. The query's page is ignored.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::query::CheckpointQuery;
    /// use milepost::{Engine, Json, Mark, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("thread", "ana")?;
    /// for run in ["r-1", "r-1", "r-2"] {
    ///     task.append(Message::text("user", "hello"))?;
    ///     let metadata = Json::from_value(&serde_json::json!({ "run": run }))?;
    ///     task.checkpoint(Mark::new().metadata(metadata))?;
    /// }
    /// let of_run = CheckpointQuery {
    ///     task: Some("thread".into()),
    ///     filter: vec![("run".into(), "r-1".into())],
    ///     ..CheckpointQuery::default()
    /// };
    /// assert_eq!(engine.retention().unmark_all(&of_run)?, 2);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Query::checkpoints`](crate::query::Query::checkpoints) and [`ViewRetention::unmark`].
    pub fn unmark_all(&self, query: &CheckpointQuery) -> Result<u64> {
        let found = self.unpinned(query)?;
        let ids: Vec<CheckpointId> = found.iter().map(|(_, found)| found.id).collect();
        self.unmark(&ids)?;
        Ok(ids.len() as u64)
    }

    /// Returns the checkpoints that a query finds and that are not pinned, each with its task.
    pub(super) fn unpinned(&self, query: &CheckpointQuery) -> Result<Vec<(TaskNo, Checkpoint)>> {
        let mut query = CheckpointQuery { limit: Some(MARKS_EACH), cursor: None, ..query.clone() };
        let mut found = Vec::new();
        loop {
            let page = self.view.inner.catalog.checkpoints(&query, self.view.viewer())?;
            for checkpoint in page.items {
                let task = self.view.task_no(&checkpoint.task)?;
                if !self.view.inner.catalog.is_pinned(task, &checkpoint.id)? {
                    found.push((task, checkpoint));
                }
            }
            query.cursor = page.next;
            if query.cursor.is_none() {
                return Ok(found);
            }
        }
    }
}
