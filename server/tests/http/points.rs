//! `/v1`: points, the events and states there, and their differences.
use axum::http::StatusCode;
use milepost::events::{GuidanceGiven, Message, PatchForm, VariablesPatched};
use milepost::state::{MessageRange, diff_states};
use milepost::{Append, Json, Mark};
use serde_json::{Value, json};

use crate::lists::problem;
use crate::served::{Came, Served, request};

fn variables(patch: &str) -> VariablesPatched {
    VariablesPatched { form: PatchForm::Merge, patch: Json::new(patch).unwrap() }
}

/// A run with a score, guidance and messages; `first` is a checkpoint.
fn essay(served: &Served) -> milepost::Task {
    let task = served.task("essay", "ana", 0);
    task.append(variables(r#"{"score": 1, "a/b": {"~": [10, 20]}}"#)).unwrap();
    task.append(Message::text("user", "hello")).unwrap();
    task.checkpoint(Mark::new().label("first")).unwrap();
    let guidance = GuidanceGiven { text: "shorter".into(), data: None };
    task.append(guidance).unwrap();
    task.append(Message::text("assistant", "good day")).unwrap();
    task.append(variables(r#"{"score": 2}"#)).unwrap();
    task
}

async fn ok(served: &Served, path: &str) -> Value {
    let came = served.get(path).await;
    assert_eq!(came.status, StatusCode::OK, "{path}: {came:?}");
    assert_eq!(came.header("content-type"), "application/json");
    came.json()
}

#[tokio::test]
async fn an_address_leads_to_one_point_however_it_is_written() {
    let served = Served::new();
    let task = essay(&served);
    let checkpoint = task.last_successful().unwrap().unwrap();
    let point = served.engine.point("essay@3").unwrap();
    let hash = served.engine.hash_at(&point).unwrap().to_string();
    let expected = json!({
        "address": "essay/0@3", "task": "essay", "lineage": 0, "offset": 3, "hash": hash,
    });
    for address in ["essay@3", "essay%2F0@3", "essay%40%33", "essay%2F0%403"] {
        assert_eq!(ok(&served, &format!("/v1/points/{address}")).await, expected);
    }
    let mut named = expected;
    named["checkpoint"] = json!(checkpoint.id);
    for address in
        ["essay@first", "essay~1", &format!("@{}", checkpoint.id), &checkpoint.id.to_string()[..8]]
    {
        assert_eq!(ok(&served, &format!("/v1/points/{address}")).await, named);
    }
    let head = ok(&served, "/v1/points/essay").await;
    assert_eq!(head["offset"], task.head().unwrap().next);
    assert_eq!(head["hash"], task.head().unwrap().hash.to_string());
    // A task's id that needs encoding twice: in the address, and in the path.
    served.task("a/b %", "ana", 0);
    let odd = ok(&served, "/v1/points/a%252Fb%20%2525@1").await;
    assert_eq!((&odd["task"], &odd["address"]), (&json!("a/b %"), &json!("a%2Fb %25/0@1")));
}

#[tokio::test]
async fn what_is_no_address_or_leads_nowhere_is_said() {
    let served = Served::new();
    essay(&served);
    for (address, status) in [
        ("essay@", 400),
        ("essay@99", 400),
        ("essay@none", 404),
        ("essay~9", 404),
        ("essay%2F7", 404),
        ("none", 404),
        ("none@1", 404),
        ("@", 400),
        ("@123", 404),
        ("@00000000", 404),
    ] {
        for rest in
            ["", "/event", "/state", "/state?pointer=%2Fphase", "/diff/essay", "/files", "/files/a"]
        {
            let path = format!("/v1/points/{address}{rest}");
            assert_eq!(problem(&served.get(&path).await).0, status, "{path}");
        }
        let path = format!("/v1/points/essay/diff/{address}");
        assert_eq!(problem(&served.get(&path).await).0, status, "{path}");
    }
    // At the head there is a state, and no event yet.
    assert_eq!(problem(&served.get("/v1/points/essay/event").await).0, 404);
    assert_eq!(served.get("/v1/points/essay/state").await.status, 200);
}

#[tokio::test]
async fn the_event_at_a_point_is_shown_with_the_hash_behind_it() {
    let served = Served::new();
    let task = essay(&served);
    let event = ok(&served, "/v1/points/essay@2/event").await;
    let after = served.engine.point("essay@3").unwrap();
    let hash = served.engine.hash_at(&after).unwrap();
    assert_eq!(event["hash"], hash.to_string());
    assert_eq!((&event["task"], &event["offset"]), (&json!("essay"), &json!(2)));
    assert_eq!((&event["kind"], &event["body"]["content"]), (&json!("message"), &json!("hello")));
    assert!(event.get("checkpoint").is_none());
    let named = ok(&served, "/v1/points/essay@first/event").await;
    let id = task.last_successful().unwrap().unwrap().id;
    assert_eq!((&named["kind"], &named["checkpoint"]), (&json!("checkpoint_marked"), &json!(id)));
}

#[tokio::test]
async fn a_state_is_what_the_engine_gives_however_long_it_is() {
    let served = Served::new();
    let task = essay(&served);
    let point = ok(&served, "/v1/points/essay@first").await;
    let came = ok(&served, "/v1/points/essay@first/state").await;
    assert_eq!(came["point"], point);
    assert_eq!(came["state"]["variables"]["score"], 1);
    let many = (0..4000).map(|n| Message::text("user", &format!("{n} {}", "z".repeat(300))));
    task.append(Append::batch(many)).unwrap();
    let long = ok(&served, "/v1/points/essay/state").await;
    let state = served.engine.run_state(&served.engine.point("essay").unwrap()).unwrap();
    let expected = state.to_json(served.engine.chunks().as_ref(), MessageRange::All).unwrap();
    assert_eq!(expected["messages"].as_array().unwrap().len(), 4002);
    assert_eq!(long["state"], expected);
    let list = ok(&served, "/v1/points/essay/state?pointer=/messages").await;
    assert_eq!(list["value"], expected["messages"]);
}

#[tokio::test]
async fn a_part_of_a_state_is_what_its_pointer_leads_to() {
    let served = Served::new();
    essay(&served);
    let whole = ok(&served, "/v1/points/essay/state").await;
    for pointer in [
        "",
        "/phase",
        "/variables",
        "/variables/score",
        "/variables/a~1b/~0/1",
        "/guidance",
        "/guidance/0",
        "/guidance/0/text",
        "/messages",
        "/messages/1",
        "/messages/1/content",
        "/message_count",
    ] {
        let path = format!("/v1/points/essay/state?pointer={pointer}");
        let came = ok(&served, &path).await;
        let expected = whole["state"].pointer(pointer).unwrap();
        assert_eq!((&came["value"], &came["pointer"]), (expected, &json!(pointer)), "{pointer}");
        assert_eq!(came["point"], whole["point"]);
    }
    for (pointer, status) in [
        ("/nothing", 404),
        ("/variables/none", 404),
        ("/variables/a~1b/~0/2", 404),
        ("/messages/2", 404),
        ("/messages/01", 404),
        ("/messages/%2B1", 404),
        ("/messages/-", 404),
        ("/messages/", 404),
        ("/messages/0/none", 404),
        ("/messages/99999999999999999999", 404),
        ("/phase/x", 404),
        ("phase", 400),
        ("/variables/~2", 400),
        ("/variables/~", 400),
    ] {
        let came = served.get(&format!("/v1/points/essay/state?pointer={pointer}")).await;
        assert_eq!(problem(&came).0, status, "{pointer}");
    }
    let came = served.get("/v1/points/essay/state?points=x").await;
    assert_eq!(problem(&came).0, 400);
}

async fn patch(served: &Served, path: &str) -> Came {
    let mut asked = request("GET", path, None, "");
    let kind = "application/json-patch+json".parse().unwrap();
    asked.headers_mut().insert("accept", kind);
    served.ask(asked).await
}

#[tokio::test]
async fn two_states_are_compared_as_changes_and_as_a_patch() {
    let served = Served::new();
    essay(&served);
    let path = "/v1/points/essay@first/diff/essay";
    let changes = ok(&served, path).await;
    let state = |address: &str| {
        let point = served.engine.point(address).unwrap();
        served.engine.run_state(&point).unwrap()
    };
    let chunks = served.engine.chunks();
    let expected = diff_states(&state("essay@first"), &state("essay"), chunks.as_ref()).unwrap();
    let listed = json!({"items": serde_json::to_value(&expected).unwrap(), "more": false});
    assert_eq!(changes, listed);
    let score = json!({"path": "/variables/score", "kind": "replace", "before": 1, "after": 2});
    assert!(changes["items"].as_array().unwrap().contains(&score));
    let came = patch(&served, path).await;
    assert_eq!(came.header("content-type"), "application/json-patch+json");
    assert_eq!(came.json(), milepost::state::to_patch(&expected));
    let back = ok(&served, "/v1/points/essay/diff/essay@first").await;
    let score = json!({"path": "/variables/score", "kind": "replace", "before": 2, "after": 1});
    assert!(back["items"].as_array().unwrap().contains(&score));
    let none = ok(&served, "/v1/points/essay/diff/essay").await;
    assert_eq!(none, json!({"items": [], "more": false}));
    let mut asked = request("GET", path, None, "");
    asked.headers_mut().insert("accept", "text/html".parse().unwrap());
    assert_eq!(problem(&served.ask(asked).await), (406, "invalid".into()));
    assert_eq!(problem(&served.get(&format!("{path}?x=1")).await).0, 400);
}

#[tokio::test]
async fn states_that_differ_everywhere_have_so_many_changes_and_no_patch() {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    let names = |count: usize| (0..count).map(|n| (format!("name-{n}"), Json::string("")));
    let artifacts =
        |count: usize| milepost::events::ArtifactsEdited { artifacts: names(count).collect() };
    task.append(artifacts(9_000)).unwrap();
    let path = "/v1/points/essay@1/diff/essay";
    let changes = ok(&served, path).await;
    assert_eq!(changes["more"], false);
    assert_eq!(patch(&served, path).await.status, 200);
    task.append(artifacts(10_001)).unwrap();
    let more = ok(&served, path).await;
    assert_eq!(more["more"], true);
    assert_eq!(more["items"].as_array().unwrap().len(), 10_000);
    let first = |changes: &Value| changes["items"].as_array().unwrap()[..5].to_vec();
    assert_eq!(first(&more), first(&changes));
    let large = patch(&served, path).await;
    assert_eq!(problem(&large), (413, "too_large".into()));
    let detail = large.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("?pointer="), "{detail}");
    let body = r#"{"to": "essay@1"}"#;
    let plan = served.post("/v1/restores/plan", body).await.json();
    assert_eq!(plan["more"], true);
    assert_eq!(plan["changes"].as_array().unwrap().len(), 1000);
}

#[tokio::test]
async fn large_values_end_a_list_of_changes_early() {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    let text = "x".repeat(3 << 20);
    for _ in 0..8 {
        task.append(milepost::events::Message::text("user", &text)).unwrap();
    }
    let changes = ok(&served, "/v1/points/essay@1/diff/essay").await;
    assert_eq!(changes["more"], true);
    let messages = changes["items"].as_array().unwrap().iter();
    let messages =
        messages.filter(|change| change["path"].as_str().unwrap().starts_with("/messages/"));
    assert_eq!(messages.count(), 5);
}

/// Makes a task whose state has an artifact of this many bytes.
async fn with_artifact(served: &Served, id: &str, bytes: usize) {
    served.task(id, "ana", 0);
    let body = serde_json::json!({ "text": "x".repeat(bytes) }).to_string();
    let path = format!("/v1/tasks/{id}/artifacts");
    let came = served.ask(request("PATCH", &path, None, &body)).await;
    assert_eq!(came.status, 200, "{came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_many_look_at_is_folded_once() {
    use tower::ServiceExt as _;
    let served = Served::new();
    with_artifact(&served, "hers", 1000).await;
    let before = served.engine.store().metrics().fold_us.count();
    let mut asked = tokio::task::JoinSet::new();
    for n in 0..20 {
        let query = if n % 2 == 0 { "" } else { "?pointer=/artifacts" };
        let path = format!("/v1/points/hers@2/state{query}");
        let router = served.router();
        asked.spawn(async move { router.oneshot(request("GET", &path, None, "")).await });
    }
    // Unread answers still use the point.
    let answers = asked.join_all().await;
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().status() == 200));
    assert_eq!(served.engine.store().metrics().fold_us.count() - before, 1);
}

#[tokio::test(start_paused = true)]
async fn states_that_hold_all_bytes_have_others_wait_and_then_answered_503() {
    use tower::ServiceExt as _;
    let options = milepost_server::ServerOptions::default().memory(1 << 20);
    let served = Served::with(options);
    with_artifact(&served, "hers", 100_000).await;
    with_artifact(&served, "others", 100_000).await;
    let unread = request("GET", "/v1/points/hers/state", None, "");
    let unread = served.router().oneshot(unread).await.unwrap();
    for path in [
        "/v1/points/others/state",
        "/v1/points/others@1/diff/others",
        "/v1/points/others/blame?pointer=/artifacts/text",
    ] {
        let came = served.get(path).await;
        assert_eq!(came.status, 503, "{path}");
        assert_eq!(came.header("retry-after"), "1");
    }
    drop(unread);
    let came = served.get("/v1/points/others/state").await;
    assert_eq!(came.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_state_that_is_known_to_be_large_is_folded_once_its_bytes_are_free() {
    use tower::ServiceExt as _;
    let options = milepost_server::ServerOptions::default().memory(1 << 20);
    let served = Served::with(options);
    with_artifact(&served, "hers", 100_000).await;
    with_artifact(&served, "others", 100_000).await;
    assert_eq!(served.get("/v1/points/others/state").await.status, 200);
    let unread = request("GET", "/v1/points/hers/state", None, "");
    let unread = served.router().oneshot(unread).await.unwrap();
    let before = served.engine.store().metrics().fold_us.count();
    for path in [
        "/v1/points/others/state",
        "/v1/points/others@1/diff/others",
        "/v1/points/others/blame?pointer=/artifacts/text",
    ] {
        assert_eq!(served.get(path).await.status, 503, "{path}");
    }
    assert_eq!(served.engine.store().metrics().fold_us.count(), before);
    drop(unread);
    assert_eq!(served.get("/v1/points/others/state").await.status, 200);
}

#[tokio::test]
async fn a_part_that_is_too_large_is_an_error_and_no_string() {
    let served = Served::new();
    served.task("hers", "ana", 0);
    let many = vec!["{}"; 450_000].join(",");
    let body = format!("{{\"v\": [{many}], \"odd\": [1e999, {many}]}}");
    let path = "/v1/tasks/hers/artifacts";
    let came = served.ask(request("PATCH", path, None, &body)).await;
    assert_eq!(came.status, 200, "{came:?}");
    let part = "/v1/points/hers/state?pointer=/artifacts/v/7";
    assert_eq!(served.get(part).await.json()["value"], serde_json::json!({}));
    // Word for word it can be answered, taken apart it cannot.
    let whole = served.get("/v1/points/hers@1/state").await;
    assert_eq!(whole.status, 200);
    let list = served.get("/v1/points/hers/state?pointer=/artifacts/v").await;
    assert_eq!(list.status, 200);
    for path in ["", "?pointer=/artifacts/odd"] {
        let came = served.get(&format!("/v1/points/hers/state{path}")).await;
        assert_eq!(came.status, 413, "{path}: {}", came.bytes.len());
        assert!(came.json()["detail"].as_str().unwrap().contains("too large"));
    }
}

#[tokio::test]
async fn states_that_are_larger_than_all_may_hold_are_not_compared() {
    let options = milepost_server::ServerOptions::default().memory(1 << 20);
    let served = Served::with(options);
    let task = served.task("large", "ana", 0);
    for n in 0..2 {
        let value = milepost::Json::string(&n.to_string().repeat(200 << 10));
        task.append(milepost::events::ArtifactsEdited {
            artifacts: [("a".to_owned(), value)].into(),
        })
        .unwrap();
    }
    let token = served.token("ana", false);
    let asked = |path: &'static str| served.get_as(&token, path);
    let came = asked("/v1/points/large@2/diff/large@3").await;
    assert_eq!(came.status, 413, "{came:?}");
    let blame = asked("/v1/points/large@3/blame?pointer=/artifacts/a").await;
    assert_eq!(blame.status, 413, "{blame:?}");
    assert_eq!(asked("/v1/points/large@3/state").await.status, 200);
}

#[tokio::test]
async fn seed_001_a_branch_opens_a_lineage_and_the_task_stays_on_its_own() {
    let served = Served::new();
    let task = served.task("t", "ana", 2);
    let before = task.head().unwrap().next;
    let asked = json!({"description": "another try"});
    let came = served.post("/v1/points/t@1/branch", &asked.to_string()).await;
    assert_eq!(came.status, StatusCode::CREATED, "{came:?}");
    let opened = came.json();
    assert_eq!((&opened["id"], &opened["type"]), (&json!(1), &json!("branch")));
    assert_eq!((&opened["active"], &opened["head"]), (&json!(false), &json!(2)));
    assert_eq!(
        (&opened["description"], &opened["parent"]["offset"]),
        (&json!("another try"), &json!(1))
    );
    let info = served.get("/v1/tasks/t").await.json();
    assert_eq!((&info["active"], &info["lineages"]), (&json!(0), &json!(2)));
    assert_eq!(info["head"], json!(before));
    let listed = served.get("/v1/tasks/t/lineages").await.json();
    assert_eq!(listed["items"][1], opened);
    let body = json!({"kind": "message", "body": {"role": "user", "content": "here"}});
    let appended = served.post("/v1/tasks/t/events?lineage=1", &body.to_string()).await;
    assert_eq!(appended.status, StatusCode::CREATED, "{appended:?}");
    assert_eq!(task.head().unwrap().next, before);
    let long = json!({"description": "x".repeat(1025)}).to_string();
    for (path, body, status) in [
        ("/v1/points/t@99/branch", "", 400),
        ("/v1/points/none@1/branch", "", 404),
        ("/v1/points/t@1/branch", r#"{"descriptions": "x"}"#, 400),
        ("/v1/points/t@1/branch", &*long, 400),
    ] {
        let came = served.post(path, body).await;
        assert_eq!(problem(&came).0, status, "{path} {body}");
    }
    assert_eq!(served.get("/v1/tasks/t").await.json()["lineages"], json!(2));
}
