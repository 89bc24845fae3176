//! Middleware around each request: id, caller, limits, error format and log.

use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::app::App;
use crate::auth::Caller;
use crate::body_guard::held;
use crate::budget::{Shares, TokenShare};
use crate::cors;
use crate::error::{ApiError, Family, bug};
use crate::forms::utc_seconds;
use crate::listener::Peer;
use crate::negotiate::EVENT_STREAM;
use crate::request_scope::{REQUEST_ID, RequestContext, RequestId, Since};
use crate::stream_body::LONG;

/// Requests without a token may together be this many times as many as those of one token.
const WITHOUT_TOKEN: usize = 4;

/// The path of sessions. A code starts one without a token.
const SESSIONS: &str = "/v1/sessions";

/// The maximum length of a body with a code.
const CODE_BODY: u64 = 1 << 10;

/// Paths that need no token.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/openapi.json"];

pub(crate) async fn around(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = app.ids.of(request.headers());
    let method = request.method().clone();
    let family = Family::of(request.uri().path());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(String::new, |route| route.as_str().to_owned());
    let begun = Instant::now();
    let correlation = RequestId(id.as_str().into());
    request.extensions_mut().insert(correlation);
    let origins = &app.options.origins;
    let page = cors::allowed(origins, request.headers());
    let asks_first = page.as_ref().and_then(|_| cors::preflight(&request));
    let (user, response) = match asks_first {
        Some(response) => (None, response),
        None => answered(&app, request, next, page.is_some(), &id).await,
    };
    let mut response = written(response, family, &id, app.now_us());
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    // An answer is one user's; where it has a tag, a later question costs no body.
    let cached = response.headers_mut().entry(header::CACHE_CONTROL);
    cached.or_insert(HeaderValue::from_static("private, no-cache"));
    cors::put(origins, page, response.headers_mut());
    let status = response.status().as_u16();
    app.meters.count(&route, status, begun.elapsed());
    tell(&id, &method, &route, user.as_deref(), &response);
    response
}

/// Authorizes and answers a request. Returns the user and the answer.
async fn answered(
    app: &App,
    mut request: Request,
    next: Next,
    of_known_page: bool,
    id: &str,
) -> (Option<Arc<str>>, Response) {
    let known = one_host(&request).and_then(|()| known(app, &request, of_known_page, id));
    let user = known.as_ref().ok().and_then(Option::as_ref);
    let user = user.map(|caller| Arc::clone(&caller.user));
    let (permit, caller) = match known.and_then(|caller| Ok((admit(app, caller.as_ref())?, caller)))
    {
        Ok(admitted) => admitted,
        Err(wrong) => return (user, wrong.into_response()),
    };
    if let Err(wrong) = may(app, caller.as_ref(), &request) {
        return (user, wrong.into_response());
    }
    let since = Since::now();
    request.extensions_mut().insert(since.clone());
    let shares = Shares::of(caller.as_ref().map_or("", Caller::of_token));
    request.extensions_mut().insert(shares.clone());
    let correlation = request.extensions().get::<RequestId>().cloned();
    let asked = user.clone().zip(correlation);
    let asked = asked.map(|(user, id)| RequestContext { user, id });
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    // In a task of its own: a panic ends only this request, and a disconnect does not interrupt a
    // change.
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let answers = app.clone();
    let mut answer = tokio::spawn(async move {
        let response = RequestContext::answered(asked, next.run(request)).await;
        match is_stream(response.headers()) {
            // Streams have their own limit.
            true => response,
            false => match answers.whole(&shares, &response) {
                Ok(share) => held(response, (permit, share)),
                Err(wrong) => wrong.into_response(),
            },
        }
    });
    // Reads are aborted when the client disconnects.
    let _ended = reads.then(|| Ended(answer.abort_handle()));
    let response = tokio::select! {
        biased;
        answer = &mut answer => answer.unwrap_or_else(|panic| {
            bug(id, panic);
            ApiError::Bug.into_response()
        }),
        () = since.late(app.options.request_timeout) => ApiError::Timeout.into_response(),
    };
    (user, response)
}

/// A task that is aborted when this is dropped.
struct Ended(AbortHandle);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl App {
    /// Takes a share for a fully buffered answer, held until it is consumed. Streamed answers take
    /// their own shares.
    fn whole(&self, shares: &Shares, answer: &Response) -> Result<Option<TokenShare>, ApiError> {
        let bytes = answer.body().size_hint().exact().unwrap_or_default();
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if bytes <= LONG {
            return Ok(None);
        }
        // Waiting would hold the answer in memory.
        let answers = self.part(shares.token(), &self.budgets.answers);
        answers.now(bytes).map(Some)
    }
}

/// Returns true if an answer with these headers is an event stream.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes() == EVENT_STREAM.as_bytes())
}

/// The effect of a request on the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Reads,
    Shrinks,
    Grows,
}

impl Does {
    fn of(method: &Method, route: &str) -> Self {
        let ends = |ends: &[&str]| ends.iter().any(|end| route.ends_with(end));
        match *method {
            Method::POST if ends(&["/plan", "/verify"]) => Self::Reads,
            // Sessions are not part of the store.
            Method::POST | Method::DELETE if route.starts_with(SESSIONS) => Self::Reads,
            Method::POST if ends(&["/retention", "/erase", "/cleanup"]) => Self::Shrinks,
            Method::POST | Method::PATCH | Method::PUT => Self::Grows,
            Method::DELETE => Self::Shrinks,
            _ => Self::Reads,
        }
    }
}

/// Checks the token's rights and rate, and the free space of the disk.
fn may(app: &App, caller: Option<&Caller>, request: &Request) -> Result<(), ApiError> {
    let Some(caller) = caller else {
        return Ok(());
    };
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("", MatchedPath::as_str);
    let does = Does::of(request.method(), route);
    if does != Does::Reads && app.options.read_only {
        let text = "the service is read-only (`serve --read-only`): it changes nothing";
        return Err(ApiError::Forbidden(text));
    }
    caller.may(route, does != Does::Reads)?;
    if does == Does::Grows && app.is_full() {
        return Err(ApiError::Full(app.options.disk_reserve));
    }
    match (&caller.token, caller.limits.appends_per_second) {
        (Some(token), Some(most)) if does != Does::Reads => match app.quotas.appends(token, most) {
            true => Ok(()),
            false => Err(ApiError::TooFast(most)),
        },
        _ => Ok(()),
    }
}

/// Checks that a request has one `Host`, as RFC 9112 requires: a proxy and the service could
/// interpret two differently.
fn one_host(request: &Request) -> Result<(), ApiError> {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    // Requests that did not come over a connection need none.
    let came = request.extensions().get::<Peer>().is_some();
    let needed = came && request.version() == Version::HTTP_11;
    match hosts {
        1 => Ok(()),
        0 if !needed => Ok(()),
        _ => Err(ApiError::Invalid(format!("a request has one `Host`, not {hosts}"))),
    }
}

/// Returns the caller; `None` for public paths.
fn known(
    app: &App,
    request: &Request,
    of_known_page: bool,
    id: &str,
) -> Result<Option<Caller>, ApiError> {
    let path = request.uri().path();
    if OPEN.contains(&path) || path == "/docs" || path.starts_with("/docs/") {
        return Ok(None);
    }
    let is_page = ["/", "/favicon.ico"].contains(&path) || path.starts_with("/page/");
    let is_link = is_page && is_navigation(request.headers());
    if !of_known_page && is_a_browsers(request) && !is_link {
        return Err(ApiError::Forbidden(
            "pages of other origins may ask where `cors.origins` names them",
        ));
    }
    if is_page {
        return Ok(None);
    }
    let caller = Caller::of(&app.tokens, &app.sessions, request.headers(), app.now_us());
    let caller = match caller.map_err(|error| unknown_tokens(&error, id))? {
        Ok(caller) => caller,
        Err(_) if may_have_code(request) => return Ok(None),
        Err(unknown) => {
            let (token, why) = (unknown.token.unwrap_or_default(), unknown.why);
            info!(target: "milepost::http", request_id = id, token, ?why, "refused");
            return Err(ApiError::Unauthorized);
        }
    };
    if caller.token.is_none() {
        is_own(request)?;
    }
    Ok(Some(caller))
}

/// Returns true if a request starts a session and has no token; its body may have a code. Without
/// a token no longer body is read.
fn may_have_code(request: &Request) -> bool {
    let has = |name| request.headers().contains_key(name);
    let is_plain = !has(header::AUTHORIZATION) && !has(header::CONTENT_ENCODING);
    let is_short = request.body().size_hint().upper().is_some_and(|bytes| bytes <= CODE_BODY);
    let is_start = request.method() == Method::POST && request.uri().path() == SESSIONS;
    is_start && is_plain && is_short
}

/// The answer hides the cause, since the caller is not identified.
fn unknown_tokens(error: &milepost::Error, id: &str) -> ApiError {
    error!(target: "milepost::http", request_id = id, %error, "the tokens cannot be read");
    let text = "the tokens cannot be read: the log of the service says why";
    ApiError::Engine(error.kind(), text.into(), None)
}

/// Checks that a request without a token comes from a caller with all rights.
fn is_own(request: &Request) -> Result<(), ApiError> {
    let wrong = match request.extensions().get::<Peer>() {
        // DNS rebinding cannot reach a socket, so `Host` does not matter.
        Some(Peer::Owner) => return Ok(()),
        Some(Peer::Other) => "without a token, its owner only may ask at the socket",
        Some(Peer::Elsewhere) | None if is_for_here(request) => return Ok(()),
        Some(Peer::Elsewhere) | None => "without a token, ask `localhost` or its address",
    };
    Err(ApiError::Forbidden(wrong))
}

/// Returns a permit unless the caller has too many active requests.
fn admit(app: &App, caller: Option<&Caller>) -> Result<Option<OwnedSemaphorePermit>, ApiError> {
    let Some(caller) = caller else {
        return Ok(None);
    };
    let of_token = app.options.per_token;
    let (token, most) = match &caller.token {
        Some(token) => (token.as_str(), of_token),
        // All callers without a token count as one.
        None => ("", of_token.saturating_mul(WITHOUT_TOKEN)),
    };
    let permit = app.under_way.one_more(token, most);
    permit.map(Some).ok_or(ApiError::TooMany(most))
}

/// Returns true if a page of another origin made the browser send this request, with the user's
/// network access.
fn is_a_browsers(request: &Request) -> bool {
    let headers = request.headers();
    let site = headers.get("sec-fetch-site");
    match site.map(HeaderValue::as_bytes) {
        // The service's own page. Pages cannot set this header.
        Some(b"same-origin" | b"none") => false,
        Some(_) => true,
        // Browsers leave it out over plain HTTP to another machine. They reach no socket.
        None => headers.get(header::ORIGIN).is_some_and(|origin| {
            let peer = request.extensions().get::<Peer>();
            let host = origin.as_bytes().strip_prefix(b"http://");
            let is_same = host == headers.get(header::HOST).map(HeaderValue::as_bytes);
            host.is_none() || !is_same || matches!(peer, Some(Peer::Owner | Peer::Other))
        }),
    }
}

/// Returns true if a browser opens the address, as for a link in a page of another origin.
fn is_navigation(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_some_and(|mode| mode.as_bytes() == b"navigate")
}

/// Returns true if `Host` names this machine. A foreign DNS name for its address does not.
fn is_for_here(request: &Request) -> bool {
    let Some(host) = request.headers().get(header::HOST) else {
        return true;
    };
    let host = host.to_str().unwrap_or_default();
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|c| c.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Writes the error of a response in the form of the path's family.
fn written(response: Response, family: Family, id: &str, now_us: u64) -> Response {
    let Some(wrong) = response.extensions().get::<ApiError>() else {
        return response;
    };
    // A full disk refuses each request: it is logged when it begins and when it ends.
    if wrong.status().is_server_error() && !matches!(wrong, ApiError::Full(_)) {
        // Errors of the engine name places and kinds, never payloads.
        error!(target: "milepost::http", request_id = id, ?wrong, "failed");
    }
    let mut answer = wrong.answer(family, id, &utc_seconds(now_us));
    if let Some(allow) = response.headers().get(header::ALLOW) {
        answer.headers_mut().insert(header::ALLOW, allow.clone());
    }
    answer
}

fn tell(id: &str, method: &Method, route: &str, user: Option<&str>, response: &Response) {
    let status = response.status().as_u16();
    let user = user.unwrap_or_default();
    match status {
        // A full disk is one line of its own, not one for each request.
        500..=506 | 508.. => {
            warn!(target: "milepost::http", request_id = id, %method, route, user, status)
        }
        _ => info!(target: "milepost::http", request_id = id, %method, route, user, status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_token_only_the_owner_of_a_socket_may_ask_there() {
        let asked = |peer: Option<Peer>, host: &str| {
            let mut request = Request::new(axum::body::Body::empty());
            let host = HeaderValue::from_str(host).unwrap();
            request.headers_mut().insert(header::HOST, host);
            if let Some(peer) = peer {
                request.extensions_mut().insert(peer);
            }
            is_own(&request).is_ok()
        };
        assert!(asked(Some(Peer::Owner), "evil.example"));
        assert!(!asked(Some(Peer::Other), "localhost"));
        for peer in [Some(Peer::Elsewhere), None] {
            assert!(asked(peer, "localhost"));
            assert!(!asked(peer, "evil.example"));
        }
    }
}
