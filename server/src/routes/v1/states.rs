//! States at a point, their parts and differences.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use milepost::state::{Changes, to_patch};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::budget::Shares;
use crate::cors::vary;
use crate::error::ApiError;
use crate::etag::{Known, Tagged};
use crate::extract::{Nothing, PathName, Query};
use crate::forms::{ChangesForm, StateOrPart};
use crate::negotiate::{JSON, JSON_PATCH, choose};
use crate::request_scope::RequestId;
use crate::state_text::{Pointer, StateText};
use crate::states;
use crate::stream_body;
use milepost_api::ReadProblems;
use milepost_service::Seen;
use milepost_service::{CHANGES, forms};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(state)).routes(routes!(encoded)).routes(routes!(diff))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StateQuery {
    /// Only this part, as a JSON pointer (RFC 6901): `/variables/score`.
    pointer: Option<String>,
    /// Only this many of the last messages and pieces of guidance: 0 to 1,000. Default: all.
    /// Ignored with `pointer`.
    #[param(maximum = 1000)]
    messages: Option<u64>,
}

/// The largest encoded state that is answered, in bytes.
const ENCODED_MAX: usize = 64 << 20;

/// The maximum of `messages`.
const MESSAGES_MAX: u64 = 1000;

/// Checks the number of last messages.
pub(super) fn check_messages(messages: Option<u64>) -> Result<(), ApiError> {
    match messages {
        Some(count) if count > MESSAGES_MAX => {
            Err(ApiError::Invalid(format!("messages is 0 to {MESSAGES_MAX}")))
        }
        _ => Ok(()),
    }
}

/// Returns the state of a run before the event at a point, or a part of it.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/state",
    operation_id = "state",
    tag = "points",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        StateQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (
            status = 200,
            body = StateOrPart,
            headers(("ETag" = String, description = "By the hash there")),
        ),
        (status = 304, description = "It is known"),
        ReadProblems,
        (status = 413, description = "A part of it is too large to be answered whole"),
        (status = 503, description = "States that are looked at hold all bytes that they may"),
    ),
)]
async fn state(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    id: RequestId,
    PathName(address): PathName,
    Query(query): Query<StateQuery>,
) -> Result<Response, ApiError> {
    let pointer = query.pointer.as_deref().map(str::parse::<Pointer>);
    let pointer = pointer.transpose()?;
    let messages = query.messages;
    check_messages(messages)?;
    let found = app.view(&caller, move |view| {
        let seen = Seen::at(view, &address)?;
        // Read before the state: an event erased in between must not get the old tag.
        let tag = seen.tag.clone().erased(view.erased(&seen.point)?);
        let tag = match messages {
            Some(count) => tag.and(count),
            None => tag,
        };
        Tagged::unless(&known, tag, || Ok((seen.form(), seen.point)))
    });
    let text = match found.await? {
        Tagged::Same(tag) => Tagged::Same(tag),
        Tagged::New(tag, (form, point)) => {
            let state = states::at(&app, &caller, point).await?;
            let text = app.work(move |engine| {
                let chunks = engine.chunks();
                let text = match (messages, &pointer) {
                    (Some(count), None) => StateText::with_last(&form, state, count, chunks),
                    _ => StateText::of(&form, state, pointer.as_ref(), chunks),
                };
                Ok(text?.cancelled_by(engine.cancel()))
            });
            Tagged::New(tag, text.await?)
        }
    };
    stream_body::tagged(&app, &caller, id, JSON, text).await
}

/// Returns the state before the event at a point, folded by a reducer that the program registers,
/// in the encoding of the reducer.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/encoded/{reducer}",
    operation_id = "encoded_state",
    tag = "points",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        ("reducer" = String, Path, description = "The name of the reducer: `langgraph.thread`"),
    ),
    responses(
        (status = 200, content((Vec<u8> = "application/octet-stream"))),
        ReadProblems,
        (status = 413, description = "It is larger than an answer may be"),
    ),
)]
async fn encoded(
    State(app): State<App>,
    caller: Caller,
    PathName((address, reducer)): PathName<(String, String)>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, ApiError> {
    let bytes = app.long_view(&caller, move |view| {
        let point = view.point(&address)?;
        Ok(view.encoded_state(&reducer, &point)?)
    });
    let bytes = bytes.await?;
    if bytes.len() > ENCODED_MAX {
        let text = "the state is larger than 64 MiB: open the store in a program of your own";
        return Err(ApiError::TooMuch(text));
    }
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

/// Returns the differences from the state at one point to the state at another.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/diff/{other}",
    operation_id = "diff",
    tag = "points",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        ("other" = String, Path, description = "Another, of any task that one may see"),
        ("Accept" = Option<String>, Header, description = "`application/json-patch+json`: as RFC \
            6902"),
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (
            status = 200,
            content(
                (ChangesForm = "application/json"),
                (Vec<Object> = "application/json-patch+json"),
            ),
            headers(("ETag" = String, description = "By the hashes there")),
        ),
        (status = 304, description = "It is known"),
        ReadProblems,
        (status = 406),
        (status = 413, description = "A patch would be too large"),
    ),
)]
async fn diff(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    headers: HeaderMap,
    Extension(shares): Extension<Shares>,
    PathName((before, after)): PathName<(String, String)>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, ApiError> {
    let kind = choose(&headers, &[JSON, JSON_PATCH])?;
    let is_patch = kind == JSON_PATCH;
    let found = app.view(&caller, move |view| {
        let (before, after) = (Seen::at(view, &before)?, Seen::at(view, &after)?);
        let erased = (view.erased(&before.point)?, view.erased(&after.point)?);
        let tag = before.tag.erased(erased.0).and(after.hash).erased(erased.1);
        let tag = tag.and(if is_patch { "patch" } else { "json" });
        Tagged::unless(&known, tag, || Ok([before.point, after.point]))
    });
    let text = match found.await? {
        Tagged::Same(tag) => Tagged::Same(tag),
        Tagged::New(tag, points) => {
            let states = states::two(&app, &shares, &caller, points).await?;
            let changes =
                app.long_view(&caller, move |view| text(view.changes(&states, CHANGES)?, is_patch));
            Tagged::New(tag, changes.await?)
        }
    };
    let answer = text.map(|text| ([(header::CONTENT_TYPE, kind)], text));
    let mut response = answer.into_response();
    vary(response.headers_mut(), &header::ACCEPT);
    Ok(response)
}

/// Serializes changes. A partial patch would be useless; a partial list of changes may suffice.
fn text(changes: Changes, is_patch: bool) -> Result<Vec<u8>, ApiError> {
    let text = match (is_patch, changes.more) {
        (true, true) => return Err(ApiError::TooMuch(PATCH)),
        (true, false) => serde_json::to_vec(&to_patch(&changes.items)),
        (false, _) => serde_json::to_vec(&forms::changes(changes)),
    };
    text.map_err(|_| ApiError::Bug)
}

const PATCH: &str = "the patch would have more than 10,000 changes or 16 MiB: ask for \
    `application/json`, which has the first of them, or read both states, `?pointer=` by \
    `?pointer=`";
