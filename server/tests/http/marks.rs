//! Checkpoints are marked and taken away.

use serde_json::json;

use crate::changing::{Three, problem};

const PATH: &str = "/v1/tasks/hers/checkpoints";

#[tokio::test]
async fn a_checkpoint_is_marked_and_named_by_its_location() {
    let three = Three::new();
    let body = r#"{"label": "draft", "status": "failure", "metadata": {"n": 1.50}, "aliases": ["c-1", "c-2"]}"#;
    let came = three.with("POST", PATH, &[("x-request-id", "req-1")], body).await;
    assert_eq!(came.status, 201, "{came:?}");
    let form = came.json();
    let id = form["id"].as_str().unwrap();
    assert_eq!(came.header("location"), format!("/v1/checkpoints/{id}"));
    for (field, value) in [
        ("task", json!("hers")),
        ("at", json!(1)),
        ("mark", json!(1)),
        ("label", json!("draft")),
        ("cause", json!("manual")),
        ("status", json!("failure")),
        ("aliases", json!(["c-1", "c-2"])),
    ] {
        assert_eq!(form[field], value, "{field}");
    }
    assert!(String::from_utf8_lossy(&came.bytes).contains("{\"n\": 1.50}"));
    let task = three.served.engine.task("hers").unwrap();
    let event = task.read(1..).unwrap().next().unwrap().unwrap();
    assert_eq!(event.header.correlation.as_deref(), Some("req-1"));
}

#[tokio::test]
async fn an_earlier_point_is_marked_by_its_offset() {
    let three = Three::new();
    assert_eq!(three.post(PATH, "{}").await.status, 201);
    let came = three.post(PATH, r#"{"at": "1"}"#).await;
    assert_eq!((came.status.as_u16(), &came.json()["at"]), (201, &json!(1)));
    assert_eq!(came.json()["mark"], 2);
    let head = three.post(PATH, r#"{"at": 3}"#).await;
    assert_eq!((head.status.as_u16(), &head.json()["at"]), (201, &json!(3)));
    let past = three.post(PATH, r#"{"at": "99"}"#).await;
    assert_eq!(problem(&past), (400, "invalid".into()));
}

#[tokio::test]
async fn what_is_no_mark_is_refused() {
    let three = Three::new();
    for body in [
        "",
        "[]",
        r#"{"label": "17"}"#,
        r#"{"status": "fine"}"#,
        r#"{"metadata": 3}"#,
        r#"{"at": -1}"#,
        r#"{"pinned": true}"#,
        r#"{"alias": "c-1"}"#,
        r#"{"aliases": "c-1"}"#,
    ] {
        let came = three.post(PATH, body).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{body}");
    }
    assert_eq!(three.served.engine.task("hers").unwrap().checkpoints().unwrap(), 0);
    three.hides("POST", PATH, "/v1/tasks/none/checkpoints", "{}").await;
}

#[tokio::test]
async fn a_mark_is_taken_away_unless_it_is_pinned() {
    let three = Three::new();
    let task = three.served.engine.task("hers").unwrap();
    let [one, two] = [0; 2].map(|_| task.checkpoint(milepost::Mark::new()).unwrap().id);
    let path = |id: &dyn std::fmt::Display| format!("/v1/checkpoints/{id}");
    let came = three.ask("DELETE", &path(&one), &three.ana, "").await;
    assert_eq!((came.status.as_u16(), came.bytes.len()), (204, 0));
    let again = three.ask("DELETE", &path(&one), &three.ana, "").await;
    assert_eq!(problem(&again), (404, "not_found".into()));
    three.served.engine.retention().pin(&two, None).unwrap();
    let pinned = three.ask("DELETE", &path(&two), &three.ana, "").await;
    assert_eq!(problem(&pinned), (409, "conflict".into()));
    let bobs = three.ask("DELETE", &path(&two), &three.bob, "").await;
    assert_eq!(problem(&bobs), (404, "not_found".into()), "nor that it is pinned");
    three.served.engine.retention().unpin(&two).unwrap();
    assert_eq!(three.ask("DELETE", &path(&"xyz"), &three.ana, "").await.status, 404);
    three.hides("DELETE", &path(&two), &path(&"0".repeat(64)), "").await;
    assert_eq!(task.checkpoints().unwrap(), 0);
}

#[tokio::test]
async fn lists_and_names_end_at_their_limit_while_they_are_read() {
    let three = Three::new();
    let many = ["\"a\""; 9].join(",");
    let long = "x".repeat(5000);
    // Bytes after the limit are not parsed as JSON.
    for (method, path, body, said) in [
        ("POST", "/v1/tasks/hers/checkpoints", format!("{{\"aliases\": [{many}, !"), "8 aliases"),
        (
            "POST",
            "/v1/tasks/hers/checkpoints",
            format!("{{\"label\": \"{long}\", !"),
            "longer than",
        ),
        ("POST", "/v1/tasks", format!("{{\"id\": \"{long}\", !"), "longer than"),
        ("POST", "/v1/restores", format!("{{\"to\": \"{long}\", !"), "longer than"),
        (
            "PATCH",
            "/v1/tasks/hers/artifacts",
            (0..=10_000).fold("{".to_owned(), |text, n| text + &format!("\"{n}\": 1,")) + "!",
            "more than 10000",
        ),
    ] {
        let came = three.ask(method, path, &three.ana, &body).await;
        assert_eq!(came.status, 400, "{came:?}");
        let detail = came.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(said), "{detail}");
    }
}
