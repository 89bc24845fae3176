//! Routes of operations that are values.

use axum::Json;
use axum::extract::{FromRequest as _, FromRequestParts as _, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter};
use milepost_api::{Described, Effect, Method, RequestBody};
use milepost_service::{Error, Serve, View};
use utoipa::openapi::path::Paths;
use utoipa::{__dev::SchemaReferences as _, __dev::Tags as _, Path as _};
use utoipa_axum::router::UtoipaMethodRouter;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
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
    let serve = move |view: &View<'_>| match context {
        None => Ok(call.serve(view)?),
        Some(context) => context.during(|| call.serve(view)).map_err(|error| match error {
            Error::Engine(error) => refused(error),
            other => other.into(),
        }),
    };
    let answer = match C::IS_LONG {
        true => app.long_view(&caller, serve).await?,
        false => app.view(&caller, serve).await?,
    };
    let status = StatusCode::from_u16(C::STATUS).map_err(|_| ApiError::Bug)?;
    Ok(match status {
        StatusCode::NO_CONTENT => status.into_response(),
        _ => (status, Json(answer)).into_response(),
    })
}
