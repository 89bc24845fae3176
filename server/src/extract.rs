//! Extractors of requests, with limits and error texts.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{self, FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use http_body_util::BodyExt as _;
use milepost_api::RequestBody;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::app::App;
use crate::auth::Caller;
use crate::budget::Shares;
use crate::decompress::Unpacking;
use crate::error::ApiError;
use crate::request_scope::Since;

/// The maximum length in bytes of a body that is parsed inline and that no budget counts.
pub(crate) const SMALL: usize = 64 << 10;

/// Memory for each byte of a long body while it is parsed and its request handled.
const PARSED: usize = 8;

/// The time limit of a whole body: this many times that of a piece, and one more second for each
/// `RATE` bytes.
const WHOLE: u32 = 4;
const RATE: usize = 16 << 10;

/// The query of the URL.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        query(&parts.uri).map(Self)
    }
}

/// Parses the query of the URL.
pub(crate) fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, ApiError> {
    match extract::Query::<T>::try_from_uri(uri) {
        Ok(extract::Query(given)) => Ok(given),
        Err(wrong) => Err(ApiError::Invalid(query_reason(&wrong.body_text()))),
    }
}

/// Returns what is wrong in a query, without the words of the library that parses it.
fn query_reason(text: &str) -> String {
    let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(text);
    match text.split_once(": ") {
        Some((name, why)) if !name.contains(' ') => {
            let why = match why {
                "invalid digit found in string" => "a whole number is expected",
                why => why,
            };
            format!("`{name}`: {why}")
        }
        _ => text.to_owned(),
    }
}

/// The names of the path: one, or a tuple of several.
pub(crate) struct PathName<T = String>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathName<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(names)) => Ok(Self(names)),
            Err(wrong) => Err(ApiError::Invalid(wrong.body_text())),
        }
    }
}

/// A query that must be empty.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// An optional JSON body; an empty body gives the default.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Default + Send + 'static> FromRequest<App> for OptionalJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        match json_body(request, app, RequestBody::Optional).await? {
            Some((bytes, shares)) => parsed(app, &shares, bytes).await.map(Self),
            None => Ok(Self(T::default())),
        }
    }
}

/// A required JSON body: an object.
pub(crate) struct Required<T>(pub(crate) T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for Required<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let body = json_body(request, app, RequestBody::Required).await?;
        let (bytes, shares) = body.ok_or(ApiError::Bug)?;
        parsed(app, &shares, bytes).await.map(Self)
    }
}

/// Reads a body that has the media type of JSON. Returns `None` if it is optional and empty, or if
/// there is none.
pub(crate) async fn json_body(
    request: Request,
    app: &App,
    expected: RequestBody,
) -> Result<Option<(Bytes, Shares)>, ApiError> {
    let is_json = is_json(request.headers());
    match expected {
        RequestBody::Empty => return Ok(None),
        RequestBody::Required if !is_json => return Err(ApiError::MediaType("application/json")),
        RequestBody::Optional | RequestBody::Required => {}
    }
    let (bytes, shares) = bytes(request, app).await?;
    if expected == RequestBody::Optional && bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    match is_json {
        true => Ok(Some((bytes, shares))),
        false => Err(ApiError::MediaType("application/json")),
    }
}

/// Parses a short object inline, a longer one on a blocking thread.
pub(crate) async fn parsed<T: DeserializeOwned + Send + 'static>(
    app: &App,
    shares: &Shares,
    bytes: Bytes,
) -> Result<T, ApiError> {
    if bytes.len() <= SMALL {
        return object(&bytes).map_err(ApiError::Invalid);
    }
    to_parse(app, shares, bytes.len()).await?;
    app.long_work(shares.token(), move |_| object(&bytes).map_err(ApiError::Invalid)).await
}

/// Waits until a body may be parsed; a short one may be parsed at once.
pub(crate) async fn to_parse(app: &App, shares: &Shares, bytes: usize) -> Result<(), ApiError> {
    if bytes > SMALL {
        let parsing = app.part(shares.token(), &app.budgets.parsing);
        let share = parsing.take(bytes.saturating_mul(PARSED), app.patience());
        shares.hold(share.await?);
    }
    Ok(())
}

/// Parses a JSON object, or returns the reason for a failure.
pub(crate) fn object<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    // Serde would also accept an array for a structure.
    match bytes.trim_ascii_start().first() {
        Some(b'{') => serde_json::from_slice(bytes)
            .map_err(|e| format!("the body is not as it should be: {e}")),
        Some(_) => Err("the body is not as it should be: it is no JSON object".into()),
        None => Err("the body is not as it should be: it is empty".into()),
    }
}

/// Returns the whole decompressed body within the limit, and the shares of its request.
pub(crate) async fn bytes(request: Request, app: &App) -> Result<(Bytes, Shares), ApiError> {
    let most = app.options.body;
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said: Option<usize> = said.and_then(|said| said.to_str().ok()?.parse().ok());
    if said.is_some_and(|said| said > most) {
        return Err(ApiError::TooLarge(most));
    }
    let mut unpacking = Unpacking::of(request.headers(), most)?;
    // The time of the upload does not count toward the request timeout.
    let since = request.extensions().get::<Since>();
    let _still = since.map(Since::stand_still);
    let shares = request.extensions().get::<Shares>().cloned().ok_or(ApiError::Bug)?;
    let caller = request.extensions().get::<Caller>().cloned();
    let bodies = app.part(shares.token(), &app.budgets.bodies);
    let mut room = SMALL;
    if let Some(said) = said.filter(|said| *said > SMALL) {
        shares.hold(bodies.take(said, app.patience()).await?);
        room = said;
    }
    let mut body = request.into_body();
    let mut came = 0_usize;
    let pace = Pace::begin(app.options.read_timeout);
    while let Some(piece) = next_piece(&mut body, pace.left(came)).await? {
        // Limits the compressed length as well, for input that decompresses to nothing.
        came = came.saturating_add(piece.len());
        if came > most {
            return Err(ApiError::TooLarge(most));
        }
        unpacking = match unpacking.is_quick() {
            true => unpacking.take(&piece)?,
            false => app.work(move |_| unpacking.take(&piece)).await?,
        };
        let held = unpacking.held();
        if held > room {
            // A request that holds a share must not wait for another: two could wait for each
            // other.
            shares.hold(bodies.now(held.saturating_sub(room))?);
            room = held;
        }
    }
    let bytes = unpacking.all()?;
    if let Some(caller) = &caller {
        within_quota(app, caller, bytes.len()).await?;
    }
    Ok((bytes, shares))
}

/// Checks that a token may send this many more bytes.
async fn within_quota(app: &App, caller: &Caller, bytes: usize) -> Result<(), ApiError> {
    let (Some(token), Some(most)) = (&caller.token, caller.limits.bytes) else {
        return Ok(());
    };
    let stored = match app.quotas.knows(token) {
        true => 0,
        false => {
            let user = Arc::clone(&caller.user);
            let stats =
                app.long_work(token, move |engine| Ok(engine.query().task_stats(Some(&user))?));
            stats.await?.iter().map(|task| task.bytes).sum()
        }
    };
    match app.quotas.bytes(token, stored, bytes as u64, most) {
        true => Ok(()),
        false => Err(ApiError::Forbidden(
            "the token's bytes are used up: a cleanup gives none back before the service starts \
             anew",
        )),
    }
}

/// The minimum rate of a body.
struct Pace {
    begun: Instant,
    between: Duration,
}

impl Pace {
    fn begin(between: Duration) -> Self {
        Self { begun: Instant::now(), between }
    }

    /// Returns the time limit of the next piece.
    fn left(&self, came: usize) -> Duration {
        let more = Duration::from_secs((came / RATE) as u64);
        let all = self.between.saturating_mul(WHOLE).saturating_add(more);
        all.saturating_sub(self.begun.elapsed()).min(self.between)
    }
}

/// Returns the next piece of a body; `None` at its end. Fails if the client stalls.
async fn next_piece(body: &mut Body, at_most: Duration) -> Result<Option<Bytes>, ApiError> {
    let frame = tokio::time::timeout(at_most, body.frame()).await;
    match frame.map_err(|_| ApiError::BodyTimeout)? {
        // Frames without data are trailers.
        Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        Some(Err(_)) => Err(ApiError::Invalid("the body ended before its end".into())),
        None => Ok(None),
    }
}

/// Returns true if the content type is JSON or missing.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = media_type(headers);
    kind.is_none_or(|kind| kind == "application/json" || kind.ends_with("+json"))
}

/// Returns the media type of a body in lower case, without parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(header::CONTENT_TYPE)?;
    let kind = kind.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    Some(kind.to_ascii_lowercase())
}
