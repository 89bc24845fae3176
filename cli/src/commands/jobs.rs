//! `jobs`: captures, restores and other work of the program that has the store open.

use milepost_api::{JobForm, JobState};

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, age, count, excerpt, printable, size};
use crate::store_locator::now_us;

/// Most characters of an error in the list.
const ERROR_MAX: usize = 60;

/// List the captures, restores and other jobs of the program that has the store open.
#[derive(Debug, clap::Args)]
pub struct JobsArgs {
    /// Ask the job with this id to end. A restore that has begun to change files ends whole.
    #[arg(long, value_name = "ID")]
    pub cancel: Option<String>,
}

impl CliCommand for JobsArgs {
    const EXAMPLES: Examples = &[("jobs --cancel 7", "end a capture that takes too long")];
    const RUN: Run<Self> = Run::OnStore(Needs::NONE, run);
}

fn run(source: &dyn Backend, args: &JobsArgs, out: &mut Out) -> Result<()> {
    if let Some(id) = &args.cancel {
        let job = source.cancel_job(id)?;
        if out.json {
            return Ok(out.json(&job)?);
        }
        let id = printable(&job.id);
        let said = match job.ended {
            Some(_) => format!("job {id} has ended already: {}", state(job.state)),
            None => format!("job {id} was asked to end; `milepost jobs` shows whether it did"),
        };
        return Ok(out.advice(said)?);
    }
    let jobs = source.jobs()?;
    if out.json {
        return Ok(out.json(&jobs)?);
    }
    if jobs.items.is_empty() {
        return Ok(out.line("No jobs.")?);
    }
    let rows: Vec<Vec<String>> = jobs.items.iter().map(row).collect();
    Ok(out.table(&["JOB", "KIND", "STATE", "STARTED", "PROGRESS"], &rows)?)
}

fn row(job: &JobForm) -> Vec<String> {
    let shown = |text: &str| printable(text).into_owned();
    let mut row = vec![shown(&job.id), shown(&job.kind), state(job.state).to_owned()];
    row.push(age(now_us().saturating_sub(job.started_us.0)));
    row.push(match &job.error {
        Some(error) => excerpt(&error.detail, ERROR_MAX),
        None => progress(job),
    });
    row
}

/// Returns the part of a running job that is done.
fn progress(job: &JobForm) -> String {
    let Some(progress) = job.progress.as_ref().filter(|_| job.state == JobState::Running) else {
        return String::new();
    };
    let (step, done) = (printable(&progress.step), progress.done.0);
    match (progress.total, progress.bytes) {
        (Some(total), _) => format!("{step}: {done} of {}", total.0),
        (None, Some(bytes)) => format!("{}, {}", count(done, "file"), size(bytes.0)),
        (None, None) => format!("{step}: {done}"),
    }
}

fn state(state: JobState) -> &'static str {
    match state {
        JobState::Running => "running",
        JobState::Done => "done",
        JobState::Failed => "failed",
        JobState::Cancelled => "cancelled",
    }
}
