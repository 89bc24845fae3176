//! An engine that is served.

use std::future::Future;
use std::io::ErrorKind::PermissionDenied;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use milepost::{Clock, Engine, ErrorKind, Result, SystemClock, unless_given_up};
use parking_lot::RwLock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};

use crate::append_task;
use crate::attach::{Attached, DRAIN, attached};
use crate::auth::Caller;
use crate::budget::{self, Budget, Budgets, TokenBudget};
use crate::compress;
use crate::connections;
use crate::disk::Disk;
use crate::error::ApiError;
use crate::folds::Folds;
use crate::keep_open::KeptOpen;
use crate::listener::Listening;
use crate::meters::Meters;
use crate::middleware::{Ids, UnderWay, around, bug};
use crate::options::ServerOptions;
use crate::permit::{Heavy, Permits};
use crate::quotas::Quotas;
use crate::request_scope::Asked;
use crate::routes;
use crate::streams::Feeds;
use crate::tokens::Tokens;

/// An engine that is served over HTTP.
///
/// ```no_run
/// use milepost::{Engine, Options};
/// use milepost_server::{Server, ServerOptions, Tokens};
///
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::open(".milepost", Options::default())?;
/// let tokens = Tokens::of_store(".milepost");
/// let server = Server::new(&engine, tokens, ServerOptions::default())?;
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:7733").await?;
/// server.serve(listener, async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await?;
/// engine.close()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Server {
    app: App,
}

/// A request waits for bytes of a budget at most so long.
const PATIENCE: Duration = Duration::from_secs(10);

/// A token has this part of all event streams: one over it.
const STREAMS_PART: usize = 4;

/// Leave for an event stream.
pub(crate) struct StreamPermit {
    _of_all: OwnedSemaphorePermit,
    _of_token: Option<OwnedSemaphorePermit>,
}

/// What every route needs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    /// Another one after it was opened again: see [`Server::keep_open`].
    engine: Arc<RwLock<Engine>>,
    tokens: Tokens,
    options: ServerOptions,
    clock: Box<dyn Clock>,
    ids: Ids,
    under_way: UnderWay,
    meters: Meters,
    feeds: Feeds,
    disk: Disk,
    budgets: Arc<Budgets>,
    folds: Folds,
    quotas: Quotas,
    /// The part of the budgets that each token has.
    parts: budget::Tokens,
    permits: Permits,
    /// One for each event stream that there may be.
    streams: Arc<Semaphore>,
    /// For bytes of appends that no thread waits for.
    room: Semaphore,
    /// Those of each token.
    streams_of: UnderWay,
    /// Whether it is being stopped.
    stop: watch::Sender<bool>,
}

/// Sets its flag when it is dropped: the work has no caller then.
struct Waits(Arc<AtomicBool>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

impl Server {
    /// Of an engine, for whom these tokens let in. The engine stays with the caller, who closes it.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the system gives no random bytes. `Corrupt` and `Unavailable` where the
    /// tokens cannot be read.
    pub fn new(engine: &Engine, tokens: Tokens, options: ServerOptions) -> Result<Self> {
        Self::with_clock(engine, tokens, options, SystemClock)
    }

    /// The same with a clock of one's own: for tests.
    ///
    /// # Errors
    ///
    /// As [`Server::new`].
    pub fn with_clock(
        engine: &Engine,
        tokens: Tokens,
        options: ServerOptions,
        clock: impl Clock + 'static,
    ) -> Result<Self> {
        let engine = Arc::new(RwLock::new(engine.clone()));
        let budgets = Arc::new(Budgets::new(options.memory));
        Self::of(engine, budgets, tokens, options, Box::new(clock))
    }

    /// The same engine, and bytes, for others.
    fn of(
        engine: Arc<RwLock<Engine>>,
        budgets: Arc<Budgets>,
        tokens: Tokens,
        options: ServerOptions,
        clock: Box<dyn Clock>,
    ) -> Result<Self> {
        tokens.any()?;
        let streams = Arc::new(Semaphore::new(options.streams));
        let inner = Inner {
            engine,
            disk: Disk::default(),
            tokens,
            options,
            clock,
            ids: Ids::new()?,
            under_way: UnderWay::default(),
            meters: Meters::default(),
            feeds: Feeds::default(),
            budgets,
            folds: Folds::default(),
            quotas: Quotas::default(),
            parts: budget::Tokens::default(),
            permits: Permits::default(),
            streams,
            room: Semaphore::new(append_task::UNDER_WAY),
            streams_of: UnderWay::default(),
            stop: watch::Sender::new(false),
        };
        Ok(Self { app: App(Arc::new(inner)) })
    }

    /// Answers at the socket in the store, too, with the same engine: see
    /// [`attach`](crate::attach).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn attach(&self) -> std::io::Result<Attached> {
        let options = self.app.options().clone().drain(DRAIN);
        let inner = &self.app.0;
        let server = Self::of(
            Arc::clone(&inner.engine),
            Arc::clone(&inner.budgets),
            // Where no token counts, whoever gets through to the socket is let in: the kernel says
            // who that is.
            Tokens::none(),
            options,
            Box::new(SystemClock),
        );
        attached(server.map_err(std::io::Error::other)?)
    }

    /// Opens the store again by itself where a write failed, once its disk has room: `open` does,
    /// when the failed engine is closed. Until then, and while it cannot be opened, requests are
    /// answered 503.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub fn keep_open(
        &self,
        open: impl Fn() -> std::result::Result<Engine, String> + Send + 'static,
    ) -> std::io::Result<KeptOpen> {
        KeptOpen::start(self.app.clone(), open)
    }

    /// Returns `true` if no token was made, so that everybody who reaches it may do all.
    ///
    /// # Errors
    ///
    /// The tokens cannot be read.
    pub fn is_open_to_all(&self) -> Result<bool> {
        Ok(!self.app.tokens().any()?)
    }

    /// The engine that is open now.
    pub fn engine(&self) -> Engine {
        self.app.engine()
    }

    /// All routes, to be part of a service of one's own. Where no token was made, whoever says that
    /// they ask `localhost` may do everything: who connects has to be looked at by that service.
    pub fn router(&self) -> Router {
        routes::all()
            .fallback(|| async { ApiError::no_path() })
            .method_not_allowed_fallback(|| async { ApiError::Method })
            .layer(from_fn_with_state(self.app.clone(), around))
            .layer(compress::layer())
            .layer(from_fn(compress::tagged))
            .with_state(self.app.clone())
    }

    /// Answers on a listener, or wherever else it is [`Listening`], until `stop` is done: then
    /// nothing new is taken, and what was accepted is answered, as far as that takes no longer than
    /// [`ServerOptions::drain`]. Event streams of all who share this server end then, wherever else
    /// it is served.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` where there is no token and the listener is neither on a loopback address
    /// nor on a socket: whoever reached it could do everything. Those of the listener.
    pub async fn serve(
        &self,
        listening: impl Into<Listening>,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let listening = listening.into();
        let any = self.app.tokens().any().map_err(std::io::Error::other)?;
        if !any && !listening.is_here()? {
            let at = listening.at()?;
            let text = format!("no token was made: whoever reaches {at} could do everything");
            return Err(std::io::Error::new(PermissionDenied, text));
        }
        let (stopping, stopped) = watch::channel(false);
        let stop = async {
            stop.await;
            self.app.0.stop.send_replace(true);
            stopping.send_replace(true);
        };
        tokio::join!(stop, connections::answer(&self.app, self.router(), listening, stopped));
        Ok(())
    }
}

impl App {
    pub(crate) fn options(&self) -> &ServerOptions {
        &self.0.options
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.0.ids
    }

    pub(crate) fn under_way(&self) -> &UnderWay {
        &self.0.under_way
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.0.meters
    }

    pub(crate) fn quotas(&self) -> &Quotas {
        &self.0.quotas
    }

    pub(crate) fn folds(&self) -> &Folds {
        &self.0.folds
    }

    pub(crate) fn budgets(&self) -> &Budgets {
        &self.0.budgets
    }

    /// The long pieces of answers to somebody.
    pub(crate) fn long(&self, caller: &Caller) -> TokenBudget {
        self.part(caller.of_token(), &self.0.budgets.answers)
    }

    /// A budget as a token may use it; all who need none are counted as one.
    pub(crate) fn part(&self, token: &str, of: &Budget) -> TokenBudget {
        self.0.parts.part(token, of)
    }

    pub(crate) fn permits(&self) -> &Permits {
        &self.0.permits
    }

    /// How long a request waits for bytes of a budget.
    pub(crate) fn patience(&self) -> Duration {
        (self.0.options.request_timeout / 2).min(PATIENCE)
    }

    pub(crate) fn feeds(&self) -> &Feeds {
        &self.0.feeds
    }

    /// Leave for one more event stream, for as long as it is held.
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
                Some(one.ok_or(ApiError::Engine(ErrorKind::Unavailable, text, None))?)
            }
            None => None,
        };
        let of_all = Arc::clone(&self.0.streams).try_acquire_owned();
        let of_all = of_all.map_err(|_| {
            let text = format!("there are {most} event streams already: ask again later");
            ApiError::Engine(ErrorKind::Unavailable, text, None)
        })?;
        Ok(StreamPermit { _of_all: of_all, _of_token: of_token })
    }

    /// Room for an append of so many bytes that no thread waits for.
    pub(crate) async fn room(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        let bytes = bytes.min(append_task::UNDER_WAY);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.0.room.acquire_many(bytes).await.ok()
    }

    /// How many event streams there are.
    pub(crate) fn streams(&self) -> usize {
        self.0.options.streams - self.0.streams.available_permits()
    }

    /// Whether it is being stopped, to be waited for.
    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.0.stop.subscribe()
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.0.clock.now_us()
    }

    /// The engine that is open now.
    pub(crate) fn engine(&self) -> Engine {
        self.0.engine.read().clone()
    }

    /// Answers with another engine from now on.
    pub(crate) fn replace(&self, engine: Engine) {
        *self.0.engine.write() = engine;
    }

    /// Free bytes of the store's disk, as far as they are known.
    pub(crate) fn free(&self) -> Option<u64> {
        self.0.disk.free(&self.engine())
    }

    /// Does something with the engine, which may wait for the disk.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (app, asked) = (self.clone(), Asked::now());
        let given_up = Arc::new(AtomicBool::new(false));
        // Set where this future is dropped.
        let waits = Waits(Arc::clone(&given_up));
        let work = move || {
            unless_given_up(&given_up, || Asked::on_behalf(asked.as_ref(), || work(&app.engine())))
        };
        let done = tokio::task::spawn_blocking(work).await;
        drop(waits);
        done.unwrap_or_else(|panic| {
            bug("", panic);
            Err(ApiError::Bug)
        })
    }

    /// Does something with the engine that takes long.
    pub(crate) async fn long_work<T: Send + 'static>(
        &self,
        token: &str,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (done, _) = self.long_work_held(token, work).await?;
        Ok(done)
    }

    /// Like `long_work`, and returns the leave with the result, for callers that hold the result
    /// until its bytes are counted. The work keeps the leave where the caller is dropped: until it
    /// sees the flag it has all its memory.
    pub(crate) async fn long_work_held<T: Send + 'static>(
        &self,
        token: &str,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<(T, Option<Heavy>), ApiError> {
        let one = self.permits().heavy(token).await;
        self.work(move |engine| work(engine).map(|done| (done, one))).await
    }
}

#[cfg(test)]
mod tests {
    use milepost::Options;

    use super::*;

    fn served() -> (Engine, Server) {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let server = Server::new(&engine, Tokens::none(), ServerOptions::default()).unwrap();
        (engine, server)
    }

    /// Drops a piece of work once it says that it has begun.
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
        let (engine, server) = served();
        let task = engine.start_task("t", "ana").unwrap();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (ended, ends) = tokio::sync::oneshot::channel();
        let work = server.app.work(move |_| {
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
        let (_engine, server) = served();
        let app = &server.app;
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let work = app.long_work("token", move |_| {
            let _ = begun.send(());
            let _ = ends.recv();
            Ok(())
        });
        drop_once_begun(work, begins).await;
        let mut next = Box::pin(app.permits().heavy("token"));
        tokio::select! {
            biased;
            _ = &mut next => panic!("the token has leave for two"),
            () = tokio::task::yield_now() => {}
        }
        drop(end);
        assert!(next.await.is_some());
    }
}
