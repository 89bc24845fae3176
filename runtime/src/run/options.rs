//! Options of a run.

use std::sync::Arc;
use std::time::Duration;

use milepost::calls::Context;

use super::policy::{CheckpointPolicy, EverySteps};
use crate::failover::FailoverEngine;

/// The reaction of a run to a failed checkpoint of its policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FailedSave {
    /// The run continues: the error is logged, alerted and counted.
    #[default]
    Continue,
    /// The error is returned.
    Stop,
}

/// Options of a run.
///
/// ```
/// use std::time::Duration;
/// use milepost_runtime::run::{FailedSave, Risk, RunOptions};
///
/// let options = RunOptions::default()
///     .policy(Risk::default())
///     .failed_save(FailedSave::Stop)
///     .autosave_after(Some(Duration::from_secs(60)))
///     .actor("optimizer");
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct RunOptions {
    pub(super) policy: Arc<dyn CheckpointPolicy>,
    pub(super) failed_save: FailedSave,
    pub(super) autosave_after: Option<Duration>,
    pub(super) context: Context,
    pub(super) failover: Option<Arc<FailoverEngine>>,
    pub(super) held_bytes: usize,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            policy: Arc::new(EverySteps(1)),
            failed_save: FailedSave::default(),
            autosave_after: Some(Duration::from_secs(5 * 60)),
            context: Context::default(),
            failover: None,
            held_bytes: 16 << 20,
        }
    }
}

impl std::fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunOptions")
            .field("failed_save", &self.failed_save)
            .field("autosave_after", &self.autosave_after)
            .finish_non_exhaustive()
    }
}

impl RunOptions {
    /// Sets the policy of automatic checkpoints. Default: one at the end of each step.
    #[must_use]
    pub fn policy(mut self, policy: impl CheckpointPolicy + 'static) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Sets the reaction to a failed automatic checkpoint. Default: the run continues.
    #[must_use]
    pub fn failed_save(mut self, failed_save: FailedSave) -> Self {
        self.failed_save = failed_save;
        self
    }

    /// Sets the time without events after which a run that is not running is saved; `None` for
    /// never. Default: five minutes.
    #[must_use]
    pub fn autosave_after(mut self, idle: Option<Duration>) -> Self {
        self.autosave_after = idle;
        self
    }

    /// Sets the maximum bytes of events that the run holds in memory while its store refuses
    /// appends, as on a full disk; 0 for none. Default: 16 MiB. Has no effect with
    /// [`RunOptions::failover`].
    #[must_use]
    pub fn held_bytes(mut self, bytes: usize) -> Self {
        self.held_bytes = bytes;
        self
    }

    /// Sets the engine that the run's task belongs to. While its store fails, the run continues:
    /// its appends and checkpoints are held in memory and committed when the store works again,
    /// also if it has to be opened again.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use milepost::{Error, Options};
    /// use milepost_runtime::failover::{FailoverEngine, FailoverOptions};
    /// use milepost_runtime::run::{Run, RunOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let dir = dir.path().join(".milepost");
    /// let store = FailoverEngine::open(&dir, Options::default(), FailoverOptions::default())?;
    /// let store = Arc::new(store);
    /// let options = RunOptions::default().failover(Arc::clone(&store));
    /// let run = Run::resume_or_start(&store.engine()?, "tuning", "ana", options)?;
    /// run.drive(|step| {
    ///     step.end_run();
    ///     Ok::<_, Error>(())
    /// })?;
    /// assert_eq!(run.stats().held_saves, 0, "the disk works");
    /// # Ok::<(), milepost::Error>(())
    /// ```
    #[must_use]
    pub fn failover(mut self, engine: Arc<FailoverEngine>) -> Self {
        self.failover = Some(engine);
        self
    }

    /// Sets the person or program that acts in the run's events.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.context.actor = Some(actor.into());
        self
    }

    /// Sets an id that ties the run's events to work elsewhere.
    #[must_use]
    pub fn correlation(mut self, correlation: impl Into<String>) -> Self {
        self.context.correlation = Some(correlation.into());
        self
    }
}
