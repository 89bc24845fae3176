//! The place of a store: an engine in this process, or a client of the program that has it open.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use milepost::internals::store_key_id;
use milepost::{Detail, Engine, ErrorKind, Options, StoreKey};
use milepost_client::{Client, ClientBuilder};
use milepost_langgraph::ThreadReducer;
use milepost_runtime::Keyring;
use milepost_server::Attached;
use tokio::runtime::Runtime;

use crate::errors::{Failure, Outcome};
use crate::runtime;
use crate::ticket::Completer;

/// The socket in the store, at which the program that has it open answers.
const SOCKET: &str = "server/socket";

/// The wait between two attempts to open a store.
const STEP: Duration = Duration::from_millis(20);

/// The time limit of an answer. A verification of a large store takes minutes.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// The key of a store, or the file of its anchor.
#[derive(Debug, Clone)]
pub enum Guard {
    /// The one in the user's keyring; a new store gets one.
    Auto,
    /// None.
    Off,
    /// A key's digits, or an anchor's path.
    Given(String),
}

/// The settings of an opening.
#[derive(Debug)]
pub struct Opening {
    pub key: Guard,
    pub anchor: Guard,
    pub create: bool,
    /// The longest wait for another process that has the store open.
    pub wait: Duration,
    pub cache_bytes: Option<usize>,
}

/// A store that can be used. Its parts wait for their threads when they are dropped. A forked child
/// has none of these, so it leaves the parts.
pub struct Place {
    /// Text for people.
    pub name: String,
    parts: ManuallyDrop<Parts>,
    /// The process that opened it.
    pid: u32,
}

/// The parts of a place, dropped in this order.
pub struct Parts {
    pub client: Client,
    pub runtime: Runtime,
    pub completer: Completer,
    /// Serves the store's socket, for the package itself and for other processes.
    attached: Mutex<Option<Attached>>,
    /// The engine, if this process has the store open.
    engine: Option<Engine>,
}

impl Drop for Place {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.check().is_ok() {
            // SAFETY: the parts are dropped here only, and not used behind it.
            unsafe { ManuallyDrop::drop(&mut self.parts) }
        }
    }
}

impl Deref for Place {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl Place {
    /// Opens a store, or connects to the process that has it open.
    pub fn open(dir: &Path, opening: &Opening) -> Outcome<Self> {
        let mut left = opening.wait;
        loop {
            let error = match open(dir, opening) {
                Ok(engine) => return Self::attach(dir, engine),
                Err(error) => error,
            };
            if !matches!(error.detail(), Some(Detail::InUse { .. })) {
                return Err(error.into());
            }
            let socket = dir.join(SOCKET);
            if milepost_client::is_listening(&socket) {
                return Self::connect(ClientBuilder::unix(&socket), dir.display().to_string());
            }
            // It is opening the store, or closing it.
            if left.is_zero() {
                return Err(error.into());
            }
            std::thread::sleep(STEP.min(left));
            left = left.saturating_sub(STEP);
        }
    }

    /// Connects to a service.
    pub fn connect(client: ClientBuilder, name: String) -> Outcome<Self> {
        let client = client.timeout(TIMEOUT).answer_limit(1 << 30).build()?;
        let (runtime, pid) = (runtime::start()?, std::process::id());
        let (completer, engine, attached) = (Completer::default(), None, Mutex::new(None));
        let parts = Parts { client, runtime, completer, attached, engine };
        Ok(Self { name, parts: ManuallyDrop::new(parts), pid })
    }

    fn attach(dir: &Path, engine: Engine) -> Outcome<Self> {
        let attached = milepost_server::attach(&engine).map_err(|error| {
            let text = format!("{} cannot be served to other processes: {error}", dir.display());
            Failure::Broken(text)
        })?;
        let client = ClientBuilder::unix(attached.socket());
        let mut place = Self::connect(client, dir.display().to_string())?;
        place.parts.engine = Some(engine);
        place.parts.attached = Mutex::new(Some(attached));
        Ok(place)
    }

    /// Returns the engine, if this process has the store open.
    pub fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// Fails in a forked child: it has none of the threads.
    pub fn check(&self) -> Outcome<()> {
        match std::process::id() == self.pid {
            true => Ok(()),
            false => Err(Failure::Forked(self.pid)),
        }
    }

    /// Answers requests under way, and closes the store.
    pub fn close(&self) -> Outcome<()> {
        drop(self.attached.lock().ok().and_then(|mut attached| attached.take()));
        match &self.engine {
            Some(engine) => Ok(engine.clone().close()?),
            None => Ok(()),
        }
    }
}

/// Opens a store in this process.
fn open(dir: &Path, opening: &Opening) -> milepost::Result<Engine> {
    let mut options = Options::default().create(opening.create).reducer(ThreadReducer);
    if let Some(bytes) = opening.cache_bytes {
        options = options.cache_bytes(bytes);
    }
    let exists = dir.join("store").exists();
    if let Some(key) = key(dir, exists, opening)? {
        options = options.key(key);
    }
    let anchor = match &opening.anchor {
        Guard::Off => None,
        Guard::Given(path) => Some(PathBuf::from(path)),
        Guard::Auto => {
            if !exists {
                // The anchor is named by the id of the store.
                Engine::open(dir, options.clone())?.close()?;
            }
            Some(Keyring::of_user()?.anchor_of(dir)?)
        }
    };
    let Some(anchor) = anchor else {
        return Engine::open(dir, options);
    };
    Engine::open(dir, options.anchor_to(&anchor)).map_err(|error| match error.kind() {
        ErrorKind::Corrupt => {
            let text = format!(
                "{error}; its anchor is {}: if the store was replaced by an older copy on \
                 purpose, move that file away",
                anchor.display()
            );
            let detail = error.detail().cloned();
            let explained = milepost::Error::new(ErrorKind::Corrupt, text).with_source(error);
            detail.into_iter().fold(explained, milepost::Error::with_detail)
        }
        _ => error,
    })
}

fn key(dir: &Path, exists: bool, opening: &Opening) -> milepost::Result<Option<StoreKey>> {
    match &opening.key {
        Guard::Off => Ok(None),
        Guard::Given(text) => text.parse().map(Some),
        Guard::Auto if !exists && opening.create => Keyring::of_user()?.create_key().map(Some),
        Guard::Auto if !exists => Ok(None),
        Guard::Auto => {
            let id = store_key_id(dir)?;
            let found = Keyring::of_user()?.key_of(dir)?;
            match (id, found) {
                (Some(id), None) => Err(milepost::Error::invalid(format!(
                    "the store {} has the key {id}, which is not on this machine: copy \
                     milepost/keys/{id} from the data folder (~/.local/share) of the user who \
                     created the store, or give the key with `key=`",
                    dir.display()
                ))),
                (_, found) => Ok(found),
            }
        }
    }
}
