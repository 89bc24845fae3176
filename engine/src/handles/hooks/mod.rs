//! Hooks: notifications for an embedder, which may refuse some operations.
//!
//! ```text
//! queue      growth of logs whose events are not delivered yet
//! delivery   the thread that delivers the events
//! context    the open store, as hooks see it
//! workspace  changes of a workspace
//! ```

mod context;
mod delivery;
mod queue;
mod workspace;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use milepost_codec::{Detail, Error, Result, TaskNo};
use milepost_replay::Event;

use crate::handles::options::Options;
use crate::handles::task::Task;
use crate::history::catalog::Catalog;
use crate::history::checkpoint::{Checkpoint, Mark};
use crate::history::point::Point;

pub use context::HookContext;
use delivery::Delivery;
use queue::DeliveryQueue;
pub(crate) use workspace::LastChanges;
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
    /// A hook failed: see [`HookContext::failed`].
    HookFailed,
}

impl AlertKind {
    /// Returns the name, as in documents of command hooks.
    pub fn name(self) -> &'static str {
        match self {
            Self::SaveFailed => "save_failed",
            Self::StatesKept => "states_kept",
            Self::HookFailed => "hook_failed",
        }
    }
}

/// Receiver of checkpoints, restores, alerts and events. Checkpoints and restores are reported on
/// the thread that requests them, not on the one that commits, so a slow hook delays only its
/// caller. Events are reported on the hooks' own thread.
///
/// A `before` method may refuse. Then nothing happens, and the caller gets `Invalid` with the
/// hook's name ([`Detail::Refused`]) and its reason. A hook that panics is logged; a `before`
/// method that panics refuses nothing. A method that marks a checkpoint of the task is called again
/// for that one.
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

    /// Receives a store that is opened with the hook, before all other calls. A hook with a state
    /// for each store returns the hooks that take its place in this one: the same options may open
    /// several stores. A store that is opened for reading only calls no hook at all.
    fn opened(&self, store: &HookContext) -> Option<Vec<Arc<dyn Hook>>> {
        let _ = store;
        None
    }

    /// Waits until the hook has handled the notifications that it queued for a thread of its own,
    /// for each at most the given time. [`Engine::close`](crate::Engine::close) calls this after
    /// the last event, while the store can still be read. Notifications that take longer are
    /// dropped.
    fn flush(&self, at_most: Duration) {
        let _ = at_most;
    }

    /// Returns the longest time of one call. Closing the store waits at least so long for each.
    /// Default: zero, and only [`Options::hooks_at_close`] counts.
    fn longest_call(&self) -> Duration {
        Duration::ZERO
    }

    /// Decides if a checkpoint may be marked through a handle on this task.
    ///
    /// # Errors
    ///
    /// The reason of a refusal.
    fn before_checkpoint(&self, task: &Task, mark: &Mark) -> std::result::Result<(), String> {
        let _ = (task, mark);
        Ok(())
    }

    /// Receives a checkpoint after it was marked, and the task, for reads.
    fn after_checkpoint(&self, task: &Task, checkpoint: &Checkpoint) {
        let _ = (task, checkpoint);
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
pub(crate) struct Hooks(Arc<Vec<Arc<dyn Hook>>>);

/// The hooks of an open store, until it closes.
pub(crate) struct OpenHooks {
    hooks: Hooks,
    /// The thread that delivers events; `None` if no hook wants them.
    delivery: Option<Delivery>,
    patience: Duration,
}

impl OpenHooks {
    /// Tells the hooks that the store is open, replaces those that return hooks for it, and starts
    /// the delivery of events if one wants them.
    pub(crate) fn start(options: &mut Options, catalog: &Catalog) -> Result<Self> {
        let hooks = Hooks(Arc::new_cyclic(|all| {
            let mut opened = Vec::new();
            for hook in options.hooks.0.iter() {
                let context = HookContext::new(all, opened.len(), options, catalog);
                let own = caught("the opening", hook.as_ref(), |hook| hook.opened(&context));
                opened.extend(own.flatten().unwrap_or_else(|| vec![Arc::clone(hook)]));
            }
            opened
        }));
        options.hooks = hooks.clone();
        let patience = hooks.patience(options.hooks_at_close);
        let of_events = hooks.of_events();
        let delivery = match of_events.is_empty() {
            true => None,
            false => Some(Delivery::start(of_events, catalog.clone())?),
        };
        Ok(Self { hooks, delivery, patience })
    }

    /// Returns the queue for growth of logs, if a hook wants events.
    pub(crate) fn queue(&self) -> Option<Arc<DeliveryQueue>> {
        self.delivery.as_ref().map(Delivery::queue)
    }

    /// Delivers the queued events, and waits for the notifications that hooks have queued.
    pub(crate) fn stop(self) {
        let Self { hooks, delivery, patience } = self;
        if let Some(delivery) = delivery {
            delivery.stop(patience);
        }
        hooks.flush(patience);
    }
}

impl Hooks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the longest wait for a call: at least `base`.
    fn patience(&self, base: Duration) -> Duration {
        self.0.iter().map(|hook| hook.longest_call()).fold(base, Duration::max)
    }

    /// Waits for the calls that hooks have queued.
    pub(crate) fn flush(&self, base: Duration) {
        let patience = self.patience(base);
        self.tell("the close", |hook| hook.flush(patience));
    }

    /// Returns the hooks that want events.
    fn of_events(&self) -> Self {
        let all = self.0.iter().filter(|hook| hook.wants_events());
        Self(Arc::new(all.cloned().collect()))
    }

    pub(crate) fn add(&mut self, hook: Arc<dyn Hook>) {
        Arc::make_mut(&mut self.0).push(hook);
    }

    /// Asks all hooks in order. The first refusal is the error.
    pub(crate) fn ask(
        &self,
        what: &str,
        ask: impl Fn(&dyn Hook) -> std::result::Result<(), String>,
    ) -> Result<()> {
        for hook in self.0.iter() {
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
        for hook in self.0.iter() {
            let _ = caught(what, hook.as_ref(), &tell);
        }
    }

    pub(crate) fn alert(&self, alert: &Alert) {
        tracing::error!("{}", alert.message);
        self.tell("an alert", |hook| hook.on_alert(alert));
    }
}

fn caught<T>(what: &str, hook: &dyn Hook, call: impl Fn(&dyn Hook) -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(|| call(hook)));
    if done.is_err() {
        tracing::error!("the hook {} panicked at {what}", hook.name());
    }
    done.ok()
}
