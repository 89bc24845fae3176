//! Checkpoints.

use axum::Json;
use axum::extract::State;
use milepost::LineageId;
use milepost::events::MarkStatus;
use milepost::query::{CheckpointOrder, CheckpointQuery};
use milepost_api::ReadProblems;
use milepost_service::forms;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{LIMIT, LIMIT_MAX, limit};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{Known, Tag, Tagged};
use crate::extract::{Nothing, PathName, Query};
use crate::forms::{CheckpointForm, Listed};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(all)).routes(routes!(one))
}

/// Order of a list of checkpoints.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ListOrder {
    #[default]
    Committed,
    Created,
    Alias,
}

impl From<ListOrder> for CheckpointOrder {
    fn from(order: ListOrder) -> Self {
        match order {
            ListOrder::Committed => Self::Committed,
            ListOrder::Created => Self::Created,
            ListOrder::Alias => Self::Alias,
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only checkpoints marked on this lineage itself.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    lineage: Option<u32>,
    /// Only checkpoints of this status: `success` or `failure`.
    #[param(value_type = Option<String>)]
    status: Option<MarkStatus>,
    /// Only checkpoints whose metadata contains all of this: a JSON object, as text.
    filter: Option<String>,
    /// Only checkpoints with this alias, on any lineage of the task.
    alias: Option<String>,
    /// Only checkpoints with an alias that sorts before this text.
    before: Option<String>,
    /// The order: `committed` (default) or `created`, newest first, or `alias`, the greatest first.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    order: ListOrder,
    /// The page size: 1 to 100, default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
}

/// Lists the checkpoints of a task, newest first, or by alias.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/checkpoints",
    operation_id = "checkpoints",
    tag = "checkpoints",
    params(("task" = String, Path, description = "The task's id"), ListQuery),
    responses(
        (status = 200, body = Listed<CheckpointForm>),
        ReadProblems,
    ),
)]
async fn list(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(query): Query<ListQuery>,
) -> Result<Json<Listed<CheckpointForm>>, ApiError> {
    let query = CheckpointQuery {
        task: Some(task),
        lineage: query.lineage.map(LineageId),
        filter: filter(query.filter.as_deref())?,
        status: query.status,
        alias: query.alias,
        before: query.before,
        order: query.order.into(),
        limit: Some(limit(query.limit, LIMIT, LIMIT_MAX)?),
        cursor: query.cursor,
    };
    answer(&app, caller, query).await
}

async fn answer(
    app: &App,
    caller: Caller,
    query: CheckpointQuery,
) -> Result<Json<Listed<CheckpointForm>>, ApiError> {
    let page = app.view(&caller, move |view| Ok(view.checkpoints(&query)?)).await?;
    Ok(Json(forms::page(page, forms::checkpoint)))
}

/// Parses the metadata filter.
pub(super) fn filter(text: Option<&str>) -> Result<Vec<(String, Value)>, ApiError> {
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    let read: serde_json::Result<Map<String, Value>> = serde_json::from_str(text);
    let wrong = |error| ApiError::Invalid(format!("`filter` is no JSON object: {error}"));
    Ok(read.map_err(wrong)?.into_iter().collect())
}

/// Filters for checkpoints of all visible tasks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AllQuery {
    /// Only checkpoints of this task. A list by alias needs it.
    task: Option<String>,
    /// Only checkpoints of this status: `success` or `failure`.
    #[param(value_type = Option<String>)]
    status: Option<MarkStatus>,
    /// Only checkpoints whose metadata contains all of this: a JSON object, as text.
    filter: Option<String>,
    /// Only checkpoints with this alias, on any lineage of the task.
    alias: Option<String>,
    /// Only checkpoints with an alias that sorts before this text.
    before: Option<String>,
    /// The order: `committed` (default) or `created`, newest first, or `alias`, the greatest first.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    order: ListOrder,
    /// The page size: 1 to 100, default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
}

/// Lists the checkpoints of all visible tasks, newest first.
#[utoipa::path(
    get,
    path = "/v1/checkpoints",
    operation_id = "all_checkpoints",
    tag = "checkpoints",
    params(AllQuery),
    responses(
        (status = 200, body = Listed<CheckpointForm>),
        ReadProblems,
    ),
)]
async fn all(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<AllQuery>,
) -> Result<Json<Listed<CheckpointForm>>, ApiError> {
    let query = CheckpointQuery {
        task: query.task,
        filter: filter(query.filter.as_deref())?,
        status: query.status,
        alias: query.alias,
        before: query.before,
        order: query.order.into(),
        limit: Some(limit(query.limit, LIMIT, LIMIT_MAX)?),
        cursor: query.cursor,
        ..CheckpointQuery::default()
    };
    answer(&app, caller, query).await
}

/// Returns a checkpoint by its id, or by a unique prefix of 8 or more digits.
#[utoipa::path(
    get,
    path = "/v1/checkpoints/{id}",
    operation_id = "checkpoint",
    tag = "checkpoints",
    params(
        ("id" = String, Path, description = "Its id, or 8 or more digits of its beginning"),
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = CheckpointForm, headers(("ETag" = String, description = "Its id"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn one(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    PathName(id): PathName,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Tagged<Json<CheckpointForm>>, ApiError> {
    app.view(&caller, move |view| {
        let checkpoint = view.checkpoint(&id)?;
        Tagged::unless(&known, Tag::new(checkpoint.id), || Ok(Json(forms::checkpoint(checkpoint))))
    })
    .await
}
