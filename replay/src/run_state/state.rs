//! The state of a run.
use std::collections::BTreeMap;

use milepost_codec::{Float, Hash, Json, Offset, RunControl};

use super::entry::{Entry, Guidance};
use crate::document::Document;
use crate::sequence::Sequence;

/// Status of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// The step has not ended.
    Running,
    /// The step ended well.
    Finished,
    /// The step ended badly.
    Failed,
}

/// The current step, or the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The number in the run.
    pub number: u64,
    /// A description of the step.
    pub name: Option<String>,
    /// The status.
    pub status: StepStatus,
}

/// A tool call that has not been answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    /// The tool.
    pub tool: String,
    /// The arguments; absent if they are long. Those can be read at `offset`.
    pub arguments: Option<Json>,
    /// The offset of the call.
    pub offset: Offset,
}

/// The last error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// The offset of the event with the error.
    pub offset: Offset,
    /// The message.
    pub message: String,
}

/// The state of a run: the fold of its events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RunState {
    /// The control of the run.
    pub control: RunControl,
    /// The iteration state.
    pub phase: Option<String>,
    /// The previous iteration state.
    pub previous_phase: Option<String>,
    /// The number of the iteration.
    pub iteration: u64,
    /// The current step, or the last one.
    pub step: Option<Step>,
    /// The prompt.
    pub prompt: Option<String>,
    /// The rule system.
    pub rules: Option<Json>,
    /// The artifacts by name.
    pub artifacts: BTreeMap<String, Json>,
    /// All guidance, in order.
    pub guidance: Sequence<Guidance>,
    /// The variables.
    pub variables: Document,
    /// The context.
    pub context: Document,
    /// The conversation: messages, tool calls and their returns, in order.
    pub messages: Sequence<Entry>,
    /// Tool calls that have not been answered, by call id.
    pub open_calls: BTreeMap<String, OpenCall>,
    /// The number of answered calls.
    pub finished_calls: u64,
    /// The number of calls that are no longer followed, see [`crate::RunReducer`].
    pub abandoned_calls: u64,
    /// The tree of the last captured workspace.
    pub workspace: Option<Hash>,
    /// The metrics of the last finished step.
    pub metrics: BTreeMap<String, Float>,
    /// The last error.
    pub last_error: Option<LastError>,
}
