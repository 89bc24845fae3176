//! Attached engines: the process that holds a store serves it on a socket inside it.

use std::fs::DirBuilder;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use milepost::Engine;
use milepost::clock::SystemClock;
use milepost::internals::threads;
use milepost_sockets::Near;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::listener::Listening;
use crate::options::ServerOptions;
use crate::server::Server;
use crate::tokens::{FOLDER, Tokens};

/// The name of the socket in the `server` folder.
const SOCKET: &str = "socket";

/// Default time that dropping [`Attached`] waits for active requests.
const DRAIN: Duration = Duration::from_secs(5);

/// An engine served on a socket in its store until this is dropped.
#[derive(Debug)]
#[must_use = "it answers for as long as this is held"]
pub struct Attached {
    socket: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves all routes of an engine on a Unix socket in its store, `server/socket`, so that other
/// processes can watch and control a running program. The socket has mode 0600 and accepts only
/// root and the user of this process. They need no token and may do everything that this process
/// may: jobs read and write folders and files, see `docs/TRUST.md`. Serving takes one thread and
/// ends when the result is dropped, once its jobs have ended.
///
/// ```
/// use milepost::{Engine, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let store = dir.path().join(".milepost");
/// let engine = Engine::open(&store, Options::default())?;
/// let attached = milepost_server::attach(&engine)?;
/// assert_eq!(attached.socket(), store.join("server/socket"));
/// // curl --unix-socket .milepost/server/socket http://localhost/v1/tasks
/// drop(attached); // before the engine is closed: requests under way are answered
/// engine.close()?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// `InvalidInput`: a store in memory has no folder. `AddrInUse`: this process is already attached
/// to it. Errors of the file system and of starting a thread.
pub fn attach(engine: &Engine) -> Result<Attached> {
    attach_with(engine, ServerOptions::default())
}

/// Like [`attach`], with other options. Open requests are waited for as briefly as in [`attach`].
///
/// # Errors
///
/// As [`attach`].
pub fn attach_with(engine: &Engine, options: ServerOptions) -> Result<Attached> {
    // Tokens do not apply here: the kernel reports the peer's user, and only the owner and root are
    // accepted.
    let options =
        ServerOptions { drain: DRAIN, is_at_store: true, sessions_only: false, ..options };
    attached(Server::new(engine, Tokens::none(), options).map_err(Error::other)?)
}

impl Server {
    /// Also serves the engine on the socket in its store: see [`attach`](crate::attach).
    ///
    /// # Errors
    ///
    /// As [`attach`](crate::attach).
    pub fn attach(&self) -> Result<Attached> {
        let options = self.app.options.clone();
        let options =
            ServerOptions { drain: DRAIN, is_at_store: true, sessions_only: false, ..options };
        // No tokens, as in `attach_with`.
        let app = self.app.sharing(Tokens::none(), options, Box::new(SystemClock));
        attached(Self { app: app.map_err(Error::other)?, forward: None })
    }
}

/// Serves on the socket in the server's store.
fn attached(server: Server) -> Result<Attached> {
    let engine = server.engine();
    engine.store().check_writable().map_err(Error::other)?;
    let Some(store) = engine.store().chunks().folder().map(Path::to_owned) else {
        let text = "a store in memory has no folder where a socket could be";
        return Err(Error::new(ErrorKind::InvalidInput, text));
    };
    let folder = store.join(FOLDER);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let socket = folder.join(SOCKET);
    let near = Near::of(&socket)?;
    let (stop, stopped) = oneshot::channel();
    let (listens, told) = mpsc::channel();
    // The caller may already be inside an async runtime, which cannot start another one.
    let thread = threads::start("attached", move || {
        answer(&server, near.path().to_owned(), &listens, stopped);
    });
    let thread = thread.map_err(Error::other)?;
    told.recv().map_err(Error::other)??;
    Ok(Attached { socket, stop: Some(stop), thread: Some(thread) })
}

/// Serves on its own runtime, and reports when it listens or why it does not.
fn answer(
    server: &Server,
    socket: PathBuf,
    listens: &mpsc::Sender<Result<()>>,
    stopped: oneshot::Receiver<()>,
) {
    let answered = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let served = runtime.block_on(async {
            let listening = Listening::unix(socket).await?;
            let _ = listens.send(Ok(()));
            let stop = async move { drop(stopped.await) };
            server.serve(listening, stop).await
        });
        // Work that is still in the engine is awaited when the engine closes, not here.
        runtime.shutdown_background();
        served
    });
    if let Err(error) = answered {
        // After a successful start the receiver is gone.
        let _ = listens.send(Err(error));
    }
}

impl Attached {
    /// Returns the path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already reported.
            let _ = thread.join();
        }
    }
}
