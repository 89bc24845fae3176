//! A store behind another program, over HTTP: at an address, or at the socket in the store.

mod connection;
mod work;

use std::ops::Range;

use milepost::state::{MessageRange, text_value};
use milepost::{Address, ErrorKind};
use milepost_api::calls::{Point, Task, TaskQuery};
use milepost_api::{
    Call, ChangesForm, Effect, EventAt, FileForm, JobForm, JobRequest, JobResult, Listed,
    PointForm, SharePlanForm, ShareRequest, SummariesForm, SummaryForm, TaskForm,
};
use milepost_client::{EventQuery, Start, StatesQuery};
use milepost_formats::Progress;
use milepost_workspace::TreePath;
use serde_json::Value;

pub use self::connection::{Attempt, Remote, asking_again};
use super::{Backend, Bytes, Each, EachState, Followed, JobFailed, Way, captures, suggestions};
use crate::error::Result;
use crate::output::{JobBar, Out};

/// Largest number of events in one answer.
const EVENTS: u32 = 1000;
/// Largest number of messages in an answer that leaves some out.
const MESSAGES: u64 = 1000;

impl Remote {
    /// Performs an operation.
    pub(super) fn call<C: Call>(&self, call: &C) -> Result<C::Answer> {
        let answer = self.client.call(call);
        match C::EFFECT {
            Effect::Read => self.wait(answer),
            Effect::Change | Effect::Conditional => self.change(answer),
        }
    }
}

impl Backend for Remote {
    fn way(&self) -> Way<'_> {
        Way::There(self)
    }

    fn url(&self) -> Option<&str> {
        Remote::url(self)
    }

    fn summaries(
        &self,
        user: Option<&str>,
        prefix: Option<&str>,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Listed<SummaryForm>> {
        super::pages(limit, cursor, |limit, cursor| {
            let (user, limit) = (user.map(str::to_owned), Some(limit));
            let prefix = prefix.map(str::to_owned);
            let query = TaskQuery { user, prefix, limit, cursor };
            let SummariesForm { items, next, .. } = self.wait(self.client.summaries(query))?;
            Ok(Listed { items, next })
        })
    }

    fn task(&self, id: &str) -> Result<TaskForm> {
        match self.call(&Task::new(id)) {
            // The id may be percent-encoded, as in an address.
            Err(failure) if failure.kind() == Some(ErrorKind::NotFound) && id.contains('%') => {
                match self.call(&Point::new(id)) {
                    Ok(point) => self.call(&Task::new(&point.task)),
                    Err(_) => Err(failure),
                }
            }
            found => found,
        }
        .map_err(|failure| match failure.kind() {
            Some(ErrorKind::NotFound) => suggestions::of_task(self, failure, id),
            _ => failure,
        })
    }

    fn point(&self, address: &str) -> Result<PointForm> {
        let found = match address.parse::<Address>() {
            Ok(_) => self.call(&Point::new(address)),
            Err(error) => Err(error.into()),
        };
        found.map_err(|failure| suggestions::of_point(self, failure, address))
    }

    fn event(&self, point: &PointForm) -> Result<EventAt> {
        let mut found = self.wait(self.client.event(&point.address))?;
        found.checkpoint = point.checkpoint;
        Ok(found)
    }

    fn events(&self, point: &PointForm, range: Range<u64>, each: Each<'_>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let count = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        let query = EventQuery {
            from: Some(range.start),
            to: Some(range.end),
            limit: Some(count.min(EVENTS)),
            lineage: Some(point.lineage.0),
            ..EventQuery::default()
        };
        let mut events = self.client.all_events(&point.task, query);
        while let Some(event) = self.block_on(events.next()) {
            each(event.map_err(|error| self.failed(error))?)?;
        }
        Ok(())
    }

    fn follow(
        &self,
        task: &str,
        from: u64,
        each: &mut dyn FnMut(Followed) -> Result<()>,
    ) -> Result<()> {
        let mut following = self.client.follow(task, Start::Offset(from));
        while let Some(next) = self.block_on(following.next()) {
            each(match next.map_err(|error| self.failed(error))? {
                milepost_client::Followed::Event(event) => Followed::Event(event.into()),
                milepost_client::Followed::LineageChanged(moved) => Followed::LineageChanged(moved),
            })?;
        }
        Ok(())
    }

    fn state(&self, point: &PointForm, messages: MessageRange) -> Result<Value> {
        let last = match messages {
            MessageRange::None => Some(0),
            MessageRange::Last(count) => Some(count).filter(|count| *count <= MESSAGES),
            _ => None,
        };
        let state = match last {
            Some(count) => self.wait(self.client.state_with(&point.address, count))?,
            None => self.wait(self.client.state(&point.address))?,
        };
        let mut state = text_value(state.state.text())?;
        if let (MessageRange::Last(count), None) = (messages, last) {
            keep_last(&mut state, count);
        }
        Ok(state)
    }

    fn states(&self, point: &PointForm, messages: MessageRange, each: EachState<'_>) -> Result<()> {
        let query = StatesQuery {
            to: Some(point.offset.0),
            lineage: Some(point.lineage.0),
            messages: matches!(messages, MessageRange::None).then_some(0),
            ..StatesQuery::default()
        };
        let mut states = self.wait(self.client.states(&point.task, query))?;
        while let Some(next) = self.block_on(states.next()) {
            let found = next.map_err(|error| self.failed(error))?;
            each(found.checkpoint, text_value(found.state.text())?)?;
        }
        Ok(())
    }

    fn print_state(&self, point: &PointForm, out: &mut Out) -> Result<()> {
        let state = self.wait(self.client.state(&point.address))?;
        Ok(out.line(state.state.text())?)
    }

    fn changes(&self, before: &PointForm, after: &PointForm) -> Result<ChangesForm> {
        self.wait(self.client.diff(&before.address, &after.address))
    }

    fn patch(&self, before: &PointForm, after: &PointForm) -> Result<Value> {
        let patch = self.wait(self.client.patch(&before.address, &after.address))?;
        Ok(serde_json::from_str(patch.text())?)
    }

    fn undo_target(&self, task: &TaskForm) -> Result<(PointForm, bool)> {
        work::undo_target(self, task)
    }

    fn differing_files(
        &self,
        before: &PointForm,
        after: &PointForm,
        at_most: u64,
    ) -> Result<Option<u64>> {
        work::differing_files(self, before, after, at_most)
    }

    fn delete_user(&self, user: &str, told: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        let tasks = (self as &dyn Backend).stats_of(user)?.tasks;
        let all = tasks.len() as u64;
        for (done, task) in (1..).zip(&tasks) {
            (self as &dyn Backend).delete(&task.id)?;
            told(done, all);
        }
        Ok(all)
    }

    fn compaction_needs(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    fn files(&self, point: &PointForm, each: &mut dyn FnMut(FileForm) -> Result<()>) -> Result<()> {
        let files = self.wait(self.client.files(&point.address));
        let files = files.map_err(|failure| match failure.kind() {
            Some(ErrorKind::NotFound) => captures::none(&point.task, &point.address),
            _ => failure,
        });
        files?.items.into_iter().try_for_each(each)
    }

    fn file(&self, point: &PointForm, path: &TreePath) -> Result<Option<FileForm>> {
        let mut found = None;
        self.files(point, &mut |file| {
            if file.path == *path {
                found = Some(file);
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn content(&self, point: &PointForm, path: &TreePath, each: Bytes<'_>) -> Result<()> {
        work::pass(self, self.wait(self.client.file(&point.address, path))?, each)
    }

    fn share(
        &self,
        task: &str,
        asked: &ShareRequest,
        _: &mut dyn Progress,
        each: Option<Bytes<'_>>,
    ) -> Result<SharePlanForm> {
        work::share(self, task, asked, each)
    }

    fn has_folders(&self) -> bool {
        self.socket().is_some()
    }

    fn job(&self, asked: &JobRequest, bar: JobBar) -> Result<JobResult, JobFailed> {
        work::done(self, asked, bar)
    }

    fn jobs(&self) -> Result<Listed<JobForm>> {
        self.wait(self.client.jobs())
    }

    fn cancel_job(&self, id: &str) -> Result<JobForm> {
        let cancelled = self.change(self.client.cancel_job(id));
        cancelled.map_err(|failure| match failure.kind() {
            Some(ErrorKind::NotFound) => failure.hint("`milepost jobs` lists them"),
            _ => failure,
        })
    }
}

/// Keeps the last `count` messages of a state.
fn keep_last(state: &mut Value, count: u64) {
    if let Some(messages) = state.get_mut("messages").and_then(Value::as_array_mut) {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let gone = messages.len().saturating_sub(count);
        messages.drain(..gone);
    }
}
