//! `GET /v1/me`: the caller, and the service that it asks.

use milepost::{Engine, Options};
use milepost_server::{NewToken, Server, ServerOptions, TokenLimits, Tokens};
use tower::ServiceExt as _;

use crate::served::{NOW_US, Served, request};

#[tokio::test]
async fn a_caller_learns_its_user_its_rights_and_the_store() {
    let served = Served::with(ServerOptions::default().body(1 << 20));
    let me = served.get("/v1/me").await.json();
    assert_eq!((&me["user"], &me["admin"]), (&"local".into(), &true.into()));
    assert_eq!(me["store"]["id"], served.engine.store().id().to_string());
    assert_eq!(me["store"]["keyed"], false);
    assert_eq!(me["limits"]["body"], 1_048_576);
    assert!(me.get("task").is_none() && me.get("expires").is_none(), "{me}");
    let limits =
        TokenLimits { read_only: true, task: Some("essay".into()), ..TokenLimits::default() };
    let ends = Some(NOW_US + 1_000_000);
    let new = NewToken { user: "ana".into(), admin: true, expires_us: ends, limits };
    let (_, token) = served.tokens.create(&new, NOW_US).unwrap();
    let me = served.get_as(&token, "/v1/me").await.json();
    assert_eq!((&me["user"], &me["task"]), (&"ana".into(), &"essay".into()));
    // An admin's token for one task has no right of an admin.
    assert_eq!((&me["admin"], &me["read_only"]), (&false.into(), &true.into()));
    assert_eq!(me["expires"], "2025-01-31T10:30:01.000000Z");
}

#[tokio::test]
async fn a_store_with_a_key_says_so() {
    let key = milepost::StoreKey::new(&[7; 32]);
    let engine = Engine::in_memory(Options::default().key(key)).unwrap();
    let server = Server::new(&engine, Tokens::none(), ServerOptions::default()).unwrap();
    let asked = server.router().oneshot(request("GET", "/v1/me", None, "")).await.unwrap();
    let body = http_body_util::BodyExt::collect(asked.into_body()).await.unwrap().to_bytes();
    let me: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(me["store"]["keyed"], true);
}
