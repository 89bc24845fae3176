//! `/v1`: ETags.
use axum::http::StatusCode;
use milepost::Mark;
use milepost::events::Message;
use milepost_workspace::{Workspace, WorkspaceOptions};

use crate::served::{Came, Served, request};

async fn known(served: &Served, path: &str, tags: &str) -> Came {
    with(served, "GET", path, &[("if-none-match", tags)]).await
}

async fn with(served: &Served, method: &str, path: &str, headers: &[(&'static str, &str)]) -> Came {
    let mut asked = request(method, path, None, "");
    for (name, value) in headers {
        asked.headers_mut().insert(*name, value.parse().unwrap());
    }
    served.ask(asked).await
}

async fn tag(served: &Served, path: &str) -> String {
    let came = served.get(path).await;
    assert_eq!(came.status, StatusCode::OK, "{path}: {came:?}");
    let tag = came.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() >= 66, "{path}: {tag}");
    tag
}

fn essay() -> (Served, milepost::Task, tempfile::TempDir) {
    let served = Served::new();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("draft.md"), "# One\n").unwrap();
    let task = served.task("essay", "ana", 0);
    task.append(Message::text("user", "hello")).unwrap();
    let workspace = Workspace::open(folder.path(), WorkspaceOptions::default()).unwrap();
    let first = Some(Mark::new().label("first"));
    workspace.capture(&served.engine, &task, first).unwrap();
    (served, task, folder)
}

#[tokio::test]
async fn who_has_an_answer_already_is_told_so() {
    let (served, task, _folder) = essay();
    let id = task.last_successful().unwrap().unwrap().id;
    for path in [
        "/v1/tasks/essay/events",
        "/v1/points/essay",
        "/v1/points/essay@first",
        "/v1/points/essay@1/event",
        "/v1/points/essay/state",
        "/v1/points/essay/state?pointer=/messages/0",
        "/v1/points/essay@1/diff/essay",
        "/v1/points/essay/files",
        "/v1/points/essay/files/draft.md",
        "/v1/points/essay@1/align/essay",
        "/v1/tasks/essay/rows",
        "/v1/tasks/essay/rows?limit=1",
        "/v1/tasks/essay/turns",
        "/v1/tasks/essay/overview",
        "/v1/tasks/essay/metrics",
        "/v1/series?at=essay&metric=loss",
        &format!("/v1/checkpoints/{id}"),
    ] {
        let tag = tag(&served, path).await;
        for tags in [&tag[..], "*", &format!("\"x\", W/{tag}")] {
            let came = known(&served, path, tags).await;
            assert_eq!(came.status, StatusCode::NOT_MODIFIED, "{path} {tags}");
            // A client that accepts compression gets 304 for the weak tag that came with it.
            let weak = format!("W/{tag}");
            let theirs = if tags.contains(&weak) { &weak } else { &tag };
            assert_eq!((came.header("etag"), came.bytes.len()), (&theirs[..], 0), "{path}");
        }
        let came = known(&served, path, "\"x\"").await;
        assert_eq!((came.status, came.header("etag")), (StatusCode::OK, &tag[..]));
    }
    // A missing resource is not found, whatever tag the request has.
    for path in ["/v1/points/none", "/v1/points/essay/event", "/v1/tasks/none/events"] {
        assert_eq!(known(&served, path, "*").await.status, StatusCode::NOT_FOUND);
    }
    for path in ["/v1/tasks", "/v1/tasks/essay", "/v1/stats"] {
        assert_eq!(served.get(path).await.header("etag"), "");
    }
}

#[tokio::test]
async fn each_form_of_an_answer_has_its_own_tag() {
    let (served, ..) = essay();
    for (path, other) in [
        ("/v1/tasks/essay/events", "application/x-ndjson"),
        ("/v1/points/essay@1/diff/essay", "application/json-patch+json"),
    ] {
        let json = tag(&served, path).await;
        let came = with(&served, "GET", path, &[("accept", other)]).await;
        assert_ne!(came.header("etag"), json);
        let same = [("accept", other), ("if-none-match", came.header("etag"))];
        let came = with(&served, "GET", path, &same).await;
        assert_eq!(
            (came.status, came.header("vary")),
            (StatusCode::NOT_MODIFIED, "accept, accept-encoding")
        );
        let same = [("accept", other), ("if-none-match", &json[..])];
        assert_eq!(with(&served, "GET", path, &same).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn what_changes_an_answer_changes_its_tag() {
    let (served, task, _folder) = essay();
    let paths = [
        "/v1/tasks/essay/events",
        "/v1/points/essay",
        "/v1/points/essay/state",
        "/v1/tasks/essay/rows",
        "/v1/tasks/essay/turns",
        "/v1/tasks/essay/overview",
        "/v1/tasks/essay/metrics",
        "/v1/series?at=essay&metric=loss",
    ];
    for path in paths {
        let before = tag(&served, path).await;
        task.append(Message::text("user", "more")).unwrap();
        assert_ne!(tag(&served, path).await, before, "{path}");
    }
    // Another checkpoint of the same point under the same label.
    let at = served.engine.point("essay@first").unwrap().offset;
    let before = tag(&served, "/v1/points/essay@first").await;
    task.checkpoint(Mark::new().label("first").at(at)).unwrap();
    assert_ne!(tag(&served, "/v1/points/essay@first").await, before);
    // The same point, seen from another lineage.
    let before = served.get("/v1/points/essay@2").await;
    let point = served.engine.point("essay@2").unwrap();
    served.engine.restore(&point).run().unwrap();
    let after = served.get("/v1/points/essay@2").await;
    assert_eq!(before.json()["hash"], after.json()["hash"]);
    assert_ne!(before.json()["lineage"], after.json()["lineage"]);
    assert_ne!(before.header("etag"), after.header("etag"));
}

#[tokio::test]
async fn an_erased_event_is_not_kept_by_the_tag_of_what_it_was() {
    let (served, ..) = essay();
    let paths = [
        "/v1/tasks/essay/events",
        "/v1/points/essay@1/event",
        "/v1/points/essay/state",
        "/v1/points/essay@1/diff/essay",
        "/v1/points/essay/diff/essay@1",
    ];
    let point = "/v1/points/essay";
    let same = tag(&served, point).await;
    let mut before = Vec::new();
    for path in paths {
        before.push((path, tag(&served, path).await, served.get(path).await.json()));
    }
    let erased = served.engine.point("essay@1").unwrap();
    served.engine.retention().erase(&erased, None).unwrap();
    for (path, tag, json) in before {
        let came = known(&served, path, &tag).await;
        assert_eq!(came.status, StatusCode::OK, "{path}");
        assert_ne!(came.json(), json, "{path}");
        let again = known(&served, path, came.header("etag")).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{path}");
    }
    // The tag of a point's address stays the same.
    assert_eq!(tag(&served, point).await, same);
}

#[tokio::test]
async fn a_head_is_what_stands_above_the_answer() {
    let (served, ..) = essay();
    for path in [
        "/v1/tasks",
        "/v1/tasks/essay/events",
        "/v1/points/essay/state",
        "/v1/points/essay/files/draft.md",
    ] {
        let get = served.get(path).await;
        let head = with(&served, "HEAD", path, &[]).await;
        assert_eq!((head.status, head.bytes.len()), (StatusCode::OK, 0), "{path}");
        for name in ["etag", "content-type", "content-length", "vary"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
    }
    assert_eq!(with(&served, "HEAD", "/v1/tasks/none", &[]).await.status, 404);
}

#[tokio::test]
async fn a_checkpoint_that_is_removed_changes_the_tags_of_answers_with_its_id() {
    let (served, task, _folder) = essay();
    let id = task.last_successful().unwrap().unwrap().id;
    let rows = "/v1/tasks/essay/rows?kind=checkpoint_marked";
    let paths = [rows, "/v1/tasks/essay/turns", "/v1/points/essay@1/align/essay"];
    let mut before = Vec::new();
    for path in paths {
        before.push(tag(&served, path).await);
    }
    let mark = async || served.get(rows).await.json()["items"][0]["mark"].clone();
    assert_eq!(mark().await["id"], id.to_string());
    served.engine.retention().unmark(&[id]).unwrap();
    assert_eq!((mark().await.get("id"), &mark().await["label"]), (None, &"first".into()));
    for (path, before) in paths.iter().zip(before) {
        assert_eq!(known(&served, path, &before).await.status, StatusCode::OK, "{path}");
    }
}
