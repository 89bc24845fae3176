//! The jobs of a service: running ones, and those that ended lately.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use data_encoding::HEXLOWER;
use milepost::calls::Cancel;
use milepost_api::{
    Big, JobForm, JobNote, JobProgress, JobRequest, JobResult, JobState, Problem, Remedy, micros,
};
use milepost_service::jobs::{JobFailure, Listener};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::error::ApiError;

/// Most jobs at a time.
const RUNNING_MAX: usize = 8;

/// Most ended jobs that are kept.
const KEPT_MAX: usize = 100;

/// Most notes of a job that are kept.
const NOTES_MAX: usize = 1000;

/// Time that an ended job is kept, in microseconds.
const KEPT_US: u64 = 3_600_000_000;

/// The jobs of a service, oldest first.
#[derive(Debug)]
pub(crate) struct Jobs {
    all: Mutex<VecDeque<Arc<Job>>>,
    next: AtomicU64,
    /// Begins the ids, so that another process has others.
    prefix: String,
    /// True once the service stops: it takes no more jobs.
    is_stopping: AtomicBool,
}

/// A job.
#[derive(Debug)]
pub(crate) struct Job {
    id: String,
    kind: &'static str,
    user: Arc<str>,
    /// The idempotency key, and a hash of the request and its user.
    key: Option<(String, blake3::Hash)>,
    started_us: u64,
    pub(crate) cancel: Cancel,
    progress: Mutex<Option<JobProgress>>,
    notes: Mutex<Notes>,
    outcome: watch::Sender<Option<Arc<Outcome>>>,
}

/// The notes of a job.
#[derive(Debug, Default)]
struct Notes {
    /// The first ones.
    kept: Vec<JobNote>,
    total: u64,
}

/// The end of a job.
#[derive(Debug)]
struct Outcome {
    state: JobState,
    ended_us: u64,
    result: Option<JobResult>,
    error: Option<Problem>,
}

/// A request for a job.
pub(crate) struct JobStart {
    pub(crate) asked: JobRequest,
    pub(crate) user: Arc<str>,
    pub(crate) id: String,
    pub(crate) key: Option<String>,
}

impl Jobs {
    pub(crate) fn new() -> milepost::Result<Self> {
        let random = milepost::internals::new_secret()?;
        Ok(Self {
            all: Mutex::default(),
            next: AtomicU64::new(0),
            prefix: HEXLOWER.encode(random.split_at(3).0),
            is_stopping: AtomicBool::new(false),
        })
    }

    /// Returns the jobs without their notes and results, newest first.
    pub(crate) fn list(&self, now_us: u64) -> Vec<JobForm> {
        let mut all = self.all.lock();
        forget(&mut all, now_us);
        all.iter().rev().map(|job| job.short_form()).collect()
    }

    /// Returns a job.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Job>, ApiError> {
        let found = self.all.lock().iter().find(|job| job.id == id).cloned();
        found.ok_or_else(|| {
            let text = format!("there is no job `{id}`; ended ones are kept for an hour");
            ApiError::NotFound(text)
        })
    }

    /// Asks all jobs to end. Takes no more, unless another service of the engine takes some.
    pub(crate) fn stop(&self, takes_more: bool) {
        let all = self.all.lock();
        self.is_stopping.fetch_or(!takes_more, Ordering::SeqCst);
        all.iter().for_each(|job| job.cancel());
    }

    /// Waits until all jobs have ended.
    pub(crate) async fn all_ended(&self) {
        let all: Vec<Arc<Job>> = self.all.lock().iter().cloned().collect();
        for job in all {
            job.ended().await;
        }
    }

    /// Adds a job, or returns the one that an earlier request with the same key started.
    pub(crate) fn add(
        &self,
        request: &JobStart,
        now_us: u64,
    ) -> Result<(Arc<Job>, bool), ApiError> {
        let text = serde_json::to_vec(&request.asked).map_err(|_| ApiError::Bug)?;
        let hash = || {
            let mut hash = blake3::Hasher::new();
            hash.update(request.user.as_bytes()).update(&[0]).update(&text);
            hash.finalize()
        };
        let key = request.key.clone().map(|key| (key, hash()));
        let mut all = self.all.lock();
        if self.is_stopping.load(Ordering::SeqCst) {
            return Err(ApiError::unavailable("the service stops, and takes no more jobs"));
        }
        forget(&mut all, now_us);
        if let Some((name, hash)) = &key {
            let used = all.iter().find_map(|job| {
                let (used, before) = job.key.as_ref()?;
                (used == name).then_some((job, before))
            });
            match used {
                Some((job, before)) if before == hash => return Ok((Arc::clone(job), false)),
                Some(_) => {
                    let text = "the idempotency key was used for another job";
                    return Err(ApiError::conflict(text));
                }
                None => {}
            }
        }
        if all.iter().filter(|job| !job.has_ended()).count() >= RUNNING_MAX {
            return Err(ApiError::TooManyJobs(RUNNING_MAX));
        }
        let job = Arc::new(Job {
            id: format!("{}-{}", self.prefix, self.next.fetch_add(1, Ordering::Relaxed) + 1),
            kind: request.asked.kind(),
            user: Arc::clone(&request.user),
            key,
            started_us: now_us,
            cancel: Cancel::new(),
            progress: Mutex::default(),
            notes: Mutex::default(),
            outcome: watch::Sender::new(None),
        });
        all.push_back(Arc::clone(&job));
        Ok((job, true))
    }
}

/// Removes ended jobs that are too old or too many.
fn forget(all: &mut VecDeque<Arc<Job>>, now_us: u64) {
    let mut ended = all.iter().filter(|job| job.has_ended()).count();
    all.retain(|job| {
        let Some(outcome) = job.outcome.borrow().clone() else {
            return true;
        };
        let is_old = now_us.saturating_sub(outcome.ended_us) > KEPT_US;
        let is_kept = !is_old && ended <= KEPT_MAX;
        ended -= usize::from(!is_kept);
        is_kept
    });
}

impl Job {
    fn has_ended(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// Asks the job to end.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits until the job has ended.
    pub(crate) async fn ended(&self) {
        // The sender is part of the job.
        let _ = self.outcome.subscribe().wait_for(Option::is_some).await;
    }

    pub(crate) fn form(&self) -> JobForm {
        // The notes of an ended job are complete, so it is looked at first.
        let form = self.short_form();
        let outcome = self.outcome.borrow().clone();
        let result = outcome.as_ref().and_then(|outcome| outcome.result.clone());
        JobForm { result, notes: self.notes.lock().kept.clone(), ..form }
    }

    /// Returns the job without its notes and its result, which may be long.
    fn short_form(&self) -> JobForm {
        let outcome = self.outcome.borrow().clone();
        let ended_us = outcome.as_ref().map(|outcome| outcome.ended_us);
        JobForm {
            id: self.id.clone(),
            kind: self.kind.to_owned(),
            state: outcome.as_ref().map_or(JobState::Running, |outcome| outcome.state),
            user: self.user.to_string(),
            started: micros(self.started_us),
            started_us: Big(self.started_us),
            ended: ended_us.map(micros),
            ended_us: ended_us.map(Big),
            progress: self.progress.lock().clone(),
            notes: Vec::new(),
            notes_total: Big(self.notes.lock().total),
            result: None,
            error: outcome.as_ref().and_then(|outcome| outcome.error.clone()),
        }
    }

    pub(crate) fn end(&self, done: Result<JobResult, ApiJobFailure>, id: &str, ended_us: u64) {
        let (state, result, error) = match done {
            Ok(result) => (JobState::Done, Some(result), None),
            Err(ApiJobFailure { error, is_given_up, remedy, result }) => {
                let state = match is_given_up {
                    true => JobState::Cancelled,
                    false => JobState::Failed,
                };
                let problem = Problem { remedy, ..error.problem(id) };
                (state, result.map(|result| *result), Some(problem))
            }
        };
        let outcome = Outcome { state, ended_us, result, error };
        self.outcome.send_replace(Some(Arc::new(outcome)));
    }
}

impl Listener for Job {
    fn progress(&self, progress: JobProgress) {
        *self.progress.lock() = Some(progress);
    }

    fn note(&self, note: JobNote) {
        let mut notes = self.notes.lock();
        notes.total += 1;
        if notes.kept.len() < NOTES_MAX {
            notes.kept.push(note);
        }
    }
}

/// The failure of a job, as requests see it.
pub(crate) struct ApiJobFailure {
    pub(crate) error: ApiError,
    pub(crate) is_given_up: bool,
    pub(crate) remedy: Option<Remedy>,
    pub(crate) result: Option<Box<JobResult>>,
}

impl From<JobFailure> for ApiJobFailure {
    fn from(failure: JobFailure) -> Self {
        let JobFailure { error, remedy, result } = failure;
        let is_given_up = Cancel::is_cause_of(&error);
        Self { error: error.into(), is_given_up, remedy, result }
    }
}
