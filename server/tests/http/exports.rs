//! Exports of a task: the file of the service is the one of the library, and imports as the task.

use std::io::Cursor;

use axum::http::StatusCode;
use milepost::events::Message;
use milepost::{Engine, Options};
use milepost_formats::export_file::{self, ExportImport, ExportInput, ExportOptions};
use milepost_workspace::{Workspace, WorkspaceOptions};
use serde_json::json;
use tower::ServiceExt as _;

use crate::served::{Served, request};

const PATH: &str = "/v1/tasks/essay/export";

/// A service with a task that has a branch, a captured folder and a text that resembles a secret,
/// and that text.
fn served() -> (Served, String) {
    let served = Served::new();
    let secret = format!("sk-{}", "aB3".repeat(8));
    let task = served.task("essay", "ana", 2);
    task.append(Message::text("user", secret.as_str())).unwrap();
    served.engine.branch(&task.point(3).unwrap()).run().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("draft.md"), "# One\n").unwrap();
    let workspace = Workspace::open(folder.path(), WorkspaceOptions::default()).unwrap();
    workspace.capture(&served.engine, &task, None).unwrap();
    (served, secret)
}

#[tokio::test]
async fn an_export_is_the_file_of_the_library_and_comes_in_as_the_same_task() {
    let (served, secret) = served();
    let came = served.get(&format!("{PATH}?files=true")).await;
    assert_eq!(came.status, StatusCode::OK, "{came:?}");
    assert_eq!(came.header("content-disposition"), "attachment");
    let mut file = Vec::new();
    let options = ExportOptions { files: true, redact: false };
    let mut sink = |bytes: &[u8]| {
        file.extend_from_slice(bytes);
        Ok(())
    };
    export_file::export(&served.engine, &["essay".into()], options, &mut sink, &mut ()).unwrap();
    assert!(came.bytes == file && String::from_utf8(file).unwrap().contains(&secret));

    let other = Engine::in_memory(Options::default()).unwrap();
    let input = ExportInput::from_reader("answer", Cursor::new(came.bytes.to_vec()));
    ExportImport::begin(input).unwrap().run(&other, None, &mut ()).unwrap();
    let [same, task] = [&other, &served.engine].map(|engine| engine.task("essay").unwrap());
    let heads = |task: &milepost::Task| -> Vec<_> {
        task.lineages().unwrap().into_iter().map(|lineage| (lineage.id, lineage.head)).collect()
    };
    assert_eq!(heads(&same), heads(&task));
}

#[tokio::test]
async fn an_export_is_redacted_on_request_and_of_ones_own_tasks_only() {
    let (served, secret) = served();
    let redacted = served.get(&format!("{PATH}?redact=true")).await;
    assert_eq!(redacted.status, StatusCode::OK, "{redacted:?}");
    assert!(!String::from_utf8(redacted.bytes.to_vec()).unwrap().contains(&secret));
    let both = served.get(&format!("{PATH}?redact=true&files=true")).await;
    assert_eq!(
        (both.status, &both.json()["detail"]),
        (StatusCode::BAD_REQUEST, &json!("a redacted export has no files"))
    );
    assert_eq!(served.get(&format!("{PATH}?all=true")).await.status, StatusCode::BAD_REQUEST);
    let bob = served.token("bob", false);
    assert_eq!(served.get_as(&bob, PATH).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_token_has_one_export_at_a_time_which_ends_when_its_reader_is_gone() {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    for _ in 0..4 {
        // Each is more than a buffer of the answer.
        task.append(Message::text("user", &"x".repeat(200 << 10))).unwrap();
    }
    let ana = served.token("ana", false);
    let first = served.router().oneshot(request("GET", PATH, Some(&ana), "")).await;
    let first = first.unwrap();
    assert_eq!(first.status(), StatusCode::OK);
    let second = served.get_as(&ana, PATH).await.status;
    assert_eq!(second, StatusCode::SERVICE_UNAVAILABLE);
    drop(first);
    while served.get_as(&ana, PATH).await.status != StatusCode::OK {
        tokio::task::yield_now().await;
    }
}
