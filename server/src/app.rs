//! The state that all requests share, and work with the engine on their behalf.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use milepost::calls::Cancel;
use milepost::clock::Clock;
use milepost::{Engine, Result};
use milepost_runtime::run::Checkpointer;
use milepost_service::reader::Reader;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};

use crate::auth::Caller;
use crate::budget::{self, Budget, Budgets, TokenBudget};
use crate::error::{ApiError, bug};
use crate::feeds::Feeds;
use crate::folds::Folds;
use crate::host_limits::Disk;
use crate::jobs::Jobs;
use crate::meters::Meters;
use crate::options::ServerOptions;
use crate::permit::{Heavy, Permits, UnderWay};
use crate::quotas::Quotas;
use crate::request_scope::{Ids, RequestContext};
use crate::sessions::Sessions;
use crate::tokens::Tokens;
use milepost_service::Summaries;
use milepost_service::View;

/// The maximum wait of a request for bytes of a budget.
const PATIENCE: Duration = Duration::from_secs(10);

/// Divisor of the event streams: a token may have a quarter of them.
const STREAMS_PART: usize = 4;

/// Limit of the bytes of concurrent small appends. The engine's queue holds more without blocking.
const SMALL_APPENDS: usize = 8 << 20;

/// A permit for an event stream.
pub(crate) struct StreamPermit {
    _of_all: OwnedSemaphorePermit,
    _of_token: Option<OwnedSemaphorePermit>,
}

/// The state shared by all routes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

/// The parts of that state.
pub(crate) struct Shared {
    /// Replaced when the store is reopened after a failed write.
    engine: Arc<RwLock<Engine>>,
    pub(crate) tokens: Tokens,
    pub(crate) sessions: Sessions,
    pub(crate) options: ServerOptions,
    clock: Box<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) under_way: UnderWay,
    /// The exports of each token.
    pub(crate) exports: UnderWay,
    pub(crate) meters: Meters,
    pub(crate) feeds: Feeds,
    disk: Disk,
    pub(crate) budgets: Arc<Budgets>,
    pub(crate) folds: Folds,
    reader: Arc<Reader>,
    pub(crate) quotas: Quotas,
    /// The part of each budget that each token may use.
    parts: budget::TokenBudgets,
    pub(crate) permits: Permits,
    /// Shared by all services of the engine, as `summaries` and `reader` are.
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) summaries: Arc<Summaries>,
    /// One permit for each event stream.
    streams: Arc<Semaphore>,
    /// Bytes of appends that run without a thread.
    room: Semaphore,
    /// The event streams of each token.
    streams_of: UnderWay,
    /// Set for a service that shares the engine of another one.
    is_second: bool,
    /// True once the server is stopping.
    stop: watch::Sender<bool>,
}

/// The parts that all services of an engine share.
type SharedParts = (Arc<RwLock<Engine>>, Arc<Budgets>, Arc<Jobs>, Arc<Summaries>, Arc<Reader>);

/// Sets its flag when dropped, after which the work has no caller.
pub(crate) struct Waits(Cancel);

impl Waits {
    /// Creates it for work that a flag cancels.
    pub(crate) fn new(cancel: &Cancel) -> Self {
        Self(cancel.clone())
    }

    /// Ends the wait: the work is done. What it has made, such as a source, may go on.
    pub(crate) fn done(mut self) {
        self.0 = Cancel::NEVER;
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

impl App {
    /// Creates the state of a service of an engine.
    pub(crate) fn new(
        engine: Engine,
        tokens: Tokens,
        options: ServerOptions,
        clock: Box<dyn Clock>,
    ) -> Result<Self> {
        let engine = Arc::new(RwLock::new(engine));
        let budgets = Arc::new(Budgets::new(options.memory));
        let shared = (engine, budgets, Arc::new(Jobs::new()?), Arc::default(), Arc::default());
        Self::of(shared, tokens, options, clock, false)
    }

    /// Creates the state of another service, which shares the engine and its budgets.
    pub(crate) fn sharing(
        &self,
        tokens: Tokens,
        options: ServerOptions,
        clock: Box<dyn Clock>,
    ) -> Result<Self> {
        let Shared { engine, budgets, jobs, summaries, reader, .. } = &*self.0;
        let (jobs, summaries, reader) =
            (Arc::clone(jobs), Arc::clone(summaries), Arc::clone(reader));
        let shared = (Arc::clone(engine), Arc::clone(budgets), jobs, summaries, reader);
        Self::of(shared, tokens, options, clock, true)
    }

    fn of(
        (engine, budgets, jobs, summaries, reader): SharedParts,
        tokens: Tokens,
        options: ServerOptions,
        clock: Box<dyn Clock>,
        is_second: bool,
    ) -> Result<Self> {
        tokens.any()?;
        let streams = Arc::new(Semaphore::new(options.streams));
        Ok(Self(Arc::new(Shared {
            engine,
            disk: Disk::default(),
            tokens,
            sessions: Sessions::new(options.sessions_only),
            options,
            clock,
            ids: Ids::new()?,
            under_way: UnderWay::default(),
            exports: UnderWay::default(),
            meters: Meters::default(),
            feeds: Feeds::default(),
            budgets,
            folds: Folds::default(),
            reader,
            quotas: Quotas::default(),
            parts: budget::TokenBudgets::default(),
            permits: Permits::default(),
            jobs,
            summaries,
            streams,
            room: Semaphore::new(SMALL_APPENDS),
            streams_of: UnderWay::default(),
            is_second,
            stop: watch::Sender::new(false),
        })))
    }

    /// Returns the budget of the caller's long pieces of answers.
    pub(crate) fn long(&self, caller: &Caller) -> TokenBudget {
        self.part(caller.of_token(), &self.0.budgets.answers)
    }

    /// Returns the part of a budget that a token may use; all callers without tokens share one.
    pub(crate) fn part(&self, token: &str, of: &Budget) -> TokenBudget {
        self.0.parts.part(token, of)
    }

    /// Returns the maximum wait of a request for bytes of a budget.
    pub(crate) fn patience(&self) -> Duration {
        (self.0.options.request_timeout / 2).min(PATIENCE)
    }

    /// Returns a permit for one more event stream.
    pub(crate) fn one_more_stream(
        &self,
        caller: &Caller,
    ) -> std::result::Result<StreamPermit, ApiError> {
        let most = self.0.options.streams;
        let own = (most / STREAMS_PART).max(1);
        let of_token = match &caller.token {
            Some(token) => {
                let one = self.0.streams_of.one_more(token, own);
                let text = format!("the token has {own} event streams already: end one of them");
                Some(one.ok_or(ApiError::unavailable(text))?)
            }
            None => None,
        };
        let of_all = Arc::clone(&self.0.streams).try_acquire_owned();
        let of_all = of_all.map_err(|_| {
            let text = format!("there are {most} event streams already: ask again later");
            ApiError::unavailable(text)
        })?;
        Ok(StreamPermit { _of_all: of_all, _of_token: of_token })
    }

    /// Waits until an append of this many bytes may run without a thread.
    pub(crate) async fn room(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        let bytes = bytes.min(SMALL_APPENDS);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.0.room.acquire_many(bytes).await.ok()
    }

    /// Returns what saves idle tasks, unless another service of the engine does.
    pub(crate) fn autosaves(&self) -> Option<Arc<Checkpointer>> {
        self.0.options.checkpoints.clone().filter(|_| !self.0.is_second)
    }

    /// Returns the number of open event streams.
    pub(crate) fn streams(&self) -> usize {
        self.0.options.streams - self.0.streams.available_permits()
    }

    /// Signals that the service stops, and asks its jobs to end.
    pub(crate) fn stop(&self) {
        self.0.jobs.stop(self.0.is_second);
        self.0.stop.send_replace(true);
    }

    /// Returns a receiver of the stop signal.
    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.0.stop.subscribe()
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.0.clock.now_us()
    }

    /// Returns the current engine.
    pub(crate) fn engine(&self) -> Engine {
        self.0.engine.read().clone()
    }

    /// Returns the reader of lineages, with its maps of lineages.
    pub(crate) fn reader(&self) -> Arc<Reader> {
        Arc::clone(&self.0.reader)
    }

    /// Replaces the engine.
    pub(crate) fn replace(&self, engine: Engine) {
        *self.0.engine.write() = engine;
        // The new engine may have other commits under the same numbers.
        self.0.reader.clear();
        self.0.summaries.clear();
        self.0.folds.clear();
    }

    /// Returns `true` if less than the reserve is free on the store's disk.
    pub(crate) fn is_full(&self) -> bool {
        self.0.disk.is_full(&self.engine(), self.0.options.disk_reserve)
    }

    /// Returns the free bytes of the store's disk, if known.
    pub(crate) fn free(&self) -> Option<u64> {
        self.0.disk.free(&self.engine())
    }

    /// Runs blocking work with the engine on a thread.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let slot = Slot::empty();
        self.run(slot.filled_by(work)).await?;
        slot.take()
    }

    async fn run(&self, work: Work) -> Result<(), ApiError> {
        let (app, asked) = (self.clone(), RequestContext::now());
        // The flag is set when this future is dropped.
        let cancel = Cancel::new();
        let waits = Waits::new(&cancel);
        let work = move || {
            let engine = app.engine().with_cancel(&cancel);
            work(&RequestContext::engine(asked.as_ref(), &engine));
        };
        let done = tokio::task::spawn_blocking(work).await;
        waits.done();
        done.map_err(|panic| {
            bug("", panic);
            ApiError::Bug
        })
    }

    /// Runs blocking work with what a caller sees of the engine on a thread.
    pub(crate) async fn view<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&View<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let slot = Slot::empty();
        self.run_view(caller, false, slot.filled_by_view(work)).await?;
        slot.take()
    }

    /// Runs work with what a caller sees of the engine on a thread; expensive work needs a permit.
    pub(crate) async fn run_view(
        &self,
        caller: &Caller,
        is_long: bool,
        work: ViewWork,
    ) -> Result<(), ApiError> {
        let (asks, reader) = (caller.clone(), self.reader());
        let work: Work = Box::new(move |engine| work(&asks.view(engine).with_reader(&reader)));
        match is_long {
            true => self.run_held(caller.of_token(), work).await.map(drop),
            false => self.run(work).await,
        }
    }

    /// Runs expensive work with what a caller sees of the engine, which needs a permit.
    pub(crate) async fn long_view<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&View<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let slot = Slot::empty();
        self.run_view(caller, true, slot.filled_by_view(work)).await?;
        slot.take()
    }

    /// Runs expensive work with the engine, which needs a permit.
    pub(crate) async fn long_work<T: Send + 'static>(
        &self,
        token: &str,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (done, _) = self.long_work_held(token, work).await?;
        Ok(done)
    }

    /// Like `long_work`, and returns the permit with the result, for callers that hold the result
    /// until its bytes are counted. If the caller is dropped, the work keeps its permit until it
    /// ends, because it still holds its memory.
    pub(crate) async fn long_work_held<T: Send + 'static>(
        &self,
        token: &str,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<(T, Option<Heavy>), ApiError> {
        let slot = Slot::empty();
        let held = self.run_held(token, slot.filled_by(work)).await?;
        Ok((slot.take()?, held))
    }

    async fn run_held(&self, token: &str, work: Work) -> Result<Option<Heavy>, ApiError> {
        let one = self.permits.heavy(token).await;
        let run = move |engine: &Engine| {
            work(engine);
            Ok(one)
        };
        self.work(run).await
    }
}

/// Work with the engine that puts its result into a [`Slot`]: what runs it is compiled once, and
/// not for each piece of work.
pub(crate) type Work = Box<dyn FnOnce(&Engine) + Send>;

/// [`Work`] with what a caller sees of the engine.
pub(crate) type ViewWork = Box<dyn FnOnce(&View<'_>) + Send>;

/// The place of a result that another thread computes.
pub(crate) struct Slot<T>(Arc<Mutex<Option<Result<T, ApiError>>>>);

impl<T: Send + 'static> Slot<T> {
    pub(crate) fn empty() -> Self {
        Self(Arc::default())
    }

    fn filled_by(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Work {
        let slot = Arc::clone(&self.0);
        Box::new(move |engine| *slot.lock() = Some(work(engine)))
    }

    pub(crate) fn filled_by_view(
        &self,
        work: impl FnOnce(&View<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> ViewWork {
        let slot = Arc::clone(&self.0);
        Box::new(move |view| *slot.lock() = Some(work(view)))
    }

    /// Returns the result of the work, which has ended.
    pub(crate) fn take(self) -> Result<T, ApiError> {
        self.0.lock().take().unwrap_or(Err(ApiError::Bug))
    }
}

#[cfg(test)]
mod tests {
    use milepost::Options;
    use milepost::clock::SystemClock;

    use super::*;

    fn served() -> (Engine, App) {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let (tokens, options) = (Tokens::none(), ServerOptions::default());
        let app = App::new(engine.clone(), tokens, options, Box::new(SystemClock)).unwrap();
        (engine, app)
    }

    /// Drops a piece of work after it has begun.
    async fn drop_once_begun<T>(
        work: impl Future<Output = T>,
        begins: tokio::sync::oneshot::Receiver<()>,
    ) {
        tokio::select! {
            biased;
            _ = work => panic!("it ended"),
            begun = begins => begun.unwrap(),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_read_whose_caller_is_dropped_ends() {
        let (engine, app) = served();
        engine.start_task("t", "ana").unwrap();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (ended, ends) = tokio::sync::oneshot::channel();
        let work = app.work(move |engine| {
            let task = engine.task("t")?;
            let _ = begun.send(());
            let read = || task.read(0..)?.next().transpose();
            while read().is_ok() {}
            let _ = ended.send(());
            Ok(())
        });
        drop_once_begun(work, begins).await;
        ends.await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_whose_caller_is_dropped_keeps_its_leave_until_it_ends() {
        let (_engine, app) = served();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let work = app.long_work("token", move |_| {
            let _ = begun.send(());
            let _ = ends.recv();
            Ok(())
        });
        drop_once_begun(work, begins).await;
        let mut next = Box::pin(app.permits.heavy("token"));
        tokio::select! {
            biased;
            _ = &mut next => panic!("the token has leave for two"),
            () = tokio::task::yield_now() => {}
        }
        drop(end);
        assert!(next.await.is_some());
    }
}
