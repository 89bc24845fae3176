//! Statistics.

use axum::Json;
use axum::extract::State;
use milepost::ids::TaskNo;
use milepost::query::TaskStats;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::limit;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::Query;
use crate::forms::{CountsForm, Problem, StatsForm, TaskStatsForm, UserForm};
use crate::view::View;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(stats))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StatsQuery {
    /// The user. An admin without one gets the store's numbers.
    user: Option<String>,
    /// The page size in tasks: 1 to 1,000, default 1,000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
}

/// The error text for others.
const STATS: &str = "numbers of the store are for admins";

/// The maximum number of tasks of a page.
const TASKS_MAX: usize = 1000;

/// Returns the numbers of the caller's tasks, or of the store.
#[utoipa::path(
    get,
    path = "/v1/stats",
    operation_id = "stats",
    tag = "store",
    params(StatsQuery),
    responses(
        (status = 200, body = StatsForm),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn stats(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<StatsQuery>,
) -> Result<Json<StatsForm>, ApiError> {
    let user = caller.asks_about(query.user)?;
    let paged = query.limit.is_some() || query.cursor.is_some();
    if user.is_none() && paged {
        let text = "`limit` and `cursor` are for the tasks of a user: name one in `user`";
        return Err(ApiError::Invalid(text.into()));
    }
    let limit = limit(query.limit, TASKS_MAX, TASKS_MAX)?;
    // Takes memory for each task.
    let token = caller.of_token().to_owned();
    app.long_work(&token, move |engine| {
        let view = View::of(engine, &caller);
        let form = match user {
            Some(user) => {
                let tasks = view.task_stats(&user)?;
                let cursor = query.cursor.as_deref();
                StatsForm::User(page_of(user, tasks, limit, cursor)?)
            }
            None => StatsForm::Store(view.whole(STATS)?.store().stats()?.into()),
        };
        Ok(Json(form))
    })
    .await
}

/// Returns a page of at most `limit` tasks, those created before the task of the cursor.
fn page_of(
    user: String,
    mut tasks: Vec<TaskStats>,
    limit: usize,
    cursor: Option<&str>,
) -> Result<UserForm, ApiError> {
    let before = cursor.map(task_no).transpose()?;
    let total = CountsForm::total(&tasks);
    tasks.retain(|task| before.is_none_or(|before| task.no < before));
    tasks.sort_by_key(|task| std::cmp::Reverse(task.no));
    let is_more = tasks.len() > limit;
    tasks.truncate(limit);
    let last = tasks.last().filter(|_| is_more);
    let next = last.map(|last| format!("{:016x}", last.no.0));
    Ok(UserForm { user, tasks: tasks.into_iter().map(TaskStatsForm::from).collect(), next, total })
}

/// Returns the task that a cursor names: the last one of a page.
fn task_no(cursor: &str) -> Result<TaskNo, ApiError> {
    let small = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    let digits = Some(cursor).filter(|cursor| cursor.len() == 16 && cursor.bytes().all(small));
    let no = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let wrong = || ApiError::Invalid(format!("`{cursor}` is no cursor of this list"));
    no.map(TaskNo).ok_or_else(wrong)
}
