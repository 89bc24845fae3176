//! The state of a run.
use std::collections::BTreeMap;

use milepost_codec::{Float, Hash, Json, Offset, RunControl};

use super::entry::{Entry, Guidance};
use crate::document::Document;
use crate::sequence::Sequence;

/// How the current step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// It goes on.
    Running,
    /// It ended well.
    Finished,
    /// It ended badly.
    Failed,
}

/// The current step, or the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its number in the run.
    pub number: u64,
    /// What it does.
    pub name: Option<String>,
    /// How it stands.
    pub status: StepStatus,
}

/// A tool call that has not been answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    /// The tool.
    pub tool: String,
    /// What it was called with; absent where that is long, and then to be read at `offset`.
    pub arguments: Option<Json>,
    /// The offset of the call.
    pub offset: Offset,
}

/// What went wrong last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// The event that brought it.
    pub offset: Offset,
    /// What it was.
    pub message: String,
}

/// What the events of a run add up to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RunState {
    /// Whether the run is going.
    pub control: RunControl,
    /// The iteration state.
    pub phase: Option<String>,
    /// The iteration state before it.
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
    /// How many calls were answered.
    pub finished_calls: u64,
    /// How many calls are not followed any more: see [`crate::RunReducer`].
    pub abandoned_calls: u64,
    /// The tree of the last captured workspace.
    pub workspace: Option<Hash>,
    /// What the last finished step measured.
    pub metrics: BTreeMap<String, Float>,
    /// What went wrong last.
    pub last_error: Option<LastError>,
}
