//! Health and options of a failover engine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use milepost::Appended;

/// A callback for changes of health.
type HealthObserver = Arc<dyn Fn(&Health) + Send + Sync>;

/// Options of a [`FailoverEngine`](crate::failover::FailoverEngine).
#[derive(Clone)]
pub struct FailoverOptions {
    pub(super) limit_bytes: usize,
    pub(super) retry: Duration,
    pub(super) observer: Option<HealthObserver>,
}

impl Default for FailoverOptions {
    fn default() -> Self {
        Self { limit_bytes: 16 << 20, retry: Duration::from_millis(100), observer: None }
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
    /// Sets the maximum bytes of events held in memory. Beyond that appends fail. Default: 16 MiB.
    #[must_use]
    pub fn limit_bytes(mut self, bytes: usize) -> Self {
        self.limit_bytes = bytes;
        self
    }

    /// Sets the wait before the store is opened again. It doubles each time, up to 10 seconds.
    /// Default: 100 ms.
    #[must_use]
    pub fn retry(mut self, first: Duration) -> Self {
        self.retry = first.max(Duration::from_millis(1));
        self
    }

    /// Sets a callback for when the store fails and when it has recovered. It is called on the
    /// thread that notices the change, and an append waits for it.
    #[must_use]
    pub fn on_change(mut self, observer: impl Fn(&Health) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }
}

/// Health of a store behind a failover engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Appends are durable when they return.
    Healthy,
    /// The store failed; appends are held in memory.
    Degraded {
        /// The number of held appends.
        pending: u64,
        /// Their bytes.
        bytes: u64,
        /// The last error.
        error: String,
    },
}

/// Result of an append to a failover engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// The append is durable.
    Appended(Appended),
    /// The append is held in memory, after others, and has no offset yet. It is lost if the process
    /// ends before the disk works again.
    Buffered {
        /// The number of held appends, including this one.
        pending: u64,
    },
}

impl Accepted {
    /// Returns the offsets of a durable append; `None` if it is held in memory.
    pub fn appended(self) -> Option<Appended> {
        match self {
            Self::Appended(appended) => Some(appended),
            Self::Buffered { .. } => None,
        }
    }
}

/// Counters of a failover engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailoverStats {
    /// Appends held in memory.
    pub buffered: u64,
    /// Held appends that were committed.
    pub drained: u64,
    /// Held appends that the store refused, such as those to a task that was deleted.
    pub refused: u64,
    /// The number of times that the store was opened again.
    pub reopened: u64,
    /// The number of times that the store became degraded.
    pub degraded: u64,
    /// The total time in degraded mode until now, in microseconds of the engine's clock.
    pub degraded_us: u64,
}
