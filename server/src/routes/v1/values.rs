//! Values of an event's body, whole or a part of their bytes.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use milepost::Body;
use milepost::state::text_value;
use milepost_api::ReadProblems;
use milepost_service::{Tag, named_tag};
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{Known, Tagged};
use crate::extract::{PathName, Query};

/// Content type of a value. A browser shows it as text.
const TEXT: &str = "text/plain; charset=utf-8";

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(value))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ValueQuery {
    /// The part of the body, as a JSON pointer (RFC 6901): `/content`.
    pointer: String,
}

/// Bytes of a value, from one to another, and the length of the whole.
struct Piece {
    bytes: Vec<u8>,
    from: usize,
    whole: usize,
}

impl Piece {
    /// Takes the bytes that a `Range` header asks for; all of them without one, or with one of
    /// another form.
    fn of(mut bytes: Vec<u8>, asked: Option<(usize, Option<usize>)>) -> Result<Self, ApiError> {
        let whole = bytes.len();
        let Some((from, last)) = asked else {
            return Ok(Self { bytes, from: 0, whole });
        };
        let end = last.map_or(whole, |last| last.saturating_add(1).min(whole));
        if from >= end {
            return Err(ApiError::BehindTheEnd(whole));
        }
        bytes.truncate(end);
        Ok(Self { bytes: bytes.split_off(from), from, whole })
    }

    fn response(self, is_part: bool) -> Response {
        let Self { bytes, from, whole } = self;
        let kept = [
            (header::CONTENT_TYPE, TEXT),
            (header::ACCEPT_RANGES, "bytes"),
            // A browser never takes it for a script.
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        match is_part {
            false => (kept, bytes).into_response(),
            true => {
                let last = from + bytes.len().saturating_sub(1);
                let range = [(header::CONTENT_RANGE, format!("bytes {from}-{last}/{whole}"))];
                (StatusCode::PARTIAL_CONTENT, kept, range, bytes).into_response()
            }
        }
    }
}

/// Reads `Range: bytes=FROM-` and `bytes=FROM-LAST`.
fn range(headers: &HeaderMap) -> Option<(usize, Option<usize>)> {
    let text = headers.get(header::RANGE)?.to_str().ok()?.strip_prefix("bytes=")?;
    let (from, last) = text.split_once('-')?;
    let from = from.parse().ok()?;
    let last = match last {
        "" => None,
        last => Some(last.parse().ok()?),
    };
    // Other forms are no ranges (RFC 9110).
    last.is_none_or(|last| last >= from).then_some((from, last))
}

/// Returns a value of the body of the event at a point: a text as it is, other values as JSON.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/value",
    operation_id = "value",
    tag = "points",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        ValueQuery,
        ("Range" = Option<String>, Header, description = "`bytes=FROM-LAST` or `bytes=FROM-`"),
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (
            status = 200,
            content((String = "text/plain")),
            headers(("ETag" = String, description = "By the hash after the event")),
        ),
        (status = 206, description = "The range", content((String = "text/plain"))),
        (status = 304, description = "It is known"),
        ReadProblems,
        (status = 416, description = "The range is behind the end of the value"),
    ),
)]
async fn value(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    headers: HeaderMap,
    PathName(address): PathName,
    Query(query): Query<ValueQuery>,
) -> Result<Response, ApiError> {
    let asked = range(&headers);
    // A long event takes several times its length while it is read.
    let found = app.long_view(&caller, move |view| {
        let point = view.point(&address)?;
        // Read before the event: an event erased in between must not get the old tag.
        let erased = view.erased(&point)?;
        let (event, hash) = view.event(&point)?;
        let pointer = blake3::hash(query.pointer.as_bytes()).to_hex();
        let tag = named_tag(&point, Tag::new(hash)).and(pointer).erased(erased);
        Tagged::unless(&known, tag, || bytes_at(event.body.as_ref(), &query.pointer))
    });
    Ok(match found.await? {
        Tagged::New(tag, bytes) => {
            let answer = Piece::of(bytes, asked)?.response(asked.is_some());
            Tagged::New(tag, answer).into_response()
        }
        Tagged::Same(tag) => Tagged::<Response>::Same(tag).into_response(),
    })
}

/// Returns the bytes of a value of a body.
fn bytes_at(body: Option<&Body>, pointer: &str) -> Result<Vec<u8>, ApiError> {
    let nothing = || ApiError::NotFound(format!("the event has nothing at `{pointer}`"));
    let body = body.ok_or_else(|| ApiError::NotFound("the body of the event was erased".into()))?;
    let mut body = text_value(&body.to_json()?)?;
    match body.pointer_mut(pointer).map(Value::take).ok_or_else(nothing)? {
        Value::String(text) => Ok(text.into_bytes()),
        other => Ok(other.to_string().into_bytes()),
    }
}
