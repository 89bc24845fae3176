//! What a command looks at and steers: a store that is opened here, or a program that answers for one.
//!
//! Commands print the forms that the service answers with, so they say the same words either way.

mod here;
mod there;

use std::ops::Range;

use milepost::{Anchor, CheckpointId, Engine, Json, MarkStatus, MessageRange, RunControl};
use milepost_forms::{
    AppendedForm, BlamedForm, ChangesForm, CheckpointForm, EventAt, EventForm, LineageForm, Listed,
    PinForm, PointForm, RestoredForm, StoreForm, TaskForm, UserForm, VerifyForm,
};
use serde_json::Value;

use crate::error::Result;
use crate::output::Out;
pub use here::Here;
pub use there::There;

/// Gets events one by one.
pub type Each<'a> = &'a mut dyn FnMut(EventForm) -> Result<()>;

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
pub trait Source {
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

    /// The state at a point, with so many of its messages.
    fn state(&self, point: &PointForm, messages: MessageRange) -> Result<Value>;

    /// Prints the whole state at a point as one line of JSON.
    fn print_state(&self, point: &PointForm, out: &mut Out) -> Result<()>;

    /// What is different between the states at two points.
    fn changes(&self, before: &PointForm, after: &PointForm) -> Result<ChangesForm>;

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

    /// Starts, pauses, resumes or stops the run of a task.
    fn control(&self, task: &TaskForm, to: RunControl, reason: Option<String>) -> Result<()>;

    /// Says what a run should do.
    fn guide(&self, task: &TaskForm, text: String, target: Option<String>) -> Result<AppendedForm>;

    /// Sets artifacts of a run; `null` removes one.
    fn edit(&self, task: &TaskForm, artifacts: Vec<(String, Json)>) -> Result<AppendedForm>;
}
