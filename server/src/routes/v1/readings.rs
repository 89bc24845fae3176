//! A lineage as a person reads it: rows, turns, an overview, metrics.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use milepost_service::reader::SeriesAxis;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{Known, Tagged};
use crate::extract::Query;
use crate::forms::{Listed, SeriesForm};
use milepost_api::ReadProblems;
use milepost_service::Tag;
use milepost_service::erasures;
use milepost_service::operations::page_size;

/// Default and maximum number of buckets of a series.
const POINTS: (usize, usize) = (500, 2000);

/// Maximum number of histories of a series.
const SERIES: usize = 50;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(series))
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
