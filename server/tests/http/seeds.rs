//! The routes of the seeds, response for response.
use crate::served::{Came, Served};
use milepost::events::{ArtifactsEdited, GuidanceGiven, PhaseChanged, PromptChanged, RunControl};
use milepost::query::{CheckpointOrder, CheckpointQuery};
use milepost::{Append, Json, Mark};
use milepost_server::ServerOptions;
use serde_json::{Value, json};

const A: &str = "wang1:20250729235038043";
const B: &str = "wang1:20250731141657916";
const C: &str = "wang1:20250801171843665";
const D: &str = "wang2:20250731141659949";
const CLEANUP: &str = "/api/v0/checkpoint/direct/cleanup";
const STATS: &str = "/api/v0/checkpoint/direct/stats";

/// The store of the seed's examples.
fn wangs() -> Served {
    let served = Served::new();
    for (thread, user, checkpoints) in
        [(A, "wang1", 36), (B, "wang1", 16), (C, "wang1", 64), (D, "wang2", 16)]
    {
        served.task(thread, user, checkpoints);
    }
    served
}

fn direct_error(came: &Came) -> (u16, String) {
    let json = came.json();
    assert_eq!(json["code"], came.status.as_u16());
    assert_eq!((&json["success"], &json["message"]), (&json!(false), &json!("请求处理失败")));
    let data = json["data"].as_object().unwrap();
    let keys: Vec<&String> = data.keys().collect();
    assert_eq!(keys, ["error_type", "response", "timestamp"]);
    assert_eq!(data["timestamp"], "2025-01-31T10:30:00");
    assert!(!data["response"].as_str().unwrap().is_empty());
    (came.status.as_u16(), data["error_type"].as_str().unwrap().to_owned())
}

fn envelope_error(came: &Came) -> (u16, String) {
    let json = came.json();
    assert!(json.get("data").is_none());
    let error = &json["error"];
    assert_eq!(error["details"]["requestId"], came.header("x-request-id"));
    assert!(!error["message"].as_str().unwrap().is_empty());
    (came.status.as_u16(), error["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn statistics_are_as_the_seed_shows_them() {
    let served = wangs();
    let thread = |id: &str, count: u64| json!({ "thread_id": id, "checkpoint_count": count });
    let came = served.get(STATS).await;
    assert_eq!(came.status, 200);
    let expected = json!({
        "code": 200,
        "success": true,
        "message": "获取系统checkpoint统计成功",
        "data": {
            "operation_type": "system_stats",
            "total_users": 2,
            "total_threads": 4,
            "total_checkpoints": 132,
            "users": [
                {
                    "user_id": "wang1",
                    "thread_count": 3,
                    "total_checkpoints": 116,
                    "threads": [thread(A, 36), thread(B, 16), thread(C, 64)],
                },
                {
                    "user_id": "wang2",
                    "thread_count": 1,
                    "total_checkpoints": 16,
                    "threads": [thread(D, 16)],
                },
            ],
            "timestamp": "2025-01-31T10:30:00",
        },
    });
    assert_eq!(came.json(), expected);
    let came = served.get(&format!("{STATS}?user_id=wang1")).await;
    let expected = json!({
        "code": 200,
        "success": true,
        "message": "获取用户wang1统计成功",
        "data": {
            "operation_type": "user_stats",
            "user_id": "wang1",
            "thread_count": 3,
            "total_checkpoints": 116,
            "threads": [thread(C, 64), thread(A, 36), thread(B, 16)],
            "timestamp": "2025-01-31T10:30:00",
        },
    });
    assert_eq!(came.json(), expected);
}

#[tokio::test]
async fn cleanups_are_as_the_seed_shows_them_for_all_a_user_and_a_thread() {
    let served = wangs();
    let detail = |before: u64, gone: u64| {
        json!({
            "original_count": before,
            "deleted_count": gone,
            "remaining_count": before - gone,
            "status": "success",
        })
    };
    // The thread takes precedence over the user.
    let asked = json!({ "thread_id": A, "user_id": "wang2", "keep_count": 8 });
    let came = served.post(CLEANUP, &asked.to_string()).await;
    let expected = json!({
        "code": 200,
        "success": true,
        "message": "Checkpoint清理完成",
        "data": {
            "operation_type": "cleanup_thread",
            "target": A,
            "keep_count": 8,
            "total_processed": 1,
            "total_deleted": 28,
            "details": { A: detail(36, 28) },
            "timestamp": "2025-01-31T10:30:00",
        },
    });
    assert_eq!(came.json(), expected);
    let came = served.post(CLEANUP, r#"{"user_id": "wang1", "keep_count": 5}"#).await;
    let data = &came.json()["data"];
    assert_eq!(
        (&data["operation_type"], &data["target"]),
        (&json!("cleanup_user"), &json!("wang1"))
    );
    let details = json!({ A: detail(8, 3), B: detail(16, 11), C: detail(64, 59) });
    assert_eq!((&data["details"], &data["total_deleted"]), (&details, &json!(73)));
    // The number that is configured, for all.
    let came = served.post(CLEANUP, "").await;
    let data = &came.json()["data"];
    let all = json!({ A: detail(5, 0), B: detail(5, 0), C: detail(5, 0), D: detail(16, 6) });
    assert_eq!((&data["operation_type"], &data["target"]), (&json!("cleanup_all"), &json!("all")));
    assert_eq!((&data["keep_count"], &data["total_processed"]), (&json!(10), &json!(4)));
    assert_eq!(data["details"], all);
    let came = served.get(STATS).await;
    assert_eq!(came.json()["data"]["total_checkpoints"], 25);
}

#[tokio::test]
async fn seed_003_a_cleanup_takes_checkpoints_only_unless_it_is_asked_to_trim() {
    let served = Served::new();
    let task = served.task("wang1:1", "wang1", 16);
    served.task("wang1:2", "wang1", 0);
    let before = task.head().unwrap().next;
    let came = served.post(CLEANUP, r#"{"user_id": "wang1", "keep_count": 1}"#).await;
    let data = &came.json()["data"];
    assert_eq!((&data["total_processed"], &data["total_deleted"]), (&json!(1), &json!(15)));
    assert!(data["details"].get("wang1:2").is_none() && data.get("events_deleted").is_none());
    assert_eq!(task.read(0..).unwrap().count() as u64, before, "no event is removed");
    let trims = r#"{"thread_id": "wang1:1", "keep_count": 1, "trim": true}"#;
    let came = served.post(CLEANUP, trims).await;
    let gone = came.json()["data"]["events_deleted"].as_u64().unwrap();
    assert!(gone > 0, "{came:?}");
    let left = task.read(0..).unwrap().filter(Result::is_ok).count() as u64;
    assert_eq!(left, before - gone);
    // Threads without checkpoints are not listed.
    let stats = served.get(STATS).await.json();
    assert_eq!(stats["data"]["total_threads"], 1);
}

#[tokio::test]
async fn how_many_stay_is_configured_and_pinned_ones_stay_too() {
    let served = Served::with(ServerOptions::default().keep_count(2));
    let task = served.task("t", "ana", 4);
    let pinned = task.checkpoint(Mark::new().label("pinned")).unwrap();
    served.engine.retention().pin(&pinned.id, None).unwrap();
    for _ in 0..4 {
        task.checkpoint(Mark::new()).unwrap();
    }
    let came = served.post(CLEANUP, r#"{"thread_id": "t"}"#).await;
    let detail = &came.json()["data"]["details"]["t"];
    assert_eq!((&detail["original_count"], &detail["remaining_count"]), (&json!(9), &json!(3)));
    let came = served.post(CLEANUP, r#"{"thread_id": "t", "keep_count": 0}"#).await;
    assert_eq!(came.json()["data"]["details"]["t"]["remaining_count"], 1);
}

#[tokio::test]
async fn what_goes_wrong_is_said_as_the_seeds_say_it() {
    let served = wangs();
    let long = format!(r#"{{"thread_id": "{}"}}"#, "t".repeat(257));
    let cases = [
        (r#"{"thread_id": ""}"#, 400, "INVALID_THREAD_ID"),
        (r#"{"thread_id": "a\nb"}"#, 400, "INVALID_THREAD_ID"),
        (&long, 400, "INVALID_THREAD_ID"),
        (r#"{"thread_id": "wang1:1"}"#, 404, "INVALID_THREAD_ID"),
        (r#"{"user_id": "nobody"}"#, 404, "USER_NOT_FOUND"),
        (r#"{"user_id": ""}"#, 400, "INVALID_REQUEST"),
        (r#"{"keep_count": -1}"#, 400, "INVALID_REQUEST"),
        (r#"{"keep_count": 1000001}"#, 400, "INVALID_REQUEST"),
        (r#"{"keep": 1}"#, 400, "INVALID_REQUEST"),
        (r#"{"keep_count": 1"#, 400, "INVALID_REQUEST"),
        ("[]", 400, "INVALID_REQUEST"),
    ];
    for (asked, status, name) in cases {
        let came = served.post(CLEANUP, asked).await;
        assert_eq!(direct_error(&came), (status, name.to_owned()), "{asked}");
    }
    let came = served.get(&format!("{STATS}?user_id=nobody")).await;
    assert_eq!(direct_error(&came), (404, "USER_NOT_FOUND".to_owned()));
    let came = served.get(&format!("{STATS}?user=wang1")).await;
    assert_eq!(direct_error(&came), (400, "INVALID_REQUEST".to_owned()));
    let came = served.get(CLEANUP).await;
    assert_eq!(direct_error(&came), (405, "INVALID_REQUEST".to_owned()));
    assert_eq!(came.header("allow"), "POST");
    let came = served.get("/api/v0/checkpoint").await;
    assert_eq!(direct_error(&came), (404, "NOT_FOUND".to_owned()));
    for limit in ["0", "101", "-1", "x", "20&more=1"] {
        let came = served.get(&format!("/api/v1/tasks/{A}/checkpoints?limit={limit}")).await;
        assert_eq!(envelope_error(&came), (400, "VALIDATION_ERROR".to_owned()), "{limit}");
    }
    for path in ["tasks/nobody/checkpoints", "checkpoints/00000000", "nothing", ""] {
        let came = served.get(&format!("/api/v1/{path}")).await;
        assert_eq!(envelope_error(&came), (404, "NOT_FOUND".to_owned()), "{path}");
    }
    served.engine.clone().close().unwrap();
    let came = served.get(STATS).await;
    assert_eq!(direct_error(&came), (503, "STORE_ERROR".to_owned()));
    assert_eq!(came.header("retry-after"), "1");
    let came = served.get(&format!("/api/v1/tasks/{A}/checkpoints")).await;
    assert_eq!(envelope_error(&came), (503, "STORE_UNAVAILABLE".to_owned()));
}

#[tokio::test]
async fn a_checkpoint_has_the_fields_of_the_seed_as_they_were_at_its_point() {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    let by_a_policy = Mark::new().cause(milepost::events::MarkCause::Step);
    task.checkpoint(by_a_policy.time_us(1_768_732_200_123_456)).unwrap();
    let prompt = "ü".repeat(250);
    task.append(PromptChanged { prompt }).unwrap();
    task.append(PhaseChanged {
        phase: "evaluating".into(),
        iteration: 3,
        ..PhaseChanged::default()
    })
    .unwrap();
    task.append(GuidanceGiven { text: "shorter".into(), data: None }).unwrap();
    let artifacts = [("draft".to_owned(), Json::string("text"))];
    task.append(Append::from(ArtifactsEdited { artifacts: artifacts.into_iter().collect() }))
        .unwrap();
    task.control().change(RunControl::Running, None).unwrap();
    let marked = task.checkpoint(Mark::new().label("x").time_us(1_768_732_200_123_456)).unwrap();
    let first = marked.parent.unwrap();
    let expected = json!({
        "id": marked.id.to_string(),
        "taskId": "essay",
        "iteration": 3,
        "state": "evaluating",
        "runControlState": "running",
        "promptPreview": "ü".repeat(200),
        "hasArtifacts": true,
        "hasUserGuidance": true,
        "branchId": "0",
        "parentId": first.to_string(),
        "lineageType": "manual",
        "branchDescription": null,
        "checksum": marked.id.to_string(),
        "integrityOk": true,
        "createdAt": "2026-01-18T10:30:00.123Z",
    });
    let id = marked.id.to_string();
    for name in [&id[..], &id[..8], &format!("@{id}")] {
        let came = served.get(&format!("/api/v1/checkpoints/{name}")).await;
        assert_eq!(came.json(), json!({ "data": expected }));
    }
    let came = served.get("/api/v1/tasks/essay/checkpoints?limit=1").await;
    assert_eq!(came.json(), json!({ "data": { "checkpoints": [expected], "total": 2 } }));
    let came = served.get("/api/v1/tasks/essay/checkpoints").await;
    let earlier = &came.json()["data"]["checkpoints"][1];
    assert_eq!(earlier["id"], first.to_string());
    assert_eq!(earlier["lineageType"], "automatic");
    assert_eq!((&earlier["state"], &earlier["promptPreview"]), (&json!(""), &json!("")));
    assert_eq!((&earlier["parentId"], &earlier["hasArtifacts"]), (&Value::Null, &json!(false)));
    let back = served
        .engine
        .restore(&served.engine.point("essay@1").unwrap())
        .description("again")
        .run()
        .unwrap();
    back.checkpoint(Mark::new()).unwrap();
    let came = served.get("/api/v1/tasks/essay/checkpoints?limit=1").await;
    let newest = &came.json()["data"]["checkpoints"][0];
    assert_eq!((&newest["branchId"], &newest["lineageType"]), (&json!("1"), &json!("restore")));
    assert_eq!(newest["branchDescription"], "again");
}

#[tokio::test]
async fn seed_d8_the_list_is_in_the_order_of_creation_also_with_imported_times() {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    // By commit; two have the same time.
    for (time, label) in [(5, "e"), (9, "i"), (1, "a"), (5, "f"), (7, "g")] {
        task.checkpoint(Mark::new().label(label).time_us(time * 1_000_000)).unwrap();
    }
    let all = served.engine.query().checkpoints(&CheckpointQuery::default()).unwrap().items;
    let id = |label: &str| {
        let of = all.iter().find(|checkpoint| checkpoint.label.as_deref() == Some(label));
        of.unwrap().id.to_string()
    };
    let listed = async |query: &str| {
        let came = served.get(&format!("/api/v1/tasks/essay/checkpoints{query}")).await.json();
        let list = came["data"]["checkpoints"].as_array().unwrap().clone();
        list.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let expected = ["i", "g", "f", "e", "a"].map(id);
    assert_eq!(listed("").await, expected);
    assert_eq!(listed("?limit=2").await, expected[..2]);
    // Page by page, with a filter.
    let mut query = CheckpointQuery {
        order: CheckpointOrder::Created,
        limit: Some(2),
        ..CheckpointQuery::default()
    };
    let mut paged = Vec::new();
    loop {
        let page = served.engine.query().checkpoints(&query).unwrap();
        paged.extend(page.items.iter().map(|checkpoint| checkpoint.id.to_string()));
        let Some(next) = page.next else { break };
        query.cursor = Some(next);
    }
    assert_eq!(paged, expected);
    for cursor in ["00", "no hex"] {
        query.cursor = Some(cursor.to_owned());
        assert!(served.engine.query().checkpoints(&query).is_err(), "{cursor}");
    }
}

#[tokio::test]
async fn metrics_of_checkpoints_are_counted() {
    let served = Served::new();
    served.task("t", "ana", 3);
    served.get("/api/v1/tasks/t/checkpoints").await;
    served.get("/api/v1/tasks/t/checkpoints").await;
    let data = served.get("/api/v1/meta/checkpoint-metrics").await.json()["data"].clone();
    assert_eq!(data["saved"], 3);
    let hits = data["hits"].as_u64().unwrap();
    assert!(hits >= 3, "{data}");
}
