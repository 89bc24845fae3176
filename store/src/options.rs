//! Options of opening a log.

use std::fmt;
use std::sync::Arc;

use milepost_codec::StoreKey;

use crate::clock::{Clock, SystemClock};
use crate::open_report::Progress;

/// Options of opening a log. Every limit is in bytes.
#[derive(Clone)]
pub struct OpenOptions {
    /// Creates a missing store.
    pub create: bool,
    /// Opens for reading only: nothing in the folder is created, changed, locked or synced.
    pub read_only: bool,
    /// The caller only reads. A small store that was closed cleanly is opened as with `read_only`,
    /// which is quicker; any other is opened as usual.
    pub only_reads: bool,
    /// The maximum bytes of commits that wait to be applied to sled; above it appends wait.
    pub backlog_bytes: usize,
    /// The size of sled's cache. Half of it again is for unpacked chunks.
    pub cache_bytes: usize,
    /// Repeated bodies share their common content.
    pub share_bodies: bool,
    /// The source of event times.
    pub clock: Arc<dyn Clock>,
    /// The key of chains and checks.
    pub key: Option<StoreKey>,
    /// Called with the progress of long work, on the thread that opens the store.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            create: true,
            read_only: false,
            only_reads: false,
            backlog_bytes: 16 << 20,
            cache_bytes: 32 << 20,
            share_bodies: true,
            clock: Arc::new(SystemClock),
            key: None,
            progress: None,
        }
    }
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("create", &self.create)
            .field("read_only", &self.read_only)
            .field("only_reads", &self.only_reads)
            .field("backlog_bytes", &self.backlog_bytes)
            .field("cache_bytes", &self.cache_bytes)
            .field("share_bodies", &self.share_bodies)
            .finish_non_exhaustive()
    }
}
