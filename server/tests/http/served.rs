//! A store that is served, without a socket.

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, Request, StatusCode};
use futures_core::Stream as _;
use http_body_util::BodyExt as _;
use milepost::clock::ManualClock;
use milepost::{Engine, Options, Task};
use milepost_server::{NewToken, Server, ServerOptions, Tokens};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::changing::dressed;

/// 2025-01-31T10:30:00Z, in microseconds since the Unix epoch.
pub const NOW_US: u64 = 1_738_319_400_000_000;

/// A store that is served.
pub struct Served {
    pub dir: tempfile::TempDir,
    pub engine: Engine,
    pub tokens: Tokens,
    /// Made once, for many requests.
    server: Server,
    router: axum::Router,
}

/// A received answer.
#[derive(Debug)]
pub struct Came {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Came {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Served {
    pub fn new() -> Self {
        Self::with(ServerOptions::default())
    }

    pub fn with(options: ServerOptions) -> Self {
        Self::of(tempfile::tempdir().unwrap(), options)
    }

    /// The store in a folder.
    pub fn of(dir: tempfile::TempDir, options: ServerOptions) -> Self {
        let engine = Engine::open(dir.path(), Options::default()).unwrap();
        Self::on(engine, dir, options)
    }

    /// A store, with its tokens in a folder.
    pub fn on(engine: Engine, dir: tempfile::TempDir, options: ServerOptions) -> Self {
        let tokens = Tokens::of_store(dir.path());
        let clock = ManualClock::at(NOW_US);
        let server = Server::with_clock(&engine, tokens.clone(), options, clock).unwrap();
        Self { dir, engine, tokens, router: server.router(), server }
    }

    /// Makes a task with this many checkpoints.
    pub fn task(&self, id: &str, user: &str, checkpoints: usize) -> Task {
        let task = self.engine.start_task(id, user).unwrap();
        for _ in 0..checkpoints {
            task.checkpoint(milepost::Mark::new()).unwrap();
        }
        task
    }

    pub fn token(&self, user: &str, admin: bool) -> String {
        let new = NewToken { user: user.into(), admin, ..NewToken::default() };
        self.tokens.create(&new, NOW_US).unwrap().1
    }

    /// A token of a user, with limits.
    pub fn limited(&self, user: &str, limits: milepost_server::TokenLimits) -> String {
        let new = NewToken { user: user.into(), limits, ..NewToken::default() };
        self.tokens.create(&new, NOW_US).unwrap().1
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    pub fn router(&self) -> axum::Router {
        self.router.clone()
    }

    pub async fn ask(&self, request: Request<Body>) -> Came {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        assert!(parts.headers.contains_key("cache-control"), "{:?}", parts.headers);
        Came {
            status: parts.status,
            headers: parts.headers,
            bytes: body.collect().await.unwrap().to_bytes().to_vec(),
        }
    }

    pub async fn get(&self, path: &str) -> Came {
        self.ask(request("GET", path, None, "")).await
    }

    pub async fn get_as(&self, token: &str, path: &str) -> Came {
        self.ask(request("GET", path, Some(token), "")).await
    }

    pub async fn post(&self, path: &str, body: &str) -> Came {
        self.ask(request("POST", path, None, body)).await
    }
}

pub fn request(method: &str, path: &str, token: Option<&str>, body: &str) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if !body.is_empty() {
        request = request.header("content-type", "application/json");
    }
    request.body(Body::from(body.to_owned())).unwrap()
}

/// The events of a stream.
pub struct Events(BodyDataStream, String);

impl Events {
    pub async fn of(served: &Served, token: Option<&str>, path: &str) -> Self {
        let asked = request("GET", path, token, "");
        let asked = dressed(asked, &[("accept", "text/event-stream")]);
        let response = served.router().oneshot(asked).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self(response.into_body().into_data_stream(), String::new())
    }

    /// The name and the data of the next event.
    pub async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some((frame, rest)) = self.1.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.1 = rest;
                let Some(event) = frame.strip_prefix("event: ") else {
                    continue;
                };
                let (name, data) = event.split_once("\ndata: ").unwrap();
                return (name.to_owned(), serde_json::from_str(data).unwrap());
            }
            let piece =
                std::future::poll_fn(|context| std::pin::Pin::new(&mut self.0).poll_next(context));
            self.1.push_str(std::str::from_utf8(&piece.await.unwrap().unwrap()).unwrap());
        }
    }
}
