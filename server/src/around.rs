//! What happens around each request: its id, who asks, limits, how an error is written, the log.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{error, info, warn};

use crate::server::App;
use crate::time;
use crate::who::Who;
use crate::wrong::{Family, Wrong};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id of a request that is taken from it.
const ID_MAX: usize = 128;

/// Paths that everybody may ask for.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/openapi.json"];

/// The id of a request: the correlation id of what it appends.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Wrong;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Wrong> {
        parts.extensions.get().cloned().ok_or(Wrong::Bug)
    }
}

/// Ids for requests that bring none: random, and counted on.
#[derive(Debug)]
pub(crate) struct Ids {
    random: String,
    next: AtomicU64,
}

impl Ids {
    pub(crate) fn new() -> milepost::Result<Self> {
        let random = milepost::new_secret()?;
        Ok(Self {
            random: HEXLOWER.encode(random.split_at(8).0),
            next: AtomicU64::new(0),
        })
    }

    fn of(&self, headers: &HeaderMap) -> String {
        let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
        let fits = |id: &&str| {
            let known = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
            (1..=ID_MAX).contains(&id.len()) && id.bytes().all(known)
        };
        match given.filter(fits) {
            Some(id) => id.to_owned(),
            None => format!(
                "{}-{:x}",
                self.random,
                self.next.fetch_add(1, Ordering::Relaxed)
            ),
        }
    }
}

/// Requests under way, by token.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Mutex<HashMap<String, Arc<Semaphore>>>);

impl UnderWay {
    fn one_more(&self, token: &str, most: usize) -> Option<OwnedSemaphorePermit> {
        let mut all = self.0.lock();
        let of = match all.get(token) {
            Some(of) => Arc::clone(of),
            None => {
                let of = Arc::new(Semaphore::new(most));
                all.insert(token.to_owned(), Arc::clone(&of));
                of
            }
        };
        of.try_acquire_owned().ok()
    }
}

pub(crate) async fn around(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = app.ids().of(request.headers());
    let method = request.method().clone();
    let family = Family::of(request.uri().path());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(String::new, |route| route.as_str().to_owned());
    let begun = tokio::time::Instant::now();
    let correlation = RequestId(id.as_str().into());
    request.extensions_mut().insert(correlation);
    let known = known(&app, &request, &id);
    let user = known.as_ref().ok().and_then(Option::as_ref);
    let user = user.map(|who| Arc::clone(&who.user));
    let admitted = known.and_then(|who| Ok((admit(&app, who.as_ref())?, who)));
    let response = match admitted {
        Ok((permit, who)) => {
            if let Some(who) = who {
                request.extensions_mut().insert(who);
            }
            // On a task of its own: what panics ends nothing else, and who hangs up leaves nothing half done.
            let answer = tokio::spawn(async move {
                let _permit = permit;
                next.run(request).await
            });
            let answer = tokio::time::timeout(app.options().request_timeout, answer);
            match answer.await {
                Ok(Ok(response)) => response,
                Ok(Err(panic)) => {
                    bug(&id, panic);
                    Wrong::Bug.into_response()
                }
                Err(_) => Wrong::Timeout.into_response(),
            }
        }
        Err(wrong) => wrong.into_response(),
    };
    let mut response = written(response, family, &id, app.now_us());
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let status = response.status().as_u16();
    app.meters().count(&route, status, begun.elapsed());
    tell(&id, &method, &route, user.as_deref(), &response);
    response
}

/// Says what a panic said.
pub(crate) fn bug(id: &str, panic: tokio::task::JoinError) {
    let said = panic.try_into_panic().ok();
    let text = said.as_ref().and_then(|said| {
        let text = said.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| said.downcast_ref::<&str>().copied())
    });
    error!(target: "milepost::http", request_id = id, panic = text.unwrap_or_default(), "a bug");
}

/// Who asks; nobody where everybody may.
fn known(app: &App, request: &Request, id: &str) -> Result<Option<Who>, Wrong> {
    let path = request.uri().path();
    if OPEN.contains(&path) || path == "/docs" || path.starts_with("/docs/") {
        return Ok(None);
    }
    if is_a_browsers(request.headers()) {
        return Err(Wrong::Forbidden(
            "pages of other origins may not ask: `cors.origins` is not set",
        ));
    }
    let who = match Who::of(app.tokens(), request.headers(), app.now_us())? {
        Ok(who) => who,
        Err(unknown) => {
            let (token, why) = (unknown.token.unwrap_or_default(), unknown.why);
            info!(target: "milepost::http", request_id = id, token, ?why, "refused");
            return Err(Wrong::Unauthorized);
        }
    };
    if who.token.is_none() && !is_for_here(request) {
        return Err(Wrong::Forbidden(
            "without a token, ask `localhost` or its address",
        ));
    }
    Ok(Some(who))
}

/// Lets somebody in who has not too many requests under way.
fn admit(app: &App, who: Option<&Who>) -> Result<Option<OwnedSemaphorePermit>, Wrong> {
    let Some(token) = who.and_then(|who| who.token.as_deref()) else {
        return Ok(None);
    };
    let most = app.options().per_token;
    let permit = app.under_way().one_more(token, most);
    permit.map(Some).ok_or(Wrong::TooMany(most))
}

/// Whether a page of another origin had a browser ask this: it would bring what the user may do here.
fn is_a_browsers(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    let others = |site: &HeaderValue| !matches!(site.as_bytes(), b"same-origin" | b"none");
    headers.contains_key(header::ORIGIN) || site.is_some_and(others)
}

/// Whether a request says that it is for this machine: a name that somebody gave to its address is none of it.
fn is_for_here(request: &Request) -> bool {
    let Some(host) = request.headers().get(header::HOST) else {
        return true;
    };
    let host = host.to_str().unwrap_or_default();
    let name = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|c| c.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let address = name
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// What went wrong, as the family of the path writes it.
fn written(response: Response, family: Family, id: &str, now_us: u64) -> Response {
    let Some(wrong) = response.extensions().get::<Wrong>() else {
        return response;
    };
    if wrong.status().is_server_error() {
        // Errors of the engine name places and kinds; payloads are not in them.
        error!(target: "milepost::http", request_id = id, ?wrong, "failed");
    }
    let mut answer = wrong.answer(family, id, &time::seconds(now_us));
    if let Some(allow) = response.headers().get(header::ALLOW) {
        answer.headers_mut().insert(header::ALLOW, allow.clone());
    }
    answer
}

fn tell(id: &str, method: &Method, route: &str, user: Option<&str>, response: &Response) {
    let status = response.status().as_u16();
    let user = user.unwrap_or_default();
    match status {
        500.. => warn!(target: "milepost::http", request_id = id, %method, route, user, status),
        _ => info!(target: "milepost::http", request_id = id, %method, route, user, status),
    }
}
