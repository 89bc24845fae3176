//! What requests bring: read within limits, and refused with a reason.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::around::Since;
use crate::server::App;
use crate::unpacked::Unpacking;
use crate::wrong::Wrong;

/// What stands behind the `?`.
pub(crate) struct Given<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Given<T> {
    type Rejection = Wrong;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Wrong> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(given)) => Ok(Self(given)),
            Err(wrong) => Err(Wrong::Invalid(wrong.body_text())),
        }
    }
}

/// A name in the path.
pub(crate) struct Named(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Wrong;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Wrong> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(wrong) => Err(Wrong::Invalid(wrong.body_text())),
        }
    }
}

/// Two names in the path.
pub(crate) struct NamedTwo(pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for NamedTwo {
    type Rejection = Wrong;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Wrong> {
        match Path::<(String, String)>::from_request_parts(parts, state).await {
            Ok(Path((one, two))) => Ok(Self(one, two)),
            Err(wrong) => Err(Wrong::Invalid(wrong.body_text())),
        }
    }
}

/// Where nothing may stand behind the `?`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// A body of JSON; none at all is what nothing is.
pub(crate) struct Sent<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for Sent<T> {
    type Rejection = Wrong;

    async fn from_request(request: Request, app: &App) -> Result<Self, Wrong> {
        let is_json = is_json(request.headers());
        let bytes = bytes(request, app).await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(T::default()));
        }
        if !is_json {
            return Err(Wrong::MediaType("application/json"));
        }
        object(&bytes).map(Self).map_err(Wrong::Invalid)
    }
}

/// A body of JSON that has to be there: an object.
pub(crate) struct Required<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Required<T> {
    type Rejection = Wrong;

    async fn from_request(request: Request, app: &App) -> Result<Self, Wrong> {
        if !is_json(request.headers()) {
            return Err(Wrong::MediaType("application/json"));
        }
        let bytes = bytes(request, app).await?;
        object(&bytes).map(Self).map_err(Wrong::Invalid)
    }
}

/// Reads a JSON object; else says what is wrong with it.
pub(crate) fn object<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    // Structures are read from arrays, too.
    match bytes.trim_ascii_start().first() {
        Some(b'{') => serde_json::from_slice(bytes)
            .map_err(|e| format!("the body is not as it should be: {e}")),
        Some(_) => Err("the body is not as it should be: it is no JSON object".into()),
        None => Err("the body is not as it should be: it is empty".into()),
    }
}

/// All of a body, unpacked, within the limit.
pub(crate) async fn bytes(request: Request, app: &App) -> Result<Bytes, Wrong> {
    let most = app.options().body;
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said: Option<usize> = said.and_then(|said| said.to_str().ok()?.parse().ok());
    if said.is_some_and(|said| said > most) {
        return Err(Wrong::TooLarge(most));
    }
    let mut unpacking = Unpacking::of(request.headers(), most)?;
    // How long it comes says nothing of how long it takes.
    let since = request.extensions().get::<Since>();
    let _still = since.map(Since::stand_still);
    let mut body = request.into_body();
    let mut came = 0_usize;
    while let Some(piece) = next_piece(&mut body, app.options().read_timeout).await? {
        // What unpacks to nothing has an end, too.
        came = came.saturating_add(piece.len());
        if came > most {
            return Err(Wrong::TooLarge(most));
        }
        unpacking = match unpacking.is_quick() {
            true => unpacking.take(&piece)?,
            false => app.work(move |_| unpacking.take(&piece)).await?,
        };
    }
    unpacking.all()
}

/// The next piece of a body; nothing at its end. Who sends no more keeps nothing here.
async fn next_piece(body: &mut Body, at_most: Duration) -> Result<Option<Bytes>, Wrong> {
    let frame = tokio::time::timeout(at_most, body.frame()).await;
    match frame.map_err(|_| Wrong::Late)? {
        // What is no data stands behind it.
        Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        Some(Err(_)) => Err(Wrong::Invalid("the body ended before its end".into())),
        None => Ok(None),
    }
}

/// Whether a body says that it is JSON. One that says nothing is taken for it.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = media_type(headers);
    kind.is_none_or(|kind| kind == "application/json" || kind.ends_with("+json"))
}

/// What a body says that it is, in small letters and without parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(header::CONTENT_TYPE)?;
    let kind = kind.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    Some(kind.to_ascii_lowercase())
}
