//! Runs are controlled, guidance is given, artifacts are edited.

use std::sync::Arc;

use milepost::events::RunControl;
use serde_json::json;

use crate::changing::{Three, problem};

const CONTROL: &str = "/v1/tasks/hers/control";
const GUIDANCE: &str = "/v1/tasks/hers/guidance";
const ARTIFACTS: &str = "/v1/tasks/hers/artifacts";
const BEGIN: &str = r#"{"to": "running"}"#;

fn control(three: &Three) -> RunControl {
    three.served.engine.task("hers").unwrap().control().now().unwrap()
}

#[tokio::test]
async fn a_run_is_begun_paused_resumed_stopped_and_cleared() {
    let three = Three::new();
    let changes = ["running", "paused", "running", "stopped", "idle"];
    for (head, to) in (2..).zip(changes) {
        let body = json!({"to": to, "reason": "why not"}).to_string();
        let came = three.with("POST", CONTROL, &[("x-request-id", "r")], &body).await;
        assert_eq!(came.status, 200, "{came:?}");
        assert_eq!(came.json(), json!({"control": to, "repeated": false}));
        assert_eq!(came.header("etag"), format!("\"{head}\""));
        assert_eq!(control(&three).name(), to);
    }
    let task = three.served.engine.task("hers").unwrap();
    let last = task.read(5..).unwrap().next().unwrap().unwrap().header;
    assert_eq!((last.user.as_deref(), last.correlation.as_deref()), (Some("ana"), Some("r")));
}

#[tokio::test]
async fn a_change_that_is_not_allowed_is_a_conflict_and_changes_nothing() {
    let three = Three::new();
    for to in ["idle", "paused", "stopped"] {
        let came = three.post(CONTROL, &json!({"to": to}).to_string()).await;
        assert_eq!(problem(&came), (409, "conflict".into()));
        let detail = came.json()["detail"].to_string();
        assert!(detail.contains("from idle") && detail.contains(to), "{detail}");
    }
    for body in ["", "{}", r#"{"to": "stopping"}"#, r#"{"to": "running", "actor": "x"}"#] {
        assert_eq!(problem(&three.post(CONTROL, body).await).0, 400, "{body}");
    }
    let came = three.with("POST", CONTROL, &[("if-match", "\"9\"")], BEGIN).await;
    assert_eq!((problem(&came).0, &came.json()["head"]), (412, &json!(1)));
    assert_eq!(control(&three), RunControl::Idle);
}

#[tokio::test]
async fn under_a_key_the_control_is_changed_once_whatever_it_is_since() {
    let three = Three::new();
    let keyed = |body: &'static str| {
        let three = &three;
        async move { three.with("POST", CONTROL, &[("idempotency-key", "k")], body).await }
    };
    let first = keyed(BEGIN).await;
    assert_eq!((first.status.as_u16(), first.header("etag")), (200, "\"2\""));
    three.post(CONTROL, r#"{"to": "stopped"}"#).await;
    let again = keyed(BEGIN).await;
    assert_eq!(again.json(), json!({"control": "running", "repeated": true}));
    assert_eq!(again.header("etag"), "\"2\"");
    assert_eq!(control(&three), RunControl::Stopped, "it was not begun again");
    let other = keyed(r#"{"to": "idle"}"#).await;
    assert_eq!(problem(&other), (409, "conflict".into()));
    assert_eq!(control(&three), RunControl::Stopped);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_one_key_sent_many_times_at_once_one_changes_the_control() {
    let three = Arc::new(Three::new());
    for round in 0..20 {
        three.served.task(&round.to_string(), "ana", 0);
        let asked = (0..8).map(|_| {
            let three = Arc::clone(&three);
            tokio::spawn(async move {
                let path = format!("/v1/tasks/{round}/control");
                let keyed = [("idempotency-key", "k")];
                three.with("POST", &path, &keyed, BEGIN).await
            })
        });
        let mut new = 0;
        for asked in asked.collect::<Vec<_>>() {
            let came = asked.await.unwrap();
            assert_eq!(came.status, 200, "{came:?}");
            new += u32::from(came.json()["repeated"] == false);
        }
        assert_eq!(new, 1);
    }
}

#[tokio::test]
async fn guidance_is_in_the_state_with_what_it_is_for() {
    let three = Three::new();
    let came = three.post(GUIDANCE, r#"{"text": "shorter", "target": "intro"}"#).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!((&came.json()["next"], came.header("etag")), (&json!(2), "\"2\""));
    let task = three.served.engine.task("hers").unwrap();
    let event = task.read(1..).unwrap().next().unwrap().unwrap();
    let body = serde_json::to_value(event.body).unwrap();
    let expected =
        json!({"kind": "guidance_given", "text": "shorter", "data": {"target": "intro"}});
    assert_eq!(body, expected);
    let keyed = [("idempotency-key", "g")];
    assert_eq!(three.with("POST", GUIDANCE, &keyed, r#"{"text": "a"}"#).await.status, 201);
    let again = three.with("POST", GUIDANCE, &keyed, r#"{"text": "a"}"#).await;
    assert_eq!((again.status.as_u16(), &again.json()["repeated"]), (200, &json!(true)));
    for body in ["", "{}", r#"{"text": 3}"#, r#"{"text": "a", "data": {}}"#] {
        assert_eq!(problem(&three.post(GUIDANCE, body).await).0, 400, "{body}");
    }
}

#[tokio::test]
async fn artifacts_are_set_and_removed_by_name() {
    let three = Three::new();
    let patch = |headers: &'static [(&'static str, &'static str)], body: &'static str| {
        let three = &three;
        async move { three.with("PATCH", ARTIFACTS, headers, body).await }
    };
    let came = patch(&[], r#"{"a": {"x": 1}, "b": "text"}"#).await;
    assert_eq!((came.status.as_u16(), came.header("etag")), (200, "\"2\""));
    let merge = &[("content-type", "application/merge-patch+json")];
    assert_eq!(patch(merge, r#"{"a": {"y": 2}, "b": null}"#).await.status, 200);
    let engine = &three.served.engine;
    let state = engine.run_state(&engine.point("hers").unwrap()).unwrap();
    let left: Vec<_> = state.artifacts.iter().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].1.text(), r#"{"y": 2}"#, "a value is taken whole");
    let missed = patch(&[("if-match", "\"2\"")], r#"{"a": 1}"#).await;
    assert_eq!((problem(&missed).0, &missed.json()["head"]), (412, &json!(3)));
    for body in ["", "{}", "[]", "3"] {
        assert_eq!(problem(&patch(&[], body).await).0, 400, "{body}");
    }
}

#[tokio::test]
async fn nothing_of_somebody_elses_run_is_changed() {
    let three = Three::new();
    let none = |path: &str| path.replace("hers", "none");
    three.hides("POST", CONTROL, &none(CONTROL), BEGIN).await;
    three.hides("POST", GUIDANCE, &none(GUIDANCE), r#"{"text": "a"}"#).await;
    three.hides("PATCH", ARTIFACTS, &none(ARTIFACTS), r#"{"a": 1}"#).await;
    let head = three.served.engine.task("hers").unwrap().head().unwrap();
    assert_eq!(head.next, 4, "the admin's three");
}
