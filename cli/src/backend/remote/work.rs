//! Jobs of the program that has the store open.

use std::time::Duration;

use milepost_api::{JobAsked, JobForm, JobResult, JobState};

use super::Remote;
use crate::backend::jobs::{self, JobFailed};
use crate::error::Failure;
use crate::output::{JobBar, note};

/// Time between two looks at a job. One that ends earlier is answered then.
const LOOK: Duration = Duration::from_secs(1);

/// Exit code of a command that was interrupted: 128 and SIGINT.
const INTERRUPTED: u8 = 130;

/// Starts a job, and waits for its end. An interrupt cancels the job.
pub(super) fn done(
    remote: &Remote,
    asked: &JobAsked,
    mut bar: JobBar,
) -> Result<JobResult, JobFailed> {
    if asked.has_folder() && !remote.is_attached {
        return Err(jobs::on_another_machine(&format!("`{}`", asked.kind())).into());
    }
    let mut job = remote.wait(remote.client.start_job(asked))?;
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
        job = look(remote, &job)?;
    }
    drop(bar);
    let lost = job.notes_total.0.saturating_sub(noted as u64);
    if lost > 0 {
        note(&format!("{lost} more notes were not kept"));
    }
    result(remote, job)
}

/// Waits for a change of a job. An interrupt cancels it; then it ends soon.
fn look(remote: &Remote, job: &JobForm) -> crate::error::Result<JobForm> {
    remote.wait(async {
        tokio::select! {
            job = remote.client.job(&job.id, LOOK) => job,
            _ = tokio::signal::ctrl_c() => remote.client.cancel_job(&job.id).await,
        }
    })
}

fn result(remote: &Remote, job: JobForm) -> Result<JobResult, JobFailed> {
    if job.state == JobState::Cancelled {
        let failure = Failure::new("the job was cancelled").code_of(INTERRUPTED);
        return Err(failure.hint("what it had recorded before stays; run it again").into());
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
