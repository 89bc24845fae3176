//! Connection to the program that has a store, and its answers.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use milepost::ErrorKind;
use milepost_client::{Client, ClientBuilder};
use tokio::runtime::Runtime;

use crate::error::{Failure, MAY_BE_DONE, Result};

/// A store behind another program.
pub struct Remote {
    pub(in crate::backend) client: Client,
    pub(super) runtime: Runtime,
    /// Description of the program, for messages.
    place: String,
    at: Listener,
    /// Set once an answer was lost.
    is_lost: AtomicBool,
    /// Set once a change was asked that was made, or may have been.
    may_have_changed: AtomicBool,
}

/// The place at which the program answers.
enum Listener {
    /// The address of a service.
    Url(String),
    /// The socket in a store: a folder is the same one for that program.
    Socket(PathBuf),
}

/// Time limit of a whole answer. A verification of a large store takes minutes.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// The longest wait for the end of a program that does not answer any more, and the time between
/// two looks.
const ENDS: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(20);

/// The time limit of the first answer of a program that has the store open.
const PATIENCE: Duration = Duration::from_secs(3);

/// Number of programs that a command asks, of those that have the store open one after the other.
const TRIES: usize = 3;

/// The end of a command that may have asked another program.
pub enum Attempt<T> {
    Done(Result<T>),
    /// That program ended before it answered. The command can be run again, on the store or the
    /// next program that has it.
    Lost(Failure),
}

/// Runs a command that finds the store, again where the program that had it ended first.
pub fn asking_again<T>(mut run: impl FnMut() -> Result<Attempt<T>>) -> Result<T> {
    for _ in 1..TRIES {
        match run()? {
            Attempt::Done(done) => return done,
            Attempt::Lost(_) => {}
        }
    }
    match run()? {
        Attempt::Done(done) => done,
        Attempt::Lost(failure) => Err(failure),
    }
}

impl Remote {
    /// Connects to a service at an address. The token comes from the environment: other users can
    /// see a command line.
    pub fn at(url: &str) -> Result<Self> {
        let mut client = ClientBuilder::new(url).timeout(TIMEOUT);
        if let Ok(token) = std::env::var("MILEPOST_TOKEN") {
            client = client.token(token.trim());
        }
        let client = client.build().map_err(|error| match error.kind() {
            milepost_client::ErrorKind::Invalid => {
                Failure::new(format!("`{url}` is no address of a service"))
                    .of_kind(ErrorKind::Invalid)
                    .hint(
                        "an address begins with `http://` or `https://`, as in `--server \
                         http://HOST:PORT`",
                    )
            }
            _ => Failure::from(error).at(url),
        })?;
        Self::new(client, format!("the service at {url}"), Listener::Url(url.to_owned()))
    }

    /// Connects to the program that has a store open, if it listens at the store's socket.
    pub fn attached(socket: &Path) -> Result<Option<Self>> {
        if !milepost_client::is_listening(socket) {
            return Ok(None);
        }
        let client = ClientBuilder::unix(socket).timeout(TIMEOUT).build()?;
        let place = format!("the program that answers at {}", socket.display());
        Ok(Some(Self::new(client, place, Listener::Socket(socket.to_owned()))?))
    }

    /// Returns `true` if the program answers. A stopped one keeps the store and its socket, and
    /// sends nothing.
    pub fn answers(&self) -> bool {
        let asked = async { tokio::time::timeout(PATIENCE, self.client.health()).await };
        match self.block_on(asked) {
            Ok(Err(error)) => error.kind() != milepost_client::ErrorKind::Transport,
            answered => answered.is_ok(),
        }
    }

    /// Waits a moment for the end of the program at a socket in a store. Returns `true` if nothing
    /// listens there any more.
    pub fn ends(&self) -> bool {
        let Some(socket) = self.socket() else { return false };
        let mut left = ENDS;
        while milepost_client::is_listening(socket) {
            if left.is_zero() {
                return false;
            }
            std::thread::sleep(STEP);
            left = left.saturating_sub(STEP);
        }
        true
    }

    fn new(client: Client, place: String, at: Listener) -> Result<Self> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build()?;
        let (is_lost, may_have_changed) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self { client, runtime, place, at, is_lost, may_have_changed })
    }

    /// Returns the socket in a store at which the program answers; `None` for another address.
    pub fn socket(&self) -> Option<&Path> {
        match &self.at {
            Listener::Socket(socket) => Some(socket),
            Listener::Url(_) => None,
        }
    }

    /// Returns the address of the service; `None` for a socket.
    pub fn url(&self) -> Option<&str> {
        match &self.at {
            Listener::Url(url) => Some(url),
            Listener::Socket(_) => None,
        }
    }

    /// Returns the description of the program, for messages.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the client, for [`Remote::answer`].
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Waits for a future. What waits is compiled once, and not for the type of each answer.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let mut answer = None;
        {
            let waits = pin!(async { answer = Some(future.await) });
            let waits: Pin<&mut dyn Future<Output = ()>> = waits;
            self.runtime.block_on(waits);
        }
        answer.expect("a future that ended has its answer")
    }

    /// Returns an answer, or its error as that of a store.
    pub fn answer<T>(
        &self,
        answer: impl Future<Output = milepost_client::Result<T>>,
    ) -> milepost::Result<T> {
        use milepost_client::ErrorKind as Kind;
        self.block_on(answer).map_err(|error| {
            self.note_loss(&error);
            let kind = match error.kind() {
                Kind::Invalid | Kind::TooLarge => ErrorKind::Invalid,
                Kind::NotFound => ErrorKind::NotFound,
                Kind::Conflict => ErrorKind::Conflict,
                Kind::Corrupt => ErrorKind::Corrupt,
                Kind::Poisoned => ErrorKind::Poisoned,
                _ => ErrorKind::Unavailable,
            };
            let text = match error.kind() {
                Kind::Transport => format!("{}: {error}", self.place),
                _ => error.detail().to_owned(),
            };
            milepost::Error::new(kind, text)
        })
    }

    pub(in crate::backend) fn wait<T>(
        &self,
        answer: impl Future<Output = milepost_client::Result<T>>,
    ) -> Result<T> {
        self.block_on(answer).map_err(|error| self.failed(error))
    }

    /// Waits for the answer to a change, and keeps in mind that it may have been made.
    pub(super) fn change<T>(
        &self,
        answer: impl Future<Output = milepost_client::Result<T>>,
    ) -> Result<T> {
        let answered = self.block_on(answer);
        if answered.as_ref().err().is_none_or(milepost_client::Error::was_reached) {
            self.may_have_changed.store(true, Ordering::Relaxed);
        }
        answered.map_err(|error| self.failed(error))
    }

    /// Starts a job. A program that ends takes none.
    pub(super) fn start<T>(
        &self,
        answer: impl Future<Output = milepost_client::Result<T>>,
    ) -> Result<T> {
        let answered = self.block_on(answer);
        let is_refused = |error: &milepost_client::Error| {
            error.kind() == milepost_client::ErrorKind::Unavailable && error.status() == Some(503)
        };
        match &answered {
            Err(error) if is_refused(error) => self.is_lost.store(true, Ordering::Relaxed),
            Err(error) if !error.was_reached() => {}
            _ => self.may_have_changed.store(true, Ordering::Relaxed),
        }
        answered.map_err(|error| self.failed(error))
    }

    /// Returns the end of a command that asked this program. It is to be run again if the program
    /// at the socket in a store ended before it answered, and no change was asked that may have
    /// been made.
    pub fn asked<T>(&self, done: Result<T>) -> Attempt<T> {
        let (is_lost, may_have_changed) = (&self.is_lost, &self.may_have_changed);
        match done {
            Err(failure) if is_lost.load(Ordering::Relaxed) => {
                if may_have_changed.load(Ordering::Relaxed) {
                    return Attempt::Done(Err(failure.hint(MAY_BE_DONE)));
                }
                match self.ends() {
                    true => Attempt::Lost(failure),
                    false => Attempt::Done(Err(failure)),
                }
            }
            done => Attempt::Done(done),
        }
    }

    fn note_loss(&self, error: &milepost_client::Error) {
        if error.kind() == milepost_client::ErrorKind::Transport {
            self.is_lost.store(true, Ordering::Relaxed);
        }
    }

    /// Converts an error, and names the program if it could not be reached.
    pub(super) fn failed(&self, error: milepost_client::Error) -> Failure {
        self.note_loss(&error);
        let transport = error.kind() == milepost_client::ErrorKind::Transport;
        let failure = Failure::from(error);
        match transport {
            true => failure.at(&self.place),
            false => failure,
        }
    }
}
