//! Store that a command reads and changes: opened by this process, or behind another program.
//!
//! Commands print the forms that the service answers with, so the output is the same for both.
//!
//! ```text
//! local       a store that this process has open
//! remote      a store behind another program
//! hints       tasks and points by what the user wrote
//! suggestions hints for names that do not exist
//! jobs        work in folders and on the disk
//! captures    captures of folders
//! recovery    interrupted restores, before other work
//! state_text  a whole state as text
//! ```

pub mod captures;
pub mod hints;
pub mod jobs;
mod local;
pub mod recovery;
mod remote;
pub mod suggestions;

use std::cell::RefCell;
use std::ops::Range;

use milepost::events::{MarkStatus, RunControl};
use milepost::state::MessageRange;
use milepost::{Engine, ErrorKind, Event, Hash, Header, Json, LineageId};
use milepost_api::calls::{
    AllCheckpoints, AllCheckpointsQuery, Blame, BlameQuery, Branch, Control, DeleteTask,
    EditArtifacts, Guide, Lineages, Mark, PlanRetention, Restore, Retain, StartTask, Stats,
    StatsQuery, TaskQuery, Tasks, Undo, Verify,
};
use milepost_api::{
    AppendedForm, Big, BlamedForm, BranchRequest, ChangesForm, CheckpointForm, CheckpointRequest,
    ControlRequest, EventAt, EventForm, Fields, FileForm, GuidanceRequest, JobForm, JobRequest,
    JobResult, LineageForm, Listed, MarkRequest, MovedForm, PointForm, RestoreRequest,
    RestoredForm, RetentionForm, RetentionRequest, SharePlanForm, ShareRequest, StatsForm,
    StoreForm, SummaryForm, TaskForm, TaskRequest, UndoFolderRequest, UserForm, VerifyForm,
    VerifyRequest,
};
use milepost_formats::Progress;
use milepost_service::reader::Reader;
use milepost_service::{Serve, View};
use milepost_workspace::TreePath;
use serde_json::{Map, Value};

use crate::defaults;
use crate::error::{Failure, LOOK_AT_HOOKS, Result};
use crate::output::{JobBar, Out, words};
use jobs::JobFailed;
pub use local::Local;
pub use remote::{Attempt, Remote, asking_again};

/// Hint for an invalid label.
const LABEL: &str = "a label is a name, as in `before-fix`";

/// Callback for events, one by one.
pub type Each<'a> = &'a mut dyn FnMut(EventForm) -> Result<()>;

/// Callback for checkpoints with their states, one by one.
pub type EachState<'a> = &'a mut dyn FnMut(CheckpointForm, Value) -> Result<()>;

/// An update of a followed task.
pub enum Followed {
    Event(Box<EventForm>),
    /// The task continues in another lineage.
    LineageChanged(MovedForm),
}

/// Callback for the bytes of a file, piece by piece.
pub type Bytes<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// Filter of a list of checkpoints.
#[derive(Debug, Default)]
pub struct CheckpointsRequest {
    pub task: Option<String>,
    /// Keys and values that the metadata must have.
    pub filter: Vec<(String, Value)>,
    pub status: Option<MarkStatus>,
    pub alias: Option<String>,
    pub limit: usize,
    pub cursor: Option<String>,
}

/// The way to a store.
pub enum Way<'a> {
    /// This process has the store open.
    Here(&'a Engine, &'a Reader),
    /// Another process has it open.
    There(&'a Remote),
}

/// A store, opened by this process or by another one.
pub trait Backend {
    /// Returns the way to the store.
    fn way(&self) -> Way<'_>;

    /// Returns the address of the service that has the store, which has the page too.
    fn url(&self) -> Option<&str> {
        None
    }

    /// Returns a page of tasks with what happened in them, newest first, or those of a prefix by
    /// id.
    fn summaries(
        &self,
        user: Option<&str>,
        prefix: Option<&str>,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Listed<SummaryForm>>;

    /// Returns the task with this id, which may be percent-encoded as in an address.
    fn task(&self, id: &str) -> Result<TaskForm>;

    /// Resolves an address. A failure has a hint.
    fn point(&self, address: &str) -> Result<PointForm>;

    /// Returns the event at a point.
    fn event(&self, point: &PointForm) -> Result<EventAt>;

    /// Passes the events of a point's lineage at these offsets to `each`, in order.
    fn events(&self, point: &PointForm, range: Range<u64>, each: Each<'_>) -> Result<()>;

    /// Passes the events of the task with this exact id to `each` as they come, from an offset on.
    /// Ends with the program that has the store open.
    fn follow(
        &self,
        task: &str,
        from: u64,
        each: &mut dyn FnMut(Followed) -> Result<()>,
    ) -> Result<()>;

    /// Returns the state at a point, with this range of its messages.
    fn state(&self, point: &PointForm, messages: MessageRange) -> Result<Value>;

    /// Passes the checkpoints of a point's lineage whose marks are before it, oldest first, with
    /// their states.
    fn states(&self, point: &PointForm, messages: MessageRange, each: EachState<'_>) -> Result<()>;

    /// Prints the whole state at a point as one line of JSON.
    fn print_state(&self, point: &PointForm, out: &mut Out) -> Result<()>;

    /// Returns the differences between the states at two points.
    fn changes(&self, before: &PointForm, after: &PointForm) -> Result<ChangesForm>;

    /// Returns all differences as a JSON patch (RFC 6902) that turns the first state into the
    /// second.
    fn patch(&self, before: &PointForm, after: &PointForm) -> Result<Value>;

    /// Returns the target of an undo of a task; `true` if it restores files.
    fn undo_target(&self, task: &TaskForm) -> Result<(PointForm, bool)>;

    /// Returns the number of files that differ between the last captures before two points, at most
    /// `at_most`. `None`: one of the points has no capture, or both have the same.
    fn differing_files(
        &self,
        before: &PointForm,
        after: &PointForm,
        at_most: u64,
    ) -> Result<Option<u64>>;

    /// Deletes all tasks of a user, for good, and returns their number.
    fn delete_user(&self, user: &str, told: &mut dyn FnMut(u64, u64)) -> Result<u64>;

    /// Returns the free space that a compaction needs, in bytes, if it is known.
    fn compaction_needs(&self) -> Result<Option<u64>>;

    /// Passes the files of the last capture before a point to `each`, a folder before its content.
    fn files(&self, point: &PointForm, each: &mut dyn FnMut(FileForm) -> Result<()>) -> Result<()>;

    /// Returns the entry at a path of that capture.
    fn file(&self, point: &PointForm, path: &TreePath) -> Result<Option<FileForm>>;

    /// Passes the bytes of a file of that capture to `each`, piece by piece.
    fn content(&self, point: &PointForm, path: &TreePath, each: Bytes<'_>) -> Result<()>;

    /// Returns the plan of a share of the task with this exact id. With `each`, also passes the
    /// bytes of the file to it.
    fn share(
        &self,
        task: &str,
        asked: &ShareRequest,
        progress: &mut dyn Progress,
        each: Option<Bytes<'_>>,
    ) -> Result<SharePlanForm>;

    /// Returns `true` if jobs with a folder are possible: the store is on this machine.
    fn has_folders(&self) -> bool;

    /// Does a job to its end. Reports its progress to `bar`.
    fn job(&self, asked: &JobRequest, bar: JobBar) -> Result<JobResult, JobFailed>;

    /// Returns the jobs of the program that has the store open, newest first.
    fn jobs(&self) -> Result<Listed<JobForm>>;

    /// Asks a job to end.
    fn cancel_job(&self, id: &str) -> Result<JobForm>;
}

impl dyn Backend + '_ {
    /// Performs an operation.
    pub fn call<C: Serve>(&self, call: C) -> Result<C::Answer> {
        self.call_with(call, &mut |_, _| {})
    }

    /// Performs an operation, and reports its progress to `told` if it is known.
    fn call_with<C: Serve>(&self, call: C, told: &mut dyn FnMut(u64, u64)) -> Result<C::Answer> {
        match self.way() {
            Way::Here(engine, reader) => {
                let told = RefCell::new(told);
                let progress = |done, all| (told.borrow_mut())(done, all);
                let view = View::new(engine, None, None).with_reader(reader);
                Ok(call.serve(&view.with_progress(&progress))?)
            }
            Way::There(remote) => remote.call(&call),
        }
    }

    /// Performs a change of a task. In a store of this process, an interrupted restore of it is
    /// recovered first.
    pub fn change<C: Serve>(&self, task: &str, call: C) -> Result<C::Answer> {
        if let Way::Here(engine, _) = self.way() {
            recovery::recover(engine, &engine.task(task)?, None)?;
        }
        self.call(call)
    }

    /// Returns a page of checkpoints, newest first.
    pub fn checkpoints(&self, asked: &CheckpointsRequest) -> Result<Listed<CheckpointForm>> {
        let CheckpointsRequest { task, filter, status, alias, limit, cursor } = asked;
        let fields: Map<String, Value> = filter.iter().cloned().collect();
        if fields.len() < filter.len() {
            let text = "a key is given twice: a checkpoint has one value of it";
            return Err(Failure::from(milepost::Error::invalid(text)));
        }
        let filter = (!fields.is_empty()).then_some(Value::Object(fields));
        let filter = filter.map(|filter| filter.to_string());
        pages(*limit, cursor.clone(), |limit, cursor| {
            let (task, limit) = (task.clone(), Some(limit));
            let (filter, alias, status) = (filter.clone(), alias.clone(), *status);
            let query = AllCheckpointsQuery {
                task,
                filter,
                status,
                alias,
                limit,
                cursor,
                ..AllCheckpointsQuery::default()
            };
            self.call(AllCheckpoints::new(query))
        })
    }

    /// Returns a page of tasks, newest first.
    pub fn tasks(
        &self,
        user: Option<&str>,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Listed<TaskForm>> {
        pages(limit, cursor, |limit, cursor| {
            let (user, limit) = (user.map(str::to_owned), Some(limit));
            self.call(Tasks::new(TaskQuery { user, limit, cursor, prefix: None }))
        })
    }

    /// Returns the lineages of the task with this exact id, oldest first.
    pub fn lineages(&self, task: &str) -> Result<Vec<LineageForm>> {
        Ok(self.call(Lineages::new(task))?.items)
    }

    /// Returns the numbers of the store.
    pub fn stats(&self) -> Result<StoreForm> {
        match self.call(Stats::new(StatsQuery::default()))? {
            StatsForm::Store(store) => Ok(store),
            StatsForm::User(_) => Err(Failure::new("the numbers of the store are for admins")),
        }
    }

    /// Returns the sizes of a user's tasks, newest first.
    pub fn stats_of(&self, user: &str) -> Result<UserForm> {
        let (mut tasks, mut cursor) = (Vec::new(), None);
        loop {
            let query = StatsQuery { user: Some(user.to_owned()), limit: None, cursor };
            let StatsForm::User(mut page) = self.call(Stats::new(query))? else {
                return Err(Failure::new("these are the numbers of the store, not of a user"));
            };
            tasks.append(&mut page.tasks);
            cursor = page.next.take();
            if cursor.is_none() {
                return Ok(UserForm { tasks, ..page });
            }
        }
    }

    /// Starts a task with this exact id. Default of the owner: the current user.
    pub fn start(&self, id: &str, user: Option<&str>, initial: Option<Json>) -> Result<TaskForm> {
        let user = match self.way() {
            Way::Here(..) => Some(user.map_or_else(defaults::current_user, str::to_owned)),
            Way::There(_) => user.map(str::to_owned),
        };
        self.call(StartTask::new(TaskRequest { id: id.to_owned(), user, initial, copy_of: None }))
    }

    /// Deletes the task with this exact id, for good.
    pub fn delete(&self, task: &str) -> Result<()> {
        self.call(DeleteTask::new(task))
    }

    /// Marks a checkpoint at a point.
    pub fn mark(&self, point: &PointForm, given: MarkRequest) -> Result<CheckpointForm> {
        let MarkRequest { label, status, cause, metadata, aliases } = given;
        // A service marks the point, and not the head: others may append before the request comes.
        let is_head = match self.way() {
            Way::Here(engine, _) => {
                let lineage = engine.task(&point.task)?.lineage_named(point.lineage)?;
                lineage.head()?.next == point.offset.0
            }
            Way::There(_) => false,
        };
        let at = (!is_head).then_some(point.offset);
        let lineage = Some(point.lineage);
        let body = CheckpointRequest { label, status, cause, metadata, aliases, lineage, at };
        self.call(Mark::new(&point.task, body)).map_err(|failure| match failure.kind() {
            Some(ErrorKind::Invalid) if !failure.has_hint(LOOK_AT_HOOKS) => failure.hint(LABEL),
            _ => failure,
        })
    }

    /// Restores to a point, without a folder.
    pub fn restore(&self, point: &PointForm, description: Option<&str>) -> Result<RestoredForm> {
        let (to, description) = (named(point), description.map(str::to_owned));
        let asked = RestoreRequest { to, description, ..RestoreRequest::default() };
        self.change(&point.task, Restore::new(asked))
    }

    /// Opens a lineage at a point, and leaves the active one as it is.
    pub fn branch(&self, point: &PointForm, description: Option<&str>) -> Result<LineageForm> {
        let description = description.map(str::to_owned);
        let asked = BranchRequest { description, ..BranchRequest::default() };
        self.change(&point.task, Branch::new(named(point), asked))
    }

    /// Undoes the last restore of a task, if it restored no folder.
    pub fn undo(&self, task: &TaskForm) -> Result<RestoredForm> {
        self.call(Undo::new(&task.id, UndoFolderRequest::default()))
    }

    /// Starts, pauses, resumes or stops the run of a task.
    pub fn control(&self, task: &TaskForm, to: RunControl, reason: Option<String>) -> Result<()> {
        self.change(&task.id, Control::new(&task.id, ControlRequest { to, reason })).map(drop)
    }

    /// Sends guidance to a run.
    pub fn guide(
        &self,
        task: &TaskForm,
        text: String,
        target: Option<String>,
    ) -> Result<AppendedForm> {
        self.change(&task.id, Guide::new(&task.id, GuidanceRequest { text, target }))
    }

    /// Sets artifacts of a run; `null` removes one.
    pub fn edit(&self, task: &TaskForm, artifacts: Vec<(String, Json)>) -> Result<AppendedForm> {
        let artifacts = Fields(artifacts.into_iter().collect());
        self.change(&task.id, EditArtifacts::new(&task.id, artifacts))
    }

    /// Checks every hash. Reports progress to `told`, if it is known.
    pub fn verify(
        &self,
        asked: VerifyRequest,
        told: &mut dyn FnMut(u64, u64),
    ) -> Result<VerifyForm> {
        self.call_with(Verify::new(asked), told)
    }

    /// Plans a cleanup, and applies it unless `dry_run` is set. Reports progress to `told`, if it
    /// is known.
    pub fn clean_up(
        &self,
        asked: &RetentionRequest,
        dry_run: bool,
        told: &mut dyn FnMut(u64, u64),
    ) -> Result<RetentionForm> {
        match dry_run {
            true => self.call_with(PlanRetention::new(asked.clone()), told),
            false => self.call_with(Retain::new(asked.clone()), told),
        }
    }

    /// Finds the event that last set a part of a state; with `history`, each event that changed it.
    pub fn blame(&self, point: &PointForm, pointer: &str, history: bool) -> Result<BlamedForm> {
        let query = BlameQuery { pointer: pointer.to_owned(), history };
        self.call(Blame::new(&point.address, query))
    }

    /// Returns the engine, if this process has the store open.
    pub fn engine(&self) -> Option<&Engine> {
        match self.way() {
            Way::Here(engine, _) => Some(engine),
            Way::There(_) => None,
        }
    }
}

/// Returns the point of an offset, without reading the store: requests name its address only.
pub fn point_at(task: &str, lineage: LineageId, offset: u64) -> PointForm {
    PointForm {
        address: words::address(task, lineage, offset),
        task: task.to_owned(),
        lineage,
        offset: Big(offset),
        hash: Hash([0; 32]),
        checkpoint: None,
    }
}

/// Returns the address of a point by its checkpoint, if it was found by one: a fork records it.
pub fn named(point: &PointForm) -> String {
    match point.checkpoint {
        Some(checkpoint) => format!("@{checkpoint}"),
        None => point.address.clone(),
    }
}

/// Returns an event as the functions of `milepost::reading` take it.
pub fn event_of(event: EventForm) -> Event {
    let header = Header { time_us: event.time_us.0, ..Header::default() };
    Event { lineage: event.lineage, offset: event.offset.0, header, body: event.body }
}

/// Largest page of a list.
const PAGE: usize = 100;

/// Returns items of a list, from as many pages as needed.
fn pages<T>(
    limit: usize,
    mut cursor: Option<String>,
    mut page: impl FnMut(usize, Option<String>) -> Result<Listed<T>>,
) -> Result<Listed<T>> {
    let mut items = Vec::new();
    while items.len() < limit {
        let found = page((limit - items.len()).min(PAGE), cursor.take())?;
        items.extend(found.items);
        cursor = found.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(Listed { items, next: cursor })
}
