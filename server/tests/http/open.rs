//! Stores served without a token, and the log of their requests.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use milepost::{Engine, Options};
use milepost_server::{NewToken, Server, ServerOptions, Tokens};
use tokio::net::TcpListener;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::changing::problem;
use crate::served::{Served, request};

#[tokio::test]
async fn without_a_token_only_a_loopback_address_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::in_memory(Options::default()).unwrap();
    let tokens = Tokens::of_store(dir.path());
    for tokens in [Tokens::none(), tokens.clone()] {
        let server = Server::new(&engine, tokens, ServerOptions::default()).unwrap();
        let here = TcpListener::bind("127.0.0.1:0").await.unwrap();
        server.serve(here, async {}).await.unwrap();
        let all = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let refused = server.serve(all, async {}).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        assert!(refused.to_string().contains("no token was created"), "{refused}");
    }
    let new = NewToken { user: "ana".into(), ..NewToken::default() };
    tokens.create(&new, 0).unwrap();
    let server = Server::new(&engine, tokens, ServerOptions::default()).unwrap();
    let all = TcpListener::bind("0.0.0.0:0").await.unwrap();
    server.serve(all, async {}).await.unwrap();
}

/// The log: each event as `name=value` words.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<String>>>);

impl Subscriber for Logged {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "milepost::http"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut words = Words::default();
        event.record(&mut words);
        self.0.lock().unwrap().push(words.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

/// A body that never ends.
struct Never;

impl futures_core::Stream for Never {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Pending
    }
}

#[tokio::test]
async fn who_has_too_many_requests_under_way_is_in_the_log() {
    let logged = Logged::default();
    // With one listener alone, what is logged first on another thread would be taken for unheard.
    let _other = tracing::Dispatch::new(Logged::default());
    let _guard = tracing::subscriber::set_default(logged.clone());
    let served = Served::with(ServerOptions::default().per_token(1));
    let token = served.token("ana", false);
    let mut slow = request("POST", "/v1/tasks", Some(&token), "{}");
    *slow.body_mut() = Body::from_stream(Never);
    let mut slow = Box::pin(served.ask(slow));
    // Once asked it is under way, until its body ends.
    let begun = std::future::poll_fn(|context| {
        assert!(slow.as_mut().poll(context).is_pending());
        std::task::Poll::Ready(())
    });
    begun.await;
    let came = served.get_as(&token, "/v1/tasks/none").await;
    assert_eq!((came.status.as_u16(), came.header("retry-after")), (429, "1"));
    assert!(came.json()["type"].as_str().unwrap().ends_with("/too_many"));
    let lines = logged.0.lock().unwrap().clone();
    let line = lines.iter().find(|line| line.contains("status=429"));
    let line = line.unwrap_or_else(|| panic!("{lines:?}"));
    assert!(line.contains("user=\"ana\""), "{line}");
}

#[tokio::test]
async fn what_is_too_large_has_a_name_of_its_own() {
    let served = Served::with(ServerOptions::default().body(10));
    let large = served.post("/v1/tasks", "{\"id\": \"abc\"}").await;
    assert_eq!(problem(&large), (413, "too_large".into()));
}

#[tokio::test]
async fn a_store_that_was_closed_is_not_ready_and_says_so() {
    let served = Served::new();
    assert_eq!(served.get("/readyz").await.status, 200);
    served.engine.clone().close().unwrap();
    let came = served.get("/readyz").await;
    assert_eq!(came.status, 503);
    let why = String::from_utf8_lossy(&came.bytes);
    assert!(why.contains("closed"), "{why}");
    assert_eq!(served.get("/healthz").await.status, 200);
}
