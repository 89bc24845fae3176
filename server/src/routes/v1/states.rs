//! The state at a point, or a part of it, and what is different elsewhere.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use milepost::{Change, diff_states, to_patch};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::points::Seen;
use crate::accept::{JSON, JSON_PATCH, choose};
use crate::around::RequestId;
use crate::forms::{PartForm, Problem, StateForm};
use crate::input::{Given, Named, NamedTwo, Nothing};
use crate::server::App;
use crate::state_text::{Pointer, StateText};
use crate::streamed;
use crate::tag::{Known, Tagged};
use crate::view::View;
use crate::who::Who;
use crate::wrong::Wrong;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(state))
        .routes(routes!(diff))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StateQuery {
    /// Only what is at this place, as a JSON pointer (RFC 6901): `/variables/score`.
    pointer: Option<String>,
}

/// The state of a run before the event at a point, or a part of it.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/state",
    tag = "points",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        StateQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (
            status = 200,
            content((StateForm = "application/json"), (PartForm = "application/json")),
            headers(("ETag" = String, description = "By the hash there")),
        ),
        (status = 304, description = "It is known"),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn state(
    State(app): State<App>,
    who: Who,
    known: Known,
    id: RequestId,
    Named(address): Named,
    Given(query): Given<StateQuery>,
) -> Result<Response, Wrong> {
    let pointer = query.pointer.as_deref().map(str::parse::<Pointer>);
    let pointer = pointer.transpose()?;
    let found = app.work(move |engine| {
        let view = View::of(engine, &who);
        let seen = Seen::at(&view, &address)?;
        // Before the state is read: what is erased meanwhile is not under the tag of what it was.
        let tag = seen.tag.clone().erased(view.erased(&seen.point)?);
        Tagged::unless(&known, tag, || {
            let state = view.run_state(&seen.point)?;
            StateText::of(&seen.form(), state, pointer.as_ref(), view.chunks())
        })
    });
    let answer = match found.await? {
        Tagged::Same(tag) => Tagged::Same(tag),
        Tagged::New(tag, text) => {
            let body = streamed::body(&app, id, text).await?;
            Tagged::New(tag, ([(header::CONTENT_TYPE, JSON)], body))
        }
    };
    Ok(answer.into_response())
}

/// One change of a state, as `milepost diff --json` prints it.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the engine's type is answered; this says what it is"
)]
struct ChangeForm {
    /// The place, as a JSON pointer (RFC 6901).
    path: String,
    /// `add`, `remove` or `replace`.
    kind: String,
    /// The value before; absent where the place was not there.
    before: Option<serde_json::Value>,
    /// The value after; absent where the place is gone.
    after: Option<serde_json::Value>,
}

/// What is different between the states of two points, from the first to the other.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/diff/{other}",
    tag = "points",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        ("other" = String, Path, description = "Another, of any task that one may see"),
        ("Accept" = Option<String>, Header, description = "`application/json-patch+json`: as RFC 6902"),
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (
            status = 200,
            content((Vec<ChangeForm> = "application/json"), (Vec<Object> = "application/json-patch+json")),
            headers(("ETag" = String, description = "By the hashes there")),
        ),
        (status = 304, description = "It is known"),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 406, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn diff(
    State(app): State<App>,
    who: Who,
    known: Known,
    headers: HeaderMap,
    NamedTwo(before, after): NamedTwo,
    Given(Nothing {}): Given<Nothing>,
) -> Result<Response, Wrong> {
    let kind = choose(&headers, &[JSON, JSON_PATCH])?;
    let is_patch = kind == JSON_PATCH;
    let found = app.work(move |engine| {
        let view = View::of(engine, &who);
        let (before, after) = (Seen::at(&view, &before)?, Seen::at(&view, &after)?);
        let erased = (view.erased(&before.point)?, view.erased(&after.point)?);
        let tag = before.tag.erased(erased.0).and(after.hash).erased(erased.1);
        let tag = tag.and(if is_patch { "patch" } else { "json" });
        Tagged::unless(&known, tag, || {
            let states = (
                view.run_state(&before.point)?,
                view.run_state(&after.point)?,
            );
            let changes = diff_states(&states.0, &states.1, view.chunks().as_ref())?;
            text(&changes, is_patch).map_err(|_| Wrong::Bug)
        })
    });
    let text = found.await?;
    let answer = text.map(|text| ([(header::CONTENT_TYPE, kind)], text));
    let mut response = answer.into_response();
    let vary = HeaderValue::from_static("accept");
    response.headers_mut().insert(header::VARY, vary);
    Ok(response)
}

fn text(changes: &[Change], is_patch: bool) -> serde_json::Result<Vec<u8>> {
    match is_patch {
        true => serde_json::to_vec(&to_patch(changes)),
        false => serde_json::to_vec(changes),
    }
}
