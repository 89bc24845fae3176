//! What a command looks at and steers: a store that is opened here, or a program that answers for
//! one.
//!
//! Commands print the forms that the service answers with, so they say the same words either way.

mod local;
mod remote;

use std::ops::Range;
use std::time::Duration;

use milepost::{Anchor, CheckpointId, Engine, Json, MarkStatus, MessageRange, RunControl};
use milepost_forms::{
    AppendedForm, BlamedForm, ChangesForm, CheckpointForm, EventAt, EventForm, FileForm,
    LineageForm, Listed, MovedForm, PinForm, PointForm, RestoredForm, RetentionForm, StoreForm,
    TaskForm, UserForm, VerifyForm,
};
use milepost_workspace::TreePath;
use serde_json::Value;

use crate::error::Result;
use crate::output::Out;
pub use local::Local;
pub use remote::Remote;

/// Gets events one by one.
pub type Each<'a> = &'a mut dyn FnMut(EventForm) -> Result<()>;

/// What comes of a task that is followed.
pub enum Followed {
    Event(Box<EventForm>),
    /// The task goes on with another lineage.
    LineageChanged(MovedForm),
}

/// Gets the bytes of a file piece by piece.
pub type Bytes<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// Which checkpoints a cleanup keeps, of which tasks.
#[derive(Debug, Clone, Default)]
pub struct RetentionAsked {
    pub keep: Option<usize>,
    pub younger_than: Option<Duration>,
    pub undo: Option<u32>,
    pub marks_only: bool,
    pub drop_lineages: bool,
    pub user: Option<String>,
    pub task: Option<String>,
}

/// Which checkpoints are listed.
#[derive(Debug, Default)]
pub struct CheckpointsAsked {
    pub task: Option<String>,
    /// What their metadata has.
    pub filter: Vec<(String, Value)>,
    pub status: Option<MarkStatus>,
    pub limit: usize,
    pub cursor: Option<String>,
}

/// A checkpoint to be marked.
#[derive(Debug)]
pub struct MarkAsked {
    pub label: String,
    pub status: MarkStatus,
    pub metadata: Option<Json>,
}

/// What is verified.
#[derive(Debug)]
pub struct VerifyAsked {
    /// One task; the whole store unless given.
    pub task: Option<TaskForm>,
    /// Every lineage is folded from its beginning, too.
    pub states: bool,
    /// What the store is compared with, too.
    pub anchor: Option<Anchor>,
}

/// A store, wherever it is opened.
pub trait Backend {
    /// The engine, where the store is opened here.
    fn engine(&self) -> Option<&Engine>;

    /// A page of tasks, newest first.
    fn tasks(
        &self,
        user: Option<&str>,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Listed<TaskForm>>;

    /// The task of an id, which may be written as in an address.
    fn task(&self, id: &str) -> Result<TaskForm>;

    /// The lineages of the task with this very id, oldest first.
    fn lineages(&self, task: &str) -> Result<Vec<LineageForm>>;

    /// The point of an address, or what to do where there is none.
    fn point(&self, address: &str) -> Result<PointForm>;

    /// The event at a point.
    fn event(&self, point: &PointForm) -> Result<EventAt>;

    /// The events of a point's lineage at these offsets, in their order.
    fn events(&self, point: &PointForm, range: Range<u64>, each: Each<'_>) -> Result<()>;

    /// The events of the task with this very id from an offset on, as they come, for as long as
    /// somebody makes them.
    fn follow(
        &self,
        task: &str,
        from: u64,
        each: &mut dyn FnMut(Followed) -> Result<()>,
    ) -> Result<()>;

    /// The state at a point, with so many of its messages.
    fn state(&self, point: &PointForm, messages: MessageRange) -> Result<Value>;

    /// Prints the whole state at a point as one line of JSON.
    fn print_state(&self, point: &PointForm, out: &mut Out) -> Result<()>;

    /// What is different between the states at two points.
    fn changes(&self, before: &PointForm, after: &PointForm) -> Result<ChangesForm>;

    /// The same, all of it, as a JSON patch (RFC 6902) that turns the first state into the second.
    fn patch(&self, before: &PointForm, after: &PointForm) -> Result<Value>;

    /// A page of checkpoints, newest first.
    fn checkpoints(&self, asked: &CheckpointsAsked) -> Result<Listed<CheckpointForm>>;

    fn mark(&self, point: &PointForm, asked: MarkAsked) -> Result<CheckpointForm>;

    /// Goes back to a point, without a folder.
    fn restore(&self, point: &PointForm, description: Option<&str>) -> Result<RestoredForm>;

    /// Takes the last restore of a task back, where it took no folder along.
    fn undo(&self, task: &TaskForm) -> Result<RestoredForm>;

    fn stats(&self) -> Result<StoreForm>;

    /// What the tasks of a user hold, newest first.
    fn stats_of(&self, user: &str) -> Result<UserForm>;

    /// Checks every hash. `told`: how far it is, where that is known.
    fn verify(&self, asked: &VerifyAsked, told: &mut dyn FnMut(u64, u64)) -> Result<VerifyForm>;

    /// The heads of the store, as JSON.
    fn anchor(&self) -> Result<String>;

    /// Which event last set a part of a state, or every one that changed it.
    fn blame(&self, point: &PointForm, pointer: &str, history: bool) -> Result<BlamedForm>;

    /// Erases what the event at a point says.
    fn erase(&self, point: &PointForm, reason: Option<&str>) -> Result<()>;

    /// The pins of the task with this very id.
    fn pins(&self, task: &str) -> Result<Vec<PinForm>>;

    fn pin(&self, checkpoint: &CheckpointId, reason: Option<&str>) -> Result<PinForm>;

    fn unpin(&self, checkpoint: &CheckpointId) -> Result<()>;

    /// What a cleanup would let go of, or what it let go of. `told`: how far it is, where that is
    /// known.
    fn clean_up(
        &self,
        asked: &RetentionAsked,
        dry_run: bool,
        told: &mut dyn FnMut(u64, u64),
    ) -> Result<RetentionForm>;

    /// Deletes the task with this very id, for good.
    fn delete(&self, task: &str) -> Result<()>;

    /// Deletes all tasks of a user, for good, and says how many.
    fn delete_user(&self, user: &str, told: &mut dyn FnMut(u64, u64)) -> Result<u64>;

    /// How much room a compaction needs, in bytes, where that is known.
    fn compaction_needs(&self) -> Result<Option<u64>>;

    /// The files that were captured last before a point, a folder before what is in it.
    fn files(&self, point: &PointForm, each: &mut dyn FnMut(FileForm) -> Result<()>) -> Result<()>;

    /// What is at a path of them.
    fn file(&self, point: &PointForm, path: &TreePath) -> Result<Option<FileForm>>;

    /// The bytes of one, as they come.
    fn content(&self, point: &PointForm, path: &TreePath, each: Bytes<'_>) -> Result<()>;

    /// Starts, pauses, resumes or stops the run of a task.
    fn control(&self, task: &TaskForm, to: RunControl, reason: Option<String>) -> Result<()>;

    /// Says what a run should do.
    fn guide(&self, task: &TaskForm, text: String, target: Option<String>) -> Result<AppendedForm>;

    /// Sets artifacts of a run; `null` removes one.
    fn edit(&self, task: &TaskForm, artifacts: Vec<(String, Json)>) -> Result<AppendedForm>;
}
