//! Two copies of one store that are changed apart: no answer of one is taken for that of the other.

use std::fs;
use std::path::Path;

use axum::http::StatusCode;
use milepost::events::Message;
use milepost::{Engine, Mark};
use milepost_server::ServerOptions;
use milepost_workspace::{Workspace, WorkspaceOptions};

use crate::served::{Served, request};

/// A store with a task of some events, checkpoints, files, and a branch.
fn store() -> Served {
    let served = Served::new();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("draft.md"), "# One\n").unwrap();
    let task = served.task("essay", "ana", 0);
    for n in 0..6_u32 {
        task.append(Message::text("user", &format!("message {n}"))).unwrap();
        task.append(Message::text("assistant", &format!("answer {n}"))).unwrap();
        task.checkpoint(Mark::new().label(format!("mark {n}"))).unwrap();
    }
    let workspace = Workspace::open(folder.path(), WorkspaceOptions::default()).unwrap();
    let captured = Some(Mark::new().label("files"));
    workspace.capture(&served.engine, &task, captured).unwrap();
    served.engine.branch(&task.point(4).unwrap()).run().unwrap();
    served.engine.store().drain().unwrap();
    served
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, beside) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap().is_dir() {
            true => {
                fs::create_dir_all(&beside).unwrap();
                copy(&path, &beside);
            }
            false => drop(fs::copy(&path, &beside).unwrap()),
        }
    }
}

/// Something that is done to one copy, and in the same way, but not the same, to the other.
type Change = fn(&Engine, u64);

const CHANGES: [(&str, Change); 7] = [
    ("an erasure", |engine, n| {
        let task = engine.task("essay").unwrap();
        engine.retention().erase(&task.point(1 + 3 * n).unwrap(), None).unwrap();
    }),
    ("an append", |engine, n| {
        let text = Message::text("user", &format!("of copy {n}"));
        engine.task("essay").unwrap().append(text).unwrap();
    }),
    ("a removed checkpoint", |engine, n| {
        let id = engine.point(&format!("essay@mark {n}")).unwrap().checkpoint.unwrap();
        engine.retention().unmark(&[id]).unwrap();
    }),
    ("a pin", |engine, n| {
        let id = engine.point(&format!("essay@mark {n}")).unwrap().checkpoint.unwrap();
        engine.retention().pin(&id, None).unwrap();
    }),
    ("a branch", |engine, n| {
        let task = engine.task("essay").unwrap();
        engine.branch(&task.point(2 + n).unwrap()).description("a branch").run().unwrap();
    }),
    ("a restore", |engine, n| {
        let task = engine.task("essay").unwrap();
        engine.restore(&task.point(2 + n).unwrap()).run().unwrap();
    }),
    ("another task", |engine, n| {
        let task = engine.start_task("more", "ana").unwrap();
        task.append(Message::text("user", &format!("of copy {n}"))).unwrap();
    }),
];

const PATHS: [&str; 21] = [
    "/v1/tasks",
    "/v1/tasks/essay",
    "/v1/tasks/essay/events",
    "/v1/tasks/essay/events?from=1&to=5",
    "/v1/points/essay",
    "/v1/points/essay/0@1/event",
    "/v1/points/essay/0@4/event",
    "/v1/points/essay/0@4/event/value?pointer=",
    "/v1/points/essay/state",
    "/v1/points/essay/0@5/state",
    "/v1/points/essay/0@1/diff/essay",
    "/v1/points/essay/files",
    "/v1/points/essay/0@1/align/essay",
    "/v1/points/essay/0@6/blame",
    "/v1/tasks/essay/rows",
    "/v1/tasks/essay/turns",
    "/v1/tasks/essay/overview",
    "/v1/tasks/essay/metrics",
    "/v1/tasks/more/events",
    "/v1/series?at=essay&metric=loss",
    "/v1/checkpoints",
];

#[tokio::test]
async fn no_answer_of_a_copy_of_a_store_is_taken_for_that_of_the_other() {
    let mut tagged = 0;
    for (name, change) in CHANGES {
        let one = store();
        let dir = tempfile::tempdir().unwrap();
        copy(one.dir.path(), dir.path());
        let other = Served::of(dir, ServerOptions::default());
        assert_eq!(one.engine.store().id(), other.engine.store().id());
        for (n, served) in [&one, &other].into_iter().enumerate() {
            change(&served.engine, n as u64);
        }
        for path in PATHS {
            let (a, b) = (one.get(path).await, other.get(path).await);
            let tag = a.header("etag");
            if tag.is_empty() {
                continue;
            }
            tagged += 1;
            let same = (a.status, &a.bytes) == (b.status, &b.bytes);
            assert!(same || tag != b.header("etag"), "{name}: {path}: {tag}");
            let mut asked = request("GET", path, None, "");
            asked.headers_mut().insert("if-none-match", tag.parse().unwrap());
            let came = other.ask(asked).await;
            assert!(same || came.status != StatusCode::NOT_MODIFIED, "{name}: {path}: {tag}");
        }
    }
    assert!(tagged > 60, "{tagged}");
}
