//! Routes of operations that are values.

use axum::Json;
use axum::extract::{FromRequest as _, FromRequestParts as _, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter};
use milepost_api::{Call, Described, Effect, Method, RequestBody};
use milepost_service::{Error, Serve, ServeTagged, Tag, View};
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
    route_with::<C>(untagged)
}

/// Returns the route of a read whose answer has a tag, with its description.
pub(crate) fn tagged_route<C: ServeTagged + Described>() -> UtoipaMethodRouter<App> {
    route_with::<C>(tagged)
}

/// Performs an operation, unless the client has its answer.
type Find<C> =
    fn(C, &View<'_>, Option<&WriteContext>, &Known) -> Result<Found<<C as Call>::Answer>, ApiError>;

fn route_with<C: Serve + Described>(find: Find<C>) -> UtoipaMethodRouter<App> {
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
    let handler = move |State(app): State<App>, request| handle(app, request, find);
    (schemas, paths, MethodRouter::new().on(filter, handler))
}

/// Performs an operation: the caller, the names of the path, the query and the body, in this order.
async fn handle<C: Serve>(app: App, request: Request, find: Find<C>) -> Result<Response, ApiError> {
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

fn untagged<C: Serve>(
    call: C,
    view: &View<'_>,
    context: Option<&WriteContext>,
    _: &Known,
) -> Result<Found<C::Answer>, ApiError> {
    let answer = match context {
        None => call.serve(view)?,
        Some(context) => {
            call.serve(&view.under(context.conditions())).map_err(|error| match error {
                Error::Engine(error) => refused(error),
                other => other.into(),
            })?
        }
    };
    Ok(Found::New(None, answer))
}

fn tagged<C: ServeTagged>(
    call: C,
    view: &View<'_>,
    _: Option<&WriteContext>,
    known: &Known,
) -> Result<Found<C::Answer>, ApiError> {
    let (tag, seen) = call.see(view)?;
    if known.has(&tag) {
        return Ok(Found::Known(tag));
    }
    let answer = call.answer(view, seen)?;
    let tag = Some(tag).filter(|_| call.is_complete(&answer));
    Ok(Found::New(tag, answer))
}
