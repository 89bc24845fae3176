//! `/v1`: files of the captured folder.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use axum::http::StatusCode;
use http_body_util::BodyExt as _;
use milepost::Mark;
use milepost_workspace::{Workspace, WorkspaceOptions};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::lists::problem;
use crate::served::{Served, request};

const LONG: usize = 700_000;

/// Bytes that look like nothing.
fn long() -> Vec<u8> {
    (0..LONG as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as u8).collect()
}

/// A task whose folder was captured as `first`, and once more with another draft.
fn captured() -> (Served, tempfile::TempDir) {
    let served = Served::new();
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("work");
    std::fs::create_dir_all(folder.join("src/deep")).unwrap();
    std::fs::write(outer.path().join("secret"), "outside").unwrap();
    std::fs::write(folder.join("draft.md"), "# One\n").unwrap();
    std::fs::write(folder.join("empty"), "").unwrap();
    std::fs::write(folder.join("src/deep/a b%.bin"), long()).unwrap();
    std::fs::write(folder.join(OsStr::from_bytes(b"\xff.txt")), "odd").unwrap();
    std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();
    let task = served.task("essay", "ana", 0);
    let workspace = Workspace::open(&folder, WorkspaceOptions::default()).unwrap();
    let first = Some(Mark::new().label("first"));
    workspace.capture(&served.engine, &task, first).unwrap();
    std::fs::write(folder.join("draft.md"), "# Two\n").unwrap();
    workspace.capture(&served.engine, &task, None).unwrap();
    (served, outer)
}

#[tokio::test]
async fn the_files_of_a_capture_are_listed_as_a_point_sees_them() {
    let (served, _outer) = captured();
    let came = served.get("/v1/points/essay@first/files").await;
    assert_eq!(came.status, StatusCode::OK, "{came:?}");
    assert_eq!(came.header("content-type"), "application/json");
    let json = came.json();
    assert_eq!(json["next"], Value::Null);
    let items = json["items"].as_array().unwrap();
    let paths: Vec<&Value> = items.iter().map(|item| &item["path"]).collect();
    let odd = json!({"base64": "/y50eHQ="});
    let named = ["draft.md", "empty", "link", "src", "src/deep", "src/deep/a b%.bin"]
        .map(|path| json!(path));
    let expected: Vec<&Value> = named.iter().chain([&odd]).collect();
    assert_eq!(paths, expected);
    let draft = &items[0];
    assert_eq!((&draft["kind"], &draft["size"]), (&json!("file"), &json!(6)));
    assert_eq!(draft["hash"], blake3::hash(b"# One\n").to_hex().to_string());
    assert!(draft["mode"].as_str().unwrap().starts_with("06"));
    assert_eq!((&draft["unstable"], draft.get("target")), (&json!(false), None));
    assert_eq!((&items[2]["kind"], &items[2]["target"]), (&json!("link"), &json!("../secret")));
    assert_eq!(items[2].get("size"), None);
    assert_eq!((&items[3]["kind"], items[3].get("hash")), (&json!("directory"), None));
    // Before anything was captured.
    let came = served.get("/v1/points/essay@1/files").await;
    assert_eq!(problem(&came), (404, "not_found".into()));
}

#[tokio::test]
async fn a_list_longer_than_a_buffer_is_one_document() {
    let served = Served::new();
    let folder = tempfile::tempdir().unwrap();
    for n in 0..1500 {
        std::fs::write(folder.path().join(format!("{n:04}{}", "n".repeat(60))), "").unwrap();
    }
    let task = served.task("many", "ana", 0);
    let workspace = Workspace::open(folder.path(), WorkspaceOptions::default()).unwrap();
    workspace.capture(&served.engine, &task, None).unwrap();
    let came = served.get("/v1/points/many/files").await;
    assert!(came.bytes.len() > 128 << 10);
    assert_eq!(came.json()["items"].as_array().unwrap().len(), 1500);
    std::fs::remove_dir_all(folder.path()).unwrap();
    std::fs::create_dir(folder.path()).unwrap();
    workspace.capture(&served.engine, &task, None).unwrap();
    assert_eq!(served.get("/v1/points/many/files").await.json()["items"], json!([]));
}

#[tokio::test]
async fn the_bytes_of_a_file_are_answered_as_they_were_captured() {
    let (served, _outer) = captured();
    let long = long();
    for (path, bytes) in [
        ("essay@first/files/draft.md", &b"# One\n"[..]),
        ("essay/files/draft.md", b"# Two\n"),
        ("essay/files/empty", b""),
        ("essay%2F0/files/src/deep/a%20b%25.bin", &long),
        ("essay/files/src%2Fdeep%2Fa%20b%25.bin", &long),
        ("essay/files/%FF.txt", b"odd"),
    ] {
        let came = served.get(&format!("/v1/points/{path}")).await;
        assert_eq!(came.status, StatusCode::OK, "{path}: {came:?}");
        assert!(came.bytes == bytes, "{path}");
        for (name, value) in [
            ("content-type", "application/octet-stream"),
            ("content-length", &bytes.len().to_string()),
            ("content-disposition", "attachment"),
            ("x-content-type-options", "nosniff"),
            ("etag", &format!("\"{}\"", blake3::hash(bytes).to_hex())),
        ] {
            assert_eq!(came.header(name), value, "{path}");
        }
    }
}

#[tokio::test]
async fn a_long_file_is_answered_a_buffer_at_a_time() {
    let (served, _outer) = captured();
    let asked = request("GET", "/v1/points/essay/files/src/deep/a%20b%25.bin", None, "");
    let mut body = served.router().oneshot(asked).await.unwrap().into_body();
    let mut buffers = Vec::new();
    while let Some(frame) = body.frame().await {
        buffers.push(frame.unwrap().into_data().unwrap().len());
    }
    assert!(buffers.len() > 3 && buffers.iter().all(|len| *len <= 128 << 10), "{buffers:?}");
    assert_eq!(buffers.iter().sum::<usize>(), long().len());
}

#[tokio::test]
async fn no_path_leads_out_of_the_capture() {
    let (served, _outer) = captured();
    for (path, status) in [
        ("none", 404),
        ("src", 404),
        ("link", 404),
        ("link/x", 404),
        ("draft.md/x", 404),
        ("src/none", 404),
        ("../secret", 400),
        ("..%2Fsecret", 400),
        ("%2E%2E/secret", 400),
        ("src/../../secret", 400),
        ("src/../draft.md", 400),
        ("./draft.md", 400),
        ("/etc/passwd", 400),
        ("%2Fetc%2Fpasswd", 400),
        ("draft.md%00", 400),
        ("draft.md/", 400),
        ("src//deep", 400),
    ] {
        let came = served.get(&format!("/v1/points/essay/files/{path}")).await;
        assert_eq!(problem(&came).0, status, "{path}");
    }
    let came = served.get("/v1/points/essay@1/files/draft.md").await;
    assert_eq!(problem(&came), (404, "not_found".into()));
}

#[tokio::test]
async fn the_folders_of_a_task_are_listed_with_their_last_captures_for_admins() {
    let (served, outer) = captured();
    let path = "/v1/tasks/essay/folders";
    let other = tempfile::tempdir().unwrap();
    let task = served.engine.task("essay").unwrap();
    let workspace = Workspace::open(other.path(), WorkspaceOptions::default()).unwrap();
    workspace.capture(&served.engine, &task, None).unwrap();
    let last = task.head().unwrap().next;
    other.close().unwrap();
    served.task("none", "ana", 0);
    let form = served.get(path).await.json();
    let [other, work] = &form["items"].as_array().unwrap()[..] else { panic!("{form}") };
    assert_eq!(
        (&other["exists"], &other["at"]),
        (&json!(false), &json!(format!("essay/0@{last}")))
    );
    let folder = outer.path().join("work").to_string_lossy().into_owned();
    assert_eq!((&work["folder"], &work["exists"]), (&json!(folder), &json!(true)));
    // The point has the capture.
    let files =
        format!("/v1/points/{}/files/draft.md", work["at"].as_str().unwrap().replace('/', "%2F"));
    assert_eq!(served.get(&files).await.bytes, b"# Two\n");
    assert_eq!(form["more"], false);
    let none = served.get("/v1/tasks/none/folders").await.json();
    assert_eq!(none, json!({"items": [], "more": false}));
    assert_eq!(problem(&served.get("/v1/tasks/nothing/folders").await), (404, "not_found".into()));
    let ana = served.token("ana", false);
    let came = served.ask(request("GET", path, Some(&ana), "")).await;
    assert_eq!(problem(&came), (403, "forbidden".into()));
}
