//! How a supervised store is, and how it holds out.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::commit::append::Appended;

/// Who is told how a store is.
type Told = Arc<dyn Fn(&Health) + Send + Sync>;

/// How a [`FailoverEngine`](crate::FailoverEngine) holds out.
#[derive(Clone)]
pub struct FailoverOptions {
    pub(super) limit_bytes: usize,
    pub(super) retry: Duration,
    pub(super) told: Option<Told>,
}

impl Default for FailoverOptions {
    fn default() -> Self {
        Self { limit_bytes: 16 << 20, retry: Duration::from_millis(100), told: None }
    }
}

impl fmt::Debug for FailoverOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailoverOptions")
            .field("limit_bytes", &self.limit_bytes)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl FailoverOptions {
    /// How many bytes of events may be held in memory; over that, appends fail. Default: 16 MiB.
    #[must_use]
    pub fn limit_bytes(mut self, bytes: usize) -> Self {
        self.limit_bytes = bytes;
        self
    }

    /// How long it waits before it opens the store again; each time twice as long, up to 10
    /// seconds. Default: 100 ms.
    #[must_use]
    pub fn retry(mut self, first: Duration) -> Self {
        self.retry = first.max(Duration::from_millis(1));
        self
    }

    /// Who is told when the store fails, and when all is well again. Called from whatever thread
    /// meets it; an append waits for it.
    #[must_use]
    pub fn on_change(mut self, told: impl Fn(&Health) + Send + Sync + 'static) -> Self {
        self.told = Some(Arc::new(told));
        self
    }
}

/// How a supervised store is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Appends are durable when they return.
    Healthy,
    /// The store failed; appends are held in memory.
    Degraded {
        /// Appends that are held.
        pending: u64,
        /// Their bytes.
        bytes: u64,
        /// What failed last.
        error: String,
    },
}

/// What came of a supervised append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is durable.
    Appended(Appended),
    /// It is held in memory, behind others, and has no offset yet: it is lost if the process ends
    /// before the disk is back.
    Buffered {
        /// Appends that are held, this one included.
        pending: u64,
    },
}

/// What a supervisor has done, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailoverStats {
    /// Appends that were held in memory.
    pub buffered: u64,
    /// Those of them that were committed since.
    pub drained: u64,
    /// Those that the store refused then: a task that was deleted meanwhile, for one.
    pub refused: u64,
    /// How often the store was opened again.
    pub reopened: u64,
    /// How often it became degraded.
    pub degraded: u64,
    /// How long it was degraded in all, up to now, in microseconds of the engine's clock.
    pub degraded_us: u64,
}
