//! Failover for programs that must not stop when a disk fails: appends are held in memory, in
//! order, and committed when the disk works again.

mod health;
mod held;
mod reopener;

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::Receiver;
use milepost::internals::{DegradedMeters, Entropy, Owner, threads};
use milepost::{Append, Engine, Error, ErrorKind, Options, Result, Task};
use parking_lot::{Condvar, Mutex};

pub use self::health::{Accepted, FailoverOptions, FailoverStats, Health};
pub(crate) use self::held::{HeldAppend, Written};
pub(crate) use self::reopener::is_of_the_store;
use self::reopener::{Inner, State};

/// An engine that is opened again when it fails.
///
/// An append is either durable, or `Buffered`: held in memory, in the order of the calls, up to a
/// limit. The failed store is closed and opened again until that succeeds; then the held appends
/// are committed. Each append gets an idempotency key, unless it has one: if its write failed but
/// the event exists, it is not appended twice. Appends that expect a head are never held.
///
/// ```
/// use milepost::events::Message;
/// use milepost_runtime::failover::{Accepted, FailoverEngine, FailoverOptions};
/// use milepost::Options;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path().join(".milepost");
/// let degraded = FailoverOptions::default().on_change(|health| eprintln!("{health:?}"));
/// let store = FailoverEngine::open(&dir, Options::default(), degraded)?;
/// store.engine()?.start_task("tuning", "ana")?;
/// match store.append("tuning", Message::text("user", "hello"))? {
///     Accepted::Appended(done) => assert_eq!(done.first, 1),
///     Accepted::Buffered { pending } => eprintln!("{pending} appends wait for the disk"),
/// }
/// store.close()?;
/// # Ok::<(), milepost::Error>(())
/// ```
pub struct FailoverEngine {
    inner: Arc<Inner>,
    /// Commits what is held. Started at the first failure if the store is not opened again here.
    thread: Mutex<Option<JoinHandle<()>>>,
    woken: Receiver<()>,
}

impl fmt::Debug for FailoverEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailoverEngine")
            .field("store", &self.inner.name)
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}

impl FailoverEngine {
    /// Opens a store.
    ///
    /// # Errors
    ///
    /// Errors of [`Engine::open`]: the first opening is not retried. `Unavailable` with
    /// [`Options::read_only`].
    pub fn open(
        dir: impl AsRef<Path>,
        options: Options,
        degraded: FailoverOptions,
    ) -> Result<Self> {
        let engine = Engine::open(&dir, options.clone())?;
        engine.store().check_writable()?;
        let dir = dir.as_ref();
        let opening = (dir.to_owned(), options.create(false));
        Self::started(engine, dir.display().to_string(), Some(opening), degraded)
    }

    /// Uses an engine that the caller opened, and closes: appends that it refuses, as on a full
    /// disk, are held until it accepts them. A failure after which a store has to be opened again
    /// (`Poisoned`) is returned, as is one of a store that was closed.
    ///
    /// # Errors
    ///
    /// `Unavailable`: no thread can be started.
    pub fn of(engine: &Engine, degraded: FailoverOptions) -> Result<Self> {
        let name = format!("store {}", engine.store().id());
        Self::started(engine.clone(), name, None, degraded)
    }

    fn started(
        engine: Engine,
        name: String,
        opening: Option<(PathBuf, Options)>,
        degraded: FailoverOptions,
    ) -> Result<Self> {
        let (wake, woken) = crossbeam_channel::bounded(1);
        let is_opened_here = opening.is_some();
        let inner = Arc::new(Inner {
            name,
            opening,
            degraded,
            clock: engine.store().clock(),
            keys: Entropy::from_system()?,
            meters: is_opened_here.then(|| DegradedMeters::new(engine.store().id().to_string())),
            state: Mutex::new(State {
                engine: Some(engine),
                generation: 0,
                failed: None,
                failed_us: 0,
                queue: VecDeque::new(),
                bytes: 0,
                stats: FailoverStats::default(),
                closed: false,
            }),
            changed: Condvar::new(),
            wake,
            owner: Owner::default(),
        });
        let store = Self { inner, thread: Mutex::new(None), woken };
        if is_opened_here {
            store.start_thread()?;
        }
        Ok(store)
    }

    fn start_thread(&self) -> Result<()> {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let (inner, woken) = (Arc::clone(&self.inner), self.woken.clone());
            *thread = Some(threads::start("failover", move || inner.run(&woken))?);
        }
        Ok(())
    }

    /// Returns the engine, for everything but appends that must not fail. After the store was
    /// opened again it is a new engine.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store has failed and is not open again.
    pub fn engine(&self) -> Result<Engine> {
        self.inner.owner.check()?;
        let state = self.inner.state.lock();
        state.engine.clone().ok_or_else(|| {
            let cause = state.failed.as_deref().unwrap_or("it is closed");
            Error::new(ErrorKind::Unavailable, format!("the store is not open: {cause}"))
        })
    }

    /// Appends to the active lineage of a task, or holds the append in memory if the disk fails.
    ///
    /// # Errors
    ///
    /// - Errors of [`Lineage::append`](milepost::Lineage::append) other than a failure of the disk.
    /// - `Poisoned` or `Unavailable`, the failure itself: the held appends exceed the limit, or the
    ///   append expects a head, or is [after a capture](milepost::Append::after_capture).
    pub fn append(&self, task: &str, append: impl Into<Append>) -> Result<Accepted> {
        let held = HeldAppend::to(task, append.into());
        Ok(match self.write_or_hold(held, HeldAppend::append)? {
            Written::Durable(appended) => Accepted::Appended(appended),
            Written::Held(pending) => Accepted::Buffered { pending },
        })
    }

    /// Writes with a handle on the task, or holds the append in memory if the disk fails.
    ///
    /// # Errors
    ///
    /// As [`FailoverEngine::append`].
    pub(crate) fn write_or_hold<T>(
        &self,
        mut held: HeldAppend,
        write: impl Fn(&HeldAppend, &Task) -> Result<T>,
    ) -> Result<Written<T>> {
        self.inner.owner.check()?;
        self.inner.set_key(&mut held);
        let unavailable = |cause: &str| Error::new(ErrorKind::Unavailable, cause.to_owned());
        loop {
            let (engine, generation) = {
                let mut state = self.inner.state.lock();
                if state.closed {
                    return Err(unavailable("the store is closed"));
                }
                match (&state.engine, &state.failed) {
                    (Some(engine), None) if !state.holds(&held.task) => {
                        (engine.clone(), state.generation)
                    }
                    (_, failed) => {
                        let cause = failed.as_deref().unwrap_or("earlier appends are held");
                        let error = unavailable(cause);
                        return self.inner.hold(&mut state, held, error).map(Written::Held);
                    }
                }
            };
            let error = match held.task(&engine).and_then(|task| write(&held, &task)) {
                Ok(written) => return Ok(Written::Durable(written)),
                Err(error) if is_of_the_store(&error) => error,
                Err(error) => return Err(error),
            };
            let mut state = self.inner.state.lock();
            if state.generation != generation && state.failed.is_none() {
                // The store was opened again since.
                continue;
            }
            if !self.inner.can_recover(&state) {
                return Err(error);
            }
            self.start_thread()?;
            self.inner.fail(&mut state, &error);
            let pending = self.inner.hold(&mut state, held, error);
            drop(state);
            self.inner.notify();
            return pending.map(Written::Held);
        }
    }

    /// Returns `true` if the store can accept appends again without its owner.
    pub(crate) fn can_recover(&self) -> bool {
        self.inner.can_recover(&self.inner.state.lock())
    }

    /// Returns `true` if appends to a task are held.
    pub(crate) fn holds(&self, task: &str) -> bool {
        self.inner.state.lock().holds(task)
    }

    /// Returns the events of a held append under a key, on the lineage of a handle.
    pub(crate) fn held_under(&self, task: &Task, key: &str) -> Option<Append> {
        let state = self.inner.state.lock();
        let mut of_task = state.queue.iter().filter(|held| held.is_of(task));
        of_task.find(|held| held.append.key_given() == Some(key)).map(|held| held.append.clone())
    }

    /// Returns the number of times that the store was opened again.
    pub(crate) fn generation(&self) -> u64 {
        self.inner.state.lock().generation
    }

    /// Returns the health of the store.
    pub fn health(&self) -> Health {
        self.inner.health(&self.inner.state.lock())
    }

    /// Returns the counters so far.
    pub fn stats(&self) -> FailoverStats {
        let state = self.inner.state.lock();
        let mut stats = state.stats;
        if state.failed.is_some() {
            stats.degraded_us += self.inner.degraded_for(&state);
        }
        stats
    }

    /// Opens the store again now, without waiting.
    pub fn retry_now(&self) {
        self.inner.wake();
    }

    /// Waits until the store is healthy, at most the given time. Returns `true` if it is, and
    /// `false` at once if only its owner can open it again.
    pub fn wait_healthy(&self, at_most: Duration) -> bool {
        let mut state = self.inner.state.lock();
        let failing = |state: &mut State| {
            state.failed.is_some() && !state.closed && self.inner.can_recover(state)
        };
        let waited = (self.inner.changed).wait_while_for(&mut state, failing, at_most);
        !waited.timed_out() && state.failed.is_none()
    }

    /// Closes the store.
    ///
    /// # Errors
    ///
    /// - `Unavailable`: held appends could not be committed. The error has their number.
    /// - Otherwise errors of [`Engine::close`].
    pub fn close(mut self) -> Result<()> {
        self.shut()
    }

    fn shut(&mut self) -> Result<()> {
        self.inner.owner.check()?;
        let was_closed = std::mem::replace(&mut self.inner.state.lock().closed, true);
        if was_closed {
            return Ok(());
        }
        self.inner.wake();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
        let mut state = self.inner.state.lock();
        let engine = state.engine.take();
        if !state.queue.is_empty() {
            let (count, bytes) = (state.queue.len(), state.bytes);
            let cause = state.failed.clone().unwrap_or_default();
            let message =
                format!("{count} appends of {bytes} bytes were held and are lost: {cause}");
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        drop(state);
        match engine {
            Some(engine) if self.inner.opening.is_some() => engine.close(),
            _ => Ok(()),
        }
    }
}

impl Drop for FailoverEngine {
    fn drop(&mut self) {
        // A forked process has nothing to close.
        if let Err(error) = self.shut()
            && !self.inner.owner.is_elsewhere()
        {
            tracing::error!("{}: {error}", self.inner.name);
        }
    }
}
