//! Verification and retention, for admins.

use milepost::Mark;
use serde_json::json;

use crate::changing::{Three, problem};

const VERIFY: &str = "/v1/verify";
const PLAN: &str = "/v1/retention/plan";
const RETENTION: &str = "/v1/retention";

/// Makes this many checkpoints of ana's task.
fn marked(checkpoints: usize) -> Three {
    let three = Three::new();
    let task = three.served.engine.task("hers").unwrap();
    for _ in 0..checkpoints {
        task.checkpoint(Mark::new()).unwrap();
    }
    three
}

#[tokio::test]
async fn a_store_and_a_task_are_verified() {
    let three = marked(2);
    let came = three.ask("POST", VERIFY, &three.root, "").await;
    assert_eq!(came.status, 200, "{came:?}");
    let report = came.json();
    assert_eq!((&report["tasks"], &report["ok"]), (&json!(2), &json!(true)));
    assert_eq!((&report["checkpoints"], &report["faults"]), (&json!(2), &json!([])));
    let fields: Vec<_> = report.as_object().unwrap().keys().cloned().collect();
    let expected = [
        "blocks",
        "checkpoints",
        "chunks",
        "entries",
        "events",
        "faults",
        "frames",
        "lineages",
        "ok",
        "repairs",
        "snapshots",
        "tasks",
    ];
    assert_eq!(fields, expected);
    let one = three.ask("POST", VERIFY, &three.root, r#"{"task": "his"}"#).await;
    assert_eq!((&one.json()["tasks"], &one.json()["checkpoints"]), (&json!(1), &json!(0)));
    let none = three.ask("POST", VERIFY, &three.root, r#"{"task": "none"}"#).await;
    assert_eq!(problem(&none), (404, "not_found".into()));
    let wrong = three.ask("POST", VERIFY, &three.root, r#"{"tasks": []}"#).await;
    assert_eq!(problem(&wrong), (400, "invalid".into()));
}

#[tokio::test]
async fn a_plan_says_what_goes_and_the_same_goes_then() {
    let three = marked(5);
    let body = r#"{"keep_count": 2, "task": "hers"}"#;
    let plan = three.ask("POST", PLAN, &three.root, body).await;
    assert_eq!(plan.status, 200, "{plan:?}");
    let planned = plan.json();
    assert_eq!(planned["dry_run"], true);
    let task = &planned["tasks"][0];
    assert_eq!((&task["id"], &task["user"]), (&json!("hers"), &json!("ana")));
    for (field, value) in [("checkpoints", 5), ("go", 3), ("stay", 2), ("pinned", 0)] {
        assert_eq!(task[field], value, "{field}");
    }
    assert_eq!(task["removed"].as_array().unwrap().len(), 3);
    assert_eq!(planned["total"]["concerned"], 1);
    assert_eq!(planned["captures"]["chunks"], 0);
    let hers = three.served.engine.task("hers").unwrap();
    assert_eq!(hers.checkpoints().unwrap(), 5, "nothing went");
    let done = three.ask("POST", RETENTION, &three.root, body).await;
    assert_eq!(done.status, 200, "{done:?}");
    let done = done.json();
    assert_eq!((&done["dry_run"], &done["captures"]), (&json!(false), &json!(null)));
    assert_eq!((&done["tasks"], &done["total"]), (&planned["tasks"], &planned["total"]));
    assert_eq!(hers.checkpoints().unwrap(), 2);
}

#[tokio::test]
async fn a_policy_says_how_many_how_old_and_whose() {
    let three = marked(12);
    let goes = |body: &'static str| {
        let three = &three;
        async move {
            let came = three.ask("POST", PLAN, &three.root, body).await;
            assert_eq!(came.status, 200, "{body} {came:?}");
            let total = came.json()["total"].clone();
            (total["tasks"].clone(), total["go"].clone())
        }
    };
    assert_eq!(goes(r#"{"keep_count": 10}"#).await, (json!(2), json!(2)));
    assert_eq!(goes(r#"{"user": "bob", "keep_count": 0}"#).await, (json!(1), json!(0)));
    assert_eq!(goes(r#"{"younger_than_seconds": "86400"}"#).await.1, 0);
    let both = r#"{"younger_than_seconds": 86400, "keep_count": 1, "undo": 0, "marks_only": true}"#;
    assert_eq!(goes(both).await.1, 0);
    for body in [
        "",
        "[]",
        "{}",
        r#"{"undo": 0, "marks_only": true}"#,
        r#"{"keep": 3}"#,
        r#"{"keep_count": -1}"#,
        r#"{"keep_count": 1000001}"#,
        r#"{"keep_count": 1, "user": "ana", "task": "hers"}"#,
    ] {
        for path in [PLAN, RETENTION] {
            let came = three.ask("POST", path, &three.root, body).await;
            assert_eq!(problem(&came), (400, "invalid".into()), "{body}");
        }
    }
    let none =
        three.ask("POST", RETENTION, &three.root, r#"{"keep_count": 1, "task": "none"}"#).await;
    assert_eq!(problem(&none), (404, "not_found".into()));
    assert_eq!(three.served.engine.task("hers").unwrap().checkpoints().unwrap(), 12);
}

#[tokio::test]
async fn users_do_none_of_it_and_are_not_told_what_is_there() {
    let three = marked(3);
    for path in [VERIFY, PLAN, RETENTION] {
        let mut said = Vec::new();
        for body in ["{}", r#"{"task": "hers"}"#, r#"{"task": "his"}"#, r#"{"task": "none"}"#] {
            let came = three.post(path, body).await;
            assert_eq!(problem(&came), (403, "forbidden".into()));
            said.push(came.json()["detail"].clone());
        }
        said.dedup();
        assert_eq!(said.len(), 1, "{path}");
    }
}

#[tokio::test]
async fn a_cleanup_removes_the_checkpoints_that_are_named_or_what_is_before_a_point() {
    let served = crate::served::Served::new();
    let task = served.task("essay", "ana", 4);
    let listed = served.get("/v1/tasks/essay/checkpoints").await.json()["items"].clone();
    let ids: Vec<String> = (0..4).map(|n| listed[n]["id"].as_str().unwrap().to_owned()).collect();
    let asked = json!({"task": "essay", "remove": [ids[0], ids[3]]}).to_string();
    let planned = served.post("/v1/retention/plan", &asked).await.json();
    assert_eq!(planned["tasks"][0]["removed"], json!([ids[0], ids[3]]));
    assert_eq!(task.checkpoints().unwrap(), 4);
    let done = served.post("/v1/retention", &asked).await.json();
    assert_eq!((&done["total"]["go"], &done["total"]["stay"]), (&json!(2), &json!(2)));
    assert_eq!(task.checkpoints().unwrap(), 2);
    let asked = json!({"trim_before": "essay@4"}).to_string();
    let done = served.post("/v1/retention", &asked).await.json();
    assert_eq!(done["tasks"][0]["trimmed"], json!([{"lineage": 0, "offset": 4}]), "{done}");
    for (asked, status) in [
        (json!({"task": "essay", "remove": [ids[0]]}), 200),
        (json!({"task": "none", "remove": []}), 404),
        (json!({"trim_before": "none@4"}), 404),
        (json!({"remove": [ids[1]]}), 400),
        (json!({"user": "ana", "remove": [ids[1]]}), 400),
        (json!({"task": "essay", "remove": ["abc"]}), 400),
        (json!({"task": "other", "trim_before": "essay@4"}), 400),
        (json!({"user": "ana", "trim_before": "essay@4"}), 400),
        (json!({"task": "essay"}), 400),
    ] {
        let came = served.post("/v1/retention", &asked.to_string()).await;
        assert_eq!(came.status.as_u16(), status, "{asked}: {came:?}");
    }
}
