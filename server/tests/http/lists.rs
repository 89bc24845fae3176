//! `/v1`: tasks, lineages, checkpoints and numbers.
use axum::http::StatusCode;
use milepost::Mark;
use milepost::events::{MarkStatus, Message};
use serde_json::{Value, json};

use crate::served::{Came, Served};

fn ids(came: &Came) -> Vec<String> {
    assert_eq!(came.status, StatusCode::OK, "{came:?}");
    let items = came.json()["items"].as_array().unwrap().clone();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the message of a problem, and asserts its fixed parts.
pub fn problem(came: &Came) -> (u16, String) {
    let json = came.json();
    assert_eq!(came.header("content-type"), "application/problem+json");
    assert_eq!(json["status"], came.status.as_u16());
    assert_eq!(json["instance"], came.header("x-request-id"));
    assert!(!json["detail"].as_str().unwrap().is_empty());
    assert_eq!(came.header("etag"), "");
    let kind = json["type"].as_str().unwrap();
    let kind = kind.strip_prefix("https://milepost.dev/problems/").unwrap();
    (came.status.as_u16(), kind.to_owned())
}

#[tokio::test]
async fn tasks_are_listed_newest_first_a_page_at_a_time() {
    let served = Served::new();
    for n in 0..5 {
        served.task(&format!("t{n}"), "ana", 0);
    }
    let came = served.get("/v1/tasks?limit=2").await;
    assert_eq!(ids(&came), ["t4", "t3"]);
    let first = &came.json()["items"][0];
    assert_eq!((&first["user"], &first["events"]), (&json!("ana"), &json!(1)));
    let next = came.json()["next"].as_str().unwrap().to_owned();
    let came = served.get(&format!("/v1/tasks?limit=3&cursor={next}")).await;
    assert_eq!(ids(&came), ["t2", "t1", "t0"]);
    assert_eq!(came.json()["next"], Value::Null);
    for query in ["limit=0", "limit=101", "limit=x", "limit=-1", "cursor=zz", "limits=1"] {
        let came = served.get(&format!("/v1/tasks?{query}")).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{query}");
    }
}

#[tokio::test]
async fn tasks_of_others_are_listed_for_admins_only_and_leave_no_trace_in_ones_own_pages() {
    let served = Served::new();
    for (task, user) in [("b0", "bob"), ("a0", "ana"), ("b1", "bob"), ("a1", "ana"), ("b2", "bob")]
    {
        served.task(task, user, 0);
    }
    let (ana, admin) = (served.token("ana", false), served.token("root", true));
    assert_eq!(ids(&served.get_as(&ana, "/v1/tasks").await), ["a1", "a0"]);
    assert_eq!(ids(&served.get_as(&ana, "/v1/tasks?user=ana").await), ["a1", "a0"]);
    // There is another task behind these two, and it is not hers.
    let came = served.get_as(&ana, "/v1/tasks?limit=2").await;
    assert_eq!((ids(&came).len(), &came.json()["next"]), (2, &Value::Null));
    for user in ["bob", "nobody", ""] {
        let came = served.get_as(&ana, &format!("/v1/tasks?user={user}")).await;
        assert_eq!(problem(&came), (403, "forbidden".into()));
    }
    assert_eq!(ids(&served.get_as(&admin, "/v1/tasks").await).len(), 5);
    let bobs = served.get_as(&admin, "/v1/tasks?user=bob").await;
    assert_eq!(ids(&bobs), ["b2", "b1", "b0"]);
    assert!(ids(&served.get_as(&admin, "/v1/tasks?user=nobody").await).is_empty());
}

#[tokio::test]
async fn a_task_and_its_lineages_are_shown() {
    let served = Served::new();
    let task = served.task("a/b", "ana", 1);
    let point = served.engine.point("a%2Fb~1").unwrap();
    served.engine.restore(&point).description("again").run().unwrap();
    let came = served.get("/v1/tasks/a%2Fb").await;
    assert_eq!(came.status, StatusCode::OK, "{came:?}");
    let json = came.json();
    assert_eq!(
        (&json["id"], &json["lineages"], &json["active"]),
        (&json!("a/b"), &json!(2), &json!(1))
    );
    let came = served.get("/v1/tasks/a%2Fb/lineages").await;
    let json = came.json();
    assert_eq!(json["next"], Value::Null);
    let lineages = json["items"].as_array().unwrap();
    assert_eq!(lineages.len(), 2);
    assert_eq!((&lineages[0]["type"], &lineages[0]["parent"]), (&json!("root"), &Value::Null));
    assert_eq!(lineages[0]["head"], task.head().unwrap().next);
    assert_eq!(lineages[1]["description"], "again");
    let info = task.lineages().unwrap().pop().unwrap();
    let parent = json!({
        "lineage": 0,
        "offset": info.parent.unwrap().offset,
        "hash": info.parent.unwrap().hash,
    });
    assert_eq!(lineages[1]["parent"], parent);
    assert_eq!((&lineages[1]["active"], &lineages[1]["begin"]), (&json!(true), &json!(0)));
    for path in ["/v1/tasks/none", "/v1/tasks/none/lineages"] {
        assert_eq!(problem(&served.get(path).await), (404, "not_found".into()));
    }
}

#[tokio::test]
async fn checkpoints_are_listed_newest_first_and_only_those_that_fit() {
    let served = Served::new();
    let task = served.task("t", "ana", 0);
    for n in 0..4 {
        let status = if n == 1 { MarkStatus::Failure } else { MarkStatus::Success };
        let metadata = milepost::Json::new(r#"{"exact": 1.50}"#).unwrap();
        let mark = Mark::new().label(format!("l{n}")).status(status);
        task.checkpoint(mark.metadata(metadata).alias(format!("alias{n}"))).unwrap();
    }
    let point = served.engine.point("t@l2").unwrap();
    let task = served.engine.restore(&point).run().unwrap();
    task.checkpoint(Mark::new().label("other")).unwrap();
    let labels = |came: &Came| -> Vec<String> {
        assert_eq!(came.status, StatusCode::OK, "{came:?}");
        let items = came.json()["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["label"].as_str().unwrap_or("-").to_owned()).collect()
    };
    let path = "/v1/tasks/t/checkpoints";
    let all = labels(&served.get(path).await);
    assert!(all.ends_with(&["l3", "l2", "l1", "l0"].map(str::to_owned)), "{all:?}");
    assert_eq!(all[0], "other");
    let failed = served.get(&format!("{path}?status=failure")).await;
    assert_eq!(labels(&failed), ["l1"]);
    assert!(failed.bytes.windows(4).any(|bytes| bytes == b"1.50"), "word for word");
    assert_eq!(labels(&served.get(&format!("{path}?lineage=1")).await), ["other"]);
    let page = served.get(&format!("{path}?limit=2&lineage=0")).await;
    let next = page.json()["next"].as_str().unwrap().to_owned();
    let rest = served.get(&format!("{path}?lineage=0&limit=100&cursor={next}")).await;
    let pages = [labels(&page), labels(&rest)].concat();
    assert_eq!(pages, all[1..]);
    assert_eq!(rest.json()["next"], Value::Null);
    for query in ["limit=0", "limit=101", "status=good", "lineage=x", "cursor=ab", "filter=x"] {
        let came = served.get(&format!("{path}?{query}")).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{query}");
    }
    let none = served.get("/v1/tasks/none/checkpoints").await;
    assert_eq!(problem(&none), (404, "not_found".into()));
}

#[tokio::test]
async fn a_checkpoint_is_found_by_its_id_and_by_its_beginning() {
    let served = Served::new();
    let task = served.task("t", "ana", 0);
    let mark = Mark::new().label("here").alias("other-id");
    let checkpoint = task.checkpoint(mark).unwrap();
    let id = checkpoint.id.to_string();
    for name in [&id[..], &id[..8], &id.to_uppercase(), "other-id"] {
        let came = served.get(&format!("/v1/checkpoints/{name}")).await;
        assert_eq!(came.status, StatusCode::OK, "{name}: {came:?}");
        let json = came.json();
        assert_eq!((&json["id"], &json["task"]), (&json!(id), &json!("t")));
        assert_eq!(json["hash"], checkpoint.hash.to_string());
        assert_eq!(json["aliases"], json!(["other-id"]));
        assert_eq!(came.header("etag"), format!("\"{id}\""));
    }
    for name in ["0".repeat(64), id[..7].to_owned(), "here".into()] {
        let came = served.get(&format!("/v1/checkpoints/{name}")).await;
        assert_eq!(problem(&came).0, 404, "{name}");
    }
}

#[tokio::test]
async fn numbers_are_of_ones_own_tasks_or_of_the_store() {
    let served = Served::new();
    served.task("a", "ana", 2).append(Message::text("user", "hello")).unwrap();
    served.task("b", "bob", 1);
    let (ana, admin) = (served.token("ana", false), served.token("root", true));
    let own = served.get_as(&ana, "/v1/stats").await.json();
    assert_eq!((&own["user"], own["tasks"].as_array().unwrap().len()), (&json!("ana"), 1));
    let fields = ["lineages", "events", "checkpoints"].map(|name| own["tasks"][0][name].clone());
    assert_eq!(fields, [1, 4, 2].map(|number| json!(number)));
    assert_eq!((&own["tasks"][0]["id"], &own["total"]["events"]), (&json!("a"), &json!(4)));
    assert_eq!(served.get_as(&ana, "/v1/stats?user=ana").await.json(), own);
    assert_eq!(served.get_as(&admin, "/v1/stats?user=ana").await.json(), own);
    let store = served.get_as(&admin, "/v1/stats").await.json();
    let fields = ["tasks", "lineages", "events", "checkpoints"].map(|name| store[name].clone());
    assert_eq!(fields, [2, 2, 6, 3].map(|number| json!(number)));
    assert!(store["disk"]["total"].as_u64().unwrap() > 0);
    let nobody = served.get_as(&admin, "/v1/stats?user=nobody").await.json();
    assert_eq!((&nobody["tasks"], &nobody["total"]["bytes"]), (&json!([]), &json!(0)));
    for user in ["bob", "nobody"] {
        let came = served.get_as(&ana, &format!("/v1/stats?user={user}")).await;
        assert_eq!(problem(&came), (403, "forbidden".into()));
    }
    assert_eq!(problem(&served.get_as(&ana, "/v1/stats?users=x").await).0, 400);
}

#[tokio::test]
async fn what_is_asked_with_unknown_fields_is_refused() {
    let served = Served::new();
    let id = served.task("t", "ana", 1).last_successful().unwrap().unwrap().id;
    for path in [
        "/v1/tasks/t",
        "/v1/tasks/t/lineages",
        "/v1/points/t",
        "/v1/points/t@0/event",
        "/v1/points/t/diff/t",
        "/v1/points/t/files",
        "/v1/points/t/files/x",
        &format!("/v1/checkpoints/{id}"),
    ] {
        let came = served.get(&format!("{path}?unknown=1")).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{path}");
    }
}

#[tokio::test]
async fn numbers_of_many_tasks_come_in_pages_and_their_total_is_of_all() {
    let served = Served::new();
    for n in 0..5 {
        served.task(&format!("t{n}"), "ana", 1);
        served.task(&format!("u{n}"), "bob", 1);
    }
    let ana = served.token("ana", false);
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/stats?limit=2{cursor}");
        let page = served.get_as(&ana, &path).await.json();
        assert_eq!(page["total"]["checkpoints"], 5);
        let tasks = page["tasks"].as_array().unwrap().clone();
        seen.extend(tasks.iter().map(|task| task["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            // A task that is started between two pages is newer than all listed ones.
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
        served.task(&format!("v{}", seen.len()), "ana", 0);
    }
    assert_eq!(seen, ["t4", "t3", "t2", "t1", "t0"]);
    let root = served.token("root", true);
    for path in ["limit=0", "limit=1001", "cursor=", "cursor=zz", "cursor=+000000000000001"] {
        let came = served.get_as(&ana, &format!("/v1/stats?{path}")).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{path}");
        let came = served.get_as(&root, "/v1/stats?limit=5").await;
        assert_eq!(problem(&came), (400, "invalid".into()), "of the store");
    }
}

#[tokio::test]
async fn ids_and_aliases_of_1024_bytes_are_words_of_a_path_and_of_a_query() {
    let served = Served::new();
    let name = |end: &str| format!("{}:{end}", "é".repeat(511));
    let path = |end: &str| format!("{}%3A{end}", "%C3%A9".repeat(511));
    for end in ["s", "t"] {
        let came = served.post("/v1/tasks", &json!({ "id": name(end) }).to_string()).await;
        assert_eq!(came.status, StatusCode::CREATED, "{came:?}");
    }
    for end in ["a", "b"] {
        let line = json!({"kind": "message", "body": {"role": "user", "content": "hello"},
            "mark": {"aliases": [name(end)]}});
        let at = format!("/v1/tasks/{}/events", path("t"));
        let came = served.post(&at, &line.to_string()).await;
        assert_eq!(came.status, StatusCode::CREATED, "{came:?}");
    }
    let prefix = path("").replace("%3A", "");
    let first = served.get(&format!("/v1/tasks?prefix={prefix}&limit=1")).await;
    assert_eq!(ids(&first), [name("s")]);
    let next = first.json()["next"].as_str().unwrap().to_owned();
    let second = served.get(&format!("/v1/tasks?prefix={prefix}&limit=1&cursor={next}")).await;
    assert_eq!(ids(&second), [name("t")]);
    let list = format!("/v1/checkpoints?task={}&order=alias&limit=1", path("t"));
    let newest = served.get(&list).await;
    assert_eq!(newest.json()["items"][0]["aliases"], json!([name("b")]));
    let next = newest.json()["next"].as_str().unwrap().to_owned();
    let older = served.get(&format!("{list}&cursor={next}")).await;
    assert_eq!(older.json()["items"][0]["aliases"], json!([name("a")]));
    let attached = format!("/v1/tasks/{}/attachments", path("t"));
    let given =
        json!({"alias": name("a"), "attachments": [{"writer": "w", "index": 0, "data": 1}]});
    assert_eq!(served.post(&attached, &given.to_string()).await.json()["added"], json!(1));
    let came = served.get(&format!("{attached}?alias={}", path("a"))).await;
    assert_eq!(came.json()["items"].as_array().unwrap().len(), 1, "{came:?}");
    let came = served.get(&format!("/v1/checkpoints/{}", path("a"))).await;
    assert_eq!(came.status, StatusCode::OK, "{came:?}");
    let long = json!({ "id": format!("{}x", name("t")) });
    assert_eq!(problem(&served.post("/v1/tasks", &long.to_string()).await).0, 400);
}
