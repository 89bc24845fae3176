//! Options for opening a store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use milepost_codec::StoreKey;
use milepost_replay::{Reducer, RunReducer};
use milepost_store::OpenOptions;
use milepost_store::clock::Clock;
use milepost_store::open_report::Progress;

use super::hooks::{Hook, Hooks};
use crate::history::state::{DynReducer, Registered};
use crate::history::state_cache::StateCacheOptions;

/// Options for opening a store. Sizes are in bytes.
#[derive(Clone)]
pub struct Options {
    /// The options of the log.
    pub(crate) log: OpenOptions,
    pub(crate) event_max: usize,
    pub(crate) snapshots: bool,
    pub(crate) anchor: Option<PathBuf>,
    pub(crate) reducers: Vec<Arc<dyn DynReducer>>,
    pub(crate) hooks: Hooks,
    pub(crate) hooks_at_close: Duration,
    pub(crate) keep_states: StateCacheOptions,
    pub(crate) key_window: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            log: OpenOptions::default(),
            event_max: 64 << 20,
            snapshots: true,
            anchor: None,
            reducers: vec![Arc::new(Registered(RunReducer))],
            hooks: Hooks::default(),
            hooks_at_close: Duration::from_secs(60),
            keep_states: StateCacheOptions::default(),
            key_window: 1_000_000,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("log", &self.log)
            .field("event_max", &self.event_max)
            .field("snapshots", &self.snapshots)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Sets whether a missing store is created. Default: `true`.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.log.create = create;
        self
    }

    /// Sets whether the store is opened for reading only. Default: `false`. Nothing in its folder
    /// is created, changed, locked or synced: a store on a read-only mount can be opened, or one
    /// that another process has open. It shows the commits that the store held when it was opened,
    /// and does not follow the other process. Every write is refused with
    /// [`Detail::ReadOnly`](crate::Detail).
    ///
    /// The index is rebuilt from the archive and the journal in a private folder for temporary
    /// files (`TMPDIR`), which needs about as much room as `sled` in the store, and is removed at
    /// close. That of a store of up to 2 MiB is in memory. An anchor is compared, not written. A
    /// store that needs its index in `sled` for a repair is `Corrupt`: open it, or a copy of it,
    /// for writing.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.log.read_only = read_only;
        self
    }

    /// Sets whether the caller only reads. Default: `false`. A small store that was closed cleanly
    /// is then opened as with [`Options::read_only`], with an index in memory, which is quicker.
    /// Any other store is opened as usual: it is locked, recovered, and can be written to.
    #[must_use]
    pub fn only_reads(mut self, only_reads: bool) -> Self {
        self.log.only_reads = only_reads;
        self
    }

    /// Sets the maximum size of an event's body. Default: 64 MiB. Bodies over 256 KiB are stored in
    /// chunks.
    #[must_use]
    pub fn event_max(mut self, bytes: usize) -> Self {
        self.event_max = bytes;
        self
    }

    /// Sets how much may be held in memory until it is applied to sled, before appends block.
    /// Default: 16 MiB, minimum: 1 MiB.
    #[must_use]
    pub fn backlog_bytes(mut self, bytes: usize) -> Self {
        self.log.backlog_bytes = bytes.max(1 << 20);
        self
    }

    /// Sets whether bodies of 8 KiB or more that repeat content of earlier ones share it. The time
    /// of an append then reveals whether its body is stored already. Default: `true`.
    #[must_use]
    pub fn share_bodies(mut self, share: bool) -> Self {
        self.log.share_bodies = share;
        self
    }

    /// Sets the size of sled's cache. Half of it again is for unpacked chunks. Default: 32 MiB,
    /// minimum: 1 MiB.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.log.cache_bytes = bytes.max(1 << 20);
        self
    }

    /// Sets the clock for the times of events. Default: the system's clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.log.clock = clock;
        self
    }

    /// Sets whether snapshots are made in the background. Default: `true`. Without them a state far
    /// from the beginning takes longer to fold; the state is the same.
    #[must_use]
    pub fn snapshots(mut self, snapshots: bool) -> Self {
        self.snapshots = snapshots;
        self
    }

    /// Sets the key of chains and checks. A store is created with or without a key, and opens only
    /// with the same one. The key is not stored: without it the store cannot be opened.
    #[must_use]
    pub fn key(mut self, key: StoreKey) -> Self {
        self.log.key = Some(key);
        self
    }

    /// Returns `true` if a key is set.
    pub fn has_key(&self) -> bool {
        self.log.key.is_some()
    }

    /// Keeps an anchor up to date in a file, on another disk or of another user. Opening compares
    /// the store with the existing anchor, and fails with `Corrupt` if the store is behind it or
    /// has another history. The file is written at most once a second, and at close.
    #[must_use]
    pub fn anchor_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.anchor = Some(path.into());
        self
    }

    /// Sets the callback for progress while opening rebuilds sled or recovers many commits. It is
    /// called on the thread that opens the store.
    #[must_use]
    pub fn on_progress(mut self, told: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.log.progress = Some(Arc::new(told));
        self
    }

    /// Sets the limits of the cache of checkpoint states. Default: 10 states and 64 MiB.
    #[must_use]
    pub fn keep_states(mut self, keep: StateCacheOptions) -> Self {
        self.keep_states = keep;
        self
    }

    /// Sets the number of idempotency keys, newest first, that a lineage keeps of trimmed appends.
    /// Default: 1,000,000, minimum: 1. A few thousand more may be kept. An append with an older key
    /// counts as new.
    ///
    /// Keys of existing events always count. A kept key takes its length plus about 70 bytes in the
    /// store, and 16 bytes in memory while appends with keys are made on the lineage.
    #[must_use]
    pub fn key_window(mut self, keys: usize) -> Self {
        self.key_window = keys.max(1);
        self
    }

    /// Adds a hook, after the existing ones.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.add(hook);
        self
    }

    /// Sets how long closing the store waits for one call of a hook on another thread. A hook that
    /// hangs cannot be ended; the notifications queued after it are dropped. Default: 60 s. A hook
    /// with [`Hook::longest_call`] has at least that time.
    #[must_use]
    pub fn hooks_at_close(mut self, at_most: Duration) -> Self {
        self.hooks_at_close = at_most;
        self
    }

    /// Registers a reducer in addition to the built-in one, so that its states get snapshots.
    #[must_use]
    pub fn reducer<R: Reducer>(mut self, reducer: R) -> Self {
        self.reducers.push(Arc::new(Registered(reducer)));
        self
    }
}
