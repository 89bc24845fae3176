//! `/v1`: ranges of events.
use axum::http::StatusCode;
use http_body_util::BodyExt as _;
use milepost::events::{Message, PhaseChanged, StepStarted};
use milepost::{Append, Body};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::lists::problem;
use crate::served::{Came, Served, request};

const LINES: &str = "application/x-ndjson";

/// Makes a task with this many messages of this many bytes.
fn talk(served: &Served, messages: usize, bytes: usize) -> milepost::Task {
    let task = served.task("t", "ana", 0);
    for n in 0..messages {
        let text = format!("{n} {}", "x".repeat(bytes));
        task.append(Message::text("user", &text)).unwrap();
    }
    task
}

fn offsets(items: &[Value]) -> Vec<u64> {
    let offset = |item: &Value| item["offset"].as_u64().unwrap();
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
    assert_eq!(page(&came), ((0..10).collect(), Value::Null, json!(10)));
    let event = &came.json()["items"][3];
    assert_eq!((&event["kind"], &event["lineage"]), (&json!("message"), &json!(0)));
    assert_eq!(event["body"]["content"], "2 x");
    for (query, from, to, next) in [
        ("limit=4", 0, 4, json!(4)),
        ("from=4&limit=4", 4, 8, json!(8)),
        ("from=8&limit=4", 8, 10, Value::Null),
        ("from=8&limit=2", 8, 10, Value::Null),
        ("from=2&to=5", 2, 5, Value::Null),
        ("from=2&to=5&limit=2", 2, 4, json!(4)),
        ("to=3", 0, 3, Value::Null),
        ("to=99", 0, 10, Value::Null),
        ("from=10", 10, 10, Value::Null),
        ("from=3&to=3", 3, 3, Value::Null),
        ("lineage=0&from=9", 9, 10, Value::Null),
    ] {
        let came = served.get(&format!("{path}?{query}")).await;
        assert_eq!(page(&came), ((from..to).collect(), next, json!(10)), "{query}");
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
    assert_eq!(old.2, task.head().unwrap().next);
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
        match next.as_u64() {
            Some(next) => from = next.to_string(),
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
    // The next part of the reading no longer exists.
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

fn phase(iteration: u64) -> Body {
    let phase = "draft".to_owned();
    PhaseChanged { previous: None, phase, iteration }.into()
}

/// All events of a range with a filter, page by page.
async fn paged(served: &Served, query: &str) -> (Vec<u64>, usize) {
    let (mut all, mut pages, mut from) = (Vec::new(), 0, "0".to_owned());
    loop {
        let path = format!("/v1/tasks/t/events?{query}&from={from}");
        let (items, next, _) = page(&served.get(&path).await);
        all.extend(items);
        pages += 1;
        match next.as_u64() {
            Some(next) => from = next.to_string(),
            None => return (all, pages),
        }
    }
}

#[tokio::test]
async fn seed_001_the_events_of_an_iteration_are_those_whose_state_is_of_it_whatever_the_pages() {
    let served = Served::new();
    let task = served.task("t", "ana", 0);
    let step = |step, iteration| Body::from(StepStarted { step, name: None, iteration });
    for iteration in [1, 2, 1] {
        task.append(phase(iteration)).unwrap();
        task.append(Message::text("user", "first")).unwrap();
        task.append(step(1, Some(iteration + 2))).unwrap();
        task.append(step(2, None)).unwrap();
        task.append(Message::text("user", "second")).unwrap();
    }
    // An iteration that is erased is not one of the state either.
    let point = served.engine.point("t@9").unwrap();
    served.engine.retention().erase(&point, None).unwrap();
    let state = |next: u64| served.engine.run_state(&task.point(next).unwrap()).unwrap();
    let head = task.head().unwrap().next;
    for iteration in 0..6 {
        let of_it: Vec<u64> = (0..head).filter(|at| state(at + 1).iteration == iteration).collect();
        for limit in [1, 2, 3, 100] {
            let query = format!("iteration={iteration}&limit={limit}");
            assert_eq!(paged(&served, &query).await.0, of_it, "{query}");
        }
        for from in 0..=head {
            let rest: Vec<u64> = of_it.iter().copied().filter(|at| *at >= from).collect();
            let path = format!("/v1/tasks/t/events?iteration={iteration}&from={from}");
            assert_eq!(offsets(&lines(&accept(&served, &path, LINES).await)), rest, "{path}");
            let some = accept(&served, &format!("{path}&limit=2"), LINES).await;
            assert_eq!(offsets(&lines(&some)), rest[..rest.len().min(2)], "{path}");
        }
    }
    let (messages, _) = paged(&served, "iteration=1&kind=message").await;
    assert_eq!(messages, [2, 12]);
    let (both, _) = paged(&served, "kind=phase_changed,step_started&limit=1").await;
    assert_eq!(both, [1, 3, 4, 6, 8, 9, 11, 13, 14]);
}

#[tokio::test]
async fn a_page_ends_after_many_events_that_do_not_fit_and_the_next_one_continues() {
    let served = Served::new();
    let task = served.task("t", "ana", 0);
    let many = (0..9_999).map(|_| Message::text("user", "x"));
    task.append(Append::batch(many)).unwrap();
    task.append(Append::batch([phase(7), phase(8)])).unwrap();
    let path = "/v1/tasks/t/events?kind=phase_changed";
    let first = page(&served.get(path).await);
    assert_eq!(first, (Vec::new(), json!(10_000), json!(10_002)));
    let second = page(&served.get(&format!("{path}&from=10000&limit=1")).await);
    assert_eq!(second, (vec![10_000], json!(10_001), json!(10_002)));
    assert_eq!(paged(&served, "kind=phase_changed").await, (vec![10_000, 10_001], 2));
    assert_eq!(paged(&served, "iteration=8").await, (vec![10_001], 2));
    let all = accept(&served, path, LINES).await;
    assert_eq!(offsets(&lines(&all)), [10_000, 10_001]);
}

#[tokio::test]
async fn a_filter_that_cannot_be_met_is_refused_and_has_a_tag_of_its_own() {
    let served = Served::new();
    talk(&served, 3, 1);
    for (query, kind, status) in [
        ("kind=mesage", "application/json", 400),
        ("kind=", "application/json", 400),
        ("kind=message,", LINES, 400),
        ("kind=unknown", LINES, 400),
        ("kind=message&kind=message", "application/json", 400),
        ("iteration=-1", "application/json", 400),
        ("iteration=x", LINES, 400),
        ("iteration=1", "text/event-stream", 400),
        ("kind=message", "text/event-stream", 400),
    ] {
        let came = accept(&served, &format!("/v1/tasks/t/events?{query}"), kind).await;
        assert_eq!(problem(&came).0, status, "{query} {kind}");
    }
    let wrong = served.get("/v1/tasks/t/events?kind=mesage").await;
    assert!(problem(&wrong).0 == 400 && wrong.json()["detail"].to_string().contains("mesage"));
    let mut tags = Vec::new();
    for query in ["", "?kind=message", "?iteration=0", "?iteration=0&kind=message"] {
        let came = served.get(&format!("/v1/tasks/t/events{query}")).await;
        tags.push(came.header("etag").to_owned());
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), 4, "{tags:?}");
}

#[tokio::test]
async fn long_texts_of_events_are_cut_where_that_is_asked_for() {
    let served = Served::new();
    talk(&served, 1, 1000);
    let path = "/v1/tasks/t/events?cut=256";
    let came = served.get(path).await;
    let content = &came.json()["items"][1]["body"]["content"];
    assert_eq!(content["cut"], format!("0 {}", "x".repeat(254)));
    assert_eq!((&content["bytes"], &content["pointer"]), (&json!(1002), &json!("/content")));
    let whole = served.get("/v1/tasks/t/events").await;
    assert_eq!(whole.json()["items"][1]["hash"], came.json()["items"][1]["hash"]);
    assert_ne!(whole.header("etag"), came.header("etag"));
    assert_eq!(whole.json()["items"][1]["body"]["content"].as_str().map(str::len), Some(1002));
    let lines = lines(&accept(&served, path, LINES).await);
    assert_eq!(&lines[1]["body"]["content"], content);
    for (path, kind) in [("/v1/tasks/t/events?cut=255", LINES), (path, "text/event-stream")] {
        let refused = accept(&served, path, kind).await;
        assert_eq!(problem(&refused), (400, "invalid".into()), "{path}");
    }
}
