//! Shares: a task as one HTML file.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use milepost::ErrorKind as EngineErrorKind;
use milepost_api::ReadProblems;
use milepost_formats::{Error, ErrorKind};
use milepost_share::Share;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{PathName, Query};
use crate::forms::{SharePlanForm, ShareRequest};
use crate::request_scope::RequestId;
use crate::stream_body::{self, BUFFER, Source};

/// The most bytes of a file: it is in memory until it is sent.
const MAX: u64 = 64 << 20;

/// The most regular expressions of a request, and bytes of each.
const PATTERNS: usize = 16;
const PATTERN: usize = 1000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(plan)).routes(routes!(share))
}

#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
struct ShareQuery {
    /// Withhold events with a text that resembles a secret, default `true`.
    redact: Option<bool>,
    /// Regular expressions, each as one parameter `withhold`: withhold events with a text that
    /// matches, too.
    withhold: Option<Vec<String>>,
    /// The most bytes of the file, default 33554432.
    #[param(minimum = 1, maximum = 67_108_864)]
    max: Option<u64>,
}

/// Reads the settings of a share from a query, which may have several `withhold`.
fn asked_of(query: Vec<(String, String)>) -> Result<ShareRequest, ApiError> {
    let mut asked = ShareQuery::default();
    for (name, value) in query {
        let wrong = |what: &str| ApiError::Invalid(format!("{name} is {what}, not {value:?}"));
        match name.as_str() {
            "redact" => {
                let redact = value.parse().map_err(|_| wrong("`true` or `false`"))?;
                asked.redact = Some(redact);
            }
            "max" => {
                let max = value.parse().ok().filter(|max| (1..=MAX).contains(max));
                asked.max = Some(max.ok_or_else(|| wrong("1 to 67108864 bytes"))?);
            }
            "withhold" => {
                let withhold = asked.withhold.get_or_insert_default();
                if value.len() <= PATTERN && withhold.len() < PATTERNS {
                    withhold.push(value);
                    continue;
                }
                let text =
                    format!("withhold has at most {PATTERNS} expressions of {PATTERN} bytes");
                return Err(ApiError::Invalid(text));
            }
            _ => return Err(ApiError::Invalid(format!("there is no parameter {name:?}"))),
        }
    }
    let default = ShareRequest::default();
    Ok(ShareRequest {
        redact: asked.redact.unwrap_or(default.redact),
        withhold: asked.withhold.unwrap_or(default.withhold),
        max: asked.max.unwrap_or(default.max),
    })
}

/// Packs a task for a caller who may read it.
async fn packed<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    task: String,
    asked: ShareRequest,
    then: impl FnOnce(&Share) -> T + Send + 'static,
) -> Result<T, ApiError> {
    let asks = caller.clone();
    app.long_work(caller.of_token(), move |engine| {
        let task = asks.view(engine).task(&task)?.id().to_owned();
        let share =
            Share::within(MAX, engine, &task, &asked, &mut ()).map_err(|error| failed(&error))?;
        Ok(then(&share))
    })
    .await
}

/// Converts an error of a share or an export.
pub(super) fn failed(error: &Error) -> ApiError {
    let text = error.to_string();
    match (error.engine().map(milepost::Error::kind), error.kind()) {
        (Some(EngineErrorKind::NotFound), _) => ApiError::NotFound(text),
        (Some(EngineErrorKind::Invalid), _) | (None, ErrorKind::Invalid) => ApiError::Invalid(text),
        (Some(kind), _) => ApiError::Engine(kind, text, None),
        (None, _) => ApiError::unavailable(text),
    }
}

/// Returns the size of a share of a task, and what it withholds. The file is made, and dropped.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/share/plan",
    operation_id = "share_plan",
    tag = "tasks",
    params(
        ("task" = String, Path, description = "The id of the task"),
        ShareQuery,
    ),
    responses((status = 200, body = SharePlanForm), ReadProblems),
)]
async fn plan(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName<String>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Json<SharePlanForm>, ApiError> {
    Ok(Json(packed(&app, &caller, task, asked_of(query)?, Share::plan).await?))
}

/// Returns a task as one HTML file, which shows it in a browser, verifies it, and can be imported.
/// See docs/SHARE.md.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/share",
    operation_id = "share",
    tag = "tasks",
    params(
        ("task" = String, Path, description = "The id of the task"),
        ShareQuery,
    ),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
        ReadProblems,
    ),
)]
async fn share(
    State(app): State<App>,
    caller: Caller,
    id: RequestId,
    PathName(task): PathName<String>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, ApiError> {
    let bytes = |share: &Share| {
        let mut bytes = Vec::new();
        let Ok(()) = share.write(&mut |part| {
            bytes.extend_from_slice(part);
            Ok::<_, std::convert::Infallible>(())
        });
        bytes
    };
    let file = packed(&app, &caller, task, asked_of(query)?, bytes).await?;
    let text = HeaderValue::from_static;
    let headers = [
        (header::CONTENT_TYPE, text("application/octet-stream")),
        (header::CONTENT_LENGTH, file.len().into()),
        // The file has a script, which must not run at the address of the service.
        (header::CONTENT_DISPOSITION, text("attachment")),
        (header::X_CONTENT_TYPE_OPTIONS, text("nosniff")),
    ];
    let body = stream_body::body(&app, &caller, id, FileParts { file, sent: 0 }).await?;
    Ok((headers, body).into_response())
}

/// A file in memory, part by part.
struct FileParts {
    file: Vec<u8>,
    sent: usize,
}

impl Source for FileParts {
    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let end = (self.sent + BUFFER).min(self.file.len());
        let part = self.file.get(self.sent..end).unwrap_or_default().to_vec();
        self.sent = end;
        Ok(Some(part).filter(|part| !part.is_empty()))
    }
}
