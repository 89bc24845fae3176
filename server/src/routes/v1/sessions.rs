//! Sessions of browsers.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use milepost_api::{SessionForm, SessionRequest, micros};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::OptionalJson;
use crate::sessions::Basis;

pub(in crate::routes) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(start)).routes(routes!(end))
}

/// Starts a session of the request's token, or of a code.
#[utoipa::path(
    post,
    path = "/v1/sessions",
    operation_id = "start_session",
    tag = "store",
    request_body = Option<SessionRequest>,
    responses(
        (status = 201, body = SessionForm),
        (status = 400),
        (status = 401),
        (status = 413),
        (status = 415),
        (status = 503),
    ),
)]
async fn start(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    asked: Result<OptionalJson<SessionRequest>, ApiError>,
) -> Result<impl IntoResponse, ApiError> {
    let now_us = app.now_us();
    let OptionalJson(asked) = match asked {
        // An invalid code is answered like a wrong one.
        Err(ApiError::Invalid(_) | ApiError::MediaType(_)) if caller.is_none() => {
            return Err(ApiError::Unauthorized);
        }
        asked => asked?,
    };
    let (basis, caller) = match (asked.code, caller) {
        (Some(code), _) if app.sessions.take_code(&code, now_us) => (Basis::Code, Caller::local()),
        (Some(_), _) | (None, None) => return Err(ApiError::Unauthorized),
        (None, Some(Extension(caller))) if caller.session.is_some() => {
            let text = "a session starts no other: send the token, or a code";
            return Err(ApiError::Forbidden(text));
        }
        (None, Some(Extension(caller))) => {
            (caller.token.clone().map_or(Basis::Open, Basis::Token), caller)
        }
    };
    let (session, expires_us) = app.sessions.start(basis, caller.expires_us, now_us)?;
    let form = SessionForm {
        session,
        expires: micros(expires_us),
        user: caller.user.to_string(),
        admin: caller.is_admin("").is_ok(),
    };
    let unkept = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((StatusCode::CREATED, unkept, Json(form)))
}

/// Ends the session of the request.
#[utoipa::path(
    delete,
    path = "/v1/sessions/current",
    operation_id = "end_session",
    tag = "store",
    responses(
        (status = 204, description = "It has ended"),
        (status = 401),
        (status = 404, description = "The request has a token, and no session"),
    ),
)]
async fn end(State(app): State<App>, caller: Caller) -> Result<StatusCode, ApiError> {
    let none = || ApiError::NotFound("the request has no session".into());
    app.sessions.end(&caller.session.ok_or_else(none)?);
    Ok(StatusCode::NO_CONTENT)
}
