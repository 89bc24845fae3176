//! A lineage as a person reads it: rows, turns, an overview, metrics.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use milepost::{LineageId, Task};
use milepost_service::reader::{EventSearch, RowsAsked, SeriesAxis, TurnPlace, TurnsAsked};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::events::ordered;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{Known, Tag, Tagged};
use crate::extract::{PathName, Query};
use crate::forms::{Big, Listed, MetricsForm, OverviewForm, RowsForm, SeriesForm, TurnsForm};
use milepost_api::ReadProblems;
use milepost_service::erasures;
use milepost_service::operations::page_size;

/// Default and maximum numbers of rows, of turns, of buckets of an overview and of a series.
pub(super) const ROWS: (usize, usize) = (100, 5000);
pub(super) const TURNS: (usize, usize) = (100, 1000);
const BUCKETS: (usize, usize) = (200, 2000);
const POINTS: (usize, usize) = (500, 2000);

/// Maximum number of histories of a series.
const SERIES: usize = 50;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(rows))
        .routes(routes!(turns))
        .routes(routes!(overview))
        .routes(routes!(metrics))
        .routes(routes!(series))
}

/// Returns the tag of an answer about a lineage: by its head, its beginning, what was erased, which
/// checkpoints were removed, and the query.
fn tag(task: &Task, lineage: Option<LineageId>, query: &RawQuery) -> Result<Tag, ApiError> {
    // Read before the events: an event erased in between must not get the old tag.
    let (erased, controls) = (erasures(task)?, task.controls()?.hash);
    let lineage = match lineage {
        Some(id) => task.lineage_named(id)?,
        None => task.lineage().clone(),
    };
    let info = lineage.info()?;
    let tag = Tag::new(info.head.hash).and(info.id).and(info.begin).and(controls);
    Ok(tag.and(hash_of(query)).erased(erased))
}

/// Returns the hash of a query.
fn hash_of(RawQuery(query): &RawQuery) -> blake3::Hash {
    blake3::hash(query.as_deref().unwrap_or_default().as_bytes())
}

/// Returns an answer, with the tag if it is complete; 304 if the client has it.
fn tagged<T: Serialize>(
    known: &Known,
    tag: Tag,
    answer: impl FnOnce() -> milepost::Result<T>,
    is_complete: impl FnOnce(&T) -> bool,
) -> Result<Response, ApiError> {
    if known.has(&tag) {
        return Ok(Tagged::<Response>::Same(tag).into_response());
    }
    let form = answer()?;
    Ok(match is_complete(&form) {
        true => Tagged::New(tag, Json(form)).into_response(),
        false => Json(form).into_response(),
    })
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RowsQuery {
    /// The lineage. Default: the active one.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    lineage: Option<u32>,
    /// The first offset. Default: the first readable one.
    from: Option<Big>,
    /// The end offset, exclusive. Default: the head.
    to: Option<Big>,
    /// The maximum number of rows: 1 to 5,000, default 100.
    #[param(minimum = 1, maximum = 5000)]
    limit: Option<usize>,
    /// Only events of these kinds, separated by commas: `message,step_finished`. Default: all.
    kind: Option<String>,
    /// Only events with this text in their JSON. Case does not count.
    text: Option<String>,
    /// Only calls and steps that failed.
    #[serde(default)]
    failed: bool,
}

/// Returns events of a lineage, including those before its fork, on one line each. With `kind`,
/// `text` or `failed` a page may have few rows, or none, and still a `next`.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/rows",
    operation_id = "rows",
    tag = "readings",
    params(
        ("task" = String, Path, description = "The task's id"),
        RowsQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = RowsForm, headers(("ETag" = String, description = "Of a \
            complete answer"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn rows(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    PathName(task): PathName,
    text: RawQuery,
    Query(query): Query<RowsQuery>,
) -> Result<Response, ApiError> {
    let (from, to) = ordered(query.from, query.to)?;
    let search = EventSearch::default().kinds(query.kind.as_deref())?;
    let asked = RowsAsked {
        lineage: query.lineage.map(LineageId),
        from,
        to,
        limit: page_size(query.limit, ROWS.0, ROWS.1)?,
        search: search.text(query.text.as_deref()).failed(query.failed),
    };
    let reader = app.reader();
    app.long_view(&caller, move |view| {
        let task = view.task(&task)?;
        let tag = tag(&task, asked.lineage, &text)?;
        let is_complete = |form: &RowsForm| form.next.is_none() || form.items.len() == asked.limit;
        tagged(&known, tag, || reader.rows(&task, &asked), is_complete)
    })
    .await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TurnsQuery {
    /// The lineage. Default: the active one.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    lineage: Option<u32>,
    /// The number of the first turn. Default: 0.
    from: Option<Big>,
    /// An offset: the page is around the turn that has it. Not with `from`.
    near: Option<Big>,
    /// The maximum number of turns: 1 to 1,000, default 100.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Only turns with this text in the JSON of an event. Case does not count.
    text: Option<String>,
    /// Only turns that failed.
    #[serde(default)]
    failed: bool,
}

/// Returns turns of a lineage, including those before its fork. With `text` or `failed` a page may
/// have few turns, or none, and still a `next`. While `read` is less than `head`, the same request
/// reads on.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/turns",
    operation_id = "turns",
    tag = "readings",
    params(
        ("task" = String, Path, description = "The task's id"),
        TurnsQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = TurnsForm, headers(("ETag" = String, description = "Of a \
            complete answer"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn turns(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    PathName(task): PathName,
    text: RawQuery,
    Query(query): Query<TurnsQuery>,
) -> Result<Response, ApiError> {
    let place = match (query.from, query.near) {
        (Some(_), Some(_)) => {
            return Err(ApiError::Invalid("a page has `from` or `near`, not both".into()));
        }
        (None, Some(Big(near))) => TurnPlace::Near(near),
        (from, None) => TurnPlace::From(from.unwrap_or_default().0),
    };
    let search = EventSearch::default().text(query.text.as_deref()).failed(query.failed);
    let lineage = query.lineage.map(LineageId);
    let limit = page_size(query.limit, TURNS.0, TURNS.1)?;
    let asked = TurnsAsked { lineage, place, limit, search };
    let reader = app.reader();
    app.long_view(&caller, move |view| {
        let task = view.task(&task)?;
        let tag = tag(&task, asked.lineage, &text)?;
        tagged(
            &known,
            tag,
            || reader.turns(&task, &asked),
            |form: &TurnsForm| {
                let is_full = form.next.is_none() || form.items.len() == asked.limit;
                form.read == form.head && is_full
            },
        )
    })
    .await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OverviewQuery {
    /// The lineage. Default: the active one.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    lineage: Option<u32>,
    /// The maximum number of buckets: 1 to 2,000, default 200.
    #[param(minimum = 1, maximum = 2000)]
    buckets: Option<usize>,
}

/// Returns counts of a lineage, including the events before its fork, in buckets of equal width.
/// While `read` is less than `head`, the same request reads on.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/overview",
    operation_id = "overview",
    tag = "readings",
    params(
        ("task" = String, Path, description = "The task's id"),
        OverviewQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = OverviewForm, headers(("ETag" = String, description = "Of a \
            complete answer"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn overview(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    PathName(task): PathName,
    text: RawQuery,
    Query(query): Query<OverviewQuery>,
) -> Result<Response, ApiError> {
    let buckets = page_size(query.buckets, BUCKETS.0, BUCKETS.1)?;
    let lineage = query.lineage.map(LineageId);
    let reader = app.reader();
    app.long_view(&caller, move |view| {
        let task = view.task(&task)?;
        let tag = tag(&task, lineage, &text)?;
        let answer = || reader.overview(&task, lineage, buckets);
        tagged(&known, tag, answer, |form| form.read == form.head)
    })
    .await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct MetricsQuery {
    /// The lineage. Default: the active one.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    lineage: Option<u32>,
}

/// Returns the metrics of a lineage: names, counts, and the last, least and greatest values. While
/// `read` is less than `head`, the same request reads on.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/metrics",
    operation_id = "task_metrics",
    tag = "readings",
    params(
        ("task" = String, Path, description = "The task's id"),
        MetricsQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = MetricsForm, headers(("ETag" = String, description = "Of a \
            complete answer"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn metrics(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    PathName(task): PathName,
    text: RawQuery,
    Query(query): Query<MetricsQuery>,
) -> Result<Response, ApiError> {
    let lineage = query.lineage.map(LineageId);
    let reader = app.reader();
    app.long_view(&caller, move |view| {
        let task = view.task(&task)?;
        let tag = tag(&task, lineage, &text)?;
        let answer = || reader.metrics(&task, lineage);
        tagged(&known, tag, answer, |form| form.read == form.head)
    })
    .await
}

/// The parameters of a series.
#[derive(Debug)]
struct SeriesAsked {
    at: Vec<String>,
    metric: String,
    axis: SeriesAxis,
    points: usize,
}

impl SeriesAsked {
    /// Reads the query, in which `at` is there several times.
    fn of(query: Vec<(String, String)>) -> Result<Self, ApiError> {
        let (mut at, mut metric, mut axis, mut points) = (Vec::new(), None, SeriesAxis::Step, None);
        for (name, value) in query {
            match name.as_str() {
                "at" => at.push(value),
                "metric" => metric = Some(value),
                "x" => axis = axis_of(&value)?,
                "points" => {
                    let number = value.parse::<usize>();
                    points = Some(number.map_err(|_| {
                        ApiError::Invalid(format!("points is 1 to {}, not {value:?}", POINTS.1))
                    })?);
                }
                _ => {
                    let text = format!(
                        "a series has no parameter {name:?}: it has `at`, `metric`, `x`, `points`"
                    );
                    return Err(ApiError::Invalid(text));
                }
            }
        }
        if !(1..=SERIES).contains(&at.len()) {
            let text = format!("a series has 1 to {SERIES} addresses `at`, not {}", at.len());
            return Err(ApiError::Invalid(text));
        }
        let metric = metric.ok_or_else(|| ApiError::Invalid("a series has a `metric`".into()))?;
        let points = page_size(points, POINTS.0, POINTS.1)?;
        Ok(Self { at, metric, axis, points })
    }
}

fn axis_of(name: &str) -> Result<SeriesAxis, ApiError> {
    match name {
        "step" => Ok(SeriesAxis::Step),
        "time" => Ok(SeriesAxis::Time),
        "offset" => Ok(SeriesAxis::Offset),
        _ => {
            let text = format!("x is `step`, `time` or `offset`, not {name:?}");
            Err(ApiError::Invalid(text))
        }
    }
}

/// Returns the values of a metric before some points, in buckets of consecutive values. While
/// `read` of an item is less than its `head`, the same request reads on.
#[utoipa::path(
    get,
    path = "/v1/series",
    operation_id = "series",
    tag = "readings",
    params(
        ("at" = Vec<String>, Query, description = "1 to 50 addresses, each as one parameter `at`"),
        ("metric" = String, Query, description = "The name of the metric"),
        ("x" = Option<String>, Query, description = "The axis: `step` (the default), `time`, \
            `offset`"),
        ("points" = Option<usize>, Query, minimum = 1, maximum = 2000, description = "The maximum \
            number of buckets for each address, default 500"),
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = Listed<SeriesForm>, headers(("ETag" = String,
            description = "Of a complete answer"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn series(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    text: RawQuery,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, ApiError> {
    let asked = SeriesAsked::of(query)?;
    let reader = app.reader();
    app.long_view(&caller, move |view| {
        let points = asked.at.iter().map(|address| {
            let point = view.point(address)?;
            Ok((view.task(&point.task)?, point))
        });
        let points = points.collect::<Result<Vec<_>, ApiError>>()?;
        let mut all = blake3::Hasher::new();
        for (task, point) in &points {
            let erased = erasures(task)?;
            let begin = task.lineage_named(point.lineage)?.info()?.begin;
            all.update(format!("{point} {} {begin} {erased:?}\n", view.hash_at(point)?).as_bytes());
        }
        let tag = Tag::new(all.finalize()).and(hash_of(&text));
        let answer = || {
            let items = reader.series(&points, &asked.metric, asked.axis, asked.points)?;
            Ok(Listed { items, next: None })
        };
        let is_complete =
            |form: &Listed<SeriesForm>| form.items.iter().all(|item| item.read == item.head);
        tagged(&known, tag, answer, is_complete)
    })
    .await
}

#[cfg(test)]
mod tests {
    use axum::http::{StatusCode, header};

    use super::*;

    #[test]
    fn an_answer_that_is_not_complete_has_no_tag() {
        let answer = |is_complete: bool| {
            let known = Known::default();
            tagged(&known, Tag::new("ab"), || Ok(7), |_| is_complete).unwrap()
        };
        assert_eq!(answer(true).headers()[header::ETAG], "\"ab\"");
        let partial = answer(false);
        assert_eq!((partial.status(), partial.headers().get(header::ETAG)), (StatusCode::OK, None));
    }
}
