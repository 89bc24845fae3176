//! Summaries of tasks: a page, sorted or searched, or as they change.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use milepost::Engine;
use milepost::query::TaskQuery;
use milepost_api::{ListProblems, SummaryFilter, SummaryOrder};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::columns;
use crate::error::ApiError;
use crate::extract::Query;
use crate::forms::{Big, SummariesForm, SummaryForm};
use crate::negotiate::{EVENT_STREAM, JSON, choose};
use crate::request_scope::RequestId;
use crate::state_text::Pointer;
use crate::summary_stream::{self, Changes};
use milepost_service::Search;
use milepost_service::operations::{PAGE, page_size};

/// The maximum page size.
pub(super) const SUMMARIES_MAX: usize = 1000;

/// The maximum number of columns.
const COLUMNS_MAX: usize = 16;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(summaries))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SummariesQuery {
    /// The owner, for admins. Default: the caller.
    user: Option<String>,
    /// Only tasks whose id begins with this text, in the order of their ids unless `sort` names
    /// another one.
    prefix: Option<String>,
    /// Words of the id or the title, and conditions, separated by spaces: `has:failure`,
    /// `outcome:0`, `state:running`, `user:ana`, `steps:>20`. All of them have to hold.
    q: Option<String>,
    /// The column to sort by, with `-` before it for descending: `-failed`. Default: the newest
    /// first.
    sort: Option<String>,
    /// JSON pointers into the last state, separated by commas: `/variables/score,/phase`. At most
    /// 16.
    columns: Option<String>,
    /// The page size: 1 to 1,000, default 20.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
}

/// Lists tasks with what happened in them: title, outcome of each lineage, counts, usage, last
/// error. Newest first, or sorted and searched; or, as an event stream, each task that changes.
#[utoipa::path(
    get,
    path = "/v1/summaries",
    operation_id = "summaries",
    tag = "tasks",
    params(
        SummariesQuery,
        ("Accept" = Option<String>, Header, description = "`application/json`: a page; \
            `text/event-stream`: each task that changes"),
    ),
    responses(
        (status = 200, content(
            (SummariesForm = "application/json"),
            (String = "text/event-stream"),
        )),
        ListProblems,
        (status = 406),
        (status = 413, description = "There are too many tasks to sort or search"),
    ),
)]
async fn summaries(
    State(app): State<App>,
    caller: Caller,
    id: RequestId,
    headers: HeaderMap,
    Query(query): Query<SummariesQuery>,
) -> Result<Response, ApiError> {
    let columns = pointers(query.columns.as_deref())?;
    match choose(&headers, &[JSON, EVENT_STREAM])? {
        EVENT_STREAM => {
            let pages = [&query.q, &query.sort, &query.cursor].iter().any(|it| it.is_some());
            if pages || query.limit.is_some() {
                let text = "a stream has the tasks of `user` and `prefix` that change, with their \
                    `columns`: leave the others out";
                return Err(ApiError::Invalid(text.into()));
            }
            let shown = caller.shown(query.user, query.prefix)?;
            let changes = Changes { shown, columns, id: id.0 };
            let body = summary_stream::open(&app, &caller, changes).await?;
            let kind = HeaderValue::from_static(EVENT_STREAM);
            let now = HeaderValue::from_static("no-store");
            let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, now)];
            Ok((headers, body).into_response())
        }
        _ => Ok(page(&app, &caller, query, columns).await?.into_response()),
    }
}

/// Answers with a page.
async fn page(
    app: &App,
    caller: &Caller,
    query: SummariesQuery,
    pointers: Vec<String>,
) -> Result<Json<SummariesForm>, ApiError> {
    let limit = page_size(query.limit, PAGE, SUMMARIES_MAX)?;
    let shown = caller.shown(query.user, query.prefix)?;
    let filter: SummaryFilter =
        query.q.as_deref().unwrap_or_default().parse().map_err(ApiError::Invalid)?;
    let order = query.sort.as_deref().map(str::parse).transpose().map_err(ApiError::Invalid)?;
    let (asks, shared) = (caller.clone(), app.clone());
    let work = move |engine: &Engine| {
        let kept = &shared.summaries;
        Ok(match order {
            None if filter.is_empty() => {
                let (user, prefix) = (shown.user.clone(), shown.prefix.clone());
                let query = TaskQuery { user, prefix, limit: Some(limit), cursor: query.cursor };
                kept.page(&asks.view(engine), engine, &shown, &query)?
            }
            order => {
                let order = order.unwrap_or_else(SummaryOrder::newest);
                kept.search(engine, &Search { shown, filter, order, limit, cursor: query.cursor })?
            }
        })
    };
    let found = app.long_work(caller.of_token(), work).await?;
    let mut items = Vec::with_capacity(found.items.len());
    for (task, form) in found.items {
        let columns = columns::of(app, caller, &task, &pointers).await?;
        items.push(SummaryForm { columns, ..Arc::unwrap_or_clone(form) });
    }
    Ok(Json(SummariesForm { items, next: found.next, total: Big(found.total as u64) }))
}

/// Returns the pointers of a list. One begins behind a comma that `/` follows.
fn pointers(text: Option<&str>) -> Result<Vec<String>, ApiError> {
    let text = text.filter(|text| !text.is_empty());
    let mut found: Vec<String> = Vec::new();
    for part in text.into_iter().flat_map(|text| text.split(',')) {
        match found.last_mut() {
            Some(last) if !part.starts_with('/') => {
                last.push(',');
                last.push_str(part);
            }
            _ => found.push(part.to_owned()),
        }
    }
    if found.len() > COLUMNS_MAX {
        let text = format!("a list has at most {COLUMNS_MAX} columns, not {}", found.len());
        return Err(ApiError::Invalid(text));
    }
    for pointer in &found {
        pointer.parse::<Pointer>()?;
    }
    Ok(found)
}
