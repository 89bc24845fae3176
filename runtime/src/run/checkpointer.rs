//! Automatic checkpoints of tasks whose events come from elsewhere, such as the clients of a
//! service.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use milepost::events::RunControl;
use milepost::ids::Epoch;
use milepost::query::TaskQuery;
use milepost::{Append, Appended, Body, Engine, Error, ErrorKind, LineageId, Mark, Result, Task};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::due::{DueCheckpoint, mark};
use super::idle::{self, Idle, idle_mark, is_due};
use super::policy::{CheckpointPolicy, EverySteps, Reported, Trigger};

/// The maximum number of watched tasks. Beyond it policies count from each append on, and idle
/// tasks are not saved.
const WATCHED_MAX: usize = 100_000;

/// The number of tasks of which [`Checkpointer::autosave`] reads the summary.
const SUMMARIES: usize = 100;

/// Marks the checkpoints of tasks to which other programs append.
///
/// ```
/// use milepost::events::{StepFinished, StepStarted};
/// use milepost::{Engine, Options};
/// use milepost_runtime::run::{Checkpointer, EverySteps, Reported};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("exec-001", "ana")?;
/// let checkpoints = Checkpointer::default().policy(EverySteps(2));
/// for step in 1..=4 {
///     let begun = StepStarted { step, ..Default::default() };
///     checkpoints.append(&task, begun.into(), Reported::default())?;
///     let finished = StepFinished { step, ..Default::default() };
///     checkpoints.append(&task, finished.into(), Reported::default())?;
/// }
/// assert_eq!(task.checkpoints()?, 2);
/// # Ok::<(), milepost::Error>(())
/// ```
pub struct Checkpointer {
    policy: Arc<dyn CheckpointPolicy>,
    autosave_after: Option<Duration>,
    tasks: Mutex<HashMap<String, Arc<Mutex<Watched>>>>,
    /// Held during [`Checkpointer::autosave`].
    earlier: Mutex<Earlier>,
}

/// The search for tasks that another process paused.
#[derive(Debug, Default)]
struct Earlier {
    cursor: Option<String>,
    is_over: bool,
}

/// Counts of a task since its last checkpoint.
#[derive(Debug, Default)]
struct Watched {
    /// The activation that the counts belong to.
    epoch: Option<Epoch>,
    lineage: LineageId,
    due: DueCheckpoint,
    idle: Idle,
    /// True if a restore, an undo or a switch left events after a lineage's last checkpoint, which
    /// an undo can bring back.
    left_unsaved: bool,
}

impl fmt::Debug for Checkpointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpointer")
            .field("autosave_after", &self.autosave_after)
            .finish_non_exhaustive()
    }
}

impl Default for Checkpointer {
    fn default() -> Self {
        Self {
            policy: Arc::new(EverySteps(1)),
            autosave_after: Some(Duration::from_secs(5 * 60)),
            tasks: Mutex::default(),
            earlier: Mutex::default(),
        }
    }
}

impl Watched {
    /// Reads the last checkpoint of the task, and discards counts of another lineage.
    fn look(&mut self, task: &Task) -> Result<()> {
        // A task of the same name that is newer begins anew.
        let is_older = self.due.saved_to > task.head()?.next;
        if self.epoch != Some(task.epoch()) || is_older {
            // The first check of a task is not an activation.
            let idle = match self.epoch.is_some() && !is_older {
                true => Idle::activated(task.clock().now_us()),
                false => Idle::default(),
            };
            let left_unsaved = !is_older && (self.left_unsaved || self.leaves_unsaved(task)?);
            let (epoch, lineage) = (Some(task.epoch()), task.lineage().id());
            *self = Self { epoch, lineage, due: DueCheckpoint::of(task)?, idle, left_unsaved };
        }
        self.due.look(task)
    }

    /// Returns `true` if the lineage that was active until now has events after its last
    /// checkpoint.
    fn leaves_unsaved(&self, task: &Task) -> Result<bool> {
        if self.epoch.is_none() {
            return Ok(false);
        }
        let left = match task.lineage_named(self.lineage) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            left => left?,
        };
        let saved_to = left.newest_mark()?.map_or(0, |(mark, _)| mark + 1);
        Ok(left.head()?.next > saved_to.max(self.due.saved_to))
    }
}

impl Checkpointer {
    /// Sets the policy. Default: a checkpoint at the end of each step.
    #[must_use]
    pub fn policy(mut self, policy: impl CheckpointPolicy + 'static) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Sets the time without events after which a task that is not running is saved; `None` for
    /// never. Default: five minutes.
    #[must_use]
    pub fn autosave_after(mut self, idle: Option<Duration>) -> Self {
        self.autosave_after = idle;
        self
    }

    /// Returns the time between two calls of [`Checkpointer::autosave`]; `None` if it is switched
    /// off.
    pub fn autosave_every(&self) -> Option<Duration> {
        self.autosave_after.map(idle::every)
    }

    /// Returns `true` if the policy is asked about an append: it ends a step, changes the phase or
    /// calls a tool, and has no mark of its own. Others can be appended without
    /// [`Checkpointer::append`], after [`Checkpointer::watch`].
    pub fn concerns(&self, append: &Append, reported: Reported) -> bool {
        occasion(append).is_some() || reported != Reported::default()
    }

    /// Watches a task: it is saved when it is idle.
    pub fn watch(&self, task: &Task) {
        self.watched(task);
    }

    /// Appends events, with a checkpoint after them if the policy wants one: both are one commit.
    /// A checkpoint before a tool call is a commit of its own. If a checkpoint cannot be saved, the
    /// events are appended without it, and the failure is logged and reported to the hooks.
    ///
    /// # Errors
    ///
    /// As [`Lineage::append`](milepost::Lineage::append).
    pub fn append(&self, task: &Task, append: Append, reported: Reported) -> Result<Appended> {
        let watched = self.watched(task);
        let Some((occasion, about)) = occasion(&append) else {
            let report = |appended: &Appended| {
                if !appended.repeated {
                    watched.lock().due.report(reported);
                }
            };
            return task.append(append).inspect(report);
        };
        if is_repeated(task, &append)? {
            return task.append(append);
        }
        let ended = u64::from(matches!(occasion, Trigger::StepFinished | Trigger::StepFailed));
        let context = {
            let mut watched = watched.lock();
            watched.look(task)?;
            watched.due.context(task, occasion, ended).with(reported)
        };
        let count = |appended: &Appended| {
            if !appended.repeated {
                let mut watched = watched.lock();
                watched.due.steps += ended;
                watched.due.report(reported);
            }
        };
        let marks = match &reported.policy {
            Some(policy) => policy.marks(&context),
            None => self.policy.marks(&context),
        };
        if !marks {
            return task.append(append).inspect(count);
        }
        let mark = mark(&context, about)?;
        if occasion == Trigger::BeforeTool {
            // A checkpoint moves the head that the append expects.
            if append.expected().is_none() {
                before_tool(task, mark)?;
            }
            return task.append(append).inspect(count);
        }
        let error = match task.append(append.clone().mark(mark)) {
            Err(error) => error,
            appended => return appended,
        };
        // Another request with the key may have been first, with another mark.
        if error.kind() == ErrorKind::Conflict && !is_repeated(task, &append)? {
            return Err(error);
        }
        // The events are recorded even without the checkpoint, if possible.
        let appended = task.append(append).inspect(count)?;
        if !appended.repeated {
            task.save_failed(&error, None);
        }
        Ok(appended)
    }

    /// Marks a checkpoint of cause `idle` on each watched task that is not running, has events
    /// after its last checkpoint, and has got none for the time of
    /// [`Checkpointer::autosave_after`], by the engine's clock. Paused tasks of earlier processes
    /// are watched, too: the first calls find them, a hundred tasks at a time. Call it at the
    /// interval of [`Checkpointer::autosave_every`]. Returns the number of checkpoints. Failures
    /// are logged and reported to the hooks.
    pub fn autosave(&self, engine: &Engine) -> usize {
        let Some(after) = self.autosave_after else {
            return 0;
        };
        // Another thread saves them now.
        let Some(mut earlier) = self.earlier.try_lock() else {
            return 0;
        };
        self.watch_paused(engine, &mut earlier);
        let ids: Vec<String> = self.tasks.lock().keys().cloned().collect();
        ids.iter().filter(|id| self.autosave_one(engine, id, after)).count()
    }

    /// Watches the next paused tasks that an earlier process left.
    fn watch_paused(&self, engine: &Engine, earlier: &mut Earlier) {
        if earlier.is_over {
            return;
        }
        let cursor = earlier.cursor.take();
        let asked = TaskQuery { limit: Some(SUMMARIES), cursor, ..TaskQuery::default() };
        let page = match engine.query().summaries(&asked) {
            Ok(page) => page,
            Err(error) => {
                earlier.cursor = asked.cursor;
                tracing::warn!(%error, "paused tasks are not found");
                return;
            }
        };
        for summary in page.items {
            let is_paused =
                summary.active().is_some_and(|active| active.summary.control == RunControl::Paused);
            if is_paused && let Ok(task) = engine.task(&summary.task.id) {
                self.watch(&task);
            }
        }
        *earlier = Earlier { is_over: page.next.is_none(), cursor: page.next };
    }

    fn autosave_one(&self, engine: &Engine, id: &str, after: Duration) -> bool {
        let Some(watched) = self.tasks.lock().get(id).cloned() else {
            return false;
        };
        let saved = engine.task(id).and_then(|task| {
            let mut watched = watched.lock();
            watched.look(&task)?;
            let Watched { due, idle, left_unsaved, .. } = &mut *watched;
            if !is_due(&task, due, idle, after)? {
                // An undo can bring unsaved events back, of a paused task those of an earlier
                // process.
                let is_paused = task.control().now()? == RunControl::Paused;
                let stays = is_paused || *left_unsaved;
                return Ok((due.is_settled(&task)? && !stays, false));
            }
            drop(watched);
            match task.checkpoint(idle_mark()) {
                Ok(_) => Ok((true, true)),
                Err(error) => {
                    task.save_failed(&error, None);
                    Ok((false, false))
                }
            }
        });
        let (is_settled, is_saved) = saved.unwrap_or_else(|error: Error| {
            // The task was deleted, or the store is not open; others have to be checked again.
            (error.kind() == ErrorKind::NotFound, false)
        });
        let mut tasks = self.tasks.lock();
        // An append that has it counts in it.
        if is_settled && Arc::strong_count(&watched) == 2 {
            tasks.remove(id);
        }
        is_saved
    }

    fn watched(&self, task: &Task) -> Arc<Mutex<Watched>> {
        let mut tasks = self.tasks.lock();
        if let Some(watched) = tasks.get(task.id()) {
            return Arc::clone(watched);
        }
        let watched = Arc::<Mutex<Watched>>::default();
        if tasks.len() < WATCHED_MAX {
            tasks.insert(task.id().to_owned(), Arc::clone(&watched));
        }
        drop(tasks);
        // The lineage has to be known before a restore leaves it. Later looks report errors.
        let _ = watched.lock().look(task);
        watched
    }
}

/// Returns `true` if events were appended under the key of an append.
fn is_repeated(task: &Task, append: &Append) -> Result<bool> {
    match append.key_given() {
        Some(key) => Ok(task.lineage().appended_under(key)?.is_some()),
        None => Ok(false),
    }
}

/// Marks the state before a tool call.
fn before_tool(task: &Task, mark: Mark) -> Result<()> {
    match task.checkpoint(mark) {
        Err(error) if error.kind() == ErrorKind::Conflict => Err(error),
        Err(error) => {
            task.save_failed(&error, None);
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// Returns the context of an append for the policies' decision, and the events that a checkpoint
/// there covers. An append with a mark of its own has none.
fn occasion(append: &Append) -> Option<(Trigger, Value)> {
    if append.has_mark() {
        return None;
    }
    append.bodies().iter().rev().find_map(|body| match body {
        Body::StepFinished(step) => Some((Trigger::StepFinished, json!({"step": step.step}))),
        Body::StepFailed(step) => Some((Trigger::StepFailed, json!({"step": step.step}))),
        Body::PhaseChanged(changed) => {
            let about = json!({"phase": changed.phase, "iteration": changed.iteration});
            Some((Trigger::PhaseChanged, about))
        }
        Body::ToolCalled(called) => Some((Trigger::BeforeTool, json!({"tool": called.tool}))),
        _ => None,
    })
}
