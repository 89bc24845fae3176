//! Marking and unmarking checkpoints.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use milepost::LineageId;
use milepost::events::MarkStatus;
use milepost::query::CheckpointQuery;
use milepost_api::{ReadProblems, WriteProblems};
use milepost_service::forms;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::checkpoints::filter;
use crate::app::App;
use crate::append_task::Target;
use crate::error::ApiError;
use crate::extract::{PathName, Query, Required};
use crate::forms::{Big, CheckpointForm, CheckpointGiven, UnmarkedForm, location};
use crate::write_context::{WriteContext, refused};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(mark)).routes(routes!(unmark)).routes(routes!(unmark_all))
}

/// Marks a checkpoint.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/checkpoints",
    operation_id = "mark",
    tag = "checkpoints",
    params(
        ("task" = String, Path, description = "The task's id"),
        ("If-Match" = Option<String>, Header, description = "The expected head, in quotes"),
        ("Idempotency-Key" = Option<String>, Header, description = "Marked once under this key"),
    ),
    request_body = CheckpointGiven,
    responses(
        (status = 201, body = CheckpointForm, headers(("Location" = String, description = "Its \
            path"))),
        WriteProblems,
        (status = 409, description = "The active lineage changed, or the key was used for \
            something else"),
        (status = 412, description = "The head is elsewhere"),
    ),
)]
async fn mark(
    State(app): State<App>,
    context: WriteContext,
    PathName(task): PathName,
    Required(given): Required<CheckpointGiven>,
) -> Result<impl IntoResponse, ApiError> {
    let caller = context.caller.clone();
    let marked = app.view(&caller, move |view| {
        let task = Target { lineage: given.lineage, ..Target::of(task) }.look_up(view)?;
        let mark = forms::mark_at(given).correlation(context.correlation());
        context.during(|| task.checkpoint(mark)).map_err(refused)
    });
    let marked = marked.await?;
    let at = location("/v1/checkpoints", &marked.id.to_string());
    let form = forms::checkpoint(marked);
    Ok((StatusCode::CREATED, [(header::LOCATION, at)], Json(form)))
}

/// Removes a checkpoint's mark. Its events stay until a cleanup finds them unneeded.
#[utoipa::path(
    delete,
    path = "/v1/checkpoints/{id}",
    operation_id = "unmark",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The checkpoint's id, or a unique prefix of 8 or \
        more digits")),
    responses(
        (status = 204, description = "It is taken away"),
        ReadProblems,
        (status = 409, description = "It is pinned"),
        (status = 503),
    ),
)]
async fn unmark(
    State(app): State<App>,
    context: WriteContext,
    PathName(id): PathName,
) -> Result<StatusCode, ApiError> {
    let caller = context.unconditional()?.caller;
    app.view(&caller, move |view| Ok(view.unmark(&id)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checkpoints to remove.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct UnmarkQuery {
    /// Only checkpoints of this task.
    task: Option<String>,
    /// Only checkpoints marked on this lineage itself.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    lineage: Option<u32>,
    /// Only checkpoints with this alias, on any lineage of the task.
    alias: Option<String>,
    /// Only checkpoints with an alias that sorts before this text.
    before: Option<String>,
    /// Only checkpoints of this status: `success` or `failure`.
    #[param(value_type = Option<String>)]
    status: Option<MarkStatus>,
    /// Only checkpoints whose metadata contains all of this: a JSON object, as text.
    filter: Option<String>,
}

/// Removes the marks of all checkpoints that a query finds, except pinned ones.
#[utoipa::path(
    delete,
    path = "/v1/checkpoints",
    operation_id = "unmark_all",
    tag = "checkpoints",
    params(UnmarkQuery),
    responses(
        (status = 200, body = UnmarkedForm),
        ReadProblems,
        (status = 409, description = "One was pinned during the call: nothing is removed"),
        (status = 503),
    ),
)]
async fn unmark_all(
    State(app): State<App>,
    context: WriteContext,
    Query(query): Query<UnmarkQuery>,
) -> Result<Json<UnmarkedForm>, ApiError> {
    let caller = context.unconditional()?.caller;
    let query = CheckpointQuery {
        task: query.task,
        lineage: query.lineage.map(LineageId),
        filter: filter(query.filter.as_deref())?,
        alias: query.alias,
        before: query.before,
        status: query.status,
        ..CheckpointQuery::default()
    };
    // An empty object is no filter: it would find every checkpoint.
    let is_bounded = query.task.is_some() || query.status.is_some() || !query.filter.is_empty();
    if !is_bounded && query.alias.is_none() && query.before.is_none() {
        let why = "without a filter this would remove every checkpoint: give `task`, `status` or a \
                   `filter` that is not empty";
        return Err(ApiError::Invalid(why.into()));
    }
    let removed = app.view(&caller, move |view| Ok(view.unmark_all(&query)?)).await?;
    Ok(Json(UnmarkedForm { removed: Big(removed) }))
}
