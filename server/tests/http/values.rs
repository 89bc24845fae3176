//! Values of an event, whole and in ranges, and events with long texts cut.

use axum::http::HeaderValue;
use milepost::events::Message;
use serde_json::json;

use crate::served::{Came, Served, request};

const VALUE: &str = "/v1/points/essay@1/value?pointer=/content";

/// Returns a service with a task whose first message has these thousand characters.
fn served() -> Served {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    task.append(Message::text("user", &"0123456789".repeat(100))).unwrap();
    served
}

async fn ranged(served: &Served, range: &'static str) -> Came {
    let mut request = request("GET", VALUE, None, "");
    request.headers_mut().insert("range", HeaderValue::from_static(range));
    served.ask(request).await
}

#[tokio::test]
async fn a_range_of_a_value_is_its_bytes() {
    let served = served();
    let whole = served.get(VALUE).await;
    assert_eq!((whole.status.as_u16(), whole.bytes.len()), (200, 1000));
    assert_eq!(whole.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(whole.header("x-content-type-options"), "nosniff");
    for (range, bytes, told) in [
        ("bytes=3-5", "345", "bytes 3-5/1000"),
        ("bytes=997-", "789", "bytes 997-999/1000"),
        ("bytes=998-5000", "89", "bytes 998-999/1000"),
    ] {
        let came = ranged(&served, range).await;
        assert_eq!(came.status, 206, "{range}");
        assert_eq!(came.bytes, bytes.as_bytes(), "{range}");
        assert_eq!(came.header("content-range"), told);
    }
    for range in ["bytes=5-3", "bytes=-3", "lines=1-2", "bytes=a-b"] {
        assert_eq!(ranged(&served, range).await.bytes.len(), 1000, "{range} is no range");
    }
    let behind = ranged(&served, "bytes=1000-").await;
    assert_eq!((behind.status.as_u16(), behind.header("content-range")), (416, "bytes */1000"));
    assert_eq!(behind.json()["detail"], "the value has 1000 bytes");
}

#[tokio::test]
async fn values_of_one_event_have_tags_of_their_own() {
    let served = served();
    let content = served.get(VALUE).await;
    let role = served.get("/v1/points/essay@1/value?pointer=/role").await;
    assert_eq!(role.bytes, b"user".as_slice());
    assert_ne!(content.header("etag"), role.header("etag"));
}

#[tokio::test]
async fn a_long_text_of_an_event_is_cut_and_says_where_the_whole_is() {
    let served = served();
    let came = served.get("/v1/points/essay@1/event?cut=256").await.json();
    let cut = &came["body"]["content"];
    assert_eq!(cut["cut"].as_str().unwrap().len(), 256);
    assert_eq!((&cut["bytes"], &cut["pointer"]), (&json!(1000), &json!("/content")));
    let whole = served.get("/v1/points/essay@1/event?cut=2000").await.json();
    assert_eq!(whole["body"]["content"].as_str().unwrap().len(), 1000);
    assert_eq!(came["hash"], whole["hash"]);
    assert_eq!(served.get("/v1/points/essay@1/event?cut=255").await.status, 400);
}

#[tokio::test]
async fn values_that_a_serde_json_value_cannot_hold_are_answered_by_their_text() {
    let served = Served::new();
    served.task("t", "ana", 0);
    let digits = "1".repeat(400);
    for (offset, (given, text)) in
        [("1e400", "1e400"), (digits.as_str(), &digits), ("\"\\ud83d\"", "\u{fffd}")]
            .iter()
            .enumerate()
    {
        let at = offset + 1;
        let event = format!(
            r#"{{"kind":"tool_called","body":{{"call":"c","tool":"t","arguments":{{"x":{given}}}}}}}"#
        );
        assert_eq!(served.post("/v1/tasks/t/events", &event).await.status, 201, "{given}");
        let whole = served.get(&format!("/v1/points/t@{at}/event")).await;
        assert!(String::from_utf8_lossy(&whole.bytes).contains(given), "{given}");
        let cut = served.get(&format!("/v1/points/t@{at}/event?cut=256")).await.json();
        let shown = &cut["body"]["arguments"]["x"];
        let begin = shown.as_str().or(shown["cut"].as_str()).unwrap();
        assert_eq!(begin, text.get(..256).unwrap_or(text));
        let value = format!("/v1/points/t@{at}/value?pointer=/arguments/x");
        assert_eq!(served.get(&value).await.bytes, text.as_bytes());
    }
    assert_eq!(served.get("/v1/tasks/t/events?cut=256").await.status, 200);
}
