//! A store that a caller only reads (`Options::only_reads`): a small one that was closed is not
//! opened for writing.

use std::fs;
use std::path::Path;

use milepost::events::Message;
use milepost::{Detail, Engine, Options};
use milepost_tests::{bodies, folder};

use super::{answers, assert_same, tree};

fn only_reads() -> Options {
    Options::default().only_reads(true)
}

/// A store of one task with some messages, an event in chunks, and a checkpoint.
fn small(root: &Path) -> Engine {
    let engine = Engine::open(root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..300 {
        task.append(Message::text("user", &bodies::text(n, 300))).unwrap();
    }
    task.append(bodies::bytes(1, 300_000)).unwrap();
    task.checkpoint(milepost::Mark::new().label("here")).unwrap();
    engine
}

/// Opens the store, and returns `true` if it can be written to. It then appends an event.
fn is_writable(root: &Path) -> bool {
    let engine = Engine::open(root, only_reads()).unwrap();
    let written = engine.task("t").unwrap().append(Message::text("user", "more"));
    let refused =
        written.is_err_and(|error| matches!(error.detail(), Some(Detail::ReadOnly { .. })));
    engine.close().unwrap();
    !refused
}

#[test]
fn a_small_store_that_was_closed_answers_as_before_and_no_byte_of_it_changes() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    small(&root).close().unwrap();
    let before = {
        let engine = Engine::open(&root, Options::default()).unwrap();
        let said = answers(&engine);
        engine.close().unwrap();
        said
    };
    let files = tree(&root);
    let engine = Engine::open(&root, only_reads()).unwrap();
    assert_same(&answers(&engine), &before);
    // Another process may open it at the same time.
    Engine::open(&root, Options::default()).unwrap().close().unwrap();
    engine.close().unwrap();
    let now = tree(&root);
    let names = |of: &std::collections::BTreeMap<_, _>| of.keys().cloned().collect::<Vec<_>>();
    assert_ne!(names(&now), names(&files), "sled names its snapshot anew when it is opened");
    let files = now;
    assert!(!is_writable(&root));
    assert!(tree(&root) == files, "something in the store changed");
}

#[test]
fn a_store_that_was_not_closed_or_is_damaged_is_opened_for_writing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let killed = dir.path().join("killed");
    let engine = small(&root);
    folder::copy(&root, &killed).unwrap();
    assert!(is_writable(&killed), "its process was killed");
    engine.close().unwrap();
    assert!(!is_writable(&root));
    let db = root.join("sled/db");
    let len = fs::metadata(&db).unwrap().len();
    folder::flip(&db, len / 2).unwrap();
    assert!(is_writable(&root), "sled is not as it was left");
    fs::remove_file(root.join("store.copy")).unwrap();
    assert!(is_writable(&root) && root.join("store.copy").exists(), "a copy of the settings");
    let segment = folder::files(&root.join("journal"), ".seg").unwrap().remove(0);
    folder::flip(&segment, 5000).unwrap();
    let engine = Engine::open(&root, only_reads()).unwrap();
    assert!(!engine.store().report().findings.is_empty(), "the journal was repaired");
    engine.close().unwrap();
}

#[test]
fn a_large_store_is_opened_for_writing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = small(&root);
    for n in 0..8 {
        engine.task("t").unwrap().append(bodies::bytes(n, 300_000)).unwrap();
    }
    engine.close().unwrap();
    assert!(is_writable(&root));
}
