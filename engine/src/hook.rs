//! Hooks: what an embedder wants to be told of, and may refuse.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use milepost_codec::{Error, Result};

use crate::checkpoint::{Checkpoint, Mark};
use crate::point::Point;
use crate::task::Task;

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
}

/// What is told of checkpoints, restores and alerts. It is called on the thread that asks for the
/// checkpoint or restore, never on the one that commits, so a slow hook slows its caller only.
///
/// A `before` method may refuse: then nothing happens, and the caller gets `Invalid` with the hook's
/// name and what it said. A hook that panics is logged; a `before` that panics refuses nothing.
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
}

/// The hooks of an engine.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Vec<Arc<dyn Hook>>);

impl Hooks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
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
                return Err(Error::invalid(format!(
                    "{what} was refused by the hook {name}: {why}"
                )));
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
}

fn caught<T>(what: &str, hook: &dyn Hook, call: impl Fn(&dyn Hook) -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(|| call(hook)));
    if done.is_err() {
        tracing::error!("the hook {} panicked at {what}", hook.name());
    }
    done.ok()
}
