//! Location of the store, and checks before it is opened. `holder` finds the program that has it
//! open, for commands that create it; `keys` finds its key; `others` has the stores that commands
//! here do not find by themselves.

mod holder;
mod keys;
mod others;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::ProgressBar;
use milepost::clock::{Clock as _, SystemClock};
use milepost::hooks::{Alert, AlertKind};
use milepost::store::Progress;
use milepost::{Detail, Engine, ErrorKind, Hook, Options};
use milepost_runtime::hooks::{CommandHooks, StoreTrust};
use milepost_server::ServerOptions;

use crate::backend::Remote;
use crate::error::{Failure, Result, is_denied};
use crate::output::{bar, note, shell_word};
use crate::outside;

pub use others::in_other;

/// Name of the store's folder.
pub const FOLDER: &str = ".milepost";

/// File that each store has.
pub const SETTINGS: &str = "store";

/// Socket in the store, at which the program that has it open answers.
pub const SOCKET: &str = "server/socket";

/// The default of `--wait`: the longest wait for another process that has the store open.
pub const WAIT: Duration = Duration::from_secs(5);

/// The wait between two attempts to open a store.
const STEP: Duration = Duration::from_millis(20);

/// Arguments about the store.
#[derive(Debug, Clone, Default)]
pub struct StoreArgs {
    /// `--store`.
    pub dir: Option<PathBuf>,
    /// `--server`.
    pub server: Option<String>,
    /// `true` opens a store of another user.
    pub trust: bool,
    /// `--key-file`.
    pub key_file: Option<PathBuf>,
    /// `--anchor-to`.
    pub anchor_to: Option<PathBuf>,
    /// `--wait`.
    pub wait: Option<Duration>,
}

/// A store, opened by this process or by another one.
pub enum Opened {
    Local(Engine),
    Remote(Remote),
}

impl StoreArgs {
    /// Finds the store, or the program that has it open. If neither works, a command that only
    /// reads opens the store read-only; one that `glances` does so too if that is quicker.
    pub fn find(&self, with_hooks: bool, only_reads: bool, glances: bool) -> Result<Opened> {
        if let Some(url) = self.url() {
            return Ok(Opened::Remote(Remote::at(&url)?));
        }
        let (dir, options) = match with_hooks {
            true => self.there_with_hooks()?,
            false => self.there()?,
        };
        self.found_at(&dir, &options.only_reads(glances), only_reads)
    }

    /// Finds the store in a folder that was found before.
    pub fn find_at(&self, dir: &Path) -> Result<Opened> {
        self.found_at(dir, &self.options_for(dir, Options::default().create(false))?, false)
    }

    /// Opens the store in a folder for reading, also while another process has it open.
    pub fn read_only_at(&self, dir: &Path) -> Result<Engine> {
        let options = self.options_for(dir, Options::default().create(false))?;
        Ok(Engine::open(dir, options.read_only(true))?)
    }

    /// Opens the store read-only while `holder` has it open. Returns `None` if `holder` is a
    /// service at an address, or if the store cannot be opened, which is noted.
    pub fn read_only(&self, holder: &Remote) -> Option<Engine> {
        if self.url().is_some() {
            return None;
        }
        let (dir, options) = self.there().ok()?;
        let held = Failure::new(format!("{} has it open", holder.place()));
        looked_at(&dir, options, held).ok()
    }

    /// Finds the store without a message, for completions. Returns `None` if another process has it
    /// open and does not answer: a read-only open builds an index, which takes too long for a key.
    pub fn find_quietly(&self) -> Option<Opened> {
        if let Some(url) = self.url() {
            return Remote::at(&url).ok().map(Opened::Remote);
        }
        let (dir, options) = self.there().ok()?;
        match Engine::open(&dir, options) {
            Ok(engine) => Some(Opened::Local(engine)),
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                let there = Remote::attached(&dir.join(SOCKET)).ok()?;
                there.filter(Remote::answers).map(Opened::Remote)
            }
            Err(_) => None,
        }
    }

    /// Returns `true` if no store is named, and none is here or above.
    pub fn is_nowhere(&self) -> bool {
        self.named().is_none() && self.is_missing()
    }

    /// Returns `true` if the named store does not exist, or none is here or above.
    pub fn is_missing(&self) -> bool {
        self.url().is_none()
            && match self.named() {
                Some(dir) => !dir.exists(),
                None => matches!(nearest(), Ok(None)),
            }
    }

    /// Returns the address of the service that replaces a store.
    fn url(&self) -> Option<String> {
        // A store on the command line overrides the environment.
        let none_named = self.dir.is_none();
        let variable = || std::env::var("MILEPOST_SERVER").ok().filter(|_| none_named);
        let url = self.server.clone().or_else(variable);
        url.filter(|url| !url.is_empty())
    }

    /// Returns `true` if commands are hooks of the store: they read it through its socket.
    pub fn has_hooks(&self) -> bool {
        let hooks = self.folder().map(CommandHooks::for_store);
        hooks.is_ok_and(|hooks| hooks.is_ok_and(|hooks| hooks.iter().next().is_some()))
    }

    /// Returns `true` if this process is a hook that the store's program started.
    pub fn is_in_its_hook(&self) -> bool {
        let store = std::env::var_os("MILEPOST_STORE").filter(|_| is_hook());
        let real = |dir: PathBuf| std::fs::canonicalize(dir).ok();
        let store = store.and_then(|dir| real(dir.into()));
        store.is_some() && store == self.folder().ok().and_then(real)
    }

    /// Returns the folder of an existing store, and options with hooks.
    pub fn there_with_hooks(&self) -> Result<(PathBuf, Options)> {
        let (dir, options) = self.there()?;
        let options = with_hooks(&dir, options)?;
        Ok((dir, options))
    }

    /// Returns the folder of an existing store, and options.
    pub fn there(&self) -> Result<(PathBuf, Options)> {
        let dir = self.folder()?;
        let options = self.options_for(&dir, Options::default().create(false))?;
        Ok((dir, options))
    }

    /// Returns the folder of an existing store. A service that is named has none here, and no other
    /// store takes its place.
    pub fn folder(&self) -> Result<PathBuf> {
        if self.url().is_some() {
            return Err(Failure::new("this needs the folder of a store, and a service is named")
                .hint("run it on the machine of the service; --store names a store of this one"));
        }
        let dir = match self.named() {
            Some(dir) => dir,
            None => nearest()?.ok_or_else(|| {
                Failure::new(format!("no store: no `{FOLDER}` folder here or above"))
                    .hint("`milepost init` makes one here, `--store DIR` names another one")
            })?,
        };
        if !dir.exists() {
            return Err(Failure::new(format!("no store at {}", dir.display())).hint(format!(
                "`milepost --store {} init` makes one",
                shell_word(&dir.display().to_string())
            )));
        }
        self.check_owner(&dir)?;
        Ok(dir)
    }

    /// Returns the folder of the store; `None` if there is none, or a service replaces it.
    pub fn folder_if_any(&self) -> Result<Option<PathBuf>> {
        match self.url().is_some() || self.to_make()?.is_some() {
            true => Ok(None),
            false => self.folder().map(Some),
        }
    }

    /// Returns the folder in which [`StoreArgs::open_or_create`] creates a store; `None` if there
    /// is one, or a service replaces it.
    pub fn to_make(&self) -> Result<Option<PathBuf>> {
        if self.url().is_some() {
            return Ok(None);
        }
        Ok(Some(self.there_or_here()?).filter(|dir| !dir.join(SETTINGS).is_file()))
    }

    /// Opens the store, and creates it if it does not exist.
    pub fn open_or_create(&self, options: Options) -> Result<Engine> {
        let dir = self.there_or_here()?;
        self.made_at(&dir, self.options_for(&dir, options.create(true))?)
    }

    /// Opens the store with hooks, and creates it if it does not exist.
    pub fn open_or_create_with_hooks(&self, options: Options) -> Result<Engine> {
        let dir = self.there_or_here()?;
        let options = with_hooks(&dir, self.options_for(&dir, options.create(true))?)?;
        self.made_at(&dir, options)
    }

    /// Creates a store in a folder.
    pub fn create_at(&self, dir: &Path, options: Options) -> Result<Engine> {
        self.check_owner(dir)?;
        self.made_at(dir, self.options(options.create(true))?)
    }

    fn made_at(&self, dir: &Path, options: Options) -> Result<Engine> {
        patiently(self.wait.unwrap_or(WAIT), &mut |_| true, || made_at(dir, options.clone()))
    }

    /// Opens the store at a place. If another program has it open, finds that program, or waits
    /// for it. A command that only reads does not wait.
    fn found_at(&self, dir: &Path, options: &Options, only_reads: bool) -> Result<Opened> {
        match only_reads {
            true => found_at(dir, options.clone(), true),
            false => patiently(self.wait.unwrap_or(WAIT), &mut |_| true, || {
                found_at(dir, options.clone(), false)
            }),
        }
    }

    fn there_or_here(&self) -> Result<PathBuf> {
        let dir = match self.named() {
            Some(dir) => dir,
            None => match nearest()? {
                Some(dir) => dir,
                None => here()?.join(FOLDER),
            },
        };
        self.check_owner(&dir)?;
        Ok(dir)
    }

    /// Returns the store that the command line or the environment names.
    pub fn named(&self) -> Option<PathBuf> {
        let variable = || std::env::var_os("MILEPOST_STORE").map(PathBuf::from);
        self.dir.clone().or_else(variable).filter(|dir| !dir.as_os_str().is_empty())
    }

    /// Refuses a store of another user, and a store with an entry that no store creates.
    pub fn check_owner(&self, dir: &Path) -> Result<()> {
        let Ok(metadata) = std::fs::metadata(dir) else {
            return Ok(());
        };
        let me = rustix::process::geteuid().as_raw();
        if self.trust || metadata.uid() == me {
            return Ok(milepost::internals::check_store(dir)?);
        }
        let (dir, uid) = (dir.display(), metadata.uid());
        Err(Failure::new(format!("the store {dir} belongs to user {uid}, not to you ({me})"))
            .hint("if you trust its origin, pass --trust"))
    }
}

/// Returns `true` if a hook started this process.
fn is_hook() -> bool {
    std::env::var_os("MILEPOST_HOOK").is_some()
}

/// Adds external commands as hooks to the options.
fn with_hooks(dir: &Path, options: Options) -> Result<Options> {
    let hooks = CommandHooks::for_store(dir).map_err(|error| {
        Failure::from(error).hint("mend the file or move it away: no hook is left out unsaid")
    })?;
    if let Some(warning) = hooks.warning() {
        note(warning);
    }
    if hooks.iter().next().is_none() {
        return Ok(options);
    }
    Ok(hooks.add_to(options.hook(Arc::new(Teller)))?)
}

/// Reports failures of command hooks.
struct Teller;

impl Hook for Teller {
    fn name(&self) -> &str {
        "milepost"
    }

    fn on_alert(&self, alert: &Alert) {
        if alert.kind == AlertKind::HookFailed {
            note(&alert.message);
        }
    }
}

/// Opens a store, and tries again while another process has it open and `waits` returns `true`, at
/// most for a time.
pub fn patiently<T>(
    at_most: Duration,
    waits: &mut dyn FnMut(&Failure) -> bool,
    mut open: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut left = at_most;
    loop {
        match open() {
            Err(failure) if failure.is_in_use() && !left.is_zero() && waits(&failure) => {
                std::thread::sleep(STEP.min(left));
                left = left.saturating_sub(STEP);
            }
            opened => return opened,
        }
    }
}

/// Opens the store at a place. If another program has it open, finds that program.
pub fn found_at(dir: &Path, options: Options, only_reads: bool) -> Result<Opened> {
    let failure = match open_at(dir, options.clone()) {
        Ok(engine) => return Ok(Opened::Local(engine)),
        Err(failure) if failure.kind() == Some(ErrorKind::Unavailable) => failure,
        Err(failure) => return Err(failure),
    };
    let socket = dir.join(SOCKET);
    let there = Remote::attached(&socket)?;
    let silent = there.is_some();
    if let Some(there) = there.filter(Remote::answers) {
        return Ok(Opened::Remote(there));
    }
    if !only_reads {
        return Err(match silent {
            true => failure.hint(format!(
                "it does not answer at {}: wait for it, or end it; commands that only read look at \
                 the store without it",
                socket.display()
            )),
            false => failure,
        });
    }
    looked_at(dir, options, failure).map(Opened::Local)
}

/// Opens the store read-only, since `failure` refused more, and prints a note.
fn looked_at(dir: &Path, options: Options, failure: Failure) -> Result<Engine> {
    match open_at(dir, options.read_only(true)) {
        Ok(engine) => {
            note(&format!("{failure}: it is shown as it was just now, read-only"));
            Ok(engine)
        }
        Err(error) => {
            note(&format!("it cannot be opened for reading only either: {error}"));
            Err(failure)
        }
    }
}

/// Opens the store at a place. A failure has a hint that fits.
pub fn open_at(dir: &Path, options: Options) -> Result<Engine> {
    let shown = Arc::new(Mutex::new(None::<ProgressBar>));
    let told = Arc::clone(&shown);
    let options = options.on_progress(move |Progress { done, all, .. }| {
        if let Ok(mut shown) = told.lock() {
            let bar = shown.get_or_insert_with(|| bar(all, "recover", true, false));
            bar.set_position(done);
        }
    });
    let opened = Engine::open(dir, options);
    if let Ok(Some(bar)) = shown.lock().map(|mut shown| shown.take()) {
        bar.finish_and_clear();
    }
    if let Ok(engine) = &opened {
        for finding in &engine.store().report().findings {
            let (place, message) = (&finding.place, &finding.message);
            let again =
                if message.contains(place.as_str()) { String::new() } else { format!("{place}: ") };
            note(&format!("{again}{message} ({})", finding.outcome));
        }
    }
    opened.map_err(|error| {
        let kind = error.kind();
        let is_denied = is_denied(&error);
        let has_own_hint = is_denied
            || matches!(error.detail(), Some(Detail::Foreign { .. } | Detail::WrongKey { .. }));
        let failure = Failure::from(error);
        match kind {
            _ if has_own_hint => failure,
            ErrorKind::NotFound | ErrorKind::Invalid => failure
                .hint("give the folder of a store (usually `.milepost`) with --store, or none"),
            // The program that has it open may answer there.
            ErrorKind::Unavailable if dir.join(SOCKET).exists() => failure.hint(format!(
                "the program that has it open answers at {}: see \"A store in use\" in \
                 docs/HTTP.md",
                dir.join(SOCKET).display()
            )),
            _ => failure,
        }
    })
}

/// Opens the store, and creates it if it does not exist. A store created in a missing or empty
/// folder is remembered as the user's own.
pub fn made_at(dir: &Path, options: Options) -> Result<Engine> {
    let is_new = match std::fs::read_dir(dir) {
        Ok(mut names) => names.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let engine = open_at(dir, options)?;
    if is_new && let Err(error) = StoreTrust::of(dir).and_then(|mut trust| trust.grant()) {
        note(&format!(
            "the store cannot be remembered as your own, `milepost trust` does it: {error}"
        ));
    }
    Ok(engine)
}

/// Returns the current folder.
pub fn here() -> Result<PathBuf> {
    std::env::current_dir()
        .map_err(|error| Failure::new(format!("the current folder cannot be read: {error}")))
}

/// Returns the nearest folder from the current one upwards that has a store, in it or outside.
pub fn project_here() -> Option<PathBuf> {
    let here = here().ok()?;
    let has_store = |project: &&Path| {
        project.join(FOLDER).is_dir() || outside::store_of(project).is_some_and(|it| it.is_dir())
    };
    here.ancestors().find(has_store).map(Path::to_owned)
}

/// Finds the nearest store from the current folder upwards: in a folder, or outside for it. A link
/// is refused: only the command line may name one.
fn nearest() -> Result<Option<PathBuf>> {
    let here = here()?;
    for project in here.ancestors() {
        let dir = project.join(FOLDER);
        let Ok(about) = std::fs::symlink_metadata(&dir) else {
            match outside::store_of(project).filter(|store| store.is_dir()) {
                Some(store) => return Ok(Some(store)),
                None => continue,
            }
        };
        if about.is_symlink() && dir.is_dir() {
            let shown = dir.display();
            let text = format!("{shown} is a symbolic link, and is not followed");
            let shown = shell_word(&shown.to_string());
            return Err(Failure::new(text).hint(format!(
                "`--store {shown}` opens what it names, if you know where it came from"
            )));
        }
        if about.is_dir() {
            return Ok(Some(dir));
        }
    }
    Ok(None)
}

/// Answers at the socket in the store while the returned value lives, so that other commands run
/// during a long one. Returns `None` if the socket cannot be made, as in a read-only folder: other
/// commands wait then.
pub fn attach(engine: &Engine) -> Option<Attachment> {
    let options = ServerOptions::default().backups(true);
    let socket = milepost_server::attach_with(engine, options).ok()?;
    Some(Attachment { engine: engine.clone(), _socket: socket })
}

/// A socket that answers. Dropped, it waits for the hooks, which may ask it.
pub struct Attachment {
    engine: Engine,
    _socket: milepost_server::Attached,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.engine.store().end_hooks();
    }
}

/// Returns the time in microseconds since the Unix epoch.
pub fn now_us() -> u64 {
    SystemClock.now_us()
}
