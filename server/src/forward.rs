//! Requests that the service of another program answers: the one that has the store of a page open.
//! They have the rights of this program's user there, and none of the browser's headers.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, Uri, header};
use axum::routing::any;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use milepost_sockets::Near;
use tokio::net::UnixStream;
use tokio::sync::mpsc::{self, Sender};
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::app::App;
use crate::auth::Caller;
use crate::body_guard::held;
use crate::error::ApiError;
use crate::listener::{Peer, peer};
use crate::middleware::is_stream;
use crate::request_scope::{OF_PAGE, REQUEST_ID, RequestId, Since};
use crate::routes;
use crate::streams::{KEEP_OPEN, Pieces};

/// Headers of one connection.
const OF_CONNECTION: [&str; 9] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that are for this service: the session, the name that the browser has for it, and what
/// the browser says of the page. This service compresses the answers.
const OF_BROWSER: [&str; 11] = [
    "accept-encoding",
    "authorization",
    "cookie",
    "host",
    "origin",
    "proxy-authorization",
    "referer",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-user",
];

/// The service of another program, at a Unix socket.
#[derive(Debug)]
pub(crate) struct Forward {
    socket: PathBuf,
}

impl Forward {
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self { socket }
    }

    /// Returns the routes of the page and of its sessions. The other service answers the other
    /// paths of `/v1`.
    pub(crate) fn routes(self: &Arc<Self>) -> Router<App> {
        routes::of_page(any(forwarded).layer(Extension(Arc::clone(self))))
    }

    /// Connects to the other service. The connection ends with `connections`.
    async fn connect(&self, connections: &mut JoinSet<()>) -> Result<SendRequest<Body>, ApiError> {
        let lost = |error: String| self.lost(&error);
        let near = Near::of(&self.socket).map_err(|e| lost(e.to_string()))?;
        let stream = UnixStream::connect(near.path()).await.map_err(|e| lost(e.to_string()))?;
        // Another user's program could have bound the name.
        if peer(&stream, rustix::process::geteuid().as_raw()) != Peer::Owner {
            return Err(lost("it is another user's".into()));
        }
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|e| lost(e.to_string()))?;
        connections.spawn(async move {
            // An error is also that of the request.
            let _ = connection.await;
        });
        Ok(sender)
    }

    fn lost(&self, error: &str) -> ApiError {
        let socket = self.socket.display();
        ApiError::unavailable(format!(
            "the program that had the store open does not answer at {socket} ({error}): ask again \
             once a program has it open, or end `milepost ui` and start it again"
        ))
    }
}

/// Answers with the answer of the other service.
async fn forwarded(
    State(app): State<App>,
    Extension(forward): Extension<Arc<Forward>>,
    caller: Caller,
    id: RequestId,
    request: Request,
) -> Result<Response<Body>, ApiError> {
    let request = asked(request, &id)?;
    let mut connections = JoinSet::new();
    let mut sender = forward.connect(&mut connections).await?;
    let answer = sender.send_request(request).await;
    let (mut parts, body) = answer.map_err(|e| forward.lost(&e.to_string()))?.into_parts();
    remove(&mut parts.headers, &[]);
    let body = match is_stream(&parts.headers) {
        true => {
            let (pieces, waiting) = mpsc::channel(1);
            tokio::spawn(relay(app, caller, body, pieces));
            Body::from_stream(Pieces::new(waiting))
        }
        // A stream has no length: none of its bytes are held, and none are counted.
        false => Body::from_stream(Body::new(body).into_data_stream()),
    };
    Ok(held(Response::from_parts(parts, body), connections))
}

/// Returns the request for the other service.
fn asked(request: Request, id: &RequestId) -> Result<Request, ApiError> {
    let (mut parts, body) = request.into_parts();
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    parts.uri = target.parse::<Uri>().map_err(|error| ApiError::Invalid(error.to_string()))?;
    remove(&mut parts.headers, &OF_BROWSER);
    parts.headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    parts.headers.insert(OF_PAGE, HeaderValue::from_static("1"));
    if let Ok(id) = HeaderValue::from_str(&id.0) {
        parts.headers.insert(REQUEST_ID, id);
    }
    let since = parts.extensions.get::<Since>().filter(|_| !body.is_end_stream());
    // The time of the answer begins when the body has arrived.
    let body = match since.map(Since::stand_still) {
        Some(arrives) => held(Response::new(body), arrives).into_body(),
        None => body,
    };
    let mut request = Request::new(body);
    *request.method_mut() = parts.method;
    *request.uri_mut() = parts.uri;
    *request.headers_mut() = parts.headers;
    Ok(request)
}

/// Removes the headers of the connection, and others.
fn remove(headers: &mut HeaderMap, others: &[&str]) {
    let named = headers.get_all(header::CONNECTION).iter();
    let named: Vec<String> = named
        .filter_map(|names| names.to_str().ok())
        .flat_map(|names| names.split(',').map(|name| name.trim().to_owned()))
        .collect();
    for name in named.iter().map(String::as_str).chain(OF_CONNECTION).chain(others.iter().copied())
    {
        headers.remove(name);
    }
}

/// Passes an event stream on until it ends, this service stops, the browser is gone or its session
/// has ended.
async fn relay(app: App, caller: Caller, mut body: Incoming, pieces: Sender<Bytes>) {
    let mut stop = app.stopped();
    let events = async {
        let mut look = interval(KEEP_OPEN);
        loop {
            let frame = tokio::select! {
                _ = look.tick() => {
                    match caller.is_still(&app.tokens, &app.sessions, app.now_us()) {
                        true => continue,
                        false => return,
                    }
                }
                frame = body.frame() => frame,
            };
            let Some(Ok(frame)) = frame else {
                return;
            };
            if let Ok(piece) = frame.into_data()
                && pieces.send(piece).await.is_err()
            {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => {}
        () = pieces.closed() => {}
        () = events => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_nothing_of_the_browser_and_of_its_connection() {
        let request = Request::builder()
            .uri("http://127.0.0.1:1/v1/tasks/a%2Fb?limit=1")
            .header("host", "127.0.0.1:1")
            .header("authorization", "Bearer ms_1")
            .header("origin", "http://127.0.0.1:1")
            .header("sec-fetch-site", "same-origin")
            .header("cookie", "a=b")
            .header("connection", "keep-alive, X-Own")
            .header("x-own", "1")
            .header("transfer-encoding", "chunked")
            .header("accept", "text/event-stream")
            .header("if-match", "\"3\"");
        let request = request.body(Body::empty()).unwrap();
        let asked = asked(request, &RequestId("id-1".into())).unwrap();
        assert_eq!(asked.uri(), "/v1/tasks/a%2Fb?limit=1");
        let headers = asked.headers().iter();
        let mut headers: Vec<_> =
            headers.map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        headers.sort_unstable();
        let (page, id) = (("milepost-of-page", "1"), ("x-request-id", "id-1"));
        let accept = ("accept", "text/event-stream");
        assert_eq!(headers, [accept, ("host", "localhost"), ("if-match", "\"3\""), page, id]);
    }
}
