//! Points: resolved addresses and their events.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use milepost::state::text_value;
use milepost_api::{ReadProblems, cut_texts};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{Known, Tagged};
use crate::extract::{PathName, Query};
use crate::forms::EventAt;
use crate::negotiate::JSON;
use milepost_service::Tag;
use milepost_service::{forms, named_tag};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(event))
}

/// The least number of bytes to which texts of an event are cut.
const CUT_MIN: usize = 256;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventQuery {
    /// Cuts texts of the body that are longer than this many bytes: each is an object with `cut`,
    /// its beginning, `bytes`, the length of the whole, and `pointer`, its place in the body. At
    /// least 256.
    #[param(minimum = 256)]
    cut: Option<usize>,
}

/// Returns the event at a point.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/event",
    operation_id = "event",
    tag = "points",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        EventQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = EventAt, headers(("ETag" = String, description = "By the hash behind \
            it"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn event(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    PathName(address): PathName,
    Query(query): Query<EventQuery>,
) -> Result<Response, ApiError> {
    check_cut(query.cut)?;
    // A long event takes several times its length while it is read.
    app.long_view(&caller, move |view| {
        let point = view.point(&address)?;
        // Read before the event: an event erased in between must not get the old tag.
        let erased = view.erased(&point)?;
        let (event, hash) = view.event(&point)?;
        let tag = named_tag(&point, Tag::new(hash)).erased(erased);
        let tag = match query.cut {
            Some(most) => tag.and(most),
            None => tag,
        };
        Tagged::unless(&known, tag, || {
            let event = forms::event_at(point, event, hash);
            let text = match query.cut {
                Some(most) => serde_json::to_vec(&cut_event(&event, most)?),
                None => serde_json::to_vec(&event),
            };
            Ok(([(header::CONTENT_TYPE, JSON)], text.map_err(|_| ApiError::Bug)?))
        })
    })
    .await
    .map(IntoResponse::into_response)
}

/// Checks the number of bytes to which texts are cut.
pub(super) fn check_cut(cut: Option<usize>) -> Result<(), ApiError> {
    match cut.filter(|cut| *cut < CUT_MIN) {
        Some(cut) => Err(ApiError::Invalid(format!("cut is {CUT_MIN} or more, not {cut}"))),
        None => Ok(()),
    }
}

/// Returns the form of an event as JSON, with long texts of its body cut.
pub(super) fn cut_event(event: &impl Serialize, most: usize) -> Result<Value, ApiError> {
    let text = serde_json::to_string(event).map_err(|_| ApiError::Bug)?;
    let mut event = text_value(&text)?;
    if let Some(body) = event.get_mut("body") {
        cut_texts(body, most);
    }
    Ok(event)
}
