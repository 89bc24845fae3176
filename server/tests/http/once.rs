//! G2: starts, marks, restores and undos that are repeated under their key are done once.

use milepost::LineageId;
use serde_json::json;

use crate::changing::{Three, problem};

const MARKS: &str = "/v1/tasks/hers/checkpoints";
const EVENTS: &str = "/v1/tasks/hers/events";
const SAID: &str = r#"{"kind": "message", "body": {"role": "user", "content": "x"}}"#;

fn key(key: &str) -> [(&'static str, &str); 1] {
    [("idempotency-key", key)]
}

#[tokio::test]
async fn a_start_that_is_asked_again_under_its_key_gives_the_task_that_was_started() {
    let three = Three::new();
    let body = r#"{"id": "new", "initial": {"phase": "a"}}"#;
    let first = three.with("POST", "/v1/tasks", &key("k"), body).await;
    assert_eq!(first.status, 201, "{first:?}");
    let again = three.with("POST", "/v1/tasks", &key("k"), body).await;
    assert_eq!((again.status, again.json()), (first.status, first.json()));
    for (headers, body) in
        [(&key("other")[..], body), (&[][..], body), (&key("k")[..], r#"{"id": "new"}"#)]
    {
        let came = three.with("POST", "/v1/tasks", headers, body).await;
        assert_eq!(problem(&came).0, 409, "{headers:?}");
    }
}

#[tokio::test]
async fn a_mark_that_is_asked_again_under_its_key_gives_the_checkpoint_that_was_marked() {
    let three = Three::new();
    let body = r#"{"label": "one"}"#;
    let first = three.with("POST", MARKS, &key("k"), body).await;
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(three.post(EVENTS, SAID).await.status, 201);
    let again = three.with("POST", MARKS, &key("k"), body).await;
    assert_eq!((again.status, again.json()), (first.status, first.json()));
    let task = three.served.engine.task("hers").unwrap();
    assert_eq!(task.checkpoints().unwrap(), 1);
    let other = three.with("POST", MARKS, &key("k"), r#"{"label": "two"}"#).await;
    assert_eq!(problem(&other).0, 409);
    let append = three.with("POST", EVENTS, &key("k"), SAID).await;
    assert_eq!(problem(&append).0, 409, "one key is for one thing");
    assert_eq!(three.with("POST", EVENTS, &key("e"), SAID).await.status, 201);
    let mark = three.with("POST", MARKS, &key("e"), body).await;
    assert_eq!(problem(&mark).0, 409, "the other way round, too");
}

#[tokio::test]
async fn a_mark_onto_a_head_that_is_elsewhere_is_412_with_the_head() {
    let three = Three::new();
    let head = [("if-match", "\"1\"")];
    let first = three.with("POST", MARKS, &head, "{}").await;
    assert_eq!(first.status, 201, "{first:?}");
    let again = three.with("POST", MARKS, &head, "{}").await;
    assert_eq!((again.status.as_u16(), &again.json()["head"]), (412, &json!(2)));
}

#[tokio::test]
async fn a_restore_that_is_asked_again_under_its_key_opens_no_second_lineage() {
    let three = Three::new();
    assert_eq!(three.post(EVENTS, SAID).await.status, 201);
    let body = r#"{"to": "hers@1"}"#;
    let path = "/v1/restores";
    let first = three.with("POST", path, &key("r"), body).await;
    assert_eq!((first.status.as_u16(), &first.json()["lineage"]["id"]), (201, &json!(1)));
    let again = three.with("POST", path, &key("r"), body).await;
    assert_eq!((again.status, again.json()), (first.status, first.json()));
    // Whatever came after it.
    assert_eq!(three.post("/v1/tasks/hers/undo", "").await.status, 200);
    let again = three.with("POST", path, &key("r"), r#"{"to": "hers/0@1"}"#).await;
    assert_eq!(again.json()["lineage"]["id"], 1, "{again:?}");
    let elsewhere = three.with("POST", path, &key("r"), r#"{"to": "hers/0@2"}"#).await;
    assert_eq!(problem(&elsewhere).0, 409);
    let task = three.served.engine.task("hers").unwrap();
    assert_eq!(task.lineages().unwrap().len(), 2);
    assert_eq!(task.lineage().id(), LineageId(0));
}

#[tokio::test]
async fn a_branch_that_is_asked_again_under_its_key_is_opened_once() {
    let three = Three::new();
    assert_eq!(three.post(EVENTS, SAID).await.status, 201);
    let path = "/v1/points/hers%2F0@1/branch";
    for (n, body) in [(1, r#"{"description": "a"}"#), (2, r#"{"activate": true}"#)] {
        let name = format!("b-{n}");
        let first = three.with("POST", path, &key(&name), body).await;
        assert_eq!((first.status.as_u16(), &first.json()["id"]), (201, &json!(n)), "{first:?}");
        let again = three.with("POST", path, &key(&name), body).await;
        assert_eq!((again.status, again.json()), (first.status, first.json()));
    }
    // Whatever came after it: it is not made active again.
    assert_eq!(three.post("/v1/tasks/hers/undo", "").await.status, 200);
    let again = three.with("POST", path, &key("b-2"), r#"{"activate": true}"#).await;
    assert_eq!((&again.json()["id"], &again.json()["active"]), (&json!(2), &json!(false)));
    let task = three.served.engine.task("hers").unwrap();
    assert_eq!((task.lineage().id(), task.lineages().unwrap().len()), (LineageId(0), 3));

    for (name, body) in [("b-1", "{}"), ("b-1", r#"{"description": "a", "activate": true}"#)] {
        let other = three.with("POST", path, &key(name), body).await;
        assert_eq!(problem(&other).0, 409, "{body}");
    }
    let opened = three.with("POST", path, &key("b-2"), "{}").await;
    assert_eq!((opened.status.as_u16(), &opened.json()["id"]), (201, &json!(2)));
    assert_eq!(three.with("POST", EVENTS, &key("e"), SAID).await.status, 201);
    let path = "/v1/points/hers%2F0@3/branch";
    let used = three.with("POST", path, &key("e"), "{}").await;
    assert_eq!(problem(&used).0, 409, "{used:?}");
    let events = "/v1/points/hers%2F0@1/events";
    let append = three.with("POST", events, &key("b-1"), SAID).await;
    assert_eq!(problem(&append).0, 409, "one key is for one thing");
    let before = "/v1/points/hers%2F0@0/branch";
    let before = three.with("POST", before, &key("b-1"), r#"{"description": "a"}"#).await;
    assert_eq!(problem(&before).0, 409, "the branch is of a later point");
}

#[tokio::test]
async fn a_branch_at_an_address_that_moves_is_opened_once() {
    let three = Three::new();
    let path = "/v1/points/hers/branch";
    for (name, body) in [("plain", "{}"), ("active", r#"{"activate": true}"#)] {
        let first = three.with("POST", path, &key(name), body).await;
        assert_eq!(first.status, 201, "{first:?}");
        // The task is at a later point now, or on the branch itself.
        assert_eq!(three.post(EVENTS, SAID).await.status, 201);
        let again = three.with("POST", path, &key(name), body).await;
        assert_eq!((again.status, &again.json()["id"]), (first.status, &first.json()["id"]));
    }
    let task = three.served.engine.task("hers").unwrap();
    assert_eq!(task.lineages().unwrap().len(), 3);

    // A key that undid or switched opens nothing.
    assert_eq!(three.with("POST", "/v1/tasks/hers/undo", &key("u"), "").await.status, 200);
    let undone = three.with("POST", path, &key("u"), r#"{"activate": true}"#).await;
    assert_eq!(problem(&undone).0, 409);
    // An append to a later sibling under the key of a branch does not hide it.
    let opened = three.with("POST", path, &key("s"), "{}").await.json()["id"].clone();
    let sibling = three.with("POST", path, &key("t"), "{}").await.json()["id"].clone();
    assert_ne!(opened, sibling);
    let events = format!("{EVENTS}?lineage={sibling}");
    assert_eq!(three.with("POST", &events, &key("s"), SAID).await.status, 201);
    let again = three.with("POST", path, &key("s"), "{}").await;
    assert_eq!(again.json()["id"], opened, "{again:?}");
}

#[tokio::test]
async fn a_branch_that_becomes_active_needs_the_head_that_it_expects() {
    let three = Three::new();
    let (path, activate) = ("/v1/points/hers%2F0@1/branch", r#"{"activate": true}"#);
    let refused = three.with("POST", path, &[("if-match", "\"1\"")], "{}").await;
    assert_eq!(problem(&refused).0, 400);
    let elsewhere = three.with("POST", path, &[("if-match", "\"7\"")], activate).await;
    assert_eq!((elsewhere.status.as_u16(), &elsewhere.json()["head"]), (412, &json!(1)));
    let there = three.with("POST", path, &[("if-match", "\"1\"")], activate).await;
    assert_eq!(there.status, 201, "{there:?}");
}

#[tokio::test]
async fn an_undo_that_is_asked_again_under_its_key_takes_no_second_restore_back() {
    let three = Three::new();
    for _ in 0..2 {
        let came = three.post("/v1/restores", r#"{"to": "hers@1"}"#).await;
        assert_eq!(came.status, 201);
    }
    let path = "/v1/tasks/hers/undo";
    for _ in 0..3 {
        let came = three.with("POST", path, &key("u"), "").await;
        assert_eq!((came.status.as_u16(), &came.json()["lineage"]["id"]), (200, &json!(1)));
    }
    let came = three.with("POST", path, &key("v"), "").await;
    assert_eq!(came.json()["lineage"]["id"], 0, "{came:?}");
}

#[tokio::test]
async fn a_restore_and_an_undo_onto_a_head_that_is_elsewhere_are_412_with_the_head() {
    let three = Three::new();
    assert_eq!(three.post(EVENTS, SAID).await.status, 201);
    let body = r#"{"to": "hers@1"}"#;
    let head = [("if-match", "\"2\"")];
    let first = three.with("POST", "/v1/restores", &head, body).await;
    assert_eq!(first.status, 201, "{first:?}");
    for (path, body) in [("/v1/restores", body), ("/v1/tasks/hers/undo", "")] {
        let came = three.with("POST", path, &head, body).await;
        let now = (came.status.as_u16(), &came.json()["head"]);
        assert_eq!(now, (412, &json!(3)), "{path}");
    }
}
