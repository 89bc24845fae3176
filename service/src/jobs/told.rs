//! Listeners to jobs.

// tidy: one trait

use milepost_api::{JobNote, JobProgress};

/// Listener to a job. A closure listens to the progress only.
pub trait Listener: Sync {
    /// Receives the part that is done.
    fn progress(&self, progress: JobProgress);

    /// Receives a fact that does not end the job.
    fn note(&self, _note: JobNote) {}
}

impl<F: Fn(JobProgress) + Sync> Listener for F {
    fn progress(&self, progress: JobProgress) {
        self(progress);
    }
}

/// The listener to a job.
pub type Told<'a> = &'a dyn Listener;
