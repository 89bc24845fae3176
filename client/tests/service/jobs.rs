//! Jobs, and their answers.

use std::time::Duration;

use milepost_client::ErrorKind;
use milepost_client::api::{
    CaptureRequest, CompactRequest, JobForm, JobRequest, JobResult, JobState,
};

use crate::served::Served;

const WAIT: Duration = Duration::from_secs(30);

fn plan() -> JobRequest {
    JobRequest::Compact(CompactRequest { dry_run: true, force: false })
}

async fn planned(served: &Served) -> JobForm {
    let client = served.client();
    let started = client.start_job(&plan()).await.unwrap();
    client.job(&started.id, WAIT).await.unwrap()
}

pub async fn start_job() {
    let served = Served::with_essay().await;
    let client = served.client();
    let job = client.finished(planned(&served).await).unwrap();
    let Some(JobResult::Compact(form)) = job.result else { unreachable!() };
    assert!(form.dry_run && form.after.is_none());
    // A folder belongs to a machine.
    let capture =
        JobRequest::Capture(CaptureRequest { folder: "/".into(), ..CaptureRequest::default() });
    let error = client.start_job(&capture).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");
}

pub async fn job() {
    let served = Served::with_essay().await;
    let job = planned(&served).await;
    assert_eq!((job.state, &*job.kind), (JobState::Done, "compact"));
    assert_eq!(served.client().job(&job.id, Duration::ZERO).await.unwrap(), job);
    let error = served.client().job("77", WAIT).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

pub async fn jobs() {
    let served = Served::with_essay().await;
    let client = served.client();
    assert!(client.jobs().await.unwrap().items.is_empty());
    let job = planned(&served).await;
    // The list leaves out what may be long.
    let short = JobForm { result: None, ..job };
    assert_eq!(client.jobs().await.unwrap().items, [short]);
}

pub async fn cancel_job() {
    let served = Served::with_essay().await;
    let client = served.client();
    let job = planned(&served).await;
    // One that has ended stays as it is.
    assert_eq!(client.cancel_job(&job.id).await.unwrap(), job);
    let error = client.cancel_job("77").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}
