//! H4: memory of readers of long events, however many they are. A binary of its own, since it
//! counts all allocations.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use milepost::events::Message;
use milepost::{Engine, Options};
use milepost_server::{Server, ServerOptions, Tokens};
use peak_alloc::PeakAlloc;
use tower::ServiceExt as _;

#[global_allocator]
static COUNTING: PeakAlloc = PeakAlloc;

const EVENT: usize = 2 << 20;
const EVENTS: u64 = 3;
const READERS: usize = 40;

/// Tests here count the same bytes.
static ONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[tokio::test]
async fn pages_and_differences_of_large_states_hold_no_more_than_is_set_however_many_ask() {
    let _one = ONE.lock().await;
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "local").unwrap();
    for n in 0..2 {
        let fields = (0..40_000).map(|i| format!("\"{i:x}\":{{\"a\":[{}]}}", i + n));
        let fields: Vec<_> = fields.collect();
        let value = milepost::Json::new(format!("{{{}}}", fields.join(","))).unwrap();
        let edited =
            milepost::events::ArtifactsEdited { artifacts: [("v".to_owned(), value)].into() };
        task.append(edited).unwrap();
    }
    for n in 0..EVENTS {
        let text = n.to_string().repeat(EVENT);
        task.append(Message::text("user", &text)).unwrap();
    }
    let options = ServerOptions::default().memory(64 << 20);
    let router = Server::new(&engine, Tokens::none(), options).unwrap();
    let router = router.router();
    for path in ["/v1/points/t@2/diff/t@3", "/v1/tasks/t/events?from=3&limit=1"] {
        let before = COUNTING.current_usage();
        COUNTING.reset_peak_usage();
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..READERS {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let router = router.clone();
            readers.spawn(async move {
                let answer = router.oneshot(request).await.unwrap();
                let status = answer.status();
                answer.into_body().collect().await.unwrap();
                status.as_u16()
            });
        }
        let mut answered = 0;
        while let Some(status) = readers.join_next().await {
            let status = status.unwrap();
            assert!([200, 503].contains(&status), "{path}: {status}");
            answered += u32::from(status == 200);
        }
        assert!(answered > 0, "{path}");
        let peak = COUNTING.peak_usage() - before;
        // An eighth of the limit, and what is read at once.
        let most = (8 << 20) + 4 * 6 * EVENT;
        assert!(peak < most, "{path}: {} MiB", peak >> 20);
    }
}

#[tokio::test]
async fn readers_of_long_events_hold_no_more_than_is_set_and_all_of_them_come_to_the_end() {
    let _one = ONE.lock().await;
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "local").unwrap();
    for n in 0..EVENTS {
        let text = n.to_string().repeat(EVENT);
        task.append(Message::text("user", &text)).unwrap();
    }
    let options = ServerOptions::default().memory(64 << 20);
    let server = Server::new(&engine, Tokens::none(), options).unwrap();
    let router = server.router();
    for (accept, query) in [("text/event-stream", "?follow=false"), ("application/x-ndjson", "")] {
        let before = COUNTING.current_usage();
        COUNTING.reset_peak_usage();
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..READERS {
            let request = Request::get(format!("/v1/tasks/t/events{query}"))
                .header("accept", accept)
                .body(Body::empty())
                .unwrap();
            let router = router.clone();
            readers.spawn(async move {
                let answer = router.oneshot(request).await.unwrap();
                assert_eq!(answer.status(), 200);
                let (mut body, mut bytes) = (answer.into_body(), 0);
                while let Some(frame) = body.frame().await {
                    // Others are let in between two pieces, so that all of them hold one.
                    tokio::task::yield_now().await;
                    bytes += frame.unwrap().into_data().unwrap().len();
                }
                bytes
            });
        }
        while let Some(bytes) = readers.join_next().await {
            let bytes = bytes.unwrap();
            assert!(bytes > EVENT * EVENTS as usize, "{accept}: {bytes}");
        }
        let peak = COUNTING.peak_usage() - before;
        // A quarter of the limit, four reads at once, of a few times an event's length each.
        let most = (16 << 20) + 4 * 6 * EVENT;
        assert!(peak < most, "{accept}: {} MiB", peak >> 20);
    }
}
