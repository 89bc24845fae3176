//! Jobs of the program that has the store open, files that it sends, and work of several requests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use milepost::Scope;
use milepost_api::calls::PlanUndo;
use milepost_api::{
    JobForm, JobRequest, JobResult, JobState, PointForm, SharePlanForm, ShareRequest, TaskForm,
    UndoFolderRequest,
};
use milepost_client::FileBytes;
use milepost_workspace::TreePath;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Remote;
use crate::backend::jobs::{self, JobFailed};
use crate::backend::{Backend, Bytes};
use crate::error::{Failure, INTERRUPTED, Result};
use crate::output::{JobBar, note, printable, words};

/// Time between two looks at a job. One that ends earlier is answered then.
const LOOK: Duration = Duration::from_secs(1);

/// Time limit of a request to cancel a job.
const PATIENCE: Duration = Duration::from_secs(3);

/// The hint about a job that did not end by itself.
const RUN_AGAIN: &str = "what it had recorded before stays; run it again";

/// Starts a job, and waits for its end. An interrupt cancels the job.
pub(super) fn done(
    remote: &Remote,
    asked: &JobRequest,
    mut bar: JobBar,
) -> Result<JobResult, JobFailed> {
    if asked.has_folder() && remote.socket().is_none() {
        return Err(jobs::on_another_machine(&format!("`{}`", asked.kind())).into());
    }
    // From here on an interrupt does not end this process.
    let mut interrupts = Interrupts::of(remote)?;
    let mut job = remote.start(remote.client.start_job(asked))?;
    let mut noted = 0;
    loop {
        for note in job.notes.iter().skip(noted) {
            bar.note(note);
        }
        noted = noted.max(job.notes.len());
        if job.ended.is_some() {
            break;
        }
        if let Some(progress) = &job.progress {
            bar.set(progress);
        }
        job = interrupts.look(remote, &job)?;
    }
    drop(bar);
    let lost = job.notes_total.0.saturating_sub(noted as u64);
    if lost > 0 {
        note(&format!("{lost} more notes were not kept"));
    }
    result(remote, job)
}

/// Interrupts of this process. The first one cancels the job, the second one ends the wait for it.
struct Interrupts {
    signals: Signal,
    came: bool,
}

impl Interrupts {
    fn of(remote: &Remote) -> crate::error::Result<Self> {
        let _inside = remote.runtime.enter();
        Ok(Self { signals: signal(SignalKind::interrupt())?, came: false })
    }

    /// Waits for a change of a job.
    fn look(&mut self, remote: &Remote, job: &JobForm) -> crate::error::Result<JobForm> {
        let looked = remote.block_on(async {
            tokio::select! {
                job = remote.client.job(&job.id, LOOK) => Some(job),
                _ = self.signals.recv() => None,
            }
        });
        match looked {
            // It was there when it was started: another program has the store by now.
            Some(Err(error)) if error.status() == Some(404) => {
                let text = "the program that ran the job has ended, and its result is not known";
                Err(Failure::new(text).code_of(INTERRUPTED).hint(RUN_AGAIN))
            }
            Some(looked) => looked.map_err(|error| remote.failed(error)),
            None if self.came => {
                let id = printable(&job.id).into_owned();
                Err(Failure::new(format!("job {id} has not ended yet")).code_of(INTERRUPTED).hint(
                    format!("`milepost jobs` shows it, `milepost jobs --cancel {id}` asks again"),
                ))
            }
            None => {
                self.came = true;
                let asked = async {
                    tokio::time::timeout(PATIENCE, remote.client.cancel_job(&job.id)).await
                };
                // If it does not answer, the next look says so.
                match remote.block_on(asked) {
                    Ok(asked) => asked.map_err(|error| remote.failed(error)),
                    Err(_) => Ok(job.clone()),
                }
            }
        }
    }
}

fn result(remote: &Remote, job: JobForm) -> Result<JobResult, JobFailed> {
    if job.state == JobState::Cancelled {
        let failure = Failure::new("the job was cancelled").code_of(INTERRUPTED);
        let failure = failure.hint(RUN_AGAIN);
        let result = job.result.map(Box::new);
        return Err(JobFailed { failure, remedy: None, is_refused: false, result });
    }
    let result = job.result.clone();
    match remote.client.finished(job) {
        Ok(_) => result.ok_or_else(|| Failure::new("the job has no result").into()),
        Err(error) => {
            let remedy = error.remedy().cloned();
            Err(JobFailed {
                failure: remote.failed(error),
                remedy,
                is_refused: false,
                result: result.map(Box::new),
            })
        }
    }
}

/// Returns the target of an undo of a task; `true` if it restores files.
pub(super) fn undo_target(remote: &Remote, task: &TaskForm) -> Result<(PointForm, bool)> {
    let plan = remote.call(&PlanUndo::new(&task.id, UndoFolderRequest::default()))?;
    let to = words::address(&task.id, plan.to.lineage, plan.to.offset.0);
    Ok((remote.point(&to)?, plan.scope != Scope::State))
}

/// Returns the number of files that differ between the last captures before two points.
pub(super) fn differing_files(
    remote: &Remote,
    before: &PointForm,
    after: &PointForm,
    at_most: u64,
) -> Result<Option<u64>> {
    let root = |point: &PointForm| {
        let part = remote.wait(remote.client.state_at(&point.address, "/workspace"))?;
        Ok::<_, Failure>(part.value.value()?.as_str().map(str::to_owned))
    };
    match (root(before)?, root(after)?) {
        (Some(before), Some(after)) if before != after => {}
        _ => return Ok(None),
    }
    // A folder differs by its contents, which are in the list.
    let files = |point: &PointForm| {
        let mut files = BTreeMap::new();
        remote.files(point, &mut |file| {
            if file.kind != "directory" {
                files.insert(file.path.clone(), file);
            }
            Ok(())
        })?;
        Ok::<_, Failure>(files)
    };
    let (before, after) = (files(before)?, files(after)?);
    let paths: BTreeSet<&TreePath> = before.keys().chain(after.keys()).collect();
    let differing = paths.into_iter().filter(|path| before.get(path) != after.get(path));
    let found = differing.take(usize::try_from(at_most).unwrap_or(usize::MAX)).count() as u64;
    Ok(Some(found).filter(|found| *found > 0))
}

/// Returns the plan of a share, and passes the bytes of the file to `each`, if wanted.
pub(super) fn share(
    there: &Remote,
    task: &str,
    asked: &ShareRequest,
    each: Option<Bytes<'_>>,
) -> Result<SharePlanForm> {
    let plan = there.wait(there.client.share_plan(task, asked))?;
    if let Some(each) = each {
        pass(there, there.wait(there.client.share(task, asked))?, each)?;
    }
    Ok(plan)
}

/// Passes the bytes of an answer to `each`, piece by piece.
pub(super) fn pass(there: &Remote, mut content: FileBytes, each: Bytes<'_>) -> Result<()> {
    while let Some(bytes) = there.block_on(content.next()) {
        each(&bytes.map_err(|error| there.failed(error))?)?;
    }
    Ok(())
}
