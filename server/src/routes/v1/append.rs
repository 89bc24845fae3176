//! Appends of events.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use milepost::{Append, Body, LineageId};
use milepost_api::WriteProblems;
use milepost_runtime::run::{NamedPolicy, Reported, ToolEffects};
use milepost_service::forms;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::append_task::{self, Target};
use crate::error::ApiError;
use crate::extract::{PathName, Query, bytes, is_json, media_type, object, to_parse};
use crate::forms::{AppendedForm, EventRequest, Line, LineRequest};
use crate::write_context::{WriteContext, answer};

/// The maximum number of events of a request.
const EVENTS_MAX: usize = 10_000;

const LINES: &str = "application/x-ndjson";

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(append))
}

/// The lineage of an append, and facts about the work.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Where {
    /// The number of the lineage. Default: the active one.
    lineage: Option<u32>,
    /// The number of files that the work touched, or is about to touch, for a policy of
    /// checkpoints.
    touched: Option<u64>,
    /// `true` if the work destroys something, for a policy of checkpoints.
    destructive: Option<bool>,
    /// `true` if the user asks for a checkpoint, for a policy of checkpoints.
    asked: Option<bool>,
    /// The policy of checkpoints for this request, if another one than the service's: `steps`,
    /// `steps:N`, `phases`, `risk` or `never`.
    policy: Option<String>,
}

impl Where {
    fn target(&self, task: String) -> Result<Target, ApiError> {
        let effects = ToolEffects {
            files: self.touched.unwrap_or(0),
            destructive: self.destructive.unwrap_or(false),
        };
        let policy = self.policy.as_deref().map(str::parse::<NamedPolicy>).transpose();
        let policy = policy.map_err(|names| ApiError::Invalid(format!("policy is {names}")))?;
        let reported = Reported { effects, asked: self.asked.unwrap_or(false), policy };
        Ok(Target { task, lineage: self.lineage.map(LineageId), reported })
    }
}

/// A received body before parsing.
pub(super) struct Events {
    bytes: Bytes,
    are_lines: bool,
}

impl FromRequest<App> for Events {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let headers = request.headers();
        let are_lines = media_type(headers).as_deref() == Some(LINES);
        if !are_lines && !is_json(headers) {
            return Err(ApiError::MediaType("application/json or application/x-ndjson"));
        }
        let (bytes, shares) = bytes(request, app).await?;
        to_parse(app, &shares, bytes.len()).await?;
        Ok(Self { bytes, are_lines })
    }
}

impl Events {
    pub(super) fn append(&self) -> Result<Append, ApiError> {
        let append = match self.are_lines {
            true => lines(&self.bytes),
            false => object(&self.bytes).and_then(EventRequest::append),
        };
        let append = append.map_err(ApiError::Invalid)?;
        // Its correlation id, here that of the request, is the alias of a checkpoint.
        match append.bodies().iter().any(|body| matches!(body, Body::DataAttached(_))) {
            true => Err(ApiError::Invalid("data is attached at `/attachments` of the task".into())),
            false => Ok(append),
        }
    }
}

/// Parses one event per line, and an optional mark on the last. Ignores empty lines.
fn lines(bytes: &[u8]) -> Result<Append, String> {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = (1..).zip(lines).filter(|(_, line)| !line.is_empty());
    let (mut bodies, mut keys, mut mark) = (Vec::new(), Vec::new(), None);
    for (number, line) in lines {
        if mark.is_some() {
            return Err(format!("line {number} is behind the mark, which is the last"));
        }
        let line = object(line).and_then(LineRequest::read);
        match line.map_err(|why| format!("line {number}: {why}"))? {
            Line::Event(..) if bodies.len() == EVENTS_MAX => {
                return Err(format!("a request has at most {EVENTS_MAX} events"));
            }
            Line::Event(body, key) => {
                bodies.push(body);
                keys.extend(key);
                if !keys.is_empty() && keys.len() < bodies.len() {
                    return Err(format!("line {number}: each event has a `key`, or none has one"));
                }
            }
            Line::Mark(given) => mark = Some(given),
        }
    }
    if bodies.is_empty() {
        return Err("there are no events in the body".into());
    }
    let append = match keys.is_empty() {
        true => Append::batch(bodies),
        false => Append::each_keyed(keys.into_iter().zip(bodies)),
    };
    Ok(match mark {
        Some(mark) => append.mark(mark),
        None => append,
    })
}

/// Appends one or more events in one commit. They are durable when this answers.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/events",
    operation_id = "append",
    tag = "events",
    params(
        ("task" = String, Path, description = "The task's id"),
        Where,
        ("If-Match" = Option<String>, Header, description = "The expected head, as in \"12\""),
        ("Idempotency-Key" = Option<String>, Header, description = "With the same key it is \
            appended once"),
    ),
    request_body(content(
        (EventRequest = "application/json"),
        (String = "application/x-ndjson"),
    )),
    responses(
        (status = 200, description = "It had been appended before, under the same key, or under \
            the keys of its events", body = AppendedForm),
        (status = 201, body = AppendedForm, headers(("ETag" = String, description = "The new head, \
            as `If-Match` takes it"))),
        WriteProblems,
        (status = 409, description = "The key was used for other events, or the active lineage \
            changed"),
        (status = 412, description = "The head is another one"),
        (status = 504, description = "It is not known whether it was appended: ask with the same \
            key"),
    ),
)]
async fn append(
    State(app): State<App>,
    context: WriteContext,
    PathName(task): PathName,
    Query(at): Query<Where>,
    events: Events,
) -> Result<Response, ApiError> {
    let (target, size) = (at.target(task)?, events.bytes.len());
    let appended =
        append_task::append(&app, context, target, size, move || events.append()).await?;
    let form = forms::appended(&appended);
    Ok(answer(created(&appended), &appended, form))
}

/// Returns 201 for a new append, and 200 for a repeated one.
pub(super) fn created(appended: &milepost::Appended) -> StatusCode {
    match appended.repeated {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    }
}
