//! Answers and bodies that are packed.

use std::io::{Read as _, Write as _};

use axum::body::Body;
use axum::http::Request;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use milepost::Mark;
use milepost::events::Message;
use milepost_server::ServerOptions;
use milepost_workspace::{Workspace, WorkspaceOptions};

use crate::served::{Came, Served};

const EVENTS: &str = "/v1/tasks/essay/events";

fn essay() -> Served {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    let text = "hello ".repeat(1000);
    task.append(Message::text("user", &text)).unwrap();
    served
}

async fn get(served: &Served, path: &str, headers: &[(&str, &str)]) -> Came {
    let mut asked = Request::builder().uri(path);
    for (name, value) in headers {
        asked = asked.header(*name, *value);
    }
    served.ask(asked.body(Body::empty()).unwrap()).await
}

/// Starts a task by a body that is packed.
async fn post(served: &Served, encoding: &str, body: Vec<u8>) -> Came {
    let asked = Request::post("/v1/tasks")
        .header("content-type", "application/json")
        .header("content-encoding", encoding)
        .body(Body::from(body));
    served.ask(asked.unwrap()).await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn unpacked(came: &Came) -> Vec<u8> {
    match came.header("content-encoding") {
        "gzip" => {
            let mut all = Vec::new();
            GzDecoder::new(&*came.bytes).read_to_end(&mut all).unwrap();
            all
        }
        "zstd" => zstd::decode_all(&*came.bytes).unwrap(),
        "" => came.bytes.clone(),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn an_answer_is_packed_as_it_is_asked_for() {
    let served = essay();
    for form in ["application/json", "application/x-ndjson"] {
        let plain = get(&served, EVENTS, &[("accept", form)]).await;
        assert_eq!(plain.header("content-encoding"), "");
        for (accepted, packed) in [
            ("gzip", "gzip"),
            ("zstd", "zstd"),
            ("gzip, zstd", "zstd"),
            ("gzip, zstd;q=0.5", "gzip"),
            ("br, deflate", ""),
            ("gzip;q=0", ""),
            ("identity", ""),
        ] {
            let headers = [("accept", form), ("accept-encoding", accepted)];
            let came = get(&served, EVENTS, &headers).await;
            assert_eq!(came.header("content-encoding"), packed, "{accepted}");
            assert_eq!(came.header("vary"), "accept, accept-encoding");
            assert_eq!(unpacked(&came), plain.bytes, "{accepted}");
            assert_eq!(came.bytes.len() < plain.bytes.len(), !packed.is_empty());
        }
    }
}

#[tokio::test]
async fn the_page_of_the_api_comes_with_each_file_that_it_loads() {
    let served = Served::new();
    let page = get(&served, "/docs/", &[]).await;
    let page = String::from_utf8(page.bytes).unwrap();
    let quoted: Vec<_> =
        page.split('"').filter(|one| one.ends_with(".js") || one.ends_with(".css")).collect();
    assert_eq!(quoted.len(), 2, "{page}");
    for file in quoted {
        let path = format!("/docs/{file}");
        let plain = get(&served, &path, &[]).await;
        assert_eq!((plain.status.as_u16(), plain.header("content-encoding")), (200, ""), "{path}");
        for accepted in ["gzip", "gzip, deflate, br"] {
            let came = get(&served, &path, &[("accept-encoding", accepted)]).await;
            assert_eq!(unpacked(&came), plain.bytes, "{path}");
            assert_eq!(came.header("content-type"), plain.header("content-type"));
        }
    }
    let script = get(&served, "/docs/page.js", &[]).await;
    assert!(String::from_utf8(script.bytes).unwrap().contains("\"/openapi.json\""));
}

#[tokio::test]
async fn the_tag_of_a_packed_answer_is_known_with_and_without_packing() {
    let served = essay();
    let packed = [("accept-encoding", "gzip")];
    let tag = get(&served, EVENTS, &packed).await;
    let tag = tag.header("etag").to_owned();
    let plain = get(&served, EVENTS, &[]).await;
    let plain = plain.header("etag").to_owned();
    // Other bytes are not under the same strong tag.
    assert_eq!(tag, format!("W/{plain}"));
    for known in [&tag, &plain] {
        for encoding in ["gzip", "identity"] {
            let headers = [("accept-encoding", encoding), ("if-none-match", known)];
            let came = get(&served, EVENTS, &headers).await;
            assert_eq!((came.status.as_u16(), came.bytes.len()), (304, 0));
            assert_eq!(came.header("etag"), known, "as it is known");
            assert_eq!(came.header("vary"), "accept, accept-encoding");
        }
    }
}

#[tokio::test]
async fn what_is_short_a_file_or_a_stream_is_not_packed() {
    let served = Served::new();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("long.txt"), "x".repeat(5000)).unwrap();
    let task = served.task("essay", "ana", 0);
    task.append(Message::text("user", &"x".repeat(5000))).unwrap();
    let workspace = Workspace::open(folder.path(), WorkspaceOptions::default()).unwrap();
    let mark = Some(Mark::new().label("first"));
    workspace.capture(&served.engine, &task, mark).unwrap();
    for (path, accept) in [
        ("/v1/tasks", "*/*"),
        ("/healthz", "*/*"),
        ("/v1/points/essay/files/long.txt", "*/*"),
        ("/v1/tasks/essay/events?follow=false", "text/event-stream"),
    ] {
        let headers = [("accept-encoding", "gzip, zstd"), ("accept", accept)];
        let came = get(&served, path, &headers).await;
        assert_eq!(came.status, 200, "{path}: {came:?}");
        assert_eq!(came.header("content-encoding"), "", "{path}");
        assert!(!came.header("etag").starts_with("W/"), "{path}");
    }
    let file = get(&served, "/v1/points/essay/files/long.txt", &[("accept-encoding", "gzip")]);
    assert_eq!(file.await.header("content-length"), "5000");
}

#[tokio::test]
async fn a_packed_body_is_taken() {
    let served = Served::new();
    let body = |id: &str| format!("{{\"id\": \"{id}\"}}").into_bytes();
    for (id, encoding, body) in [
        ("a", "gzip", gzip(&body("a"))),
        ("b", "zstd", zstd(&body("b"))),
        ("c", "GZIP", gzip(&body("c"))),
        ("d", "identity", body("d")),
    ] {
        let came = post(&served, encoding, body).await;
        assert_eq!(came.status, 201, "{encoding}: {came:?}");
        assert!(served.engine.task(id).is_ok());
    }
    // Two that follow each other are one.
    let whole = body("two");
    let (one, two) = whole.split_at(5);
    let came = post(&served, "gzip", [gzip(one), gzip(two)].concat()).await;
    assert_eq!(came.status, 201, "{came:?}");
    let whole = body("four");
    let (one, two) = whole.split_at(5);
    let came = post(&served, "zstd", [zstd(one), zstd(two)].concat()).await;
    assert_eq!(came.status, 201, "{came:?}");
}

#[tokio::test]
async fn the_limit_holds_for_what_a_body_unpacks_to() {
    let served = Served::with(ServerOptions::default().body(10_000));
    let bomb = vec![b' '; 100 << 20];
    let fits = [&br#"{"id": "fits"}"#[..], &[b' '; 9986]].concat();
    assert_eq!(fits.len(), 10_000);
    for (encoding, pack) in [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("zstd", zstd)] {
        let (bomb, long) = (pack(&bomb), pack(&[&fits[..], b" "].concat()));
        assert!(long.len() < 1000);
        let came = post(&served, encoding, bomb).await;
        assert_eq!(came.status, 413, "{encoding}: {came:?}");
        assert_eq!(post(&served, encoding, long).await.status, 413);
        assert_ne!(post(&served, encoding, pack(&fits)).await.status, 413);
    }
    assert!(served.engine.task("fits").is_ok());
    // An endless frame that unpacks to nothing.
    let empty = zstd(b"").repeat(2000);
    assert_eq!(post(&served, "zstd", empty).await.status, 413);
}

#[tokio::test]
async fn what_is_packed_in_another_way_or_broken_is_refused() {
    let served = Served::new();
    for encoding in ["br", "deflate", "gzip, zstd", "", "x"] {
        let came = post(&served, encoding, b"{\"id\": \"x\"}".to_vec()).await;
        assert_eq!(came.status, 415, "{encoding}");
        assert_eq!(came.header("accept-encoding"), "gzip, zstd");
        assert!(came.json()["type"].to_string().ends_with("/media_type\""));
    }
    let body = br#"{"id": "x"}"#;
    for (encoding, whole) in [("gzip", gzip(body)), ("zstd", zstd(body))] {
        let mut broken = whole.clone();
        let last = broken.len() - 6;
        broken[last] ^= 0xff;
        for wrong in [
            whole[..whole.len() - 1].to_vec(),
            whole[..4].to_vec(),
            Vec::new(),
            body.to_vec(),
            [&whole[..], b"more"].concat(),
            broken,
        ] {
            let came = post(&served, encoding, wrong.clone()).await;
            assert_eq!(came.status, 400, "{encoding} {wrong:?}: {came:?}");
        }
    }
    // One that looks back on more than HTTP lets it.
    for (log, status) in [(24, 400), (23, 201)] {
        let mut far = zstd::Encoder::new(Vec::new(), 3).unwrap();
        far.window_log(log).unwrap();
        far.write_all(br#"{"id": "far"}"#).unwrap();
        let came = post(&served, "zstd", far.finish().unwrap()).await;
        assert_eq!(came.status, status, "{came:?}");
    }
    assert!(served.engine.task("x").is_err());
}
