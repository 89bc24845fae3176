//! Guidance of a run: given from any thread, read by the step that follows it.

use milepost::events::GuidanceGiven;
use milepost::state::Guidance;
use milepost::{Append, Detail, Result, Task};

use super::Run;
use super::shared::{GuidanceCursor, Read, Shared};
use crate::failover::Accepted;

/// The prefix of the idempotency key of a step's end. The key has the number of instructions that
/// the step and those before it have read.
const PREFIX: &str = "guidance/";

impl GuidanceCursor {
    /// Reads the number that ended steps of the lineage have read. The key of the end of a step
    /// records it; after a restore it is that of the restored point.
    fn load(shared: &Shared, task: &Task, given: u64) -> Result<Read> {
        let is_used = |key: &str| -> Result<bool> {
            let is_held = shared.held_under(key).is_some();
            Ok(is_held || task.lineage().appended_under(key)?.is_some())
        };
        let mut settled = given;
        while settled > 0 && !is_used(&key(settled))? {
            settled -= 1;
        }
        Ok(Read { returned: settled, settled })
    }

    /// Returns the key of the end of a step that read guidance.
    fn key(self) -> Option<String> {
        self.read.filter(|read| read.returned > read.settled).map(|read| key(read.returned))
    }

    fn settle(&mut self) {
        if let Some(read) = &mut self.read {
            read.settled = read.returned;
        }
    }
}

fn key(count: u64) -> String {
    format!("{PREFIX}{count}")
}

impl Run {
    /// Gives the run an instruction, on its active lineage. Any thread may call this, also while
    /// the run is paused.
    ///
    /// # Errors
    ///
    /// As [`milepost::Lineage::append`].
    pub fn guide(&self, text: impl Into<String>) -> Result<Accepted> {
        let guidance = Append::from(GuidanceGiven::text(text));
        if self.shared.may_hold() {
            match self.append(guidance.clone()) {
                // A restore has activated another lineage.
                Err(error) if matches!(error.detail(), Some(Detail::Active { .. })) => {}
                accepted => return accepted,
            }
        }
        let guidance = self.shared.in_context(guidance);
        self.shared.renewed()?.append(guidance).map(Accepted::Appended)
    }

    /// Returns the guidance that no step has read yet, oldest first. It counts as read when the
    /// step ends well: if the process dies before, or the step fails, it is returned again.
    ///
    /// ```
    /// use milepost::{Engine, Options};
    /// use milepost_runtime::run::{Run, RunOptions};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let run = Run::resume_or_start(&engine, "essay", "ana", RunOptions::default())?;
    /// run.guide("shorter")?;
    /// assert_eq!(run.new_guidance()?[0].given.text, "shorter");
    /// assert!(run.new_guidance()?.is_empty());
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Run::state`].
    pub fn new_guidance(&self) -> Result<Vec<Guidance>> {
        let task = self.task();
        let given = match task.state() {
            // Returned later: it stays unread.
            Err(error) if self.shared.continues_without(&error) => return Ok(Vec::new()),
            state => state?.guidance,
        };
        let mut cursor = self.shared.guidance.lock();
        let mut read = match cursor.read {
            Some(read) => read,
            None => GuidanceCursor::load(&self.shared, &task, given.len())?,
        };
        let chunks = task.chunks();
        let new = given.iter_from(read.returned, chunks.as_ref()).collect::<Result<Vec<_>>>()?;
        read.returned = given.len();
        cursor.read = Some(read);
        Ok(new)
    }

    /// Adds to the end of a step that it read guidance.
    pub(super) fn with_guidance_read(&self, append: Append) -> Append {
        match self.shared.guidance.lock().key() {
            Some(key) => append.key(key),
            None => append,
        }
    }

    /// Counts the returned guidance as read: the end of the step is recorded.
    pub(super) fn settle_guidance(&self) {
        self.shared.guidance.lock().settle();
    }

    /// Returns the guidance again that was returned since the last ended step.
    pub(super) fn reset_guidance(&self) {
        *self.shared.guidance.lock() = GuidanceCursor::default();
    }
}
