//! Authentication and request ids. The access rights are in `matrix.rs`.
use crate::served::{NOW_US, Served, request};
use milepost_server::ServerOptions;

const CLEANUP: &str = "/api/v0/checkpoint/direct/cleanup";
const STATS: &str = "/api/v0/checkpoint/direct/stats";

#[tokio::test]
async fn one_text_is_for_all_tokens_that_are_not_taken_and_two_headers_are_none() {
    let served = Served::new();
    let token = served.token("ana", false);
    let mut texts = Vec::new();
    for header in
        ["", "Bearer", "Bearer x", &format!("Basic {token}"), &token, &format!("Bearer {token}x")]
    {
        let mut asked = request("GET", "/api/v1/tasks/t/checkpoints", None, "");
        asked.headers_mut().insert("authorization", header.parse().unwrap());
        asked.headers_mut().insert("x-request-id", "same".parse().unwrap());
        let came = served.ask(asked).await;
        assert_eq!(came.status, 401, "{header}");
        texts.push(came.bytes);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
    let mut twice = request("GET", "/api/v1/tasks/t/checkpoints", Some(&token), "");
    twice.headers_mut().append("authorization", "Bearer x".parse().unwrap());
    assert_eq!(served.ask(twice).await.status, 401);
    let lower = format!("bearer {token}");
    let mut asked = request("GET", "/api/v1/tasks/t/checkpoints", None, "");
    asked.headers_mut().insert("authorization", lower.parse().unwrap());
    assert_eq!(served.ask(asked).await.status, 404);
}

#[tokio::test]
async fn a_token_that_is_revoked_ends_with_the_next_request_and_a_damaged_list_lets_nobody_in() {
    let served = Served::new();
    assert_eq!(served.get(STATS).await.status, 200, "no token was made yet");
    let token = served.token("root", true);
    assert_eq!(served.get(STATS).await.status, 401);
    assert_eq!(served.get_as(&token, STATS).await.status, 200);
    let id = served.tokens.list().unwrap()[0].id.clone();
    served.tokens.revoke(&id, NOW_US).unwrap();
    assert_eq!(served.get_as(&token, STATS).await.status, 401);
    let path = served.dir.path().join("server/tokens.json");
    std::fs::write(path, "damaged").unwrap();
    let came = served.get_as(&token, STATS).await;
    assert_eq!(came.status, 500);
    let said = String::from_utf8(came.bytes).unwrap();
    assert!(!said.contains("tokens.json"), "nobody is known: {said}");
    assert_eq!(served.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn a_request_keeps_its_id_where_that_is_one_and_gets_one_else() {
    let served = Served::new();
    let long = "x".repeat(129);
    for (given, kept) in
        [("abc.DEF_1-2", true), ("", false), ("a b", false), ("a/b", false), (&long, false)]
    {
        let mut asked = request("GET", "/api/v1/nothing", None, "");
        asked.headers_mut().insert("x-request-id", given.parse().unwrap());
        let came = served.ask(asked).await;
        let id = came.header("x-request-id").to_owned();
        assert_eq!(id == given, kept, "{given}: {id}");
        assert_eq!(came.json()["error"]["details"]["requestId"], id);
        assert!(!id.is_empty());
    }
    let (one, two) = (served.get("/healthz").await, served.get("/healthz").await);
    assert_ne!(one.header("x-request-id"), two.header("x-request-id"));
}

#[tokio::test]
async fn bodies_are_taken_up_to_the_limit_and_only_as_json() {
    let served = Served::with(ServerOptions::default().body(100));
    let padded = |len: usize| format!("{{}}{}", " ".repeat(len - 2));
    assert_eq!(served.post(CLEANUP, &padded(100)).await.status, 200);
    assert_eq!(served.post(CLEANUP, &padded(101)).await.status, 413);
    // Without a length said before.
    let long = (0..30).map(|_| Ok(" ".repeat(5))).collect();
    let body = axum::body::Body::from_stream(futures_stream(long));
    let asked = axum::http::Request::post(CLEANUP).body(body).unwrap();
    assert_eq!(served.ask(asked).await.status, 413);
    for body in ["[]", "[null]", "null", "3"] {
        for path in [CLEANUP, "/v1/verify"] {
            assert_eq!(served.post(path, body).await.status, 400, "{path} {body}");
        }
    }
    let mut asked = request("POST", CLEANUP, None, "{}");
    asked.headers_mut().insert("content-type", "text/plain".parse().unwrap());
    assert_eq!(served.ask(asked).await.status, 415);
    let mut asked = request("POST", CLEANUP, None, "{}");
    asked.headers_mut().insert("content-type", "application/json; charset=utf-8".parse().unwrap());
    assert_eq!(served.ask(asked).await.status, 200);
}

fn futures_stream(
    pieces: Vec<Result<String, std::io::Error>>,
) -> impl futures_core::Stream<Item = Result<String, std::io::Error>> + Send + 'static {
    struct Pieces(std::vec::IntoIter<Result<String, std::io::Error>>);
    impl futures_core::Stream for Pieces {
        type Item = Result<String, std::io::Error>;

        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            std::task::Poll::Ready(self.0.next())
        }
    }
    Pieces(pieces.into_iter())
}
