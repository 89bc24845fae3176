//! States of all checkpoints of a lineage.

use milepost_api::CheckpointState;

use crate::answer_lines::AnswerLines;
use crate::client::Client;
use crate::error::Result;
use crate::unfold::{Step, Unfolded, stream};

/// The range of a pass over the checkpoints of a lineage.
#[derive(Debug, Clone, Default)]
pub struct StatesQuery {
    /// The first offset of a mark's event. Default: the first readable one.
    pub from: Option<u64>,
    /// The end offset, exclusive. Default: the head.
    pub to: Option<u64>,
    /// The maximum number of states: 1 to 1,000. Default: all.
    pub limit: Option<u32>,
    /// The lineage. Default: the active one.
    pub lineage: Option<u32>,
    /// Only this many of the last messages and pieces of guidance of each state: 0 to 1,000.
    /// Default: all.
    pub messages: Option<u64>,
}

/// Checkpoints and their states, oldest first, as they arrive.
#[derive(Debug)]
pub struct CheckpointStates {
    stream: Unfolded<AnswerLines, Result<CheckpointState>>,
}

stream!(CheckpointStates, CheckpointState);

impl Client {
    /// Returns the checkpoints whose marks are in a range of a lineage, oldest first, each with its
    /// state. The service folds the states in one pass. The stream holds one state; it is not
    /// continued after an error: a new one begins after the last checkpoint's `mark`.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task or lineage, or retention removed the beginning of the range.
    /// `Invalid`: `from` is past the head. From the stream also `Transport`: the answer broke off,
    /// and `Answer`: a state is larger than the answer limit.
    pub async fn states(&self, task: &str, query: StatesQuery) -> Result<CheckpointStates> {
        let request = self.get(["v1", "tasks", task, "states"])?.accept("application/x-ndjson");
        let request = request.query("from", query.from).query("to", query.to);
        let request = request.query("limit", query.limit).query("lineage", query.lineage);
        let request = request.query("messages", query.messages);
        let lines = AnswerLines::open(&request).await?;
        Ok(CheckpointStates { stream: Unfolded::new(lines, next) })
    }
}

fn next(lines: AnswerLines) -> Step<AnswerLines, Result<CheckpointState>> {
    Box::pin(read(lines))
}

async fn read(mut lines: AnswerLines) -> (Option<Result<CheckpointState>>, Option<AnswerLines>) {
    match lines.next_parsed().await {
        Ok(Some(state)) => (Some(Ok(state)), Some(lines)),
        Ok(None) => (None, None),
        Err(error) => (Some(Err(error)), None),
    }
}
