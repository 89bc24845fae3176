//! A store in use: whoever may open it reaches the program that has it open.

use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use milepost::Engine;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::listener::{Listening, PATH_MAX};
use crate::options::ServerOptions;
use crate::server::Server;
use crate::tokens::{FOLDER, Tokens};

/// The socket in that folder.
const SOCKET: &str = "socket";

/// How long the end of a program waits for requests under way, unless the options say another time.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);

/// An engine that answers at a socket in its store, for as long as this is held.
#[derive(Debug)]
#[must_use = "it answers for as long as this is held"]
pub struct Attached {
    socket: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Has an engine answer all routes on a Unix socket in its store, `server/socket`: so a running
/// program can be watched and steered from outside. The socket has mode 0600, and only the user of
/// this process and root may ask: whoever could open the store may do all, without a token. It
/// takes one thread, and ends where what is given is dropped.
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
/// `InvalidInput`: a store in memory has no folder. `AddrInUse`: this process is attached to it
/// already. Those of the file system, and of starting a thread.
pub fn attach(engine: &Engine) -> Result<Attached> {
    attach_with(engine, ServerOptions::default().drain(DRAIN))
}

/// The same with other limits.
///
/// # Errors
///
/// As [`attach`].
pub fn attach_with(engine: &Engine, options: ServerOptions) -> Result<Attached> {
    // Where no token counts, whoever gets through to the socket is let in: the kernel says who that
    // is.
    attached(Server::new(engine, Tokens::none(), options).map_err(Error::other)?)
}

/// Has a server answer at the socket in its store.
pub(crate) fn attached(server: Server) -> Result<Attached> {
    let engine = server.engine();
    engine.check_writable().map_err(Error::other)?;
    let Some(store) = engine.chunk_store().folder().map(Path::to_owned) else {
        let text = "a store in memory has no folder where a socket could be";
        return Err(Error::new(ErrorKind::InvalidInput, text));
    };
    let folder = store.join(FOLDER);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let socket = folder.join(SOCKET);
    let (near, held) = near(&folder, &socket)?;
    let (stop, stopped) = oneshot::channel();
    let (listens, told) = mpsc::channel();
    let thread = std::thread::Builder::new().name("milepost-attached".into());
    // Whoever calls this may be on a runtime of their own, where none can be begun.
    let thread = thread.spawn(move || {
        answer(&server, near, &listens, stopped);
        drop(held);
    })?;
    told.recv().map_err(Error::other)??;
    Ok(Attached { socket, stop: Some(stop), thread: Some(thread) })
}

/// A name for the socket that is short enough for one, and what has to be held for that.
fn near(folder: &Path, socket: &Path) -> Result<(PathBuf, Option<File>)> {
    if socket.as_os_str().len() <= PATH_MAX {
        return Ok((socket.to_owned(), None));
    }
    let folder = File::open(folder)?;
    let near = format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd());
    Ok((near.into(), Some(folder)))
}

/// Answers on a runtime of its own, and says when it listens, or why it does not.
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
        // What is still at work with the engine is waited for by its closing, and by nobody here.
        runtime.shutdown_background();
        served
    });
    if let Err(error) = answered {
        // Where it listened, nobody asks any more.
        let _ = listens.send(Err(error));
    }
}

impl Attached {
    /// Where the socket is.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // What panicked there has said so.
            let _ = thread.join();
        }
    }
}
