//! The engine: an open store.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use milepost_codec::{
    Activated, ActivationCause, Body, Control, Error, ErrorKind, Head, ID_MAX, Json, LineageId,
    LineageOpened, LineageRegistered, LineageType, LogId, NAME_MAX, Origin, Result, StoreCreated,
    TaskOpened, check_name,
};
use milepost_store::entropy::Entropy;
use milepost_store::index::TaskEntry;
use milepost_store::local::LocalStore;
use milepost_store::metrics::Meters;
use milepost_store::threads;
use milepost_store::{Log, MemoryStore};
use parking_lot::Mutex;

use super::hooks::{Hooks, LastChanges, OpenHooks};
use super::inner::{Anchoring, Inner};
use super::run_control::RunControls;
use crate::commit::committer::{Committer, Request};
use crate::conditions::check_key;
use crate::handles::background::{self, Snapshotter};
use crate::handles::options::Options;
use crate::handles::task::Task;
use crate::handles::view::View;
use crate::history::catalog::Catalog;
use crate::history::state_cache::StateCache;
use crate::verification::anchor::AnchorWriter;

/// An open store. Cheap to clone, `Send` and `Sync`; works from plain threads.
///
/// The store is closed when its last clone, task and lineage are dropped, or by [`Engine::close`].
/// A killed process loses nothing that was acknowledged.
///
/// ```
/// use milepost::events::Message;
/// use milepost::{Engine, Mark, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("greeting", "ana")?;
/// task.append(Message::text("user", "hello"))?;
/// let checkpoint = task.checkpoint(Mark::new().label("polite"))?;
/// task.append(Message::text("assistant", "go away"))?;
///
/// let task = engine.restore(&engine.point("greeting@polite")?).run()?;
/// assert_eq!(engine.run_state(&engine.point("greeting")?)?.messages.len(), 1);
/// # let _ = (task, checkpoint);
/// # Ok::<(), milepost::Error>(())
/// ```
///
/// An engine dereferences to the [`View`] of all tasks, for reads, restores and branches.
#[derive(Clone)]
pub struct Engine {
    view: View,
}

impl Deref for Engine {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("store", &self.inner.store).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the store in a folder, and creates a missing one if the options allow it.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no store, and the options do not create one. `Invalid`: the folder
    /// holds other files. `Unavailable`: another process has it open, or the disk fails.
    /// `Unsupported`: a newer version made it. `Corrupt`: its journal is damaged where there is
    /// only one copy. With [`Options::read_only`] another process may have it open; `Unavailable`
    /// then: a compaction or a repair of that process replaced files while they were read.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        let entropy = Arc::new(Entropy::from_system()?);
        let local = Arc::new(LocalStore::open(dir.as_ref(), &options.log, Arc::clone(&entropy))?);
        let store = Origin(local.store().0);
        Self::start(local, store, options, entropy)
    }

    /// Returns a handle on the store of a view of all tasks.
    pub(super) fn of(view: View) -> Self {
        Self { view }
    }

    /// Returns the view of all tasks.
    pub fn view(&self) -> View {
        self.view.clone()
    }

    /// Returns the view of one user's tasks.
    pub fn as_user(&self, user: &str) -> View {
        self.view.of_user(user)
    }

    /// Opens a store in memory, whose content is lost when it is closed.
    pub fn in_memory(options: Options) -> Result<Self> {
        let entropy = Arc::new(Entropy::from_system()?);
        let store = Origin(entropy.bytes16());
        Self::start(Arc::new(MemoryStore::default()), store, options, entropy)
    }

    /// Opens a store over the log of a test.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn over(log: Arc<dyn Log>, store: Origin, options: Options) -> Result<Self> {
        let entropy = Arc::new(Entropy::from_system()?);
        Self::start(log, store, options, entropy)
    }

    /// Returns a handle on an open store.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn on(inner: Arc<Inner>) -> Self {
        Self::of(View::of_all(inner))
    }

    fn start(
        log: Arc<dyn Log>,
        store: Origin,
        mut options: Options,
        entropy: Arc<Entropy>,
    ) -> Result<Self> {
        let meters = log.meters().map(Arc::clone);
        let meters = meters.unwrap_or_else(|| Arc::new(Meters::new(store.to_string())));
        let catalog = Catalog::new(log, options.log.key, options.key_window);
        catalog.load_erased()?;
        let (jobs, received) = milepost_store::sync::channel::bounded(background::JOBS);
        let committer = Committer::start(catalog.clone(), jobs.clone(), Arc::clone(&meters))?;
        // A read-only store calls no hooks and has no due snapshots.
        let writes = catalog.log().check_writable().is_ok();
        // Before the hooks: a thread that waits for jobs ends if their thread cannot start.
        let mut threads = Vec::new();
        if options.snapshots && writes {
            let (catalog, reducers) = (catalog.clone(), options.reducers.clone());
            let made = Arc::clone(&meters);
            threads.push(threads::start("snapshots", move || {
                Snapshotter::new(&catalog, &reducers, &made).run(&received);
            })?);
        }
        let hooks = match writes {
            true => Some(OpenHooks::start(&mut options, &catalog)?),
            false => {
                options.hooks = Hooks::default();
                None
            }
        };
        if let Some(queue) = hooks.as_ref().and_then(OpenHooks::queue) {
            committer.set_sink(queue);
        }
        let opened = catalog.log().opened();
        let kept = StateCache::new(options.keep_states, Arc::clone(&meters));
        let inner = Inner {
            catalog,
            committer,
            options,
            entropy,
            opened,
            store,
            structure: Mutex::new(()),
            controls: RunControls::default(),
            kept,
            participants: Arc::default(),
            meters,
            jobs,
            anchor: Mutex::new(None),
            workspaces: LastChanges::default(),
            hooks: Mutex::new(hooks),
            hooks_ended: AtomicBool::new(false),
            threads: Mutex::new(threads),
        };
        let engine = Self::of(View::of_all(Arc::new(inner)));
        if writes {
            engine.create_store_log()?;
            engine.delete_imports()?;
            engine.start_anchoring()?;
        } else if let Some(path) = &engine.inner.options.anchor {
            AnchorWriter::compare(path, &engine.inner.catalog, store)?;
        }
        Ok(engine)
    }

    fn start_anchoring(&self) -> Result<()> {
        let inner = &self.inner;
        if let Some(path) = inner.options.anchor.clone() {
            let (catalog, clock) = (inner.catalog.clone(), Arc::clone(&inner.options.log.clock));
            let (writer, stop, thread) = AnchorWriter::start(path, catalog, inner.store, clock)?;
            *inner.anchor.lock() = Some(Anchoring { writer, stop, thread });
        }
        Ok(())
    }

    fn create_store_log(&self) -> Result<()> {
        let inner = &self.inner;
        if inner.catalog.log().head(LogId::STORE)?.is_some() {
            return Ok(());
        }
        let hash = inner.catalog.chain(inner.store, LogId::STORE).root();
        let mut append = self.log_append(LogId::STORE, inner.store).open(Head { next: 0, hash });
        let created = StoreCreated {
            store: milepost_codec::StoreId(inner.store.0),
            keyed: inner.options.log.key.is_some(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        append.control(&created.into(), inner.now_us())?;
        inner.commit(append).map(|_| ())
    }

    /// Starts a task for a user.
    ///
    /// # Errors
    ///
    /// `Conflict`: there is a task of this id. `Invalid`: the id is empty or over 1024 bytes, the
    /// user is empty or over 200 bytes, or one has a control character.
    pub fn start_task(&self, id: &str, user: &str) -> Result<Task> {
        self.start_task_from(id, user, None, None)
    }

    /// Starts a task from an initial state, given as the reducer's JSON. Repeated under the same
    /// idempotency key, it returns the task that was started, unless retention trimmed the first
    /// event of that.
    ///
    /// # Errors
    ///
    /// As [`Engine::start_task`]. `Invalid`: the key is empty or over 1024 bytes.
    pub fn start_task_from(
        &self,
        id: &str,
        user: &str,
        initial: Option<Json>,
        key: Option<&str>,
    ) -> Result<Task> {
        check_names(id, user)?;
        key.map_or(Ok(()), check_key)?;
        let inner = &self.inner;
        let _structure = inner.structure()?;
        if let Some(there) = inner.catalog.find(id)? {
            if let Some(key) = key
                && inner.catalog.task(there)?.user == user
                && inner.catalog.started_under(there, key, initial.as_ref())?
            {
                return Task::of(self, there);
            }
            return Err(Error::new(ErrorKind::Conflict, format!("there is a task `{id}`")));
        }
        let task = inner.catalog.next_task()?;
        let origin = Origin(inner.entropy.bytes16());
        let now = inner.now_us();
        let mut store = self.log_append(LogId::STORE, inner.store);
        let opened = TaskOpened { task, name: id.to_owned(), user: user.to_owned(), origin };
        store.control(&opened.into(), now)?;
        let mut control = self.opening_append(LogId::control(task), origin);
        let lineage = LineageId(0);
        let registered = LineageRegistered {
            lineage,
            lineage_type: LineageType::Root,
            description: None,
            parent: None,
        };
        control.control(&registered.into(), now)?;
        let activated = Activated { lineage, epoch: 1, cause: ActivationCause::Opened, back: None };
        control.control(&activated.into(), now)?;
        let events = self.opening_append(LogId::lineage(task, lineage), origin);
        let mut events = events.operation_key(key);
        let first = LineageOpened {
            lineage_type: LineageType::Root,
            description: None,
            parent: None,
            initial,
            copied_from: None,
        };
        events.body(&Body::from(first), now)?;
        let done = inner.commit(Request::of(vec![store, control, events]))?;
        drop(_structure);
        crate::handles::audit::AuditEvent::of("task_started", task, lineage).tell(self);
        // Nothing is read after the commit, so that a read error cannot hide its success.
        let entry = TaskEntry {
            name: id.to_owned(),
            user: user.to_owned(),
            origin,
            created_us: now,
            opened: done.appended.first().map_or(0, |(first, _)| *first),
            deleted_us: None,
        };
        Ok(Task::made(self, (task, &entry), lineage, 1))
    }

    /// Returns the task of this id, started for the user if there is none.
    ///
    /// # Errors
    ///
    /// `Conflict`: the task is another user's. Otherwise as [`Engine::start_task`].
    pub fn task_or_start(&self, id: &str, user: &str) -> Result<Task> {
        let found = match self.task(id) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.start_task(id, user),
            found => found,
        };
        let task = match found {
            // Another thread started it in between.
            Err(error) if error.kind() == ErrorKind::Conflict => self.task(id)?,
            found => found?,
        };
        if task.user() == user {
            return Ok(task);
        }
        let message = format!("the task `{id}` is {}'s, not {user}'s", task.user());
        Err(Error::new(ErrorKind::Conflict, message))
    }

    /// Closes the store: commits queued appends, delivers pending notifications to hooks, applies
    /// and syncs everything, and records the close in the journal. Other clones get `Unavailable`
    /// from then on.
    ///
    /// # Errors
    ///
    /// Errors of the last writes. Acknowledged events are still in the journal.
    pub fn close(self) -> Result<()> {
        self.inner.close()
    }
}

/// Refuses an id or a user that no task may have.
pub(crate) fn check_names(id: &str, user: &str) -> Result<()> {
    check_name("task id", id, ID_MAX)?;
    check_name("user", user, NAME_MAX)
}

/// Returns the control event for an opened lineage.
pub(crate) fn registered(lineage: LineageId, opened: &LineageOpened) -> Control {
    LineageRegistered {
        lineage,
        lineage_type: opened.lineage_type,
        description: opened.description.clone(),
        parent: opened.parent,
    }
    .into()
}
