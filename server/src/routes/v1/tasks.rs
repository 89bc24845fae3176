//! Tasks and their lineages.

use axum::Json;
use axum::extract::State;
use milepost::query::TaskQuery;
use milepost_service::forms;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{LIMIT, LIMIT_MAX, limit};
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ListProblems, ReadProblems};
use crate::extract::{Nothing, PathName, Query};
use crate::forms::{LineageForm, Listed, SummaryForm, TaskForm};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(summary))
        .routes(routes!(one))
        .routes(routes!(lineages))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// The owner, for admins. Default: the caller.
    user: Option<String>,
    /// Only tasks whose id begins with this text, in the order of their ids.
    prefix: Option<String>,
    /// The page size: 1 to 100, default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
}

impl ListQuery {
    /// Returns the query of the engine, for what the caller may ask about.
    fn of(self, caller: &Caller) -> Result<TaskQuery, ApiError> {
        let user = caller.asks_about(self.user)?;
        let limit = Some(limit(self.limit, LIMIT, LIMIT_MAX)?);
        Ok(TaskQuery { user, prefix: self.prefix, limit, cursor: self.cursor })
    }
}

/// Lists tasks, newest first, or those of a prefix by id.
#[utoipa::path(
    get,
    path = "/v1/tasks",
    operation_id = "tasks",
    tag = "tasks",
    params(ListQuery),
    responses(
        (status = 200, body = Listed<TaskForm>),
        ListProblems,
    ),
)]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<Listed<TaskForm>>, ApiError> {
    let query = query.of(&caller)?;
    let page = app.view(&caller, move |view| Ok(view.tasks(&query)?)).await?;
    Ok(Json(forms::page(page, forms::task)))
}

/// Returns a task.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}",
    operation_id = "task",
    tag = "tasks",
    params(("task" = String, Path, description = "The task's id")),
    responses(
        (status = 200, body = TaskForm),
        ReadProblems,
    ),
)]
async fn one(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Json<TaskForm>, ApiError> {
    let info = app.view(&caller, move |view| Ok(view.task(&task)?.info()?)).await?;
    Ok(Json(forms::task(info)))
}

/// Returns a task with what happened in it, as in the list of summaries.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/summary",
    operation_id = "summary",
    tag = "tasks",
    params(("task" = String, Path, description = "The task's id")),
    responses(
        (status = 200, body = SummaryForm),
        ReadProblems,
    ),
)]
async fn summary(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Json<SummaryForm>, ApiError> {
    let summary = app.long_view(&caller, move |view| Ok(view.summary(&task)?)).await?;
    Ok(Json(forms::summary(summary)))
}

/// Lists the lineages of a task, in the order of their creation.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/lineages",
    operation_id = "lineages",
    tag = "tasks",
    params(("task" = String, Path, description = "The task's id")),
    responses(
        (status = 200, body = Listed<LineageForm>),
        ReadProblems,
    ),
)]
async fn lineages(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Json<Listed<LineageForm>>, ApiError> {
    let lineages = app.view(&caller, move |view| Ok(view.task(&task)?.lineages()?)).await?;
    Ok(Json(Listed { items: lineages.into_iter().map(forms::lineage).collect(), next: None }))
}
