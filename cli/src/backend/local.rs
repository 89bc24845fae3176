//! A store that this process has open.

use std::io::{self, Read as _};
use std::ops::Range;

use milepost::query::TaskQuery;
use milepost::state::{Change, Chunks, MessageRange, RunReducer, diff_states, to_patch};
use milepost::{Engine, ErrorKind, Point, RunState};
use milepost_api::{
    ChangesForm, EventAt, FileForm, JobForm, JobRequest, JobResult, Listed, PointForm,
    SharePlanForm, ShareRequest, SummaryForm, TaskForm,
};
use milepost_formats::Progress;
use milepost_service::forms;
use milepost_service::reader::Reader;
use milepost_share::Share;
use milepost_workspace::{Snapshot, TreePath};
use serde_json::Value;

use super::jobs::Listening;
use super::{Backend, Bytes, Each, EachState, Followed, JobFailed, Way, captures, hints, jobs};
use crate::defaults;
use crate::error::{Failure, Result};
use crate::output::{JobBar, Out, words};

/// Size of one read of a file, in bytes.
const STEP: usize = 64 << 10;

/// A store that this process has open.
pub struct Local<'a>(&'a Engine, Reader);

impl<'a> Local<'a> {
    pub fn new(engine: &'a Engine) -> Self {
        Self(engine, Reader::default())
    }

    /// Resolves a point that was found before, without the checkpoint that its address named: only
    /// the form has that.
    fn found(&self, point: &PointForm) -> Result<Point> {
        Ok(self.0.point(&point.address)?)
    }

    fn differences(&self, before: &PointForm, after: &PointForm) -> Result<Vec<Change>> {
        let before = self.0.run_state(&self.found(before)?)?;
        let after = self.0.run_state(&self.found(after)?)?;
        Ok(diff_states(&before, &after, self.0.chunks().as_ref())?)
    }
}

impl Backend for Local<'_> {
    fn way(&self) -> Way<'_> {
        Way::Here(self.0, &self.1)
    }

    fn summaries(
        &self,
        user: Option<&str>,
        prefix: Option<&str>,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Listed<SummaryForm>> {
        let (user, limit) = (user.map(str::to_owned), Some(limit));
        let prefix = prefix.map(str::to_owned);
        let page = self.0.query().summaries(&TaskQuery { user, prefix, limit, cursor })?;
        Ok(forms::page(page, |task| forms::summary(task).listed()))
    }

    fn task(&self, id: &str) -> Result<TaskForm> {
        Ok(forms::task(hints::task(self.0, id)?.info()?))
    }

    fn point(&self, address: &str) -> Result<PointForm> {
        let point = hints::point(self.0, address)?;
        let hash = self.0.hash_at(&point).map_err(|error| {
            let trimmed = error.kind() == ErrorKind::NotFound;
            let failure = Failure::from(error);
            match hints::head(self.0, &point) {
                Ok(head) if trimmed => {
                    failure.hint(hints::log_hint(&point.task, point.lineage, head))
                }
                _ => failure,
            }
        })?;
        Ok(forms::point(&point, hash))
    }

    fn event(&self, point: &PointForm) -> Result<EventAt> {
        let mut found = self.found(point)?;
        found.checkpoint = point.checkpoint;
        let (event, hash) = self.0.event(&found)?;
        Ok(forms::event_at(found, event, hash))
    }

    fn events(&self, point: &PointForm, range: Range<u64>, each: Each<'_>) -> Result<()> {
        let task = self.0.task(&point.task)?;
        for event in task.lineage_named(point.lineage)?.read(range)? {
            each(forms::event(event?))?;
        }
        Ok(())
    }

    fn follow(&self, task: &str, _: u64, _: &mut dyn FnMut(Followed) -> Result<()>) -> Result<()> {
        Err(Failure::bug(format!("`{task}` is followed without the program that appends to it")))
    }

    fn state(&self, point: &PointForm, messages: MessageRange) -> Result<Value> {
        let state = self.0.run_state(&self.found(point)?)?;
        Ok(state.to_json(self.0.chunks().as_ref(), messages)?)
    }

    fn states(&self, point: &PointForm, messages: MessageRange, each: EachState<'_>) -> Result<()> {
        let found = self.found(point)?;
        let lineage = self.0.task(&found.task)?.lineage_named(found.lineage)?;
        let mut states = lineage.states(&RunReducer, ..found.offset)?;
        while let Some((checkpoint, state)) = states.next_state()? {
            each(
                forms::checkpoint(checkpoint),
                state.to_json(self.0.chunks().as_ref(), messages)?,
            )?;
        }
        Ok(())
    }

    fn print_state(&self, point: &PointForm, out: &mut Out) -> Result<()> {
        let state = self.0.run_state(&self.found(point)?)?;
        print_whole(&state, self.0.chunks().as_ref(), out)
    }

    fn changes(&self, before: &PointForm, after: &PointForm) -> Result<ChangesForm> {
        let changes = self.differences(before, after)?;
        Ok(ChangesForm { items: changes.into_iter().map(forms::change).collect(), more: false })
    }

    fn patch(&self, before: &PointForm, after: &PointForm) -> Result<Value> {
        Ok(to_patch(&self.differences(before, after)?))
    }

    fn undo_target(&self, task: &TaskForm) -> Result<(PointForm, bool)> {
        let undo = self.0.undo(&task.id);
        let to = undo.target()?;
        let to = words::address(&task.id, to.lineage, to.offset);
        Ok((self.point(&to)?, undo.restores_files()?))
    }

    fn differing_files(
        &self,
        before: &PointForm,
        after: &PointForm,
        at_most: u64,
    ) -> Result<Option<u64>> {
        let root = |point| Ok::<_, Failure>(self.0.captures().at(&self.found(point)?)?);
        let (Some(before), Some(after)) = (root(before)?, root(after)?) else {
            return Ok(None);
        };
        let capture = |root| Snapshot::of(self.0, root);
        let found = capture(before)?.count_differences(&capture(after)?, at_most)?;
        Ok(Some(found).filter(|found| *found > 0))
    }

    fn delete_user(&self, user: &str, told: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        Ok(self.0.retention().delete_user(user, told)?)
    }

    fn compaction_needs(&self) -> Result<Option<u64>> {
        Ok(Some(self.0.retention().plan_compaction()?.needs))
    }

    fn files(&self, point: &PointForm, each: &mut dyn FnMut(FileForm) -> Result<()>) -> Result<()> {
        for entry in captures::of(self.0, &self.found(point)?)?.entries() {
            each(forms::file(entry?))?;
        }
        Ok(())
    }

    fn file(&self, point: &PointForm, path: &TreePath) -> Result<Option<FileForm>> {
        let snapshot = captures::of(self.0, &self.found(point)?)?;
        Ok(snapshot.entry(path)?.map(forms::file))
    }

    fn content(&self, point: &PointForm, path: &TreePath, each: Bytes<'_>) -> Result<()> {
        let mut content = captures::of(self.0, &self.found(point)?)?.read(path)?;
        let mut buffer = vec![0; STEP];
        loop {
            let read = content.read(&mut buffer);
            match read.map_err(|error| captures::unreadable(path, error))? {
                0 => return Ok(()),
                read => each(buffer.get(..read).expect("a read fits its buffer"))?,
            }
        }
    }

    fn share(
        &self,
        task: &str,
        asked: &ShareRequest,
        progress: &mut dyn Progress,
        each: Option<Bytes<'_>>,
    ) -> Result<SharePlanForm> {
        let share = Share::of(self.0, task, asked, progress)?;
        if let Some(each) = each {
            share.write(each)?;
        }
        Ok(share.plan())
    }

    fn has_folders(&self) -> bool {
        true
    }

    fn job(&self, asked: &JobRequest, bar: JobBar) -> Result<JobResult, JobFailed> {
        let told = Listening::new(bar);
        milepost_service::jobs::run(self.0, asked, &defaults::current_user(), &told)
            .map_err(jobs::failed)
    }

    fn jobs(&self) -> Result<Listed<JobForm>> {
        Err(jobs::no_holder())
    }

    fn cancel_job(&self, _: &str) -> Result<JobForm> {
        Err(jobs::no_holder())
    }
}

/// Prints the whole state as one document. Its long lists are printed as they are read.
fn print_whole(state: &RunState, chunks: &dyn Chunks, out: &mut Out) -> Result<()> {
    let fields = state.text(chunks, None)?;
    out.raw(fields.strip_suffix('}').unwrap_or(&fields))?;
    out.raw(",")?;
    print_list(
        "guidance",
        state.guidance.iter(chunks),
        |guidance, to| guidance.write_json(to),
        out,
    )?;
    out.raw(",")?;
    print_list("messages", state.messages.iter(chunks), |entry, to| entry.write_json(to), out)?;
    Ok(out.line("}")?)
}

fn print_list<T>(
    name: &str,
    items: impl Iterator<Item = milepost::Result<T>>,
    write: fn(T, &mut Vec<u8>) -> io::Result<()>,
    out: &mut Out,
) -> Result<()> {
    out.raw(&format!("\"{name}\":["))?;
    let mut text = Vec::new();
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.raw(",")?;
        }
        text.clear();
        write(item?, &mut text)?;
        out.raw(&String::from_utf8_lossy(&text))?;
    }
    Ok(out.raw("]")?)
}
