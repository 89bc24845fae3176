//! Event streams: nothing is skipped and nothing comes twice, across reconnects, restores and slow
//! readers.

use std::collections::VecDeque;

use axum::body::{Body, BodyDataStream};
use axum::http::{Request, StatusCode};
use futures_core::Stream as _;
use milepost::events::Message;
use milepost::{Engine, LineageId, Options, Task};
use milepost_server::{Server, ServerOptions, Tokens};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::served::{Came, Served, request};

/// A stream's reader, which keeps the history that it receives.
struct Reader {
    body: BodyDataStream,
    text: String,
    frames: VecDeque<Frame>,
    /// The id of the last thing that came.
    last: String,
    kept: Vec<Value>,
}

#[derive(Debug)]
struct Frame {
    id: String,
    event: String,
    data: String,
}

impl Frame {
    fn of(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let lines = text.lines().filter_map(|line| line.strip_prefix(name));
            lines.map(|line| line.strip_prefix(": ").unwrap()).collect::<Vec<_>>().join("\n")
        };
        // A comment is none.
        (!text.starts_with(':')).then(|| Self {
            id: field("id"),
            event: field("event"),
            data: field("data"),
        })
    }
}

impl Reader {
    fn new(body: Body) -> Self {
        Self {
            body: body.into_data_stream(),
            text: String::new(),
            frames: VecDeque::new(),
            last: String::new(),
            kept: Vec::new(),
        }
    }

    /// Returns the next frame; nothing at the end.
    async fn next(&mut self) -> Option<Frame> {
        while self.frames.is_empty() {
            let piece = std::future::poll_fn(|context| {
                std::pin::Pin::new(&mut self.body).poll_next(context)
            });
            self.text.push_str(std::str::from_utf8(&piece.await?.unwrap()).unwrap());
            while let Some(end) = self.text.find("\n\n") {
                let rest = self.text.split_off(end + 2);
                let frame = std::mem::replace(&mut self.text, rest);
                self.frames.extend(Frame::of(&frame));
            }
        }
        self.frames.pop_front()
    }

    /// Adds the next frame to the history.
    async fn take(&mut self) -> Option<Frame> {
        let frame = self.next().await?;
        let data: Value = serde_json::from_str(&frame.data).unwrap();
        if frame.event == "problem" {
            return Some(frame);
        }
        self.last.clone_from(&frame.id);
        match &*frame.event {
            "lineage" => {
                let at = usize::try_from(data["at"].as_u64().unwrap()).unwrap();
                assert!(at <= self.kept.len(), "no gap");
                self.kept.truncate(at);
            }
            kind => {
                assert_eq!(data["kind"], kind);
                assert_eq!(data["offset"], self.kept.len(), "dense, once");
                self.kept.push(data);
            }
        }
        Some(frame)
    }

    /// Takes all up to an offset of a lineage.
    async fn up_to(&mut self, lineage: u32, next: u64) {
        let place = format!("{lineage}:{next}");
        while self.last != place {
            self.take().await.expect("the stream goes on");
        }
    }
}

fn wanted(path: &str, last: Option<&str>) -> Request<Body> {
    let mut request = request("GET", path, None, "");
    let headers = request.headers_mut();
    headers.insert("accept", "text/event-stream".parse().unwrap());
    if let Some(last) = last {
        headers.insert("last-event-id", last.parse().unwrap());
    }
    request
}

const PATH: &str = "/v1/tasks/essay/events";

async fn stream(served: &Served, path: &str, last: Option<&str>) -> Reader {
    let response = served.router().oneshot(wanted(path, last)).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    Reader::new(response.into_body())
}

fn append(task: &Task, count: usize) -> u64 {
    for n in 0..count {
        task.append(Message::text("user", &format!("message {n}"))).unwrap();
    }
    task.head().unwrap().next
}

/// The offsets and texts of a history.
fn shown(events: &[Value]) -> Vec<(String, String)> {
    let pair = |event: &Value| (event["offset"].to_string(), event["body"].to_string());
    events.iter().map(pair).collect()
}

async fn history(served: &Served) -> Vec<(String, String)> {
    let mut request = request("GET", PATH, None, "");
    let lines = "application/x-ndjson".parse().unwrap();
    request.headers_mut().insert("accept", lines);
    let came = served.ask(request).await;
    let text = String::from_utf8(came.bytes).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    shown(&lines.collect::<Vec<Value>>())
}

#[tokio::test]
async fn a_stream_sends_what_is_there_and_then_what_is_committed() {
    let served = Served::new();
    let task = served.engine.start_task("essay", "ana").unwrap();
    let head = append(&task, 5);
    let mut reader = stream(&served, PATH, None).await;
    reader.up_to(0, head).await;
    let head = append(&task, 5);
    reader.up_to(0, head).await;
    // A large event is read from the log by each.
    task.append(Message::text("user", &"x".repeat(100_000))).unwrap();
    let head = append(&task, 5);
    reader.up_to(0, head).await;
    assert_eq!(shown(&reader.kept), history(&served).await);
}

#[tokio::test]
async fn a_stream_that_does_not_follow_ends_at_the_head() {
    let served = Served::new();
    let task = served.engine.start_task("essay", "ana").unwrap();
    let head = append(&task, 700);
    let mut reader = stream(&served, &format!("{PATH}?follow=false"), None).await;
    while reader.take().await.is_some() {}
    assert_eq!(reader.kept.len() as u64, head);
    let mut reader = stream(&served, &format!("{PATH}?follow=false&from=690"), None).await;
    let first = reader.next().await.unwrap();
    assert_eq!((&*first.id, &*first.event), ("0:691", "message"));
}

#[tokio::test]
async fn an_id_goes_on_behind_it_in_any_server_of_the_store() {
    let served = Served::new();
    let task = served.engine.start_task("essay", "ana").unwrap();
    append(&task, 40);
    let mut kept = Vec::new();
    let mut last: Option<String> = None;
    // Each reader takes a few events and disconnects; the next one continues after them.
    for taken in [1, 7, 2, 11, 3] {
        append(&task, 3);
        let mut reader = stream(&served, PATH, last.as_deref()).await;
        reader.kept = kept;
        for _ in 0..taken {
            reader.take().await.unwrap();
        }
        (kept, last) = (reader.kept, Some(reader.last));
    }
    // The program ends, and another serves the store.
    let Served { dir, engine, .. } = served;
    drop(task);
    engine.close().unwrap();
    let engine = Engine::open(dir.path(), Options::default()).unwrap();
    let tokens = Tokens::of_store(dir.path());
    let server = Server::new(&engine, tokens, ServerOptions::default()).unwrap();
    let path = format!("{PATH}?follow=false");
    let response = server.router().oneshot(wanted(&path, last.as_deref())).await;
    let mut reader = Reader::new(response.unwrap().into_body());
    reader.kept = kept;
    while reader.take().await.is_some() {}
    let events = engine.task("essay").unwrap().head().unwrap().next;
    assert_eq!(reader.kept.len() as u64, events);
}

#[tokio::test]
async fn a_restore_is_told_and_the_stream_goes_on_at_the_fork() {
    let served = Served::new();
    let task = served.engine.start_task("essay", "ana").unwrap();
    let head = append(&task, 10);
    let mut here = stream(&served, PATH, None).await;
    here.up_to(0, head).await;
    let behind = stream(&served, &format!("{PATH}?from=3"), Some("0:4")).await;
    drop(behind);
    served.engine.restore(&task.point(5).unwrap()).run().unwrap();
    let task = served.engine.task("essay").unwrap();
    assert_eq!(task.lineage().id(), LineageId(1));
    let head = append(&task, 3);
    let told = here.take().await.unwrap();
    assert_eq!((&*told.event, &*told.id), ("lineage", "1:5"));
    let told: Value = serde_json::from_str(&told.data).unwrap();
    assert_eq!(told, serde_json::json!({"from": 0, "to": 1, "at": 5}));
    here.up_to(1, head).await;
    assert_eq!(shown(&here.kept), history(&served).await);
    // A reader that was further on, and one that was not.
    for (last, at) in [("0:11", "1:5"), ("0:3", "1:3")] {
        let mut later = stream(&served, PATH, Some(last)).await;
        let first = later.next().await.unwrap();
        assert_eq!((&*first.event, &*first.id), ("lineage", at));
    }
    // An undo: the first lineage is the active one again.
    served.engine.undo("essay").run().unwrap();
    let head = append(&served.engine.task("essay").unwrap(), 2);
    here.up_to(0, head).await;
    assert_eq!(shown(&here.kept), history(&served).await);
}

#[tokio::test]
async fn who_reads_slowly_misses_nothing() {
    let served = Served::new();
    let task = served.engine.start_task("essay", "ana").unwrap();
    let mut slow = stream(&served, PATH, None).await;
    let mut quick = stream(&served, PATH, None).await;
    // More than a feed holds, and than waits for a reader.
    for _ in 0..10 {
        let head = append(&task, 200);
        quick.up_to(0, head).await;
    }
    let head = task.head().unwrap().next;
    slow.up_to(0, head).await;
    assert_eq!(shown(&slow.kept), shown(&quick.kept));
    // It has caught up, and is live again.
    let head = append(&task, 3);
    slow.up_to(0, head).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_streams_each_get_every_event_of_a_lineage_that_is_written_to() {
    let served = Served::new();
    let task = served.engine.start_task("essay", "ana").unwrap();
    let mut readers = Vec::new();
    for _ in 0..50 {
        let reader = stream(&served, PATH, None).await;
        readers.push(tokio::spawn(read_all(reader, 301)));
    }
    let writer = std::thread::spawn(move || append(&task, 300));
    for reader in readers {
        assert_eq!(reader.await.unwrap(), 301);
    }
    assert_eq!(writer.join().unwrap(), 301);
}

async fn read_all(mut reader: Reader, next: u64) -> usize {
    reader.up_to(0, next).await;
    reader.kept.len()
}

#[tokio::test]
async fn a_stream_ends_with_what_went_wrong_where_its_task_is_deleted() {
    let served = Served::new();
    let task = served.engine.start_task("essay", "ana").unwrap();
    let head = append(&task, 3);
    let mut reader = stream(&served, PATH, None).await;
    reader.up_to(0, head).await;
    served.engine.retention().delete_task("essay").unwrap();
    let last = reader.take().await.unwrap();
    assert_eq!(last.event, "problem");
    let problem: Value = serde_json::from_str(&last.data).unwrap();
    assert_eq!(problem["status"], 404);
    assert!(reader.take().await.is_none());
}

#[tokio::test]
async fn what_cannot_be_streamed_is_refused_before_it_begins() {
    let served = Served::with(ServerOptions::default().streams(1));
    served.task("essay", "ana", 1);
    let refused = |path: &'static str, last: Option<&'static str>| {
        let request = wanted(path, last);
        async { served.ask(request).await }
    };
    let status = |came: Came| came.status.as_u16();
    assert_eq!(status(refused("/v1/tasks/nothing/events", None).await), 404);
    assert_eq!(status(refused("/v1/tasks/essay/events?from=99", None).await), 400);
    for last in ["x", "0", "0:", "0:x", "-1:0", "0:99"] {
        assert_eq!(status(refused(PATH, Some(last)).await), 400, "{last}");
    }
    let one = stream(&served, PATH, None).await;
    let came = refused(PATH, None).await;
    assert_eq!((came.status.as_u16(), came.header("retry-after")), (503, "1"));
    drop(one);
    let (ana, bob) = (served.token("ana", false), served.token("bob", false));
    let as_user = |token: &str| {
        let mut request = wanted(PATH, None);
        let token = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", token);
        request
    };
    assert_eq!(served.ask(as_user(&bob)).await.status, 404);
    // The place of the stream that was dropped is free once its task has ended.
    let response = loop {
        let response = served.router().oneshot(as_user(&ana)).await.unwrap();
        if response.status() != 503 {
            break response;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(response.status(), 200);
}
