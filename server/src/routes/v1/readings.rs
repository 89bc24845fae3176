//! A lineage as a person reads it: rows, turns, an overview, metrics.

use axum::Json;
use axum::extract::State;
use milepost::LineageId;
use milepost_api::reader::{EventSearch, RowsAsked, SeriesAxis, TurnPlace, TurnsAsked};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::events::ordered;
use super::limit;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ReadProblems};
use crate::extract::{PathName, Query};
use crate::forms::{Big, Listed, MetricsForm, OverviewForm, RowsForm, SeriesForm, TurnsForm};

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
    params(("task" = String, Path, description = "The task's id"), RowsQuery),
    responses((status = 200, body = RowsForm), ReadProblems),
)]
async fn rows(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(query): Query<RowsQuery>,
) -> Result<Json<RowsForm>, ApiError> {
    let (from, to) = ordered(query.from, query.to)?;
    let search = EventSearch::default().kinds(query.kind.as_deref())?;
    let asked = RowsAsked {
        lineage: query.lineage.map(LineageId),
        from,
        to,
        limit: limit(query.limit, ROWS.0, ROWS.1)?,
        search: search.text(query.text.as_deref()).failed(query.failed),
    };
    let reader = app.reader();
    app.long_view(&caller, move |view| Ok(Json(reader.rows(&view.task(&task)?, &asked)?))).await
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
    params(("task" = String, Path, description = "The task's id"), TurnsQuery),
    responses((status = 200, body = TurnsForm), ReadProblems),
)]
async fn turns(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(query): Query<TurnsQuery>,
) -> Result<Json<TurnsForm>, ApiError> {
    let place = match (query.from, query.near) {
        (Some(_), Some(_)) => {
            return Err(ApiError::Invalid("a page has `from` or `near`, not both".into()));
        }
        (None, Some(Big(near))) => TurnPlace::Near(near),
        (from, None) => TurnPlace::From(from.unwrap_or_default().0),
    };
    let search = EventSearch::default().text(query.text.as_deref()).failed(query.failed);
    let lineage = query.lineage.map(LineageId);
    let limit = limit(query.limit, TURNS.0, TURNS.1)?;
    let asked = TurnsAsked { lineage, place, limit, search };
    let reader = app.reader();
    app.long_view(&caller, move |view| Ok(Json(reader.turns(&view.task(&task)?, &asked)?))).await
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
    params(("task" = String, Path, description = "The task's id"), OverviewQuery),
    responses((status = 200, body = OverviewForm), ReadProblems),
)]
async fn overview(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(query): Query<OverviewQuery>,
) -> Result<Json<OverviewForm>, ApiError> {
    let buckets = limit(query.buckets, BUCKETS.0, BUCKETS.1)?;
    let lineage = query.lineage.map(LineageId);
    let reader = app.reader();
    app.long_view(&caller, move |view| {
        Ok(Json(reader.overview(&view.task(&task)?, lineage, buckets)?))
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
    params(("task" = String, Path, description = "The task's id"), MetricsQuery),
    responses((status = 200, body = MetricsForm), ReadProblems),
)]
async fn metrics(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(query): Query<MetricsQuery>,
) -> Result<Json<MetricsForm>, ApiError> {
    let lineage = query.lineage.map(LineageId);
    let reader = app.reader();
    app.long_view(&caller, move |view| Ok(Json(reader.metrics(&view.task(&task)?, lineage)?))).await
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
        let points = limit(points, POINTS.0, POINTS.1)?;
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
    ),
    responses((status = 200, body = Listed<SeriesForm>), ReadProblems),
)]
async fn series(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Json<Listed<SeriesForm>>, ApiError> {
    let asked = SeriesAsked::of(query)?;
    let reader = app.reader();
    app.long_view(&caller, move |view| {
        let points = asked.at.iter().map(|address| {
            let point = view.point(address)?;
            Ok((view.task(&point.task)?, point))
        });
        let points = points.collect::<Result<Vec<_>, ApiError>>()?;
        let items = reader.series(&points, &asked.metric, asked.axis, asked.points)?;
        Ok(Json(Listed { items, next: None }))
    })
    .await
}
