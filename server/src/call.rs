//! Routes of operations that are values.

use axum::Json;
use axum::extract::{FromRequest as _, FromRequestParts as _, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter};
use milepost_api::{Described, Effect, Method, RequestBody};
use milepost_service::{Error, Serve, Tag, View};
use utoipa::openapi::path::Paths;
use utoipa::{__dev::SchemaReferences as _, __dev::Tags as _, Path as _};
use utoipa_axum::router::UtoipaMethodRouter;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{self, Known};
use crate::extract::{OptionalJson, PathName, Query, Required};
use crate::write_context::{WriteContext, refused};

/// Returns the route of an operation, with its description.
pub(crate) fn route<C: Serve + Described>() -> UtoipaMethodRouter<App> {
    let (mut paths, mut schemas) = (Paths::new(), Vec::new());
    C::Path::schemas(&mut schemas);
    let mut operation = C::Path::operation();
    operation.tags = Some(C::Path::tags().into_iter().map(str::to_owned).collect());
    paths.add_path_operation(C::Path::path(), C::Path::methods(), operation);
    let filter = match C::METHOD {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Delete => MethodFilter::DELETE,
    };
    (schemas, paths, MethodRouter::new().on(filter, handle::<C>))
}

/// Performs an operation: the caller, the names of the path, the query and the body, in this order.
async fn handle<C: Serve>(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let context = match C::EFFECT {
        Effect::Read => None,
        Effect::Change | Effect::Conditional => {
            Some(WriteContext::from_request_parts(&mut parts, &app).await?)
        }
    };
    let caller = match &context {
        Some(context) => context.caller.clone(),
        None => Caller::from_request_parts(&mut parts, &app).await?,
    };
    let known = Known::from_request_parts(&mut parts, &app).await?;
    let PathName(names) =
        PathName::<Vec<(String, String)>>::from_request_parts(&mut parts, &app).await?;
    let Query(query) = Query::<C::Query>::from_request_parts(&mut parts, &app).await?;
    let body = match C::BODY {
        RequestBody::Empty => None,
        RequestBody::Optional => {
            OptionalJson::from_request(Request::from_parts(parts, body), &app).await?.0
        }
        RequestBody::Required => {
            Some(Required::from_request(Request::from_parts(parts, body), &app).await?.0)
        }
    };
    let context = match (C::EFFECT, context) {
        (Effect::Change, Some(context)) => context.unconditional().map(|_| None)?,
        (_, context) => context,
    };
    let name = |name: &str| names.iter().find(|(of, _)| of == name).map(|(_, it)| it.clone());
    let call = C::from_parts(name, query, body).ok_or(ApiError::Bug)?;
    let find = move |view: &View<'_>| find(call, view, context.as_ref(), &known);
    let found = match C::IS_LONG {
        true => app.long_view(&caller, find).await?,
        false => app.view(&caller, find).await?,
    };
    let (tag, mut answer) = match found {
        Found::Known(tag) => (Some(tag), StatusCode::NOT_MODIFIED.into_response()),
        Found::New(tag, answer) => {
            let status = StatusCode::from_u16(C::STATUS).map_err(|_| ApiError::Bug)?;
            let answer = match status {
                StatusCode::NO_CONTENT => status.into_response(),
                _ => (status, Json(answer)).into_response(),
            };
            (tag, answer)
        }
    };
    tag.iter().for_each(|tag| etag::put(tag, answer.headers_mut()));
    Ok(answer)
}

/// The outcome of an operation.
enum Found<T> {
    /// The client has the answer with this tag.
    Known(Tag),
    /// The answer, and its tag if it has one.
    New(Option<Tag>, T),
}

/// Performs an operation, unless the client has its answer.
fn find<C: Serve>(
    call: C,
    view: &View<'_>,
    context: Option<&WriteContext>,
    known: &Known,
) -> Result<Found<C::Answer>, ApiError> {
    if let Some(context) = context {
        let done = context.during(|| call.serve(view));
        return done.map(|answer| Found::New(None, answer)).map_err(|error| match error {
            Error::Engine(error) => refused(error),
            other => other.into(),
        });
    }
    let Some(tag) = call.tag(view)? else {
        return Ok(Found::New(None, call.serve(view)?));
    };
    if known.has(&tag) {
        return Ok(Found::Known(tag));
    }
    let answer = call.clone().serve(view)?;
    let tag = Some(tag).filter(|_| call.is_complete(&answer));
    Ok(Found::New(tag, answer))
}
