//! Statistics.

use axum::Json;
use axum::extract::State;
use milepost_api::ListProblems;
use milepost_service::operations::page_size;
use milepost_service::{forms, operations};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::Query;
use crate::forms::StatsForm;

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
        ListProblems,
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
    let limit = page_size(query.limit, TASKS_MAX, TASKS_MAX)?;
    // Takes memory for each task.
    app.long_view(&caller, move |view| {
        let form = match user {
            Some(user) => {
                let cursor = query.cursor.as_deref();
                StatsForm::User(operations::user_stats(view, user, limit, cursor)?)
            }
            None => StatsForm::Store(forms::store(view.whole(STATS)?.store().stats()?)),
        };
        Ok(Json(form))
    })
    .await
}
