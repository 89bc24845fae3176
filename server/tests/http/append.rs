//! Events are appended: one, many, once, and at the expected head.

use milepost::Body;
use milepost::events::Data;
use serde_json::{Value, json};

use crate::changing::{Three, problem};
use crate::served::{Came, Served};

const PATH: &str = "/v1/tasks/hers/events";
const STEP: &str = r#"{"kind": "step_started", "body": {"step": 1}}"#;
const LINES: (&str, &str) = ("content-type", "application/x-ndjson");

async fn lines(three: &Three, body: &str) -> Came {
    three.with("POST", PATH, &[LINES], body).await
}

fn head(three: &Three) -> u64 {
    let task = three.served.engine.task("hers").unwrap();
    task.head().unwrap().next
}

#[tokio::test]
async fn an_event_is_there_as_it_was_sent_with_who_sent_it_and_under_which_request() {
    let three = Three::new();
    let came = three.with("POST", PATH, &[("x-request-id", "req-1")], STEP).await;
    assert_eq!(came.status, 201, "{came:?}");
    let task = three.served.engine.task("hers").unwrap();
    let hash = task.head().unwrap().hash.to_string();
    let expected = json!({"first": 1, "next": 2, "hash": hash, "repeated": false});
    assert_eq!(came.json(), expected);
    assert_eq!(came.header("etag"), "\"2\"");
    let event = task.read(1..2).unwrap().next().unwrap().unwrap();
    assert_eq!(event.header.user.as_deref(), Some("ana"));
    assert_eq!(event.header.correlation.as_deref(), Some("req-1"));
    assert_eq!(event.header.actor, None);
    assert!(matches!(event.body, Some(Body::StepStarted(step)) if step.step == 1));
}

#[tokio::test]
async fn a_body_is_taken_word_for_word_with_its_kind_or_without() {
    let three = Three::new();
    let numbers = r#"{"n": 18446744073709551615,  "x": 1e400}"#;
    for kind in ["", r#""kind": "application", "#] {
        let body = format!(
            r#"{{"kind": "application", "body": {{{kind}"name": "mine", "data": {numbers}}}}}"#
        );
        let came = three.post(PATH, &body).await;
        assert_eq!(came.status, 201, "{came:?}");
        let task = three.served.engine.task("hers").unwrap();
        let at = head(&three) - 1;
        let event = task.read(at..).unwrap().next().unwrap().unwrap();
        let Some(Body::Application(said)) = event.body else { panic!("another kind") };
        assert!(matches!(said.data, Data::Json(json) if json.text() == numbers));
    }
    // Fields of a message besides the named ones stay.
    let message = r#"{"kind": "message", "body": {"role": "user", "content": "hi", "tokens": 3}}"#;
    assert_eq!(three.post(PATH, message).await.status, 201);
}

#[tokio::test]
async fn many_events_and_a_mark_are_one_commit() {
    let three = Three::new();
    let body = "{\"kind\": \"step_started\", \"body\": {\"step\": 1}}\r\n\n\
                {\"kind\": \"step_finished\", \"body\": {\"step\": 1}}\n\
                {\"mark\": {\"label\": \"done\", \"metadata\": {\"n\": 1}, \"aliases\": [\"c-1\"]}}";
    let commits = || three.served.engine.store().metrics().commits;
    let before = commits();
    let came = lines(&three, body).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!(commits(), before + 1);
    let form = came.json();
    assert_eq!((&form["first"], &form["next"]), (&json!(1), &json!(4)));
    let id = form["checkpoint"].as_str().unwrap();
    let checkpoint = three.served.engine.query().checkpoint(id).unwrap();
    assert_eq!(checkpoint.label.as_deref(), Some("done"));
    assert_eq!((checkpoint.at, checkpoint.aliases), (3, vec!["c-1".to_owned()]));
    let one = r#"{"kind": "step_started", "body": {"step": 2}, "mark": {"status": "failure"}}"#;
    let came = three.post(PATH, one).await;
    assert_eq!(came.status, 201);
    assert!(came.json()["checkpoint"].is_string());
}

#[tokio::test]
async fn the_expected_head_has_to_be_the_head_and_the_answer_says_which_is() {
    let three = Three::new();
    let at = |head: &'static str| {
        let three = &three;
        async move { three.with("POST", PATH, &[("if-match", head)], STEP).await }
    };
    let first = at("\"1\"").await;
    assert_eq!((first.status.as_u16(), first.header("etag")), (201, "\"2\""));
    let missed = at("\"1\"").await;
    assert_eq!(problem(&missed), (412, "conflict".into()));
    assert_eq!(missed.json()["head"], 2);
    for malformed in ["1", "W/\"2\"", "\"2\", \"3\"", "*", "\"x\""] {
        assert_eq!(problem(&at(malformed).await), (400, "invalid".into()), "{malformed}");
    }
    assert_eq!(head(&three), 2);
}

#[tokio::test]
async fn under_a_key_it_is_appended_once_and_another_body_is_a_conflict() {
    let three = Three::new();
    let keyed = |key: &'static str, body: &'static str| {
        let three = &three;
        // The head that was expected then: it is not looked at again.
        let headers = [("idempotency-key", key), ("if-match", "\"1\"")];
        async move { three.with("POST", PATH, &headers, body).await }
    };
    let marked = r#"{"kind": "step_started", "body": {"step": 1}, "mark": {"label": "a"}}"#;
    let first = keyed("k-1", marked).await;
    assert_eq!(first.status, 201);
    let again = keyed("\"k-1\"", marked).await;
    assert_eq!(again.status, 200);
    let mut same = first.json();
    same["repeated"] = json!(true);
    assert_eq!(again.json(), same);
    assert_eq!(again.header("etag"), first.header("etag"));
    let other = r#"{"kind": "step_started", "body": {"step": 2}}"#;
    let refused = keyed("k-1", other).await;
    assert_eq!(problem(&refused), (409, "conflict".into()));
    assert!(refused.json().get("head").is_none());
    for malformed in ["", "a b", "\"a"] {
        assert_eq!(keyed(malformed, STEP).await.status, 400, "{malformed}");
    }
    assert_eq!(head(&three), 3);
}

#[tokio::test]
async fn a_lineage_is_appended_to_by_its_number() {
    let three = Three::new();
    let engine = &three.served.engine;
    engine.branch(&engine.point("hers@1").unwrap()).run().unwrap();
    let came = three.post(&format!("{PATH}?lineage=1"), STEP).await;
    assert_eq!((came.status.as_u16(), &came.json()["next"]), (201, &json!(3)));
    assert_eq!(head(&three), 1, "the active one stays");
    let none = three.post(&format!("{PATH}?lineage=7"), STEP).await;
    assert_eq!(problem(&none), (404, "not_found".into()));
    for query in ["lineage=x", "lineage=-1", "branch=1"] {
        let came = three.post(&format!("{PATH}?{query}"), STEP).await;
        assert_eq!(came.status, 400, "{query}");
    }
}

#[tokio::test]
async fn what_is_no_event_or_only_the_engine_makes_is_refused_and_says_why() {
    let three = Three::new();
    let says = |came: &Came| came.json()["detail"].as_str().unwrap().to_owned();
    let root = "0".repeat(64);
    let capture = format!(
        r#"{{"kind": "workspace_captured", "body": {{"root": "{root}", "files": 1, "bytes": 1, "skipped": 0}}}}"#
    );
    for (body, why) in [
        (r#"{"kind": "lineage_opened", "body": {"lineage_type": "root"}}"#, "made by the engine"),
        (
            r#"{"kind": "checkpoint_marked", "body": {"cause": "manual", "status": "success"}}"#,
            "made by the engine",
        ),
        (
            r#"{"kind": "data_attached", "body": {"writer": "w", "index": 0, "name": "", "data": 1}}"#,
            "data is attached at `/attachments`",
        ),
        (
            r#"{"kind": "control_changed", "body": {"from": "paused", "to": "running"}}"#,
            "the run is idle",
        ),
        (r#"{"kind": "step_strated", "body": {"step": 1}}"#, "there is no kind `step_strated`"),
        (
            r#"{"kind": "step_started", "body": {"kind": "step_failed", "step": 1}}"#,
            "that of `body` is `step_failed`",
        ),
        (r#"{"kind": "step_started", "body": {"stp": 1}}"#, "stp"),
        (r#"{"kind": "step_started", "body": [1]}"#, "no object"),
        (r#"{"kind": "step_started"}"#, "body"),
        (r#"{"kind": "step_started", "body": {"step": 1}, "time_us": "3"}"#, "time_us"),
        (r#"{"kind": "step_started", "body": {"step": 1}, "mark": {"label": "17"}}"#, "17"),
        (r#"[{"kind": "step_started"}]"#, "no JSON object"),
        ("", "empty"),
        (&capture, "not taken over HTTP"),
    ] {
        let came = three.post(PATH, body).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{body} {came:?}");
        assert!(says(&came).contains(why), "{body}: {}", says(&came));
    }
    let mark = r#"{"mark": {}}"#;
    for (body, why) in [
        ("", "no events"),
        (" \n\r\n", "no events"),
        (mark, "no events"),
        (&format!("{STEP}\n{{}}"), "line 2: there is no `kind`"),
        (&format!("{STEP}\n\nx"), "line 3"),
        (&format!("{STEP}\n{mark}\n{STEP}"), "line 3 is behind the mark"),
        (&STEP.replace("}}", "}, \"mark\": {}}"), "line of its own"),
    ] {
        let came = lines(&three, body).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{body}");
        assert!(says(&came).contains(why), "{body}: {}", says(&came));
    }
    let came = three.with("POST", PATH, &[("content-type", "text/csv")], STEP).await;
    assert_eq!(problem(&came), (415, "media_type".into()));
    assert_eq!(head(&three), 1, "nothing was appended");
}

#[tokio::test]
async fn ten_thousand_events_are_taken_at_once_and_no_more() {
    let three = Three::new();
    let most = format!("{STEP}\n").repeat(10_000);
    assert_eq!(lines(&three, &format!("{most}{STEP}")).await.status, 400);
    assert_eq!(head(&three), 1);
    let came = lines(&three, &format!("{most}{{\"mark\": {{}}}}\n")).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!(head(&three), 10_002);
}

#[tokio::test]
async fn to_somebody_elses_task_nothing_is_appended() {
    let three = Three::new();
    three.hides("POST", PATH, "/v1/tasks/none/events", STEP).await;
    let events = three.served.engine.task("hers").unwrap().read(1..).unwrap();
    let users: Vec<_> = events.map(|event| event.unwrap().header.user.unwrap()).collect();
    assert_eq!(users, ["root"]);
}

#[tokio::test]
async fn a_shown_body_can_be_sent_again() {
    let three = Three::new();
    assert_eq!(three.post(PATH, STEP).await.status, 201);
    let task = three.served.engine.task("hers").unwrap();
    let event = task.read(1..).unwrap().next().unwrap().unwrap();
    let body: Value = serde_json::to_value(event.body).unwrap();
    let again = json!({"kind": body["kind"], "body": body}).to_string();
    assert_eq!(three.post(PATH, &again).await.status, 201);
}

#[tokio::test]
async fn a_pack_that_cannot_be_opened_refuses_one_append_and_not_the_next() {
    let served = Served::new();
    served.task("hers", "ana", 1);
    let body = |fill: &str| {
        let content = fill.repeat(300_000);
        json!({"kind": "message", "body": {"role": "user", "content": content}}).to_string()
    };
    let pack = served.dir.path().join("packs/0000000001.pack");
    std::fs::create_dir(&pack).unwrap();
    let path = "/v1/tasks/hers/events";
    let came = served.post(path, &body("a")).await;
    assert_eq!(came.status, 503, "{came:?}");
    let small = r#"{"kind": "step_started", "body": {"step": 1}}"#;
    assert_eq!(served.post(path, small).await.status, 201);
    std::fs::remove_dir(&pack).unwrap();
    assert_eq!(served.post(path, &body("b")).await.status, 201);
    assert_eq!(served.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn lines_that_each_have_a_key_are_appended_once_and_the_answer_tells_which_are_new() {
    let three = Three::new();
    let line = |key: &str, step: u64| {
        json!({"kind": "step_started", "body": {"step": step}, "key": key}).to_string()
    };
    let place = |at: u64, repeated: bool| json!({"offset": at, "repeated": repeated});
    let came = lines(&three, &[line("a", 1), line("b", 2)].join("\n")).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!(came.json()["events"], json!([place(1, false), place(2, false)]));
    let mark = r#"{"mark": {"label": "three"}}"#.to_owned();
    let both = [line("b", 2), line("c", 3), line("c", 3), mark].join("\n");
    let came = lines(&three, &both).await;
    assert_eq!(came.status, 201, "{came:?}");
    let places = [place(2, true), place(3, false), place(3, true)];
    assert_eq!((&came.json()["events"], &came.json()["first"]), (&json!(places), &json!(3)));
    let checkpoint = came.json()["checkpoint"].clone();
    assert!(checkpoint.is_string());
    let came = lines(&three, &both).await;
    assert_eq!((came.status.as_u16(), &came.json()["repeated"]), (200, &json!(true)), "{came:?}");
    assert_eq!((&came.json()["checkpoint"], came.header("etag")), (&checkpoint, "\"5\""));
    let came = three.post(PATH, &line("a", 1)).await;
    assert_eq!((came.status.as_u16(), &came.json()["events"]), (200, &json!([place(1, true)])));
    let before = head(&three);
    let conflict = lines(&three, &[line("d", 4), line("a", 2)].join("\n")).await;
    assert_eq!(problem(&conflict).0, 409);
    for (body, text) in [
        ([line("d", 4), STEP.to_owned()], "line 2: each event has a `key`, or none has one"),
        ([STEP.to_owned(), line("d", 4)], "line 2: each event has a `key`, or none has one"),
        ([line("", 4), line("d", 5)], "1 to 1024 bytes"),
        ([line("d", 4), r#"{"key": "e", "mark": {}}"#.to_owned()], "line 2: a mark has no `key`"),
    ] {
        let came = lines(&three, &body.join("\n")).await;
        assert_eq!(problem(&came).0, 400, "{text}");
        assert!(came.json()["detail"].as_str().unwrap().contains(text), "{came:?}");
    }
    let keyed = [LINES, ("idempotency-key", "k")];
    let came = three.with("POST", PATH, &keyed, &line("d", 4)).await;
    assert_eq!(problem(&came).0, 400);
    assert_eq!(head(&three), before);
}
