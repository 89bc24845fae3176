//! Failover for programs that must not stop when a disk fails: appends are held in memory, in
//! order, and committed when the disk works again.

mod health;

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError};
use milepost::clock::Clock;
use milepost::internals::{DegradedMeters, Entropy, Owner, threads};
use milepost::{Append, Detail, Engine, Error, ErrorKind, Options, Result};
use parking_lot::{Condvar, Mutex};

pub use self::health::{Accepted, FailoverOptions, FailoverStats, Health};

struct BufferedAppend {
    task: String,
    append: Append,
    bytes: usize,
}

struct State {
    engine: Option<Engine>,
    /// The number of openings. A failure of an earlier one says nothing about the current one.
    generation: u64,
    /// The last error; `None` while the store is healthy.
    failed: Option<String>,
    /// The time of the failure, by the engine's clock.
    failed_us: u64,
    queue: VecDeque<BufferedAppend>,
    bytes: usize,
    stats: FailoverStats,
    closed: bool,
}

impl State {
    fn has_work(&self) -> bool {
        self.failed.is_some() || !self.queue.is_empty()
    }

    /// Returns `true` if appends to a task are held. Later ones must follow them.
    fn holds(&self, task: &str) -> bool {
        self.queue.iter().any(|held| held.task == task)
    }

    /// Returns the first held append from `at` on whose task is not blocked, and its position.
    fn next(&self, at: usize, blocked: &HashSet<String>) -> Option<(usize, String, Append)> {
        let mut held = self.queue.iter().enumerate().skip(at);
        let (at, held) = held.find(|(_, held)| !blocked.contains(&held.task))?;
        Some((at, held.task.clone(), held.append.clone()))
    }
}

struct Inner {
    dir: PathBuf,
    options: Options,
    degraded: FailoverOptions,
    clock: Arc<dyn Clock>,
    keys: Entropy,
    meters: DegradedMeters,
    state: Mutex<State>,
    changed: Condvar,
    wake: Sender<()>,
    owner: Owner,
}

/// An engine that is opened again when it fails.
///
/// An append is either durable, or `Buffered`: held in memory, in the order of the calls, up to a
/// limit. The failed store is closed and opened again until that succeeds; then the held appends
/// are committed. Each append gets an idempotency key, unless it has one: if its write failed but
/// the event is there, it is not appended twice. Appends that expect a head are never held.
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
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for FailoverEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailoverEngine")
            .field("dir", &self.inner.dir)
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}

/// Maximum wait between two attempts to open the store.
const RETRY_MAX: Duration = Duration::from_secs(10);

impl FailoverEngine {
    /// Opens a store.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::open`]: the first opening is not retried. `Unavailable` with
    /// [`Options::read_only`].
    pub fn open(
        dir: impl AsRef<Path>,
        options: Options,
        degraded: FailoverOptions,
    ) -> Result<Self> {
        let engine = Engine::open(&dir, options.clone())?;
        engine.store().check_writable()?;
        let (wake, woken) = crossbeam_channel::bounded(1);
        let inner = Arc::new(Inner {
            dir: dir.as_ref().to_owned(),
            options: options.create(false),
            degraded,
            clock: engine.store().clock(),
            keys: Entropy::from_system()?,
            meters: DegradedMeters::new(engine.store().id().to_string()),
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
        let thread = {
            let inner = Arc::clone(&inner);
            threads::start("failover", move || inner.run(&woken))?
        };
        Ok(Self { inner, thread: Some(thread) })
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
    /// - Those of [`Task::append`](milepost::Task::append) that are no failure of the disk.
    /// - `Poisoned` or `Unavailable`, the failure itself: the held appends exceed the limit, or the
    ///   append expects a head.
    pub fn append(&self, task: &str, append: impl Into<Append>) -> Result<Accepted> {
        self.inner.owner.check()?;
        let append = self.inner.keyed(append.into());
        loop {
            let (engine, generation) = {
                let mut state = self.inner.state.lock();
                if state.closed {
                    return Err(Error::new(ErrorKind::Unavailable, "the store is closed"));
                }
                match (&state.engine, &state.failed) {
                    (Some(_), None) if state.holds(task) => {
                        let why = "earlier appends to the task are held".to_owned();
                        let error = Error::new(ErrorKind::Unavailable, why);
                        return self.inner.hold(&mut state, task, append, error);
                    }
                    (Some(engine), None) => (engine.clone(), state.generation),
                    (_, failed) => {
                        let cause = failed.clone().unwrap_or_default();
                        let error = Error::new(ErrorKind::Unavailable, cause);
                        return self.inner.hold(&mut state, task, append, error);
                    }
                }
            };
            let error = match engine.task(task).and_then(|task| task.lineage().append_ref(&append))
            {
                Ok(appended) => return Ok(Accepted::Appended(appended)),
                Err(error) if is_of_the_store(&error) => error,
                Err(error) => return Err(error),
            };
            let mut state = self.inner.state.lock();
            if state.generation != generation && state.failed.is_none() {
                // The store was opened again since.
                continue;
            }
            self.inner.fail(&mut state, &error);
            let held = self.inner.hold(&mut state, task, append, error);
            drop(state);
            self.inner.tell();
            return held;
        }
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

    /// Waits until the store is healthy, at most the given time. Returns `true` if it is.
    pub fn wait_healthy(&self, at_most: Duration) -> bool {
        let mut state = self.inner.state.lock();
        let failing = |state: &mut State| state.failed.is_some() && !state.closed;
        let waited = (self.inner.changed).wait_while_for(&mut state, failing, at_most);
        !waited.timed_out() && state.failed.is_none()
    }

    /// Closes the store.
    ///
    /// # Errors
    ///
    /// - `Unavailable`: held appends could not be committed. The error has their number.
    /// - Otherwise those of [`Engine::close`].
    pub fn close(mut self) -> Result<()> {
        self.shut()
    }

    fn shut(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        self.inner.owner.check()?;
        self.inner.state.lock().closed = true;
        self.inner.wake();
        let _ = thread.join();
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
        engine.map_or(Ok(()), Engine::close)
    }
}

impl Drop for FailoverEngine {
    fn drop(&mut self) {
        let _ = self.shut();
    }
}

impl Inner {
    /// Returns the append with a key, since a failed append may still be in the log.
    fn keyed(&self, append: Append) -> Append {
        if append.key_given().is_some() {
            return append;
        }
        let key = data_encoding::HEXLOWER.encode(&self.keys.bytes16());
        append.key(format!("supervised-{key}"))
    }

    fn hold(
        &self,
        state: &mut State,
        task: &str,
        append: Append,
        error: Error,
    ) -> Result<Accepted> {
        let bytes = append.bytes();
        if append.expected().is_some() || state.bytes + bytes > self.degraded.limit_bytes {
            return Err(error);
        }
        state.bytes += bytes;
        state.stats.buffered += 1;
        let task = task.to_owned();
        state.queue.push_back(BufferedAppend { task, append, bytes });
        self.meters.pending(state.queue.len());
        Ok(Accepted::Buffered { pending: state.queue.len() as u64 })
    }

    fn fail(&self, state: &mut State, error: &Error) {
        self.failed(state, error);
        self.wake();
    }

    fn failed(&self, state: &mut State, error: &Error) {
        if state.failed.is_none() {
            state.failed_us = self.clock.now_us();
            state.stats.degraded += 1;
            self.meters.began();
        }
        state.failed = Some(error.to_string());
    }

    /// Returns the microseconds since the failure; 0 if the clock was set back.
    fn degraded_for(&self, state: &State) -> u64 {
        self.clock.now_us().saturating_sub(state.failed_us)
    }

    fn wake(&self) {
        match self.wake.try_send(()) {
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }

    fn health(&self, state: &State) -> Health {
        match &state.failed {
            None => Health::Healthy,
            Some(error) => Health::Degraded {
                pending: state.queue.len() as u64,
                bytes: state.bytes as u64,
                error: error.clone(),
            },
        }
    }

    fn tell(&self) {
        let health = self.health(&self.state.lock());
        match &health {
            Health::Healthy => tracing::warn!("{}: the store is well again", self.dir.display()),
            Health::Degraded { error, .. } => {
                tracing::error!("{}: the store failed: {error}", self.dir.display());
            }
        }
        if let Some(told) = &self.degraded.told {
            told(&health);
        }
    }

    /// Opens the store again after each failure and commits the held appends, until the engine is
    /// closed.
    fn run(&self, woken: &Receiver<()>) {
        let mut wait = self.degraded.retry;
        loop {
            let works = self.state.lock().has_work();
            let due = match works {
                true => woken.recv_timeout(wait),
                false => woken.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if due == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            let (closed, works) = {
                let state = self.state.lock();
                (state.closed, state.has_work())
            };
            if works {
                match self.sound().and_then(|engine| self.drain(&engine)) {
                    Ok(true) => wait = self.degraded.retry,
                    Ok(false) => wait = (wait * 2).min(RETRY_MAX),
                    Err(error) => {
                        self.failed(&mut self.state.lock(), &error);
                        wait = (wait * 2).min(RETRY_MAX);
                    }
                }
            }
            if closed {
                return;
            }
        }
    }

    /// Returns the engine if it has not failed. Otherwise closes it, ignoring its error, and opens
    /// the store again.
    fn sound(&self) -> Result<Engine> {
        let old = {
            let mut state = self.state.lock();
            match (&state.engine, &state.failed) {
                (Some(engine), None) => return Ok(engine.clone()),
                _ => state.engine.take(),
            }
        };
        if let Some(old) = old {
            let _ = old.close();
        }
        let engine = Engine::open(&self.dir, self.options.clone())?;
        let mut state = self.state.lock();
        state.generation += 1;
        state.stats.reopened += 1;
        state.engine = Some(engine.clone());
        Ok(engine)
    }

    /// Commits the held appends, in order for each task, and lets appends through again. Appends to
    /// a task that a restore blocks stay held. Returns `false` if there are such appends.
    fn drain(&self, engine: &Engine) -> Result<bool> {
        let (mut at, mut blocked) = (0, HashSet::new());
        loop {
            let next = {
                let mut state = self.state.lock();
                let next = state.next(at, &blocked);
                if next.is_none() && state.failed.take().is_some() {
                    let lasted = self.degraded_for(&state);
                    state.stats.degraded_us += lasted;
                    self.meters.ended(lasted);
                    self.changed.notify_all();
                    drop(state);
                    self.tell();
                }
                next
            };
            let Some((place, task, append)) = next else {
                return Ok(blocked.is_empty());
            };
            let done = engine.task(&task).and_then(|task| task.append(append));
            let mut state = self.state.lock();
            match done {
                Ok(_) => state.stats.drained += 1,
                Err(error) if is_of_the_store(&error) => return Err(error),
                Err(error) if matches!(error.detail(), Some(Detail::Pending { .. })) => {
                    blocked.insert(task);
                    at = place;
                    continue;
                }
                Err(error) => {
                    state.stats.refused += 1;
                    tracing::error!(
                        "{}: an append to {task} that was held is refused: {error}",
                        self.dir.display()
                    );
                }
            }
            at = place;
            if let Some(held) = state.queue.remove(place) {
                state.bytes -= held.bytes;
                self.meters.pending(state.queue.len());
            }
        }
    }
}

/// Returns `true` if an error is a failure of the store rather than of the append.
fn is_of_the_store(error: &Error) -> bool {
    let pending = matches!(error.detail(), Some(Detail::Pending { .. }));
    matches!(error.kind(), ErrorKind::Poisoned | ErrorKind::Unavailable) && !pending
}
