//! The server of an engine.

use std::future::Future;
use std::io::ErrorKind::PermissionDenied;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use milepost::clock::{Clock, SystemClock};
use milepost::{Engine, Options, Result};
use tokio::sync::watch;

use crate::app::App;
use crate::compress;
use crate::connections;
use crate::error::ApiError;
use crate::forward::Forward;
use crate::keep_open::KeptOpen;
use crate::listener::Listening;
use crate::middleware::around;
use crate::options::ServerOptions;
use crate::routes;
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
    pub(crate) app: App,
    /// The service that answers for this one, of which only the page and its sessions are.
    pub(crate) forward: Option<Arc<Forward>>,
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
        let app = App::new(engine.clone(), tokens, options, Box::new(clock))?;
        Ok(Self { app, forward: None })
    }

    /// Creates a server of the page of a store that another program has open. It has the page and
    /// its sessions, which begin with a [`Server::code`]; every other request of `/v1` needs one.
    /// The service at `socket`, which [`attach`](crate::attach) made, answers those requests as
    /// the user of this process; it has to run as the same user, or root.
    ///
    /// ```no_run
    /// use milepost_server::{Server, ServerOptions};
    ///
    /// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::forwarding(".milepost/server/socket", ServerOptions::default())?;
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// println!("http://{}/#code={}", listener.local_addr()?, server.code()?);
    /// server.serve(listener, std::future::pending()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Unavailable`: the system provides no random bytes.
    pub fn forwarding(socket: impl Into<PathBuf>, options: ServerOptions) -> Result<Self> {
        // No route of this server reads it.
        let none = Engine::in_memory(Options::default())?;
        let server = Self::new(&none, Tokens::none(), options.sessions_only(true))?;
        Ok(Self { forward: Some(Arc::new(Forward::new(socket.into()))), ..server })
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
        Ok(!self.app.tokens.any()?)
    }

    /// Creates a code, 32 hexadecimal digits, which begins one session within 60 seconds: of the
    /// user `local`, who has all rights, as the program that serves has them.
    ///
    /// ```
    /// use milepost::{Engine, Options};
    /// use milepost_server::{Server, ServerOptions, Tokens};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let options = ServerOptions::default().sessions_only(true);
    /// let code = Server::new(&engine, Tokens::none(), options)?.code()?;
    /// assert_eq!(code.len(), 32);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Unavailable`: the system provides no random bytes.
    pub fn code(&self) -> Result<String> {
        self.app.sessions.code(self.app.now_us())
    }

    /// Returns the current engine.
    pub fn engine(&self) -> Engine {
        self.app.engine()
    }

    /// Returns all routes, to embed in another service. If no token was created, every request to
    /// `localhost` has all rights: the embedding service must check its peers.
    pub fn router(&self) -> Router {
        let routes = self.forward.as_ref().map_or_else(routes::all, Forward::routes);
        routes
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
        let any = self.app.tokens.any().map_err(std::io::Error::other)?;
        if !any && !listening.is_here()? {
            let at = listening.at()?;
            let text = format!("no token was created: anyone who reaches {at} could do everything");
            return Err(std::io::Error::new(PermissionDenied, text));
        }
        let (stopping, stopped) = watch::channel(false);
        let stop = async {
            stop.await;
            self.app.stop();
            stopping.send_replace(true);
        };
        let answers = async {
            tokio::select! {
                () = connections::answer(&self.app, self.router(), listening, stopped) => {}
                () = self.autosaves() => {}
            }
        };
        tokio::join!(stop, answers);
        // They use the engine, which the caller may close now.
        self.app.jobs.all_ended().await;
        Ok(())
    }

    /// Saves idle tasks again and again. Never ends.
    async fn autosaves(&self) {
        let checkpoints = self.app.autosaves();
        let Some((checkpoints, every)) =
            checkpoints.and_then(|it| it.autosave_every().map(|every| (it, every)))
        else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(every).await;
            let checkpoints = Arc::clone(&checkpoints);
            let saved = self.app.work(move |engine| Ok(checkpoints.autosave(engine))).await;
            if let Ok(1..) = saved {
                tracing::debug!(target: "milepost::http", ?saved, "idle tasks were saved");
            }
        }
    }
}
