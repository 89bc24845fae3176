//! States of all checkpoints of a lineage.

use std::time::Duration;

use bytes::Bytes;
use milepost_api::CheckpointState;
use reqwest::Response;
use tokio::time::timeout;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
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
    stream: Unfolded<Lines, Result<CheckpointState>>,
}

stream!(CheckpointStates, CheckpointState);

/// The open answer, and what was received of it.
struct Lines {
    response: Response,
    endpoint: String,
    timeout: Duration,
    /// The maximum length of a line.
    most: usize,
    /// Lines that were not returned yet; the last one may be incomplete.
    received: Vec<u8>,
    /// The part of it that was returned, and the part that is known to have no line break.
    taken: usize,
    searched: usize,
}

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
        let lines = Lines {
            response: request.open().await?,
            endpoint: request.method_and_path(),
            timeout: self.0.options.timeout,
            most: self.0.options.answer,
            received: Vec::new(),
            taken: 0,
            searched: 0,
        };
        Ok(CheckpointStates { stream: Unfolded::new(lines, next) })
    }
}

fn next(lines: Lines) -> Step<Lines, Result<CheckpointState>> {
    Box::pin(lines.next())
}

impl Lines {
    async fn next(mut self) -> (Option<Result<CheckpointState>>, Option<Self>) {
        match self.line().await {
            Ok(Some(state)) => (Some(Ok(state)), Some(self)),
            Ok(None) => (None, None),
            Err(error) => (Some(Err(error)), None),
        }
    }

    async fn line(&mut self) -> Result<Option<CheckpointState>> {
        loop {
            if let Some(end) = self.end() {
                let line = self.received.get(self.taken..end).unwrap_or_default();
                let read = serde_json::from_slice(line);
                (self.taken, self.searched) = (end + 1, end + 1);
                return read
                    .map(Some)
                    .map_err(|error| self.answer(format!("a line is not understood: {error}")));
            }
            self.received.drain(..self.taken);
            (self.taken, self.searched) = (0, self.received.len());
            let Some(bytes) = self.chunk().await? else {
                return match self.received.is_empty() {
                    true => Ok(None),
                    false => Err(self.answer("the last line has no end".into())),
                };
            };
            // A chunk may have the ends of several lines: only one that has none is too long.
            if self.received.len() + bytes.len() > self.most && !bytes.contains(&b'\n') {
                let most = self.most;
                return Err(self.answer(format!(
                    "a state has more than {most} bytes: ask for fewer `messages`, or raise \
                     `ClientBuilder::answer_limit`"
                )));
            }
            self.received.extend_from_slice(&bytes);
        }
    }

    /// Returns the end of the next line.
    fn end(&self) -> Option<usize> {
        let rest = self.received.get(self.searched..)?;
        rest.iter().position(|byte| *byte == b'\n').map(|at| self.searched + at)
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        match timeout(self.timeout, self.response.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(Error::connection_lost(&self.endpoint, &error.without_url())),
            Err(_) => Err(Error::timed_out(&self.endpoint, self.timeout)),
        }
    }

    fn answer(&self, text: String) -> Error {
        Error::new(ErrorKind::Answer, &self.endpoint, text)
    }
}
