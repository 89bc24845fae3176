//! Tokens that may do less than their user.

use milepost_server::TokenLimits;

use crate::served::{Served, request};

const EVENT: &str = r#"{"kind": "step_started", "body": {"step": 1}}"#;

fn served() -> Served {
    let served = Served::new();
    served.task("hers", "ana", 1);
    served.task("other", "ana", 1);
    served
}

#[tokio::test]
async fn a_read_only_token_changes_nothing() {
    let served = served();
    let limits = TokenLimits { read_only: true, ..TokenLimits::default() };
    let token = served.limited("ana", limits);
    let head = served.engine.task("hers").unwrap().head().unwrap();
    for (method, path, body) in [
        ("POST", "/v1/tasks/hers/events", EVENT),
        ("POST", "/v1/tasks", r#"{"id": "new"}"#),
        ("POST", "/v1/tasks/hers/checkpoints", "{}"),
        ("POST", "/v1/restores", r#"{"to": "hers@1"}"#),
        ("POST", "/v1/tasks/hers/undo", ""),
        ("POST", "/v1/tasks/hers/redo", ""),
        ("PUT", "/v1/tasks/hers/active", r#"{"lineage": 0}"#),
        ("POST", "/v1/points/hers@1/erase", "{}"),
        ("POST", "/api/v0/checkpoint/direct/cleanup", r#"{"thread_id": "hers"}"#),
        ("DELETE", "/v1/tasks/hers", ""),
    ] {
        let came = served.ask(request(method, path, Some(&token), body)).await;
        assert_eq!(came.status, 403, "{method} {path}: {came:?}");
    }
    assert_eq!(served.engine.task("hers").unwrap().head().unwrap(), head);
    let plan = request("POST", "/v1/restores/plan", Some(&token), r#"{"to": "hers@1"}"#);
    assert_eq!(served.ask(plan).await.status, 200);
    assert_eq!(served.get_as(&token, "/v1/tasks/hers").await.status, 200);
}

#[tokio::test]
async fn a_token_for_one_task_sees_no_other() {
    let served = served();
    let limits = TokenLimits { task: Some("hers".into()), ..TokenLimits::default() };
    let token = served.limited("ana", limits);
    let other = served.engine.task("other").unwrap();
    let mark = other.checkpoint(milepost::Mark::new()).unwrap().id;
    for path in [
        "/v1/tasks/TASK".to_owned(),
        "/v1/tasks/TASK/lineages".into(),
        "/v1/tasks/TASK/events".into(),
        "/v1/tasks/TASK/pins".into(),
        "/v1/points/TASK/state".into(),
        "/v1/points/TASK@1/event".into(),
        "/v1/points/hers/diff/TASK".into(),
        "/v1/points/TASK/blame?pointer=/step".into(),
        format!("/v1/points/@{mark}"),
        format!("/v1/checkpoints/{mark}"),
        format!("/api/v1/checkpoints/{mark}"),
        "/api/v1/tasks/TASK/checkpoints".into(),
    ] {
        let there = served.get_as(&token, &path.replace("TASK", "other")).await;
        assert_eq!(there.status, 404, "{path}: {there:?}");
    }
    for (path, count) in [("/v1/tasks", 1), ("/v1/checkpoints", 1)] {
        let listed = served.get_as(&token, path).await.json();
        assert_eq!(listed["items"].as_array().unwrap().len(), count, "{path}");
    }
    for (method, path, body, status) in [
        ("POST", "/v1/tasks/other/events", EVENT, 404),
        ("POST", "/v1/tasks", r#"{"id": "new"}"#, 400),
        ("POST", "/v1/restores", r#"{"to": "other@1"}"#, 404),
        ("DELETE", "/v1/tasks/other", "", 404),
        ("GET", "/v1/stats", "", 403),
        ("POST", "/api/v0/checkpoint/direct/cleanup", "{}", 403),
        ("POST", "/v1/tasks/hers/events", EVENT, 201),
    ] {
        let came = served.ask(request(method, path, Some(&token), body)).await;
        assert_eq!(came.status, status, "{method} {path}: {came:?}");
    }
}

#[tokio::test]
async fn a_token_has_its_appends_a_second_and_its_bytes() {
    let served = served();
    let path = "/v1/tasks/hers/events";
    let slow = served
        .limited("ana", TokenLimits { appends_per_second: Some(1), ..TokenLimits::default() });
    let mut refused = None;
    for _ in 0..1000 {
        let came = served.ask(request("POST", path, Some(&slow), EVENT)).await;
        if came.status != 201 {
            refused = Some(came);
            break;
        }
    }
    let refused = refused.expect("an end");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(refused.header("retry-after"), "1");
    let small =
        served.limited("ana", TokenLimits { bytes: Some(1_000_000), ..TokenLimits::default() });
    let text = "x".repeat(1_000_000);
    let long = format!(r#"{{"kind": "message", "body": {{"role": "user", "content": "{text}"}}}}"#);
    let came = served.ask(request("POST", path, Some(&small), &long)).await;
    assert_eq!(came.status, 403, "{came:?}");
    let came = served.ask(request("POST", path, Some(&small), EVENT)).await;
    assert_eq!(came.status, 201, "{came:?}");
}

#[tokio::test]
async fn a_user_starts_as_many_tasks_as_a_user_may_have() {
    let served = Served::with(milepost_server::ServerOptions::default().tasks(2));
    served.task("hers", "ana", 1);
    let (ana, admin) = (served.token("ana", false), served.token("root", true));
    let start = async |token: &str, body: &str| {
        let request = request("POST", "/v1/tasks", Some(token), body);
        served.ask(request).await.status
    };
    assert_eq!(start(&ana, r#"{"id": "hers"}"#).await, 409);
    assert_eq!(start(&ana, r#"{"id": "second"}"#).await, 201);
    assert_eq!(start(&ana, r#"{"id": "third"}"#).await, 403);
    // One that is there already is a conflict still.
    assert_eq!(start(&ana, r#"{"id": "second"}"#).await, 409);
    let bea = served.token("bea", false);
    assert_eq!(start(&bea, r#"{"id": "of-bea"}"#).await, 201);
    let gone = request("DELETE", "/v1/tasks/second", Some(&ana), "");
    assert_eq!(served.ask(gone).await.status, 204);
    assert_eq!(start(&ana, r#"{"id": "third"}"#).await, 201);
    assert_eq!(start(&ana, r#"{"id": "fourth"}"#).await, 403);
    // Admins have no limit. What an admin starts for a user counts as the user's.
    assert_eq!(start(&admin, r#"{"id": "fourth", "user": "ana"}"#).await, 201);
    for id in ["first", "next", "last"] {
        let body = format!(r#"{{"id": "{id}"}}"#);
        assert_eq!(start(&admin, &body).await, 201);
    }
    let gone = request("DELETE", "/v1/tasks/third", Some(&ana), "");
    assert_eq!(served.ask(gone).await.status, 204);
    assert_eq!(start(&ana, r#"{"id": "fifth"}"#).await, 403);
}

#[tokio::test]
async fn a_start_that_is_sent_again_under_its_key_counts_once() {
    let served = Served::with(milepost_server::ServerOptions::default().tasks(2));
    let ana = served.token("ana", false);
    for _ in 0..3 {
        let mut start = request("POST", "/v1/tasks", Some(&ana), r#"{"id": "once"}"#);
        let key = "once".parse().unwrap();
        start.headers_mut().insert("idempotency-key", key);
        assert_eq!(served.ask(start).await.status, 201);
    }
    let start = request("POST", "/v1/tasks", Some(&ana), r#"{"id": "second"}"#);
    assert_eq!(served.ask(start).await.status, 201);
}
