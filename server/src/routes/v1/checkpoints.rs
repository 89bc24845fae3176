//! Checkpoints.

use axum::Json;
use axum::extract::State;
use milepost::{CheckpointQuery, LineageId, MarkStatus};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{LIMIT, LIMIT_MAX, limit};
use crate::forms::{CheckpointForm, Listed, Problem};
use crate::input::{Given, Named, Nothing};
use crate::server::App;
use crate::tag::{Known, Tag, Tagged};
use crate::view::View;
use crate::who::Who;
use crate::wrong::Wrong;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(one))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those that were marked on this lineage itself.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    lineage: Option<u32>,
    /// Only those of this status: `success` or `failure`.
    #[param(value_type = Option<String>)]
    status: Option<MarkStatus>,
    /// At most so many: 1 to 100, 20 unless given.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// Go on from here: the `next` of a page.
    cursor: Option<String>,
}

/// Checkpoints of a task, newest first.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/checkpoints",
    operation_id = "checkpoints",
    tag = "checkpoints",
    params(("task" = String, Path, description = "The task's id"), ListQuery),
    responses(
        (status = 200, body = Listed<CheckpointForm>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn list(
    State(app): State<App>,
    who: Who,
    Named(task): Named,
    Given(query): Given<ListQuery>,
) -> Result<Json<Listed<CheckpointForm>>, Wrong> {
    let query = CheckpointQuery {
        task: Some(task),
        lineage: query.lineage.map(LineageId),
        status: query.status,
        limit: Some(limit(query.limit, LIMIT, LIMIT_MAX)?),
        cursor: query.cursor,
        ..CheckpointQuery::default()
    };
    app.work(move |engine| {
        let page = View::of(engine, &who).checkpoints(&query)?;
        Ok(Json(Listed::of(page, CheckpointForm::from)))
    })
    .await
}

/// A checkpoint, by its id or a unique beginning of 8 or more digits.
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
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn one(
    State(app): State<App>,
    who: Who,
    known: Known,
    Named(id): Named,
    Given(Nothing {}): Given<Nothing>,
) -> Result<Tagged<Json<CheckpointForm>>, Wrong> {
    app.work(move |engine| {
        let checkpoint = View::of(engine, &who).checkpoint(&id)?;
        Tagged::unless(&known, Tag::new(checkpoint.id), || {
            Ok(Json(checkpoint.into()))
        })
    })
    .await
}
