//! How a store is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use milepost_codec::StoreKey;
use milepost_replay::{Reducer, RunReducer};
use milepost_store::OpenOptions;
use milepost_store::clock::Clock;
use milepost_store::open_report::Progress;

use super::hooks::{CommandHooks, Hook, Hooks};
use crate::history::state::{DynReducer, Registered};
use crate::history::state_cache::StateCacheOptions;

/// How a store is opened. Every limit is in bytes.
#[derive(Clone)]
pub struct Options {
    /// The part that the log is opened with.
    pub(crate) log: OpenOptions,
    pub(crate) event_max: usize,
    pub(crate) snapshots: bool,
    pub(crate) anchor: Option<PathBuf>,
    pub(crate) reducers: Vec<Arc<dyn DynReducer>>,
    pub(crate) hooks: Hooks,
    pub(crate) commands: CommandHooks,
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
            commands: CommandHooks::default(),
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
    /// Whether a store is made where there is none. Default: yes.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.log.create = create;
        self
    }

    /// Whether the store is opened for reading only. Default: no. Nothing in its folder is created,
    /// changed, locked or synced: a store on a read-only mount can be opened, and one that another
    /// process has open. It shows the commits that the store held when it was opened, and does not
    /// follow the other process. Every write is refused with [`Detail::ReadOnly`](crate::Detail).
    ///
    /// The index is built anew from the archive and the journal in a private folder for temporary
    /// files (`TMPDIR`), which needs about as much room as the store has in `sled`, and is removed
    /// at close. An anchor is compared with and not written. A store that only its index in `sled`
    /// could repair is `Corrupt`: open it for writing, or a copy of it.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.log.read_only = read_only;
        self
    }

    /// The largest body of one event. Default: 64 MiB. Bodies over 256 KiB are stored in chunks.
    #[must_use]
    pub fn event_max(mut self, bytes: usize) -> Self {
        self.event_max = bytes;
        self
    }

    /// How much may wait to be applied to sled, and be held in memory for it, before appends
    /// wait. Default: 16 MiB.
    #[must_use]
    pub fn backlog_bytes(mut self, bytes: usize) -> Self {
        self.log.backlog_bytes = bytes.max(1 << 20);
        self
    }

    /// How much sled may cache. Default: 32 MiB.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.log.cache_bytes = bytes.max(1 << 20);
        self
    }

    /// Where the times of events come from. Default: the system's clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.log.clock = clock;
        self
    }

    /// Whether snapshots are made in the background. Default: yes. Without them a state far from
    /// the beginning takes longer; it is the same state.
    #[must_use]
    pub fn snapshots(mut self, snapshots: bool) -> Self {
        self.snapshots = snapshots;
        self
    }

    /// The key that chains and checks are keyed with. A store is made with a key or without one,
    /// and opens with that key only. It is not stored: who loses it has to do without the store.
    #[must_use]
    pub fn key(mut self, key: StoreKey) -> Self {
        self.log.key = Some(key);
        self
    }

    /// Where an anchor is kept up to date: a file on another disk, or of another user. Opening
    /// compares the store with the anchor that is there, and fails with `Corrupt` where it is
    /// behind it, or another than it was. It is written anew at most once a second, and at close.
    #[must_use]
    pub fn anchor_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.anchor = Some(path.into());
        self
    }

    /// Who is told how far opening is while it builds sled anew or takes back many commits. It is
    /// called on the thread that opens the store.
    #[must_use]
    pub fn on_progress(mut self, told: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.log.progress = Some(Arc::new(told));
        self
    }

    /// How many states of checkpoints are kept in memory. Default: 10, and 64 MiB.
    #[must_use]
    pub fn keep_states(mut self, keep: StateCacheOptions) -> Self {
        self.keep_states = keep;
        self
    }

    /// The number of idempotency keys that a lineage keeps of the appends that retention trims, the
    /// newest first. Default: 1,000,000. A few thousand more may be kept. An append under an older
    /// key counts as new.
    ///
    /// Keys of events that are there count always. A key that is kept takes about 70 bytes and
    /// itself in the store, and 16 bytes in memory while appends with keys come to the lineage.
    #[must_use]
    pub fn key_window(mut self, keys: usize) -> Self {
        self.key_window = keys.max(1);
        self
    }

    /// Adds a hook, after those that are there.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.add(hook);
        self
    }

    /// Adds external commands as hooks, after those that are there: see [`CommandHooks`]. They come
    /// behind the hooks that are added with [`Options::hook`].
    #[must_use]
    pub fn command_hooks(mut self, commands: CommandHooks) -> Self {
        self.commands.extend(commands);
        self
    }

    /// How long closing the store waits for one call of a hook on the hooks' own thread: nothing
    /// ends a hook that hangs, and what waits behind it is not told then. Default: 60 s; commands
    /// have their own time limit, and are waited for in any case.
    #[must_use]
    pub fn hooks_at_close(mut self, at_most: Duration) -> Self {
        self.hooks_at_close = at_most;
        self
    }

    /// Registers a reducer beside the built-in one, so that snapshots are made of its states.
    #[must_use]
    pub fn reducer<R: Reducer>(mut self, reducer: R) -> Self {
        self.reducers.push(Arc::new(Registered(reducer)));
        self
    }
}
