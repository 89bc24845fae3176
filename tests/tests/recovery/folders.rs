//! The folder of a store: what is taken for one, and who has it open.

use std::fs;

use milepost::{Engine, ErrorKind, Message, Options};

#[test]
fn a_folder_that_holds_something_else_is_no_store() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "chapter one").unwrap();
    let error = Engine::open(dir.path(), Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("thesis.txt"), "{error}");
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing was made in it");
    let file = dir.path().join("thesis.txt");
    let error = Engine::open(&file, Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[test]
fn a_store_that_is_not_there_is_made_only_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let error = Engine::open(&root, Options::default().create(false)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(!root.exists());
}

#[test]
fn a_store_that_was_closed_opens_again_while_old_handles_live() {
    // A handle that is left over kept sled's folder locked, and it was set aside and rebuilt.
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let (clone, mut old) = (engine.clone(), task.read(..).unwrap());
    engine.close().unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert_eq!(engine.stats().unwrap().recovered, 0, "closed is closed");
    assert!(!root.join("damaged/sled").exists());
    let late = task.append(Message::text("user", "late")).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Unavailable);
    assert_eq!(clone.task("t").unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(
        old.next().unwrap().unwrap_err().kind(),
        ErrorKind::Unavailable
    );
    engine
        .task("t")
        .unwrap()
        .append(Message::text("user", "on time"))
        .unwrap();
}
