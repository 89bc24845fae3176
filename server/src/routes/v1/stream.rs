//! Events as they are committed: `text/event-stream`.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use milepost::Task;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::request_scope::RequestId;
use crate::sse::Place;
use crate::streams::{self, Wanted};

/// The start of a stream.
pub(super) struct Begin {
    pub(super) task: String,
    /// The offset of the first event. Default: the first readable one.
    pub(super) from: Option<u64>,
    pub(super) follow: bool,
}

/// Streams a task's events from a position on. `Last-Event-ID` continues an earlier stream.
pub(super) async fn stream(
    app: &App,
    caller: Caller,
    RequestId(id): RequestId,
    headers: &HeaderMap,
    begin: Begin,
) -> Result<Response, ApiError> {
    let last = match headers.get("last-event-id") {
        None => None,
        Some(last) => {
            let place = last.to_str().ok().and_then(|last| last.parse().ok());
            let text = "`Last-Event-ID` is LINEAGE:OFFSET, as an earlier stream sent it";
            Some(place.ok_or_else(|| ApiError::Invalid(text.into()))?)
        }
    };
    let Begin { task, from, follow } = begin;
    let found = app.view(&caller, move |view| {
        let task = view.task(&task)?;
        let place = place(&task, last, from)?;
        Ok((task, place))
    });
    let (task, place) = found.await?;
    let wanted = Wanted { task, place, follow, id };
    let body: Body = streams::open(app, &caller, wanted).await?;
    let kind = HeaderValue::from_static("text/event-stream");
    let now = HeaderValue::from_static("no-store");
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, now)];
    Ok((headers, body).into_response())
}

fn place(task: &Task, last: Option<Place>, from: Option<u64>) -> milepost::Result<Place> {
    if let Some(last) = last {
        return Ok(last);
    }
    let lineage = task.lineage();
    let next = match from {
        Some(from) => from,
        None => lineage.info()?.begin,
    };
    Ok(Place { lineage: lineage.id(), next })
}
