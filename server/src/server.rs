//! The server of an engine.

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
use crate::error::{ApiError, bug};
use crate::folds::Folds;
use crate::keep_open::KeptOpen;
use crate::listener::Listening;
use crate::meters::Meters;
use crate::middleware::around;
use crate::options::ServerOptions;
use crate::permit::{Heavy, Permits, UnderWay};
use crate::quotas::Quotas;
use crate::request_scope::{Asked, Ids};
use crate::routes;
use crate::streams::Feeds;
use crate::tokens::Tokens;

/// An engine served over HTTP.
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

/// The maximum wait of a request for bytes of a budget.
const PATIENCE: Duration = Duration::from_secs(10);

/// Divisor of the event streams: a token may have a quarter of them.
const STREAMS_PART: usize = 4;

/// A permit for an event stream.
pub(crate) struct StreamPermit {
    _of_all: OwnedSemaphorePermit,
    _of_token: Option<OwnedSemaphorePermit>,
}

/// The state shared by all routes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    /// Replaced when the store is reopened: see [`Server::keep_open`].
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
    /// The part of each budget that each token may use.
    parts: budget::Tokens,
    permits: Permits,
    /// One permit for each event stream.
    streams: Arc<Semaphore>,
    /// Bytes of appends that run without a thread.
    room: Semaphore,
    /// The event streams of each token.
    streams_of: UnderWay,
    /// True once the server is stopping.
    stop: watch::Sender<bool>,
}

/// Sets its flag when dropped, after which the work has no caller.
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
    /// Creates a server of an engine for the callers of `tokens`. The caller keeps the engine and
    /// closes it.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the system provides no random bytes, or the tokens cannot be read. `Corrupt`:
    /// the tokens are damaged.
    pub fn new(engine: &Engine, tokens: Tokens, options: ServerOptions) -> Result<Self> {
        Self::with_clock(engine, tokens, options, SystemClock)
    }

    /// Like [`Server::new`], with another clock, for tests.
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

    /// Creates a server that shares an engine and its budgets.
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

    /// Also serves the engine on the socket in its store: see [`attach`](crate::attach).
    ///
    /// # Errors
    ///
    /// As [`attach`](crate::attach).
    pub fn attach(&self) -> std::io::Result<Attached> {
        let options = self.app.options().clone().drain(DRAIN);
        let inner = &self.app.0;
        let server = Self::of(
            Arc::clone(&inner.engine),
            Arc::clone(&inner.budgets),
            // Tokens do not apply here: the kernel reports the peer's user, and only the owner and
            // root are accepted.
            Tokens::none(),
            options,
            Box::new(SystemClock),
        );
        attached(server.map_err(std::io::Error::other)?)
    }

    /// Reopens the store after a failed write, once its disk has space: closes the failed engine
    /// and calls `open`. Until that succeeds, requests are answered with 503.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn keep_open(
        &self,
        open: impl Fn() -> std::result::Result<Engine, String> + Send + 'static,
    ) -> std::io::Result<KeptOpen> {
        KeptOpen::start(self.app.clone(), open)
    }

    /// Returns true if no token was created, so that every caller has all rights.
    ///
    /// # Errors
    ///
    /// The tokens cannot be read.
    pub fn is_open_to_all(&self) -> Result<bool> {
        Ok(!self.app.tokens().any()?)
    }

    /// Returns the current engine.
    pub fn engine(&self) -> Engine {
        self.app.engine()
    }

    /// Returns all routes, to embed in another service. If no token was created, every request to
    /// `localhost` has all rights: the embedding service must check its peers.
    pub fn router(&self) -> Router {
        routes::all()
            .fallback(|| async { ApiError::no_path() })
            .method_not_allowed_fallback(|| async { ApiError::Method })
            .layer(from_fn_with_state(self.app.clone(), around))
            .layer(compress::layer())
            .layer(from_fn(compress::tagged))
            .with_state(self.app.clone())
    }

    /// Serves on a listener until `stop` completes. Then it accepts no more connections and answers
    /// accepted requests within [`ServerOptions::drain`]. The stop also ends the event streams of
    /// all other listeners of this server.
    ///
    /// # Errors
    ///
    /// `PermissionDenied`: no token was created, and the listener is neither on a loopback address
    /// nor on a socket, so every caller would have all rights. Errors of the listener.
    pub async fn serve(
        &self,
        listening: impl Into<Listening>,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let listening = listening.into();
        let any = self.app.tokens().any().map_err(std::io::Error::other)?;
        if !any && !listening.is_here()? {
            let at = listening.at()?;
            let text = format!("no token was created: anyone who reaches {at} could do everything");
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

    /// Returns the budget of the caller's long pieces of answers.
    pub(crate) fn long(&self, caller: &Caller) -> TokenBudget {
        self.part(caller.of_token(), &self.0.budgets.answers)
    }

    /// Returns the part of a budget that a token may use; all callers without tokens share one.
    pub(crate) fn part(&self, token: &str, of: &Budget) -> TokenBudget {
        self.0.parts.part(token, of)
    }

    pub(crate) fn permits(&self) -> &Permits {
        &self.0.permits
    }

    /// Returns the maximum wait of a request for bytes of a budget.
    pub(crate) fn patience(&self) -> Duration {
        (self.0.options.request_timeout / 2).min(PATIENCE)
    }

    pub(crate) fn feeds(&self) -> &Feeds {
        &self.0.feeds
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

    /// Waits until an append of this many bytes may run without a thread.
    pub(crate) async fn room(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        let bytes = bytes.min(append_task::UNDER_WAY);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.0.room.acquire_many(bytes).await.ok()
    }

    /// Returns the number of open event streams.
    pub(crate) fn streams(&self) -> usize {
        self.0.options.streams - self.0.streams.available_permits()
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

    /// Replaces the engine.
    pub(crate) fn replace(&self, engine: Engine) {
        *self.0.engine.write() = engine;
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
        let (app, asked) = (self.clone(), Asked::now());
        let given_up = Arc::new(AtomicBool::new(false));
        // Set when this future is dropped.
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
