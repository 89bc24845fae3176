//! Integrity of single checkpoints.

use milepost_codec::{Body, ErrorKind, Head, Result, TaskNo, checkpoint_id};

use crate::handles::proof::Integrity;
use crate::history::catalog::Viewer;
use crate::history::chain_hash::Hashes;
use crate::history::checkpoint::Checkpoint;
use crate::history::point::Point;

impl Integrity<'_> {
    /// Checks a checkpoint: reads the event of its mark again, computes the id from it, and
    /// compares the chain hash at the marked point with the one in the id. Returns `false` if they
    /// differ.
    ///
    /// ```
    /// use milepost::{Engine, Mark, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let checkpoint = engine.start_task("essay", "ana")?.checkpoint(Mark::new())?;
    /// assert!(engine.integrity().check(&checkpoint)?);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `NotFound`: the task or the mark's event was removed. `Invalid`: the mark is past the head.
    /// `Unavailable`: the store is closed, or the disk fails.
    pub fn check(&self, checkpoint: &Checkpoint) -> Result<bool> {
        self.look_at(checkpoint, &mut Hashes::of(&self.engine.inner.catalog))
    }

    /// Checks several checkpoints; a missing one counts as not whole. For the checkpoints of a
    /// page, newest first, this is faster than one by one: the chain is computed once.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed, or the disk fails.
    pub fn check_all(&self, checkpoints: &[Checkpoint]) -> Result<Vec<bool>> {
        let mut hashes = Hashes::of(&self.engine.inner.catalog);
        let looked = checkpoints.iter().map(|of| self.look_at(of, &mut hashes));
        let gone = |kind| matches!(kind, ErrorKind::NotFound | ErrorKind::Invalid);
        let or_gone = |looked| match looked {
            Err(error) if gone(milepost_codec::Error::kind(&error)) => Ok(false),
            looked => looked,
        };
        looked.map(or_gone).collect()
    }

    fn look_at(&self, checkpoint: &Checkpoint, hashes: &mut Hashes<'_>) -> Result<bool> {
        let no = self.engine.inner.catalog.find_for(&checkpoint.task, Viewer::ALL)?;
        match self.is_made_again(no, checkpoint, hashes) {
            Err(e) if e.kind() == ErrorKind::Corrupt => {
                tracing::warn!(
                    "checkpoint {} of {} is damaged: {e}",
                    checkpoint.id,
                    checkpoint.task
                );
                Ok(false)
            }
            made => made,
        }
    }

    fn is_made_again(
        &self,
        no: TaskNo,
        checkpoint: &Checkpoint,
        hashes: &mut Hashes<'_>,
    ) -> Result<bool> {
        let (catalog, lineage) = (&self.engine.inner.catalog, checkpoint.lineage);
        let event = self.engine.event_alone(&Point {
            task: checkpoint.task.clone(),
            no,
            lineage,
            offset: checkpoint.mark,
            checkpoint: None,
        })?;
        let Some(Body::CheckpointMarked(mark)) = &event.body else {
            return Ok(false);
        };
        let mut head = |next| -> Result<Head> {
            catalog.readable((no, lineage, next))?;
            let hash = hashes.of_lineage(no, lineage, next)?;
            Ok(Head { next, hash })
        };
        let marked = head(checkpoint.mark)?;
        let (at, found) = match mark.at {
            Some(at) => (at, head(at.next)?),
            None => (marked, marked),
        };
        let (origin, time_us) = (catalog.task(no)?.origin, event.header.time_us);
        let id = checkpoint_id(origin, lineage, marked, time_us, mark);
        let same = at.next == checkpoint.at && at.hash == checkpoint.hash;
        Ok(same && id == checkpoint.id && found.hash == at.hash)
    }
}
