//! Tasks are started and deleted.

use serde_json::json;

use crate::changing::{Three, problem};

#[tokio::test]
async fn a_task_is_started_for_oneself_and_answers_at_its_location() {
    let three = Three::new();
    let came =
        three.post("/v1/tasks", r#"{"id": "a b/c", "initial": {"phase": "drafting"}}"#).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!(came.header("location"), "/v1/tasks/a%20b%2Fc");
    let form = came.json();
    assert_eq!((&form["id"], &form["user"]), (&json!("a b/c"), &json!("ana")));
    assert_eq!((&form["active"], &form["head"]), (&json!(0), &json!(1)));
    let there = three.ask("GET", "/v1/tasks/a%20b%2Fc", &three.ana, "").await;
    assert_eq!(there.json(), form);
    let state = three.served.engine.run_state(&three.served.engine.point("a b%2Fc").unwrap());
    assert_eq!(state.unwrap().phase.as_deref(), Some("drafting"));
}

#[tokio::test]
async fn only_an_admin_starts_a_task_for_somebody_else() {
    let three = Three::new();
    let body = r#"{"id": "new", "user": "bob"}"#;
    let came = three.post("/v1/tasks", body).await;
    assert_eq!(problem(&came), (403, "forbidden".into()));
    assert!(three.served.engine.task("new").is_err());
    let came = three.ask("POST", "/v1/tasks", &three.root, body).await;
    assert_eq!((came.status.as_u16(), &came.json()["user"]), (201, &json!("bob")));
    let own = three.post("/v1/tasks", r#"{"id": "own", "user": "ana"}"#).await;
    assert_eq!(own.status, 201);
}

#[tokio::test]
async fn a_taken_id_answers_the_same_whosever_task_it_is() {
    let three = Three::new();
    let detail = |came: &crate::served::Came| came.json()["detail"].as_str().unwrap().to_owned();
    let own = three.post("/v1/tasks", r#"{"id": "hers"}"#).await;
    let others = three.post("/v1/tasks", r#"{"id": "his"}"#).await;
    assert_eq!(problem(&own), (409, "conflict".into()));
    assert_eq!(problem(&others), (409, "conflict".into()));
    assert_eq!(detail(&own).replace("hers", "his"), detail(&others));
    assert!(own.json().get("head").is_none());
}

#[tokio::test]
async fn what_is_no_task_is_refused() {
    let three = Three::new();
    let long = format!(r#"{{"id": "{}"}}"#, "x".repeat(1025));
    for body in [
        "",
        "{}",
        "[\"a\", null, null]",
        "null",
        "{\"id\": 1}",
        "{\"id\": \"\"}",
        "{\"id\": \"a\\nb\"}",
        r#"{"id": "a", "more": 1}"#,
        "{\"id\": \"a\"",
        &long,
    ] {
        let came = three.post("/v1/tasks", body).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{body}");
    }
    let came = three.with("POST", "/v1/tasks", &[("content-type", "text/plain")], "{}").await;
    assert_eq!(problem(&came), (415, "media_type".into()));
    let came = three.ask("PUT", "/v1/tasks", &three.ana, "").await;
    assert_eq!(problem(&came), (405, "method_not_allowed".into()));
    assert!(came.header("allow").contains("POST"));
}

#[tokio::test]
async fn a_deleted_task_is_gone_and_somebody_elses_is_not_there() {
    let three = Three::new();
    let gone = three.ask("DELETE", "/v1/tasks/his", &three.bob, "").await;
    assert_eq!((gone.status.as_u16(), gone.bytes.len()), (204, 0));
    let again = three.ask("DELETE", "/v1/tasks/his", &three.bob, "").await;
    assert_eq!(problem(&again), (404, "not_found".into()));
    let still = three.ask("DELETE", "/v1/tasks/hers", &three.bob, "").await;
    assert_eq!(still.status, 404);
    assert!(three.served.engine.task("hers").is_ok());
    three.hides("DELETE", "/v1/tasks/hers", "/v1/tasks/none", "").await;
    assert!(three.served.engine.task("hers").is_err(), "an admin deleted it");
}

#[tokio::test]
async fn conditions_that_are_not_looked_at_are_refused() {
    let three = Three::new();
    let conditions = [("if-match", "\"99\""), ("idempotency-key", "k")];
    for condition in conditions {
        for (method, path, body) in
            [("DELETE", "/v1/tasks/hers", ""), ("POST", "/v1/tasks", r#"{"id": "new"}"#)]
        {
            // A start is done once under a key.
            if (method, condition.0) == ("POST", "idempotency-key") {
                continue;
            }
            let came = three.with(method, path, &[condition], body).await;
            assert_eq!(problem(&came), (400, "invalid".into()), "{method} {condition:?}");
        }
    }
    assert!(three.served.engine.task("hers").is_ok());
    assert!(three.served.engine.task("new").is_err());
}

#[tokio::test]
async fn a_task_is_copied_for_oneself_once_under_a_key_and_others_are_none() {
    let three = Three::new();
    three.served.engine.task("hers").unwrap().checkpoint(milepost::Mark::new()).unwrap();
    let body = r#"{"id": "copy", "copy_of": "hers"}"#;
    let keyed = [("idempotency-key", "k")];
    for _ in 0..2 {
        let came = three.with("POST", "/v1/tasks", &keyed, body).await;
        assert_eq!((came.status.as_u16(), &came.json()["user"]), (201, &json!("ana")), "{came:?}");
        assert_eq!(came.header("location"), "/v1/tasks/copy");
    }
    assert_eq!(three.served.engine.task("copy").unwrap().checkpoints().unwrap(), 1);
    for (body, expected) in [
        (body, (409, "conflict")),
        (r#"{"id": "his", "copy_of": "hers"}"#, (409, "conflict")),
        (r#"{"id": "new", "copy_of": "his"}"#, (404, "not_found")),
        (r#"{"id": "new", "copy_of": "none"}"#, (404, "not_found")),
        (r#"{"id": "new", "copy_of": "hers", "initial": {}}"#, (400, "invalid")),
        (r#"{"id": "new", "copy_of": ""}"#, (404, "not_found")),
        (r#"{"id": "new", "copy_of": "hers", "user": "bob"}"#, (403, "forbidden")),
    ] {
        let came = three.post("/v1/tasks", body).await;
        assert_eq!(problem(&came), (expected.0, expected.1.to_owned()), "{body}");
    }
    let given = r#"{"id": "new", "copy_of": "his", "user": "ana"}"#;
    let came = three.ask("POST", "/v1/tasks", &three.root, given).await;
    assert_eq!((came.status.as_u16(), &came.json()["user"]), (201, &json!("ana")));
}
