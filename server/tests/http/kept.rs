//! `/v1`: pins, blame, erasures, anchors.

use milepost::events::{Message, PatchForm, VariablesPatched};
use milepost::{Json, LineageId, Mark};
use serde_json::{Value, json};

use crate::changing::Three;
use crate::lists::problem;
use crate::served::Served;

fn score(score: u64) -> VariablesPatched {
    VariablesPatched {
        form: PatchForm::Merge,
        patch: Json::new(format!(r#"{{"score": {score}}}"#)).unwrap(),
    }
}

#[tokio::test]
async fn a_pin_is_given_listed_and_taken_back() {
    let three = Three::new();
    let task = three.served.engine.task("hers").unwrap();
    let id = task.checkpoint(Mark::new().label("one")).unwrap().id;
    let path = format!("/v1/checkpoints/{id}/pin");
    let came = three.ask("PUT", &path, &three.ana, r#"{"reason": "the best"}"#).await;
    assert_eq!(came.status, 200, "{came:?}");
    let pin = came.json();
    let named = (&pin["checkpoint"], &pin["label"], &pin["reason"]);
    assert_eq!(named, (&json!(id), &json!("one"), &json!("the best")));
    let list = three.ask("GET", "/v1/tasks/hers/pins", &three.ana, "").await;
    assert_eq!(list.json(), json!({"items": [pin], "next": null}));
    // Twice is once, and a reason may be left out.
    let again = three.ask("PUT", &path, &three.ana, "").await;
    assert_eq!(again.json()["reason"], Value::Null);
    assert_eq!(three.served.engine.retention().pins("hers").unwrap().len(), 1);
    for _ in 0..2 {
        let came = three.ask("DELETE", &path, &three.ana, "").await;
        assert_eq!((came.status.as_u16(), came.bytes.len()), (204, 0));
        assert_eq!(three.served.engine.retention().pins("hers").unwrap(), []);
    }
    let long = format!(r#"{{"reason": "{}"}}"#, "x".repeat(1025));
    let came = three.ask("PUT", &path, &three.ana, &long).await;
    assert_eq!(problem(&came), (400, "invalid".into()));
    let none = format!("/v1/checkpoints/{}/pin", "0".repeat(64));
    for method in ["PUT", "DELETE"] {
        three.hides(method, &path, &none, "").await;
    }
    three.hides("GET", "/v1/tasks/hers/pins", "/v1/tasks/none/pins", "").await;
}

#[tokio::test]
async fn blame_names_the_event_that_set_a_part_or_all_that_did() {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    for value in [1, 2, 2, 3] {
        task.append(score(value)).unwrap();
    }
    let path = "/v1/points/essay/blame?pointer=/variables/score";
    let blamed = served.get(path).await.json();
    let change = &blamed["changes"][0];
    assert_eq!(blamed["value"], 3);
    assert_eq!(change["point"], "essay/0@4");
    assert_eq!((&change["before"], &change["after"]), (&json!(2), &json!(3)));
    assert_eq!(blamed["changes"].as_array().unwrap().len(), 1);
    let all = served.get(&format!("{path}&history=true")).await.json();
    let offsets = all["changes"].as_array().unwrap().iter();
    let offsets: Vec<&Value> = offsets.map(|change| &change["offset"]).collect();
    assert_eq!(offsets, [4, 2, 1]);
    assert!(all["changes"][2].get("before").is_none(), "it was not there");
    for wrong in [
        "/v1/points/essay/blame",
        "/v1/points/essay/blame?pointer=score",
        "/v1/points/essay/blame?pointer=/a&history=often",
    ] {
        let came = served.get(wrong).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{wrong}");
    }
}

#[tokio::test]
async fn what_an_event_says_is_erased_and_its_kind_stays() {
    let three = Three::new();
    let task = three.served.engine.task("hers").unwrap();
    let at = task.append(Message::text("user", "secret")).unwrap().first;
    let path = format!("/v1/points/hers@{at}/erase");
    let erased = three.ask("POST", &path, &three.ana, r#"{"reason": "a name"}"#).await.json();
    assert_eq!(erased["was_erased"], false);
    assert_eq!((&erased["kind"], &erased["offset"]), (&json!("message"), &json!(at)));
    let event = three.ask("GET", &format!("/v1/points/hers@{at}/event"), &three.ana, "").await;
    assert_eq!(event.json()["body"], Value::Null);
    let again = three.ask("POST", &path, &three.ana, "").await.json();
    assert_eq!(again["was_erased"], true);
    let opening = three.ask("POST", "/v1/points/hers@0/erase", &three.ana, "").await;
    assert!([400, 409].contains(&opening.status.as_u16()), "{opening:?}");
    three.hides("POST", &path, "/v1/points/none@1/erase", "").await;
}

#[tokio::test]
async fn a_store_is_compared_with_an_anchor_that_was_answered_before() {
    let served = Served::new();
    served.task("essay", "ana", 3);
    let anchor = served.get("/v1/anchor").await.json();
    served.engine.task("essay").unwrap().append(Message::text("user", "more")).unwrap();
    let body = json!({"anchor": anchor, "states": true}).to_string();
    let came = served.post("/v1/verify", &body).await;
    assert_eq!(came.json()["ok"], true, "{came:?}");
    // The anchor of another store does not belong to this one.
    let other = Served::new().get("/v1/anchor").await.json();
    let body = json!({ "anchor": other }).to_string();
    let came = served.post("/v1/verify", &body).await;
    assert_eq!(problem(&came), (400, "invalid".into()));
    let mut changed = anchor.clone();
    changed["logs"][0]["next"] = json!(9);
    for body in [
        json!({"anchor": anchor, "task": "essay"}),
        json!({ "anchor": changed }),
        json!({"anchor": {}}),
        json!({"anchor": [null]}),
    ] {
        let came = served.post("/v1/verify", &body.to_string()).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{body}");
    }
}

#[tokio::test]
async fn a_checkpoint_may_be_marked_on_a_lineage_that_was_left() {
    let served = Served::new();
    served.task("essay", "ana", 3);
    let point = served.engine.point("essay@2").unwrap();
    served.engine.restore(&point).run().unwrap();
    let path = "/v1/tasks/essay/checkpoints";
    let came = served.post(path, r#"{"label": "left", "lineage": 0}"#).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!(came.json()["lineage"], 0);
    let marked = served.engine.point("essay/0@left").unwrap();
    assert_eq!((marked.lineage, marked.offset), (LineageId(0), 4));
    let none = served.post(path, r#"{"lineage": 7}"#).await;
    assert_eq!(problem(&none), (404, "not_found".into()));
}

#[tokio::test]
async fn checkpoints_of_all_tasks_are_listed_and_filtered_by_what_they_carry() {
    let three = Three::new();
    for (task, step) in [("hers", 1), ("hers", 2), ("his", 1)] {
        let metadata = Json::from_value(&json!({"step": step, "of": task})).unwrap();
        let mark = Mark::new().metadata(metadata);
        three.served.engine.task(task).unwrap().checkpoint(mark).unwrap();
    }
    let of = async |path: &str, token: &str| {
        let came = three.ask("GET", path, token, "").await;
        assert_eq!(came.status, 200, "{came:?}");
        let list = came.json();
        let items = list["items"].as_array().unwrap();
        let of = items.iter().map(|item| item["metadata"].to_string());
        of.collect::<Vec<_>>()
    };
    let (one, two) = (r#"{"of":"hers","step":1}"#, r#"{"of":"hers","step":2}"#);
    assert_eq!(of("/v1/checkpoints", &three.ana).await, [two, one]);
    let his = r#"{"of":"his","step":1}"#;
    let filtered = "/v1/checkpoints?filter=%7B%22step%22%3A1%7D";
    assert_eq!(of(filtered, &three.ana).await, [one]);
    assert_eq!(of(filtered, &three.bob).await, [his]);
    let hers = "/v1/tasks/hers/checkpoints?filter=%7B%22step%22%3A2%7D";
    assert_eq!(of(hers, &three.ana).await, [two]);
    assert_eq!(of("/v1/checkpoints?status=failure", &three.ana).await, [] as [&str; 0]);
    for wrong in ["[]", "3", "%7B"] {
        let path = format!("/v1/checkpoints?filter={wrong}");
        let came = three.ask("GET", &path, &three.ana, "").await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{wrong}");
    }
}

#[tokio::test]
async fn a_state_may_have_its_last_messages_only() {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    for text in ["one", "two", "three"] {
        task.append(Message::text("user", text)).unwrap();
    }
    let state = served.get("/v1/points/essay/state?messages=2").await.json();
    let messages = state["state"]["messages"].as_array().unwrap();
    let said: Vec<&Value> = messages.iter().map(|message| &message["content"]).collect();
    assert_eq!(said, ["two", "three"]);
    assert_eq!(state["state"]["message_count"], 3);
    assert_eq!(state["point"]["offset"], 4);
    let none = served.get("/v1/points/essay/state?messages=0").await.json();
    assert_eq!(none["state"]["messages"], json!([]));
    for wrong in ["1001", "-1", "all"] {
        let path = format!("/v1/points/essay/state?messages={wrong}");
        let came = served.get(&path).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{wrong}");
    }
}
