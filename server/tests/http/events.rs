//! `/v1`: ranges of events.
use axum::http::StatusCode;
use http_body_util::BodyExt as _;
use milepost::Append;
use milepost::events::Message;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::lists::problem;
use crate::served::{Came, Served, request};

const LINES: &str = "application/x-ndjson";

/// A task with so many messages of so many bytes.
fn talk(served: &Served, messages: usize, bytes: usize) -> milepost::Task {
    let task = served.task("t", "ana", 0);
    for n in 0..messages {
        let text = format!("{n} {}", "x".repeat(bytes));
        task.append(Message::text("user", &text)).unwrap();
    }
    task
}

fn offsets(items: &[Value]) -> Vec<u64> {
    let offset = |item: &Value| item["offset"].as_str().unwrap().parse().unwrap();
    items.iter().map(offset).collect()
}

fn page(came: &Came) -> (Vec<u64>, Value, Value) {
    assert_eq!(came.status, StatusCode::OK, "{came:?}");
    let json = came.json();
    let items = offsets(json["items"].as_array().unwrap());
    (items, json["next"].clone(), json["head"].clone())
}

async fn accept(served: &Served, path: &str, kind: &str) -> Came {
    let mut asked = request("GET", path, None, "");
    asked.headers_mut().insert("accept", kind.parse().unwrap());
    served.ask(asked).await
}

fn lines(came: &Came) -> Vec<Value> {
    assert_eq!(came.status, StatusCode::OK, "{came:?}");
    assert_eq!(came.header("content-type"), LINES);
    let text = std::str::from_utf8(&came.bytes).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_range_is_answered_a_page_at_a_time_to_the_head() {
    let served = Served::new();
    talk(&served, 9, 1);
    let path = "/v1/tasks/t/events";
    let came = served.get(path).await;
    assert_eq!(page(&came), ((0..10).collect(), Value::Null, json!("10")));
    let event = &came.json()["items"][3];
    assert_eq!((&event["kind"], &event["lineage"]), (&json!("message"), &json!(0)));
    assert_eq!(event["body"]["content"], "2 x");
    for (query, from, to, next) in [
        ("limit=4", 0, 4, json!("4")),
        ("from=4&limit=4", 4, 8, json!("8")),
        ("from=8&limit=4", 8, 10, Value::Null),
        ("from=8&limit=2", 8, 10, Value::Null),
        ("from=2&to=5", 2, 5, Value::Null),
        ("from=2&to=5&limit=2", 2, 4, json!("4")),
        ("to=3", 0, 3, Value::Null),
        ("to=99", 0, 10, Value::Null),
        ("from=10", 10, 10, Value::Null),
        ("from=3&to=3", 3, 3, Value::Null),
        ("lineage=0&from=9", 9, 10, Value::Null),
    ] {
        let came = served.get(&format!("{path}?{query}")).await;
        assert_eq!(page(&came), ((from..to).collect(), next, json!("10")), "{query}");
    }
    for (query, status) in [
        ("from=11", 400),
        ("from=5&to=4", 400),
        ("from=-1", 400),
        ("from=1.5", 400),
        ("from=99999999999999999999", 400),
        ("limit=0", 400),
        ("limit=1001", 400),
        ("after=1", 400),
        ("lineage=1", 404),
        ("lineage=x", 400),
    ] {
        for kind in ["application/json", LINES] {
            let came = accept(&served, &format!("{path}?{query}"), kind).await;
            assert_eq!(problem(&came).0, status, "{query} {kind}");
        }
    }
    let came = served.get("/v1/tasks/none/events").await;
    assert_eq!(problem(&came), (404, "not_found".into()));
}

#[tokio::test]
async fn another_lineage_is_read_through_what_it_inherits() {
    let served = Served::new();
    let task = talk(&served, 4, 1);
    let point = served.engine.point("t@3").unwrap();
    served.engine.restore(&point).run().unwrap();
    let active = served.get("/v1/tasks/t/events").await.json();
    let of: Vec<&Value> =
        active["items"].as_array().unwrap().iter().map(|item| &item["lineage"]).collect();
    assert_eq!(of[..4], [&json!(0), &json!(0), &json!(0), &json!(1)]);
    let old = page(&served.get("/v1/tasks/t/events?lineage=0").await);
    assert_eq!(old.2, task.head().unwrap().next.to_string());
}

#[tokio::test]
async fn a_page_stops_before_it_is_too_long_and_has_one_event_at_least() {
    let served = Served::new();
    let task = served.task("t", "ana", 0);
    for megabytes in [1, 1, 1, 3, 5, 1] {
        task.append(Message::text("user", &"x".repeat(megabytes << 20))).unwrap();
    }
    let (mut from, mut pages) = ("0".to_owned(), Vec::new());
    // Each page has one at least.
    for _ in 0..7 {
        let came = served.get(&format!("/v1/tasks/t/events?from={from}")).await;
        let (items, next, _) = page(&came);
        assert!(items.len() == 1 || came.bytes.len() < 4 << 20 | 1 << 10);
        pages.push(items);
        match next.as_str() {
            Some(next) => from = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(pages, [vec![0, 1, 2, 3], vec![4], vec![5], vec![6]]);
    let all = accept(&served, "/v1/tasks/t/events", LINES).await;
    assert_eq!(offsets(&lines(&all)), (0..7).collect::<Vec<_>>());
}

#[tokio::test]
async fn lines_go_to_the_end_and_each_is_what_a_page_shows() {
    let served = Served::new();
    let task = served.task("t", "ana", 0);
    let many = (0..3000).map(|n| Message::text("user", &format!("{n} {}", "y".repeat(200))));
    task.append(Append::batch(many)).unwrap();
    let path = "/v1/tasks/t/events";
    let all = lines(&accept(&served, path, LINES).await);
    assert_eq!(offsets(&all), (0..3001).collect::<Vec<_>>());
    let json = served.get(&format!("{path}?limit=1000")).await.json();
    assert_eq!(json["items"].as_array().unwrap()[..], all[..1000]);
    let some = accept(&served, &format!("{path}?from=5&to=2000&limit=7"), LINES).await;
    assert_eq!(offsets(&lines(&some)), (5..12).collect::<Vec<_>>());
    let none = accept(&served, &format!("{path}?from=3001"), LINES).await;
    assert!(lines(&none).is_empty());
}

#[tokio::test]
async fn lines_that_cannot_be_read_on_end_before_their_end() {
    let served = Served::new();
    let task = served.task("t", "ana", 0);
    let many = (0..2000).map(|n| Message::text("user", &format!("{n} {}", "y".repeat(500))));
    task.append(Append::batch(many)).unwrap();
    let mut asked = request("GET", "/v1/tasks/t/events", None, "");
    asked.headers_mut().insert("accept", LINES.parse().unwrap());
    let response = served.router().oneshot(asked).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.len() < 200_000, "a buffer is bounded: {}", first.len());
    // What is read next is not there any more.
    served.engine.retention().delete_task("t").unwrap();
    let rest = body.collect().await;
    assert!(rest.unwrap_err().to_string().contains("before its end"));
}

#[tokio::test]
async fn a_form_that_there_is_not_is_refused() {
    let served = Served::new();
    talk(&served, 1, 1);
    for kind in ["text/xml", "text/html", "application/json;q=0"] {
        let came = accept(&served, "/v1/tasks/t/events", kind).await;
        assert_eq!(problem(&came), (406, "invalid".into()), "{kind}");
    }
    for kind in ["*/*", "application/*;q=0.1", "text/html, application/json"] {
        let came = accept(&served, "/v1/tasks/t/events", kind).await;
        assert_eq!(came.header("content-type"), "application/json", "{kind}");
        assert_eq!(came.header("vary"), "accept, accept-encoding");
    }
}
