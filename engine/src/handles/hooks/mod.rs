//! Hooks: notifications for an embedder, who may refuse some operations.
//!
//! ```text
//! queue      notifications that are not delivered yet
//! delivery   the thread that delivers them
//! command    external commands as declared
//! runner     runs a command for each notification
//! document   the JSON on the standard input of a command
//! process    runs a program with a time limit
//! config     `hooks.json` and its location
//! trust      a user's trust in the `hooks.json` of a store
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

/// Names of a task. Hooks on events get no handle, so that they do not keep the store open.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskId {
    /// The task's id, chosen by the caller.
    pub id: String,
    /// The owner.
    pub user: String,
    /// The task's number in the store.
    pub no: TaskNo,
}

/// A condition that needs attention. It stops nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alert {
    /// The kind.
    pub kind: AlertKind,
    /// The affected task.
    pub task: Option<String>,
    /// The message.
    pub message: String,
}

/// Kinds of alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AlertKind {
    /// A checkpoint could not be saved. The run continues.
    SaveFailed,
    /// The cached states of checkpoints exceed
    /// [`StateCacheOptions::alert_bytes`](crate::state::StateCacheOptions::alert_bytes).
    StatesKept,
    /// A hook command failed, or exceeded its time limit.
    HookFailed,
}

/// Receiver of checkpoints, restores, alerts and events. Checkpoints and restores are reported on
/// the thread that requests them, not on the one that commits, so a slow hook delays only its
/// caller. Events are reported on the hooks' own thread.
///
/// A `before` method may refuse. Then nothing happens, and the caller gets `Invalid` with the
/// hook's name ([`Detail::Refused`]) and its reason. A hook that panics is logged; a `before`
/// method that panics refuses nothing.
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
    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// Decides if a checkpoint may be marked through a handle on this task.
    ///
    /// # Errors
    ///
    /// The reason of a refusal.
    fn before_checkpoint(&self, task: &Task, mark: &Mark) -> std::result::Result<(), String> {
        let _ = (task, mark);
        Ok(())
    }

    /// Receives a checkpoint after it was marked.
    fn after_checkpoint(&self, checkpoint: &Checkpoint) {
        let _ = checkpoint;
    }

    /// Decides if a task may be restored to this point.
    ///
    /// # Errors
    ///
    /// The reason of a refusal.
    fn before_restore(&self, point: &Point) -> std::result::Result<(), String> {
        let _ = point;
        Ok(())
    }

    /// Receives a handle on the new active lineage after a restore.
    fn after_restore(&self, task: &Task) {
        let _ = task;
    }

    /// Receives an alert.
    fn on_alert(&self, alert: &Alert) {
        let _ = alert;
    }

    /// Receives a change of a workspace when a capture or a restore begins or ends, on the thread
    /// that does it and holds the folder. A hook that captures or restores the same folder here
    /// deadlocks.
    fn on_workspace(&self, change: &WorkspaceChange) {
        let _ = change;
    }

    /// Returns `true` if [`Hook::on_event`] is to be called. Read once, when the store is opened.
    /// Default: `false`.
    fn wants_events(&self) -> bool {
        false
    }

    /// Receives each event committed since the store was opened, once, in the order of its lineage,
    /// on the hooks' own thread. Undelivered events are only in the log;
    /// [`Engine::close`](crate::Engine::close) waits for their delivery.
    fn on_event(&self, task: &TaskId, event: &Event) {
        let _ = (task, event);
    }
}

/// The hooks of an engine.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Vec<Arc<dyn Hook>>);

/// Adds the commands of the options to the hooks, and starts the delivery thread; `None` if no hook
/// needs it.
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

    /// Returns the hooks that want events.
    fn of_events(&self) -> Self {
        let all = self.0.iter().filter(|hook| hook.wants_events());
        Self(all.cloned().collect())
    }

    pub(crate) fn add(&mut self, hook: Arc<dyn Hook>) {
        self.0.push(hook);
    }

    /// Asks all hooks in order. The first refusal is the error.
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

    /// Reports the failure of the hook at `place` to all others.
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
