//! The state of the folder of a task: now, or as it changes.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use milepost_api::{ReadProblems, WorkspaceStateForm};
use milepost_service::forms;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{Instant, MissedTickBehavior, interval};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{App, StreamPermit};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::PathName;
use crate::negotiate::{EVENT_STREAM, JSON, choose};
use crate::request_scope::RequestId;
use crate::sse;
use crate::streams::{KEEP_OPEN, Pieces, until_stopped};

/// The time between two looks for a change.
const LOOK: Duration = Duration::from_millis(250);

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(workspace))
}

/// Returns the state of the folder of a task: idle, being captured, being restored, or the reason
/// why the last of these failed. As an event stream it begins with the state, and has each change
/// that lasts a quarter of a second.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/workspace",
    operation_id = "workspace",
    tag = "files",
    params(
        ("task" = String, Path, description = "The task's id"),
        ("Accept" = Option<String>, Header, description = "`application/json`: the state now; \
            `text/event-stream`: the state as it changes"),
    ),
    responses(
        (status = 200, content(
            (WorkspaceStateForm = "application/json"),
            (String = "text/event-stream"),
        )),
        ReadProblems,
        (status = 406),
    ),
)]
async fn workspace(
    State(app): State<App>,
    caller: Caller,
    RequestId(id): RequestId,
    headers: HeaderMap,
    PathName(task): PathName,
) -> Result<Response, ApiError> {
    let as_stream = choose(&headers, &[JSON, EVENT_STREAM])? == EVENT_STREAM;
    let state = state_of(&app, &caller, task.clone()).await?;
    if !as_stream {
        return Ok(Json(state).into_response());
    }
    let _permit = app.one_more_stream(&caller)?;
    let stream = Stream { app, caller, task, id, _permit };
    let (pieces, waiting) = mpsc::channel(1);
    tokio::spawn(async move { stream.run(state, &pieces).await });
    let body = Body::from_stream(Pieces::new(waiting));
    let kind = HeaderValue::from_static(EVENT_STREAM);
    let now = HeaderValue::from_static("no-store");
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, now)], body).into_response())
}

async fn state_of(
    app: &App,
    caller: &Caller,
    task: String,
) -> Result<WorkspaceStateForm, ApiError> {
    let engine = app.engine();
    let found = app.view(caller, move |view| {
        let task = view.task(&task)?;
        let change = engine.captures().last_change(task.id());
        Ok(forms::workspace_state(task.id(), change))
    });
    found.await
}

/// A stream of the states of one folder.
struct Stream {
    app: App,
    caller: Caller,
    task: String,
    id: Arc<str>,
    _permit: StreamPermit,
}

impl Stream {
    /// Sends states until the service stops, the client is gone, its token is refused or the task
    /// is deleted.
    async fn run(self, first: WorkspaceStateForm, pieces: &Sender<Bytes>) {
        until_stopped(&self.app, &self.id, pieces, self.send(first, pieces)).await;
    }

    /// Returns the error that ends the stream; `None` if the caller has lost its rights or the
    /// client is gone.
    async fn send(&self, first: WorkspaceStateForm, pieces: &Sender<Bytes>) -> Option<ApiError> {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut keep_open = Instant::now() + KEEP_OPEN;
        let mut last = first;
        pieces.send(sse::named("workspace", &last)).await.ok()?;
        loop {
            look.tick().await;
            let (app, caller) = (&self.app, &self.caller);
            caller.is_still(&app.tokens, &app.sessions, app.now_us()).then_some(())?;
            if Instant::now() >= keep_open {
                keep_open = Instant::now() + KEEP_OPEN;
                pieces.send(Bytes::from_static(sse::COMMENT)).await.ok()?;
            }
            match state_of(app, caller, self.task.clone()).await {
                Ok(state) if state == last => {}
                Ok(state) => {
                    pieces.send(sse::named("workspace", &state)).await.ok()?;
                    last = state;
                }
                Err(wrong) => return Some(wrong),
            }
        }
    }
}
