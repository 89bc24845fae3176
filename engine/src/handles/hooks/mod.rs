//! Hooks: what an embedder wants to be told of, and may refuse.
//!
//! ```text
//! queue      notifications that are not delivered yet
//! delivery   the thread that delivers them
//! command    external commands as declared
//! runner     runs a command for each notification
//! document   the JSON on the standard input of a command
//! process    runs a program with a time limit
//! config     `hooks.json` and its location
//! trust      whether the `hooks.json` of a store is used
//! workspace  changes of a workspace
//! ```

mod command;
mod config;
mod delivery;
mod document;
mod process;
mod queue;
mod runner;
mod stores;
mod trust;
mod workspace;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use milepost_codec::{Detail, Error, Result, TaskNo};
use milepost_replay::Event;

use crate::handles::options::Options;
use crate::handles::task::Task;
use crate::history::catalog::Catalog;
use crate::history::checkpoint::{Checkpoint, Mark};
use crate::history::point::Point;

pub use command::{CommandHook, HookPoint};
pub use config::CommandHooks;
pub(crate) use delivery::Delivery;
pub(crate) use queue::DeliveryQueue;
pub use stores::StoreTrust;
pub use trust::StoreHooks;
pub use workspace::{WorkspaceChange, WorkspaceState};

/// A task by its names: what a hook is told of events gets no handle, so that it holds no store
/// open.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskId {
    /// The caller's id for it.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// Its number in the store.
    pub no: TaskNo,
}

/// Something that somebody should look at. It stops nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alert {
    /// What kind of thing.
    pub kind: AlertKind,
    /// The task it is about.
    pub task: Option<String>,
    /// What happened, in words.
    pub message: String,
}

/// Kinds of alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AlertKind {
    /// A checkpoint could not be saved, and the run goes on.
    SaveFailed,
    /// The states of checkpoints that are kept in memory take more than was said.
    StatesKept,
    /// A command that is a hook failed, or took too long.
    HookFailed,
}

/// What is told of checkpoints, restores, alerts and events. It is called on the thread that asks
/// for the checkpoint or restore, never on the one that commits, so a slow hook slows its caller
/// only. Of events it is told on a thread of the engine's hooks.
///
/// A `before` method may refuse: then nothing happens, and the caller gets `Invalid` with the
/// hook's name ([`Detail::Refused`]) and what it said. A hook that panics is logged; a `before`
/// that panics refuses nothing.
///
/// ```
/// use std::sync::Arc;
/// use milepost::{Engine, Hook, Mark, Options, Task};
///
/// struct Labelled;
///
/// impl Hook for Labelled {
///     fn name(&self) -> &str {
///         "labelled"
///     }
///     fn before_checkpoint(&self, _: &Task, mark: &Mark) -> Result<(), String> {
///         match mark.label_given() {
///             Some(_) => Ok(()),
///             None => Err("a checkpoint needs a label here".into()),
///         }
///     }
/// }
///
/// let engine = Engine::in_memory(Options::default().hook(Arc::new(Labelled)))?;
/// let task = engine.start_task("tuning", "ana")?;
/// let refused = task.checkpoint(Mark::new()).unwrap_err();
/// assert!(refused.to_string().contains("labelled: a checkpoint needs a label here"));
/// assert!(task.checkpoint(Mark::new().label("good")).is_ok());
/// # Ok::<(), milepost::Error>(())
/// ```
pub trait Hook: Send + Sync {
    /// What it is called in messages.
    fn name(&self) -> &str;

    /// A checkpoint is about to be marked through a handle on this task.
    ///
    /// # Errors
    ///
    /// Why it must not be.
    fn before_checkpoint(&self, task: &Task, mark: &Mark) -> std::result::Result<(), String> {
        let _ = (task, mark);
        Ok(())
    }

    /// A checkpoint was marked.
    fn after_checkpoint(&self, checkpoint: &Checkpoint) {
        let _ = checkpoint;
    }

    /// A task is about to go back to this point.
    ///
    /// # Errors
    ///
    /// Why it must not.
    fn before_restore(&self, point: &Point) -> std::result::Result<(), String> {
        let _ = point;
        Ok(())
    }

    /// A task went back: this is the handle on what it goes on with.
    fn after_restore(&self, task: &Task) {
        let _ = task;
    }

    /// Somebody should look at something.
    fn on_alert(&self, alert: &Alert) {
        let _ = alert;
    }

    /// A workspace is captured or brought back now, or that ended. It is called by whoever does it,
    /// who has the folder: a hook that captures it or takes it back here waits for itself.
    fn on_workspace(&self, change: &WorkspaceChange) {
        let _ = change;
    }

    /// Whether [`Hook::on_event`] is called. It is asked when the store is opened. Default: no.
    fn wants_events(&self) -> bool {
        false
    }

    /// An event was committed: each one since the store was opened, once, those of a lineage in
    /// their order. It is called on the hooks' own thread. What a slow hook has not been told of is
    /// in the log and nowhere else; [`Engine::close`](crate::Engine::close) waits for it.
    fn on_event(&self, task: &TaskId, event: &Event) {
        let _ = (task, event);
    }
}

/// The hooks of an engine.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Vec<Arc<dyn Hook>>);

/// Adds the commands of the options to their hooks, and starts the thread that tells what is not
/// told on a caller's; nothing where no hook needs it.
pub(crate) fn start(
    options: &mut Options,
    catalog: &Catalog,
    store: Option<&Path>,
) -> Result<Option<Delivery>> {
    let feed = Arc::new(DeliveryQueue::default());
    let store = store.map(|dir| std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()));
    let store = store.map(|dir| dir.display().to_string());
    options.commands.check()?;
    let commands = options.commands.hooks.clone();
    let needed = !commands.is_empty() || options.hooks.0.iter().any(|hook| hook.wants_events());
    if !needed {
        return Ok(None);
    }
    for command in commands {
        let place = options.hooks.0.len();
        let (store, clock) = (store.clone(), Arc::clone(&options.log.clock));
        let bound = runner::CommandRunner::new(command, place, store, clock, Arc::clone(&feed));
        options.hooks.add(Arc::new(bound));
    }
    Delivery::start(options.hooks.clone(), catalog.clone(), feed).map(Some)
}

impl Hooks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that want to be told of events.
    fn of_events(&self) -> Self {
        let all = self.0.iter().filter(|hook| hook.wants_events());
        Self(all.cloned().collect())
    }

    pub(crate) fn add(&mut self, hook: Arc<dyn Hook>) {
        self.0.push(hook);
    }

    /// Asks all in order; the first that refuses ends it.
    pub(crate) fn ask(
        &self,
        what: &str,
        ask: impl Fn(&dyn Hook) -> std::result::Result<(), String>,
    ) -> Result<()> {
        for hook in &self.0 {
            if let Some(Err(why)) = caught(what, hook.as_ref(), &ask) {
                let name = hook.name();
                let message = format!("{what} was refused by the hook {name}: {why}");
                let hook = name.to_owned();
                return Err(Error::invalid(message).with_detail(Detail::Refused { hook }));
            }
        }
        Ok(())
    }

    pub(crate) fn tell(&self, what: &str, tell: impl Fn(&dyn Hook)) {
        for hook in &self.0 {
            let _ = caught(what, hook.as_ref(), &tell);
        }
    }

    pub(crate) fn alert(&self, alert: &Alert) {
        tracing::error!("{}", alert.message);
        self.tell("an alert", |hook| hook.on_alert(alert));
    }

    /// Tells all but the one at a place that it failed.
    fn failed(&self, place: usize, alert: &Alert) {
        for (at, hook) in self.0.iter().enumerate() {
            if at != place {
                let _ = caught("an alert", hook.as_ref(), |hook| hook.on_alert(alert));
            }
        }
    }
}

fn caught<T>(what: &str, hook: &dyn Hook, call: impl Fn(&dyn Hook) -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(|| call(hook)));
    if done.is_err() {
        tracing::error!("the hook {} panicked at {what}", hook.name());
    }
    done.ok()
}
