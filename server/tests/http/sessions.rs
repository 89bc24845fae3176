//! Sessions: their start, their rights, and their end.

use axum::body::Body;
use axum::http::Request;
use milepost_server::{ServerOptions, TokenLimits};
use serde_json::{Value, json};

use crate::changing::dressed;
use crate::served::{Came, NOW_US, Served, request};

const SESSIONS: &str = "/v1/sessions";

/// Starts a session of a token.
async fn session(served: &Served, token: Option<&str>) -> Value {
    let came = served.ask(request("POST", SESSIONS, token, "")).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!(came.header("cache-control"), "no-store");
    came.json()
}

fn text(session: &Value) -> &str {
    session["session"].as_str().unwrap()
}

fn end(session: &str) -> Request<Body> {
    request("DELETE", "/v1/sessions/current", Some(session), "")
}

/// Sends a code.
async fn by_code(served: &Served, code: &str) -> Came {
    served.post(SESSIONS, &json!({ "code": code }).to_string()).await
}

#[tokio::test]
async fn a_session_has_the_rights_of_its_token_and_ends_with_it() {
    let served = Served::new();
    served.task("hers", "ana", 0);
    let ana = served.token("ana", false);
    let began = session(&served, Some(&ana)).await;
    assert_eq!((&began["user"], &began["admin"]), (&"ana".into(), &false.into()));
    assert_eq!(began["expires"], "2025-01-31T22:30:00.000000Z");
    let bob = session(&served, Some(&served.token("bob", false))).await;
    assert_eq!(served.get_as(text(&began), "/v1/tasks/hers").await.status, 200);
    assert_eq!(served.get_as(text(&bob), "/v1/tasks/hers").await.status, 404);
    assert_eq!(served.get_as(text(&began), "/v1/anchor").await.status, 403);
    let me = served.get_as(text(&began), "/v1/me").await.json();
    assert_eq!((&me["user"], &me["expires"]), (&began["user"], &began["expires"]));
    let again = served.ask(request("POST", SESSIONS, Some(text(&began)), "")).await;
    assert_eq!(again.status, 403, "a session lasts no longer by itself: {again:?}");
    let id = served.tokens.list().unwrap()[0].id.clone();
    served.tokens.revoke(&id, NOW_US).unwrap();
    let refused = served.get_as(text(&began), "/v1/me").await;
    let wrong = served.get_as("mp_no_token", "/v1/me").await;
    assert_eq!((refused.status, wrong.status), (wrong.status, 401.try_into().unwrap()));
    let unlike = ["instance"].map(|name| refused.json()[name] == wrong.json()[name]);
    assert_eq!((unlike, &refused.json()["detail"]), ([false], &wrong.json()["detail"]));
    assert_eq!(served.get_as(text(&bob), "/v1/me").await.status, 200);
}

#[tokio::test]
async fn a_session_ends_when_it_is_ended_and_its_token_does_not() {
    let served = Served::new();
    let token = served.token("ana", false);
    let (one, two) = (session(&served, Some(&token)).await, session(&served, Some(&token)).await);
    assert_eq!(served.ask(end(text(&one))).await.status, 204);
    assert_eq!(served.ask(end(text(&one))).await.status, 401);
    assert_eq!(served.get_as(text(&one), "/v1/me").await.status, 401);
    assert_eq!(served.get_as(text(&two), "/v1/me").await.status, 200);
    assert_eq!(served.ask(end(&token)).await.status, 404);
    assert_eq!(served.get_as(&token, "/v1/me").await.status, 200);
}

#[tokio::test]
async fn a_session_keeps_the_limits_of_its_token() {
    let served = Served::new();
    served.task("hers", "ana", 0);
    served.task("other", "ana", 0);
    let limits =
        TokenLimits { read_only: true, task: Some("hers".into()), ..TokenLimits::default() };
    let began = session(&served, Some(&served.limited("ana", limits))).await;
    assert_eq!(served.get_as(text(&began), "/v1/tasks/hers").await.status, 200);
    assert_eq!(served.get_as(text(&began), "/v1/tasks/other").await.status, 404);
    let change = request("DELETE", "/v1/tasks/hers", Some(text(&began)), "");
    assert_eq!(served.ask(change).await.status, 403);
    assert_eq!(served.ask(end(text(&began))).await.status, 204);
}

#[tokio::test]
async fn without_tokens_a_session_is_of_local_and_ends_with_the_first_token() {
    let served = Served::new();
    let began = session(&served, None).await;
    assert_eq!((&began["user"], &began["admin"]), (&"local".into(), &true.into()));
    assert_eq!(served.get_as(text(&began), "/v1/anchor").await.status, 200);
    served.token("ana", false);
    assert_eq!(served.get_as(text(&began), "/v1/me").await.status, 401);
    assert_eq!(served.post(SESSIONS, "").await.status, 401);
}

#[tokio::test]
async fn a_code_begins_one_session_and_its_session_outlives_tokens() {
    let served = Served::with(ServerOptions::default().sessions_only(true));
    for path in ["/v1/me", "/v1/tasks", "/metrics"] {
        assert_eq!(served.get(path).await.status, 401, "{path}");
    }
    assert_eq!(served.post(SESSIONS, "").await.status, 401);
    assert_eq!(by_code(&served, &"0".repeat(32)).await.status, 401);
    for body in ["null", "[]", "{\"code\": 1}", "{\"other\": \"\"}", "x"] {
        assert_eq!(served.post(SESSIONS, body).await.status, 401, "{body}");
    }
    let code = served.server().code().unwrap();
    let long = format!("{}{}", json!({ "code": code }), " ".repeat(2000));
    let came = served.post(SESSIONS, &long).await;
    assert_eq!(came.status, 401, "no long body is read: {came:?}");
    let came = by_code(&served, &code).await;
    assert_eq!(came.status, 201, "{came:?}");
    let again = by_code(&served, &code).await;
    assert_eq!(again.status, 401, "a code works once: {again:?}");
    let began = came.json();
    assert_eq!((&began["user"], &began["admin"]), (&"local".into(), &true.into()));
    served.token("ana", false);
    assert_eq!(served.get_as(text(&began), "/v1/anchor").await.status, 200);
    // DNS rebinding makes a page of another name one of the same origin.
    let asked = request("GET", "/v1/me", Some(text(&began)), "");
    let elsewhere = served.ask(dressed(asked, &[("host", "evil.example")])).await;
    assert_eq!(elsewhere.status, 403);
}

#[tokio::test]
async fn pages_of_other_origins_start_no_session() {
    let served = Served::with(ServerOptions::default().sessions_only(true));
    let code = served.server().code().unwrap();
    let body = json!({ "code": code }).to_string();
    for header in [("sec-fetch-site", "cross-site"), ("origin", "http://127.0.0.1:1")] {
        let asked = dressed(request("POST", SESSIONS, None, &body), &[header]);
        let came = served.ask(asked).await;
        assert_eq!(came.status, 403, "{header:?}: {came:?}");
    }
    assert_eq!(by_code(&served, &code).await.status, 201);
}
