//! Routes of operations that are values.

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts as _, Request, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter};
use milepost_api::{Call, Described, Effect, Method};
use milepost_service::{Error, Serve, ServeTagged, Tag, View};
use utoipa::openapi::path::Paths;
use utoipa::{__dev::SchemaReferences as _, __dev::Tags as _, Path as _};
use utoipa_axum::router::UtoipaMethodRouter;

use crate::app::{App, Slot};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{self, Known};
use crate::extract::{PathName, json_body, parsed, query};
use crate::forms::location;
use crate::write_context::{WriteContext, refused};

/// Returns the route of an operation, with its description.
pub(crate) fn route<C: Serve + Described>() -> UtoipaMethodRouter<App> {
    own_route::<C, _, _>(async |State(app): State<App>, requested: OperationRequest<C>| {
        answered(&app, requested).await
    })
}

/// Returns the route of a read whose answer has a tag, with its description.
pub(crate) fn tagged_route<C: ServeTagged + Described>() -> UtoipaMethodRouter<App> {
    own_route::<C, _, _>(async |State(app): State<App>, requested: OperationRequest<C>| {
        answered_with_tag(&app, requested).await
    })
}

/// Returns the route of an operation that a handler performs, with its description.
pub(crate) fn own_route<C: Described, H: Handler<T, App>, T: 'static>(
    handler: H,
) -> UtoipaMethodRouter<App> {
    let (mut paths, mut schemas) = (Paths::new(), Vec::new());
    C::Path::schemas(&mut schemas);
    let mut operation = C::Path::operation();
    operation.tags = Some(C::Path::tags().into_iter().map(str::to_owned).collect());
    paths.add_path_operation(C::Path::path(), C::Path::methods(), operation);
    let filter = match C::METHOD {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    };
    (schemas, paths, MethodRouter::new().on(filter, handler))
}

/// The caller of an operation: for a change, with its conditions.
pub(crate) enum RequestCaller {
    /// The caller of a read.
    Read(Caller),
    /// The caller of a change.
    Change(WriteContext),
}

impl RequestCaller {
    pub(crate) fn caller(&self) -> &Caller {
        match self {
            Self::Read(caller) => caller,
            Self::Change(context) => &context.caller,
        }
    }
}

/// A request of an operation: the caller, the names of the path, the query and the body, in this
/// order, and then whether the operation takes the conditions.
pub(crate) struct OperationRequest<C> {
    pub(crate) caller: RequestCaller,
    pub(crate) call: C,
    pub(crate) known: Known,
}

/// Caller, tag and names of a request, which are read before its query and its body.
struct RequestHead {
    caller: RequestCaller,
    known: Known,
    /// The names of the path, with what they stand for.
    names: Vec<(String, String)>,
}

async fn head(parts: &mut Parts, app: &App, effect: Effect) -> Result<RequestHead, ApiError> {
    let caller = match effect {
        Effect::Read => RequestCaller::Read(Caller::from_request_parts(parts, app).await?),
        Effect::Change | Effect::Conditional => {
            RequestCaller::Change(WriteContext::from_request_parts(parts, app).await?)
        }
    };
    let known = Known::from_request_parts(parts, app).await?;
    let PathName(names) = PathName::from_request_parts(parts, app).await?;
    Ok(RequestHead { caller, known, names })
}

impl<C: Call> FromRequest<App> for OperationRequest<C> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let RequestHead { caller, known, names } = head(&mut parts, app, C::EFFECT).await?;
        let query = query(&parts.uri)?;
        let body = match json_body(Request::from_parts(parts, body), app, C::BODY).await? {
            Some((bytes, shares)) => Some(parsed(app, &shares, bytes).await?),
            None => None,
        };
        let name = |name: &str| names.iter().find(|(of, _)| of == name).map(|(_, it)| it.clone());
        let call = C::from_parts(name, query, body).ok_or(ApiError::Bug)?;
        let caller = match caller {
            RequestCaller::Change(context) => RequestCaller::Change(context.only(call.takes())?),
            read => read,
        };
        Ok(Self { caller, call, known })
    }
}

/// Performs an operation and answers.
pub(crate) async fn answered<C: Serve>(
    app: &App,
    OperationRequest { caller, call, .. }: OperationRequest<C>,
) -> Result<Response, ApiError> {
    perform(app, caller, call, C::IS_LONG, |call, view, context| untagged(call, view, context))
        .await
}

/// Performs an operation by a closure, and answers.
pub(crate) async fn answered_by<C: Call>(
    app: &App,
    OperationRequest { caller, call, .. }: OperationRequest<C>,
    is_long: bool,
    serve: impl FnOnce(C, &View<'_>) -> Result<C::Answer, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let find = |call, view: &View<'_>, context: Option<&WriteContext>| {
        let answer = match context {
            Some(context) => serve(call, &view.under(context.conditions.clone())),
            None => serve(call, view),
        };
        answer.map(|answer| Found::New(None, answer))
    };
    perform(app, caller, call, is_long, find).await
}

/// Performs a read whose answer has a tag, and answers.
pub(crate) async fn answered_with_tag<C: ServeTagged>(
    app: &App,
    OperationRequest { caller, call, known }: OperationRequest<C>,
) -> Result<Response, ApiError> {
    perform(app, caller, call, C::IS_LONG, move |call, view, _| tagged(call, view, &known)).await
}

async fn perform<C: Call>(
    app: &App,
    caller: RequestCaller,
    call: C,
    is_long: bool,
    find: impl FnOnce(C, &View<'_>, Option<&WriteContext>) -> Result<Found<C::Answer>, ApiError>
    + Send
    + 'static,
) -> Result<Response, ApiError> {
    let of = caller.caller().clone();
    let find = move |view: &View<'_>| match &caller {
        RequestCaller::Change(context) if C::EFFECT == Effect::Conditional => {
            find(call, view, Some(context))
        }
        _ => find(call, view, None),
    };
    let slot = Slot::empty();
    app.run_view(&of, is_long, slot.filled_by_view(find)).await?;
    let found = slot.take()?;
    let (tag, mut response) = match found {
        Found::Known(tag) => (Some(tag), StatusCode::NOT_MODIFIED.into_response()),
        Found::New(tag, answer) => {
            let status = StatusCode::from_u16(C::STATUS).map_err(|_| ApiError::Bug)?;
            let place = C::location(&answer).map(|(path, name)| location(path, &name));
            let mut response = match status {
                StatusCode::NO_CONTENT => status.into_response(),
                _ => (status, Json(answer)).into_response(),
            };
            response.headers_mut().extend(place.map(|place| (header::LOCATION, place)));
            (tag, response)
        }
    };
    tag.iter().for_each(|tag| etag::put(tag, response.headers_mut()));
    Ok(response)
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
) -> Result<Found<C::Answer>, ApiError> {
    let answer = match context {
        None => call.serve(view)?,
        Some(context) => {
            call.serve(&view.under(context.conditions.clone())).map_err(|error| match error {
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
