//! The appends held by a failover engine, and the thread that opens the store again.

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError};
use milepost::clock::Clock;
use milepost::internals::{DegradedMeters, Entropy, Owner};
use milepost::{Detail, Engine, Error, ErrorKind, Options, Result};
use parking_lot::{Condvar, Mutex};

use super::health::{FailoverOptions, FailoverStats, Health};
use super::held::HeldAppend;

/// Maximum wait between two attempts to open the store.
const RETRY_MAX: Duration = Duration::from_secs(10);

/// The open store, or its failure, and the held appends.
pub(super) struct State {
    pub(super) engine: Option<Engine>,
    /// The number of openings. A failure of an earlier one does not concern the current one.
    pub(super) generation: u64,
    /// The last error; `None` while the store is healthy.
    pub(super) failed: Option<String>,
    /// The time of the failure, by the engine's clock.
    pub(super) failed_us: u64,
    pub(super) queue: VecDeque<HeldAppend>,
    pub(super) bytes: usize,
    pub(super) stats: FailoverStats,
    pub(super) closed: bool,
}

impl State {
    fn has_work(&self) -> bool {
        self.failed.is_some() || !self.queue.is_empty()
    }

    /// Returns `true` if appends to a task are held. Later ones must follow them.
    pub(super) fn holds(&self, task: &str) -> bool {
        self.queue.iter().any(|held| held.task == task)
    }

    /// Returns the first held append from `at` on whose task is not blocked, and its position.
    fn next(&self, at: usize, blocked: &HashSet<String>) -> Option<(usize, HeldAppend)> {
        let mut held = self.queue.iter().enumerate().skip(at);
        let (at, held) = held.find(|(_, held)| !blocked.contains(&held.task))?;
        Some((at, held.clone()))
    }

    /// Returns the engine unless its store was closed, or a write with unknown outcome needs a
    /// reopening. A store that refused an append, such as on a full disk, stays open for reads.
    fn usable(&self) -> Option<Engine> {
        let engine = self.engine.as_ref()?;
        let is_usable = !engine.store().is_poisoned() && engine.store().is_open();
        is_usable.then(|| engine.clone())
    }
}

/// State that a failover engine shares with its thread.
pub(super) struct Inner {
    /// The name of the store, for logs.
    pub(super) name: String,
    /// The folder and the options to open the store again. `None`: its owner does that.
    pub(super) opening: Option<(PathBuf, Options)>,
    pub(super) degraded: FailoverOptions,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) keys: Entropy,
    /// The meters of the store; `None` for one of several holders.
    pub(super) meters: Option<DegradedMeters>,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    pub(super) wake: Sender<()>,
    pub(super) owner: Owner,
}

impl Inner {
    /// Returns `true` if the store can accept appends again: it is open, or is opened again here.
    pub(super) fn can_recover(&self, state: &State) -> bool {
        self.opening.is_some() || state.usable().is_some()
    }

    /// Sets a key if the append has none, since a failed append may still be in the log. One that
    /// an open store refused is not.
    pub(super) fn set_key(&self, held: &mut HeldAppend) {
        if self.opening.is_some() && held.append.key_given().is_none() {
            let key = data_encoding::HEXLOWER.encode(&self.keys.bytes16());
            let append = std::mem::take(&mut held.append);
            held.append = append.key(format!("supervised-{key}"));
        }
    }

    /// Holds an append. Returns the number of held appends.
    pub(super) fn hold(
        &self,
        state: &mut State,
        mut held: HeldAppend,
        error: Error,
    ) -> Result<u64> {
        let bytes = held.append.bytes();
        if !self.can_recover(state) && !state.queue.is_empty() {
            let count = state.queue.len();
            let why = format!("{count} appends are held until the store is opened again: {error}");
            return Err(Error::new(ErrorKind::Unavailable, why));
        }
        let is_bound = held.append.expected().is_some() || held.append.is_after_capture();
        let has_room = state.bytes + bytes <= self.degraded.limit_bytes;
        if is_bound || !has_room || !self.can_recover(state) {
            return Err(error);
        }
        state.bytes += bytes;
        state.stats.buffered += 1;
        held.bytes = bytes;
        state.queue.push_back(held);
        self.pending(state.queue.len());
        Ok(state.queue.len() as u64)
    }

    fn pending(&self, appends: usize) {
        if let Some(meters) = &self.meters {
            meters.pending(appends);
        }
    }

    pub(super) fn fail(&self, state: &mut State, error: &Error) {
        self.failed(state, error);
        self.wake();
    }

    fn failed(&self, state: &mut State, error: &Error) {
        if state.failed.is_none() {
            state.failed_us = self.clock.now_us();
            state.stats.degraded += 1;
            if let Some(meters) = &self.meters {
                meters.began();
            }
        }
        state.failed = Some(error.to_string());
    }

    /// Returns the microseconds since the failure; 0 if the clock was set back.
    pub(super) fn degraded_for(&self, state: &State) -> u64 {
        self.clock.now_us().saturating_sub(state.failed_us)
    }

    pub(super) fn wake(&self) {
        match self.wake.try_send(()) {
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }

    pub(super) fn health(&self, state: &State) -> Health {
        match &state.failed {
            None => Health::Healthy,
            Some(error) => Health::Degraded {
                pending: state.queue.len() as u64,
                bytes: state.bytes as u64,
                error: error.clone(),
            },
        }
    }

    pub(super) fn notify(&self) {
        let health = self.health(&self.state.lock());
        match &health {
            Health::Healthy => tracing::warn!("{}: the store is well again", self.name),
            Health::Degraded { error, .. } => {
                tracing::error!("{}: the store failed: {error}", self.name);
            }
        }
        if let Some(observer) = &self.degraded.observer {
            observer(&health);
        }
    }

    /// Opens the store again after each failure and commits the held appends, until the engine is
    /// closed.
    pub(super) fn run(&self, woken: &Receiver<()>) {
        let mut wait = self.degraded.retry;
        loop {
            let works = self.state.lock().has_work();
            let signal = match works {
                true => woken.recv_timeout(wait),
                false => woken.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if signal == Err(RecvTimeoutError::Disconnected) {
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
                        // A wait for a store that stays closed ends.
                        self.changed.notify_all();
                    }
                }
            }
            if closed {
                return;
            }
        }
    }

    /// Returns the engine if it is usable. Otherwise closes it, ignoring its error, and opens the
    /// store again.
    fn sound(&self) -> Result<Engine> {
        let (old, (dir, options)) = {
            let mut state = self.state.lock();
            if let Some(engine) = state.usable() {
                return Ok(engine);
            }
            let Some(opening) = &self.opening else {
                let why = "the store failed or was closed: its owner has to open it again";
                return Err(Error::new(ErrorKind::Unavailable, why));
            };
            (state.engine.take(), opening)
        };
        if let Some(old) = old {
            let _ = old.close();
        }
        let engine = Engine::open(dir, options.clone())?;
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
                    if let Some(meters) = &self.meters {
                        meters.ended(lasted);
                    }
                    self.changed.notify_all();
                    drop(state);
                    self.notify();
                }
                next
            };
            let Some((place, held)) = next else {
                return Ok(blocked.is_empty());
            };
            // A participant of a workspace may panic: the appends after it are committed.
            let committed = catch_unwind(AssertUnwindSafe(|| held.commit(engine)));
            let committed = committed.unwrap_or_else(|_| {
                Err(Error::invalid("a participant panicked while an append was committed"))
            });
            let mut state = self.state.lock();
            match committed {
                Ok(()) => state.stats.drained += 1,
                Err(error) if is_of_the_store(&error) => return Err(error),
                Err(error) if matches!(error.detail(), Some(Detail::Pending { .. })) => {
                    blocked.insert(held.task);
                    at = place;
                    continue;
                }
                Err(error) => {
                    state.stats.refused += 1;
                    tracing::error!(
                        "{}: an append to {} that was held is refused: {error}",
                        self.name,
                        held.task
                    );
                }
            }
            at = place;
            if let Some(held) = state.queue.remove(place) {
                state.bytes -= held.bytes;
                self.pending(state.queue.len());
            }
        }
    }
}

/// Returns `true` if an error is a failure of the store rather than of the append.
pub(crate) fn is_of_the_store(error: &Error) -> bool {
    let pending = matches!(error.detail(), Some(Detail::Pending { .. }));
    matches!(error.kind(), ErrorKind::Poisoned | ErrorKind::Unavailable) && !pending
}
