//! Run control: whether a run is idle, running, paused or stopped. Each change is checked against
//! the lineage, and threads that wait at a safe point are woken.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use milepost_codec::{ControlChanged, Error, LineageId, PhaseChanged, Result, RunControl, TaskNo};
use milepost_replay::{RunReducer, RunState, transition};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::commit::append::Append;
use crate::commit::appended::Committed;
use crate::commit::committer::outdated;
use crate::context::Context;
use crate::handles::audit;
use crate::handles::inner::Inner;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::history::state::state_at;

/// Number of tasks whose control is cached. Beyond it, tasks without a change or a waiting thread
/// are dropped.
const REMEMBERED: usize = 4096;

/// Run control of all tasks with a change or a waiting thread.
#[derive(Default)]
pub(crate) struct RunControls {
    tasks: Mutex<HashMap<TaskNo, Arc<ControlCache>>>,
}

/// Cached run status of a task's lineages. The lock is held while a change is committed, so that
/// changes are checked one after another.
#[derive(Default)]
pub(crate) struct ControlCache {
    known: Mutex<RunStatuses>,
    changed: Condvar,
    /// Futures that wait for a change. Entries are added under the lock of `known`.
    wakers: Mutex<Vec<Waker>>,
    /// The number of restores with participants under way.
    restores: AtomicUsize,
}

/// A restore with participants under way. Threads at a safe point of the task wait until it is
/// dropped.
pub(crate) struct RestoreUnderWay(Arc<ControlCache>);

impl Drop for RestoreUnderWay {
    fn drop(&mut self) {
        self.0.restores.fetch_sub(1, Ordering::SeqCst);
        self.0.wake();
    }
}

pub(crate) type RunStatuses = HashMap<LineageId, RunStatus>;

/// Status of a run, known without folding its state.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunStatus {
    pub(crate) control: RunControl,
    pub(crate) phase: Option<String>,
    pub(crate) iteration: u64,
    /// The phase before.
    pub(crate) previous: Option<String>,
}

impl RunControls {
    pub(crate) fn of(&self, task: TaskNo) -> Arc<ControlCache> {
        let mut tasks = self.tasks.lock();
        if tasks.len() > REMEMBERED {
            tasks.retain(|_, control| Arc::strong_count(control) > 1);
        }
        Arc::clone(tasks.entry(task).or_default())
    }

    /// Marks a restore of a task as under way.
    pub(crate) fn begin_restore(&self, task: TaskNo) -> RestoreUnderWay {
        let control = self.of(task);
        control.restores.fetch_add(1, Ordering::SeqCst);
        RestoreUnderWay(control)
    }

    /// Returns `true` while a thread of this process restores a task.
    pub(crate) fn is_restoring(&self, task: TaskNo) -> bool {
        let control = self.tasks.lock().get(&task).cloned();
        control.is_some_and(|control| control.restores.load(Ordering::SeqCst) > 0)
    }

    /// Wakes the threads that wait for a task, whose active lineage changed.
    pub(crate) fn wake(&self, task: TaskNo) {
        let control = self.tasks.lock().get(&task).cloned();
        if let Some(control) = control {
            control.wake();
        }
    }

    /// Wakes all waiting threads, when the store is closed.
    pub(crate) fn wake_all(&self) {
        let all: Vec<_> = self.tasks.lock().values().cloned().collect();
        all.iter().for_each(|control| control.wake());
    }
}

impl ControlCache {
    pub(crate) fn lock(&self) -> MutexGuard<'_, RunStatuses> {
        self.known.lock()
    }

    /// Returns `true` if another control has to be waited for.
    fn is_awaited(&self, seen: &Result<RunControl>, unwanted: RunControl) -> bool {
        let is_restoring = self.restores.load(Ordering::SeqCst) > 0;
        matches!(seen, Ok(now) if *now == unwanted || is_restoring)
    }

    /// Takes the lock, so that no thread is between its check and its wait.
    fn wake(&self) {
        self.wake_behind(self.known.lock());
    }

    /// Wakes threads and futures. The lock is released first: a waker may poll at once.
    fn wake_behind(&self, known: MutexGuard<'_, RunStatuses>) {
        self.changed.notify_all();
        let wakers = std::mem::take(&mut *self.wakers.lock());
        drop(known);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Wakes the future at the next change. The caller holds the lock.
    fn wake_later(&self, _known: &MutexGuard<'_, RunStatuses>, waker: &Waker) {
        let mut wakers = self.wakers.lock();
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }
}

/// Returns the current control of a lineage.
pub(crate) fn current(
    inner: &Inner,
    known: &mut RunStatuses,
    task: TaskNo,
    lineage: LineageId,
) -> Result<RunControl> {
    look(inner, known, task, lineage).map(|status| status.control)
}

fn look<'a>(
    inner: &Inner,
    known: &'a mut RunStatuses,
    task: TaskNo,
    lineage: LineageId,
) -> Result<&'a mut RunStatus> {
    match known.entry(lineage) {
        Entry::Occupied(found) => Ok(found.into_mut()),
        Entry::Vacant(place) => {
            let log = milepost_codec::LogId::lineage(task, lineage);
            let head = inner.catalog.head(log)?.next;
            // Later events do not change the control: a change needs the lock.
            let state = state_at(&inner.catalog, &RunReducer, task, lineage, head)?;
            let RunState { control, phase, iteration, previous_phase: previous, .. } = state;
            Ok(place.insert(RunStatus { control, phase, iteration, previous }))
        }
    }
}

/// Returns the run status of a lineage.
pub(crate) fn status(inner: &Inner, task: TaskNo, lineage: LineageId) -> Result<RunStatus> {
    let control = inner.controls.of(task);
    let mut known = control.lock();
    look(inner, &mut known, task, lineage).cloned()
}

/// Returns the phase before the current one; `None` if there is none or it cannot be read.
pub(crate) fn phase_before(inner: &Inner, task: TaskNo, lineage: LineageId) -> Option<String> {
    status(inner, task, lineage).ok()?.previous
}

/// Records the new phase of a lineage.
pub(crate) fn entered(inner: &Inner, task: TaskNo, lineage: LineageId, changed: &PhaseChanged) {
    let control = inner.controls.tasks.lock().get(&task).cloned();
    if let Some(control) = control
        && let Some(status) = control.lock().get_mut(&lineage)
    {
        // Read after the append, it has the new phase already.
        if status.phase.as_ref() != Some(&changed.phase) {
            status.previous = status.phase.replace(changed.phase.clone());
        }
        status.iteration = changed.iteration;
    }
}

/// Commits events, some of which change the control.
pub(crate) fn append(lineage: &Lineage, append: &Append) -> Result<Committed> {
    let inner = lineage.inner();
    let control = inner.controls.of(lineage.task());
    let mut known = control.lock();
    // If the key was used, the append is a repetition or a conflict, and the control stays.
    if let Some(key) = append.key_given()
        && let Some(_used) = inner.catalog.keyed(lineage.task(), lineage.id(), key)?
    {
        return lineage.commit_append(append);
    }
    let from = current(inner, &mut known, lineage.task(), lineage.id())?;
    let to = append.control_changes().try_fold(from, checked);
    let to = inner.meters.refused(to)?;
    commit(lineage, &control, known, append, from, to)
}

/// Commits events that lead from one control to another. The transition has been checked.
fn commit(
    lineage: &Lineage,
    control: &ControlCache,
    mut known: MutexGuard<'_, RunStatuses>,
    append: &Append,
    from: RunControl,
    to: RunControl,
) -> Result<Committed> {
    // After a failed write the status is unknown, and is read again.
    let status = known.remove(&lineage.id());
    let done = lineage.commit_append(append)?;
    if let Some(status) = status {
        known.insert(lineage.id(), RunStatus { control: to, ..status });
    }
    control.wake_behind(known);
    lineage.appended(append, &done.appended);
    let told = audit::AuditEvent {
        before: Some(from),
        user: append.context().user.as_deref(),
        correlation: append.context().correlation.as_deref(),
        ..audit::AuditEvent::of("control_changed", lineage.task(), lineage.id())
    };
    told.tell(lineage.engine());
    Ok(done)
}

fn checked(now: RunControl, change: &ControlChanged) -> Result<RunControl> {
    if change.from != now {
        let (from, now) = (change.from.name(), now.name());
        return Err(Error::invalid(format!(
            "the change of control is from {from}, and the run is {now}"
        )));
    }
    transition(change.from, change.to)
}

/// The control of a task's run, in the lineage of the task's handle: see [`Task::control`].
#[derive(Debug, Clone, Copy)]
pub struct TaskControl<'a> {
    task: &'a Task,
}

impl Task {
    /// Returns the operations on the control of the run: idle, running, paused or stopped.
    ///
    /// ```
    /// use std::time::Duration;
    /// use milepost::events::RunControl;
    /// use milepost::{Engine, ErrorKind, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("tuning", "ana")?;
    /// task.control().change(RunControl::Running, None)?;
    /// task.control().change(RunControl::Paused, Some("let me look"))?;
    /// let refused = task.control().change(RunControl::Idle, None).unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::Invalid);
    /// assert_eq!(task.control().now()?, RunControl::Paused);
    /// let seen = task.control().wait(RunControl::Running, Duration::MAX)?;
    /// assert_eq!(seen, RunControl::Paused);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    pub fn control(&self) -> TaskControl<'_> {
        TaskControl { task: self }
    }
}

impl TaskControl<'_> {
    /// Returns the control now.
    ///
    /// # Errors
    ///
    /// `Corrupt`: events cannot be read. `Unavailable`: the store is closed.
    pub fn now(&self) -> Result<RunControl> {
        self.current(&mut self.cache().lock())
    }

    /// Returns `true` while this process restores the task together with files: until it has
    /// ended, appends are refused.
    pub fn is_restoring(&self) -> bool {
        self.cache().restores.load(Ordering::SeqCst) > 0
    }

    /// Waits while the control is `unwanted`, or [`TaskControl::is_restoring`], at most the given
    /// time, and returns the control. With [`Duration::MAX`] the wait is unlimited. It also ends if
    /// a restore activates another lineage, the task is deleted or the store is closed.
    ///
    /// # Errors
    ///
    /// Each also during the wait:
    ///
    /// - `Conflict` with [`Detail::Active`](crate::Detail): another lineage is active. Take a new
    ///   handle with [`Task::renewed`].
    /// - `NotFound`: the task was deleted.
    /// - `Unavailable`: the store was closed.
    /// - `Corrupt`: events cannot be read.
    pub fn wait(&self, unwanted: RunControl, at_most: Duration) -> Result<RunControl> {
        let control = self.cache();
        let mut known = control.lock();
        let mut seen = Ok(unwanted);
        let waits = |known: &mut RunStatuses| {
            seen = self.of_active(known);
            control.is_awaited(&seen, unwanted)
        };
        control.changed.wait_while_for(&mut known, waits, at_most);
        seen
    }

    /// Waits as [`TaskControl::wait`] does, without a limit, as a future for any runtime.
    ///
    /// A poll may read events, which blocks as an append does. The future does not hold the
    /// thread while it waits.
    pub fn wait_async(
        &self,
        unwanted: RunControl,
    ) -> impl Future<Output = Result<RunControl>> + Send + use<> {
        let task = self.task.clone();
        // The future holds it: an entry without a waiting thread or future may be dropped.
        let control = self.cache();
        std::future::poll_fn(move |context| {
            let mut known = control.lock();
            let seen = task.control().of_active(&mut known);
            if control.is_awaited(&seen, unwanted) {
                control.wake_later(&known, context.waker());
                return Poll::Pending;
            }
            Poll::Ready(seen)
        })
    }

    /// Begins, pauses, resumes, stops or ends the run: changes its control to `to`. The change is
    /// durable when this returns, and threads that wait at a safe point are woken. Returns the
    /// previous control.
    ///
    /// # Errors
    ///
    /// `Invalid`: there is no such transition; nothing is appended. Others as [`Lineage::append`].
    pub fn change(&self, to: RunControl, reason: Option<&str>) -> Result<RunControl> {
        self.change_in(&Context::default(), to, reason)
    }

    /// Changes the control, as [`TaskControl::change`], by an event in a context.
    ///
    /// # Errors
    ///
    /// As [`TaskControl::change`].
    pub fn change_in(
        &self,
        context: &Context,
        to: RunControl,
        reason: Option<&str>,
    ) -> Result<RunControl> {
        let control = self.cache();
        let mut known = control.lock();
        let from = self.current(&mut known)?;
        self.task.inner().meters.refused(transition(from, to))?;
        let reason = reason.map(str::to_owned);
        let change = Append::from(ControlChanged { from, to, reason }).or_context(context);
        commit(self.task.lineage(), &control, known, &change, from, to)?;
        Ok(from)
    }

    fn cache(&self) -> Arc<ControlCache> {
        self.task.inner().controls.of(self.task.no())
    }

    fn current(&self, known: &mut RunStatuses) -> Result<RunControl> {
        current(self.task.inner(), known, self.task.no(), self.task.lineage().id())
    }

    /// Returns the control if the lineage of the handle is the active one.
    fn of_active(&self, known: &mut RunStatuses) -> Result<RunControl> {
        let (catalog, no) = (&self.task.inner().catalog, self.task.no());
        // The activations of a deleted task stay until a compaction.
        catalog.task(no)?;
        let (epoch, active) = catalog.active(no)?;
        if epoch != self.task.epoch() {
            return Err(outdated(active.lineage, epoch, self.task.epoch()));
        }
        self.current(known)
    }
}
